//! What is done to every answer of a path before it is sent, whoever made it: error documents,
//! `expires`, `header.*`, `cors`, in this order. Which handlers there are is not known here.

use http::HeaderValue;
use http::request::Parts;
use http::uri::PathAndQuery;

use crate::http::{Meant, Response};

pub mod cors;
pub mod documents;
pub mod expires;
pub mod headers;

/// What is to be done to the answers of a path; built with the generation.
#[derive(Debug)]
pub struct Filters {
    documents: documents::Settings,
    expires: Option<HeaderValue>,
    headers: headers::Settings,
    cors: cors::Settings,
}

impl Filters {
    /// `None` where answers are sent as they are.
    pub fn new(
        documents: &documents::Settings,
        expires: &expires::Settings,
        headers: &headers::Settings,
        cors: &cors::Settings,
    ) -> Option<Filters> {
        let is_any = !documents.is_empty() || expires.max_age.is_some() || !headers.is_empty() || cors.cors.is_some();
        is_any.then(|| Filters {
            documents: documents.clone(),
            expires: expires.header(),
            headers: headers.clone(),
            cors: cors.clone(),
        })
    }

    /// The answer to a browser that asks whether it may send a request (Fetch, "CORS-preflight
    /// fetch"); it needs [`Filters::apply`] as every other.
    pub fn preflight(&self, head: &Parts) -> Option<Response> {
        self.cors.cors.as_ref()?.preflight(head)
    }

    /// Path and query of the document that is to be the body of this answer, if it is an error.
    pub fn document(&self, response: &Response) -> Option<&PathAndQuery> {
        let status = response.status();
        // Most answers are no errors.
        let may_have_one = status.as_u16() >= 400 && response.extensions().get::<Meant>().is_none();
        if may_have_one { self.documents.find(status) } else { None }
    }

    /// Changes the headers of the answer to the request with this head.
    pub fn apply(&self, head: &Parts, response: &mut Response) {
        if let Some(value) = &self.expires {
            expires::apply(value, response);
        }
        self.headers.apply(response.headers_mut());
        if let Some(cors) = &self.cors.cors {
            cors.apply(head, response.headers_mut());
        }
    }
}
