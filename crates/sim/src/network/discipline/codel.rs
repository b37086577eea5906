//! CoDel: drops or marks at departure, ever more often while packets wait longer than a target.
//!
//! Source: RFC 8289, the pseudo-code of sections 5.2 to 5.6. A packet is late if it has waited for `target` or longer when it
//! is to leave, with more than `mtu` bytes behind it, and so were all packets for an `interval` (section 5.6).
//!
//! - The first late packet is dropped: the drop state begins. It ends with the first packet that is not late (section 5.5).
//! - In it the next drop is due interval/sqrt(count) after the one before, count being the drops so far (section 5.6).
//! - A drop state that begins within 16 intervals of the next drop that the one before had planned continues at the count
//!   that one had added; any other begins at 1 (section 5.5).
//!
//! # Deviations and choices
//!
//! - **ECN** is off by default (`ecn`), as in Linux. RFC 8289 section 1 only allows marks instead of drops. Here an
//!   ECN-capable packet is marked where it would be dropped, and then leaves. One packet is therefore marked per departure,
//!   even if several drops are due, and the next drop is planned as after a drop. Other packets are dropped.
//! - **The floor** `mtu` is the scenario's packet size. The RFC prints 512 bytes and recommends the interface's MTU (section
//!   5.3). The floor is compared with the bytes behind the packet, without the packet itself and the one in transmission.
//! - **The square root** is exact, and a gap is rounded down to a whole nanosecond. `sqrt = "newton"`, the default of
//!   `variant = "linux"`, has Linux's drop times:
//!   16 bits of 1/sqrt(count), improved by one Newton step x (3 - count x^2)/2 per drop, and gaps in whole units of 1024
//!   ns. The first step gives 0.5 for 1/sqrt(2). For example, drops are at 100, 200, 250, and 306 ms instead of the RFC's
//!   100, 200, 271, and 328 ms.
//! - **Comparisons** are the RFC's: a packet is late once the interval is over, not only after it as in Linux.
//! - **A drop state that begins before** the planned drop of the previous state counts as within the 16 intervals. The RFC's
//!   difference of the two times would be negative.
//! - **`ce_threshold`**, off by default, is Linux's: an ECN-capable packet that waited longer is marked at departure, for
//!   each value of `ecn` (RFC 8290 section 5.2.7).
//! - **A full buffer** drops arrivals, and CoDel does not count these drops (section 5.4). The limit is the link's buffer;
//!   Linux has 1000 packets.

use super::packets::Packets;
use super::params::{Info, Param, Params, Settings, Unset, Value};
use super::{Discipline, Known, Stock};
use crate::packet::Packet;
use fullpipe_cc::Nanos;
use fullpipe_cc::time::{MICROSECOND, MILLISECOND, SECOND};

/// Name, source, and parameters.
pub static INFO: Info = Info {
    name: "codel",
    source: "RFC 8289",
    params: &[VARIANT, TARGET, INTERVAL, ecn(false), SQRT, MTU, CE_THRESHOLD],
    marks,
    conflict: |_| None,
};

/// For FQ-CoDel too.
pub fn marks(settings: &Settings) -> bool {
    settings.flag("ecn") || settings.value("ce_threshold").is_some()
}

/// The delay that may stay.
pub const TARGET: Param = Param::time(
    "target",
    5 * MILLISECOND,
    MICROSECOND,
    10 * SECOND,
    "Target of the queueing delay. A queue is too long while all packets wait at least this time.",
)
.source("RFC 8289 section 5.3; RFC 8290 section 5.2.2");

/// The time in which a queue must once be short.
pub const INTERVAL: Param = Param::time(
    "interval",
    100 * MILLISECOND,
    100 * MICROSECOND,
    100 * SECOND,
    "Time for which a queue may be too long before a drop, and initial time between drops; about the largest usual RTT.",
)
.source("RFC 8289 section 5.3; RFC 8290 section 5.2.1");

/// Whether to mark where it would drop.
pub const fn ecn(default: bool) -> Param {
    Param::flag("ecn", default, "Mark ECN-capable packets instead of dropping them.")
        .source("RFC 8289 section 1, off in Linux's codel; RFC 8290 section 5.2.6, on")
}

/// Whose control law.
pub const VARIANT: Param =
    Param::choice("variant", &["rfc", "linux"], "Source of the default of sqrt.").source("RFC 8289; Linux's codel");

/// How the gap between drops is worked out.
pub const SQRT: Param = Param::choice(
    "sqrt",
    &["exact", "newton"],
    "Square root of the control law: exact, or one Newton step per drop in 16 bits (default of variant = \"linux\").",
)
.variants(&[("linux", Value::Name("newton"))])
.source("RFC 8289 section 5.6; Linux's codel");

/// Backlog at which no packet is late.
pub const MTU: Param = Param::bytes(
    "mtu",
    0,
    1,
    1 << 20,
    "Queue up to which no packet is dropped, by default the scenario's packet size.",
)
.unset(Unset::PacketSize)
.source("RFC 8289 sections 4.1 and 5.3");

/// Marks at a shallow delay.
pub const CE_THRESHOLD: Param = Param::time(
    "ce_threshold",
    0,
    0,
    10 * SECOND,
    "Queueing delay above which ECN-capable packets are marked; off by default.",
)
.unset(Unset::Word("off"))
.source("RFC 8290 section 5.2.7; Linux's codel");

/// See the head of the file.
#[derive(Debug)]
pub struct Codel {
    law: CodelLaw,
    control: Control,
    queue: Packets,
}

impl Codel {
    /// An empty one.
    pub fn new(settings: &Settings, _seed: u64, packet_size: u32) -> Self {
        Codel { law: CodelLaw::new(settings, packet_size), control: Control::default(), queue: Packets::default() }
    }
}

impl Discipline for Codel {
    fn enqueue(&mut self, known: Known, _class: u32, full: bool, stock: &mut Stock) {
        match full {
            true => stock.drop(known.place),
            false => self.queue.push(known),
        }
    }

    #[inline]
    fn lets_pass(&mut self, _now: Nanos, _packet: &Packet, _size: u32) -> bool {
        self.control.let_pass();
        true
    }

    #[inline]
    fn dequeue(&mut self, now: Nanos, stock: &mut Stock) -> Option<Known> {
        self.control.dequeue(&self.law, &mut self.queue, now, stock)
    }

    fn heap_bytes(&self) -> usize {
        self.queue.heap_bytes()
    }
}

/// A queue as CoDel needs it.
pub trait Backlog {
    /// Takes the packet that has waited longest.
    fn pop(&mut self, stock: &Stock) -> Option<Known>;

    /// Bytes that wait.
    fn bytes(&self) -> u64;
}

impl Backlog for Packets {
    #[inline]
    fn pop(&mut self, _stock: &Stock) -> Option<Known> {
        self.pop()
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.bytes()
    }
}

/// Parameters of CoDel, shared by all queues of FQ-CoDel.
#[derive(Clone, Copy, Debug)]
pub struct CodelLaw {
    target: Nanos,
    interval: Nanos,
    ecn: bool,
    newton: bool,
    mtu: u64,
    ce_threshold: Option<Nanos>,
}

impl CodelLaw {
    /// As `settings` say.
    pub fn new(settings: &Settings, packet_size: u32) -> CodelLaw {
        CodelLaw {
            target: settings.time("target"),
            interval: settings.time("interval"),
            ecn: settings.flag("ecn"),
            newton: settings.choice("sqrt") == "newton",
            mtu: settings.params().optional("mtu", Params::whole).unwrap_or(u64::from(packet_size)),
            ce_threshold: settings.params().optional("ce_threshold", Params::time),
        }
    }

    /// A packet leaves: marks it if it has waited too long for that (RFC 8290 section 5.2.7).
    #[inline(always)]
    pub fn mark_beyond_threshold(&self, known: Known, now: Nanos, stock: &mut Stock) {
        if self.ce_threshold.is_some_and(|threshold| now - known.entered > threshold) {
            stock.mark(known.place);
        }
    }

    /// Marks a packet if that will do, drops it otherwise. The packet, if it may go on.
    fn mark_or_drop(&self, known: Known, stock: &mut Stock) -> Option<Known> {
        if self.ecn && stock.mark(known.place) {
            return Some(known);
        }
        stock.drop(known.place);
        None
    }
}

/// The state of CoDel over one queue (RFC 8289 section 5.2).
#[derive(Clone, Copy, Debug, Default)]
pub struct Control {
    /// When a packet will be late, if none before it is in time; otherwise 0.
    late_from: Nanos,
    /// The drop state.
    dropping: bool,
    /// When the next drop is due.
    drop_next: Nanos,
    /// Drops in this drop state, or as if there had been as many.
    count: u32,
    /// Count at the beginning of this drop state.
    first_count: u32,
    /// About 2^16/sqrt(count), as Linux has it.
    inverse_sqrt: u16,
}

/// Next packet of the queue.
enum Head {
    /// There is none.
    Nothing,
    /// It goes.
    InTime(Known),
    /// It goes unless a drop is due.
    Late(Known),
}

impl Head {
    /// It, late or not.
    fn known(self) -> Option<Known> {
        match self {
            Head::Nothing => None,
            Head::InTime(known) | Head::Late(known) => Some(known),
        }
    }
}

impl Control {
    /// The packet to send (RFC 8289 section 5.5, RFC 8290 section 5.2.7).
    #[inline(always)]
    pub fn dequeue(
        &mut self,
        law: &CodelLaw,
        queue: &mut impl Backlog,
        now: Nanos,
        stock: &mut Stock,
    ) -> Option<Known> {
        let Some(known) = queue.pop(stock) else {
            self.let_pass();
            return None;
        };
        if self.is_late(law, known.entered, queue.bytes(), now) {
            return self.dequeue_late(law, queue, now, stock, known.place).map(|place| stock.known(place));
        }
        self.let_go();
        law.mark_beyond_threshold(known, now, stock);
        Some(known)
    }

    /// [`Control::dequeue`] if the first packet is late ([`Control::is_late`]). Packets are passed by place, which fits into a register.
    #[inline(never)]
    fn dequeue_late(
        &mut self,
        law: &CodelLaw,
        queue: &mut impl Backlog,
        now: Nanos,
        stock: &mut Stock,
        place: u32,
    ) -> Option<u32> {
        let known = self.spared_of_late(law, queue, now, stock, stock.known(place))?;
        law.mark_beyond_threshold(known, now, stock);
        Some(known.place)
    }

    /// Whether a packet that arrived at `entered` is late, with `behind` bytes behind it (RFC 8289 section 5.6, `dodequeue`).
    #[inline(always)]
    fn is_late(&mut self, law: &CodelLaw, entered: Nanos, behind: u64, now: Nanos) -> bool {
        if now - entered < law.target || behind <= law.mtu {
            self.late_from = 0;
            return false;
        }
        if self.late_from == 0 {
            self.late_from = now + law.interval;
        }
        now >= self.late_from
    }

    /// A packet leaves that is not late.
    #[inline(always)]
    fn let_go(&mut self) {
        self.dropping = false;
    }

    /// A packet leaves as it comes, with nothing behind it: in time, however short the target.
    #[inline]
    pub fn let_pass(&mut self) {
        self.late_from = 0;
        self.dropping = false;
    }

    /// The first packet that is not dropped, where that taken first is late.
    fn spared_of_late(
        &mut self,
        law: &CodelLaw,
        queue: &mut impl Backlog,
        now: Nanos,
        stock: &mut Stock,
        mut known: Known,
    ) -> Option<Known> {
        if !self.dropping {
            self.start(law, now);
            return law.mark_or_drop(known, stock).or_else(|| self.take(law, queue, now, stock).known());
        }
        while now >= self.drop_next {
            self.count_to(self.count + 1);
            if let Some(marked) = law.mark_or_drop(known, stock) {
                self.drop_next += self.gap(law);
                return Some(marked);
            }
            known = match self.take(law, queue, now, stock) {
                Head::Late(next) => next,
                head => {
                    self.dropping = false;
                    return head.known();
                }
            };
            self.drop_next += self.gap(law);
        }
        Some(known)
    }

    /// Takes a packet, and finds whether it is late.
    fn take(&mut self, law: &CodelLaw, queue: &mut impl Backlog, now: Nanos, stock: &Stock) -> Head {
        let Some(known) = queue.pop(stock) else {
            self.late_from = 0;
            return Head::Nothing;
        };
        let late = self.is_late(law, known.entered, queue.bytes(), now);
        if late { Head::Late(known) } else { Head::InTime(known) }
    }

    /// The drop state begins.
    fn start(&mut self, law: &CodelLaw, now: Nanos) {
        let added = self.count - self.first_count;
        if added > 1 && now < self.drop_next + 16 * law.interval {
            self.count_to(added);
        } else {
            self.count = 1;
            self.inverse_sqrt = u16::MAX;
        }
        self.first_count = self.count;
        self.dropping = true;
        self.drop_next = now + self.gap(law);
    }

    fn count_to(&mut self, count: u32) {
        self.count = count;
        self.inverse_sqrt = newton_step(self.inverse_sqrt, count);
    }

    /// How long after a drop the next is due (RFC 8289 section 5.6, `control_law`).
    fn gap(&self, law: &CodelLaw) -> Nanos {
        if law.newton {
            return ((law.interval / TICK * u64::from(self.inverse_sqrt)) >> 16) * TICK;
        }
        (law.interval as f64 / f64::from(self.count).sqrt()) as Nanos
    }
}

/// Linux's unit of CoDel's times.
const TICK: Nanos = 1 << 10;

/// `x`, a fraction of 16 bits, one Newton step nearer to 1/sqrt(count): x (3 - count x^2)/2. That is never above 1/sqrt(count), so
/// count x^2 is at most 2 at the next step, when count is one greater or has begun again.
fn newton_step(x: u16, count: u32) -> u16 {
    let x = u64::from(x);
    ((((3 << 32) - u64::from(count) * x * x) * x) >> 33) as u16
}

#[cfg(test)]
mod tests;
