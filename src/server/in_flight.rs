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
use crate::generation::{Generation, Site};
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
    /// Apart, for this is moved from future to future.
    logged: Option<Box<Logged>>,
}

/// What few logs write.
#[derive(Default)]
struct Logged {
    /// The reply's.
    headers: HeaderMap,
    /// When the request's head was read, where times are written.
    read: Option<Instant>,
    answered: Option<Instant>,
}

impl InFlight {
    pub(super) fn new(service: Service, site: Rc<Site>, request: Rc<Request>) -> InFlight {
        let needs = &site.logs.needs;
        let logged = (needs.times || needs.headers)
            .then(|| Box::new(Logged { read: needs.times.then(Instant::now), ..Logged::default() }));
        let status = StatusCode::from_u16(CLIENT_CLOSED_REQUEST).unwrap_or(StatusCode::BAD_REQUEST);
        InFlight { service, site, request, status, bytes: 0, logged }
    }

    /// The reply with what is done to all replies of its path.
    pub(super) async fn filtered(&self, generation: &Generation, mut response: Response) -> Response {
        let Some(filters) = &self.site.filters else { return response };
        // Who has too much to do looks for no documents.
        let is_busy = self.service.is_busy();
        if let Some(path) = filters.document(&response).filter(|_| !is_busy) {
            response = generation.with_document(path, &self.request, response).await;
        }
        filters.apply(&self.request.head, &mut response);
        response
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
        if let Some(logged) = &mut self.logged {
            if self.site.logs.needs.headers {
                logged.headers.clone_from(response.headers());
            }
            logged.answered = logged.read.map(|_| Instant::now());
        }
    }

    /// The reply keeps the request in flight for as long as its body is on its way.
    pub(super) fn until_sent(self, response: &mut Response) {
        let body = response.body_mut();
        if self.request.head.method != Method::HEAD
            && let Body::Stream(stream) = body
        {
            let stream = std::mem::replace(stream, Box::pin(Body::Empty));
            *body = Body::Stream(Box::pin(Sending { stream, in_flight: self }));
        }
    }

    fn times(&self) -> Option<Times> {
        let logged = self.logged.as_ref()?;
        let (read, ended) = (logged.read?, Instant::now());
        let began = self.request.connection.began.get().unwrap_or(read);
        Some(Times { began, read, answered: logged.answered.unwrap_or(ended), ended })
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        if self.site.logs.is_empty() {
            return self.service.ended(self.status);
        }
        let none = HeaderMap::new();
        let record = Record {
            request: &self.request,
            status: self.status,
            bytes: self.bytes,
            headers: self.logged.as_ref().map_or(&none, |it| &it.headers),
            times: self.times(),
        };
        self.service.log(&self.site.logs, &record);
        self.service.ended(self.status);
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
