//! What every connection to a database can do, whichever database it is.

use std::future::Future;
use std::pin::Pin;

use super::dialect::Dialect;
use super::error::Error;
use super::rows::Rows;
use super::transaction::Isolation;
use super::value::Value;
use crate::fiber;

/// What becomes of a connection that is given back.
pub enum Finish {
    /// It can be lent again at once, or is closed.
    Now(Option<Box<dyn Connection>>),
    /// A statement runs on it that nobody waits for; until it has ended the connection is in use.
    Later(Ending),
}

/// Ends with a connection that can be lent again, or none.
pub type Ending = Pin<Box<dyn Future<Output = Option<Box<dyn Connection>>>>>;

/// A connection to a database, used by one piece of work at a time.
pub trait Connection {
    /// Runs a statement for its rows, of which no more than `most` are kept.
    ///
    /// # Errors
    /// If the database refuses, the parameters don't fit, or the work has to stop.
    fn query(&mut self, sql: &str, parameters: &[Value<'_>], most: usize) -> Result<Rows, Error>;

    /// Runs a statement for its effect.
    ///
    /// # Errors
    /// If the database refuses, the parameters don't fit, or the work has to stop.
    fn exec(&mut self, sql: &str, parameters: &[Value<'_>]) -> Result<Executed, Error>;

    /// Whose SQL it takes.
    fn dialect(&self) -> Dialect;

    /// Runs a statement of a file, which has no parameters: what it says is not changed.
    ///
    /// # Errors
    /// If the database refuses.
    fn run(&mut self, statement: &str) -> Result<(), Error>;

    /// Opens a transaction with the right to write, or at a greater `depth` than 0 a savepoint in it.
    ///
    /// # Errors
    /// If the database refuses.
    fn begin(&mut self, depth: usize, isolation: Option<Isolation>) -> Result<(), Error>;

    /// Makes what happened since `begin` last.
    ///
    /// # Errors
    /// If the database refuses; the transaction may still be open then.
    fn commit(&mut self, depth: usize) -> Result<(), Error>;

    /// Takes back what happened since `begin`.
    ///
    /// # Errors
    /// If the database refuses.
    fn rollback(&mut self, depth: usize) -> Result<(), Error>;

    /// Whether a transaction is open, and the connection hence unfit for anybody else.
    fn in_transaction(&self) -> bool;

    /// Whether the database still answers on it.
    ///
    /// # Errors
    /// If the work has to stop.
    fn is_there(&mut self) -> Result<bool, Error> {
        Ok(true)
    }

    /// Takes the connection back from the work that had it.
    fn finish(self: Box<Self>) -> Finish;

    /// Closes the connection, as one does who has done with it; what is left to do for that, if anything.
    fn close(self: Box<Self>) -> Option<Pin<Box<dyn Future<Output = ()>>>> {
        None
    }

    /// Whether a transaction takes back whatever a file may do, what it does to tables as well.
    fn is_transactional(&self) -> bool {
        true
    }

    /// Opens what a migration runs in: of several processes one is in it at a time.
    ///
    /// # Errors
    /// If the database refuses.
    fn begin_migration(&mut self) -> Result<(), Error> {
        self.begin(0, None)
    }

    /// Makes a migration last.
    ///
    /// # Errors
    /// If the database refuses.
    fn end_migration(&mut self) -> Result<(), Error> {
        self.commit(0)
    }

    /// Takes a migration back, as far as the database can.
    ///
    /// # Errors
    /// If the database refuses.
    fn undo_migration(&mut self) -> Result<(), Error> {
        self.rollback(0)
    }
}

/// Closes a connection, and waits on the fiber that calls until its server knows.
pub fn leave(connection: Box<dyn Connection>) {
    if let Some(ending) = connection.close() {
        // Where nothing may wait it is cut off.
        let _ = fiber::wait(ending);
    }
}

/// What a statement did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Executed {
    /// Rows that were inserted, changed or deleted.
    pub rows_affected: u64,
    /// The number that the last inserted row was given, where one was inserted that has a number.
    pub last_insert_id: Option<i64>,
}
