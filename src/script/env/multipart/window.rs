//! A body that is walked through a piece of it at a time.

use memchr::memmem::Finder;

use crate::fiber;
use crate::script::raise::Wrong;

/// How much is held at a time, unless more is asked for at once.
const SIZE: usize = 64 << 10;

/// A piece of something longer, which `read` fills from any place.
pub(in crate::script::env) struct Window<R> {
    read: R,
    length: u64,
    size: usize,
    start: u64,
    held: Vec<u8>,
}

impl<R: FnMut(u64, &mut [u8]) -> Result<(), Wrong>> Window<R> {
    /// Over `length` bytes.
    pub fn new(length: u64, read: R) -> Window<R> {
        Window { read, length, size: SIZE, start: 0, held: Vec::new() }
    }

    #[cfg(test)]
    pub fn of_size(self, size: usize) -> Window<R> {
        Window { size, ..self }
    }

    /// Bytes that there are altogether.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// At most `count` bytes from `at` on: fewer at the end only.
    pub fn bytes(&mut self, at: u64, count: usize) -> Result<&[u8], Wrong> {
        let left = usize::try_from(self.length.saturating_sub(at)).unwrap_or(usize::MAX);
        let count = count.min(left);
        if at < self.start || at + count as u64 > self.start + self.held.len() as u64 {
            // Others get their turn before each piece.
            fiber::slice()?;
            self.held.clear();
            self.held.resize(count.max(self.size).min(left), 0);
            self.start = at;
            (self.read)(at, &mut self.held)?;
        }
        let from = usize::try_from(at - self.start).unwrap_or(usize::MAX);
        Ok(self.held.get(from..).and_then(|rest| rest.get(..count)).unwrap_or_default())
    }

    /// Where `wanted` stands first from `at` on.
    pub fn find(&mut self, wanted: &Finder<'_>, mut at: u64) -> Result<Option<u64>, Wrong> {
        let length = wanted.needle().len();
        let size = self.size.max(2 * length);
        loop {
            // What is held already is looked at as far as it goes.
            let held = (self.start + self.held.len() as u64).saturating_sub(at);
            let ahead = usize::try_from(held).ok().filter(|it| at >= self.start && *it >= length).unwrap_or(size);
            let bytes = self.bytes(at, ahead)?;
            if let Some(place) = wanted.find(bytes) {
                return Ok(Some(at + place as u64));
            }
            let seen = at + bytes.len() as u64;
            if seen >= self.length {
                return Ok(None);
            }
            at = seen + 1 - length as u64;
        }
    }
}
