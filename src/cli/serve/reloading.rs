//! Takes up changed files while the server runs, on a thread of its own: who asks for something else meanwhile is heard.

use std::sync::Arc;
use std::thread;

use tokio::runtime::LocalRuntime;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::files::Files;
use crate::config::Config;
use crate::db;
use crate::server::Renewal;

/// Where to ask for a reload.
pub(super) struct Reloading(UnboundedSender<String>);

/// What is served, and what it was read from.
struct Reloader {
    files: Files,
    renewal: Renewal,
    config: Arc<Config>,
    asked: UnboundedReceiver<String>,
}

impl Reloading {
    /// Follows the files of `config`, which is served already.
    pub(super) fn start(config: Arc<Config>, files: Files, renewal: Renewal) -> Reloading {
        let (ask, asked) = unbounded_channel();
        let reloader = Reloader { files, renewal, config, asked };
        let started = thread::Builder::new().name("reload".to_owned()).spawn(|| reloader.run());
        if let Err(error) = started {
            tracing::error!("changes of files are not taken up: {error}");
        }
        Reloading(ask)
    }

    /// Asks for a reload, also where no file has changed; `why` is for the log.
    pub(super) fn ask(&self, why: &str) {
        // There is nobody who could where no thread was to be had, which was said.
        let _ = self.0.send(why.to_owned());
    }
}

impl Reloader {
    fn run(mut self) {
        match LocalRuntime::new() {
            Ok(runtime) => runtime.block_on(self.follow()),
            Err(error) => tracing::error!("changes of files are not taken up: {error}"),
        }
    }

    /// Takes up what changes, and what it is asked for, until nobody can ask any more.
    async fn follow(&mut self) {
        loop {
            let why = tokio::select! {
                asked = self.asked.recv() => match asked {
                    Some(why) => why,
                    None => return,
                },
                path = self.files.changed() => format!("`{path}` has changed"),
            };
            self.reload(&why).await;
        }
    }

    /// Reads everything anew and serves it, or says why not and goes on as before.
    async fn reload(&mut self, why: &str) {
        let read = self.files.read().map(Arc::new);
        let outcome = match &read {
            Ok(config) => self.renew(config).await,
            Err(problems) => Err(problems.clone()),
        };
        match &outcome {
            Ok(number) => tracing::info!("reloaded, since {why}: generation {number} is served"),
            Err(problems) => {
                let live = self.renewal.live();
                tracing::error!("not reloaded, though {why}; generation {live} goes on:\n{problems}");
            }
        }
        self.files.follow(read.as_deref().ok(), outcome.is_ok());
    }

    async fn renew(&mut self, config: &Arc<Config>) -> Result<u64, String> {
        // Not before the scripts are known to be good: what is applied stays.
        let migrate = || db::migrate(&config.databases).map_err(|error| vec![error.to_string()]);
        let number = self.renewal.renew(config, migrate).await.map_err(|problems| problems.join("\n"))?;
        self.say_what_stays(config);
        self.config = config.clone();
        Ok(number)
    }

    fn say_what_stays(&self, new: &Config) {
        let mut fixed = self.config.process.fixed(&new.process);
        if self.config.error_log != new.error_log {
            fixed.push("error-log");
        }
        if !fixed.is_empty() {
            tracing::warn!("`{}`: a change of this needs a restart; all else was taken up", fixed.join("`, `"));
        }
    }
}
