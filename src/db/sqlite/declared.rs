//! Reads a column by the type that it was declared with: SQLite has no dates, booleans, decimals
//! or JSON, but people declare them. What does not fit its declaration stays what it is.

use rusqlite::types::ValueRef;
use serde_json::value::RawValue;

use crate::db::error::{Error, Kind};
use crate::db::rows::Builder;
use crate::fiber;

/// A float is exact to so many digits (IEEE 754 binary64).
pub const EXACT_DIGITS: usize = 15;

/// What a column was declared as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Declared {
    /// Something that SQLite has itself, or nothing.
    Plain,
    /// `DATETIME` or `TIMESTAMP`.
    DateTime,
    /// `BOOLEAN` or `BOOL`.
    Boolean,
    /// `DECIMAL` or `NUMERIC`, with its scale where it has one.
    Decimal(Option<usize>),
    /// `JSON`.
    Json,
}

impl Declared {
    /// What `declaration` means, as `DECIMAL(10, 2)` or `timestamp with time zone`.
    pub fn parse(declaration: Option<&str>) -> Declared {
        let text = declaration.unwrap_or_default().trim();
        let name = text.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        match name.to_ascii_uppercase().as_str() {
            "DATETIME" | "TIMESTAMP" | "TIMESTAMPTZ" => Declared::DateTime,
            "BOOLEAN" | "BOOL" => Declared::Boolean,
            "DECIMAL" | "NUMERIC" => Declared::Decimal(scale(text)),
            "JSON" => Declared::Json,
            _ => Declared::Plain,
        }
    }

    /// Adds `value` to the row as what it was declared; `name` is the column's.
    ///
    /// # Errors
    /// If it is text that is no UTF-8.
    pub fn read(self, value: ValueRef<'_>, name: &str, row: &mut Builder) -> Result<(), Error> {
        match (self, value) {
            (_, ValueRef::Null) => row.null(),
            (Declared::Boolean, ValueRef::Integer(number @ 0..=1)) => row.bool(number == 1),
            (Declared::Decimal(Some(scale @ 1..)), ValueRef::Integer(number)) => {
                return row.decimal(&format!("{number}.{:0scale$}", 0));
            }
            (_, ValueRef::Integer(number)) => row.int(number),
            (Declared::Decimal(scale), ValueRef::Real(number)) => match digits(number, scale) {
                Some(digits) => return row.decimal(&digits),
                None => row.float(number),
            },
            (_, ValueRef::Real(number)) => row.float(number),
            (_, ValueRef::Text(bytes)) => {
                fiber::room(bytes.len())?;
                let text = std::str::from_utf8(bytes).map_err(|_| {
                    let message = format!("column `{name}` holds text that is not UTF-8");
                    Error { column: Some(name.into()), ..Error::new(Kind::Value, message) }
                })?;
                return self.read_text(text, row);
            }
            (_, ValueRef::Blob(bytes)) => {
                fiber::room(bytes.len())?;
                return row.blob(bytes);
            }
        }
        Ok(())
    }

    fn read_text(self, text: &str, row: &mut Builder) -> Result<(), Error> {
        match self {
            Declared::DateTime => {
                if let Some(moment) = moment(text) {
                    return row.text(&moment);
                }
            }
            Declared::Json => {
                if let Ok(document) = serde_json::from_str::<&RawValue>(text) {
                    return row.json(document.get());
                }
            }
            Declared::Plain | Declared::Boolean | Declared::Decimal(_) => {}
        }
        row.text(text)
    }
}

/// The second number in the parentheses of `DECIMAL(10, 2)`; 0 where there is only one.
fn scale(declaration: &str) -> Option<usize> {
    let inside = declaration.split_once('(')?.1.split_once(')')?.0;
    match inside.split_once(',') {
        Some((_, scale)) => scale.trim().parse().ok().filter(|&scale| scale <= 255),
        None => Some(0),
    }
}

/// The digits of `number`, with `scale` of them after the point; `None` if they are not exact or
/// there are more.
fn digits(number: f64, scale: Option<usize>) -> Option<String> {
    let mut text = number.is_finite().then(|| number.to_string())?;
    let significant = text.bytes().filter(u8::is_ascii_digit).skip_while(|&digit| digit == b'0').count();
    if significant > EXACT_DIGITS {
        return None;
    }
    let after = text.split_once('.').map_or(0, |(_, after)| after.len());
    let missing = scale.unwrap_or(after).checked_sub(after)?;
    if after == 0 && missing > 0 {
        text.push('.');
    }
    text.extend(std::iter::repeat_n('0', missing));
    Some(text)
}

/// `2014-02-08 16:54:50.500` as `2014-02-08T16:54:50.5`, with an offset from UTC as that time in
/// UTC; `None` if it is no such text.
fn moment(text: &str) -> Option<String> {
    let (date, rest) = (text.get(..10)?, text.get(11..)?);
    if !matches!(text.as_bytes()[10], b' ' | b'T') {
        return None;
    }
    let clock = rest.bytes().take_while(|byte| matches!(byte, b'0'..=b'9' | b':' | b'.')).count();
    let (clock, zone) = rest.split_at(clock);
    let (time, fraction) = clock.split_once('.').unwrap_or((clock, ""));
    // SQLite's own functions take a time without seconds.
    let seconds = if fits(time, "00:00") { ":00" } else { "" };
    if !fits(date, "0000-00-00") || time.len() + seconds.len() != 8 || clock.ends_with('.') {
        return None;
    }
    let mut moment = format!("{date}T{time}{seconds}");
    // The calendar's own rules; a second 60 is no time either.
    let civil: jiff::civil::DateTime = moment.parse().ok().filter(|_| !time.ends_with(":60"))?;
    let fraction = fraction.trim_end_matches('0');
    if !fraction.is_empty() {
        moment.push('.');
        moment.push_str(fraction);
    }
    match zone.trim_start() {
        "" => Some(moment),
        "Z" | "z" => Some(moment + "Z"),
        zone => {
            let offset = offset(zone)?;
            let utc = civil.checked_sub(jiff::Span::new().minutes(offset)).ok()?;
            let fraction = if fraction.is_empty() { String::new() } else { format!(".{fraction}") };
            Some(format!("{}{fraction}Z", utc.strftime("%Y-%m-%dT%H:%M:%S")))
        }
    }
}

/// Minutes of `+02:00`, as SQLite's own functions take it.
fn offset(zone: &str) -> Option<i64> {
    let sign = match zone.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let zone = zone.get(1..)?;
    if !fits(zone, "00:00") {
        return None;
    }
    let (hours, minutes): (i64, i64) = (zone[..2].parse().ok()?, zone[3..].parse().ok()?);
    (hours < 24 && minutes < 60).then_some(sign * (hours * 60 + minutes))
}

/// Whether `text` is `shape` with any digits in the place of its zeros.
fn fits(text: &str, shape: &str) -> bool {
    text.len() == shape.len()
        && text.bytes().zip(shape.bytes()).all(|(byte, form)| byte == form || form == b'0' && byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_declaration_is_known_by_its_first_word() {
        for (text, declared) in [
            (Some("DATETIME"), Declared::DateTime),
            (Some("timestamp with time zone"), Declared::DateTime),
            (Some("DATETIME(6)"), Declared::DateTime),
            (Some("Boolean"), Declared::Boolean),
            (Some("DECIMAL(10, 2)"), Declared::Decimal(Some(2))),
            (Some("NUMERIC(10)"), Declared::Decimal(Some(0))),
            (Some("numeric"), Declared::Decimal(None)),
            (Some("json"), Declared::Json),
            (Some("DATE"), Declared::Plain),
            (Some("VARCHAR(36)"), Declared::Plain),
            (None, Declared::Plain),
        ] {
            assert_eq!(Declared::parse(text), declared, "{text:?}");
        }
    }

    #[test]
    fn a_date_and_time_is_written_in_one_form() {
        for (text, written) in [
            ("2014-02-08 16:54:50", "2014-02-08T16:54:50"),
            ("2014-02-08T16:54:50", "2014-02-08T16:54:50"),
            ("2014-02-08 16:54", "2014-02-08T16:54:00"),
            ("2014-02-08 16:54:50.120", "2014-02-08T16:54:50.12"),
            ("2014-02-08 16:54:50.000", "2014-02-08T16:54:50"),
            ("2014-02-08 16:54:50Z", "2014-02-08T16:54:50Z"),
            ("2014-02-08 16:54:50 +02:00", "2014-02-08T14:54:50Z"),
            ("2014-01-01 00:30:00.5+01:00", "2013-12-31T23:30:00.5Z"),
            ("2014-12-31 23:30:00-01:30", "2015-01-01T01:00:00Z"),
        ] {
            assert_eq!(moment(text).as_deref(), Some(written), "{text}");
        }
    }

    #[test]
    fn what_is_no_date_and_time_stays_what_it_is() {
        for text in [
            "",
            "now",
            "2014-02-08",
            "2014-02-08 ",
            "2014-02-30 16:54:50",
            "2014-13-08 16:54:50",
            "0000-00-00 00:00:00",
            "2014-02-08 24:00:00",
            "2014-02-08 16:54:60",
            "2014-02-08 16:54:5",
            "2014-02-08 16:54:50.",
            "2014-02-08 16:54:50 CET",
            "2014-02-08 16:54:50+2:00",
            "2014-02-08 16:54:50+02:99",
            "2014-02-08x16:54:50",
            "2014-02-0é 16:54:50",
        ] {
            assert_eq!(moment(text), None, "{text}");
        }
    }

    #[test]
    fn decimals_are_exact_or_left_alone() {
        for (number, scale, text) in [
            (12.5, Some(2), Some("12.50")),
            (12.0, Some(2), Some("12.00")),
            (-0.1, Some(3), Some("-0.100")),
            (12.345, Some(2), None),
            (12.345, None, Some("12.345")),
            (0.000_001, None, Some("0.000001")),
            (0.1 + 0.2, None, None),
            (1e300, None, None),
            (f64::INFINITY, None, None),
        ] {
            assert_eq!(digits(number, scale).as_deref(), text, "{number}");
        }
    }
}
