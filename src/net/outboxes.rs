//! How the connections are spread over the workers: who accepts one gives it to the worker with the fewest, so that
//! also ten connections are spread evenly.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::mpsc::error::SendError;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::stream::Parcel;

/// Where a worker gets the connections that others accepted for it. A clone is the same.
#[derive(Clone)]
pub struct Outbox(Arc<Slot>);

struct Slot {
    inbox: UnboundedSender<Arrival>,
    connections: AtomicUsize,
}

/// The other end of a worker's [`Outbox`].
pub struct Inbox {
    pub(super) own: Outbox,
    pub(super) arrivals: UnboundedReceiver<Arrival>,
}

/// A connection that another worker accepted.
pub(super) struct Arrival {
    pub(super) parcel: Parcel,
    /// The number of the socket that it came to.
    pub(super) socket: u64,
    pub(super) counted: Counted,
}

/// A connection counts for its worker as long as this is kept.
pub(super) struct Counted(Outbox);

impl Outbox {
    /// For a worker without connections.
    pub fn new() -> (Outbox, Inbox) {
        let (inbox, arrivals) = unbounded_channel();
        let outbox = Outbox(Arc::new(Slot { inbox, connections: AtomicUsize::new(0) }));
        (outbox.clone(), Inbox { own: outbox, arrivals })
    }

    fn connections(&self) -> usize {
        self.0.connections.load(Ordering::Relaxed)
    }

    pub(super) fn is(&self, other: &Outbox) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub(super) fn count(self) -> Counted {
        self.0.connections.fetch_add(1, Ordering::Relaxed);
        Counted(self)
    }
}

impl Counted {
    /// Sends a connection to the worker that it counts for.
    ///
    /// # Errors
    /// With the connection, if the worker takes none any more.
    pub(super) fn send(self, parcel: Parcel, socket: u64) -> Result<(), Parcel> {
        let inbox = self.0.0.inbox.clone();
        inbox.send(Arrival { parcel, socket, counted: self }).map_err(|SendError(back)| back.parcel)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The workers as one of them sees them. A clone is the same.
#[derive(Clone)]
pub struct Outboxes {
    /// Those who take connections, then those who only finish theirs.
    workers: Arc<[Outbox]>,
    takers: usize,
    most: usize,
}

impl Outboxes {
    /// Of workers that together hold `most` connections; those of the ones that are `leaving` count, too.
    pub fn new(takers: &[Outbox], leaving: &[Outbox], most: usize) -> Outboxes {
        Outboxes { workers: takers.iter().chain(leaving).cloned().collect(), takers: takers.len(), most }
    }

    /// Whether there are as many connections as there may be.
    pub(super) fn are_full(&self) -> bool {
        self.workers.iter().map(Outbox::connections).sum::<usize>() >= self.most
    }

    /// The worker with the fewest connections; `own` where it is one of them.
    pub(super) fn emptiest(&self, own: &Outbox) -> Outbox {
        let fewest = self.workers[..self.takers].iter().min_by_key(|it| it.connections());
        match fewest {
            Some(fewest) if fewest.connections() < own.connections() => fewest.clone(),
            _ => own.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_goes_to_the_emptiest_worker_that_stays() {
        let (boxes, _inboxes): (Vec<_>, Vec<_>) = (0..3).map(|_| Outbox::new()).unzip();
        let outboxes = Outboxes::new(&boxes[..2], &boxes[2..], 3);
        assert!(outboxes.emptiest(&boxes[1]).is(&boxes[1]), "who accepts it keeps it if nobody has fewer");
        let first = boxes[1].clone().count();
        assert!(outboxes.emptiest(&boxes[1]).is(&boxes[0]));
        let _second = boxes[0].clone().count();
        assert!(outboxes.emptiest(&boxes[1]).is(&boxes[1]), "the one that leaves takes none");
        assert!(!outboxes.are_full());
        let _third = boxes[2].clone().count();
        assert!(outboxes.are_full());
        drop(first);
        assert!(!outboxes.are_full());
    }
}
