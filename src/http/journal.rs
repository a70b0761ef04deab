//! What logs are told of a request while it is answered.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;
use std::time::Instant;

use http::request::Parts;

use super::Id;

/// Where the errors of a request go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Emit {
    /// To the error log.
    #[default]
    Log,
    /// To the error log, and to the line of an access log.
    Both,
    /// To the line of an access log only.
    Access,
    /// Nowhere.
    Nowhere,
}

/// Knows what no log may show of a request.
pub trait Mask: fmt::Debug {
    /// The text with `***` for the keys and passwords that the request brings; `None` if there are none in it.
    fn masked(&self, head: &Parts, text: &str) -> Option<String>;
}

/// What is noted of one request.
#[derive(Debug, Default)]
pub struct Journal {
    emit: Emit,
    mask: Option<Rc<dyn Mask>>,
    errors: RefCell<String>,
    /// When the last byte of its body had come, where it has one that was read.
    pub received: Cell<Option<Instant>>,
}

impl Journal {
    /// Nothing is noted so far.
    pub fn new(emit: Emit, mask: Option<Rc<dyn Mask>>) -> Journal {
        Journal { emit, mask, ..Journal::default() }
    }

    pub(super) fn masked<'a>(&self, head: &Parts, text: &'a str) -> Cow<'a, str> {
        let masked = self.mask.as_ref().and_then(|mask| mask.masked(head, text));
        masked.map_or(Cow::Borrowed(text), Cow::Owned)
    }

    /// What went wrong so far, each on a line of its own; empty unless an access log wants it.
    pub fn errors(&self) -> String {
        self.errors.borrow().clone()
    }

    pub(super) fn report(&self, request: Id, message: &str) {
        if matches!(self.emit, Emit::Log | Emit::Both) {
            tracing::error!(%request, "{message}");
        }
        if matches!(self.emit, Emit::Access | Emit::Both) {
            let mut errors = self.errors.borrow_mut();
            if !errors.is_empty() {
                errors.push('\n');
            }
            errors.push_str(message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_kept_only_where_an_access_log_wants_them() {
        for (emit, expected) in [(Emit::Log, ""), (Emit::Nowhere, ""), (Emit::Both, "a\nb"), (Emit::Access, "a\nb")] {
            let journal = Journal::new(emit, None);
            journal.report(Id(1), "a");
            journal.report(Id(1), "b");
            assert_eq!(journal.errors(), expected);
        }
    }
}
