//! A session with a database over its network protocol: what differs between them.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use crate::db::Executed;
use crate::db::dialect::Dialect;
use crate::db::error::Error;
use crate::db::rows::Rows;
use crate::db::transaction::Isolation;
use crate::db::value::Value;

/// What a statement may give.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// How many rows are kept.
    pub most: usize,
    /// With more of them the statement fails.
    pub max_rows: usize,
}

/// What a statement leaves behind on its connection, beside what it does to the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Traces {
    /// Nothing.
    None,
    /// Maybe a transaction: [`Session::settle`] ends it.
    Transaction,
    /// Settings, locks or tables of the session's own, which nobody else must get.
    Session,
}

/// A session with a database: what differs between them.
pub trait Session: Sized + 'static {
    /// How it writes SQL.
    const DIALECT: Dialect;
    /// Whether a statement that fails spoils the transaction that it is in.
    const FAILURE_SPOILS: bool;
    /// Parameters that are ready to be sent, or nearly.
    type Parameters: 'static;

    /// Makes them of values, none of which is a list.
    ///
    /// # Errors
    /// If the database has nothing for one of them.
    fn parameters(values: &mut dyn ExactSizeIterator<Item = &Value<'_>>) -> Result<Self::Parameters, Error>;

    /// Runs a statement for its rows.
    fn query(
        &mut self,
        sql: String,
        parameters: Self::Parameters,
        bounds: Bounds,
    ) -> impl Future<Output = Result<Rows, Error>>;

    /// Runs a statement for its effect.
    fn exec(&mut self, sql: String, parameters: Self::Parameters) -> impl Future<Output = Result<Executed, Error>>;

    /// Forgets all prepared statements: tables have changed.
    fn forget(&mut self) -> impl Future<Output = Result<(), Error>>;

    /// Runs a text without parameters and without preparing it.
    fn command(&mut self, sql: String) -> impl Future<Output = Result<(), Error>>;

    /// The statements that open a transaction.
    fn begin(isolation: Option<Isolation>) -> Vec<String>;

    /// Why `sql` may not run in a transaction: because it would end it.
    fn ends_transaction(sql: &str) -> Option<Error>;

    /// What `sql` leaves behind.
    fn traces(sql: &str) -> Traces;

    /// Takes back what was not committed.
    fn settle(&mut self) -> impl Future<Output = Result<(), Error>>;

    /// Whether the error has ended the transaction.
    fn lost_transaction(error: &Error) -> bool;

    /// Keeps other processes' migrations waiting until [`Session::unlock`] or the end of the transaction.
    fn lock(&mut self) -> impl Future<Output = Result<(), Error>>;

    /// Ends what [`Session::lock`] began, if no transaction does.
    fn unlock(&mut self) -> impl Future<Output = Result<(), Error>>;

    /// Whether a migration is one transaction.
    const MIGRATES_IN_TRANSACTION: bool;

    /// Whether nobody can use it any more: rows of a statement that failed have not been read, and may have no end.
    fn is_spent(&self) -> bool;

    /// Asks whether the other end is there.
    fn ping(&mut self) -> impl Future<Output = Result<(), Error>>;

    /// What tells the database, over another connection, to end the statement that runs.
    fn canceller(&self) -> Canceller;

    /// Says goodbye.
    fn close(self) -> impl Future<Output = ()>;
}

/// Tells a database to end the statement that a session runs.
pub type Canceller = Rc<dyn Fn() -> Pin<Box<dyn Future<Output = ()>>>>;
