//! A queue in a circular buffer. It grows by a quarter, a large one by a sixteenth, so that it takes little more memory than its items.
//! It never shrinks.

use crate::memory::growth;
use crate::prefetch::prefetch_end;

/// First-in, first-out queue.
#[derive(Clone, Debug, Default)]
pub struct Ring<T> {
    /// All slots. Those from `head` on, around the end, hold items.
    slots: Vec<T>,
    head: usize,
    /// Slot after the newest item.
    tail: usize,
    len: usize,
}

/// Minimum number of slots of a queue that has any.
const LEAST: usize = 4;

impl<T> Ring<T> {
    /// An empty queue.
    pub const fn new() -> Ring<T> {
        Ring { slots: Vec::new(), head: 0, tail: 0, len: 0 }
    }
}

impl<T: Copy + Default> Ring<T> {
    /// Number of items.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Oldest item.
    #[inline(always)]
    pub fn front(&self) -> Option<&T> {
        if self.len == 0 { None } else { self.slots.get(self.head) }
    }

    /// The item at `place`, counted from the oldest.
    #[inline(always)]
    pub fn get(&self, place: usize) -> Option<&T> {
        if place >= self.len { None } else { self.slots.get(self.slot(place)) }
    }

    /// Prefetches the item at `place`, or its slot: it is needed soon.
    #[inline(always)]
    pub fn prefetch(&self, place: usize) {
        if let Some(item) = self.slots.get(self.slot(place)) {
            prefetch_end(item);
        }
    }

    /// The item at `place`, to be changed.
    #[inline(always)]
    pub fn get_mut(&mut self, place: usize) -> Option<&mut T> {
        if place >= self.len {
            return None;
        }
        let slot = self.slot(place);
        self.slots.get_mut(slot)
    }

    /// All items, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        let (before, from) = self.slots.split_at(self.head);
        from.iter().chain(before).take(self.len)
    }

    /// Adds an item at the end.
    #[inline(always)]
    pub fn push_back(&mut self, item: T) {
        if self.len == self.slots.len() {
            self.grow();
        }
        if let Some(slot) = self.slots.get_mut(self.tail) {
            *slot = item;
        }
        self.tail = self.after(self.tail);
        self.len += 1;
    }

    /// Takes the item that has waited longest.
    #[inline(always)]
    pub fn pop_front(&mut self) -> Option<T> {
        self.pop_front_if(|_| true)
    }

    /// Takes the item that has waited longest, if `condition` holds for it.
    #[inline(always)]
    pub fn pop_front_if(&mut self, condition: impl FnOnce(&T) -> bool) -> Option<T> {
        let item = *self.front()?;
        if !condition(&item) {
            return None;
        }
        self.head = self.after(self.head);
        self.len -= 1;
        Some(item)
    }

    /// Takes the `count` items that have waited longest. Returns the last of them.
    #[inline(always)]
    pub fn pop_many(&mut self, count: usize) -> Option<T> {
        let count = count.min(self.len);
        let last = self.head + count.checked_sub(1)?;
        let last = if last >= self.slots.len() { last - self.slots.len() } else { last };
        self.head = self.after(last);
        self.len -= count;
        self.slots.get(last).copied()
    }

    /// Takes the oldest items while `condition` holds, at most `most`. Returns their number.
    #[inline(always)]
    pub fn pop_while(&mut self, most: usize, condition: impl Fn(&T) -> bool) -> usize {
        let most = most.min(self.len);
        let (mut next, mut count) = (self.head, 0);
        while count < most && self.slots.get(next).is_some_and(&condition) {
            next = self.after(next);
            count += 1;
        }
        self.head = next;
        self.len -= count;
        count
    }

    /// Heap memory in bytes.
    pub fn heap_bytes(&self) -> usize {
        self.slots.capacity() * size_of::<T>()
    }

    /// Removes all items.
    #[inline(always)]
    pub fn clear(&mut self) {
        if self.len > 0 {
            self.head = self.tail;
            self.len = 0;
        }
    }

    /// Slot of the item at `place`.
    #[inline(always)]
    fn slot(&self, place: usize) -> usize {
        let slot = self.head + place;
        if slot >= self.slots.len() { slot - self.slots.len() } else { slot }
    }

    #[inline(always)]
    fn after(&self, place: usize) -> usize {
        let next = place + 1;
        if next >= self.slots.len() { 0 } else { next }
    }

    #[cold]
    fn grow(&mut self) {
        self.slots.rotate_left(self.head);
        self.head = 0;
        self.tail = self.len;
        let places = self.len + growth(self.len, size_of::<T>(), self.len / 4).max(LEAST);
        self.slots.reserve_exact(places - self.len);
        self.slots.resize(places, T::default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        /// It agrees with the standard library's queue.
        #[test]
        fn behaves_like_a_queue(
            steps in prop::collection::vec(prop::option::weighted(0.6, any::<u16>()), 0..400),
            many in 0usize..9,
        ) {
            let (mut ring, mut queue) = (Ring::default(), VecDeque::new());
            for step in steps {
                match step {
                    Some(item) => { ring.push_back(item); queue.push_back(item); }
                    None => prop_assert_eq!(ring.pop_front(), queue.pop_front()),
                }
                if step.is_some_and(|item| item % 8 == 0) {
                    let last = queue.drain(..many.min(queue.len())).next_back();
                    prop_assert_eq!(ring.pop_many(many), last);
                }
                if step.is_some_and(|item| item % 8 == 1) {
                    let least = queue.iter().take(many).position(|item| item % 4 == 0).unwrap_or(many.min(queue.len()));
                    queue.drain(..least);
                    prop_assert_eq!(ring.pop_while(many, |item| item % 4 > 0), least);
                }
                prop_assert_eq!((ring.len(), ring.front()), (queue.len(), queue.front()));
                prop_assert_eq!(ring.get(many), queue.get(many));
                prop_assert_eq!(ring.get_mut(many), queue.get_mut(many));
            }
            prop_assert!(ring.iter().eq(queue.iter()));
        }
    }
}
