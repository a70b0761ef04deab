//! Which request the running script answers, for what it says in the log.

use std::cell::RefCell;
use std::rc::Rc;

use tracing::Level;

use crate::fiber;
use crate::http::Request;

thread_local! {
    /// The requests that scripts of this worker answer just now, with their numbers: one runs, the
    /// others wait. The youngest is the likeliest to end, and a list is nearly free for each request.
    static ANSWERED: RefCell<Vec<(u64, Rc<Request>)>> = const { RefCell::new(Vec::new()) };
}

/// Keeps a request known for as long as a script answers it.
pub(super) struct Answering(u64);

impl Answering {
    pub fn begin(request: &Rc<Request>) -> Answering {
        ANSWERED.with_borrow_mut(|answered| answered.push((request.id.0, request.clone())));
        Answering(request.id.0)
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        ANSWERED.with_borrow_mut(|answered| {
            if let Some(index) = answered.iter().rposition(|it| it.0 == self.0) {
                answered.swap_remove(index);
            }
        });
    }
}

/// The request that the running script answers; none while it starts.
fn current() -> Option<Rc<Request>> {
    let name = fiber::name()?;
    ANSWERED.with_borrow(|answered| answered.iter().rfind(|it| it.0 == name).map(|it| it.1.clone()))
}

/// Writes a line of the running script to the error log, with its request's number and without its keys.
pub fn log(level: Level, text: &str) {
    let request = current();
    // Each level is a call of its own: tracing has its levels as constants of the place.
    macro_rules! line {
        ($macro:ident) => {
            match &request {
                Some(request) => tracing::$macro!(request = %request.id, "{}", request.masked(text)),
                None => tracing::$macro!("{text}"),
            }
        };
    }
    match level {
        Level::ERROR => line!(error),
        Level::WARN => line!(warn),
        Level::INFO => line!(info),
        _ => line!(trace),
    }
}
