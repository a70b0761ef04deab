//! `header.*`: headers of answers that the configuration adds, changes and takes off.

use http::header::{CONTENT_LENGTH, DATE, Entry, HeaderMap, HeaderName, HeaderValue, SERVER, SET_COOKIE};

use crate::directive::{self, Directive, Kind, Level, Node, Problem, Problems, Repeat};
use crate::http::is_connections_own;

/// What is done to the headers of answers: outer levels first, in a level in the file's order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    commands: Vec<Command>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Command {
    Field(Way, HeaderName, HeaderValue),
    Names(Fate, Vec<HeaderName>),
    /// Names of cookies, which `Set-Cookie` sets.
    Cookies(Fate, Vec<String>),
}

/// How a field comes to those that are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Add,
    Append,
    Merge,
    Set,
    SetIfEmpty,
}

/// What happens to those that are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// They are taken off.
    Unset,
    /// All others are taken off.
    Kept,
}

const LEVELS: &[Level] = &[Level::Global, Level::Host, Level::Path];

const fn entry(
    name: &'static str,
    summary: &'static str,
    example: &'static str,
    apply: fn(&mut Settings, &Node) -> Result<(), Problems>,
) -> Directive<Settings> {
    Directive { name, levels: LEVELS, repeat: Repeat::AddsUp, summary, example, apply }
}

impl directive::Settings for Settings {
    const DIRECTIVES: &'static [Directive<Settings>] = &[
        entry(
            "header.add",
            "Adds a line to the headers of every answer, errors too: `\"name: value\"`, a list of them, or a mapping of \
             `header` and `when: final`. What outer levels say is done first, within a level in the file's order, all \
             of it after `expires` and before `cors`.",
            "header.add: \"Set-Cookie: seen=1; Path=/\"",
            |settings, node| settings.fields(node, Way::Add),
        ),
        entry(
            "header.append",
            "Appends the value to the header of this name, after a comma, or adds the header.",
            "header.append: \"Link: </style.css>; rel=preload\"",
            |settings, node| settings.fields(node, Way::Append),
        ),
        entry(
            "header.merge",
            "Appends the value to the header of this name, after a comma, if it is not yet among its values, or adds the \
             header.",
            "header.merge: \"Cache-Control: must-revalidate\"",
            |settings, node| settings.fields(node, Way::Merge),
        ),
        entry(
            "header.set",
            "Sets a header of every answer, and takes off those of the same name.",
            "header.set:\n  - \"X-Content-Type-Options: nosniff\"\n  - \"X-Frame-Options: DENY\"",
            |settings, node| settings.fields(node, Way::Set),
        ),
        entry(
            "header.setifempty",
            "Sets a header of the answers that have none of this name.",
            "header.setifempty: {header: \"Cache-Control: no-store\", when: final}",
            |settings, node| settings.fields(node, Way::SetIfEmpty),
        ),
        entry(
            "header.unset",
            "Takes the headers of this name, or of a list of names, off every answer.",
            "header.unset: X-Powered-By",
            |settings, node| settings.names(node, Fate::Unset),
        ),
        entry(
            "header.unsetunless",
            "Takes all headers but the named ones off every answer; those of the connection, the length, `date` and \
             `server` stay.",
            "header.unsetunless: [Content-Type, Content-Language, Location]",
            |settings, node| settings.names(node, Fate::Kept),
        ),
        entry(
            "header.cookie.unset",
            "Takes the `Set-Cookie` lines that set a cookie of this name, or of a list of names, off every answer.",
            "header.cookie.unset: tracking",
            |settings, node| settings.cookies(node, Fate::Unset),
        ),
        entry(
            "header.cookie.unsetunless",
            "Takes all `Set-Cookie` lines off every answer, but those that set a cookie of one of these names.",
            "header.cookie.unsetunless: [session, language]",
            |settings, node| settings.cookies(node, Fate::Kept),
        ),
    ];
}

impl Settings {
    fn fields(&mut self, node: &Node, way: Way) -> Result<(), Problems> {
        let mut problems = Problems::default();
        for item in items(node)? {
            let field = problems.check(field(&item, way));
            self.commands.extend(field.map(|(name, value)| Command::Field(way, name, value)));
        }
        problems.or(())
    }

    fn names(&mut self, node: &Node, fate: Fate) -> Result<(), Problems> {
        let mut problems = Problems::default();
        let read = |it: &Node| name(it, it.text_as(A_NAME)?);
        let names = items(node)?.iter().filter_map(|it| problems.check(read(it))).collect();
        self.commands.push(Command::Names(fate, names));
        problems.or(())
    }

    fn cookies(&mut self, node: &Node, fate: Fate) -> Result<(), Problems> {
        let mut problems = Problems::default();
        let mut names = Vec::new();
        for item in items(node)? {
            let name = problems.check(item.text_as("the name of a cookie")).map(|it| it.trim().to_owned());
            match name {
                Some(name) if name.is_empty() || name.contains(['=', ';', ',', ' ']) => {
                    problems.0.push(item.expected("the name of a cookie"));
                }
                name => names.extend(name),
            }
        }
        self.commands.push(Command::Cookies(fate, names));
        problems.or(())
    }

    /// Whether nothing is done.
    pub fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    /// Does all of it to the headers of an answer.
    pub(super) fn apply(&self, headers: &mut HeaderMap) {
        for command in &self.commands {
            match command {
                Command::Field(way, name, value) => place(headers, *way, name, value),
                Command::Names(Fate::Unset, names) => names.iter().for_each(|name| {
                    headers.remove(name);
                }),
                Command::Names(Fate::Kept, names) => {
                    let gone = headers.keys().filter(|it| !names.contains(it) && !is_prohibited(it));
                    for name in gone.cloned().collect::<Vec<_>>() {
                        headers.remove(name);
                    }
                }
                Command::Cookies(fate, names) => {
                    keep_cookies(headers, |name| names.iter().any(|it| it.as_bytes() == name) == (*fate == Fate::Kept))
                }
            }
        }
    }
}

/// The items of the value, or of its `header`. Of h2o's `when` only what concerns final answers has
/// a meaning: others are not sent.
fn items(node: &Node) -> Result<Vec<Node>, Problems> {
    if node.kind() != Kind::Mapping {
        return Ok(node.items());
    }
    let quoting = || format!("put the header in quotes: `{}: \"Name: value\"`", node.name());
    let fields = node
        .fields(&["header", "when"])
        .map_err(|problems| Problems(problems.0.into_iter().map(|it| it.hint(quoting())).collect()))?;
    let mut items = None;
    for (field, value) in fields {
        if field == "header" {
            items = Some(value.items());
        } else if value.one_of(&["final", "early", "all"])? == "early" {
            let problem = value.problem("`when` is `early`, but there are no early answers, expected `final`");
            return Err(problem.into());
        }
    }
    items.ok_or_else(|| node.lacks("header").hint(quoting()).into())
}

const A_NAME: &str = "the name of a header such as `X-Powered-By`";

fn field(item: &Node, way: Way) -> Result<(HeaderName, HeaderValue), Problem> {
    let expected = "a header such as `\"X-Frame-Options: DENY\"`";
    let quoting = "put it in quotes, or YAML takes it for a mapping";
    let wrong = || {
        let problem = item.expected(expected);
        if item.kind() == Kind::Mapping { problem.hint(quoting) } else { problem }
    };
    let (name_text, value) = item.text_as(expected).map_err(|_| wrong())?.split_once(':').ok_or_else(wrong)?;
    let name = name(item, name_text)?;
    let value = HeaderValue::from_bytes(value.trim_matches([' ', '\t', '\n']).as_bytes())
        .map_err(|_| item.problem(format!("the value of the header `{name}` has control characters")))?;
    if name == SET_COOKIE && matches!(way, Way::Append | Way::Merge) {
        // RFC 9110 §5.3
        let problem =
            item.problem(format!("`{}` joins values with commas, which `Set-Cookie` can't have", item.name()));
        return Err(problem.hint("`header.add` adds another line"));
    }
    Ok((name, value))
}

fn name(item: &Node, text: &str) -> Result<HeaderName, Problem> {
    let name = HeaderName::from_bytes(text.trim().as_bytes()).map_err(|_| item.expected(A_NAME))?;
    if !is_prohibited(&name) {
        return Ok(name);
    }
    let problem = item.problem(format!("`{}` names `{name}`, which is the server's own", item.name()));
    Err(if name == SERVER { problem.hint("`server-name` says what it is") } else { problem })
}

/// Those of the connection (RFC 9110 §7.6.1), the length of the body, and what h2o keeps from rewriting.
fn is_prohibited(name: &HeaderName) -> bool {
    is_connections_own(name) || [CONTENT_LENGTH, DATE, SERVER].contains(name)
}

fn place(headers: &mut HeaderMap, way: Way, name: &HeaderName, value: &HeaderValue) {
    if way == Way::Set {
        headers.insert(name, value.clone());
        return;
    }
    if way == Way::Add {
        headers.append(name, value.clone());
        return;
    }
    match headers.entry(name) {
        Entry::Vacant(entry) => {
            entry.insert(value.clone());
        }
        Entry::Occupied(_) if way == Way::SetIfEmpty => {}
        Entry::Occupied(entry) if way == Way::Merge && entry.iter().any(|it| has_item(it, value)) => {}
        // The first line gets it, as in h2o.
        Entry::Occupied(mut entry) => {
            let joined = match entry.get().as_bytes() {
                b"" => value.clone(),
                before => HeaderValue::from_bytes(&[before, b", ", value.as_bytes()].concat())
                    .expect("values of headers and a comma are one"),
            };
            *entry.get_mut() = joined;
        }
    }
}

/// Whether a list of values with commas has this one, in any letter case.
pub(super) fn has_item(list: &HeaderValue, item: &HeaderValue) -> bool {
    list.as_bytes().split(|it| *it == b',').any(|it| it.trim_ascii().eq_ignore_ascii_case(item.as_bytes()))
}

fn keep_cookies(headers: &mut HeaderMap, is_kept: impl Fn(&[u8]) -> bool) {
    let Entry::Occupied(entry) = headers.entry(SET_COOKIE) else { return };
    let name = |line: &HeaderValue| {
        let bytes = line.as_bytes();
        let end = bytes.iter().position(|it| *it == b'=' || *it == b';').unwrap_or(bytes.len());
        bytes[..end].trim_ascii().to_vec()
    };
    let (_, lines) = entry.remove_entry_mult();
    let kept: Vec<HeaderValue> = lines.filter(|it| is_kept(&name(it))).collect();
    headers.extend(kept.into_iter().map(|it| (SET_COOKIE, it)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directive::apply;

    /// The headers `before` after the directives of `text`, as lines.
    fn after(text: &str, before: &[(&'static str, &'static str)]) -> Vec<String> {
        let settings = apply(Settings::default(), text).unwrap();
        let mut headers = HeaderMap::new();
        for (name, value) in before {
            headers.append(*name, HeaderValue::from_static(value));
        }
        settings.apply(&mut headers);
        let line = |(name, value): (&HeaderName, &HeaderValue)| format!("{name}: {}", value.to_str().unwrap());
        let mut lines: Vec<String> = headers.iter().map(line).collect();
        lines.sort_unstable();
        lines
    }

    #[test]
    fn add_adds_and_set_replaces() {
        let before = [("x-a", "1"), ("x-a", "2"), ("x-b", "3")];
        assert_eq!(after("header.add: 'X-A: 4'", &before), ["x-a: 1", "x-a: 2", "x-a: 4", "x-b: 3"]);
        assert_eq!(after("header.set: 'X-A:4'", &before), ["x-a: 4", "x-b: 3"]);
        assert_eq!(after("header.setifempty: ['X-A: 4', 'X-C: 5']", &before), ["x-a: 1", "x-a: 2", "x-b: 3", "x-c: 5"]);
        assert_eq!(after("header.set: ['X-A: 4', 'X-A: 5']", &[]), ["x-a: 5"]);
    }

    #[test]
    fn append_joins_and_merge_only_what_is_new() {
        assert_eq!(after("header.append: 'a: x'", &[("a", "x"), ("a", "y")]), ["a: x, x", "a: y"]);
        assert_eq!(after("header.append: 'a: x'", &[("a", "")]), ["a: x"]);
        assert_eq!(after("header.append: 'a: x'", &[]), ["a: x"]);
        assert_eq!(after("header.merge: 'a: x'", &[("a", "y, X")]), ["a: y, X"]);
        assert_eq!(after("header.merge: 'a: x'", &[("a", "xx"), ("a", "x")]), ["a: x", "a: xx"]);
        assert_eq!(after("header.merge: 'a: x'", &[("a", "xx")]), ["a: xx, x"]);
        assert_eq!(after("header.merge: 'a: x'", &[]), ["a: x"]);
    }

    #[test]
    fn unset_takes_off_what_it_names_and_unsetunless_all_else_but_the_servers_own() {
        let before = [("a", "1"), ("a", "2"), ("b", "3"), ("content-length", "4"), ("c", "5")];
        assert_eq!(after("header.unset: [A, c]", &before), ["b: 3", "content-length: 4"]);
        assert_eq!(after("header.unsetunless: A", &before), ["a: 1", "a: 2", "content-length: 4"]);
    }

    #[test]
    fn cookies_are_told_by_their_name() {
        let before = [("set-cookie", "a=1; Path=/"), ("set-cookie", "ab=2"), ("set-cookie", "b")];
        assert_eq!(after("header.cookie.unset: a", &before), ["set-cookie: ab=2", "set-cookie: b"]);
        assert_eq!(after("header.cookie.unsetunless: [a, b]", &before), ["set-cookie: a=1; Path=/", "set-cookie: b"]);
        assert_eq!(after("header.cookie.unset: [a, b, ab]", &before), [""; 0]);
    }

    #[test]
    fn a_mapping_says_when() {
        assert_eq!(after("header.set: {header: ['a: 1', 'b: 2'], when: final}", &[]), ["a: 1", "b: 2"]);
        assert_eq!(after("header.set: {header: 'a: 1', when: all}", &[]), ["a: 1"]);
    }

    #[test]
    fn mistakes_say_what_would_be_right() {
        for (text, expected) in [
            ("header.set: {header: 'a: 1', when: early}", "`when` is `early`, but there are no early answers"),
            ("header.set: {a: 1}", "hint: put the header in quotes: `header.set: \"Name: value\"`"),
            ("header.set: {when: final}", "`header.set` lacks `header`"),
            ("header.set: [a: 1]", "hint: put it in quotes, or YAML takes it for a mapping"),
            ("header.set: a", "`header.set` is `a`, expected a header such as `\"X-Frame-Options: DENY\"`"),
            ("header.set: 'a b: 1'", "`header.set` is `a b: 1`, expected the name of a header"),
            ("header.set: ': 1'", "`header.set` is `: 1`, expected the name of a header"),
            ("header.set: \"a: b\\r\\nc: d\"", "the value of the header `a` has control characters"),
            ("header.add: 'Content-Length: 1'", "`header.add` names `content-length`, which is the server's own"),
            ("header.unset: Transfer-Encoding", "`header.unset` names `transfer-encoding`, which is the server's own"),
            ("header.set: 'Server: x'", "hint: `server-name` says what it is"),
            ("header.append: 'Set-Cookie: a=b'", "`header.append` joins values with commas"),
            ("header.unset: [a, 'b:']", "`header.unset` is `b:`, expected the name of a header"),
            ("header.cookie.unset: a=b", "`header.cookie.unset` is `a=b`, expected the name of a cookie"),
        ] {
            let message = apply(Settings::default(), text).unwrap_err();
            assert!(message.contains(expected), "{text}: {message}");
        }
    }
}
