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

/// First in, first out, in the places of one [`Pool`].
#[derive(Clone, Copy, Debug)]
pub struct List {
    head: u32,
    /// Anything where there is none.
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

impl Default for List {
    fn default() -> Self {
        List { head: NONE, tail: NONE, len: 0 }
    }
}

impl List {
    /// How many are waiting.
    pub fn len(&self) -> usize {
        self.len as usize
    }
}

impl<T: Default> Pool<T> {
    /// The item of `list` that has waited longest.
    #[inline]
    pub fn front(&self, list: &List) -> Option<&T> {
        self.places.get(list.head as usize).map(|place| &place.item)
    }

    /// Adds an item at the end of `list`.
    #[inline]
    pub fn push(&mut self, list: &mut List, item: T) {
        let at = self.place(item);
        match self.places.get_mut(list.tail as usize) {
            Some(last) if list.len > 0 => last.next = at,
            _ => list.head = at,
        }
        list.tail = at;
        list.len += 1;
    }

    /// Takes the item of `list` that has waited longest.
    #[inline]
    pub fn pop(&mut self, list: &mut List) -> Option<T> {
        let at = list.head;
        let place = self.places.get_mut(at as usize)?;
        list.head = std::mem::replace(&mut place.next, self.free);
        self.free = at;
        list.len -= 1;
        Some(std::mem::take(&mut place.item))
    }

    /// Puts the item of `list` that has waited longest behind all others.
    #[inline]
    pub fn rotate(&mut self, list: &mut List) {
        if list.len < 2 {
            return;
        }
        let at = list.head;
        list.head = std::mem::replace(&mut self.places[at as usize].next, NONE);
        self.places[list.tail as usize].next = at;
        list.tail = at;
    }

    /// Bytes it holds on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.places.capacity() * size_of::<Place<T>>()
    }

    /// Puts an item into a free place.
    #[inline]
    fn place(&mut self, item: T) -> u32 {
        let at = self.free;
        let Some(place) = self.places.get_mut(at as usize) else {
            return self.add(item);
        };
        self.free = place.next;
        *place = Place { item, next: NONE };
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
        fn lists_behave_like_queues(steps in prop::collection::vec((0..3_usize, prop::option::weighted(0.6, any::<u16>()), any::<bool>()), 0..400)) {
            let (mut pool, mut lists) = (Pool::default(), [List::default(); 3]);
            let mut queues: [VecDeque<u16>; 3] = Default::default();
            let mut most = 0;
            for (which, step, rotates) in steps {
                let (list, queue) = (&mut lists[which], &mut queues[which]);
                if rotates {
                    pool.rotate(list);
                    queue.rotate_left(1.min(queue.len()));
                }
                match step {
                    Some(item) => { pool.push(list, item); queue.push_back(item); }
                    None => prop_assert_eq!(pool.pop(list), queue.pop_front()),
                }
                prop_assert_eq!((list.len(), pool.front(list)), (queue.len(), queue.front()));
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
