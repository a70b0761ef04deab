//! `rhai.settings`: values of the configuration for scripts.

use std::fmt;
use std::sync::Arc;

use rhai::{Dynamic, Map};

use super::frozen;
use crate::directive::{self, Directive, Kind, Level, Node, Problems, Repeat};

/// Names with their values, inherited from level to level. They may be secrets: their text shows names alone.
#[derive(Clone, Default, PartialEq)]
pub struct Values(Vec<(String, Arc<Value>)>);

#[derive(Clone, Debug, PartialEq)]
enum Value {
    Unit,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    List(Vec<Value>),
    Mapping(Vec<(String, Value)>),
}

impl fmt::Debug for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.0.iter().map(|(name, _)| (name, "***"))).finish()
    }
}

impl Values {
    /// The values as scripts see them: lists and mappings are frozen.
    pub fn to_script(&self) -> Map {
        let frozen = |value: &Value| frozen::freeze(value.to_script()).unwrap_or_default();
        self.0.iter().map(|(name, value)| (name.as_str().into(), frozen(value))).collect()
    }
}

impl directive::Settings for Values {
    const DIRECTIVES: &'static [Directive<Values>] = &[Directive {
        name: "rhai.settings",
        levels: &[Level::Global, Level::Host, Level::Path],
        repeat: Repeat::Once,
        summary: "Values for scripts, which read them with `config::get(\"name\")`. A plain number is an integer or, with a \
                  point, a float; plain `true`, `false`, `ON` and `OFF` are booleans; what is in quotes is a text, as all \
                  else is; lists and mappings are arrays and maps that can't be changed. A host and a path add to the names \
                  further out, and win over them. rhaid logs none of the values.",
        example: "rhai.settings:\n  mail: {host: localhost, port: 25}\n  token: \"${TOKEN:-none}\"",
        apply: |values, node| {
            let mut problems = Problems::default();
            for (name, value) in members(node, &mut problems) {
                let value = Arc::new(value);
                match values.0.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, known)) => *known = value,
                    None => values.0.push((name, value)),
                }
            }
            problems.or(())
        },
    }];
}

/// The members of a mapping, each name once.
fn members(node: &Node, problems: &mut Problems) -> Vec<(String, Value)> {
    let mut members: Vec<(String, Value, Node)> = Vec::new();
    let entries = problems.check(node.entries_as("a mapping of names and values"));
    for (key, value) in entries.unwrap_or_default() {
        let Some(name) = problems.check(key.text()) else { continue };
        if let Some((_, _, first)) = members.iter().find(|(known, ..)| known == name) {
            // The value beside it may be a secret.
            problems.0.push(key.repeats(first).masked());
        } else if let Some(value) = Value::read(&value, problems) {
            members.push((name.to_owned(), value, key));
        }
    }
    members.into_iter().map(|(name, value, _)| (name, value)).collect()
}

impl Value {
    fn read(node: &Node, problems: &mut Problems) -> Option<Value> {
        Some(match node.kind() {
            // What a tag could not bring says so when it is asked for.
            Kind::Null if node.is_empty() => Value::Unit,
            Kind::Null | Kind::Scalar => {
                let text = problems.check(node.text())?;
                if node.is_plain() { plain(text) } else { Value::Text(text.to_owned()) }
            }
            Kind::Sequence => Value::List(node.items().iter().filter_map(|it| Value::read(it, problems)).collect()),
            Kind::Mapping => Value::Mapping(members(node, problems)),
        })
    }

    fn to_script(&self) -> Dynamic {
        match self {
            Value::Unit => Dynamic::UNIT,
            Value::Bool(value) => (*value).into(),
            Value::Int(value) => (*value).into(),
            Value::Float(value) => (*value).into(),
            Value::Text(text) => text.as_str().into(),
            Value::List(items) => Dynamic::from_array(items.iter().map(Value::to_script).collect()),
            Value::Mapping(members) => {
                Dynamic::from_map(members.iter().map(|(name, it)| (name.as_str().into(), it.to_script())).collect())
            }
        }
    }
}

/// A word without quotes. A number is one only if it is written as it would be printed: what begins
/// with zeros or a plus is a code, a telephone number, a version.
fn plain(text: &str) -> Value {
    match text.to_ascii_lowercase().as_str() {
        "true" | "on" => return Value::Bool(true),
        "false" | "off" => return Value::Bool(false),
        _ => {}
    }
    if let Ok(number) = text.parse::<i64>()
        && number.to_string() == text
    {
        return Value::Int(number);
    }
    let digits = |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit());
    let is_float = text
        .strip_prefix('-')
        .unwrap_or(text)
        .split_once('.')
        .is_some_and(|(whole, rest)| digits(whole) && digits(rest) && (whole == "0" || !whole.starts_with('0')));
    match text.parse::<f64>() {
        Ok(number) if is_float => Value::Float(number),
        _ => Value::Text(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directive::apply;

    fn value(text: &str) -> Value {
        let values = apply(Values::default(), &format!("rhai.settings:\n  a: {text}\n")).unwrap();
        (*values.0[0].1).clone()
    }

    #[test]
    fn a_plain_word_has_a_type_and_what_is_quoted_is_a_text() {
        let text = |it: &str| Value::Text(it.to_owned());
        for (yaml, expected) in [
            ("8080", Value::Int(8080)),
            ("-7", Value::Int(-7)),
            ("1.50", Value::Float(1.5)),
            ("-0.25", Value::Float(-0.25)),
            ("true", Value::Bool(true)),
            ("Off", Value::Bool(false)),
            ("~", Value::Unit),
            ("", Value::Unit),
            ("\"8080\"", text("8080")),
            ("'ON'", text("ON")),
            ("|-\n    8080", text("8080")),
            ("&x 8080", Value::Int(8080)),
            ("&x \"8080\"", text("8080")),
            ("${NO_SUCH_NAME_IS_SET:-25}", Value::Int(25)),
            ("\"${NO_SUCH_NAME_IS_SET:-25}\"", text("25")),
            // Cargo sets it for the tests that it runs.
            ("!env CARGO_PKG_VERSION_MAJOR", Value::Int(0)),
            ("!env \"CARGO_PKG_VERSION_MAJOR\"", text("0")),
            ("0123", text("0123")),
            ("+1", text("+1")),
            ("1e3", text("1e3")),
            ("01.5", text("01.5")),
            ("1.2.3", text("1.2.3")),
            ("no", text("no")),
            ("9223372036854775808", text("9223372036854775808")),
            (
                "[1, \"1\", {b: 2.5}]",
                Value::List(vec![Value::Int(1), text("1"), Value::Mapping(vec![("b".into(), Value::Float(2.5))])]),
            ),
        ] {
            assert_eq!(value(yaml), expected, "{yaml}");
        }
    }

    #[test]
    fn inner_levels_add_to_the_outer_and_win() {
        let outer = apply(Values::default(), "rhai.settings: {a: 1, b: {c: 2}}").unwrap();
        let inner = apply(outer, "rhai.settings: {b: 3, d: 4}").unwrap();
        let map = inner.to_script();
        let members: Vec<_> = map.iter().map(|(name, value)| (name.as_str(), value.as_int().unwrap())).collect();
        assert_eq!(members, [("a", 1), ("b", 3), ("d", 4)]);
    }

    #[test]
    fn mistakes_have_their_places() {
        let text = "rhai.settings:\n  a: 1\n  b:\n  - ${NO_SUCH_NAME_IS_SET}\n  a: 2\n";
        let expected = "\
host.yaml:4:5: the environment variable `NO_SUCH_NAME_IS_SET` is not set
  4 |   - ${NO_SUCH_NAME_IS_SET}
    |     ^^^^^^^^^^^^^^^^^^^^^^
hint: set it, or give a default: `${NO_SUCH_NAME_IS_SET:-default}`
host.yaml:5:3: `a` is repeated, first on line 2
  5 |   ***
    |   ^^^";
        assert_eq!(apply(Values::default(), text), Err(expected.into()));
        let expected = "host.yaml:1:16: `rhai.settings` is `1`, expected a mapping of names and values\n  \
                        1 | rhai.settings: 1\n    |                ^";
        assert_eq!(apply(Values::default(), "rhai.settings: 1"), Err(expected.into()));
    }

    #[test]
    fn the_values_are_not_shown() {
        let values = apply(Values::default(), "rhai.settings: {token: s3cret}").unwrap();
        assert_eq!(format!("{values:?}"), "{\"token\": \"***\"}");
    }
}
