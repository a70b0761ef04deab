//! What `cors` says in the configuration.

use http::Method;
use http::header::{HeaderName, HeaderValue};

use super::origin::{Origin, Origins};
use super::{Asked, Cors, Credentials};
use crate::directive::{Kind, Node, Problem, Problems};

const FIELDS: &[&str] = &["origins", "methods", "headers", "expose-headers", "credentials", "max-age"];

impl Default for Cors {
    fn default() -> Cors {
        Cors {
            origins: Origins::Any,
            methods: HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE"),
            headers: Asked::All,
            expose: None,
            credentials: Credentials::Omitted,
            max_age: None,
        }
    }
}

/// Reads a mapping or `ON`.
///
/// # Errors
/// All that is wrong with it.
pub(super) fn read(node: &Node) -> Result<Cors, Problems> {
    let mut cors = Cors::default();
    if node.kind() != Kind::Mapping {
        let expected = "a mapping, `ON` or `OFF`";
        // `OFF` is not read here.
        return if node.on_off().is_ok() { Ok(cors) } else { Err(node.expected(expected).into()) };
    }
    let mut problems = Problems::default();
    for (field, value) in node.known_fields(FIELDS, &mut problems) {
        problems.check(cors.take(field, &value));
    }
    if cors.credentials == Credentials::Included {
        problems.0.extend(cors.wildcard().map(|(field, means)| {
            let problem = node.problem(format!("`cors` has `credentials: ON`, but `{field}` {means}"));
            problem.hint("browsers send no cookies to who lets everybody in: list those that are meant")
        }));
    }
    problems.or(cors)
}

impl Cors {
    fn take(&mut self, field: &str, value: &Node) -> Result<(), Problems> {
        match field {
            "origins" => self.origins = origins(value)?,
            "methods" => self.methods = joined(value, method)?,
            "headers" => self.headers = Asked::Listed(joined(value, header)?),
            "expose-headers" => self.expose = Some(joined(value, header)?),
            "credentials" => {
                self.credentials = if value.on_off()? { Credentials::Included } else { Credentials::Omitted };
            }
            _ => self.max_age = Some(HeaderValue::from(value.duration()?.as_secs())),
        }
        Ok(())
    }

    /// A field that names no one in particular, which with credentials browsers take for a name or refuse.
    fn wildcard(&self) -> Option<(&'static str, &'static str)> {
        let is_any = |it: &HeaderValue| it == "*";
        if self.origins == Origins::Any {
            Some(("origins", "is every origin"))
        } else if is_any(&self.methods) {
            Some(("methods", "is `*`"))
        } else if matches!(&self.headers, Asked::Listed(it) if is_any(it)) {
            Some(("headers", "is `*`"))
        } else if self.expose.as_ref().is_some_and(is_any) {
            Some(("expose-headers", "is `*`"))
        } else {
            None
        }
    }
}

fn is_star(node: &Node) -> bool {
    node.text().is_ok_and(|it| it == "*")
}

fn origins(value: &Node) -> Result<Origins, Problems> {
    let expected = "an origin such as `https://example.com`";
    let items = value.items();
    let mut problems = Problems::default();
    if items.is_empty() {
        problems.0.push(value.problem("`origins` is empty, expected at least one").hint("`cors: OFF` lets none in"));
    }
    let mut listed = Vec::new();
    for item in items.iter().filter(|it| !is_star(it)) {
        let Some(text) = problems.check(item.text_as(expected)) else { continue };
        match Origin::parse(text) {
            Ok(origin) => listed.push(origin),
            Err(hint) => {
                let problem = item.expected(expected);
                problems.0.push(hint.map_or(problem.clone(), |hint| problem.hint(hint)));
            }
        }
    }
    problems.or(if items.iter().any(is_star) { Origins::Any } else { Origins::Listed(listed) })
}

/// A list for a header; `*` is alone.
fn joined(value: &Node, check: fn(&Node) -> Result<String, Problem>) -> Result<HeaderValue, Problems> {
    if value.items().iter().any(is_star) {
        return Ok(HeaderValue::from_static("*"));
    }
    let mut problems = Problems::default();
    let names: Vec<String> = value.items().iter().filter_map(|it| problems.check(check(it))).collect();
    let names = problems.or(names.join(", "))?;
    Ok(HeaderValue::try_from(names).map_err(|_| value.expected("a list of names"))?)
}

fn method(item: &Node) -> Result<String, Problem> {
    let expected = "a method such as `GET`";
    let text = item.text_as(expected)?;
    let method = Method::from_bytes(text.as_bytes()).map_err(|_| item.expected(expected))?;
    let upper = text.to_ascii_uppercase();
    let known = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY"];
    if upper != method.as_str() && known.contains(&upper.as_str()) {
        return Err(item.expected(expected).hint(format!("methods are told apart by their letter case: `{upper}`")));
    }
    Ok(text.to_owned())
}

fn header(item: &Node) -> Result<String, Problem> {
    let expected = "the name of a header such as `X-API-Key`";
    let text = item.text_as(expected)?;
    HeaderName::from_bytes(text.as_bytes()).map_err(|_| item.expected(expected))?;
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::Settings;
    use crate::directive::apply;

    fn mistakes(text: &str) -> String {
        apply(Settings::default(), &format!("cors: {text}")).unwrap_err()
    }

    #[test]
    fn credentials_need_names() {
        let expected = "host.yaml:1:7: `cors` has `credentials: ON`, but `origins` is every origin\n  \
                        1 | cors: {credentials: ON}\n    |       ^\n\
                        hint: browsers send no cookies to who lets everybody in: list those that are meant";
        assert_eq!(mistakes("{credentials: ON}"), expected);
        for (text, expected) in [
            ("origins: '*'", "`origins` is every origin"),
            ("origins: ['https://a.b', '*']", "`origins` is every origin"),
            ("origins: 'https://a.b', methods: '*'", "`methods` is `*`"),
            ("origins: 'https://a.b', headers: '*'", "`headers` is `*`"),
            ("origins: 'https://a.b', expose-headers: ['*']", "`expose-headers` is `*`"),
        ] {
            let message = mistakes(&format!("{{{text}, credentials: ON}}"));
            assert!(message.contains(expected), "{message}");
        }
    }

    #[test]
    fn mistakes_say_what_would_be_right() {
        for (text, expected) in [
            ("true", "`cors` is `true`, expected a mapping, `ON` or `OFF`"),
            ("{origin: x}", "hint: did you mean `origins`?"),
            ("{origins: []}", "hint: `cors: OFF` lets none in"),
            ("{origins: example.com}", "hint: with its scheme: `https://example.com`"),
            ("{origins: 'https://example.com/'}", "hint: an origin has no path: `https://example.com`"),
            ("{methods: [get]}", "hint: methods are told apart by their letter case: `GET`"),
            ("{methods: ['G T']}", "`methods` is `G T`, expected a method such as `GET`"),
            ("{headers: 'a, b'}", "`headers` is `a, b`, expected the name of a header such as `X-API-Key`"),
            ("{max-age: long}", "`max-age` is `long`, expected a duration such as `30s`"),
            ("{credentials: yes}", "hint: write `ON`"),
        ] {
            let message = mistakes(text);
            assert!(message.contains(expected), "{text}: {message}");
        }
    }
}
