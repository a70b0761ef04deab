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
/// What lies below it: values that are nested as deeply as memory allows are freed, copied and
/// compared by recursion, at which nobody can look. It is address space, of which there is enough.
pub(super) const BELOW_BYTES: usize = if cfg!(target_pointer_width = "64") { 124 << 20 } else { 0 };
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
}

impl Fiber {
    fn new() -> io::Result<Fiber> {
        let stack = DefaultStack::new(SCRIPT_BYTES + BELOW_BYTES)?;
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
        Ok(Fiber { coroutine, top, bottom: bottom + BELOW_BYTES })
    }

    /// One of the pool, or a new one.
    ///
    /// # Panics
    /// If there is no memory for a stack: as for a thread that can't be started, there is no way on.
    pub(super) fn take() -> Fiber {
        let pooled = POOL.with_borrow_mut(Vec::pop);
        pooled.unwrap_or_else(|| Fiber::new().unwrap_or_else(|error| panic!("no memory for a fiber's stack: {error}")))
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
