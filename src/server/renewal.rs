//! How all workers get another generation at once: each makes it ready, and when all have it a single
//! number says that it is the live one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use super::worker::Order;
use crate::config::Config;

/// Gives the workers other generations.
pub struct Renewal {
    live: Arc<AtomicU64>,
    workers: Vec<UnboundedSender<Order>>,
}

impl Renewal {
    pub(super) fn new(live: Arc<AtomicU64>, workers: Vec<UnboundedSender<Order>>) -> Renewal {
        Renewal { live, workers }
    }

    /// The number of the generation that is served; the first is 1.
    pub fn live(&self) -> u64 {
        self.live.load(Ordering::Acquire)
    }

    /// Lets every worker build the generation of `config`, then does `last`, which may still refuse it; only then
    /// do they serve it, all at once. Requests in flight end on the generation that they began with.
    ///
    /// # Errors
    /// All that is wrong with it; the old one goes on.
    pub async fn renew(
        &mut self,
        config: &Arc<Config>,
        last: impl FnOnce() -> Result<(), Vec<String>>,
    ) -> Result<u64, Vec<String>> {
        // One that was refused had the same number; the workers have forgotten it before they are told of this.
        let number = self.live() + 1;
        let outcome = self.prepare(number, config).await.and_then(|()| last());
        if outcome.is_ok() {
            self.live.store(number, Ordering::Release);
        }
        for worker in &self.workers {
            // One that has ended serves no requests.
            let _ = worker.send(Order::Settle);
        }
        outcome.map(|()| number)
    }

    async fn prepare(&self, number: u64, config: &Arc<Config>) -> Result<(), Vec<String>> {
        let mut answers = Vec::new();
        for worker in &self.workers {
            let (answer, answered) = oneshot::channel();
            if worker.send(Order::Prepare { number, config: config.clone(), answer }).is_ok() {
                answers.push(answered);
            }
        }
        let mut outcome = Ok(());
        for answer in answers {
            // All of them build the same, and find the same mistakes.
            let ended = |_| Err(vec!["a worker ended meanwhile".to_owned()]);
            outcome = outcome.and(answer.await.unwrap_or_else(ended));
        }
        outcome
    }
}
