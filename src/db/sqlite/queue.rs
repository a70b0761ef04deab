//! Who writes next: transactions of this process on one database file begin in the order in which
//! they asked, or SQLite's own way of asking again and again would leave some of them waiting for
//! ever.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::waiting::PATIENCE;
use crate::db::error::{Error, Kind};
use crate::fiber;

/// One queue for each address of a database.
static QUEUES: LazyLock<Mutex<HashMap<String, Arc<Semaphore>>>> = LazyLock::new(Mutex::default);

/// The queue of those who want to write to a database.
#[derive(Clone)]
pub struct Queue(Arc<Semaphore>);

/// The turn of one of them, until it is dropped.
pub struct Turn {
    _permit: OwnedSemaphorePermit,
}

impl Queue {
    /// The queue of the database at `address`.
    pub fn of(address: &str) -> Queue {
        let mut queues = QUEUES.lock().unwrap_or_else(PoisonError::into_inner);
        let queue = queues.entry(address.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(1)));
        Queue(queue.clone())
    }

    /// Waits for its turn; outside of fibers, at start-up, nobody queues.
    ///
    /// # Errors
    /// If that takes as long as SQLite itself would wait for a lock, or if the work has to stop.
    pub fn turn(&self) -> Result<Option<Turn>, Error> {
        if fiber::id().is_none() {
            return Ok(None);
        }
        if let Ok(permit) = self.0.clone().try_acquire_owned() {
            return Ok(Some(Turn { _permit: permit }));
        }
        let turn = fiber::wait(tokio::time::timeout(PATIENCE, self.0.clone().acquire_owned()))?;
        match turn {
            Ok(Ok(permit)) => Ok(Some(Turn { _permit: permit })),
            // The semaphore is never closed.
            Ok(Err(_)) => Ok(None),
            Err(_) => Err(Error::new(Kind::Busy, "the database is locked by other transactions")),
        }
    }
}
