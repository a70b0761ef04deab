//! The sockets at which a server is asked what it does, and to reload.

use std::fs;
use std::io;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::reloading::Reloading;
use crate::cli::control::{Outcome, RELOAD, STATUS, beside, own};
use crate::config::{Config, Listen};
use crate::net::{Heirloom, Private};
use crate::status;

/// Clients at a time; more wait.
const CLIENTS: usize = 16;
/// How long one may take to ask, and to take the answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long the question may be.
const LONGEST: u64 = 64;
/// How many sockets are looked at, of servers that were killed.
const MOST_LEFT: usize = 100;
/// How long to wait when there are no file descriptors left.
const BREATH: Duration = Duration::from_millis(50);
/// How often it is looked whether another server of the same configuration has ended.
const LOOK: Duration = Duration::from_secs(1);

/// Where the server can be asked, though nobody is listened to yet.
pub(super) struct Control(Vec<Place>);

/// A file, with the socket on it, unless it is another server's for the time being.
struct Place {
    path: PathBuf,
    socket: Option<Private>,
}

impl Control {
    /// Binds its sockets. That there is none does not keep a server from serving, but is said.
    pub(super) fn bind(config: &Config) -> Control {
        let mut paths: Vec<PathBuf> = config.process.pid_file.as_deref().map(beside).into_iter().collect();
        paths.retain(|it| !is_listened_on(config, it));
        match config.files.first().map(|it| own(it)) {
            Some(Ok(own)) => {
                own.first().and_then(|it| it.parent()).into_iter().for_each(clear);
                paths.extend(own);
            }
            Some(Err(error)) => warn(None, &error),
            None => {}
        }
        let owner = config.process.user.as_ref().map(|it| it.user);
        let place = |path: PathBuf| match Private::bind(&path, owner) {
            Ok(socket) => Some(Place { path, socket: Some(socket) }),
            Err(error) if is_in_use(&error) => Some(Place { path, socket: None }),
            Err(error) => {
                warn(Some(&path), &error);
                None
            }
        };
        let places: Vec<Place> = paths.into_iter().filter_map(place).collect();
        let taken = places.iter().filter(|it| it.socket.is_none());
        let taken: Vec<String> = taken.map(|it| format!("`{}`", it.path.display())).collect();
        if !taken.is_empty() {
            let taken = taken.join(" and ");
            tracing::warn!(
                "`rhaid status` and `rhaid reload` ask another server of this configuration at {taken} until it ends"
            );
        }
        Control(places)
    }

    /// The sockets once more, for a process that replaces this one.
    pub(super) fn heirlooms(&self) -> Vec<Heirloom> {
        self.0.iter().filter_map(|it| Heirloom::of_private(it.socket.as_ref()?).ok()).collect()
    }

    /// Answers who asks, until it is dropped.
    pub(super) async fn serve(self, reloading: Reloading) {
        let clients = Arc::new(Semaphore::new(CLIENTS));
        let mut loops = JoinSet::new();
        for place in self.0 {
            loops.spawn_local(attend(place, clients.clone(), reloading.clone()));
        }
        drop(reloading);
        while loops.join_next().await.is_some() {}
    }
}

/// Whether requests are served there: `listen` may name the very file.
fn is_listened_on(config: &Config, path: &Path) -> bool {
    let is_it = |other: &Path| other.canonicalize().is_ok_and(|other| path.canonicalize().is_ok_and(|it| it == other));
    config.addresses().iter().any(|it| matches!(it, Listen::Unix(file) if is_it(&file.path)))
}

/// Removes what servers left behind that were killed.
fn clear(folder: &Path) {
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|it| it.path());
    for path in files.filter(|it| it.extension().is_some_and(|it| it == "sock")).take(MOST_LEFT) {
        if StdUnixStream::connect(&path).is_err_and(|it| it.kind() == io::ErrorKind::ConnectionRefused) {
            // Another server may have done it meanwhile.
            let _ = fs::remove_file(path);
        }
    }
}

fn is_in_use(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::AddrInUse
}

fn warn(place: Option<&Path>, error: &io::Error) {
    let place = place.map(|it| format!(" at `{}`", it.display())).unwrap_or_default();
    tracing::warn!("`rhaid status` and `rhaid reload` can't ask this server{place}: {error}");
}

/// Answers at one place, from the moment when no other server does.
async fn attend(place: Place, clients: Arc<Semaphore>, reloading: Reloading) {
    let bound = match place.socket {
        Some(socket) => Ok(socket),
        None => succeed(&place.path).await,
    };
    let watched = bound.and_then(|socket| Ok((UnixListener::from_std(socket.listener()?)?, socket)));
    match watched {
        Ok((listener, _socket)) => listen(listener, clients, reloading).await,
        Err(error) => warn(Some(&place.path), &error),
    }
}

/// Waits until nobody else listens there: the server that this one replaces still does while it ends.
async fn succeed(path: &Path) -> io::Result<Private> {
    loop {
        sleep(LOOK).await;
        match Private::bind(path, None) {
            Err(error) if is_in_use(&error) => {}
            bound => return bound,
        }
    }
}

async fn listen(listener: UnixListener, clients: Arc<Semaphore>, reloading: Reloading) {
    let reloading = Rc::new(reloading);
    // They end with this: who waits while the server ends is to hear of that.
    let mut conversations = JoinSet::new();
    loop {
        while conversations.try_join_next().is_some() {}
        let Ok(permit) = clients.clone().acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            sleep(BREATH).await;
            continue;
        };
        let reloading = reloading.clone();
        conversations.spawn_local(async move {
            // Who goes away before the answer does not want to know.
            let _ = converse(stream, &reloading).await;
            drop(permit);
        });
    }
}

async fn converse(stream: UnixStream, reloading: &Reloading) -> io::Result<()> {
    let (from, mut to) = stream.into_split();
    let mut from = BufReader::new(from.take(LONGEST));
    let mut line = String::new();
    timeout(PATIENCE, from.read_line(&mut line)).await??;
    let answer = match line.trim_end() {
        STATUS => serde_json::to_string(&status::snapshot())?,
        RELOAD => {
            let mut from = from.into_inner().into_inner();
            let outcome = tokio::select! {
                outcome = reloading.outcome("`rhaid reload` asked for it") => outcome,
                // Who has asked says nothing more, but goes away.
                _ = from.read_u8() => return Ok(()),
            };
            // Without an answer where the server ends.
            let Some(outcome) = outcome else { return Ok(()) };
            serde_json::to_string(&outcome.map_or_else(Outcome::Refused, Outcome::Generation))?
        }
        _ => return Ok(()),
    };
    timeout(PATIENCE, to.write_all(format!("{answer}\n").as_bytes())).await?
}
