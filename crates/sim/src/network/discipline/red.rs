//! RED: drops arrivals at random, the sooner the longer the queue has been on average.
//!
//! Source: S. Floyd and V. Jacobson, *Random Early Detection Gateways for Congestion Avoidance*, IEEE/ACM Transactions
//! on Networking 1(4), 1993, figure 2; gentle as in S. Floyd, *Recommendations on using the "gentle_" variant of RED*,
//! 2000. Each arrival first brings the average up to date, with q the packets waiting:
//!
//! - avg = (1 - w_q) avg + w_q q; where the link has been idle, avg = (1 - w_q)^m avg, m being the packets it could
//!   have sent;
//! - below min_th nothing is dropped; between min_th and max_th p_b = max_p (avg - min_th)/(max_th - min_th), and
//!   gentle p_b = max_p + (1 - max_p) (avg - max_th)/max_th between max_th and 2 max_th; beyond, every arrival is
//!   dropped;
//! - p_a = p_b/(1 - count p_b), count being the arrivals let in since the last drop: gaps between drops are uniform on
//!   1 to 1/p_b.
//!
//! # Deviations and choices
//!
//! - **The texts** of the paper and of the recommendation were not read. Equations and constants are those that other texts and
//!   implementations quote.
//! - **The count** of figure 2 is 1 for the first packet after a drop, which makes gaps uniform on 1 to 1/p_b - 1; here
//!   it is 0, as section 7 defines it, for gaps uniform on 1 to 1/p_b. `gaps` offers independent coin tosses (the
//!   paper's method 1) and ns-2's rule, ns-3's default, that waits 1/p_b packets before it chooses within the next
//!   1/p_b.
//! - **One draw a gap** (`gaps = "drawn"`) is Linux's rule: after a drop R is drawn, uniform on 0 to 1, and the next arrival
//!   to go is the first with count p_b >= R; the first one above min_th never is. At a steady average both rules agree;
//!   while the average falls, count p_b hardly grows and almost no packet is dropped, unlike with p_a.
//! - **The queue** of an arrival is the number of packets waiting, without the packet in service. An arrival that finds the queue
//!   empty but the link busy, or free at that very moment, counts as a sample of 0; idle time begins once the link has
//!   sent its last packet.
//! - **Idle time** is counted in packets of the scenario's packet size at the link's rate, parts of a packet included;
//!   in an outage, at the rate before it.
//! - **Queues are counted in packets**, and p_b does not depend on a packet's size (the paper offers both).
//! - **ECN** (`ecn`) marks below max_th; from max_th on packets are dropped, gentle or not, since marks have failed
//!   then (RFC 3168 section 7). Linux marks there too, unless `harddrop` is set.
//! - **A full buffer** drops the arrival, which has counted for the average; the count continues.
//! - `gentle` is on, as recommended since 2000; figure 2 has every packet dropped from max_th on.

use super::outlet::Outlet;
use super::packets::Packets;
use super::params::{Info, Param, Settings};
use super::{Discipline, Known, Stock};
use crate::rng::{Identity, Purpose, Rng};
use fullpipe_cc::Nanos;

/// Name, source, and parameters of RED in scenarios.
pub static INFO: Info = Info {
    name: "red",
    source: "S. Floyd, V. Jacobson, Random Early Detection Gateways for Congestion Avoidance, IEEE/ACM ToN 1(4), 1993",
    params: &[
        Param::packets("min_th", 5, 1, 1_000_000_000, "Average queue below which no packet is dropped.")
            .source("Floyd and Jacobson 1993, section 5: 5 packets"),
        Param::packets("max_th", 15, 1, 1_000_000_000, "Average queue at which p_b reaches max_p.")
            .source("Floyd and Jacobson 1993, section 5: 15 packets, at least twice min_th"),
        Param::number("max_p", 0.02, 0.0, 1.0, "p_b at max_th.").source("Floyd and Jacobson 1993, section 5: 1/50"),
        Param::number("w_q", 0.002, 1e-6, 1.0, "Weight of the newest sample in the average.")
            .source("Floyd and Jacobson 1993, section 6: 0.002"),
        GENTLE,
        GAPS,
        ECN,
    ],
    marks: |settings| settings.flag("ecn"),
    conflict: |settings| settings.not_below("min_th", "max_th"),
};

/// For ARED too.
pub(super) const GENTLE: Param = Param::flag(
    "gentle",
    true,
    "Gentle variant: p_b rises from max_p at max_th to 1 at twice max_th. Otherwise all packets are dropped from max_th on.",
)
.source("S. Floyd, Recommendations on using the \"gentle_\" variant of RED, 2000");

/// For ARED too.
pub(super) const GAPS: Param = Param::choice(
    "gaps",
    &["uniform", "geometric", "wait", "drawn"],
    "Distribution of the packets between drops: uniform in [1, 1/p_b], geometric, uniform in [1/p_b, 2/p_b] (wait), or sampled once per gap (drawn).",
)
.source("Floyd and Jacobson 1993, section 7, methods 2 and 1; ns-2's and ns-3's Wait; Linux");

/// For ARED too.
pub(super) const ECN: Param =
    Param::flag("ecn", false, "Mark ECN-capable packets below max_th instead of dropping them.")
        .source("RFC 3168 section 5; off as in Linux and ns-3");

/// What decides over arrivals.
#[derive(Clone, Copy, Debug)]
pub(super) struct RedLaw {
    pub min_th: f64,
    pub max_th: f64,
    pub max_p: f64,
    pub w_q: f64,
    pub gentle: bool,
    pub gaps: Gaps,
    pub ecn: bool,
}

impl RedLaw {
    /// p_b: 1 where every arrival is dropped.
    fn p_b(&self, average: f64) -> f64 {
        let RedLaw { min_th, max_th, max_p, .. } = *self;
        if average < min_th {
            0.0
        } else if average < max_th {
            max_p * (average - min_th) / (max_th - min_th)
        } else if self.gentle && average < 2.0 * max_th {
            max_p + (1.0 - max_p) * (average - max_th) / max_th
        } else {
            1.0
        }
    }
}

/// How many packets are let in between two drops.
#[derive(Clone, Copy, Debug)]
pub(super) enum Gaps {
    Uniform,
    Geometric,
    Wait,
    Drawn,
}

impl Gaps {
    /// Rule that the settings name.
    pub fn new(settings: &Settings) -> Gaps {
        match settings.choice("gaps") {
            "geometric" => Gaps::Geometric,
            "wait" => Gaps::Wait,
            "drawn" => Gaps::Drawn,
            _ => Gaps::Uniform,
        }
    }
}

/// What becomes of an arrival.
enum Verdict {
    Admit,
    Signal,
    Drop,
}

/// See the head of the file.
#[derive(Debug)]
pub struct Red {
    pub(super) law: RedLaw,
    /// avg, packets, as of the last arrival.
    average: f64,
    /// count: arrivals let in since the last drop or mark.
    admitted: u64,
    /// R, for gaps drawn once.
    drawn: f64,
    /// When a packet came last.
    sampled_at: Nanos,
    outlet: Outlet,
    packet_size: u32,
    queue: Packets,
    rng: Rng,
}

impl Red {
    /// An empty one.
    pub fn new(settings: &Settings, seed: u64, packet_size: u32) -> Self {
        let law = RedLaw {
            min_th: settings.number("min_th"),
            max_th: settings.number("max_th"),
            max_p: settings.number("max_p"),
            w_q: settings.number("w_q"),
            gentle: settings.flag("gentle"),
            gaps: Gaps::new(settings),
            ecn: settings.flag("ecn"),
        };
        Red::with(law, seed, packet_size)
    }

    /// An empty one that follows `law`.
    pub(super) fn with(law: RedLaw, seed: u64, packet_size: u32) -> Self {
        Red {
            law,
            average: 0.0,
            admitted: 0,
            drawn: 0.0,
            sampled_at: 0,
            outlet: Outlet::default(),
            packet_size,
            queue: Packets::default(),
            rng: Rng::new(seed, Purpose::Queue, Identity::NONE),
        }
    }

    /// Since when the link has had nothing to send and avg has not been brought up to date, if it has not at `now`.
    fn idle_since(&self, now: Nanos) -> Option<Nanos> {
        let since = self.outlet.free_at().max(self.sampled_at);
        (!self.holds_packets() && since < now).then_some(since)
    }

    /// avg, packets, with the idle time up to `now`.
    pub(super) fn average_at(&self, now: Nanos) -> f64 {
        // Nothing sinks from 0, and a power is dear: a link that never has a queue comes here with each packet.
        if self.average == 0.0 {
            return 0.0;
        }
        let Some(since) = self.idle_since(now) else { return self.average };
        let packets = (now - since) as f64 / self.outlet.nanos_of(self.packet_size);
        self.average * libm::pow(1.0 - self.law.w_q, packets)
    }

    /// Sets avg.
    #[cfg(test)]
    pub(super) fn hold(&mut self, average: f64) {
        self.average = average;
    }

    /// Whether any waits, so that avg does not sink until a packet comes or goes.
    pub(super) fn holds_packets(&self) -> bool {
        !self.queue.is_empty()
    }

    fn verdict(&mut self) -> Verdict {
        let p_b = self.law.p_b(self.average);
        if p_b > 0.0 && self.chosen(p_b) {
            self.admitted = 0;
            return if self.average < self.law.max_th { Verdict::Signal } else { Verdict::Drop };
        }
        self.admitted = if self.average < self.law.min_th { 0 } else { self.admitted + 1 };
        Verdict::Admit
    }

    /// Whether this arrival is to go, at p_a.
    fn chosen(&mut self, p_b: f64) -> bool {
        let count = self.admitted as f64;
        match self.law.gaps {
            Gaps::Uniform => self.rng.unit() * (1.0 - count * p_b) <= p_b,
            Gaps::Geometric => self.rng.unit() <= p_b,
            Gaps::Drawn if self.admitted == 0 => {
                self.drawn = self.rng.unit();
                false
            }
            Gaps::Drawn => count * p_b >= self.drawn,
            Gaps::Wait => (count + 1.0) * p_b >= 1.0 && self.rng.unit() * (2.0 - (count + 1.0) * p_b) <= p_b,
        }
    }
}

impl Discipline for Red {
    fn enqueue(&mut self, known: Known, _class: u32, full: bool, stock: &mut Stock) {
        let now = known.entered;
        self.average = match self.idle_since(now) {
            Some(_) => self.average_at(now),
            None => (1.0 - self.law.w_q) * self.average + self.law.w_q * self.queue.len() as f64,
        };
        self.sampled_at = now;
        let admitted = match self.verdict() {
            _ if full => false,
            Verdict::Admit => true,
            Verdict::Signal => self.law.ecn && stock.mark(known.place),
            Verdict::Drop => false,
        };
        match admitted {
            true => self.queue.push(known),
            false => stock.drop(known.place),
        }
    }

    fn dequeue(&mut self, now: Nanos, _stock: &mut Stock) -> Option<Known> {
        let known = self.queue.pop()?;
        self.outlet.take(now, known.size);
        Some(known)
    }

    fn set_rate(&mut self, _now: Nanos, rate_bps: u64) {
        self.outlet.set_rate(rate_bps);
    }

    fn heap_bytes(&self) -> usize {
        self.queue.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{come, dropped, queued, settings};
    use super::*;
    use crate::network::discipline::params::Value;
    use crate::packet::Ecn;
    use fullpipe_cc::time::{MICROSECOND, MILLISECOND};

    /// At 10 Mbit/s, a packet of 1000 bytes takes 0.8 ms.
    fn red(given: &[(&'static str, Value)]) -> Red {
        let mut red = Red::new(&settings(&INFO, given), 1, 1000);
        red.set_rate(0, 10_000_000);
        red
    }

    fn arrive(red: &mut Red, now: Nanos, ecn: Ecn) -> Stock {
        let mut stock = Stock::default();
        come(red, queued(0, 0, 1000, ecn, now), false, &mut stock);
        stock
    }

    /// avg after arrivals at once that find 0, 1, 2, ... L packets.
    fn average_of_burst(w_q: f64, l: u64) -> f64 {
        let mut red =
            red(&[("w_q", Value::Number(w_q)), ("min_th", Value::Packets(1000)), ("max_th", Value::Packets(3000))]);
        for _ in 0..=l {
            arrive(&mut red, 0, Ecn::NotEct);
        }
        red.average
    }

    /// Floyd and Jacobson 1993, section 6: avg = L + 1 + ((1 - w)^(L+1) - 1)/w.
    #[test]
    fn bursts_raise_the_average_as_the_paper_says() {
        for (l, average) in [(10, 0.109), (25, 0.640), (50, 2.469), (100, 9.465)] {
            assert!((average_of_burst(0.002, l) - average).abs() < 5e-4, "L = {l}: {}", average_of_burst(0.002, l));
        }
        // The greatest weight that keeps a burst of 50 below a min_th of 5 is 0.0042, rounded.
        assert!(average_of_burst(0.004_15, 50) < 5.0 && average_of_burst(0.004_25, 50) > 5.0);
    }

    /// -1/ln(1 - 0.002) = 499.5 arrivals.
    #[test]
    fn the_average_goes_two_thirds_of_the_way_in_499_arrivals() {
        let mut red = red(&[]);
        arrive(&mut red, 0, Ecn::NotEct);
        let mut arrivals = 0;
        while red.average < 1.0 - libm::exp(-1.0) {
            arrive(&mut red, 0, Ecn::NotEct);
            red.dequeue(0, &mut Stock::default());
            arrivals += 1;
        }
        assert_eq!(arrivals, 500);
    }

    #[test]
    fn idle_time_counts_as_the_packets_that_could_have_been_sent() {
        let mut red = red(&[]);
        arrive(&mut red, 0, Ecn::NotEct);
        // It is being sent from 9.2 to 10 ms; 400 ms later are 500 packet times: 0.998^500 = 0.3675.
        red.dequeue(9200 * MICROSECOND, &mut Stock::default());
        red.average = 4.0;
        arrive(&mut red, 410 * MILLISECOND, Ecn::NotEct);
        assert!((red.average - 4.0 * 0.367_51).abs() < 1e-4, "{}", red.average);
        // The next is being sent to 410.8 ms: what comes before that is a sample of 0, and time does not count.
        red.dequeue(410 * MILLISECOND, &mut Stock::default());
        red.average = 4.0;
        arrive(&mut red, 410_790 * MICROSECOND, Ecn::NotEct);
        assert_eq!(red.average, 0.998 * 4.0);
    }

    /// The first comes as the link is just free, a sample of 0; then idle times of 400 ms in all, 500 packets: 0.998^501.
    #[test]
    fn a_drop_does_not_end_idle_time() {
        let mut red = red(&[]);
        red.average = 1000.0;
        for at in [0, 200, 400] {
            assert_eq!(arrive(&mut red, at * MILLISECOND, Ecn::NotEct).dropped.len(), 1);
        }
        assert!((red.average - 1000.0 * 0.998 * 0.367_51).abs() < 0.01, "{}", red.average);
    }

    #[test]
    fn p_b_rises_to_max_p_and_then_gently_to_1() {
        let gentle = red(&[]).law;
        let p_b = [(4.9, 0.0), (5.0, 0.0), (10.0, 0.01), (15.0, 0.02), (22.5, 0.51), (30.0, 1.0), (99.0, 1.0)];
        for (average, expected) in p_b {
            assert!((gentle.p_b(average) - expected).abs() < 1e-12, "{average}: {}", gentle.p_b(average));
        }
        let steep = red(&[("gentle", Value::Flag(false))]).law;
        assert!((steep.p_b(14.999) - 0.02).abs() < 1e-4);
        assert_eq!(steep.p_b(15.0), 1.0);
    }

    /// Packets from one drop to the next with p_b = 0.02: how often each number occurs in a million arrivals.
    fn gaps(rule: &'static str) -> Vec<u32> {
        let mut red = red(&[("gaps", Value::Name(rule)), ("max_p", Value::Number(0.04))]);
        red.average = 10.0;
        let (mut gaps, mut gap) = (vec![0; 2000], 0);
        for _ in 0..1_000_000 {
            gap += 1;
            if matches!(red.verdict(), Verdict::Signal) {
                gaps[gap] += 1;
                gap = 0;
            }
        }
        gaps
    }

    fn mean(gaps: &[u32]) -> f64 {
        let sum: f64 = gaps.iter().enumerate().map(|(gap, &n)| gap as f64 * f64::from(n)).sum();
        sum / f64::from(gaps.iter().sum::<u32>())
    }

    /// Floyd and Jacobson 1993, section 7: uniform on 1 to 50, mean 25.5; 39,216 gaps, 784 of each, standard deviation
    /// 28.
    #[test]
    fn gaps_between_drops_are_uniform() {
        let gaps = gaps("uniform");
        assert!((mean(&gaps) - 25.5).abs() < 0.3, "{}", mean(&gaps));
        assert!(gaps[1..=50].iter().all(|n| (784 - 140..784 + 140).contains(n)), "{gaps:?}");
        assert_eq!(gaps[51..].iter().sum::<u32>(), 0);
    }

    #[test]
    fn gaps_may_be_geometric_or_wait() {
        let geometric = gaps("geometric");
        assert!((mean(&geometric) - 50.0).abs() < 1.5, "{}", mean(&geometric));
        // 0.98^50 = 0.364 of them are longer than 50.
        let long = f64::from(geometric[51..].iter().sum::<u32>()) / f64::from(geometric.iter().sum::<u32>());
        assert!((long - 0.364).abs() < 0.02, "{long}");
        // Uniform on 50 to 99.
        let wait = gaps("wait");
        assert!((mean(&wait) - 74.5).abs() < 0.6, "{}", mean(&wait));
        assert!(wait[50..100].iter().all(|n| *n > 0));
        assert_eq!(wait[..50].iter().chain(&wait[100..]).sum::<u32>(), 0);
    }

    /// Linux's rule: after an arrival that only draws, R/p_b more, rounded up and at least 1: mean 1 + 25.5. While p_b sinks as fast
    /// as the count grows, none.
    #[test]
    fn gaps_may_be_drawn_once() {
        let gaps = gaps("drawn");
        assert!((mean(&gaps) - 26.5).abs() < 0.3, "{}", mean(&gaps));
        assert_eq!(gaps[..2].iter().chain(&gaps[52..]).sum::<u32>(), 0);
        let mut sinking = red(&[("gaps", Value::Name("drawn")), ("max_p", Value::Number(0.04))]);
        let dropped = (1..1000).filter(|count| {
            sinking.average = 5.0 + 0.01 / f64::from(*count);
            matches!(sinking.verdict(), Verdict::Signal)
        });
        assert_eq!(dropped.count(), 0);
    }

    /// Packets that come at the link's rate, each as the link gets free: it never rests, and each is a sample of 0.
    #[test]
    fn what_finds_the_link_just_free_is_a_sample() {
        let mut red = red(&[("w_q", Value::Number(0.25))]);
        red.average = 4.0;
        for n in 0..3 {
            let now = 800 * MICROSECOND * n;
            arrive(&mut red, now, Ecn::NotEct);
            red.dequeue(now, &mut Stock::default());
        }
        assert_eq!(red.average, 4.0 * 0.75 * 0.75 * 0.75);
    }

    /// What 1000 arrivals of a kind get at a given average: drops and marks.
    fn toll(ecn: bool, average: f64, field: Ecn) -> (usize, u64) {
        let mut red = red(&[("ecn", Value::Flag(ecn)), ("w_q", Value::Number(1e-6))]);
        let (mut dropped, mut marked) = (0, 0);
        for _ in 0..1000 {
            red.average = average;
            let stock = arrive(&mut red, 0, field);
            (dropped, marked) = (dropped + stock.dropped.len(), marked + stock.marked);
            red.dequeue(0, &mut Stock::default());
        }
        (dropped, marked)
    }

    #[test]
    fn ecn_marks_below_max_th_alone() {
        assert_eq!(toll(true, 4.9, Ecn::Ect0), (0, 0));
        let (dropped, marked) = toll(true, 14.9, Ecn::Ect0);
        assert!(dropped == 0 && marked > 20, "{dropped} {marked}");
        let (dropped, marked) = toll(false, 14.9, Ecn::Ect0);
        assert!(dropped > 20 && marked == 0, "{dropped} {marked}");
        let (dropped, marked) = toll(true, 14.9, Ecn::NotEct);
        assert!(dropped > 20 && marked == 0, "{dropped} {marked}");
        assert_eq!(toll(true, 30.1, Ecn::Ect0), (1000, 0));
        // Marked before: neither dropped nor counted.
        assert_eq!(toll(true, 14.9, Ecn::Ce), (0, 0));
    }

    #[test]
    fn a_full_buffer_drops_and_the_arrival_counts() {
        let mut red = red(&[]);
        arrive(&mut red, 0, Ecn::NotEct);
        let mut stock = Stock::default();
        come(&mut red, queued(0, 7, 1000, Ecn::Ect0, 0), true, &mut stock);
        assert_eq!((dropped(&mut stock)[0].packet.seq, red.average, red.queue.len()), (7, 0.002, 1));
    }

    /// Floyd and Jacobson 1993, figure 2: below min_th the count starts again. Three arrivals at an average of 10 make it 3; one at 4.9, below
    /// min_th = 5, makes it 0, and the next at 5 makes it 1.
    #[test]
    fn the_count_starts_again_below_min_th() {
        let mut red = red(&[("max_p", Value::Number(0.0))]);
        let counts = [10.0, 10.0, 10.0, 4.9, 5.0].map(|average| {
            red.average = average;
            red.verdict();
            red.admitted
        });
        assert_eq!(counts, [1, 2, 3, 0, 1]);
    }
}
