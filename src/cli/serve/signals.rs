//! What signals ask of a server.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that the process listens to.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
    user1: Signal,
    user2: Signal,
}

impl Signals {
    /// Listens to them from now on.
    ///
    /// # Errors
    /// If the system does not let it.
    pub(super) fn watch() -> io::Result<Signals> {
        Ok(Signals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
            user1: signal(SignalKind::user_defined1())?,
            user2: signal(SignalKind::user_defined2())?,
        })
    }

    /// Waits for the next.
    pub(super) async fn next(&mut self) -> Asked {
        tokio::select! {
            _ = self.terminate.recv() => Asked::End("SIGTERM"),
            _ = self.interrupt.recv() => Asked::End("SIGINT"),
            _ = self.hang_up.recv() => Asked::Reload,
            _ = self.user1.recv() => Asked::ReopenLogs,
            _ = self.user2.recv() => Asked::Upgrade,
        }
    }

    /// Waits until one says that the process shall end.
    pub(super) async fn end(&mut self) -> &'static str {
        loop {
            if let Asked::End(signal) = self.next().await {
                return signal;
            }
        }
    }
}

/// What a signal asks for.
pub(super) enum Asked {
    End(&'static str),
    Reload,
    ReopenLogs,
    Upgrade,
}
