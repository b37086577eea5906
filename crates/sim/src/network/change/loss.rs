//! Losses on the wire: each packet for itself, in bursts as a channel with two states has them, or packets of given numbers.
//!
//! The channel of Gilbert (*Capacity of a Burst-Noise Channel*, BSTJ 39, 1960) and Elliott (*Estimates of Error Rates for Codes on
//! Burst-Noise Channels*, BSTJ 42, 1963), of packets instead of digits: from the good state it goes to the bad one with probability `p`,
//! back with `r`; a packet comes through with `k` in the good one and with `h` in the bad one. It begins in the good state, and may
//! change it after each packet. In the long run r (1 - k) + p (1 - h) of p + r packets are lost.

use crate::rng::{Identity, Purpose, Rng};
use crate::scenario::{Link, Loss, Samples};
use fullpipe_cc::Nanos;

/// Decides for one packet after another.
#[derive(Debug)]
pub struct Losses {
    loss: Loss,
    /// For losses each for itself.
    wire: Rng,
    /// For those of a channel with two states.
    bursts: Rng,
    bad: bool,
    /// Numbers of packets that are lost besides, the last one first.
    chosen: Vec<u64>,
    /// Probabilities over time, in the place of `loss`.
    trace: Option<Samples>,
}

impl Losses {
    /// Losses of a link. `identity` is that of its direction.
    pub fn of(link: &Link, seed: u64, identity: Identity) -> Losses {
        Losses { trace: link.loss_trace.clone(), ..Losses::new(link.loss, &link.drop, seed, identity) }
    }

    fn new(loss: Loss, chosen: &[u64], seed: u64, identity: Identity) -> Losses {
        let (wire, bursts) = (Rng::new(seed, Purpose::Wire, identity), Rng::new(seed, Purpose::Bursts, identity));
        Losses { loss, wire, bursts, bad: false, chosen: chosen.iter().rev().copied().collect(), trace: None }
    }

    /// The losses are these from now on.
    pub fn set(&mut self, loss: Loss) {
        if loss != self.loss {
            self.loss = loss;
            self.bad = false;
        }
    }

    /// Whether the packet that arrives at `now` as number `number`, from 1 on, is lost.
    #[inline]
    pub fn take_next(&mut self, now: Nanos, number: u64) -> bool {
        if let Some(trace) = &self.trace {
            self.loss = Loss::Independent(trace.at(now));
        }
        let random = self.is_lost_at_random();
        random || self.is_chosen(number)
    }

    fn is_chosen(&mut self, number: u64) -> bool {
        // Packets that did not get to the wire have passed by.
        while self.chosen.last().is_some_and(|next| *next < number) {
            self.chosen.pop();
        }
        let is_next = self.chosen.last() == Some(&number);
        if is_next {
            self.chosen.pop();
        }
        is_next
    }

    fn is_lost_at_random(&mut self) -> bool {
        match self.loss {
            Loss::Independent(p) => p > 0.0 && self.wire.unit() <= p,
            Loss::GilbertElliott { p, r, h, k } => {
                let (arrives, leaves) = if self.bad { (h, r) } else { (k, p) };
                let lost = self.bursts.unit() > arrives;
                self.bad ^= self.bursts.unit() <= leaves;
                lost
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Interpolation;

    /// Lengths of the runs of lost packets, and how many of a million are lost.
    fn bursts(loss: Loss) -> (Vec<u32>, f64) {
        let mut losses = Losses::new(loss, &[], 1, Identity::NONE);
        let (mut bursts, mut length) = (Vec::new(), 0);
        for _ in 0..1_000_000 {
            match losses.take_next(0, 0) {
                true => length += 1,
                false if length > 0 => bursts.push(std::mem::take(&mut length)),
                false => {}
            }
        }
        let lost = bursts.iter().sum::<u32>();
        (bursts, f64::from(lost) / 1e6)
    }

    fn mean(lengths: &[u32]) -> f64 {
        f64::from(lengths.iter().sum::<u32>()) / lengths.len() as f64
    }

    /// p / (p + r) = 0.01 / 0.26 of the packets, in bursts of 1 / r = 4 (geometric: a quarter are of one).
    #[test]
    fn gilberts_channel_loses_in_bursts() {
        let (lengths, lost) = bursts(Loss::GilbertElliott { p: 0.01, r: 0.25, h: 0.0, k: 1.0 });
        assert!((lost - 0.03846).abs() < 0.001, "{lost}");
        assert!((mean(&lengths) - 4.0).abs() < 0.1, "{}", mean(&lengths));
        let single = lengths.iter().filter(|&&length| length == 1).count() as f64 / lengths.len() as f64;
        assert!((single - 0.25).abs() < 0.02, "{single}");
    }

    /// (0.25 x 0.02 + 0.01 x 0.5) / 0.26 = 0.03846 again.
    #[test]
    fn elliotts_channel_loses_in_both_states() {
        let (_, lost) = bursts(Loss::GilbertElliott { p: 0.01, r: 0.25, h: 0.5, k: 0.98 });
        assert!((lost - 0.03846).abs() < 0.001, "{lost}");
    }

    /// Bursts of losses each for itself with probability 0.1 are of 1 / 0.9.
    #[test]
    fn independent_losses_are_no_bursts() {
        let (lengths, lost) = bursts(Loss::Independent(0.1));
        assert!((lost - 0.1).abs() < 0.002 && (mean(&lengths) - 1.1111).abs() < 0.02, "{lost}");
    }

    #[test]
    fn certain_is_certain() {
        let mut losses = Losses::new(Loss::Independent(1.0), &[], 1, Identity::NONE);
        assert!((0..1000).all(|_| losses.take_next(0, 0)));
        losses.set(Loss::NONE);
        assert!(!(0..1000).any(|_| losses.take_next(0, 0)));
    }

    /// Number 4 did not get to the wire, and takes no other packet with it.
    #[test]
    fn chosen_packets_are_lost() {
        let mut losses = Losses::new(Loss::NONE, &[1, 4, 5], 1, Identity::NONE);
        assert_eq!([1, 2, 3, 5, 6].map(|number| losses.take_next(0, number)), [true, false, false, true, false]);
    }

    /// None are lost in the first second, all in the second one, and none later.
    #[test]
    fn losses_follow_a_trace() {
        let rows = [(0.0, 0.0), (1.0, 1.0), (2.0, 0.0)];
        let trace = Samples::losses(&rows, Interpolation::Hold, false).expect("samples");
        let link = Link { loss_trace: Some(trace), ..Link::default() };
        let mut losses = Losses::of(&link, 1, Identity::NONE);
        let lost = [0, 999_999_999, 1_000_000_000, 1_999_999_999, 2_000_000_000].map(|now| losses.take_next(now, 0));
        assert_eq!(lost, [false, false, true, true, false]);
    }

    /// The random losses of the other packets stay what they are.
    #[test]
    fn chosen_packets_leave_random_losses_alone() {
        let losses = |chosen: &[u64]| {
            let mut losses = Losses::new(Loss::Independent(0.2), chosen, 1, Identity::NONE);
            (1..1000).filter(|&number| losses.take_next(0, number) && number != 500).collect::<Vec<u64>>()
        };
        assert_eq!(losses(&[500]), losses(&[]));
    }
}
