//! A script's value to JSON text.
//!
//! Rhai's own serializer for serde writes custom types as their names, functions as theirs, and
//! NaN as null; here what JSON has not is a fault that names its place.

use std::fmt;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use rhai::{Array, Blob, Dynamic, FnPtr, ImmutableString, Instant, Map};

use super::Shapes;
use crate::fiber;
use crate::script::decimal::Decimal;
use crate::script::env::Fields;
use crate::script::frozen::{Frozen, Inner};
use crate::script::raise::Wrong;
use crate::script::rows::{Row, Rows};

/// What is nested deeper is refused, before the stack ends. A parsed document has at most 127.
const MAX_DEPTH: usize = 128;

/// Why a value has no JSON.
#[derive(Debug, PartialEq, Eq)]
pub enum Fault {
    /// Something in it is not of JSON, and where: `` `data[3].price` is NaN, which JSON has not ``.
    NotJson {
        /// Keys and indexes from the root; empty for the root itself.
        path: String,
        /// What it is, as a predicate.
        what: String,
    },
    /// A part of the request that it stands for can't be read, or the script has to stop.
    Wrong(Wrong),
}

impl Fault {
    #[cold]
    fn new(what: impl Into<String>) -> Fault {
        Fault::NotJson { path: String::new(), what: what.into() }
    }

    /// The same fault seen from the map or array that holds it.
    #[cold]
    fn within(self, step: &str) -> Fault {
        let Fault::NotJson { path, what } = self else { return self };
        let dot = if path.is_empty() || path.starts_with('[') { "" } else { "." };
        Fault::NotJson { path: format!("{step}{dot}{path}"), what }
    }

    #[cold]
    fn of_member(self, key: &str) -> Fault {
        if rhai::is_valid_identifier(key) { self.within(key) } else { self.within(&format!("[{key:?}]")) }
    }
}

impl From<Fault> for Wrong {
    fn from(fault: Fault) -> Wrong {
        match fault {
            Fault::Wrong(wrong) => wrong,
            Fault::NotJson { .. } => Wrong::Server(fault.to_string()),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::NotJson { path, what } if path.is_empty() => write!(f, "the value {what}"),
            Fault::NotJson { path, what } => write!(f, "`{path}` {what}"),
            Fault::Wrong(wrong) => wrong.fmt(f),
        }
    }
}

impl std::error::Error for Fault {}

/// Adds `value` to `out`. `()` is null, a character a string, a blob a string in base64; a map
/// whose keys are a literal's has that literal's order.
///
/// # Errors
/// If it holds NaN, an infinity, a function, a timestamp, a range or a type without a JSON form,
/// or is nested more than 128 levels deep; and if the script has to stop, for which it looks on a
/// fiber. What was added until then stays in `out`.
pub fn write(out: &mut Vec<u8>, value: &Dynamic, shapes: &Shapes) -> Result<(), Fault> {
    Writer { out, shapes }.value(value, MAX_DEPTH)
}

/// Types of ours that write themselves; `None` if it is none of them.
fn native(out: &mut Vec<u8>, value: &Dynamic, shapes: &Shapes) -> Option<Result<(), Fault>> {
    if let Some(number) = value.read_lock::<Decimal>() {
        out.extend_from_slice(number.to_string().as_bytes());
        return Some(Ok(()));
    }
    if let Some(rows) = value.read_lock::<Rows>() {
        return Some(rows.write_json(out).map_err(Fault::Wrong));
    }
    if let Some(row) = value.read_lock::<Row>() {
        return Some(row.write_json(out).map_err(Fault::Wrong));
    }
    if let Some(fields) = value.read_lock::<Fields>() {
        let map = fields.to_map().map_err(Fault::Wrong);
        return Some(map.and_then(|map| write(out, &Dynamic::from_map(map), shapes)));
    }
    None
}

struct Writer<'a> {
    out: &'a mut Vec<u8>,
    shapes: &'a Shapes,
}

impl Writer<'_> {
    fn value(&mut self, value: &Dynamic, depth: usize) -> Result<(), Fault> {
        fiber::tick().map_err(|stop| Fault::Wrong(stop.into()))?;
        // Asked first, so that each of the questions below is one comparison.
        if value.is_shared() {
            let inner = value.read_lock::<Dynamic>().ok_or_else(|| Fault::new("is being changed"))?;
            return self.value(&inner, depth);
        }
        if let Some(text) = value.read_lock::<ImmutableString>() {
            self.text(&text);
        } else if let Some(number) = value.read_lock::<i64>() {
            self.out.extend_from_slice(itoa::Buffer::new().format(*number).as_bytes());
        } else if let Some(map) = value.read_lock::<Map>() {
            return self.map(&map, depth);
        } else if let Some(array) = value.read_lock::<Array>() {
            return self.array(&array, depth);
        } else if value.is_unit() {
            self.out.extend_from_slice(b"null");
        } else if let Some(flag) = value.read_lock::<bool>() {
            self.out.extend_from_slice(if *flag { b"true" } else { b"false" });
        } else if let Some(number) = value.read_lock::<f64>() {
            return self.float(*number);
        } else {
            return self.other(value, depth);
        }
        Ok(())
    }

    fn map(&mut self, map: &Map, depth: usize) -> Result<(), Fault> {
        let depth = deeper(depth)?;
        if map.is_empty() {
            self.out.extend_from_slice(b"{}");
            return Ok(());
        }
        if let Some(members) = self.shapes.order(map) {
            let sorted: Vec<&Dynamic> = map.values().collect();
            for (place, before) in members {
                self.out.extend_from_slice(before.as_bytes());
                if let Err(fault) = self.value(sorted[*place], depth) {
                    return Err(fault.of_member(map.keys().nth(*place).map_or("", |key| key.as_str())));
                }
            }
        } else {
            let mut opening = b'{';
            for (key, value) in map {
                self.out.push(opening);
                opening = b',';
                self.text(key);
                self.out.push(b':');
                self.value(value, depth).map_err(|fault| fault.of_member(key))?;
            }
        }
        self.out.push(b'}');
        Ok(())
    }

    fn array(&mut self, array: &Array, depth: usize) -> Result<(), Fault> {
        let depth = deeper(depth)?;
        self.out.push(b'[');
        for (place, value) in array.iter().enumerate() {
            if place > 0 {
                self.out.push(b',');
            }
            self.value(value, depth).map_err(|fault| fault.within(&format!("[{place}]")))?;
        }
        self.out.push(b']');
        Ok(())
    }

    fn text(&mut self, text: &str) {
        serde_json::to_writer(&mut *self.out, text).expect("a vector takes every byte");
    }

    fn float(&mut self, number: f64) -> Result<(), Fault> {
        if !number.is_finite() {
            let name = if number.is_nan() { "NaN" } else { "infinite" };
            return Err(Fault::new(format!("is {name}, which JSON has not")));
        }
        serde_json::to_writer(&mut *self.out, &number).expect("a vector takes every byte");
        Ok(())
    }

    fn other(&mut self, value: &Dynamic, depth: usize) -> Result<(), Fault> {
        if let Ok(character) = value.as_char() {
            self.text(character.encode_utf8(&mut [0; 4]));
            return Ok(());
        }
        if let Some(bytes) = value.read_lock::<Blob>() {
            self.text(&BASE64_STANDARD.encode(&*bytes));
            return Ok(());
        }
        if let Some(frozen) = value.read_lock::<Frozen>() {
            return match frozen.inner() {
                Inner::List(list) => self.array(list, depth),
                Inner::Map(map) => self.map(map, depth),
            };
        }
        native(self.out, value, self.shapes)
            .unwrap_or_else(|| Err(Fault::new(format!("is {}, which JSON has not", kind(value)))))
    }
}

fn deeper(depth: usize) -> Result<usize, Fault> {
    depth.checked_sub(1).ok_or_else(|| Fault::new(format!("is nested more than {MAX_DEPTH} levels deep")))
}

/// What a script's author calls the type.
fn kind(value: &Dynamic) -> String {
    if value.is::<FnPtr>() {
        return "a function".into();
    }
    if value.is::<Instant>() {
        return "a timestamp".into();
    }
    if value.is::<std::ops::Range<i64>>() || value.is::<std::ops::RangeInclusive<i64>>() {
        return "a range".into();
    }
    let name = value.type_name();
    format!("of type `{}`", name.rsplit("::").next().unwrap_or(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rhai::Engine;

    #[derive(Clone)]
    struct Foo;

    fn outcome(script: &str) -> Result<String, String> {
        let mut engine = Engine::new();
        engine.register_fn("foo", || Foo).register_fn("dec", |text: &str| Decimal::parse(text).unwrap());
        let value = engine.eval::<Dynamic>(script).unwrap_or_else(|error| panic!("{script}: {error}"));
        let mut out = Vec::new();
        write(&mut out, &value, &Shapes::default()).map_err(|fault| fault.to_string())?;
        let text = String::from_utf8(out).unwrap();
        serde_json::from_str::<serde_json::Value>(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        Ok(text)
    }

    #[test]
    fn each_value_has_its_json() {
        for (script, json) in [
            (r#"#{a: "q\"uo\\te"}"#, r#"{"a":"q\"uo\\te"}"#),
            (r#""nul\x00 bell\x07 del\x7f""#, "\"nul\\u0000 bell\\u0007 del\x7f\""),
            (r#""zw\u200b nbsp\u00a0 line\u2028 emoji😀""#, "\"zw\u{200b} nbsp\u{a0} line\u{2028} emoji😀\""),
            (r#""tab\t cr\r lf\n""#, r#""tab\t cr\r lf\n""#),
            ("'x'", r#""x""#),
            (r#"'"'"#, r#""\"""#),
            ("[1.0, 1e300, 0.1 + 0.2, -0.0]", "[1.0,1e+300,0.30000000000000004,-0.0]"),
            ("[9007199254740993, -1, 9223372036854775807]", "[9007199254740993,-1,9223372036854775807]"),
            ("[(), true, false]", "[null,true,false]"),
            ("[[], #{}]", "[[],{}]"),
            ("blob(3, 255)", r#""////""#),
            ("blob()", r#""""#),
            (r#"#{"key\"q": 1}"#, r#"{"key\"q":1}"#),
            ("let x = 5; let f = || x; #{a: x, b: [x]}", r#"{"a":5,"b":[5]}"#),
            (r#"[dec("18446744073709551615"), dec("1.50")]"#, "[18446744073709551615,1.50]"),
        ] {
            assert_eq!(outcome(script).as_deref(), Ok(json), "{script}");
        }
    }

    #[test]
    fn what_json_has_not_is_a_fault_that_names_its_place() {
        for (script, fault) in [
            ("0.0/0.0", "the value is NaN, which JSON has not"),
            ("#{data: [1, 2, 3, #{price: 0.0/0.0}]}", "`data[3].price` is NaN, which JSON has not"),
            ("#{a: 1.0/0.0}", "`a` is infinite, which JSON has not"),
            ("[[1, -1.0/0.0]]", "`[0][1]` is infinite, which JSON has not"),
            ("#{\"a b\": #{c: || 1}}", "`[\"a b\"].c` is a function, which JSON has not"),
            ("#{a: #{\"b c\": timestamp()}}", "`a[\"b c\"]` is a timestamp, which JSON has not"),
            ("[0..5]", "`[0]` is a range, which JSON has not"),
            ("[0..=5]", "`[0]` is a range, which JSON has not"),
            ("#{a: foo()}", "`a` is of type `Foo`, which JSON has not"),
            ("let x = 1.0/0.0; let f = || x; [x]", "`[0]` is infinite, which JSON has not"),
        ] {
            assert_eq!(outcome(script), Err(fault.to_string()), "{script}");
        }
    }

    #[test]
    fn a_script_that_has_to_stop_does_not_write_on() {
        let limits = fiber::Limits { operations: 1000, ..fiber::Limits::default() };
        let run = fiber::run(limits, || {
            let mut out = Vec::new();
            let value = Dynamic::from_array(vec![Dynamic::from_int(1); 1 << 20]);
            (write(&mut out, &value, &Shapes::default()), out.len())
        });
        let (outcome, length) = tokio::runtime::LocalRuntime::new().unwrap().block_on(run).unwrap();
        assert_eq!(outcome, Err(Fault::Wrong(fiber::Stop::Operations.into())));
        assert!(length < 4000);
    }

    #[test]
    fn nesting_ends_at_128_levels() {
        let nested = |levels: usize| (1..levels).fold(Dynamic::from_array(Array::new()), |inner, _| vec![inner].into());
        assert!(write(&mut Vec::new(), &nested(128), &Shapes::default()).is_ok());
        let fault = write(&mut Vec::new(), &nested(129), &Shapes::default()).unwrap_err().to_string();
        assert_eq!(fault, format!("`{}` is nested more than 128 levels deep", "[0]".repeat(128)));
    }
}
