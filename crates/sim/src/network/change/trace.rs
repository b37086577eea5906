//! A transmitter that follows a trace, in mahimahi's sense (Netravali et al., *Mahimahi: Accurate Record-and-Replay for HTTP*, USENIX ATC
//! 2015, section 3). At each opportunity 1504 bytes may leave; without waiting packets it is lost. A packet may span several, and the rest
//! of the last one is for the packets behind it. A packet that arrives at an idle link at the moment of an opportunity is too late for it.

use crate::network::ledger::Use;
use crate::network::transmits::Transmits;
use crate::ring::Ring;
use crate::scenario::{Buffer, Link, Trace};
use fullpipe_cc::Nanos;
use fullpipe_cc::time::MILLISECOND;

/// See the head of the file.
#[derive(Debug)]
pub struct Opportunities {
    trace: Trace,
    /// Departure time of the last packet.
    free: Nanos,
    /// Bytes left over of the opportunity of that departure.
    left: u32,
    /// The opportunities before this one are gone.
    next: Cursor,
    /// Bytes that have been sent, or will have been when the transmitter is free.
    used: u64,
}

/// Opportunity, with its place in the trace, so that the next one is found without a division.
#[derive(Clone, Copy, Debug)]
struct Cursor {
    /// Number over all periods.
    number: u64,
    /// Place in its period, and start of the period.
    place: usize,
    period_ms: u64,
    /// Time.
    at: Nanos,
}

impl Cursor {
    /// The opportunity of that number.
    fn new(trace: &Trace, number: u64) -> Cursor {
        let each = trace.times_ms().len() as u64;
        let (place, period_ms) = ((number % each) as usize, number / each * trace.period_ms());
        Cursor { number, place, period_ms, at: 0 }.timed(trace)
    }

    fn timed(self, trace: &Trace) -> Cursor {
        Cursor { at: (self.period_ms + u64::from(trace.times_ms()[self.place])) * MILLISECOND, ..self }
    }

    /// The next one.
    fn step(&mut self, trace: &Trace) {
        self.number += 1;
        self.place += 1;
        if self.place == trace.times_ms().len() {
            self.place = 0;
            self.period_ms += trace.period_ms();
        }
        *self = self.timed(trace);
    }

    /// The first one at `from` or later, if it is not there yet: mostly one of the next few.
    fn pass(&mut self, trace: &Trace, from: Nanos) {
        for _ in 0..NEAR {
            if self.at >= from {
                return;
            }
            self.step(trace);
        }
        if self.at < from {
            *self = Cursor::new(trace, first_from(trace, from));
        }
    }
}

/// Opportunities that are looked at one by one before they are searched.
const NEAR: usize = 8;

impl Opportunities {
    /// At the beginning of the trace.
    pub fn new(trace: Trace) -> Opportunities {
        let next = Cursor::new(&trace, 0);
        Opportunities { trace, free: 0, left: 0, next, used: 0 }
    }

    /// Departure time of the last packet.
    pub fn free(&self) -> Nanos {
        self.free
    }

    /// When the packet behind the last one can begin to be sent.
    pub fn start(&self) -> Nanos {
        if self.left > 0 { self.free } else { self.next.at }
    }

    /// Start of a packet that arrives at `now`. On an idle link, earlier opportunities are lost.
    pub fn start_after(&mut self, now: Nanos) -> Nanos {
        if self.free <= now {
            self.next.pass(&self.trace, now + 1);
            self.left = 0;
        }
        self.start()
    }

    /// Sends a packet that can begin now; it has left when the transmitter is free.
    pub fn send(&mut self, size: u32) {
        self.used += u64::from(size);
        let mut missing = size;
        while missing > self.left {
            missing -= self.left;
            self.free = self.next.at;
            self.next.step(&self.trace);
            self.left = Trace::BYTES;
        }
        self.left -= missing;
    }

    /// Bytes sent and offered before `mark`, which is not before the last packet began to be sent.
    pub fn use_at(&self, mark: Nanos) -> Use {
        let gone = first_from(&self.trace, mark);
        let ahead = self.next.number.saturating_sub(gone);
        let unsent = if ahead == 0 { 0 } else { ahead * u64::from(Trace::BYTES) - u64::from(self.left) };
        Use { used: u128::from(self.used - unsent), offered: u128::from(gone) * u128::from(Trace::BYTES) }
    }

    /// Time that `bytes` take at the mean rate of the trace.
    pub fn time_of(&self, bytes: u64) -> Nanos {
        let took = u128::from(bytes) * 8_000_000_000 / u128::from(self.trace.rate_bps());
        Nanos::try_from(took).unwrap_or(Nanos::MAX >> 1)
    }
}

/// Opportunities that are assigned to packets on arrival, in order. A packet that has an opportunity to itself leaves after the arrivals of
/// that moment, so that they may share it.
#[derive(Debug)]
pub struct Traced {
    opportunities: Opportunities,
    /// The moment at which the last packet leaves: twice the time, and one more where it takes none.
    free: u64,
    /// When the packet behind it begins to be sent.
    start: Nanos,
    /// No moment is before this one.
    now: u64,
    /// Total transmission time.
    busy: Nanos,
    /// For a buffer in time.
    backlog: Option<Box<Backlog>>,
}

/// Waiting packets, for limits by the mean rate.
#[derive(Debug, Default)]
struct Backlog {
    waiting: Ring<Planned>,
    bytes: u64,
    /// Departure time of the last packet that no longer waits.
    free: Nanos,
}

#[derive(Clone, Copy, Debug, Default)]
struct Planned {
    start: Nanos,
    departure: Nanos,
    size: u32,
}

/// 146 years, beyond the end of every run. Later transmissions take no time and affect no metric.
const NEVER: Nanos = 1 << 62;

impl Traced {
    /// Moves the clock to `now`, after the departures of that moment.
    pub fn pass(&mut self, now: Nanos) {
        self.now = 2 * now + 1;
    }
}

impl Transmits for Traced {
    const MAY_WAIT_NO_TIME: bool = true;

    fn new(link: &Link) -> Traced {
        let opportunities = Opportunities::new(link.trace.clone().expect("a link with a trace"));
        let backlog = matches!(link.buffer, Buffer::Time(_)).then(Box::default);
        Traced { opportunities, free: 0, start: 0, now: 0, busy: 0, backlog }
    }

    #[inline(always)]
    fn moment(&self, now: Nanos) -> u64 {
        self.now.max(2 * now)
    }

    #[inline(always)]
    fn time(moment: u64) -> Nanos {
        moment / 2
    }

    #[inline(always)]
    fn free(&self) -> u64 {
        self.free
    }

    #[inline(always)]
    fn start(&self) -> Nanos {
        self.start
    }

    #[inline(always)]
    fn start_idle(&mut self, now: Nanos) -> Nanos {
        if let Some(backlog) = &mut self.backlog {
            **backlog = Backlog::default();
        }
        self.start = self.opportunities.start_after(now);
        self.start
    }

    #[inline(always)]
    fn send(&mut self, size: u32) -> Nanos {
        let start = self.start;
        if self.free >= 2 * NEVER {
            return Traced::time(self.free);
        }
        self.opportunities.send(size);
        let departure = self.opportunities.free();
        self.free = 2 * departure + u64::from(departure == start);
        self.start = if departure < NEVER { self.opportunities.start() } else { departure };
        self.busy += departure - start;
        if let Some(backlog) = &mut self.backlog {
            backlog.bytes += u64::from(size);
            backlog.waiting.push_back(Planned { start, departure, size });
        }
        departure
    }

    fn busy(&self) -> Nanos {
        self.busy
    }

    /// Beyond the mark is one stretch, up to the end of the last packet.
    fn use_at(&self, mark: Nanos) -> Use {
        self.opportunities.use_at(mark)
    }

    /// For the packet being sent, and at the mean rate for those behind it.
    fn wait(&mut self, now: Nanos) -> Nanos {
        let moment = self.moment(now);
        let Some(backlog) = &mut self.backlog else { return 0 };
        while let Some(gone) = backlog.waiting.pop_front_if(|waiting| 2 * waiting.start < moment) {
            backlog.bytes -= u64::from(gone.size);
            backlog.free = gone.departure;
        }
        let sending = backlog.free.saturating_sub(now);
        sending.saturating_add(self.opportunities.time_of(backlog.bytes))
    }

    fn heap_bytes(&self) -> usize {
        self.backlog.as_ref().map_or(0, |backlog| backlog.waiting.heap_bytes())
    }
}

/// The number of the first opportunity at `from` or later.
fn first_from(trace: &Trace, from: Nanos) -> u64 {
    let (times, period) = (trace.times_ms(), trace.period_ms());
    let ms = from.div_ceil(MILLISECOND);
    // The end of a period is the beginning of the next one: an opportunity at its end has the lower number.
    let whole = ms.saturating_sub(1) / period;
    let rest = ms - whole * period;
    whole * times.len() as u64 + times.partition_point(|&time| u64::from(time) < rest) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opportunities(times_ms: &[u32]) -> Opportunities {
        Opportunities::new(Trace::new(times_ms.to_vec()).expect("a trace"))
    }

    fn ms(nanos: Nanos) -> f64 {
        nanos as f64 / MILLISECOND as f64
    }

    /// Times in ms at which packets of these sizes have left that wait since `from`.
    fn left(line: &mut Opportunities, from: Nanos, sizes: &[u32]) -> Vec<f64> {
        line.start_after(from);
        let send = |&size: &u32| {
            line.send(size);
            ms(line.free())
        };
        sizes.iter().map(send).collect()
    }

    /// Opportunities at 2, 2, 5 and 7 ms, then at 9, 9, 12, 14: two of 1000 bytes are within the two at 2 ms with 1008 to spare, of which the
    /// third takes 1000; the eight left are too few for the next, which ends at 5 ms, and so on.
    #[test]
    fn packets_span_opportunities() {
        let mut line = opportunities(&[2, 2, 5, 7]);
        assert_eq!(left(&mut line, 0, &[1000, 1000, 1000, 1000, 3000, 1504]), [2.0, 2.0, 2.0, 5.0, 9.0, 9.0]);
    }

    /// Unused opportunities are lost, also at the moment of an arrival.
    #[test]
    fn unused_opportunities_are_lost() {
        let mut line = opportunities(&[1]);
        assert_eq!(left(&mut line, 0, &[100]), [1.0]);
        assert_eq!(left(&mut line, MILLISECOND, &[100, 1404, 1]), [2.0, 2.0, 3.0]);
        assert_eq!(left(&mut line, 10 * MILLISECOND - 1, &[1500]), [10.0]);
    }

    /// One a millisecond is 1504 bytes a millisecond, 12.032 Mbit/s.
    #[test]
    fn one_a_millisecond_is_12_megabits() {
        assert_eq!(Trace::new(vec![1]).expect("a trace").rate_bps(), 12_032_000);
        let mut line = opportunities(&[1]);
        let last = *left(&mut line, 0, &[1000; 1504]).last().expect("some");
        assert_eq!(last, 1000.0);
    }

    /// Opportunities at 2, 2, 5 and 7 ms: before 2 ms none, before 2 ms and a bit two. 3000 bytes take both at 2 ms; 2000 more take the 8 bytes
    /// left, that at 5 ms, and 488 bytes of that at 7 ms.
    #[test]
    fn use_is_bytes() {
        let mut line = opportunities(&[2, 2, 5, 7]);
        left(&mut line, 0, &[3000, 2000]);
        let uses = [2_000_001, 5_000_000, 5_000_001, 7_000_000, 7_000_001].map(|mark| line.use_at(mark));
        let expected = [(3008, 3008), (3008, 3008), (4512, 4512), (4512, 4512), (5000, 6016)];
        assert_eq!(uses.map(|bytes| (bytes.used, bytes.offered)), expected);
        assert_eq!(line.use_at(14_000_001).offered, 8 * 1504);
        assert_eq!(line.use_at(14_000_000).offered, 7 * 1504);
    }

    /// An opportunity at 0 is the last one's of the period before.
    #[test]
    fn a_trace_may_begin_at_once() {
        let mut line = opportunities(&[0, 3]);
        assert_eq!(left(&mut line, 0, &[1504; 5]), [3.0, 3.0, 6.0, 6.0, 9.0]);
    }
}
