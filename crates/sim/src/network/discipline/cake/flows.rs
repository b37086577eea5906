//! Flows of a tin: set-associative hash, lists of sparse, bulk, and decaying flows, and bulk flows per host.

use super::cobalt::Cobalt;
use crate::network::discipline::flow_hash::FlowHash;
use crate::network::discipline::stock::List;

/// Flows that share a hash value and still have separate queues.
pub const WAYS: usize = 8;

/// Queue of one flow.
#[derive(Clone, Debug, Default)]
pub struct Flow {
    pub packets: List,
    pub bytes: u64,
    /// Bytes that the flow may still send in this turn, adjusted.
    pub deficit: i64,
    pub state: State,
    pub cobalt: Cobalt,
    /// Key of the flow, and its hosts where the tin counts bulk flows of hosts.
    tag: Option<u64>,
    hosts: [Option<u32>; 2],
}

/// State of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// Without packets and without memory of any.
    #[default]
    Idle,
    /// Among the sparse flows.
    Sparse,
    /// Among the bulk flows because it used up its quantum, but without packets since.
    Waiting,
    /// Among the bulk flows, and counted as one.
    Bulk,
    /// Without packets; the drop state remembers earlier ones.
    Decaying,
}

/// Lists of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Sparse,
    Bulk,
    Decaying,
}

/// Flows of a tin.
#[derive(Debug)]
pub struct Flows {
    hash: FlowHash,
    pub flows: Vec<Flow>,
    lists: Lists,
    /// Bulk flows, of all hosts and of each host as source and as destination.
    pub bulk: u32,
    of_hosts: [Vec<u32>; 2],
}

impl Flows {
    /// Empty queues, at least as many as asked for.
    pub fn new(queues: usize, seed: u64) -> Flows {
        let queues = queues.next_multiple_of(WAYS);
        let flows = vec![Flow::default(); queues];
        Flows {
            hash: FlowHash::new(queues, seed),
            flows,
            lists: Lists::new(queues),
            bulk: 0,
            of_hosts: [Vec::new(), Vec::new()],
        }
    }

    /// Makes room for the counts of all hosts.
    pub fn set_hosts(&mut self, hosts: usize) {
        self.of_hosts.iter_mut().for_each(|counts| counts.resize(hosts, 0));
    }

    /// Number of the queue for a flow with this key: the one of its set with this key, else the first idle one from the place of its hash on,
    /// else the place of its hash, which it shares.
    pub fn queue_of(&mut self, key: u64, hosts: [Option<u32>; 2]) -> usize {
        let own = self.hash.queue_of(key);
        let set = own - own % WAYS;
        let mut ways = (0..WAYS).map(|way| set + (own + way) % WAYS);
        if let Some(known) = ways.clone().find(|&way| self.flows[way].tag == Some(key)) {
            self.set_tag(known, key, hosts);
            return known;
        }
        let place = ways.find(|&way| self.flows[way].state == State::Idle).unwrap_or(own);
        self.set_tag(place, key, hosts);
        place
    }

    fn set_tag(&mut self, place: usize, key: u64, hosts: [Option<u32>; 2]) {
        let is_bulk = self.flows[place].state == State::Bulk;
        if is_bulk {
            self.count(place, -1);
        }
        (self.flows[place].tag, self.flows[place].hosts) = (Some(key), hosts);
        if is_bulk {
            self.count(place, 1);
        }
    }

    /// First flow of a list.
    pub fn first(&self, kind: Kind) -> Option<usize> {
        self.lists.first(kind)
    }

    /// Sparse and bulk flows.
    pub fn listed(&self) -> impl Iterator<Item = usize> {
        [Kind::Sparse, Kind::Bulk].into_iter().flat_map(|kind| self.lists.iter(kind))
    }

    /// Moves a flow to the end of a list.
    pub fn move_to(&mut self, place: usize, kind: Kind) {
        self.lists.move_to(place, kind);
    }

    /// Sets the state of a flow. A flow that becomes idle leaves the lists.
    pub fn set_state(&mut self, place: usize, state: State) {
        let before = std::mem::replace(&mut self.flows[place].state, state);
        match (before == State::Bulk, state == State::Bulk) {
            (false, true) => self.count(place, 1),
            (true, false) => self.count(place, -1),
            _ => {}
        }
        if state == State::Idle {
            self.lists.unlink(place);
        }
    }

    /// Bulk flows of the host that has more of them, source or destination; at least 1.
    pub fn host_load(&self, place: usize) -> u32 {
        let counts = self.flows[place].hosts.iter().zip(&self.of_hosts);
        counts.filter_map(|(host, counts)| Some(counts[(*host)? as usize])).max().unwrap_or(1).max(1)
    }

    /// Counts a bulk flow, or one less.
    fn count(&mut self, place: usize, change: i32) {
        self.bulk = self.bulk.wrapping_add_signed(change);
        for (host, counts) in self.flows[place].hosts.iter().zip(&mut self.of_hosts) {
            if let Some(host) = host {
                counts[*host as usize] = counts[*host as usize].wrapping_add_signed(change);
            }
        }
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> usize {
        let counts: usize = self.of_hosts.iter().map(Vec::capacity).sum();
        self.flows.capacity() * size_of::<Flow>() + self.lists.heap_bytes() + counts * size_of::<u32>()
    }
}

/// Circular lists, linked in both directions. Behind the places of flows are three that only mark the ends of the lists.
#[derive(Debug)]
struct Lists {
    flows: usize,
    links: Vec<Link>,
}

/// Neighbors of a place.
#[derive(Clone, Copy, Debug)]
struct Link {
    before: u32,
    after: u32,
}

impl Lists {
    fn new(flows: usize) -> Lists {
        Lists { flows, links: (0..flows as u32 + 3).map(|place| Link { before: place, after: place }).collect() }
    }

    fn end(&self, kind: Kind) -> usize {
        self.flows + kind as usize
    }

    fn first(&self, kind: Kind) -> Option<usize> {
        self.iter(kind).next()
    }

    fn iter(&self, kind: Kind) -> impl Iterator<Item = usize> {
        let end = self.end(kind);
        let next = move |place: &usize| Some(self.links[*place].after as usize).filter(|place| *place != end);
        std::iter::successors(next(&end), next)
    }

    fn move_to(&mut self, place: usize, kind: Kind) {
        self.unlink(place);
        let end = self.end(kind);
        let last = self.links[end].before;
        self.links[place] = Link { before: last, after: end as u32 };
        self.links[last as usize].after = place as u32;
        self.links[end].before = place as u32;
    }

    fn unlink(&mut self, place: usize) {
        let Link { before, after } = self.links[place];
        self.links[before as usize].after = after;
        self.links[after as usize].before = before;
        self.links[place] = Link { before: place as u32, after: place as u32 };
    }

    fn heap_bytes(&self) -> usize {
        self.links.capacity() * size_of::<Link>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_HOSTS: [Option<u32>; 2] = [None, None];

    fn of(flows: &Flows, kind: Kind) -> Vec<usize> {
        flows.lists.iter(kind).collect()
    }

    #[test]
    fn flows_move_between_lists_in_order() {
        let mut flows = Flows::new(8, 1);
        for place in [3, 1, 7] {
            flows.move_to(place, Kind::Sparse);
        }
        flows.move_to(1, Kind::Decaying);
        flows.move_to(3, Kind::Sparse);
        assert_eq!((of(&flows, Kind::Sparse), of(&flows, Kind::Decaying)), (vec![7, 3], vec![1]));
        flows.set_state(7, State::Idle);
        assert_eq!((flows.first(Kind::Sparse), flows.first(Kind::Bulk)), (Some(3), None));
    }

    /// Eight flows with one hash value get the eight queues of the set. The ninth shares the place of its hash.
    #[test]
    fn a_set_holds_eight_flows() {
        let mut flows = Flows::new(1024, 1);
        let own = flows.hash.queue_of(0);
        let same: Vec<u64> = (0..).filter(|&key| flows.hash.queue_of(key) == own).take(9).collect();
        let mut places: Vec<usize> = Vec::new();
        for &key in &same[..8] {
            let place = flows.queue_of(key, NO_HOSTS);
            flows.set_state(place, State::Decaying);
            places.push(place);
        }
        assert_eq!(places[0], own);
        let again: Vec<_> = same[..8].iter().map(|&key| flows.queue_of(key, NO_HOSTS)).collect();
        assert_eq!(again, places);
        assert_eq!(flows.queue_of(same[8], NO_HOSTS), own);
        // The first flow has lost its tag.
        assert_eq!(flows.queue_of(same[0], NO_HOSTS), own);
        places.sort_unstable();
        assert!(places.windows(2).all(|pair| pair[0] + 1 == pair[1]) && places[0] % 8 == 0, "{places:?}");
    }

    /// Host 0 sends two bulk flows to hosts 1 and 2; host 3 sends three to host 2.
    #[test]
    fn the_load_is_that_of_the_busier_host() {
        let mut flows = Flows::new(64, 1);
        flows.set_hosts(4);
        let pairs = [(0, 1), (0, 2), (3, 2), (3, 2), (3, 2)];
        let places: Vec<_> =
            pairs.iter().zip(0..).map(|(&(a, b), key)| flows.queue_of(key, [Some(a), Some(b)])).collect();
        assert_eq!(flows.host_load(places[0]), 1);
        places.iter().for_each(|&place| flows.set_state(place, State::Bulk));
        assert_eq!(places.iter().map(|&place| flows.host_load(place)).collect::<Vec<_>>(), [2, 4, 4, 4, 4]);
        flows.set_state(places[1], State::Decaying);
        assert_eq!((flows.host_load(places[0]), flows.host_load(places[2]), flows.bulk), (1, 3, 4));
    }

    /// A flow without known hosts has a load of 1.
    #[test]
    fn a_flow_with_hosts_of_its_own_has_no_load() {
        let mut flows = Flows::new(8, 1);
        let place = flows.queue_of(5, NO_HOSTS);
        flows.set_state(place, State::Bulk);
        assert_eq!((flows.host_load(place), flows.bulk), (1, 1));
    }
}
