//! The errors of sqlx itself, which are the same for all databases.

use crate::db::error::{Error, Kind};

/// The error that all databases share for one that is not the server's.
pub fn of_driver(error: &sqlx::Error) -> Error {
    match error {
        sqlx::Error::Io(error) => Error::new(Kind::Connection, format!("the connection failed: {error}")),
        sqlx::Error::Tls(error) => Error::new(Kind::Connection, format!("TLS failed: {error}")),
        sqlx::Error::Configuration(error) => Error::new(Kind::Connection, format!("the URL can't be used: {error}")),
        // What follows on the connection can't be trusted.
        sqlx::Error::Protocol(message) => {
            Error::new(Kind::Connection, format!("the answer can't be understood: {message}"))
        }
        sqlx::Error::Encode(error) => Error::new(Kind::Parameters, format!("a parameter can't be sent: {error}")),
        other => Error::new(Kind::Other, other.to_string()),
    }
}
