//! JSON text to a script's value.

use std::cell::Cell;
use std::fmt;

use rhai::{Array, Dynamic, Identifier, ImmutableString, Map};
use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};

use crate::fiber::{self, Stop};
use crate::script::decimal::Decimal;
use crate::script::raise::Wrong;

/// Reads a JSON document with any root. Of repeated keys the last counts.
///
/// An integer that fits is one, a larger one is a [`Decimal`] with all its digits, a number with a
/// point or an exponent is a float.
///
/// On a fiber it gives others their turn, and its values count as the script's: a body of a few
/// megabytes makes many times as much of them.
///
/// # Errors
/// If it is no JSON in UTF-8, is nested more than 127 levels deep, or holds a number outside the
/// range of floats; and if the script has to stop.
pub fn parse(text: &[u8]) -> Result<Dynamic, Unread> {
    let numbers = Numbers { text, at: Cell::new(0), visited: Cell::new(0), scanned: Cell::new(0) };
    let document = Document { numbers, stop: Cell::new(None) };
    let mut parser = serde_json::Deserializer::from_slice(text);
    let value = Value(&document).deserialize(&mut parser).and_then(|value| parser.end().map(|()| value));
    value.map_err(|error| document.stop.get().map_or(Unread::Malformed(error), Unread::Stopped))
}

/// Why there is no value.
#[derive(Debug)]
pub enum Unread {
    /// The text is no JSON; the error names line and column (in bytes).
    Malformed(serde_json::Error),
    /// The script has to stop.
    Stopped(Stop),
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unread::Malformed(error) => error.fmt(f),
            Unread::Stopped(stop) => write!(f, "stopped: {stop:?}"),
        }
    }
}

impl std::error::Error for Unread {}

impl From<Unread> for Wrong {
    fn from(unread: Unread) -> Wrong {
        match unread {
            Unread::Malformed(error) => Wrong::Server(format!("this is no JSON: {error}")),
            Unread::Stopped(stop) => stop.into(),
        }
    }
}

/// What is kept while a document is read.
struct Document<'a> {
    numbers: Numbers<'a>,
    stop: Cell<Option<Stop>>,
}

impl Document<'_> {
    fn tick<E: Error>(&self) -> Result<(), E> {
        fiber::tick().map_err(|stop| {
            self.stop.set(Some(stop));
            E::custom("stopped")
        })
    }
}

#[derive(Clone, Copy)]
struct Value<'a>(&'a Document<'a>);

impl<'de> DeserializeSeed<'de> for Value<'_> {
    type Value = Dynamic;

    fn deserialize<D: Deserializer<'de>>(self, parser: D) -> Result<Dynamic, D::Error> {
        parser.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Value<'_> {
    type Value = Dynamic;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Dynamic, E> {
        Ok(Dynamic::UNIT)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Dynamic, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Dynamic, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Dynamic, E> {
        Ok(i64::try_from(value).map_or_else(|_| Dynamic::from(Decimal::from(value)), Dynamic::from_int))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Dynamic, E> {
        let numbers = &self.0.numbers;
        numbers.visited.set(numbers.visited.get() + 1);
        // 2^63: a smaller integer doesn't come as a float.
        if value.abs() >= 9_223_372_036_854_775_808.0
            && let Some(exact) = numbers.digits().and_then(Decimal::parse)
        {
            return Ok(Dynamic::from(exact));
        }
        Ok(value.into())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Dynamic, E> {
        Ok(value.into())
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Dynamic, E> {
        Ok(ImmutableString::from(value).into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Dynamic, A::Error> {
        let mut array = Array::new();
        while let Some(item) = items.next_element_seed(self)? {
            array.push(item);
            self.0.tick()?;
        }
        Ok(Dynamic::from_array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Dynamic, A::Error> {
        let mut map = Map::new();
        while let Some(key) = members.next_key_seed(Key)? {
            map.insert(key, members.next_value_seed(self)?);
            self.0.tick()?;
        }
        Ok(Dynamic::from_map(map))
    }
}

struct Key;

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Identifier;

    fn deserialize<D: Deserializer<'de>>(self, parser: D) -> Result<Identifier, D::Error> {
        parser.deserialize_str(self)
    }
}

impl Visitor<'_> for Key {
    type Value = Identifier;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Identifier, E> {
        Ok(value.into())
    }
}

/// Finds the digits of an integer that serde_json has given as a float.
///
/// serde_json keeps no digits unless it keeps all numbers as text, which costs every document. So
/// the document is read along, once at most and only if such a number comes: both meet the numbers
/// in the same order.
struct Numbers<'a> {
    text: &'a [u8],
    at: Cell<usize>,
    visited: Cell<usize>,
    scanned: Cell<usize>,
}

impl<'a> Numbers<'a> {
    /// The text of the number visited last, if it is an integer.
    fn digits(&self) -> Option<&'a str> {
        let mut token = self.next()?;
        while self.scanned.get() < self.visited.get() {
            token = self.next()?;
        }
        token.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-').then_some(token)
    }

    /// The next number that comes as a float.
    fn next(&self) -> Option<&'a str> {
        loop {
            let rest = &self.text[self.at.get()..];
            let start = rest.iter().position(|byte| matches!(byte, b'"' | b'-' | b'0'..=b'9'))?;
            let rest = &rest[start..];
            let length = if rest[0] == b'"' { string_length(rest) } else { number_length(rest) };
            self.at.set(self.at.get() + start + length);
            if rest[0] != b'"' {
                let token = std::str::from_utf8(&rest[..length]).ok()?;
                if token == "-0" || (token.parse::<i64>().is_err() && token.parse::<u64>().is_err()) {
                    self.scanned.set(self.scanned.get() + 1);
                    return Some(token);
                }
            }
        }
    }
}

fn string_length(text: &[u8]) -> usize {
    let mut at = 1;
    while at < text.len() && text[at] != b'"' {
        at += if text[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(text.len())
}

fn number_length(text: &[u8]) -> usize {
    let is_part = |byte: &u8| matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9');
    text.iter().position(|byte| !is_part(byte)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::json::{Shapes, write};

    fn round(text: &str) -> String {
        let value = parse(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"));
        let mut out = Vec::new();
        write(&mut out, &value, &Shapes::default()).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_document_keeps_its_values() {
        for (text, written) in [
            ("[1,2]", "[1,2]"),
            ("null", "null"),
            ("\"x\"", "\"x\""),
            (" true ", "true"),
            ("{}", "{}"),
            (r#"{"a":1,"a":2}"#, r#"{"a":2}"#),
            (r#"{"b":1,"a":2}"#, r#"{"a":2,"b":1}"#),
            (r#"{"":1}"#, r#"{"":1}"#),
            (r#"{"default":1,"class":2}"#, r#"{"class":2,"default":1}"#),
            (r#"["\u0041\ud83d\ude00\/\b\f\n"]"#, "[\"A😀/\\b\\f\\n\"]"),
            ("[9007199254740993,-9223372036854775808]", "[9007199254740993,-9223372036854775808]"),
            ("[1.0,1e3,1E-2,-5,0.1]", "[1.0,1000.0,0.01,-5,0.1]"),
            ("[9223372036854775808,18446744073709551615]", "[9223372036854775808,18446744073709551615]"),
            ("{\"a\":\"${1+2}\"}", "{\"a\":\"${1+2}\"}"),
        ] {
            assert_eq!(round(text), written, "{text}");
        }
    }

    #[test]
    fn integers_of_any_length_keep_their_digits_wherever_they_stand() {
        let text = r#"{"-1\"2\\":[1.5,"99999999999999999999",-0,1e300,12345678901234567890123,7],"z":[-9223372036854775809,2e19,98765432109876543210]}"#;
        assert_eq!(
            round(text),
            r#"{"-1\"2\\":[1.5,"99999999999999999999",-0.0,1e+300,12345678901234567890123,7],"z":[-9223372036854775809,2e+19,98765432109876543210]}"#
        );
    }

    #[test]
    fn what_is_no_json_is_refused_with_its_place() {
        for (text, message) in [
            ("", "EOF while parsing a value at line 1 column 0"),
            ("{\"a\":", "EOF while parsing a value at line 1 column 5"),
            ("{\"a\":tru}", "expected ident at line 1 column 9"),
            ("{\n  \"a\": x}", "expected value at line 2 column 8"),
            ("{\"a\":1+1}", "expected `,` or `}` at line 1 column 7"),
            ("{\"a\":1 /* c */}", "expected `,` or `}` at line 1 column 8"),
            ("{\"a\":1,}", "trailing comma at line 1 column 8"),
            ("{\"a\":'c'}", "expected value at line 1 column 6"),
            ("{\"a\":pwn(\"x\")}", "expected value at line 1 column 6"),
            ("{\"a\":NaN}", "expected value at line 1 column 6"),
            ("[1.5e400]", "number out of range at line 1 column 8"),
            ("[1] 2", "trailing characters at line 1 column 5"),
            ("[\"\\ud83d\"]", "unexpected end of hex escape at line 1 column 9"),
        ] {
            assert_eq!(parse(text.as_bytes()).unwrap_err().to_string(), message, "{text}");
        }
        assert!(parse(b"[\"\xff\"]").unwrap_err().to_string().starts_with("invalid unicode code point"));
    }

    #[test]
    fn a_document_that_takes_more_memory_than_the_script_has_is_not_read_on() {
        let text = format!("[{}0]", "[],".repeat(1 << 20));
        let limits = fiber::Limits { memory: 8 << 20, ..fiber::Limits::default() };
        let run = fiber::run(limits, || {
            let outcome = parse(text.as_bytes());
            (outcome, crate::memory::live())
        });
        let before = crate::memory::live();
        let (outcome, after) = tokio::runtime::LocalRuntime::new().unwrap().block_on(run).unwrap();
        assert!(matches!(outcome, Err(Unread::Stopped(Stop::Memory))), "{outcome:?}");
        assert!(after - before < 8 << 20);
    }

    #[test]
    fn nesting_ends_at_127_levels() {
        let nested = |levels| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        assert!(parse(nested(127).as_bytes()).is_ok());
        assert!(parse(nested(128).as_bytes()).unwrap_err().to_string().starts_with("recursion limit exceeded"));
        assert!(parse(nested(100_000).as_bytes()).is_err());
    }
}
