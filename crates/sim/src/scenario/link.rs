//! Data of a link: rate, delay, buffer, queue, losses, and variations.

use super::{EcnField, Queue, Samples, Trace};
use fullpipe_cc::Nanos;

/// Full-duplex link. Rate, delay, and queue are equal in both directions, unless `reverse` differs.
///
/// ```
/// use fullpipe_sim::model::{Buffer, Change, Jitter, JitterModel, Link, Loss, Policer, Reorder, Schedule};
///
/// let outage = Change { at: 2_000_000_000, rate_bps: Some(0), delay: None, loss: None };
/// let link = Link {
///     rate_bps: 10_000_000,
///     delay: 20_000_000,
///     buffer: Buffer::Packets(50),
///     loss: Loss::GilbertElliott { p: 0.01, r: 0.5, h: 0.5, k: 1.0 },
///     schedule: Schedule { changes: vec![outage], repeat: Some(10_000_000_000) },
///     jitter: Some(Jitter::of(JitterModel::Normal { spread: 1_000_000 }, 5_000_000)),
///     reorder: Some(Reorder { probability: 0.01, delay: 3_000_000 }),
///     policer: Some(Policer { rate_bps: 8_000_000, burst: 30_000 }),
///     ..Link::named("wifi")
/// };
/// assert_eq!((link.round_trip(), link.direction(true)), (40_000_000, &link), "20 ms there, and 20 ms back");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Unique in the scenario.
    pub name: String,
    /// Bits per second.
    pub rate_bps: u64,
    /// One-way propagation delay.
    pub delay: Nanos,
    /// How much waits at each end, the packet being sent included (as ns-2 counts).
    pub buffer: Buffer,
    /// Queueing discipline.
    pub queue: Queue,
    /// Losses on the wire.
    pub loss: Loss,
    /// Numbers of packets that the wire loses besides, rising: 1 is the first packet that arrives.
    pub drop: Vec<u64>,
    /// When a packet may leave, instead of a rate, which is then the mean of this.
    pub trace: Option<Trace>,
    /// Delays over time, instead of `delay`, which is then a part of the base round-trip time alone.
    pub delay_trace: Option<Samples>,
    /// Probabilities of loss over time, instead of `loss`, which is then [`Loss::NONE`].
    pub loss_trace: Option<Samples>,
    /// Changes of rate, delay and losses.
    pub schedule: Schedule,
    /// Delay that varies from packet to packet.
    pub jitter: Option<Jitter>,
    /// Packets that others overtake.
    pub reorder: Option<Reorder>,
    /// Packets leave only at multiples of this, counted from `phase`.
    pub aggregation: Option<Nanos>,
    /// First time at which packets leave, less than `aggregation`. `None`: random where several directions share the interval, else 0.
    pub phase: Option<Nanos>,
    /// Packets between the transmitter and the far end, at most; one more is lost there. `None` for no limit.
    pub limit: Option<u64>,
    /// Treatment of the ECN field of packets that leave.
    pub ecn_field: EcnField,
    /// Policer, which drops faster traffic before the queue.
    pub policer: Option<Policer>,
    /// Reverse direction where it differs: a link of equal name, whose `reverse` is `None`.
    pub reverse: Option<Box<Link>>,
}

/// How packets are lost on the wire.
///
/// Example: see [`Link`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    /// Each with this probability, whatever became of those before it; 0 for none.
    Independent(f64),
    /// In bursts (Gilbert 1960, Elliott 1963): a channel with a good and a bad state.
    GilbertElliott {
        /// Probability of going from good to bad, for each packet.
        p: f64,
        /// Probability of going from bad to good.
        r: f64,
        /// Probability that a packet comes through in the bad state.
        h: f64,
        /// Probability that a packet comes through in the good state.
        k: f64,
    },
}

/// Changes of a link over time.
///
/// Example: see [`Link`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schedule {
    /// In the order of their times.
    pub changes: Vec<Change>,
    /// Time after which the schedule restarts from the values of the link; later than the last change.
    pub repeat: Option<Nanos>,
}

/// Changes at one time; `None` for values that stay.
///
/// Example: see [`Link`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// Since the period began.
    pub at: Nanos,
    /// Bits per second from the next transmission on; 0 for an outage.
    pub rate_bps: Option<u64>,
    /// One-way propagation delay of packets sent later.
    pub delay: Option<Nanos>,
    /// Losses of packets that come later.
    pub loss: Option<Loss>,
}

/// A random delay for each packet.
///
/// Example: see [`Link`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Jitter {
    /// The law.
    pub model: JitterModel,
    /// Its mean.
    pub mean: Nanos,
    /// Packets with shorter delays overtake others.
    pub reorder: bool,
    /// Weight of the draw before in each draw, as netem has it; 0 with [`JitterModel::Wifi`].
    pub correlation: f64,
}

impl Jitter {
    /// Independent delays, in order.
    pub fn of(model: JitterModel, mean: Nanos) -> Jitter {
        Jitter { model, mean, reorder: false, correlation: 0.0 }
    }
}

/// Laws of [`Jitter`].
///
/// Example: see [`Link`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum JitterModel {
    /// Uniform, by at most `spread` from the mean.
    Uniform {
        /// At most the mean.
        spread: Nanos,
    },
    /// Normal with a standard deviation of `spread`; negative values become 0.
    Normal {
        /// The standard deviation.
        spread: Nanos,
    },
    /// Pareto of shape 3, as netem scales and cuts it: the mean is 0.033 of `spread` below `mean`, and the standard deviation 0.82 of it.
    Pareto {
        /// Scale.
        spread: Nanos,
    },
    /// A quarter of the normal law and three quarters of [`JitterModel::Pareto`], both of one draw.
    ParetoNormal {
        /// Scale.
        spread: Nanos,
    },
    /// Wi-Fi as the C4 drafts model it.
    Wifi,
}

/// Packets that wait longer than others, which overtake them.
///
/// Example: see [`Link`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reorder {
    /// Probability that a packet waits. netem's percentage is of the packets that do not.
    pub probability: f64,
    /// How much longer.
    pub delay: Nanos,
}

/// A token bucket.
///
/// Example: see [`Link`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policer {
    /// Bits per second.
    pub rate_bps: u64,
    /// Capacity, bytes.
    pub burst: u64,
}

impl Loss {
    /// No packet is lost.
    pub const NONE: Loss = Loss::Independent(0.0);
}

impl Default for Link {
    /// 1 Mbit/s without a name, a delay, a limit or losses.
    fn default() -> Self {
        Link {
            name: String::new(),
            rate_bps: 1_000_000,
            delay: 0,
            buffer: Buffer::Unlimited,
            queue: Queue::drop_tail(),
            loss: Loss::NONE,
            drop: Vec::new(),
            trace: None,
            delay_trace: None,
            loss_trace: None,
            schedule: Schedule::default(),
            jitter: None,
            reorder: None,
            aggregation: None,
            phase: None,
            limit: None,
            ecn_field: EcnField::Keep,
            policer: None,
            reverse: None,
        }
    }
}

impl Link {
    /// One of its directions.
    pub fn direction(&self, reverse: bool) -> &Link {
        self.reverse.as_deref().filter(|_| reverse).unwrap_or(self)
    }

    /// Whether packets arrive in the order in which they were sent.
    pub(crate) fn keeps_order(&self) -> bool {
        self.reorder.is_none() && !self.jitter.is_some_and(|jitter| jitter.reorder)
    }

    /// Whether nothing about it varies but which packets are lost, each for itself.
    pub(crate) fn is_steady(&self) -> bool {
        self.trace.is_none() && self.is_steady_but_for_a_trace()
    }

    /// Whether only a trace varies the link: see [`Link::is_steady`].
    pub(crate) fn is_steady_but_for_a_trace(&self) -> bool {
        self.schedule.changes.is_empty()
            && (self.jitter, self.reorder, self.aggregation, self.policer) == (None, None, None, None)
            && self.limit.is_none()
            && self.ecn_field == EcnField::Keep
            && matches!(self.loss, Loss::Independent(_))
            && self.drop.is_empty()
            && self.delay_trace.is_none()
            && self.loss_trace.is_none()
    }

    /// Bits per second at the worst of times.
    pub(crate) fn least_rate_bps(&self) -> u64 {
        let changed = self.schedule.changes.iter().filter_map(|change| change.rate_bps).min();
        let least = changed.map_or(self.rate_bps, |rate| rate.min(self.rate_bps));
        if self.trace.is_some() { 0 } else { least }
    }

    /// The least propagation delay, unless a schedule changes it.
    pub fn least_delay(&self) -> Nanos {
        self.delay_trace.as_ref().map_or(self.delay, |trace| trace.least() as Nanos)
    }

    /// The propagation delay there and back.
    pub fn round_trip(&self) -> Nanos {
        self.delay + self.direction(true).delay
    }
}

/// A limit on a queue.
///
/// Example: see [`Link`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffer {
    /// In packets of any size.
    Packets(u64),
    /// In bytes.
    Bytes(u64),
    /// In time: a packet is admitted while those before it take less than this to send.
    Time(Nanos),
    /// None: nothing is ever dropped.
    Unlimited,
}
