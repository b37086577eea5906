//! Careful resume: after the first round trip the window jumps to half of one saved from an earlier connection; losses on the way undo
//! that at once.
//!
//! Source: draft-ietf-tsvwg-careful-resume-24, sections 3 and 4, the last draft before RFC 9959. The RFC itself was not read.
//!
//! # Deviations and choices
//!
//! - **The jump** comes with the ACK that completes the first window, if the window limits the sender then; later ACKs may bring it too.
//! - **PipeSize** grows by packets sent after the jump only. Section 3.3 names all new data; the example of appendix B.4 (29 + 34 = 63)
//!   counts these.
//! - **A saved window** of which half is not above the present one is not used.
//! - **Safe retreat** takes the window to PipeSize/2, at least two segments (section 3.5; the example takes at least the initial window).
//!   The algorithm remembers PipeSize as the window of the loss. On leaving, ssthresh is at most PipeSize times the draft's default, 0.5.
//!   The example's PipeSize of 120 at the end contradicts its 63 and is not followed.
//! - **The path** is checked by the RTT before the jump only. Saved values have no lifetime and no owner here: a scenario gives them.
//! - Growth before and after is that of standard slow start. Proportional rate reduction does not run (section 4.4).

use crate::classic::MIN_SSTHRESH;
use crate::parts::number::{float, seconds};
use crate::time::Nanos;
use crate::{Ack, Flow};

/// Values of an earlier connection over this path.
///
/// ```
/// use fullpipe_cc::slow_start::Saved;
/// use fullpipe_cc::{Ack, CongestionControl, Flow, Start, Started, build};
///
/// let rtt = 50_000_000;
/// let start = Start::from(10.0).resume(Saved::new(300.0, rtt));
/// let mut cc = Started::new(build("reno", &[], start)?, &start);
/// let flow = Flow::at(rtt).delivered(10).cwnd_limited(true).min_rtt(Some(rtt));
/// cc.on_ack(&flow, &Ack::of(1, 1.0).rtt(Some(rtt)));
/// assert_eq!(cc.cwnd(), 150.0, "half of the saved window, after the first one has arrived");
/// # Ok::<(), fullpipe_cc::params::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Saved {
    /// The window, segments.
    pub cwnd: f64,
    /// The least RTT.
    pub rtt: Nanos,
    /// The most that the window may jump to, segments.
    pub max_jump: f64,
}

impl Saved {
    /// Window and least RTT of an earlier connection.
    pub const fn new(cwnd: f64, rtt: Nanos) -> Saved {
        Saved { cwnd, rtt, max_jump: f64::INFINITY }
    }

    /// These values with a limit of the jump, segments.
    #[must_use]
    pub const fn max_jump(self, max_jump: f64) -> Saved {
        Saved { max_jump, ..self }
    }

    fn jump(&self) -> f64 {
        (self.cwnd / 2.0).min(self.max_jump)
    }

    /// Whether the RTT shows that path: above half of the saved one, and at most ten times it (section 4.2.1).
    fn fits(&self, min_rtt: Nanos, rtt: Nanos) -> bool {
        min_rtt > self.rtt / 2 && rtt <= self.rtt.saturating_mul(10)
    }
}

/// Part of the sender's ssthresh that safe retreat leaves of PipeSize (section 3.5).
const BETA: f64 = 0.5;

/// Careful resume at work.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Resume {
    saved: Saved,
    initial_window: f64,
    phase: Phase,
    /// Packets sent, until the first loss.
    sent: u64,
    /// PipeSize: validated capacity of the path, segments.
    pipe: u64,
    /// Packets in flight before the jump that have not arrived.
    earlier: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    Reconnaissance,
    /// The number of the first packet after the jump, the end of the round trip after it, and the pacing rate in segments per second.
    Unvalidated {
        first: u64,
        until: Nanos,
        rate: f64,
    },
    /// The number after the last packet of the jump.
    Validating {
        end: u64,
    },
    Retreat {
        end: u64,
    },
    Normal,
}

/// How an ACK is taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Step {
    /// As without careful resume.
    Usual,
    /// Without growth.
    Hold,
    /// The window becomes this, and this ACK does not grow it.
    Window(f64),
    /// Safe retreat is over: ssthresh is at most this.
    Threshold(f64),
}

impl Resume {
    /// Careful resume with saved values, from the first window on.
    pub fn new(saved: Saved, initial_window: f64) -> Resume {
        Resume { saved, initial_window, phase: Phase::Reconnaissance, sent: 0, pipe: 0, earlier: 0 }
    }

    /// Whether it may still act.
    pub fn is_active(&self) -> bool {
        self.phase != Phase::Normal
    }

    /// Pacing rate, segments per second, where it sets one.
    pub fn pacing_rate(&self) -> Option<f64> {
        match self.phase {
            Phase::Unvalidated { rate, .. } => Some(rate),
            _ => None,
        }
    }

    /// A packet has left at window `cwnd`. Returns the window, if the jump has been sent whole.
    pub fn on_sent(&mut self, cwnd: f64, flow: &Flow) -> Option<f64> {
        self.sent += 1;
        match self.phase {
            Phase::Unvalidated { .. } if float(flow.flight_size) >= libm::floor(cwnd) => Some(self.check_flight(flow)),
            _ => None,
        }
    }

    /// Takes in an ACK at window `cwnd`.
    pub fn step(&mut self, cwnd: f64, flow: &Flow, ack: &Ack) -> Step {
        let newest = ack.rate.map(|rate| rate.segment);
        self.count(ack);
        match self.phase {
            Phase::Reconnaissance => self.confirm(cwnd, flow, ack),
            Phase::Unvalidated { first, until, .. } => {
                let full = float(flow.flight_size) >= libm::floor(cwnd);
                if full || flow.now > until || newest.is_some_and(|newest| newest >= first) {
                    return Step::Window(self.check_flight(flow));
                }
                Step::Hold
            }
            Phase::Validating { end } => {
                if newest.is_some_and(|newest| newest + 1 >= end) {
                    self.phase = Phase::Normal;
                }
                Step::Usual
            }
            Phase::Retreat { end } => {
                if newest.is_some_and(|newest| newest + 1 >= end) {
                    return Step::Threshold(self.leave());
                }
                Step::Hold
            }
            Phase::Normal => Step::Usual,
        }
    }

    /// Congestion of packets of the jump: returns the window of safe retreat. `None` where the algorithm's own response is right.
    pub fn retreat(&mut self) -> Option<f64> {
        let end = match self.phase {
            Phase::Unvalidated { .. } => self.sent,
            Phase::Validating { end } => end,
            Phase::Reconnaissance | Phase::Retreat { .. } | Phase::Normal => {
                self.phase = Phase::Normal;
                return None;
            }
        };
        self.phase = Phase::Retreat { end };
        Some((float(self.pipe) / 2.0).max(MIN_SSTHRESH))
    }

    /// PipeSize, segments.
    pub fn pipe(&self) -> f64 {
        float(self.pipe)
    }

    /// Ends it. Returns the largest ssthresh if it was in safe retreat.
    pub fn end(&mut self) -> Option<f64> {
        let retreated = matches!(self.phase, Phase::Retreat { .. });
        let threshold = self.leave();
        retreated.then_some(threshold)
    }

    fn leave(&mut self) -> f64 {
        self.phase = Phase::Normal;
        (BETA * float(self.pipe)).max(MIN_SSTHRESH)
    }

    /// Counts arrivals: first of packets sent before the jump, then of those of the jump.
    fn count(&mut self, ack: &Ack) {
        let arrived = ack.rate.map_or(ack.acked, |rate| rate.newly_delivered);
        let earlier = arrived.min(self.earlier);
        self.earlier -= earlier;
        if self.phase != Phase::Reconnaissance {
            self.pipe += arrived - earlier;
        }
    }

    /// Reconnaissance (sections 3.2 and 4.2.1).
    fn confirm(&mut self, cwnd: f64, flow: &Flow, ack: &Ack) -> Step {
        let Some((min_rtt, rtt)) = flow.min_rtt.zip(ack.rtt) else { return Step::Usual };
        let jump = self.saved.jump();
        if !self.saved.fits(min_rtt, rtt) || jump <= cwnd {
            self.phase = Phase::Normal;
            return Step::Usual;
        }
        if float(flow.delivered) < self.initial_window || !flow.cwnd_limited {
            return Step::Usual;
        }
        (self.pipe, self.earlier) = (flow.flight_size, flow.flight_size);
        self.phase = Phase::Unvalidated { first: self.sent, until: flow.now + rtt, rate: jump / seconds(rtt) };
        Step::Window(jump)
    }

    /// End of the jump: the window is the flight, or PipeSize if the flight is no larger.
    fn check_flight(&mut self, flow: &Flow) -> f64 {
        let flight = flow.flight_size;
        if float(flight) < self.initial_window || flight <= self.pipe {
            self.phase = Phase::Normal;
            return float(self.pipe).max(self.initial_window);
        }
        self.phase = Phase::Validating { end: self.sent };
        float(flight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RateSample;
    use crate::testing::FLOW;
    use crate::time::MILLISECOND as MS;

    const SAVED: Saved = Saved::new(300.0, 50 * MS);

    /// A sender with the window `cwnd` and an initial window of 10, of which `sent` packets have left.
    struct Sender {
        resume: Resume,
        cwnd: f64,
        now: Nanos,
        rtt: Nanos,
        sent: u64,
        arrived: u64,
    }

    impl Sender {
        fn new(saved: Saved, cwnd: f64, rtt_ms: Nanos) -> Sender {
            Sender { resume: Resume::new(saved, 10.0), cwnd, now: 0, rtt: rtt_ms * MS, sent: 0, arrived: 0 }
        }

        fn flow(&self) -> Flow {
            let flow = Flow { now: self.now, delivered: self.arrived, ..FLOW };
            flow.flight_size(self.sent - self.arrived).min_rtt(Some(self.rtt))
        }

        fn send(&mut self, packets: u64) {
            for _ in 0..packets {
                self.sent += 1;
                let window = self.resume.on_sent(self.cwnd, &self.flow());
                self.cwnd = window.unwrap_or(self.cwnd);
            }
        }

        /// ACKs of one packet each, of which the newest is `newest`.
        fn ack_up_to(&mut self, newest: u64, count: u64) -> Step {
            let mut step = Step::Usual;
            for number in newest + 1 - count..=newest {
                self.arrived += 1;
                let rate = RateSample::new(1, None).segment(number);
                let ack = Ack::of(1, 1.0).rtt(Some(self.rtt)).rate(Some(rate));
                step = self.resume.step(self.cwnd, &self.flow(), &ack);
                match step {
                    Step::Window(window) => self.cwnd = window,
                    Step::Usual => self.cwnd += 1.0,
                    Step::Hold | Step::Threshold(_) => {}
                }
            }
            step
        }
    }

    /// A sender of appendix B: it has 29 packets in flight when the jump comes, with the tenth ACK. Those before it are numbers 0 to 38.
    fn jumped() -> Sender {
        let mut sender = Sender::new(SAVED, 30.0, 50);
        sender.send(39);
        sender.ack_up_to(9, 10);
        sender
    }

    /// Section 4.2.1, saved 50 ms: 10, 25 and 600 ms are another path, 26 and 500 ms the same.
    #[test]
    fn the_rtt_tells_the_path() {
        let fits = [10, 25, 26, 500, 501, 600].map(|ms| SAVED.fits(ms * MS, ms * MS));
        assert_eq!(fits, [false, false, true, true, false, false]);
    }

    /// The jump is half of the saved window, within `max_jump`. Half of 80 is 40; from 45 it is no jump.
    #[test]
    fn the_jump_is_half_of_the_saved_window() {
        assert_eq!((SAVED.jump(), SAVED.max_jump(90.0).jump(), Saved::new(80.0, 0).jump()), (150.0, 90.0, 40.0));
        let mut small = Sender::new(Saved::new(80.0, 50 * MS), 36.0, 50);
        small.send(10);
        assert_eq!((small.ack_up_to(9, 10), small.resume.is_active()), (Step::Usual, false));
    }

    /// Sections 3.2 and 3.3, appendix B.1: with all of the initial window acknowledged, PipeSize is the flight of 29 and the window 150,
    /// paced by 150 per 50 ms. 121 packets are sent unvalidated; the window is the flight then.
    #[test]
    fn the_jump_comes_after_the_initial_window() {
        let mut sender = jumped();
        assert_eq!((sender.cwnd, sender.resume.pipe(), sender.resume.pacing_rate()), (150.0, 29.0, Some(3000.0)));
        sender.send(120);
        assert!(sender.resume.pacing_rate().is_some());
        sender.send(1);
        assert_eq!((sender.cwnd, sender.resume.pacing_rate()), (150.0, None));
        assert_eq!(sender.resume.phase, Phase::Validating { end: 160 });
    }

    /// A sender without data stays in reconnaissance; so it does before all of the first window has arrived.
    #[test]
    fn a_limited_sender_waits() {
        let mut sender = Sender::new(SAVED, 10.0, 50);
        sender.send(10);
        sender.ack_up_to(8, 9);
        assert_eq!(sender.resume.phase, Phase::Reconnaissance);
        let ack = Ack::of(1, 1.0).rtt(Some(50 * MS));
        assert_eq!(sender.resume.step(20.0, &sender.flow().delivered(10).cwnd_limited(false), &ack), Step::Usual);
        assert_eq!(sender.resume.step(20.0, &sender.flow().delivered(11), &ack), Step::Window(150.0));
    }

    /// Validating (section 3.4): growth as usual until the last unvalidated packet, number 159, has arrived.
    #[test]
    fn the_last_unvalidated_packet_ends_it() {
        let mut sender = jumped();
        sender.send(121);
        assert_eq!(sender.ack_up_to(38, 29), Step::Usual);
        sender.ack_up_to(158, 120);
        assert!(sender.resume.is_active());
        sender.ack_up_to(159, 1);
        assert_eq!((sender.resume.pipe(), sender.resume.is_active()), (150.0, false));
    }

    /// A sender that uses less: at the first unvalidated packet's ACK the window is the flight, 49 of 50. Where nothing was sent after the
    /// jump, PipeSize is what is left, and a round trip ends it.
    #[test]
    fn a_jump_that_is_not_used_is_taken_back() {
        let mut sender = jumped();
        sender.send(50);
        sender.ack_up_to(38, 29);
        assert_eq!((sender.ack_up_to(39, 1), sender.resume.phase), (Step::Window(49.0), Phase::Validating { end: 89 }));
        let mut idle = jumped();
        idle.now += 51 * MS;
        assert_eq!((idle.ack_up_to(10, 1), idle.resume.is_active()), (Step::Window(29.0), false));
    }

    /// Appendix B.4: the 35th of 121 unvalidated packets is lost. PipeSize is 29 + 34 = 63 when that is found, and the window 31.5, which
    /// does not grow. The other 86 arrive: PipeSize is 149, and ssthresh half of it.
    #[test]
    fn safe_retreat() {
        let mut sender = jumped();
        sender.send(121);
        sender.ack_up_to(38, 29);
        sender.ack_up_to(38 + 34, 34);
        assert_eq!((sender.resume.pipe(), sender.resume.retreat()), (63.0, Some(31.5)));
        assert_eq!(sender.ack_up_to(158, 85), Step::Hold);
        assert_eq!(sender.ack_up_to(159, 1), Step::Threshold(74.5));
        assert_eq!((sender.resume.pipe(), sender.resume.is_active(), sender.resume.retreat()), (149.0, false, None));
    }

    /// Section 3.2: congestion in reconnaissance is the algorithm's own.
    #[test]
    fn congestion_before_the_jump_ends_it() {
        let mut sender = Sender::new(SAVED, 10.0, 50);
        sender.send(10);
        assert_eq!((sender.resume.retreat(), sender.resume.is_active()), (None, false));
    }
}
