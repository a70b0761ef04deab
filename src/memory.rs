//! The allocator: mimalloc, with the bytes that each thread holds counted beside it.
//!
//! A script's memory is limited by this count (see `fiber`): Rhai's own size limits make building
//! a value quadratic in its size, a counter costs nothing that can be measured.

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;

use mimalloc::MiMalloc;

thread_local! {
    static LIVE: Cell<isize> = const { Cell::new(0) };
}

/// Bytes that this thread has allocated less those that it has freed.
///
/// What one thread allocates and another frees makes a thread's count drift, also below zero:
/// only differences over a stretch of one thread's work mean something.
#[inline]
pub fn live() -> isize {
    LIVE.get()
}

/// The global allocator of the process.
pub struct Counting;

// SAFETY: every call is passed on to mimalloc unchanged; the counter is a thread-local `Cell`
// without a destructor, so that it is there for as long as the thread is.
unsafe impl GlobalAlloc for Counting {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.set(LIVE.get().wrapping_add_unsigned(layout.size()));
        unsafe { MiMalloc.alloc(layout) }
    }

    #[inline]
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.set(LIVE.get().wrapping_sub_unsigned(layout.size()));
        unsafe { MiMalloc.dealloc(pointer, layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        LIVE.set(LIVE.get().wrapping_add_unsigned(layout.size()));
        unsafe { MiMalloc.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LIVE.set(LIVE.get().wrapping_add_unsigned(size).wrapping_sub_unsigned(layout.size()));
        unsafe { MiMalloc.realloc(pointer, layout, size) }
    }
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
}
