//! Tail loss probes: RFC 8985 section 7. Where ACKs stay away, a segment is sent that brings one, so that losses at the end of a
//! flight are found without a timeout.

use crate::transport::progress::{Phase, Progress};
use crate::transport::rto::RttEstimator;
use fullpipe_cc::Nanos;

/// Linux adds this to the PTO (TCP_TIMEOUT_MIN_US); for a single segment in flight, `min_rto` instead.
const LINUX_MARGIN: Nanos = 2_000_000;

/// PTO where no round trip has been measured (section 7.2).
const INITIAL_PTO: Nanos = 1_000_000_000;

/// The probe's timer, and the probe that is out.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Probe {
    /// When one is to go; `Nanos::MAX` if none is.
    pub at: Nanos,
    /// One goes now.
    pub due: bool,
    /// TLP.max_ack_delay: how long the receiver may hold an ACK.
    max_ack_delay: Nanos,
    /// TLP.end_seq: least cumulative number of the ACK of the last probe; none if no probe is out.
    end: Option<u64>,
    /// TLP.is_retrans: it was no new data.
    again: bool,
    /// A round trip has been measured since the last probe, or none has been sent.
    sampled: bool,
}

impl Probe {
    /// None out, none to go.
    pub fn new(max_ack_delay: Nanos) -> Probe {
        Probe { at: Nanos::MAX, due: false, max_ack_delay, end: None, again: false, sampled: true }
    }

    /// Forgets everything: a new connection.
    pub fn reset(&mut self) {
        *self = Probe::new(self.max_ack_delay);
    }

    /// Section 7.2: new data has been sent, or acknowledged, at `now`. Like the RTO, the PTO is above SRTT by a tick of the clock that
    /// measures it at least.
    #[inline]
    pub fn schedule(&mut self, now: Nanos, rtt: &RttEstimator, progress: &Progress) {
        // Before the first sample of data the round trip of the handshake is used for SRTT, as with the RTO.
        let twice = |round_trip: Nanos| round_trip + round_trip.max(rtt.granularity());
        let known = rtt.smoothed().or(Some(rtt.handshake()).filter(|&handshake| handshake > 0));
        let pto = known.map_or(INITIAL_PTO, twice);
        let held = match (progress.flight_size() == 1, rtt.is_linux()) {
            (true, true) => rtt.min_rto(),
            (true, false) => self.max_ack_delay,
            (false, true) => LINUX_MARGIN,
            (false, false) => 0,
        };
        self.at = now + pto + held;
    }

    /// None is to go.
    pub fn cancel(&mut self) {
        self.at = Nanos::MAX;
    }

    /// A repair begins: it makes up for the probe.
    pub fn abandon(&mut self) {
        self.cancel();
        self.due = false;
        self.end = None;
    }

    /// Section 7.3: the timer has expired. One goes if none is out, and a round trip has been measured since the last.
    pub fn expire(&mut self) {
        self.cancel();
        self.due = self.end.is_none() && self.sampled;
    }

    /// Section 7.3: the probe that goes, new data if there is any, otherwise the highest segment.
    pub fn next_segment(&mut self, progress: &mut Progress) -> Option<u64> {
        self.due = false;
        let highest = progress.high.checked_sub(1).filter(|&highest| highest >= progress.una);
        let seq = progress.next_new().or(highest)?;
        self.again = Some(seq) == highest;
        self.end = Some(progress.nxt);
        self.sampled = false;
        Some(seq)
    }

    /// Section 7.4: an ACK, which may report that segment `duplicate` arrived twice. Returns whether the probe has repaired
    /// a loss: everything sent before it has arrived, and it did not arrive twice.
    pub fn on_ack(&mut self, progress: &Progress, duplicate: Option<u64>) -> bool {
        let Some(end) = self.end.filter(|&end| progress.una >= end) else { return false };
        let needless = duplicate.is_some_and(|seq| seq + 1 == end);
        let repaired = self.again && !needless && progress.una > end;
        if !self.again || needless || repaired {
            self.end = None;
        }
        repaired && progress.phase == Phase::Open
    }

    /// Whether no probe is out, and none waits to be sent.
    pub fn is_idle(&self) -> bool {
        self.end.is_none() && !self.due
    }

    /// The probe that is out is the last segment sent before `nxt`.
    pub fn is_out(&self, nxt: u64) -> bool {
        self.end == Some(nxt)
    }

    /// A round trip has been measured.
    pub fn on_sample(&mut self) {
        self.sampled = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::rto::RtoRule;

    const MS: Nanos = 1_000_000;

    /// Section 7.2: 1 s before the first sample; then twice SRTT, and as long as the receiver may hold an ACK if one segment is out.
    #[test]
    fn the_time_until_a_probe() {
        let mut probe = Probe::new(40 * MS);
        let mut rtt = RttEstimator::new(200 * MS, 0, 0);
        let mut progress = Progress::new(100, 100);
        progress.nxt = 5;
        probe.schedule(7 * MS, &rtt, &progress);
        assert_eq!(probe.at, 1007 * MS);
        rtt.sample(100 * MS, 0, 0);
        probe.schedule(7 * MS, &rtt, &progress);
        assert_eq!(probe.at, 207 * MS);
        progress.una = 4;
        probe.schedule(7 * MS, &rtt, &progress);
        assert_eq!(probe.at, 247 * MS);
        let mut coarse = RttEstimator::new(200 * MS, 10 * MS, 0);
        coarse.sample(1, 0, 0);
        probe.schedule(7 * MS, &coarse, &Progress { una: 3, ..progress });
        assert_eq!(probe.at, 17 * MS + 1);
    }

    /// Linux (tcp_schedule_loss_probe): twice SRTT and 2 ms, or twice SRTT and `min_rto` if one segment is in flight.
    #[test]
    fn linux_waits_longer_for_a_single_segment() {
        let mut rtt = RttEstimator::new(200 * MS, 1, 0).with_rule(RtoRule::Linux);
        rtt.sample(100 * MS, 0, 0);
        for (flight, expected) in [(2, 202), (1, 400)] {
            let mut probe = Probe::new(40 * MS);
            probe.schedule(0, &rtt, &Progress { nxt: flight, ..Progress::new(100, 100) });
            assert_eq!(probe.at, expected * MS);
        }
    }

    /// Section 7.4, a probe that retransmitted 9, the last of 10 segments. A DSACK of 9 shows that it was spurious; an
    /// ACK beyond it without a DSACK, that it was not. An ACK of 9 itself leaves it open.
    #[test]
    fn what_the_ack_of_a_probe_says() {
        let mut progress = Progress { una: 9, nxt: 10, high: 10, ..Progress::new(10, 100) };
        let mut sent = Probe::new(0);
        sent.expire();
        assert!(sent.due);
        assert_eq!(sent.next_segment(&mut progress), Some(9));
        progress.una = 10;
        let mut twice = sent;
        assert!(!twice.on_ack(&progress, Some(9)) && twice.end.is_none());
        assert!(!sent.on_ack(&progress, None) && sent.end == Some(10));
        progress.una = 11;
        assert!(sent.on_ack(&progress, None) && sent.end.is_none());
    }

    /// Section 7.3: new data is the better probe; a second one goes only after a round trip has been measured.
    #[test]
    fn one_probe_a_round_trip_and_new_data_first() {
        let mut progress = Progress { una: 9, nxt: 10, high: 10, ..Progress::new(11, 100) };
        let mut probe = Probe::new(0);
        probe.expire();
        assert_eq!(probe.next_segment(&mut progress), Some(10));
        progress.una = 11;
        assert!(!probe.on_ack(&progress, None), "new data repairs nothing");
        probe.expire();
        assert!(!probe.due);
        probe.on_sample();
        probe.expire();
        assert!(probe.due);
    }
}
