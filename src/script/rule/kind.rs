//! The types that a parameter can have, and how a value that came as text or in JSON is read as one.

use std::cmp::Ordering;

use jiff::Timestamp;
use jiff::civil::Date;
use rhai::{Dynamic, ImmutableString};

use crate::script::decimal::Decimal;

/// The type of a parameter, or of the items of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::script) enum Kind {
    Int,
    Float,
    Bool,
    String,
    Date,
    Datetime,
}

impl Kind {
    pub const ALL: [Kind; 6] = [Kind::Int, Kind::Float, Kind::Bool, Kind::String, Kind::Date, Kind::Datetime];

    /// How scripts write it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Int => "int",
            Kind::Float => "float",
            Kind::Bool => "bool",
            Kind::String => "string",
            Kind::Date => "date",
            Kind::Datetime => "datetime",
        }
    }

    /// What a message says that it expects.
    pub fn expected(self) -> &'static str {
        match self {
            Kind::Int => "an integer",
            Kind::Float => "a number",
            Kind::Bool => "`true` or `false`",
            Kind::String => "a text",
            Kind::Date => "a date such as `2024-02-29`",
            Kind::Datetime => "a date and time such as `2024-02-29T12:30:00Z`",
        }
    }

    /// The same of many.
    pub fn expected_items(self) -> &'static str {
        match self {
            Kind::Int => "integers",
            Kind::Float => "numbers",
            Kind::Bool => "`true` and `false`",
            Kind::String => "texts",
            Kind::Date => "dates",
            Kind::Datetime => "dates and times",
        }
    }

    /// Whether one value of it can be less than another.
    pub fn is_ordered(self) -> bool {
        !matches!(self, Kind::Bool | Kind::String)
    }

    /// The value in this type; `None` if it doesn't fit.
    pub fn read(self, value: &Dynamic) -> Option<Dynamic> {
        match self {
            Kind::Int => int(value),
            Kind::Float => float(value),
            Kind::Bool => bool(value),
            Kind::String => value.is_string().then(|| value.clone()),
            Kind::Date => date(value),
            Kind::Datetime => Some(ImmutableString::from(moment(value)?.to_string()).into()),
        }
    }

    /// Compares two values that [`Kind::read`] gave; equal where the kind has no order.
    pub fn compare(self, left: &Dynamic, right: &Dynamic) -> Ordering {
        let order = match self {
            Kind::Int => left.as_int().ok().partial_cmp(&right.as_int().ok()),
            Kind::Float => left.as_float().ok().partial_cmp(&right.as_float().ok()),
            // Their years have four digits, so that the order of the texts is that of the days.
            Kind::Date => {
                let text = |value: &Dynamic| value.as_immutable_string_ref().ok().map(|it| it.clone());
                text(left).partial_cmp(&text(right))
            }
            Kind::Datetime => moment(left).partial_cmp(&moment(right)),
            Kind::Bool | Kind::String => None,
        };
        order.unwrap_or(Ordering::Equal)
    }
}

fn int(value: &Dynamic) -> Option<Dynamic> {
    if value.is_int() {
        return Some(value.clone());
    }
    let text = value.as_immutable_string_ref().ok()?;
    // A sign in front of it is `-` only: in a query `+` is a space.
    if text.starts_with('+') { None } else { text.parse::<i64>().ok().map(Dynamic::from_int) }
}

/// Whether it is a whole number that has more than the 64 bits of a script's integers.
pub(super) fn is_beyond(value: &Dynamic) -> bool {
    let is_beyond = |text: &str| {
        let digits = text.strip_prefix('-').unwrap_or(text);
        let is_whole = !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_digit());
        is_whole && text.parse::<i64>().is_err()
    };
    match value.as_immutable_string_ref() {
        Ok(text) => is_beyond(&text),
        Err(_) => value.read_lock::<Decimal>().is_some_and(|it| is_beyond(&it.to_string())),
    }
}

fn float(value: &Dynamic) -> Option<Dynamic> {
    // A bound that is no number would let nothing in, and JSON can't say it.
    let finite = |number: f64| number.is_finite().then(|| number.into());
    if let Ok(number) = value.as_float() {
        return finite(number);
    }
    if let Ok(number) = value.as_int() {
        return Some((number as f64).into());
    }
    if let Some(number) = value.read_lock::<Decimal>() {
        return finite(number.to_float());
    }
    let text = value.as_immutable_string_ref().ok()?;
    // Rust's floats are also `inf`, `nan`, `+1`, `.5` and `5.`.
    let is_number =
        text.trim_start_matches('-').starts_with(|first: char| first.is_ascii_digit()) && !text.ends_with('.');
    let number = text.parse::<f64>().ok().filter(|number| is_number && number.is_finite())?;
    Some(number.into())
}

fn bool(value: &Dynamic) -> Option<Dynamic> {
    if value.is_bool() {
        return Some(value.clone());
    }
    // `on` is what a browser sends for a ticked box.
    match value.as_immutable_string_ref().ok()?.as_str() {
        "true" | "1" | "on" => Some(true.into()),
        "false" | "0" | "off" => Some(false.into()),
        _ => None,
    }
}

/// RFC 3339's `full-date`.
fn date(value: &Dynamic) -> Option<Dynamic> {
    let text = value.as_immutable_string_ref().ok()?;
    let is_shaped = has_shape(text.as_bytes(), b"0000-00-00");
    (is_shaped && text.parse::<Date>().is_ok()).then(|| value.clone())
}

/// RFC 3339's `date-time`. A zone has to be there: without one it would be another moment on
/// another machine. A leap second is refused, since no database could keep it.
fn moment(value: &Dynamic) -> Option<Timestamp> {
    let text = value.as_immutable_string_ref().ok()?;
    let (time, rest) = text.as_bytes().split_at_checked(19)?;
    let is_time =
        has_shape(&time[..10], b"0000-00-00") && matches!(time[10], b'T' | b't') && has_shape(&time[11..], b"00:00:00");
    let zone = match rest.strip_prefix(b".") {
        Some(fraction) => after_digits(fraction)?,
        None => rest,
    };
    let is_zone = matches!(zone, b"Z" | b"z") || has_shape(zone, b"+00:00") || has_shape(zone, b"-00:00");
    if !is_time || !is_zone || &time[17..] == b"60" {
        return None;
    }
    text.parse().ok()
}

/// What follows one digit or more.
fn after_digits(text: &[u8]) -> Option<&[u8]> {
    let count = text.iter().take_while(|it| it.is_ascii_digit()).count();
    (count > 0).then(|| &text[count..])
}

/// Whether `text` is as `shape`, in which `0` stands for any digit.
fn has_shape(text: &[u8], shape: &[u8]) -> bool {
    text.len() == shape.len()
        && text.iter().zip(shape).all(|(byte, shape)| byte == shape || (*shape == b'0' && byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(kind: Kind, text: &str) -> Option<String> {
        kind.read(&text.into()).map(|value| value.into_string().unwrap())
    }

    #[test]
    fn a_date_is_a_day_that_there_is() {
        for text in ["2024-02-29", "0001-01-01", "9999-12-31"] {
            assert_eq!(read(Kind::Date, text).as_deref(), Some(text));
        }
        for text in ["2023-02-29", "2024-2-9", "20240229", "2024-13-01", "2024-02-29T00:00:00Z", "", "-001-01-01"] {
            assert_eq!(read(Kind::Date, text), None, "{text}");
        }
        assert!(Kind::Date.read(&20_240_229_i64.into()).is_none());
    }

    #[test]
    fn a_moment_is_normalized_to_utc_without_zeros_at_its_end() {
        for (text, normalized) in [
            ("2024-02-29T12:30:00Z", "2024-02-29T12:30:00Z"),
            ("2024-02-29t12:30:00z", "2024-02-29T12:30:00Z"),
            ("2024-02-29T12:30:00+02:00", "2024-02-29T10:30:00Z"),
            ("2024-03-01T00:30:00.1200-05:30", "2024-03-01T06:00:00.12Z"),
            ("2024-02-29T12:30:00-00:00", "2024-02-29T12:30:00Z"),
        ] {
            assert_eq!(read(Kind::Datetime, text).as_deref(), Some(normalized), "{text}");
        }
    }

    #[test]
    fn what_rfc_3339_has_not_is_no_moment() {
        for text in [
            "2024-02-29T12:30:00",
            "2024-02-29 12:30:00Z",
            "2024-02-29T12:30Z",
            "2024-02-29T25:30:00Z",
            "2024-02-29T12:30:60Z",
            "2024-02-29T12:30:00.Z",
            "2024-02-29T12:30:00+0200",
            "2024-02-29T12:30:00Z[UTC]",
            "2024-02-29T12:30:00é",
            "2023-02-29T12:30:00Z",
            "now",
            "",
        ] {
            assert_eq!(read(Kind::Datetime, text), None, "{text}");
        }
    }

    #[test]
    fn moments_are_compared_as_such_not_as_texts() {
        let moment = |text: &str| Kind::Datetime.read(&text.into()).unwrap();
        let (whole, half) = (moment("2024-01-01T00:00:00Z"), moment("2024-01-01T00:00:00.5Z"));
        assert_eq!(Kind::Datetime.compare(&whole, &half), Ordering::Less);
        assert_eq!(Kind::Date.compare(&"2024-01-02".into(), &"2024-01-10".into()), Ordering::Less);
        assert_eq!(Kind::Float.compare(&1.5.into(), &1.0.into()), Ordering::Greater);
    }
}
