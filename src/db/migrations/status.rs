//! Which migrations a database has, without changing anything.

use std::collections::BTreeMap;

use super::apply::{Entry, entries};
use super::at_place;
use super::folder::{list, number, read};
use crate::db::Missing;
use crate::db::error::{Error, Kind};
use crate::db::settings::Named;

/// How a migration stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// `NNN_name`.
    pub name: String,
    /// What is to be said of it.
    pub state: State,
}

/// What is to be said of a migration; the times are those at which it was applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// It was applied.
    Applied(String),
    /// It will be applied at the next start.
    Pending,
    /// It was applied, and its file is not what it was then.
    Changed(String),
    /// It was applied, and its file is not there.
    Missing(String),
}

/// How the migrations of a database stand, in their order; `None` if it has no folder of them.
///
/// # Errors
/// If the folder or the database can't be read.
pub fn status(database: &Named) -> Result<Option<Vec<Standing>>, Error> {
    let Some(folder) = &database.migrations else { return Ok(None) };
    let migrations = list(folder, database.url.backend().name).map_err(|mut faults| faults.swap_remove(0))?;
    let mut applied = applied(database).map_err(|error| at_place(database, &error))?;
    let mut standings = BTreeMap::new();
    for migration in migrations {
        let state = match applied.remove(&migration.name) {
            None => State::Pending,
            Some(entry) if read(&migration.path)?.1 == entry.checksum => State::Applied(entry.applied_at),
            Some(entry) => State::Changed(entry.applied_at),
        };
        standings.insert((migration.number, migration.name), state);
    }
    standings
        .extend(applied.into_iter().map(|(name, entry)| ((number(&name), name), State::Missing(entry.applied_at))));
    Ok(Some(standings.into_iter().map(|((_, name), state)| Standing { name, state }).collect()))
}

fn applied(database: &Named) -> Result<BTreeMap<String, Entry>, Error> {
    let backend = database.url.backend();
    let is_there = |missing| (backend.check_presence)(database, missing).is_ok();
    if is_there(Missing::Create) && !is_there(Missing::Refuse) {
        return Ok(BTreeMap::new());
    }
    let mut connection = (backend.look)(database)?;
    match entries(&mut *connection) {
        // There are no books: nothing was applied.
        Err(error) if error.kind == Kind::Syntax => Ok(BTreeMap::new()),
        entries => entries,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::migrate;
    use crate::db::trial::Trial;

    fn standings(trial: &Trial) -> Vec<String> {
        let standings = status(&trial.settings.databases[0]).unwrap().unwrap();
        standings.iter().map(|it| format!("{} {:?}", it.name, it.state)).collect()
    }

    #[test]
    fn each_migration_is_applied_pending_changed_or_missing_and_nothing_is_made() {
        let mut trial = Trial::bare();
        trial.write("migrations/001_a.sql", "CREATE TABLE a (n INT);");
        trial.write("migrations/002_b.sql", "CREATE TABLE b (n INT);");
        trial.write("migrations/010_c.sql", "CREATE TABLE c (n INT);");
        assert_eq!(standings(&trial), ["001_a Pending", "002_b Pending", "010_c Pending"]);
        assert!(!trial.path("var").exists());

        migrate(&trial.settings).unwrap();
        assert!(standings(&trial).iter().all(|it| it.contains(" Applied(\"20")), "{:?}", standings(&trial));
        trial.write("migrations/002_b.sql", "CREATE TABLE b (n INT, m INT);");
        std::fs::remove_file(trial.path("migrations/010_c.sql")).unwrap();
        trial.write("migrations/009_d.sql", "CREATE TABLE d (n INT);");
        trial.write("migrations/11_e.sql", "CREATE TABLE e (n INT);");
        let found = standings(&trial);
        for (found, expected) in
            found.iter().zip(["001_a Applied(", "002_b Changed(", "009_d Pending", "010_c Missing(", "11_e Pending"])
        {
            assert!(found.starts_with(expected), "{found}");
        }
        assert_eq!(found.len(), 5);
        assert_eq!(trial.number("SELECT count(*) FROM sqlite_schema WHERE name IN ('d', 'e')"), 0);

        trial.settings.databases[0].migrations = None;
        assert_eq!(status(&trial.settings.databases[0]), Ok(None));
    }

    #[test]
    fn a_database_without_books_has_all_pending_and_stays_as_it_is() {
        let trial = Trial::bare();
        trial.write("migrations/001_a.sql", "CREATE TABLE a (n INT);");
        std::fs::create_dir(trial.path("var")).unwrap();
        let path = trial.path("var/trial.db");
        trial.write("var/trial.db", "");
        for schema in ["", "CREATE TABLE b (n INT)"] {
            rusqlite::Connection::open(&path).unwrap().execute_batch(schema).unwrap();
            let before = std::fs::read(&path).unwrap();
            assert_eq!(standings(&trial), ["001_a Pending"]);
            assert!(std::fs::read(&path).unwrap() == before, "{schema}");
            assert_eq!(std::fs::read_dir(trial.path("var")).unwrap().count(), 1);
        }
    }
}
