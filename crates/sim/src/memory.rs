//! Large pages for large memory, a hint to the system without effect on any result: the series of thousands of flows take more
//! small pages than the processor remembers, and the system hands those out one at a time.
#![allow(unsafe_code)]

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
            // SAFETY: these pages lie in the vector's own room, and advice changes neither what they hold nor whose they are. A
            // system that cannot follow it refuses, which is all the same.
            unsafe { libc::madvise(first as *mut libc::c_void, bytes, libc::MADV_HUGEPAGE) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = items;
}

#[cfg(test)]
mod tests {
    use super::*;

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
