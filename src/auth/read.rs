//! What `auth.api-key` says in the configuration.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use http::HeaderValue;
use http::header::HeaderName;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::{ApiKey, Keys, Place, Source};
use crate::db::{self, Dialect};
use crate::directive::{Kind, Node, Problem, Problems};

const FIELDS: &[&str] = &["bearer", "header", "query", "sql", "database", "keys", "keys-file", "required", "cache"];

/// How a hash is made, for messages.
const HASHING: &str = "`printf %s KEY | sha256sum` gives the hash of a key";

/// Values of `WWW-Authenticate`, one for each place where a key may stand.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Challenges {
    /// For a request without a key.
    pub missing: Vec<HeaderValue>,
    /// For one with a bad key.
    pub bad: Vec<HeaderValue>,
}

/// What was found of the directive so far.
struct Draft {
    /// Where a mistake about the database is shown: at its name or the statement.
    place: Node,
    files: Vec<PathBuf>,
    bearer: bool,
    header: Option<(HeaderName, String)>,
    query: Option<String>,
    sql: Option<String>,
    database: Option<String>,
    keys: Option<Keys>,
    cache: Option<Duration>,
    is_optional: bool,
}

/// Reads the directive's mapping.
///
/// # Errors
/// All that is wrong with it.
pub fn read(node: &Node) -> Result<ApiKey, Problems> {
    if node.kind() != Kind::Mapping {
        let problem = node.expected("a mapping or `OFF`");
        return Err(problem.hint("say where the key stands and what knows it: `{query: key, sql: …}`").into());
    }
    let mut draft = Draft::new(node);
    let mut problems = Problems::default();
    for (field, value) in node.known_fields(FIELDS, &mut problems) {
        if field == "database" || (field == "sql" && draft.database.is_none()) {
            draft.place = value.clone();
        }
        problems.check(draft.take(field, &value));
    }
    // What is missing is only known where all that is there could be read.
    problems.or(draft)?.close(node)
}

impl Draft {
    fn new(node: &Node) -> Draft {
        Draft {
            place: node.clone(),
            files: Vec::new(),
            bearer: false,
            header: None,
            query: None,
            sql: None,
            database: None,
            keys: None,
            cache: None,
            is_optional: false,
        }
    }

    fn take(&mut self, field: &str, value: &Node) -> Result<(), Problems> {
        match field {
            "bearer" => self.bearer = value.on_off()?,
            "header" => self.header = Some(header(value)?),
            "query" => self.query = Some(text(value)?),
            "sql" => self.sql = Some(statement(value)?),
            "database" => self.database = Some(text(value)?),
            "keys" => listed(self.keys.get_or_insert_default(), value)?,
            "cache" => self.cache = if value.is_off() { None } else { Some(value.duration()?) },
            "keys-file" => self.files.push(from_file(self.keys.get_or_insert_default(), value)?),
            _ => self.is_optional = !value.on_off()?,
        }
        Ok(())
    }

    fn close(self, node: &Node) -> Result<ApiKey, Problems> {
        let mut problems = Problems::default();
        let mut wrong = |message: &str, hint: &str| problems.0.push(node.problem(message).hint(hint));
        if !self.bearer && self.header.is_none() && self.query.is_none() {
            let message = "`auth.api-key` does not say where the key stands, expected `bearer`, `header` or `query`";
            wrong(message, "`query: key` takes it from `?key=…`, `bearer: ON` from `Authorization: Bearer …`");
        }
        if self.database.is_some() && self.sql.is_none() {
            wrong("`auth.api-key` has `database` but no `sql`", "`sql: SELECT … WHERE … = ?` finds the key there");
        }
        if self.cache.is_some() && self.sql.is_none() {
            wrong("`auth.api-key` has `cache` but no `sql`", "keys of the configuration are found without asking");
        }
        let challenges = self.challenges();
        let source = match (self.sql, self.keys) {
            (Some(sql), None) => Some(Source::Sql { sql, database: self.database }),
            (None, Some(keys)) => Some(Source::Keys(keys)),
            (Some(_), Some(_)) => {
                wrong("`auth.api-key` has both `sql` and `keys`, expected one of them", "leave one of them out");
                None
            }
            (None, None) => {
                let message = "`auth.api-key` does not say which keys are good, expected `sql`, `keys` or `keys-file`";
                wrong(message, "`sql: SELECT id FROM companies WHERE api = ?` asks a database");
                None
            }
        };
        let source = source.filter(|_| problems.0.is_empty()).ok_or(problems)?;
        let header = self.header.map(|(name, _)| name);
        let required = !self.is_optional;
        Ok(ApiKey {
            bearer: self.bearer,
            header,
            query: self.query,
            source,
            required,
            // Nothing is remembered for no time.
            cache: self.cache.filter(|it| !it.is_zero()),
            challenges,
            files: self.files,
            place: Place(self.place),
        })
    }

    /// A 401 must say how to do better (RFC 9110 §11.6.1). `Bearer` is RFC 6750's, with its error code
    /// for a key that was no good. No scheme is registered for keys in a header or the query;
    /// `ApiKey` is what servers in the field say, its parameters are OpenAPI's words for the same thing.
    /// A scheme that browsers don't know opens no window that asks for a password, as `Basic` would.
    fn challenges(&self) -> Challenges {
        let place = |place, name: &str| format!("ApiKey realm=\"api\", in=\"{place}\", name=\"{name}\"");
        let mut others = Vec::new();
        others.extend(self.header.as_ref().map(|(_, name)| place("header", name)));
        // As it stands in a query, which a header can carry.
        let query = self.query.as_ref().map(|name| utf8_percent_encode(name, NON_ALPHANUMERIC).to_string());
        others.extend(query.map(|name| place("query", &name)));
        let all = |bearer: &str| {
            let bearer = self.bearer.then(|| String::from(bearer));
            let values = bearer.iter().chain(&others);
            values.filter_map(|value| HeaderValue::from_str(value).ok()).collect()
        };
        Challenges { missing: all("Bearer realm=\"api\""), bad: all("Bearer realm=\"api\", error=\"invalid_token\"") }
    }
}

fn text(value: &Node) -> Result<String, Problem> {
    let text = value.text_as("a name")?;
    if text.is_empty() { Err(value.expected("a name")) } else { Ok(text.to_owned()) }
}

/// The name twice: as it is compared, and as it was written.
fn header(value: &Node) -> Result<(HeaderName, String), Problem> {
    let expected = "the name of a header such as `X-API-Key`";
    let text = value.text_as(expected)?;
    let name = HeaderName::try_from(text).map_err(|_| value.expected(expected))?;
    Ok((name, text.to_owned()))
}

fn statement(value: &Node) -> Result<String, Problem> {
    let sql = value.text_as("a statement")?;
    // Which database it is for is not known here.
    let counts = Dialect::ALL.map(|it| db::placeholders(sql, it));
    match counts {
        _ if counts.contains(&1) => Ok(sql.to_owned()),
        [count, ..] => {
            let problem = value.problem(format!("`sql` has {count} placeholders, expected one `?` for the key"));
            Err(problem.hint("such as `SELECT id, name FROM companies WHERE api = ?`, without quotes around the `?`"))
        }
    }
}

fn listed(keys: &mut Keys, value: &Node) -> Result<(), Problems> {
    let mut problems = Problems::default();
    for item in value.items() {
        let added = item.text_as("the hashes of the good keys").and_then(|line| {
            keys.add(line).map_err(|mistake| {
                // The line may hold a key by mistake, and a refused reload is logged.
                item.problem(format!("`keys`: {mistake}")).masked().hint(HASHING)
            })
        });
        problems.check(added);
    }
    problems.or(())?;
    if keys.is_empty() {
        return Err(value.problem("`keys` is empty, expected the hashes of the good keys").hint(HASHING).into());
    }
    Ok(())
}

fn from_file(keys: &mut Keys, value: &Node) -> Result<PathBuf, Problems> {
    let path = value.existing_file()?;
    let content = fs::read_to_string(&path).map_err(|error| value.cannot_open(&path, &error))?;
    // An empty file is no mistake: it is what is left when the last key was withdrawn.
    keys.add_lines(&content).map_err(|mistakes| {
        let at = path.display();
        let problem = |(line, mistake)| value.problem(format!("{at}:{line}: {mistake}")).hint(HASHING);
        Problems(mistakes.into_iter().map(problem).collect())
    })?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::super::Settings;
    use crate::directive::apply;

    const HASH: &str = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";

    fn mistakes(text: &str) -> String {
        apply(Settings::default(), &format!("auth.api-key: {text}")).unwrap_err()
    }

    #[test]
    fn what_is_left_out_is_a_mistake() {
        let all = mistakes("{}");
        assert!(all.contains("expected `bearer`, `header` or `query`"), "{all}");
        assert!(all.contains("expected `sql`, `keys` or `keys-file`"), "{all}");
        let off = mistakes("{bearer: OFF, sql: 'SELECT ?'}");
        assert!(off.contains("expected `bearer`, `header` or `query`"), "{off}");
    }

    #[test]
    fn two_sources_are_a_mistake() {
        let both = mistakes(&format!("{{query: key, sql: 'SELECT ?', keys: [{HASH}]}}"));
        assert!(both.contains("both `sql` and `keys`"), "{both}");
        let odd = mistakes(&format!("{{query: key, database: main, keys: [{HASH}]}}"));
        assert!(odd.contains("`database` but no `sql`"), "{odd}");
    }

    #[test]
    fn all_mistakes_are_reported_at_once() {
        let all = mistakes("{header: 'a b', sql: 'SELECT 1', keys: [secret], bearer: maybe}");
        for part in ["`header` is `a b`", "`sql` has 0 placeholders", "expected a SHA-256 hash", "`bearer` is `maybe`"]
        {
            assert!(all.contains(part), "{part} is missing in {all}");
        }
    }

    #[test]
    fn a_key_that_stands_where_its_hash_should_is_not_printed() {
        let mistake = mistakes("{query: key, keys: [secret]}");
        let expected = "host.yaml:1:35: `keys`: expected a SHA-256 hash of 64 hexadecimal digits\n  1 |                                   ***";
        assert!(mistake.starts_with(expected) && !mistake.contains("secret"), "{mistake}");
    }

    #[test]
    fn on_and_unknown_fields_are_mistakes() {
        assert!(mistakes("ON").contains("`auth.api-key` is `ON`, expected a mapping or `OFF`"));
        assert!(mistakes("{qeury: key}").contains("qeury"));
        assert!(mistakes("{query: '', sql: 'SELECT ?'}").contains("`query` is ``, expected a name"));
        assert!(mistakes("{query: key, keys: []}").contains("`keys` is empty"));
    }

    #[test]
    fn a_file_of_keys_is_read_with_the_configuration() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys");
        let text = format!("{{query: key, keys-file: {}}}", path.display());
        assert!(mistakes(&text).contains("`keys-file`"));
        std::fs::write(&path, format!("# ours\n{HASH} office\nnonsense\n")).unwrap();
        let wrong = mistakes(&text);
        assert!(wrong.contains(&format!("{}:3: expected a SHA-256 hash", path.display())), "{wrong}");
        std::fs::write(&path, format!("{HASH} office\n")).unwrap();
        apply(Settings::default(), &format!("auth.api-key: {text}")).unwrap();
    }
}
