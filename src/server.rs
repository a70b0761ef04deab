//! The workers: threads that share nothing while they serve, started together and ended together.

mod account;
mod addresses;
mod crew;
mod in_flight;
mod local;
mod renewal;
mod service;
mod sockets;
mod worker;

use std::io;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;

use crate::config::Config;
use crate::db;
use crate::net::Heirloom;

use self::addresses::{Moment, wanted};
use self::crew::{Crew, Threads};
use self::renewal::lock;

pub use account::assume;
pub use local::{Local, on_a_thread};
pub use renewal::Renewal;
pub use sockets::Sockets;

/// How long requests in flight may take when the server ends, and how long connections of a worker that leaves may wait
/// for their last.
const GRACE: Duration = Duration::from_secs(30);

/// Address space for a worker's stack: what scripts captured is freed on it, however deeply nested.
const STACK: usize = if cfg!(target_pointer_width = "64") { 256 << 20 } else { 2 << 20 };

/// A server whose workers have all that they need. Dropped, it ends without having served.
pub struct Server {
    addresses: Vec<String>,
    serving: Serving,
    renewal: Renewal,
}

/// A server that serves.
pub struct Serving {
    threads: Arc<Threads>,
    sockets: Arc<Mutex<Sockets>>,
    stop: watch::Sender<Option<Ending>>,
}

/// How a server ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Connections on which nobody waits for an answer are closed at once.
    Stopped,
    /// Another process takes who comes: whoever has a connection here may ask once more, for up to 30 s.
    Replaced,
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
pub fn bind(config: &Config) -> Result<Sockets, Refusal> {
    let mut sockets = Sockets::default();
    let prepared = wanted(config, &[]).and_then(|it| sockets.prepare(it, Moment::Start));
    prepared.map(|()| sockets).map_err(Refusal::System)
}

impl Server {
    /// Builds the generation on every worker.
    ///
    /// # Errors
    /// If a script or a file of the generation is no good, or if a thread can't be started.
    pub fn build(config: &Arc<Config>, sockets: Sockets) -> Result<Server, Refusal> {
        let system = |error: io::Error| Refusal::System(error.to_string());
        let addresses = sockets.addresses();
        let (stop, stopped) = watch::channel(None);
        let (live, threads) = (Arc::new(AtomicU64::new(1)), Arc::new(Threads::new()));
        let mut crew = Crew::new(live.clone(), threads.clone(), stopped);
        for answer in crew.prepare(1, config).map_err(system)? {
            let ended = |_| Err(Refusal::System("a worker ended while it started".to_owned()));
            answer.blocking_recv().unwrap_or_else(ended)?;
        }
        let sockets = Arc::new(Mutex::new(sockets));
        let renewal = Renewal::new(live, crew, sockets.clone(), config.clone());
        Ok(Server { addresses, serving: Serving { threads, sockets, stop }, renewal })
    }

    /// Lets the workers take connections, all at once; and what gives them another generation later.
    pub fn serve(self) -> (Serving, Renewal) {
        let mut renewal = self.renewal;
        renewal.take_up();
        (self.serving, renewal)
    }

    /// The addresses that it listens on, as people write them, with the ports that the system gave.
    pub fn addresses(&self) -> &[String] {
        &self.addresses
    }
}

impl Serving {
    /// What it listens on, for a process that replaces this one.
    ///
    /// # Errors
    /// If there are no file descriptors left.
    pub fn heirlooms(&self) -> io::Result<Vec<Heirloom>> {
        lock(&self.sockets).heirlooms()
    }

    /// Takes no more connections, lets requests in flight end, and waits for it: at most 30 s, twice that if it is
    /// replaced. What else somebody is
    /// about to change of the server is not done any more.
    pub fn stop(self, ending: Ending) {
        // Fails when all workers have ended already.
        let _ = self.stop.send(Some(ending));
        lock(&self.sockets).end();
        self.threads.end();
    }
}
