//! What is known of a request when it has been answered, and what of it a log asks for.

use std::time::Instant;

use http::{HeaderMap, StatusCode};

use crate::http::Request;

/// What is known of a request when it has been answered.
#[derive(Debug)]
pub struct Record<'a> {
    /// The request, with what handlers set.
    pub request: &'a Request,
    /// Status of the reply.
    pub status: StatusCode,
    /// Bytes of the body that were sent.
    pub bytes: u64,
    /// The header of the reply, where [`Needs::headers`].
    pub headers: &'a HeaderMap,
    /// Where [`Needs::times`].
    pub times: Option<Times>,
}

/// The stations of a request.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// Its first byte came; where nobody looked, its head was read.
    pub began: Instant,
    /// Its head was read.
    pub read: Instant,
    /// The reply was there.
    pub answered: Instant,
    /// The last of the reply was handed to the connection.
    pub ended: Instant,
}

/// What must be noted while a request is answered, for there are logs that write it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// The header of the reply.
    pub headers: bool,
    /// When it was read and answered.
    pub times: bool,
    /// When its first byte came.
    pub first_byte: bool,
    /// What went wrong with it.
    pub errors: bool,
}

impl Needs {
    /// What one or the other needs.
    #[must_use]
    pub fn and(self, other: Needs) -> Needs {
        Needs {
            headers: self.headers || other.headers,
            times: self.times || other.times,
            first_byte: self.first_byte || other.first_byte,
            errors: self.errors || other.errors,
        }
    }
}
