//! Links whose directions differ or that change: every expected value is worked by hand.

use fullpipe_sim::scenario::{Jitter, JitterModel, Trace};
use fullpipe_sim::{Report, Scenario, run};

fn simulate(text: &str) -> Report {
    let scenario = Scenario::from_toml(text).unwrap_or_else(|problem| panic!("{problem}\n{text}"));
    run(&scenario, &mut |_| true).expect("nobody stops it")
}

/// Report of one link with these keys and this traffic.
fn one_link(head: &str, link: &str, traffic: &str) -> Report {
    simulate(&format!("series_interval = \"off\"\n{head}\n[[links]]\nname = \"l\"\n{link}\n{traffic}"))
}

/// 10 Mbit/s carry 833.3 segments of 1500 bytes a second, 100 kbit/s 312.5 ACKs of 40: K = 2.667 (RFC 3449 section 2). Where ACKs
/// wait without limit the window is all that is under way, and data leaves as fast as ACKs come back: 312.5 segments a second,
/// or twice that where an ACK is of two.
#[test]
fn slow_acks_hold_data_back() {
    let utilization = |delayed_ack: bool| {
        let link = "rate = \"10 Mbit/s\"\ndelay = \"10 ms\"\nbuffer = \"200 packets\"\n\
                    reverse = { rate = \"100 kbit/s\", buffer = \"unlimited\" }";
        let flow = format!("[[flows]]\nalgorithm = \"reno\"\nmax_window = 100\ndelayed_ack = {delayed_ack}");
        let report = one_link("duration = \"60 s\"\nwarmup = \"20 s\"\npacket_size = 1500", link, &flow);
        assert_eq!(report.flows[0].timeouts, 0);
        assert!(report.links[0].reverse.utilization > 0.999, "{:?}", report.links[0].reverse);
        report.links[0].forward.utilization
    };
    assert!((utilization(false) - 0.375).abs() < 0.001, "{}", utilization(false));
    assert!((utilization(true) - 0.75).abs() < 0.001, "{}", utilization(true));
}

const TWO_WAYS: &str = "rate = \"8 Mbit/s\"\ndelay = \"10 ms\"\nbuffer = \"3 packets\"\n\
    reverse = { rate = \"16 Mbit/s\", delay = \"30 ms\", buffer = \"5 packets\" }";

/// Each direction has its own rate, delay, buffer and losses; the base RTT is the sum of both delays.
#[test]
fn directions_differ() {
    let burst = |reverse: bool| {
        format!("[[flows]]\nalgorithm = \"reno\"\nsize = \"9 packets\"\ninitial_window = 9\nreverse = {reverse}\n")
    };
    // Data takes 1 ms forward and 0.5 ms backward, its ACK 0.02 ms or 0.04 ms; of nine at once three and five fit.
    for (reverse, dropped, rtt) in [(false, 6, 0.04102), (true, 4, 0.04054)] {
        let report = one_link("duration = \"39 ms\"", TWO_WAYS, &burst(reverse));
        assert_eq!(report.flows[0].base_rtt_s, 0.04);
        let link = &report.links[0];
        assert_eq!(if reverse { &link.reverse } else { &link.forward }.dropped_packets, dropped);
        let report = one_link("duration = \"1 s\"", TWO_WAYS, &burst(reverse).replace('9', "1"));
        assert_eq!(report.flows[0].completion_s, rtt);
    }
}

/// Segments of 1000 bytes take 1 ms at 8 Mbit/s. The fifth is being sent when the rate halves, at 4.5 ms, and keeps its
/// rate. The other five take 2 ms each, and the last one's ACK 0.08 ms.
#[test]
fn a_change_of_rate_holds_from_the_next_packet_on() {
    let link = "rate = \"8 Mbit/s\"\ndelay = \"0 s\"\nbuffer = \"unlimited\"\nschedule = [{ at = \"4.5 ms\", rate = \"4 Mbit/s\" }]";
    let flow = "[[flows]]\nalgorithm = \"reno\"\ninitial_window = 10\nsize = \"10 packets\"";
    let report = one_link("duration = \"20 ms\"", link, flow);
    assert_eq!(report.flows[0].completion_s, 0.01508);
    // 40,000 bits by 5 ms and as many by 15 ms, of 40,000 and 60,000 bits.
    assert_eq!(report.links[0].forward.utilization, 0.8);
}

/// A scheduled change precedes other events at its time. The fifth of these is sent from 4 ms on, when the rate halves,
/// and takes 2 ms, as the five behind it.
#[test]
fn a_change_comes_first() {
    let link = "rate = \"8 Mbit/s\"\ndelay = \"0 s\"\nbuffer = \"unlimited\"\nschedule = [{ at = \"4 ms\", rate = \"4 Mbit/s\" }]";
    let flow = "[[flows]]\nalgorithm = \"reno\"\ninitial_window = 10\nsize = \"10 packets\"";
    assert_eq!(one_link("duration = \"20 ms\"", link, flow).flows[0].completion_s, 0.01608);
    // A sender that starts at time 0 starts with the values that are in force from then on.
    let link = link.replace("4 ms", "0 s");
    assert_eq!(one_link("duration = \"30 ms\"", &link, flow).flows[0].completion_s, 0.02008);
}

/// A datagram each millisecond, over a link that takes half of one; an outage from 999.5 to 1999.5 ms. A thousand wait, and all arrive
/// before 4 s; or, where the outage loses them, vanish. 4000 or 3000 times 8000 bits of the three times 16 Mbit that are offered.
#[test]
fn in_an_outage_packets_wait_or_vanish() {
    let outage = |lost: &str, found: &str| {
        let link = format!(
            "rate = \"16 Mbit/s\"\ndelay = \"0 s\"\nbuffer = \"unlimited\"\nschedule = [\
             {{ at = \"999.5 ms\", rate = \"0 bit/s\"{lost} }}, {{ at = \"1999.5 ms\", rate = \"16 Mbit/s\"{found} }}]"
        );
        one_link("duration = \"4 s\"", &link, "[[udp]]\nrate = \"8 Mbit/s\"")
    };
    let waiting = outage("", "");
    let (link, packets) = (&waiting.links[0].forward, waiting.packets);
    assert_eq!((packets.sent, packets.delivered, packets.dropped, packets.in_flight), (4000, 4000, 0, 0));
    assert_eq!((link.max_queue_packets, link.wire_lost_packets), (1000, 0));
    assert!((link.utilization - 2.0 / 3.0).abs() < 1e-12, "{}", link.utilization);
    let vanishing = outage(", loss = 1", ", loss = 0");
    let (link, packets) = (&vanishing.links[0].forward, vanishing.packets);
    assert_eq!((packets.sent, packets.delivered, packets.dropped, packets.in_flight), (4000, 3000, 1000, 0));
    assert_eq!((link.max_queue_packets, link.wire_lost_packets, link.utilization), (1, 1000, 0.5));
}

/// Five seconds of each ten without a link: of 1000 packets a second for 20 s half are sent, which is all that was offered, but for
/// the one that is being sent when it ends.
#[test]
fn a_schedule_comes_again() {
    let link = "rate = \"8 Mbit/s\"\ndelay = \"0 s\"\nbuffer = \"10 packets\"\nrepeat = \"10 s\"\n\
                schedule = [{ at = \"5 s\", rate = \"0 bit/s\" }]";
    let report = one_link("duration = \"20 s\"", link, "[[udp]]\nrate = \"9 Mbit/s\"");
    assert!(report.packets.delivered.abs_diff(10_000) <= 2, "{:?}", report.packets);
    assert!(report.links[0].forward.utilization > 0.9999, "{:?}", report.links[0].forward);
}

/// Variations of one link change no random choice elsewhere: equal packets are lost on the link before.
#[test]
fn what_varies_leaves_other_draws_alone() {
    let lost = |keys: &str| {
        let link = |name: &str, keys: &str| {
            format!(
                "[[links]]\nname = \"{name}\"\nrate = \"9 Mbit/s\"\ndelay = \"3 ms\"\nbuffer = \"20 packets\"\n{keys}\n"
            )
        };
        let udp = "[[udp]]\nrate = \"8 Mbit/s\"\npath = [\"a\", \"b\"]";
        let (a, b) = (link("a", "loss = 0.01"), link("b", keys));
        let report = simulate(&format!("duration = \"9 s\"\n{a}{b}{udp}"));
        assert_ne!(report.packets.delivered, 0);
        // A longer path has more packets in flight at the end, which are not received. They belong to the later link.
        let mut first = report.links[0].forward.clone();
        first.carried_goodput_bps = 0.0;
        (first, report.links[1].forward.wire_lost_packets)
    };
    let plain = lost("loss = 0.01");
    for keys in [
        "schedule = [{ at = \"1 s\", delay = \"30 ms\" }]",
        "jitter = { model = \"wifi\", mean = \"7 ms\" }",
        "reorder = { probability = 0.1, delay = \"1 ms\" }",
        "aggregation = \"4 ms\"",
    ] {
        assert_eq!(lost(&format!("loss = 0.01\n{keys}")), plain, "{keys}");
    }
}

/// The third segment is lost once. Seven more behind it give duplicate ACKs, so that the sender repeats it at once. In the other
/// direction the third ACK, a duplicate, is lost too, unless `reverse` says otherwise.
#[test]
fn a_packet_is_dropped_by_its_number() {
    let link = "rate = \"10 Mbit/s\"\ndelay = \"10 ms\"\nbuffer = \"100 packets\"\ndrop = [3]";
    let flow = "[[flows]]\nalgorithm = \"reno\"\nmax_window = 10\ninitial_window = 10";
    for (reverse, acks) in [("", 1), ("\nreverse = { drop = [] }", 0)] {
        let report = one_link("duration = \"5 s\"", &format!("{link}{reverse}"), flow);
        let (row, wires) = (&report.flows[0], &report.links[0]);
        assert_eq!((row.retransmits, row.timeouts), (1, 0), "{reverse}");
        assert_eq!((wires.forward.wire_lost_packets, wires.reverse.wire_lost_packets), (1, acks), "{reverse}");
    }
}

/// A lost SYN is repeated after a second, and its repetition after two more (RFC 6298 section 2). Without a loss the one segment takes two
/// round trips of 20 ms, and less than 2 ms to send. The first packet of the other direction is the SYN-ACK.
#[test]
fn a_syn_is_dropped_by_its_number() {
    let took = |drop: &str| {
        let link = format!("rate = \"10 Mbit/s\"\ndelay = \"10 ms\"\nbuffer = \"100 packets\"\ndrop = {drop}");
        let flow = "[[flows]]\nalgorithm = \"reno\"\nhandshake = true\nsize = \"1 packet\"";
        one_link("duration = \"5 s\"", &link, flow).flows[0].completion_s
    };
    assert!((0.04..0.042).contains(&took("[5]")), "{}", took("[5]"));
    assert!((3.04..3.042).contains(&took("[1]")), "{}", took("[1]"));
    let syn_alone = took("[1]\nreverse = { drop = [] }");
    assert!((1.04..1.042).contains(&syn_alone), "{syn_alone}");
}

/// A datagram of 1000 bytes each 10 ms, 100 in a second; numbers 7, 50, and 100 do not arrive, whatever their order in the list.
#[test]
fn datagrams_are_dropped_by_their_numbers() {
    let link = "rate = \"10 Mbit/s\"\ndelay = \"0 s\"\nbuffer = \"5 packets\"\ndrop = [100, 7, 50, 7, 5000]";
    let report = one_link("duration = \"1 s\"", link, "[[udp]]\nrate = \"800 kbit/s\"");
    assert_eq!((report.packets.sent, report.packets.delivered, report.packets.dropped), (100, 97, 3));
}

/// 1000 segments in order, in windows of 100: an ACK for each ten, 100 in all. Segments behind a hole are acknowledged at once.
#[test]
fn an_ack_is_for_as_many_segments_as_asked() {
    let acks = |drop: &str| {
        let link = format!(
            "rate = \"10 Mbit/s\"\ndelay = \"10 ms\"\nbuffer = \"200 packets\"\nreverse = {{ drop = [] }}\n{drop}"
        );
        let flow = "[[flows]]\nalgorithm = \"reno\"\nsize = \"1000 packets\"\ninitial_window = 100\nmax_window = 100\n\
                    ack_every = 10\nack_delay = \"50 ms\"";
        let report = one_link("duration = \"5 s\"", &link, flow);
        assert!(report.flows[0].completion_s < 1.0 && report.flows[0].timeouts == 0, "{:?}", report.flows[0]);
        (report.links[0].reverse.arrived_packets, report.flows[0].retransmits)
    };
    assert_eq!(acks(""), (100, 0));
    let (with_a_hole, retransmits) = acks("drop = [41]");
    assert_eq!(retransmits, 1);
    // The 59 segments of the window behind the hole have an ACK each, and so has the one that fills it.
    assert!((150..=200).contains(&with_a_hole), "{with_a_hole}");
}

/// Of five segments the first arrives after 1 ms and 10 ms. Its ACK leaves 30 ms later, for all five, and takes 0.04 ms and 10 ms.
#[test]
fn a_held_ack_leaves_after_its_delay() {
    let link = "rate = \"8 Mbit/s\"\ndelay = \"10 ms\"\nbuffer = \"unlimited\"";
    let flow = "[[flows]]\nalgorithm = \"reno\"\nsize = \"5 packets\"\ninitial_window = 5\nack_every = 10\nack_delay = \"30 ms\"";
    let report = one_link("duration = \"1 s\"", link, flow);
    assert_eq!((report.flows[0].completion_s, report.links[0].reverse.arrived_packets), (0.05104, 1));
    // Without a delay each segment has its ACK: the fifth arrives after 15 ms.
    let report = one_link("duration = \"1 s\"", link, &flow.replace("30 ms", "0 s"));
    assert_eq!((report.flows[0].completion_s, report.links[0].reverse.arrived_packets), (0.02504, 5));
}

/// A packet of 1500 bytes takes 0.12 ms at 100 Mbit/s: with 50 ms before it 416.7 of them travel. Room for 417 is enough, 416 is not.
#[test]
fn a_delay_line_has_a_limit() {
    let lost = |keys: &str| {
        let link = format!("rate = \"100 Mbit/s\"\ndelay = \"50 ms\"\nbuffer = \"10 packets\"\n{keys}");
        let report = one_link("duration = \"1 s\"\npacket_size = 1500", &link, "[[udp]]\nrate = \"100 Mbit/s\"");
        let packets = report.packets;
        assert_eq!(packets.sent, packets.delivered + packets.dropped + packets.in_flight);
        // The last one may be sent when the run ends, and lost after it.
        let lost = report.links[0].forward.wire_lost_packets;
        assert!(lost - packets.dropped <= 1, "{lost} {packets:?}");
        assert!(packets.in_flight <= 430, "{packets:?}");
        packets.dropped
    };
    assert_eq!([lost(""), lost("limit = 417"), lost("limit = \"unlimited\"")], [0, 0, 0]);
    // 416 enter in each 50.04 ms, in which 417 are sent: 19 times.
    assert_eq!(lost("limit = 416"), 19);
    // 10 in 50.04 ms: 200 in all, of 8333.
    let few = lost("limit = \"10 packets\"");
    assert!((8100..=8150).contains(&few), "{few}");
}

/// A delay of 20 ms at 0 s and 40 ms at 10 s. The segment leaves at 2.501 s and takes 25.002 ms; its ACK leaves 0.04 ms later, at
/// 2.526042 s, and takes 25.052084 ms. Without interpolation both take 20 ms. The other direction has its own delay if it says so.
#[test]
fn delays_follow_a_trace() {
    let took = |keys: &str| {
        let link =
            format!("rate = \"8 Mbit/s\"\nbuffer = \"unlimited\"\ndelay_trace = [[0, 0.02], [10, 0.04]]\n{keys}");
        let report = one_link(
            "duration = \"5 s\"",
            &link,
            "[[flows]]\nalgorithm = \"reno\"\nsize = \"1 packet\"\nstart = \"2.5 s\"",
        );
        assert_eq!(report.flows[0].base_rtt_s, if keys.contains("reverse") { 0.02 } else { 0.04 });
        (report.flows[0].completion_s * 1e9).round() as u64
    };
    assert_eq!(took(""), 51_094_084);
    assert_eq!(took("delay_interpolation = \"hold\""), 41_040_000);
    assert_eq!(took("reverse = { delay = \"0 s\" }"), 26_042_000);
}

/// A datagram each 10 ms for 3 s: those of the second second are lost, which the trace repeats each two seconds.
#[test]
fn losses_follow_a_trace() {
    let lost = |keys: &str| {
        let link = format!(
            "rate = \"8 Mbit/s\"\ndelay = \"1 ms\"\nbuffer = \"5 packets\"\nloss_trace = [[0, 0], [1, 1], [2, 0]]\n{keys}"
        );
        one_link("duration = \"3.005 s\"", &link, "[[udp]]\nrate = \"800 kbit/s\"").links[0].forward.wire_lost_packets
    };
    assert_eq!((lost(""), lost("trace_repeat = true"), lost("reverse = { loss = 0 }")), (100, 101, 100));
    // The probability of packet k is k/100 on the way up and down: 100 in the mean, with a deviation of sqrt(200/6) = 5.8.
    assert!(
        (80..=120).contains(&lost("loss_interpolation = \"linear\"")),
        "{}",
        lost("loss_interpolation = \"linear\"")
    );
}

/// 20 Mbit/s into a policer of 10 Mbit/s and 250 kB: nothing is dropped in the first 0.199 s, then every second packet.
#[test]
fn a_policer_drops_what_is_too_fast() {
    let link = "rate = \"100 Mbit/s\"\ndelay = \"0 s\"\nbuffer = \"unlimited\"\n\
                policer = { rate = \"10 Mbit/s\", burst = \"250 kB\" }";
    let udp = "[[udp]]\nrate = \"20 Mbit/s\"";
    assert_eq!(one_link("duration = \"199 ms\"", link, udp).links[0].forward.dropped_packets, 0);
    assert_eq!(one_link("duration = \"200 ms\"", link, udp).links[0].forward.dropped_packets, 1);
    let later = one_link("duration = \"10.2 s\"\nwarmup = \"200 ms\"", link, udp);
    assert_eq!(later.links[0].forward.loss_rate, 0.5);
}

/// One opportunity per millisecond is 12.032 Mbit/s: of 20 Mbit/s in packets of 1504 bytes, one arrives each
/// millisecond, the first at 1 ms. In the reverse direction, the trace has two opportunities in 3 ms, and packets have
/// 2256 bytes.
#[test]
fn a_trace_lets_through_what_it_has_room_for() {
    let link = "trace = [1]\ndelay = \"0 s\"\nbuffer = \"9 packets\"\nreverse = { trace = [0, 2, 3] }";
    let udp = "[[udp]]\nrate = \"20 Mbit/s\"\npacket_size = 1504\n\
               [[udp]]\nrate = \"20 Mbit/s\"\npacket_size = 2256\nreverse = true";
    let report = one_link("duration = \"10 s\"", link, udp);
    assert_eq!(report.traffic[0].received_packets, 9_999);
    assert_eq!(report.links[0].forward.utilization, 1.0);
    // Three opportunities of 1504 bytes in 3 ms are two packets, and one more at 0 ms was missed by all.
    assert!(report.traffic[1].received_packets.abs_diff(6_666) <= 1, "{:?}", report.traffic[1]);
    assert_eq!(Trace::new(vec![1]).expect("a trace").rate_bps(), 12_032_000);
}

/// Half the opportunities of a link go unused by packets that are too rare for it.
#[test]
fn unused_opportunities_count_as_capacity() {
    let udp = "[[udp]]\nrate = \"6.016 Mbit/s\"\npacket_size = 1504\nstart = \"0.5 ms\"";
    let report = one_link("duration = \"1 s\"", "trace = [1]\ndelay = \"0 s\"\nbuffer = \"9 packets\"", udp);
    // 999 opportunities before the end, 500 of them used.
    assert_eq!(report.links[0].forward.utilization, 500.0 / 999.0);
    assert_eq!(report.traffic[0].received_packets, 500);
}

/// A link of 10 Mbit/s sends 1500 bytes in 1.2 ms. A segment that is 3 ms late is overtaken by two, for which there are two duplicate ACKs and
/// no fast retransmission; one that is 5 ms late by four.
#[test]
fn late_packets_are_overtaken() {
    let recoveries = |late_ms: u32| {
        let link = format!(
            "rate = \"10 Mbit/s\"\ndelay = \"20 ms\"\nbuffer = \"unlimited\"\n\
             reorder = {{ probability = 0.02, delay = \"{late_ms} ms\" }}\nreverse = {{ reorder = \"off\" }}"
        );
        let flow = "[[flows]]\nalgorithm = \"reno\"\nrecovery = \"sack\"\nmax_window = 30";
        let report = one_link("duration = \"20 s\"\npacket_size = 1500", &link, flow);
        assert_eq!(report.packets.dropped, 0);
        report.flows[0].fast_recoveries
    };
    assert_eq!(recoveries(3), 0);
    assert!(recoveries(5) > 20, "{}", recoveries(5));
}

/// Where order is kept and nothing is lost, nothing is sent twice, whatever the delays; and the mean RTT has the mean delays. A long
/// delay holds back those behind it, so that with jitter of many packets' length the mean is above the model's.
#[test]
fn what_keeps_the_order_needs_no_repair() {
    let rtt = |keys: &str| {
        let link = format!("rate = \"10 Mbit/s\"\ndelay = \"20 ms\"\nbuffer = \"unlimited\"\n{keys}");
        let flow = "[[flows]]\nalgorithm = \"reno\"\nmin_rto = \"10 s\"\nmax_window = 1";
        let report = one_link("duration = \"100 s\"", &link, flow);
        assert_eq!((report.flows[0].retransmits, report.packets.dropped), (0, 0), "{keys}");
        let many = flow.replace("max_window = 1", "max_window = 30");
        assert_eq!(one_link("duration = \"20 s\"", &link, &many).flows[0].retransmits, 0, "{keys}");
        report.flows[0].mean_rtt_s
    };
    // 1000 bytes and 40 bytes at 10 Mbit/s: 0.832 ms.
    let still = rtt("reverse = { jitter = \"off\" }");
    assert!((still - 0.040832).abs() < 1e-9, "{still}");
    let uniform = rtt("jitter = { model = \"uniform\", mean = \"6 ms\" }");
    assert!((uniform - 0.052832).abs() < 0.001, "{uniform}");
    let back = rtt("reverse = { jitter = { model = \"normal\", mean = \"9 ms\", spread = \"1 ms\" } }");
    assert!((back - 0.049832).abs() < 0.001, "{back}");
    let wifi = rtt("jitter = { model = \"wifi\", mean = \"7 ms\" }");
    assert!((wifi - 0.054200).abs() < 0.003, "{wifi}");
    // Half the time until the next multiple of 4 ms, or a value between, if the packets' own rhythm matters.
    let clumped = rtt("aggregation = \"4 ms\"");
    assert!((0.040832..=0.048832).contains(&clumped), "{clumped}");
    rtt("schedule = [{ at = \"5 s\", delay = \"60 ms\" }, { at = \"10 s\", delay = \"1 ms\" }]");
}

/// The reverse direction equals the forward one except for its own keys.
#[test]
fn what_reverse_does_not_say_is_as_forward() {
    let text = |reverse: &str| {
        format!(
            "duration = \"9 s\"\n[[links]]\nname = \"l\"\nrate = \"9 Mbit/s\"\ndelay = \"3 ms\"\nbuffer = \"1 BDP\"\nrepeat = \"7 s\"\n\
             schedule = [{{ at = \"1 s\", rate = \"1 Mbit/s\" }}, {{ at = \"2 s\", delay = \"1 ms\" }}]\n\
             jitter = {{ model = \"wifi\", mean = \"7 ms\" }}\n{reverse}\n[[flows]]\nalgorithm = \"reno\""
        )
    };
    let link = |reverse: &str| Scenario::from_toml(&text(reverse)).expect(reverse).links[0].clone();
    let plain = link("");
    assert_eq!((plain.reverse.is_none(), plain.direction(true)), (true, &plain));
    let back = |reverse: &str| *link(reverse).reverse.expect("a table");
    assert_eq!(back("reverse = {}"), plain);
    let slower = back("reverse = { rate = \"2 Mbit/s\" }");
    assert_eq!((slower.rate_bps, slower.buffer, slower.jitter), (2_000_000, plain.buffer, plain.jitter));
    assert_eq!(slower.schedule.changes, plain.schedule.changes[1..], "its rate is its own");
    let still = back("reverse = { schedule = [], jitter = \"off\" }");
    assert_eq!((still.schedule.changes.len(), still.schedule.repeat, still.jitter), (0, None, None));
    let traced = back("reverse = { trace = [1, 2], jitter = { model = \"uniform\", mean = \"7 ms\" } }");
    assert_eq!((traced.rate_bps, traced.schedule.changes.len()), (12_032_000, 1));
    let spread = 7_000_000;
    assert_eq!(traced.jitter, Some(Jitter::of(JitterModel::Uniform { spread }, spread)));
}

/// An overtaken ACK acknowledges segments that have been acknowledged before, and changes nothing.
#[test]
fn overtaken_acks_do_no_harm() {
    let link = "rate = \"10 Mbit/s\"\ndelay = \"20 ms\"\nbuffer = \"30 packets\"\n\
                reverse = { reorder = { probability = 0.1, delay = \"30 ms\" } }";
    for recovery in ["tahoe", "reno", "newreno", "sack", "rack", "vegas"] {
        let flow = format!("[[flows]]\nalgorithm = \"reno\"\nrecovery = \"{recovery}\"");
        let report = one_link("duration = \"30 s\"", link, &flow);
        let packets = report.packets;
        assert_eq!(packets.sent, packets.delivered + packets.dropped + packets.in_flight);
        assert!(packets.dropped > 0 && report.flows[0].goodput_bps > 5e6, "{recovery}: {:?}", report.flows[0]);
    }
}
