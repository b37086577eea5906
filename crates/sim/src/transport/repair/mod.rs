//! Loss recovery, one file per kind. The sender has windows, timers, and measurements. A recovery decides which segments are lost, and which
//! segment is sent next. A sender without losses, records, and pacer does not call it (see [`Sender`](super::sender::Sender)).

mod duplicates;
mod newreno;
mod probe;
mod prr;
pub mod rack;
mod reno;
mod reordering;
mod sack;
mod scoreboard;
mod tahoe;
pub mod undo;
mod vegas;

use crate::packet::SackBlocks;
use crate::scenario::Tcp;
use crate::transport::outstanding::Outstanding;
use crate::transport::progress::Progress;
use crate::transport::recovery::Recovery;
use crate::transport::rto::RttEstimator;
use fullpipe_cc::{CongestionControl, Nanos};

/// Duplicate ACKs, or segments SACKed above a hole, that show a loss (RFC 5681 section 3.2, RFC 6675 section 2).
const DUP_THRESH: u32 = 3;

/// State of the sender that a recovery reads and changes.
#[derive(Debug)]
pub struct Context<'a> {
    /// Time, on the flow's clock.
    pub now: Nanos,
    /// Round-trip times and timeout, the sample of the current ACK included.
    pub rtt: &'a RttEstimator,
    /// Sequence numbers and phase.
    pub progress: &'a mut Progress,
    /// Records of the outstanding segments; empty for recoveries that need none, unless the algorithm takes rate samples.
    pub outstanding: &'a mut Outstanding,
}

/// An ACK.
#[derive(Clone, Copy, Debug)]
pub struct AckEvent {
    /// Echoed timestamp of the sender.
    pub stamp: Nanos,
    /// Newly acknowledged segments; 0 for a duplicate ACK.
    pub acked: u64,
    /// Segments that its SACK blocks newly report.
    pub sacked: u64,
}

/// Consequences of an ACK.
#[derive(Clone, Copy, Debug, Default)]
pub struct Verdict {
    /// The recovery or reduction is over.
    pub over: bool,
    /// The retransmission timer keeps its time instead of restarting.
    pub keeps_timer: bool,
    /// A loss is found.
    pub loss: Option<Loss>,
}

/// Response to a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Fast recovery and a smaller window.
    Cut,
    /// Fast recovery; the window has been cut for this loss already.
    Repair,
    /// One more step of the present recovery, which is not counted again.
    RepairNext,
    /// Slow start from one segment.
    Restart,
    /// A smaller window only: the loss is repaired already.
    Repaired,
}

/// Meaning of a timer's expiry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiry {
    /// Retransmission timeout.
    Timeout,
    /// A probe is due, and the retransmission timer restarts.
    Probe,
    /// The timer was the recovery's own. A loss may be found.
    Looked(Option<Loss>),
}

/// Outstanding segments that are not in the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Segments beyond the cumulative ACK that are known, or thought, to have arrived.
    pub arrived: u64,
    /// Lost segments that wait for retransmission.
    pub lost: u64,
}

/// A loss recovery.
pub trait Repair {
    /// Starts over for a new connection.
    fn reset(&mut self);

    /// Handles the SACK blocks of an ACK, before anything else of the ACK. Returns the number of segments that they newly report.
    fn on_sack(&mut self, _blocks: &SackBlocks, _cumulative: u64, _context: &mut Context) -> u64 {
        0
    }

    /// Handles an ACK once the cumulative ACK number is up to date. Not called for an ACK that moves nothing while nothing is outstanding.
    fn on_ack(&mut self, ack: &AckEvent, context: &mut Context) -> Verdict;

    /// Starts fast recovery. The window, which has been cut where that is due, is `window` segments.
    fn begin(&mut self, window: u64, context: &mut Context);

    /// Handles a cut after a CE mark from `from` to `to` segments. Returns whether the window sinks over a round trip.
    fn sink(&mut self, _from: u64, _to: u64, _context: &mut Context) -> bool {
        false
    }

    /// Starts slow start from one segment.
    fn restart(&mut self, context: &mut Context);

    /// Next segment to send with a congestion window of `window` segments, if any may leave.
    fn next_segment(&mut self, window: u64, context: &mut Context) -> Option<u64>;

    /// Handles the transmission of segment `seq`, new or a retransmission, before its record is written.
    fn on_sent(&mut self, _seq: u64, _again: bool, _context: &mut Context) {}

    /// Expiry time of the recovery's own timers; `Nanos::MAX` if none is set.
    fn timer_at(&self) -> Nanos {
        Nanos::MAX
    }

    /// Handles the expiry of the retransmission timer or of the recovery's own.
    fn on_timer(&mut self, _context: &mut Context) -> Expiry {
        Expiry::Timeout
    }

    /// Handles the undoing of a spurious cut: lost segments that wait for retransmission may still arrive.
    fn on_undo(&mut self, _context: &mut Context) {}

    /// Outstanding segments that have arrived or are lost.
    fn tally(&self, progress: &Progress, outstanding: &Outstanding) -> Tally;

    /// Whether nothing is suspected and nothing is to be retransmitted: an ACK in order needs no recovery.
    fn is_idle(&self, outstanding: &Outstanding) -> bool;
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
    /// Recovery of a connection that has sent nothing, as `tcp` configures it for algorithm `cc`.
    pub fn new(tcp: &Tcp, cc: &impl CongestionControl) -> Any {
        let prr = tcp.prr && !cc.rules_recovery();
        match tcp.recovery {
            Recovery::Tahoe => Any::Tahoe(Default::default()),
            Recovery::Reno => Any::Reno(Default::default()),
            Recovery::NewReno => Any::NewReno(Default::default()),
            Recovery::Sack => Any::Sack(sack::Sack::new(prr)),
            Recovery::Rack => Any::Rack(Box::new(rack::Rack::of(tcp, prr))),
            Recovery::Vegas => Any::Vegas(Default::default()),
        }
    }

    /// Heap memory in bytes.
    pub fn heap_bytes(&self) -> usize {
        match self {
            Any::Sack(sack) => sack.heap_bytes(),
            Any::Rack(rack) => rack.heap_bytes(),
            Any::Vegas(vegas) => size_of_val(&**vegas),
            _ => 0,
        }
    }

    /// Whether the recovery reads the records of outstanding segments.
    pub fn needs_records(&self) -> bool {
        matches!(self, Any::Rack(_) | Any::Vegas(_))
    }
}

/// Calls a method of any recovery.
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
    fn on_sack(&mut self, blocks: &SackBlocks, cumulative: u64, context: &mut Context) -> u64 {
        each!(self, repair => repair.on_sack(blocks, cumulative, context))
    }

    #[inline]
    fn on_ack(&mut self, ack: &AckEvent, context: &mut Context) -> Verdict {
        each!(self, repair => repair.on_ack(ack, context))
    }

    #[inline]
    fn begin(&mut self, window: u64, context: &mut Context) {
        each!(self, repair => repair.begin(window, context))
    }

    #[inline]
    fn sink(&mut self, from: u64, to: u64, context: &mut Context) -> bool {
        each!(self, repair => repair.sink(from, to, context))
    }

    #[inline]
    fn restart(&mut self, context: &mut Context) {
        each!(self, repair => repair.restart(context))
    }

    #[inline]
    fn next_segment(&mut self, window: u64, context: &mut Context) -> Option<u64> {
        each!(self, repair => repair.next_segment(window, context))
    }

    #[inline]
    fn on_sent(&mut self, seq: u64, again: bool, context: &mut Context) {
        each!(self, repair => repair.on_sent(seq, again, context))
    }

    #[inline]
    fn timer_at(&self) -> Nanos {
        each!(self, repair => repair.timer_at())
    }

    #[inline]
    fn on_timer(&mut self, context: &mut Context) -> Expiry {
        each!(self, repair => repair.on_timer(context))
    }

    #[inline]
    fn on_undo(&mut self, context: &mut Context) {
        each!(self, repair => repair.on_undo(context))
    }

    #[inline]
    fn tally(&self, progress: &Progress, outstanding: &Outstanding) -> Tally {
        each!(self, repair => repair.tally(progress, outstanding))
    }

    #[inline]
    fn is_idle(&self, outstanding: &Outstanding) -> bool {
        each!(self, repair => repair.is_idle(outstanding))
    }
}
