//! Growth of memory in steps that are small against the memory limit of a run, and large pages for large memory.
//!
//! Large pages are a hint to the system without effect on any result: the series of thousands of flows take more small pages
//! than the processor remembers, and the system hands those out one at a time.
#![allow(unsafe_code)]

use std::collections::{BinaryHeap, VecDeque};

/// Bytes from which a collection grows by a sixteenth. A run looks at its memory at intervals. A collection that doubles between two
/// looks would take it far beyond its limit.
const LARGE: usize = 64 << 10;

/// Number of items by which a collection of `len` items of `size` bytes each grows: `small` below [`LARGE`] bytes, then a sixteenth.
pub fn growth(len: usize, size: usize, small: usize) -> usize {
    if len * size < LARGE { small } else { len / 16 }
}

/// Collection that grows through [`make_room`].
pub trait Grows {
    /// Bytes of an item.
    const ITEM_BYTES: usize;

    /// Number of items, and number of items that there is room for.
    fn extent(&self) -> (usize, usize);

    /// Makes room for exactly `items` more.
    fn reserve_exact(&mut self, items: usize);
}

/// `Grows` of a collection of the standard library, by its methods of equal names.
macro_rules! grows {
    ($collection:ident $(, $bound:path)?) => {
        impl<T $(: $bound)?> Grows for $collection<T> {
            const ITEM_BYTES: usize = size_of::<T>();

            #[inline(always)]
            fn extent(&self) -> (usize, usize) {
                (self.len(), self.capacity())
            }

            fn reserve_exact(&mut self, items: usize) {
                self.reserve_exact(items);
            }
        }
    };
}

grows!(Vec);
grows!(VecDeque);
grows!(BinaryHeap, Ord);

/// Room for one more item. Small collections double, as those of the standard library do; large ones grow by a sixteenth.
#[inline(always)]
pub fn make_room<C: Grows>(items: &mut C) {
    let (len, room) = items.extent();
    if len == room {
        grow(items, len);
    }
}

#[cold]
#[inline(never)]
fn grow<C: Grows>(items: &mut C, len: usize) {
    items.reserve_exact(growth(len, C::ITEM_BYTES, len.max(4)));
}

/// Bytes of a large page where they are smallest.
#[cfg(target_os = "linux")]
const LARGE_PAGE: usize = 2 << 20;

/// An empty vector with room for `items`.
pub fn with_room<T>(items: usize) -> Vec<T> {
    let items = Vec::with_capacity(items);
    prefer_large_pages(&items);
    items
}

/// A vector of zeros, in memory that the system has yet to hand out.
pub fn zeros(numbers: usize) -> Vec<f64> {
    let numbers = vec![0.0; numbers];
    prefer_large_pages(&numbers);
    numbers
}

/// Asks for large pages wherever one fits into the room of `items`.
fn prefer_large_pages<T>(items: &Vec<T>) {
    #[cfg(target_os = "linux")]
    {
        let begin = items.as_ptr() as usize;
        let first = begin.next_multiple_of(LARGE_PAGE);
        let bytes = (begin + items.capacity() * size_of::<T>()).saturating_sub(first) / LARGE_PAGE * LARGE_PAGE;
        if bytes > 0 {
            // SAFETY: these pages lie in the vector's own room, and advice changes neither their content nor their owner. A
            // system that cannot follow it refuses, which does no harm.
            unsafe { libc::madvise(first as *mut libc::c_void, bytes, libc::MADV_HUGEPAGE) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = items;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 4, 8, ... 16,384 items of 4 bytes are 64 kB; from then on 1/16 more.
    #[test]
    fn small_collections_double_and_large_ones_grow_by_a_sixteenth() {
        let (mut items, mut rooms) = (Vec::<u32>::new(), Vec::new());
        for item in 0..20_000 {
            make_room(&mut items);
            items.push(item);
            if rooms.last() != Some(&items.capacity()) {
                rooms.push(items.capacity());
            }
        }
        let expected =
            [4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384, 17_408, 18_496, 19_652, 20_880];
        assert_eq!(rooms, expected);
        let mut heap = BinaryHeap::from(items);
        make_room(&mut heap);
        assert!(heap.capacity() > heap.len() && heap.capacity() <= 20_880);
    }

    #[test]
    fn zeros_are_zeros_and_room_is_empty() {
        assert_eq!(zeros(3), [0.0; 3]);
        assert!(zeros(1 << 20).iter().all(|number| number.to_bits() == 0));
        let items = with_room::<u32>(1 << 20);
        assert!(items.is_empty() && items.capacity() >= 1 << 20);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_system_hears_of_large_memory() {
        if !std::path::Path::new("/sys/kernel/mm/transparent_hugepage").exists() {
            return;
        }
        let items = with_room::<u8>(4 * LARGE_PAGE);
        let middle = items.as_ptr() as usize + 2 * LARGE_PAGE;
        let maps = std::fs::read_to_string("/proc/self/smaps").expect("a file of every Linux");
        let range = |line: &str| {
            let (begin, rest) = line.split_once('-')?;
            let (end, _) = rest.split_once(' ')?;
            Some(usize::from_str_radix(begin, 16).ok()?..usize::from_str_radix(end, 16).ok()?)
        };
        let mut lines = maps.lines().skip_while(|line| range(line).is_none_or(|range| !range.contains(&middle)));
        let flags = lines.find(|line| line.starts_with("VmFlags:")).expect("the room's mapping");
        assert!(flags.split_whitespace().any(|flag| flag == "hg"), "{flags}");
    }
}
