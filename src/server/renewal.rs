//! How all workers get another generation at once: each makes it ready, what it listens on is bound, and when all is
//! there a single number says that it is the live one. Only then is closed what it does not listen on.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::Refusal;
use super::addresses::{Moment, wanted};
use super::crew::{Answer, Crew, Taken};
use super::sockets::Sockets;
use crate::config::Config;

/// After which time it is said that a worker lets a reload wait.
const BUSY: Duration = Duration::from_secs(10);

/// Gives the workers other generations.
pub struct Renewal {
    live: Arc<AtomicU64>,
    crew: Crew,
    sockets: Arc<Mutex<Sockets>>,
    /// What is served.
    config: Arc<Config>,
}

impl Renewal {
    pub(super) fn new(live: Arc<AtomicU64>, crew: Crew, sockets: Arc<Mutex<Sockets>>, config: Arc<Config>) -> Renewal {
        Renewal { live, crew, sockets, config }
    }

    /// The number of the generation that is served; the first is 1.
    pub fn live(&self) -> u64 {
        self.live.load(Ordering::Acquire)
    }

    /// The addresses that it listens on, as people write them.
    pub fn addresses(&self) -> Vec<String> {
        lock(&self.sockets).addresses()
    }

    /// Lets every worker build the generation of `config` and binds its addresses, then does `last`, which may still
    /// refuse it; only then do they serve it, all at once. Requests in flight end on the generation that they began with.
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
        let built = self.build(number, config).await;
        let taken = match built.and_then(|()| self.go_over(number, config, last)) {
            Ok(taken) => taken,
            Err(problems) => {
                self.crew.forget();
                let sockets = lock(&self.sockets).forget();
                self.crew.share(&self.config.process, &sockets);
                return Err(problems);
            }
        };
        // The generation is served by all; whoever is busy takes the rest, such as what it listens on, later.
        let _ = tokio::time::timeout(BUSY, taken.by_all()).await;
        Ok(number)
    }

    /// Does all that may still fail, and goes over.
    fn go_over(
        &mut self,
        number: u64,
        config: &Arc<Config>,
        last: impl FnOnce() -> Result<(), Vec<String>>,
    ) -> Result<Taken, Vec<String>> {
        let moment = Moment::of_reload(config);
        let known = lock(&self.sockets).listens();
        // Names are looked up without the lock: who ends the server takes it, and waits for what is done here.
        let wanted = wanted(config, &known).map_err(|problem| vec![problem])?;
        let sockets = self.sockets.clone();
        let mut sockets = lock(&sockets);
        sockets.prepare(wanted, moment).map_err(|problem| vec![problem])?;
        last()?;
        self.config = config.clone();
        self.live.store(number, Ordering::Release);
        Ok(self.crew.take_up(&config.process, &sockets.take_up()))
    }

    /// Lets the workers serve what is live, and listen where it says.
    pub(super) fn take_up(&mut self) -> Taken {
        let sockets = lock(&self.sockets).take_up();
        self.crew.take_up(&self.config.process, &sockets)
    }

    async fn build(&mut self, number: u64, config: &Arc<Config>) -> Result<(), Vec<String>> {
        let answers = self.crew.prepare(number, config).map_err(|error| vec![format!("no more workers: {error}")])?;
        let mut outcome = Ok(());
        for answer in answers {
            // All of them build the same, and find the same mistakes.
            outcome = outcome.and(wait_for(answer).await);
        }
        outcome.map_err(|refusal| match refusal {
            Refusal::Configuration(message) | Refusal::System(message) => vec![message],
        })
    }
}

/// Waits for as long as it takes: meanwhile the others serve the old generation, and so will this one.
async fn wait_for(mut answer: Answer) -> Result<(), Refusal> {
    let ended = |_| Err(Refusal::System("a worker ended meanwhile".to_owned()));
    if let Ok(answer) = tokio::time::timeout(BUSY, &mut answer).await {
        return answer.unwrap_or_else(ended);
    }
    tracing::warn!("a worker has been busy for {} s: the reload waits for it", BUSY.as_secs());
    answer.await.unwrap_or_else(ended)
}

pub(super) fn lock(sockets: &Mutex<Sockets>) -> MutexGuard<'_, Sockets> {
    sockets.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::oneshot;

    #[tokio::test(start_paused = true)]
    async fn a_worker_that_answers_late_is_waited_for_and_one_that_has_ended_is_not() {
        let (answer, answered) = oneshot::channel();
        let late = tokio::spawn(async move {
            tokio::time::sleep(BUSY * 100).await;
            answer.send(Ok(()))
        });
        assert!(wait_for(answered).await.is_ok());
        assert!(late.await.unwrap().is_ok());
        let (answer, answered) = oneshot::channel();
        drop(answer);
        let ended = wait_for(answered).await;
        assert!(matches!(ended, Err(Refusal::System(message)) if message == "a worker ended meanwhile"));
    }
}
