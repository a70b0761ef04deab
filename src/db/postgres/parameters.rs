//! Parameters by the types that the server says a statement has.
//!
//! Numbers, booleans, text and bytes are sent as they are. Anything else (dates, UUIDs, JSON,
//! decimals, arrays, enums) is sent as text with a cast, so that the server reads it by the rules of
//! its own type: `$1` becomes `$1::text::uuid`.

use std::rc::Rc;
use std::sync::Arc;

use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArgumentBuffer, PgArguments, PgTypeInfo};
use sqlx::{Arguments, Encode, Type, TypeInfo};

use super::values::Sort;
use crate::db::error::{Error, Kind};
use crate::db::placeholders;
use crate::db::rows::Columns;
use crate::db::value::Value;

/// What is known of a statement.
pub struct Plan {
    /// As it is sent, with the casts that its parameters need.
    pub sql: Arc<str>,
    /// What its parameters are sent as.
    pub targets: Vec<Target>,
    /// Their types, which the server is told when the driver has let go of the statement and prepares it again.
    types: Vec<PgTypeInfo>,
    /// Its columns.
    pub columns: Rc<Columns>,
    /// How they are read.
    pub sorts: Vec<Sort>,
}

/// What a parameter is sent as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    Bool,
    Int2,
    Int4,
    Int8,
    Float4,
    Float8,
    Text,
    Bytes,
}

impl Target {
    fn of(info: &PgTypeInfo) -> Option<Target> {
        Some(match info.name() {
            "BOOL" => Target::Bool,
            "INT2" => Target::Int2,
            "INT4" => Target::Int4,
            "INT8" => Target::Int8,
            "FLOAT4" => Target::Float4,
            "FLOAT8" => Target::Float8,
            "TEXT" | "VARCHAR" | "CHAR" | "NAME" | "UNKNOWN" => Target::Text,
            "BYTEA" => Target::Bytes,
            _ => return None,
        })
    }
}

/// The statement with casts for those of its parameters that are sent as text; none if there is none.
pub fn with_casts(sql: &str, types: &[PgTypeInfo]) -> Option<String> {
    if types.iter().all(|it| Target::of(it).is_some()) {
        return None;
    }
    Some(placeholders::rewrite_numbered(sql, |number| {
        let info = types.get(number.checked_sub(1)?)?;
        match Target::of(info) {
            Some(_) => None,
            None => Some(format!("${number}::text::{}", sql_name(info))),
        }
    }))
}

/// The name of a type in SQL, as the server reads it.
fn sql_name(info: &PgTypeInfo) -> String {
    match info.name() {
        // Quoted, it is the type of one byte.
        "\"CHAR\"" => "\"char\"".to_owned(),
        "\"CHAR\"[]" => "\"char\"[]".to_owned(),
        // Unquoted, it is the type of one bit.
        "BIT" => "\"bit\"".to_owned(),
        "BIT[]" => "\"bit\"[]".to_owned(),
        name if name.chars().all(|it| it.is_ascii_uppercase() || it.is_ascii_digit() || it == '[' || it == ']') => {
            name.to_lowercase()
        }
        name => name.to_owned(),
    }
}

impl Plan {
    /// What the server says of a statement.
    pub fn of(sql: String, parameters: &[PgTypeInfo], columns: &[(String, PgTypeInfo)]) -> Plan {
        let names = columns.iter().map(|(name, _)| Rc::from(name.as_str())).collect();
        Plan {
            sql: sql.into(),
            targets: parameters.iter().map(|it| Target::of(it).unwrap_or(Target::Text)).collect(),
            types: parameters.to_vec(),
            columns: Rc::new(Columns::new(names)),
            sorts: columns.iter().map(|(_, info)| Sort::of(info)).collect(),
        }
    }

    /// The parameters as the statement takes them.
    ///
    /// # Errors
    /// If one does not fit the type of its place.
    pub fn arguments(&self, values: &[Value<'_>]) -> Result<PgArguments, Error> {
        let mut arguments = PgArguments::default();
        for (index, (value, (target, info))) in values.iter().zip(self.targets.iter().zip(&self.types)).enumerate() {
            let refused = |kind: Kind, what: &str| Error::new(kind, format!("parameter {}: {what}", index + 1));
            // Of the others another database would say that the column does not take them.
            let is_number = !matches!(value, Value::Float(number) if !number.is_finite());
            let kind = if is_number { Kind::Value } else { Kind::Parameters };
            let bytes = encoded(value, *target).map_err(|what| refused(kind, &what))?;
            let sent = Sent { bytes, info: info.clone() };
            arguments.add(sent).map_err(|error| refused(Kind::Parameters, &error.to_string()))?;
        }
        Ok(arguments)
    }
}

/// The statement with casts for integers that are larger than those which it has in their places; none if there is none.
///
/// `WHERE id = ?` then finds nothing, as on other databases; a column that gets one refuses it.
pub fn widened(sql: &str, targets: &[Target], values: &[Value<'_>]) -> Option<String> {
    let is_larger = |number: usize| {
        let (Some(target), Some(Value::Int(value))) = (targets.get(number), values.get(number)) else { return false };
        match target {
            Target::Int2 => i16::try_from(*value).is_err(),
            Target::Int4 => i32::try_from(*value).is_err(),
            _ => false,
        }
    };
    (0..targets.len()).any(is_larger).then(|| {
        placeholders::rewrite_numbered(sql, |number| {
            is_larger(number.checked_sub(1)?).then(|| format!("${number}::bigint"))
        })
    })
}

/// A value in PostgreSQL's binary format, or none for NULL.
fn encoded(value: &Value<'_>, target: Target) -> Result<Option<Vec<u8>>, String> {
    let text = match value {
        Value::Null | Value::List(_) => return Ok(None),
        Value::Float(number) if !number.is_finite() => return Err("NaN or infinite".to_owned()),
        Value::Blob(bytes) if target == Target::Bytes => return Ok(Some(bytes.to_vec())),
        Value::Blob(_) => return Err("bytes, where the statement has none".to_owned()),
        Value::Bool(flag) => flag.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Decimal(text) | Value::Text(text) | Value::Json(text) => text.clone().into_owned(),
    };
    let integer = || -> Result<i64, String> {
        match value {
            Value::Int(number) => Ok(*number),
            Value::Bool(flag) => Ok(i64::from(*flag)),
            _ => text.trim().parse().map_err(|_| "it is no integer, which the statement has there".to_owned()),
        }
    };
    let float = || -> Result<f64, String> {
        text.trim().parse().map_err(|_| "it is no number, which the statement has there".to_owned())
    };
    let outside = |_| "it is outside of the integers that the statement has there".to_owned();
    Ok(Some(match target {
        Target::Bool => match text.trim().to_ascii_lowercase().as_str() {
            "true" | "t" | "1" | "yes" | "on" => vec![1],
            "false" | "f" | "0" | "no" | "off" => vec![0],
            _ => return Err("it is no boolean, which the statement has there".to_owned()),
        },
        Target::Int2 => i16::try_from(integer()?).map_err(outside)?.to_be_bytes().to_vec(),
        Target::Int4 => i32::try_from(integer()?).map_err(outside)?.to_be_bytes().to_vec(),
        Target::Int8 => integer()?.to_be_bytes().to_vec(),
        #[expect(clippy::cast_possible_truncation, reason = "the column has no more digits")]
        Target::Float4 => (float()? as f32).to_be_bytes().to_vec(),
        Target::Float8 => float()?.to_be_bytes().to_vec(),
        Target::Text | Target::Bytes if text.contains('\0') && target == Target::Text => {
            return Err("it holds a NUL, which PostgreSQL's text can't".to_owned());
        }
        Target::Text | Target::Bytes => text.into_bytes(),
    }))
}

/// A parameter in its binary format.
struct Sent {
    bytes: Option<Vec<u8>>,
    info: PgTypeInfo,
}

impl Type<sqlx::Postgres> for Sent {
    fn type_info() -> PgTypeInfo {
        // Not sent: each value has a type of its own.
        <[u8] as Type<sqlx::Postgres>>::type_info()
    }
}

impl Encode<'_, sqlx::Postgres> for Sent {
    fn produces(&self) -> Option<PgTypeInfo> {
        Some(self.info.clone())
    }

    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        match &self.bytes {
            None => Ok(IsNull::Yes),
            Some(bytes) => {
                buffer.extend_from_slice(bytes);
                Ok(IsNull::No)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_sent_as_the_type_of_their_place() {
        for (value, target, bytes) in [
            (Value::Int(-2), Target::Int2, vec![255, 254]),
            (Value::Int(1), Target::Int4, vec![0, 0, 0, 1]),
            (Value::from("12"), Target::Int8, vec![0, 0, 0, 0, 0, 0, 0, 12]),
            (Value::Bool(true), Target::Int4, vec![0, 0, 0, 1]),
            (Value::Int(1), Target::Bool, vec![1]),
            (Value::Int(1), Target::Float8, 1.0_f64.to_be_bytes().to_vec()),
            (Value::Int(12), Target::Text, b"12".to_vec()),
            (Value::from("é"), Target::Text, "é".as_bytes().to_vec()),
            (Value::Blob(vec![0, 1].into()), Target::Bytes, vec![0, 1]),
            (Value::from("ab"), Target::Bytes, b"ab".to_vec()),
        ] {
            assert_eq!(encoded(&value, target), Ok(Some(bytes)), "{value:?} as {target:?}");
        }
        assert_eq!(encoded(&Value::Null, Target::Int4), Ok(None));
        for (value, target) in [
            (Value::Int(40_000), Target::Int2),
            (Value::from("x"), Target::Int4),
            (Value::Float(1.5), Target::Int4),
            (Value::from("maybe"), Target::Bool),
            (Value::Blob(vec![1].into()), Target::Text),
            (Value::Float(f64::NAN), Target::Float8),
            (Value::from("a\0"), Target::Text),
        ] {
            assert!(encoded(&value, target).is_err(), "{value:?} as {target:?}");
        }
    }
}
