//! Brings each database up to date before the workers start: files `NNN_name.sql` of a folder, in
//! order, once each. It does not know what is in them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::error::{Error, Kind};
use super::settings::{Named, Settings};
use super::value::Value;
use super::{Connection, Missing};

/// What may stand before `.sql`: files for all databases may lie in one folder.
const DATABASES: &[&str] = &["sqlite", "mysql", "postgres"];

const BOOKKEEPING: &str = "CREATE TABLE IF NOT EXISTS rhaid_migrations (name VARCHAR(255) NOT NULL PRIMARY KEY, \
                           checksum CHAR(64) NOT NULL, applied_at VARCHAR(30) NOT NULL)";

/// Opens every database, which creates those that have migrations, and applies what is to be applied.
///
/// # Errors
/// If a database can't be opened, a folder can't be read, a file that was applied is missing or not
/// what it was, or a statement fails; the file that it is in has left no trace then.
pub fn migrate(settings: &Settings) -> Result<(), Error> {
    for database in &settings.databases {
        let at_place = |error: Error| at_place(database, &error);
        let migrations = match &database.migrations {
            Some(folder) => list(folder, database.url.backend().name).map_err(|mut faults| faults.swap_remove(0))?,
            None => {
                (database.url.backend().connect)(database, Missing::Refuse).map_err(at_place)?;
                continue;
            }
        };
        let mut connection = (database.url.backend().connect)(database, Missing::Create).map_err(at_place)?;
        while apply_next(database, &mut *connection, &migrations)? == Applied::One {}
    }
    Ok(())
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

fn at_place(database: &Named, error: &Error) -> Error {
    error.clone().within(format_args!("{}: database `{}`", database.place, database.name))
}

/// A file of the folder.
#[derive(Debug, PartialEq)]
struct Migration {
    number: u64,
    /// `NNN_name`.
    name: String,
    path: PathBuf,
}

/// The migrations in `folder` for one sort of database, in order.
fn list(folder: &Path, backend: &str) -> Result<Vec<Migration>, Vec<Error>> {
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

#[derive(PartialEq)]
enum Applied {
    One,
    None,
}

/// Applies the first migration that was not, in one transaction with the look at which were: of
/// several processes that start at once one does it, and the others see that it is done.
fn apply_next(database: &Named, connection: &mut dyn Connection, migrations: &[Migration]) -> Result<Applied, Error> {
    let at_place = |error: Error| at_place(database, &error);
    connection.begin(0).map_err(at_place)?;
    let outcome = bookkeeping(connection).map_err(at_place).and_then(|applied| {
        let outcome = in_transaction(connection, migrations, &applied)?;
        connection.commit(0).map_err(at_place)?;
        Ok(outcome)
    });
    if outcome.is_err() && connection.in_transaction() {
        // Should this fail too, the connection is closed by who opened it.
        let _ = connection.rollback(0);
    }
    outcome
}

/// The names of the migrations that were applied, and their files' checksums.
fn bookkeeping(connection: &mut dyn Connection) -> Result<BTreeMap<String, String>, Error> {
    connection.exec(BOOKKEEPING, &[])?;
    let rows = connection.query("SELECT name, checksum FROM rhaid_migrations", &[], usize::MAX)?;
    let text = |value: Option<Value<'_>>| match value {
        Some(Value::Text(text)) => text.into_owned(),
        _ => String::new(),
    };
    Ok(rows.iter().map(|row| (text(row.at(0)), text(row.at(1)))).collect())
}

fn in_transaction(
    connection: &mut dyn Connection,
    migrations: &[Migration],
    applied: &BTreeMap<String, String>,
) -> Result<Applied, Error> {
    if let Some(name) = applied.keys().find(|name| !migrations.iter().any(|it| it.name == **name)) {
        let message = format!("migration `{name}.sql` was applied to the database, but its file is missing");
        return Err(Error::new(Kind::Migration, message).hint("put the file back"));
    }
    let mut next = None;
    for migration in migrations {
        let (content, checksum) = read(&migration.path)?;
        match applied.get(&migration.name) {
            None if next.is_none() => next = Some((migration, content, checksum)),
            Some(known) if *known != checksum => {
                let message = format!("`{}` was changed since it was applied", migration.path.display());
                return Err(Error::new(Kind::Migration, message)
                    .hint("undo the change; what is new goes into a migration of its own"));
            }
            _ => {}
        }
    }
    let Some((migration, content, checksum)) = next else { return Ok(Applied::None) };
    connection.script(&content).map_err(|fault| {
        fault.error.within(format_args!("{}:{}", migration.path.display(), line(&content, fault.offset)))
    })?;
    let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    connection.exec(
        "INSERT INTO rhaid_migrations (name, checksum, applied_at) VALUES (?, ?, ?)",
        &[migration.name.as_str().into(), checksum.as_str().into(), now.as_str().into()],
    )?;
    tracing::info!("applied the migration `{}`", migration.path.display());
    Ok(Applied::One)
}

/// A file's text and its SHA-256.
fn read(path: &Path) -> Result<(String, String), Error> {
    let fault = |what: String| Error::new(Kind::Migration, format!("`{}` {what}", path.display()));
    let bytes = fs::read(path).map_err(|error| fault(format!("can't be read: {error}")))?;
    let checksum = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    let content = String::from_utf8(bytes).map_err(|error| {
        let line = 1 + error.as_bytes()[..error.utf8_error().valid_up_to()].iter().filter(|it| **it == b'\n').count();
        fault(format!("is not UTF-8 in line {line}"))
    })?;
    Ok((content, checksum))
}

/// The line in which what begins at `offset` has its first word: blank lines and comments before a
/// statement belong to it.
fn line(text: &str, offset: usize) -> usize {
    let mut rest = text.get(offset..).unwrap_or_default().trim_start();
    loop {
        let after = match rest {
            _ if rest.starts_with("--") => rest.split_once('\n'),
            _ if rest.starts_with("/*") => rest.split_once("*/"),
            _ => None,
        };
        let Some((_, after)) = after else { break };
        rest = after.trim_start();
    }
    let end = if rest.is_empty() { offset.min(text.len()) } else { text.len() - rest.len() };
    1 + text.as_bytes()[..end].iter().filter(|byte| **byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::thread;

    use super::*;
    use crate::db::Url;
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
