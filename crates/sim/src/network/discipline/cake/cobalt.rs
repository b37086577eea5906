//! COBALT: CoDel's drop times, and BLUE's drop probability for flows that do not answer drops.
//!
//! Source: Høiland-Jørgensen, Täht, Morton, *Piece of CAKE*, 2018; Linux net/sched/sch_cake.c, by behavior.

use crate::rng::Rng;
use fullpipe_cc::Nanos;

/// Change of BLUE's probability when the buffer overflows, and when a queue is found empty.
const RISE: f64 = 1.0 / 256.0;
const FALL: f64 = 1.0 / 4096.0;

/// Parameters of COBALT in one tin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CobaltLaw {
    /// Waiting time above which a packet is over target.
    pub target: Nanos,
    /// Time over target before a drop, and the gap from the first drop to the second.
    pub interval: Nanos,
    /// Transmission time of the largest packet at the tin's rate; 0 without a shaper.
    pub mtu_time: Nanos,
    /// A packet may wait for two of the largest packets of each bulk flow.
    pub ingress: bool,
    /// 1/sqrt(count) is 0 before the count first changes, as in Linux.
    pub root_from_zero: bool,
}

/// State of COBALT over one queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cobalt {
    /// Drops, less those that time has taken back.
    count: u32,
    /// 1/sqrt(count), where the count has changed.
    root: Option<f64>,
    dropping: bool,
    /// Time of the next drop.
    next: Nanos,
    /// BLUE's probability, and the time of its last change.
    probability: f64,
    changed: Nanos,
}

/// Decision about a packet that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// CoDel's drop is due: a mark will do.
    pub due: bool,
    /// BLUE drops the packet, marked or not.
    pub blue: bool,
}

impl Cobalt {
    /// Decision about a packet that leaves at `now` after it has waited, with `bulk` bulk flows in the tin.
    pub fn decide(&mut self, law: &CobaltLaw, now: Nanos, waited: Nanos, bulk: u32, rng: &mut Rng) -> Verdict {
        let due = self.drop_is_due(law, now, is_over(law, waited, bulk));
        Verdict { due, blue: self.probability > 0.0 && rng.unit() < self.probability }
    }

    /// Ends the decision about a packet, which is to be dropped or not.
    pub fn settle(&mut self, law: &CobaltLaw, now: Nanos, dropped: bool) {
        if self.count == 0 {
            self.next = now + law.interval;
        } else if !dropped {
            self.next = self.next.max(now);
        }
    }

    /// The buffer is full, and a packet of the queue is dropped.
    pub fn overflow(&mut self, law: &CobaltLaw, now: Nanos) {
        if now.saturating_sub(self.changed) > law.target {
            self.probability = (self.probability + RISE).min(1.0);
            self.changed = now;
        }
        self.dropping = true;
        self.next = now;
        self.count = self.count.max(1);
    }

    /// The queue is found empty.
    pub fn find_empty(&mut self, law: &CobaltLaw, now: Nanos) {
        if self.probability > 0.0 && now.saturating_sub(self.changed) > law.target {
            self.probability = (self.probability - FALL).max(0.0);
            self.changed = now;
        }
        self.dropping = false;
        if self.is_due(now) {
            self.relax(law);
        }
    }

    /// Whether nothing of earlier packets is left.
    pub fn is_at_rest(&self, now: Nanos) -> bool {
        self.probability == 0.0 && self.count == 0 && now >= self.next
    }

    /// Whether CoDel wants a drop. A due one comes at once also if packets before this one were in time.
    fn drop_is_due(&mut self, law: &CobaltLaw, now: Nanos, over: bool) -> bool {
        if !over {
            self.dropping = false;
            while self.is_due(now) {
                self.relax(law);
            }
            return false;
        }
        let due = self.is_due(now);
        if !self.dropping {
            self.dropping = true;
            self.next = now + self.gap(law);
            self.count = self.count.max(1);
        }
        if due {
            self.count_to(self.count.saturating_add(1));
            self.next += self.gap(law);
        }
        due
    }

    fn is_due(&self, now: Nanos) -> bool {
        self.count > 0 && now >= self.next
    }

    /// Takes one drop back.
    fn relax(&mut self, law: &CobaltLaw) {
        self.count_to(self.count - 1);
        self.next += self.gap(law);
    }

    fn count_to(&mut self, count: u32) {
        self.count = count;
        self.root = Some(1.0 / f64::from(count.max(1)).sqrt());
    }

    fn gap(&self, law: &CobaltLaw) -> Nanos {
        let first = if law.root_from_zero { 0.0 } else { 1.0 };
        (law.interval as f64 * self.root.unwrap_or(first)) as Nanos
    }
}

/// Whether a packet has waited for too long.
fn is_over(law: &CobaltLaw, waited: Nanos, bulk: u32) -> bool {
    let allowed = if law.ingress { 2 * Nanos::from(bulk) * law.mtu_time } else { 0 };
    waited > law.target && waited > 4 * law.mtu_time && waited > allowed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Identity, Purpose};
    use fullpipe_cc::time::{MICROSECOND, MILLISECOND, SECOND};

    const LAW: CobaltLaw = CobaltLaw {
        target: 5 * MILLISECOND,
        interval: 100 * MILLISECOND,
        mtu_time: 0,
        ingress: false,
        root_from_zero: false,
    };

    fn rng() -> Rng {
        Rng::new(1, Purpose::Queue, Identity::NONE)
    }

    /// Decides about a packet, and whether it is to be dropped.
    fn drops_one(cobalt: &mut Cobalt, law: &CobaltLaw, now: Nanos, waited: Nanos, rng: &mut Rng) -> bool {
        let Verdict { due, blue } = cobalt.decide(law, now, waited, 1, rng);
        cobalt.settle(law, now, due || blue);
        due || blue
    }

    /// Times of drops if a packet leaves each 10 us, always over target, until `end`.
    fn drops(law: &CobaltLaw, end: Nanos) -> Vec<Nanos> {
        let (mut cobalt, mut rng) = (Cobalt::default(), rng());
        let times = (0..=end).step_by(10 * MICROSECOND as usize);
        times.filter(|&now| drops_one(&mut cobalt, law, now, SECOND, &mut rng)).collect()
    }

    fn by(drops: &[Nanos]) -> [usize; 3] {
        [500, 1000, 2000].map(|ms| drops.iter().filter(|at| **at <= ms * MILLISECOND).count())
    }

    /// 100 ms, then each gap is 100 ms over the square root of 2, 3, and so on.
    #[test]
    fn drops_follow_the_square_root() {
        let drops = drops(&LAW, 2 * SECOND);
        for (found, expected) in drops.iter().zip([100.0, 170.71, 228.45, 278.45, 323.17, 363.99, 401.79]) {
            let found = *found as f64 / 1e6;
            assert!((found - expected).abs() < 0.03, "{found} ms, not {expected} ms");
        }
        assert_eq!(by(&drops), [9, 32, 114]);
    }

    /// With a root that starts at 0, the second packet is dropped, and each later drop is 100 ms earlier.
    #[test]
    fn a_root_from_zero_drops_at_once() {
        let drops = drops(&CobaltLaw { root_from_zero: true, ..LAW }, 2 * SECOND);
        assert_eq!((drops[0], by(&drops)), (10 * MICROSECOND, [13, 38, 125]));
    }

    /// Drops at 100 and 170.71 ms make a count of 3 and a next drop at 228.45 ms. Packets from 210 ms on are in time: the count is 2
    /// then, 1 at 228.45 + 70.71 ms, and 0 another 100 ms later.
    #[test]
    fn the_count_falls_with_time() {
        let (mut cobalt, mut rng) = (Cobalt::default(), rng());
        for now in (0..200 * MILLISECOND).step_by(10 * MICROSECOND as usize) {
            drops_one(&mut cobalt, &LAW, now, SECOND, &mut rng);
        }
        let mut counts = vec![cobalt.count];
        for now in [210, 230, 300, 400, 500].map(|ms| ms * MILLISECOND) {
            assert!(!drops_one(&mut cobalt, &LAW, now, 0, &mut rng));
            counts.push(cobalt.count);
        }
        assert_eq!(counts, [3, 3, 2, 1, 0, 0]);
        assert!(!cobalt.is_at_rest(599 * MILLISECOND) && cobalt.is_at_rest(600 * MILLISECOND));
    }

    /// Packets are over target for 90 ms, then one is in time. The drop of the drop state is due at 100 ms, and the first packet over target
    /// after that is dropped. The next one is due after 100 ms for the new state, and 70.71 ms for the count of 2.
    #[test]
    fn a_packet_in_time_does_not_cancel_a_drop() {
        let (mut cobalt, mut rng) = (Cobalt::default(), rng());
        let mut drops = |now: Nanos, waited| drops_one(&mut cobalt, &LAW, now * MILLISECOND, waited, &mut rng);
        assert!(!drops(0, SECOND) && !drops(90, SECOND) && !drops(95, 0));
        assert!(drops(101, SECOND));
        assert_eq!((cobalt.count, cobalt.next / 1000), (2, 271_710));
    }

    /// Waiting times that a few packets of the largest size explain are no reason for a drop.
    #[test]
    fn four_packet_times_are_never_over_target() {
        let slow = CobaltLaw { mtu_time: 10 * MILLISECOND, ..LAW };
        assert!(!is_over(&slow, 40 * MILLISECOND, 9) && is_over(&slow, 41 * MILLISECOND, 9));
        let ingress = CobaltLaw { ingress: true, ..slow };
        assert!(!is_over(&ingress, 60 * MILLISECOND, 3) && is_over(&ingress, 61 * MILLISECOND, 3));
        assert!(!is_over(&LAW, 5 * MILLISECOND, 9) && is_over(&LAW, 5 * MILLISECOND + 1, 9));
    }

    /// Ten overflows, 6 ms apart, give 10/256. Another one within a target changes nothing. An empty queue takes back 1/4096 each 6 ms.
    #[test]
    fn blue_rises_and_falls_once_per_target() {
        let (mut cobalt, mut now) = (Cobalt::default(), 0);
        for _ in 0..10 {
            now += 6 * MILLISECOND;
            cobalt.overflow(&LAW, now);
            cobalt.overflow(&LAW, now + 5 * MILLISECOND);
        }
        assert_eq!((cobalt.probability, cobalt.count), (10.0 / 256.0, 1));
        for _ in 0..160 {
            now += 6 * MILLISECOND;
            assert!(!cobalt.is_at_rest(now));
            cobalt.find_empty(&LAW, now);
        }
        assert!((cobalt.probability, cobalt.count) == (0.0, 0) && cobalt.is_at_rest(now + SECOND));
    }

    /// BLUE drops with its probability, also packets in time: half of 10,000, within five standard deviations of 50.
    #[test]
    fn blue_drops_with_its_probability() {
        let (mut cobalt, mut rng) = (Cobalt { probability: 0.5, ..Cobalt::default() }, rng());
        let dropped = (0..10_000).filter(|_| cobalt.decide(&LAW, 0, 0, 1, &mut rng).blue).count();
        assert!((4750..5250).contains(&dropped), "{dropped}");
    }

    /// An overflow begins the drop state: the next packet over target is dropped.
    #[test]
    fn a_packet_over_target_after_an_overflow_is_dropped() {
        let mut cobalt = Cobalt::default();
        cobalt.overflow(&LAW, MILLISECOND);
        assert!(cobalt.decide(&LAW, 2 * MILLISECOND, SECOND, 1, &mut rng()).due);
    }
}
