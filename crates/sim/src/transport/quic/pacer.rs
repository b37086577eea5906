//! Pacer of RFC 9002 section 7.7: a token bucket. Packets leave at a rate, with bursts after pauses.

use fullpipe_cc::Nanos;
use fullpipe_cc::time::SECOND;

/// Longest time between two packets, so that the clock does not overflow.
const LONGEST_GAP: f64 = 1e15;

/// Token bucket: each packet moves the due time of the next one by a gap; a burst may run ahead of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pacer {
    /// Time at which the next packet is due without bursts.
    due: Nanos,
    /// Time of the last wake-up that was asked for.
    wake: Nanos,
}

impl Pacer {
    /// Time at which the next packet may leave, at `rate` packets per second in bursts of `quantum`.
    pub fn next(&self, rate: f64, quantum: u64) -> Nanos {
        self.due.saturating_sub(gap(rate).saturating_mul(quantum.saturating_sub(1)))
    }

    /// Handles a packet that leaves at `now`.
    pub fn on_sent(&mut self, now: Nanos, rate: f64) {
        self.due = self.due.max(now).saturating_add(gap(rate));
    }

    /// Wake-up time of a sender that waits for `at`; `None` if it has been asked for.
    pub fn wake(&mut self, at: Nanos) -> Option<Nanos> {
        (std::mem::replace(&mut self.wake, at) != at).then_some(at)
    }
}

fn gap(rate: f64) -> Nanos {
    (SECOND as f64 / rate).ceil().min(LONGEST_GAP) as Nanos
}

#[cfg(test)]
mod tests {
    use super::*;
    use fullpipe_cc::time::MILLISECOND as MS;

    /// 1000 packets per second in bursts of 4: four leave at once, then one each millisecond. A pause of 2 ms saves two.
    #[test]
    fn bursts_and_pauses() {
        let mut pacer = Pacer::default();
        let mut at = Vec::new();
        for earliest in [100, 0, 0, 0, 0, 0, 104, 0, 0] {
            let now = pacer.next(1000.0, 4).max(earliest * MS).max(at.last().copied().unwrap_or(0));
            pacer.on_sent(now, 1000.0);
            at.push(now);
        }
        assert_eq!(at.iter().map(|at| at / MS).collect::<Vec<_>>(), [100, 100, 100, 100, 101, 102, 104, 104, 105]);
    }
}
