//! Route patterns as Sinatra's and Grape's: `/projects/:id(.json)`, `/files/*rest`.

use std::fmt;

use super::decode;

/// Names of a pattern and the decoded segments that they took.
pub type Captures<'p> = Vec<(&'p str, String)>;

/// A pattern that the rest of a path is matched with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    text: String,
    parts: Vec<Part>,
    /// A suffix in parentheses, with its dot, that may be there or not.
    suffix: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// A decoded segment.
    Literal(String),
    /// `:name`: one segment, not empty.
    One(String),
    /// `*name`: all that is left, also nothing.
    Rest(String),
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
        let (inner, suffix) = match inner.split_once('(') {
            None => (inner, None),
            Some((inner, end)) => match end.strip_suffix(')') {
                Some(suffix) if suffix.len() > 1 && suffix.starts_with('.') && !suffix.contains(['(', ')', '/']) => {
                    (inner, Some(suffix.to_owned()))
                }
                _ => return Err(format!("in the pattern `{text}`, expected a suffix such as `(.json)` at the end")),
            },
        };
        let mut parts = Vec::new();
        for segment in inner.split('/') {
            if matches!(parts.last(), Some(Part::Rest(_))) {
                return Err(format!("in the pattern `{text}`, nothing can follow `*`"));
            }
            parts.push(match (segment.strip_prefix(':'), segment.strip_prefix('*')) {
                (Some(name), _) if is_name(name) => Part::One(name.to_owned()),
                (_, Some(name)) if is_name(name) => Part::Rest(name.to_owned()),
                (None, None) => Part::Literal(segment.to_owned()),
                _ => return Err(format!("in the pattern `{text}`, expected a name such as `:id`, found `{segment}`")),
            });
        }
        // "/" is one empty segment: no segment at all.
        if parts == [Part::Literal(String::new())] {
            parts.clear();
        }
        Ok(Pattern { text: text.to_owned(), parts, suffix })
    }

    /// What the pattern's names take of a raw path, decoded once; `None` if it is not a path of
    /// the pattern. A `/` at the end of the path counts: see [`Pattern::without_slash`].
    pub fn captures<'p>(&'p self, raw: &str) -> Option<Captures<'p>> {
        let mut rest = raw.strip_prefix('/').unwrap_or(raw);
        let mut captures = Vec::new();
        for (index, part) in self.parts.iter().enumerate() {
            if index > 0 && !(rest.is_empty() && matches!(part, Part::Rest(_))) {
                rest = rest.strip_prefix('/')?;
            }
            if let Part::Rest(name) = part {
                captures.push((name.as_str(), decode(rest)?.into_owned()));
                return Some(captures);
            }
            let end = memchr::memchr(b'/', rest.as_bytes()).unwrap_or(rest.len());
            let (segment, after) = rest.split_at(end);
            rest = after;
            let mut segment = decode(segment)?;
            if index + 1 == self.parts.len()
                && let Some(suffix) = &self.suffix
                && let Some(bare) = segment.strip_suffix(suffix.as_str())
            {
                segment = bare.to_owned().into();
            }
            match part {
                Part::Literal(literal) if *literal == segment => {}
                Part::One(name) if !segment.is_empty() => captures.push((name.as_str(), segment.into_owned())),
                _ => return None,
            }
        }
        rest.is_empty().then_some(captures)
    }

    /// A path without the `/` at its end, where it has one and something before it.
    pub fn without_slash(raw: &str) -> Option<&str> {
        raw.strip_suffix('/').filter(|it| !it.is_empty() && !it.ends_with('/'))
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

    fn captured(pattern: &str, raw: &str) -> Option<String> {
        let pattern = Pattern::parse(pattern).unwrap();
        let captures = pattern.captures(raw)?;
        Some(captures.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn a_name_takes_one_segment_decoded_once() {
        for (pattern, raw, expected) in [
            ("/", "/", Some("")),
            ("/", "", Some("")),
            ("/", "/x", None),
            ("/projects(.json)", "/projects", Some("")),
            ("/projects(.json)", "/projects.json", Some("")),
            ("/projects(.json)", "/projects.xml", None),
            ("/projects", "/projects.json", None),
            ("/projects", "/projects/", None),
            ("/projects/:id(.json)", "/projects/1.json", Some("id=1")),
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
        ] {
            assert_eq!(captured(pattern, raw).as_deref(), expected, "{pattern} {raw}");
        }
    }

    #[test]
    fn a_bad_pattern_is_refused() {
        for pattern in ["x", "/:", "/a(.json", "/a(json)", "/*rest/x", "/:a-b", "/a(.json)/b"] {
            assert!(Pattern::parse(pattern).is_err(), "{pattern}");
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
