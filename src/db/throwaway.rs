//! Databases for tests: what the configuration names is replaced by fresh files that nobody else has.

use std::fs;
use std::io;

use tempfile::TempDir;

use super::settings::{Named, Reach, Settings, Url};
use super::{Error, Kind, migrate, sqlite};

/// What the migrations of each database make, to be copied as often as it is needed.
pub struct Throwaway {
    template: TempDir,
    databases: Vec<Named>,
}

/// A copy of all databases, deleted when it is dropped.
pub struct Fresh {
    /// The databases, under the names of the configuration.
    pub settings: Settings,
    _folder: TempDir,
}

impl Throwaway {
    /// Applies the migrations of each database to a new file. A database without migrations is empty.
    /// Those that the configuration names are not even looked at.
    ///
    /// # Errors
    /// If there is a database that no file can stand for, or if a migration fails.
    pub fn new(settings: &Settings) -> Result<Throwaway, Error> {
        for named in &settings.databases {
            let backend = named.url.backend().name;
            if backend != sqlite::BACKEND.name {
                let message = format!("{}: database `{}` is of the kind `{backend}`", named.place, named.name);
                let hint = "tests run on throwaway databases, which only `sqlite:` can be so far";
                return Err(Error::new(Kind::Other, message).hint(hint));
            }
        }
        let template = TempDir::with_prefix("rhaid-test-").map_err(|error| fault(&error))?;
        let throwaway = Throwaway { template, databases: settings.databases.clone() };
        let first = throwaway.settings_in(&throwaway.template)?;
        for named in &first.databases {
            // To SQLite an empty file is an empty database.
            fs::File::create(named.url.address()).map_err(|error| fault(&error))?;
        }
        migrate(&first)?;
        Ok(throwaway)
    }

    /// A copy of the databases as the migrations left them.
    ///
    /// # Errors
    /// If the disk has no room.
    pub fn fresh(&self) -> Result<Fresh, Error> {
        let folder = self.copy().map_err(|error| fault(&error))?;
        Ok(Fresh { settings: self.settings_in(&folder)?, _folder: folder })
    }

    fn copy(&self) -> io::Result<TempDir> {
        let folder = TempDir::with_prefix("rhaid-test-")?;
        for entry in fs::read_dir(&self.template)? {
            let entry = entry?;
            fs::copy(entry.path(), folder.path().join(entry.file_name()))?;
        }
        Ok(folder)
    }

    /// The settings with each database in `folder`; two names of one database stay one database.
    fn settings_in(&self, folder: &TempDir) -> Result<Settings, Error> {
        let replaced = self.databases.iter().map(|named| {
            let index = self.databases.iter().position(|it| it.url == named.url).unwrap_or_default();
            let path = folder.path().join(format!("{index}.db"));
            let url = Url::parse(&format!("sqlite:{}", path.display()));
            let url = url.map_err(|message| Error::new(Kind::Other, message))?;
            Ok(Named { url, reach: Reach::Itself, ..named.clone() })
        });
        Ok(Settings { databases: replaced.collect::<Result<_, Error>>()? })
    }
}

fn fault(error: &io::Error) -> Error {
    Error::new(
        Kind::Other,
        format!("a throwaway database can't be made in `{}`: {error}", std::env::temp_dir().display()),
    )
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::db::Databases;
    use crate::db::trial::{Trial, block_on, number, on_fiber};

    const COUNT: &str = "SELECT count(*) FROM a";

    fn count(settings: &Settings, name: &str) -> i64 {
        let databases = std::rc::Rc::new(Databases::new(settings, 1));
        let name = name.to_owned();
        block_on(crate::fiber::run(Default::default(), move || number(databases.database(Some(&name)).unwrap(), COUNT)))
            .unwrap()
    }

    #[test]
    fn each_copy_is_what_the_migrations_make_and_the_database_itself_is_not_even_made() {
        let trial = Trial::bare();
        trial.write("migrations/001_a.sql", "CREATE TABLE a (n INT); INSERT INTO a VALUES (1);");
        let throwaway = Throwaway::new(&trial.settings).unwrap();
        let (one, other) = (throwaway.fresh().unwrap(), throwaway.fresh().unwrap());
        let databases = std::rc::Rc::new(Databases::new(&one.settings, 1));
        block_on(on_fiber(&databases, Default::default(), |db| db.exec("INSERT INTO a VALUES (2)", &[]).unwrap()))
            .unwrap();
        assert_eq!((count(&one.settings, "main"), count(&other.settings, "main")), (2, 1));
        assert!(!trial.path("var").exists());
        let path = PathBuf::from(one.settings.databases[0].url.address());
        assert!(path.exists());
        drop((databases, one));
        assert!(!path.exists());
    }

    #[test]
    fn two_names_of_one_database_stay_one_and_one_without_migrations_is_empty() {
        let trial = Trial::bare();
        trial.write("migrations/001_a.sql", "CREATE TABLE a (n INT);");
        let mut settings = trial.settings.clone();
        let named = |name: &str, url: &str| Named::new(name, "host.yaml:5:3", Url::parse(url).unwrap());
        let same = format!("sqlite:{}", settings.databases[0].url.address());
        settings.databases.extend([
            named("same", &same),
            named("memory", "sqlite::memory:"),
            named("gone", "sqlite:/no/such.db"),
        ]);
        let fresh = Throwaway::new(&settings).unwrap().fresh().unwrap();
        let urls: Vec<_> = fresh.settings.databases.iter().map(|it| it.url.address().to_owned()).collect();
        assert!(urls[0] == urls[1] && urls[2] != urls[0] && urls[3] != urls[2], "{urls:?}");
        assert_eq!(count(&fresh.settings, "same"), 0);
    }

    #[test]
    fn no_statement_leads_to_another_database() {
        let trial = Trial::bare();
        trial.write("migrations/001_a.sql", "CREATE TABLE a (n INT);");
        let fresh = Throwaway::new(&trial.settings).unwrap().fresh().unwrap();
        let databases = std::rc::Rc::new(Databases::new(&fresh.settings, 1));
        let other = trial.path("other.db");
        let exec =
            |sql: String| block_on(on_fiber(&databases, Default::default(), move |db| db.exec(&sql, &[]))).unwrap();
        for sql in [
            format!("ATTACH '{}' AS other", other.display()),
            format!("ATTACH '{}' || '' AS other", other.display()),
            format!("VACUUM INTO '{}'", other.display()),
        ] {
            let message = exec(sql).unwrap_err().message;
            assert!(message.contains("authori"), "{message}");
        }
        assert!(!other.exists());
        // Which attaches something that has no name.
        assert!(exec("VACUUM".to_owned()).is_ok());
    }
}
