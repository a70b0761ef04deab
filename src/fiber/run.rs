//! The future of work on a fiber.

use std::cell::Cell;
use std::future::Future;
use std::marker::{PhantomData, PhantomPinned};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::ptr;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use super::control::{Control, Current};
use super::overflow::Label;
use super::stack::{Fiber, Job, Order, Pause};
use super::{Limits, Stop};

/// A cancelled fiber that is not done after so many turns never will be.
const LAST_TURNS: u32 = 100_000;

/// The future of [`run`](super::run).
pub(super) struct Run<'a, T, W> {
    task: Task<T, W>,
    control: Control,
    fiber: Option<Fiber>,
    alarm: Option<Pin<Box<tokio::time::Sleep>>>,
    state: State,
    /// `control` has it.
    label: PhantomData<Label<'a>>,
    /// The fiber keeps pointers to `task` and `control`.
    _pinned: PhantomPinned,
}

#[derive(PartialEq)]
enum State {
    New,
    Started,
    Done,
}

struct Task<T, W> {
    work: Cell<Option<W>>,
    outcome: Cell<Option<thread::Result<T>>>,
}

impl<T, W: FnOnce() -> T> Job for Task<T, W> {
    fn execute(&self) {
        if let Some(work) = self.work.take() {
            self.outcome.set(Some(catch_unwind(AssertUnwindSafe(work))));
        }
    }
}

impl<'a, T, W: FnOnce() -> T> Run<'a, T, W> {
    pub(super) fn new(label: Label<'a>, limits: Limits, work: W) -> Run<'a, T, W> {
        // SAFETY: only the lifetime is changed; `control` is part of the `Run`, which does not outlive it.
        let name = unsafe { std::mem::transmute::<Label<'a>, Label<'static>>(label) };
        Run {
            task: Task { work: Cell::new(Some(work)), outcome: Cell::new(None) },
            control: Control::new(name, limits),
            fiber: None,
            alarm: None,
            state: State::New,
            label: PhantomData,
            _pinned: PhantomPinned,
        }
    }

    /// The order that starts the work, on a fiber of its own.
    ///
    /// # Safety
    /// `self` is pinned.
    unsafe fn start(&mut self) -> Order {
        let fiber = Fiber::take(self.control.limits.memory);
        self.control.begin(&fiber);
        self.fiber = Some(fiber);
        self.state = State::Started;
        let job: *const (dyn Job + '_) = &raw const self.task;
        // SAFETY: only the lifetime is changed; `Drop` sees to it that the fiber is done with the
        // job before the job is gone.
        Order::Start(unsafe { std::mem::transmute::<*const (dyn Job + '_), *const (dyn Job + 'static)>(job) })
    }

    fn finish(&mut self) -> thread::Result<T> {
        self.state = State::Done;
        if let Some(fiber) = self.fiber.take() {
            fiber.give_back(self.control.watermark.get());
        }
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

/// Gives the thread to a fiber until it pauses.
fn turn(fiber: &mut Fiber, control: &Control, order: Order, context: &mut Context<'_>) -> Pause {
    control.context.set(ptr::from_mut(context).cast());
    control.slice.set(None);
    let current = Current::enter(control);
    let pause = fiber.resume(order);
    drop(current);
    control.context.set(ptr::null_mut());
    pause
}

impl<T, W: FnOnce() -> T> Future for Run<'_, T, W> {
    type Output = thread::Result<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: nothing is moved out of the pinned value but the fiber, when it is done.
        let this = unsafe { self.get_unchecked_mut() };
        let mut order = match this.state {
            // SAFETY: `self` is pinned.
            State::New => unsafe { this.start() },
            State::Started => Order::GoOn,
            State::Done => panic!("work on a fiber is polled after it was done"),
        };
        loop {
            let fiber = this.fiber.as_mut().expect("work that was started has its fiber");
            match turn(fiber, &this.control, order, context) {
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
            order = Order::GoOn;
        }
    }
}

impl<T, W> Drop for Run<'_, T, W> {
    fn drop(&mut self) {
        let Some(fiber) = &mut self.fiber else { return };
        let _ = self.control.halt(Stop::Cancelled);
        let mut context = Context::from_waker(Waker::noop());
        for _ in 0..LAST_TURNS {
            if matches!(turn(fiber, &self.control, Order::GoOn, &mut context), Pause::Finished) {
                return;
            }
        }
        // Unwinding or leaking the stack would both be unsound.
        tracing::error!("a cancelled script does not end; the process is aborted");
        std::process::abort();
    }
}
