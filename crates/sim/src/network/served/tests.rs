use super::*;
use crate::network::change::trace::Traced;
use crate::network::fifo::Fifo;
use crate::scenario::Trace;
use fullpipe_cc::time::MILLISECOND;
use proptest::prelude::*;

/// Of each packet when it has been sent, or that it is lost; and the figures.
type Outcome = (Vec<Option<Nanos>>, String);

/// Arrival: its time, its size, and whether it comes after the departures at that time.
type Arrival = (Nanos, u32, bool);

fn served(link: &Link, arrivals: &[Arrival], window: Window) -> Outcome {
    let interval = Some(MILLISECOND);
    let mut served = Served::new(link, 1000, 1, Identity::NONE, window, interval, Serving::Everywhere);
    let mut sent = vec![None; arrivals.len()];
    let mut note = |packet: Packet| sent[packet.seq as usize] = Some(packet.at - link.delay);
    for (seq, &(at, size, late)) in (0..).zip(arrivals) {
        let packet = Packet { at, seq, ..Packet::default() };
        let order = if late { Order::Last } else { Order::First };
        if let Accepted::Sent(packet) = served.accept(&packet, size, order) {
            note(packet);
        }
    }
    served.let_in(0);
    while served.port.turn < window.to {
        served.serve(served.port.turn);
    }
    let report = format!("{:?} {:?}", served.report(), served.take_series());
    while served.port.turn < Nanos::MAX {
        served.serve(served.port.turn);
    }
    while let Some(packet) = served.next_departed() {
        note(packet);
    }
    (sent, report)
}

fn foreseen(link: &Link, arrivals: &[Arrival], window: Window) -> Outcome {
    let mut fifo: Fifo<Traced> = Fifo::new(link, 1, Identity::NONE, window, Some(MILLISECOND));
    let accept = |&(at, size, late): &Arrival| {
        if late {
            fifo.pass(at);
        }
        fifo.accept(at, size)
    };
    let sent = arrivals.iter().map(accept).collect();
    (sent, format!("{:?} {:?}", fifo.report(), fifo.take_series()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    /// Packets come at quarters of a millisecond: a quarter of them when an opportunity may be.
    #[test]
    fn a_trace_is_foreseen_as_it_is_served(
        steps in prop::collection::vec(prop_oneof![Just(0u32), Just(1), 0..9u32], 1..12),
        arrivals in prop::collection::vec(
            (prop_oneof![3 => Just(0u64), 2 => 0..9u64, 1 => Just(40)], prop_oneof![Just(40u32), Just(1504), 1..5000u32], any::<bool>()),
            1..80,
        ),
        buffer in prop_oneof![
            (1u64..12).prop_map(Buffer::Packets),
            (1u64..20_000).prop_map(Buffer::Bytes),
            (1..30 * MILLISECOND).prop_map(Buffer::Time),
            Just(Buffer::Unlimited),
        ],
        loss in prop_oneof![Just(0.0), Just(0.2)],
        (from, length) in (0u64..20, 1u64..60),
    ) {
        let mut time = 0;
        let mut times: Vec<u32> = steps.iter().map(|step| (time += step, time).1).collect();
        times.push(time.max(1));
        let trace = Trace::new(times).expect("a trace");
        let (rate_bps, trace) = (trace.rate_bps(), Some(trace));
        let link = Link { rate_bps, trace, delay: 5, buffer, loss: Loss::Independent(loss), ..Link::default() };
        let mut now = 0;
        let arrival = |(gap, size, late): (u64, u32, bool)| {
            now += gap * MILLISECOND / 4;
            (now, size, late)
        };
        let arrivals: Vec<Arrival> = arrivals.into_iter().map(arrival).collect();
        let window = Window { from: from * MILLISECOND, to: (from + length) * MILLISECOND };
        prop_assert_eq!(foreseen(&link, &arrivals, window), served(&link, &arrivals, window));
    }
}
