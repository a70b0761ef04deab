//! The reply that a file is, under the conditions of a request.

use std::fs::File;
use std::io;
use std::path::Path;

use http::header::{ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, LAST_MODIFIED};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode};

use super::body::body;
use super::condition::{Part, Validators, Verdict};
use crate::envelope;
use crate::http::{Body, Response};

/// Answers with all of `file`, whatever the request's conditions are, as a POST or an error page has it.
///
/// # Errors
/// If the file can't be read.
pub fn whole(head: &Parts, status: StatusCode, file: File, headers: HeaderMap) -> io::Result<Response> {
    let length = file.metadata()?.len();
    part(head, status, headers, file, 0, length)
}

/// Answers with `file` under the conditions of a GET or HEAD. `headers` go with it, among them its type; where they
/// name validators (`etag`, `last-modified`), the conditions are about these.
///
/// # Errors
/// If the file can't be read.
pub fn reply(head: &Parts, file: File, mut headers: HeaderMap, errors: &envelope::Settings) -> io::Result<Response> {
    if !matches!(head.method, Method::GET | Method::HEAD) {
        return whole(head, StatusCode::OK, file, headers);
    }
    // Of the file that is open, which may be another than was looked at before.
    let metadata = file.metadata()?;
    let length = metadata.len();
    let validators = Validators::new(metadata.modified()?, length).or_those_of(&headers);
    let verdict = validators.judge(&head.headers);
    if verdict == Verdict::Failed {
        return Ok(errors.error_response(StatusCode::PRECONDITION_FAILED, None));
    }
    headers.insert(ETAG, text(validators.etag.clone()));
    headers.insert(LAST_MODIFIED, text(httpdate::fmt_http_date(validators.modified)));
    if verdict == Verdict::NotModified {
        headers.remove(CONTENT_TYPE);
        let mut response = Response::default();
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        *response.headers_mut() = headers;
        return Ok(response);
    }
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    // Only GET has ranges (RFC 9110 §14.2).
    let wanted = if head.method == Method::GET { validators.part(&head.headers, length) } else { Part::Whole };
    match wanted {
        Part::Whole => part(head, StatusCode::OK, headers, file, 0, length),
        Part::Range(from, to) => {
            headers.insert(CONTENT_RANGE, text(format!("bytes {from}-{}/{length}", to - 1)));
            part(head, StatusCode::PARTIAL_CONTENT, headers, file, from, to)
        }
        Part::Unsatisfiable => {
            let mut response = errors.error_response(StatusCode::RANGE_NOT_SATISFIABLE, None);
            response.headers_mut().insert(CONTENT_RANGE, text(format!("bytes */{length}")));
            Ok(response)
        }
    }
}

fn part(
    head: &Parts,
    status: StatusCode,
    mut headers: HeaderMap,
    file: File,
    from: u64,
    to: u64,
) -> io::Result<Response> {
    headers.insert(CONTENT_LENGTH, HeaderValue::from(to - from));
    let mut response = Response::new(if head.method == Method::HEAD { Body::Empty } else { body(file, from, to)? });
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    Ok(response)
}

fn text(value: String) -> HeaderValue {
    HeaderValue::try_from(value).expect("tags, dates and ranges are visible ASCII")
}

/// The type by the name's extension; text is said to be UTF-8, as it would be read as something else.
pub fn content_type(path: &Path) -> HeaderValue {
    match mime_guess::from_path(path).first_raw() {
        None => HeaderValue::from_static("application/octet-stream"),
        Some(kind) if kind.starts_with("text/") => text(format!("{kind}; charset=utf-8")),
        Some(kind) => HeaderValue::from_static(kind),
    }
}
