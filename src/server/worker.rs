//! One worker: its generation, its connections, and the way of a request through both.

use std::cell::{Cell, RefCell};
use std::hash::{BuildHasher, RandomState};
use std::net::TcpListener;
use std::rc::Rc;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use http::{HeaderValue, Method, StatusCode, Version, header};
use tokio::runtime::LocalRuntime;
use tokio::sync::{Semaphore, watch};

use super::Refusal;
use crate::access_log::{Buffers, Record};
use crate::binding;
use crate::config::Config;
use crate::envelope;
use crate::generation::{Generation, Purpose};
use crate::http::{Connection, Id, Response, Upload};
use crate::net::{self, Inbox, Live, Outboxes, Patience, Serve};
use crate::script::{Engines, check_target};

/// Requests that a worker answers at a time; more get 503.
const MOST_IN_FLIGHT: usize = 10_000;

/// All that a worker starts with.
pub(super) struct Task {
    pub(super) index: usize,
    pub(super) config: Arc<Config>,
    pub(super) listeners: Vec<TcpListener>,
    pub(super) outboxes: Outboxes,
    pub(super) inbox: Inbox,
    pub(super) built: mpsc::Sender<Result<(), Refusal>>,
    pub(super) go: Arc<Semaphore>,
    pub(super) stop: watch::Receiver<bool>,
    pub(super) grace: Duration,
}

impl Task {
    /// Runs the worker to its end.
    pub(super) fn run(self) {
        let runtime = match LocalRuntime::new() {
            Ok(runtime) => runtime,
            Err(error) => {
                let _ = self.built.send(Err(Refusal::System(format!("no runtime for a worker: {error}"))));
                return;
            }
        };
        runtime.block_on(self.serve());
    }

    async fn serve(mut self) {
        let engines = Engines::new([binding::register as _]);
        let generation = match Generation::build(&self.config, &engines, Purpose::Serve).await {
            Ok(generation) => generation,
            Err(problems) => {
                let _ = self.built.send(Err(Refusal::Configuration(problems.join("\n"))));
                return;
            }
        };
        let worker = Worker(Rc::new(State {
            generation: RefCell::new(Rc::new(generation)),
            in_flight: Cell::new(0),
            next_id: Cell::new(RandomState::new().hash_one(self.index)),
            logged: RefCell::default(),
        }));
        if self.built.send(Ok(())).is_err() {
            return;
        }
        drop(self.built);
        // Closed when another worker could not be built.
        let Ok(permit) = self.go.acquire().await else { return };
        permit.forget();
        let live = Live::new(Patience::default());
        tokio::task::spawn_local({
            let live = live.clone();
            async move { live.sweep().await }
        });
        tokio::task::spawn_local(write_logs(worker.clone()));
        let logged = worker.clone();
        let serve = {
            let live = live.clone();
            move |stream| net::converse(stream, live.clone(), worker.clone())
        };
        tokio::select! {
            accepted = net::accept(self.listeners, self.index, self.outboxes, self.inbox, serve) => {
                if let Err(error) = accepted {
                    tracing::error!("a worker can't listen: {error}");
                }
            }
            _ = self.stop.wait_for(|stop| *stop) => {}
        }
        live.finish(self.grace).await;
        logged.0.logged.borrow_mut().flush_all();
    }
}

/// The access logs are written out at least once a second.
async fn write_logs(worker: Worker) {
    let mut ticks = tokio::time::interval(Duration::from_secs(1));
    loop {
        ticks.tick().await;
        worker.0.logged.borrow_mut().flush_all();
    }
}

/// What serves the connections of this thread.
#[derive(Clone)]
struct Worker(Rc<State>);

struct State {
    generation: RefCell<Rc<Generation>>,
    in_flight: Cell<usize>,
    next_id: Cell<u64>,
    logged: RefCell<Buffers>,
}

impl Serve for Worker {
    async fn serve(&self, head: http::request::Parts, upload: Upload, connection: Rc<Connection>) -> Response {
        let state = &*self.0;
        let generation = state.generation.borrow().clone();
        let id = Id(state.next_id.replace(state.next_id.get().wrapping_add(1)));
        let _counted = Counted::new(&state.in_flight);
        let mut response = answer(state, &generation, head, upload, connection, id).await;
        if !response.headers().contains_key(header::SERVER) {
            response.headers_mut().insert(header::SERVER, generation.server.clone());
        }
        response
    }
}

async fn answer(
    state: &State,
    generation: &Generation,
    head: http::request::Parts,
    upload: Upload,
    connection: Rc<Connection>,
    id: Id,
) -> Response {
    let authority = match authority(&head) {
        Ok(authority) => authority,
        Err(message) => return envelope::Settings::plain().error_response(StatusCode::BAD_REQUEST, Some(message)),
    };
    let site = generation.site(authority, connection.local.port(), head.uri.path());
    let refusal = if state.in_flight.get() > MOST_IN_FLIGHT {
        let mut response = site.envelope().error_response(StatusCode::SERVICE_UNAVAILABLE, None);
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        Some(response)
    } else {
        let checked = check_target(head.uri.path(), head.uri.query().unwrap_or(""));
        checked.err().map(|message| site.envelope().error_response(StatusCode::BAD_REQUEST, Some(&message)))
    };
    let request = site.request(head, upload, connection, id);
    let (request, response) = match refusal {
        Some(response) => (Rc::new(request), response),
        None => site.chain().answer(request).await,
    };
    let logs = site.logs();
    if !logs.is_empty() {
        let head_only = request.head.method == Method::HEAD;
        // Of a stream whose length nobody knows the log says nothing.
        let bytes = if head_only { 0 } else { response.body().len().unwrap_or(0) };
        state.logged.borrow_mut().write(logs, &Record { request: &request, status: response.status(), bytes });
    }
    response
}

/// Whom the request is for (RFC 9112 §3.2): the target's own authority, or the Host header, which
/// HTTP/1.1 requires.
fn authority(head: &http::request::Parts) -> Result<&str, &'static str> {
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
struct Counted<'a>(&'a Cell<usize>);

impl<'a> Counted<'a> {
    fn new(count: &'a Cell<usize>) -> Counted<'a> {
        count.set(count.get() + 1);
        Counted(count)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}
