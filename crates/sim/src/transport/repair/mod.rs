//! How losses are found and repaired, a file for each recovery. The sender has windows, timer and measurements; it tells the
//! recovery what has come, and asks what that means and which segment goes next. None of it is asked while nothing is lost or
//! suspected, unless the recovery has to know of all segments ([`Repair::watches_all`]), and then little ([`Repair::rest`]).

mod duplicates;
mod newreno;
mod probe;
mod prr;
mod rack;
mod reno;
mod reordering;
mod sack;
mod scoreboard;
mod tahoe;
mod undo;
mod vegas;

use crate::packet::SackBlocks;
use crate::scenario::Tcp;
use crate::transport::progress::Progress;
use crate::transport::rate::Sampler;
use crate::transport::recovery::Recovery;
use crate::transport::rto::RttEstimator;
use fullpipe_cc::{CongestionControl, Nanos};

/// Duplicate ACKs, or segments SACKed above a hole, that show a loss (RFC 5681 section 3.2, RFC 6675 section 2).
const DUP_THRESH: u32 = 3;

/// An ACK as recoveries get it.
#[derive(Clone, Copy, Debug)]
pub struct News<'a> {
    /// When it comes.
    pub now: Nanos,
    /// The sender's timestamp that it echoes.
    pub stamp: Nanos,
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
    /// A smaller window, and nothing else: it is repaired already.
    Repaired,
}

/// What the timer's expiry means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiry {
    /// The retransmission timeout.
    Timeout,
    /// A probe goes, and the retransmission timer starts anew.
    Probe,
    /// It was the recovery's own; a loss may be found.
    Looked(Option<Loss>),
}

/// What a recovery has to say; each call comes once [`Progress`] is up to date.
pub trait Repair {
    /// A new connection begins.
    fn reset(&mut self);

    /// An ACK that comes at `now` and asks for `cumulative` carries SACK blocks; says how many segments they newly report, and puts
    /// these to `news`, where somebody asks which, some of them twice perhaps. Called before anything else of the ACK is looked at, the cumulative point included.
    fn on_sack(
        &mut self,
        _blocks: &SackBlocks,
        _cumulative: u64,
        _now: Nanos,
        _progress: &Progress,
        _news: Option<&mut Vec<u64>>,
    ) -> u64 {
        0
    }

    /// An ACK has moved the cumulative point.
    fn on_new_ack(&mut self, news: &News, progress: &Progress) -> Verdict;

    /// An ACK has not moved it, and something is outstanding.
    fn on_duplicate_ack(&mut self, news: &News, progress: &Progress) -> Option<Loss>;

    /// Fast recovery is about to begin; the window has been cut if it was to be, and is `window` segments.
    fn begin(&mut self, window: u64, progress: &Progress);

    /// The window has been cut after a mark, from `from` to `to` segments; says whether it is to sink there over a round trip.
    fn sinks(&mut self, _from: u64, _to: u64, _progress: &Progress) -> bool {
        false
    }

    /// Slow start from one segment begins.
    fn restart(&mut self, now: Nanos, progress: &mut Progress);

    /// The next segment that goes while the congestion window is `window` segments.
    fn next_segment(&mut self, window: u64, progress: &mut Progress) -> Option<u64>;

    /// Nothing is to be sent again, and the window alone says how much goes: as long as no ACK comes, what it lets go is new.
    fn sends_only_new(&self, _progress: &Progress) -> bool {
        false
    }

    /// Those from `first` on have been sent then: as [`Repair::on_sent`] for each.
    fn on_new(&mut self, _first: u64, _now: Nanos, _rtt: &RttEstimator, _progress: &Progress) {}

    /// Segment `seq` is sent.
    fn on_sent(&mut self, _seq: u64, _now: Nanos, _rtt: &RttEstimator, _progress: &Progress) {}

    /// The retransmission timer is set to expire at `rto_at`; says when the sender is to be woken.
    fn wake_at(&mut self, rto_at: Nanos) -> Nanos {
        rto_at
    }

    /// The recovery may have set timers of its own; `wake_at` is when the sender would be woken without, says when it is to be.
    fn rewake_at(&self, wake_at: Nanos) -> Nanos {
        wake_at
    }

    /// The sender is woken.
    fn on_timer(&mut self, _now: Nanos, _progress: &Progress) -> Expiry {
        Expiry::Timeout
    }

    /// The window is about to be cut; `before` is what it is and what the slow-start threshold is, where a needless cut can show.
    fn on_cut(&mut self, _before: Option<(f64, f64)>) {}

    /// The ACK just handled shows that the last cut was needless; what both were before it. Says so once.
    fn undoes(&mut self) -> Option<(f64, f64)> {
        None
    }

    /// From when the round trip counts that the ACK of `seq` ends, whose timestamp says `stamp`; `None` where it is no sample.
    fn sample_from(&self, _seq: u64, stamp: Nanos) -> Option<Nanos> {
        Some(stamp)
    }

    /// It has found segments lost, and tells which; others tell nothing of them but that they go again.
    fn has_found(&self) -> bool {
        false
    }

    /// The segments found lost since it was last asked, put to `found` in the order in which they were.
    fn take_found(&mut self, _found: &mut Vec<u64>) {}

    /// Segments thought to be in the network.
    fn in_network(&self, progress: &Progress) -> u64;

    /// Segments beyond the cumulative point that are known, or thought, to have arrived.
    fn arrived(&self, progress: &Progress) -> u64;

    /// It suspects nothing.
    fn is_calm(&self) -> bool;

    /// It has to know of every segment sent and acknowledged, also while it suspects nothing.
    fn watches_all(&self) -> bool {
        false
    }

    /// It suspects nothing, and is told of segments by [`Repair::note_sent`] and [`Repair::note_acked`] alone from now on, until
    /// [`Repair::rouse`]; false where it will not rest, or not yet.
    fn rest(&mut self, _progress: &Progress) -> bool {
        !self.watches_all()
    }

    /// The last `count` segments before `nxt` are sent for the first time; 0 where when is known by what measures the rate of delivery.
    fn note_sent(&mut self, _count: u64, _now: Nanos, _rtt: &RttEstimator, _progress: &Progress) {}

    /// An ACK without SACK blocks has moved the cumulative point by `acked` segments, of which the last was sent at `sent`, if that is known
    /// elsewhere.
    fn note_acked(
        &mut self,
        _acked: u64,
        _sent: Option<Nanos>,
        _now: Nanos,
        _rtt: &RttEstimator,
        _progress: &Progress,
    ) {
    }

    /// Its rest is over. When the segments outstanding were sent may be known elsewhere.
    fn rouse(&mut self, _rtt: &RttEstimator, _progress: &Progress, _known: Option<&Sampler>) {}

    /// Bytes it holds on the heap.
    fn heap_bytes(&self) -> usize {
        0
    }
}

/// Any recovery, dispatched without a pointer.
#[derive(Clone, Debug)]
pub enum Any {
    /// Jacobson 1988.
    Tahoe(tahoe::Tahoe),
    /// RFC 5681.
    Reno(reno::Reno),
    /// RFC 6582.
    NewReno(newreno::NewReno),
    /// RFC 6675.
    Sack(sack::Sack),
    /// RFC 8985.
    Rack(Box<rack::Rack>),
    /// Brakmo and Peterson 1995.
    Vegas(Box<vegas::Vegas>),
}

impl Any {
    /// What `tcp` asks for, of a connection that has sent nothing and whose window is `cc`'s.
    pub fn new(tcp: &Tcp, cc: &impl CongestionControl) -> Any {
        let prr = tcp.prr && !cc.rules_recovery();
        match tcp.recovery {
            Recovery::Tahoe => Any::Tahoe(Default::default()),
            Recovery::Reno => Any::Reno(Default::default()),
            Recovery::NewReno => Any::NewReno(Default::default()),
            Recovery::Sack => Any::Sack(sack::Sack::new(prr)),
            Recovery::Rack => {
                Any::Rack(Box::new(rack::Rack::of(tcp, prr, cc.takes_rate_samples() || cc.takes_packets())))
            }
            Recovery::Vegas => Any::Vegas(Default::default()),
        }
    }
}

/// A call to whichever recovery it is.
macro_rules! each {
    ($any:expr, $repair:ident => $call:expr) => {
        match $any {
            Any::Tahoe($repair) => $call,
            Any::Reno($repair) => $call,
            Any::NewReno($repair) => $call,
            Any::Sack($repair) => $call,
            Any::Rack($repair) => $call,
            Any::Vegas($repair) => $call,
        }
    };
}

impl Repair for Any {
    #[inline]
    fn reset(&mut self) {
        each!(self, repair => repair.reset())
    }

    #[inline]
    fn on_sack(
        &mut self,
        blocks: &SackBlocks,
        cumulative: u64,
        now: Nanos,
        progress: &Progress,
        news: Option<&mut Vec<u64>>,
    ) -> u64 {
        each!(self, repair => repair.on_sack(blocks, cumulative, now, progress, news))
    }

    #[inline]
    fn on_new_ack(&mut self, news: &News, progress: &Progress) -> Verdict {
        each!(self, repair => repair.on_new_ack(news, progress))
    }

    #[inline]
    fn on_duplicate_ack(&mut self, news: &News, progress: &Progress) -> Option<Loss> {
        each!(self, repair => repair.on_duplicate_ack(news, progress))
    }

    #[inline]
    fn begin(&mut self, window: u64, progress: &Progress) {
        each!(self, repair => repair.begin(window, progress))
    }

    #[inline]
    fn sinks(&mut self, from: u64, to: u64, progress: &Progress) -> bool {
        each!(self, repair => repair.sinks(from, to, progress))
    }

    #[inline]
    fn restart(&mut self, now: Nanos, progress: &mut Progress) {
        each!(self, repair => repair.restart(now, progress))
    }

    #[inline]
    fn next_segment(&mut self, window: u64, progress: &mut Progress) -> Option<u64> {
        each!(self, repair => repair.next_segment(window, progress))
    }

    #[inline]
    fn sends_only_new(&self, progress: &Progress) -> bool {
        each!(self, repair => repair.sends_only_new(progress))
    }

    #[inline(always)]
    fn on_new(&mut self, first: u64, now: Nanos, rtt: &RttEstimator, progress: &Progress) {
        each!(self, repair => repair.on_new(first, now, rtt, progress))
    }

    #[inline]
    fn on_sent(&mut self, seq: u64, now: Nanos, rtt: &RttEstimator, progress: &Progress) {
        each!(self, repair => repair.on_sent(seq, now, rtt, progress))
    }

    #[inline]
    fn wake_at(&mut self, rto_at: Nanos) -> Nanos {
        each!(self, repair => repair.wake_at(rto_at))
    }

    #[inline]
    fn rewake_at(&self, wake_at: Nanos) -> Nanos {
        each!(self, repair => repair.rewake_at(wake_at))
    }

    #[inline]
    fn on_timer(&mut self, now: Nanos, progress: &Progress) -> Expiry {
        each!(self, repair => repair.on_timer(now, progress))
    }

    #[inline]
    fn on_cut(&mut self, before: Option<(f64, f64)>) {
        each!(self, repair => repair.on_cut(before))
    }

    #[inline]
    fn undoes(&mut self) -> Option<(f64, f64)> {
        each!(self, repair => repair.undoes())
    }

    #[inline]
    fn sample_from(&self, seq: u64, stamp: Nanos) -> Option<Nanos> {
        each!(self, repair => repair.sample_from(seq, stamp))
    }

    #[inline]
    fn has_found(&self) -> bool {
        each!(self, repair => repair.has_found())
    }

    fn take_found(&mut self, found: &mut Vec<u64>) {
        each!(self, repair => repair.take_found(found))
    }

    #[inline(always)]
    fn in_network(&self, progress: &Progress) -> u64 {
        each!(self, repair => repair.in_network(progress))
    }

    fn arrived(&self, progress: &Progress) -> u64 {
        each!(self, repair => repair.arrived(progress))
    }

    #[inline]
    fn is_calm(&self) -> bool {
        each!(self, repair => repair.is_calm())
    }

    #[inline]
    fn watches_all(&self) -> bool {
        each!(self, repair => repair.watches_all())
    }

    fn rest(&mut self, progress: &Progress) -> bool {
        each!(self, repair => repair.rest(progress))
    }

    #[inline(always)]
    fn note_sent(&mut self, count: u64, now: Nanos, rtt: &RttEstimator, progress: &Progress) {
        each!(self, repair => repair.note_sent(count, now, rtt, progress))
    }

    #[inline(always)]
    fn note_acked(&mut self, acked: u64, sent: Option<Nanos>, now: Nanos, rtt: &RttEstimator, progress: &Progress) {
        each!(self, repair => repair.note_acked(acked, sent, now, rtt, progress))
    }

    fn rouse(&mut self, rtt: &RttEstimator, progress: &Progress, known: Option<&Sampler>) {
        each!(self, repair => repair.rouse(rtt, progress, known))
    }

    #[inline]
    fn heap_bytes(&self) -> usize {
        each!(self, repair => repair.heap_bytes())
    }
}
