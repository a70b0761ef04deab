//! Rhai's errors in our words, with a way out where one is known.

use std::borrow::Cow;

use rhai::{EvalAltResult, LexError, ParseError, ParseErrorType, Position};

use super::env::KEYS;
use super::reserved;
use super::source::Source;
use super::text::short;
use crate::directive::suggest;

mod call;
mod line;

use call::{types, unknown_function};
use line::Line;

/// What is to be said of an error.
pub(super) struct Explained {
    pub(super) message: String,
    pub(super) hint: Option<String>,
    /// Characters of the word that is wrong.
    pub(super) width: usize,
}

fn say(message: impl Into<String>, hint: Option<String>, width: usize) -> Explained {
    Explained { message: message.into(), hint, width }
}

/// Why a script can't be compiled. `functions` are the names of native functions.
pub(super) fn parse(source: &Source, error: &ParseError, functions: &[String]) -> Explained {
    let kind = &*error.0;
    let line = Line::of(source, error.1);
    if let Some(word) = reserved::statement(kind, line.after) {
        let hint = if line.before.trim().is_empty() {
            missing_at(source, error.1)
        } else {
            Some(format!("it is missing before `{word}`"))
        };
        return say("expected `;` to terminate the statement before this one", hint, word.chars().count());
    }
    if let Some(word) = reserved::word(kind, line.after) {
        let (message, hint) = reserved::explain(word, line.before, &line.after[word.len()..]);
        return say(message, Some(hint), word.chars().count());
    }
    match kind {
        ParseErrorType::VariableUndefined(name) => {
            let hint = undefined_hint(source, name, line.after, functions);
            say(format!("no variable `{name}`"), hint, name.chars().count())
        }
        ParseErrorType::ModuleUndefined(name) => unknown_module(source, name, functions),
        ParseErrorType::BadInput(LexError::MalformedChar(_)) => {
            let hint = "a text stands in double quotes: `\"…\"`; in single ones there is one character";
            say("`'…'` is not one character", Some(hint.to_owned()), 1)
        }
        ParseErrorType::ExprTooDeep => {
            say("expressions are nested too deeply", Some("put parts of it into variables or functions".to_owned()), 1)
        }
        // Rhai stumbles over what follows, which may be lines below.
        ParseErrorType::MissingToken(token, what) if token == ";" && line.before.trim().is_empty() => {
            say(format!("expected `;` {what}"), missing_at(source, error.1), line.word().chars().count().max(1))
        }
        other => say(lower_first(&other.to_string()), None, 1),
    }
}

/// Where a `;` is missing that the parser missed at the begin of a line: at the end of the last one before it that is no
/// comment.
fn missing_at(source: &Source, position: Position) -> Option<String> {
    let mut above = None;
    let mut is_comment = false;
    for (index, line) in source.text.lines().take(position.line()?.checked_sub(1)?).enumerate() {
        let line = line.trim();
        let begins = line.starts_with("/*");
        if !is_comment && !begins && !line.is_empty() && !line.starts_with("//") {
            above = Some(index);
        }
        is_comment = (is_comment || begins) && !line.ends_with("*/");
    }
    above.map(|index| format!("it is missing at the end of line {}", index + source.line))
}

/// A namespace that there is not, at run time: what is called is not known before in closures.
pub(super) fn unknown_module(source: &Source, name: &str, functions: &[String]) -> Explained {
    let aliases = source.text.lines().filter_map(alias);
    let known: Vec<&str> = namespaces(functions).chain(aliases).collect();
    let hint = match suggest(name, known) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("a module is known after `import \"…\" as {name};` at the top of the script"),
    };
    say(format!("no module `{name}`"), Some(hint), name.chars().count())
}

/// A function that a namespace has not; `name` is the whole name.
pub(super) fn unknown_member(name: &str, functions: &[String]) -> Explained {
    let (_, member) = name.split_once("::").unwrap_or(("", name));
    let hint = suggest(name, functions.iter().map(String::as_str)).map(|near| format!("did you mean `{near}`?"));
    say(format!("no function `{name}`"), hint, member.chars().count())
}

/// Why a script failed at `position`. `names` are the functions and constants that it could have
/// meant, `methods` the names of what can be called on a value of a type.
pub(super) fn run(
    source: &Source,
    error: &EvalAltResult,
    position: Position,
    names: &[String],
    methods: &dyn Fn(&str) -> Vec<String>,
) -> Explained {
    let width = Line::of(source, position).word().chars().count().max(1);
    match error {
        EvalAltResult::ErrorFunctionNotFound(signature, _) => {
            unknown_function(source, signature, position, names, methods)
        }
        // Only setting is refused: reading gives `()` for what is not there.
        EvalAltResult::ErrorIndexingType(text, _) if text.starts_with("Fields [") => {
            unchangeable(reserved::receiver(Line::of(source, position).before.trim_end_matches('[')))
        }
        EvalAltResult::ErrorRuntime(value, _) if value.is_unit() => say("thrown: `()`", None, width),
        EvalAltResult::ErrorRuntime(value, _) => match value.as_map_ref() {
            Ok(map) if map.contains_key("message") => say(of_map(&map), None, width),
            _ => say(short(value), None, width),
        },
        EvalAltResult::ErrorVariableNotFound(name, _) => {
            let near = suggest(name, names.iter().map(String::as_str));
            let hint = near.map(|it| format!("did you mean `{it}`?")).or_else(|| {
                let plain = name.strip_prefix("global::")?;
                declares(source, "let", plain).then(|| format!("`global::` has constants: make it `const {plain}`"))
            });
            say(format!("no variable `{name}`"), hint, name.chars().count())
        }
        EvalAltResult::ErrorStackOverflow(_) => say("calls are nested deeper than `rhai.max-call-levels`", None, 1),
        EvalAltResult::ErrorModuleNotFound(name, _) => unknown_module(source, name, names),
        EvalAltResult::ErrorDataRace(what, _) => {
            let name = what.rsplit_once("function '").map_or("a function", |(_, name)| name.trim_end_matches('\''));
            let hint = "it is locked meanwhile: use the closure's own parameter, as in `app.group(\"/x\", |g| g.get(…))`, \
                        or a copy, made before by `let copy = app`";
            let message = format!("`{name}` is given a closure that uses the variable it is called on");
            say(message, Some(hint.to_owned()), 1)
        }
        EvalAltResult::ErrorDotExpr(text, _) => property(source, text, position),
        other => {
            let text = other.to_string();
            let text = text.rsplit_once(" (line ").map_or(text.as_str(), |(message, _)| message);
            say(lower_first(text), None, width)
        }
    }
}

/// A map that was thrown: its message, and what says which sort of fault it is.
fn of_map(map: &rhai::Map) -> String {
    let message = short(&map["message"]);
    if map.contains_key("error") && map.contains_key("line") {
        // One of Rhai's own errors that was caught: its text has places in it.
        let text = message.lines().next().unwrap_or_default();
        let text = text.rsplit_once(" (line ").map_or(text, |it| it.0);
        return lower_first(&types(text.rsplit_once(" @ '").map_or(text, |it| it.0)));
    }
    let Some(kind) = map.get("kind").filter(|it| it.is_string()) else { return message };
    let mut lines = message.splitn(2, '\n');
    let mut text = format!("{} (kind: {})", lines.next().unwrap_or_default(), short(kind));
    if let Some(sql) = map.get("sql").filter(|it| it.is_string()) {
        text.push_str(&format!("\nstatement: {}", short(sql)));
    }
    lines.for_each(|more| text.push_str(&format!("\n{more}")));
    text
}

/// What was to be changed and is a part of the request.
fn unchangeable(receiver: &str) -> Explained {
    let message = if receiver.is_empty() {
        "what a request brought can't be changed".to_owned()
    } else {
        format!("`{receiver}` can't be changed: it is what the request brought")
    };
    let hint = "`to_map()` gives a map that can; what later handlers are to see is set as `env.name = …`";
    say(message, Some(hint.to_owned()), 1)
}

/// A property of what has none: Rhai says the type only.
fn property(source: &Source, text: &str, position: Position) -> Explained {
    let line = Line::of(source, position);
    // The place is that of the dot, or of the name.
    let name = line.after.trim_start_matches(['.', '?']);
    let name = &name[..name.find(|it: char| !it.is_alphanumeric() && it != '_').unwrap_or(name.len())];
    let kind = text.split('\'').nth(3).or_else(|| text.split('\'').nth(1)).unwrap_or_default();
    let kind = match kind {
        "i64" => "int",
        "f64" => "float",
        other => other,
    };
    let before = line.before.trim_end_matches(['.', '?']);
    let asked = reserved::receiver(before);
    if kind == "Fields" {
        return Explained { width: name.chars().count().max(1), ..unchangeable(asked) };
    }
    let receiver = without_arguments(asked);
    let message = match &*receiver {
        "" => format!("a value of the type `{kind}` has no property `{name}`"),
        receiver if kind == "()" => format!("`{receiver}` is `()`, which has no property `{name}`"),
        receiver => format!("`{receiver}` is of the type `{kind}`, which has no property `{name}`"),
    };
    let hint = match (kind, meant_key(asked)) {
        (_, Some(key)) => Some(format!("did you mean `env.{key}`?")),
        ("()", None) if asked == receiver && !receiver.is_empty() => {
            Some(format!("`{receiver}?.{name}` is `()` where `{receiver}` is"))
        }
        ("()", None) => Some("keep it in a variable and compare that with `()` first".to_owned()),
        ("Reply", _) => suggest(name, ["status", "headers", "body"]).map(|it| format!("did you mean `{it}`?")),
        _ => None,
    };
    say(message, hint, name.chars().count().max(1))
}

/// An expression with `…` for what stands in its parentheses.
fn without_arguments(expression: &str) -> Cow<'_, str> {
    if !expression.contains('(') {
        return expression.into();
    }
    let (mut out, mut depth) = (String::new(), 0_usize);
    for character in expression.chars() {
        if character == ')' {
            depth = depth.saturating_sub(1);
        }
        if depth == 0 {
            out.push(character);
        }
        if character == '(' {
            if depth == 0 {
                out.push('…');
            }
            depth += 1;
        }
    }
    out.into()
}

/// The key of the env that was meant by `env.parms`.
fn meant_key(receiver: &str) -> Option<&'static str> {
    let name = receiver.strip_prefix("env.")?;
    if KEYS.iter().any(|it| it.name == name) { None } else { suggest(name, KEYS.iter().map(|it| it.name)) }
}

/// The place of the name behind a dot, where the place is the dot's.
pub(super) fn after_dot(source: &Source, position: Position) -> Position {
    let after = Line::of(source, position).after;
    let dots = after.len() - after.trim_start_matches(['?', '.']).len();
    match (position.line(), position.position()) {
        (Some(line), Some(column)) if dots > 0 && after.trim_start_matches('?').starts_with('.') => {
            let moved = |it: usize| u16::try_from(it).unwrap_or(u16::MAX);
            Position::new(moved(line), moved(column + dots))
        }
        _ => position,
    }
}

/// What stands before `::` in the names of native functions.
fn namespaces(functions: &[String]) -> impl Iterator<Item = &str> {
    functions.iter().filter_map(|it| it.split_once("::")).map(|it| it.0)
}

/// The name that a line gives to a module.
fn alias(line: &str) -> Option<&str> {
    let (_, rest) = line.trim_start().strip_prefix("import")?.rsplit_once(" as ")?;
    Some(rest.trim().trim_end_matches(';').trim_end())
}

/// A name that the top level has, but functions don't see; or a namespace that is taken for a variable.
fn undefined_hint(source: &Source, name: &str, after: &str, functions: &[String]) -> Option<String> {
    if declares(source, "const", name) {
        return Some(format!("in a function, a constant of the script is `global::{name}`"));
    }
    if declares(source, "let", name) {
        return Some(format!(
            "functions don't see the script's variables: pass `{name}` as an argument, or make it a `const` and write `global::{name}`"
        ));
    }
    let is_namespace = namespaces(functions).chain(source.text.lines().filter_map(alias)).any(|it| it == name);
    if let Some(rest) = after.strip_prefix(name).and_then(|it| it.strip_prefix('.')).filter(|_| is_namespace) {
        let called = rest.split(|it: char| !it.is_alphanumeric() && it != '_').next();
        return Some(format!("a function of a module is called with `::`: `{name}::{}`", called.unwrap_or_default()));
    }
    None
}

/// The function of the script that is called at a place.
pub(super) fn called(source: &Source, position: Position) -> Option<&str> {
    let line = Line::of(source, position);
    let name = line.word();
    let is_call = !name.is_empty() && line.after[name.len()..].trim_start().starts_with('(');
    (is_call && declares(source, "fn", name)).then_some(name)
}

/// Whether the script has a line that declares `name`.
fn declares(source: &Source, keyword: &str, name: &str) -> bool {
    source.text.lines().any(|line| {
        let line = line.trim_start();
        let modified = line.strip_prefix("export ").or_else(|| line.strip_prefix("private "));
        let line = modified.map_or(line, str::trim_start);
        let rest = line.strip_prefix(keyword).and_then(|it| it.strip_prefix(' '));
        rest.and_then(|it| it.trim_start().strip_prefix(name))
            .is_some_and(|it| !it.starts_with(|it: char| it.is_alphanumeric() || it == '_'))
    })
}

fn lower_first(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(|it| it.to_lowercase().to_string()).unwrap_or_default();
    first + characters.as_str()
}
