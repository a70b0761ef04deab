//! The reply that a file is, under the conditions of a request.

use std::fs::File;
use std::io;
use std::path::Path;

use http::header::{ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, LAST_MODIFIED};
use http::request::Parts;
use http::{HeaderValue, Method, StatusCode};

use super::body::body;
use super::condition::{Part, Validators, Verdict};
use crate::envelope;
use crate::http::{Body, Response};

/// Answers a GET or HEAD with `file`, whose name in `path` says its type.
///
/// # Errors
/// If the file can't be read.
pub fn reply(head: &Parts, file: File, path: &Path, errors: &envelope::Settings) -> io::Result<Response> {
    // Of the file that is open, which may be another than was looked at before.
    let metadata = file.metadata()?;
    let length = metadata.len();
    let validators = Validators::new(metadata.modified()?, length);
    let status = match validators.judge(&head.headers) {
        Verdict::Failed => return Ok(errors.error_response(StatusCode::PRECONDITION_FAILED, None)),
        Verdict::NotModified => StatusCode::NOT_MODIFIED,
        Verdict::Send => StatusCode::OK,
    };
    let mut response = Response::default();
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(ETAG, text(validators.etag.clone()));
    headers.insert(LAST_MODIFIED, text(httpdate::fmt_http_date(validators.modified)));
    if status == StatusCode::NOT_MODIFIED {
        return Ok(response);
    }
    headers.insert(CONTENT_TYPE, content_type(path));
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    // Only GET has ranges (RFC 9110 §14.2).
    let is_get = head.method == Method::GET;
    let part = if is_get { validators.part(&head.headers, length) } else { Part::Whole };
    let (from, to) = match part {
        Part::Whole => (0, length),
        Part::Range(from, to) => {
            headers.insert(CONTENT_RANGE, text(format!("bytes {from}-{}/{length}", to - 1)));
            (from, to)
        }
        Part::Unsatisfiable => {
            let mut response = errors.error_response(StatusCode::RANGE_NOT_SATISFIABLE, None);
            response.headers_mut().insert(CONTENT_RANGE, text(format!("bytes */{length}")));
            return Ok(response);
        }
    };
    headers.insert(CONTENT_LENGTH, HeaderValue::from(to - from));
    if part != Part::Whole {
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
    }
    *response.body_mut() = if is_get { body(file, from, to)? } else { Body::Empty };
    Ok(response)
}

fn text(value: String) -> HeaderValue {
    HeaderValue::try_from(value).expect("tags, dates and ranges are visible ASCII")
}

/// The type by the name's extension; text is said to be UTF-8, as it would be read as something else.
fn content_type(path: &Path) -> HeaderValue {
    match mime_guess::from_path(path).first_raw() {
        None => HeaderValue::from_static("application/octet-stream"),
        Some(kind) if kind.starts_with("text/") => text(format!("{kind}; charset=utf-8")),
        Some(kind) => HeaderValue::from_static(kind),
    }
}
