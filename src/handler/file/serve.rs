//! Serves files; scripts, the configuration and databases never.

use std::fs::File;
use std::future::{Future, ready};
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::rc::Rc;

use http::header::{ALLOW, CONTENT_TYPE, LOCATION};
use http::{HeaderMap, HeaderValue, Method, StatusCode};

use crate::envelope;
use crate::file::{self, Hidden, present};
use crate::handler::{Handler, Outcome, Visit};
use crate::http::{Request, Response};

mod path;

use path::Wanted;

/// Serves the files of a folder, or one file.
///
/// Finding and opening a file, and reading up to 64 KiB of it, is done by the worker itself, as in
/// h2o and nginx: in the page cache it takes about as long as handing the work to another thread
/// alone. A file that isn't there, which is what a request for a script costs where `file.dir` stands
/// before it, takes a tenth of that. More than 64 KiB is read by other threads.
#[derive(Debug)]
pub struct Files {
    source: Source,
    hidden: Rc<Hidden>,
    errors: envelope::Settings,
}

#[derive(Debug)]
enum Source {
    Folder { root: PathBuf, index: Vec<String> },
    One(PathBuf),
}

/// What was found for a request.
enum Found {
    File(File, PathBuf),
    /// A folder with an index, asked for without a `/` at its end: where it is.
    Moved(String),
    Absent,
}

impl Files {
    /// Serves what lies in `root`, and for a folder in it the first of `index` that exists.
    ///
    /// What has the path of one of `hidden` is as if it were absent, and so are SQLite's files beside
    /// it, and scripts.
    pub fn dir(root: PathBuf, index: Vec<String>, hidden: Rc<Hidden>) -> Files {
        let source = Source::Folder { root, index };
        Files { source, hidden, errors: envelope::Settings::plain() }
    }

    /// Serves the file `path` for whatever comes after the path of the configuration, as h2o's
    /// `file.file` does.
    pub fn one(path: PathBuf, hidden: Rc<Hidden>) -> Files {
        Files { source: Source::One(path), hidden, errors: envelope::Settings::plain() }
    }

    /// Errors wear `errors`, where not h2o's plain text.
    pub fn with_errors(self, errors: envelope::Settings) -> Files {
        Files { errors, ..self }
    }

    fn answer(&self, request: &Request) -> Outcome {
        let found = match &self.source {
            Source::Folder { root, index } => self.find(root, index, request),
            Source::One(path) => self.open(path.clone(), None),
        };
        match found {
            Ok(Found::Absent) => Outcome::Pass(HeaderMap::new()),
            // Only what exists can refuse a method: else the next handler may know better.
            Ok(_) if !matches!(request.head.method, Method::GET | Method::HEAD) => {
                let mut response = self.errors.error_response(StatusCode::METHOD_NOT_ALLOWED, None);
                response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
                Outcome::Answer(response)
            }
            Ok(Found::Moved(location)) => Outcome::Answer(self.moved(&location)),
            Ok(Found::File(file, path)) => {
                let headers = HeaderMap::from_iter([(CONTENT_TYPE, file::content_type(&path))]);
                let reply = file::reply(&request.head, file, headers, &self.errors);
                Outcome::Answer(reply.unwrap_or_else(|error| self.failed(request, &error)))
            }
            Err(error) => Outcome::Answer(self.failed(request, &error)),
        }
    }

    fn find(&self, root: &Path, index: &[String], request: &Request) -> io::Result<Found> {
        let Some(wanted) = Wanted::new(request.path_info()) else { return Ok(Found::Absent) };
        let path = wanted.in_folder(root);
        let Some(metadata) = present(path.metadata())? else { return Ok(Found::Absent) };
        if !metadata.is_dir() {
            return if wanted.is_folder { Ok(Found::Absent) } else { self.open(path, Some(root)) };
        }
        for name in index {
            match self.open(path.join(name), Some(root))? {
                Found::Absent => {}
                // Where h2o redirects also to a folder that has nothing to show, rhaid lets the next
                // handler answer: else a script beside `file.dir` could not answer at its own path.
                _ if !wanted.is_folder => {
                    return Ok(Found::Moved(wanted.location(&request.script_name, request.head.uri.query())));
                }
                found => return Ok(found),
            }
        }
        Ok(Found::Absent)
    }

    fn open(&self, path: PathBuf, root: Option<&Path>) -> io::Result<Found> {
        let file = file::open(&path, root, &self.hidden)?;
        Ok(file.map_or(Found::Absent, |file| Found::File(file, path)))
    }

    fn moved(&self, location: &str) -> Response {
        match HeaderValue::from_str(location) {
            Ok(location) => {
                let mut response = Response::default();
                *response.status_mut() = StatusCode::MOVED_PERMANENTLY;
                response.headers_mut().insert(LOCATION, location);
                response
            }
            // A query with bytes that a header can't carry.
            Err(_) => self.errors.error_response(StatusCode::BAD_REQUEST, None),
        }
    }

    fn failed(&self, request: &Request, error: &io::Error) -> Response {
        if error.kind() == io::ErrorKind::PermissionDenied {
            return self.errors.error_response(StatusCode::FORBIDDEN, None);
        }
        let path = request.head.uri.path();
        tracing::error!(request = %request.id, path, "a file can't be served: {error}");
        self.errors.error_response(StatusCode::INTERNAL_SERVER_ERROR, None)
    }
}

impl Handler for Files {
    fn handle<'a>(&'a self, visit: &'a Visit) -> Pin<Box<dyn Future<Output = Outcome> + 'a>> {
        Box::pin(ready(self.answer(&visit.request)))
    }
}

#[cfg(test)]
mod tests;
