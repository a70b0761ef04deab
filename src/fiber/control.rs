//! The state of one piece of work: what it may use, what it has used, and whether it has to stop.

use std::cell::Cell;
use std::ptr;
use std::task::Context;
use std::thread;
use std::time::{Duration, Instant};

use corosensei::Yielder;

use super::overflow::Label;
use super::stack::{Fiber, Order, Pause};
use super::{Limits, Stop, Waiting};
use crate::memory;

/// What must be left of the stack at each step of a script, for natives and SQLite below it.
const STACK_RESERVE: usize = if cfg!(debug_assertions) { 1 << 20 } else { 640 << 10 };
/// Steps between two looks at the clock; a step of a script takes some 30 ns.
const STEPS: u32 = 256;
/// Bytes that a fiber allocates between two looks at the clock: a step that makes a large value
/// takes much longer than others.
const BYTES: usize = 256 << 10;
/// How long a fiber computes before others get their turn.
const SLICE: Duration = Duration::from_millis(1);

thread_local! {
    static CURRENT: Cell<*const Control> = const { Cell::new(ptr::null()) };
    static NEXT_ID: Cell<u64> = const { Cell::new(0) };
}

/// The control of the fiber that is running, if one is.
#[inline]
pub(super) fn current<'a>() -> Option<&'a Control> {
    // SAFETY: `CURRENT` is not null only while the fiber that it describes runs; the callers are
    // functions on that fiber's stack, and the control outlives the fiber's work.
    unsafe { CURRENT.get().as_ref() }
}

/// Makes a control the current one for as long as this is kept.
pub(super) struct Current {
    outer: *const Control,
}

impl Current {
    pub(super) fn enter(control: &Control) -> Current {
        Current { outer: CURRENT.replace(ptr::from_ref(control)) }
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        CURRENT.set(self.outer);
    }
}

/// The state of one piece of work, seen from its fiber.
pub(super) struct Control {
    pub(super) limits: Limits,
    /// Borrowed for as long as the `Run` that this is part of.
    pub(super) label: Label<'static>,
    pub(super) id: u64,
    pub(super) yielder: Cell<*const Yielder<Order, Pause>>,
    pub(super) context: Cell<*mut Context<'static>>,
    stop: Cell<Option<Stop>>,
    pub(super) steps: Cell<u32>,
    operations: Cell<u64>,
    /// Below this address the stack is watched closely.
    pub(super) watermark: Cell<usize>,
    pub(super) bottom: Cell<usize>,
    end: Cell<usize>,
    /// The thread's memory count that this work must not pass.
    pub(super) ceiling: Cell<isize>,
    /// What the thread had allocated at the last look at the clock.
    taken: Cell<usize>,
    deadline: Cell<Option<Instant>>,
    pub(super) slice: Cell<Option<Instant>>,
}

impl Control {
    pub(super) fn new(label: Label<'static>, limits: Limits) -> Control {
        let id = NEXT_ID.get();
        NEXT_ID.set(id + 1);
        Control {
            limits,
            label,
            id,
            yielder: Cell::new(ptr::null()),
            context: Cell::new(ptr::null_mut()),
            stop: Cell::new(None),
            steps: Cell::new(STEPS),
            operations: Cell::new(0),
            watermark: Cell::new(0),
            bottom: Cell::new(0),
            end: Cell::new(0),
            ceiling: Cell::new(isize::MAX),
            taken: Cell::new(memory::taken()),
            deadline: Cell::new(None),
            slice: Cell::new(None),
        }
    }

    /// The work begins, on the stack of `fiber`.
    pub(super) fn begin(&self, fiber: &Fiber) {
        self.bottom.set(fiber.bottom);
        self.end.set(fiber.end);
        self.watermark.set(fiber.watermark());
        let limit = isize::try_from(self.limits.memory).unwrap_or(isize::MAX);
        self.ceiling.set(memory::live().saturating_add(limit));
    }

    /// Whether an address is in the pages that guard the end of the stack.
    pub(super) fn is_off_the_stack(&self, address: usize) -> bool {
        // As large as pages are anywhere. Where they are smaller nothing above the guard can fault.
        const GUARD: usize = 64 << 10;
        (self.end.get()..self.end.get() + GUARD).contains(&address)
    }

    pub(super) fn check(&self) -> Result<(), Stop> {
        self.stop.get().map_or(Ok(()), Err)
    }

    pub(super) fn halt(&self, stop: Stop) -> Result<(), Stop> {
        self.stop.set(Some(stop));
        // The next step comes here again, so that nothing can go on for long.
        self.steps.set(0);
        Err(stop)
    }

    /// Counts a step; only now and then is there more to do.
    #[inline]
    pub(super) fn step(&self) -> Result<(), Stop> {
        let here = 0_u8;
        let steps = self.steps.get();
        self.steps.set(steps.wrapping_sub(1));
        if steps == 0
            || (&raw const here).addr() < self.watermark.get()
            || memory::live() > self.ceiling.get()
            || memory::taken().wrapping_sub(self.taken.get()) > BYTES
        {
            return self.look();
        }
        Ok(())
    }

    /// Whether the work may be suspended now: unwinding must not be.
    pub(super) fn may_wait(&self) -> bool {
        self.limits.waiting == Waiting::Allowed && !thread::panicking()
    }

    /// The slow path of [`Control::step`].
    #[cold]
    pub(super) fn look(&self) -> Result<(), Stop> {
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
        if memory::taken().wrapping_sub(self.taken.get()) > BYTES {
            self.taken.set(memory::taken());
            self.turn()?;
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

    pub(super) fn turn(&self) -> Result<(), Stop> {
        self.check()?;
        let now = Instant::now();
        if now > self.deadline(now) {
            return self.halt(Stop::Time);
        }
        let Some(since) = self.slice.get() else {
            self.slice.set(Some(now));
            return Ok(());
        };
        if now - since < SLICE || !self.may_wait() {
            return Ok(());
        }
        self.suspend(Pause::Slice);
        match self.stop.get() {
            Some(stop) => self.halt(stop),
            None => Ok(()),
        }
    }

    /// The clock is first read when the work has taken a while: most work is done before that.
    pub(super) fn deadline(&self, now: Instant) -> Instant {
        self.deadline.get().unwrap_or_else(|| {
            let far = Duration::from_secs(86400 * 365);
            let deadline = now + self.limits.time.min(far);
            self.deadline.set(Some(deadline));
            deadline
        })
    }

    pub(super) fn suspend(&self, why: Pause) {
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
