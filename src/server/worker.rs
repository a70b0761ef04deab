//! One worker: a thread with a runtime of its own, from its start to its end.

use std::hash::{BuildHasher, RandomState};
use std::rc::Rc;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use tokio::runtime::LocalRuntime;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::{Semaphore, oneshot, watch};

use super::Refusal;
use super::service::Service;
use crate::binding;
use crate::config::Config;
use crate::fiber;
use crate::generation::{Generation, Purpose};
use crate::net::{self, Bound, Clock, Inbox, Live, Outboxes, Patience};
use crate::script::Engines;

/// All that a worker starts with.
pub(super) struct Task {
    pub(super) index: usize,
    pub(super) config: Arc<Config>,
    pub(super) listeners: Vec<Bound>,
    pub(super) outboxes: Outboxes,
    pub(super) inbox: Inbox,
    pub(super) built: mpsc::Sender<Result<(), Refusal>>,
    pub(super) go: Arc<Semaphore>,
    /// The number of the generation that all workers serve.
    pub(super) live: Arc<AtomicU64>,
    pub(super) orders: UnboundedReceiver<Order>,
    pub(super) stop: watch::Receiver<bool>,
    pub(super) grace: Duration,
}

/// What a worker is told while it serves.
pub(super) enum Order {
    /// To get a generation ready, and to say whether it is.
    Prepare { number: u64, config: Arc<Config>, answer: oneshot::Sender<Result<(), Vec<String>>> },
    /// To go over to the live generation, and to forget what else was ready.
    Settle,
}

impl Task {
    /// Runs the worker to its end.
    pub(super) fn run(self) {
        fiber::watch();
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
        let generation = match Generation::build(&self.config, &engines, Purpose::Serve, None).await {
            Ok(generation) => generation,
            Err(problems) => {
                let _ = self.built.send(Err(Refusal::Configuration(problems.join("\n"))));
                return;
            }
        };
        let clock = if generation.watches_first_bytes() { Clock::Watched } else { Clock::Unwatched };
        let process = &self.config.process;
        let patience = Patience { head: whole_seconds(process.request_timeout), ..Patience::default() };
        // No worker knows of the requests of the others: each has its share.
        let most = (process.max_requests / process.num_threads).max(1);
        let service = Service::new(generation, self.live, RandomState::new().hash_one(self.index), most);
        if self.built.send(Ok(())).is_err() {
            return;
        }
        drop(self.built);
        // Without a permit when something else at the start went wrong.
        tokio::select! {
            permit = self.go.acquire() => match permit {
                Ok(permit) => permit.forget(),
                Err(_) => return,
            },
            // The server was dropped.
            _ = self.stop.wait_for(|stop| *stop) => return,
        }
        let live = Live::new(patience, clock);
        tokio::task::spawn_local({
            let live = live.clone();
            async move { live.sweep().await }
        });
        tokio::task::spawn_local(each_second(service.clone(), live.clone()));
        tokio::task::spawn_local(obey(self.orders, engines, service.clone()));
        let logged = service.clone();
        let serve = {
            let live = live.clone();
            move |stream| net::converse(stream, live.clone(), service.clone())
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
        logged.write_logs();
        logged.count(live.len());
    }
}

/// Does what it is told, one thing after another.
async fn obey(mut orders: UnboundedReceiver<Order>, engines: Engines, service: Service) {
    while let Some(order) = orders.recv().await {
        match order {
            Order::Prepare { number, config, answer } => {
                let old = service.generation();
                let built = Generation::build(&config, &engines, Purpose::Serve, Some(&old)).await;
                let outcome = built.map(|generation| service.prepare(number, generation));
                // Nobody waits for it any more when the server ends.
                let _ = answer.send(outcome);
            }
            Order::Settle => service.settle(),
        }
    }
}

/// Connections are looked at once a second.
fn whole_seconds(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis().div_ceil(1000)).unwrap_or(u32::MAX)
}

/// The access logs are written out at least once a second, and what was counted is handed on.
async fn each_second(service: Service, live: Rc<Live>) {
    let mut ticks = tokio::time::interval(Duration::from_secs(1));
    loop {
        ticks.tick().await;
        service.write_logs();
        service.count(live.len());
    }
}
