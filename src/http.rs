//! The types of a request and its response that all modules share; no server and no script is
//! known here.

use std::any::Any;
use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::fmt;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

mod connection;
mod journal;
mod upload;

pub use connection::{Connection, Endpoint};
pub use journal::{Emit, Journal, Mask};
pub use upload::{Arrived, Refused, Upload};

/// What a handler answers.
pub type Response = http::Response<Body>;

/// Marks a response, among its extensions, whose body is meant as it is, whatever its status.
#[derive(Clone, Copy, Debug)]
pub struct Meant;

/// A stream of bytes with the length that it declares, if it does.
pub type Stream = Pin<Box<dyn http_body::Body<Data = Bytes, Error = io::Error>>>;

/// The body of a response.
#[derive(Default)]
pub enum Body {
    /// No bytes.
    #[default]
    Empty,
    /// All bytes at once.
    Full(Bytes),
    /// Bytes as they come.
    Stream(Stream),
}

impl Body {
    /// Length in bytes where it is known.
    pub fn len(&self) -> Option<u64> {
        http_body::Body::size_hint(self).exact()
    }

    /// Whether there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.len() == Some(0)
    }
}

impl<T: Into<Bytes>> From<T> for Body {
    fn from(bytes: T) -> Body {
        Body::Full(bytes.into())
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Body::Empty => f.write_str("Empty"),
            Body::Full(bytes) => f.debug_tuple("Full").field(bytes).finish(),
            Body::Stream(_) => f.write_str("Stream"),
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match &mut *self {
            Body::Empty => Poll::Ready(None),
            Body::Full(bytes) => {
                let bytes = std::mem::take(bytes);
                *self = Body::Empty;
                Poll::Ready((!bytes.is_empty()).then(|| Ok(Frame::data(bytes))))
            }
            Body::Stream(stream) => stream.as_mut().poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Body::Empty => true,
            Body::Full(bytes) => bytes.is_empty(),
            Body::Stream(stream) => stream.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Body::Empty => SizeHint::with_exact(0),
            Body::Full(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Body::Stream(stream) => stream.size_hint(),
        }
    }
}

/// A request on its way through the handlers of the path that was found for it.
#[derive(Debug)]
pub struct Request {
    /// Method, target, version and headers as they came.
    pub head: http::request::Parts,
    /// The connection that it came over.
    pub connection: Rc<Connection>,
    /// Key of the matched host in the configuration: `SERVER_NAME`.
    pub server_name: Rc<str>,
    /// The path's key in the configuration without a `/` at its end: `SCRIPT_NAME`.
    pub script_name: Rc<str>,
    /// Where `PATH_INFO` begins in the target's raw path.
    pub path_info: usize,
    /// Number of the request, unique for each run of the server.
    pub id: Id,
    /// The body, taken by who reads it first.
    pub upload: RefCell<Upload>,
    /// Who sends the request, where it was found out; known to who put it there.
    pub identity: OnceCell<Rc<dyn Any>>,
    /// What earlier handlers set in the environment: upper-case names and their values.
    pub variables: RefCell<Vec<(String, String)>>,
    /// What logs are told of it while it is answered.
    pub journal: Journal,
}

impl Request {
    /// `PATH_INFO`: what is left of the raw path after the configuration's; `""` or begins with `/`.
    pub fn path_info(&self) -> &str {
        self.head.uri.path().get(self.path_info..).unwrap_or("")
    }

    /// Says in the logs what went wrong with the request.
    pub fn report(&self, message: &str) {
        self.journal.report(self.id, &self.masked(message));
    }

    /// A text for a log, without the keys and passwords that the request brings.
    pub fn masked<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.journal.masked(&self.head, text)
    }

    /// `QUERY_STRING`: without its `?`, undecoded; `""` if there is none.
    pub fn query(&self) -> &str {
        self.head.uri.query().unwrap_or("")
    }
}

/// Whether a header is the connection's own (RFC 9110 §7.6.1): nobody but the server says how a message is framed.
/// `trailer` (§6.6.2) announces what is never sent, and `datagram-flow-id` is dropped by h2o, too.
pub fn is_connections_own(name: &http::HeaderName) -> bool {
    matches!(
        name.as_str(),
        "connection"
            | "datagram-flow-id"
            | "keep-alive"
            | "proxy-connection"
            | "te"
            | "trailer"
            | "transfer-encoding"
            | "upgrade"
    )
}

/// Names a request in logs and for scripts, as 16 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Id(pub u64);

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
