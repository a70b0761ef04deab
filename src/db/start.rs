//! What happens to databases before the workers start: on a fiber of its own, so that a connection
//! waits there as it does later.

use std::io::BufRead;

use super::error::{Error, Kind};
use super::load::{self, Failure, Progress};
use super::migrations::{self, Standing};
use super::{Named, Settings};
use crate::fiber::{self, Limits};

/// Connects to every database, which creates those that have migrations and can be created, and
/// applies what is to be applied.
///
/// # Errors
/// If a database can't be connected to, a folder can't be read, a file that was applied is missing or
/// not what it was, or a statement fails.
pub fn migrate(settings: &Settings) -> Result<(), Error> {
    on_a_fiber(|| migrations::migrate(settings)).and_then(|outcome| outcome)
}

/// Connects to every database that is there, or has to be.
///
/// # Errors
/// All that went wrong.
pub fn connect_all(settings: &Settings) -> Result<(), Vec<Error>> {
    on_a_fiber(|| migrations::connect_all(settings)).unwrap_or_else(|error| Err(vec![error]))
}

/// Runs all statements of what `reader` reads.
///
/// # Errors
/// With the place of the statement that fails, and how it begins.
pub fn load(
    database: &Named,
    file: &str,
    reader: impl BufRead,
    seen: impl FnMut(Progress),
) -> Result<Progress, Failure> {
    in_a_runtime(|| load::load(database, file, reader, seen)).unwrap_or_else(|error| Err(Failure::Database(error)))
}

/// Which migrations were applied, without changing anything.
///
/// # Errors
/// If the folder can't be read, or the database can't be asked.
pub fn status(database: &Named) -> Result<Option<Vec<Standing>>, Error> {
    in_a_runtime(|| migrations::status(database)).and_then(|outcome| outcome)
}

/// In a runtime, which can't be entered twice, a thread of its own does it.
fn on_a_fiber<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, Error> {
    if tokio::runtime::Handle::try_current().is_err() {
        return in_a_runtime(work);
    }
    let ended = |_| Err(Error::new(Kind::Other, "the databases can't be asked: the thread panicked"));
    // Who hears what this thread says hears that one too.
    let hearer = tracing::dispatcher::get_default(Clone::clone);
    std::thread::scope(|scope| {
        let work = || tracing::dispatcher::with_default(&hearer, || in_a_runtime(work));
        scope.spawn(work).join().unwrap_or_else(ended)
    })
}

fn in_a_runtime<T>(work: impl FnOnce() -> T) -> Result<T, Error> {
    let failed = |what: &str| Error::new(Kind::Other, format!("the databases can't be asked: {what}"));
    let runtime = tokio::runtime::LocalRuntime::new().map_err(|error| failed(&error.to_string()))?;
    let outcome = runtime.block_on(fiber::run(Limits::default(), work));
    outcome.map_err(|panic| failed(panic.downcast_ref::<&str>().copied().unwrap_or("the work panicked")))
}
