//! How losses are found and repaired, a file for each recovery. The sender has windows, timer and measurements; it tells the
//! recovery what has come, and asks what that means and which segment goes next. None of it is asked while nothing is lost or
//! suspected, unless the recovery never rests ([`Repair::is_quiet`]).

mod duplicates;
mod newreno;
mod reno;
mod sack;
mod scoreboard;
mod tahoe;
mod vegas;

use crate::packet::SackBlocks;
use crate::transport::progress::Progress;
use crate::transport::recovery::Recovery;
use crate::transport::rto::RttEstimator;
use fullpipe_cc::Nanos;

/// Duplicate ACKs, or segments SACKed above a hole, that show a loss (RFC 5681 section 3.2, RFC 6675 section 2).
const DUP_THRESH: u32 = 3;

/// An ACK as recoveries get it.
#[derive(Clone, Copy, Debug)]
pub struct News<'a> {
    /// When it comes.
    pub now: Nanos,
    /// By how many segments it moves the cumulative point; 0 for a duplicate.
    pub acked: u64,
    /// How many segments its SACK blocks newly report.
    pub sacked: u64,
    /// Round trips as measured, this ACK's included.
    pub rtt: &'a RttEstimator,
}

/// What an ACK of new data means.
#[derive(Clone, Copy, Debug, Default)]
pub struct Verdict {
    /// The episode is over.
    pub over: bool,
    /// The retransmission timer goes on as it is, instead of starting anew.
    pub keeps_timer: bool,
    /// A loss is found.
    pub loss: Option<Loss>,
}

/// What a loss that was found calls for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Fast recovery, and a smaller window.
    Cut,
    /// Fast recovery; the window has been cut for this loss already.
    Repair,
    /// The same as a further step of the repair under way, which is not counted anew.
    RepairNext,
    /// Slow start from one segment.
    Restart,
}

/// What a recovery has to say; each call comes once [`Progress`] is up to date.
pub trait Repair {
    /// A new connection begins.
    fn reset(&mut self);

    /// An ACK that asks for `cumulative` carries SACK blocks; says how many segments they newly report. Called before anything
    /// else of the ACK is looked at, the cumulative point included.
    fn on_sack(&mut self, _blocks: &SackBlocks, _cumulative: u64, _progress: &Progress) -> u64 {
        0
    }

    /// An ACK has moved the cumulative point.
    fn on_new_ack(&mut self, news: &News, progress: &Progress) -> Verdict;

    /// An ACK has not moved it, and something is outstanding.
    fn on_duplicate_ack(&mut self, news: &News, progress: &Progress) -> Option<Loss>;

    /// Fast recovery begins; the window has been cut if it was to be.
    fn begin(&mut self, progress: &Progress);

    /// Slow start from one segment begins.
    fn restart(&mut self, now: Nanos, progress: &mut Progress);

    /// The next segment that goes while the congestion window is `window` segments.
    fn next_segment(&mut self, window: u64, progress: &mut Progress) -> Option<u64>;

    /// Segment `seq` is sent.
    fn on_sent(&mut self, _seq: u64, _now: Nanos) {}

    /// From when the round trip counts that the ACK of `seq` ends, whose timestamp says `stamp`; `None` where it is no sample.
    fn sample_from(&self, _seq: u64, stamp: Nanos) -> Option<Nanos> {
        Some(stamp)
    }

    /// Segments thought to be in the network.
    fn in_network(&self, progress: &Progress) -> u64;

    /// It suspects nothing, and needs to know of nothing but what calls for a repair.
    fn is_quiet(&self) -> bool;

    /// Bytes it holds on the heap.
    fn heap_bytes(&self) -> usize {
        0
    }
}

/// Lists the recoveries once: the enum that dispatches to them, and how each begins.
macro_rules! recoveries {
    ($($variant:ident($type:ty)),+ $(,)?) => {
        /// Any recovery, dispatched without a pointer.
        #[derive(Clone, Debug)]
        pub enum Any { $($variant($type)),+ }

        impl Any {
            /// That of `kind`, of a connection that has sent nothing.
            pub fn new(kind: Recovery) -> Any {
                match kind { $(Recovery::$variant => Any::$variant(Default::default())),+ }
            }
        }

        impl Repair for Any {
            fn reset(&mut self) {
                match self { $(Any::$variant(repair) => repair.reset()),+ }
            }
            fn on_sack(&mut self, blocks: &SackBlocks, cumulative: u64, progress: &Progress) -> u64 {
                match self { $(Any::$variant(repair) => repair.on_sack(blocks, cumulative, progress)),+ }
            }
            fn on_new_ack(&mut self, news: &News, progress: &Progress) -> Verdict {
                match self { $(Any::$variant(repair) => repair.on_new_ack(news, progress)),+ }
            }
            fn on_duplicate_ack(&mut self, news: &News, progress: &Progress) -> Option<Loss> {
                match self { $(Any::$variant(repair) => repair.on_duplicate_ack(news, progress)),+ }
            }
            fn begin(&mut self, progress: &Progress) {
                match self { $(Any::$variant(repair) => repair.begin(progress)),+ }
            }
            fn restart(&mut self, now: Nanos, progress: &mut Progress) {
                match self { $(Any::$variant(repair) => repair.restart(now, progress)),+ }
            }
            #[inline]
            fn next_segment(&mut self, window: u64, progress: &mut Progress) -> Option<u64> {
                match self { $(Any::$variant(repair) => repair.next_segment(window, progress)),+ }
            }
            #[inline]
            fn on_sent(&mut self, seq: u64, now: Nanos) {
                match self { $(Any::$variant(repair) => repair.on_sent(seq, now)),+ }
            }
            #[inline]
            fn sample_from(&self, seq: u64, stamp: Nanos) -> Option<Nanos> {
                match self { $(Any::$variant(repair) => repair.sample_from(seq, stamp)),+ }
            }
            fn in_network(&self, progress: &Progress) -> u64 {
                match self { $(Any::$variant(repair) => repair.in_network(progress)),+ }
            }
            #[inline]
            fn is_quiet(&self) -> bool {
                match self { $(Any::$variant(repair) => repair.is_quiet()),+ }
            }
            fn heap_bytes(&self) -> usize {
                match self { $(Any::$variant(repair) => repair.heap_bytes()),+ }
            }
        }
    };
}

recoveries! {
    Tahoe(tahoe::Tahoe),
    Reno(reno::Reno),
    NewReno(newreno::NewReno),
    Sack(sack::Sack),
    Vegas(Box<vegas::Vegas>),
}
