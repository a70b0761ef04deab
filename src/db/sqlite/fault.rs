//! SQLite's error codes as the errors that all databases share.

use rusqlite::ffi;

use crate::db::error::{Error, Kind};
use crate::fiber;

/// The error that all databases share for one of SQLite's.
pub fn of(error: &rusqlite::Error) -> Error {
    match error {
        rusqlite::Error::SqliteFailure(code, message) => failure(code.extended_code, message.as_deref()),
        rusqlite::Error::SqlInputError { error, msg, sql, offset } => {
            let mut fault = failure(error.extended_code, Some(msg));
            if let Some(before) = usize::try_from(*offset).ok().and_then(|offset| sql.get(..offset)) {
                let position = before.chars().count() + 1;
                fault.message.push_str(&format!(" at character {position} of the statement"));
                fault.position = u32::try_from(position).ok();
            }
            fault
        }
        rusqlite::Error::MultipleStatement => {
            Error::new(Kind::Syntax, "there are two statements in one call").hint("make a call for each")
        }
        rusqlite::Error::Empty => Error::new(Kind::Syntax, "there is no statement in the text"),
        other => Error::new(Kind::Other, other.to_string()),
    }
}

/// As [`of`], for a statement that SQLite does not get ready to run.
pub fn of_unprepared(error: &rusqlite::Error) -> Error {
    let fault = of(error);
    // Its general code, which while a statement runs may mean anything.
    let is_general = match error {
        rusqlite::Error::SqliteFailure(error, _) | rusqlite::Error::SqlInputError { error, .. } => {
            error.extended_code == ffi::SQLITE_ERROR
        }
        _ => false,
    };
    if is_general { Error { kind: Kind::Syntax, ..fault } } else { fault }
}

fn failure(code: i32, message: Option<&str>) -> Error {
    let message = message.unwrap_or("unknown error");
    // Both are what our own handlers make of work that has to stop.
    if matches!(code & 0xff, ffi::SQLITE_INTERRUPT | ffi::SQLITE_BUSY)
        && let Err(stop) = fiber::slice()
    {
        return stop.into();
    }
    let kind = match code {
        ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY | ffi::SQLITE_CONSTRAINT_ROWID => {
            Kind::Unique
        }
        ffi::SQLITE_CONSTRAINT_FOREIGNKEY => Kind::ForeignKey,
        ffi::SQLITE_CONSTRAINT_NOTNULL => Kind::NotNull,
        ffi::SQLITE_CONSTRAINT_CHECK => Kind::Check,
        _ => match code & 0xff {
            ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED => Kind::Busy,
            ffi::SQLITE_CANTOPEN
            | ffi::SQLITE_NOTADB
            | ffi::SQLITE_CORRUPT
            | ffi::SQLITE_IOERR
            | ffi::SQLITE_PERM
            | ffi::SQLITE_READONLY
            | ffi::SQLITE_PROTOCOL => Kind::Connection,
            _ => Kind::Other,
        },
    };
    let (constraint, column) = violated(kind, message);
    Error { code: Some(code.to_string().into()), constraint, column, ..Error::new(kind, message) }
}

/// The constraint and the column that a message such as `UNIQUE constraint failed: companies.api`
/// names.
fn violated(kind: Kind, message: &str) -> (Option<Box<str>>, Option<Box<str>>) {
    let Some((_, what)) = message.split_once("constraint failed: ") else { return (None, None) };
    match kind {
        Kind::Check => (Some(what.into()), None),
        Kind::Unique | Kind::NotNull => match what.strip_prefix("index '") {
            Some(index) => (Some(index.trim_end_matches('\'').into()), None),
            None if what.contains(", ") => (None, None),
            None => (None, what.rsplit_once('.').map(|(_, column)| column.into())),
        },
        _ => (None, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::Connection;

    fn fault(sql: &str) -> Error {
        let connection = Connection::open_in_memory().unwrap();
        let schema = "CREATE TABLE a(id INTEGER PRIMARY KEY, b TEXT UNIQUE, c TEXT NOT NULL DEFAULT '', \
             d INT CONSTRAINT positive CHECK (d > 0), e INT REFERENCES a(id), UNIQUE (c, d));
             CREATE UNIQUE INDEX lower_b ON a(lower(b)) WHERE e = 1; INSERT INTO a(id, b) VALUES (1, 'x');";
        connection.execute_batch(schema).unwrap();
        match connection.prepare(sql) {
            Ok(mut statement) => of(&statement.execute([]).unwrap_err()),
            Err(error) => of_unprepared(&error),
        }
    }

    #[test]
    fn what_a_constraint_refuses_says_which_and_where() {
        for (sql, kind, constraint, column) in [
            ("INSERT INTO a(b) VALUES ('x')", Kind::Unique, None, Some("b")),
            ("INSERT INTO a(id) VALUES (1)", Kind::Unique, None, Some("id")),
            ("INSERT INTO a(c, d) VALUES ('', 1), ('', 1)", Kind::Unique, None, None),
            ("INSERT INTO a(b, e) VALUES ('y', 1), ('Y', 1)", Kind::Unique, Some("lower_b"), None),
            ("INSERT INTO a(c) VALUES (NULL)", Kind::NotNull, None, Some("c")),
            ("INSERT INTO a(d) VALUES (0)", Kind::Check, Some("positive"), None),
            ("INSERT INTO a(e) VALUES (7)", Kind::ForeignKey, None, None),
        ] {
            let error = fault(sql);
            assert_eq!(
                (error.kind, error.constraint.as_deref(), error.column.as_deref()),
                (kind, constraint, column),
                "{sql}: {error}"
            );
            assert!(error.code.is_some());
        }
    }

    #[test]
    fn what_can_not_be_understood_is_a_matter_of_syntax() {
        let error = fault("SELECT 'é' FORM a");
        assert_eq!(error.kind, Kind::Syntax);
        assert_eq!(error.message, "near \"a\": syntax error at character 17 of the statement");
        assert_eq!(fault("SELECT * FROM missing").kind, Kind::Syntax);
        assert_eq!(fault("SELECT missing FROM a").kind, Kind::Syntax);
        assert_eq!(fault("SELECT abs(-9223372036854775808)").kind, Kind::Other);
        assert_eq!(
            fault("SELECT 1; SELECT 2").message,
            "there are two statements in one call\nhint: make a call for each"
        );
        assert_eq!(fault(" -- nothing").message, "there is no statement in the text");
    }
}
