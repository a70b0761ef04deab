//! The allocator: mimalloc, with the bytes that each thread holds counted beside it.
//!
//! A script's memory is limited by this count (see `fiber`): Rhai's own size limits make building
//! a value quadratic in its size, a counter costs nothing that can be measured.

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;

use libmimalloc_sys as mi;

thread_local! {
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static TAKEN: Cell<usize> = const { Cell::new(0) };
    #[cfg(test)]
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

/// Bytes that this thread has ever allocated, freed or not: a measure of work that is done in few
/// large steps. Wraps around.
#[inline]
pub fn taken() -> usize {
    TAKEN.get()
}

/// Bytes that this thread has allocated less those that it has freed.
///
/// What one thread allocates and another frees makes a thread's count drift, also below zero:
/// only differences over a stretch of one thread's work mean something.
#[inline]
pub fn live() -> isize {
    LIVE.get()
}

/// The most that this thread has held since [`mark`], for tests of single steps, at which nobody can look.
#[cfg(test)]
pub fn peak() -> isize {
    PEAK.get()
}

/// Begins to look for the [`peak`].
#[cfg(test)]
pub fn mark() {
    PEAK.set(live());
}

/// Does something whose memory is not counted as its caller's: it stays with the thread or the process, or has come from
/// another thread and is given up here.
pub fn apart<T>(work: impl FnOnce() -> T) -> T {
    let before = LIVE.get();
    let outcome = work();
    LIVE.set(before);
    outcome
}

/// The global allocator of the process.
pub struct Counting;

/// mimalloc's plain functions give what is aligned so; they are quicker than those that are told.
const PLAIN_ALIGNMENT: usize = 16;

// SAFETY: every call is passed on to mimalloc, whose `mi_free` takes what any of its functions
// gave; blocks of at least 16 bytes are aligned to 16, and smaller ones to their size rounded up to
// a power of two, of which a layout's alignment is a divisor. The counter is a thread-local `Cell`
// without a destructor, so that it is there for as long as the thread is.
unsafe impl GlobalAlloc for Counting {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        if is_plain(layout) {
            return unsafe { mi::mi_malloc(layout.size()) }.cast();
        }
        unsafe { mi::mi_malloc_aligned(layout.size(), layout.align()) }.cast()
    }

    #[inline]
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.set(LIVE.get().wrapping_sub_unsigned(layout.size()));
        unsafe { mi::mi_free(pointer.cast()) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        if is_plain(layout) {
            return unsafe { mi::mi_zalloc(layout.size()) }.cast();
        }
        unsafe { mi::mi_zalloc_aligned(layout.size(), layout.align()) }.cast()
    }

    #[inline]
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        LIVE.set(LIVE.get().wrapping_sub_unsigned(layout.size()));
        if layout.align() <= PLAIN_ALIGNMENT && size >= layout.align() {
            return unsafe { mi::mi_realloc(pointer.cast(), size) }.cast();
        }
        unsafe { mi::mi_realloc_aligned(pointer.cast(), size, layout.align()) }.cast()
    }
}

#[inline]
fn count(size: usize) {
    LIVE.set(LIVE.get().wrapping_add_unsigned(size));
    TAKEN.set(TAKEN.get().wrapping_add(size));
    #[cfg(test)]
    PEAK.set(PEAK.get().max(LIVE.get()));
}

/// Whether a block of the layout's size is aligned as it asks in any case.
#[inline]
fn is_plain(layout: Layout) -> bool {
    layout.align() <= PLAIN_ALIGNMENT && layout.size() >= layout.align()
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_allocated_and_freed_is_counted() {
        let before = live();
        let block = std::hint::black_box(vec![0_u8; 1 << 20]);
        assert!(live() - before >= 1 << 20);
        drop(block);
        assert!((live() - before).abs() < 1 << 16);
    }

    #[test]
    fn what_is_done_apart_is_not_counted() {
        let before = live();
        let block = apart(|| std::hint::black_box(vec![0_u8; 1 << 20]));
        assert_eq!(live(), before);
        apart(|| drop(block));
        assert_eq!(live(), before);
    }
}
