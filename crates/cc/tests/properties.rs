//! What holds for every algorithm, whatever its parameters and whatever happens to it.

use fullpipe_cc::registry::{ALL, Info, Kind, Value};
use fullpipe_cc::time::{MICROSECOND, MILLISECOND, Nanos};
use fullpipe_cc::{Ack, CongestionControl, Controller, Flow, Signal, build};
use proptest::prelude::*;

/// What can happen to a sender.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// ACKs of `acked` segments each, all with this RTT and delay back.
    Acks {
        count: u16,
        acked: u64,
        rtt: Nanos,
        backward: i64,
        limited: bool,
        has_rtt: bool,
    },
    Loss,
    Ecn,
    Timeout,
    Pause(Nanos),
}

fn event() -> impl Strategy<Value = Event> {
    let acks = (
        1u16..200,
        1u64..4,
        1u64..500_000,
        -1_000_000i64..1_000_000,
        prop::bool::weighted(0.9),
        prop::bool::weighted(0.9),
    )
        .prop_map(|(count, acked, rtt_us, backward_us, limited, has_rtt)| Event::Acks {
            count,
            acked,
            rtt: rtt_us * MICROSECOND,
            backward: backward_us * 1000,
            limited,
            has_rtt,
        });
    prop_oneof![
        12 => acks,
        3 => Just(Event::Loss),
        1 => Just(Event::Ecn),
        1 => Just(Event::Timeout),
        1 => (1u64..10_000).prop_map(|ms| Event::Pause(ms * MILLISECOND)),
    ]
}

/// An algorithm and values for all of its parameters, anywhere in their ranges.
fn algorithm() -> impl Strategy<Value = (&'static Info, Vec<(&'static str, Value<'static>)>)> {
    prop::sample::select(ALL).prop_flat_map(|info| {
        let values: Vec<_> = info.params.iter().map(|param| value(param.kind).prop_map(|v| (param.name, v))).collect();
        (Just(info), values)
    })
}

/// The default half of the time, anything else otherwise.
fn value(kind: Kind) -> BoxedStrategy<Value<'static>> {
    match kind {
        Kind::Number { default, min, max } => {
            prop_oneof![Just(default), min..=max, Just(min), Just(max)].prop_map(Value::Number).boxed()
        }
        Kind::Flag { .. } => any::<bool>().prop_map(Value::Flag).boxed(),
        Kind::Choice(names) => prop::sample::select(names).prop_map(Value::Name).boxed(),
    }
}

/// The part of a sender that an algorithm sees.
struct Sender {
    cc: Controller,
    flow: Flow,
    round_end: u64,
    recovery_end: u64,
}

impl Sender {
    fn new(cc: Controller) -> Sender {
        Sender { cc, flow: Flow::default(), round_end: 0, recovery_end: 0 }
    }

    fn run(
        &mut self,
        events: &[Event],
        mut after_ack: impl FnMut(&Controller, &Flow, f64),
        mut always: impl FnMut(&Controller),
    ) {
        for &event in events {
            match event {
                Event::Acks { count, acked, rtt, backward, limited, has_rtt } => {
                    for _ in 0..count {
                        let before = self.cc.cwnd();
                        self.ack(acked, has_rtt.then_some(rtt), rtt, backward, limited);
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

    fn ack(&mut self, acked: u64, sample: Option<Nanos>, rtt: Nanos, backward: i64, limited: bool) {
        let flow = &mut self.flow;
        flow.now += 1 + (rtt as f64 / self.cc.cwnd()) as Nanos;
        flow.delivered += acked;
        flow.in_flight = (self.cc.cwnd() as u64).saturating_sub(acked);
        flow.cwnd_limited = limited;
        flow.srtt = sample.or(flow.srtt);
        flow.min_rtt = flow.min_rtt.into_iter().chain(sample).min();
        let round_start = flow.delivered > self.round_end;
        if round_start {
            flow.round += 1;
            self.round_end = flow.delivered + flow.in_flight;
        }
        let ack = Ack {
            acked,
            credit: 1.0,
            round_start,
            rtt: sample,
            forward_delay: Some(-backward),
            backward_delay: Some(backward),
        };
        self.cc.on_ack(flow, &ack);
    }

    fn congestion(&mut self, signal: Signal) {
        if self.flow.in_recovery && signal != Signal::Timeout {
            return;
        }
        self.flow.in_flight = self.cc.cwnd() as u64;
        self.flow.lost += 1;
        self.flow.in_recovery = signal != Signal::Timeout;
        self.recovery_end = self.flow.delivered + self.flow.in_flight;
        self.cc.on_congestion(&self.flow, signal);
    }

    fn end_recovery(&mut self) {
        if self.flow.in_recovery && self.flow.delivered >= self.recovery_end {
            self.flow.in_recovery = false;
            self.cc.on_recovered(&self.flow);
        }
    }
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

    /// cwnd is finite and at least 1; ssthresh at least 2; internals keep their names and order.
    #[test]
    fn window_stays_a_window((info, given) in algorithm(), events in prop::collection::vec(event(), 1..40)) {
        let mut sender = Sender::new(build(info.name, &given, 2.0).unwrap());
        let first = names(&sender.cc);
        let mut faults = Vec::new();
        sender.run(&events, |_, _, _| {}, |cc| {
            if !(cc.cwnd() >= 1.0 && cc.cwnd().is_finite() && cc.ssthresh() >= 2.0 && names(cc) == first) {
                faults.push(format!("cwnd {} ssthresh {} {:?}", cc.cwnd(), cc.ssthresh(), names(cc)));
            }
        });
        prop_assert!(faults.is_empty(), "{}: {}", info.name, faults[0]);
    }

    /// No ACK makes the window larger in recovery, nor while something else limits the sender.
    #[test]
    fn window_grows_only_when_it_may((info, given) in algorithm(), events in prop::collection::vec(event(), 1..40)) {
        let mut sender = Sender::new(build(info.name, &given, 2.0).unwrap());
        let mut faults = Vec::new();
        sender.run(&events, |cc, flow, before| {
            if (flow.in_recovery || !flow.cwnd_limited) && cc.cwnd() > before * (1.0 + 1e-12) {
                faults.push(format!("{} to {} at {flow:?}", before, cc.cwnd()));
            }
        }, |_| {});
        prop_assert!(faults.is_empty(), "{}: {}", info.name, faults[0]);
    }

    /// No congestion event leaves the window larger than it was.
    #[test]
    fn congestion_never_helps((info, given) in algorithm(), events in prop::collection::vec(event(), 1..40)) {
        let mut sender = Sender::new(build(info.name, &given, 2.0).unwrap());
        sender.run(&events, |_, _, _| {}, |_| {});
        for signal in [Signal::Loss, Signal::Ecn, Signal::Timeout] {
            let mut cc = sender.cc.clone();
            let before = cc.cwnd();
            cc.on_congestion(&Flow { in_flight: before as u64, ..sender.flow }, signal);
            prop_assert!(cc.cwnd() <= before.max(2.0), "{}: {before} to {} by {signal:?}", info.name, cc.cwnd());
        }
    }

    /// The same events give the same windows and internals, bit for bit; a clone goes on as the original does.
    #[test]
    fn runs_repeat((info, given) in algorithm(), events in prop::collection::vec(event(), 2..40)) {
        let mut first = Sender::new(build(info.name, &given, 2.0).unwrap());
        let mut second = Sender::new(build(info.name, &given, 2.0).unwrap());
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
