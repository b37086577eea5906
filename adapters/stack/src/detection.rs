//! Loss detection on recorded transfers of quinn's stack: the simulator's QUIC transport and s2n-quic-core get the packets and ACKs that quinn
//! had.

use crate::s2n::S2n;
use crate::trace::{Event, Found, Trace, record};
use fullpipe_cc::packets::LostBy;
use fullpipe_sim::{Declared, Replay};

/// Longest ACK delay of quinn's endpoints (RFC 9000 section 18.2: the default).
const MAX_ACK_DELAY: u64 = 25_000_000;

/// Transfers that are recorded.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Name in the table.
    pub name: &'static str,
    /// Keys of the link.
    pub link: &'static str,
    /// Bytes of a transfer.
    pub bytes: u64,
    /// Number of transfers, with the seeds 1, 2, and so on.
    pub seeds: u64,
}

const LIMIT: u64 = 20_000_000_000;
const ENDLESS: u64 = 1 << 40;

/// The transfers. Losses begin after the handshake, whose packets the simulator does not have.
pub const CASES: [Case; 7] = [
    case("full queue", r#"rate = "20 Mbit/s", delay = "20 ms", buffer = "0.5 BDP""#, ENDLESS, 1),
    case(
        "random loss of 2 %",
        r#"rate = "10 Mbit/s", delay = "20 ms", buffer = "1 BDP", schedule = [{ at = "0.2 s", loss = 0.02 }]"#,
        ENDLESS,
        5,
    ),
    case(
        "bursts of losses",
        r#"rate = "10 Mbit/s", delay = "20 ms", buffer = "1 BDP", schedule = [{ at = "0.2 s", loss = { model = "gilbert-elliott", p = 0.005, r = 0.1 } }]"#,
        ENDLESS,
        5,
    ),
    case(
        "reordering",
        r#"rate = "10 Mbit/s", delay = "20 ms", buffer = "1 BDP", jitter = { mean = "3 ms", reorder = true }"#,
        ENDLESS,
        5,
    ),
    case(
        "outages of 2 s",
        r#"rate = "10 Mbit/s", delay = "20 ms", buffer = "1 BDP", repeat = "5 s", schedule = [{ at = "2 s", loss = 1.0 }, { at = "4 s", loss = 0.0 }]"#,
        ENDLESS,
        5,
    ),
    case(
        "lost tails",
        r#"rate = "10 Mbit/s", delay = "20 ms", buffer = "1 BDP", schedule = [{ at = "150 ms", loss = 0.4 }]"#,
        100_000,
        40,
    ),
    case(
        "lost ACKs",
        r#"rate = "10 Mbit/s", delay = "20 ms", buffer = "1 BDP", schedule = [{ at = "0.2 s", loss = 0.01 }], reverse = { schedule = [{ at = "0.2 s", loss = 0.5 }] }"#,
        ENDLESS,
        5,
    ),
];

const fn case(name: &'static str, link: &'static str, bytes: u64, seeds: u64) -> Case {
    Case { name, link, bytes, seeds }
}

impl Case {
    /// Records the transfers.
    pub fn record(&self) -> Vec<Trace> {
        (1..=self.seeds).map(|seed| record(self.link, seed, self.bytes, LIMIT)).collect()
    }
}

impl Found {
    fn lost_by_number(&self) -> Vec<(u64, u64)> {
        let mut lost = self.lost.clone();
        lost.sort_unstable();
        lost
    }

    fn add(&mut self, now: u64, declared: &Declared) {
        self.lost.extend(declared.lost.iter().map(|lost| (lost.sent.number, now)));
        self.by_time += declared.lost.iter().filter(|lost| lost.by == LostBy::TimeThreshold).count() as u64;
        if declared.persistent {
            self.persistent.push(now);
        }
    }
}

/// Loss detector that runs on a trace.
pub(crate) trait Detector {
    /// Time of its timer; `u64::MAX` if none is set.
    fn deadline(&self) -> u64;
    /// Handles the expiry of its timer.
    fn expire(&mut self, now: u64, found: &mut Found);
    /// Handles an event.
    fn handle(&mut self, event: &Event, found: &mut Found);
}

impl Detector for Replay {
    fn deadline(&self) -> u64 {
        self.deadline()
    }

    fn expire(&mut self, now: u64, found: &mut Found) {
        match self.on_timer(now) {
            Some(declared) => found.add(now, &declared),
            None => found.timeouts.push(now),
        }
    }

    fn handle(&mut self, event: &Event, found: &mut Found) {
        match event {
            Event::Sample { at, rtt } => self.sample(*at, *rtt),
            Event::Sent { at, number, bytes } => self.send(*at, *number, *bytes),
            Event::Acked { at, numbers, delay, .. } => found.add(*at, &self.acknowledge(*at, numbers, *delay)),
        }
    }
}

fn run(mut detector: impl Detector, trace: &Trace) -> Found {
    let mut found = Found::default();
    let mut now = 0;
    let mut until = |detector: &mut dyn Detector, end: u64, found: &mut Found| {
        while detector.deadline() <= end {
            now = detector.deadline().max(now);
            detector.expire(now, found);
        }
        now = end;
    };
    for event in &trace.events {
        until(&mut detector, event.at(), &mut found);
        detector.handle(event, &mut found);
    }
    until(&mut detector, trace.end, &mut found);
    found
}

/// What the simulator's loss detection declares.
pub fn of_transport(trace: &Trace) -> Found {
    run(Replay::new(MAX_ACK_DELAY), trace)
}

/// What the loss detection of s2n-quic-core declares.
pub fn of_s2n(trace: &Trace) -> Found {
    run(S2n::default(), trace)
}

/// Most that two detectors are apart where they agree: kGranularity (RFC 9002 section 6.1.2).
const APART: u64 = 1_000_000;

/// Differences of what two loss detectors declare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// Declarations of one detector that the other does not have within a millisecond: lost packets, probe timeouts, persistent congestion.
    pub differing: u64,
    /// Longest time between the others, nanoseconds.
    pub apart_ns: u64,
}

impl Difference {
    /// Adds another transfer.
    pub fn add(&mut self, one: &Found, other: &Found) {
        let (one_lost, other_lost) = (one.lost_by_number(), other.lost_by_number());
        self.add_times(&one_lost, &other_lost);
        let unnumbered = |times: &[u64]| times.iter().map(|&at| (0, at)).collect::<Vec<_>>();
        self.add_times(&unnumbered(&one.timeouts), &unnumbered(&other.timeouts));
        self.add_times(&unnumbered(&one.persistent), &unnumbered(&other.persistent));
    }

    /// Adds declarations, with numbers and times, in ascending order.
    fn add_times(&mut self, mut one: &[(u64, u64)], mut other: &[(u64, u64)]) {
        while let (Some(first), Some(second)) = (one.first(), other.first()) {
            let apart = first.1.abs_diff(second.1);
            if first.0 == second.0 && apart <= APART {
                self.apart_ns = self.apart_ns.max(apart);
                (one, other) = (&one[1..], &other[1..]);
                continue;
            }
            self.differing += 1;
            if first < second {
                one = &one[1..];
            } else {
                other = &other[1..];
            }
        }
        self.differing += (one.len() + other.len()) as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_differ_by_number_time_and_count() {
        let found = |lost: &[(u64, u64)], timeouts: &[u64]| Found {
            lost: lost.to_vec(),
            timeouts: timeouts.to_vec(),
            ..Found::default()
        };
        let difference = |one: &Found, other: &Found| {
            let mut difference = Difference::default();
            difference.add(one, other);
            (difference.differing, difference.apart_ns)
        };
        let one = found(&[(4, 10), (3, 20)], &[100]);
        assert_eq!(difference(&one, &one), (0, 0));
        assert_eq!(difference(&one, &found(&[(3, 13), (4, 10)], &[105])), (0, 7));
        assert_eq!(difference(&one, &found(&[(3, 20), (5, 10)], &[])), (3, 0), "4, 5, and the timeout");
        assert_eq!(difference(&one, &found(&[(3, 20), (4, 10)], &[1_000_101])), (2, 0));
    }
}
