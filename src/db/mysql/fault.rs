//! MySQL's and MariaDB's error numbers as the errors that all databases share.

use sqlx::mysql::MySqlDatabaseError;

use crate::db::error::{Error, Kind};
use crate::db::remote::fault;

/// The error that all databases share for one of the driver's.
pub fn of(error: sqlx::Error) -> Error {
    match error {
        sqlx::Error::Database(error) => match error.try_downcast_ref::<MySqlDatabaseError>() {
            Some(error) => of_server(error.number(), error.code(), error.message()),
            None => Error::new(Kind::Other, error.to_string()),
        },
        other => fault::of_driver(&other),
    }
}

/// Whether the server closes the connection with the error, which is not the connection's.
pub fn ends_session(error: &Error) -> bool {
    // A packet that is too large.
    error.code.as_deref() == Some("08S01") && error.kind != Kind::Connection
}

/// Whether the server has rolled back the transaction with the statement.
pub fn rolled_back(error: &Error) -> bool {
    // The first is that of a deadlock; MariaDB's 1020 has one of no meaning.
    let is_rolled_back = error.code.as_deref() == Some("40001") || error.message.starts_with("Record has changed");
    error.kind == Kind::Connection || is_rolled_back
}

fn of_server(number: u16, state: Option<&str>, message: &str) -> Error {
    let kind = match number {
        1022 | 1062 | 1169 | 1586 | 1859 => Kind::Unique,
        1216 | 1217 | 1451 | 1452 => Kind::ForeignKey,
        1048 | 1364 => Kind::NotNull,
        3819 => Kind::Check,
        // In MySQL it is another one.
        4025 if state == Some("23000") => Kind::Check,
        // Lock wait, deadlock, `NOWAIT`; somebody else's certification in a Galera cluster is 1213 too.
        // MariaDB's 1020 is a row that another transaction has changed since this one looked (`innodb_snapshot_isolation`).
        1020 | 1205 | 1213 | 3572 => Kind::Busy,
        1317 | 1969 | 3024 => Kind::Timeout,
        // Too many connections, not let in, shutting down, killed.
        1040 | 1045 | 1053 | 1129 | 1130 | 1203 | 1226 | 1927 | 2006 | 2013 | 3169 | 4031 => Kind::Connection,
        1049 | 1054 | 1064 | 1065 | 1109 | 1136 | 1146 | 1149 | 1247 | 1305 | 1318 | 1582 => Kind::Syntax,
        1139 | 1264 | 1265 | 1292 | 1366 | 1367 | 1406 | 1411 | 1416 | 1441 | 1525 | 1690 | 3140 | 3141 => Kind::Value,
        1153 | 1390 => Kind::Parameters,
        // It is to be prepared again, or is not there any more.
        1243 | 1615 => Kind::SchemaChanged,
        _ => Kind::Other,
    };
    let constraint = match kind {
        // What stands before may be the value's own words.
        Kind::Unique => message
            .rsplit_once("for key '")
            .map(|(_, key)| key.trim_end_matches('\''))
            .map(|key| key.rsplit('.').next().unwrap_or(key)),
        Kind::ForeignKey => between(message, "CONSTRAINT `", "`"),
        Kind::Check => between(message, "CONSTRAINT `", "`").or_else(|| between(message, "constraint '", "'")),
        _ => None,
    };
    let column = match kind {
        Kind::NotNull => between(message, "Column '", "'").or_else(|| between(message, "Field '", "'")),
        Kind::Value => {
            // MariaDB: for column `db`.`table`.`name` at row 1; MySQL: for column 'name' at row 1.
            let at = message.find("for column ").map(|at| &message[at + "for column ".len()..]);
            let name = at.and_then(|it| it.split(" at row").next()).map(|it| it.trim_matches(['\'', '`']));
            name.and_then(|it| it.rsplit('`').next())
        }
        _ => None,
    };
    let error = Error {
        code: Some(state.map_or_else(|| number.to_string().into(), Into::into)),
        constraint: constraint.map(Into::into),
        column: column.map(Into::into),
        ..Error::new(kind, without_value(number, message))
    };
    match number {
        // `Incorrect datetime value: '2014-02-08T16:54:50Z'`
        1292 if message.contains("datetime value: '") && message.contains("Z' for column") => {
            error.hint("MySQL's moments have no zone: leave the `Z` out, as in `at.sub_string(0, 19)`")
        }
        _ => error,
    }
}

fn between<'m>(message: &'m str, before: &str, after: &str) -> Option<&'m str> {
    let rest = &message[message.find(before)? + before.len()..];
    rest.find(after).map(|end| &rest[..end])
}

/// The message without the value that some of them quote.
fn without_value(number: u16, message: &str) -> String {
    let (start, ends): (&str, &[&str]) = match number {
        1062 | 1586 => ("Duplicate entry '", &["' for key "]),
        1292 | 1366 | 1367 | 1411 | 1525 => ("value: '", &["' for column ", "' for function ", "' at row "]),
        1690 => ("is out of range in '", &[]),
        _ => return message.to_owned(),
    };
    let Some(at) = message.find(start) else { return message.to_owned() };
    let (head, value) = message.split_at(at + start.len());
    // The value may hold the same words: what follows after it stands last.
    let end = ends.iter().find_map(|end| value.rfind(end)).unwrap_or(value.len());
    format!("{head}…{}", value.get(end..).filter(|it| !it.is_empty()).unwrap_or("'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_constraint_refuses_says_which_and_where_and_never_the_value() {
        for (number, message, kind, constraint, column, shown) in [
            (
                1062,
                "Duplicate entry 'it's for key ' for key 'api'",
                Kind::Unique,
                Some("api"),
                None,
                "Duplicate entry '…' for key 'api'",
            ),
            (
                1062,
                "Duplicate entry 'x' for key 'companies.api'",
                Kind::Unique,
                Some("api"),
                None,
                "Duplicate entry '…' for key 'companies.api'",
            ),
            (
                1452,
                "Cannot add or update a child row: a foreign key constraint fails (`a`.`b`, CONSTRAINT `b_ibfk_1` FOREIGN KEY (`c`) REFERENCES `d` (`id`))",
                Kind::ForeignKey,
                Some("b_ibfk_1"),
                None,
                "Cannot add or update a child row: a foreign key constraint fails (`a`.`b`, CONSTRAINT `b_ibfk_1` FOREIGN KEY (`c`) REFERENCES `d` (`id`))",
            ),
            (1048, "Column 'c' cannot be null", Kind::NotNull, None, Some("c"), "Column 'c' cannot be null"),
            (
                1364,
                "Field 'c' doesn't have a default value",
                Kind::NotNull,
                None,
                Some("c"),
                "Field 'c' doesn't have a default value",
            ),
            (
                4025,
                "CONSTRAINT `positive` failed for `a`.`b`",
                Kind::Check,
                Some("positive"),
                None,
                "CONSTRAINT `positive` failed for `a`.`b`",
            ),
            (
                3819,
                "Check constraint 'positive' is violated.",
                Kind::Check,
                Some("positive"),
                None,
                "Check constraint 'positive' is violated.",
            ),
            (
                1366,
                "Incorrect integer value: 'secret' for column `a`.`b`.`n` at row 1",
                Kind::Value,
                None,
                Some("n"),
                "Incorrect integer value: '…' for column `a`.`b`.`n` at row 1",
            ),
            (
                1292,
                "Truncated incorrect DOUBLE value: 'secret'",
                Kind::Value,
                None,
                None,
                "Truncated incorrect DOUBLE value: '…'",
            ),
            (
                1265,
                "Data truncated for column 'e' at row 1",
                Kind::Value,
                None,
                Some("e"),
                "Data truncated for column 'e' at row 1",
            ),
            (
                1690,
                "BIGINT value is out of range in '9223372036854775807 + 1'",
                Kind::Value,
                None,
                None,
                "BIGINT value is out of range in '…'",
            ),
            (
                1406,
                "Data too long for column 'name' at row 1",
                Kind::Value,
                None,
                Some("name"),
                "Data too long for column 'name' at row 1",
            ),
        ] {
            let error = of_server(number, Some("23000"), message);
            assert_eq!(
                (error.kind, error.constraint.as_deref(), error.column.as_deref(), error.message.as_str()),
                (kind, constraint, column, shown)
            );
        }
    }

    #[test]
    fn a_deadlock_takes_the_transaction_with_it_and_a_lock_that_is_waited_for_too_long_does_not() {
        let deadlock = "Deadlock found when trying to get lock; try restarting transaction";
        assert!(rolled_back(&of_server(1213, Some("40001"), deadlock)));
        let changed = of_server(1020, Some("HY000"), "Record has changed since last read in table 's'; try restarting");
        assert!(rolled_back(&changed) && changed.kind == Kind::Busy);
        assert!(!rolled_back(&of_server(
            1205,
            Some("HY000"),
            "Lock wait timeout exceeded; try restarting transaction"
        )));
    }
}
