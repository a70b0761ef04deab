//! A value of the configuration that knows where it stands.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::Lines;
use std::sync::Arc;

use super::problem::extent;
use super::suggest::{alternatives, suggest};
use super::variables::Fault;
use super::yaml::{At, Step, locate};
use super::{Problem, Problems};

/// One file of the configuration.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) file: PathBuf,
    pub(super) text: String,
    /// The order in which the files were read.
    pub(super) rank: usize,
    /// The offset of each line.
    starts: Vec<usize>,
}

impl Source {
    pub(super) fn new(file: &Path, text: String, rank: usize) -> Source {
        let ends = text.match_indices('\n').map(|(index, _)| index + 1);
        let starts = [0].into_iter().chain(ends).collect();
        Source { file: file.to_owned(), text, rank, starts }
    }

    /// The lines from `line` (from 1) on.
    fn lines_from(&self, line: usize) -> Lines<'_> {
        self.starts.get(line - 1).map_or("", |start| &self.text[*start..]).lines()
    }
}

/// A value of the configuration, or the key of one; cheap to clone.
#[derive(Clone)]
pub struct Node(Arc<Inner>);

struct Inner {
    source: Arc<Source>,
    /// The way from the root of the file to here.
    path: Vec<Step>,
    /// The key whose value this is, for messages.
    name: String,
    value: Value,
}

pub(super) enum Value {
    Null,
    Scalar {
        /// With variables replaced. Why that failed is said when the text is asked for: a script
        /// that an alias takes from `stash` has `${…}` of its own.
        text: Result<String, Fault>,
        /// As in the file.
        raw: String,
        at: Option<At>,
    },
    Sequence(Vec<Node>),
    Mapping(Vec<(Node, Node)>),
    /// What a tag could not bring; its mistake is that of whoever asks for the value.
    Faulty(Problem),
}

/// The kinds of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A text, a number, a date: one word or one line.
    Scalar,
    /// A list.
    Sequence,
    /// Keys with their values.
    Mapping,
    /// Nothing after the colon, `~` or `null`.
    Null,
}

/// Where a text of several lines stands in its file.
#[derive(Clone, Debug, PartialEq)]
pub struct TextPlace {
    /// The file.
    pub file: PathBuf,
    /// The line of the text's first line, from 1.
    pub line: usize,
    /// Columns before each line of a block (`|`); before the first line of any other text.
    pub indent: usize,
}

impl Node {
    pub(super) fn new(source: &Arc<Source>, path: Vec<Step>, name: &str, value: Value) -> Node {
        Node(Arc::new(Inner { source: source.clone(), path, name: name.to_owned(), value }))
    }

    /// What sort of value it is.
    pub fn kind(&self) -> Kind {
        match &self.0.value {
            Value::Scalar { .. } => Kind::Scalar,
            Value::Sequence(_) => Kind::Sequence,
            Value::Mapping(_) => Kind::Mapping,
            Value::Null | Value::Faulty(_) => Kind::Null,
        }
    }

    pub(super) fn is_scalar(&self) -> bool {
        self.kind() == Kind::Scalar
    }

    pub(super) fn is_faulty(&self) -> bool {
        matches!(self.0.value, Value::Faulty(_))
    }

    /// The key whose value this is; for an item of a list, the list's.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// A scalar's source text, with variables replaced.
    ///
    /// # Errors
    /// If it is no scalar, or a variable is not set.
    pub fn text(&self) -> Result<&str, Problem> {
        self.text_as("a single value")
    }

    /// [`Node::text`], with the words that say what should stand there.
    ///
    /// # Errors
    /// As [`Node::text`].
    pub fn text_as(&self, expected: &str) -> Result<&str, Problem> {
        match &self.0.value {
            Value::Scalar { text: Ok(text), .. } => Ok(text),
            _ => Err(self.expected(expected)),
        }
    }

    /// The entries of a mapping, in order: key and value. Keys may repeat.
    ///
    /// # Errors
    /// If it is no mapping.
    pub fn entries(&self) -> Result<Vec<(Node, Node)>, Problem> {
        self.entries_as("a mapping")
    }

    /// [`Node::entries`], with the words that say what should stand there.
    ///
    /// # Errors
    /// As [`Node::entries`].
    pub fn entries_as(&self, expected: &str) -> Result<Vec<(Node, Node)>, Problem> {
        match &self.0.value {
            Value::Mapping(entries) => Ok(entries.clone()),
            _ => Err(self.expected(expected)),
        }
    }

    /// The entries of a mapping whose keys are among `names`, each at most once, in any letter case as in h2o.
    ///
    /// # Errors
    /// All mistakes at once; an unknown key gets a suggestion.
    pub fn fields(&self, names: &[&'static str]) -> Result<Vec<(&'static str, Node)>, Problems> {
        let mut problems = Problems::default();
        let fields = self.known_fields(names, &mut problems);
        problems.or(fields)
    }

    /// [`Node::fields`] for who looks at the right ones also where others are wrong.
    pub fn known_fields(&self, names: &[&'static str], problems: &mut Problems) -> Vec<(&'static str, Node)> {
        let mut fields: Vec<(&'static str, Node, Node)> = Vec::new();
        for (key, value) in problems.check(self.entries()).unwrap_or_default() {
            let Some(text) = problems.check(key.text()) else { continue };
            let Some(name) = names.iter().find(|it| it.eq_ignore_ascii_case(text)) else {
                let expected = alternatives(names);
                let problem = key.problem(format!("`{}` has no field `{text}`, expected {expected}", self.name()));
                let near = suggest(text, names.iter().copied());
                problems.0.push(match near {
                    Some(near) => problem.hint(format!("did you mean `{near}`?")),
                    None => problem,
                });
                continue;
            };
            match fields.iter().find(|(it, ..)| it == name) {
                Some((_, first, _)) => problems.0.push(key.repeats(first)),
                None => fields.push((name, key.clone(), value)),
            }
        }
        fields.into_iter().map(|(name, _, value)| (name, value)).collect()
    }

    /// The items of a sequence, or the node itself as the only one.
    pub fn items(&self) -> Vec<Node> {
        match &self.0.value {
            Value::Sequence(items) => items.clone(),
            _ => vec![self.clone()],
        }
    }

    /// A mistake at this node.
    pub fn problem(&self, message: impl Into<String>) -> Problem {
        let message = message.into();
        let source = &self.0.source;
        // What has no line is the value of an empty file.
        let place = self.at().and_then(|at| Some((at, source.lines_from(at.line).next()?)));
        let Some((at, line)) = place else { return Problem::in_file(&source.file, message).ranked(source.rank) };
        let width = match &self.0.value {
            Value::Scalar { raw, .. } => extent(line, at.column, Some(raw)),
            Value::Sequence(_) => 1,
            _ => extent(line, at.column, None),
        };
        Problem::at(&source.file, line, at, width, message).ranked(source.rank)
    }

    /// The mistake that something other than `expected` stands here: "`name` is `value`, expected …".
    pub fn expected(&self, expected: &str) -> Problem {
        let found = match &self.0.value {
            Value::Faulty(problem) => return problem.clone(),
            Value::Scalar { text: Err(fault), .. } => {
                return self.problem(&fault.message).hint(&fault.hint);
            }
            Value::Scalar { text: Ok(text), .. } => format!("is `{}`", shortened(text)),
            Value::Null if self.name().is_empty() => "is empty".to_owned(),
            Value::Null => "has no value".to_owned(),
            Value::Sequence(_) => "is a list".to_owned(),
            Value::Mapping(_) => "is a mapping".to_owned(),
        };
        let name = if self.name().is_empty() { "the file".to_owned() } else { format!("`{}`", self.name()) };
        self.problem(format!("{name} {found}, expected {expected}"))
    }

    /// The mistake that a mapping lacks a field that it must have.
    pub fn lacks(&self, field: &str) -> Problem {
        self.problem(format!("`{}` lacks `{field}`", self.name()))
    }

    /// The mistake that this key stood there before, as `first`.
    pub fn repeats(&self, first: &Node) -> Problem {
        self.problem(format!("`{}` is repeated, {}", self.name(), first.first_seen_from(self)))
    }

    /// "first on line N", or with the file if `self` stands in another one than `other`.
    pub fn first_seen_from(&self, other: &Node) -> String {
        match self.at() {
            Some(at) if self.0.source.rank == other.0.source.rank => format!("first on line {}", at.line),
            _ => format!("first at {}", self.place()),
        }
    }

    /// `file:line:column` of the value, for messages.
    pub fn place(&self) -> String {
        let file = self.0.source.file.display();
        match self.at() {
            Some(At { line, column }) => format!("{file}:{line}:{column}"),
            None => file.to_string(),
        }
    }

    /// The file in which the value stands.
    pub fn file(&self) -> &Path {
        &self.0.source.file
    }

    /// Line and column, from 1; costs another reading of the file if this is no scalar. What has no
    /// value stands where its key does.
    pub(super) fn at(&self) -> Option<At> {
        if let Value::Scalar { at, .. } = &self.0.value {
            return *at;
        }
        let mut path = self.0.path.clone();
        if let (Value::Null, Some(Step::Value(index))) = (&self.0.value, path.last()) {
            let index = *index;
            path.pop();
            path.push(Step::Key(index));
        }
        locate(&self.0.source.text, &path)
    }

    /// Where a scalar's text begins, so that places within it can be told as places in the file.
    pub fn text_place(&self) -> TextPlace {
        let file = self.file().to_owned();
        let at = self.at().unwrap_or(At { line: 1, column: 1 });
        let (line, rest) = self.skip_properties(at);
        let rest = rest.trim_start();
        if !rest.starts_with(['|', '>']) {
            let quote = usize::from(rest.starts_with(['"', '\'']));
            let whole = self.0.source.lines_from(line).next().unwrap_or_default();
            return TextPlace { file, line, indent: whole.chars().count() - rest.chars().count() + quote };
        }
        // The first line with content tells what was taken off all of them.
        let spaces = |it: &str| it.len() - it.trim_start_matches(' ').len();
        let first = |mut lines: Lines<'_>| lines.find(|it| !it.trim().is_empty()).map_or(0, spaces);
        let text = self.text().unwrap_or_default();
        let indent = first(self.0.source.lines_from(line + 1)).saturating_sub(first(text.lines()));
        TextPlace { file, line: line + 1, indent }
    }

    /// Whether nothing stands there, or `~` or `null`.
    pub fn is_empty(&self) -> bool {
        matches!(self.0.value, Value::Null)
    }

    /// Whether it is a word without quotes.
    pub fn is_plain(&self) -> bool {
        let rest = self.at().filter(|_| self.is_scalar()).map(|at| self.skip_properties(at).1);
        rest.is_some_and(|it| !it.trim_start().starts_with(['|', '>', '"', '\'']))
    }

    /// The line and its rest after the anchor and the tag that may stand before a value.
    fn skip_properties(&self, at: At) -> (usize, &str) {
        let mut line = at.line;
        let mut lines = self.0.source.lines_from(line);
        let first = lines.next().unwrap_or_default();
        let start = first.char_indices().nth(at.column - 1).map_or(first.len(), |(index, _)| index);
        let mut rest = &first[start..];
        loop {
            rest = rest.trim_start();
            if rest.starts_with(['&', '!']) {
                rest = rest.find(' ').map_or("", |end| &rest[end..]);
            } else if rest.is_empty() || rest.starts_with('#') {
                let Some(next) = lines.next() else { return (line, rest) };
                line += 1;
                rest = next;
            } else {
                return (line, rest);
            }
        }
    }
}

/// The first line of a text for a message, at most 60 characters of it.
fn shortened(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let short: String = line.chars().take(60).collect();
    if short.len() < text.trim_end().len() { format!("{short}…") } else { short }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.value {
            Value::Null => f.write_str("null"),
            Value::Scalar { raw, .. } => raw.fmt(f),
            Value::Sequence(items) => f.debug_list().entries(items).finish(),
            Value::Mapping(entries) => f.debug_map().entries(entries.iter().map(|(key, value)| (key, value))).finish(),
            Value::Faulty(problem) => problem.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    fn root(text: &str) -> Node {
        parse(Path::new("conf/host.yaml"), text).unwrap()
    }

    fn value(text: &str) -> Node {
        root(text).entries().unwrap().remove(0).1
    }

    #[test]
    fn a_value_tells_its_kind_and_place() {
        let node = value("listen:\n  - 80\n  - host: a\n");
        assert_eq!(node.kind(), Kind::Sequence);
        assert_eq!(node.items()[0].place(), "conf/host.yaml:2:5");
        assert_eq!(node.items()[1].kind(), Kind::Mapping);
        assert_eq!((node.items()[1].name(), node.items().len()), ("listen", 2));
        assert_eq!(value("paths:\nhosts: 1").kind(), Kind::Null);
        assert_eq!(value("a: ''").kind(), Kind::Scalar);
    }

    #[test]
    fn a_list_is_no_single_value() {
        let expected = "conf/host.yaml:1:11: `pid-file` is a list, expected a single value\n  \
                        1 | pid-file: [a]\n    |           ^";
        assert_eq!(value("pid-file: [a]").text().unwrap_err().to_string(), expected);
    }

    #[test]
    fn a_scalar_is_no_mapping() {
        let expected =
            "conf/host.yaml:1:8: `hosts` is `a b`, expected a mapping\n  1 | hosts: 'a b'\n    |        ^^^^^";
        assert_eq!(value("hosts: 'a b'").entries().unwrap_err().to_string(), expected);
    }

    #[test]
    fn fields_are_checked_all_at_once() {
        let node = value("listen:\n  Port: 80\n  prot: 81\n  port: 82\n  ssl: {}\n");
        let expected = "\
conf/host.yaml:3:3: `listen` has no field `prot`, expected `host` or `port`
  3 |   prot: 81
    |   ^^^^
hint: did you mean `port`?
conf/host.yaml:4:3: `port` is repeated, first on line 2
  4 |   port: 82
    |   ^^^^
conf/host.yaml:5:3: `listen` has no field `ssl`, expected `host` or `port`
  5 |   ssl: {}
    |   ^^^";
        assert_eq!(node.fields(&["host", "port"]).unwrap_err().to_string(), expected);
        let node = value("listen: {PORT: 80, host: a}");
        let fields: Vec<_> = node.fields(&["host", "port"]).unwrap().into_iter().map(|it| it.0).collect();
        assert_eq!(fields, ["port", "host"]);
    }

    #[test]
    fn a_long_value_is_shortened_in_messages() {
        let node = value(&format!("a: {}", "x".repeat(100)));
        let message = format!("`a` is `{}…`, expected a size such as `10 MB`", "x".repeat(60));
        assert_eq!(node.size().unwrap_err().message(), message);
    }

    #[test]
    fn a_text_tells_where_it_begins() {
        let place = |text: &str| {
            let TextPlace { line, indent, .. } = value(text).text_place();
            (line, indent)
        };
        assert_eq!(place("a: |\n  |env| 1\n"), (2, 2));
        assert_eq!(place("a: |2-  # note\n\n    x\n  y\n"), (2, 2));
        assert_eq!(place("a: &s !!str |\n\n    x\n     y\n"), (2, 4));
        assert_eq!(place("a: &s\n  |\n    x\n"), (3, 4));
        assert_eq!(place("a: x y"), (1, 3));
        assert_eq!(place("a: 'x y'"), (1, 4));
    }
}
