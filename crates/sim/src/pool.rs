//! Many queues over one store of places, so that together they take room for what they hold and no more: lists linked through
//! the places, with a list of the free ones.

/// Places for the items of any number of [`List`]s.
#[derive(Clone, Debug)]
pub struct Pool<T> {
    places: Vec<Place<T>>,
    /// The first free one.
    free: u32,
}

#[derive(Clone, Copy, Debug)]
struct Place<T> {
    item: T,
    /// The one behind it, of its list or of the free ones.
    next: u32,
}

/// First in, first out, in the places of one [`Pool`]; without any, its ends are of no account.
#[derive(Clone, Copy, Debug, Default)]
pub struct List {
    head: u32,
    tail: u32,
    len: u32,
}

/// No place.
const NONE: u32 = u32::MAX;

/// Room for this many at least once there is any.
const LEAST: usize = 4;

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Pool { places: Vec::new(), free: NONE }
    }
}

impl List {
    /// How many are waiting.
    pub fn len(&self) -> usize {
        self.len as usize
    }
}

impl<T> Pool<T> {
    /// Adds an item at the end of `list`.
    #[inline(always)]
    pub fn push(&mut self, list: &mut List, item: T) {
        let at = self.place(item);
        // Without a branch, which is one place's own link to itself where there is no other.
        let alone = list.len == 0;
        let last = if alone { at } else { list.tail };
        list.head = if alone { at } else { list.head };
        self.places[last as usize].next = at;
        list.tail = at;
        list.len += 1;
    }

    /// The item of `list` that has waited longest, which leaves it: what of it is not taken is lost with the next item that is added.
    #[inline(always)]
    pub fn pop(&mut self, list: &mut List) -> Option<&mut T> {
        if list.len == 0 {
            return None;
        }
        let at = list.head;
        let place = &mut self.places[at as usize];
        list.head = std::mem::replace(&mut place.next, self.free);
        self.free = at;
        list.len -= 1;
        Some(&mut place.item)
    }

    /// Bytes it holds on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.places.capacity() * size_of::<Place<T>>()
    }

    /// Puts an item into a free place.
    #[inline(always)]
    fn place(&mut self, item: T) -> u32 {
        let at = self.free;
        let Some(place) = self.places.get_mut(at as usize) else {
            return self.add(item);
        };
        self.free = place.next;
        place.item = item;
        at
    }

    #[cold]
    fn add(&mut self, item: T) -> u32 {
        let places = self.places.len();
        if places == self.places.capacity() {
            self.places.reserve_exact((places / 4).max(LEAST));
        }
        self.places.push(Place { item, next: NONE });
        places as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        /// Three lists agree with three of the standard library's queues, and take no more places than are ever in use.
        #[test]
        fn lists_behave_like_queues(steps in prop::collection::vec((0..3_usize, prop::option::weighted(0.6, any::<u16>())), 0..400)) {
            let (mut pool, mut lists) = (Pool::default(), [List::default(); 3]);
            let mut queues: [VecDeque<u16>; 3] = Default::default();
            let mut most = 0;
            for (which, step) in steps {
                let (list, queue) = (&mut lists[which], &mut queues[which]);
                match step {
                    Some(item) => { pool.push(list, item); queue.push_back(item); }
                    None => prop_assert_eq!(pool.pop(list).copied(), queue.pop_front()),
                }
                prop_assert_eq!(list.len(), queue.len());
                most = most.max(queues.iter().map(VecDeque::len).sum());
            }
            prop_assert_eq!(pool.places.len(), most);
        }
    }

    #[test]
    fn room_stays_within_a_quarter_of_what_was_held() {
        let (mut pool, mut list) = (Pool::default(), List::default());
        for item in 0..1000_u64 {
            pool.push(&mut list, item);
            assert!(pool.heap_bytes() <= (list.len() * 5 / 4 + LEAST) * size_of::<Place<u64>>());
        }
    }
}
