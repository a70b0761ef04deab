//! `redirect`: sends clients to another URL.

use std::borrow::Cow;
use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::Arc;

use http::header::LOCATION;
use http::{HeaderValue, StatusCode};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use super::{Building, Handler, Kind, Outcome, Plan, Visit, Workshop};
use crate::directive::{self, Node, Problem, Problems};
use crate::http::{Request, Response};
use crate::router::{HostName, without_dots};

/// `redirect`: another URL.
pub const REDIRECT: Kind = Kind {
    name: "redirect",
    summary: "Sends clients to a URL, or to a path of the same host, with what follows the path, and the query. A mapping \
              has `url` and `status`, 300 to 399, by default 302. A `*` in the URL is what the `*` of the host's key stands \
              for.",
    example: "redirect: {status: 301, url: \"https://www.example.com/\"}",
    read,
};

/// Where to, and how.
#[derive(Debug)]
struct Redirect {
    status: StatusCode,
    url: String,
}

/// What is not sent as it stands: what may end a header or mean something else to a browser. `%` may.
const UNSAFE: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'<').add(b'>').add(b'\\').add(b'^').add(b'`');

fn read(node: &Node) -> Result<Arc<dyn Plan>, Problems> {
    let mut redirect = Redirect { status: StatusCode::FOUND, url: String::new() };
    if node.kind() != directive::Kind::Mapping {
        redirect.url = url(node)?;
        return Ok(Arc::new(redirect));
    }
    let mut problems = Problems::default();
    for (field, value) in node.known_fields(&["url", "status", "internal"], &mut problems) {
        problems.check(redirect.take(field, &value));
    }
    let is_named = node.entries()?.iter().any(|(key, _)| key.name().eq_ignore_ascii_case("url"));
    if !is_named {
        problems.0.push(node.lacks("url"));
    }
    problems.or(Arc::new(redirect))
}

impl Redirect {
    fn take(&mut self, field: &str, value: &Node) -> Result<(), Problem> {
        match field {
            "url" => self.url = url(value)?,
            "status" => {
                let number = value.integer(300..=399)?;
                let status = u16::try_from(number).ok().and_then(|it| StatusCode::from_u16(it).ok());
                self.status = status.unwrap_or(self.status);
            }
            _ if value.one_of(&["NO", "YES"])? == "YES" => {
                let problem = value.problem("`internal` is `YES`, but redirects inside the server are not there");
                return Err(problem.hint("without `internal` the client asks for the other URL itself"));
            }
            _ => {}
        }
        Ok(())
    }

    /// The value of `Location`: the slash between the URL and what follows the path stands once.
    fn location(&self, request: &Request, wildcard: Option<&str>) -> String {
        let url = match wildcard {
            Some(labels) => Cow::Owned(self.url.replace('*', labels)),
            None => Cow::Borrowed(self.url.as_str()),
        };
        let rest = without_dots(request.path_info());
        let base = if rest.is_empty() { &url } else { url.strip_suffix('/').unwrap_or(&url) };
        // `//name` would be another host for a browser.
        let is_host = base.is_empty() && rest.starts_with("//");
        let rest = if is_host { rest[1..].trim_start_matches('/') } else { &rest };
        let slash = if is_host { "/" } else { "" };
        let query = request.head.uri.query().map(|it| format!("?{it}")).unwrap_or_default();
        let [rest, query] = [rest, &query].map(|it| utf8_percent_encode(it, UNSAFE));
        format!("{base}{slash}{rest}{query}")
    }
}

fn url(node: &Node) -> Result<String, Problem> {
    let expected = "a URL such as `https://www.example.com/` or a path";
    let text = node.text_as(expected)?;
    let is_visible = text.bytes().all(|it| it.is_ascii_graphic());
    if is_visible && (text.starts_with('/') || text.contains("://")) {
        return Ok(text.to_owned());
    }
    let problem = node.expected(expected);
    let is_host = is_visible && text.contains('.') && !text.starts_with(['.', '?', '#']);
    Err(if is_host { problem.hint(format!("with its scheme: `https://{text}`")) } else { problem })
}

impl Plan for Redirect {
    fn build<'a>(&'a self, workshop: &'a Workshop<'a>) -> Building<'a> {
        let host = self.url.contains('*').then(|| workshop.host.clone());
        let redirecting = Redirecting { redirect: Redirect { status: self.status, url: self.url.clone() }, host };
        Box::pin(ready(Ok(Box::new(redirecting) as Box<dyn Handler>)))
    }
}

/// A redirect on a worker, with its host's key where the URL needs it.
struct Redirecting {
    redirect: Redirect,
    host: Option<HostName>,
}

impl Handler for Redirecting {
    fn handle<'a>(&'a self, visit: &'a Visit) -> Pin<Box<dyn Future<Output = Outcome> + 'a>> {
        let request = &visit.request;
        let wildcard = self.host.as_ref().and_then(|it| it.wildcard(authority(request)));
        let location = self.redirect.location(request, wildcard);
        let mut response = Response::default();
        *response.status_mut() = self.redirect.status;
        let location = HeaderValue::try_from(location).expect("a URL of visible ASCII is a header's value");
        response.headers_mut().insert(LOCATION, location);
        Box::pin(ready(Outcome::Answer(response)))
    }
}

fn authority(request: &Request) -> &str {
    let host = || request.head.headers.get(http::header::HOST).and_then(|it| it.to_str().ok());
    request.head.uri.authority().map(http::uri::Authority::as_str).or_else(host).unwrap_or_default()
}
