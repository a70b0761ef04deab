//! The databases that a case may ask for, each fresh and empty for every run.

use std::fmt;
use std::fs::File;
use std::path::Path;

use crate::servers;

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
        self.availability_where(servers::are_required())
    }

    /// The same, where it is known whether missing servers are a fault.
    pub fn availability_where(self, required: bool) -> Availability {
        let missing = match self {
            Kind::Sqlite => None,
            Kind::Mysql => servers::Kind::Mysql.missing(),
            Kind::Postgres => servers::Kind::Postgres.missing(),
            Kind::Redis => Some("the runner starts no redis server yet".to_owned()),
        };
        match missing {
            None => Availability::Here,
            Some(reason) if required => Availability::Required(reason),
            Some(reason) => Availability::Skipped(reason),
        }
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

/// The database of one run of a case.
#[derive(Debug)]
pub enum Fresh {
    /// A file in the case's folder.
    Sqlite,
    /// On the server that the cases share; dropped with this.
    Server(servers::Database),
}

impl Fresh {
    /// A database of `kind`.
    ///
    /// # Errors
    /// If its server does not start.
    pub fn create(kind: Kind) -> Result<Fresh, String> {
        let kind = match kind {
            Kind::Sqlite => return Ok(Fresh::Sqlite),
            Kind::Mysql => servers::Kind::Mysql,
            Kind::Postgres => servers::Kind::Postgres,
            Kind::Redis => return Err("the runner starts no redis server yet".to_owned()),
        };
        kind.shared()?.fresh().map(Fresh::Server)
    }

    /// Where the case's server finds it.
    pub fn url(&self) -> String {
        match self {
            // Relative, as the server's current folder is the case's.
            Fresh::Sqlite => format!("sqlite:{FILE}"),
            Fresh::Server(database) => database.url(),
        }
    }

    /// Runs the `sql` of the case in `folder`.
    ///
    /// # Errors
    /// With what the database, or its client program, says of the first statement that it refuses.
    pub fn fill(&self, folder: &Path, sql: &str) -> Result<(), String> {
        match self {
            Fresh::Sqlite => create_sqlite(folder, sql),
            Fresh::Server(database) => match database.run(sql) {
                Ok(_) => Ok(()),
                Err(error) => Err(format!("the SQL of the section failed: {error}")),
            },
        }
    }
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
