//! The databases that a case may ask for, each fresh and empty for every run.

use std::fmt;
use std::fs::File;
use std::path::Path;

/// A kind of database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Sqlite,
    Mysql,
    Postgres,
    Redis,
}

/// Whether a case that needs a kind can run here.
#[derive(Debug, PartialEq)]
pub enum Availability {
    Here,
    /// It can't, and that is no fault.
    Skipped(String),
    /// It can't, but `RHAID_TEST_SERVERS=required` says that it must.
    Required(String),
}

impl Kind {
    /// The kind that a `-- database … --` section names.
    pub fn parse(name: &str) -> Option<Kind> {
        match name {
            "sqlite" => Some(Kind::Sqlite),
            "mysql" => Some(Kind::Mysql),
            "postgres" => Some(Kind::Postgres),
            "redis" => Some(Kind::Redis),
            _ => None,
        }
    }

    /// Whether this machine has it.
    pub fn availability(self) -> Availability {
        self.availability_where(std::env::var_os("RHAID_TEST_SERVERS").is_some_and(|value| value == "required"))
    }

    /// The same, where it is known whether missing servers are a fault.
    pub fn availability_where(self, required: bool) -> Availability {
        if self == Kind::Sqlite {
            return Availability::Here;
        }
        let reason = format!("the runner starts no {self} server yet");
        if required { Availability::Required(reason) } else { Availability::Skipped(reason) }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Sqlite => "sqlite",
            Kind::Mysql => "mysql",
            Kind::Postgres => "postgres",
            Kind::Redis => "redis",
        })
    }
}

/// The kinds that the case file `text` names; the parser reports unknown ones.
pub fn kinds(text: &str) -> Vec<Kind> {
    let names = text.lines().find_map(|line| line.strip_prefix("-- database ")?.strip_suffix(" --"));
    names.unwrap_or_default().split_whitespace().filter_map(Kind::parse).collect()
}

/// Name of the SQLite file in the case's folder.
const FILE: &str = "case.db";

/// Where the server finds the case's database.
pub fn url(kind: Kind) -> Option<String> {
    // Relative, as the server's current folder is the case's.
    (kind == Kind::Sqlite).then(|| format!("sqlite:{FILE}"))
}

/// Creates the SQLite database of the case in `folder` and runs `sql` in it.
///
/// # Errors
/// If SQLite refuses the SQL.
pub fn create_sqlite(folder: &Path, sql: &str) -> Result<(), String> {
    let file = folder.join(FILE);
    // SQLite itself creates the file with the first write only, but the server wants it to be there.
    File::create(&file).map_err(|error| format!("`{}` can't be created: {error}", file.display()))?;
    let run = || {
        let connection = rusqlite::Connection::open(&file)?;
        connection.execute_batch(sql)?;
        connection.close().map_err(|(_, error)| error)
    };
    run().map_err(|error| format!("the SQL of the section failed: {error}"))
}
