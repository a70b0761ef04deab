//! `status`: what the process is doing, as a page and as JSON.

use std::future::ready;
use std::sync::Arc;

use http::header::{ACCEPT, ALLOW, CACHE_CONTROL, VARY};
use http::{HeaderMap, HeaderValue, Method, StatusCode};

use super::{Building, Handler, Kind, Outcome, Plan, Visit, Workshop};
use crate::directive::{Node, Problems};
use crate::envelope;
use crate::http::Response;
use crate::status::{self, Snapshot};

/// `status`: a page at the path, JSON below it.
pub const STATUS: Kind = Kind {
    name: "status",
    summary: "Says what the server is doing: a page at the path, and the same as JSON at `json` below it or where the client \
              prefers it. The generation that is served, since when and by what; one that was refused later, with \
              excerpts where `rhai.development` is on; connections and requests of the last second. `rhaid status` says \
              it too. Everybody who reaches the path sees it: put a key or a `listen` of its own before it.",
    example: "status: ON",
    read,
};

/// What the page may load and ask: itself and its own host. A key in its URL must not go elsewhere.
const PAGE_HEADERS: [(&str, &str); 4] = [
    (
        "content-security-policy",
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("referrer-policy", "no-referrer"),
    ("x-content-type-options", "nosniff"),
    ("content-type", "text/html; charset=utf-8"),
];
const JSON_HEADERS: [(&str, &str); 2] = [("x-content-type-options", "nosniff"), ("content-type", "application/json")];

const PAGE: &str = include_str!("status/page.html");
/// Where the page has what it shows first.
const PLACE: &str = "{{status}}";

/// Whether it is there at all.
#[derive(Debug)]
struct Status(bool);

fn read(node: &Node) -> Result<Arc<dyn Plan>, Problems> {
    Ok(Arc::new(Status(node.on_off()?)))
}

impl Plan for Status {
    fn build<'a>(&'a self, workshop: &'a Workshop<'a>) -> Building<'a> {
        let shown = Shown {
            is_on: self.0,
            shows_excerpts: workshop.inherited.script.development,
            envelope: workshop.envelope.clone(),
        };
        Box::pin(ready(Ok(Box::new(shown) as Box<dyn Handler>)))
    }
}

struct Shown {
    is_on: bool,
    shows_excerpts: bool,
    envelope: envelope::Settings,
}

impl Handler for Shown {
    fn handle<'a>(&'a self, visit: &'a Visit) -> std::pin::Pin<Box<dyn Future<Output = Outcome> + 'a>> {
        let head = &visit.request.head;
        let is_page = match visit.request.path_info() {
            "" | "/" => !prefers_json(&head.headers),
            "/json" => false,
            _ => return Box::pin(ready(Outcome::Pass(HeaderMap::new()))),
        };
        if !self.is_on {
            return Box::pin(ready(Outcome::Pass(HeaderMap::new())));
        }
        if head.method != Method::GET && head.method != Method::HEAD {
            let mut response = self.envelope.error_response(StatusCode::METHOD_NOT_ALLOWED, None);
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return Box::pin(ready(Outcome::Answer(response)));
        }
        Box::pin(ready(Outcome::Answer(self.response(is_page))))
    }
}

impl Shown {
    fn response(&self, is_page: bool) -> Response {
        let mut snapshot = status::snapshot();
        if !self.shows_excerpts {
            snapshot.refusal = snapshot.refusal.map(|it| it.without_excerpts());
        }
        let json = json(&snapshot);
        let (headers, body): (&[_], _) = match is_page {
            true => (&PAGE_HEADERS, page(&json)),
            false => (&JSON_HEADERS, json),
        };
        let mut response = Response::new(body.into());
        for (name, value) in headers {
            response.headers_mut().insert(*name, HeaderValue::from_static(value));
        }
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response.headers_mut().insert(VARY, HeaderValue::from_static("accept"));
        response
    }
}

fn json(snapshot: &Snapshot) -> String {
    // Texts and numbers alone: nothing that JSON has not.
    serde_json::to_string(snapshot).unwrap_or_default()
}

/// The page with what it shows; no text ends the element that it stands in.
fn page(json: &str) -> String {
    PAGE.replacen(PLACE, &json.replace('<', "\\u003c"), 1)
}

/// Whether the client likes JSON better than HTML; who names neither gets the page.
fn prefers_json(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT).iter().filter_map(|it| it.to_str().ok()).flat_map(|it| it.split(','));
    let (mut json, mut html) = (0.0, 0.0);
    for range in accepted {
        let mut parts = range.split(';').map(str::trim);
        let best = match parts.next().unwrap_or_default().to_ascii_lowercase().as_str() {
            "application/json" => &mut json,
            "text/html" => &mut html,
            _ => continue,
        };
        *best = parts.find_map(|it| it.strip_prefix("q=")).map_or(1.0, |it| it.parse().unwrap_or(0.0_f32));
    }
    json > html
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_gets_out_of_the_page() {
        let page = page("{\"cause\":\"</script><script>alert(1)</script>\"}");
        assert!(!page.contains("<script>alert"), "{page}");
        assert!(page.contains("\\u003c/script>\\u003cscript>alert(1)"));
    }

    #[test]
    fn who_prefers_json_gets_it() {
        for (accept, expected) in [
            ("", false),
            ("*/*", false),
            ("text/html,application/xhtml+xml,*/*;q=0.8", false),
            ("application/json", true),
            ("application/json, text/html;q=0.5", true),
            ("text/html, application/json", false),
            ("application/json;q=0.5, text/html", false),
            ("text/html;q=0.9, Application/JSON ; q=1", true),
            ("application/json;q=0", false),
        ] {
            let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(accept))]);
            assert_eq!(prefers_json(&headers), expected, "{accept}");
        }
    }
}
