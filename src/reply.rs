//! A reply as handlers make it, and the response that it becomes.

use std::num::NonZeroU64;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};

use crate::http::{Body, Response, is_connections_own};

mod content;
mod cookie;

pub use content::{Content, Shown};
pub use cookie::{Cookie, SameSite};

/// h2o's status for "not mine": the next handler of the path answers.
pub const PASS: u16 = 399;

/// Status, headers and body, before they are sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// 200 to 999, or [`PASS`].
    pub status: u16,
    /// Checked names and values, without those that belong to the connection.
    pub headers: HeaderMap,
    /// The body.
    pub body: Content,
    /// The `content-length` that a handler named: it counts for HEAD alone, any other is counted.
    length: Option<NonZeroU64>,
    /// Whether there may be headers that set variables: most replies need not be looked through.
    has_variables: bool,
}

/// Most header lines of a reply: clients take no more than some hundred to some thousand (curl 5,000, proxies 100).
const LINES: usize = 1000;

/// Headers that a reply has once (RFC 9110 §5.3): which of two a client takes nobody knows.
const SINGLE: [HeaderName; 11] = [
    header::AGE,
    header::CONTENT_LOCATION,
    header::CONTENT_RANGE,
    header::CONTENT_TYPE,
    header::DATE,
    header::ETAG,
    header::EXPIRES,
    header::LAST_MODIFIED,
    header::LOCATION,
    header::RETRY_AFTER,
    header::SERVER,
];

/// A header whose name begins so sets a variable of the environment, as in h2o, and is not sent.
const VARIABLE: &str = "x-fallthru-set-";

impl Reply {
    /// A reply with a `content-type`.
    pub fn new(status: u16, content_type: &'static str, body: impl Into<Bytes>) -> Reply {
        let mut headers = HeaderMap::with_capacity(4);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        Reply { status, headers, body: body.into().into(), length: None, has_variables: false }
    }

    /// 200 with a body alone.
    pub fn of(body: Content) -> Reply {
        Reply { body, ..Reply::empty(200) }
    }

    /// A reply without headers and body.
    pub fn empty(status: u16) -> Reply {
        let headers = HeaderMap::with_capacity(4);
        Reply { status, headers, body: Content::default(), length: None, has_variables: false }
    }

    /// Adds a header line for each line of `value`, as Rack has it. Headers that are the
    /// connection's own (RFC 9110 §7.6.1) and the length, which is counted, are left out.
    ///
    /// # Errors
    /// If the name is no token or a value has control characters.
    pub fn add_header(&mut self, name: &str, value: &str) -> Result<(), String> {
        let name = header_name(name)?;
        if is_connections_own(&name) {
            return Ok(());
        }
        if name == header::CONTENT_LENGTH {
            self.length = value.trim().parse().ok();
            return Ok(());
        }
        self.has_variables |= matches!(name.as_str().as_bytes(), [b'x', ..]) && name.as_str().starts_with(VARIABLE);
        if memchr::memchr(b'\n', value.as_bytes()).is_none() {
            return self.append(&name, value);
        }
        value.split('\n').try_for_each(|line| self.append(&name, line))
    }

    /// Takes the body of another reply, with those of its headers that go with it: that this one hasn't.
    pub fn take_body(&mut self, other: Reply) {
        for name in other.headers.keys().filter(|it| !self.headers.contains_key(*it)).cloned().collect::<Vec<_>>() {
            self.headers.extend(other.headers.get_all(&name).iter().map(|value| (name.clone(), value.clone())));
        }
        self.body = other.body;
        self.has_variables |= other.has_variables;
    }

    fn append(&mut self, name: &HeaderName, line: &str) -> Result<(), String> {
        if self.headers.len() >= LINES {
            return Err(format!("the reply has too many headers: more than {LINES} lines"));
        }
        if self.headers.append(name, header_value(name, line)?) && SINGLE.contains(name) {
            let hint = "a name is the same in any letter case; `reply.header(name, value)` puts it in the place of what it was";
            return Err(format!("the header `{name}` comes twice, a reply has it once\nhint: {hint}"));
        }
        Ok(())
    }

    /// Takes the variables that the headers set out of them: upper-case names and their values.
    pub fn take_variables(&mut self) -> Vec<(String, String)> {
        if !std::mem::take(&mut self.has_variables) {
            return Vec::new();
        }
        let sets = |name: &&HeaderName| name.as_str().starts_with(VARIABLE);
        let names: Vec<HeaderName> = self.headers.keys().filter(sets).cloned().collect();
        let variable = |name: HeaderName| {
            // Of several lines the first counts, as in h2o.
            let value = self.headers.remove(&name)?;
            let variable = name.as_str()[VARIABLE.len()..].to_ascii_uppercase().replace('-', "_");
            Some((variable, String::from_utf8_lossy(value.as_bytes()).into_owned()))
        };
        names.into_iter().filter_map(variable).collect()
    }

    /// The response to a request for `method`. What a status must not have (RFC 9110 §6.4.1) is left out, and so is a
    /// file: [`Shown::respond`] answers with that.
    pub fn into_response(self, method: &Method) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let bodiless = has_no_content(status);
        let body = match self.body {
            Content::Bytes(bytes) if !bodiless && !bytes.is_empty() => Body::Full(bytes),
            _ => Body::Empty,
        };
        let mut response = Response::new(body);
        *response.status_mut() = status;
        *response.headers_mut() = self.headers;
        // A script that answers HEAD by itself may know the length of what it would have sent.
        if let Some(length) = self.length
            && response.body().is_empty()
            && !bodiless
            && method == Method::HEAD
        {
            response.headers_mut().insert(header::CONTENT_LENGTH, length.get().into());
        }
        response
    }
}

/// Whether what a status stands for has no content, not even an empty one: 205 neither (RFC 9110 §15.3.6).
fn has_no_content(status: StatusCode) -> bool {
    matches!(status, StatusCode::NO_CONTENT | StatusCode::RESET_CONTENT | StatusCode::NOT_MODIFIED)
}

/// Checks a status.
///
/// # Errors
/// If it is none that a handler can answer with.
pub fn status(number: i64) -> Result<u16, String> {
    u16::try_from(number)
        .ok()
        .filter(|it| (200..=999).contains(it))
        .ok_or_else(|| format!("the status {number} is not within 200 to 999"))
}

fn header_name(name: &str) -> Result<HeaderName, String> {
    HeaderName::from_bytes(name.as_bytes())
        .map_err(|_| format!("the header name {} is not a token (RFC 9110 §5.1)", quoted(name)))
}

fn header_value(name: &HeaderName, line: &str) -> Result<HeaderValue, String> {
    HeaderValue::from_str(line.trim_matches([' ', '\t']))
        .map_err(|_| format!("the value of the header `{name}` has control characters: {}", line.escape_debug()))
}

fn quoted(text: &str) -> String {
    format!("`{}`", text.escape_debug())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(method: &str, reply: Reply) -> Response {
        reply.into_response(&method.parse().unwrap())
    }

    #[test]
    fn a_value_of_several_lines_becomes_several_headers() {
        let mut reply = Reply::empty(200);
        reply.add_header("X-Many", "123\n456").unwrap();
        let values: Vec<_> = reply.headers.get_all("x-many").iter().collect();
        assert_eq!(values, ["123", "456"]);
    }

    #[test]
    fn a_header_cannot_be_smuggled_in() {
        let mut reply = Reply::empty(200);
        assert!(reply.add_header("x-bad\r\nx-evil", "1").is_err());
        assert!(reply.add_header("x-bad", "1\rx-evil: 2").is_err());
        assert!(reply.add_header("", "1").is_err());
        assert!(reply.add_header("x y", "1").is_err());
        assert!(reply.headers.is_empty());
    }

    #[test]
    fn header_lines_are_bounded_however_they_are_given() {
        let refused = Err("the reply has too many headers: more than 1000 lines".to_owned());
        let mut reply = Reply::empty(200);
        assert_eq!(reply.add_header("x-a", &"\n".repeat(999)), Ok(()));
        assert_eq!(reply.add_header("x-b", ""), refused);
        let mut reply = Reply::empty(200);
        assert_eq!(reply.add_header("x-a", &"\n".repeat(1000)), refused);
        let mut reply = Reply::empty(200);
        assert_eq!((0..1001).try_for_each(|number| reply.add_header(&format!("x{number}"), "")), refused);
    }

    #[test]
    fn headers_of_the_connection_are_left_out() {
        let mut reply = Reply::empty(200);
        for name in ["Connection", "transfer-encoding", "Content-Length", "keep-alive", "Trailer", "datagram-flow-id"] {
            reply.add_header(name, "5").unwrap();
        }
        assert!(reply.headers.is_empty());
    }

    #[test]
    fn variables_are_taken_out_of_the_headers() {
        let mut reply = Reply::empty(200);
        assert_eq!(reply.take_variables(), []);
        for (name, value) in [("X-Fallthru-Set-Remote-User", "ann\nbob"), ("x-a", "1"), ("x-fallthru-set-b", "2")] {
            reply.add_header(name, value).unwrap();
        }
        let variables = [("REMOTE_USER", "ann"), ("B", "2")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(reply.take_variables(), variables);
        assert_eq!(reply.headers.keys().collect::<Vec<_>>(), ["x-a"]);
        assert_eq!(reply.take_variables(), []);
    }

    #[test]
    fn a_status_without_content_loses_its_body() {
        for status in [204, 205, 304] {
            assert!(response("GET", Reply::new(status, "text/plain", "gone")).body().is_empty());
        }
    }

    #[test]
    fn a_length_counts_for_head_without_a_body_alone() {
        let reply = |status, body: &'static str| {
            let mut reply = Reply::new(status, "text/plain", body);
            reply.add_header("Content-Length", "1234").unwrap();
            reply
        };
        let length = |method, reply| {
            response(method, reply).headers().get("content-length").map(|it| it.to_str().unwrap().to_owned())
        };
        assert_eq!(length("HEAD", reply(200, "")).as_deref(), Some("1234"));
        for (method, status, body) in [("GET", 200, ""), ("GET", 200, "a"), ("HEAD", 200, "a"), ("HEAD", 204, "")] {
            assert_eq!(length(method, reply(status, body)), None, "{method} {status} {body}");
        }
    }

    #[test]
    fn a_status_is_within_its_range() {
        assert_eq!(status(200), Ok(200));
        assert_eq!(status(399), Ok(PASS));
        for number in [-1, 0, 99, 100, 199, 1000, i64::MAX] {
            assert!(status(number).is_err(), "{number}");
        }
    }
}
