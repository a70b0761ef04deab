//! What a script's author reads of an error: place, message, excerpt, the way that led there.

use std::fmt;

use rhai::{EvalAltResult, ParseError, ParseErrorType, Position};

use super::Source;
use super::fault::innermost;
use super::text::short;
use crate::directive::suggest;

/// An error in a script, ready to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    place: String,
    message: String,
    excerpt: String,
    path: Vec<String>,
    hint: Option<String>,
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = self.message.lines();
        write!(f, "{}: {}{}", self.place, lines.next().unwrap_or_default(), self.excerpt)?;
        for line in lines {
            write!(f, "\n  {line}")?;
        }
        for step in &self.path {
            write!(f, "\n  {step}")?;
        }
        self.hint.as_ref().map_or(Ok(()), |hint| write!(f, "\n  hint: {hint}"))
    }
}

impl Trace {
    /// A mistake that has no line: what the script returned, a limit that it hit.
    pub fn whole(source: &Source, message: impl Into<String>) -> Trace {
        Trace {
            place: source.name.clone(),
            message: message.into(),
            excerpt: String::new(),
            path: Vec::new(),
            hint: None,
        }
    }

    /// A mistake at a place of the script.
    pub(super) fn at(source: &Source, position: Position, message: impl Into<String>) -> Trace {
        let (place, excerpt) = (source.place(position), source.excerpt(position, 1));
        Trace { place, excerpt, ..Trace::whole(source, message) }
    }

    /// A script that does not compile.
    pub(super) fn of_parse(source: &Source, error: &ParseError) -> Trace {
        let (message, hint) = match &*error.0 {
            ParseErrorType::VariableUndefined(name) => (format!("no variable `{name}`"), undefined_hint(source, name)),
            ParseErrorType::Reserved(word) => (format!("`{word}` is a reserved word"), Some(reserved_hint(word))),
            other => (lower_first(&other.to_string()), None),
        };
        Trace { place: source.place(error.1), message, excerpt: source.excerpt(error.1, 1), path: Vec::new(), hint }
    }

    /// An error that was raised while the script ran. `functions` are the names that it could have meant.
    pub(super) fn of_run(source: &Source, error: &EvalAltResult, functions: &[String]) -> Trace {
        let inner = innermost(error);
        let (message, hint) = message_of(inner, functions);
        let (path, position) = steps(source, error, inner.position());
        let width = named_by(inner).map_or(1, |name| name.chars().count());
        Trace { place: source.place(position), message, excerpt: source.excerpt(position, width), path, hint }
    }

    /// A limit that was hit, at the innermost call that is known: Rhai keeps no more of its place.
    pub(super) fn of_stop(source: &Source, error: &EvalAltResult, message: String) -> Trace {
        let (path, position) = steps(source, error, innermost(error).position());
        Trace { place: source.place(position), message, excerpt: source.excerpt(position, 1), path, hint: None }
    }
}

/// The calls that led to the error, from the inside out. A system error without a position of its
/// own is placed at the innermost call that has one.
fn steps(source: &Source, error: &EvalAltResult, position: Position) -> (Vec<String>, Position) {
    let (mut path, mut place) = (Vec::new(), position);
    let mut error = error;
    while let EvalAltResult::ErrorInFunctionCall(name, _, inner, call) = error {
        if call.line().is_some() {
            if place.is_none() {
                place = *call;
            }
            let name = if name.starts_with("anon$") { "a closure" } else { &format!("`{name}`") };
            path.push(format!("in {name}, called at {}", source.place(*call)));
        }
        error = inner;
    }
    path.reverse();
    (path, place)
}

fn message_of(error: &EvalAltResult, functions: &[String]) -> (String, Option<String>) {
    match error {
        EvalAltResult::ErrorFunctionNotFound(signature, _) => unknown_function(signature, functions),
        EvalAltResult::ErrorRuntime(value, _) if value.is_unit() => ("thrown: `()`".to_owned(), None),
        EvalAltResult::ErrorRuntime(value, _) => match value.as_map_ref() {
            Ok(map) if map.contains_key("message") => (short(&map["message"]), None),
            _ => (short(value), None),
        },
        EvalAltResult::ErrorVariableNotFound(name, _) => (format!("no variable `{name}`"), None),
        EvalAltResult::ErrorStackOverflow(_) => {
            ("calls are nested deeper than `rhai.max-call-levels`".to_owned(), None)
        }
        EvalAltResult::ErrorModuleNotFound(name, _) => (format!("no module `{name}`"), None),
        other => {
            let text = other.to_string();
            let text = text.rsplit_once(" (line ").map_or(text.as_str(), |(message, _)| message);
            (lower_first(text), None)
        }
    }
}

/// The name that the caret goes under.
fn named_by(error: &EvalAltResult) -> Option<&str> {
    match error {
        EvalAltResult::ErrorFunctionNotFound(signature, _) => signature.split(" (").next(),
        EvalAltResult::ErrorVariableNotFound(name, _) => Some(name),
        _ => None,
    }
}

/// `db::frist (&str, array)` of Rhai: a name that is unknown, or known with other arguments.
fn unknown_function(signature: &str, functions: &[String]) -> (String, Option<String>) {
    let (name, arguments) = signature.split_once(" (").unwrap_or((signature, ")"));
    let arguments =
        arguments.trim_end_matches(')').replace("&str | ImmutableString | String", "string").replace("i64", "int");
    let is_operator = !name.starts_with(|it: char| it.is_alphabetic() || it == '_');
    if is_operator || functions.iter().any(|it| it == name) {
        return (format!("`{name}` takes no ({arguments})"), None);
    }
    let closest = suggest(name, functions.iter().map(String::as_str));
    (format!("no function `{name}`"), closest.map(|it| format!("did you mean `{it}`?")))
}

fn reserved_hint(word: &str) -> String {
    match word {
        "null" | "nil" => "what is nothing is `()`".to_owned(),
        "call" => "a script's function for requests is `fn handle(env)`".to_owned(),
        _ => format!("as a key write it in quotes: `row[\"{word}\"]`, `#{{\"{word}\": …}}`"),
    }
}

/// A name that the top level has, but functions don't see.
fn undefined_hint(source: &Source, name: &str) -> Option<String> {
    let declares = |keyword: &str| {
        source.text.lines().any(|line| {
            let rest = line.trim_start().strip_prefix(keyword).and_then(|it| it.strip_prefix(' '));
            rest.and_then(|it| it.trim_start().strip_prefix(name))
                .is_some_and(|it| !it.starts_with(|it: char| it.is_alphanumeric() || it == '_'))
        })
    };
    if declares("const") {
        return Some(format!("in a function, a constant of the script is `global::{name}`"));
    }
    declares("let").then(|| {
        format!("functions don't see the script's variables: pass `{name}` as an argument, or make it a `const` and write `global::{name}`")
    })
}

fn lower_first(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(|it| it.to_lowercase().to_string()).unwrap_or_default();
    first + characters.as_str()
}
