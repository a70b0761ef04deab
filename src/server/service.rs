//! The way of a request through a worker: the site that it is for, the site's handlers, the log.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use http::request::Parts;
use http::{HeaderValue, Method, StatusCode, Version, header};

use crate::access_log::{Buffers, Record};
use crate::generation::{Generation, Site};
use crate::http::{Connection, Id, Request, Response, Upload};
use crate::net::Serve;
use crate::script::check_target;

/// Requests that a worker answers at a time; more get 503.
const MOST_IN_FLIGHT: usize = 10_000;

/// What serves the connections of a worker. Clones are the same.
#[derive(Clone)]
pub(super) struct Service(Rc<State>);

struct State {
    generation: RefCell<Rc<Generation>>,
    in_flight: Cell<usize>,
    next_id: Cell<u64>,
    logged: RefCell<Buffers>,
}

impl Service {
    /// Serves a generation; its requests are numbered from `first_id` on.
    pub(super) fn new(generation: Generation, first_id: u64) -> Service {
        Service(Rc::new(State {
            generation: RefCell::new(Rc::new(generation)),
            in_flight: Cell::new(0),
            next_id: Cell::new(first_id),
            logged: RefCell::default(),
        }))
    }

    /// Hands on the lines of the access logs.
    pub(super) fn write_logs(&self) {
        self.0.logged.borrow_mut().flush_all();
    }

    fn log(&self, site: &Site, request: &Request, response: &Response) {
        if site.logs.is_empty() {
            return;
        }
        let head_only = request.head.method == Method::HEAD;
        // Of a stream whose length nobody knows the log says nothing.
        let bytes = if head_only { 0 } else { response.body().len().unwrap_or(0) };
        let record = Record { request, status: response.status(), bytes };
        self.0.logged.borrow_mut().write(&site.logs, &record);
    }
}

impl Serve for Service {
    // Not an `async fn`: the head of the request would be moved from one future into the next, and
    // that is a good part of what a quick request costs.
    fn serve(&self, head: Parts, upload: Upload, connection: Rc<Connection>) -> impl Future<Output = Response> + use<> {
        let service = self.clone();
        let state = &*service.0;
        state.in_flight.set(state.in_flight.get() + 1);
        let counted = Counted(service.clone());
        let id = Id(state.next_id.replace(state.next_id.get().wrapping_add(1)));
        let generation = state.generation.borrow().clone();
        let (authority, mistake) = match authority(&head) {
            Ok(authority) => (authority, None),
            Err(message) => ("", Some(message.to_owned())),
        };
        let (site, path_info) = generation.site(authority, connection.local.port(), head.uri.path());
        let refused = state.refuse(&site, &head, mistake);
        let request = Rc::new(site.request(head, path_info, upload, connection, id));
        async move {
            let mut response = match refused {
                Some(response) => response,
                None => site.chain.answer(&request).await,
            };
            if !response.headers().contains_key(header::SERVER) {
                response.headers_mut().insert(header::SERVER, generation.server.clone());
            }
            service.log(&site, &request, &response);
            drop(counted);
            response
        }
    }
}

impl State {
    /// What is answered without asking the handlers, if something is.
    fn refuse(&self, site: &Site, head: &Parts, mistake: Option<String>) -> Option<Response> {
        if self.in_flight.get() > MOST_IN_FLIGHT {
            let mut response = site.envelope.error_response(StatusCode::SERVICE_UNAVAILABLE, None);
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            return Some(response);
        }
        let mistake = mistake.or_else(|| check_target(head.uri.path(), head.uri.query().unwrap_or("")).err());
        mistake.map(|message| site.envelope.error_response(StatusCode::BAD_REQUEST, Some(&message)))
    }
}

/// Whom the request is for (RFC 9112 §3.2): the target's own authority, or the Host header, which
/// HTTP/1.1 requires.
fn authority(head: &Parts) -> Result<&str, &'static str> {
    if let Some(authority) = head.uri.authority() {
        return Ok(authority.as_str());
    }
    let mut hosts = head.headers.get_all(header::HOST).iter();
    match (hosts.next(), hosts.next()) {
        (Some(host), None) => host.to_str().map_err(|_| "the Host header is no host name"),
        (None, _) if head.version == Version::HTTP_11 => Err("HTTP/1.1 needs a Host header"),
        (None, _) => Ok(""),
        (Some(_), Some(_)) => Err("there is more than one Host header"),
    }
}

/// Counts a request as long as it is in flight.
struct Counted(Service);

impl Drop for Counted {
    fn drop(&mut self) {
        let in_flight = &self.0.0.in_flight;
        in_flight.set(in_flight.get() - 1);
    }
}
