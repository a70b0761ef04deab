//! The form of a line: parsed when the configuration is read, written for each request.

use std::io::Write;
use std::str::FromStr;

use http::header::HeaderName;
use http::{HeaderMap, Version};

use super::Record;
use crate::auth::Redaction;
use crate::http::Request;

/// Apache's combined format, which is also h2o's default.
const COMBINED: &str = r#"%h %l %u %t "%r" %s %b "%{Referer}i" "%{User-agent}i""#;

/// A parsed format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// As it stands.
    Literal(String),
    /// `%h`
    RemoteAddress,
    /// `%u`: what a handler set as `REMOTE_USER`.
    User,
    /// `%t`
    Time,
    /// `%r`: method, target and version.
    RequestLine,
    /// `%s`
    Status,
    /// `%b`: bytes of the body.
    Bytes,
    /// `%{NAME}i`
    RequestHeader(HeaderName),
}

impl Format {
    /// `%h %l %u %t "%r" %s %b "%{Referer}i" "%{User-agent}i"`
    pub fn combined() -> Format {
        COMBINED.parse().expect("the combined format has only specifiers that are known")
    }

    /// Appends the line of a request. `time` is what `%t` says.
    pub fn write(&self, line: &mut Vec<u8>, record: &Record<'_>, time: &str, redaction: &Redaction) {
        for part in &self.0 {
            part.write(line, record, time, redaction);
        }
        line.push(b'\n');
    }
}

impl FromStr for Format {
    type Err = String;

    /// Parses h2o's specifiers.
    fn from_str(text: &str) -> Result<Format, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((literal, after)) = rest.split_once('%') {
            parts.push(Part::Literal(String::from(literal)));
            let (part, after) = specifier(after)?;
            parts.push(part);
            rest = after;
        }
        parts.push(Part::Literal(String::from(rest)));
        Ok(Format(joined(parts)))
    }
}

/// What stands after a `%`, and the rest.
fn specifier(text: &str) -> Result<(Part, &str), String> {
    if let Some(braced) = text.strip_prefix('{') {
        let (name, after) = braced.split_once('}').ok_or_else(|| format!("`%{text}` has no `}}`"))?;
        let Some(after) = after.strip_prefix('i') else {
            return Err(format!("`%{{{name}}}{}` is unknown", after.chars().next().unwrap_or_default()));
        };
        let header = name.parse().map_err(|_| format!("`{name}` in `%{{{name}}}i` is no name of a header"))?;
        return Ok((Part::RequestHeader(header), after));
    }
    let mut after = text.chars();
    let letter = after.next().ok_or("`%` at the end stands for nothing")?;
    let part = match letter {
        '%' => Part::Literal(String::from("%")),
        'h' => Part::RemoteAddress,
        // The name that identd knows: nobody asks it any more.
        'l' => Part::Literal(String::from("-")),
        'u' => Part::User,
        't' => Part::Time,
        'r' => Part::RequestLine,
        's' => Part::Status,
        'b' => Part::Bytes,
        unknown => return Err(format!("`%{unknown}` is unknown")),
    };
    Ok((part, after.as_str()))
}

/// Makes one literal of those that stand side by side.
fn joined(parts: Vec<Part>) -> Vec<Part> {
    let mut all: Vec<Part> = Vec::new();
    for part in parts {
        match (all.last_mut(), part) {
            (_, Part::Literal(text)) if text.is_empty() => {}
            (Some(Part::Literal(before)), Part::Literal(text)) => before.push_str(&text),
            (_, part) => all.push(part),
        }
    }
    all
}

impl Part {
    fn write(&self, line: &mut Vec<u8>, record: &Record<'_>, time: &str, redaction: &Redaction) {
        match self {
            Part::Literal(text) => line.extend_from_slice(text.as_bytes()),
            Part::RemoteAddress => {
                // A vector takes whatever is written into it.
                let _ = write!(line, "{}", record.request.connection.remote.ip());
            }
            Part::User => user(line, record.request),
            Part::Time => line.extend_from_slice(time.as_bytes()),
            Part::RequestLine => request_line(line, record.request, redaction),
            Part::Status => line.extend_from_slice(record.status.as_str().as_bytes()),
            Part::Bytes => line.extend_from_slice(itoa::Buffer::new().format(record.bytes).as_bytes()),
            Part::RequestHeader(name) => header(line, &record.request.head.headers, name, redaction),
        }
    }
}

fn user(line: &mut Vec<u8>, request: &Request) {
    let variables = request.variables.borrow();
    match variables.iter().rev().find(|(name, value)| name == "REMOTE_USER" && !value.is_empty()) {
        Some((_, value)) => escape_into(line, value.as_bytes()),
        None => line.push(b'-'),
    }
}

/// The target is what h2o writes: path and query as they came; only CONNECT has neither.
fn request_line(line: &mut Vec<u8>, request: &Request, redaction: &Redaction) {
    let head = &request.head;
    escape_into(line, head.method.as_str().as_bytes());
    line.push(b' ');
    let target = head.uri.path_and_query().map(http::uri::PathAndQuery::as_str);
    let target = target.or_else(|| head.uri.authority().map(http::uri::Authority::as_str)).unwrap_or_default();
    redaction.pieces(target.as_bytes(), |piece| escape_into(line, piece));
    line.extend_from_slice(match head.version {
        Version::HTTP_09 => b" HTTP/0.9",
        Version::HTTP_10 => b" HTTP/1.0",
        Version::HTTP_2 => b" HTTP/2",
        Version::HTTP_3 => b" HTTP/3",
        _ => b" HTTP/1.1",
    });
}

/// A URL may stand in any header, a Referer is one: keys in its query are hidden.
fn header(line: &mut Vec<u8>, headers: &HeaderMap, name: &HeaderName, redaction: &Redaction) {
    match headers.get(name) {
        None => line.push(b'-'),
        Some(_) if redaction.hides(name) => line.extend_from_slice(b"***"),
        Some(value) => redaction.pieces(value.as_bytes(), |piece| escape_into(line, piece)),
    }
}

/// Writes what a client sent so that it can neither end its field nor its line: `\xNN` for control
/// characters, quotes, and all that is not ASCII, as h2o's `escape: apache`.
///
/// The backslash is escaped too, which h2o leaves as it is: else `\x22` in a log could be either. h2o
/// also escapes `}` and `~`, for no reason that could be found.
fn escape_into(line: &mut Vec<u8>, mut bytes: &[u8]) {
    while let Some(length) = bytes.iter().position(|byte| IS_ESCAPED[usize::from(*byte)]) {
        let byte = bytes[length];
        let digit = |value: u8| b"0123456789abcdef"[usize::from(value)];
        line.extend_from_slice(&bytes[..length]);
        line.extend_from_slice(&[b'\\', b'x', digit(byte >> 4), digit(byte & 15)]);
        bytes = &bytes[length + 1..];
    }
    line.extend_from_slice(bytes);
}

static IS_ESCAPED: [bool; 256] = {
    let mut table = [true; 256];
    let mut byte = 0x20;
    while byte < 0x7f {
        table[byte] = byte == b'"' as usize || byte == b'\\' as usize;
        byte += 1;
    }
    table
};

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::auth;
    use crate::directive::apply;
    use crate::http::{Connection, Id, Upload};
    use http::{HeaderValue, StatusCode};
    use std::cell::RefCell;

    /// A request as tests need it.
    pub struct Sample {
        pub method: &'static str,
        pub target: &'static str,
        pub headers: Vec<(&'static str, &'static [u8])>,
        pub variables: Vec<(String, String)>,
    }

    impl Default for Sample {
        fn default() -> Sample {
            let headers: Vec<(_, &[u8])> =
                vec![("referer", b"http://r/"), ("user-agent", b"Mozilla/5.0 (X11; Linux x86_64)")];
            Sample { method: "GET", target: "/projects?page=2", headers, variables: Vec::new() }
        }
    }

    impl Sample {
        pub fn record<T>(self, use_it: impl FnOnce(&Record<'_>) -> T) -> T {
            let mut head = http::Request::builder().method(self.method).uri(self.target);
            for (name, value) in self.headers {
                head = head.header(name, HeaderValue::from_bytes(value).unwrap());
            }
            let address = "192.0.2.7:1234".parse().unwrap();
            let request = Request {
                head: head.body(()).unwrap().into_parts().0,
                connection: Connection { remote: address, local: address }.into(),
                server_name: "default".into(),
                script_name: "".into(),
                path_info: 0,
                id: Id(1),
                upload: RefCell::new(Upload::None),
                identity: std::cell::OnceCell::new(),
                variables: RefCell::new(self.variables),
            };
            use_it(&Record { request: &request, status: StatusCode::OK, bytes: 2211 })
        }

        fn line(self) -> String {
            let text = "{bearer: ON, query: key, header: X-API-Key, sql: 'SELECT ?'}";
            let settings = apply(auth::Settings::default(), &format!("auth.api-key: {text}")).unwrap();
            let redaction = Redaction::gather(&[settings]);
            let mut line = Vec::new();
            self.record(|record| Format::combined().write(&mut line, record, "[TIME]", &redaction));
            String::from_utf8(line).unwrap()
        }
    }

    #[test]
    fn a_line_has_the_combined_format() {
        let expected = "192.0.2.7 - - [TIME] \"GET /projects?page=2 HTTP/1.1\" 200 2211 \"http://r/\" \"Mozilla/5.0 (X11; Linux x86_64)\"\n";
        assert_eq!(Sample::default().line(), expected);
        let variables = vec![(String::from("REMOTE_USER"), String::from("a \"b\""))];
        let bare = Sample { method: "PURGE", target: "*", headers: Vec::new(), variables };
        assert_eq!(bare.line(), "192.0.2.7 - a \\x22b\\x22 [TIME] \"PURGE * HTTP/1.1\" 200 2211 \"-\" \"-\"\n");
        let connect = Sample { method: "CONNECT", target: "host:80", headers: Vec::new(), variables: Vec::new() };
        assert_eq!(connect.line(), "192.0.2.7 - - [TIME] \"CONNECT host:80 HTTP/1.1\" 200 2211 \"-\" \"-\"\n");
    }

    #[test]
    fn a_client_can_not_end_its_field_or_its_line() {
        let headers: Vec<(_, &[u8])> = vec![("referer", b"\" 200 1 \\x22\t~}"), ("user-agent", b"\xff\xc3\xa9")];
        let line = Sample { target: "/\"é", headers, ..Sample::default() }.line();
        let expected =
            r#"192.0.2.7 - - [TIME] "GET /\x22\xc3\xa9 HTTP/1.1" 200 2211 "\x22 200 1 \x5cx22\x09~}" "\xff\xc3\xa9""#;
        assert_eq!(line, format!("{expected}\n"));
        let mut escaped = Vec::new();
        escape_into(&mut escaped, b"a\r\n\0\x1b\x7fb");
        assert_eq!(escaped, br"a\x0d\x0a\x00\x1b\x7fb");
    }

    #[test]
    fn keys_are_hidden_in_target_and_referer() {
        let headers: Vec<(_, &[u8])> = vec![("referer", b"http://r/?key=secret"), ("authorization", b"Bearer secret")];
        let line = Sample { target: "/p?key=secret&a=b", headers, ..Sample::default() }.line();
        let expected = r#"192.0.2.7 - - [TIME] "GET /p?key=***&a=b HTTP/1.1" 200 2211 "http://r/?key=***" "-""#;
        assert_eq!(line, format!("{expected}\n"));
    }

    #[test]
    fn a_header_that_carries_keys_is_hidden() {
        let settings = apply(auth::Settings::default(), "auth.api-key: {header: User-Agent, sql: 'SELECT ?'}").unwrap();
        let format: Format = "%{user-agent}i".parse().unwrap();
        let mut line = Vec::new();
        Sample::default().record(|record| format.write(&mut line, record, "", &Redaction::gather(&[settings])));
        assert_eq!(line, b"***\n");
    }

    #[test]
    fn a_format_is_parsed_into_as_few_parts_as_may_be() {
        let literal = |text: &str| Part::Literal(text.to_owned());
        assert_eq!("100%% %l %s".parse(), Ok(Format(vec![literal("100% - "), Part::Status])));
        assert_eq!("".parse(), Ok(Format(Vec::new())));
    }

    #[test]
    fn what_is_unknown_in_a_format_is_named() {
        let mistake = |text: &str| text.parse::<Format>().unwrap_err();
        assert_eq!(mistake("a %Q"), "`%Q` is unknown");
        assert_eq!(mistake("%{a}é"), "`%{a}é` is unknown");
        assert_eq!(mistake("%{a b}i"), "`a b` in `%{a b}i` is no name of a header");
        assert_eq!(mistake("%{a"), "`%{a` has no `}`");
        assert_eq!(mistake("%"), "`%` at the end stands for nothing");
    }
}
