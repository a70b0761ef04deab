//! Users and groups of the system, by name or number.

use nix::unistd::{Gid, Group, Uid, User};

use crate::directive::{Node, Problem};

/// Who the process becomes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// As the system has it.
    pub name: String,
    /// Number of the user.
    pub user: u32,
    /// Number of the user's first group; the others are looked up by the name.
    pub group: u32,
}

impl Account {
    /// The user that `value` names.
    ///
    /// # Errors
    /// If there is none.
    pub(super) fn read(value: &Node) -> Result<Account, Problem> {
        let text = value.text_as("the name of a user")?;
        let found = match text.parse() {
            Ok(number) => User::from_uid(Uid::from_raw(number)),
            Err(_) => User::from_name(text),
        };
        let user = found.ok().flatten().ok_or_else(|| unknown(value, text, "user"))?;
        Ok(Account { name: user.name, user: user.uid.as_raw(), group: user.gid.as_raw() })
    }
}

/// The number of the group that `value` names; a number need not be known.
///
/// # Errors
/// If there is no such group.
pub(super) fn group(value: &Node) -> Result<u32, Problem> {
    let text = value.text_as("the name of a group")?;
    if let Ok(number) = text.parse() {
        return Ok(Gid::from_raw(number).as_raw());
    }
    let found = Group::from_name(text).ok().flatten();
    found.map(|it| it.gid.as_raw()).ok_or_else(|| unknown(value, text, "group"))
}

/// The number of the user that `value` names; a number need not be known.
///
/// # Errors
/// If there is no such user.
pub(super) fn owner(value: &Node) -> Result<u32, Problem> {
    match value.text_as("the name of a user")?.parse() {
        Ok(number) => Ok(number),
        Err(_) => Account::read(value).map(|it| it.user),
    }
}

fn unknown(value: &Node, text: &str, kind: &str) -> Problem {
    value.problem(format!("`{}` is `{text}`, but this system has no such {kind}", value.name()))
}
