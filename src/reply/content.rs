//! What a reply carries: bytes, or a file that is read when it is sent.

use std::io;
use std::path::PathBuf;
use std::rc::Rc;

use bytes::Bytes;
use http::StatusCode;
use http::request::Parts;

use super::Reply;
use crate::envelope;
use crate::file::{self, Hidden};
use crate::http::Response;

/// The body of a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// All of it.
    Bytes(Bytes),
    /// A file.
    File(Rc<Shown>),
}

impl Default for Content {
    fn default() -> Content {
        Content::Bytes(Bytes::new())
    }
}

impl<T: Into<Bytes>> From<T> for Content {
    fn from(bytes: T) -> Content {
        Content::Bytes(bytes.into())
    }
}

/// A file that a script answers with. It is not kept open: a script may hold thousands of replies, the process has
/// no more than some thousand descriptors.
#[derive(Clone, Debug)]
pub struct Shown {
    path: PathBuf,
    root: Option<PathBuf>,
    hidden: Rc<Hidden>,
}

impl PartialEq for Shown {
    fn eq(&self, other: &Shown) -> bool {
        (&self.path, &self.root) == (&other.path, &other.root)
    }
}

impl Eq for Shown {}

impl Shown {
    /// The file at `path`, whose real path has to lie in `root`, where one is given. `None` if there is none that may
    /// be shown: it is as if what is `hidden` were absent.
    ///
    /// # Errors
    /// If it is there, but can't be read.
    pub fn find(path: PathBuf, root: Option<PathBuf>, hidden: Rc<Hidden>) -> io::Result<Option<Shown>> {
        let found = file::open(&path, root.as_deref(), &hidden)?;
        Ok(found.map(|_| Shown { path, root, hidden }))
    }

    /// The response with the file in `reply`, under the conditions of the request for 200, the whole file for any
    /// other status. `errors` is the form of what is answered instead of it.
    ///
    /// # Errors
    /// If the file can't be read, or is no longer there.
    pub fn respond(&self, reply: Reply, head: &Parts, errors: &envelope::Settings) -> io::Result<Response> {
        let status = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        if super::has_no_content(status) {
            return Ok(reply.into_response(&head.method));
        }
        let file = file::open(&self.path, self.root.as_deref(), &self.hidden).and_then(|it| {
            it.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "it was there when the script asked for it"))
        });
        let path = self.path.display().to_string();
        let named = |error: io::Error| io::Error::new(error.kind(), format!("`{}`: {error}", path.escape_debug()));
        let file = file.map_err(named)?;
        let response = if status == StatusCode::OK {
            file::reply(head, file, reply.headers, errors)
        } else {
            file::whole(head, status, file, reply.headers)
        };
        response.map_err(named)
    }
}
