//! Brings each database up to date before the workers start: files `NNN_name.sql` of a folder, in
//! order, once each. It does not know what is in them.

mod apply;
mod folder;
mod status;

use self::apply::Applied;
use self::folder::list;
use super::Missing;
use super::connection::leave;
use super::error::{Error, Kind};
use super::settings::{Named, Settings};

pub use self::status::{Standing, State, status};

/// Opens every database, which creates those that have migrations, and applies what is to be applied.
///
/// # Errors
/// If a database can't be opened, a folder can't be read, a file that was applied is missing or not
/// what it was, or a statement fails; the file that it is in has left no trace then.
pub fn migrate(settings: &Settings) -> Result<(), Error> {
    for database in &settings.databases {
        match one(database) {
            Err(error) if database.optional && error.kind == Kind::Away => {
                let waits = if database.migrations.is_some() { "; its migrations wait for the next start" } else { "" };
                tracing::warn!("{error}: it is `optional`, so the start goes on{waits}");
            }
            outcome => outcome?,
        }
    }
    Ok(())
}

fn one(database: &Named) -> Result<(), Error> {
    let at_place = |error: Error| at_place(database, &error);
    let Some(folder) = &database.migrations else {
        return (database.url.backend().connect)(database, Missing::Refuse).map(leave).map_err(at_place);
    };
    let migrations = list(folder, database.url.backend().name).map_err(|mut faults| faults.swap_remove(0))?;
    // A connection for each: what a file has set on its own, as dumps do, is not there for the next.
    let connect = || (database.url.backend().connect)(database, Missing::Create).map_err(at_place);
    loop {
        let mut connection = connect()?;
        let applied = apply::next(database, &mut *connection, &migrations)?;
        leave(connection);
        if applied != Applied::One {
            return Ok(());
        }
    }
}

/// Looks for what would keep the databases from being opened and migrated, without opening them.
///
/// # Errors
/// All that was found.
pub fn check(settings: &Settings) -> Result<(), Vec<Error>> {
    let mut faults = Vec::new();
    for database in &settings.databases {
        let missing = if database.migrations.is_some() { Missing::Create } else { Missing::Refuse };
        let presence = (database.url.backend().check_presence)(database, missing);
        faults.extend(presence.err().map(|error| at_place(database, &error)));
        if let Some(folder) = &database.migrations {
            faults.extend(list(folder, database.url.backend().name).err().into_iter().flatten());
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// Opens every database that is there, or has to be.
///
/// # Errors
/// All that went wrong.
pub fn connect_all(settings: &Settings) -> Result<(), Vec<Error>> {
    let mut faults = Vec::new();
    for database in &settings.databases {
        let backend = database.url.backend();
        let is_there = |missing| (backend.check_presence)(database, missing).is_ok();
        if database.migrations.is_some() && is_there(Missing::Create) && !is_there(Missing::Refuse) {
            continue;
        }
        let outcome = (backend.probe)(database);
        faults.extend(outcome.err().map(|error| at_place(database, &error)));
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// The error with the place of the database in front of it.
pub fn at_place(database: &Named, error: &Error) -> Error {
    error.clone().within(format_args!("{}: database `{}`", database.place, database.name))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::sync::Barrier;
    use std::thread;

    use super::*;
    use crate::db::Url;
    use crate::db::error::Kind;
    use crate::db::trial::{Trial, json};

    fn applied(trial: &Trial) -> String {
        trial.run(|db| json(&db.query("SELECT name FROM rhaid_migrations ORDER BY name", &[]).unwrap()))
    }

    #[test]
    fn files_are_applied_in_order_once_each() {
        let trial = Trial::bare();
        trial.write("migrations/10_third.sql", "INSERT INTO log VALUES (3);");
        trial.write("migrations/002_second.sql", "INSERT INTO log VALUES (2)");
        trial.write(
            "migrations/001_first.sql",
            "-- a table\nCREATE TABLE log (n INT); INSERT INTO log VALUES (1);\n-- done\n",
        );
        trial.write("migrations/README.md", "nothing");
        for _ in 0..2 {
            migrate(&trial.settings).unwrap();
            assert_eq!(trial.number("SELECT group_concat(n, '') + 0 FROM log"), 123);
        }
        trial.write("migrations/011_fourth.sql", "INSERT INTO log VALUES (4);");
        migrate(&trial.settings).unwrap();
        assert_eq!(trial.number("SELECT group_concat(n, '') + 0 FROM log"), 1234);
        assert_eq!(
            applied(&trial),
            r#"[{"name":"001_first"},{"name":"002_second"},{"name":"011_fourth"},{"name":"10_third"}]"#
        );
    }

    #[test]
    fn a_file_for_this_database_stands_in_for_the_general_one_and_others_are_left_alone() {
        let trial = Trial::bare();
        trial.write("migrations/001_a.sql", "BROKEN");
        trial.write("migrations/001_a.sqlite.sql", "CREATE TABLE a (n INT);");
        trial.write("migrations/001_a.mysql.sql", "BROKEN");
        trial.write("migrations/002_b.postgres.sql", "BROKEN");
        migrate(&trial.settings).unwrap();
        assert_eq!(applied(&trial), r#"[{"name":"001_a"}]"#);
    }

    #[test]
    fn a_trigger_is_one_statement() {
        let trial = Trial::new(
            "CREATE TABLE a (n INT); CREATE TABLE b (n INT);
             CREATE TRIGGER copy AFTER INSERT ON a BEGIN INSERT INTO b VALUES (new.n); INSERT INTO b VALUES (';'); END;
             INSERT INTO a VALUES (1);",
        );
        assert_eq!(trial.number("SELECT count(*) FROM b"), 2);
    }

    #[test]
    fn a_bad_statement_is_named_by_file_and_line_and_its_file_leaves_no_trace() {
        let trial = Trial::new("CREATE TABLE a (n INT UNIQUE);");
        for (content, line, what) in [
            ("INSERT INTO a VALUES (1);\n\nSELECT *\nFORM a;", 4, "syntax error"),
            ("INSERT INTO a VALUES (1);\n-- again\nINSERT INTO a\nVALUES (1);", 3, "UNIQUE"),
            ("INSERT INTO a VALUES (1);\n/* a\n b */ INSERT INTO missing VALUES (1);", 3, "no such table"),
            ("CREATE TABLE b (n INT);\nCREATE TABLE a (n INT);", 2, "already exists"),
            ("INSERT INTO a VALUES (1);\nCOMMIT;", 2, "leave BEGIN and COMMIT out"),
            ("\nINSERT INTO a VALUES (?);", 2, "placeholder"),
        ] {
            trial.write("migrations/002_bad.sql", content);
            let error = migrate(&trial.settings).unwrap_err();
            let start = format!("{}:{line}: ", trial.path("migrations/002_bad.sql").display());
            assert!(error.message.starts_with(&start) && error.message.contains(what), "{content}: {error}");
            if !what.contains("COMMIT") {
                assert_eq!(trial.number("SELECT count(*) FROM a"), 0, "{content}");
            }
            trial.run(|db| db.exec("DELETE FROM a", &[]).unwrap());
        }
    }

    #[test]
    fn what_a_file_sets_for_its_connection_is_nothing_to_the_books_and_the_next_file() {
        let trial = Trial::bare();
        trial.write("migrations/001_a.sql", "CREATE TABLE a (n INT); CREATE TEMP TABLE rhaid_migrations (n INT);");
        trial.write("migrations/002_b.sql", "PRAGMA case_sensitive_like = ON; INSERT INTO a SELECT 'A' LIKE 'a';");
        trial.write("migrations/003_c.sql", "INSERT INTO a SELECT 'A' LIKE 'a';");
        migrate(&trial.settings).unwrap();
        assert_eq!(applied(&trial), r#"[{"name":"001_a"},{"name":"002_b"},{"name":"003_c"}]"#);
        assert_eq!(trial.number("SELECT group_concat(n, '') + 0 FROM a"), 1);
    }

    #[test]
    fn a_changed_or_missing_file_is_a_refused_start() {
        let trial = Trial::new("CREATE TABLE a (n INT);");
        trial.write("migrations/001_schema.sql", "CREATE TABLE a (n INT, m INT);");
        let error = migrate(&trial.settings).unwrap_err();
        assert_eq!(error.kind, Kind::Migration);
        assert!(error.message.contains("001_schema.sql` was changed since it was applied"), "{error}");
        fs::remove_file(trial.path("migrations/001_schema.sql")).unwrap();
        let error = migrate(&trial.settings).unwrap_err();
        assert!(error.message.starts_with("migration `001_schema.sql` was applied to the database"), "{error}");
    }

    #[test]
    fn of_many_that_start_at_once_one_applies_each() {
        let trial = Trial::bare();
        trial.write("migrations/001_a.sql", "CREATE TABLE a (n INT); INSERT INTO a VALUES (1);");
        trial.write("migrations/002_b.sql", "INSERT INTO a VALUES (2);");
        let barrier = Barrier::new(8);
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    barrier.wait();
                    migrate(&trial.settings).unwrap();
                });
            }
        });
        assert_eq!(trial.number("SELECT count(*) FROM a"), 2);
    }

    #[test]
    fn a_check_finds_everything_and_creates_nothing() {
        let mut trial = Trial::bare();
        for name in ["a.sql", "1a.sql", "001_.sql", "001_a.oracle.sql", "007_a.sql", "007_b.sql", "008_c.sql"] {
            trial.write(&format!("migrations/{name}"), "");
        }
        let url = |path: &Path| Url::parse(&format!("sqlite:{}", path.display())).unwrap();
        let databases = &mut trial.settings.databases;
        databases.push(Named::new("gone", "host.yaml:5:3", url(&trial.folder.path().join("gone.db"))));
        databases.push(Named::new("folder", "host.yaml:6:3", url(trial.folder.path())));
        let missing = Some(trial.folder.path().join("missing"));
        databases.push(Named { migrations: missing, ..Named::new("new", "host.yaml:7:3", databases[0].url.clone()) });
        let faults: Vec<String> = check(&trial.settings).unwrap_err().iter().map(ToString::to_string).collect();
        let mut expected =
            vec!["a.sql` is not named", "1a.sql` is not named", "001_.sql` is not named", "001_a.oracle.sql` is"];
        expected.extend(["007_b.sql` have the same number", "host.yaml:5:3: database `gone`: the database file"]);
        expected.extend(["host.yaml:6:3: database `folder`: ", "missing` can't be read"]);
        for expected in &expected {
            assert!(faults.iter().any(|it| it.contains(expected)), "{expected}: {faults:?}");
        }
        assert_eq!(faults.len(), expected.len(), "{faults:?}");
        assert!(!trial.path("var").exists());
    }

    #[test]
    fn the_samples_migrations_make_its_data() {
        let mut trial = Trial::bare();
        trial.settings.databases[0].migrations = Some(Path::new(env!("CARGO_MANIFEST_DIR")).join("conf/migrations"));
        migrate(&trial.settings).unwrap();
        trial.run(|db| {
            let query = |sql: &str| json(&db.query(sql, &[]).unwrap());
            let projects = query("SELECT id, name FROM projects WHERE company_id = 1 ORDER BY id");
            assert_eq!(projects.len(), 2211 - r#"{"status":"Success","data":}"#.len());
            assert!(projects.starts_with(r#"[{"id":1,"name":"Project 1 for company 1"},{"id":2,"#), "{projects}");
            assert_eq!(
                query("SELECT * FROM projects WHERE id = 500"),
                r#"[{"id":500,"name":"Project 50 for company 10","company_id":10,"created_at":"2014-02-08T16:54:50","updated_at":"2014-02-08T16:54:50"}]"#
            );
            assert_eq!(
                query("SELECT * FROM images WHERE _id = '13e2d8ca-cd9e-4ca9-8366-0f953fd0f43f'"),
                concat!(
                    r#"[{"_id":"13e2d8ca-cd9e-4ca9-8366-0f953fd0f43f","name":"hihi","access":"public","type":"picture","#,
                    r#""format":"png","owner":"someone","status":"locked","size":1024,"created_at":"2012-01-06T22:11:15","#,
                    r#""accessed_at":"2012-01-07T13:14:15","access_count":1000,"checksum":null,"others":null}]"#
                )
            );
        });
        assert_eq!(trial.number("SELECT count(*) FROM companies"), 10);
        assert_eq!(trial.number("SELECT count(*) FROM projects"), 500);
    }

    #[test]
    fn connecting_creates_nothing_and_opens_what_is_there() {
        let mut trial = Trial::bare();
        assert_eq!(connect_all(&trial.settings), Ok(()));
        assert!(!trial.path("var").exists());
        migrate(&trial.settings).unwrap();
        assert_eq!(connect_all(&trial.settings), Ok(()));
        trial.write("var/trial.db", "text ".repeat(100));
        let _ = fs::remove_file(trial.path("var/trial.db-wal"));
        let faults = connect_all(&trial.settings).unwrap_err();
        assert!(faults[0].message.starts_with("host.yaml:2:3: database `main`: the database file"), "{faults:?}");
        trial.settings.databases[0].migrations = None;
        fs::remove_file(trial.path("var/trial.db")).unwrap();
        assert!(connect_all(&trial.settings).unwrap_err()[0].message.contains("does not exist"));
        assert!(migrate(&trial.settings).unwrap_err().message.contains("does not exist"));
    }
}
