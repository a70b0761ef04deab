//! Takes up changed files while the server runs.

use std::sync::Arc;
use std::time::Duration;

use crate::config::Config;
use crate::db;
use crate::reload::{Fingerprint, Sources, Watch};
use crate::server::Renewal;

/// How often files are read again that are being written, and after which pause: a file that stays empty for three
/// seconds is meant to be.
const TRIES: u32 = 60;
const PAUSE: Duration = Duration::from_millis(50);

/// Reads the configuration anew, or says what is wrong with it, and which files that hangs on.
pub(in crate::cli) type Reread<'r> = &'r dyn Fn() -> Result<Config, (String, Option<Sources>)>;

/// What is served, and what it was read from.
pub(super) struct Reloading<'r> {
    reread: Reread<'r>,
    renewal: Renewal,
    config: Arc<Config>,
    files: Files,
}

/// The files that were read.
pub(super) struct Files {
    sources: Sources,
    /// As they were when they were read last, with success or without.
    seen: Fingerprint,
    watch: Option<Watch>,
}

impl Files {
    /// Those of `config`, which was read just now.
    pub(super) fn of(config: &Config) -> Files {
        let sources = Sources::of(config);
        let watch = config.process.watch.then(|| Watch::new(&sources));
        Files { seen: Fingerprint::take(&sources), sources, watch }
    }
}

impl<'r> Reloading<'r> {
    /// Begins with `config`, which is served already.
    pub(super) fn new(config: Arc<Config>, files: Files, renewal: Renewal, reread: Reread<'r>) -> Reloading<'r> {
        Reloading { reread, renewal, config, files }
    }

    /// Waits until a file has changed, and takes it up.
    pub(super) async fn follow(&mut self) {
        loop {
            match &mut self.files.watch {
                Some(watch) => watch.settled().await,
                None => std::future::pending().await,
            }
            let now = Fingerprint::take(&self.files.sources);
            if let Some(path) = now.changed_since(&self.files.seen) {
                let why = format!("`{}` has changed", path.display());
                self.reload(&why).await;
                return;
            }
        }
    }

    /// Reads everything anew and serves it, or says why not and goes on as before.
    pub(super) async fn reload(&mut self, why: &str) {
        let (before, read) = self.read_calmly().await;
        let outcome = match read {
            Ok(config) => self.renew(Arc::new(config)).await,
            Err((problems, sources)) => {
                self.files.sources.extend(sources.unwrap_or_default());
                Err(problems)
            }
        };
        match outcome {
            Ok(number) => tracing::info!("reloaded, since {why}: generation {number} is served"),
            Err(problems) => {
                let live = self.renewal.live();
                tracing::error!("not reloaded, though {why}; generation {live} goes on:\n{problems}");
            }
        }
        self.files.seen = Fingerprint::take(&self.files.sources).since(&before);
        if let Some(watch) = &mut self.files.watch {
            watch.follow(&self.files.sources);
        }
    }

    /// Reads everything anew while nobody writes, and what the files were like then.
    async fn read_calmly(&self) -> (Fingerprint, Result<Config, (String, Option<Sources>)>) {
        let mut tries = 0;
        loop {
            let before = Fingerprint::take(&self.files.sources);
            let read = (self.reread)();
            let is_written = before.has_emptied(&self.files.seen) || Fingerprint::take(&self.files.sources) != before;
            if !is_written || tries == TRIES {
                return (before, read);
            }
            tries += 1;
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn renew(&mut self, config: Arc<Config>) -> Result<u64, String> {
        let sources = Sources::of(&config);
        // Not before the scripts are known to be good: what is applied stays.
        let migrate = || db::migrate(&config.databases).map_err(|error| vec![error.to_string()]);
        match self.renewal.renew(&config, migrate).await {
            Ok(number) => {
                self.say_what_stays(&config);
                (self.config, self.files.sources) = (config, sources);
                Ok(number)
            }
            Err(problems) => {
                // The mistake may be mended in a file that was not there before.
                self.files.sources.extend(sources);
                Err(problems.join("\n"))
            }
        }
    }

    fn say_what_stays(&self, new: &Config) {
        let mut fixed = self.config.process.fixed(&new.process);
        if self.config.addresses() != new.addresses() && !fixed.contains(&"listen") {
            fixed.push("listen");
        }
        if self.config.error_log != new.error_log {
            fixed.push("error-log");
        }
        if !fixed.is_empty() {
            tracing::warn!("`{}`: a change of this needs a restart; all else was taken up", fixed.join("`, `"));
        }
    }
}
