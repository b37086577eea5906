//! Salted hash of flows into queues (RFC 8290 section 4.1), and the queues that several flows share.
//!
//! The salt is the first number of the direction's own random stream. A scenario with the default seed gets the first salt of that stream
//! that puts each of its known flows into a separate queue, as most salts do where flows are few (at most 2 sqrt(queues), 64 for 1024 queues).
//! Other seeds keep accidental collisions, as real hosts have them.

use crate::packet::{Packet, PacketKind};
use crate::rng::{Identity, Purpose, Rng};
use crate::scenario::Scenario;
use fullpipe_cc::random::mix;

/// Most salts that are tried. With 64 flows and 1024 queues, a salt has no collision with probability 0.13, so that all fail with
/// probability 4e-16.
const MOST_TRIES: usize = 256;

/// Hash of the keys of flows ([`Packet::flow_key`]) into a number of queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowHash {
    /// Added to a key before it is hashed.
    salt: u64,
    queues: usize,
}

impl FlowHash {
    /// Hash into `queues` queues with the first salt of `seed`, the seed of a queue.
    pub fn new(queues: usize, seed: u64) -> FlowHash {
        FlowHash { salt: salts(seed).bits(), queues }
    }

    /// Hash with the first salt that separates all flows of `keys`. The first salt where flows are too many for that.
    pub fn separating(queues: usize, seed: u64, keys: &[u64]) -> FlowHash {
        let first = FlowHash::new(queues, seed);
        if keys.len().saturating_pow(2) > 4 * queues {
            return first;
        }
        let mut salts = salts(seed);
        let mut tries = (0..MOST_TRIES).map(|_| FlowHash { salt: salts.bits(), queues });
        tries.find(|hash| hash.shared_queues(keys) == 0).unwrap_or(first)
    }

    /// Number of the queue of a flow.
    #[inline(always)]
    pub fn queue_of(&self, flow_key: u64) -> usize {
        let hash = mix(flow_key.wrapping_add(self.salt));
        ((u128::from(hash) * self.queues as u128) >> 64) as usize
    }

    /// Number of queues that more than one of these flows is hashed into.
    pub fn shared_queues(&self, keys: &[u64]) -> u64 {
        let mut flows = vec![0_u32; self.queues];
        keys.iter().for_each(|&key| flows[self.queue_of(key)] += 1);
        flows.iter().filter(|flows| **flows > 1).count() as u64
    }
}

fn salts(seed: u64) -> Rng {
    Rng::new(seed, Purpose::Queue, Identity::NONE)
}

/// Keys of the flows that a scenario knows before it runs and whose packets cross a direction (two for each link, as in
/// [`Network`](crate::network::Network)): data, ACKs, and datagrams. Web traffic opens its connections later.
pub fn known_flows(scenario: &Scenario, direction: usize) -> Vec<u64> {
    let crosses = |path: &[usize]| path.contains(&(direction / 2));
    let (mut keys, mut flow) = (Vec::new(), 0);
    for group in &scenario.flows {
        let kind = if group.tcp.reverse == (direction % 2 == 1) { PacketKind::Data } else { PacketKind::Ack };
        if crosses(&group.tcp.path) {
            keys.extend((flow..flow + group.count).map(|flow| key(kind, flow)));
        }
        flow += group.count;
    }
    let mut source = 0;
    for udp in &scenario.udp {
        if udp.reverse == (direction % 2 == 1) && crosses(&udp.path) {
            keys.extend((source..source + udp.count).map(|source| key(PacketKind::Datagram, source)));
        }
        source += udp.count;
    }
    keys
}

fn key(kind: PacketKind, flow: u32) -> u64 {
    Packet { flow, kind, ..Packet::default() }.flow_key()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(flows: u32) -> Vec<u64> {
        (0..flows).map(|flow| key(PacketKind::Data, flow)).collect()
    }

    /// Birthday problem: 1024 queues have no collision of 20 flows with probability prod(1 - k/1024) = .829, by hand over k = 1 to 19.
    #[test]
    fn first_salts_collide_as_often_as_chance() {
        let collided = (0..4000).filter(|&seed| FlowHash::new(1024, seed).shared_queues(&keys(20)) > 0).count();
        let expected: f64 = 1.0 - (1..20).map(|k| 1.0 - f64::from(k) / 1024.0).product::<f64>();
        assert!((collided as f64 / 4000.0 - expected).abs() < 0.02, "{collided} of 4000, {expected}");
    }

    #[test]
    fn separating_salts_have_no_collision_up_to_64_flows_in_1024_queues() {
        for (seed, flows) in (0..200).flat_map(|seed| [(seed, 2), (seed, 20), (seed, 64)]) {
            assert_eq!(
                FlowHash::separating(1024, seed, &keys(flows)).shared_queues(&keys(flows)),
                0,
                "{seed}, {flows}"
            );
        }
    }

    /// Results stay as they are wherever the first salt does.
    #[test]
    fn separating_keeps_the_first_salt_that_has_no_collision_and_that_of_many_flows() {
        for seed in 0..200 {
            let first = FlowHash::new(1024, seed);
            let kept = FlowHash::separating(1024, seed, &keys(20)) == first;
            assert_eq!(kept, first.shared_queues(&keys(20)) == 0, "{seed}");
            assert_eq!(FlowHash::separating(1024, seed, &keys(65)), first, "{seed}");
        }
    }

    /// Two flows always share one queue, and three flows share two.
    #[test]
    fn flows_that_no_salt_separates_keep_the_first_salt() {
        let (one, two) = (FlowHash::separating(1, 7, &keys(2)), FlowHash::separating(2, 7, &keys(2)));
        assert_eq!((one, one.shared_queues(&keys(2))), (FlowHash::new(1, 7), 1));
        assert_eq!(two.shared_queues(&keys(2)), 0);
        assert!(FlowHash::separating(3, 7, &keys(4)).shared_queues(&keys(4)) > 0);
    }

    /// Counted per direction by hand: two flows over "a" and "b", one flow over "b" in reverse, three UDP sources over "b".
    #[test]
    fn known_flows_are_data_acks_and_datagrams_of_each_direction() {
        let scenario = Scenario::from_toml(
            r#"
            duration = "1 s"
            links = [
                { name = "a", rate = "1 Mbit/s", delay = "1 ms", buffer = "9 packets" },
                { name = "b", rate = "1 Mbit/s", delay = "1 ms", buffer = "9 packets" },
            ]
            flows = [
                { algorithm = "reno", count = 2, path = ["a", "b"] },
                { algorithm = "reno", path = ["b"], reverse = true },
            ]
            udp = [{ rate = "1 kbit/s", count = 3, path = ["b"] }]
            web = [{ algorithm = "reno", sessions = 5, mean_gap = "1 s", mean_size = "9 kB", path = ["b"] }]
            "#,
        )
        .expect("a scenario");
        let of = |direction| known_flows(&scenario, direction);
        let data = |flow| key(PacketKind::Data, flow);
        let ack = |flow| key(PacketKind::Ack, flow);
        assert_eq!(of(0), [data(0), data(1)]);
        assert_eq!(of(1), [ack(0), ack(1)]);
        assert_eq!(
            of(2),
            [vec![data(0), data(1), ack(2)], (0..3).map(|k| key(PacketKind::Datagram, k)).collect()].concat()
        );
        assert_eq!(of(3), [ack(0), ack(1), data(2)]);
    }
}
