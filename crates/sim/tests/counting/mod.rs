//! Allocator that counts for each thread: calls, bytes held, and the most bytes held.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, with counts.
struct Counting;

thread_local! {
    static CALLS: Cell<usize> = const { Cell::new(0) };
    static HELD: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    CALLS.set(CALLS.get() + usize::from(bytes > 0));
    HELD.set(HELD.get() + bytes);
    PEAK.set(PEAK.get().max(HELD.get()));
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Memory aligned to cache lines is copied; the system moves other large blocks.
        let copied = if layout.align() > 16 { layout.size() as isize } else { 0 };
        count(size as isize - layout.size() as isize + copied);
        count(-copied);
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes that this thread holds.
pub fn held() -> isize {
    HELD.get()
}

/// Result of `work`, calls of the allocator meanwhile, and the most bytes held beyond those held before.
pub fn measure<T>(work: impl FnOnce() -> T) -> (T, usize, isize) {
    let (calls, held) = (CALLS.get(), HELD.get());
    PEAK.set(held);
    let result = work();
    (result, CALLS.get() - calls, PEAK.get() - held)
}
