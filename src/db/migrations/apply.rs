//! Applies migrations, one at a time, and keeps the books of it in the database itself.

use std::collections::BTreeMap;

use super::at_place;
use super::folder::{Migration, read};
use crate::db::Connection;
use crate::db::error::{Error, Kind};
use crate::db::keyword;
use crate::db::rows::Row;
use crate::db::settings::Named;
use crate::db::statements::{Fault, Statements};
use crate::db::value::Value;

const BOOKKEEPING: &str = "CREATE TABLE IF NOT EXISTS rhaid_migrations (name VARCHAR(255) NOT NULL PRIMARY KEY, \
                           checksum CHAR(64) NOT NULL, applied_at VARCHAR(30) NOT NULL)";

/// What was done.
#[derive(PartialEq)]
pub enum Applied {
    One,
    None,
}

/// Applies the first migration that was not, in one piece with the look at which were: of several
/// processes that start at once one does it, and the others see that it is done.
///
/// # Errors
/// If the database refuses, or a file that was applied is missing or not what it was.
pub fn next(database: &Named, connection: &mut dyn Connection, migrations: &[Migration]) -> Result<Applied, Error> {
    let at_place = |error: Error| at_place(database, &error);
    connection.begin_migration().map_err(at_place)?;
    let outcome = bookkeeping(connection).map_err(at_place).and_then(|applied| {
        let outcome = first(connection, migrations, &applied)?;
        connection.end_migration().map_err(at_place)?;
        Ok(outcome)
    });
    if outcome.is_err() {
        // Should this fail too, the connection is closed by who opened it.
        let _ = connection.undo_migration();
    }
    outcome
}

/// What the books say of a migration that was applied.
pub struct Entry {
    pub checksum: String,
    pub applied_at: String,
}

/// The migrations that were applied, by name; the books are opened where there are none.
fn bookkeeping(connection: &mut dyn Connection) -> Result<BTreeMap<String, Entry>, Error> {
    connection.exec(BOOKKEEPING, &[])?;
    entries(connection)
}

/// The migrations that were applied, by name.
///
/// # Errors
/// If the database refuses, as it does where there are no books.
pub fn entries(connection: &mut dyn Connection) -> Result<BTreeMap<String, Entry>, Error> {
    let rows = connection.query("SELECT name, checksum, applied_at FROM rhaid_migrations", &[], usize::MAX)?;
    let text = |value: Option<Value<'_>>| match value {
        Some(Value::Text(text)) => text.into_owned(),
        _ => String::new(),
    };
    let entry = |row: &Row| Entry { checksum: text(row.at(1)), applied_at: text(row.at(2)) };
    Ok(rows.iter().map(|row| (text(row.at(0)), entry(&row))).collect())
}

fn first(
    connection: &mut dyn Connection,
    migrations: &[Migration],
    applied: &BTreeMap<String, Entry>,
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
            Some(known) if known.checksum != checksum => {
                let message = format!("`{}` was changed since it was applied", migration.path.display());
                return Err(Error::new(Kind::Migration, message)
                    .hint("undo the change; what is new goes into a migration of its own"));
            }
            _ => {}
        }
    }
    let Some((migration, content, checksum)) = next else { return Ok(Applied::None) };
    // Where a failure takes it back it stands in the books before it runs: PostgreSQL's dumps leave a
    // `search_path` behind with which the books would not be found.
    let is_transactional = connection.is_transactional();
    if is_transactional {
        enter(connection, &migration.name, &checksum)?;
    }
    run(connection, &content).map_err(|fault| fault.within(migration.path.display()))?;
    if !is_transactional {
        enter(connection, &migration.name, &checksum)?;
    }
    tracing::info!("applied the migration `{}`", migration.path.display());
    Ok(Applied::One)
}

fn enter(connection: &mut dyn Connection, name: &str, checksum: &str) -> Result<(), Error> {
    let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let sql = "INSERT INTO rhaid_migrations (name, checksum, applied_at) VALUES (?, ?, ?)";
    connection.exec(sql, &[name.into(), checksum.into(), now.as_str().into()]).map(drop)
}

/// Runs all statements of a file.
fn run(connection: &mut dyn Connection, content: &str) -> Result<(), Fault> {
    let dialect = connection.dialect();
    let mut statements = Statements::new(content.as_bytes(), dialect);
    let mut is_first = true;
    loop {
        let outcome = match statements.read() {
            Ok(None) => return Ok(()),
            Ok(Some(statement)) => one(connection, statement.text).map_err(|error| statement.fault(error, dialect)),
            Err(fault) => Err(fault),
        };
        outcome.map_err(|Fault { line, error }| {
            if is_first || connection.is_transactional() {
                return Fault { line, error };
            }
            let title = dialect.title();
            let hint = format!(
                "the statements before line {line} were done and stay, {title} can't take them back: undo them by hand, \
                 mend the file, and start again"
            );
            Fault { line, error: error.hint(&hint) }
        })?;
        is_first = false;
    }
}

fn one(connection: &mut dyn Connection, statement: &str) -> Result<(), Error> {
    const OUT: &str = "leave BEGIN and COMMIT out";
    // A savepoint in the file's transaction does no harm.
    let keyword = keyword::transaction_control(statement, connection.dialect());
    if let Some(keyword) = keyword.filter(|it| !["SAVEPOINT", "RELEASE"].contains(it)) {
        let message = format!("`{keyword}` begins or ends a transaction, and the whole file runs in one");
        return Err(Error::new(Kind::Migration, message).hint(OUT));
    }
    connection.run(statement)?;
    if connection.is_transactional() && !connection.in_transaction() {
        return Err(Error::new(Kind::Migration, "this ends the transaction that the whole file runs in").hint(OUT));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::trial::Trial;
    use crate::db::{Dialect, Executed, Finish, Isolation, Missing, Rows};

    /// A database that takes nothing back.
    struct Lasting(Box<dyn Connection>);

    impl Connection for Lasting {
        fn query(&mut self, sql: &str, parameters: &[Value<'_>], most: usize) -> Result<Rows, Error> {
            self.0.query(sql, parameters, most)
        }

        fn exec(&mut self, sql: &str, parameters: &[Value<'_>]) -> Result<Executed, Error> {
            self.0.exec(sql, parameters)
        }

        fn dialect(&self) -> Dialect {
            self.0.dialect()
        }

        fn run(&mut self, statement: &str) -> Result<(), Error> {
            self.0.run(statement)
        }

        fn begin(&mut self, depth: usize, isolation: Option<Isolation>) -> Result<(), Error> {
            self.0.begin(depth, isolation)
        }

        fn commit(&mut self, depth: usize) -> Result<(), Error> {
            self.0.commit(depth)
        }

        fn rollback(&mut self, depth: usize) -> Result<(), Error> {
            self.0.rollback(depth)
        }

        fn in_transaction(&self) -> bool {
            self.0.in_transaction()
        }

        fn is_transactional(&self) -> bool {
            false
        }

        fn begin_migration(&mut self) -> Result<(), Error> {
            Ok(())
        }

        fn end_migration(&mut self) -> Result<(), Error> {
            Ok(())
        }

        fn undo_migration(&mut self) -> Result<(), Error> {
            Ok(())
        }

        fn finish(self: Box<Self>) -> Finish {
            self.0.finish()
        }
    }

    #[test]
    fn where_nothing_is_taken_back_a_failure_says_what_stays_and_how_to_mend_it() {
        let trial = Trial::new("CREATE TABLE a (n INT);");
        let database = &trial.settings.databases[0];
        let mut lasting = Lasting((database.url.backend().connect)(database, Missing::Refuse).unwrap());
        for (content, line, stays) in [
            ("CREATE TABLE b (n INT);\n\nBROKEN;", 3, true),
            ("BROKEN;\nCREATE TABLE c (n INT);", 1, false),
            ("CREATE TABLE c (n INT);\n'", 2, true),
        ] {
            trial.write("migrations/002_more.sql", content);
            let migrations = super::super::list(&trial.path("migrations"), "sqlite").unwrap();
            let Err(error) = next(database, &mut lasting, &migrations) else { panic!("it was applied") };
            assert!(error.message.contains(&format!("002_more.sql:{line}: ")), "{error}");
            let hint = format!("\nhint: the statements before line {line} were done and stay, SQLite can't");
            assert_eq!(error.message.contains(&hint), stays, "{error}");
        }
        assert_eq!(trial.number("SELECT count(*) FROM sqlite_schema WHERE name IN ('b', 'c')"), 2);
        assert_eq!(trial.number("SELECT count(*) FROM rhaid_migrations"), 1);
    }
}
