//! Properties of every algorithm, with any parameters and events.

use fullpipe_cc::params::{Info, Kind, Param, Value};
use fullpipe_cc::registry::ALL;
use fullpipe_cc::time::{MICROSECOND, MILLISECOND, Nanos, SECOND};
use fullpipe_cc::{Ack, CongestionControl, Controller, Flow, Lost, RateSample, Signal, SlowStart, Start, build};
use proptest::prelude::*;

/// Event of a sender.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// ACKs of `acked` segments each, all with this RTT and delay back.
    Acks {
        count: u16,
        acked: u64,
        credit: f64,
        rtt: Nanos,
        backward: i64,
        /// All of them come at one time.
        at_once: bool,
        limited: bool,
        has_rtt: bool,
        /// All these segments are marked.
        marked: bool,
    },
    Loss,
    Ecn,
    Timeout,
    Pause(Nanos),
}

fn event() -> impl Strategy<Value = Event> {
    // A clock that is read in whole ticks gives RTTs of 0; a queue at 1 bit/s, days.
    let rtt = prop_oneof![
        12 => (1u64..500_000).prop_map(|us| us * MICROSECOND),
        1 => Just(0),
        1 => Just(1),
        1 => (1u64..1_000_000).prop_map(|s| s * SECOND),
    ];
    let credit = prop_oneof![12 => Just(1.0), 2 => Just(0.0), 1 => 0.0..1.0, 1 => 1.0..1000.0];
    let acks = (
        1u16..200,
        prop_oneof![12 => 1u64..4, 1 => 1u64..1_000_000],
        credit,
        rtt,
        -1_000_000i64..1_000_000,
        prop::bool::weighted(0.1),
        prop::bool::weighted(0.9),
        prop::bool::weighted(0.9),
        prop::bool::weighted(0.2),
    )
        .prop_map(|(count, acked, credit, rtt, backward_us, at_once, limited, has_rtt, marked)| Event::Acks {
            count,
            acked,
            credit,
            rtt,
            backward: backward_us * 1000,
            at_once,
            limited,
            has_rtt,
            marked,
        });
    prop_oneof![
        12 => acks,
        3 => Just(Event::Loss),
        2 => Just(Event::Ecn),
        1 => Just(Event::Timeout),
        1 => (1u64..10_000).prop_map(|ms| Event::Pause(ms * MILLISECOND)),
    ]
}

/// An algorithm, values for all of its parameters, anywhere in their ranges, and how it begins.
fn algorithm() -> impl Strategy<Value = (&'static Info, Vec<(&'static str, Value)>, Start)> {
    let start = (prop::sample::select(&SlowStart::ALL), any::<bool>());
    let start = start.prop_map(|(slow_start, paced)| Start::from(2.0).slow_start(slow_start).paced(paced));
    (with_values(), start).prop_map(|((info, given), start)| (info, given, start))
}

fn with_values() -> impl Strategy<Value = (&'static Info, Vec<(&'static str, Value)>)> {
    prop::sample::select(ALL).prop_flat_map(|info| {
        let values: Vec<_> = info.params.iter().map(|param| value(param).prop_map(|v| (param.name, v))).collect();
        (Just(info), values)
    })
}

/// Default of a parameter, a bound, or any other value that is allowed.
fn value(param: &Param) -> BoxedStrategy<Value> {
    match (param.kind, param.default) {
        (Kind::Number { min, max }, Some(Value::Number(default))) => {
            prop_oneof![Just(default), min..=max, Just(min), Just(max)].prop_map(Value::Number).boxed()
        }
        (Kind::Whole { min, max }, _) => prop_oneof![min..=max, Just(min), Just(max)].prop_map(Value::Whole).boxed(),
        (Kind::Flag, _) => any::<bool>().prop_map(Value::Flag).boxed(),
        (Kind::Choice(names), _) => prop::sample::select(names).prop_map(Value::Name).boxed(),
        (kind, _) => panic!("{}: {kind:?}", param.name),
    }
}

/// The part of a sender that an algorithm sees.
struct Sender {
    cc: Controller,
    flow: Flow,
    round_end: u64,
    recovery_end: u64,
    /// When the flow's last rate sample began.
    sampled_from: Nanos,
}

impl Sender {
    fn new(cc: Controller) -> Sender {
        Sender { cc, flow: Flow::default(), round_end: 0, recovery_end: 0, sampled_from: 0 }
    }

    fn run(
        &mut self,
        events: &[Event],
        mut after_ack: impl FnMut(&Controller, &Flow, f64),
        mut always: impl FnMut(&Controller),
    ) {
        for &event in events {
            match event {
                Event::Acks { count, acked, credit, rtt, backward, at_once, limited, has_rtt, marked } => {
                    for _ in 0..count {
                        let before = self.cc.cwnd();
                        self.flow.now += if at_once { 0 } else { 1 + (rtt as f64 / before) as Nanos };
                        self.flow.cwnd_limited = limited;
                        let (ce, credit) = if marked { (acked, 0.0) } else { (0, credit) };
                        self.ack(acked, credit, has_rtt.then_some(rtt), backward, ce);
                        after_ack(&self.cc, &self.flow, before);
                        self.end_recovery();
                        always(&self.cc);
                    }
                }
                Event::Loss => self.congestion(Signal::Loss),
                Event::Ecn => self.congestion(Signal::Ecn),
                Event::Timeout => self.congestion(Signal::Timeout),
                Event::Pause(time) => self.flow.now += time,
            }
            always(&self.cc);
        }
    }

    fn ack(&mut self, acked: u64, credit: f64, sample: Option<Nanos>, backward: i64, ce: u64) {
        let flow = &mut self.flow;
        flow.delivered += acked;
        flow.flight_size = flight_size(&self.cc).saturating_sub(acked);
        flow.srtt = sample.or(flow.srtt);
        flow.min_rtt = flow.min_rtt.into_iter().chain(sample).min();
        let round_start = flow.delivered > self.round_end;
        if round_start {
            flow.round += 1;
            self.round_end = flow.delivered + flow.flight_size;
        }
        let rate = self.cc.takes_rate_samples().then(|| {
            let interval = Some(flow.now - self.sampled_from).filter(|&interval| interval > 0);
            self.sampled_from = flow.now;
            let sample = RateSample::new(acked, interval).prior_delivered(flow.delivered - acked).rtt(sample);
            sample.is_app_limited(!flow.cwnd_limited).tx_in_flight(flow.flight_size + acked)
        });
        flow.in_flight = flow.flight_size;
        let ack = Ack::of(acked, credit)
            .rate(rate)
            .round_start(round_start)
            .rtt(sample)
            .forward_delay(Some(-backward))
            .backward_delay(Some(backward))
            .ce(ce);
        self.cc.on_ack(flow, &ack);
    }

    fn congestion(&mut self, signal: Signal) {
        if self.flow.in_recovery && signal != Signal::Timeout {
            return;
        }
        self.flow.flight_size = flight_size(&self.cc);
        self.flow.lost += 1;
        if self.cc.takes_rate_samples() && signal != Signal::Ecn {
            let lost = Lost::of(self.flow.delivered).tx_in_flight(self.flow.flight_size.max(1));
            self.cc.on_lost(&self.flow, &lost);
        }
        self.flow.in_recovery = signal != Signal::Timeout;
        self.recovery_end = self.flow.delivered + self.flow.flight_size;
        self.cc.on_congestion(&self.flow, signal);
    }

    fn end_recovery(&mut self) {
        if self.flow.in_recovery && self.flow.delivered >= self.recovery_end {
            self.flow.in_recovery = false;
            self.cc.on_recovered(&self.flow);
        }
    }
}

/// A full window, but not more than a scenario's longest transfer.
fn flight_size(cc: &Controller) -> u64 {
    (cc.cwnd() as u64).min(1_000_000_000_000)
}

fn internals(cc: &Controller) -> Vec<(&'static str, u64)> {
    let mut all = Vec::new();
    cc.inspect(&mut |name, value| all.push((name, value.to_bits())));
    all
}

fn names(cc: &Controller) -> Vec<&'static str> {
    internals(cc).into_iter().map(|(name, _)| name).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    /// cwnd is finite and at least 1; ssthresh at least 2; a rate is more than nothing; internals keep their names and order.
    #[test]
    fn window_stays_a_window((info, given, start) in algorithm(), events in prop::collection::vec(event(), 1..40)) {
        let mut sender = Sender::new(build(info.name, &given, start).unwrap());
        let first = names(&sender.cc);
        let mut faults = Vec::new();
        sender.run(&events, |_, _, _| {}, |cc| {
            let paced = cc.pacing_rate().is_none_or(|rate| rate > 0.0) && cc.send_quantum() >= 1;
            let windows = cc.cwnd() >= 1.0 && cc.cwnd().is_finite() && cc.ssthresh() >= 2.0;
            if !(windows && paced && names(cc) == first) {
                faults.push(format!("cwnd {} ssthresh {} {:?}", cc.cwnd(), cc.ssthresh(), names(cc)));
            }
        });
        prop_assert!(faults.is_empty(), "{}: {}", info.name, faults[0]);
    }

    /// An ACK that is worth no increase gives none. (Vegas may shrink at it, and a safety check may end. A model of the path counts
    /// delivered data.)
    #[test]
    fn no_credit_no_growth((info, given, start) in algorithm(), events in prop::collection::vec(event(), 1..40)) {
        let mut sender = Sender::new(build(info.name, &given, start).unwrap());
        sender.run(&events, |_, _, _| {}, |_| {});
        for _ in 0..50 {
            if sender.cc.takes_rate_samples() {
                break;
            }
            let before = sender.cc.cwnd();
            sender.flow.now += MILLISECOND;
            sender.flow.cwnd_limited = true;
            sender.ack(1, 0.0, Some(MILLISECOND), 0, 0);
            prop_assert!(sender.cc.cwnd() <= before * (1.0 + 1e-12), "{}: {before} to {}", info.name, sender.cc.cwnd());
        }
    }

    /// No ACK makes the window larger in recovery, nor while something else limits the sender, except where it follows from a model of the path.
    #[test]
    fn window_grows_only_when_it_may((info, given, start) in algorithm(), events in prop::collection::vec(event(), 1..40)) {
        let mut sender = Sender::new(build(info.name, &given, start).unwrap());
        let mut faults = Vec::new();
        sender.run(&events, |cc, flow, before| {
            let may_not = (flow.in_recovery || !flow.cwnd_limited) && !cc.takes_rate_samples();
            if may_not && cc.cwnd() > before * (1.0 + 1e-12) {
                faults.push(format!("{} to {} at {flow:?}", before, cc.cwnd()));
            }
        }, |_| {});
        prop_assert!(faults.is_empty(), "{}: {}", info.name, faults[0]);
    }

    /// No congestion event leaves the window larger than it was.
    #[test]
    fn congestion_never_helps((info, given, start) in algorithm(), events in prop::collection::vec(event(), 1..40)) {
        let mut sender = Sender::new(build(info.name, &given, start).unwrap());
        sender.run(&events, |_, _, _| {}, |_| {});
        for signal in [Signal::Loss, Signal::Ecn, Signal::Timeout] {
            let mut cc = sender.cc.clone();
            let before = cc.cwnd();
            cc.on_congestion(&sender.flow.flight_size(before as u64), signal);
            prop_assert!(cc.cwnd() <= before.max(2.0), "{}: {before} to {} by {signal:?}", info.name, cc.cwnd());
        }
    }

    /// Equal events give equal windows and internals, bit for bit; a clone continues as the original does.
    #[test]
    fn runs_repeat((info, given, start) in algorithm(), events in prop::collection::vec(event(), 2..40)) {
        let mut first = Sender::new(build(info.name, &given, start).unwrap());
        let mut second = Sender::new(build(info.name, &given, start).unwrap());
        let (head, tail) = events.split_at(events.len() / 2);
        first.run(&events, |_, _, _| {}, |_| {});
        second.run(head, |_, _, _| {}, |_| {});
        second.cc = second.cc.clone();
        second.run(tail, |_, _, _| {}, |_| {});
        prop_assert_eq!(first.cc.cwnd().to_bits(), second.cc.cwnd().to_bits());
        prop_assert_eq!(first.cc.ssthresh().to_bits(), second.cc.ssthresh().to_bits());
        prop_assert_eq!(internals(&first.cc), internals(&second.cc));
    }
}
