//! The border between scripts, which wait, and I/O, which must not: work runs on a stack of its
//! own, and where it would block it is suspended while the thread goes on. It knows nothing of
//! what the work is.
//!
//! A suspended fiber is never dropped: C frames (SQLite) may lie on its stack. It is resumed with
//! a [`Stop`], which every wait returns as an error, until it ends.

#![allow(unsafe_code)]

mod control;
mod overflow;
mod run;
mod stack;
#[cfg(test)]
mod tests;

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use control::current;
pub use overflow::{Label, log_to, watch};
use run::Run;
use stack::Pause;

use crate::memory;

/// Why work has to end before it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Nobody waits for the result any more: the client is gone or the server ends.
    Cancelled,
    /// [`Limits::time`] is over.
    Time,
    /// [`Limits::operations`] are used up.
    Operations,
    /// The work holds more than [`Limits::memory`].
    Memory,
    /// The stack is used up.
    Stack,
    /// Something that waits was called where nothing may wait.
    CannotWait,
}

/// What work may use. `Default`: no bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Wall time, waits included.
    pub time: Duration,
    /// Steps that the work counts with [`tick`].
    pub operations: u64,
    /// Bytes that the work holds at a time.
    pub memory: usize,
    /// Whether the work may be suspended.
    pub waiting: Waiting,
}

/// Whether work may be suspended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// [`wait`] suspends the work, and so does [`tick`] when its slice is over.
    Allowed,
    /// [`wait`] fails with [`Stop::CannotWait`], and the work runs in one piece.
    Refused,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { time: Duration::MAX, operations: u64::MAX, memory: isize::MAX as usize, waiting: Waiting::Allowed }
    }
}

/// Frees a value on a stack that is long enough for what nests as deeply as so many bytes allow.
pub fn free<T>(memory: usize, value: T) {
    let limits = Limits { memory, waiting: Waiting::Refused, ..Limits::default() };
    let freed = pin!(run(limits, move || drop(value)));
    // Nothing there waits: it is ready at once.
    let _ = freed.poll(&mut Context::from_waker(Waker::noop()));
}

/// Runs `work` on a fiber. The outcome is an error if the work panicked.
///
/// A future that is dropped before it is done cancels the work and drives it to its end at once.
/// It has to be pinned, since the fiber keeps pointers into it:
///
/// ```compile_fail
/// fn movable(_: impl Unpin) {}
/// movable(rhaid::fiber::run(rhaid::fiber::Limits::default(), || 1));
/// ```
pub fn run<T, W: FnOnce() -> T>(limits: Limits, work: W) -> impl Future<Output = thread::Result<T>> {
    run_named(Label::default(), limits, work)
}

/// [`run`], with a name for messages; [`name`] tells the work the request's number.
pub fn run_named<T, W: FnOnce() -> T>(
    label: Label<'_>,
    limits: Limits,
    work: W,
) -> impl Future<Output = thread::Result<T>> {
    Run::new(label, limits, work)
}

/// Waits for `future` on the current fiber, which is suspended meanwhile.
///
/// # Errors
/// If the work has to stop, or if no fiber that may wait is running.
pub fn wait<F: Future>(future: F) -> Result<F::Output, Stop> {
    let control = current().filter(|it| it.may_wait()).ok_or(Stop::CannotWait)?;
    let mut future = pin!(future);
    loop {
        control.check()?;
        // SAFETY: `context` is set by the poll that resumed this fiber and outlives the resumption.
        let context = unsafe { &mut *control.context.get() };
        if let Poll::Ready(value) = future.as_mut().poll(context) {
            return Ok(value);
        }
        control.suspend(Pause::Waiting);
    }
}

/// Counts one step of the work; now and then it looks at the limits and gives others their turn.
///
/// # Errors
/// If the work has to stop. It goes on failing until the work has ended.
#[inline]
pub fn tick() -> Result<(), Stop> {
    current().map_or(Ok(()), |control| control.step())
}

/// Looks at the limits and gives others their turn if this one is over. For work that is counted
/// by somebody else, such as SQLite's progress handler.
///
/// # Errors
/// If the work has to stop.
pub fn slice() -> Result<(), Stop> {
    current().map_or(Ok(()), |control| control.turn())
}

/// Whether the work may hold so many bytes more: asked before one step takes them all.
///
/// # Errors
/// If they would be too many; the work has to stop then.
pub fn room(bytes: usize) -> Result<(), Stop> {
    let Some(control) = current() else { return Ok(()) };
    let wanted = memory::live().saturating_add(isize::try_from(bytes).unwrap_or(isize::MAX));
    if wanted > control.ceiling.get() { control.halt(Stop::Memory) } else { Ok(()) }
}

/// Gives all others their turn.
///
/// # Errors
/// If the work has to stop, or if no fiber that may wait is running.
pub fn pause() -> Result<(), Stop> {
    let control = current().filter(|it| it.may_wait()).ok_or(Stop::CannotWait)?;
    control.check()?;
    control.suspend(Pause::Slice);
    control.check()
}

/// The number of the current fiber's work, different for each on this thread; `None` outside one.
pub fn id() -> Option<u64> {
    current().map(|it| it.id)
}

/// The request's number that the current work was given with [`run_named`].
pub fn name() -> Option<u64> {
    current().map(|it| it.label.request)
}
