//! The workers of a server: how many there are, who of them takes connections, and what they are told.

use std::convert::Infallible;
use std::io;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use tokio::sync::mpsc::{Receiver, UnboundedSender, channel, unbounded_channel};
use tokio::sync::{oneshot, watch};

use super::worker::{Order, Share, Task};
use super::{Ending, Refusal, STACK};
use crate::config::{Config, Process};
use crate::net::{self, Outbox, Outboxes};

/// All workers.
pub(super) struct Crew {
    /// Those that take connections.
    serving: Vec<Member>,
    /// Those that will when the generation that they build is served.
    coming: Vec<Member>,
    /// Those that answer what is asked on connections that they have, until there are none.
    leaving: Vec<Member>,
    /// How many were ever started.
    started: usize,
    live: Arc<AtomicU64>,
    threads: Arc<Threads>,
    stopped: watch::Receiver<Option<Ending>>,
}

struct Member {
    orders: UnboundedSender<Order>,
    outbox: Outbox,
}

/// What a worker says to a generation that it was to build.
pub(super) type Answer = oneshot::Receiver<Result<(), Refusal>>;

/// Ends when all workers have taken their share.
pub(super) struct Taken(Receiver<Infallible>);

impl Taken {
    pub(super) async fn by_all(mut self) {
        // Nothing is ever sent.
        let _ = self.0.recv().await;
    }
}

impl Crew {
    /// Nobody yet. Workers serve the generation whose number is `live`, and end when `stopped` says so.
    pub(super) fn new(live: Arc<AtomicU64>, threads: Arc<Threads>, stopped: watch::Receiver<Option<Ending>>) -> Crew {
        Crew { serving: Vec::new(), coming: Vec::new(), leaving: Vec::new(), started: 0, live, threads, stopped }
    }

    /// Lets every worker build a generation; where there are not enough of them, others too.
    ///
    /// # Errors
    /// If a thread can't be started.
    pub(super) fn prepare(&mut self, number: u64, config: &Arc<Config>) -> io::Result<Vec<Answer>> {
        // One that has panicked is replaced.
        self.serving.retain(Member::is_there);
        self.leaving.retain(Member::is_there);
        while self.serving.len() + self.coming.len() < config.process.num_threads {
            let member = self.start()?;
            self.coming.push(member);
        }
        let mut answers = Vec::new();
        for member in self.serving.iter().chain(&self.coming).chain(&self.leaving) {
            let (answer, answered) = oneshot::channel();
            member.tell(Order::Prepare { number, config: config.clone(), answer });
            answers.push(answered);
        }
        // Those that leave serve it, too, but may end meanwhile.
        answers.truncate(self.serving.len() + self.coming.len());
        Ok(answers)
    }

    /// Lets them serve what they have built, as many as `process` wants; who is too many leaves.
    pub(super) fn take_up(&mut self, process: &Process, sockets: &net::Sockets) -> Taken {
        self.serving.append(&mut self.coming);
        let stays = self.leaving.len();
        if self.serving.len() > process.num_threads {
            self.leaving.extend(self.serving.drain(process.num_threads..));
        }
        let taken = self.share(process, sockets);
        for member in &self.leaving[stays..] {
            member.tell(Order::Leave);
        }
        taken
    }

    /// Tells them what they have of the process as it is.
    pub(super) fn share(&self, process: &Process, sockets: &net::Sockets) -> Taken {
        let (taken, all_taken) = channel(1);
        let boxes = |members: &[Member]| members.iter().map(|it| it.outbox.clone()).collect::<Vec<_>>();
        let outboxes = Outboxes::new(&boxes(&self.serving), &boxes(&self.leaving), process.max_connections);
        for member in self.serving.iter().chain(&self.leaving) {
            let (sockets, outboxes) = (sockets.clone(), outboxes.clone());
            member.tell(Order::Serve(Share::of(process, sockets, outboxes, taken.clone())));
        }
        Taken(all_taken)
    }

    /// Lets them forget what they have built. Who would have come is not needed.
    pub(super) fn forget(&mut self) {
        for member in self.serving.iter().chain(&self.leaving) {
            member.tell(Order::Forget);
        }
        for member in self.coming.drain(..) {
            member.tell(Order::Leave);
        }
    }

    fn start(&mut self) -> io::Result<Member> {
        let (orders, ordered) = unbounded_channel();
        let (outbox, inbox) = Outbox::new();
        let index = self.started;
        let task = Task { index, inbox, orders: ordered, live: self.live.clone(), stop: self.stopped.clone() };
        self.threads.start(task)?;
        self.started += 1;
        Ok(Member { orders, outbox })
    }
}

impl Member {
    fn is_there(&self) -> bool {
        !self.orders.is_closed()
    }

    fn tell(&self, order: Order) {
        // One that has ended serves no requests.
        let _ = self.orders.send(order);
    }
}

/// The threads of workers, until it is time to wait for their ends.
pub(super) struct Threads(Mutex<Option<Vec<JoinHandle<()>>>>);

impl Threads {
    pub(super) fn new() -> Threads {
        Threads(Mutex::new(Some(Vec::new())))
    }

    fn start(&self, task: Task) -> io::Result<()> {
        let mut threads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let threads = threads.as_mut().ok_or_else(|| io::Error::other("the server ends"))?;
        let (ended, going): (Vec<_>, Vec<_>) = threads.drain(..).partition(JoinHandle::is_finished);
        *threads = going;
        join(ended);
        let name = format!("worker-{}", task.index);
        threads.push(thread::Builder::new().name(name).stack_size(STACK).spawn(move || task.run())?);
        Ok(())
    }

    /// Waits for all; no more are started.
    pub(super) fn end(&self) {
        let threads = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        join(threads.unwrap_or_default());
    }
}

fn join(threads: Vec<JoinHandle<()>>) {
    for thread in threads {
        if thread.join().is_err() {
            tracing::error!("a worker panicked");
        }
    }
}
