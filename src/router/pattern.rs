//! Route patterns as Sinatra's and Grape's: `/projects/:id(.json)`, `/files/*rest`.

use std::fmt;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use super::decode;

/// What stands encoded in the literal segments of a template.
const NOT_IN_TEMPLATES: &AsciiSet =
    &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'%').add(b'<').add(b'>').add(b'?').add(b'{').add(b'}');

/// A pattern that the rest of a path is matched with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    text: String,
    pub(super) parts: Vec<Part>,
    /// What may be there or not at the end of the last segment, each with its dot.
    suffixes: Vec<String>,
    /// Whether the pattern is another's root, which may have a `/` at its end or not.
    pub(super) is_root: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// A decoded segment.
    Literal(String),
    /// `:name`: one segment, not empty.
    One(String),
    /// `*name`: all that is left, also nothing.
    Rest(String),
}

/// What a pattern takes of a path that fits it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captures {
    /// What the names took, decoded once, in the order of [`Pattern::names`].
    pub values: Vec<String>,
    /// Which of [`Pattern::suffixes`] the path has, if one.
    pub suffix: Option<usize>,
}

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Pattern, String> {
        let Some(inner) = text.strip_prefix('/') else {
            return Err(format!("the pattern `{text}` does not begin with `/`"));
        };
        let (inner, suffixes) = match inner.split_once('(') {
            None => (inner, Vec::new()),
            Some((inner, end)) => (inner, suffixes(text, inner, end)?),
        };
        let mut parts = Vec::new();
        for segment in inner.split('/') {
            if matches!(parts.last(), Some(Part::Rest(_))) {
                return Err(format!("in the pattern `{text}`, nothing can follow `*`"));
            }
            parts.push(part(text, segment)?);
        }
        if !suffixes.is_empty() && matches!(parts.last(), Some(Part::Rest(_))) {
            return Err(format!("in the pattern `{text}`, `*` takes the suffix too"));
        }
        // "/" is one empty segment: no segment at all.
        if parts == [Part::Literal(String::new())] {
            parts.clear();
        }
        let pattern = Pattern { text: text.to_owned(), parts, suffixes, is_root: false };
        let names: Vec<_> = pattern.names().collect();
        match names.iter().enumerate().find(|(index, name)| names[..*index].contains(name)) {
            Some((_, name)) => Err(format!("in the pattern `{text}`, the name `{name}` stands twice")),
            None => Ok(pattern),
        }
    }

    /// Reads a pattern that stands below `prefix`, which is `""` or begins with `/` and does not end with it. There it may
    /// be only a suffix, or nothing; `/` is the prefix itself, with a `/` at its end or without.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn below(prefix: &str, text: &str) -> Result<Pattern, String> {
        if prefix.is_empty() {
            return Pattern::parse(text);
        }
        if !text.is_empty() && !text.starts_with(['/', '(']) {
            return Err(format!("the pattern `{text}` does not begin with `/`"));
        }
        let inner = text.strip_prefix('/').filter(|it| it.is_empty() || it.starts_with('('));
        let mut pattern = Pattern::parse(&format!("{prefix}{}", inner.unwrap_or(text)))?;
        pattern.is_root = inner.is_some();
        Ok(pattern)
    }

    /// Its names in their order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Literal(_) => None,
            Part::One(name) | Part::Rest(name) => Some(name.as_str()),
        })
    }

    /// What may be there or not at its end, each with its dot.
    pub fn suffixes(&self) -> &[String] {
        &self.suffixes
    }

    /// The pattern with its names in braces and without its suffixes, as a URI template (RFC 6570).
    pub fn template(&self) -> String {
        let part = |part: &Part| match part {
            Part::Literal(literal) => format!("/{}", utf8_percent_encode(literal, NOT_IN_TEMPLATES)),
            Part::One(name) | Part::Rest(name) => format!("/{{{name}}}"),
        };
        if self.parts.is_empty() { "/".to_owned() } else { self.parts.iter().map(part).collect() }
    }

    /// How many segments it has.
    pub fn depth(&self) -> usize {
        self.parts.len()
    }

    /// Whether a path can be one below the pattern, which has no suffix and no `*`.
    pub fn is_above(&self, raw: &str) -> bool {
        let mut segments = segments(raw);
        self.parts.iter().all(|part| match (part, segments.next().and_then(decode)) {
            (Part::Literal(literal), Some(segment)) => *literal == segment,
            (_, Some(segment)) => !segment.is_empty(),
            (_, None) => false,
        })
    }

    /// What the pattern takes of a raw path; `None` if it is not a path of the pattern. A `/` at
    /// the end of the path counts: see [`Pattern::without_slash`].
    pub fn captures(&self, raw: &str) -> Option<Captures> {
        let mut rest = raw.strip_prefix('/').unwrap_or(raw);
        let mut captures = Captures::default();
        for (index, part) in self.parts.iter().enumerate() {
            if index > 0 && !(rest.is_empty() && matches!(part, Part::Rest(_))) {
                rest = rest.strip_prefix('/')?;
            }
            if let Part::Rest(_) = part {
                captures.values.push(decode(rest)?.into_owned());
                return Some(captures);
            }
            let end = memchr::memchr(b'/', rest.as_bytes()).unwrap_or(rest.len());
            let (segment, after) = rest.split_at(end);
            rest = after;
            let segment = decode(segment)?;
            let mut segment = &*segment;
            if index + 1 == self.parts.len() {
                let taken = self.suffixes.iter().position(|it| segment.len() > it.len() && segment.ends_with(it));
                // Of `/a.json(.json)` the suffix is none.
                captures.suffix = taken.filter(|_| !matches!(part, Part::Literal(literal) if literal == segment));
                let length = captures.suffix.map_or(0, |it| self.suffixes[it].len());
                segment = &segment[..segment.len() - length];
            }
            match part {
                Part::Literal(literal) if literal == segment => {}
                Part::One(_) if !segment.is_empty() && !self.suffixes.iter().any(|it| it == segment) => {
                    captures.values.push(segment.to_owned());
                }
                _ => return None,
            }
        }
        (rest.is_empty() || (self.is_root && rest == "/")).then_some(captures)
    }

    /// A path without the `/` at its end, where it has one and something before it.
    pub fn without_slash(raw: &str) -> Option<&str> {
        raw.strip_suffix('/').filter(|it| !it.is_empty() && !it.ends_with('/'))
    }
}

/// The raw segments of a path; `/` and the empty path have none.
pub(super) fn segments(raw: &str) -> impl Iterator<Item = &str> + Clone {
    let inner = raw.strip_prefix('/').unwrap_or(raw);
    inner.split('/').filter(move |_| !inner.is_empty())
}

/// Where the first `depth` segments of a raw path end.
pub fn end_of_segments(raw: &str, depth: usize) -> usize {
    let mut slashes = memchr::memchr_iter(b'/', raw.as_bytes()).skip(usize::from(raw.starts_with('/')));
    match depth {
        0 => 0,
        _ => slashes.nth(depth - 1).unwrap_or(raw.len()),
    }
}

/// What stands in parentheses: `.json)` or `.json|.csv)`.
fn suffixes(text: &str, before: &str, end: &str) -> Result<Vec<String>, String> {
    let is_suffix =
        |it: &&str| it.strip_prefix('.').is_some_and(|it| !it.is_empty() && !it.contains(['(', ')', '/', '|']));
    let found: Option<Vec<_>> = end
        .strip_suffix(')')
        .and_then(|it| it.split('|').map(|it| Some(it).filter(is_suffix).map(str::to_owned)).collect());
    let found = found.ok_or_else(|| {
        format!("in the pattern `{text}`, expected a suffix such as `(.json)` or `(.json|.csv)` at the end")
    })?;
    if before.is_empty() || before.ends_with('/') {
        return Err(format!("in the pattern `{text}`, the suffix has nothing before it"));
    }
    Ok(found)
}

fn part(text: &str, segment: &str) -> Result<Part, String> {
    match (segment.strip_prefix(':'), segment.strip_prefix('*')) {
        (Some(name), _) if is_name(name) => Ok(Part::One(name.to_owned())),
        (_, Some(name)) if is_name(name) => Ok(Part::Rest(name.to_owned())),
        (None, None) => match segment.split_once(':') {
            Some((_, name)) if name.starts_with(|it: char| it.is_ascii_alphabetic()) => {
                Err(format!("in the pattern `{text}`, `:{name}` begins within a segment, expected `/:{name}`"))
            }
            _ => Ok(Part::Literal(segment.to_owned())),
        },
        _ => Err(format!("in the pattern `{text}`, expected a name such as `:id` or `*rest`, found `{segment}`")),
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(pattern: &Pattern, raw: &str) -> Option<String> {
        let captures = pattern.captures(raw)?;
        let mut shown: Vec<_> =
            pattern.names().zip(&captures.values).map(|(name, value)| format!("{name}={value}")).collect();
        shown.extend(captures.suffix.map(|it| pattern.suffixes()[it].clone()));
        Some(shown.join(" "))
    }

    fn captured(pattern: &str, raw: &str) -> Option<String> {
        shown(&Pattern::parse(pattern).unwrap(), raw)
    }

    #[test]
    fn a_name_takes_one_segment_decoded_once() {
        for (pattern, raw, expected) in [
            ("/", "/", Some("")),
            ("/", "", Some("")),
            ("/", "/x", None),
            ("/projects(.json)", "/projects", Some("")),
            ("/projects(.json)", "/projects.json", Some(".json")),
            ("/projects(.json)", "/projects.xml", None),
            ("/projects(.json|.csv)", "/projects.csv", Some(".csv")),
            ("/projects(.json|.csv)", "/projects.json.csv", None),
            ("/projects.json(.json)", "/projects.json", Some("")),
            ("/projects.json(.json)", "/projects.json.json", Some(".json")),
            ("/projects", "/projects.json", None),
            ("/projects", "/projects/", None),
            ("/projects/", "/projects/", Some("")),
            ("/projects/", "/projects", None),
            ("/projects/:id(.json)", "/projects/1.json", Some("id=1 .json")),
            ("/projects/:id(.json)", "/projects/1", Some("id=1")),
            ("/projects/:id(.json)", "/projects/", None),
            ("/projects/:id(.json)", "/projects/.json", None),
            ("/projects/:id(.json)", "/projects/1/2", None),
            ("/p/:name", "/p/a%2Fb", Some("name=a/b")),
            ("/p/:name", "/p/%252f", Some("name=%2f")),
            ("/p/:name", "/p/v1.2.json", Some("name=v1.2.json")),
            ("/p/:name", "/p/%ff", None),
            ("/:a/x/:b", "/1/x/2", Some("a=1 b=2")),
            ("/files/*rest", "/files/a/b", Some("rest=a/b")),
            ("/files/*rest", "/files", Some("rest=")),
            ("/files/*rest", "/filesx", None),
            ("/foo bar", "/foo%20bar", Some("")),
            ("/10:30", "/10:30", Some("")),
        ] {
            assert_eq!(captured(pattern, raw).as_deref(), expected, "{pattern} {raw}");
        }
    }

    #[test]
    fn a_bad_pattern_is_refused() {
        for pattern in [
            "x",
            "",
            "/:",
            "/*",
            "/a(.json",
            "/a(json)",
            "/a(.)",
            "/a(.json|)",
            "/*rest/x",
            "/*rest(.json)",
            "/:a-b",
            "/a(.json)/b",
            "/(.json)",
            "/a/(.json)",
            "/:id/:id",
            "/:id/*id",
            "/file.:ext",
        ] {
            assert!(Pattern::parse(pattern).is_err(), "{pattern}");
        }
    }

    #[test]
    fn below_a_prefix_a_pattern_may_be_only_a_suffix_or_nothing() {
        for (text, raw, expected) in [
            ("/", "/a/1", Some("x=1")),
            ("/", "/a/1/", Some("x=1")),
            ("", "/a/1", Some("x=1")),
            ("", "/a/1/", None),
            ("(.json)", "/a/1.json", Some("x=1 .json")),
            ("/(.json)", "/a/1.json", Some("x=1 .json")),
            ("/b", "/a/1/b", Some("x=1")),
            ("/:y", "/a/1/b", Some("x=1 y=b")),
        ] {
            let pattern = Pattern::below("/a/:x", text).unwrap();
            assert_eq!(shown(&pattern, raw).as_deref(), expected, "{text} {raw}");
        }
        assert!(Pattern::below("/a", "b").is_err());
        assert!(Pattern::below("", "").is_err());
        assert!(Pattern::below("/:x", "/:x").is_err());
    }

    #[test]
    fn a_prefix_is_above_the_paths_that_begin_with_its_segments() {
        let prefix = Pattern::parse("/a b/:x").unwrap();
        for (raw, expected) in
            [("/a%20b/1", true), ("/a%20b/1/2", true), ("/a%20b", false), ("/a%20b/", false), ("/a%20bc/1", false)]
        {
            assert_eq!(prefix.is_above(raw), expected, "{raw}");
        }
        assert!(Pattern::parse("/").unwrap().is_above(""));
    }

    #[test]
    fn a_template_has_names_in_braces() {
        for (text, expected) in [
            ("/", "/"),
            ("/a/:b(.json)", "/a/{b}"),
            ("/a/", "/a/"),
            ("/files/*rest", "/files/{rest}"),
            ("/a b/{c}é", "/a%20b/%7Bc%7D%C3%A9"),
        ] {
            assert_eq!(Pattern::parse(text).unwrap().template(), expected);
        }
    }

    #[test]
    fn segments_end_before_the_next_slash() {
        for (raw, depth, expected) in [("/v1/x", 1, 3), ("/v1", 1, 3), ("/v1/", 1, 3), ("/a/b/c", 2, 4), ("/x", 0, 0)] {
            assert_eq!(end_of_segments(raw, depth), expected, "{raw} {depth}");
        }
    }

    #[test]
    fn only_one_slash_at_the_end_is_taken_off() {
        assert_eq!(Pattern::without_slash("/projects/"), Some("/projects"));
        assert_eq!(Pattern::without_slash("/"), None);
        assert_eq!(Pattern::without_slash("/a//"), None);
        assert_eq!(Pattern::without_slash("/a"), None);
    }
}
