//! What a script's author reads of an error: place, message, excerpt, the way that led there.

use std::fmt;

use rhai::{EvalAltResult, ParseError, Position};

use super::explain;
use super::fault::{innermost, is_closure, stopped_at};
use super::imports::Asked;
use super::source::{Source, Sources};

/// An error in a script, ready to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    source: Box<Source>,
    /// None for what has no line: what the script returned, a panic.
    position: Position,
    /// What the caret goes under, in characters.
    width: usize,
    message: String,
    path: Vec<String>,
    hint: Option<String>,
    /// Whether the script failed for want of something that may be there again soon.
    is_unavailable: bool,
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = self.message.lines();
        write!(
            f,
            "{}: {}{}",
            self.place(),
            lines.next().unwrap_or_default(),
            self.source.excerpt(self.position, self.width)
        )?;
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
        Trace::token(source, Position::NONE, 1, message)
    }

    /// Where it is: `file:line:column`, or the file alone.
    pub fn place(&self) -> String {
        self.source.place(self.position)
    }

    /// What happened, with a way out after `hint: ` on a line of its own, if the error brought one.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Whether the script failed for want of something, such as a database, that may be there again soon.
    pub fn is_unavailable(&self) -> bool {
        self.is_unavailable
    }

    /// What points to the place, below its line.
    pub fn caret(&self) -> String {
        self.source.caret(self.position, self.width)
    }

    /// The calls and imports that led there, from the inside out.
    pub fn path(&self) -> &[String] {
        &self.path
    }

    /// The way out, if one is known.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// The lines around the place, with their numbers, and whether it is on the line.
    pub fn around(&self) -> Vec<(usize, String, bool)> {
        self.source.around(self.position)
    }

    /// A mistake at a place of the script.
    pub(super) fn at(source: &Source, position: Position, message: impl Into<String>) -> Trace {
        Trace::token(source, position, 1, message)
    }

    /// A mistake in a word of so many characters.
    pub(super) fn token(source: &Source, position: Position, width: usize, message: impl Into<String>) -> Trace {
        Trace {
            source: source.clone().into(),
            position,
            width,
            message: message.into(),
            path: Vec::new(),
            hint: None,
            is_unavailable: false,
        }
    }

    /// The same with a way out.
    pub(super) fn of_unavailable(self) -> Trace {
        Trace { is_unavailable: true, ..self }
    }

    /// The same with a way out.
    pub(super) fn with_hint(self, hint: impl Into<String>) -> Trace {
        Trace { hint: Some(hint.into()), ..self }
    }

    /// The same with another message.
    pub(super) fn with_message(self, message: String) -> Trace {
        Trace { message, hint: None, ..self }
    }

    /// The same without what was added to the end of a file: it knows no place there, and no call.
    pub(super) fn cut_at_the_end_of(mut self, file: &Source) -> Trace {
        let end = file.text.trim_end_matches('\n').lines().count();
        let added = format!(" at {}:{}:", file.name, end + file.line);
        self.path.retain(|it| !it.contains(&added));
        if self.source.name != file.name {
            return self;
        }
        if self.position.line().is_some_and(|it| it > end) {
            self.position = Position::NONE;
        }
        Trace { source: file.clone().into(), ..self }
    }

    /// The same with the import that led there.
    pub(super) fn with_import(mut self, by: &Source, position: Position) -> Trace {
        self.path.push(format!("imported at {}", by.place(position)));
        self
    }

    /// A script that does not compile. `functions` are the names of native functions.
    pub(super) fn of_parse(source: &Source, error: &ParseError, functions: &[String]) -> Trace {
        let found = explain::parse(source, error, functions);
        let trace = Trace::token(source, error.1, found.width, found.message);
        Trace { hint: found.hint, ..trace }
    }

    /// A namespace that there is not, or a function that one has not.
    pub(super) fn of_unknown(source: &Source, position: Position, asked: &Asked, functions: &[String]) -> Trace {
        let found = match asked {
            Asked::Namespace(name) => explain::unknown_module(source, name, functions),
            Asked::Function(name) => explain::unknown_member(name, functions),
        };
        Trace { hint: found.hint, ..Trace::token(source, position, found.width, found.message) }
    }

    /// An error that was raised while the script ran. `names` gives what a file could have meant,
    /// `methods` what a type has.
    pub(super) fn of_run(
        sources: &Sources,
        error: &EvalAltResult,
        names: &dyn Fn(&str) -> Vec<String>,
        methods: &dyn Fn(&str) -> Vec<String>,
    ) -> Trace {
        let inner = innermost(error);
        let (mut path, mut source, mut position) = steps(sources, error, inner.position());
        if let Some((file, first)) = thrown_again(sources, inner) {
            path.insert(0, format!("thrown again at {}", source.place(position)));
            (source, position) = (file, first);
        }
        let position = explain::after_dot(source, position);
        let found = explain::run(source, inner, position, &names(&source.name), methods);
        Trace { path, hint: found.hint, ..Trace::token(source, position, found.width, found.message) }
    }

    /// A limit that was hit: where a native met it, or else at the outermost call of a function, of which Rhai keeps the place.
    pub(super) fn of_stop(sources: &Sources, error: &EvalAltResult, message: String) -> Trace {
        let (path, mut source, mut position) = steps(sources, error, innermost(error).position());
        let mut path = path;
        if let Some(stopped) = stopped_at(error) {
            let file = sources.named(&stopped.source);
            let is_there = position == stopped.position && source.name == file.name;
            if !position.is_none() && !is_there {
                path.insert(0, format!("called at {}", source.place(position)));
            }
            (source, position) = (file, stopped.position);
        } else if let Some(name) = explain::called(source, position) {
            path.insert(0, format!("in `{name}` or in what it calls"));
        }
        Trace { path, ..Trace::token(source, position, 1, message) }
    }
}

/// Where an error of Rhai's own was first that was caught and is thrown again: it was caught as a map that says so.
fn thrown_again<'s>(sources: &'s Sources, error: &EvalAltResult) -> Option<(&'s Source, Position)> {
    let EvalAltResult::ErrorRuntime(thrown, _) = error else { return None };
    let map = thrown.as_map_ref().ok().filter(|it| it.contains_key("error") && it.contains_key("message"))?;
    let number = |name: &str| map.get(name)?.as_int().ok().and_then(|it| u16::try_from(it).ok());
    let position = Position::new(number("line").filter(|it| *it > 0)?, number("position")?);
    let file = map.get("source").and_then(|it| it.as_immutable_string_ref().ok().map(|it| it.clone()));
    Some((sources.named(&file.unwrap_or_default()), position))
}

/// The calls that led to the error, from the inside out, and its file and place. A system error
/// without a position of its own is placed at the innermost call that has one.
fn steps<'s>(sources: &'s Sources, error: &EvalAltResult, position: Position) -> (Vec<String>, &'s Source, Position) {
    let (mut path, mut file) = (Vec::new(), &sources.own);
    let mut last_call = (file, Position::NONE);
    let mut error = error;
    while let EvalAltResult::ErrorInFunctionCall(name, source, inner, call) = error {
        let is_placed = call.line().is_some();
        if is_placed {
            last_call = (file, *call);
        }
        // Where a closure of another file is called Rhai doesn't tell; in which file is something.
        if is_placed || *source != file.name {
            let name = if is_closure(name) { "a closure" } else { &format!("`{name}`") };
            let at = if is_placed { "at" } else { "in" };
            path.push(format!("in {name}, called {at} {}", file.place(*call)));
        }
        // Each call stands in the file of the function around it.
        file = sources.named(source);
        error = inner;
    }
    path.reverse();
    let (file, position) = if position.is_none() { last_call } else { (file, position) };
    (path, file, position)
}
