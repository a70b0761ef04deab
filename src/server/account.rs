//! Gives up root for good.

use std::ffi::CString;
use std::io;

use nix::unistd::{Gid, Uid, initgroups, setgid, setuid};

use super::Refusal;
use crate::config::Account;

/// Makes the whole process, with all its threads, run as `account`.
///
/// # Errors
/// If the process is somebody else and not root, or if the system does not let it go all the way.
pub fn assume(account: &Account) -> Result<(), Refusal> {
    let (user, group) = (Uid::from_raw(account.user), Gid::from_raw(account.group));
    let current = Uid::effective();
    if current == user {
        return Ok(());
    }
    let refused = |reason: &str| Refusal::System(format!("cannot become the user `{}`: {reason}", account.name));
    if !current.is_root() {
        let reason = format!("only root can, and the process runs as the user {current}");
        return Err(refused(&format!("{reason}\nhint: start it as root, or leave `user` out")));
    }
    let name = CString::new(account.name.as_str()).unwrap_or_default();
    // The user last: who is no longer root can't change groups.
    let given_up = initgroups(&name, group).and_then(|()| setgid(group)).and_then(|()| setuid(user));
    given_up.map_err(|error| refused(&io::Error::from(error).to_string()))?;
    if !user.is_root() && setuid(Uid::from_raw(0)).is_ok() {
        return Err(refused("root can be had back"));
    }
    Ok(())
}
