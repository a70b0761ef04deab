//! The files of a folder of migrations: which there are for a database, and in which order.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::db::error::{Error, Kind};

/// What may stand before `.sql`: files for all databases may lie in one folder.
const DATABASES: &[&str] = &["sqlite", "mysql", "postgres"];

/// A file of the folder.
#[derive(Debug, PartialEq)]
pub struct Migration {
    pub number: u64,
    /// `NNN_name`.
    pub name: String,
    pub path: PathBuf,
}

/// The migrations in `folder` for one sort of database, in order.
///
/// # Errors
/// All that is wrong with the names of the files; or if the folder can't be read.
pub fn list(folder: &Path, backend: &str) -> Result<Vec<Migration>, Vec<Error>> {
    let unreadable = |error| {
        let message = format!("the folder of migrations `{}` can't be read: {error}", folder.display());
        vec![Error::new(Kind::Migration, message)]
    };
    let mut faults = Vec::new();
    let mut found: BTreeMap<(u64, String), (PathBuf, bool)> = BTreeMap::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if file.starts_with('.') || !file.ends_with(".sql") || path.is_dir() {
            continue;
        }
        let Some((number, name, only_for)) = parts(&file) else {
            let message = format!("`{}` is not named as a migration, expected `NNN_name.sql`", path.display());
            let known = DATABASES.join("`, `");
            faults.push(
                Error::new(Kind::Migration, message)
                    .hint(&format!("digits, `_` and a name; before `.sql` there may stand `.` and one of `{known}`")),
            );
            continue;
        };
        if only_for.is_some_and(|it| it != backend) {
            continue;
        }
        let slot = found.entry((number, name)).or_default();
        if only_for.is_some() || !slot.1 {
            *slot = (path, only_for.is_some());
        }
    }
    let migrations: Vec<Migration> =
        found.into_iter().map(|((number, name), (path, _))| Migration { number, name, path }).collect();
    for pair in migrations.windows(2).filter(|pair| pair[0].number == pair[1].number) {
        let (first, second) = (pair[0].path.display(), pair[1].path.display());
        let message = format!("`{first}` and `{second}` have the same number, so their order is not certain");
        faults.push(Error::new(Kind::Migration, message));
    }
    if faults.is_empty() { Ok(migrations) } else { Err(faults) }
}

/// Number, `NNN_name`, and the database that it is for alone, of a file's name.
fn parts(file: &str) -> Option<(u64, String, Option<&str>)> {
    let stem = file.strip_suffix(".sql")?;
    let (name, only_for) = match stem.split_once('.') {
        Some((name, database)) if DATABASES.contains(&database) => (name, Some(database)),
        Some(_) => return None,
        None => (stem, None),
    };
    let (number, rest) = name.split_once('_')?;
    if rest.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some((number.parse().ok()?, name.to_owned(), only_for))
}

/// A file's text and its SHA-256.
///
/// # Errors
/// If it can't be read, or is not UTF-8.
pub fn read(path: &Path) -> Result<(String, String), Error> {
    let fault = |what: String| Error::new(Kind::Migration, format!("`{}` {what}", path.display()));
    let bytes = fs::read(path).map_err(|error| fault(format!("can't be read: {error}")))?;
    let checksum = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    let content = String::from_utf8(bytes).map_err(|error| {
        let line = 1 + error.as_bytes()[..error.utf8_error().valid_up_to()].iter().filter(|it| **it == b'\n').count();
        fault(format!("is not UTF-8 in line {line}"))
    })?;
    Ok((content, checksum))
}

/// The number in a migration's name; 0 if there is none, as in what was applied by another program.
pub fn number(name: &str) -> u64 {
    name.split_once('_').and_then(|(number, _)| number.parse().ok()).unwrap_or_default()
}
