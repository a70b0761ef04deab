//! The directive `databases`: which databases there are, under which names.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use super::{BACKENDS, Backend, Error};
use crate::directive::{self, Directive, Kind, Level, Node, Problems, Repeat};

/// The databases of a configuration, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// Each has another name.
    pub databases: Vec<Named>,
}

/// A database and the name that scripts know it by.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    /// The key in `databases`.
    pub name: String,
    /// Where it stands in the configuration, as `conf/host.yaml:3:3`.
    pub place: String,
    /// What and where it is.
    pub url: Url,
    /// The folder of its migrations.
    pub migrations: Option<PathBuf>,
    /// Connections at a time over all workers; each worker has at least one. Default: 10.
    pub max_connections: usize,
    /// How many rows a statement may give. Default: 100,000.
    pub max_rows: usize,
    /// How long the database's server may take to let a connection in. Default: 5 s.
    pub connect_timeout: Duration,
    /// How long a piece of work waits for a connection that others have. Default: 5 s.
    pub wait_timeout: Duration,
    /// How many may wait for one, for each worker. Default: 1,000.
    pub max_waiting: usize,
    /// How long a connection is kept that nobody uses. Default: 5 minutes.
    pub idle_timeout: Duration,
    /// How old a connection gets. Default: 30 minutes.
    pub max_lifetime: Duration,
    /// Whether the start goes on where its server can't be reached. Default: no.
    pub optional: bool,
    /// What statements may open beside it.
    pub reach: Reach,
}

/// What the statements of a database may open beside it, as SQLite's `ATTACH` does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// What the process may.
    Anything,
    /// Nothing: a test must not come to the database that is served.
    Itself,
}

impl Settings {
    /// Looks whether there is a database of this name, or only one.
    ///
    /// # Errors
    /// If not; the message lists those that there are.
    pub fn check_name(&self, name: Option<&str>) -> Result<(), Error> {
        super::find(&self.databases, |it| &it.name, name).map(|_| ())
    }

    /// The files that databases lie in.
    pub fn files(&self) -> impl Iterator<Item = PathBuf> {
        self.databases.iter().flat_map(|it| (it.url.backend().files)(it.url.address()))
    }
}

impl Named {
    /// A database of this name with the defaults for what its URL does not say.
    pub fn new(name: impl Into<String>, place: impl Into<String>, url: Url) -> Named {
        Named {
            name: name.into(),
            place: place.into(),
            url,
            migrations: None,
            max_connections: 10,
            max_rows: 100_000,
            connect_timeout: Duration::from_secs(5),
            wait_timeout: Duration::from_secs(5),
            max_waiting: 1_000,
            idle_timeout: Duration::from_secs(300),
            max_lifetime: Duration::from_secs(1_800),
            optional: false,
            reach: Reach::Anything,
        }
    }
}

impl directive::Settings for Settings {
    const DIRECTIVES: &'static [Directive<Settings>] = &[Directive {
        name: "databases",
        levels: &[Level::Global],
        repeat: Repeat::Once,
        summary: "Databases by name, each a URL, or a mapping of `url`, `migrations` (a folder of `NNN_name.sql`, \
                  applied in order at start, once each; the database file is created where there is one) and \
                  `max-connections` (over all workers, at least one each; default 10), `max-rows` (a statement that gives \
                  more fails; default 100000), `wait-timeout` (how long a request waits for a connection that others \
                  have, then 503; default 5s), `max-waiting` (how many may wait for each worker; default 1000), and \
                  for servers `connect-timeout` (default 5s), `idle-timeout` (a connection that nobody uses is closed; \
                  default 5m), `max-lifetime` (so is one that is older; default 30m) and `optional` (`ON`: the start \
                  goes on where the server can't be reached).",
        example: "databases:\n  main:\n    url: sqlite:var/app.db\n    max-connections: 4\n  log: 'sqlite::memory:'",
        apply,
    }];
}

/// What a database's mapping may hold.
const FIELDS: &[&str] = &[
    "url",
    "migrations",
    "max-connections",
    "max-rows",
    "max-waiting",
    "connect-timeout",
    "wait-timeout",
    "idle-timeout",
    "max-lifetime",
    "optional",
];

fn apply(settings: &mut Settings, node: &Node) -> Result<(), Problems> {
    let mut problems = Vec::new();
    for (key, value) in node.entries()? {
        match read(&key, &value) {
            Ok(named) if settings.databases.iter().any(|it| it.name == named.name) => {
                problems.push(key.problem(format!("there is another database `{}`", named.name)));
            }
            Ok(named) => settings.databases.push(named),
            Err(found) => problems.extend(found.0),
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(Problems(problems)) }
}

fn read(key: &Node, value: &Node) -> Result<Named, Problems> {
    let name = key.text()?;
    let url = |node: &Node| {
        Url::parse(node.text()?).map_err(|message| {
            // An address may hold a password.
            let problem = node.problem(message);
            if node.text().is_ok_and(|it| it.contains('@')) { problem.masked() } else { problem }
        })
    };
    if value.kind() != Kind::Mapping {
        return Ok(Named::new(name, key.place(), url(value)?));
    }
    let mut problems = Vec::new();
    let (mut address, mut has_url) = (None, false);
    // Its URL comes in the end: it may be wrong, and all mistakes are told at once.
    let mut named = Named::new(name, key.place(), Url::parse(BACKENDS[0].example).map_err(|it| value.problem(it))?);
    let mut unknown = Problems::default();
    for (field, node) in value.known_fields(FIELDS, &mut unknown) {
        let count = |slot: &mut usize, most| node.integer(1..=most).map(|it| *slot = it.try_into().unwrap_or(*slot));
        let outcome = match field {
            "url" => {
                has_url = true;
                url(&node).map(|it| address = Some(it))
            }
            "migrations" => node.existing_folder().map(|it| named.migrations = Some(it)),
            "max-connections" => count(&mut named.max_connections, 10_000),
            "max-rows" => count(&mut named.max_rows, 1_000_000_000),
            "max-waiting" => count(&mut named.max_waiting, 1_000_000),
            "connect-timeout" => node.duration().map(|it| named.connect_timeout = it),
            "wait-timeout" => node.duration().map(|it| named.wait_timeout = it),
            "idle-timeout" => node.duration().map(|it| named.idle_timeout = it),
            "max-lifetime" => node.duration().map(|it| named.max_lifetime = it),
            _ => node.on_off().map(|it| named.optional = it),
        };
        problems.extend(outcome.err());
    }
    problems.extend(unknown.0);
    if !has_url {
        let problem = value.problem(format!("database `{name}` has no `url`"));
        problems.push(problem.hint(format!("add one, such as `url: {}`", BACKENDS[0].example)));
    }
    match address {
        Some(url) if problems.is_empty() => Ok(Named { url, ..named }),
        _ => Err(Problems(problems)),
    }
}

/// What and where a database is; a password in it prints as `***`.
#[derive(Clone)]
pub struct Url {
    text: String,
    backend: &'static Backend,
}

impl Url {
    /// Finds the backend for a URL such as `sqlite:var/app.db`.
    ///
    /// # Errors
    /// If there is none, or if it refuses what follows the scheme; the message says what is known.
    pub fn parse(text: &str) -> Result<Url, String> {
        let Some((scheme, address)) = text.split_once(':') else {
            return Err(format!("a database's URL begins with `{}`, found none of them", schemes()));
        };
        let Some(backend) = BACKENDS.iter().find(|it| it.schemes.contains(&scheme)) else {
            return Err(format!("`{scheme}:` is no database that rhaid knows, expected `{}`", schemes()));
        };
        (backend.check_address)(address)?;
        Ok(Url { text: text.to_owned(), backend })
    }

    /// What follows the scheme and its colon.
    pub fn address(&self) -> &str {
        self.text.split_once(':').map_or("", |(_, address)| address)
    }

    /// What speaks to this sort of database.
    pub fn backend(&self) -> &'static Backend {
        self.backend
    }
}

fn schemes() -> String {
    let schemes: Vec<String> =
        BACKENDS.iter().filter_map(|it| it.schemes.first()).map(|scheme| format!("{scheme}:")).collect();
    schemes.join("`, `")
}

impl PartialEq for Url {
    fn eq(&self, other: &Url) -> bool {
        self.text == other.text
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&masked(&self.text))
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&masked(&self.text))
    }
}

/// `text` with the password before the `@` as `***` (RFC 3986 §3.2.1).
fn masked(text: &str) -> String {
    let masked = text.split_once("://").and_then(|(scheme, rest)| {
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        // A password with an unescaped `/` or `?` in it is wrong, but must not be shown either.
        let at = rest[..end].rfind('@').or_else(|| rest.rfind('@'))?;
        let (user, _) = rest[..at].split_once(':')?;
        Some(format!("{scheme}://{user}:***{}", &rest[at..]))
    });
    let text = masked.unwrap_or_else(|| text.to_owned());
    // PostgreSQL's may also stand among the options.
    let Some((before, after)) = ["?password=", "&password="].iter().find_map(|it| text.split_once(it)) else {
        return text;
    };
    let mark = &text[before.len()..text.len() - after.len()];
    let rest = after.find('&').map_or("", |end| &after[end..]);
    format!("{before}{mark}***{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_finds_its_backend() {
        let url = Url::parse("sqlite:var/app.db").unwrap();
        assert_eq!(
            (url.backend().name, url.address(), url.to_string().as_str()),
            ("sqlite", "var/app.db", "sqlite:var/app.db")
        );
        assert!(Url::parse("sqlite::memory:").is_ok());
        assert!(Url::parse("sqlite:///var/app.db").is_ok());
    }

    #[test]
    fn a_url_without_a_backend_is_told_what_is_known() {
        for (text, message) in [
            ("oracle://host", "`oracle:` is no database that rhaid knows, expected `sqlite:`, `mysql:`, `postgres:`"),
            ("var/app.db", "a database's URL begins with `sqlite:`, `mysql:`, `postgres:`, found none of them"),
            ("", "a database's URL begins with `sqlite:`, `mysql:`, `postgres:`, found none of them"),
            ("sqlite:", "`sqlite:` is followed by nothing, expected a path such as `sqlite:var/app.db`"),
        ] {
            assert_eq!(Url::parse(text).unwrap_err(), message);
        }
        assert!(Url::parse("sqlite:a.db?mode=ro").unwrap_err().contains("options in the URL are not known"));
    }

    #[test]
    fn a_password_never_prints() {
        for (text, shown) in [
            ("mysql://me:secret@host/a", "mysql://me:***@host/a"),
            ("mysql://me:sec@ret@host:3306/a@b", "mysql://me:***@host:3306/a@b"),
            ("mysql://me:sec/ret@host", "mysql://me:***@host"),
            ("postgres://h/a?user=u&password=secret&sslmode=x", "postgres://h/a?user=u&password=***&sslmode=x"),
            ("postgres://h/a?password=secret", "postgres://h/a?password=***"),
            ("mysql://me@host/a", "mysql://me@host/a"),
            ("sqlite:var/a@b.db", "sqlite:var/a@b.db"),
        ] {
            assert_eq!(masked(text), shown);
        }
    }
}
