//! The workers: threads that share nothing while they serve, started together and ended together.

mod account;
mod in_flight;
mod local;
mod renewal;
mod service;
mod worker;

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::sync::mpsc::unbounded_channel;
use tokio::sync::{Semaphore, watch};

use crate::config::{Address, Config, Listen};
use crate::db;
use crate::net::{self, Access, Bound};

pub use account::assume;

pub use local::{Local, on_a_thread};
pub use renewal::Renewal;

/// How long requests in flight may take when the server ends.
const GRACE: Duration = Duration::from_secs(30);

/// Address space for a worker's stack: what scripts captured is freed on it, however deeply nested.
const STACK: usize = if cfg!(target_pointer_width = "64") { 256 << 20 } else { 2 << 20 };

/// A server whose workers have all that they need. Dropped, it ends without having served.
pub struct Server {
    addresses: Vec<String>,
    workers: Vec<JoinHandle<()>>,
    go: Arc<Semaphore>,
    stop: watch::Sender<bool>,
    renewal: Renewal,
}

/// A server that serves.
pub struct Serving {
    workers: Vec<JoinHandle<()>>,
    stop: watch::Sender<bool>,
}

/// Why a server does not start.
#[derive(Debug)]
pub enum Refusal {
    /// A mistake in the configuration or in a script, ready to be read.
    Configuration(String),
    /// The system does not give what is needed.
    System(String),
}

impl Refusal {
    /// What a database that can't be connected to or brought up to date comes to.
    pub fn of_database(error: db::Error) -> Refusal {
        match error.kind {
            db::Kind::Away => Refusal::System(error.to_string()),
            _ => Refusal::Configuration(error.to_string()),
        }
    }
}

/// Binds the addresses that the configuration names.
///
/// # Errors
/// If one is taken or not ours; the message names it.
pub fn bind(config: &Config) -> Result<Vec<Bound>, Refusal> {
    let mut listeners = Vec::new();
    for listen in &config.addresses() {
        let refused = |error: io::Error| {
            let hint = match error.kind() {
                io::ErrorKind::AddrInUse => {
                    "\nhint: another process listens there; `listen` or `--listen` can name another address"
                }
                io::ErrorKind::PermissionDenied if matches!(listen, Listen::Unix(_)) => "",
                io::ErrorKind::PermissionDenied => {
                    "\nhint: ports below 1024 are for root or the capability CAP_NET_BIND_SERVICE"
                }
                io::ErrorKind::AddrNotAvailable => "\nhint: this machine does not have the address",
                _ => "",
            };
            Refusal::System(format!("cannot listen on {listen}: {error}{hint}"))
        };
        match listen {
            Listen::Tcp(Address { host: Some(host), port }) => {
                let addresses = (host.as_str(), *port).to_socket_addrs().map_err(refused)?;
                listeners.extend(bind_each(addresses).map_err(refused)?);
            }
            Listen::Tcp(Address { host: None, port }) => listeners.push(bind_all(*port).map_err(refused)?),
            Listen::Unix(file) => {
                let access = Access { owner: file.owner, group: file.group, permission: file.permission };
                listeners.push(net::bind_file(&file.path, access).map_err(refused)?);
            }
        }
    }
    Ok(listeners)
}

/// The addresses of a name such as `localhost`, which may have one of each family; a family that
/// the machine does not have does not matter beside one that it has.
fn bind_each(addresses: impl Iterator<Item = SocketAddr>) -> io::Result<Vec<Bound>> {
    let (mut seen, mut listeners, mut missing) = (Vec::new(), Vec::new(), None);
    for address in addresses {
        if seen.contains(&address) {
            continue;
        }
        seen.push(address);
        match net::bind(address) {
            Ok(listener) => listeners.push(listener),
            Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable => missing = Some(error),
            Err(error) => return Err(error),
        }
    }
    match missing {
        Some(error) if listeners.is_empty() => Err(error),
        _ => Ok(listeners),
    }
}

/// All addresses of the machine: one socket for both families where there is IPv6.
fn bind_all(port: u16) -> io::Result<Bound> {
    match net::bind((Ipv6Addr::UNSPECIFIED, port).into()) {
        Err(error) if error.kind() != io::ErrorKind::AddrInUse => net::bind((Ipv4Addr::UNSPECIFIED, port).into()),
        bound => bound,
    }
}

impl Server {
    /// Builds the generation on every worker.
    ///
    /// # Errors
    /// If a script or a file of the generation is no good, or if a thread can't be started.
    pub fn build(config: &Arc<Config>, listeners: Vec<Bound>) -> Result<Server, Refusal> {
        let system = |error: io::Error| Refusal::System(error.to_string());
        let addresses = listeners.iter().map(Bound::address).collect::<io::Result<_>>().map_err(system)?;
        let (outboxes, inboxes) = net::outboxes(config.process.num_threads, config.process.max_connections);
        let (stop, stopped) = watch::channel(false);
        let (built, results) = mpsc::channel();
        let go = Arc::new(Semaphore::new(0));
        let live = Arc::new(AtomicU64::new(1));
        let (mut workers, mut orders) = (Vec::new(), Vec::new());
        for (index, inbox) in inboxes.into_iter().enumerate() {
            let listeners = listeners.iter().map(Bound::try_clone).collect::<io::Result<_>>().map_err(system)?;
            let (order, ordered) = unbounded_channel();
            orders.push(order);
            let task = worker::Task {
                live: live.clone(),
                orders: ordered,
                index,
                config: config.clone(),
                listeners,
                outboxes: outboxes.clone(),
                inbox,
                built: built.clone(),
                go: go.clone(),
                stop: stopped.clone(),
                grace: GRACE,
            };
            let thread =
                thread::Builder::new().name(format!("worker-{index}")).stack_size(STACK).spawn(move || task.run());
            workers.push(thread.map_err(system)?);
        }
        drop(built);
        for _ in &workers {
            // A worker that panics drops its sender.
            let ended = |_| Err(Refusal::System("a worker ended while it started".to_owned()));
            if let Err(refusal) = results.recv().unwrap_or_else(ended) {
                go.close();
                return Err(refusal);
            }
        }
        Ok(Server { addresses, workers, go, stop, renewal: Renewal::new(live, orders) })
    }

    /// Lets the workers take connections, all at once; and what gives them another generation later.
    pub fn serve(self) -> (Serving, Renewal) {
        self.go.add_permits(self.workers.len());
        (Serving { workers: self.workers, stop: self.stop }, self.renewal)
    }

    /// The addresses that it listens on, as people write them, with the ports that the system gave.
    pub fn addresses(&self) -> &[String] {
        &self.addresses
    }
}

impl Serving {
    /// Takes no more connections, lets requests in flight end, and waits for it: at most 30 s.
    pub fn stop(self) {
        // Fails when all workers have ended already.
        let _ = self.stop.send(true);
        for worker in self.workers {
            if worker.join().is_err() {
                tracing::error!("a worker panicked");
            }
        }
    }
}
