//! A hint to the processor, without effect on any result: with thousands of flows their state does not fit the cache, but
//! which flow comes next is known while the one before is at work.
#![allow(unsafe_code)]

/// Bytes the processor fetches at once.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

/// Prefetches the end of `item`, whose beginning is in a loaded cache line.
#[inline(always)]
pub fn prefetch_end<T>(item: &T) {
    ask(item, size_of::<T>() - 1);
}

/// Asks for the first `bytes` of `item`.
#[inline]
pub fn prefetch<T>(item: &T, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    for offset in (0..bytes.min(size_of::<T>())).step_by(LINE) {
        ask(item, offset);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (item, bytes);
}

/// Asks for the line with the byte at `offset`, one of the item's.
#[inline(always)]
fn ask<T>(item: &T, offset: usize) {
    debug_assert!(offset < size_of::<T>());
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the address lies inside `item`, and a prefetch reads nothing the program can see.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(item).byte_add(offset).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = item;
}
