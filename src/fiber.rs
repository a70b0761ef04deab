//! The border between scripts, which wait, and I/O, which must not: work runs on a stack of its
//! own, and where it would block it is suspended while the thread goes on. It knows nothing of
//! what the work is.
//!
//! A suspended fiber is never dropped: C frames (SQLite) may lie on its stack. It is resumed with
//! a [`Stop`], which every wait returns as an error, until it ends.

#![allow(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::ptr;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use corosensei::stack::{DefaultStack, Stack};
use corosensei::{Coroutine, CoroutineResult, Yielder};
use rustix::mm::{Advice, madvise};

use crate::memory;

/// Virtual size of a fiber's stack. Only pages that were touched are resident (about 20 KiB).
const STACK_BYTES: usize = 4 << 20;
/// What must be left of the stack at each step of a script, for natives and SQLite below it.
const STACK_RESERVE: usize = if cfg!(debug_assertions) { 1 << 20 } else { 640 << 10 };
/// A stack that was used deeper than this goes back to the system instead of to the pool.
const POOLED_DEPTH: usize = 512 << 10;
/// How many idle fibers a thread keeps.
const POOLED_FIBERS: usize = 128;
/// Steps between two looks at the clock; a step of a script takes some 30 ns.
const STEPS: u32 = 256;
/// How long a fiber computes before others get their turn.
const SLICE: Duration = Duration::from_millis(1);
/// A cancelled fiber that is not done after so many turns never will be.
const LAST_TURNS: u32 = 100_000;

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

/// Runs `work` on a fiber. The outcome is an error if the work panicked.
///
/// A future that is dropped before it is done cancels the work and drives it to its end at once.
pub fn run<T, W: FnOnce() -> T>(limits: Limits, work: W) -> impl Future<Output = thread::Result<T>> {
    run_named(0, limits, work)
}

/// [`run`], with a number that [`name`] tells the work, for its messages.
pub fn run_named<T, W: FnOnce() -> T>(name: u64, limits: Limits, work: W) -> impl Future<Output = thread::Result<T>> {
    Run {
        task: Task { work: Cell::new(Some(work)), outcome: Cell::new(None) },
        control: Control::new(name, limits),
        fiber: None,
        alarm: None,
    }
}

/// Waits for `future` on the current fiber, which is suspended meanwhile.
///
/// # Errors
/// If the work has to stop, or if no fiber that may wait is running.
pub fn wait<F: Future>(future: F) -> Result<F::Output, Stop> {
    let control = current().filter(|it| it.limits.waiting == Waiting::Allowed).ok_or(Stop::CannotWait)?;
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
    let control = CURRENT.get();
    if control.is_null() {
        return Ok(());
    }
    // SAFETY: `CURRENT` points to the control of the fiber that is running right now.
    let control = unsafe { &*control };
    let here = 0_u8;
    let steps = control.steps.get();
    control.steps.set(steps.wrapping_sub(1));
    if steps == 0 || (&raw const here).addr() < control.watermark.get() || memory::live() > control.ceiling.get() {
        return control.look();
    }
    Ok(())
}

/// Looks at the limits and gives others their turn if this one is over. For work that is counted
/// by somebody else, such as SQLite's progress handler.
///
/// # Errors
/// If the work has to stop.
pub fn slice() -> Result<(), Stop> {
    current().map_or(Ok(()), Control::turn)
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
    let control = current().filter(|it| it.limits.waiting == Waiting::Allowed).ok_or(Stop::CannotWait)?;
    control.check()?;
    control.suspend(Pause::Slice);
    control.check()
}

/// The number of the current fiber's work, different for each on this thread; `None` outside one.
pub fn id() -> Option<u64> {
    current().map(|it| it.id)
}

/// The number that the current work was given with [`run_named`].
pub fn name() -> Option<u64> {
    current().map(|it| it.name)
}

thread_local! {
    static CURRENT: Cell<*const Control> = const { Cell::new(ptr::null()) };
    static NEXT_ID: Cell<u64> = const { Cell::new(0) };
    static POOL: RefCell<Vec<Fiber>> = const { RefCell::new(Vec::new()) };
}

fn current<'a>() -> Option<&'a Control> {
    // SAFETY: `CURRENT` is not null only while the fiber that it describes runs; the callers are
    // functions on that fiber's stack, and the control outlives the fiber's work.
    unsafe { CURRENT.get().as_ref() }
}

/// What a fiber is told when it is resumed.
enum Order {
    Start(*const dyn Job),
    GoOn,
}

/// Why a fiber gives up the thread.
enum Pause {
    Waiting,
    Slice,
    Finished,
}

trait Job {
    fn execute(&self);
}

struct Task<T, W> {
    work: Cell<Option<W>>,
    outcome: Cell<Option<thread::Result<T>>>,
}

impl<T, W: FnOnce() -> T> Job for Task<T, W> {
    fn execute(&self) {
        let work = self.work.take().expect("a job is started once");
        self.outcome.set(Some(catch_unwind(AssertUnwindSafe(work))));
    }
}

/// The state of one piece of work, seen from its fiber.
struct Control {
    limits: Limits,
    name: u64,
    id: u64,
    yielder: Cell<*const Yielder<Order, Pause>>,
    context: Cell<*mut Context<'static>>,
    stop: Cell<Option<Stop>>,
    steps: Cell<u32>,
    operations: Cell<u64>,
    /// Below this address the stack is watched closely.
    watermark: Cell<usize>,
    bottom: Cell<usize>,
    /// The thread's memory count that this work must not pass.
    ceiling: Cell<isize>,
    deadline: Cell<Option<Instant>>,
    slice: Cell<Option<Instant>>,
}

impl Control {
    fn new(name: u64, limits: Limits) -> Control {
        let id = NEXT_ID.get();
        NEXT_ID.set(id + 1);
        Control {
            limits,
            name,
            id,
            yielder: Cell::new(ptr::null()),
            context: Cell::new(ptr::null_mut()),
            stop: Cell::new(None),
            steps: Cell::new(STEPS),
            operations: Cell::new(0),
            watermark: Cell::new(0),
            bottom: Cell::new(0),
            ceiling: Cell::new(isize::MAX),
            deadline: Cell::new(None),
            slice: Cell::new(None),
        }
    }

    fn check(&self) -> Result<(), Stop> {
        self.stop.get().map_or(Ok(()), Err)
    }

    fn halt(&self, stop: Stop) -> Result<(), Stop> {
        self.stop.set(Some(stop));
        // The next step comes here again, so that nothing can go on for long.
        self.steps.set(0);
        Err(stop)
    }

    /// The slow path of [`tick`].
    #[cold]
    fn look(&self) -> Result<(), Stop> {
        if let Some(stop) = self.stop.get() {
            return self.halt(stop);
        }
        let here = 0_u8;
        let depth = (&raw const here).addr();
        if depth < self.watermark.get() {
            if depth < self.bottom.get() + STACK_RESERVE {
                return self.halt(Stop::Stack);
            }
            self.watermark.set(self.bottom.get() + STACK_RESERVE);
        }
        if memory::live() > self.ceiling.get() {
            return self.halt(Stop::Memory);
        }
        if self.steps.get() == u32::MAX {
            self.steps.set(STEPS);
            let operations = self.operations.get() + u64::from(STEPS) + 1;
            self.operations.set(operations);
            if operations > self.limits.operations {
                return self.halt(Stop::Operations);
            }
            return self.turn();
        }
        Ok(())
    }

    fn turn(&self) -> Result<(), Stop> {
        self.check()?;
        let now = Instant::now();
        if now > self.deadline(now) {
            return self.halt(Stop::Time);
        }
        let Some(since) = self.slice.get() else {
            self.slice.set(Some(now));
            return Ok(());
        };
        if now - since < SLICE || self.limits.waiting == Waiting::Refused || thread::panicking() {
            return Ok(());
        }
        self.suspend(Pause::Slice);
        match self.stop.get() {
            Some(stop) => self.halt(stop),
            None => Ok(()),
        }
    }

    /// The clock is first read when the work has taken a while: most work is done before that.
    fn deadline(&self, now: Instant) -> Instant {
        self.deadline.get().unwrap_or_else(|| {
            let far = Duration::from_secs(86400 * 365);
            let deadline = now + self.limits.time.min(far);
            self.deadline.set(Some(deadline));
            deadline
        })
    }

    fn suspend(&self, why: Pause) {
        let held = memory::live();
        // SAFETY: the yielder belongs to the fiber that is running, which is the one of `self`.
        match unsafe { (*self.yielder.get()).suspend(why) } {
            Order::GoOn => {}
            Order::Start(_) => unreachable!("a fiber gets its next job when it has finished one"),
        }
        // What others allocated meanwhile is not this work's.
        let drift = memory::live().wrapping_sub(held);
        self.ceiling.set(self.ceiling.get().saturating_add(drift));
    }
}

/// A coroutine that executes one job after another.
struct Fiber {
    coroutine: Coroutine<Order, Pause, (), DefaultStack>,
    top: usize,
    bottom: usize,
}

impl Fiber {
    fn new() -> std::io::Result<Fiber> {
        let stack = DefaultStack::new(STACK_BYTES)?;
        let (top, bottom) = (stack.base().get(), stack.limit().get());
        // Where huge pages are always on, a stack that was touched once would hold 2 MiB of memory.
        // A kernel without them says no, which is just as well.
        // SAFETY: the range is the stack's own, and the advice changes nothing of what is in it.
        let _ = unsafe { madvise(ptr::without_provenance_mut(bottom), top - bottom, Advice::LinuxNoHugepage) };
        let coroutine = Coroutine::with_stack(stack, |yielder, mut order| {
            loop {
                let Order::Start(job) = order else {
                    unreachable!("an idle fiber is resumed with a job");
                };
                let control = current().expect("a fiber is resumed with its control set");
                control.yielder.set(yielder);
                // SAFETY: the job is part of the pinned `Run` that resumed this fiber, which is
                // not gone before the fiber has finished it.
                unsafe { (*job).execute() };
                order = yielder.suspend(Pause::Finished);
            }
        });
        Ok(Fiber { coroutine, top, bottom })
    }
}

/// The future of [`run`].
struct Run<T, W> {
    task: Task<T, W>,
    control: Control,
    fiber: Option<Fiber>,
    alarm: Option<Pin<Box<tokio::time::Sleep>>>,
}

impl<T, W: FnOnce() -> T> Run<T, W> {
    /// Gives the thread to the fiber until it pauses.
    ///
    /// # Safety
    /// `self` is pinned: the fiber keeps pointers to `task` and `control`.
    unsafe fn resume(&mut self, context: &mut Context<'_>) -> Pause {
        let mut order = Order::GoOn;
        let fiber = match &mut self.fiber {
            Some(fiber) => fiber,
            slot => {
                let fiber = POOL.with_borrow_mut(Vec::pop).unwrap_or_else(|| {
                    // As for a thread that can't be started, there is no way on without a stack.
                    Fiber::new().unwrap_or_else(|error| panic!("no memory for a fiber's stack: {error}"))
                });
                self.control.bottom.set(fiber.bottom);
                self.control.watermark.set(fiber.top - POOLED_DEPTH);
                let limit = isize::try_from(self.control.limits.memory).unwrap_or(isize::MAX);
                self.control.ceiling.set(memory::live().saturating_add(limit));
                let job: *const (dyn Job + '_) = &raw const self.task;
                // SAFETY: only the lifetime is changed; `Drop` sees to it that the fiber is done
                // with the job before the job is gone.
                order = Order::Start(unsafe {
                    std::mem::transmute::<*const (dyn Job + '_), *const (dyn Job + 'static)>(job)
                });
                slot.insert(fiber)
            }
        };
        self.control.context.set(ptr::from_mut(context).cast());
        self.control.slice.set(None);
        let outer = CURRENT.replace(&raw const self.control);
        let result = fiber.coroutine.resume(order);
        CURRENT.set(outer);
        self.control.context.set(ptr::null_mut());
        match result {
            CoroutineResult::Yield(pause) => pause,
            CoroutineResult::Return(()) => unreachable!("a fiber waits for its next job for ever"),
        }
    }

    fn finish(&mut self) -> thread::Result<T> {
        let fiber = self.fiber.take().expect("a fiber finishes before it is given back");
        let shallow = self.control.watermark.get() == fiber.top - POOLED_DEPTH;
        // The pool may be gone already when a thread ends.
        let _ = POOL.try_with(|pool| {
            let mut pool = pool.borrow_mut();
            if shallow && pool.len() < POOLED_FIBERS {
                pool.push(fiber);
            }
        });
        self.task.outcome.take().expect("a finished job has its outcome")
    }

    /// Whether the time is over for work that waits; the alarm wakes it then.
    fn is_late(&mut self, context: &mut Context<'_>) -> bool {
        if self.control.limits.time == Duration::MAX {
            return false;
        }
        let deadline = self.control.deadline(Instant::now());
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline.into())));
        alarm.as_mut().poll(context).is_ready()
    }
}

impl<T, W: FnOnce() -> T> Future for Run<T, W> {
    type Output = thread::Result<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: nothing is moved out of the pinned value but the fiber, when it is done.
        let this = unsafe { self.get_unchecked_mut() };
        loop {
            // SAFETY: `self` is pinned.
            match unsafe { this.resume(context) } {
                Pause::Finished => return Poll::Ready(this.finish()),
                Pause::Slice => {
                    // `yield_now` lets the runtime look at its sockets before it comes back, which
                    // waking oneself does not.
                    let _ = pin!(tokio::task::yield_now()).poll(context);
                    return Poll::Pending;
                }
                Pause::Waiting if this.is_late(context) => {
                    let _ = this.control.halt(Stop::Time);
                }
                Pause::Waiting => return Poll::Pending,
            }
        }
    }
}

impl<T, W> Drop for Run<T, W> {
    fn drop(&mut self) {
        if self.fiber.is_none() {
            return;
        }
        let _ = self.control.halt(Stop::Cancelled);
        let mut context = Context::from_waker(Waker::noop());
        for _ in 0..LAST_TURNS {
            let Some(fiber) = &mut self.fiber else { return };
            self.control.context.set((&raw mut context).cast());
            let outer = CURRENT.replace(&raw const self.control);
            let result = fiber.coroutine.resume(Order::GoOn);
            CURRENT.set(outer);
            if matches!(result, CoroutineResult::Yield(Pause::Finished)) {
                self.fiber = None;
                return;
            }
        }
        // Unwinding or leaking the stack would both be unsound.
        tracing::error!("a cancelled script does not end; the process is aborted");
        std::process::abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;

    fn block_on<F: Future>(future: F) -> F::Output {
        tokio::runtime::LocalRuntime::new().expect("a runtime").block_on(future)
    }

    #[test]
    fn work_that_waits_lets_others_run() {
        block_on(async {
            let started = Instant::now();
            let nap = || run(Limits::default(), || wait(tokio::time::sleep(Duration::from_millis(50))));
            let (first, second) = tokio::join!(nap(), nap());
            assert_eq!((first.unwrap(), second.unwrap()), (Ok(()), Ok(())));
            assert!(started.elapsed() < Duration::from_millis(95));
        });
    }

    #[test]
    fn work_that_computes_gives_others_their_turn() {
        block_on(async {
            let computing = run(Limits { operations: 3_000_000, ..Limits::default() }, || {
                loop {
                    if let Err(stop) = tick() {
                        return stop;
                    }
                }
            });
            let others = async {
                let mut turns = 0;
                for _ in 0..5 {
                    tokio::task::yield_now().await;
                    turns += 1;
                }
                turns
            };
            let (stop, turns) = tokio::join!(computing, others);
            assert_eq!((stop.unwrap(), turns), (Stop::Operations, 5));
        });
    }

    #[test]
    fn each_limit_stops_the_work() {
        let compute = || loop {
            if let Err(stop) = tick() {
                return stop;
            }
        };
        let time = Limits { time: Duration::from_millis(5), ..Limits::default() };
        assert_eq!(block_on(run(time, compute)).unwrap(), Stop::Time);
        let nap = || wait(tokio::time::sleep(Duration::from_secs(60)));
        assert_eq!(block_on(run(time, nap)).unwrap(), Err(Stop::Time));
        let memory = Limits { memory: 1 << 20, ..Limits::default() };
        let hoard = || {
            let mut held = Vec::new();
            loop {
                held.push(vec![1_u8; 1024]);
                if let Err(stop) = tick() {
                    return (stop, held.len() < 1100);
                }
            }
        };
        assert_eq!(block_on(run(memory, hoard)).unwrap(), (Stop::Memory, true));
        fn dive(depth: u64) -> (Stop, u64) {
            let ballast = std::hint::black_box([depth; 32]);
            match tick() {
                Err(stop) => (stop, depth),
                Ok(()) => {
                    let found = dive(depth + 1);
                    std::hint::black_box(ballast);
                    found
                }
            }
        }
        let (stop, depth) = block_on(run(Limits::default(), || dive(0))).unwrap();
        assert_eq!(stop, Stop::Stack);
        assert!(depth > 1000);
    }

    #[test]
    fn memory_of_others_is_not_counted() {
        block_on(async {
            let limits = Limits { memory: 1 << 20, ..Limits::default() };
            let modest = run(limits, || {
                wait(tokio::time::sleep(Duration::from_millis(10))).unwrap();
                tick()
            });
            let (outcome, hoard) = tokio::join!(modest, async { vec![1_u8; 4 << 20] });
            assert_eq!(outcome.unwrap(), Ok(()));
            drop(hoard);
        });
    }

    #[test]
    fn dropping_the_future_cancels_the_work() {
        let seen = Rc::new(Cell::new(None));
        let kept = seen.clone();
        block_on(async move {
            let work = run(Limits::default(), move || {
                kept.set(wait(std::future::pending::<()>()).err());
            });
            let _ = tokio::time::timeout(Duration::from_millis(10), work).await;
        });
        assert_eq!(seen.get(), Some(Stop::Cancelled));
        assert_eq!(Rc::strong_count(&seen), 1);
    }

    #[test]
    fn a_panic_is_the_outcome_and_the_fiber_serves_again() {
        block_on(async {
            assert!(run(Limits::default(), || panic!("on purpose")).await.is_err());
            assert_eq!(run(Limits::default(), || 7).await.unwrap(), 7);
        });
    }

    #[test]
    fn nothing_waits_outside_a_fiber_or_where_it_may_not() {
        assert_eq!(wait(async {}), Err(Stop::CannotWait));
        let limits = Limits { waiting: Waiting::Refused, ..Limits::default() };
        assert_eq!(block_on(run(limits, || wait(async {}))).unwrap(), Err(Stop::CannotWait));
    }
}
