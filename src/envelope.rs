//! The JSON envelope that results and errors wear; which errors there are is not known here.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, StatusCode};

use crate::directive::{self, Directive, Level, Node, Problems, Repeat};
use crate::http::{Body, Response};

const NAMES: &[&str] = &["status", "success", "fail", "data", "message"];

/// How results and errors are dressed.
///
/// Everything but the data and the message is made ready when the configuration is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings(Form);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Form {
    Named(Arc<Named>),
    /// `envelope: OFF`: data alone, errors as plain text.
    Off,
    /// As off, with h2o's texts.
    Plain,
}

/// What comes before the data, and before the message.
#[derive(Debug, PartialEq, Eq)]
struct Named {
    success: Vec<u8>,
    fail: Vec<u8>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings::named(["status", "Success", "Fail", "data", "error_message"])
    }
}

impl directive::Settings for Settings {
    const DIRECTIVES: &'static [Directive<Settings>] = &[Directive {
        name: "envelope",
        levels: &[Level::Global, Level::Host, Level::Path],
        repeat: Repeat::Once,
        summary: "Names in the JSON that `success` and `fail` answer, and that errors wear; `OFF` answers data alone and errors as plain text.",
        example: "envelope: {status: status, success: Success, fail: Fail, data: data, message: error_message}",
        apply: |settings, node| {
            *settings = if node.is_off() { Settings(Form::Off) } else { read(node)? };
            Ok(())
        },
    }];
}

/// Names that are not given have their defaults, also where an outer level gave others: what holds
/// stands in one place.
fn read(node: &Node) -> Result<Settings, Problems> {
    let mut names = ["status", "Success", "Fail", "data", "error_message"].map(String::from);
    let mut problems = Problems::default();
    for (field, value) in node.fields(NAMES)? {
        let name = problems.check(value.text_as("a name"));
        if let (Some(name), Some(index)) = (name, NAMES.iter().position(|known| *known == field)) {
            names[index] = String::from(name);
        }
    }
    let [status, _, _, data, message] = &names;
    for (other, field) in [(data, "data"), (message, "message")] {
        if status == other {
            let found = format!("`status` and `{field}` of `envelope` are both `{status}`, expected two names");
            problems.0.push(node.problem(found));
        }
    }
    problems.or(Settings::named(names.each_ref().map(String::as_str)))
}

impl Settings {
    fn named([status, success, fail, data, message]: [&str; 5]) -> Settings {
        let before = |word, name| {
            let [status, word, name] = [status, word, name].map(quoted);
            format!("{{{status}:{word},{name}:").into_bytes()
        };
        Settings(Form::Named(Arc::new(Named { success: before(success, data), fail: before(fail, message) })))
    }

    /// For paths that have neither a script nor keys: h2o's plain text.
    pub fn plain() -> Settings {
        Settings(Form::Plain)
    }

    /// Wraps the JSON that `write` appends: `{"status":"Success","data":…}`.
    ///
    /// # Errors
    /// What `write` fails with.
    pub fn success<E>(&self, write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<Bytes, E> {
        let mut body = Vec::with_capacity(256);
        let Form::Named(named) = &self.0 else { return write(&mut body).map(|()| body.into()) };
        body.extend_from_slice(&named.success);
        write(&mut body)?;
        body.push(b'}');
        Ok(body.into())
    }

    /// Wraps a message for the client: `{"status":"Fail","error_message":"…"}`.
    pub fn fail(&self, message: &str) -> Bytes {
        let Form::Named(named) = &self.0 else { return Bytes::copy_from_slice(message.as_bytes()) };
        [&named.fail, quoted(message).as_bytes(), b"}"].concat().into()
    }

    /// The type of what `fail` gives.
    pub fn fail_type(&self) -> &'static str {
        match self.0 {
            Form::Named(_) => "application/json",
            Form::Off | Form::Plain => "text/plain; charset=utf-8",
        }
    }

    /// Answers an error with `message`, else with what is always said for `status`.
    pub fn error_response(&self, status: StatusCode, message: Option<&str>) -> Response {
        let body = match (message, &self.0) {
            (Some(message), _) => self.fail(message),
            (None, Form::Plain) => default_message(status).to_ascii_lowercase().into(),
            (None, _) => self.fail(default_message(status)),
        };
        let mut response = Response::new(Body::Full(body));
        *response.status_mut() = status;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(self.fail_type()));
        response
    }

    /// Says that the same may be answered a little later: 503 with `Retry-After` (RFC 9110 §15.6.4).
    pub fn unavailable(&self) -> Response {
        let mut response = self.error_response(StatusCode::SERVICE_UNAVAILABLE, None);
        retry_later(&mut response);
        response
    }
}

/// Adds `Retry-After`: in a second (RFC 9110 §10.2.3).
pub fn retry_later(response: &mut Response) {
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// What is said to the client about `status` where nothing more is known.
pub fn default_message(status: StatusCode) -> &'static str {
    match status {
        StatusCode::BAD_REQUEST => "Bad request",
        StatusCode::UNAUTHORIZED => "Need api key",
        StatusCode::NOT_FOUND => "Not found",
        StatusCode::METHOD_NOT_ALLOWED => "Method not allowed",
        StatusCode::REQUEST_TIMEOUT => "Request timeout",
        StatusCode::PRECONDITION_FAILED => "Precondition failed",
        StatusCode::PAYLOAD_TOO_LARGE => "Request body too large",
        StatusCode::URI_TOO_LONG => "Request target too long",
        StatusCode::RANGE_NOT_SATISFIABLE => "Requested range not satisfiable",
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => "Request header too large",
        StatusCode::INTERNAL_SERVER_ERROR => "Internal server error",
        StatusCode::NOT_IMPLEMENTED => "Not implemented",
        StatusCode::SERVICE_UNAVAILABLE => "Service unavailable",
        other => other.canonical_reason().unwrap_or("Error"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directive::{Settings as _, apply};

    fn done(out: &mut Vec<u8>, json: &[u8]) -> Result<(), ()> {
        out.extend_from_slice(json);
        Ok(())
    }

    fn answer(settings: &Settings, status: u16, message: Option<&str>) -> (String, String) {
        let response = settings.error_response(StatusCode::from_u16(status).unwrap(), message);
        assert_eq!(response.status(), status);
        let kind = response.headers()[CONTENT_TYPE].to_str().unwrap().to_owned();
        let Body::Full(body) = response.into_body() else { panic!("a body was expected") };
        (kind, String::from_utf8(body.to_vec()).unwrap())
    }

    fn pair(kind: &str, body: &str) -> (String, String) {
        (kind.to_owned(), body.to_owned())
    }

    #[test]
    fn results_and_errors_wear_the_envelope_with_the_status_first() {
        let settings = Settings::default();
        assert_eq!(settings.success(|out| done(out, b"[1]")).unwrap(), r#"{"status":"Success","data":[1]}"#);
        assert_eq!(settings.fail("Need api key"), r#"{"status":"Fail","error_message":"Need api key"}"#);
    }

    #[test]
    fn a_message_cannot_break_out_of_its_string() {
        let body = Settings::default().fail("a\"b\\c\n\u{1}é</script>");
        let value: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(value["error_message"], "a\"b\\c\n\u{1}é</script>");
    }

    #[test]
    fn names_are_as_configured_and_the_others_as_by_default() {
        let outer = apply(Settings::default(), "envelope: {data: outer}").unwrap();
        let settings = apply(outer, "envelope: {status: 'say \"', success: ok, message: message}").unwrap();
        assert_eq!(settings.success(|out| done(out, b"1")).unwrap(), r#"{"say \"":"ok","data":1}"#);
        assert_eq!(settings.fail("no"), r#"{"say \"":"Fail","message":"no"}"#);
    }

    #[test]
    fn off_gives_data_alone_and_plain_text() {
        let settings = apply(Settings::default(), "envelope: off").unwrap();
        assert_eq!(settings.success(|out| done(out, b"[1]")).unwrap(), "[1]");
        assert_eq!(answer(&settings, 404, None), pair("text/plain; charset=utf-8", "Not found"));
        assert_eq!(answer(&settings, 401, Some("Bad api key")), pair("text/plain; charset=utf-8", "Bad api key"));
        assert_eq!(apply(settings, "envelope: {}").unwrap(), Settings::default());
    }

    #[test]
    fn errors_say_what_is_always_said_for_their_status() {
        let settings = Settings::default();
        let fail =
            |message: &str| pair("application/json", &format!(r#"{{"status":"Fail","error_message":"{message}"}}"#));
        assert_eq!(answer(&settings, 404, None), fail("Not found"));
        assert_eq!(answer(&settings, 405, None), fail("Method not allowed"));
        assert_eq!(answer(&settings, 413, None), fail("Request body too large"));
        assert_eq!(answer(&settings, 500, None), fail("Internal server error"));
        assert_eq!(answer(&settings, 503, None), fail("Service unavailable"));
        assert_eq!(answer(&settings, 599, None), fail("Error"));
    }

    #[test]
    fn a_path_without_script_and_key_answers_as_h2o() {
        assert_eq!(answer(&Settings::plain(), 404, None), pair("text/plain; charset=utf-8", "not found"));
        assert_eq!(answer(&Settings::plain(), 405, None), pair("text/plain; charset=utf-8", "method not allowed"));
    }

    #[test]
    fn names_that_clash_and_unknown_ones_are_mistakes() {
        let mistakes = |text: &str| apply(Settings::default(), text).unwrap_err();
        let clash = mistakes("envelope: {status: data}");
        assert!(clash.contains("`status` and `data` of `envelope` are both `data`, expected two names"), "{clash}");
        assert!(mistakes("envelope: {sucess: ok}").contains("sucess"));
        assert!(mistakes("envelope: {data: [1]}").contains("`data` is a list, expected a name"));
    }

    #[test]
    fn the_example_says_the_defaults() {
        assert_eq!(apply(Settings(Form::Off), Settings::DIRECTIVES[0].example).unwrap(), Settings::default());
    }
}
