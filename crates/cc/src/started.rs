//! Slow starts that need more state, or more control, than the frame of the algorithms has room for. They surround the algorithm.

use crate::classic::MIN_SSTHRESH;
use crate::slow_start::rapid::{Rapid, Retreat};
use crate::slow_start::resume::{Resume, Step};
use crate::slow_start::search::Search;
use crate::{Ack, CongestionControl, Flow, Lost, Nanos, Signal, SlowStart, Start};
use core::fmt::Display;

/// Algorithm that begins with SEARCH, Rapid Start, or careful resume: the slow starts that [`build`](crate::build) leaves out.
///
/// Its own slow start has to be the standard one. The window is set from outside ([`CongestionControl::on_restart`]).
///
/// ```
/// use fullpipe_cc::slow_start::Saved;
/// use fullpipe_cc::{Ack, CongestionControl, Flow, SlowStart, Start, Started, build};
///
/// let start = Start::from(10.0).slow_start(SlowStart::Rapid).rtt(20_000_000);
/// assert!(Started::is_for(&start));
/// let mut cc = Started::new(build("reno", &[], start)?, &start);
/// assert_eq!(cc.pacing_rate(), Some(10.0 / 0.020));
/// cc.on_ack(&Flow::at(20_000_000).cwnd_limited(true), &Ack::of(1, 1.0));
/// assert_eq!(cc.cwnd(), 12.0);
/// assert!(Started::is_for(&Start::from(10.0).resume(Saved::new(400.0, 50_000_000))));
/// # Ok::<(), fullpipe_cc::params::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Started<C> {
    policy: C,
    initial_window: f64,
    beginning: Beginning,
    /// Losses that came with the last ACK, and when it came.
    just_lost: (Nanos, u64),
}

#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "the crate has no heap, and senders box the whole")]
enum Beginning {
    Search(Search),
    Rapid(Rapid),
    /// The first recovery after Rapid Start.
    Retreat(Retreat),
    Resume(Resume),
    Over,
}

impl Started<()> {
    /// Whether a connection with this start has one of these.
    pub fn is_for(start: &Start) -> bool {
        start.resume.is_some() || matches!(start.slow_start, SlowStart::Search | SlowStart::Rapid)
    }
}

impl<C: CongestionControl> Started<C> {
    /// The algorithm `policy`, built with `start`.
    pub fn new(policy: C, start: &Start) -> Started<C> {
        let beginning = match (start.resume, start.slow_start) {
            (Some(saved), _) => Beginning::Resume(Resume::new(saved, start.window)),
            (None, SlowStart::Search) => Beginning::Search(Search::default()),
            (None, SlowStart::Rapid) => Beginning::Rapid(Rapid::new(start.window, start.rtt)),
            (None, _) => Beginning::Over,
        };
        Started { policy, initial_window: start.window, beginning, just_lost: (0, 0) }
    }

    fn set(&mut self, cwnd: f64, ssthresh: f64) {
        self.policy.on_restart(cwnd, ssthresh);
    }

    /// Whether slow start governs the window.
    fn starts(&self, flow: &Flow) -> bool {
        self.policy.cwnd() < self.policy.ssthresh() && !flow.in_recovery
    }

    fn on_ack_of_resume(&mut self, flow: &Flow, ack: &Ack, step: Step) {
        let grows = step == Step::Usual;
        self.policy.on_ack(flow, &if grows { *ack } else { ack.credit(0.0) });
        match step {
            Step::Usual | Step::Hold => {}
            Step::Window(window) => self.set(window, self.policy.ssthresh()),
            Step::Threshold(most) => self.set(self.policy.cwnd(), most),
        }
    }

    /// The first congestion in Rapid Start: the algorithm's response gives beta, and the draft's factors follow from it.
    fn leave_rapid(&mut self, flow: &Flow, signal: Signal) {
        let window = self.policy.cwnd();
        let used = if flow.cwnd_limited { window } else { window.min(flow.flight_size as f64) };
        self.policy.on_congestion(flow, signal);
        self.beginning = Beginning::Over;
        if signal != Signal::Timeout && used > MIN_SSTHRESH {
            let ssthresh = self.policy.ssthresh();
            let retreat = Retreat::new(used, (ssthresh / used).min(1.0), self.initial_window);
            let lost = if self.just_lost.0 == flow.now { self.just_lost.1 } else { 0 };
            self.set(retreat.lowered((retreat.silence * used).max(MIN_SSTHRESH), 0, lost), ssthresh);
            self.beginning = Beginning::Retreat(retreat);
        }
    }

    /// Ends the recovery of a slow start, which is over or was needless.
    fn end(&mut self) {
        let cwnd = self.policy.cwnd();
        match &mut self.beginning {
            Beginning::Retreat(_) => {
                self.set(cwnd, cwnd.max(MIN_SSTHRESH));
                self.beginning = Beginning::Over;
            }
            Beginning::Resume(resume) => {
                if let Some(most) = resume.end() {
                    self.set(cwnd, most);
                }
            }
            Beginning::Search(_) | Beginning::Rapid(_) | Beginning::Over => {}
        }
    }
}

impl<C: CongestionControl> CongestionControl for Started<C> {
    fn cwnd(&self) -> f64 {
        self.policy.cwnd()
    }

    fn ssthresh(&self) -> f64 {
        self.policy.ssthresh()
    }

    fn pacing_rate(&self) -> Option<f64> {
        let rate = match &self.beginning {
            Beginning::Rapid(rapid) => rapid.pacing_rate(),
            Beginning::Resume(resume) => resume.pacing_rate(),
            Beginning::Search(_) | Beginning::Retreat(_) | Beginning::Over => None,
        };
        rate.or_else(|| self.policy.pacing_rate())
    }

    fn send_quantum(&self) -> u64 {
        self.policy.send_quantum()
    }

    /// Until its slow start is over: arrivals that SACK reports count.
    fn takes_rate_samples(&self) -> bool {
        let counts = match &self.beginning {
            Beginning::Rapid(_) | Beginning::Retreat(_) => true,
            Beginning::Resume(resume) => resume.is_active(),
            Beginning::Search(_) | Beginning::Over => false,
        };
        counts || self.policy.takes_rate_samples()
    }

    fn rules_recovery(&self) -> bool {
        !matches!(self.beginning, Beginning::Search(_)) || self.policy.rules_recovery()
    }

    fn holds_back(&self) -> bool {
        self.policy.holds_back()
    }

    fn on_ack(&mut self, flow: &Flow, ack: &Ack) {
        let (cwnd, starts) = (self.policy.cwnd(), self.starts(flow));
        match &mut self.beginning {
            Beginning::Search(search) => {
                let over = starts && search.ends_with(flow, ack);
                self.policy.on_ack(flow, &if over { ack.credit(0.0) } else { *ack });
                if over {
                    self.set(cwnd, cwnd.max(MIN_SSTHRESH));
                }
            }
            Beginning::Rapid(rapid) => {
                self.just_lost = (flow.now, ack.newly_lost);
                let gain = if starts && flow.may_grow(ack) { rapid.gain(cwnd, flow, ack) } else { ack.credit };
                self.policy.on_ack(flow, &ack.credit(gain));
            }
            Beginning::Retreat(retreat) => {
                let arrived = ack.rate.map_or(ack.acked, |rate| rate.newly_delivered);
                let lowered = retreat.lowered(cwnd, arrived, ack.newly_lost);
                self.policy.on_ack(flow, &ack.credit(0.0));
                self.set(lowered, self.policy.ssthresh());
            }
            Beginning::Resume(resume) => {
                let step = resume.step(cwnd, flow, ack);
                self.on_ack_of_resume(flow, ack, step);
            }
            Beginning::Over => self.policy.on_ack(flow, ack),
        }
    }

    fn on_congestion(&mut self, flow: &Flow, signal: Signal) {
        match &mut self.beginning {
            Beginning::Search(search) => search.restart(),
            Beginning::Rapid(_) => return self.leave_rapid(flow, signal),
            Beginning::Retreat(_) => self.beginning = Beginning::Over,
            Beginning::Resume(resume) if signal == Signal::Timeout => {
                resume.end();
            }
            Beginning::Resume(resume) => {
                if let Some(window) = resume.retreat() {
                    let pipe = resume.pipe().max(MIN_SSTHRESH);
                    self.set(pipe, self.policy.ssthresh());
                    self.policy.on_congestion(flow, signal);
                    return self.set(window, self.policy.ssthresh());
                }
            }
            Beginning::Over => {}
        }
        self.policy.on_congestion(flow, signal);
    }

    fn on_recovered(&mut self, flow: &Flow) {
        self.policy.on_recovered(flow);
        self.end();
    }

    fn on_sent(&mut self, flow: &Flow) {
        let cwnd = self.policy.cwnd();
        if let Beginning::Resume(resume) = &mut self.beginning
            && let Some(window) = resume.on_sent(cwnd, flow)
        {
            self.set(window, self.policy.ssthresh());
        }
        self.policy.on_sent(flow);
    }

    fn on_lost(&mut self, flow: &Flow, lost: &Lost) {
        self.policy.on_lost(flow, lost);
    }

    fn on_undo(&mut self, cwnd: f64, ssthresh: f64) {
        self.end();
        self.policy.on_undo(cwnd, ssthresh);
    }

    fn on_restart(&mut self, cwnd: f64, ssthresh: f64) {
        if let Beginning::Search(search) = &mut self.beginning {
            search.restart();
        }
        self.policy.on_restart(cwnd, ssthresh);
    }

    /// A limit is no restart: SEARCH keeps its bins.
    fn on_limit(&mut self, cwnd: f64) {
        self.policy.on_limit(cwnd);
    }

    fn fault(&self) -> Option<&dyn Display> {
        self.policy.fault()
    }

    fn inspect(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        self.policy.inspect(visit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::reno::{NEWRENO, Reno};
    use crate::params::Params;
    use crate::slow_start::Saved;
    use crate::testing::FLOW;
    use crate::time::MILLISECOND as MS;
    use crate::{Classic, RateSample};

    fn reno(start: Start) -> Started<Classic<Reno>> {
        Started::new(Reno::controller(&Params::defaults(&NEWRENO), start), &start)
    }

    fn rapid(window: f64) -> Started<Classic<Reno>> {
        reno(Start::from(window).slow_start(SlowStart::Rapid))
    }

    fn rate(segments: u64) -> Option<RateSample> {
        Some(RateSample::new(segments, None))
    }

    /// Rounds without a queue from 10: 30, 90, 270. A round that has one: twice.
    #[test]
    fn rapid_start_triples() {
        let mut cc = rapid(10.0);
        let mut seen = std::vec::Vec::new();
        for round in 1..=4 {
            let rtt = if round == 4 { 26 } else { 20 };
            let flow = Flow { now: round * 100 * MS, ..FLOW }.min_rtt(Some(20 * MS));
            for _ in 0..cc.cwnd() as u64 {
                cc.on_ack(&flow, &Ack::of(1, 1.0).rtt(Some(rtt * MS)));
            }
            seen.push(cc.cwnd());
        }
        assert_eq!(seen, [30.0, 90.0, 270.0, 540.0]);
    }

    /// Reno keeps half: from 300 with 200 arrivals and 100 losses, of which one has ended Rapid Start, it is 100, half of what arrived, and
    /// ssthresh too once the recovery is over.
    #[test]
    fn the_first_recovery_leaves_half_of_what_arrived() {
        let mut cc = rapid(10.0);
        cc.on_restart(300.0, f64::INFINITY);
        assert!(cc.takes_rate_samples() && cc.rules_recovery());
        cc.on_ack(&FLOW, &Ack { newly_lost: 1, ..Ack::of(0, 0.0) });
        cc.on_congestion(&FLOW, Signal::Loss);
        let begun = 300.0 * 29.0 / 36.0 - 29.0 / 36.0;
        assert!((cc.cwnd() - begun).abs() < 1e-9 && cc.ssthresh() == 150.0);
        let flow = FLOW.in_recovery(true);
        for _ in 0..99 {
            cc.on_ack(&flow, &Ack { newly_lost: 1, ..Ack::of(0, 0.0).rate(rate(2)) });
        }
        cc.on_ack(&flow, &Ack::of(3, 1.0).rate(rate(2)));
        assert!((cc.cwnd() - 100.0).abs() < 1e-9, "{}", cc.cwnd());
        cc.on_recovered(&FLOW);
        assert_eq!((cc.cwnd(), cc.takes_rate_samples()), (cc.ssthresh(), false));
        let before = cc.cwnd();
        cc.on_ack(&FLOW, &Ack::of(1, 1.0));
        assert!((cc.cwnd() - before - 1.0 / before).abs() < 1e-12, "congestion avoidance");
    }

    /// A timeout in Rapid Start, and another loss in its recovery, have the algorithm's own response.
    #[test]
    fn other_congestion_has_the_response_of_the_algorithm() {
        let mut cc = rapid(10.0);
        cc.on_restart(100.0, f64::INFINITY);
        cc.on_congestion(&FLOW, Signal::Timeout);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (1.0, 50.0));
        let mut cc = rapid(10.0);
        cc.on_restart(100.0, f64::INFINITY);
        cc.on_congestion(&FLOW, Signal::Ecn);
        cc.on_congestion(&FLOW, Signal::Loss);
        assert_eq!(cc.cwnd(), 100.0 * 29.0 / 36.0 / 2.0);
        cc.on_ack(&FLOW, &Ack::of(1, 1.0));
        assert!(cc.cwnd() > 100.0 * 29.0 / 36.0 / 2.0);
    }

    /// A needless recovery is taken back whole.
    #[test]
    fn a_needless_recovery_is_undone() {
        let mut cc = rapid(10.0);
        cc.on_restart(100.0, f64::INFINITY);
        cc.on_congestion(&FLOW, Signal::Loss);
        cc.on_undo(100.0, f64::INFINITY);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (100.0, f64::INFINITY));
    }

    /// 26 of 100 missing end SEARCH with ssthresh = cwnd, and the ACK that does adds nothing.
    #[test]
    fn search_ends_slow_start_where_the_window_is() {
        let mut cc = reno(Start::from(10.0).slow_start(SlowStart::Search));
        let mut flow = FLOW;
        for bin in 0..=16 {
            let before = cc.cwnd();
            let arrived = if bin == 16 { 740 } else { 0 };
            // An RTT of 15 bins is too long to look back.
            let rtt = if bin == 0 {
                100
            } else if bin == 16 {
                120
            } else {
                525
            };
            flow = Flow { now: (100 + 35 * bin + u64::from(bin > 0)) * MS, delivered: arrived, ..flow };
            flow = flow.flight_size(5000 + 100 * bin - arrived);
            cc.on_ack(&flow, &Ack::of(1, 1.0).rtt(Some(rtt * MS)));
            assert_eq!(cc.cwnd() - before, if bin == 16 { 0.0 } else { 1.0 });
        }
        assert_eq!((cc.cwnd(), cc.ssthresh()), (26.0, 26.0));
        assert!(!cc.takes_rate_samples() && !cc.rules_recovery());
    }

    /// After an idle restart SEARCH starts over; a limit of the window does not.
    #[test]
    fn search_starts_over_at_an_idle_restart() {
        let mut cc = reno(Start::from(10.0).slow_start(SlowStart::Search));
        let first = cc.clone();
        cc.on_ack(&FLOW.delivered(1).flight_size(9), &Ack::of(1, 0.0).rtt(Some(100 * MS)));
        let begun = cc.clone();
        cc.on_limit(10.0);
        assert_eq!(cc, begun);
        assert_ne!(begun, first);
        cc.on_restart(10.0, f64::INFINITY);
        assert_eq!(cc, first);
    }

    /// Saved 300, ten packets acknowledged: the window jumps to 150. A loss takes it to half of PipeSize, and the algorithm's response
    /// knows PipeSize as its window.
    #[test]
    fn resume_jumps_and_retreats() {
        let mut cc = reno(Start::from(10.0).resume(Saved::new(300.0, 50 * MS)));
        let flow = |delivered, flight| FLOW.delivered(delivered).flight_size(flight).min_rtt(Some(50 * MS));
        (0..30).for_each(|_| cc.on_sent(&flow(0, 10)));
        let ack = |segment| Ack::of(1, 1.0).rtt(Some(50 * MS)).rate(Some(RateSample::new(1, None).segment(segment)));
        cc.on_ack(&flow(10, 20), &ack(9));
        assert_eq!((cc.cwnd(), cc.pacing_rate()), (150.0, Some(3000.0)));
        (0..130).for_each(|sent| cc.on_sent(&flow(10, 21 + sent)));
        cc.on_congestion(&flow(10, 150), Signal::Loss);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (10.0, 10.0));
        assert_eq!(cc.pacing_rate(), None);
        cc.on_ack(&flow(40, 120), &ack(159));
        assert_eq!((cc.cwnd(), cc.ssthresh(), cc.takes_rate_samples()), (10.0, 10.0, false));
    }

    /// Nothing is built around an algorithm for the other slow starts.
    #[test]
    fn only_some_starts_need_it() {
        let needs = |kind| Started::is_for(&Start::from(10.0).slow_start(kind));
        assert_eq!(SlowStart::ALL.map(needs), [false, false, false, true, true]);
    }
}
