//! MySQL's types as the values that all databases share, read from its binary protocol.

use std::fmt::Write as _;

use sqlx::mysql::{MySql, MySqlRow, MySqlTypeInfo};
use sqlx::{Decode, Row as _, Type, TypeInfo};

use crate::db::error::{Error, Kind};
use crate::db::rows::Builder;

/// How the cells of a column are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sort {
    Signed,
    Unsigned,
    Bits,
    Float,
    Double,
    Decimal,
    Date,
    DateTime,
    Time,
    Text,
    Json,
    Bytes,
    Null,
    /// One that has no mapping, by its name.
    Unknown(String),
}

impl Sort {
    /// The sort of a type.
    pub fn of(info: &MySqlTypeInfo) -> Sort {
        let name = info.name();
        match name {
            "BIT" => Sort::Bits,
            "FLOAT" => Sort::Float,
            "DOUBLE" => Sort::Double,
            "DECIMAL" => Sort::Decimal,
            "DATE" => Sort::Date,
            "DATETIME" | "TIMESTAMP" => Sort::DateTime,
            "TIME" => Sort::Time,
            "SET" => Sort::Text,
            "JSON" => Sort::Json,
            "GEOMETRY" => Sort::Bytes,
            "NULL" => Sort::Null,
            // A collation other than `binary` makes it text, whatever the flags say.
            _ if <str as Type<MySql>>::compatible(info) => Sort::Text,
            _ if <[u8] as Type<MySql>>::compatible(info) => Sort::Bytes,
            _ if <u64 as Type<MySql>>::compatible(info) => Sort::Unsigned,
            _ if <i64 as Type<MySql>>::compatible(info) => Sort::Signed,
            _ => Sort::Unknown(name.to_owned()),
        }
    }

    /// Reads the cell of column `index`, whose name is `column`.
    ///
    /// # Errors
    /// If the type has no mapping, or the content is not what its type says.
    pub fn read(&self, row: &MySqlRow, index: usize, column: &str, builder: &mut Builder) -> Result<(), Error> {
        let raw = row.try_get_raw(index).map_err(|error| unreadable(column, &error.to_string()))?;
        // Not `is_null`, which takes a date of zeros for NULL.
        let Ok(bytes) = <&[u8] as Decode<MySql>>::decode(raw) else {
            builder.null();
            return Ok(());
        };
        let wrong = || unreadable(column, "its content is not what its type says");
        match self {
            Sort::Null => builder.null(),
            Sort::Signed => builder.int(signed(bytes).ok_or_else(wrong)?),
            Sort::Unsigned => whole(unsigned(bytes).ok_or_else(wrong)?, builder)?,
            Sort::Bits => whole(bits(bytes).ok_or_else(wrong)?, builder)?,
            Sort::Float => {
                let number = f32::from_le_bytes(bytes.try_into().map_err(|_| wrong())?);
                // The shortest digits that mean it: 1.1, not 1.10000002384185791015625.
                builder.float(number.to_string().parse().map_err(|_| wrong())?);
            }
            Sort::Double => builder.float(f64::from_le_bytes(bytes.try_into().map_err(|_| wrong())?)),
            Sort::Decimal => {
                let digits = std::str::from_utf8(bytes).map_err(|_| wrong())?;
                match digits.parse() {
                    Ok(integer) => builder.int(integer),
                    Err(_) => builder.decimal(digits)?,
                }
            }
            Sort::Date => builder.text(&date(bytes).ok_or_else(wrong)?)?,
            Sort::DateTime => builder.text(&date_time(bytes).ok_or_else(wrong)?)?,
            Sort::Time => builder.text(&time(bytes).ok_or_else(wrong)?)?,
            Sort::Text => builder.text(text(bytes, column)?)?,
            Sort::Json => builder.json(text(bytes, column)?)?,
            Sort::Bytes => builder.blob(bytes)?,
            Sort::Unknown(name) => {
                return Err(unreadable(column, &format!("its type `{name}` has no mapping"))
                    .hint("cast it in the statement, such as `CAST(… AS CHAR)`"));
            }
        }
        Ok(())
    }
}

fn unreadable(column: &str, why: &str) -> Error {
    let message = format!("column `{column}` can't be read: {why}");
    Error { column: Some(column.into()), ..Error::new(Kind::Value, message) }
}

fn text<'b>(bytes: &'b [u8], column: &str) -> Result<&'b str, Error> {
    std::str::from_utf8(bytes).map_err(|_| unreadable(column, "it holds text that is not UTF-8"))
}

fn signed(bytes: &[u8]) -> Option<i64> {
    Some(match *bytes {
        [a] => i8::from_le_bytes([a]).into(),
        [a, b] => i16::from_le_bytes([a, b]).into(),
        [a, b, c, d] => i32::from_le_bytes([a, b, c, d]).into(),
        _ => i64::from_le_bytes(bytes.try_into().ok()?),
    })
}

fn unsigned(bytes: &[u8]) -> Option<u64> {
    (bytes.len() <= 8).then(|| bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

fn bits(bytes: &[u8]) -> Option<u64> {
    (bytes.len() <= 8).then(|| bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

fn whole(number: u64, builder: &mut Builder) -> Result<(), Error> {
    match i64::try_from(number) {
        Ok(number) => builder.int(number),
        Err(_) => builder.decimal(&number.to_string())?,
    }
    Ok(())
}

/// `2014-02-08`, from a length and so many bytes; without any it is the zero date.
fn date(bytes: &[u8]) -> Option<String> {
    match *bytes {
        [0] => Some("0000-00-00".to_owned()),
        [_, low, high, month, day, ..] => Some(format!("{:04}-{month:02}-{day:02}", u16::from_le_bytes([low, high]))),
        _ => None,
    }
}

/// `2014-02-08T16:54:50.25`.
fn date_time(bytes: &[u8]) -> Option<String> {
    let mut text = date(bytes)?;
    let (hour, minute, second, micros) = match *bytes {
        [_, _, _, _, _, hour, minute, second] => (hour, minute, second, 0),
        [_, _, _, _, _, hour, minute, second, a, b, c, d] => (hour, minute, second, u32::from_le_bytes([a, b, c, d])),
        _ => (0, 0, 0, 0),
    };
    let _ = write!(text, "T{hour:02}:{minute:02}:{second:02}");
    fraction(&mut text, micros);
    Some(text)
}

/// `-838:59:59`: a span of time rather than a time of the day.
fn time(bytes: &[u8]) -> Option<String> {
    let (minus, days, clock, micros) = match *bytes {
        [0] => (0, 0, [0, 0, 0], 0),
        [_, minus, a, b, c, d, hour, minute, second] => {
            (minus, u32::from_le_bytes([a, b, c, d]), [hour, minute, second], 0)
        }
        [_, minus, a, b, c, d, hour, minute, second, e, f, g, h] => {
            let micros = u32::from_le_bytes([e, f, g, h]);
            (minus, u32::from_le_bytes([a, b, c, d]), [hour, minute, second], micros)
        }
        _ => return None,
    };
    let sign = if minus == 1 { "-" } else { "" };
    let hours = u64::from(days) * 24 + u64::from(clock[0]);
    let mut text = format!("{sign}{hours:02}:{:02}:{:02}", clock[1], clock[2]);
    fraction(&mut text, micros);
    Some(text)
}

/// Appends `.25` for 250,000 microseconds, and nothing for none.
fn fraction(text: &mut String, micros: u32) {
    if micros > 0 {
        let digits = format!("{micros:06}");
        let _ = write!(text, ".{}", digits.trim_end_matches('0'));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_times_are_read_from_the_bytes_that_the_protocol_leaves_out_where_they_are_zero() {
        assert_eq!(date(&[0]).unwrap(), "0000-00-00");
        assert_eq!(date(&[4, 222, 7, 2, 8]).unwrap(), "2014-02-08");
        assert_eq!(date(&[4, 222, 7, 2]), None);
        assert_eq!(date_time(&[0]).unwrap(), "0000-00-00T00:00:00");
        assert_eq!(date_time(&[4, 222, 7, 2, 8]).unwrap(), "2014-02-08T00:00:00");
        assert_eq!(date_time(&[7, 222, 7, 2, 8, 16, 54, 50]).unwrap(), "2014-02-08T16:54:50");
        assert_eq!(date_time(&[11, 222, 7, 2, 8, 16, 54, 50, 144, 208, 3, 0]).unwrap(), "2014-02-08T16:54:50.25");
        assert_eq!(time(&[0]).unwrap(), "00:00:00");
        assert_eq!(time(&[8, 1, 34, 0, 0, 0, 22, 59, 59]).unwrap(), "-838:59:59");
        assert_eq!(time(&[12, 0, 0, 0, 0, 0, 1, 2, 3, 1, 0, 0, 0]).unwrap(), "01:02:03.000001");
    }

    #[test]
    fn integers_have_their_sign_and_bits_their_order() {
        assert_eq!((signed(&[200]), unsigned(&[200])), (Some(-56), Some(200)));
        assert_eq!((signed(&[0, 128]), unsigned(&[0, 128])), (Some(-32768), Some(32768)));
        assert_eq!((signed(&[255; 8]), unsigned(&[255; 8])), (Some(-1), Some(u64::MAX)));
        assert_eq!((bits(&[1, 0]), bits(&[0; 9])), (Some(256), None));
        assert_eq!(signed(&[1, 2, 3]), None);
    }
}
