//! NewReno of RFC 9002 appendix B.

use super::control::{PacketControl, Path};
use super::record::{Acked, Lost, Rtt};
use crate::Start;
use crate::parts::number::float;
use crate::time::Nanos;

/// NewReno of RFC 9002 appendix B: window in bytes, recovery by send time.
///
/// ```
/// use fullpipe_cc::Start;
/// use fullpipe_cc::packets::{Acked, Lost, LostBy, NewReno, PacketControl, Path, Rtt, Sent};
///
/// let mut cc = NewReno::new(&Start::from(20.0).segment_bytes(1200));
/// let mut path = Path::default();
/// (path.now, path.datagram, path.cwnd_limited, path.next_packet) = (60_000_000, 1200, true, 20);
/// let sent = Sent { number: 3, bytes: 1200, sent_at: 10_000_000, ..Sent::default() };
/// cc.on_packets_lost(&path, &[Lost { sent, by: LostBy::PacketThreshold, ..Lost::default() }], false);
/// assert_eq!(cc.window_bytes(), 12_000, "half of 24000 bytes");
/// let rtt = Rtt { sample: 50_000_000, adjusted: 50_000_000, ack_delay: 0, packet: 20 };
/// let later = Sent { number: 20, sent_at: 61_000_000, ..sent };
/// cc.on_packets_acked(&path, &[Acked { sent: later, ..Acked::default() }], Some(rtt));
/// assert_eq!(cc.window_bytes(), 12_000 + 1200 * 1200 / 12_000, "RFC 9002 appendix B.5");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct NewReno {
    window: f64,
    ssthresh: f64,
    /// Start of the last recovery period; packets sent up to then belong to it.
    recovery_start: Option<Nanos>,
}

impl NewReno {
    /// NewReno of a connection that begins as `start` has it.
    pub fn new(start: &Start) -> NewReno {
        let window = start.window * f64::from(start.segment_bytes);
        NewReno { window, ssthresh: f64::INFINITY, recovery_start: None }
    }

    fn is_in_recovery(&self, sent_at: Nanos) -> bool {
        self.recovery_start.is_some_and(|start| sent_at <= start)
    }
}

impl PacketControl for NewReno {
    fn on_packets_acked(&mut self, path: &Path, acked: &[Acked], _: Option<Rtt>) {
        // Section 7.8: an underutilized window does not grow.
        if !path.cwnd_limited {
            return;
        }
        for packet in acked {
            if self.is_in_recovery(packet.sent.sent_at) {
                continue;
            }
            let bytes = float(packet.sent.bytes);
            let slow_start = self.window < self.ssthresh;
            self.window += if slow_start { bytes } else { float(path.datagram) * bytes / self.window };
        }
    }

    fn on_packets_lost(&mut self, path: &Path, lost: &[Lost], persistent: bool) {
        let least = 2.0 * float(path.datagram);
        let newest = lost.iter().map(|packet| packet.sent.sent_at).max().unwrap_or(0);
        if !self.is_in_recovery(newest) {
            self.recovery_start = Some(path.now);
            self.ssthresh = self.window * 0.5;
            self.window = self.ssthresh.max(least);
        }
        if persistent {
            self.window = least;
            self.recovery_start = None;
        }
    }

    fn window_bytes(&self) -> u64 {
        self.window as u64
    }

    fn ssthresh_bytes(&self) -> Option<u64> {
        self.ssthresh.is_finite().then_some(self.ssthresh as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packets::Sent;

    const MS: Nanos = 1_000_000;

    fn newreno(bytes: u64) -> NewReno {
        NewReno::new(&Start::from(bytes as f64 / 1200.0).segment_bytes(1200))
    }

    fn path(now: Nanos) -> Path {
        Path { now, datagram: 1200, cwnd_limited: true, ..Path::default() }
    }

    fn sent(sent_at: Nanos) -> Sent {
        Sent { bytes: 1200, sent_at, ..Sent::default() }
    }

    fn ack(cc: &mut NewReno, now: Nanos, sent_at: Nanos) -> u64 {
        cc.on_packets_acked(&path(now), &[Acked { sent: sent(sent_at), ..Acked::default() }], None);
        cc.window_bytes()
    }

    fn lose(cc: &mut NewReno, now: Nanos, sent_at: Nanos, persistent: bool) -> u64 {
        cc.on_packets_lost(&path(now), &[Lost { sent: sent(sent_at), ..Lost::default() }], persistent);
        cc.window_bytes()
    }

    /// RFC 9002 section 7.3.2: a loss at 10 ms begins a recovery. A packet sent at that moment belongs to it, one sent later does not.
    #[test]
    fn a_recovery_period_goes_by_send_time() {
        let mut cc = newreno(24_000);
        assert_eq!(lose(&mut cc, 10 * MS, 5 * MS, false), 12_000);
        assert_eq!(lose(&mut cc, 12 * MS, 10 * MS, false), 12_000);
        assert_eq!(ack(&mut cc, 13 * MS, 10 * MS), 12_000, "no growth in recovery");
        assert_eq!(ack(&mut cc, 14 * MS, 10 * MS + 1), 12_120);
        assert_eq!(lose(&mut cc, 15 * MS, 10 * MS + 1, false), 6_060);
    }

    /// RFC 9002 section 7.3.3 allows one datagram per round: ten packets of a window of ten grow it by 1150.38 bytes.
    #[test]
    fn congestion_avoidance_grows_by_less_than_a_datagram_per_round() {
        let mut cc = newreno(24_000);
        lose(&mut cc, 1, 0, false);
        (0..10).for_each(|packet| {
            ack(&mut cc, 100 * MS, 50 * MS + packet);
        });
        assert_eq!((cc.window * 100.0).round(), 1_315_038.0);
    }

    /// RFC 9002 section 7.6.2: persistent congestion leaves two datagrams and the threshold of the loss, and slow start follows at once.
    #[test]
    fn persistent_congestion_leaves_two_datagrams() {
        let mut cc = newreno(24_000);
        assert_eq!(lose(&mut cc, 10 * MS, 5 * MS, true), 2_400);
        assert_eq!(cc.ssthresh_bytes(), Some(12_000));
        assert_eq!(ack(&mut cc, 11 * MS, 6 * MS), 3_600);
    }

    #[test]
    fn an_underutilized_window_does_not_grow() {
        let mut cc = newreno(24_000);
        let path = Path { cwnd_limited: false, ..path(MS) };
        cc.on_packets_acked(&path, &[Acked { sent: sent(0), ..Acked::default() }], None);
        assert_eq!(cc.window_bytes(), 24_000);
    }
}
