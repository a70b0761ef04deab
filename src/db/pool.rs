//! A worker's connections to one database: opened when they are needed, lent to one piece of work
//! at a time, and closed where it is not known what state the work left them in.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

use super::error::{Error, Kind};
use super::settings::Named;
use super::{Connection, Finish, Missing};
use crate::fiber;

/// After so long without use it is asked whether the database is still there. A server does not
/// start again in less time, so a connection that is found dead without asking belongs to one that is away.
const FRESH: Duration = Duration::from_millis(10);

/// The connections.
pub struct Pool {
    database: Named,
    limit: usize,
    /// One for each connection that may still be lent; who waits longest is served first.
    turns: Semaphore,
    waiting: Cell<usize>,
    /// How many went away without a connection.
    refused: Cell<u64>,
    idle: RefCell<Vec<Idle>>,
    is_swept: Cell<bool>,
}

struct Idle {
    connection: Box<dyn Connection>,
    opened: Instant,
    since: Instant,
}

impl Pool {
    /// Up to `limit` connections to `database`, none yet.
    pub fn new(database: Named, limit: usize) -> Pool {
        Pool {
            database,
            limit,
            turns: Semaphore::new(limit),
            waiting: Cell::new(0),
            refused: Cell::new(0),
            idle: RefCell::default(),
            is_swept: Cell::new(false),
        }
    }

    /// Whether these are just such connections; where they are configured does not matter.
    pub fn is_of(&self, named: &Named, limit: usize) -> bool {
        self.limit == limit && Named { place: self.database.place.clone(), ..named.clone() } == self.database
    }

    /// Borrows a connection, or opens one, or waits for one to come back.
    ///
    /// # Errors
    /// If none came back in time, if too many wait already, if the work has to stop, or if none can
    /// be opened.
    pub fn take(self: &Rc<Self>) -> Result<Lease, Error> {
        match self.turns.try_acquire() {
            Ok(turn) => turn.forget(),
            Err(_) => self.wait()?,
        }
        let mut lease = Lease { pool: self.clone(), connection: None, opened: Instant::now() };
        loop {
            let Some(Idle { connection, opened, since }) = self.idle.borrow_mut().pop() else { break };
            (lease.connection, lease.opened) = (Some(connection), opened);
            let is_old = opened.elapsed() > self.database.max_lifetime;
            if !is_old && (since.elapsed() < FRESH || lease.connection().is_there()?) {
                return Ok(lease);
            }
            if let Some(connection) = lease.connection.take() {
                leave(connection);
            }
        }
        lease.opened = Instant::now();
        lease.connection = Some((self.database.url.backend().connect)(&self.database, Missing::Refuse)?);
        Ok(lease)
    }

    fn wait(&self) -> Result<(), Error> {
        if self.waiting.get() >= self.database.max_waiting {
            return Err(self.exhausted(&format!("{} wait already", self.waiting.get())));
        }
        let patience = self.database.wait_timeout;
        let turn = {
            let _queued = Queued::enter(&self.waiting);
            fiber::wait(tokio::time::timeout(patience, self.turns.acquire()))?
        };
        match turn {
            Ok(turn) => turn.expect("the pool never closes").forget(),
            Err(_) => return Err(self.exhausted(&format!("none came free for {} s", patience.as_secs_f32()))),
        }
        Ok(())
    }

    fn exhausted(&self, why: &str) -> Error {
        self.refused.set(self.refused.get() + 1);
        let (limit, name, refused) = (self.limit, &self.database.name, self.refused.get());
        let message = format!(
            "no connection to database `{name}` is free: {why}; this worker may have {limit}, and refused {refused} so far"
        );
        Error::new(Kind::Timeout, message).hint("raise its `max-connections`, or keep transactions short")
    }

    /// Forgets the connections that nobody has: the database went away.
    fn purge(&self) {
        let gone = std::mem::take(&mut *self.idle.borrow_mut());
        drop(gone);
    }

    /// Takes a connection back, and gives its turn to who waits.
    fn restore(self: &Rc<Self>, connection: Option<Box<dyn Connection>>, opened: Instant) {
        if let Some(connection) = connection {
            self.idle.borrow_mut().push(Idle { connection, opened, since: Instant::now() });
            self.sweep();
        }
        self.turns.add_permits(1);
    }

    /// From time to time closes the connections that nobody uses.
    fn sweep(self: &Rc<Self>) {
        let keeps = self.database.idle_timeout;
        if self.is_swept.get() || tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        self.is_swept.set(true);
        let pool: Weak<Pool> = Rc::downgrade(self);
        tokio::task::spawn_local(async move {
            loop {
                tokio::time::sleep(keeps.max(Duration::from_secs(1))).await;
                let Some(pool) = pool.upgrade() else { return };
                let (stay, gone): (Vec<_>, Vec<_>) =
                    pool.idle.take().into_iter().partition(|it| it.since.elapsed() < keeps);
                gone.into_iter().for_each(|it| leave(it.connection));
                pool.idle.borrow_mut().extend(stay);
                if pool.idle.borrow().is_empty() {
                    pool.is_swept.set(false);
                    return;
                }
            }
        });
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.idle.take().into_iter().for_each(|it| leave(it.connection));
    }
}

/// Closes a connection; what there is to say to its server is said beside other work.
fn leave(connection: Box<dyn Connection>) {
    if let Some(ending) = connection.close()
        && tokio::runtime::Handle::try_current().is_ok()
    {
        tokio::task::spawn_local(ending);
    }
}

/// One that waits, counted.
struct Queued<'p>(&'p Cell<usize>);

impl Queued<'_> {
    fn enter(waiting: &Cell<usize>) -> Queued<'_> {
        waiting.set(waiting.get() + 1);
        Queued(waiting)
    }
}

impl Drop for Queued<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

/// A borrowed connection, which goes back when this is dropped.
pub struct Lease {
    pool: Rc<Pool>,
    connection: Option<Box<dyn Connection>>,
    opened: Instant,
}

impl Lease {
    /// The connection.
    pub fn connection(&mut self) -> &mut dyn Connection {
        self.connection.as_deref_mut().expect("a lease has a connection until it is dropped")
    }

    /// Closes the connection instead of giving it back, and those that nobody has: the database is out of order.
    pub fn close(mut self) {
        self.connection = None;
        self.pool.purge();
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let (pool, opened) = (self.pool.clone(), self.opened);
        let finish = match self.connection.take() {
            Some(connection) if !thread::panicking() => connection.finish(),
            _ => Finish::Now(None),
        };
        match finish {
            Finish::Now(connection) => pool.restore(connection, opened),
            Finish::Later(ending) if tokio::runtime::Handle::try_current().is_ok() => {
                tokio::task::spawn_local(async move {
                    let connection = ending.await;
                    pool.restore(connection, opened);
                });
            }
            // The worker ends, and its connections with it.
            Finish::Later(_) => {}
        }
    }
}
