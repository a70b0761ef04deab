//! One worker: a thread with a runtime of its own, from its start to its end.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use tokio::runtime::LocalRuntime;
use tokio::sync::{Semaphore, watch};

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
    pub(super) stop: watch::Receiver<bool>,
    pub(super) grace: Duration,
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
        let generation = match Generation::build(&self.config, &engines, Purpose::Serve).await {
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
        let service = Service::new(generation, RandomState::new().hash_one(self.index), most);
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
        tokio::task::spawn_local(write_logs(service.clone()));
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
    }
}

/// Connections are looked at once a second.
fn whole_seconds(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis().div_ceil(1000)).unwrap_or(u32::MAX)
}

/// The access logs are written out at least once a second.
async fn write_logs(service: Service) {
    let mut ticks = tokio::time::interval(Duration::from_secs(1));
    loop {
        ticks.tick().await;
        service.write_logs();
    }
}
