//! Step: first in, first out; marks every ECN-capable packet while the queue is longer than a threshold, as DCTCP wants it.
//!
//! Source: RFC 8257 section 3.1; M. Alizadeh et al., *Data Center TCP (DCTCP)*, SIGCOMM 2010, section 3.1.
//!
//! - A threshold in packets is compared at arrival: a packet that finds more than `threshold` packets waiting is marked.
//! - A threshold in time is compared at departure: a packet that has waited for longer than `threshold` is marked.
//!
//! # Deviations and choices
//!
//! - **The queue at an arrival** excludes the arriving packet and the packet in transmission.
//! - **A threshold in time** is not in the RFC. It is Linux's `ce_threshold` of codel and fq_codel. Linux also compares the
//!   sojourn time at departure, so that such a mark reaches the sender sooner than a mark at arrival.
//! - **Packets without ECN** wait as in drop-tail. Switches that build the step from RED's parameters (RFC 8257 section 5)
//!   drop them above the threshold.
//! - **The default** is 65 packets, as in the paper for 10 Gbit/s. The RFC has no default but a bound: more than a seventh
//!   of the packets that the link sends in an RTT.

use super::packets::Packets;
use super::params::{Info, Kind, Param, Settings, Value};
use super::{Discipline, Known, Stock};
use crate::packet::Packet;
use fullpipe_cc::Nanos;

/// Parameters in scenarios.
pub static INFO: Info = Info {
    name: "step",
    source: "RFC 8257 section 3.1",
    params: &[Param::new(
        "threshold",
        Kind::PacketsOrTime,
        Some(Value::Packets(65)),
        "Threshold of CE marks: queue that an arriving packet finds, or queueing delay of a packet.",
    )
    .source("Alizadeh et al. 2010, section 4: K = 65 at 10 Gbit/s; RFC 8257 section 3.1: K > RTT C/7")],
    marks: |_| true,
    conflict: |_| None,
};

/// See the head of the file.
#[derive(Debug)]
pub struct Step {
    threshold: Threshold,
    queue: Packets,
}

#[derive(Debug)]
enum Threshold {
    Packets(u64),
    Time(Nanos),
}

impl Step {
    /// An empty one.
    pub fn new(settings: &Settings, _seed: u64, _packet_size: u32) -> Self {
        let threshold = match settings.value("threshold") {
            Some(Value::Time(time)) => Threshold::Time(time),
            _ => Threshold::Packets(settings.whole("threshold")),
        };
        Step { threshold, queue: Packets::default() }
    }
}

impl Discipline for Step {
    fn enqueue(&mut self, known: Known, _class: u32, full: bool, stock: &mut Stock) {
        if full {
            return stock.drop(known.place);
        }
        if matches!(self.threshold, Threshold::Packets(most) if self.queue.len() as u64 > most) {
            stock.mark(known.place);
        }
        self.queue.push(known);
    }

    /// It finds nothing waiting, and does not wait: a threshold is exceeded, not reached.
    #[inline]
    fn lets_pass(&mut self, _now: Nanos, _packet: &Packet, _size: u32) -> bool {
        true
    }

    fn dequeue(&mut self, now: Nanos, stock: &mut Stock) -> Option<Known> {
        let known = self.queue.pop()?;
        if matches!(self.threshold, Threshold::Time(longest) if now - known.entered > longest) {
            stock.mark(known.place);
        }
        Some(known)
    }

    fn heap_bytes(&self) -> usize {
        self.queue.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::discipline::testing::{Bench, queued, settings};
    use crate::packet::Ecn;

    fn step(threshold: Value) -> Bench<Step> {
        Bench::new(Step::new(&settings(&INFO, &[("threshold", threshold)]), 1, 1000))
    }

    /// The ECN fields with which packets leave that all come at 0 and leave a microsecond apart.
    fn sent(mut step: Bench<Step>, come: &[Ecn]) -> (Vec<Ecn>, u64) {
        for (seq, ecn) in come.iter().enumerate() {
            step.come(queued(0, seq as u32, 1000, *ecn, 0), false);
        }
        let mut now = 0;
        let sent = std::iter::from_fn(|| {
            now += 1000;
            Some(step.leave(now)?.packet.ecn())
        });
        (sent.collect(), step.stock.marked)
    }

    /// "Its queue length is greater than the congestion threshold" (RFC 8257 section 3.1): the fourth finds three waiting.
    #[test]
    fn packets_that_find_more_than_the_threshold_are_marked() {
        let (sent, marked) = sent(step(Value::Packets(2)), &[Ecn::Ect0, Ecn::Ect1, Ecn::Ect0, Ecn::Ect1, Ecn::Ect0]);
        assert_eq!(sent, [Ecn::Ect0, Ecn::Ect1, Ecn::Ect0, Ecn::Ce, Ecn::Ce]);
        assert_eq!(marked, 2);
    }

    /// The instantaneous queue, not an average: as soon as it is short the marks end.
    #[test]
    fn the_queue_as_it_is_decides() {
        let mut step = step(Value::Packets(0));
        let arrive = |step: &mut Bench<Step>| step.come(queued(0, 0, 1000, Ecn::Ect0, 0), false);
        arrive(&mut step);
        arrive(&mut step);
        let mut leave = || step.leave(0).unwrap().packet.ecn();
        assert_eq!([leave(), leave()], [Ecn::Ect0, Ecn::Ce]);
        arrive(&mut step);
        assert_eq!(step.leave(0).unwrap().packet.ecn(), Ecn::Ect0);
        assert_eq!(step.stock.marked, 1);
    }

    /// Linux's `ce_threshold`: the packet that leaves at 2 us has waited the threshold and no longer.
    #[test]
    fn packets_that_have_waited_longer_are_marked() {
        let (sent, marked) = sent(step(Value::Time(2000)), &[Ecn::Ect0, Ecn::Ect1, Ecn::Ect0, Ecn::Ect1]);
        assert_eq!(sent, [Ecn::Ect0, Ecn::Ect1, Ecn::Ce, Ecn::Ce]);
        assert_eq!(marked, 2);
    }

    #[test]
    fn what_is_not_ecn_capable_waits_unmarked_and_a_mark_stays() {
        for threshold in [Value::Packets(0), Value::Time(0)] {
            let (sent, marked) = sent(step(threshold), &[Ecn::Ect0, Ecn::NotEct, Ecn::Ce]);
            assert_eq!((sent[1], sent[2]), (Ecn::NotEct, Ecn::Ce));
            assert_eq!(marked, u64::from(threshold == Value::Time(0)));
        }
    }

    #[test]
    fn a_full_buffer_drops_what_comes() {
        let mut step = step(Value::Packets(0));
        step.come(queued(0, 1, 1000, Ecn::Ect0, 0), false);
        step.come(queued(0, 2, 1000, Ecn::Ect0, 0), true);
        assert_eq!((step.dropped(), step.stock.marked), (vec![2], 0));
        assert_eq!(step.queue.queue.len(), 1);
    }

    /// Default K of 65 packets (Alizadeh et al. 2010, section 4).
    #[test]
    fn the_default_is_the_papers() {
        let (sent, marked) = sent(Bench::new(Step::new(&Settings::defaults(&INFO), 1, 1000)), &[Ecn::Ect0; 70]);
        assert_eq!((sent.iter().position(|ecn| *ecn == Ecn::Ce), marked), (Some(66), 4));
    }
}
