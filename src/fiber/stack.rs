//! The stacks that work runs on, and the coroutines that keep them.

use std::cell::RefCell;
use std::io;
use std::ptr;

use corosensei::stack::{DefaultStack, Stack};
use corosensei::{Coroutine, CoroutineResult};
use rustix::mm::{Advice, madvise};

use super::control::current;

/// What scripts may use of a stack. Only pages that were touched are resident (about 20 KiB).
const SCRIPT_BYTES: usize = 4 << 20;
/// What lies below it at least: values that are nested as deeply as memory allows are freed, copied and
/// compared by recursion, at which nobody can look. It is address space, of which there is enough.
const LEAST_BELOW: usize = if cfg!(target_pointer_width = "64") { 252 << 20 } else { 0 };
/// What lies below it for each byte that the work may hold: a chain of closures, each with the one before in it, takes
/// 2.3 bytes of stack to free for each byte that it holds.
const BELOW_EACH_BYTE: usize = 4;
/// Who may hold more has a limit for other reasons than these values.
const MOST_BELOW: usize = if cfg!(target_pointer_width = "64") { 16 << 30 } else { 0 };
/// A stack that was used deeper than this goes back to the system instead of to the pool.
const POOLED_DEPTH: usize = 512 << 10;
/// How many idle fibers a thread keeps.
const POOLED_FIBERS: usize = 128;

thread_local! {
    static POOL: RefCell<Vec<Fiber>> = const { RefCell::new(Vec::new()) };
}

/// What a fiber is told when it is resumed.
pub(super) enum Order {
    /// A job, which stays where it is until the fiber has finished it.
    Start(*const dyn Job),
    GoOn,
}

/// Why a fiber gives up the thread.
pub(super) enum Pause {
    Waiting,
    Slice,
    Finished,
}

/// What a fiber executes. It must not unwind.
pub(super) trait Job {
    fn execute(&self);
}

/// A coroutine that executes one job after another.
pub(super) struct Fiber {
    coroutine: Coroutine<Order, Pause, (), DefaultStack>,
    top: usize,
    /// The lowest address that is for scripts.
    pub(super) bottom: usize,
    /// The lowest address, which guards the stack.
    pub(super) end: usize,
}

impl Fiber {
    fn new(below: usize) -> io::Result<Fiber> {
        let stack = DefaultStack::new(SCRIPT_BYTES + below)?;
        let (top, end) = (stack.base().get(), stack.limit().get());
        // Where huge pages are always on, a stack that was touched once would hold 2 MiB of memory.
        // A kernel without them says no, which is just as well.
        // SAFETY: the range is the stack's own, and the advice changes nothing of what is in it.
        let _ = unsafe { madvise(ptr::without_provenance_mut(end), top - end, Advice::LinuxNoHugepage) };
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
        Ok(Fiber { coroutine, top, bottom: end + below, end })
    }

    /// One of the pool, or a new one, for work that may hold so many bytes.
    ///
    /// # Panics
    /// If there is no memory for a stack: as for a thread that can't be started, there is no way on.
    pub(super) fn take(memory: usize) -> Fiber {
        let wanted = below(memory);
        let pooled = POOL.with_borrow_mut(Vec::pop).filter(|it| it.bottom - it.end >= wanted);
        pooled.unwrap_or_else(|| {
            // A machine that has not even the addresses has not the memory that is to be freed on it.
            let fiber = Fiber::new(wanted).or_else(|_| Fiber::new(LEAST_BELOW));
            fiber.unwrap_or_else(|error| panic!("no memory for a fiber's stack: {error}"))
        })
    }

    /// Puts the fiber, which has finished its job, into the pool; `watermark` tells how deep it was.
    pub(super) fn give_back(self, watermark: usize) {
        // The pool may be gone already when a thread ends.
        let _ = POOL.try_with(|pool| {
            let mut pool = pool.borrow_mut();
            if watermark == self.watermark() && pool.len() < POOLED_FIBERS {
                pool.push(self);
            }
        });
    }

    /// The address below which the stack is used more deeply than most.
    pub(super) fn watermark(&self) -> usize {
        self.top - POOLED_DEPTH
    }

    /// Gives the thread to the fiber until it pauses.
    pub(super) fn resume(&mut self, order: Order) -> Pause {
        match self.coroutine.resume(order) {
            CoroutineResult::Yield(pause) => pause,
            CoroutineResult::Return(()) => unreachable!("a fiber waits for its next job for ever"),
        }
    }
}

/// What lies below the stack of work that may hold so many bytes.
fn below(memory: usize) -> usize {
    if memory <= LEAST_BELOW / BELOW_EACH_BYTE || memory == isize::MAX as usize {
        return LEAST_BELOW;
    }
    memory.saturating_mul(BELOW_EACH_BYTE).min(MOST_BELOW).next_multiple_of(1 << 20)
}
