//! Waits until something has happened to a generation's files, and has calmed down.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use notify::event::{AccessKind, AccessMode, ModifyKind};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, sleep, timeout};

use super::interest::Interest;
use super::remote;
use super::sources::Sources;

/// A change is over when so long nothing more has happened.
const CALM: Duration = Duration::from_millis(50);
/// But it does not take longer than this, files aside that somebody has open and writes to.
const LONGEST: Duration = Duration::from_millis(300);
/// So long after the last write a file that is not closed is taken for finished.
const OPEN: Duration = Duration::from_secs(2);
/// How often the files are looked at where the system can't say that they have changed.
const POLL: Duration = Duration::from_secs(1);

/// Watches a generation's files.
pub struct Watch {
    seen: Arc<Mutex<Seen>>,
    happens: UnboundedSender<()>,
    happened: UnboundedReceiver<()>,
    /// Absent where the system can't watch.
    watcher: Option<RecommendedWatcher>,
    /// Folders and files, with the device and number of each: another may have come in its place.
    watched: BTreeMap<PathBuf, (u64, u64)>,
    /// Why everything is looked at from time to time, where something can't be watched.
    polling: Option<String>,
}

/// What the thread that hears of changes knows.
#[derive(Default)]
struct Seen {
    interest: Interest,
    /// Files that were written to and not closed since, with the time of the last write.
    open: HashMap<PathBuf, Instant>,
}

impl Watch {
    /// Watches these.
    pub fn new(sources: &Sources) -> Watch {
        let (happens, happened) = unbounded_channel();
        let mut watch =
            Watch { seen: Arc::default(), happens, happened, watcher: None, watched: BTreeMap::new(), polling: None };
        watch.follow(sources);
        watch
    }

    /// Watches these from now on.
    pub fn follow(&mut self, sources: &Sources) {
        let interest = Interest::of(sources);
        let mut trouble = None;
        if self.watcher.is_none() {
            self.watched.clear();
            match watcher(self.happens.clone(), self.seen.clone()) {
                Ok(watcher) => self.watcher = Some(watcher),
                Err(error) => trouble = Some(error.to_string()),
            }
        }
        let mut wanted = BTreeMap::new();
        for folder in interest.folders().chain(interest.files()) {
            if let Ok(metadata) = fs::metadata(folder).as_ref().map(|it| (it.dev(), it.ino())) {
                wanted.insert(folder.to_owned(), metadata);
            }
        }
        if let Some(watcher) = &mut self.watcher {
            for (folder, _) in self.watched.iter().filter(|(folder, it)| wanted.get(*folder) != Some(*it)) {
                // It may be gone.
                let _ = watcher.unwatch(folder);
            }
            self.watched.retain(|folder, it| wanted.get(folder) == Some(it));
            for (folder, identity) in wanted {
                if self.watched.contains_key(&folder) {
                    continue;
                }
                match watcher.watch(&folder, RecursiveMode::NonRecursive) {
                    Ok(()) => {
                        self.watched.insert(folder, identity);
                    }
                    // What has gone meanwhile is missed in the folder above it.
                    Err(error) if folder.exists() => trouble = Some(format!("`{}`: {error}", folder.display())),
                    Err(_) => {}
                }
            }
        }
        let far = interest.folders().find_map(|it| Some((it, remote::file_system(it)?)));
        let far = far.map(|(folder, name)| format!("`{}` is on {name}, which others change unseen", folder.display()));
        self.seen().interest = interest;
        self.poll(far.or(trouble));
    }

    fn poll(&mut self, why: Option<String>) {
        match (&self.polling, &why) {
            (None, Some(why)) => {
                tracing::warn!("changes of files can't all be watched ({why}): they are looked for once a second");
            }
            (Some(_), None) => tracing::info!("changes of files are watched again"),
            _ => {}
        }
        self.polling = why;
    }

    /// Waits until the files may have changed.
    pub async fn happened(&mut self) {
        if self.polling.is_some() {
            tokio::select! {
                _ = self.happened.recv() => {}
                () = sleep(POLL) => {}
            }
        } else {
            // There is always one who could send.
            let _ = self.happened.recv().await;
        }
    }

    /// Waits for what belongs to the same change.
    pub async fn calm(&mut self) {
        let end = Instant::now() + LONGEST;
        loop {
            let now = Instant::now();
            let is_written = self.seen().is_written(now);
            if now >= end && !is_written {
                break;
            }
            let patience = if is_written { CALM } else { CALM.min(end - now) };
            if timeout(patience, self.happened.recv()).await.is_err() && !is_written {
                break;
            }
        }
        while self.happened.try_recv().is_ok() {}
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        lock(&self.seen)
    }
}

impl Seen {
    /// Whether somebody is writing a file.
    fn is_written(&mut self, now: Instant) -> bool {
        self.open.retain(|_, last| now - *last < OPEN);
        !self.open.is_empty()
    }

    /// Whether it matters what has happened.
    fn hear(&mut self, event: &Event) -> bool {
        if matches!(event.kind, EventKind::Access(kind) if !is_written(kind)) {
            return false;
        }
        // Some may have been lost.
        let mut matters = event.need_rescan();
        for path in event.paths.iter().filter(|it| self.interest.concerns(it)) {
            matters = true;
            match event.kind {
                EventKind::Modify(ModifyKind::Data(_)) => self.open.insert(path.clone(), Instant::now()),
                EventKind::Modify(ModifyKind::Metadata(_)) => None,
                _ => self.open.remove(path),
            };
        }
        matters
    }
}

fn watcher(happens: UnboundedSender<()>, seen: Arc<Mutex<Seen>>) -> notify::Result<RecommendedWatcher> {
    notify::recommended_watcher(move |event: notify::Result<Event>| {
        // An error may have lost some.
        if event.map_or(true, |event| lock(&seen).hear(&event)) {
            // Nobody listens any more when the process ends.
            let _ = happens.send(());
        }
    })
}

/// Who panicked while it had the lock left a list of files.
fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a file was closed that had been written to.
fn is_written(kind: AccessKind) -> bool {
    kind == AccessKind::Close(AccessMode::Write)
}
