//! Structures whose layout differs from that of `fullpipe_cc::packets`.

use crate::NONE;
use fullpipe_cc::Nanos;
use fullpipe_cc::packets::{Acked, Path, RateSample, Sent};

/// Declares [`CPath`] with its conversions from and to [`Path`].
macro_rules! path {
    (numbers: $($number:ident),+; times: $($time:ident),+; after: $($after:ident),+; flags: $($flag:ident),+) => {
        /// State of the sender after an event: `struct fullpipe_path`, whose fields are those of [`Path`]. Unknown times are [`NONE`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(C)]
        #[expect(missing_docs, reason = "see `Path`")]
        pub struct CPath {
            /// Bytes of this structure.
            pub size: u64,
            $(pub $number: u64,)+
            $(pub $time: u64,)+
            $(pub $after: u64,)+
            $(pub $flag: u8,)+
            pub reserved: [u8; 5],
            pub datagram: u64,
        }

        impl From<&Path> for CPath {
            fn from(path: &Path) -> CPath {
                CPath {
                    size: size_of::<CPath>() as u64,
                    $($number: path.$number,)+
                    $($time: path.$time.unwrap_or(NONE),)+
                    $($after: path.$after,)+
                    $($flag: path.$flag.into(),)+
                    reserved: [0; 5],
                    datagram: path.datagram,
                }
            }
        }

        impl From<&CPath> for Path {
            fn from(path: &CPath) -> Path {
                let mut found = Path::default();
                $(found.$number = path.$number;)+
                $(found.$time = known(path.$time);)+
                $(found.$after = path.$after;)+
                $(found.$flag = path.$flag != 0;)+
                found.datagram = path.datagram;
                found
            }
        }
    };
}

path! {
    numbers: now, in_flight, prior_in_flight, delivered, lost, spurious, sent, ce, delivered_at, first_sent_at;
    times: latest_rtt, smoothed_rtt, rttvar, min_rtt;
    after: max_ack_delay, pto, next_packet, round;
    flags: in_recovery, cwnd_limited, app_limited
}

fn known(time: u64) -> Option<Nanos> {
    Some(time).filter(|&time| time != NONE)
}

/// Packet that an ACK newly acknowledges: `struct fullpipe_acked`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct CAcked {
    /// Packet as it was sent.
    pub sent: Sent,
    /// Time at which the ACK arrived.
    pub acked_at: u64,
    /// Rate sample, if there is one.
    pub rate: RateSample,
    /// Whether there is a rate sample.
    pub has_rate: u8,
    /// Zero.
    pub reserved: [u8; 7],
}

impl From<&Acked> for CAcked {
    fn from(acked: &Acked) -> CAcked {
        CAcked {
            sent: acked.sent,
            acked_at: acked.acked_at,
            rate: acked.rate.unwrap_or_default(),
            has_rate: acked.rate.is_some().into(),
            reserved: [0; 7],
        }
    }
}

impl From<&CAcked> for Acked {
    fn from(acked: &CAcked) -> Acked {
        Acked { sent: acked.sent, acked_at: acked.acked_at, rate: Some(acked.rate).filter(|_| acked.has_rate != 0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_survive_both_conversions() {
        let mut path = Path::default();
        (path.now, path.in_flight, path.first_sent_at, path.round, path.datagram) = (7, 1200, 3, 9, 1252);
        (path.min_rtt, path.rttvar, path.cwnd_limited) = (Some(5), None, true);
        let as_c = CPath::from(&path);
        assert_eq!((as_c.size, as_c.min_rtt, as_c.rttvar), (168, 5, u64::MAX));
        assert_eq!(Path::from(&as_c), path);
        for rate in [None, Some(RateSample { delivered: 2400, ..RateSample::default() })] {
            let acked = Acked { acked_at: 11, rate, ..Acked::default() };
            assert_eq!(Acked::from(&CAcked::from(&acked)), acked);
        }
    }
}
