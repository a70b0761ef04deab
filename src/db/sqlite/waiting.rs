//! Where SQLite would block the worker, others get their turn instead. Its callbacks are called
//! with its frames on the fiber's stack: they suspend it, and never unwind.

use std::thread;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::fiber::{self, Stop};

/// How long a lock is waited for.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// How often others merely get their turn before the lock is asked for again: whoever holds it is
/// mostly a fiber of this worker, or done in microseconds.
const TURNS: i32 = 8;
/// How long it is waited for the lock before it is asked for again.
const NAP: Duration = Duration::from_millis(1);
/// Steps of SQLite's machine between two looks at the clock, some 0.1 ms; this costs 2 %, a tenth
/// of it 9 %.
const STEPS: i32 = 10_000;

/// Makes `connection` give others their turn while it computes and while it waits for a lock.
///
/// # Errors
/// If SQLite refuses.
pub fn install(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.progress_handler(STEPS, Some(|| fiber::slice().is_err()))?;
    let mut since = Instant::now();
    connection.busy_handler(Some(move |attempt| {
        if attempt == 0 {
            since = Instant::now();
        }
        since.elapsed() < PATIENCE && nap(attempt).is_ok()
    }))
}

/// Asks again and again as long as `attempt` fails because the database is locked: not everything
/// that finds it locked calls the busy handler, switching to WAL for example.
///
/// # Errors
/// What `attempt` fails with.
pub fn insist<T>(mut attempt: impl FnMut() -> rusqlite::Result<T>) -> rusqlite::Result<T> {
    let since = Instant::now();
    loop {
        match attempt() {
            Err(error)
                if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy)
                    && since.elapsed() < PATIENCE
                    && nap(TURNS).is_ok() => {}
            outcome => return outcome,
        }
    }
}

fn nap(attempt: i32) -> Result<(), Stop> {
    if fiber::id().is_none() || thread::panicking() {
        // At start-up nobody else is there to get a turn; while a panic unwinds nothing may wait.
        thread::sleep(NAP);
        return Ok(());
    }
    if attempt < TURNS { fiber::pause() } else { fiber::wait(tokio::time::sleep(NAP)) }
}
