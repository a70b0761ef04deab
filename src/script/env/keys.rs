//! The table of an env's fixed names: what each is, and how it is read from the request.

use rhai::{Dynamic, ImmutableString};

use super::fields::{Fields, Source};
use super::{Env, Errors, Input, header};
use crate::http::{Endpoint, Request, Upload};
use crate::script::raise::Wrong;

/// One fixed name of an env.
pub struct Key {
    /// How scripts write it.
    pub name: &'static str,
    /// Whose it is.
    pub kind: Kind,
    /// What it is.
    pub summary: &'static str,
    pub(super) value: fn(&Env) -> Result<Dynamic, Wrong>,
}

/// Whose name a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Rack's or CGI's: one of `env.keys()`.
    Rack,
    /// Ours, beside them.
    Beside,
}

/// Finds the key of this name.
pub(super) fn find(name: &str) -> Option<&'static Key> {
    KEYS.binary_search_by(|key| key.name.cmp(name)).ok().map(|place| &KEYS[place])
}

const fn rack(name: &'static str, summary: &'static str, value: fn(&Env) -> Result<Dynamic, Wrong>) -> Key {
    Key { name, kind: Kind::Rack, summary, value }
}

const fn beside(name: &'static str, summary: &'static str, value: fn(&Env) -> Result<Dynamic, Wrong>) -> Key {
    Key { name, kind: Kind::Beside, summary, value }
}

/// All fixed names, sorted; header fields (`HTTP_…`) come to them.
pub const KEYS: &[Key] = &[
    rack("CONTENT_LENGTH", "length of the body in bytes, also of a chunked one; absent without a body", |env| {
        Ok(content_length(&env.0.request))
    }),
    rack("CONTENT_TYPE", "the header field as it came", |env| {
        Ok(header::joined(&env.0.request.head.headers, "content-type"))
    }),
    rack("HTTP_HOST", "the authority that the client asked for, else the host's key in the configuration", |env| {
        Ok(header::host(&env.0.request))
    }),
    rack("PATH_INFO", "what is left of the raw path after SCRIPT_NAME", |env| Ok(text(env.0.request.path_info()))),
    rack("QUERY_STRING", "the query without its `?`, undecoded; empty if there is none", |env| {
        Ok(text(env.0.request.query()))
    }),
    rack("REMOTE_ADDR", "the client's address; `localhost` on a unix socket", |env| {
        Ok(text(&env.0.request.connection.remote.to_string()))
    }),
    rack("REMOTE_PORT", "the client's port; absent on a unix socket", |env| Ok(port(&env.0.request.connection.remote))),
    rack("REQUEST_METHOD", "the method as it came", |env| Ok(text(env.0.request.head.method.as_str()))),
    rack("SCRIPT_NAME", "the path's key in the configuration without a `/` at its end", |env| {
        Ok(text(&env.0.request.script_name))
    }),
    rack("SERVER_ADDR", "the address that the client connected to; `localhost` on a unix socket", |env| {
        Ok(text(&env.0.request.connection.local.to_string()))
    }),
    rack("SERVER_NAME", "the host's key in the configuration", |env| Ok(text(&env.0.request.server_name))),
    rack("SERVER_PORT", "the port that the client connected to; absent on a unix socket", |env| {
        Ok(port(&env.0.request.connection.local))
    }),
    rack("SERVER_PROTOCOL", "the version of HTTP", |env| Ok(protocol(&env.0.request))),
    rack("SERVER_SOFTWARE", "the value of `server-name`", |env| Ok(env.0.software.clone().into())),
    beside("auth", "whom the request's API key belongs to, or `()`", |env| Ok(env.0.auth.borrow().clone())),
    beside("body", "the body as text; empty without one", |env| Ok(env.text()?.into())),
    beside("cookies", "the cookies; of a repeated one the first counts", |env| {
        Ok(fields(Source::Pairs(env.cookies().clone())))
    }),
    beside("files", "the files of a form that was posted, by the names of their fields", |env| {
        Ok(fields(Source::Pairs(env.form()?.files.clone())))
    }),
    beside("form", "the fields of a form that was posted; of a repeated one the last counts", |env| {
        Ok(fields(Source::Pairs(env.form()?.fields.clone())))
    }),
    beside(
        "format",
        "the form that the client wants: `json`, `html`, …, by the route's suffixes or `Accept`, or `()`",
        |env| Ok(env.format()),
    ),
    beside("headers", "the header fields by name, in any letter case", |env| {
        Ok(fields(Source::Headers(env.0.request.clone())))
    }),
    beside("id", "the request's number, as logs have it", |env| Ok(text(&env.0.request.id.to_string()))),
    beside("json", "the value of a JSON body, or `()`", |env| Ok(env.json()?.clone())),
    beside("params", "the first that has the name: path, query, body", |env| Ok(fields(Source::Params(env.clone())))),
    beside("path", "what the route's pattern took from the path, decoded", |env| {
        Ok(fields(Source::Pairs(env.0.path.borrow().clone())))
    }),
    beside("query", "the parameters of the query; of a repeated one the last counts", |env| {
        Ok(fields(Source::Pairs(env.query().clone())))
    }),
    rack("rack.errors", "writes to the error log", |env| Ok(Dynamic::from(Errors::new(env.0.request.clone())))),
    rack("rack.hijack?", "false", |_| Ok(false.into())),
    rack("rack.input", "reads the body; absent without one", |env| Ok(input(env))),
    rack("rack.multiprocess", "true: each worker has its own script", |_| Ok(true.into())),
    rack("rack.multithread", "false: no two threads share a script", |_| Ok(false.into())),
    rack("rack.run_once", "false", |_| Ok(false.into())),
    rack("rack.url_scheme", "`http`", |_| Ok(text("http"))),
];

fn port(end: &Endpoint) -> Dynamic {
    end.port().map_or(Dynamic::UNIT, |port| text(itoa::Buffer::new().format(port)))
}

struct Frequent {
    empty: ImmutableString,
    texts: [ImmutableString; 8],
}

thread_local! {
    /// What nearly every request has; making such a string anew costs an allocation.
    static FREQUENT: Frequent = Frequent {
        empty: ImmutableString::new(),
        texts: ["/", "GET", "POST", "HEAD", "PUT", "DELETE", "http", "HTTP/1.1"].map(Into::into),
    };
}

fn text(value: &str) -> Dynamic {
    FREQUENT
        .with(|frequent| match value.len() {
            0 => Some(frequent.empty.clone()),
            1..=8 => frequent.texts.iter().find(|it| it.as_str() == value).cloned(),
            _ => None,
        })
        .unwrap_or_else(|| value.into())
        .into()
}

fn fields(source: Source) -> Dynamic {
    Dynamic::from(Fields::new(source))
}

fn protocol(request: &Request) -> Dynamic {
    text(match request.head.version {
        http::Version::HTTP_10 => "HTTP/1.0",
        http::Version::HTTP_2 => "HTTP/2",
        http::Version::HTTP_3 => "HTTP/3",
        _ => "HTTP/1.1",
    })
}

/// A request that declares a length of 0 has a body, an empty one.
fn has_body(request: &Request) -> bool {
    !matches!(*request.upload.borrow(), Upload::None)
        || request.head.headers.contains_key(http::header::CONTENT_LENGTH)
        || request.head.headers.contains_key(http::header::TRANSFER_ENCODING)
}

fn content_length(request: &Request) -> Dynamic {
    if !has_body(request) {
        return Dynamic::UNIT;
    }
    text(itoa::Buffer::new().format(request.upload.borrow().len().unwrap_or(0)))
}

fn input(env: &Env) -> Dynamic {
    if !has_body(&env.0.request) {
        return Dynamic::UNIT;
    }
    Dynamic::from(env.0.input.get_or_init(|| Input::whole(env.received().clone())).clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_says_what_each_is() {
        assert!(KEYS.is_sorted_by(|left, right| left.name < right.name));
        assert!(KEYS.iter().all(|key| !key.summary.is_empty() && find(key.name).is_some()));
    }
}
