//! What went wrong in a database, in one form for all of them; it never holds a value.

use std::fmt;

use crate::fiber::Stop;

/// Why a database did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The sort of fault, which scripts branch on.
    pub kind: Kind,
    /// What happened, in a sentence; a way out may follow after `hint:` on a line of its own.
    pub message: String,
    /// The database's own number for it: a SQLSTATE, or SQLite's extended result code.
    pub code: Option<Box<str>>,
    /// The constraint that was violated, where the database names it.
    pub constraint: Option<Box<str>>,
    /// The column in question, where there is one and it is known.
    pub column: Option<Box<str>>,
    /// The statement, with its placeholders, cut where it is long.
    pub statement: Option<Box<str>>,
    /// The character of the statement in question, from 1, where the database says it.
    pub position: Option<u32>,
}

/// The sorts of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A value that must be unique is there already.
    Unique,
    /// A row refers to one that is not there, or is referred to.
    ForeignKey,
    /// A column that needs a value got none.
    NotNull,
    /// A value does not meet a `CHECK`.
    Check,
    /// The statement can't be understood, or names what is not there.
    Syntax,
    /// The database can't be opened, read or written, or the connection to it was lost.
    Connection,
    /// The database's server can't be reached, or lets nobody in.
    Away,
    /// Waiting took too long.
    Timeout,
    /// Somebody else holds a lock, or two transactions were in each other's way.
    Busy,
    /// In a transaction, a statement has other columns than when it was prepared.
    SchemaChanged,
    /// The parameters don't fit the statement.
    Parameters,
    /// A value from the database can't be passed on, or a column doesn't take the one that it got.
    Value,
    /// A migration's file is wrong, or does not fit what was applied.
    Migration,
    /// Anything else.
    Other,
    /// The work had to end.
    Stopped(Stop),
}

impl Kind {
    /// Whether the same may succeed when it is asked again a little later.
    pub fn is_temporary(self) -> bool {
        matches!(self, Kind::Connection | Kind::Away | Kind::Timeout | Kind::Busy)
    }

    /// The name under which scripts know it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Unique => "unique",
            Kind::ForeignKey => "foreign_key",
            Kind::NotNull => "not_null",
            Kind::Check => "check",
            Kind::Syntax => "syntax",
            Kind::Connection | Kind::Away => "connection",
            Kind::Timeout => "timeout",
            Kind::Busy => "busy",
            Kind::SchemaChanged => "schema_changed",
            Kind::Parameters => "parameters",
            Kind::Value => "value",
            Kind::Migration => "migration",
            Kind::Other => "other",
            Kind::Stopped(_) => "stopped",
        }
    }
}

impl Error {
    /// An error of which no more than its message is known.
    pub fn new(kind: Kind, message: impl Into<String>) -> Error {
        Error {
            kind,
            message: message.into(),
            code: None,
            constraint: None,
            column: None,
            statement: None,
            position: None,
        }
    }

    /// The same error with a way out.
    #[must_use]
    pub fn hint(mut self, hint: &str) -> Error {
        self.message.push_str("\nhint: ");
        self.message.push_str(hint);
        self
    }

    /// The same error, of this statement.
    #[must_use]
    pub fn of_statement(self, sql: &str) -> Error {
        const LENGTH: usize = 200;
        let mut text = String::new();
        for word in sql.split_whitespace() {
            if text.len() > LENGTH {
                text.push_str(" …");
                break;
            }
            text.push_str(if text.is_empty() { "" } else { " " });
            text.push_str(word);
        }
        Error { statement: Some(text.into()), ..self }
    }

    /// The same error, with the words that say where it happened in front of its message.
    #[must_use]
    pub fn within(mut self, place: impl fmt::Display) -> Error {
        self.message = format!("{place}: {}", self.message);
        self
    }
}

impl From<Stop> for Error {
    fn from(stop: Stop) -> Error {
        let message = match stop {
            Stop::CannotWait => "a database can't be asked here, where nothing may wait",
            _ => "the statement was ended before it was done",
        };
        Error::new(Kind::Stopped(stop), message)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_prints_where_what_and_the_way_out() {
        let error = Error::new(Kind::Syntax, "no such table: `a`").hint("create it").within("001_a.sql:3");
        assert_eq!(error.to_string(), "001_a.sql:3: no such table: `a`\nhint: create it");
    }

    #[test]
    fn a_stop_is_kept() {
        assert_eq!(Error::from(Stop::Time).kind, Kind::Stopped(Stop::Time));
    }
}
