//! The parameters of a statement, and how much there is to send.

use std::str::FromStr;

use bigdecimal::BigDecimal;
use sqlx::Arguments;
use sqlx::mysql::MySqlArguments;

use crate::db::error::{Error, Kind};
use crate::db::value::Value;

/// What the packet that runs a prepared statement has beside the values: the command, the statement's number, flags,
/// how often, and whether there are types.
const PACKET: usize = 11;

/// The parameters of a statement.
pub(super) struct Parameters {
    pub(super) arguments: MySqlArguments,
    /// The bytes of the packet that carries them.
    pub(super) bytes: usize,
}

impl Parameters {
    /// Those with these values.
    ///
    /// # Errors
    /// If one is no number that SQL has.
    pub(super) fn of(values: &mut dyn ExactSizeIterator<Item = &Value<'_>>) -> Result<Parameters, Error> {
        let mut arguments = MySqlArguments::default();
        // Each has its type; and one bit says whether it is NULL.
        let mut bytes = PACKET + values.len() * 2 + values.len().div_ceil(8);
        for (index, value) in values.enumerate() {
            let refused = |what: &str| Error::new(Kind::Parameters, format!("parameter {} is {what}", index + 1));
            bytes += size(value);
            let added = match value {
                Value::Null | Value::List(_) => arguments.add(None::<&str>),
                Value::Bool(value) => arguments.add(*value),
                Value::Int(value) => arguments.add(*value),
                Value::Float(value) if !value.is_finite() => return Err(refused("NaN or infinite")),
                Value::Float(value) => arguments.add(*value),
                Value::Decimal(digits) => match BigDecimal::from_str(digits) {
                    Ok(number) => arguments.add(number),
                    Err(_) => arguments.add(digits.as_ref()),
                },
                Value::Text(text) | Value::Json(text) => arguments.add(text.as_ref()),
                Value::Blob(bytes) => arguments.add(bytes.as_ref()),
            };
            added.map_err(|error| refused(&format!("not to be sent: {error}")))?;
        }
        Ok(Parameters { arguments, bytes })
    }
}

/// What a value takes in a packet, with what says how long it is.
fn size(value: &Value<'_>) -> usize {
    let sized = |bytes: usize| {
        bytes
            + match bytes {
                0..251 => 1,
                251..65_536 => 3,
                65_536..16_777_216 => 4,
                _ => 9,
            }
    };
    match value {
        Value::Null | Value::List(_) => 0,
        Value::Bool(_) => 1,
        Value::Int(_) | Value::Float(_) => 8,
        Value::Decimal(digits) => sized(digits.len()),
        Value::Text(text) | Value::Json(text) => sized(text.len()),
        Value::Blob(bytes) => sized(bytes.len()),
    }
}
