//! The parameters of a statement as SQLite's own values.

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Statement, ToSql};

use super::declared::EXACT_DIGITS;
use super::fault;
use crate::db::error::{Error, Kind};
use crate::db::placeholders;
use crate::db::value::Value;

/// Gives a statement its parameters.
///
/// # Errors
/// If they are not as many as it has, or one is no number that SQL has.
pub(super) fn bind(
    statement: &mut Statement<'_>,
    parameters: &mut dyn ExactSizeIterator<Item = &Value<'_>>,
) -> Result<(), Error> {
    placeholders::same_number(statement.parameter_count(), parameters.len())?;
    for (index, value) in parameters.enumerate() {
        if matches!(value, Value::Float(number) if !number.is_finite()) {
            return Err(Error::new(Kind::Parameters, format!("parameter {} is NaN or infinite", index + 1)));
        }
        statement.raw_bind_parameter(index + 1, value).map_err(|error| fault::of(&error))?;
    }
    Ok(())
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Value::Null | Value::List(_) => ValueRef::Null,
            Value::Bool(value) => ValueRef::Integer(i64::from(*value)),
            Value::Int(value) => ValueRef::Integer(*value),
            Value::Float(value) => ValueRef::Real(*value),
            Value::Decimal(digits) => number(digits),
            Value::Text(text) | Value::Json(text) => ValueRef::Text(text.as_bytes()),
            Value::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

/// Digits as SQLite's own numbers, among which they compare; as text where that would lose some.
fn number(digits: &str) -> ValueRef<'_> {
    if let Ok(integer) = digits.parse() {
        return ValueRef::Integer(integer);
    }
    let significant = digits.bytes().filter(u8::is_ascii_digit).skip_while(|&digit| digit == b'0').count();
    match digits.parse() {
        Ok(float) if significant <= EXACT_DIGITS => ValueRef::Real(float),
        _ => ValueRef::Text(digits.as_bytes()),
    }
}
