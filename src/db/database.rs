//! A database as one worker uses it: each statement on a connection of the pool, or on that of the
//! transaction that its fiber is in.

use std::cell::RefCell;
use std::rc::Rc;

use super::error::{Error, Kind};
use super::pool::{Lease, Pool};
use super::rows::{Row, Rows};
use super::settings::Named;
use super::value::Value;
use super::{Connection, Executed, Isolation};
use crate::fiber;

/// A database as one worker uses it. A clone is the same database.
#[derive(Clone)]
pub struct Database(Rc<Inner>);

struct Inner {
    pool: Rc<Pool>,
    /// The transactions that are open, each on a fiber of its own.
    transactions: RefCell<Vec<Transaction>>,
}

struct Transaction {
    fiber: Option<u64>,
    /// Absent while a statement runs, and when the transaction is beyond help.
    lease: Option<Lease>,
    /// How many transactions lie in each other.
    depth: usize,
}

impl Database {
    /// The database, with up to `limit` connections for this worker.
    pub(super) fn new(named: Named, limit: usize) -> Database {
        Database(Rc::new(Inner { pool: Rc::new(Pool::new(named, limit)), transactions: RefCell::default() }))
    }

    /// Whether it is just this one, with as many connections.
    pub(super) fn is_of(&self, named: &Named, limit: usize) -> bool {
        self.0.pool.is_of(named, limit)
    }

    /// Runs a statement for its rows.
    ///
    /// # Errors
    /// If the database refuses, the parameters don't fit, or the work has to stop.
    pub fn query(&self, sql: &str, parameters: &[Value<'_>]) -> Result<Rows, Error> {
        self.with(|connection| connection.query(sql, parameters, usize::MAX)).map_err(|error| error.of_statement(sql))
    }

    /// Runs a statement for the first of its rows.
    ///
    /// # Errors
    /// As [`Database::query`].
    pub fn first(&self, sql: &str, parameters: &[Value<'_>]) -> Result<Option<Row>, Error> {
        let first = self.with(|connection| connection.query(sql, parameters, 1));
        first.map(|rows| rows.row(0)).map_err(|error| error.of_statement(sql))
    }

    /// Runs a statement for its effect; rows that it gives are not looked at.
    ///
    /// # Errors
    /// As [`Database::query`].
    pub fn exec(&self, sql: &str, parameters: &[Value<'_>]) -> Result<Executed, Error> {
        self.with(|connection| connection.exec(sql, parameters)).map_err(|error| error.of_statement(sql))
    }

    /// Runs `body` in a transaction: what it does to this database lasts if it is `Ok`, and leaves
    /// no trace if it is an error or a panic. A transaction in a transaction is a savepoint.
    ///
    /// # Errors
    /// That of `body`; or if the transaction can't be opened, or can't be committed.
    pub fn transaction<T, E: From<Error>>(&self, body: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        self.isolated(None, body)
    }

    /// [`Database::transaction`], which sees as much of others as the level allows; a transaction in a
    /// transaction has that of the outer one.
    ///
    /// # Errors
    /// As [`Database::transaction`]; or if a transaction is open already and a level is given.
    pub fn isolated<T, E: From<Error>>(
        &self,
        isolation: Option<Isolation>,
        body: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let open = self.begin(isolation)?;
        let value = match body() {
            Ok(value) => value,
            Err(error) => {
                open.roll_back();
                return Err(error);
            }
        };
        open.commit()?;
        Ok(value)
    }

    fn begin(&self, isolation: Option<Isolation>) -> Result<Open<'_>, Error> {
        let fiber = fiber::id();
        if isolation.is_some() && self.0.transactions.borrow().iter().any(|it| it.fiber == fiber) {
            return Err(Error::new(Kind::Other, "the isolation level is that of the outermost transaction"));
        }
        if let Some(depth) = self.enter(fiber) {
            let open = Open { database: self, fiber, depth, ended: false };
            self.in_transaction(fiber, |connection| connection.begin(depth, isolation))
                .expect("the transaction was just found")?;
            return Ok(open);
        }
        may_wait()?;
        let mut lease = self.0.pool.take()?;
        lease.connection().begin(0, isolation)?;
        self.0.transactions.borrow_mut().push(Transaction { fiber, lease: Some(lease), depth: 0 });
        Ok(Open { database: self, fiber, depth: 0, ended: false })
    }

    /// Goes one level deeper in the fiber's transaction, if it has one.
    fn enter(&self, fiber: Option<u64>) -> Option<usize> {
        let mut transactions = self.0.transactions.borrow_mut();
        let transaction = transactions.iter_mut().find(|it| it.fiber == fiber)?;
        transaction.depth += 1;
        Some(transaction.depth)
    }

    /// Lends `work` the transaction's connection, or another if this fiber is in none.
    fn with<T>(&self, work: impl FnOnce(&mut dyn Connection) -> Result<T, Error>) -> Result<T, Error> {
        may_wait()?;
        let fiber = fiber::id();
        if self.0.transactions.borrow().iter().any(|it| it.fiber == fiber) {
            return self.in_transaction(fiber, work).expect("the transaction was just found");
        }
        let mut lease = self.0.pool.take()?;
        let outcome = work(lease.connection());
        if matches!(&outcome, Err(error) if error.kind == Kind::Connection) {
            // The next one may find the database in order again.
            lease.close();
            return outcome;
        }
        if lease.connection().in_transaction() {
            let error = Error::new(Kind::Other, "the statement left a transaction open, which is rolled back");
            return Err(error.hint("use `db::transaction`, which commits or rolls back by itself"));
        }
        outcome
    }

    /// Runs `work` on the connection of the fiber's transaction; `None` if it has none.
    fn in_transaction<T>(
        &self,
        fiber: Option<u64>,
        work: impl FnOnce(&mut dyn Connection) -> Result<T, Error>,
    ) -> Option<Result<T, Error>> {
        let lease = self.0.transactions.borrow_mut().iter_mut().find(|it| it.fiber == fiber)?.lease.take();
        let over = || Error::new(Kind::Other, "the transaction is over: it was rolled back, or ended by a statement");
        let Some(mut lease) = lease else { return Some(Err(over())) };
        // Where `work` panics the lease is dropped, which closes the connection.
        let outcome = if lease.connection().in_transaction() { work(lease.connection()) } else { Err(over()) };
        let mut transactions = self.0.transactions.borrow_mut();
        if let Some(transaction) = transactions.iter_mut().find(|it| it.fiber == fiber) {
            transaction.lease = Some(lease);
        }
        Some(outcome)
    }
}

/// # Errors
/// On a fiber that may not wait, or that has to stop. Outside of fibers nobody is kept waiting.
fn may_wait() -> Result<(), Error> {
    if fiber::id().is_some() {
        fiber::wait(std::future::ready(()))?;
    }
    Ok(())
}

/// A transaction, or a savepoint in one, that has to be ended.
struct Open<'d> {
    database: &'d Database,
    fiber: Option<u64>,
    depth: usize,
    ended: bool,
}

impl Open<'_> {
    fn commit(mut self) -> Result<(), Error> {
        let depth = self.depth;
        let outcome = self.database.in_transaction(self.fiber, |connection| {
            connection.commit(depth).inspect_err(|_| {
                // A deferred constraint, for one, leaves the transaction open; should even this
                // fail, the connection is closed.
                let _ = connection.rollback(depth);
            })
        });
        self.end();
        outcome.expect("an open transaction is in the list")
    }

    fn roll_back(mut self) {
        let depth = self.depth;
        let outcome = self.database.in_transaction(self.fiber, |connection| connection.rollback(depth));
        if matches!(outcome, Some(Ok(()))) {
            self.end();
        }
        // Else it is not known what would last: dropping this closes the connection.
    }

    fn end(&mut self) {
        self.ended = true;
        let lease = {
            let mut transactions = self.database.0.transactions.borrow_mut();
            let Some(index) = transactions.iter().position(|it| it.fiber == self.fiber) else { return };
            if self.depth > 0 {
                transactions[index].depth = self.depth - 1;
                return;
            }
            transactions.swap_remove(index).lease
        };
        drop(lease);
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let lost = {
            let mut transactions = self.database.0.transactions.borrow_mut();
            transactions.iter_mut().find(|it| it.fiber == self.fiber).and_then(|it| it.lease.take())
        };
        // Still in its transaction, so it is closed and not lent again.
        drop(lost);
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::db::Databases;
    use crate::db::trial::{Trial, block_on, number, on_fiber};
    use crate::fiber::{Limits, Stop};

    const SCHEMA: &str =
        "CREATE TABLE a (n INT UNIQUE); CREATE TABLE b (n INT REFERENCES c (n) DEFERRABLE INITIALLY DEFERRED);
                          CREATE TABLE c (n INTEGER PRIMARY KEY);";
    const COUNT: &str = "SELECT count(*) FROM a";

    fn insert(db: &Database, number: i64) -> Result<(), Error> {
        db.exec("INSERT INTO a VALUES (?)", &[number.into()]).map(drop)
    }

    fn fail<T>() -> Result<T, Error> {
        Err(Error::new(Kind::Other, "on purpose"))
    }

    #[test]
    fn a_transaction_lasts_if_it_is_ok_and_else_leaves_no_trace() {
        let trial = Trial::new(SCHEMA);
        trial.run(|db| {
            assert_eq!(db.transaction(|| insert(db, 1).map(|()| 7)), Ok(7));
            assert_eq!(db.transaction(|| insert(db, 2).and_then(|()| fail::<()>())), fail());
            assert_eq!(db.transaction(|| insert(db, 2).and_then(|()| insert(db, 1))).unwrap_err().kind, Kind::Unique);
            assert_eq!(number(db, COUNT), 1);
        });
        assert_eq!(trial.number(COUNT), 1);
    }

    #[test]
    fn a_transaction_in_a_transaction_is_a_savepoint() {
        let trial = Trial::new(SCHEMA);
        trial.run(|db| {
            db.transaction(|| {
                insert(db, 1)?;
                assert_eq!(db.transaction(|| insert(db, 2).and_then(|()| fail::<()>())), fail());
                db.transaction(|| {
                    insert(db, 3)?;
                    assert_eq!(db.transaction(|| insert(db, 4).and_then(|()| fail::<()>())), fail());
                    Ok::<_, Error>(())
                })?;
                insert(db, 5)
            })
            .unwrap();
            assert_eq!(number(db, "SELECT sum(n) FROM a"), 9);
        });
    }

    #[test]
    fn a_panic_or_a_client_that_leaves_rolls_back() {
        let trial = Trial::new(SCHEMA);
        let databases = Rc::new(Databases::new(&trial.settings, 10));
        block_on(async {
            let run = |work: fn(&Database) -> Result<(), Error>| {
                on_fiber(&databases, Limits::default(), move |db| {
                    db.transaction(|| {
                        insert(db, 1)?;
                        work(db)
                    })
                })
            };
            assert!(run(|_| panic!("on purpose")).await.is_err());
            assert!(run(|db| db.transaction(|| panic!("on purpose"))).await.is_err());
            let waiting = run(|_| Ok(fiber::wait(std::future::pending())?));
            assert!(tokio::time::timeout(Duration::from_millis(20), waiting).await.is_err());
            let count = on_fiber(&databases, Limits::default(), |db| number(db, COUNT));
            assert_eq!(count.await.unwrap(), 0);
            assert_eq!(run(|_| Ok(())).await.unwrap(), Ok(()));
        });
        assert_eq!(trial.number(COUNT), 1);
    }

    #[test]
    fn a_transaction_is_its_fibers_own() {
        let trial = Trial::new(SCHEMA);
        let databases = Rc::new(trial.databases());
        block_on(async {
            let (opened, seen) = (tokio::sync::Notify::new(), tokio::sync::Notify::new());
            let writer = on_fiber(&databases, Limits::default(), |db| {
                db.transaction(|| {
                    insert(db, 1)?;
                    opened.notify_one();
                    fiber::wait(seen.notified())?;
                    Ok::<_, Error>(number(db, COUNT))
                })
            });
            let reader = on_fiber(&databases, Limits::default(), |db| {
                fiber::wait(opened.notified()).unwrap();
                let count = number(db, COUNT);
                seen.notify_one();
                count
            });
            let (inside, outside) = tokio::join!(writer, reader);
            assert_eq!((inside.unwrap(), outside.unwrap()), (Ok(1), 0));
        });
    }

    #[test]
    fn what_fails_at_the_commit_leaves_no_trace() {
        let trial = Trial::new(SCHEMA);
        trial.run(|db| {
            let add = || insert(db, 1).and_then(|()| db.exec("INSERT INTO b VALUES (7)", &[]));
            assert_eq!(db.transaction(add).unwrap_err().kind, Kind::ForeignKey);
            assert_eq!(number(db, COUNT), 0);
        });
    }

    #[test]
    fn statements_do_not_open_or_end_transactions() {
        let trial = Trial::new(SCHEMA);
        trial.run(|db| {
            for sql in ["BEGIN", "SAVEPOINT a", "COMMIT", "ROLLBACK", "START TRANSACTION"] {
                let refused = |outcome: Result<Executed, Error>| {
                    assert!(outcome.unwrap_err().message.contains("begins or ends a transaction"), "{sql}");
                };
                refused(db.exec(sql, &[]));
                let outcome = db.transaction(|| {
                    insert(db, 1)?;
                    refused(db.exec(sql, &[]));
                    Err::<(), _>(Error::new(Kind::Other, "no"))
                });
                assert_eq!(outcome.unwrap_err().message, "no");
            }
            let outcome = db.transaction(|| {
                insert(db, 1)?;
                assert!(db.exec("INSERT OR ROLLBACK INTO a (rowid, n) VALUES (1, 1)", &[]).is_err());
                // It would last, though the transaction fails.
                insert(db, 1)
            });
            assert!(outcome.unwrap_err().message.contains("the transaction is over"));
            assert_eq!(number(db, COUNT), 0);
            assert_eq!(db.transaction(|| insert(db, 1)), Ok(()));
        });
    }

    #[test]
    fn a_statement_that_is_stopped_takes_its_transaction_with_it() {
        let trial = Trial::new(SCHEMA);
        let databases = Rc::new(Databases::new(&trial.settings, 10));
        let limits = Limits { time: Duration::from_millis(30), ..Limits::default() };
        let outcome = block_on(on_fiber(&databases, limits, |db| {
            db.transaction(|| {
                insert(db, 1)?;
                let long = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c";
                db.exec(&format!("INSERT INTO a {long}"), &[]).map(drop)
            })
        }));
        assert_eq!(outcome.unwrap().unwrap_err().kind, Kind::Stopped(Stop::Time));
        assert_eq!(block_on(on_fiber(&databases, Limits::default(), |db| number(db, COUNT))).unwrap(), 0);
    }

    #[test]
    fn a_database_that_was_out_of_order_is_opened_again() {
        let trial = Trial::new(SCHEMA);
        let path = trial.path("var/trial.db");
        let whole = std::fs::read(&path).unwrap();
        trial.run(|db| {
            assert_eq!(number(db, COUNT), 0);
            std::fs::write(&path, "text ".repeat(2000)).unwrap();
            // The connection has not read this table yet.
            assert_eq!(db.query("SELECT * FROM c", &[]).unwrap_err().kind, Kind::Connection);
            std::fs::write(&path, &whole).unwrap();
            assert_eq!(number(db, COUNT), 0);
        });
    }

    #[test]
    fn who_finds_all_connections_lent_waits_for_one() {
        let trial = Trial::new(SCHEMA);
        let databases = Rc::new(Databases::new(&trial.settings, 10));
        block_on(async {
            let slow = || {
                on_fiber(&databases, Limits::default(), |db| {
                    db.transaction(|| Ok::<_, Error>(fiber::wait(tokio::time::sleep(Duration::from_millis(20)))?))
                })
            };
            let quick = || on_fiber(&databases, Limits::default(), |db| db.query(COUNT, &[]).map(drop));
            let (a, b, c, d) = tokio::join!(slow(), quick(), slow(), quick());
            assert_eq!((a.unwrap(), b.unwrap(), c.unwrap(), d.unwrap()), (Ok(()), Ok(()), Ok(()), Ok(())));
        });
    }

    #[test]
    fn who_waits_too_long_for_a_connection_is_told_so() {
        let trial = Trial::new(SCHEMA);
        let databases = Rc::new(Databases::new(&trial.settings, 10));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build_local(Default::default())
            .unwrap();
        runtime.block_on(async {
            let hold = on_fiber(&databases, Limits::default(), |db| {
                db.transaction(|| Ok::<_, Error>(fiber::wait(tokio::time::sleep(Duration::from_secs(20)))?))
            });
            let wait = on_fiber(&databases, Limits::default(), |db| db.query(COUNT, &[]).unwrap_err());
            let (held, error) = tokio::join!(hold, wait);
            assert_eq!((held.unwrap(), error.unwrap().kind), (Ok(()), Kind::Timeout));
        });
    }
}
