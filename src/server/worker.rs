//! One worker: a thread with a runtime of its own, from its start to its end.

use std::convert::Infallible;
use std::hash::{BuildHasher, RandomState};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use tokio::runtime::LocalRuntime;
use tokio::sync::mpsc::{Sender, UnboundedReceiver};
use tokio::sync::{Notify, oneshot, watch};

use super::service::Service;
use super::{Ending, GRACE, Refusal};
use crate::binding;
use crate::config::{Config, Process};
use crate::fiber;
use crate::generation::{Generation, Purpose};
use crate::net::{self, Clock, Inbox, Intake, Live, Outboxes, Patience, Sockets};
use crate::script::Engines;

/// All that a worker starts with.
pub(super) struct Task {
    pub(super) index: usize,
    pub(super) inbox: Inbox,
    pub(super) orders: UnboundedReceiver<Order>,
    /// The number of the generation that all workers serve.
    pub(super) live: Arc<AtomicU64>,
    pub(super) stop: watch::Receiver<Option<Ending>>,
}

/// What a worker is told.
pub(super) enum Order {
    /// To get a generation ready, and to say whether it is.
    Prepare { number: u64, config: Arc<Config>, answer: oneshot::Sender<Result<(), Refusal>> },
    /// To go over to the live generation, and to take its share of the process.
    Serve(Share),
    /// To forget what is ready.
    Forget,
    /// To take no more connections, and to end with those that it has.
    Leave,
}

/// What a worker has of the process.
pub(super) struct Share {
    sockets: Sockets,
    outboxes: Outboxes,
    /// Requests that it answers at a time: no worker knows of those of the others.
    requests: usize,
    patience: Patience,
    /// Dropped when it has been taken.
    _taken: Sender<Infallible>,
}

impl Share {
    /// When `taken` has no other end any more, all workers have taken theirs, or have ended.
    pub(super) fn of(process: &Process, sockets: Sockets, outboxes: Outboxes, taken: Sender<Infallible>) -> Share {
        let patience = Patience { head: whole_seconds(process.request_timeout), ..Patience::default() };
        let requests = (process.max_requests / process.num_threads).max(1);
        Share { sockets, outboxes, requests, patience, _taken: taken }
    }
}

/// A worker that has a generation.
struct Worker {
    engines: Engines,
    service: Service,
    connections: Rc<Live>,
    intake: Intake,
    leaves: Notify,
}

impl Task {
    /// Runs the worker to its end.
    pub(super) fn run(mut self) {
        fiber::watch();
        match LocalRuntime::new() {
            Ok(runtime) => runtime.block_on(self.serve()),
            Err(error) => {
                if let Some(Order::Prepare { answer, .. }) = self.orders.blocking_recv() {
                    let _ = answer.send(Err(Refusal::System(format!("no runtime for a worker: {error}"))));
                }
            }
        }
    }

    async fn serve(mut self) {
        let engines = Engines::new([binding::register as _]);
        // The first order; none comes where something else at the start went wrong.
        let Some(Order::Prepare { number, config, answer }) = self.orders.recv().await else { return };
        let generation = match Generation::build(&config, &engines, Purpose::Serve, None).await {
            Ok(generation) => generation,
            Err(problems) => {
                let _ = answer.send(Err(Refusal::Configuration(problems.join("\n"))));
                return;
            }
        };
        let first_id = RandomState::new().hash_one(self.index);
        let service = Service::new(generation, number, self.live, first_id);
        if answer.send(Ok(())).is_err() {
            return;
        }
        let connections = Live::new();
        let serve = {
            let (connections, service) = (connections.clone(), service.clone());
            move |stream, socket| net::converse(stream, socket, connections.clone(), service.clone())
        };
        let intake = Intake::new(self.inbox, serve);
        let worker = Rc::new(Worker { engines, service, connections, intake, leaves: Notify::new() });
        worker.spawn(async |worker| worker.connections.sweep().await);
        worker.spawn(async |worker| worker.each_second().await);
        let orders = self.orders;
        worker.spawn(async |worker| worker.obey(orders).await);
        // Or the server was dropped.
        let stopped = self.stop.wait_for(Option::is_some);
        tokio::pin!(stopped);
        let ending = tokio::select! {
            () = worker.leave() => None,
            ending = &mut stopped => Some(ending.ok().and_then(|it| *it).unwrap_or(Ending::Stopped)),
        };
        if let Some(ending) = ending {
            if ending == Ending::Stopped {
                worker.intake.take_all();
            }
            worker.intake.close().await;
            if ending == Ending::Replaced {
                let _ = tokio::time::timeout(GRACE, worker.connections.leave(GRACE)).await;
            }
            worker.connections.finish(GRACE).await;
        }
        worker.hand_on();
    }
}

impl Worker {
    fn spawn<F: Future<Output = ()> + 'static>(self: &Rc<Worker>, work: impl FnOnce(Rc<Worker>) -> F) {
        tokio::task::spawn_local(work(self.clone()));
    }

    /// Does what it is told, one thing after another.
    async fn obey(&self, mut orders: UnboundedReceiver<Order>) {
        while let Some(order) = orders.recv().await {
            match order {
                Order::Prepare { number, config, answer } => {
                    let old = self.service.generation();
                    let built = Generation::build(&config, &self.engines, Purpose::Serve, Some(&old)).await;
                    let outcome = built.map(|generation| self.service.prepare(number, generation));
                    // Nobody waits for it any more when the server ends.
                    let _ = answer.send(outcome.map_err(|problems| Refusal::Configuration(problems.join("\n"))));
                }
                Order::Serve(share) => self.take(share),
                Order::Forget => self.service.settle(),
                Order::Leave => self.leaves.notify_one(),
            }
        }
    }

    fn take(&self, share: Share) {
        self.service.settle();
        self.service.limit(share.requests);
        let clock = if self.service.generation().watches_first_bytes() { Clock::Watched } else { Clock::Unwatched };
        let sockets = share.sockets.open.iter().map(|it| it.id());
        self.connections.follow(share.patience, clock, sockets);
        self.intake.follow(&share.sockets, share.outboxes);
    }

    /// Waits until it is told to leave, and then until it has nothing to do any more.
    async fn leave(&self) {
        self.leaves.notified().await;
        self.intake.close().await;
        self.connections.leave(GRACE).await;
    }

    async fn each_second(&self) {
        let mut ticks = tokio::time::interval(Duration::from_secs(1));
        loop {
            ticks.tick().await;
            self.hand_on();
        }
    }

    /// Hands on the lines of the access logs and what was counted, at least once a second.
    fn hand_on(&self) {
        self.service.write_logs();
        self.service.count(self.connections.len());
    }
}

/// Connections are looked at once a second.
fn whole_seconds(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis().div_ceil(1000)).unwrap_or(u32::MAX)
}
