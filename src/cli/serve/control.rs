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
use tokio::task::{JoinSet, spawn_local};
use tokio::time::timeout;

use super::reloading::Reloading;
use crate::cli::control::{Outcome, RELOAD, STATUS, beside, own};
use crate::config::Config;
use crate::net::{Access, Bound, SocketFile, bind_file};
use crate::status;

/// Clients at a time; more wait.
const CLIENTS: usize = 8;
/// How long one may take to ask.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long the question may be.
const LONGEST: u64 = 64;
/// How many sockets are looked at, of servers that were killed.
const MOST_LEFT: usize = 100;
/// How long to wait when there are no file descriptors left.
const BREATH: Duration = Duration::from_millis(50);

/// Sockets that are bound, and not listened to yet.
pub(super) struct Control(Vec<Bound>);

impl Control {
    /// Binds them. That there is none does not keep a server from serving, but is said.
    pub(super) fn bind(config: &Config) -> Control {
        let mut places: Vec<PathBuf> = config.process.pid_file.as_deref().map(beside).into_iter().collect();
        let mut bound = Vec::new();
        match config.files.first().map(|it| own(it)) {
            Some(Ok(place)) => {
                place.parent().into_iter().for_each(clear);
                places.push(place);
            }
            Some(Err(error)) => warn(None, &error),
            None => {}
        }
        let owner = config.process.user.as_ref().map(|it| it.user);
        let access = Access { owner, group: None, permission: Some(0o600) };
        for place in places {
            match bind_file(&place, access) {
                Ok(listener) => bound.push(listener),
                Err(error) => warn(Some(&place), &error),
            }
        }
        Control(bound)
    }

    /// Answers who asks, until it is dropped.
    pub(super) async fn serve(self, reloading: Reloading) {
        let clients = Arc::new(Semaphore::new(CLIENTS));
        let mut loops = JoinSet::new();
        for bound in self.0 {
            let Some((listener, file)) = bound.into_unix() else { continue };
            match UnixListener::from_std(listener) {
                Ok(listener) => {
                    loops.spawn_local(listen(listener, file, clients.clone(), reloading.clone()));
                }
                Err(error) => warn(Some(file.path()), &error),
            }
        }
        drop(reloading);
        while loops.join_next().await.is_some() {}
    }
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

fn warn(place: Option<&Path>, error: &io::Error) {
    let place = place.map(|it| format!(" at `{}`", it.display())).unwrap_or_default();
    if error.kind() == io::ErrorKind::AddrInUse {
        tracing::info!("`rhaid status` and `rhaid reload` ask another server of this configuration{place}");
    } else {
        tracing::warn!("`rhaid status` and `rhaid reload` can't ask this server{place}: {error}");
    }
}

/// `_file` is there for as long as somebody listens.
async fn listen(listener: UnixListener, _file: SocketFile, clients: Arc<Semaphore>, reloading: Reloading) {
    let reloading = Rc::new(reloading);
    loop {
        let Ok(permit) = clients.clone().acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(BREATH).await;
            continue;
        };
        let reloading = reloading.clone();
        spawn_local(async move {
            // Who goes away before the answer does not want to know.
            let _ = converse(stream, &reloading).await;
            drop(permit);
        });
    }
}

async fn converse(stream: UnixStream, reloading: &Reloading) -> io::Result<()> {
    let (from, mut to) = stream.into_split();
    let mut line = String::new();
    timeout(PATIENCE, BufReader::new(from.take(LONGEST)).read_line(&mut line)).await??;
    let answer = match line.trim_end() {
        STATUS => serde_json::to_string(&status::snapshot())?,
        RELOAD => {
            let outcome = reloading.outcome("`rhaid reload` asked for it").await;
            serde_json::to_string(&outcome.map_or_else(Outcome::Refused, Outcome::Generation))?
        }
        _ => return Ok(()),
    };
    timeout(PATIENCE, to.write_all(format!("{answer}\n").as_bytes())).await?
}
