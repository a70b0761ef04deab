//! What a specifier stands for, and how it is written for a request.

use std::io::Write;
use std::time::{Duration, Instant};

use http::header::{self, HeaderName};
use http::{HeaderMap, Version};

use super::clock::Clock;
use super::escape::Escape;
use super::record::{Needs, Record, Times};
use crate::auth::Redaction;
use crate::http::Request;

/// A part of a line that differs from request to request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Field {
    /// `%h`
    RemoteAddress,
    /// `%A`
    LocalAddress,
    /// `%{remote}p`
    RemotePort,
    /// `%p`
    LocalPort,
    /// `%b`: bytes of the body.
    Bytes,
    /// `%H`
    Protocol,
    /// `%m`
    Method,
    /// `%q`: with its `?`; empty where there is none.
    Query,
    /// `%r`: method, target and version.
    RequestLine,
    /// `%s`
    Status,
    /// `%t`, `%{FORMAT}t`
    Time(String),
    /// `%{sec}t` and its kin.
    Epoch(Unit),
    /// `%U`: without the query, as it came.
    Path,
    /// `%u`: what a handler set as `REMOTE_USER`.
    User,
    /// `%V`: whom the client asked for.
    Authority,
    /// `%v`: the host's key in the configuration.
    Host,
    /// `%{NAME}e`: what handlers and `setenv` set.
    Variable(String),
    /// `%{NAME}i`
    RequestHeader(HeaderName),
    /// `%{NAME}o`
    ReplyHeader(HeaderName),
    /// `%{duration}x` and its kin, in seconds.
    Span(Span),
    /// `%{request-header-bytes}x`: the request line and the header, with their line ends.
    RequestHeaderBytes,
    /// `%{request-header-text-bytes}x`: names and values of the header.
    RequestHeaderTextBytes,
    /// `%{request-header-count}x`
    RequestHeaderCount,
    /// `%{request-body-bytes}x`
    RequestBodyBytes,
    /// `%{connection-id}x`
    ConnectionId,
    /// `%{request-id}x`
    RequestId,
    /// `%{http1.request-index}x`
    RequestIndex,
    /// `%{error}x`
    Errors,
    /// What there is elsewhere: the name that identd knows, TLS, HTTP/2, proxies.
    Nothing,
}

/// How the time since 1970 is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Whole seconds.
    Seconds,
    /// Whole milliseconds.
    Milliseconds,
    /// Whole microseconds.
    Microseconds,
    /// Milliseconds of the current second, as three digits.
    Millisecond,
    /// Microseconds of the current second, as six digits.
    Microsecond,
}

/// A part of the time that a request takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// From the connection to the request's first byte.
    Connect,
    /// Until the end of its head.
    Header,
    /// Until the end of its body.
    Body,
    /// Until all of it is there.
    Request,
    /// From there until the reply is there.
    Process,
    /// From there until it was handed on.
    Response,
    /// All of it.
    Total,
}

/// What fields are written with.
pub struct Pen<'a> {
    pub line: &'a mut Vec<u8>,
    pub escape: Escape,
    pub redaction: &'a Redaction,
    pub clock: &'a mut Clock,
}

impl Field {
    /// What must be noted for it.
    pub fn needs(&self) -> Needs {
        let none = Needs::default();
        match self {
            Field::ReplyHeader(_) => Needs { headers: true, ..none },
            Field::Errors => Needs { errors: true, ..none },
            Field::Span(Span::Body | Span::Process | Span::Response) => Needs { times: true, ..none },
            Field::Span(_) => Needs { times: true, first_byte: true, ..none },
            _ => none,
        }
    }

    /// Appends the field; nothing, and returns `false`, where there is no such thing.
    pub fn write(&self, pen: &mut Pen<'_>, record: &Record<'_>) -> bool {
        let request = record.request;
        let connection = &request.connection;
        match self {
            Field::RemoteAddress => pen.shown(&connection.remote),
            Field::LocalAddress => pen.shown(&connection.local),
            Field::RemotePort => return pen.optional(connection.remote.port()),
            Field::LocalPort => return pen.optional(connection.local.port()),
            Field::Bytes => pen.number(record.bytes),
            Field::Protocol => pen.plain(protocol(request.head.version).as_bytes()),
            Field::Method => pen.text(request.head.method.as_str().as_bytes()),
            Field::Query => {
                if let Some(query) = request.head.uri.query() {
                    pen.plain(b"?");
                    pen.redaction.query_pieces(query.as_bytes(), |piece| pen.escape.write(pen.line, piece));
                }
            }
            Field::RequestLine => {
                pen.text(request.head.method.as_str().as_bytes());
                pen.plain(b" ");
                pen.hidden(target(request).as_bytes());
                pen.plain(b" ");
                pen.plain(protocol(request.head.version).as_bytes());
            }
            Field::Status => pen.plain(record.status.as_str().as_bytes()),
            Field::Time(format) => {
                let text = pen.clock.formatted(format);
                pen.escape.write(pen.line, text.as_bytes());
            }
            Field::Epoch(unit) => {
                let now = pen.clock.since_epoch();
                pen.shown(match unit {
                    Unit::Seconds => now.as_secs().to_string(),
                    Unit::Milliseconds => now.as_millis().to_string(),
                    Unit::Microseconds => now.as_micros().to_string(),
                    Unit::Millisecond => format!("{:03}", now.subsec_millis()),
                    Unit::Microsecond => format!("{:06}", now.subsec_micros()),
                });
            }
            Field::Path => pen.hidden(request.head.uri.path().as_bytes()),
            Field::User => return pen.variable(request, "REMOTE_USER", |value| !value.is_empty()),
            Field::Authority => {
                let host = || request.head.headers.get(header::HOST).map(|it| it.as_bytes());
                let authority = request.head.uri.authority().map(|it| it.as_str().as_bytes()).or_else(host);
                let Some(authority) = authority else { return false };
                // A name and a password may stand before the host.
                let start = memchr::memrchr(b'@', authority).map_or(0, |at| at + 1);
                pen.plain(if start > 0 { b"***@" } else { b"" });
                pen.text(&authority[start..]);
            }
            Field::Host => pen.text(request.server_name.as_bytes()),
            Field::Variable(name) => return pen.variable(request, name, |_| true),
            Field::RequestHeader(name) => {
                return pen.header(&request.head.headers, name, |pen, value| pen.hidden(value));
            }
            Field::ReplyHeader(name) => {
                return pen.header(record.headers, name, |pen, value| pen.made(request, value));
            }
            Field::Span(span) => {
                let Some(times) = &record.times else { return false };
                let span = span.of(times, request);
                pen.shown(format_args!("{}.{:06}", span.as_secs(), span.subsec_micros()));
            }
            Field::RequestHeaderBytes => {
                let head = &request.head;
                let line = head.method.as_str().len() + target(request).len() + protocol(head.version).len() + 4;
                pen.number((line + text_bytes(&head.headers) + 4 * head.headers.len() + 2) as u64);
            }
            Field::RequestHeaderTextBytes => pen.number(text_bytes(&request.head.headers) as u64),
            Field::RequestHeaderCount => pen.number(request.head.headers.len() as u64),
            Field::RequestBodyBytes => pen.number(request.upload.borrow().len().unwrap_or(0)),
            Field::ConnectionId => pen.number(connection.id),
            Field::RequestId => pen.shown(request.id),
            Field::RequestIndex => pen.number(connection.requests.get()),
            Field::Errors => {
                let errors = request.journal.errors();
                pen.redaction.text_pieces(errors.as_bytes(), |piece| pen.escape.write(pen.line, piece));
                return !errors.is_empty();
            }
            Field::Nothing => return false,
        }
        true
    }
}

impl Span {
    fn of(self, times: &Times, request: &Request) -> Duration {
        let between = |from: Instant, to: Instant| to.saturating_duration_since(from);
        let received = request.journal.received.get().unwrap_or(times.read);
        match self {
            Span::Connect => between(request.connection.opened, times.began),
            Span::Header => between(times.began, times.read),
            Span::Body => between(times.read, received),
            Span::Request => between(times.began, received),
            Span::Process => between(received, times.answered),
            Span::Response => between(times.answered, times.ended),
            Span::Total => between(times.began, times.ended),
        }
    }
}

impl Pen<'_> {
    /// What needs no escapes. A vector takes whatever is written into it.
    fn shown(&mut self, value: impl std::fmt::Display) {
        let _ = write!(self.line, "{value}");
    }

    fn plain(&mut self, bytes: &[u8]) {
        self.line.extend_from_slice(bytes);
    }

    fn number(&mut self, value: u64) {
        self.plain(itoa::Buffer::new().format(value).as_bytes());
    }

    fn optional(&mut self, value: Option<u16>) -> bool {
        value.inspect(|value| self.number(u64::from(*value))).is_some()
    }

    fn text(&mut self, bytes: &[u8]) {
        self.escape.write(self.line, bytes);
    }

    /// What may be a URL, or hold one: keys and passwords in it are hidden.
    fn hidden(&mut self, bytes: &[u8]) {
        self.redaction.pieces(bytes, |piece| self.escape.write(self.line, piece));
    }

    /// What a handler made, maybe of a key of the request.
    fn made(&mut self, request: &Request, bytes: &[u8]) {
        match std::str::from_utf8(bytes) {
            Ok(text) => self.hidden(request.masked(text).as_bytes()),
            Err(_) => self.hidden(bytes),
        }
    }

    /// The last value that `name` was given.
    fn variable(&mut self, request: &Request, name: &str, fits: fn(&str) -> bool) -> bool {
        let variables = request.variables.borrow();
        let found = variables.iter().rev().find(|(it, value)| it == name && fits(value));
        found.inspect(|(_, value)| self.made(request, value.as_bytes())).is_some()
    }

    /// The first value; of cookies that are set, all.
    fn header(&mut self, headers: &HeaderMap, name: &HeaderName, write: impl Fn(&mut Self, &[u8])) -> bool {
        let mut values = headers.get_all(name).iter();
        let Some(value) = values.next() else { return false };
        if self.redaction.hides(name) {
            self.plain(b"***");
        } else if name == header::COOKIE {
            self.cookies(value.as_bytes(), usize::MAX);
        } else if name == header::SET_COOKIE {
            self.cookies(value.as_bytes(), 1);
            for value in values {
                self.plain(b", ");
                self.cookies(value.as_bytes(), 1);
            }
        } else {
            write(self, value.as_bytes());
        }
        true
    }

    /// Cookies name sessions: whoever has one is somebody. The values of the first `count` pairs are hidden.
    fn cookies(&mut self, value: &[u8], count: usize) {
        for (index, pair) in value.split(|byte| *byte == b';').enumerate() {
            if index > 0 {
                self.plain(b";");
            }
            match memchr::memchr(b'=', pair) {
                _ if index >= count => self.hidden(pair),
                Some(equals) => {
                    self.text(&pair[..=equals]);
                    self.plain(b"***");
                }
                // RFC 6265bis §5.6: a pair without `=` is a value without a name.
                None => self.plain(b"***"),
            }
        }
    }
}

/// What h2o writes: path and query as they came; only CONNECT has neither.
fn target(request: &Request) -> &str {
    let uri = &request.head.uri;
    let target = uri.path_and_query().map(http::uri::PathAndQuery::as_str);
    target.or_else(|| uri.authority().map(http::uri::Authority::as_str)).unwrap_or_default()
}

fn protocol(version: Version) -> &'static str {
    match version {
        Version::HTTP_09 => "HTTP/0.9",
        Version::HTTP_10 => "HTTP/1.0",
        Version::HTTP_2 => "HTTP/2",
        Version::HTTP_3 => "HTTP/3",
        _ => "HTTP/1.1",
    }
}

fn text_bytes(headers: &HeaderMap) -> usize {
    headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum()
}
