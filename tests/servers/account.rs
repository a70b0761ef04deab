//! The account that the servers run as: `nobody` where the tests run as root, which PostgreSQL refuses; else our own.

use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::unistd::{User, geteuid};

/// User and group of `nobody`; None where the tests are not run by root.
fn other() -> Result<Option<(u32, u32)>, String> {
    if !geteuid().is_root() {
        return Ok(None);
    }
    match User::from_name("nobody") {
        Ok(Some(user)) => Ok(Some((user.uid.as_raw(), user.gid.as_raw()))),
        _ => Err("the servers must not run as root, and there is no user `nobody`".to_owned()),
    }
}

/// Where the servers' folders are made: root's own `TMPDIR` may be closed to others.
pub fn temporary() -> PathBuf {
    if geteuid().is_root() { PathBuf::from("/tmp") } else { std::env::temp_dir() }
}

/// Makes `path` the account's.
pub fn give(path: &Path) -> Result<(), String> {
    match other()? {
        None => Ok(()),
        Some((user, group)) => {
            chown(path, Some(user), Some(group)).map_err(|error| format!("`{}`: {error}", path.display()))
        }
    }
}

/// `program` as the account, in `folder`, and with nothing in its environment that names another server.
pub fn command(program: &Path, folder: &Path) -> Result<Command, String> {
    let mut command = Command::new(program);
    let mut path = std::env::var_os("PATH").unwrap_or_default();
    path.push(":/usr/sbin:/usr/bin:/sbin:/bin");
    command.current_dir(folder).env_clear().env("HOME", folder).env("LC_ALL", "C").env("PATH", path);
    if let Some((user, group)) = other()? {
        command.uid(user).gid(group);
    }
    Ok(command)
}
