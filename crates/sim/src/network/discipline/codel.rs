//! CoDel: drops or marks at departure, ever more often while packets wait longer than a target.
//!
//! Source: RFC 8289, the pseudo-code of sections 5.2 to 5.6. A packet is late if it has waited for `target` or longer when it
//! is to leave, with more than `mtu` bytes behind it, and that has been so of every packet for an `interval` (section 5.6).
//!
//! - The first late packet is dropped: the drop state begins. It ends with the first packet that is not late (section 5.5).
//! - In it the next drop is due interval/sqrt(count) after the one before, count being the drops so far (section 5.6).
//! - A drop state that begins within 16 intervals of the next drop that the one before had planned goes on at the count
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

/// What scenarios may say of it.
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
    "A queue whose packets all wait this long or longer is too long.",
)
.source("RFC 8289 section 5.3; RFC 8290 section 5.2.2");

/// The time in which a queue must once be short.
pub const INTERVAL: Param = Param::time(
    "interval",
    100 * MILLISECOND,
    100 * MICROSECOND,
    100 * SECOND,
    "For how long a queue may be too long before a drop, and the gap to the next drop; the largest usual round-trip time.",
)
.source("RFC 8289 section 5.3; RFC 8290 section 5.2.1");

/// Whether to mark where it would drop.
pub const fn ecn(default: bool) -> Param {
    Param::flag("ecn", default, "Mark ECN-capable packets instead of dropping them.")
        .source("RFC 8289 section 1, off in Linux's codel; RFC 8290 section 5.2.6, on")
}

/// Whose control law.
pub const VARIANT: Param =
    Param::choice("variant", &["rfc", "linux"], "Whose default holds for sqrt.").source("RFC 8289; Linux's codel");

/// How the gap between drops is worked out.
pub const SQRT: Param = Param::choice(
    "sqrt",
    &["exact", "newton"],
    "The square root of the control law: exact; or by one Newton step a drop in 16 bits, the default of variant = \"linux\".",
)
.variants(&[("linux", Value::Name("newton"))])
.source("RFC 8289 section 5.6; Linux's codel");

/// What may wait however late it is.
pub const MTU: Param = Param::bytes(
    "mtu",
    0,
    1,
    1 << 20,
    "No packet is dropped that leaves no more than this behind it; the scenario's packet size by default.",
)
.unset(Unset::PacketSize)
.source("RFC 8289 sections 4.1 and 5.3");

/// Marks at a shallow delay.
pub const CE_THRESHOLD: Param = Param::time(
    "ce_threshold",
    0,
    0,
    10 * SECOND,
    "ECN-capable packets that have waited longer are marked as they leave; none are by default.",
)
.unset(Unset::Word("off"))
.source("RFC 8290 section 5.2.7; Linux's codel");

/// See the head of the file.
#[derive(Debug)]
pub struct Codel {
    law: Law,
    control: Control,
    queue: Packets,
}

impl Codel {
    /// An empty one.
    pub fn new(settings: &Settings, _seed: u64, packet_size: u32) -> Self {
        Codel { law: Law::new(settings, packet_size), control: Control::default(), queue: Packets::default() }
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

/// What CoDel is told, the same for all queues that follow it.
#[derive(Clone, Copy, Debug)]
pub struct Law {
    target: Nanos,
    interval: Nanos,
    ecn: bool,
    newton: bool,
    mtu: u64,
    ce_threshold: Option<Nanos>,
}

impl Law {
    /// As `settings` say.
    pub fn new(settings: &Settings, packet_size: u32) -> Law {
        Law {
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
    /// 1 in the drop state, otherwise 0: what a mask can end.
    dropping: u8,
    /// When the next drop is due.
    drop_next: Nanos,
    /// Drops in this drop state, or as if there had been as many.
    count: u32,
    /// With what count this drop state began.
    first_count: u32,
    /// About 2^16/sqrt(count), as Linux has it.
    inverse_sqrt: u16,
}

/// What is known of the packet that leaves the queue next.
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
    pub fn dequeue(&mut self, law: &Law, queue: &mut impl Backlog, now: Nanos, stock: &mut Stock) -> Option<Known> {
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

    /// The same where the packet taken first is late ([`Control::is_late`]). Packets come and go by their places, which fit into registers.
    #[inline(never)]
    pub fn dequeue_late(
        &mut self,
        law: &Law,
        queue: &mut impl Backlog,
        now: Nanos,
        stock: &mut Stock,
        place: u32,
    ) -> Option<u32> {
        let known = self.spared_of_late(law, queue, now, stock, stock.known(place))?;
        law.mark_beyond_threshold(known, now, stock);
        Some(known.place)
    }

    /// A packet that came at `entered` is to leave, with so many bytes behind it: whether it is late (RFC 8289 section 5.6, `dodequeue`).
    #[inline(always)]
    pub fn is_late(&mut self, law: &Law, entered: Nanos, behind: u64, now: Nanos) -> bool {
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
    pub fn let_go(&mut self) {
        self.dropping = 0;
    }

    /// A packet leaves as it comes, with nothing behind it: in time, however short the target.
    #[inline]
    pub fn let_pass(&mut self) {
        self.late_from = 0;
        self.dropping = 0;
    }

    /// The same where `unless` has no bit set; where it has them all, nothing changes. Without a branch.
    #[inline(always)]
    pub fn let_pass_unless(&mut self, unless: u64) {
        self.late_from &= unless;
        self.dropping &= unless as u8;
    }

    /// The first packet that is not dropped, where that taken first is late.
    fn spared_of_late(
        &mut self,
        law: &Law,
        queue: &mut impl Backlog,
        now: Nanos,
        stock: &mut Stock,
        mut known: Known,
    ) -> Option<Known> {
        if self.dropping == 0 {
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
                    self.dropping = 0;
                    return head.known();
                }
            };
            self.drop_next += self.gap(law);
        }
        Some(known)
    }

    /// Takes a packet and says whether it is late.
    fn take(&mut self, law: &Law, queue: &mut impl Backlog, now: Nanos, stock: &Stock) -> Head {
        let Some(known) = queue.pop(stock) else {
            self.late_from = 0;
            return Head::Nothing;
        };
        let late = self.is_late(law, known.entered, queue.bytes(), now);
        if late { Head::Late(known) } else { Head::InTime(known) }
    }

    /// The drop state begins.
    fn start(&mut self, law: &Law, now: Nanos) {
        let added = self.count - self.first_count;
        if added > 1 && now < self.drop_next + 16 * law.interval {
            self.count_to(added);
        } else {
            self.count = 1;
            self.inverse_sqrt = u16::MAX;
        }
        self.first_count = self.count;
        self.dropping = 1;
        self.drop_next = now + self.gap(law);
    }

    fn count_to(&mut self, count: u32) {
        self.count = count;
        self.inverse_sqrt = newton_step(self.inverse_sqrt, count);
    }

    /// How long after a drop the next is due (RFC 8289 section 5.6, `control_law`).
    fn gap(&self, law: &Law) -> Nanos {
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
mod tests {
    use super::*;
    use crate::network::discipline::testing::{Bench, queued, settings};
    use crate::packet::Ecn;

    const NEWTON: (&str, Value) = ("sqrt", Value::Name("newton"));
    const ECN: (&str, Value) = ("ecn", Value::Flag(true));

    fn codel(given: &[(&'static str, Value)]) -> Bench<Codel> {
        Bench::new(Codel::new(&settings(&INFO, given), 1, 1000))
    }

    /// `packets` packets of 1000 bytes, come at `entered`.
    fn fill(codel: &mut Bench<Codel>, packets: u32, ecn: Ecn, entered: Nanos) {
        for seq in 0..packets {
            codel.come(queued(0, seq, 1000, ecn, entered), false);
        }
    }

    /// What the transmitter's turn at `now` drops, and how many packets wait then.
    fn turn(codel: &mut Bench<Codel>, now: Nanos) -> (usize, usize) {
        assert!(codel.leave(now).is_some());
        (codel.dropped().len(), codel.queue.queue.len())
    }

    /// A queue that never gets short, asked for a packet every 10 microseconds; what it drops is made up for.
    struct Overloaded {
        codel: Bench<Codel>,
        now: Nanos,
    }

    const STEP: Nanos = 10 * MICROSECOND;

    impl Overloaded {
        /// Above the target from `now` on.
        fn new(given: &[(&'static str, Value)], now: Nanos) -> Overloaded {
            let mut codel = codel(given);
            fill(&mut codel, 5, Ecn::NotEct, now - 50 * MILLISECOND);
            Overloaded { codel, now }
        }

        /// The times of drops up to `end`.
        fn drops(&mut self, end: Nanos) -> Vec<Nanos> {
            let mut times = Vec::new();
            while self.now <= end {
                let (dropped, _) = turn(&mut self.codel, self.now);
                times.extend(std::iter::repeat_n(self.now, dropped));
                fill(&mut self.codel, 1 + dropped as u32, Ecn::NotEct, self.now - 50 * MILLISECOND);
                self.now += STEP;
            }
            times
        }

        /// One packet that has not waited: the drop state ends.
        fn relax(&mut self) {
            self.codel.queue.queue = Packets::default();
            fill(&mut self.codel, 5, Ecn::NotEct, self.now);
            assert_eq!(turn(&mut self.codel, self.now).0, 0);
            self.codel.queue.queue = Packets::default();
            fill(&mut self.codel, 5, Ecn::NotEct, self.now - 50 * MILLISECOND);
        }
    }

    /// RFC 8289 section 5.6: 100, 200 ms and on by 100/sqrt(2), 100/sqrt(3), ... ms; sums worked outside this code.
    #[test]
    fn drops_come_when_the_control_law_says() {
        drop_times(
            &[],
            [100.0, 200.0, 270.71, 328.45, 378.45, 423.17, 463.99, 501.79, 537.14],
            [(500, 7), (1000, 27), (2000, 105), (5000, 637), (10_000, 2523)],
        );
    }

    /// The same with Linux's 16-bit Newton steps.
    #[test]
    fn drops_come_when_linux_drops() {
        drop_times(
            &[NEWTON],
            [100.0, 200.0, 250.0, 306.25, 355.03, 399.18, 439.58, 477.10, 512.25],
            [(500, 8), (1000, 29), (2000, 107), (5000, 643), (10_000, 2538)],
        );
    }

    fn drop_times(given: &[(&'static str, Value)], first_ms: [f64; 9], counts: [(u64, usize); 5]) {
        let mut overloaded = Overloaded::new(given, SECOND);
        let times = overloaded.drops(11 * SECOND);
        for (time, expected) in times.iter().zip(first_ms) {
            let found = (time - SECOND) as f64 / 1e6;
            // Two decimals, and asked every 10 microseconds.
            assert!((found - expected).abs() <= 0.015, "{found} for {expected}");
        }
        for (end_ms, expected) in counts {
            assert_eq!(
                times.iter().filter(|time| **time <= SECOND + end_ms * MILLISECOND).count(),
                expected,
                "{end_ms} ms"
            );
        }
    }

    /// RFC 8289 section 5.5, by hand: at 210 ms one drop, the next due at 310; at 420 ms those of 310 and 380.7, the next due at 438.4.
    #[test]
    fn twenty_packets() {
        worked_case(&[], (2, 13));
    }

    /// Linux's gaps of 100, 50 and 56.25 ms: due at 310, 360, 416.25 and 471.
    #[test]
    fn twenty_packets_in_linux() {
        worked_case(&[NEWTON], (3, 12));
    }

    fn worked_case(given: &[(&'static str, Value)], last: (usize, usize)) {
        let mut codel = codel(given);
        fill(&mut codel, 20, Ecn::NotEct, 0);
        assert_eq!(turn(&mut codel, 10 * MILLISECOND), (0, 19));
        assert_eq!(turn(&mut codel, 210 * MILLISECOND), (1, 17));
        assert_eq!(turn(&mut codel, 210 * MILLISECOND), (0, 16));
        assert_eq!(turn(&mut codel, 420 * MILLISECOND), last);
    }

    /// With ECN nothing is lost: a packet is marked where the first of a turn's drops would be.
    #[test]
    fn twenty_packets_with_ecn() {
        for sqrt in ["exact", "newton"] {
            let mut codel = codel(&[ECN, ("sqrt", Value::Name(sqrt))]);
            fill(&mut codel, 20, Ecn::Ect0, 0);
            let mut marked = |at_ms: u64| codel.leave(at_ms * MILLISECOND).unwrap().packet.ecn() == Ecn::Ce;
            // The mark at 420 ms is that due at 310; the one at once after it that due at 360 or 381; the next is due later.
            let found = [10, 210, 210, 420, 420, 421].map(&mut marked);
            let due_at_416 = sqrt == "newton";
            assert_eq!(found, [false, true, false, true, true, due_at_416], "{sqrt}");
            assert!(codel.stock.dropped.is_empty());
            assert_eq!(codel.stock.marked, 3 + u64::from(due_at_416));
        }
    }

    #[test]
    fn what_is_not_ecn_capable_is_dropped_until_a_packet_takes_the_mark() {
        let mut codel = codel(&[ECN]);
        fill(&mut codel, 3, Ecn::NotEct, 0);
        fill(&mut codel, 3, Ecn::Ect1, 0);
        turn(&mut codel, 10 * MILLISECOND);
        // Late at 110 ms: a drop; due at 210 and 280.7 ms: another and a mark.
        let sent = [110, 290].map(|at| codel.leave(at * MILLISECOND).unwrap().packet.ecn());
        assert_eq!(sent, [Ecn::NotEct, Ecn::Ce]);
        assert_eq!((codel.stock.dropped.len(), codel.stock.marked), (1, 1));
    }

    #[test]
    fn without_ecn_a_capable_packet_is_dropped() {
        let mut codel = codel(&[]);
        fill(&mut codel, 5, Ecn::Ect0, 0);
        turn(&mut codel, 10 * MILLISECOND);
        assert_eq!(turn(&mut codel, 110 * MILLISECOND), (1, 2));
    }

    /// RFC 8289 section 5.5: ten drops that began at 1 leave 9 to begin with, within 16 intervals of the drop that was due
    /// next, at 570.48 + 100/sqrt(10) = 602.10 ms. After that, and after a single drop, it begins at 1.
    #[test]
    fn a_drop_state_goes_on_where_the_last_one_was() {
        let begins = [(700.0, 9.0_f64), (602.1 + 1600.0 - 0.1, 9.0), (602.1 + 1600.0 + 0.1, 1.0)];
        for (again_ms, count) in begins {
            let mut overloaded = Overloaded::new(&[], SECOND);
            assert_eq!(overloaded.drops(SECOND + 571 * MILLISECOND).len(), 10);
            let again = SECOND + (again_ms * 1e6) as Nanos;
            let times = overloaded.dropped_again(again);
            assert!(times[0].abs_diff(again) <= STEP, "{times:?}");
            let gaps: Vec<_> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e6).collect();
            for (gap, k) in gaps.iter().zip([count, count + 1.0]) {
                assert!((gap - 100.0 / k.sqrt()).abs() < 0.021, "{gap} ms at {k} from {again_ms} ms");
            }
        }
        for sqrt in ["exact", "newton"] {
            let mut overloaded = Overloaded::new(&[("sqrt", Value::Name(sqrt))], SECOND);
            assert_eq!(overloaded.drops(SECOND + 240 * MILLISECOND).len(), 2);
            let times = overloaded.dropped_again(SECOND + 400 * MILLISECOND);
            assert!((times[1] - times[0]).abs_diff(100 * MILLISECOND) <= STEP, "one drop added is none to go on from");
        }
    }

    /// RFC 8289 section 5.5: the next drop is planned only if the packet after a drop is late too. Eight drops, a ninth of the last late
    /// packet, due at 537.14 ms: from there the 16 intervals count, not from what would have followed at 570.48 ms.
    #[test]
    fn a_drop_that_ends_the_drop_state_plans_no_other() {
        for (again_ms, gap_ms) in [(537.1 + 1599.9, 100.0 / 8_f64.sqrt()), (537.1 + 1600.1, 100.0)] {
            let mut overloaded = Overloaded::new(&[], SECOND);
            assert_eq!(overloaded.drops(SECOND + 537 * MILLISECOND).len(), 8);
            overloaded.now = SECOND + 540 * MILLISECOND;
            overloaded.codel.queue.queue = Packets::default();
            fill(&mut overloaded.codel, 1, Ecn::NotEct, SECOND);
            fill(&mut overloaded.codel, 3, Ecn::NotEct, overloaded.now);
            assert_eq!(turn(&mut overloaded.codel, overloaded.now), (1, 2));
            let times = overloaded.dropped_again(SECOND + (again_ms * 1e6) as Nanos);
            assert!(((times[1] - times[0]) as f64 / 1e6 - gap_ms).abs() < 0.021, "{times:?}");
        }
    }

    impl Overloaded {
        /// Short for a moment, too long again from 100 ms before `again`: the times of drops in the 180 ms from then on.
        fn dropped_again(&mut self, again: Nanos) -> Vec<Nanos> {
            self.relax();
            self.now = again - 100 * MILLISECOND;
            self.drops(again + 180 * MILLISECOND)
        }
    }

    /// A second drop state takes its own drops: begun at 9, it reached 11, so the third begins at 2.
    #[test]
    fn only_the_drops_that_a_state_has_added_count() {
        let mut overloaded = Overloaded::new(&[], SECOND);
        overloaded.drops(SECOND + 571 * MILLISECOND);
        overloaded.relax();
        // Late at 671.02 ms or so; drops then, after 33.33 and after 31.62 ms.
        assert_eq!(overloaded.drops(SECOND + 740 * MILLISECOND).len(), 3);
        overloaded.relax();
        let times = overloaded.drops(SECOND + 920 * MILLISECOND);
        assert!(((times[1] - times[0]) as f64 / 1e6 - 70.71).abs() < 0.02, "{times:?}");
    }

    /// RFC 8289 section 4.1: with an MTU behind it a packet is never dropped, with a byte more it is.
    #[test]
    fn an_mtu_is_left() {
        for (size, dropped) in [(1000, 0), (1001, 1)] {
            let mut codel = codel(&[]);
            let mut found = 0;
            for step in 0..1000 {
                let now = SECOND + step * MILLISECOND;
                while codel.queue.queue.len() < 2 {
                    codel.come(queued(0, 0, size, Ecn::NotEct, now - SECOND), false);
                }
                codel.leave(now);
                found += codel.dropped().len();
            }
            // A drop leaves one packet, which nothing is behind: the drop state ends at once, and 101 ms later there is another.
            assert_eq!(found > 0, dropped > 0, "{size}");
        }
        let mut wide = self::codel(&[("mtu", Value::Bytes(1001))]);
        fill(&mut wide, 3, Ecn::NotEct, 0);
        turn(&mut wide, 10 * MILLISECOND);
        assert_eq!(turn(&mut wide, 200 * MILLISECOND), (0, 1));
    }

    /// RFC 8289 section 5.6: `sojourn_time < TARGET` is in time, so the target itself is late; likewise `now >= first_above_time`.
    #[test]
    fn at_the_target_a_packet_is_late() {
        for (early, dropped) in [(0, 1), (1, 0)] {
            let mut codel = codel(&[]);
            for at in [0, 100] {
                let now = (10 + at) * MILLISECOND;
                fill(&mut codel, 5, Ecn::NotEct, now - 5 * MILLISECOND + early);
                assert_eq!(turn(&mut codel, now).0, if at == 100 { dropped } else { 0 });
            }
        }
        let mut codel = codel(&[]);
        fill(&mut codel, 9, Ecn::NotEct, 0);
        turn(&mut codel, 10 * MILLISECOND);
        assert_eq!(turn(&mut codel, 110 * MILLISECOND - 1).0, 0);
        assert_eq!(turn(&mut codel, 110 * MILLISECOND).0, 1);
        // So is `now >= drop_next_` (section 5.5).
        assert_eq!(turn(&mut codel, 210 * MILLISECOND - 1).0, 0);
        assert_eq!(turn(&mut codel, 210 * MILLISECOND).0, 1);
    }

    /// A packet in time or an empty queue between late ones: the interval begins anew (RFC 8289 section 5.6).
    #[test]
    fn one_short_moment_begins_the_interval_anew() {
        for empty in [false, true] {
            let mut codel = codel(&[]);
            fill(&mut codel, 5, Ecn::NotEct, 0);
            turn(&mut codel, 10 * MILLISECOND);
            codel.queue.queue = Packets::default();
            if !empty {
                fill(&mut codel, 5, Ecn::NotEct, 60 * MILLISECOND);
            }
            codel.leave(60 * MILLISECOND);
            codel.queue.queue = Packets::default();
            fill(&mut codel, 9, Ecn::NotEct, 0);
            for (at_ms, dropped) in [(110, 0), (200, 0), (210, 1)] {
                assert_eq!(turn(&mut codel, at_ms * MILLISECOND).0, dropped, "{at_ms} ms");
            }
        }
    }

    /// RFC 8290 section 5.2.7; more than the threshold, with `ecn` and without, each packet once.
    #[test]
    fn the_ce_threshold_marks_what_has_waited_longer() {
        for ecn in [false, true] {
            let mut codel = codel(&[("ecn", Value::Flag(ecn)), ("ce_threshold", Value::Time(MILLISECOND))]);
            for (seq, ecn) in [Ecn::Ect0, Ecn::Ect0, Ecn::Ect1, Ecn::NotEct, Ecn::Ce].into_iter().enumerate() {
                codel.come(queued(0, seq as u32, 1000, ecn, 0), false);
            }
            let at = [MILLISECOND, MILLISECOND + 1, MILLISECOND + 2, MILLISECOND + 3, MILLISECOND + 4];
            let sent = at.map(|now| codel.leave(now).unwrap().packet.ecn());
            assert_eq!(sent, [Ecn::Ect0, Ecn::Ce, Ecn::Ce, Ecn::NotEct, Ecn::Ce]);
            assert_eq!((codel.stock.marked, codel.stock.dropped.len()), (2, 0));
        }
    }

    #[test]
    fn a_full_buffer_drops_what_comes_and_codel_knows_nothing_of_it() {
        let mut codel = codel(&[]);
        fill(&mut codel, 3, Ecn::NotEct, 0);
        for seq in 10..20 {
            codel.come(queued(0, seq, 1000, Ecn::NotEct, 0), true);
        }
        let dropped: Vec<_> = codel.dropped();
        assert_eq!((dropped, codel.queue.queue.len()), ((10..20).collect(), 3));
        assert_eq!(codel.control.count, 0);
    }

    /// 2^16/sqrt(count) within what 16 bits and one step a drop can do: 46341, 37837, 32768, 20724, 6554, 2072.
    #[test]
    fn newton_steps_close_in_on_the_square_root() {
        let mut x = u16::MAX;
        for count in 2..=1000_u32 {
            x = newton_step(x, count);
            match count {
                // 65535 (3 - 2 0.99997)/2 = 32769.
                2 => assert_eq!(x, 32_769),
                // x = .50002: x (3 - 3 x^2)/2 = .56250.
                3 => assert_eq!(x, 36_864),
                10 => assert!((20_600..=20_725).contains(&x), "{x}"),
                100 => assert!((6550..=6554).contains(&x), "{x}"),
                1000 => assert!((2070..=2072).contains(&x), "{x}"),
                _ => {}
            }
        }
    }
}
