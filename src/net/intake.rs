//! What a worker listens on, and what becomes of the connections that it accepts or is given. All workers listen on
//! the same sockets.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io;
use std::rc::Rc;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::task::{AbortHandle, JoinHandle, spawn_local};

use super::bound::Bound;
use super::outboxes::{Arrival, Counted, Inbox, Outbox, Outboxes};
use super::stream::{Listener, Parcel, Stream};

/// How long to wait when there are too many connections, or no file descriptors left.
const BREATH: Duration = Duration::from_millis(50);
/// How long a socket that is to be closed is listened on: a handshake under way comes to its end meanwhile.
const LAST_CALL: Duration = Duration::from_secs(1);

/// The sockets that are listened on.
#[derive(Clone, Default)]
pub struct Sockets {
    /// For good.
    pub open: Vec<Arc<Bound>>,
    /// Until nobody waits there any more; they refuse newcomers already.
    pub closing: Vec<Arc<Bound>>,
}

/// How a worker comes to its connections.
pub struct Intake {
    shared: Rc<Shared>,
    listening: RefCell<HashMap<u64, Listening>>,
    is_closed: Cell<bool>,
    /// Takes what others accepted.
    receiving: RefCell<Option<JoinHandle<()>>>,
    closing: Rc<Notify>,
}

struct Listening {
    /// The task keeps it open.
    bound: Weak<Bound>,
    task: AbortHandle,
    is_last: bool,
}

impl Listening {
    fn new(bound: &Arc<Bound>, task: &JoinHandle<()>, is_last: bool) -> Listening {
        Listening { bound: Arc::downgrade(bound), task: task.abort_handle(), is_last }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What the tasks of an intake share.
struct Shared {
    own: Outbox,
    outboxes: RefCell<Outboxes>,
    start: Box<dyn Fn(Stream, u64, Counted)>,
}

impl Intake {
    /// Takes what others accept for this worker, and listens nowhere yet. `serve` gets each connection, with the number
    /// of the socket that it came to, and is called at once.
    pub fn new<F>(inbox: Inbox, serve: impl Fn(Stream, u64) -> F + 'static) -> Intake
    where
        F: Future<Output = ()> + 'static,
    {
        let start = move |stream, socket, counted: Counted| {
            let conversation = serve(stream, socket);
            spawn_local(async move {
                conversation.await;
                drop(counted);
            });
        };
        let Inbox { own, arrivals } = inbox;
        let outboxes = RefCell::new(Outboxes::new(&[], &[], 0));
        let shared = Rc::new(Shared { own, outboxes, start: Box::new(start) });
        let closing = Rc::new(Notify::new());
        let receiving = spawn_local({
            let (shared, closing, mut arrivals) = (shared.clone(), closing.clone(), arrivals);
            async move {
                loop {
                    tokio::select! {
                        Some(arrival) = arrivals.recv() => shared.receive(arrival),
                        () = closing.notified() => break,
                    }
                }
                // From now on who sends something gets it back.
                arrivals.close();
                while let Some(arrival) = arrivals.recv().await {
                    shared.receive(arrival);
                }
            }
        });
        Intake {
            shared,
            listening: RefCell::default(),
            is_closed: Cell::new(false),
            receiving: RefCell::new(Some(receiving)),
            closing,
        }
    }

    /// Listens on these sockets, and gives connections to these workers.
    pub fn follow(&self, sockets: &Sockets, outboxes: Outboxes) {
        if self.is_closed.get() {
            return;
        }
        self.shared.outboxes.replace(outboxes);
        let mut listening = self.listening.borrow_mut();
        listening.retain(|_, it| !it.task.is_finished());
        for bound in &sockets.open {
            if listening.get(&bound.id()).is_none_or(|it| it.is_last) {
                let task = spawn_local(listen(bound.clone(), self.shared.clone()));
                listening.insert(bound.id(), Listening::new(bound, &task, false));
            }
        }
        for bound in &sockets.closing {
            let task = spawn_local(take_the_last(bound.clone(), self.shared.clone()));
            listening.insert(bound.id(), Listening::new(bound, &task, true));
        }
    }

    /// Takes whoever waits at the sockets, which the kernel would reset when they are closed.
    pub fn take_all(&self) {
        for bound in self.listening.borrow().values().filter_map(|it| it.bound.upgrade()) {
            while let Ok(parcel) = bound.take() {
                self.shared.receive(Arrival { parcel, socket: bound.id(), counted: self.shared.own.clone().count() });
            }
        }
    }

    /// Listens nowhere any more. What others have sent already is taken when this returns, and they learn with the next
    /// one that no more is.
    pub async fn close(&self) {
        self.is_closed.set(true);
        self.listening.borrow_mut().clear();
        self.closing.notify_one();
        let receiving = self.receiving.take();
        if let Some(receiving) = receiving {
            // It fails if a connection's start has panicked, which was logged.
            let _ = receiving.await;
        }
    }
}

impl Shared {
    fn receive(&self, Arrival { parcel, socket, counted }: Arrival) {
        if let Some(stream) = unpack(parcel) {
            (self.start)(stream, socket, counted);
        }
    }

    fn are_full(&self) -> bool {
        self.outboxes.borrow().are_full()
    }

    /// Gives a connection to the worker with the fewest.
    fn hand(&self, stream: Stream, socket: u64) {
        let worker = self.outboxes.borrow().emptiest(&self.own);
        let is_own = worker.is(&self.own);
        let counted = worker.count();
        if is_own {
            return (self.start)(stream, socket, counted);
        }
        match stream.pack().map(|parcel| counted.send(parcel, socket)) {
            Ok(Ok(())) => {}
            // That worker ends.
            Ok(Err(parcel)) => self.receive(Arrival { parcel, socket, counted: self.own.clone().count() }),
            Err(error) => tracing::error!("a connection can't be handed over: {error}"),
        }
    }
}

fn unpack(parcel: Parcel) -> Option<Stream> {
    Stream::unpack(parcel).inspect_err(|error| tracing::error!("a connection can't be watched: {error}")).ok()
}

async fn listen(bound: Arc<Bound>, shared: Rc<Shared>) {
    let was_refused = Cell::new(false);
    let refused = async |error: io::Error| {
        // There are no file descriptors left, as a rule: that is said once, not at each try.
        if !was_refused.replace(true) {
            tracing::error!("connections can't be accepted: {error}");
        }
        tokio::time::sleep(BREATH).await;
    };
    let listener = loop {
        match Listener::new(&bound) {
            Ok(listener) => break listener,
            Err(error) => refused(error).await,
        }
    };
    loop {
        if shared.are_full() {
            // The system's queue holds those that come meanwhile.
            tokio::time::sleep(BREATH).await;
            continue;
        }
        match listener.accept().await {
            Ok(stream) => {
                was_refused.set(false);
                shared.hand(stream, bound.id());
            }
            // The client is gone already.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(error) => refused(error).await,
        }
    }
}

/// Takes whoever waits at a socket, until there is nobody any more and nobody can be on the way. The last worker that
/// lets go of it closes it; what it leaves in the queue would be reset.
async fn take_the_last(bound: Arc<Bound>, shared: Rc<Shared>) {
    let end = Instant::now() + LAST_CALL;
    loop {
        let taken = if shared.are_full() { None } else { Some(bound.take()) };
        match taken {
            Some(Ok(parcel)) => {
                if let Some(stream) = unpack(parcel) {
                    shared.hand(stream, bound.id());
                }
            }
            Some(Err(error)) if error.kind() == io::ErrorKind::WouldBlock && Instant::now() >= end => return,
            // There is nobody yet, or no room: later, perhaps.
            _ => tokio::time::sleep(BREATH).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;

    use super::*;
    use crate::net::bind;

    #[test]
    fn a_socket_is_closed_when_nobody_waits_there_any_more() {
        let bound = Arc::new(bind("127.0.0.1:0".parse().unwrap()).unwrap());
        let address = bound.port().unwrap();
        let queued: Vec<_> = (0..5).map(|_| TcpStream::connect(address).unwrap()).collect();
        tokio::runtime::LocalRuntime::new().unwrap().block_on(async {
            let taken = Rc::new(Cell::new(0));
            let (outbox, inbox) = Outbox::new();
            let intake = Intake::new(inbox, {
                let taken = taken.clone();
                move |_, _| {
                    taken.set(taken.get() + 1);
                    std::future::ready(())
                }
            });
            // Nobody has room for them at first: they are waited for.
            bound.refuse_newcomers();
            let closing = Sockets { closing: vec![bound.clone()], ..Sockets::default() };
            let workers = [outbox];
            intake.follow(&closing, Outboxes::new(&workers, &[], 0));
            let left = Arc::downgrade(&bound);
            drop((bound, closing));
            tokio::time::sleep(LAST_CALL + BREATH * 2).await;
            assert_eq!(taken.get(), 0);
            intake.follow(&Sockets::default(), Outboxes::new(&workers, &[], 10));
            let end = Instant::now() + Duration::from_secs(10);
            while left.strong_count() > 0 {
                assert!(Instant::now() < end);
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            assert_eq!(taken.get(), queued.len());
            assert!(TcpStream::connect(address).is_err());
        });
    }

    #[test]
    fn what_is_sent_to_a_worker_that_ends_comes_back() {
        tokio::runtime::LocalRuntime::new().unwrap().block_on(async {
            let bound = Arc::new(bind("127.0.0.1:0".parse().unwrap()).unwrap());
            let taken = Rc::new(RefCell::new(Vec::new()));
            let intake = |name: &'static str| {
                let (outbox, inbox) = Outbox::new();
                let taken = taken.clone();
                (
                    outbox,
                    Intake::new(inbox, move |_, _| {
                        taken.borrow_mut().push(name);
                        std::future::pending()
                    }),
                )
            };
            let ((first, ending), (second, other)) = (intake("ending"), intake("other"));
            // The other has one already: whoever comes is for the first.
            let _one = second.clone().count();
            let sockets = Sockets { open: vec![bound.clone()], ..Sockets::default() };
            other.follow(&sockets, Outboxes::new(&[first, second], &[], 10));
            let come = async |number: usize| {
                let _client = TcpStream::connect(bound.port().unwrap()).unwrap();
                let end = Instant::now() + Duration::from_secs(10);
                while taken.borrow().len() < number {
                    assert!(Instant::now() < end);
                    tokio::task::yield_now().await;
                }
            };
            come(1).await;
            ending.close().await;
            come(2).await;
            assert_eq!(*taken.borrow(), ["ending", "other"]);
        });
    }
}
