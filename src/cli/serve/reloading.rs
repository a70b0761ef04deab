//! Takes up changed files while the server runs, on a thread of its own: who asks for something else meanwhile is heard.

use std::sync::Arc;
use std::thread;
use std::time::Instant;

use tokio::runtime::LocalRuntime;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

use super::files::Files;
use super::pid_file::SharedPidFile;
use crate::config::{Config, Process};
use crate::db;
use crate::error_log;
use crate::server::Renewal;
use crate::status;

/// Where to ask for a reload.
#[derive(Clone)]
pub(super) struct Reloading(UnboundedSender<Ask>);

/// Somebody wants everything to be read anew.
struct Ask {
    /// For the log.
    why: String,
    /// Who waits for the outcome.
    answer: Option<oneshot::Sender<Outcome>>,
}

/// The number of the generation that is served now, or what is wrong.
type Outcome = Result<u64, String>;

/// What is served, and what it was read from.
struct Reloader {
    files: Files,
    renewal: Renewal,
    config: Arc<Config>,
    /// What the process began with.
    began: Process,
    asked: UnboundedReceiver<Ask>,
    pid_file: SharedPidFile,
}

impl Reloading {
    /// Follows the files of `config`, which is served already.
    pub(super) fn start(config: Arc<Config>, files: Files, renewal: Renewal, pid_file: SharedPidFile) -> Reloading {
        let (ask, asked) = unbounded_channel();
        let began = config.process.clone();
        let reloader = Reloader { files, renewal, config, began, asked, pid_file };
        let started = thread::Builder::new().name("reload".to_owned()).spawn(|| reloader.run());
        if let Err(error) = started {
            tracing::error!("changes of files are not taken up: {error}");
        }
        Reloading(ask)
    }

    /// Asks for a reload, also where no file has changed; `why` is for the log.
    pub(super) fn ask(&self, why: &str) {
        // There is nobody who could where no thread was to be had, which was said.
        let _ = self.0.send(Ask { why: why.to_owned(), answer: None });
    }

    /// What comes of a reload that begins from now on; `None` if the server ends before.
    pub(super) async fn outcome(&self, why: &str) -> Option<Outcome> {
        let (answer, answered) = oneshot::channel();
        let _ = self.0.send(Ask { why: why.to_owned(), answer: Some(answer) });
        answered.await.ok()
    }
}

impl Reloader {
    /// Takes up what changes, and what it is asked for, until nobody can ask any more.
    fn run(mut self) {
        let runtime = match LocalRuntime::new() {
            Ok(runtime) => runtime,
            Err(error) => return tracing::error!("changes of files are not taken up: {error}"),
        };
        while let Some(Ask { why, answer }) = runtime.block_on(self.next()) {
            let mut waiting = Vec::from_iter(answer);
            // What is read from now on is what they want as well.
            while let Ok(ask) = self.asked.try_recv() {
                waiting.extend(ask.answer);
            }
            let outcome = self.reload(&runtime, &why);
            for answer in waiting {
                // Who went away meanwhile finds it in the log.
                let _ = answer.send(outcome.clone());
            }
        }
    }

    /// Waits for somebody who asks, or for a file that changes.
    async fn next(&mut self) -> Option<Ask> {
        tokio::select! {
            asked = self.asked.recv() => asked,
            path = self.files.changed() => Some(Ask { why: format!("`{path}` has changed"), answer: None }),
        }
    }

    /// Reads everything anew and serves it, or says why not and goes on as before. Reading starts scripts, in a runtime
    /// of its own.
    fn reload(&mut self, runtime: &LocalRuntime, why: &str) -> Outcome {
        let begun = Instant::now();
        let read = self.files.read().map(Arc::new);
        let outcome = match &read {
            Ok(config) => runtime.block_on(self.renew(config)),
            Err(problems) => Err(problems.clone()),
        };
        match &outcome {
            Ok(number) => {
                note(*number, why, begun, &self.config, &self.renewal.addresses());
                tracing::info!("reloaded, since {why}: generation {number} is served");
            }
            Err(problems) => {
                status::refused(why, problems);
                let live = self.renewal.live();
                tracing::error!("not reloaded, though {why}; generation {live} goes on:\n{problems}");
            }
        }
        self.files.follow(read.as_deref().ok().filter(|_| outcome.is_ok()));
        outcome
    }

    async fn renew(&mut self, config: &Arc<Config>) -> Result<u64, String> {
        let has_other_log = self.config.error_log != config.error_log;
        let log = has_other_log.then(|| error_log::open(&config.error_log)).transpose().map_err(|it| it.to_string())?;
        // Not before the scripts are known to be good: what is applied stays.
        let migrate = || db::migrate(&config.databases).map_err(|error| vec![error.to_string()]);
        let number = self.renewal.renew(config, migrate).await.map_err(|problems| problems.join("\n"))?;
        if let Some(log) = log {
            log.put_in_place();
        }
        let pid_file = &config.process.pid_file;
        if *pid_file != self.config.process.pid_file
            && let Err(message) = self.pid_file.move_to(pid_file.as_deref())
        {
            tracing::warn!("{message}");
        }
        self.say_what_stays(config);
        self.config = config.clone();
        Ok(number)
    }

    fn say_what_stays(&self, new: &Config) {
        let mut fixed = self.began.fixed(&new.process);
        // Said once, not at each reload.
        let changed = self.config.process.fixed(&new.process);
        fixed.retain(|it| changed.contains(it));
        if !fixed.is_empty() {
            tracing::warn!("`{}`: a change of this needs a restart; all else was taken up", fixed.join("`, `"));
        }
    }
}

/// Notes what is served from now on.
pub(super) fn note(number: u64, cause: &str, begun: Instant, config: &Config, listeners: &[String]) {
    let (took, process) = (begun.elapsed(), &config.process);
    let (threads, max_connections) = (process.num_threads, process.max_connections);
    status::served(status::Served { number, cause, took, listeners: listeners.to_owned(), threads, max_connections });
}
