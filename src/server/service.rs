//! The way of a request through a worker: the site that it is for, the site's handlers, the log.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use http::request::Parts;
use http::{HeaderMap, Method, StatusCode, Version, header};

use super::in_flight::InFlight;
use crate::access_log::{Buffers, Logs, Record};
use crate::generation::{Generation, Site};
use crate::http::{Connection, Id, Response, Upload};
use crate::net::Serve;
use crate::script::check_target;
use crate::status::{self, Counters};

/// What serves the connections of a worker. Clones are the same.
#[derive(Clone)]
pub(super) struct Service(Rc<State>);

struct State {
    /// The number of the generation that all workers serve: when it changes, they all do at once.
    live: Arc<AtomicU64>,
    number: Cell<u64>,
    generation: RefCell<Rc<Generation>>,
    /// One that is ready, with its number.
    next: RefCell<Option<(u64, Rc<Generation>)>>,
    in_flight: Cell<usize>,
    /// Requests that are answered at a time; more get 503.
    most: Cell<usize>,
    next_id: Cell<u64>,
    logged: RefCell<Buffers>,
    /// Answers by the first digit of their status, until they are handed on.
    answered: Cell<[u64; 6]>,
    counters: Arc<Counters>,
}

impl Service {
    /// Serves generation `number` until another is ready and `live`; requests are numbered from `first_id` on.
    pub(super) fn new(generation: Generation, number: u64, live: Arc<AtomicU64>, first_id: u64) -> Service {
        Service(Rc::new(State {
            number: Cell::new(number),
            live,
            generation: RefCell::new(Rc::new(generation)),
            next: RefCell::default(),
            in_flight: Cell::new(0),
            most: Cell::new(usize::MAX),
            next_id: Cell::new(first_id),
            logged: RefCell::default(),
            answered: Cell::default(),
            counters: status::counters(),
        }))
    }

    /// The generation that is served.
    pub(super) fn generation(&self) -> Rc<Generation> {
        let state = &self.0;
        let live = state.live.load(Ordering::Acquire);
        if state.number.get() != live {
            state.switch(live);
        }
        state.generation.borrow().clone()
    }

    /// Answers so many requests at a time from now on.
    pub(super) fn limit(&self, most: usize) {
        self.0.most.set(most);
    }

    /// Keeps a generation ready for the moment when its number is the live one.
    pub(super) fn prepare(&self, number: u64, generation: Generation) {
        self.0.next.replace(Some((number, Rc::new(generation))));
    }

    /// Goes over to the live generation, also without a request, and forgets one that was not to be.
    pub(super) fn settle(&self) {
        drop(self.generation());
        let forgotten = self.0.next.take();
        drop(forgotten);
    }

    /// Hands on the lines of the access logs.
    pub(super) fn write_logs(&self) {
        self.0.logged.borrow_mut().flush_all();
    }

    /// Hands on what was counted; `connections` are open.
    pub(super) fn count(&self, connections: usize) {
        let (state, counters) = (&self.0, &self.0.counters);
        counters.connections.store(connections as u64, Ordering::Relaxed);
        counters.in_flight.store(state.in_flight.get() as u64, Ordering::Relaxed);
        for (counter, more) in counters.answers.iter().zip(state.answered.take()) {
            counter.fetch_add(more, Ordering::Relaxed);
        }
    }

    /// Whether there are more requests than shall be answered.
    pub(super) fn is_busy(&self) -> bool {
        self.0.in_flight.get() > self.0.most.get()
    }

    /// A request has ended, in one way or another.
    pub(super) fn ended(&self, status: StatusCode) {
        let state = &self.0;
        state.in_flight.set(state.in_flight.get() - 1);
        let answered = &state.answered.as_array_of_cells()[usize::from(status.as_u16() / 100).min(6) % 6];
        answered.set(answered.get() + 1);
    }

    /// Notes a request that has ended.
    pub(super) fn log(&self, logs: &Logs, record: &Record<'_>) {
        self.0.logged.borrow_mut().write(logs, record);
    }
}

impl Serve for Service {
    // Not an `async fn`: the head of the request would be moved from one future into the next, and
    // that is a good part of what a quick request costs.
    fn serve(&self, head: Parts, upload: Upload, connection: Rc<Connection>) -> impl Future<Output = Response> + use<> {
        let state = &*self.0;
        state.in_flight.set(state.in_flight.get() + 1);
        connection.requests.set(connection.requests.get() + 1);
        let id = Id(state.next_id.replace(state.next_id.get().wrapping_add(1)));
        let generation = self.generation();
        let (authority, mistake) = match authority(&head) {
            Ok(authority) => (authority, None),
            Err(message) => ("", Some(message.to_owned())),
        };
        let (site, path_info) = generation.site(authority, &connection.local, head.uri.path());
        let coding = if matches!(upload, Upload::None) { None } else { refused_coding(&head.headers) };
        let refused = state.refuse(&site, &head, mistake, coding);
        let refused = refused.or_else(|| site.filters.as_ref()?.preflight(&head)).map(Box::new);
        let request = Rc::new(site.request(head, path_info, upload, connection, id));
        let mut in_flight = InFlight::new(self.clone(), site, request);
        async move {
            let mut response = match refused {
                Some(response) => *response,
                None => in_flight.site.chain.answer(&in_flight.request).await,
            };
            if in_flight.site.filters.is_some() {
                response = Box::pin(in_flight.filtered(&generation, response)).await;
            }
            response.headers_mut().entry(header::SERVER).or_insert_with(|| generation.server.clone());
            in_flight.answered(&response);
            in_flight.until_sent(&mut response);
            response
        }
    }
}

impl State {
    #[cold]
    fn switch(&self, live: u64) {
        let next = self.next.take();
        let Some((number, generation)) = next else { return };
        if number != live {
            self.next.replace(Some((number, generation)));
            return;
        }
        self.number.set(number);
        let old = self.generation.replace(generation);
        // Requests that began with it keep it until they end.
        drop(old);
    }

    /// What is answered without asking the handlers, if something is.
    fn refuse(
        &self,
        site: &Site,
        head: &Parts,
        mistake: Option<String>,
        coding: Option<StatusCode>,
    ) -> Option<Response> {
        if self.in_flight.get() > self.most.get() {
            return Some(site.envelope.unavailable());
        }
        if let Some(status) = coding {
            return Some(site.envelope.error_response(status, None));
        }
        let mistake = mistake.or_else(|| check_target(head.uri.path(), head.uri.query().unwrap_or("")).err());
        mistake.map(|message| site.envelope.error_response(StatusCode::BAD_REQUEST, Some(&message)))
    }
}

/// Whom the request is for (RFC 9112 §3.2): the target's own authority, else the Host header, which
/// HTTP/1.1 requires beside both. What has an authority alone is for CONNECT, `*` for OPTIONS.
fn authority(head: &Parts) -> Result<&str, &'static str> {
    let path = head.uri.path();
    let is_target =
        path.starts_with('/') || head.method == Method::CONNECT || (path == "*" && head.method == Method::OPTIONS);
    if !is_target {
        return Err("the request's target is neither a path nor a URL");
    }
    let mut hosts = head.headers.get_all(header::HOST).iter();
    let host = match (hosts.next(), hosts.next()) {
        (Some(host), None) => {
            let host = host.to_str().ok().filter(|it| is_host(it));
            host.ok_or("the Host header is no host name")?
        }
        (None, _) if head.version == Version::HTTP_11 => return Err("HTTP/1.1 needs a Host header"),
        (None, _) => "",
        (Some(_), Some(_)) => return Err("there is more than one Host header"),
    };
    Ok(head.uri.authority().map_or(host, |it| it.as_str()))
}

/// hyper takes off one `chunked`. Twice it is malformed, and what else was applied nobody here can
/// take off (RFC 9112 §6.1).
fn refused_coding(headers: &HeaderMap) -> Option<StatusCode> {
    let mut lines = headers.get_all(header::TRANSFER_ENCODING).iter().peekable();
    lines.peek()?;
    let codings = lines.flat_map(|it| it.as_bytes().split(|byte| *byte == b','));
    let codings: Vec<_> = codings.map(<[u8]>::trim_ascii).collect();
    match codings.iter().filter(|it| it.eq_ignore_ascii_case(b"chunked")).count() {
        1 if codings.len() == 1 => None,
        count if count == codings.len() => Some(StatusCode::BAD_REQUEST),
        _ => Some(StatusCode::NOT_IMPLEMENTED),
    }
}

/// Whether a Host header's value can be one (RFC 9110 §7.2); an empty one can.
fn is_host(host: &str) -> bool {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, port),
        _ => (host, ""),
    };
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~[]:!$&'()*+,;=%".contains(&byte);
    name.bytes().all(is_name) && port.bytes().all(|it| it.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_a_name_with_or_without_a_port() {
        for host in ["", "a", "example.com:80", "127.0.0.1:8080", "[::1]", "[::1]:80", "a_b.c:"] {
            assert!(is_host(host), "{host}");
        }
        for host in ["a b", "a/b", "a:b", "a@b", "a:80:x", "ä", "a?b", "a\\b"] {
            assert!(!is_host(host), "{host}");
        }
    }
}
