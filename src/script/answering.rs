//! Which request the running script answers, for what it says in the log.

use std::cell::RefCell;
use std::rc::Rc;

use tracing::Level;

use crate::fiber;
use crate::http::Request;

thread_local! {
    /// The requests that scripts of this worker answer just now, with their numbers: one runs, the
    /// others wait. The youngest is the likeliest to end, and a list is nearly free for each request.
    static ANSWERED: RefCell<Vec<Answered>> = const { RefCell::new(Vec::new()) };
}

struct Answered {
    number: u64,
    request: Rc<Request>,
    /// The line of its file on which the script begins.
    first_line: usize,
}

/// Keeps a request known for as long as a script answers it.
pub(super) struct Answering(u64);

impl Answering {
    /// `first_line` is the line of its file on which the script begins.
    pub fn begin(request: &Rc<Request>, first_line: usize) -> Answering {
        let begun = Answered { number: request.id.0, request: request.clone(), first_line };
        ANSWERED.with_borrow_mut(|answered| answered.push(begun));
        Answering(request.id.0)
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        ANSWERED.with_borrow_mut(|answered| {
            if let Some(index) = answered.iter().rposition(|it| it.number == self.0) {
                answered.swap_remove(index);
            }
        });
    }
}

/// The request that the running script answers; none while it starts.
fn current() -> Option<Rc<Request>> {
    of_current(|it| it.request.clone())
}

fn of_current<T>(read: impl Fn(&Answered) -> T) -> Option<T> {
    let name = fiber::name()?;
    ANSWERED.with_borrow(|answered| answered.iter().rfind(|it| it.number == name).map(read))
}

/// The line of the file `source` that is the `line` of the running script or of a module; absent
/// where a script that stands in a configuration starts: which of them it is, is not known here.
pub(super) fn line_in_file(source: &str, line: usize) -> Option<usize> {
    // Modules are files of their own.
    let is_file = source.ends_with(".rhai");
    if is_file { Some(line) } else { of_current(|it| line + it.first_line - 1) }
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
