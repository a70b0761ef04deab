//! The connections of a worker: which of them are stuck, and how they end.
//!
//! A timer for each request would cost more than the request's own work; one look at all
//! connections each second costs nothing.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::task::Waker;
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// How long a connection that ends waits for a request that may be under way.
const FAREWELL: Duration = Duration::from_secs(1);

/// For how long a connection may do nothing, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// From a request's first byte to the end of its head, and between requests.
    pub head: u32,
    /// While bytes of a response wait to be taken.
    pub write: u32,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience { head: 10, write: 30 }
    }
}

/// All connections of this worker.
pub struct Live {
    entries: RefCell<HashMap<u64, Rc<Entry>>>,
    fate: Cell<Fate>,
    next: Cell<u64>,
    time: Rc<Time>,
    patience: Cell<Patience>,
    /// The numbers of the sockets that are listened on.
    sockets: RefCell<Vec<u64>>,
    emptied: Notify,
}

/// What connections know of the time.
struct Time {
    seconds: Cell<u32>,
    clock: Cell<Clock>,
}

/// Whether it is noted when the first byte of a request comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Nobody wants to know.
    Unwatched,
    /// Logs write it.
    Watched,
}

/// What is known of one connection.
pub(super) struct Entry {
    id: u64,
    /// The number of the socket that it came to.
    socket: u64,
    time: Rc<Time>,
    moved: Cell<u32>,
    head_since: Cell<Option<u32>>,
    first_byte: Cell<Option<Instant>>,
    state: Cell<State>,
    fate: Cell<Fate>,
    /// Whether the client has to take bytes before more can be written.
    is_blocked: Cell<bool>,
    /// Whether something was left that the client may still be sending.
    has_unread: Cell<bool>,
    waker: RefCell<Waker>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Between requests, or in the head of one.
    Idle,
    /// A request is being answered: whoever does it has limits of its own.
    Busy,
}

/// How a connection goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Serve,
    /// The next answer is its last, and says so: a client that is about to ask gets what it asks for.
    Last,
    /// It ends when the request in flight is answered, or at once if there is none.
    Finish,
    /// It ends at once.
    Abort,
}

impl Live {
    /// No connections yet, and none that shall last.
    pub fn new() -> Rc<Live> {
        Rc::new(Live {
            entries: RefCell::default(),
            fate: Cell::new(Fate::Serve),
            next: Cell::new(0),
            time: Rc::new(Time { seconds: Cell::new(0), clock: Cell::new(Clock::Unwatched) }),
            patience: Cell::default(),
            sockets: RefCell::default(),
            emptied: Notify::new(),
        })
    }

    /// From now on connections do nothing for so long, and those that did not come to one of the `sockets` end with
    /// their next answer.
    pub fn follow(&self, patience: Patience, clock: Clock, sockets: impl Iterator<Item = u64>) {
        self.patience.set(patience);
        self.time.clock.set(clock);
        self.sockets.replace(sockets.collect());
        for entry in self.entries.borrow().values() {
            entry.fate.set(self.fate_of(entry.socket, entry.fate.get()));
        }
    }

    /// The fate of what came to a socket, if nothing else has been decided.
    fn fate_of(&self, socket: u64, decided: Fate) -> Fate {
        match decided {
            Fate::Finish | Fate::Abort => decided,
            Fate::Serve | Fate::Last if self.fate.get() != Fate::Serve => self.fate.get(),
            _ if self.sockets.borrow().contains(&socket) => Fate::Serve,
            _ => Fate::Last,
        }
    }

    /// Number of connections.
    pub fn len(&self) -> usize {
        self.entries.borrow().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.borrow().is_empty()
    }

    /// Ends connections that do nothing for too long, for ever.
    pub async fn sweep(&self) {
        let mut ticks = tokio::time::interval(Duration::from_secs(1));
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let now = self.time.seconds.get() + 1;
            self.time.seconds.set(now);
            for entry in self.entries.borrow().values() {
                if entry.is_stuck(now, self.patience.get()) {
                    entry.decide(Fate::Abort);
                }
            }
        }
    }

    /// Ends all connections: those that answer a request when they are done, but after `grace` in any case. Whoever is
    /// about to ask has a second for it: with bytes under way a connection that is closed is cut (nginx's
    /// `keepalive_min_timeout`).
    pub async fn finish(&self, grace: Duration) {
        self.decide_all(Fate::Last);
        if tokio::time::timeout(FAREWELL, self.gone()).await.is_ok() {
            return;
        }
        self.decide_all(Fate::Finish);
        if tokio::time::timeout(grace.saturating_sub(FAREWELL), self.gone()).await.is_err() {
            tracing::warn!("{} connections are cut after {} s", self.len(), grace.as_secs());
            self.decide_all(Fate::Abort);
            self.gone().await;
        }
    }

    /// Ends all connections with their next answer; those on which nobody has asked for anything after `grace` then.
    /// Whoever waits for an answer gets it, however long that takes.
    pub async fn leave(&self, grace: Duration) {
        self.decide_all(Fate::Last);
        if tokio::time::timeout(grace, self.gone()).await.is_err() {
            self.decide_all(Fate::Finish);
            self.gone().await;
        }
    }

    async fn gone(&self) {
        while !self.is_empty() {
            self.emptied.notified().await;
        }
    }

    /// Those too that begin from now on.
    fn decide_all(&self, fate: Fate) {
        self.fate.set(fate);
        for entry in self.entries.borrow().values() {
            entry.decide(fate);
        }
    }

    pub(super) fn enter(&self, socket: u64) -> Rc<Entry> {
        let id = self.next.get();
        self.next.set(id + 1);
        let entry = Rc::new(Entry {
            id,
            socket,
            time: self.time.clone(),
            moved: Cell::new(self.time.seconds.get()),
            head_since: Cell::new(None),
            first_byte: Cell::new(None),
            state: Cell::new(State::Idle),
            fate: Cell::new(self.fate_of(socket, Fate::Serve)),
            is_blocked: Cell::new(false),
            has_unread: Cell::new(false),
            waker: RefCell::new(Waker::noop().clone()),
        });
        self.entries.borrow_mut().insert(id, entry.clone());
        entry
    }

    pub(super) fn exit(&self, entry: &Entry) {
        self.entries.borrow_mut().remove(&entry.id);
        if self.is_empty() {
            self.emptied.notify_waiters();
        }
    }
}

impl Entry {
    pub(super) fn read(&self) {
        self.moved.set(self.time.seconds.get());
        if self.state.get() == State::Idle && self.head_since.get().is_none() {
            self.head_since.set(Some(self.time.seconds.get()));
            if self.time.clock.get() == Clock::Watched {
                self.first_byte.set(Some(Instant::now()));
            }
        }
    }

    /// When the first byte of the request came that begins now, where that is noted and it did not
    /// come together with the one before.
    pub(super) fn first_byte(&self) -> Option<Instant> {
        self.first_byte.take()
    }

    /// Bytes were written. A head that came meanwhile could not be looked at before.
    pub(super) fn wrote(&self) {
        self.is_blocked.set(false);
        self.moved.set(self.time.seconds.get());
        if self.head_since.get().is_some() {
            self.head_since.set(Some(self.time.seconds.get()));
        }
    }

    /// Bytes wait until the client takes some.
    pub(super) fn blocked(&self) {
        self.is_blocked.set(true);
    }

    pub(super) fn begin(&self) {
        self.has_unread.set(false);
        self.head_since.set(None);
        self.state.set(State::Busy);
    }

    /// Whether bytes came that belong to no request yet.
    pub(super) fn is_in_head(&self) -> bool {
        self.head_since.get().is_some()
    }

    /// What the client sends is not read to its end.
    pub(super) fn leave_unread(&self) {
        self.has_unread.set(true);
    }

    pub(super) fn has_unread(&self) -> bool {
        self.has_unread.get()
    }

    pub(super) fn answered(&self) {
        self.moved.set(self.time.seconds.get());
        self.state.set(State::Idle);
    }

    pub(super) fn fate(&self) -> Fate {
        self.fate.get()
    }

    /// Whom to tell of a changed fate.
    pub(super) fn watch(&self, waker: &Waker) {
        if !self.waker.borrow().will_wake(waker) {
            *self.waker.borrow_mut() = waker.clone();
        }
    }

    fn is_stuck(&self, now: u32, patience: Patience) -> bool {
        let quiet = now - self.moved.get();
        if self.is_blocked.get() {
            return quiet > patience.write;
        }
        let waits_for_head = |since: u32| now - since > patience.head;
        self.state.get() == State::Idle && (quiet > patience.head || self.head_since.get().is_some_and(waits_for_head))
    }

    fn decide(&self, fate: Fate) {
        self.fate.set(fate);
        self.waker.borrow().wake_by_ref();
    }
}
