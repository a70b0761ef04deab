//! PostgreSQL's types as the values that all databases share, read from its binary format.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, Ipv6Addr};

use sqlx::postgres::{PgRow, PgTypeInfo, PgTypeKind};
use sqlx::{Row as _, TypeInfo, ValueRef as _};

use super::numeric::{self, Numeric};
use super::times;
use crate::db::error::{Error, Kind};
use crate::db::rows::Builder;

/// How the cells of a column are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sort {
    Bool,
    Int,
    Oid,
    Float4,
    Float8,
    Numeric,
    Text,
    Bytes,
    Date,
    Time,
    TimeWithZone,
    Timestamp,
    TimestampWithZone,
    Interval,
    Uuid,
    Json,
    Jsonb,
    Inet,
    MacAddress,
    Array(Box<Sort>),
    Range(Box<Sort>),
    /// One that has no mapping, by its name.
    Unknown(String),
}

/// A value that was read.
#[derive(Debug, PartialEq)]
enum Cell<'b> {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Decimal(String),
    Text(&'b str),
    Made(String),
    Json(String),
    Bytes(&'b [u8]),
}

/// Why a value can't be read.
enum Fault {
    /// Its bytes are not what their type says.
    Garbled,
    /// JSON, which lists are read from, has no such number.
    NotFinite,
}

impl Sort {
    /// The sort of a type.
    pub fn of(info: &PgTypeInfo) -> Sort {
        match info.kind() {
            PgTypeKind::Array(element) => return Sort::Array(Box::new(Sort::of(element))),
            PgTypeKind::Enum(_) => return Sort::Text,
            PgTypeKind::Domain(base) => return Sort::of(base),
            PgTypeKind::Range(element) => return Sort::Range(Box::new(Sort::of(element))),
            _ => {}
        }
        match info.name() {
            "BOOL" => Sort::Bool,
            "INT2" | "INT4" | "INT8" => Sort::Int,
            "OID" => Sort::Oid,
            "FLOAT4" => Sort::Float4,
            "FLOAT8" => Sort::Float8,
            "NUMERIC" => Sort::Numeric,
            "TEXT" | "VARCHAR" | "CHAR" | "NAME" | "UNKNOWN" | "\"CHAR\"" | "citext" | "xml" => Sort::Text,
            "BYTEA" => Sort::Bytes,
            "DATE" => Sort::Date,
            "TIME" => Sort::Time,
            "TIMETZ" => Sort::TimeWithZone,
            "TIMESTAMP" => Sort::Timestamp,
            "TIMESTAMPTZ" => Sort::TimestampWithZone,
            "INTERVAL" => Sort::Interval,
            "UUID" => Sort::Uuid,
            "JSON" => Sort::Json,
            "JSONB" => Sort::Jsonb,
            "INET" | "CIDR" => Sort::Inet,
            "MACADDR" | "MACADDR8" => Sort::MacAddress,
            name => Sort::Unknown(name.to_owned()),
        }
    }

    /// Reads the cell of column `index`, whose name is `column`.
    ///
    /// # Errors
    /// If the type has no mapping, or the content is not what its type says.
    pub fn read(&self, row: &PgRow, index: usize, column: &str, builder: &mut Builder) -> Result<(), Error> {
        let raw = row.try_get_raw(index).map_err(|error| unreadable(column, &error.to_string()))?;
        if raw.is_null() {
            builder.null();
            return Ok(());
        }
        let bytes = raw.as_bytes().map_err(|error| unreadable(column, &error.to_string()))?;
        if let Some(name) = self.unknown() {
            return Err(unreadable(column, &format!("its type `{}` has no mapping", name.to_lowercase()))
                .hint("cast it in the statement, such as `column::text`"));
        }
        let cell = self.cell(bytes).map_err(|fault| match fault {
            Fault::Garbled => unreadable(column, "its content is not what its type says"),
            Fault::NotFinite => unreadable(column, "its list holds NaN or infinity, which JSON does not have")
                .hint("cast it in the statement, such as `column::text`"),
        });
        match cell? {
            Cell::Null => builder.null(),
            Cell::Bool(value) => builder.bool(value),
            Cell::Int(value) => builder.int(value),
            Cell::Float(value) => builder.float(value),
            Cell::Decimal(digits) => builder.decimal(&digits)?,
            Cell::Text(text) => builder.text(text)?,
            Cell::Made(text) => builder.text(&text)?,
            Cell::Json(text) => builder.json(&text)?,
            Cell::Bytes(bytes) => builder.blob(bytes)?,
        }
        Ok(())
    }

    /// The name of the type that has no mapping, if it is one or holds one.
    fn unknown(&self) -> Option<&str> {
        match self {
            Sort::Unknown(name) => Some(name),
            Sort::Array(element) | Sort::Range(element) => element.unknown(),
            _ => None,
        }
    }

    fn cell<'b>(&self, bytes: &'b [u8]) -> Result<Cell<'b>, Fault> {
        Ok(match self {
            Sort::Bool => Cell::Bool(bytes == [1]),
            Sort::Int => Cell::Int(match *bytes {
                [a, b] => i16::from_be_bytes([a, b]).into(),
                [a, b, c, d] => i32::from_be_bytes([a, b, c, d]).into(),
                _ => i64::from_be_bytes(exactly(bytes)?),
            }),
            Sort::Oid => Cell::Int(u32::from_be_bytes(exactly(bytes)?).into()),
            Sort::Float4 => {
                // The shortest digits that mean it: 1.1, not 1.10000002384185791015625.
                let number = f32::from_be_bytes(exactly(bytes)?);
                Cell::Float(number.to_string().parse().map_err(|_| Fault::Garbled)?)
            }
            Sort::Float8 => Cell::Float(f64::from_be_bytes(exactly(bytes)?)),
            Sort::Numeric => match numeric::read(bytes).ok_or(Fault::Garbled)? {
                Numeric::Digits(digits) => digits.parse().map_or_else(|_| Cell::Decimal(digits), Cell::Int),
                Numeric::Special(name) => Cell::Float(name.parse().map_err(|_| Fault::Garbled)?),
            },
            Sort::Text => Cell::Text(std::str::from_utf8(bytes).map_err(|_| Fault::Garbled)?),
            Sort::Bytes => Cell::Bytes(bytes),
            Sort::Date => Cell::Made(times::date(i32::from_be_bytes(exactly(bytes)?))),
            Sort::Time => Cell::Made(times::time(i64::from_be_bytes(exactly(bytes)?))),
            Sort::TimeWithZone => {
                let (time, zone) = bytes.split_at_checked(8).ok_or(Fault::Garbled)?;
                let zone = times::offset(i32::from_be_bytes(exactly(zone)?));
                Cell::Made(times::time(i64::from_be_bytes(exactly(time)?)) + zone.as_str())
            }
            Sort::Timestamp => Cell::Made(times::timestamp(i64::from_be_bytes(exactly(bytes)?), "")),
            Sort::TimestampWithZone => Cell::Made(times::timestamp(i64::from_be_bytes(exactly(bytes)?), "Z")),
            Sort::Interval => {
                let (micros, rest) = bytes.split_at_checked(8).ok_or(Fault::Garbled)?;
                let (days, months) = rest.split_at_checked(4).ok_or(Fault::Garbled)?;
                let micros = i64::from_be_bytes(exactly(micros)?);
                let (days, months) = (i32::from_be_bytes(exactly(days)?), i32::from_be_bytes(exactly(months)?));
                Cell::Made(times::interval(months, days, micros))
            }
            Sort::Uuid => Cell::Made(uuid::Uuid::from_slice(bytes).map_err(|_| Fault::Garbled)?.to_string()),
            Sort::Json => Cell::Json(std::str::from_utf8(bytes).map_err(|_| Fault::Garbled)?.to_owned()),
            Sort::Jsonb => {
                // The format's version stands first.
                let [1, text @ ..] = bytes else { return Err(Fault::Garbled) };
                Cell::Json(std::str::from_utf8(text).map_err(|_| Fault::Garbled)?.to_owned())
            }
            Sort::Inet => Cell::Made(inet(bytes).ok_or(Fault::Garbled)?),
            Sort::MacAddress => {
                let parts: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                Cell::Made(parts.join(":"))
            }
            Sort::Array(element) => Cell::Json(array(element, bytes)?),
            Sort::Range(element) => Cell::Made(range(element, bytes)?),
            Sort::Unknown(_) => return Err(Fault::Garbled),
        })
    }

    /// Appends a value as JSON.
    fn write_json(&self, bytes: Option<&[u8]>, out: &mut String) -> Result<(), Fault> {
        let quoted = |text: &str| serde_json::to_string(text).map_err(|_| Fault::Garbled);
        match bytes.map_or(Ok(Cell::Null), |bytes| self.cell(bytes))? {
            Cell::Null => out.push_str("null"),
            Cell::Bool(value) => out.push_str(if value { "true" } else { "false" }),
            Cell::Int(value) => _ = write!(out, "{value}"),
            Cell::Float(value) if !value.is_finite() => return Err(Fault::NotFinite),
            Cell::Float(value) => out.push_str(&serde_json::to_string(&value).map_err(|_| Fault::Garbled)?),
            Cell::Decimal(text) | Cell::Json(text) => out.push_str(&text),
            Cell::Text(text) => out.push_str(&quoted(text)?),
            Cell::Made(text) => out.push_str(&quoted(&text)?),
            Cell::Bytes(bytes) => {
                use base64::Engine as _;
                out.push_str(&quoted(&base64::prelude::BASE64_STANDARD.encode(bytes))?);
            }
        }
        Ok(())
    }
}

fn unreadable(column: &str, why: &str) -> Error {
    let message = format!("column `{column}` can't be read: {why}");
    Error { column: Some(column.into()), ..Error::new(Kind::Value, message) }
}

fn exactly<const N: usize>(bytes: &[u8]) -> Result<[u8; N], Fault> {
    bytes.try_into().map_err(|_| Fault::Garbled)
}

/// `10.0.0.1`, or with a network's length `10.0.0.0/8`.
fn inet(bytes: &[u8]) -> Option<String> {
    let (head, address) = bytes.split_at_checked(4)?;
    let (length, is_network) = (head[1], head[2] != 0);
    let (text, whole) = match address.len() {
        4 => (Ipv4Addr::from(<[u8; 4]>::try_from(address).ok()?).to_string(), 32),
        16 => (Ipv6Addr::from(<[u8; 16]>::try_from(address).ok()?).to_string(), 128),
        _ => return None,
    };
    Some(if is_network || length != whole { format!("{text}/{length}") } else { text })
}

/// Takes the next length and so many bytes; none for NULL.
fn take<'b>(bytes: &mut &'b [u8]) -> Result<Option<&'b [u8]>, Fault> {
    let length = integer(bytes)?;
    let Ok(length) = usize::try_from(length) else { return Ok(None) };
    let (value, rest) = bytes.split_at_checked(length).ok_or(Fault::Garbled)?;
    *bytes = rest;
    Ok(Some(value))
}

fn integer(bytes: &mut &[u8]) -> Result<i32, Fault> {
    let (head, rest) = bytes.split_at_checked(4).ok_or(Fault::Garbled)?;
    *bytes = rest;
    Ok(i32::from_be_bytes(exactly(head)?))
}

/// An array as JSON; one of several dimensions is arrays in arrays.
fn array(element: &Sort, mut bytes: &[u8]) -> Result<String, Fault> {
    let dimensions = integer(&mut bytes)?;
    // Whether there are NULLs, and the type of the elements, which is known.
    integer(&mut bytes)?;
    integer(&mut bytes)?;
    let mut lengths = Vec::new();
    for _ in 0..dimensions {
        lengths.push(integer(&mut bytes)?);
        // The number of its first element.
        integer(&mut bytes)?;
    }
    let mut out = String::new();
    if lengths.is_empty() {
        out.push_str("[]");
    } else {
        nested(element, &lengths, &mut bytes, &mut out)?;
    }
    Ok(out)
}

fn nested(element: &Sort, lengths: &[i32], bytes: &mut &[u8], out: &mut String) -> Result<(), Fault> {
    let Some((length, inner)) = lengths.split_first() else {
        return element.write_json(take(bytes)?, out);
    };
    out.push('[');
    for index in 0..*length {
        if index > 0 {
            out.push(',');
        }
        nested(element, inner, bytes, out)?;
    }
    out.push(']');
    Ok(())
}

/// `[1,5)`, as PostgreSQL writes it.
fn range(element: &Sort, mut bytes: &[u8]) -> Result<String, Fault> {
    let (flags, rest) = bytes.split_first().ok_or(Fault::Garbled)?;
    bytes = rest;
    let has = |flag: u8| flags & flag != 0;
    if has(0x01) {
        return Ok("empty".to_owned());
    }
    let mut bound = |is_open: bool| -> Result<String, Fault> {
        if is_open {
            return Ok(String::new());
        }
        let value = take(&mut bytes)?.ok_or(Fault::Garbled)?;
        let text = match element.cell(value)? {
            Cell::Int(number) => number.to_string(),
            Cell::Float(number) => number.to_string(),
            Cell::Decimal(digits) => digits,
            Cell::Made(text) => text,
            Cell::Text(text) => text.to_owned(),
            _ => return Err(Fault::Garbled),
        };
        let is_plain = !text.is_empty() && !text.contains(['"', '\\', ',', '(', ')', '[', ']', ' ']);
        Ok(if is_plain { text } else { format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")) })
    };
    let (lower, upper) = (bound(has(0x08))?, bound(has(0x10))?);
    Ok(format!("{}{lower},{upper}{}", if has(0x02) { '[' } else { '(' }, if has(0x04) { ']' } else { ')' }))
}
