//! Listening sockets, and the spreading of their connections over the workers.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::stream::{Bound, Listener, Parcel, Stream};

/// Connections that wait for `accept`.
const BACKLOG: i32 = 4096;
/// How long to wait when the system has no file descriptors left.
const BREATH: Duration = Duration::from_millis(50);

/// Binds and listens. An unspecified IPv6 address takes IPv4 connections too.
///
/// # Errors
/// If the address is taken or not ours.
pub fn bind(address: SocketAddr) -> io::Result<Bound> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    if address.is_ipv6() {
        socket.set_only_v6(!address.ip().is_unspecified())?;
    }
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(Bound::Tcp(socket.into()))
}

/// Where the workers' connections go: one inbox for each worker.
#[derive(Clone)]
pub struct Outboxes {
    workers: Arc<[Worker]>,
    most: usize,
}

struct Worker {
    inbox: mpsc::UnboundedSender<(Parcel, Counted)>,
    connections: AtomicUsize,
}

/// The connections that others accepted for a worker.
pub struct Inbox {
    connections: mpsc::UnboundedReceiver<(Parcel, Counted)>,
}

/// Inboxes for `workers` workers which together hold at most `most` connections.
pub fn outboxes(workers: usize, most: usize) -> (Outboxes, Vec<Inbox>) {
    let mut inboxes = Vec::new();
    let worker = |_| {
        let (inbox, connections) = mpsc::unbounded_channel();
        inboxes.push(Inbox { connections });
        Worker { inbox, connections: AtomicUsize::new(0) }
    };
    let workers = (0..workers).map(worker).collect();
    (Outboxes { workers, most }, inboxes)
}

impl Outboxes {
    /// Connections of all workers.
    pub fn open(&self) -> usize {
        self.workers.iter().map(|it| it.connections.load(Ordering::Relaxed)).sum()
    }

    /// The worker with the fewest connections; `own` where it is one of them.
    fn emptiest(&self, own: usize) -> usize {
        let count = |index: usize| self.workers[index].connections.load(Ordering::Relaxed);
        let fewest = (0..self.workers.len()).min_by_key(|index| count(*index)).unwrap_or(own);
        if count(own) <= count(fewest) { own } else { fewest }
    }

    /// Counts one connection for a worker, for as long as what it gives is kept.
    fn count(&self, worker: usize) -> Counted {
        self.workers[worker].connections.fetch_add(1, Ordering::Relaxed);
        Counted { outboxes: self.clone(), worker }
    }
}

struct Counted {
    outboxes: Outboxes,
    worker: usize,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.outboxes.workers[self.worker].connections.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Takes connections until it is dropped: those that worker `own` accepts, and those that others
/// accepted for it. All workers listen on the same sockets; who accepts a connection gives it to
/// the worker with the fewest, so that also ten connections are spread evenly.
///
/// # Errors
/// If a socket can't be watched.
pub async fn accept<F>(
    listeners: Vec<Bound>,
    own: usize,
    outboxes: Outboxes,
    mut inbox: Inbox,
    serve: impl Fn(Stream) -> F + Clone + 'static,
) -> io::Result<()>
where
    F: Future<Output = ()> + 'static,
{
    let mut loops = JoinSet::new();
    for listener in listeners {
        let listener = Listener::new(listener)?;
        loops.spawn_local(listen(listener, own, outboxes.clone(), serve.clone()));
    }
    while let Some((stream, counted)) = inbox.connections.recv().await {
        match Stream::unpack(stream) {
            Ok(stream) => start(serve(stream), counted),
            Err(error) => tracing::error!("a connection can't be watched: {error}"),
        }
    }
    Ok(())
}

async fn listen<F>(listener: Listener, own: usize, outboxes: Outboxes, serve: impl Fn(Stream) -> F)
where
    F: Future<Output = ()> + 'static,
{
    let mut was_refused = false;
    loop {
        if outboxes.open() >= outboxes.most {
            // The system's queue holds those that come meanwhile.
            tokio::time::sleep(BREATH).await;
            continue;
        }
        match listener.accept().await {
            Ok(stream) => {
                was_refused = false;
                let worker = outboxes.emptiest(own);
                let counted = outboxes.count(worker);
                if worker == own {
                    start(serve(stream), counted);
                } else if let Ok(stream) = stream.pack() {
                    // A worker that has ended takes none any more; the connection is closed then.
                    let _ = outboxes.workers[worker].inbox.send((stream, counted));
                }
            }
            // The client is gone already.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            // There are no file descriptors left, as a rule: that is said once, not at each try.
            Err(error) => {
                if !was_refused {
                    tracing::error!("connections can't be accepted: {error}");
                }
                was_refused = true;
                tokio::time::sleep(BREATH).await;
            }
        }
    }
}

fn start(conversation: impl Future<Output = ()> + 'static, counted: Counted) {
    tokio::task::spawn_local(async move {
        conversation.await;
        drop(counted);
    });
}
