//! The answer to a test's request, as the test sees it.

use std::fmt;
use std::rc::Rc;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use rhai::{Array, Dynamic, ImmutableString, NativeCallContext};

use crate::script::{Result, Wrong, parse_json, raise};

/// What of a body is shown in a message, in characters.
const SHOWN: usize = 400;

/// An answer.
#[derive(Clone)]
pub(super) struct Answer(Rc<Inner>);

struct Inner {
    /// What was asked, as `GET /projects`.
    asked: String,
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

/// The headers of an answer.
#[derive(Clone)]
struct Headers(Rc<Inner>);

impl Answer {
    pub(super) fn new(asked: String, response: http::Response<Bytes>) -> Answer {
        let (head, body) = response.into_parts();
        Answer(Rc::new(Inner { asked, status: head.status, headers: head.headers, body }))
    }

    pub(super) fn status(&self) -> u16 {
        self.0.status.as_u16()
    }

    fn body(&self) -> Dynamic {
        let text = std::str::from_utf8(&self.0.body);
        text.map_or_else(|_| Dynamic::from_blob(self.0.body.to_vec()), |text| ImmutableString::from(text).into())
    }

    fn json(&self, call: &NativeCallContext) -> Result<Dynamic> {
        parse_json(&self.0.body).map_err(|unread| match Wrong::from(unread) {
            Wrong::Stopped(stop) => Wrong::from(stop).raise(call),
            wrong => {
                let why = wrong.to_string();
                let why = why.strip_prefix("this is no JSON: ").unwrap_or(&why);
                raise(call, format!("the body is no JSON: {why}\n{self}"))
            }
        })
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} was answered with {}", self.0.asked, self.status())?;
        let text = String::from_utf8_lossy(&self.0.body);
        let shown: String = text.chars().take(SHOWN).collect();
        match shown.trim_end() {
            "" => f.write_str(" and no body"),
            shown => write!(f, ": {shown}{}", if text.chars().nth(SHOWN).is_some() { "…" } else { "" }),
        }
    }
}

impl Headers {
    fn get(&self, name: &str) -> Dynamic {
        let lines: Vec<_> = self.lines(name).collect();
        if lines.is_empty() { Dynamic::UNIT } else { lines.join(", ").into() }
    }

    fn lines(&self, name: &str) -> impl Iterator<Item = String> {
        let lines = self.0.headers.get_all(name.to_ascii_lowercase()).iter();
        lines.map(|line| String::from_utf8_lossy(line.as_bytes()).into_owned())
    }
}

pub(super) fn register(engine: &mut rhai::Engine) {
    engine
        .register_type_with_name::<Answer>("Answer")
        .register_get("status", |answer: &mut Answer| rhai::INT::from(answer.status()))
        .register_get("headers", |answer: &mut Answer| Headers(answer.0.clone()))
        .register_get("body", |answer: &mut Answer| answer.body())
        .register_get("json", |call: NativeCallContext, answer: &mut Answer| answer.json(&call))
        .register_type_with_name::<Headers>("Headers")
        .register_indexer_get(|headers: &mut Headers, name: &str| headers.get(name))
        .register_fn("all", |headers: &mut Headers, name: &str| {
            headers.lines(name).map(Dynamic::from).collect::<Array>()
        })
        .register_fn("contains", |headers: &mut Headers, name: &str| headers.lines(name).next().is_some())
        .register_fn("keys", |headers: &mut Headers| {
            headers.0.headers.keys().map(|it| Dynamic::from(it.to_string())).collect::<Array>()
        });
    for name in ["to_string", "print", "to_debug", "debug"] {
        engine.register_fn(name, |answer: &mut Answer| answer.to_string());
        engine.register_fn(name, |headers: &mut Headers| format!("{:?}", headers.0.headers));
    }
}
