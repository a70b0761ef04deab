//! A connection over the network, seen from a fiber: each statement is a future that owns the
//! session while it runs, so that work which has to stop leaves it to end by itself. It does not
//! know which database is at the other end.

pub mod address;
pub mod fault;
mod result;
mod session;

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use super::dialect::Dialect;
use super::error::{Error, Kind};
use super::rows::Rows;
use super::settings::Named;
use super::transaction::Isolation;
use super::value::Value;
use super::{Connection, Executed, Finish, keyword, placeholders};
use crate::fiber::{self, Stop};

pub use result::{Results, Stream};
pub use session::{Bounds, Canceller, Session, Traces};

/// How long a statement that nobody waits for may take before the database is told to end it.
const GRACE: Duration = Duration::from_millis(200);

/// How long the database may take to end it.
const PATIENCE: Duration = Duration::from_secs(2);

/// How many parameters a statement may have: both protocols count them with 16 bits.
const MOST: usize = 65_535;

/// A session between statements, or with one that runs.
enum State<S> {
    Ready(S),
    /// A statement that nobody waits for any more.
    Left(Pin<Box<dyn Future<Output = S>>>),
    Lost,
}

/// A connection to a database over the network.
pub struct Remote<S> {
    state: State<S>,
    canceller: Canceller,
    max_rows: usize,
    is_open: bool,
    /// Whether a statement has failed in the transaction that is open, and spoilt it.
    is_spoilt: bool,
    /// Whether statements were prepared for tables that have changed since.
    is_stale: bool,
    /// What the statements have left behind.
    traces: Traces,
}

impl<S: Session> Remote<S> {
    /// A connection with a session that has no transaction open.
    pub fn new(session: S, max_rows: usize) -> Remote<S> {
        let canceller = session.canceller();
        Remote {
            state: State::Ready(session),
            canceller,
            max_rows,
            is_open: false,
            is_spoilt: false,
            is_stale: false,
            traces: Traces::None,
        }
    }

    /// Runs `work` with the session, on the fiber that calls.
    fn call<T: 'static>(&mut self, work: impl AsyncFnOnce(&mut S) -> Result<T, Error> + 'static) -> Result<T, Error> {
        // From here on nothing stops the work before its future was asked once.
        fiber::wait(std::future::ready(()))?;
        let State::Ready(mut session) = std::mem::replace(&mut self.state, State::Lost) else { return Err(lost()) };
        let outcome = Rc::new(Cell::new(None));
        let out = outcome.clone();
        let mut running: Pin<Box<dyn Future<Output = S>>> = Box::pin(async move {
            out.set(Some(work(&mut session).await));
            session
        });
        let watched = std::future::poll_fn(|context| match running.as_mut().poll(context) {
            Poll::Ready(session) => Poll::Ready(Ok(session)),
            // A single row can be larger than all that the work may hold.
            Poll::Pending => fiber::room(0).map_or_else(|stop| Poll::Ready(Err(stop)), |()| Poll::Pending),
        });
        match fiber::wait(watched).and_then(|outcome| outcome) {
            Ok(session) => {
                let outcome = outcome.take().unwrap_or_else(|| Err(lost()));
                if session.is_spent() {
                    // The database takes back what is cut off.
                    self.is_open = false;
                } else if !matches!(&outcome, Err(error) if error.kind == Kind::Connection) {
                    self.state = State::Ready(session);
                }
                outcome
            }
            Err(stop) => {
                // What has no room is not waited for: the connection is closed.
                if stop != Stop::Memory {
                    self.state = State::Left(running);
                }
                Err(stop.into())
            }
        }
    }

    /// Runs `work` as a statement, which may spoil the transaction.
    fn statement<T: 'static>(
        &mut self,
        sql: &str,
        work: impl AsyncFnOnce(&mut S) -> Result<T, Error> + 'static,
    ) -> Result<T, Error> {
        keyword::refuse_transaction_control(sql, S::DIALECT)?;
        if self.is_open {
            if self.is_spoilt {
                return Err(spoilt());
            }
            if let Some(error) = S::ends_transaction(sql) {
                return Err(error);
            }
        }
        self.traces = self.traces.max(S::traces(sql));
        self.call(work).inspect_err(|error| {
            if self.is_open {
                self.is_spoilt = S::FAILURE_SPOILS;
                self.is_open = !S::lost_transaction(error);
            }
        })
    }

    /// Runs `work` as a statement, and once more if it was prepared for tables that have changed since: it did
    /// nothing then. In a transaction the first failure has spoilt it.
    fn twice<T: 'static>(&mut self, mut work: impl FnMut(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        if std::mem::take(&mut self.is_stale) && !self.is_open {
            self.call(async |session| session.forget().await)?;
        }
        let outcome = work(self);
        if !matches!(&outcome, Err(error) if error.kind == Kind::SchemaChanged) {
            return outcome;
        }
        if self.is_open {
            self.is_stale = true;
            return outcome;
        }
        self.call(async |session| session.forget().await)?;
        work(self)
    }

    fn command(&mut self, sql: impl Into<String>) -> Result<(), Error> {
        let sql = sql.into();
        self.call(async move |session| session.command(sql).await)
    }
}

impl<S: Session> Connection for Remote<S> {
    fn dialect(&self) -> Dialect {
        S::DIALECT
    }

    fn query(&mut self, sql: &str, parameters: &[Value<'_>], most: usize) -> Result<Rows, Error> {
        let bounds = Bounds { most, max_rows: self.max_rows };
        self.twice(|this| {
            let (text, parameters) = prepared::<S>(sql, parameters)?;
            this.statement(sql, async move |session| session.query(text, parameters, bounds).await)
        })
    }

    fn exec(&mut self, sql: &str, parameters: &[Value<'_>]) -> Result<Executed, Error> {
        self.twice(|this| {
            let (text, parameters) = prepared::<S>(sql, parameters)?;
            this.statement(sql, async move |session| session.exec(text, parameters).await)
        })
    }

    fn run(&mut self, statement: &str) -> Result<(), Error> {
        self.command(statement)?;
        match keyword::transaction_control(statement, S::DIALECT) {
            Some("BEGIN" | "START") => self.is_open = true,
            Some("COMMIT" | "END" | "ABORT" | "PREPARE") => self.is_open = false,
            Some("ROLLBACK") if !statement.to_ascii_uppercase().contains(" TO ") => self.is_open = false,
            _ => {}
        }
        Ok(())
    }

    fn begin(&mut self, depth: usize, isolation: Option<Isolation>) -> Result<(), Error> {
        if depth > 0 {
            if self.is_spoilt {
                return Err(spoilt());
            }
            return self.command(format!("SAVEPOINT rhaid_{depth}"));
        }
        for command in S::begin(isolation) {
            self.command(command)?;
        }
        (self.is_open, self.is_spoilt) = (true, false);
        Ok(())
    }

    fn commit(&mut self, depth: usize) -> Result<(), Error> {
        if self.is_spoilt {
            return Err(spoilt());
        }
        if depth > 0 {
            return self.command(format!("RELEASE SAVEPOINT rhaid_{depth}"));
        }
        self.command("COMMIT").inspect(|()| self.is_open = false)
    }

    fn rollback(&mut self, depth: usize) -> Result<(), Error> {
        if depth == 0 {
            return self.command("ROLLBACK").inspect(|()| (self.is_open, self.is_spoilt) = (false, false));
        }
        self.command(format!("ROLLBACK TO SAVEPOINT rhaid_{depth}"))?;
        self.is_spoilt = false;
        self.command(format!("RELEASE SAVEPOINT rhaid_{depth}"))
    }

    fn begin_migration(&mut self) -> Result<(), Error> {
        if S::MIGRATES_IN_TRANSACTION {
            self.begin(0, None)?;
        }
        self.call(async |session| session.lock().await)
    }

    fn end_migration(&mut self) -> Result<(), Error> {
        if S::MIGRATES_IN_TRANSACTION { self.commit(0) } else { self.call(async |session| session.unlock().await) }
    }

    fn undo_migration(&mut self) -> Result<(), Error> {
        if S::MIGRATES_IN_TRANSACTION { self.rollback(0) } else { self.call(async |session| session.unlock().await) }
    }

    fn is_transactional(&self) -> bool {
        S::MIGRATES_IN_TRANSACTION
    }

    fn in_transaction(&self) -> bool {
        self.is_open
    }

    fn is_there(&mut self) -> Result<bool, Error> {
        match self.call(async |session| session.ping().await) {
            Err(error) if matches!(error.kind, Kind::Stopped(_)) => Err(error),
            outcome => Ok(outcome.is_ok()),
        }
    }

    fn close(self: Box<Self>) -> Option<Pin<Box<dyn Future<Output = ()>>>> {
        let State::Ready(session) = self.state else { return None };
        Some(Box::pin(leave(session)))
    }

    fn finish(self: Box<Self>) -> Finish {
        let Remote { state, canceller, max_rows, is_open, traces, .. } = *self;
        // What a transaction did must leave no trace: the database rolls back what is cut off.
        let is_useless = is_open || traces == Traces::Session;
        let running: Pin<Box<dyn Future<Output = S>>> = match state {
            State::Lost => return Finish::Now(None),
            State::Ready(session) if traces == Traces::None && !is_open => {
                return Finish::Now(Some(Box::new(Remote::new(session, max_rows))));
            }
            State::Ready(session) => Box::pin(std::future::ready(session)),
            State::Left(running) => running,
        };
        Finish::Later(Box::pin(async move {
            let settled = Box::pin(async move {
                let mut session = running.await;
                let is_settled = is_useless || session.settle().await.is_ok();
                is_settled.then_some(session)
            });
            let session = ended(settled, canceller).await??;
            if is_useless {
                leave(session).await;
                return None;
            }
            Some(Box::new(Remote::new(session, max_rows)) as Box<dyn Connection>)
        }))
    }
}

/// Waits until a session is open, as long as the database's `connect-timeout` says; `place` is where its server is.
///
/// # Errors
/// That of `opening`; or if it takes too long, or the work has to stop.
pub fn connect<S>(database: &Named, place: &str, opening: impl Future<Output = Result<S, Error>>) -> Result<S, Error> {
    let patience = database.connect_timeout;
    let outcome = fiber::wait(tokio::time::timeout(patience, opening))?;
    let outcome = outcome.unwrap_or_else(|_| {
        Err(Error::new(Kind::Away, format!("no answer for {} s, its `connect-timeout`", patience.as_secs_f32())))
    });
    outcome.map_err(|error| Error { kind: Kind::Away, ..error }.within(format_args!("cannot connect to {place}")))
}

/// Says goodbye, which servers log if it isn't said, but not for long.
async fn leave<S: Session>(session: S) {
    let _ = tokio::time::timeout(PATIENCE, session.close()).await;
}

/// Lets a statement end that nobody waits for; none if it doesn't.
async fn ended<T>(mut running: Pin<Box<dyn Future<Output = T>>>, canceller: Canceller) -> Option<T> {
    if let Ok(value) = tokio::time::timeout(GRACE, &mut running).await {
        return Some(value);
    }
    tokio::time::timeout(PATIENCE, async {
        canceller().await;
        running.await
    })
    .await
    .ok()
}

/// The statement's text and parameters as they are sent.
fn prepared<S: Session>(sql: &str, parameters: &[Value<'_>]) -> Result<(String, S::Parameters), Error> {
    let (text, flat) = placeholders::expand(sql, parameters, S::DIALECT)?;
    if flat.len() > MOST {
        let message = format!("the statement has {} parameters, more than {MOST}", flat.len());
        return Err(Error::new(Kind::Parameters, message).hint("divide the list, or put its values into a table"));
    }
    Ok((text, S::parameters(&mut flat.into_iter())?))
}

fn lost() -> Error {
    Error::new(Kind::Connection, "the connection was lost")
}

fn spoilt() -> Error {
    Error::new(Kind::Other, "a statement of this transaction failed, so the database takes no other in it")
        .hint("what may fail goes into a transaction of its own inside of this one")
}
