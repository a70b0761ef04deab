//! Waits until something has happened in the folders of a generation's files, and has calmed down.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, sleep, timeout};

use super::fingerprint::Sources;

/// A change is over when so long nothing more has happened.
const CALM: Duration = Duration::from_millis(50);
/// But it does not take longer than this.
const LONGEST: Duration = Duration::from_millis(300);
/// How often the files are looked at where the system can't say that they have changed.
const POLL: Duration = Duration::from_secs(1);

/// Watches the folders of a generation's files.
pub struct Watch {
    sources: Arc<Mutex<Sources>>,
    happened: UnboundedReceiver<()>,
    /// Absent where the system can't watch.
    watcher: Option<RecommendedWatcher>,
    watched: BTreeSet<PathBuf>,
    /// Whether something can't be watched, so that everything is looked at from time to time.
    is_polling: bool,
}

impl Watch {
    /// Watches these.
    pub fn new(sources: &Sources) -> Watch {
        let (happens, happened) = unbounded_channel();
        let shared = Arc::new(Mutex::new(Sources::default()));
        let watcher = watcher(happens, shared.clone());
        let mut watch = Watch { sources: shared, happened, watcher: None, watched: BTreeSet::new(), is_polling: false };
        match watcher {
            Ok(watcher) => watch.watcher = Some(watcher),
            Err(error) => watch.poll(&error.to_string()),
        }
        watch.follow(sources);
        watch
    }

    /// Watches these from now on.
    pub fn follow(&mut self, sources: &Sources) {
        sources.clone_into(&mut self.sources.lock().unwrap_or_else(PoisonError::into_inner));
        // A folder that is replaced is seen in the one above it.
        let folders = sources.watched();
        let above = folders.iter().filter_map(|it| it.canonicalize().ok()?.parent().map(Path::to_owned));
        let wanted: BTreeSet<PathBuf> = folders.iter().cloned().chain(above).collect();
        let Some(watcher) = &mut self.watcher else { return };
        for folder in self.watched.difference(&wanted) {
            // It may be gone.
            let _ = watcher.unwatch(folder);
        }
        let mut failed = None;
        for folder in &wanted {
            // Also those that are watched: what is there now may be another folder of the same name.
            if let Err(error) = watcher.watch(folder, RecursiveMode::NonRecursive)
                && folder.exists()
                && folders.contains(folder)
            {
                failed = Some(format!("`{}`: {error}", folder.display()));
            }
        }
        self.watched = wanted;
        if let Some(error) = failed {
            self.poll(&error);
        }
    }

    fn poll(&mut self, error: &str) {
        if !self.is_polling {
            tracing::warn!("changes of files can't be watched ({error}): they are looked for once a second");
        }
        self.is_polling = true;
    }

    /// Waits until the files may have changed, and for what belongs to the same change.
    pub async fn settled(&mut self) {
        if self.is_polling {
            tokio::select! {
                _ = self.happened.recv() => {}
                () = sleep(POLL) => {}
            }
        } else if self.happened.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
        let end = Instant::now() + LONGEST;
        while let Ok(Some(())) = timeout(CALM.min(end - Instant::now()), self.happened.recv()).await {
            if Instant::now() >= end {
                break;
            }
        }
        while self.happened.try_recv().is_ok() {}
    }
}

fn watcher(happens: UnboundedSender<()>, sources: Arc<Mutex<Sources>>) -> notify::Result<RecommendedWatcher> {
    notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let matters = match &event {
            Ok(event) if matches!(event.kind, EventKind::Access(kind) if !is_written(kind)) => false,
            // Some may have been lost.
            Ok(event) if event.need_rescan() => true,
            Ok(event) => {
                let sources = sources.lock().unwrap_or_else(PoisonError::into_inner);
                event.paths.iter().any(|path| sources.concerns(path))
            }
            Err(_) => true,
        };
        if matters {
            // Nobody listens any more when the process ends.
            let _ = happens.send(());
        }
    })
}

/// Whether a file was closed that had been written to.
fn is_written(kind: notify::event::AccessKind) -> bool {
    use notify::event::{AccessKind, AccessMode};
    kind == AccessKind::Close(AccessMode::Write)
}
