//! The files that are served from: as they were when they were read, and how they are read once more.

use std::thread::sleep;
use std::time::{Duration, SystemTime};

use crate::config::Config;
use crate::reload::{Fingerprint, Sources, Watch};

/// How often files are looked at again that are being written, and after which pause: a file that stays empty for three
/// seconds is meant to be.
const TRIES: u32 = 60;
const PAUSE: Duration = Duration::from_millis(50);

/// Reads the configuration anew, or says what is wrong with it, and which files that hangs on.
pub(in crate::cli) type Reread = Box<dyn Fn() -> Result<Config, (String, Sources)> + Send>;

/// The files that were read.
pub(super) struct Files {
    reread: Reread,
    sources: Sources,
    /// As they were when they were read last, with success or without.
    seen: Fingerprint,
    watch: Option<Watch>,
    /// One that was changed while the first generation was read.
    early: Option<String>,
}

impl Files {
    /// Those of `config`, whose reading began at `begun`.
    pub(super) fn of(config: &Config, reread: Reread, begun: SystemTime) -> Files {
        let sources = Sources::of(config);
        let watch = config.process.watch.then(|| Watch::new(&sources));
        let seen = Fingerprint::take(&sources, &Fingerprint::default());
        let early = seen.changed_after(begun).filter(|_| watch.is_some()).map(|it| it.display().to_string());
        Files { reread, sources, seen, watch, early }
    }

    /// Waits until a file has changed, and says which one.
    pub(super) async fn changed(&mut self) -> String {
        if let Some(path) = self.early.take() {
            return path;
        }
        let Some(watch) = &mut self.watch else { return std::future::pending().await };
        let mut is_calm = false;
        loop {
            // Before the files are looked at. A folder may have come, without a file in it so far.
            watch.follow(&self.sources);
            let now = Fingerprint::take(&self.sources, &self.seen);
            match now.changed_since(&self.seen) {
                Some(path) if is_calm => return path.display().to_string(),
                Some(_) => {}
                None => watch.happened().await,
            }
            watch.calm().await;
            is_calm = true;
        }
    }

    /// Reads everything anew while nobody writes. What is wrong with it may be mended in a file that was not there
    /// before.
    ///
    /// # Errors
    /// With all mistakes of what was read.
    pub(super) fn read(&mut self) -> Result<Config, String> {
        self.early = None;
        let mut tries = 0;
        let mut is_calm = |now: bool| {
            tries += 1;
            if !now && tries <= TRIES {
                sleep(PAUSE);
            }
            now || tries > TRIES
        };
        loop {
            let before = Fingerprint::take(&self.sources, &self.seen);
            if !is_calm(!before.has_emptied(&self.seen)) {
                continue;
            }
            let read = (self.reread)();
            let named = match &read {
                Ok(config) => Sources::of(config),
                Err((_, named)) => named.clone(),
            };
            if !self.sources.cover(&named) {
                // What they were like when they were read is not known.
                self.sources.extend(named);
                continue;
            }
            if is_calm(Fingerprint::take(&self.sources, &before) == before) {
                self.seen = before;
                return read.map_err(|(problems, _)| problems);
            }
        }
    }

    /// Looks after the files of `served` alone from now on, if that is served now; else after what was read, too.
    pub(super) fn follow(&mut self, served: Option<&Config>) {
        if let Some(config) = served {
            self.sources = Sources::of(config);
            self.seen = std::mem::take(&mut self.seen).of(&self.sources);
        }
        if let Some(watch) = &mut self.watch {
            watch.follow(&self.sources);
        }
    }
}
