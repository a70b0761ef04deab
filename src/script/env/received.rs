//! The body of a request as it has arrived, in memory or in a file, until the request ends.

use std::cell::Cell;
use std::rc::Rc;

use bytes::Bytes;

use super::refused;
use crate::fiber;
use crate::http::{Refused, Request};
use crate::script::raise::Wrong;

/// How much is read before others get their turn.
const STEP: usize = 256 << 10;

/// Reads any part of a body; clones end together.
#[derive(Clone)]
pub(super) struct Received {
    request: Rc<Request>,
    /// At most so many bytes are read at once.
    memory: u64,
    has_ended: Rc<Cell<bool>>,
}

impl Received {
    pub fn new(request: Rc<Request>, memory: u64, has_ended: bool) -> Received {
        Received { request, memory, has_ended: Rc::new(Cell::new(has_ended)) }
    }

    /// From now on it can't be read.
    pub fn end(&self) {
        self.has_ended.set(true);
    }

    /// Length in bytes, 0 without a body.
    pub fn len(&self) -> u64 {
        self.request.upload.borrow().len().unwrap_or(0)
    }

    /// Whether it can be read.
    ///
    /// # Errors
    /// If the request has ended.
    pub fn check(&self) -> Result<(), Wrong> {
        if self.has_ended.get() {
            return Err(Wrong::Server("the request has ended, its body can't be read any more".into()));
        }
        Ok(())
    }

    /// All bytes.
    ///
    /// # Errors
    /// As [`Received::read`].
    pub fn all(&self) -> Result<Bytes, Wrong> {
        self.check()?;
        let in_memory = self.request.upload.borrow().in_memory();
        match in_memory {
            Some(bytes) if bytes.len() as u64 <= self.memory => Ok(bytes),
            _ => Ok(self.read(0, self.len())?.into()),
        }
    }

    /// So many bytes from `start` on.
    ///
    /// # Errors
    /// If they are more than may be read at once, or than there are; if the script has to stop; if
    /// the request has ended.
    pub fn read(&self, start: u64, count: u64) -> Result<Vec<u8>, Wrong> {
        self.check()?;
        let length = usize::try_from(count).ok().filter(|_| count <= self.memory);
        let length = length.ok_or_else(|| refused(Refused::TooLarge))?;
        fiber::room(length)?;
        let mut bytes = vec![0; length];
        let mut at = start;
        for part in bytes.chunks_mut(STEP) {
            if at > start {
                fiber::slice()?;
            }
            self.fill(at, part)?;
            at += part.len() as u64;
        }
        Ok(bytes)
    }

    /// Reads so many bytes as `into` takes, in one piece.
    ///
    /// # Errors
    /// If there are not so many, or if the file that they lie in can't be read.
    pub fn fill(&self, at: u64, into: &mut [u8]) -> Result<(), Wrong> {
        let read = self.request.upload.borrow_mut().read_at(at, into);
        read.map_err(|error| refused(Refused::NoRoom(error)))
    }
}
