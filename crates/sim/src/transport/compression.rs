//! SACK compression: the receiver delays ACKs that only report segments behind a hole, as Linux does (tcp_comp_sack_delay_ns,
//! tcp_comp_sack_slack_ns, and tcp_comp_sack_nr in ip-sysctl; __tcp_ack_snd_check in net/ipv4/tcp_input.c of Linux 6.8, by behavior).
//!
//! - The first three ACKs for a hole leave at once, so that the sender detects the loss as early as without compression.
//! - After those, an ACK waits for 5 % of the RTT, at most 1 ms, and for the timer's slack of 100 us. One ACK at most 44 segments later
//!   reports all of them.
//! - A delayed ACK leaves before a segment that would displace a SACK block it has not reported: one that extends none of the two
//!   latest blocks, while there are two or more (TCP_SACK_BLOCKS_EXPECTED).
//! - A segment that fills a hole, or has arrived before, is acknowledged at once, together with all delayed ones.
//! - Quick ACKs: while the receive window grows, for 16 ACKs after this, and for 16 after a duplicate segment, ACKs are neither delayed nor
//!   compressed (tcp_incr_quickack, tcp_grow_window). The window grows by two segments with each segment that arrives, from 64,240 bytes.
//!
//! Deviation: the window grows to the half of tcp_rmem's default maximum on all paths, with segments of 1448 bytes. The receive buffer of
//! Linux also follows the data of a round trip, so on a path with a small bandwidth-delay product the growth ends earlier, with slow start.
//! The virtual machine sets the buffer (SO_RCVBUFFORCE), so it does not follow there, and the growth ends at the window of that buffer.
//!
//! Deviation: the RTT is that of the path without queues, which the handshake measures. Linux takes the smaller one of the handshake's and of
//! its receive-buffer estimate. The two differ only where 5 % of the RTT are below 1 ms.

use fullpipe_cc::Nanos;
use fullpipe_cc::time::{MICROSECOND, MILLISECOND};

/// Maximum delay, and the timer's slack.
const MAX_DELAY: Nanos = MILLISECOND;
const SLACK: Nanos = 100 * MICROSECOND;
/// Most ACKs that one ACK replaces.
const MAX_COMPRESSED: u8 = 44;
/// ACKs for a hole that leave at once (TCP_FASTRETRANS_THRESH).
const AT_ONCE: u8 = 3;
/// Quick ACKs (TCP_MAX_QUICKACKS).
const QUICK: u16 = 16;
/// Segments that let the receive window grow: from 64,240 bytes to the half of 6,291,456 (tcp_rmem), 2 * 1448 bytes each.
const GROWING: u16 = ((6_291_456 / 2 - 64_240) / (2 * 1448)) as u16;
/// Quick ACKs of a new connection.
const FIRST: u16 = GROWING + QUICK;

/// State of SACK compression; the default is off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compression {
    /// Delay of an ACK, nanoseconds; 0 is off.
    delay: u32,
    /// ACKs for the current hole that left at once.
    at_once: u8,
    /// ACKs compressed since the last one left.
    compressed: u8,
    /// Quick ACKs left.
    quick: u16,
}

impl Compression {
    /// Compression for a path with the given RTT.
    pub fn of(rtt: Nanos) -> Compression {
        let delay = (rtt / 20).min(MAX_DELAY) + SLACK;
        Compression { delay: delay as u32, quick: FIRST, ..Compression::default() }
    }

    /// State at the beginning of another connection.
    pub fn reset(self) -> Compression {
        let quick = if self.is_on() { FIRST } else { 0 };
        Compression { delay: self.delay, quick, ..Compression::default() }
    }

    /// Whether the receiver compresses ACKs.
    pub fn is_on(self) -> bool {
        self.delay > 0
    }

    /// Whether ACKs must neither be delayed nor compressed now.
    #[inline(always)]
    pub fn is_quick(self) -> bool {
        self.quick > 0
    }

    /// Whether ACKs have been compressed since the last one left.
    #[inline(always)]
    pub fn has_compressed(self) -> bool {
        self.compressed > 0
    }

    /// Delay of the ACK of a segment behind the hole; `None` if it leaves at once.
    pub fn delay(&mut self) -> Option<Nanos> {
        if !self.is_on() || self.quick > 0 || self.compressed >= MAX_COMPRESSED {
            return None;
        }
        if self.at_once < AT_ONCE {
            self.at_once += 1;
            return None;
        }
        self.compressed += 1;
        Some(self.delay.into())
    }

    /// The next segment expected has changed: by one segment, with others still missing, or by more.
    pub fn on_advance(&mut self, by_one: bool) {
        self.at_once = u8::from(by_one);
    }

    /// A segment has arrived that was acknowledged before.
    pub fn on_duplicate(&mut self) {
        if self.is_on() {
            self.quick = self.quick.max(QUICK);
        }
    }

    /// An ACK leaves.
    #[inline(always)]
    pub fn on_ack(&mut self) {
        self.compressed = 0;
        self.quick = self.quick.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = MILLISECOND;

    /// 5 % of 10 ms are 0.5 ms; 1 ms is the maximum; 0.1 ms of slack in either case.
    #[test]
    fn the_delay_follows_the_round_trip() {
        for (rtt, expected) in [(10 * MS, 600_000), (20 * MS, 1_100_000), (300 * MS, 1_100_000)] {
            let mut compression = Compression { quick: 0, at_once: AT_ONCE, ..Compression::of(rtt) };
            assert_eq!(compression.delay(), Some(expected), "{rtt}");
        }
    }

    /// The window has room for 3,145,728 - 64,240 = 3,081,488 bytes, or 1064 times 2896, and 16 quick ACKs follow. Then, of 60 segments behind
    /// a hole the first three are acknowledged at once, 44 are compressed, and the next is acknowledged at once again. A new hole has three
    /// ACKs at once, or two if the last ACK advanced by one segment.
    #[test]
    fn three_at_once_then_one_of_45() {
        let mut compression = Compression::of(100 * MS);
        let waits = |compression: &mut Compression, count| {
            let mut at_once = Vec::new();
            for k in 1..=count {
                if compression.delay().is_none() {
                    at_once.push(k);
                    compression.on_ack();
                }
            }
            at_once
        };
        assert_eq!(waits(&mut compression, 1080 + 60).len(), 1080 + 3 + 1);
        compression.on_advance(false);
        assert_eq!(waits(&mut compression, 60), [1, 2, 3, 48]);
        compression.on_ack();
        compression.on_advance(true);
        assert_eq!(waits(&mut compression, 60), [1, 2, 47]);
        compression.on_duplicate();
        assert_eq!(waits(&mut compression, 16).len(), 16);
        let mut new = compression.reset();
        new.on_duplicate();
        assert_eq!(waits(&mut new, 1080 + 3 + 44).len(), 1080 + 3, "a duplicate takes no quick ACK away");
        let mut off = Compression::default();
        off.on_duplicate();
        assert_eq!(waits(&mut off, 60).len(), 60);
    }
}
