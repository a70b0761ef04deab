//! The files that are served from: as they were when they were read, and how they are read once more.

use std::thread::sleep;
use std::time::Duration;

use crate::config::Config;
use crate::reload::{Fingerprint, Sources, Watch};

/// How often files are read again that are being written, and after which pause: a file that stays empty for three
/// seconds is meant to be.
const TRIES: u32 = 60;
const PAUSE: Duration = Duration::from_millis(50);

/// Reads the configuration anew, or says what is wrong with it, and which files that hangs on.
pub(in crate::cli) type Reread = Box<dyn Fn() -> Result<Config, (String, Option<Sources>)> + Send>;

/// The files that were read.
pub(super) struct Files {
    reread: Reread,
    sources: Sources,
    /// As they were when they were read last, with success or without.
    seen: Fingerprint,
    watch: Option<Watch>,
}

impl Files {
    /// Those of `config`, which was read just now.
    pub(super) fn of(config: &Config, reread: Reread) -> Files {
        let sources = Sources::of(config);
        let watch = config.process.watch.then(|| Watch::new(&sources));
        Files { reread, seen: Fingerprint::take(&sources), sources, watch }
    }

    /// Waits until a file has changed, and says which one.
    pub(super) async fn changed(&mut self) -> String {
        loop {
            match &mut self.watch {
                Some(watch) => watch.settled().await,
                None => std::future::pending().await,
            }
            let now = Fingerprint::take(&self.sources);
            if let Some(path) = now.changed_since(&self.seen) {
                return path.display().to_string();
            }
        }
    }

    /// Reads everything anew while nobody writes. What is wrong with it may be mended in a file that was not there
    /// before.
    ///
    /// # Errors
    /// With all mistakes of what was read.
    pub(super) fn read(&mut self) -> Result<Config, String> {
        let (before, read) = self.read_calmly();
        self.seen = before;
        read.map_err(|(problems, sources)| {
            self.sources.extend(sources.unwrap_or_default());
            problems
        })
    }

    fn read_calmly(&self) -> (Fingerprint, Result<Config, (String, Option<Sources>)>) {
        let mut tries = 0;
        loop {
            let before = Fingerprint::take(&self.sources);
            let read = (self.reread)();
            let is_written = before.has_emptied(&self.seen) || Fingerprint::take(&self.sources) != before;
            if !is_written || tries == TRIES {
                return (before, read);
            }
            tries += 1;
            sleep(PAUSE);
        }
    }

    /// Looks after the files of `config` from now on: those alone if it `is_served`, else they and the ones before.
    pub(super) fn follow(&mut self, config: Option<&Config>, is_served: bool) {
        if let Some(config) = config {
            let sources = Sources::of(config);
            if is_served {
                self.sources = sources;
            } else {
                self.sources.extend(sources);
            }
        }
        let before = std::mem::take(&mut self.seen);
        self.seen = Fingerprint::take(&self.sources).since(&before);
        if let Some(watch) = &mut self.watch {
            watch.follow(&self.sources);
        }
    }
}
