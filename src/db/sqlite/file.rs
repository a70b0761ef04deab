//! The file of an SQLite database: found or created, opened, and set up the same way each time.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};

use super::{fault, waiting};
use crate::db::Missing;
use crate::db::error::{Error, Kind};

/// Statements that a connection keeps prepared; one takes a few kilobytes.
const STATEMENTS: usize = 100;
/// Deeper or longer statements would need more of a fiber's stack than is kept for SQLite.
const EXPRESSION_DEPTH: i32 = 200;
const COMPOUND_SELECTS: i32 = 100;
/// Longest text or blob in bytes: what SQLite makes in one step nobody can stop, nor count.
const LENGTH: i32 = 64 << 20;

/// What stands after `sqlite:` for a database in memory.
pub const MEMORY: &str = ":memory:";

/// A database in memory is gone with its last connection: this one is kept as long as the process.
static KEPT: Mutex<Vec<(String, Connection)>> = Mutex::new(Vec::new());

/// The path in what follows `sqlite:`, which may begin with `//` as other URLs do.
pub fn path(address: &str) -> &str {
    address.strip_prefix("//").unwrap_or(address)
}

/// Opens the database at `address`; `name` tells databases in memory apart.
///
/// # Errors
/// If it is not there and not to be created, or if the file can't be read and written as a database.
pub fn open(name: &str, address: &str, missing: Missing) -> Result<Connection, Error> {
    let address = path(address);
    if address == MEMORY {
        return open_memory(name);
    }
    let file = Path::new(address);
    present(file, missing)?;
    if missing == Missing::Create {
        create_folder(file)?;
    }
    let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    flags.set(OpenFlags::SQLITE_OPEN_CREATE, missing == Missing::Create);
    set_up(|| Connection::open_with_flags(plain(file), flags)).map_err(|error| explain(error, file))
}

/// Opens a database that is there without making it one with a write-ahead log, which would last.
///
/// # Errors
/// If it is not there, or can't be read as a database.
pub fn open_as_it_is(name: &str, address: &str) -> Result<Connection, Error> {
    let address = path(address);
    if address == MEMORY {
        return open_memory(name);
    }
    let file = Path::new(address);
    present(file, Missing::Refuse)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = Connection::open_with_flags(plain(file), flags).and_then(|mut connection| {
        waiting::install(&mut connection)?;
        connection.execute_batch("SELECT COUNT(*) FROM sqlite_schema")?;
        Ok(connection)
    });
    opened.map_err(|error| explain(error, file))
}

/// The same path for SQLite whatever it begins with: `file:` and `:memory:` mean something.
fn plain(file: &Path) -> PathBuf {
    if file.is_relative() { PathBuf::from(".").join(file) } else { file.to_owned() }
}

/// Looks whether a file is a database, without locks and the files that they need.
///
/// # Errors
/// If it is not there, can't be read, or is none.
pub fn probe(address: &str) -> Result<(), Error> {
    let address = path(address);
    if address == MEMORY {
        return Ok(());
    }
    let file = Path::new(address);
    present(file, Missing::Refuse)?;
    let encoded = utf8_percent_encode(address, NON_ALPHANUMERIC);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let looked = Connection::open_with_flags(format!("file:{encoded}?immutable=1"), flags)
        .and_then(|connection| connection.execute_batch("PRAGMA schema_version; SELECT COUNT(*) FROM sqlite_schema"));
    looked.map_err(|error| explain(error, file))
}

/// Whether the database could be opened, as far as can be told without opening it.
///
/// # Errors
/// If it is a folder, or not there and not to be created.
pub fn present(file: &Path, missing: Missing) -> Result<(), Error> {
    let fault = |message: String| Error::new(Kind::Connection, message);
    match fs::metadata(file) {
        Ok(found) if found.is_dir() => {
            Err(fault(format!("`{}` is a folder, expected a database file", file.display())))
        }
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound && missing == Missing::Create => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(fault(format!("the database file `{}` does not exist", file.display()))
                .hint("create it, or set `migrations`, with which rhaid creates it"))
        }
        Err(error) => Err(fault(format!("the database file `{}` can't be opened: {error}", file.display()))),
    }
}

fn create_folder(file: &Path) -> Result<(), Error> {
    let folder = file.parent().unwrap_or(Path::new(""));
    fs::create_dir_all(folder).map_err(|error| {
        let message = format!("the folder `{}` for a database can't be created: {error}", folder.display());
        Error::new(Kind::Connection, message)
    })
}

fn open_memory(name: &str) -> Result<Connection, Error> {
    // The VFS `memdb` shares a database among the connections of a process if its name begins
    // with a slash.
    let encoded: String = form_urlencoded::byte_serialize(name.as_bytes()).collect();
    let uri = format!("file:/{encoded}?vfs=memdb");
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    let mut kept = KEPT.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if !kept.iter().any(|(it, _)| it == name) {
        let connection = Connection::open_with_flags(&uri, flags).map_err(|error| fault::of(&error))?;
        // It only exists once it was looked at.
        connection.execute_batch("PRAGMA user_version").map_err(|error| fault::of(&error))?;
        kept.push((name.to_owned(), connection));
    }
    drop(kept);
    set_up(|| Connection::open_with_flags(&uri, flags)).map_err(|error| fault::of(&error))
}

fn set_up(open: impl FnOnce() -> rusqlite::Result<Connection>) -> rusqlite::Result<Connection> {
    let mut connection = open()?;
    waiting::install(&mut connection)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // Else SQLite prepares a statement again whenever a value is bound that might suit another plan,
    // such as 1 after 2: a sixth of the cost of a small query.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_limit(Limit::SQLITE_LIMIT_EXPR_DEPTH, EXPRESSION_DEPTH)?;
    connection.set_limit(Limit::SQLITE_LIMIT_COMPOUND_SELECT, COMPOUND_SELECTS)?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, LENGTH)?;
    waiting::insist(|| {
        connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON")
    })?;
    if connection.is_readonly("main")? {
        let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_READONLY);
        return Err(rusqlite::Error::SqliteFailure(code, Some("it is read-only".to_owned())));
    }
    Ok(connection)
}

fn explain(error: rusqlite::Error, file: &Path) -> Error {
    let fault = fault::of(&error);
    if matches!(fault.kind, Kind::Stopped(_) | Kind::Busy) {
        return fault.within(format_args!("the database file `{}`", file.display()));
    }
    let rights = matches!(
        error.sqlite_error_code(),
        Some(rusqlite::ErrorCode::CannotOpen | rusqlite::ErrorCode::ReadOnly | rusqlite::ErrorCode::PermissionDenied)
    );
    let message = format!("the database file `{}` can't be opened: {}", file.display(), fault.message);
    let error = Error { kind: Kind::Connection, message, ..fault };
    if rights { error.hint("rhaid's user has to be allowed to write the file and its folder") } else { error }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn refusal(path: &Path, missing: Missing) -> Error {
        open("main", &path.display().to_string(), missing).expect_err("it can't be opened")
    }

    #[test]
    fn a_missing_file_is_created_with_its_folder_only_when_it_may_be() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/c.db");
        let error = refusal(&path, Missing::Refuse);
        assert_eq!(error.kind, Kind::Connection);
        assert!(error.message.starts_with(&format!("the database file `{}` does not exist", path.display())));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        open("main", &path.display().to_string(), Missing::Create).unwrap();
        open("main", &format!("//{}", path.display()), Missing::Refuse).unwrap();
    }

    #[test]
    fn a_connection_is_set_up() {
        let folder = tempfile::tempdir().unwrap();
        let connection = open("main", &folder.path().join("a.db").display().to_string(), Missing::Create).unwrap();
        let ask =
            |pragma: &str| connection.pragma_query_value(None, pragma, |row| row.get::<_, rusqlite::types::Value>(0));
        assert_eq!(ask("journal_mode").unwrap(), "wal".to_owned().into());
        assert_eq!(ask("synchronous").unwrap(), 1.into());
        assert_eq!(ask("foreign_keys").unwrap(), 1.into());
    }

    #[test]
    fn a_statement_is_not_prepared_again_for_another_value() {
        let connection = open("plans", MEMORY, Missing::Create).unwrap();
        connection
            .execute_batch("CREATE TABLE a (n INT); CREATE INDEX by_n ON a (n); INSERT INTO a VALUES (1), (2)")
            .unwrap();
        let mut statement = connection.prepare("SELECT n FROM a WHERE n = ?").unwrap();
        for number in [1, 2, 1] {
            assert_eq!(statement.query_row([number], |row| row.get(0)), Ok(number));
        }
        assert_eq!(statement.get_status(rusqlite::StatementStatus::RePrepare), 0);
    }

    #[test]
    fn what_is_no_database_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let text = folder.path().join("text.db");
        fs::write(
            &text,
            "not a database, but some text that is longer than the header of one, which has 100 bytes ..............",
        )
        .unwrap();
        for (path, what) in
            [(folder.path(), "is a folder, expected a database file"), (&text, "file is not a database")]
        {
            let error = refusal(path, Missing::Create);
            assert_eq!(error.kind, Kind::Connection);
            assert!(
                error.message.contains(&format!("`{}`", path.display())) && error.message.contains(what),
                "{error}"
            );
        }
        let error = refusal(&text.join("below.db"), Missing::Create);
        assert_eq!(error.kind, Kind::Connection);
    }

    #[test]
    fn a_file_that_may_not_be_written_or_read_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        open("main", &path.display().to_string(), Missing::Create).unwrap();
        for mode in [0o444, 0o000] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            // To root nothing is forbidden.
            if fs::OpenOptions::new().write(true).open(&path).is_ok() {
                continue;
            }
            let error = refusal(&path, Missing::Create);
            assert_eq!(error.kind, Kind::Connection, "{error}");
            assert!(
                error.message.contains(&format!("`{}`", path.display())) && error.message.contains("hint: "),
                "{error}"
            );
        }
    }

    #[test]
    fn a_database_in_memory_is_the_same_for_all_who_name_it() {
        let opened = |name: &str| open(name, MEMORY, Missing::Refuse).unwrap();
        opened("memory one").execute_batch("CREATE TABLE a (id INT)").unwrap();
        assert!(opened("memory one").execute_batch("INSERT INTO a VALUES (1)").is_ok());
        assert!(opened("memory two").execute_batch("INSERT INTO a VALUES (1)").is_err());
        std::thread::spawn(move || assert_eq!(opened("memory one").execute("DELETE FROM a", []), Ok(1)))
            .join()
            .unwrap();
    }
}
