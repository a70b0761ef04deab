//! A worker's connections to one database: opened when they are needed, lent to one piece of work
//! at a time, and closed where it is not known what state the work left them in.

use std::cell::RefCell;
use std::rc::Rc;
use std::thread;
use std::time::Duration;

use tokio::sync::Semaphore;

use super::error::{Error, Kind};
use super::settings::Named;
use super::{Connection, Missing};
use crate::fiber;

/// How long a connection is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// The connections.
pub struct Pool {
    database: Named,
    limit: usize,
    /// One for each connection that may still be lent; who waits longest is served first.
    turns: Semaphore,
    idle: RefCell<Vec<Box<dyn Connection>>>,
}

impl Pool {
    /// Up to `limit` connections to `database`, none yet.
    pub fn new(database: Named, limit: usize) -> Pool {
        Pool { database, limit, turns: Semaphore::new(limit), idle: RefCell::default() }
    }

    /// Borrows a connection, or opens one, or waits for one to come back.
    ///
    /// # Errors
    /// If none came back for 5 s, if the work has to stop, or if none can be opened.
    pub fn take(self: &Rc<Self>) -> Result<Lease, Error> {
        match self.turns.try_acquire() {
            Ok(turn) => turn.forget(),
            Err(_) => match fiber::wait(tokio::time::timeout(PATIENCE, self.turns.acquire()))? {
                Ok(turn) => turn.expect("the pool never closes").forget(),
                Err(_) => return Err(self.exhausted()),
            },
        }
        let mut lease = Lease { pool: self.clone(), connection: None };
        let idle = self.idle.borrow_mut().pop();
        lease.connection = Some(match idle {
            Some(connection) => connection,
            None => (self.database.url.backend().connect)(&self.database, Missing::Refuse)?,
        });
        Ok(lease)
    }

    fn exhausted(&self) -> Error {
        let (limit, name) = (self.limit, &self.database.name);
        let message = format!("no connection to database `{name}` came free for 5 s; this worker may have {limit}");
        Error::new(Kind::Timeout, message).hint("raise its `max-connections`, or keep transactions short")
    }
}

/// A borrowed connection, which goes back when this is dropped.
pub struct Lease {
    pool: Rc<Pool>,
    connection: Option<Box<dyn Connection>>,
}

impl Lease {
    /// The connection.
    pub fn connection(&mut self) -> &mut dyn Connection {
        self.connection.as_deref_mut().expect("a lease has a connection until it is dropped")
    }

    /// Closes the connection instead of giving it back.
    pub fn close(mut self) {
        self.connection = None;
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let connection = self.connection.take();
        if let Some(connection) = connection
            && !thread::panicking()
            && !connection.in_transaction()
        {
            self.pool.idle.borrow_mut().push(connection);
        }
        self.pool.turns.add_permits(1);
    }
}
