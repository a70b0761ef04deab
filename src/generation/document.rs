//! Errors whose body is a document of their host (`error-doc`).

use std::rc::Rc;

use http::header::{
    ACCEPT_RANGES, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_LENGTH, CONTENT_TYPE, ETAG, HOST, HeaderName,
    LAST_MODIFIED, LOCATION, SET_COOKIE,
};
use http::uri::PathAndQuery;
use http::{Method, StatusCode, Uri};

use super::Generation;
use crate::http::{Request, Response, Upload};

/// Headers that describe a body: they change with it.
const OF_THE_BODY: &[HeaderName] = &[CONTENT_TYPE, CONTENT_LANGUAGE, CONTENT_ENCODING, CONTENT_LENGTH];

impl Generation {
    /// The error with the document at `path` for its body, or as it is if there is none.
    ///
    /// The document is asked for as h2o does it, with GET and without the headers of the request,
    /// which were about something else. What it is, an error too, is not asked for a document again.
    pub async fn with_document(&self, path: &PathAndQuery, request: &Request, error: Response) -> Response {
        let mut document = self.document(path, request).await;
        // A folder's index is one step further.
        if let Some(other) = moved_to(&document) {
            document = self.document(&other, request).await;
        }
        if document.status() != StatusCode::OK {
            tracing::info!(%path, "an `error-doc` is answered with {}", document.status());
            return error;
        }
        let (mut error, _) = error.into_parts();
        for name in OF_THE_BODY.iter().chain(&[ETAG, LAST_MODIFIED, ACCEPT_RANGES]) {
            error.headers.remove(name);
        }
        for name in OF_THE_BODY.iter().chain(&[SET_COOKIE]) {
            let values: Vec<_> = document.headers().get_all(name).iter().cloned().collect();
            error.headers.extend(values.into_iter().map(|it| (name.clone(), it)));
        }
        Response::from_parts(error, std::mem::take(document.body_mut()))
    }

    async fn document(&self, path: &PathAndQuery, request: &Request) -> Response {
        let mut head = request.head.clone();
        head.method = Method::GET;
        head.uri = Uri::from(path.clone());
        let host = head.headers.remove(HOST);
        head.headers.clear();
        head.headers.extend(host.map(|it| (HOST, it)));
        // The host by whose settings the error has a document.
        let (site, path_info) = self.hosts.named(&request.server_name).unwrap_or(&self.nowhere).site(path.path());
        let request = site.request(head, path_info, Upload::None, request.connection.clone(), request.id);
        site.chain.answer(&Rc::new(request)).await
    }
}

/// Where on the same host an answer sends its client.
fn moved_to(answer: &Response) -> Option<PathAndQuery> {
    let location = answer.headers().get(LOCATION).filter(|_| answer.status().is_redirection())?;
    PathAndQuery::try_from(location.as_bytes()).ok().filter(|it| it.as_str().starts_with('/'))
}
