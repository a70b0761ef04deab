//! The form of a line: parsed when the configuration is read, written for each request.

use super::clock::Clock;
use super::escape::Escape;
use super::field::{Field, Pen};
use super::record::{Needs, Record};
use super::specifier::{self, Meaning, Mistake};
use crate::auth::Redaction;
use crate::log_file::Form;

/// Apache's combined format, which is also h2o's default.
pub const COMBINED: &str = r#"%h %l %u %t "%r" %s %b "%{Referer}i" "%{User-agent}i""#;

/// A parsed format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    parts: Vec<Part>,
    escape: Escape,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// As it stands.
    Literal(String),
    /// What is absent is a `-`.
    Plain(Field),
    /// What is absent is `null`, as h2o has it: for JSON.
    Nullable(Field),
    /// In quotes of its own, which `null` does without.
    Quoted(Field),
}

impl Format {
    /// Parses h2o's specifiers.
    ///
    /// # Errors
    /// If one is unknown, or a line would not stay one line.
    pub fn parse(text: &str, escape: Escape) -> Result<Format, Mistake> {
        let wrong = |message: &str| Mistake { message: message.to_owned(), hint: None };
        // A block of YAML ends in a line break.
        let text = text.trim_end_matches('\n');
        if text.is_empty() {
            return Err(wrong("`format` is empty, expected specifiers such as `%h` and `%s`"));
        }
        if text.contains(|it: char| it.is_control() && it != '\t') {
            return Err(Mistake {
                hint: Some("`>` instead of `|` makes one line of several in YAML".to_owned()),
                ..wrong("`format` has a line break or another control character, expected one line")
            });
        }
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((literal, after)) = rest.split_once('%') {
            parts.push(Part::Literal(literal.to_owned()));
            let (meaning, after) = specifier::read(after)?;
            parts.push(match meaning {
                Meaning::Percent => Part::Literal("%".to_owned()),
                Meaning::Field(Field::Nothing) if escape == Escape::Apache => Part::Literal("-".to_owned()),
                Meaning::Field(field) => Part::Plain(field),
            });
            rest = after;
        }
        parts.push(Part::Literal(rest.to_owned()));
        let mut parts = joined(parts);
        if escape == Escape::Json {
            give_null(&mut parts);
        }
        Ok(Format { parts, escape })
    }

    /// What must be noted for it.
    pub fn needs(&self) -> Needs {
        self.fields().fold(Needs::default(), |needs, field| needs.and(field.needs()))
    }

    /// What its lines are.
    pub fn form(&self) -> Form {
        match self.escape {
            Escape::Apache => Form::Text,
            Escape::Json => Form::Json,
        }
    }

    fn fields(&self) -> impl Iterator<Item = &Field> {
        self.parts.iter().filter_map(|part| match part {
            Part::Literal(_) => None,
            Part::Plain(field) | Part::Nullable(field) | Part::Quoted(field) => Some(field),
        })
    }

    /// Appends the line of a request; the clock has ticked for it.
    pub fn write(&self, line: &mut Vec<u8>, record: &Record<'_>, clock: &mut Clock, redaction: &Redaction) {
        let mut pen = Pen { line, escape: self.escape, redaction, clock };
        for part in &self.parts {
            match part {
                Part::Literal(text) => pen.line.extend_from_slice(text.as_bytes()),
                Part::Plain(field) => {
                    if !field.write(&mut pen, record) {
                        pen.line.push(b'-');
                    }
                }
                Part::Nullable(field) => {
                    if !field.write(&mut pen, record) {
                        pen.line.extend_from_slice(b"null");
                    }
                }
                Part::Quoted(field) => {
                    let start = pen.line.len();
                    pen.line.push(b'"');
                    if field.write(&mut pen, record) {
                        pen.line.push(b'"');
                    } else {
                        pen.line.truncate(start);
                        pen.line.extend_from_slice(b"null");
                    }
                }
            }
        }
        pen.line.push(b'\n');
    }
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

/// Outside of a text of JSON what is absent is `null`, and so it is where it would be the whole text.
fn give_null(parts: &mut Vec<Part>) {
    let mut in_text = false;
    for index in 0..parts.len() {
        match &parts[index] {
            Part::Literal(text) => in_text ^= quotes(text) % 2 == 1,
            Part::Plain(field) if !in_text => {
                let field = field.clone();
                parts[index] = Part::Nullable(field);
            }
            Part::Plain(field) if is_whole(parts, index) => {
                let field = field.clone();
                if let Part::Literal(before) = &mut parts[index - 1] {
                    before.pop();
                }
                if let Part::Literal(after) = &mut parts[index + 1] {
                    after.remove(0);
                }
                parts[index] = Part::Quoted(field);
                // The quote that closes went with it.
                in_text = false;
            }
            _ => {}
        }
    }
    parts.retain(|part| !matches!(part, Part::Literal(text) if text.is_empty()));
}

/// Whether quotes stand on both sides of a part that is in a text.
fn is_whole(parts: &[Part], index: usize) -> bool {
    let before = index.checked_sub(1).and_then(|it| parts.get(it));
    matches!(before, Some(Part::Literal(text)) if text.ends_with('"'))
        && matches!(parts.get(index + 1), Some(Part::Literal(text)) if text.starts_with('"'))
}

/// How many quotes of JSON begin or end a text in `literal`.
fn quotes(literal: &str) -> usize {
    let mut count = 0;
    let mut bytes = literal.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => drop(bytes.next()),
            b'"' => count += 1,
            _ => {}
        }
    }
    count
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::access_log::record::Times;
    use crate::auth;
    use crate::directive::apply;
    use crate::http::{Arrived, Connection, Emit, Endpoint, Id, Journal, Request, Upload};
    use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
    use std::cell::RefCell;
    use std::net::SocketAddr;
    use std::time::Duration;

    /// A request as tests need it.
    pub struct Sample {
        pub method: &'static str,
        pub target: &'static str,
        pub headers: Vec<(&'static str, &'static [u8])>,
        pub reply: Vec<(&'static str, &'static [u8])>,
        pub variables: Vec<(String, String)>,
        pub remote: Endpoint,
        pub error: &'static str,
    }

    impl Default for Sample {
        fn default() -> Sample {
            Sample {
                method: "GET",
                target: "/projects?page=2",
                headers: vec![("referer", b"http://r/"), ("user-agent", b"Mozilla/5.0 (X11; Linux x86_64)")],
                reply: Vec::new(),
                variables: Vec::new(),
                remote: "192.0.2.7:1234".parse::<SocketAddr>().unwrap().into(),
                error: "",
            }
        }
    }

    fn map(headers: &[(&'static str, &'static [u8])]) -> HeaderMap {
        let pair = |it: &(&'static str, &[u8])| (HeaderName::from_static(it.0), HeaderValue::from_bytes(it.1).unwrap());
        let mut map = HeaderMap::new();
        for (name, value) in headers.iter().map(pair) {
            map.append(name, value);
        }
        map
    }

    impl Sample {
        pub fn record<T>(self, use_it: impl FnOnce(&Record<'_>) -> T) -> T {
            let mut head = http::Request::builder().method(self.method).uri(self.target).body(()).unwrap();
            *head.headers_mut() = map(&self.headers);
            let local = match &self.remote {
                Endpoint::Internet(_) => "[::ffff:192.0.2.1]:8080".parse::<SocketAddr>().unwrap().into(),
                Endpoint::Unix(_) => Endpoint::Unix(None),
            };
            let connection = Connection::new(self.remote, local, 7);
            connection.requests.set(3);
            let opened = connection.opened;
            let after = |millis| opened + Duration::from_millis(millis);
            let request = Request {
                head: head.into_parts().0,
                connection: connection.into(),
                server_name: "example.com:8080".into(),
                script_name: "".into(),
                path_info: 0,
                id: Id(1),
                upload: RefCell::new(Upload::Here(Arrived::Memory("12345".into()))),
                identity: std::cell::OnceCell::new(),
                variables: RefCell::new(self.variables),
                journal: Journal::new(Emit::Access, None),
            };
            request.journal.received.set(Some(after(31)));
            if !self.error.is_empty() {
                request.report(self.error);
            }
            let times =
                Times { began: after(1), read: after(11), answered: after(1_131), ended: after(1_131 + 10_000) };
            use_it(&Record {
                request: &request,
                status: StatusCode::OK,
                bytes: 2211,
                headers: &map(&self.reply),
                times: Some(times),
            })
        }

        fn line(self, format: &str, escape: Escape) -> String {
            let text = "{bearer: ON, query: key, header: X-Own, sql: 'SELECT ?'}";
            let settings = apply(auth::Settings::default(), &format!("auth.api-key: {text}")).unwrap();
            let redaction = Redaction::gather(&[settings]);
            let format = Format::parse(format, escape).unwrap();
            let (mut line, mut clock) = (Vec::new(), Clock::default());
            clock.tick();
            self.record(|record| format.write(&mut line, record, &mut clock, &redaction));
            let line = String::from_utf8(line).unwrap();
            line.strip_suffix('\n').unwrap().to_owned()
        }

        fn plain(self, format: &str) -> String {
            self.line(format, Escape::Apache)
        }

        fn json(self, format: &str) -> String {
            self.line(format, Escape::Json)
        }
    }

    #[test]
    fn a_line_has_the_combined_format() {
        let time =
            |line: String| regex::Regex::new(r"\[\d\d/.* [+-]\d{4}\]").unwrap().replace(&line, "[TIME]").into_owned();
        let expected = "192.0.2.7 - - [TIME] \"GET /projects?page=2 HTTP/1.1\" 200 2211 \"http://r/\" \"Mozilla/5.0 (X11; Linux x86_64)\"";
        assert_eq!(time(Sample::default().plain(COMBINED)), expected);
        let variables = vec![(String::from("REMOTE_USER"), String::from("a \"b\""))];
        let bare = Sample { method: "PURGE", target: "*", headers: Vec::new(), variables, ..Sample::default() };
        let expected = "192.0.2.7 - a \\x22b\\x22 [TIME] \"PURGE * HTTP/1.1\" 200 2211 \"-\" \"-\"";
        assert_eq!(time(bare.plain(COMBINED)), expected);
        let connect = Sample { method: "CONNECT", target: "host:80", headers: Vec::new(), ..Sample::default() };
        assert_eq!(connect.plain("%r"), "CONNECT host:80 HTTP/1.1");
    }

    #[test]
    fn every_specifier_has_its_value() {
        let sample = || Sample {
            headers: vec![("host", b"Example.com:8080"), ("x-a", b"1"), ("x-a", b"2")],
            reply: vec![("location", b"/there"), ("set-cookie", b"a=1; Path=/"), ("set-cookie", b"b=2")],
            variables: vec![("A".into(), "old".into()), ("A".into(), "new".into())],
            ..Sample::default()
        };
        for (format, expected) in [
            ("%%", "%"),
            ("%h %A %{remote}p %{local}p %p", "192.0.2.7 192.0.2.1 1234 8080 8080"),
            ("%H %m %U %q", "HTTP/1.1 GET /projects ?page=2"),
            ("%s %<s %>s %b %l %u", "200 200 200 2211 - -"),
            ("%V %v", "Example.com:8080 example.com:8080"),
            ("%{A}e %{B}e", "new -"),
            ("%{X-A}i %{X-B}i", "1 -"),
            ("%{Location}o %<{Location}o %{X-B}o", "/there /there -"),
            ("%{Set-Cookie}o", "a=***; Path=/, b=***"),
            ("%{connect-time}x %{request-header-time}x %{request-body-time}x", "0.001000 0.010000 0.020000"),
            ("%{request-total-time}x %{process-time}x", "0.030000 1.100000"),
            ("%{response-time}x %{duration}x %{total-time}x", "10.000000 11.130000 11.130000"),
            (
                "%{request-header-bytes}x",
                &("GET /projects?page=2 HTTP/1.1\r\nhost: Example.com:8080\r\nx-a: 1\r\nx-a: 2\r\n\r\n"
                    .len()
                    .to_string()),
            ),
            ("%{request-header-text-bytes}x %{request-header-count}x", "28 3"),
            ("%{request-body-bytes}x", "5"),
            ("%{connection-id}x %{request-id}x %{http1.request-index}x", "7 0000000000000001 3"),
            ("%{error}x %{ssl.cipher}x %{http2.stream-id}x", "- - -"),
        ] {
            assert_eq!(sample().plain(format), expected, "{format}");
        }
        assert_eq!(Sample { target: "/", ..Sample::default() }.plain("[%q]"), "[]");
        let form = regex::Regex::new(r"^\d{10} \d{13} \d{16} \d{3} \d{6} \d{4}-\d\d$").unwrap();
        let line = Sample::default().plain("%{sec}t %{msec}t %{usec}t %{msec_frac}t %{usec_frac}t %{%Y-%m}t");
        assert!(form.is_match(&line), "{line}");
    }

    #[test]
    fn a_unix_socket_has_no_port() {
        let sample = || Sample { remote: Endpoint::Unix(None), ..Sample::default() };
        assert_eq!(sample().plain("%h %A %p %{remote}p"), "localhost localhost - -");
        assert_eq!(sample().json(r#"{"port": %p}"#), r#"{"port": null}"#);
    }

    #[test]
    fn a_client_can_not_end_its_field_or_its_line() {
        let headers: Vec<(_, &[u8])> = vec![("referer", b"\" 200 1 \\x22\t~}"), ("user-agent", b"\xff\xc3\xa9")];
        let line = Sample { target: "/\"é", headers, ..Sample::default() }.plain(COMBINED);
        let expected = r#""GET /\x22\xc3\xa9 HTTP/1.1" 200 2211 "\x22 200 1 \x5cx22\x09~}" "\xff\xc3\xa9""#;
        assert!(line.ends_with(expected), "{line}");
    }

    #[test]
    fn in_json_what_is_absent_is_null() {
        let sample = || Sample { headers: vec![("referer", b"\"\xff")], ..Sample::default() };
        for (format, expected) in [
            (r#"{"r": "%{referer}i", "u": "%u", "s": %s}"#, r#"{"r": "\u0022\u00ff", "u": null, "s": 200}"#),
            (r#"["%u","%l","%{x}i"]"#, "[null,null,null]"),
            (r#"["%u%u", " %u", "%u:%s"]"#, r#"["--", " -", "-:200"]"#),
            (r#"{"n": %{http2.stream-id}x}"#, r#"{"n": null}"#),
            (r#"{"%m": "\"%u\""}"#, r#"{"GET": "\"-\""}"#),
            (r#""%m""#, r#""GET""#),
        ] {
            let line = sample().json(format);
            assert_eq!(line, expected, "{format}");
            serde_json::from_str::<serde_json::Value>(&line).unwrap();
        }
    }

    /// Every place of a request that may hold a key or a password.
    #[test]
    fn no_specifier_shows_a_secret() {
        let names = ["authorization", "proxy-authorization", "x-api-key", "x-own", "cookie", "referer", "x-url"];
        let values: [&[u8]; 7] = [
            b"Basic SECRET",
            b"SECRET",
            b"SECRET",
            b"SECRET",
            b"a=SECRET; b=x=SECRET; SECRET",
            b"http://SECRET:SECRET@host/?a=b&key=SECRET&c=d",
            b"/p?k%65y=SECRET",
        ];
        let sample = || Sample {
            target: "http://SECRET:SECRET@host/p?a=b&key=SECRET&c=d",
            headers: names.into_iter().zip(values).collect(),
            reply: vec![
                ("location", b"/p?key=SECRET"),
                ("set-cookie", b"a=SECRET; Path=/; HttpOnly"),
                ("set-cookie", b"SECRET"),
                ("authorization", b"SECRET"),
                ("x-own", b"SECRET"),
            ],
            variables: vec![("A".into(), "postgres://u:SECRET@host/?key=SECRET".into())],
            error: "no: http://u:SECRET@host/p?key=SECRET",
            ..Sample::default()
        };
        let letters = "%A %b %H %h %l %m %p %q %r %s %t %U %u %V %v %<s %{A}e %{error}x %{request-id}x";
        let headers = names.iter().flat_map(|it| [format!("%{{{it}}}i"), format!("%{{{it}}}o")]);
        let formats = letters.split(' ').map(str::to_owned).chain(headers);
        for format in formats.chain(["%{location}o".into(), "%{set-cookie}o".into(), COMBINED.into()]) {
            for escape in [Escape::Apache, Escape::Json] {
                let line = sample().line(&format, escape);
                assert!(!line.contains("SECRET"), "{format}: {line}");
            }
        }
        let shown = |format: &str| sample().plain(format);
        assert_eq!(shown("%r %q"), "GET /p?a=b&key=***&c=d HTTP/1.1 ?a=b&key=***&c=d");
        assert_eq!(shown("%{Referer}i"), "http://***@host/?a=b&key=***&c=d");
        assert_eq!(shown("%{Cookie}i"), "a=***; b=***;***");
        assert_eq!(shown("%{Set-Cookie}o"), "a=***; Path=/; HttpOnly, ***");
        assert_eq!(shown("%V"), "***@host");
        assert_eq!(shown("%{Authorization}i %{X-Own}i %{X-Own}o"), "*** *** ***");
    }

    #[test]
    fn a_format_is_parsed_into_as_few_parts_as_may_be() {
        let literal = |text: &str| Part::Literal(text.to_owned());
        let format = Format::parse("100%% %l %s\n", Escape::Apache).unwrap();
        assert_eq!(format.parts, [literal("100% - "), Part::Plain(Field::Status)]);
    }

    #[test]
    fn only_what_a_format_writes_is_needed() {
        let needs = |format: &str| Format::parse(format, Escape::Apache).unwrap().needs();
        let none = Needs::default();
        assert_eq!(needs(COMBINED), none);
        assert_eq!(needs("%{a}o"), Needs { headers: true, ..none });
        assert_eq!(needs("%{process-time}x %{error}x"), Needs { times: true, errors: true, ..none });
        assert_eq!(needs("%{duration}x"), Needs { times: true, first_byte: true, ..none });
    }

    #[test]
    fn a_format_is_one_line() {
        let mistake = |text: &str| Format::parse(text, Escape::Apache).unwrap_err().message;
        assert_eq!(mistake(""), "`format` is empty, expected specifiers such as `%h` and `%s`");
        assert!(mistake("a\nb").starts_with("`format` has a line break"));
        assert!(mistake("%Z").starts_with("`%Z` is unknown"));
    }
}
