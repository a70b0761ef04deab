//! What a developer gets to see of a script's fault, instead of the plain message: where it is, how
//! the script came there, and the request. Secrets are hidden.

use std::borrow::Cow;

use http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, COOKIE, VARY};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde::Serialize;

use super::page;
use crate::auth::Redaction;
use crate::envelope;
use crate::http::{Body, Meant, Request, Response};
use crate::script::{Env, Group, Trace};

/// What stands in place of a secret.
const HIDDEN: &str = "***";

/// A shorter value is no secret, and hiding it would garble the page.
const LEAST: usize = 6;

/// A fault, ready to be shown.
#[derive(Serialize)]
pub(super) struct Report {
    pub(super) message: String,
    pub(super) place: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hint: Option<String>,
    /// Lines of the source around the place, the line itself marked with `>`.
    #[serde(rename = "excerpt", skip_serializing_if = "Vec::is_empty")]
    pub(super) source: Vec<String>,
    /// The calls that led there, from the inside out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) path: Vec<String>,
    pub(super) request: String,
    pub(super) id: String,
    #[serde(skip)]
    pub(super) status: StatusCode,
    #[serde(skip)]
    pub(super) groups: Vec<Group>,
}

/// What a client wants to read.
#[derive(Debug, PartialEq, Eq)]
enum Form {
    Page,
    Json,
    Text,
}

/// A fault and what is known around it.
pub(super) struct Fault<'a> {
    pub(super) request: &'a Request,
    pub(super) env: &'a Env,
    pub(super) trace: &'a Trace,
    pub(super) status: StatusCode,
    pub(super) envelope: &'a envelope::Settings,
    pub(super) redaction: &'a Redaction,
}

impl Fault<'_> {
    /// The answer, in the form that the client asks for.
    pub(super) fn response(&self) -> Response {
        let report = self.report();
        let headers = &self.request.head.headers;
        let (kind, body) = match Form::wanted(headers, self.envelope.fail_type()) {
            Form::Page => ("text/html; charset=utf-8", page::html(&report)),
            Form::Json => ("application/json", self.json(&report)),
            Form::Text => ("text/plain; charset=utf-8", text(&report)),
        };
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = self.status;
        // Who develops wants the fault, not the document for it.
        response.extensions_mut().insert(Meant);
        let own = response.headers_mut();
        own.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        own.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        own.insert(VARY, HeaderValue::from_static("accept"));
        // Nothing on the page is run or fetched, whatever a script threw.
        let policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";
        own.insert("content-security-policy", HeaderValue::from_static(policy));
        own.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
        response
    }

    /// The envelope's members, and `error` behind them.
    fn json(&self, report: &Report) -> String {
        let plain = self.envelope.error_response(self.status, None);
        let plain = match (self.envelope.fail_type(), plain.into_body()) {
            ("application/json", Body::Full(bytes)) => String::from_utf8_lossy(&bytes).into_owned(),
            _ => "{}".to_owned(),
        };
        let before = plain.trim_end_matches('}');
        let name = if before.contains("\"error\":") { "development" } else { "error" };
        let comma = if before.ends_with('{') { "" } else { "," };
        let report = serde_json::to_string_pretty(report).unwrap_or_default();
        format!("{before}{comma}\"{name}\":{report}}}\n")
    }

    fn report(&self) -> Report {
        let mask = Mask::of(self);
        let trace = self.trace;
        // A message may bring its own way out, as in the log.
        let (message, hint) = match trace.message().split_once("\nhint: ") {
            Some((message, hint)) => (message, Some(hint)),
            None => (trace.message(), None),
        };
        let head = &self.request.head;
        let target = head.uri.to_string();
        Report {
            message: mask.text(message),
            place: trace.place(),
            hint: trace.hint().or(hint).map(|it| mask.text(it)),
            source: source(trace).iter().map(|it| mask.text(it)).collect(),
            path: trace.path().to_vec(),
            request: mask.text(&format!("{} {} {:?}", head.method, self.redaction.redacted(&target), head.version)),
            id: self.request.id.to_string(),
            status: self.status,
            groups: self.groups(&mask),
        }
    }

    fn groups(&self, mask: &Mask<'_>) -> Vec<Group> {
        let headers = self.request.head.headers.iter();
        let headers = headers.map(|(name, value)| (name.as_str().to_owned(), mask.text(&self.header(name, value))));
        let is_hidden = |name: &str| self.redaction.hides_parameter(name);
        let mut groups = self.env.overview(&is_hidden);
        for (_, value) in groups.iter_mut().flat_map(|it| &mut it.1) {
            *value = mask.text(value);
        }
        groups.push(("Headers", headers.collect()));
        groups
    }

    fn header(&self, name: &HeaderName, value: &HeaderValue) -> String {
        let value = String::from_utf8_lossy(value.as_bytes());
        if name == COOKIE {
            // Which there are is no secret.
            let cookies = value.split(';').map(|it| it.split_once('=').map_or(it, |(name, _)| name).trim());
            return cookies.map(|it| format!("{it}={HIDDEN}")).collect::<Vec<_>>().join("; ");
        }
        if self.redaction.hides(name) {
            return HIDDEN.to_owned();
        }
        self.redaction.redacted(&value).into_owned()
    }
}

/// The values of this request that must not be shown, wherever they turn up.
struct Mask<'a> {
    fault: &'a Fault<'a>,
    values: Vec<String>,
}

impl Mask<'_> {
    fn of<'a>(fault: &'a Fault<'a>) -> Mask<'a> {
        let head = &fault.request.head;
        let mut values = Vec::new();
        for (name, value) in &head.headers {
            let value = String::from_utf8_lossy(value.as_bytes());
            if name == COOKIE {
                values.extend(value.split(';').filter_map(|it| Some(it.split_once('=')?.1.trim().to_owned())));
            } else if fault.redaction.hides(name) {
                // Also without `Bearer`.
                values.extend(value.split_once(' ').map(|it| it.1.trim().to_owned()));
                values.push(value.into_owned());
            }
        }
        let is_hidden = |name: &str| fault.redaction.hides_parameter(name);
        for pair in head.uri.query().unwrap_or_default().split('&') {
            let Some((name, raw)) = pair.split_once('=') else { continue };
            if is_hidden(&decoded(name)) {
                values.extend([raw.to_owned(), decoded(raw).into_owned()]);
            }
        }
        values.extend(fault.env.secrets(&is_hidden));
        values.retain(|it| it.len() >= LEAST);
        // The longest first: a shorter one may be a part of it.
        values.sort_by_key(|it| std::cmp::Reverse(it.len()));
        values.dedup();
        Mask { fault, values }
    }

    fn text(&self, text: &str) -> String {
        let text = self.values.iter().fold(Cow::Borrowed(text), |text, value| {
            if text.contains(value) { text.replace(value, HIDDEN).into() } else { text }
        });
        self.fault.request.masked(&text).into_owned()
    }
}

impl Form {
    /// The form that `Accept` asks for; one that asks for anything gets JSON, where errors are JSON,
    /// so that who reads the envelope finds it there.
    fn wanted(headers: &HeaderMap, fail_type: &str) -> Form {
        let accepted = headers.get_all(ACCEPT).iter().filter_map(|it| it.to_str().ok()).flat_map(|it| it.split(','));
        let mut best: Option<(f32, Form)> = None;
        for range in accepted {
            let mut parts = range.split(';').map(str::trim);
            let form = match parts.next().unwrap_or_default().to_ascii_lowercase().as_str() {
                "text/html" | "application/xhtml+xml" => Form::Page,
                "text/plain" => Form::Text,
                kind if kind == "application/json" || kind.ends_with("+json") => Form::Json,
                _ => continue,
            };
            let quality = parts.find_map(|it| it.strip_prefix("q=")).map_or(1.0, |it| it.parse().unwrap_or(0.0));
            if quality > 0.0 && best.as_ref().is_none_or(|(other, _)| quality > *other) {
                best = Some((quality, form));
            }
        }
        let usual = if fail_type == "application/json" { Form::Json } else { Form::Text };
        best.map_or(usual, |(_, form)| form)
    }
}

fn decoded(text: &str) -> Cow<'_, str> {
    let spaced = text.replace('+', " ");
    percent_encoding::percent_decode_str(&spaced).decode_utf8_lossy().into_owned().into()
}

fn source(trace: &Trace) -> Vec<String> {
    let around = trace.around();
    let width = around.last().map_or(1, |it| it.0.to_string().len());
    let mut lines = Vec::new();
    for (number, text, is_here) in around {
        let mark = if is_here { '>' } else { ' ' };
        lines.push(format!("{mark} {number:width$} | {text}"));
        if is_here {
            lines.push(format!("  {:width$} | {}", "", trace.caret()));
        }
    }
    lines
}

fn text(report: &Report) -> String {
    let mut out = format!("{}: {}\n\n", report.place, report.message);
    for line in &report.source {
        out.push_str(&format!("  {line}\n"));
    }
    for step in &report.path {
        out.push_str(&format!("  {step}\n"));
    }
    if let Some(hint) = &report.hint {
        out.push_str(&format!("  hint: {hint}\n"));
    }
    out.push_str(&format!("\n{} ({})\n", report.request, report.id));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(accept: &str) -> Form {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_str(accept).unwrap());
        Form::wanted(&headers, "application/json")
    }

    #[test]
    fn a_browser_gets_the_page_and_who_takes_anything_json() {
        assert_eq!(wanted("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"), Form::Page);
        assert_eq!(wanted("*/*"), Form::Json);
        assert_eq!(Form::wanted(&HeaderMap::new(), "application/json"), Form::Json);
        assert_eq!(Form::wanted(&HeaderMap::new(), "text/plain; charset=utf-8"), Form::Text);
        assert_eq!(wanted("application/json, text/plain, */*"), Form::Json);
        assert_eq!(wanted("text/html;q=0.1, application/problem+json"), Form::Json);
        assert_eq!(wanted("text/html;q=0"), Form::Json);
        assert_eq!(wanted("text/plain"), Form::Text);
    }
}
