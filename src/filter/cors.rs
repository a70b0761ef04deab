//! `cors`: which pages of other origins may read the answers, as browsers ask and check it (the
//! Fetch standard, "HTTP-network-or-cache fetch" and "CORS check").

use std::sync::Arc;

use http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, HeaderMap, HeaderName, HeaderValue, ORIGIN, VARY,
};
use http::request::Parts;
use http::{Method, StatusCode};

use super::headers::has_item;
use crate::directive::{self, Directive, Level, Repeat};
use crate::http::Response;

mod origin;
mod read;

use origin::Origins;

/// Which pages of other origins may read the answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// `None`: nothing is said, so none.
    pub cors: Option<Arc<Cors>>,
}

/// What browsers are told; ready to be sent.
#[derive(Debug, PartialEq, Eq)]
pub struct Cors {
    origins: Origins,
    methods: HeaderValue,
    headers: Asked,
    expose: Option<HeaderValue>,
    credentials: Credentials,
    max_age: Option<HeaderValue>,
}

/// Which headers a page may send.
#[derive(Debug, PartialEq, Eq)]
enum Asked {
    /// Those that it asks for.
    All,
    Listed(HeaderValue),
}

/// Whether a page may send cookies, and read what is answered to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Credentials {
    Omitted,
    Included,
}

impl directive::Settings for Settings {
    const DIRECTIVES: &'static [Directive<Settings>] = &[Directive {
        name: "cors",
        levels: &[Level::Global, Level::Host, Level::Path],
        repeat: Repeat::Once,
        summary: "Lets pages of other origins use the path: `origins` (a list of `https://example.com` and \
                  `https://*.example.com`, or `\"*\"`, the default), `methods` (default: GET, HEAD, POST, PUT, PATCH, \
                  DELETE), `headers` that they may send (default: those that they ask for), `expose-headers` that they \
                  may read, `credentials: ON` for cookies (not with `\"*\"`), `max-age` of a browser's permission. `ON` \
                  lets every origin in, without credentials; `OFF` none. Preflights are answered with 204 before API \
                  keys are checked and without asking a handler; every other answer, errors too, carries the headers, \
                  unless it has an `access-control-allow-origin` of its own. Default: `OFF`.",
        example: "cors:\n  origins: [\"https://app.example.com\", \"https://*.example.org\"]\n  \
                  methods: [GET, POST]\n  headers: [Content-Type, X-API-Key]\n  expose-headers: [X-Total]\n  \
                  credentials: ON\n  max-age: 10m",
        apply: |settings, node| {
            settings.cors = if node.is_off() { None } else { Some(Arc::new(read::read(node)?)) };
            Ok(())
        },
    }];
}

impl Cors {
    /// The answer to a preflight, if the request is one; another OPTIONS is the handlers'.
    pub(super) fn preflight(&self, head: &Parts) -> Option<Response> {
        if head.method != Method::OPTIONS {
            return None;
        }
        let is_preflight =
            head.headers.contains_key(ORIGIN) && head.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
        if !is_preflight {
            return None;
        }
        let mut response = Response::default();
        *response.status_mut() = StatusCode::NO_CONTENT;
        // A browser to which nothing is allowed says so to its page; that needs no other status.
        if self.origins.allowed(&head.headers).is_some() {
            let headers = response.headers_mut();
            headers.insert(ACCESS_CONTROL_ALLOW_METHODS, self.methods.clone());
            match &self.headers {
                Asked::Listed(names) => {
                    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, names.clone());
                }
                Asked::All => {
                    vary(headers, &HeaderValue::from_static("Access-Control-Request-Headers"));
                    for names in head.headers.get_all(ACCESS_CONTROL_REQUEST_HEADERS) {
                        headers.append(ACCESS_CONTROL_ALLOW_HEADERS, names.clone());
                    }
                }
            }
            insert(headers, ACCESS_CONTROL_MAX_AGE, self.max_age.as_ref());
        }
        Some(response)
    }

    /// Says whose page may read an answer.
    pub(super) fn apply(&self, head: &Parts, headers: &mut HeaderMap) {
        // Whoever made the answer has said it, or `header.set` has.
        if headers.contains_key(ACCESS_CONTROL_ALLOW_ORIGIN) {
            return;
        }
        if self.origins != Origins::Any {
            // For caches: to another origin, or to none, it is another answer (Fetch, "CORS protocol and HTTP caches").
            vary(headers, &HeaderValue::from_static("Origin"));
        }
        let Some(origin) = self.origins.allowed(&head.headers) else { return };
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        if self.credentials == Credentials::Included {
            headers.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
        }
        // Only a preflight's answer has no use for it.
        if !headers.contains_key(ACCESS_CONTROL_ALLOW_METHODS) {
            insert(headers, ACCESS_CONTROL_EXPOSE_HEADERS, self.expose.as_ref());
        }
    }
}

fn insert(headers: &mut HeaderMap, name: HeaderName, value: Option<&HeaderValue>) {
    if let Some(value) = value {
        headers.entry(name).or_insert_with(|| value.clone());
    }
}

fn vary(headers: &mut HeaderMap, name: &HeaderValue) {
    let said = |it: &HeaderValue| it == "*" || has_item(it, name);
    if !headers.get_all(VARY).iter().any(said) {
        headers.append(VARY, name.clone());
    }
}
