//! A request from the moment its head was read to the last byte of its reply.

use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use http_body::{Frame, SizeHint};

use super::service::Service;
use crate::access_log::{Record, Times};
use crate::generation::Site;
use crate::http::{Body, Request, Response, Stream};

/// nginx's status for a client that went away before its answer; it is in logs only.
const CLIENT_CLOSED_REQUEST: u16 = 499;

/// A request in flight: counted as long as it lives, and logged when it ends in one way or another.
pub(super) struct InFlight {
    pub(super) service: Service,
    pub(super) site: Rc<Site>,
    pub(super) request: Rc<Request>,
    status: StatusCode,
    bytes: u64,
    /// The reply's, where a log writes it.
    headers: HeaderMap,
    /// When its head was read, where a log writes times.
    read: Option<Instant>,
    answered: Option<Instant>,
}

impl InFlight {
    pub(super) fn new(service: Service, site: Rc<Site>, request: Rc<Request>) -> InFlight {
        let read = site.logs.needs.times.then(Instant::now);
        let status = StatusCode::from_u16(CLIENT_CLOSED_REQUEST).unwrap_or(StatusCode::BAD_REQUEST);
        InFlight { service, site, request, status, bytes: 0, headers: HeaderMap::new(), read, answered: None }
    }

    /// The reply is there.
    pub(super) fn answered(&mut self, response: &Response) {
        self.status = response.status();
        self.bytes = match response.body() {
            _ if self.request.head.method == Method::HEAD => 0,
            // Counted while it goes.
            Body::Stream(_) => 0,
            body => body.len().unwrap_or(0),
        };
        if self.site.logs.needs.headers {
            self.headers.clone_from(response.headers());
        }
        if self.read.is_some() {
            self.answered = Some(Instant::now());
        }
    }

    /// The reply, which keeps the request in flight for as long as its body is on its way.
    pub(super) fn until_sent(self, response: Response) -> Response {
        response.map(|body| match body {
            Body::Stream(stream) if self.request.head.method != Method::HEAD => {
                Body::Stream(Box::pin(Sending { stream, in_flight: self }))
            }
            body => body,
        })
    }

    fn times(&self, read: Instant) -> Times {
        let ended = Instant::now();
        let began = self.request.connection.began.get().unwrap_or(read);
        Times { began, read, answered: self.answered.unwrap_or(ended), ended }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let record = Record {
            request: &self.request,
            status: self.status,
            bytes: self.bytes,
            headers: &self.headers,
            times: self.read.map(|read| self.times(read)),
        };
        self.service.ended(&self.site.logs, &record);
    }
}

/// A body that counts what is sent of it.
struct Sending {
    stream: Stream,
    in_flight: InFlight,
}

impl http_body::Body for Sending {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let frame = ready!(self.stream.as_mut().poll_frame(context));
        if let Some(Ok(frame)) = &frame
            && let Some(bytes) = frame.data_ref()
        {
            self.in_flight.bytes += bytes.len() as u64;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.stream.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.stream.size_hint()
    }
}
