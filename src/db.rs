//! Named databases behind one trait: statements with `?`, rows, transactions, migrations. It does
//! not know scripts; what waits, waits on the fiber that calls.

mod connection;
mod database;
mod dialect;
mod error;
mod keyword;
mod load;
mod migrations;
mod mysql;
mod origin;
mod placeholders;
mod pool;
mod postgres;
mod remote;
mod rows;
mod settings;
mod sqlite;
mod start;
mod statements;
mod throwaway;
mod transaction;
#[cfg(test)]
mod trial;
mod value;

use std::path::PathBuf;

pub use self::connection::{Connection, Executed, Finish};
pub use self::database::Database;
pub use self::dialect::Dialect;
pub use self::error::{Error, Kind};
pub use self::load::{Failure, Progress};
pub use self::migrations::{Standing, State, check};
pub use self::rows::{Row, Rows};
pub use self::settings::{Named, Reach, Settings, Url};
pub use self::start::{connect_all, load, migrate, status};
pub use self::throwaway::{Fresh, Throwaway};
pub use self::transaction::Isolation;
pub use self::value::Value;

/// The databases that rhaid knows; each is one file and one line.
pub const BACKENDS: &[Backend] = &[sqlite::BACKEND, mysql::BACKEND, postgres::BACKEND];

/// What speaks to one sort of database.
pub struct Backend {
    /// Its name; a migration `NNN_name.<this>.sql` is for it alone.
    pub name: &'static str,
    /// What its URLs begin with.
    pub schemes: &'static [&'static str],
    /// A URL of it.
    pub example: &'static str,
    /// Says what is wrong with what follows the scheme in a URL.
    pub check_address: fn(address: &str) -> Result<(), String>,
    /// Looks whether the database can be there, without connecting.
    pub check_presence: fn(&Named, Missing) -> Result<(), Error>,
    /// The files that the database lies in: they are never served.
    pub files: fn(address: &str) -> Vec<PathBuf>,
    /// Connects to a database that is there, without changing anything.
    pub probe: fn(&Named) -> Result<(), Error>,
    /// Opens a connection.
    pub connect: fn(&Named, Missing) -> Opened,
    /// Opens a connection to a database that is there, which changes nothing by that.
    pub look: fn(&Named) -> Opened,
}

/// A connection that was opened, or why it could not be.
pub type Opened = Result<Box<dyn Connection>, Error>;

/// What to do about a database that isn't there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// Create it.
    Create,
    /// It is an error.
    Refuse,
}

/// How many placeholders a statement has.
pub fn placeholders(sql: &str, dialect: Dialect) -> usize {
    placeholders::find(sql, dialect).count()
}

/// A worker's databases by name.
pub struct Databases(Vec<(String, Database)>);

impl Databases {
    /// The databases of `settings` for one of so many workers. Nothing is opened before it is used.
    pub fn new(settings: &Settings, workers: usize) -> Databases {
        Databases::after(settings, workers, None)
    }

    /// [`Databases::new`], with the pools of those in `old` that are as they were.
    pub fn after(settings: &Settings, workers: usize, old: Option<&Databases>) -> Databases {
        let database = |named: &Named| {
            let limit = (named.max_connections / workers.max(1)).max(1);
            let kept = old.and_then(|old| old.0.iter().find(|(_, it)| it.is_of(named, limit)));
            let database = kept.map_or_else(|| Database::new(named.clone(), limit), |(_, it)| it.clone());
            (named.name.clone(), database)
        };
        Databases(settings.databases.iter().map(database).collect())
    }

    /// The database of this name, or the only one.
    ///
    /// # Errors
    /// If there is none of this name, or several and no name; the message lists them.
    pub fn database(&self, name: Option<&str>) -> Result<&Database, Error> {
        find(&self.0, |(name, _)| name, name).map(|(_, database)| database)
    }
}

/// The database of this name, or the only one.
///
/// # Errors
/// If there is none of this name, or several and no name; the message lists them.
pub fn named<'s>(settings: &'s Settings, name: Option<&str>) -> Result<&'s Named, Error> {
    find(&settings.databases, |it| &it.name, name)
}

/// The one of this name, or the only one.
fn find<'a, T>(all: &'a [T], name_of: impl Fn(&T) -> &str, name: Option<&str>) -> Result<&'a T, Error> {
    let names = || all.iter().map(|it| format!("`{}`", name_of(it))).collect::<Vec<_>>().join(", ");
    match (name, all) {
        (_, []) => Err(Error::new(Kind::Other, "no database is configured")
            .hint("add one: `databases: {main: \"sqlite:var/app.db\"}`")),
        (Some(name), all) => all.iter().find(|it| name_of(it) == name).ok_or_else(|| {
            Error::new(Kind::Other, format!("no database `{name}` is configured, expected one of {}", names()))
        }),
        (None, [only]) => Ok(only),
        (None, _) => {
            Err(Error::new(Kind::Other, format!("there are several databases: {}", names()))
                .hint("say which, by its name"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::trial::Trial;
    use super::*;

    #[test]
    fn the_only_database_needs_no_name_and_one_of_several_does() {
        let trial = Trial::bare();
        let one = trial.databases();
        assert!(one.database(None).is_ok() && one.database(Some("main")).is_ok());
        let Err(error) = one.database(Some("mian")) else { panic!("there is no such database") };
        assert_eq!(error.message, "no database `mian` is configured, expected one of `main`");
        let mut settings = trial.settings.clone();
        settings.databases.push(Named::new("log", "host.yaml:5:3", Url::parse("sqlite::memory:").unwrap()));
        let two = Databases::new(&settings, 1);
        assert!(two.database(Some("log")).is_ok());
        let Err(error) = two.database(None) else { panic!("one of two was taken") };
        assert_eq!(error.message, "there are several databases: `main`, `log`\nhint: say which, by its name");
        let Err(error) = Databases::new(&Settings::default(), 1).database(None) else { panic!("there is none") };
        assert!(error.message.starts_with("no database is configured"));
    }

    #[test]
    fn every_example_of_a_backend_is_a_url_of_it() {
        for backend in BACKENDS {
            assert_eq!(Url::parse(backend.example).unwrap().backend().name, backend.name);
        }
    }
}
