//! `openapi`: the description of a path's routes, and a page to read and try them. What serves them is not known here.

use std::sync::Arc;

use bytes::Bytes;
use http::header::CACHE_CONTROL;
use http::{HeaderName, HeaderValue, Method};

use crate::directive::{self, Directive, Level, Node, Problems, Repeat};
use crate::http::{Body, Request, Response};
use crate::script::Operation;
use crate::{auth, envelope};

mod document;

use document::Document;

/// The names under which a path's description and its page are found.
const DOCUMENT: &str = "/openapi.json";
const PAGE: &str = "/docs";

/// The page around a description; it asks nothing of other hosts.
const HTML: &str = include_str!("openapi/page.html");

/// What the page may load and ask: itself and its own host. The key in its URL must not go elsewhere.
const PAGE_HEADERS: [(&str, &str); 4] = [
    (
        "content-security-policy",
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; img-src data:; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("referrer-policy", "no-referrer"),
    ("x-content-type-options", "nosniff"),
    ("content-type", "text/html; charset=utf-8"),
];

/// Whether a path describes its routes, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// `None`: it does not.
    pub info: Option<Arc<Info>>,
}

/// What the configuration says of the API as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Info {
    title: String,
    version: String,
    description: Option<String>,
    /// Whether description and page need no API key.
    is_public: bool,
}

impl Default for Info {
    fn default() -> Info {
        Info { title: "API".to_owned(), version: "1.0.0".to_owned(), description: None, is_public: false }
    }
}

impl directive::Settings for Settings {
    const DIRECTIVES: &'static [Directive<Settings>] = &[Directive {
        name: "openapi",
        levels: &[Level::Path],
        repeat: Repeat::Once,
        summary: "Describes the routes of the path's routers: `openapi.json` below the path is an OpenAPI 3.1 document, `docs` a \
                  page to read and try them (`/docs?key=…` where a key is needed). They are behind the path's `auth.api-key`, \
                  unless `public` is `ON`. `ON`, or a mapping of what the document says.",
        example: "openapi: {title: Projects, version: 1.2.0, description: Companies and their projects}",
        apply: |settings, node| {
            settings.info = if node.is_off() { None } else { Some(Arc::new(read(node)?)) };
            Ok(())
        },
    }];
}

fn read(node: &Node) -> Result<Info, Problems> {
    let mut info = Info::default();
    if node.kind() == directive::Kind::Scalar {
        let on = node.on_off().map_err(|_| node.expected("`ON`, `OFF` or a mapping such as `{title: Projects}`"))?;
        debug_assert!(on, "`OFF` was looked for before");
        return Ok(info);
    }
    let mut problems = Problems::default();
    for (field, value) in node.fields(&["title", "version", "description", "public"])? {
        match field {
            "public" => info.is_public = problems.check(value.on_off()).unwrap_or_default(),
            _ => {
                let text = problems.check(value.text_as("a text")).unwrap_or_default().to_owned();
                match field {
                    "title" => info.title = text,
                    "version" => info.version = text,
                    _ => info.description = Some(text),
                }
            }
        }
    }
    problems.or(info)
}

/// A path's description and page, ready to be sent.
pub struct Pages {
    document: Bytes,
    page: Bytes,
    is_public: bool,
}

impl Pages {
    /// Describes the routes of the path whose `SCRIPT_NAME` is `base`.
    pub fn new(
        info: &Info,
        base: &str,
        auth: &auth::Settings,
        envelope: &envelope::Settings,
        operations: &[Operation],
    ) -> Pages {
        let document = Document::new(info, base, auth, envelope, operations);
        let document = serde_json::to_string_pretty(&document).unwrap_or_default();
        // In a page nothing may look like the end of its script.
        let page = HTML.replacen("{document}", &document.replace('<', "\\u003c"), 1);
        Pages { document: document.into(), page: page.into(), is_public: info.is_public }
    }

    /// Answers a request for one of the two; `is_known` says whether the request's key was looked at.
    pub fn answer(&self, request: &Request, is_known: bool) -> Option<Response> {
        if !is_known && !self.is_public {
            return None;
        }
        let (body, headers): (_, &[_]) = match request.path_info() {
            DOCUMENT => (&self.document, &[("content-type", "application/json")]),
            PAGE => (&self.page, &PAGE_HEADERS),
            _ => return None,
        };
        if !matches!(request.head.method, Method::GET | Method::HEAD) {
            return None;
        }
        let mut response = Response::new(Body::Full(body.clone()));
        for (name, value) in headers {
            response.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        Some(response)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directive::{Settings as _, apply};

    #[test]
    fn it_is_on_or_off_or_says_what_the_document_says() {
        let info = |text: &str| apply(Settings::default(), text).map(|it| it.info.map(|it| (*it).clone()));
        assert_eq!(info("openapi: ON").unwrap(), Some(Info::default()));
        assert_eq!(info("openapi: off").unwrap(), None);
        let expected = Info {
            title: "Projects".to_owned(),
            version: "1.2.0".to_owned(),
            description: Some("Companies and their projects".to_owned()),
            is_public: false,
        };
        assert_eq!(info(Settings::DIRECTIVES[0].example).unwrap(), Some(expected));
        assert!(info("openapi: yes").unwrap_err().contains("`openapi` is `yes`, expected `ON`, `OFF` or a mapping"));
        assert!(info("openapi: {tittle: x}").unwrap_err().contains("did you mean `title`?"));
    }
}
