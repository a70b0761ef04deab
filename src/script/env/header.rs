//! Header fields as an env has them: `HTTP_USER_AGENT` is `user-agent`.

use http::{HeaderMap, HeaderValue};
use rhai::{Dynamic, ImmutableString};

use crate::http::Request;

/// The names that scripts ask for most; they get a getter of their own.
pub(super) const FREQUENT: &[&str] = &[
    "HTTP_ACCEPT",
    "HTTP_ACCEPT_ENCODING",
    "HTTP_ACCEPT_LANGUAGE",
    "HTTP_AUTHORIZATION",
    "HTTP_CONNECTION",
    "HTTP_COOKIE",
    "HTTP_IF_MODIFIED_SINCE",
    "HTTP_IF_NONE_MATCH",
    "HTTP_ORIGIN",
    "HTTP_REFERER",
    "HTTP_USER_AGENT",
    "HTTP_X_API_KEY",
    "HTTP_X_FORWARDED_FOR",
    "HTTP_X_REQUESTED_WITH",
];

/// Fields that are no `HTTP_…` keys, as in h2o: they belong to the connection or have a key of
/// their own.
const HIDDEN: [&str; 5] = ["content-length", "content-type", "expect", "transfer-encoding", "upgrade"];

/// What the variable `HTTP_…` is, or `()`.
pub(super) fn variable(request: &Request, key: &str) -> Dynamic {
    let Some(name) = key.strip_prefix("HTTP_") else { return Dynamic::UNIT };
    // Hardly a name is longer than this, and so it costs no allocation.
    let (mut short, mut long) = ([0; 64], Vec::new());
    let space = short.get_mut(..name.len()).unwrap_or_else(|| {
        long.resize(name.len(), 0);
        &mut long
    });
    let Some(name) = header_name(name, space) else { return Dynamic::UNIT };
    if HIDDEN.contains(&name) { Dynamic::UNIT } else { joined(&request.head.headers, name) }
}

/// All `HTTP_…` variables.
pub(super) fn variables(request: &Request) -> impl Iterator<Item = (String, Dynamic)> {
    let headers = &request.head.headers;
    let is_shown = |name: &&str| !name.contains('_') && !HIDDEN.contains(name);
    headers
        .keys()
        .map(http::HeaderName::as_str)
        .filter(is_shown)
        .map(|name| (format!("HTTP_{}", name.to_ascii_uppercase().replace('-', "_")), joined(headers, name)))
}

/// `HTTP_HOST`: the authority of the request's target, else `Host`, else the host's key in the
/// configuration.
pub(super) fn host(request: &Request) -> Dynamic {
    if let Some(authority) = request.head.uri.authority() {
        let authority = authority.as_str();
        return authority.rsplit_once('@').map_or(authority, |(_, host)| host).into();
    }
    let host = joined(&request.head.headers, "host");
    if host.is_unit() { (&*request.server_name).into() } else { host }
}

/// The value of a header field, `()` if there is none. Repeated ones are joined as RFC 9110 §5.3
/// has it, cookies as RFC 6265 §4.2 has it; of `Set-Cookie`, which can't be joined, the last counts.
pub(super) fn joined(headers: &HeaderMap, name: &str) -> Dynamic {
    let mut values = headers.get_all(name).iter();
    let Some(first) = values.next() else { return Dynamic::UNIT };
    let separator = match name {
        "cookie" => "; ",
        "set-cookie" => return text(values.next_back().unwrap_or(first)).into(),
        _ => ", ",
    };
    let mut all = text(first);
    for value in values {
        all += separator;
        all += text(value);
    }
    all.into()
}

/// A field's value as text: UTF-8 if it is, else each byte is a character (RFC 9110 §5.5).
pub(super) fn text(value: &HeaderValue) -> ImmutableString {
    match std::str::from_utf8(value.as_bytes()) {
        Ok(text) => text.into(),
        Err(_) => value.as_bytes().iter().map(|&byte| char::from(byte)).collect::<String>().into(),
    }
}

/// `USER_AGENT` as `user-agent`, written to `space`. A header field that has `_` in its name is
/// none of these: it would be taken for another that has `-` there.
fn header_name<'a>(name: &str, space: &'a mut [u8]) -> Option<&'a str> {
    for (to, from) in space.iter_mut().zip(name.bytes()) {
        *to = match from {
            b'_' => b'-',
            b'a'..=b'z' | b'-' => return None,
            other => other.to_ascii_lowercase(),
        };
    }
    std::str::from_utf8(space).ok()
}
