//! API keys: whether a request has one, and whether it is good; databases are not known here, the
//! caller asks them.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use http::header::{AUTHORIZATION, HeaderName, WWW_AUTHENTICATE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use percent_encoding::percent_decode;

use crate::directive::{self, Directive, Level, Node, Problem, Repeat};
use crate::envelope;
use crate::http::Response;

mod cache;
mod keys;
mod read;
mod redaction;
mod secrets;

pub use cache::Cache;
pub use keys::Keys;
pub use redaction::Redaction;
pub use secrets::is_secret;

/// Which requests need a key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// `None`: no request does.
    pub api_key: Option<Arc<ApiKey>>,
}

/// Where a key is looked for, and what makes it good.
#[derive(Debug, PartialEq, Eq)]
pub struct ApiKey {
    bearer: bool,
    header: Option<HeaderName>,
    query: Option<String>,
    source: Source,
    required: bool,
    cache: Option<Duration>,
    challenges: read::Challenges,
    files: Vec<PathBuf>,
    place: Place,
}

/// Where it stands in the configuration, which does not make two of them different.
#[derive(Debug)]
struct Place(Node);

impl PartialEq for Place {
    fn eq(&self, _: &Place) -> bool {
        true
    }
}

impl Eq for Place {}

/// Where a key may stand, for who describes the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Places<'a> {
    /// `Authorization: Bearer KEY`.
    pub bearer: bool,
    /// The header of this name.
    pub header: Option<&'a str>,
    /// The query's parameter of this name.
    pub query: Option<&'a str>,
    /// Whether no request is let through without a key.
    pub is_required: bool,
}

/// What knows the good keys.
#[derive(Debug, PartialEq, Eq)]
pub enum Source {
    /// A statement with one `?` for the key; a good key has a row.
    Sql {
        /// The statement.
        sql: String,
        /// Name of the database, where the configuration says it.
        database: Option<String>,
    },
    /// Hashes from the configuration.
    Keys(Keys),
}

/// A key as the client sent it; never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

/// What a request brings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Presented {
    /// No key.
    None,
    /// A key that can't be good, as it is no text.
    Unreadable,
    /// A key that is to be checked.
    Key(Key),
}

/// What a good key belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found<Row> {
    /// The row that the statement found.
    Row(Row),
    /// A key of the configuration, with its name if it has one.
    Named(Option<Arc<str>>),
}

/// Why a request is not let through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Denied<E> {
    /// It has no key.
    Missing,
    /// Its key is not good.
    Bad,
    /// Whether its key is good can't be told.
    Failed(E),
}

impl directive::Settings for Settings {
    const DIRECTIVES: &'static [Directive<Settings>] = &[Directive {
        name: "auth.api-key",
        levels: &[Level::Global, Level::Host, Level::Path],
        repeat: Repeat::Once,
        summary: "Asks for an API key (`bearer`, `header`, `query`: the first that is present decides; of a repeated parameter the last, as for scripts; a header that comes twice is no good key) that `sql` finds or whose SHA-256 hash is among `keys` or in `keys-file`; `cache: 5s` remembers keys that `sql` found, with their rows, for that time in each worker, also if they are taken off in between; `OFF` asks for none. OPTIONS passes without a key: preflights are answered by `cors` where it is set, others by a router's routes; another handler has to look at the method, or it does for OPTIONS what it does for GET.",
        example: "auth.api-key: {bearer: ON, header: X-API-Key, query: key, sql: 'SELECT id, name FROM companies WHERE api = ?', required: ON}",
        apply: |settings, node| {
            settings.api_key = if node.is_off() { None } else { Some(Arc::new(read::read(node)?)) };
            Ok(())
        },
    }];
}

impl Settings {
    /// The key of a request that is to be checked. `None` where it needs none and has none.
    ///
    /// OPTIONS passes: a browser asks so, without a key, whether it may send one (Fetch, "CORS-preflight
    /// fetch").
    ///
    /// # Errors
    /// If there is no key, or one that can't be good.
    pub fn ask<E>(&self, head: &Parts) -> Result<Option<Key>, Denied<E>> {
        let Some(api_key) = &self.api_key else { return Ok(None) };
        if head.method == Method::OPTIONS {
            return Ok(None);
        }
        match api_key.presented(head) {
            Presented::None if api_key.required => Err(Denied::Missing),
            Presented::None => Ok(None),
            Presented::Unreadable => Err(Denied::Bad),
            Presented::Key(key) => Ok(Some(key)),
        }
    }

    /// What a key belongs to.
    ///
    /// `lookup` runs a statement in a database with the key for its `?` and gives the first row.
    ///
    /// # Errors
    /// If the key is not good. `lookup`'s error is passed on.
    pub fn find<Row, E>(
        &self,
        key: &Key,
        lookup: impl FnOnce(&str, Option<&str>, &str) -> Result<Option<Row>, E>,
    ) -> Result<Found<Row>, Denied<E>> {
        let Some(api_key) = &self.api_key else { return Err(Denied::Bad) };
        let found = match &api_key.source {
            Source::Sql { sql, database } => {
                lookup(sql, database.as_deref(), key.as_str()).map_err(Denied::Failed)?.map(Found::Row)
            }
            Source::Keys(keys) => keys.find(key.as_str()).map(|name| Found::Named(name.cloned())),
        };
        found.ok_or(Denied::Bad)
    }

    /// Answers a request without a good key: 401 with the challenges that it must carry
    /// (RFC 9110 §11.6.1). A key that could not be checked gets 500.
    pub fn deny<E>(&self, denied: &Denied<E>, envelope: &envelope::Settings) -> Response {
        let message = match denied {
            Denied::Missing => "Need api key",
            Denied::Bad => "Bad api key",
            Denied::Failed(_) => return envelope.error_response(StatusCode::INTERNAL_SERVER_ERROR, None),
        };
        let mut response = envelope.error_response(StatusCode::UNAUTHORIZED, Some(message));
        for challenge in self.challenges(matches!(denied, Denied::Bad)) {
            response.headers_mut().append(WWW_AUTHENTICATE, challenge.clone());
        }
        response
    }

    /// Adds the challenges that a 401 for a missing key carries.
    pub fn challenge(&self, headers: &mut HeaderMap) {
        for challenge in self.challenges(false) {
            headers.append(WWW_AUTHENTICATE, challenge.clone());
        }
    }

    fn challenges(&self, is_bad: bool) -> &[HeaderValue] {
        let Some(api_key) = &self.api_key else { return &[] };
        if is_bad { &api_key.challenges.bad } else { &api_key.challenges.missing }
    }

    /// The key that a request brings where one may be asked for, good or not.
    pub fn presented(&self, head: &Parts) -> Presented {
        self.api_key.as_ref().map_or(Presented::None, |api_key| api_key.presented(head))
    }

    /// Where a key may stand, where one may be asked for.
    pub fn places(&self) -> Option<Places<'_>> {
        self.api_key.as_ref().map(|it| Places {
            bearer: it.bearer,
            header: it.header.as_ref().map(HeaderName::as_str),
            query: it.query.as_deref(),
            is_required: it.required,
        })
    }

    /// The files that keys were read from: they are never served.
    pub fn files(&self) -> &[PathBuf] {
        self.api_key.as_ref().map_or(&[], |it| &it.files)
    }

    /// A mistake of the directive that only shows beside others, such as an unknown database.
    pub fn problem(&self, message: String) -> Option<Problem> {
        self.api_key.as_ref().map(|it| it.place.0.problem(message))
    }

    /// For how long keys that a database has found are remembered.
    pub fn cache(&self) -> Option<Duration> {
        self.api_key.as_ref().and_then(|it| it.cache)
    }

    /// The database that has the keys, if one does; the inner `None` where it isn't named.
    pub fn database(&self) -> Option<Option<&str>> {
        match &self.api_key.as_ref()?.source {
            Source::Sql { database, .. } => Some(database.as_deref()),
            Source::Keys(_) => None,
        }
    }
}

impl ApiKey {
    /// The first of bearer, header and query that is present decides. An empty value is no key: it is
    /// what a client sends whose variable was never set.
    fn presented(&self, head: &Parts) -> Presented {
        let lines = |name: &HeaderName| head.headers.get_all(name).iter();
        let bearer = || self.bearer.then(|| joined(lines(&AUTHORIZATION).filter_map(bearer))).flatten();
        let header = || self.header.as_ref().and_then(|name| joined(lines(name).map(HeaderValue::as_bytes)));
        if let Some(value) = bearer().or_else(|| header().filter(|value| !value.is_empty())) {
            return Presented::from(value);
        }
        let query = self.query.as_ref().zip(head.uri.query());
        let value = query.and_then(|(name, query)| parameter(query.as_bytes(), name));
        value.filter(|value| !value.is_empty()).map_or(Presented::None, Presented::from)
    }
}

/// Several lines of a header are one value (RFC 9110 §5.3), as scripts see them: no key then, whoever added the second.
fn joined<'a>(mut values: impl Iterator<Item = &'a [u8]>) -> Option<Vec<u8>> {
    let first = values.next()?.to_vec();
    Some(values.fold(first, |joined, value| [&joined, value].join(&b", "[..])))
}

/// The token of `Authorization: Bearer TOKEN` (RFC 6750 §2.1); the scheme's case does not count
/// (RFC 9110 §11.1).
fn bearer(value: &HeaderValue) -> Option<&[u8]> {
    let (scheme, token) = value.as_bytes().split_at_checked(6)?;
    let token = token.strip_prefix(b" ")?.trim_ascii();
    (scheme.eq_ignore_ascii_case(b"bearer") && !token.is_empty()).then_some(token)
}

/// The value of the parameter `name`, decoded once; the last of several, as for scripts.
fn parameter(query: &[u8], name: &str) -> Option<Vec<u8>> {
    let mut pairs = query.rsplit(|byte| *byte == b'&');
    pairs.find_map(|pair| {
        let equals = memchr::memchr(b'=', pair).unwrap_or(pair.len());
        let value = pair.get(equals + 1..).unwrap_or_default();
        is_named(&pair[..equals], name).then(|| decode(value))
    })
}

/// Whether `raw`, a parameter's name as it stands in a query, means `name`; `key[]` is `key`, as for scripts.
fn is_named(raw: &[u8], name: &str) -> bool {
    if raw == name.as_bytes() {
        return true;
    }
    let plain = |name: &[u8]| name.strip_suffix(b"[]").unwrap_or(name).to_vec();
    memchr::memchr3(b'%', b'+', b'[', raw).is_some() && plain(&decode(raw)) == plain(name.as_bytes())
}

fn decode(raw: &[u8]) -> Vec<u8> {
    // The `+` first: one that was encoded as `%2B` is meant.
    let spaced: Vec<u8> = raw.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte }).collect();
    percent_decode(&spaced).collect()
}

impl From<Vec<u8>> for Presented {
    fn from(value: Vec<u8>) -> Presented {
        String::from_utf8(value).map_or(Presented::Unreadable, |text| Presented::Key(Key(text)))
    }
}

impl Key {
    /// The key itself: not for logs.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directive::{Settings as _, apply};
    use std::convert::Infallible;

    const SQL: &str = "SELECT id FROM companies WHERE api = ?";

    fn settings(text: &str) -> Settings {
        apply(Settings::default(), &format!("auth.api-key: {{{text}}}")).unwrap()
    }

    fn head(target: &str, headers: &[(&str, &str)]) -> Parts {
        let mut request = http::Request::builder().uri(target);
        for (name, value) in headers {
            request = request.header(*name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        request.body(()).unwrap().into_parts().0
    }

    /// A table with one key, `good`, that belongs to 7.
    fn table(sql: &str, database: Option<&str>, key: &str) -> Result<Option<i64>, Infallible> {
        assert_eq!((sql, database), (SQL, None));
        Ok((key == "good").then_some(7))
    }

    type Checked = Result<Option<Found<i64>>, Denied<Infallible>>;

    fn check(settings: &Settings, target: &str, headers: &[(&str, &str)]) -> Checked {
        checked(settings, &head(target, headers))
    }

    fn checked(settings: &Settings, head: &Parts) -> Checked {
        settings.ask(head)?.map(|key| settings.find(&key, table)).transpose()
    }

    #[test]
    fn a_key_is_taken_from_bearer_header_or_query() {
        let settings = settings(&format!("bearer: ON, header: X-API-Key, query: key, sql: '{SQL}'"));
        let row = Ok(Some(Found::Row(7)));
        assert_eq!(check(&settings, "/", &[("authorization", "Bearer good")]), row);
        assert_eq!(check(&settings, "/", &[("authorization", "bEARER   good")]), row);
        assert_eq!(check(&settings, "/", &[("x-api-key", "good")]), row);
        assert_eq!(check(&settings, "/?a=b&key=good", &[]), row);
        assert_eq!(check(&settings, "/", &[]), Err(Denied::Missing));
        assert_eq!(check(&settings, "/?other=good", &[]), Err(Denied::Missing));
    }

    #[test]
    fn the_first_place_that_has_a_key_decides() {
        let settings = settings(&format!("bearer: ON, header: X-API-Key, query: key, sql: '{SQL}'"));
        let good_header = ("x-api-key", "good");
        assert_eq!(check(&settings, "/?key=good", &[("authorization", "Bearer x"), good_header]), Err(Denied::Bad));
        assert_eq!(check(&settings, "/?key=good", &[("x-api-key", "x")]), Err(Denied::Bad));
        assert_eq!(check(&settings, "/?key=x", &[good_header]), Ok(Some(Found::Row(7))));
        assert_eq!(check(&settings, "/?key=x&key=good", &[]), Ok(Some(Found::Row(7))));
        assert_eq!(check(&settings, "/?key=good&key=x", &[]), Err(Denied::Bad));
        assert_eq!(check(&settings, "/?key=good&key[]=x", &[]), Err(Denied::Bad));
        assert_eq!(check(&settings, "/?key=x&key%5B%5D=good", &[]), Ok(Some(Found::Row(7))));
        assert_eq!(check(&settings, "/?key=good&key=", &[]), Err(Denied::Missing));
        let basic = ("authorization", "Basic Z29vZA==");
        assert_eq!(check(&settings, "/?key=good", &[basic]), Ok(Some(Found::Row(7))));
    }

    #[test]
    fn only_the_places_that_are_named_count() {
        let settings = settings(&format!("query: key, sql: '{SQL}'"));
        assert_eq!(check(&settings, "/", &[("authorization", "Bearer good")]), Err(Denied::Missing));
    }

    #[test]
    fn an_empty_key_is_none() {
        let settings = settings(&format!("bearer: ON, header: X-API-Key, query: key, sql: '{SQL}'"));
        for target in ["/?key=", "/?key", "/?key=&x=1"] {
            assert_eq!(
                check(&settings, target, &[("authorization", "Bearer "), ("x-api-key", "")]),
                Err(Denied::Missing)
            );
        }
    }

    #[test]
    fn a_key_in_the_query_is_decoded_once() {
        let settings = settings(&format!("query: my key, sql: '{SQL}'"));
        let key = |target: &str| settings.presented(&head(target, &[]));
        let shown = |text: &str| Presented::Key(Key(text.to_owned()));
        assert_eq!(key("/?my+key=a+b%2Bc%2541"), shown("a b+c%41"));
        assert_eq!(key("/?m%79%20key=%C3%A9"), shown("é"));
        assert_eq!(key("/?my+key=%zz"), shown("%zz"));
        assert_eq!(key("/?my+key=%ff"), Presented::Unreadable);
        assert_eq!(check(&settings, "/?my+key=%ff", &[]), Err(Denied::Bad));
    }

    #[test]
    fn a_key_that_is_not_required_may_be_absent_but_not_wrong() {
        let settings = settings(&format!("query: key, sql: '{SQL}', required: OFF"));
        assert_eq!(check(&settings, "/", &[]), Ok(None));
        assert_eq!(check(&settings, "/?key=x", &[]), Err(Denied::Bad));
        assert_eq!(check(&settings, "/?key=good", &[]), Ok(Some(Found::Row(7))));
    }

    #[test]
    fn options_passes_and_so_does_all_where_no_key_is_asked_for() {
        let settings = settings(&format!("query: key, sql: '{SQL}'"));
        let mut preflight = head("/?key=x", &[]);
        preflight.method = Method::OPTIONS;
        assert_eq!(checked(&settings, &preflight), Ok(None));
        let off = apply(settings, "auth.api-key: OFF").unwrap();
        assert_eq!(check(&off, "/", &[]), Ok(None));
    }

    #[test]
    fn a_lookup_that_fails_is_passed_on() {
        let settings = settings(&format!("query: key, database: main, sql: '{SQL}'"));
        let found =
            settings.find(&Key("x".to_owned()), |_, database, _| Err::<Option<()>, _>(database.map(String::from)));
        assert_eq!(found, Err(Denied::Failed(Some(String::from("main")))));
        assert_eq!(settings.database(), Some(Some("main")));
        assert_eq!(settings.deny(&Denied::Failed(()), &envelope::Settings::default()).status(), 500);
    }

    #[test]
    fn keys_are_found_by_their_hash_with_their_name() {
        // The hash of `secret`.
        let hash = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
        let settings = settings(&format!("query: key, keys: ['{hash} the office']"));
        assert_eq!(check(&settings, "/?key=secret", &[]), Ok(Some(Found::Named(Some("the office".into())))));
        assert_eq!(check(&settings, &format!("/?key={hash}"), &[]), Err(Denied::Bad));
        assert_eq!(settings.database(), None);
    }

    #[test]
    fn a_denied_request_gets_401_with_a_challenge_for_each_place() {
        let settings = settings(&format!("bearer: ON, header: X-API-Key, query: 'k\"é', sql: '{SQL}'"));
        let response = settings.deny(&Denied::<()>::Missing, &envelope::Settings::default());
        assert_eq!(response.status(), 401);
        let challenges = |response: &Response| {
            let values = response.headers().get_all(WWW_AUTHENTICATE).iter();
            values.map(|value| value.to_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let in_header = r#"ApiKey realm="api", in="header", name="X-API-Key""#;
        let in_query = r#"ApiKey realm="api", in="query", name="k%22%C3%A9""#;
        assert_eq!(challenges(&response), [r#"Bearer realm="api""#, in_header, in_query]);
        let crate::http::Body::Full(body) = response.into_body() else { panic!("a body was expected") };
        assert_eq!(body, r#"{"status":"Fail","error_message":"Need api key"}"#);
        let response = settings.deny(&Denied::<()>::Bad, &envelope::Settings::default());
        assert_eq!(challenges(&response)[0], r#"Bearer realm="api", error="invalid_token""#);
        let crate::http::Body::Full(body) = response.into_body() else { panic!("a body was expected") };
        assert_eq!(body, r#"{"status":"Fail","error_message":"Bad api key"}"#);
    }

    #[test]
    fn a_key_is_never_printed() {
        assert_eq!(format!("{:?}", Presented::Key(Key(String::from("secret")))), "Key(***)");
    }

    #[test]
    fn the_example_is_without_a_mistake() {
        apply(Settings::default(), Settings::DIRECTIVES[0].example).unwrap();
    }
}
