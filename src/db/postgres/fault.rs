//! PostgreSQL's SQLSTATEs as the errors that all databases share.

use sqlx::postgres::{PgDatabaseError, PgErrorPosition};

use crate::db::error::{Error, Kind};
use crate::db::remote::fault;

/// The error that all databases share for one of the driver's.
pub fn of(error: sqlx::Error) -> Error {
    match error {
        sqlx::Error::Database(error) => match error.try_downcast_ref::<PgDatabaseError>() {
            Some(error) => of_server(error),
            None => Error::new(Kind::Other, error.to_string()),
        },
        // The driver looks types up that it does not know, and knows no sort `m` of them.
        sqlx::Error::ColumnDecode { index, .. } if index.contains("typtype") => {
            Error::new(Kind::Value, "a column or a parameter is a multirange, which has no mapping")
                .hint("cast it in the statement, such as `column::text`")
        }
        other => fault::of_driver(&other),
    }
}

fn of_server(error: &PgDatabaseError) -> Error {
    let mut message = without_value(error.code(), error.message());
    let position = match error.position() {
        Some(PgErrorPosition::Original(position)) => u32::try_from(position).ok(),
        _ => None,
    };
    if let Some(position) = position {
        message.push_str(&format!(" at character {position} of the statement"));
    }
    let mut fault = Error::new(kind(error.code(), error.routine()), message);
    if matches!(error.code(), "42P18" | "42725") {
        fault = fault.hint("say of which type a parameter is, such as `?::int`");
    }
    Error {
        position,
        code: Some(error.code().into()),
        constraint: error.constraint().map(Into::into),
        column: error.column().map(Into::into),
        ..fault
    }
}

/// The sort of a SQLSTATE (PostgreSQL's manual, appendix A), some of which are told apart by the `routine` that has
/// raised it: messages are in the server's language.
fn kind(code: &str, routine: Option<&str>) -> Kind {
    match code {
        "23505" | "23P01" => Kind::Unique,
        "23503" | "23001" => Kind::ForeignKey,
        "23502" => Kind::NotNull,
        "23514" => Kind::Check,
        // A serialization failure, a deadlock, a lock that was not to be had.
        "40001" | "40P01" | "55P03" => Kind::Busy,
        "57014" | "25P03" => Kind::Timeout,
        // It has other columns now, or is not there any more: `DEALLOCATE`, or a pooler in between.
        "0A000" if routine == Some("RevalidateCachedQuery") => Kind::SchemaChanged,
        "26000" => Kind::SchemaChanged,
        // Too many connections, no such database, shutting down or starting.
        "53300" | "3D000" | "57P01" | "57P02" | "57P03" | "57P05" => Kind::Connection,
        "42501" => Kind::Other,
        _ => match code.get(..2) {
            Some("08" | "28") => Kind::Connection,
            Some("22") => Kind::Value,
            Some("42") => Kind::Syntax,
            _ => Kind::Other,
        },
    }
}

/// The message without the value that those about values quote.
fn without_value(code: &str, message: &str) -> String {
    if !code.starts_with("22") {
        return message.to_owned();
    }
    match (message.find('"'), message.rfind('"')) {
        (Some(start), Some(end)) if start < end => format!("{}…{}", &message[..=start], &message[end..]),
        _ => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sort_of_an_error_is_found_by_its_code() {
        for (code, routine, expected) in [
            ("23505", "", Kind::Unique),
            ("23503", "", Kind::ForeignKey),
            ("42P01", "", Kind::Syntax),
            ("42501", "", Kind::Other),
            ("57P01", "", Kind::Connection),
            ("08006", "", Kind::Connection),
            ("0A000", "RevalidateCachedQuery", Kind::SchemaChanged),
            ("0A000", "transformStmt", Kind::Other),
            ("26000", "", Kind::SchemaChanged),
            ("22P02", "", Kind::Value),
            ("P0001", "", Kind::Other),
        ] {
            assert_eq!(kind(code, Some(routine)), expected, "{code}");
        }
    }

    #[test]
    fn a_message_about_a_value_does_not_show_it() {
        for (code, message, shown) in [
            ("22P02", "invalid input syntax for type uuid: \"secret\"", "invalid input syntax for type uuid: \"…\""),
            ("22003", "value \"99\" is out of range for type integer", "value \"…\" is out of range for type integer"),
            ("22001", "value too long for type character varying(3)", "value too long for type character varying(3)"),
            ("42P01", "relation \"a\" does not exist", "relation \"a\" does not exist"),
        ] {
            assert_eq!(without_value(code, message), shown);
        }
    }
}
