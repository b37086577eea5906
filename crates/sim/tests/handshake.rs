//! Connections that begin with a SYN and the answer to it, worked by hand: 8 Mbit/s and 49 ms behind an access link of 1 ms, so that 1000
//! bytes take 1 ms, 40 bytes 0.04 ms, and a round trip of the handshake 100.08 ms, of a segment and its ACK 101.04 ms.

use fullpipe_sim::{Report, Scenario, run};

/// One flow; `link` and `flow` are further keys.
fn report(link: &str, flow: &str) -> Report {
    report_with("50 packets", link, flow)
}

fn report_with(buffer: &str, link: &str, flow: &str) -> Report {
    let scenario = format!(
        r#"
        duration = "20 s"
        packet_size = 1000
        [[links]]
        name = "l"
        rate = "8 Mbit/s"
        delay = "49 ms"
        buffer = "{buffer}"
        {link}
        [[flows]]
        algorithm = "reno"
        access_delay = "1 ms"
        {flow}
        "#
    );
    run(&Scenario::from_toml(&scenario).expect("a scenario of ours"), &mut |_| true).expect("nobody stops it")
}

/// A link that loses everything from the first time to the second.
fn silent(from: &str, to: &str) -> String {
    format!("schedule = [{{ at = \"{from}\", loss = 1 }}, {{ at = \"{to}\", loss = 0 }}]")
}

fn completion_ms(report: &Report) -> f64 {
    report.flows[0].completion_s * 1e3
}

fn assert_ms(report: &Report, expected: f64) {
    let completion = completion_ms(report);
    assert!((completion - expected).abs() < 1e-3, "{completion} ms instead of {expected} ms");
}

const ONE: &str = "size = \"1 packets\"\nrecovery = \"sack\"\nhandshake = ";

/// Data leaves a round trip later. It is all that is counted.
#[test]
fn data_leaves_after_a_round_trip() {
    assert_ms(&report("", &format!("{ONE} false")), 101.04);
    for more in
        ["", "\necn = \"accurate\"", "\npacing = \"on\"", "\ndelayed_ack = true\ndelayed_ack_timeout = \"1 us\""]
    {
        let report = report("", &format!("{ONE} true{more}"));
        let held = if more.contains("delayed") { 0.001 } else { 0.0 };
        assert_ms(&report, 201.12 + held);
        assert_eq!((report.data_packets, report.packets.sent, report.packets.delivered), (1, 1, 1));
        assert_eq!((report.flows[0].retransmits, report.flows[0].timeouts), (0, 0));
        assert!((report.flows[0].mean_rtt_s - 0.10104).abs() < 2e-6, "no RTT of the handshake");
    }
}

/// A slow access link sends the SYN like any packet: 40 bytes take 40 ms at 8 kbit/s, 1000 bytes 1 s.
#[test]
fn the_access_link_takes_its_time_for_it() {
    assert_ms(&report("", &format!("{ONE} true\naccess_rate = \"8 kbit/s\"")), 1241.12);
}

/// RFC 6298 rules 2.1 and 5.5: the SYN, or the answer to it, is lost and goes again after 1 s, and then after 2 s.
#[test]
fn a_lost_syn_goes_again_after_a_second() {
    for (from, to, expected) in [
        ("0 s", "500 ms", 1201.12),
        ("20 ms", "500 ms", 1201.12),
        ("0 s", "2 s", 3201.12),
        ("20 ms", "1.02 s", 3201.12),
    ] {
        let report = report(&silent(from, to), &format!("{ONE} true"));
        assert_ms(&report, expected);
        assert_eq!((report.packets.sent, report.packets.dropped), (1, 0), "SYNs are not counted");
        assert_eq!((report.flows[0].retransmits, report.flows[0].timeouts), (0, 0));
    }
}

/// The first segment is lost as well. Rule 2.2: its RTO is three times the handshake's round trip, 300.24 ms. Rule 5.7: after a lost
/// SYN it is 3 s. A connection that begins established has had its handshake over the idle path, whose round trip is 100 ms.
#[test]
fn the_handshake_sets_the_first_timeout() {
    let losing = |link: &str, handshake: bool| report(link, &format!("{ONE} {handshake}"));
    assert_ms(&losing(&silent("70 ms", "300 ms"), true), 100.08 + 300.24 + 101.04);
    let lost_syn = r#"schedule = [
        { at = "0 s", loss = 1 }, { at = "500 ms", loss = 0 }, { at = "1.07 s", loss = 1 }, { at = "2 s", loss = 0 }]"#;
    assert_ms(&losing(lost_syn, true), 1100.08 + 3000.0 + 101.04);
    assert_ms(&losing(&silent("0 s", "299 ms"), false), 300.0 + 101.04);
}

/// RFC 6928 section 2: one lost SYN leaves the first window as it is: ten segments at once, the last one's ACK 9 ms after the first one's.
/// After two it is one segment, and ten take four round trips: 1, 2, 4 and 3.
#[test]
fn two_lost_syns_begin_with_one_segment() {
    let ten = "size = \"10 packets\"\nrecovery = \"sack\"\nhandshake = true\ninitial_window = 10";
    assert_ms(&report(&silent("0 s", "500 ms"), ten), 1100.08 + 101.04 + 9.0);
    let after_two = completion_ms(&report(&silent("0 s", "2 s"), ten));
    assert!((3100.08 + 4.0 * 101.04..3100.08 + 4.0 * 101.04 + 10.0).contains(&after_two), "{after_two}");
}

/// A flow that stops before the answer has come sends nothing.
#[test]
fn a_flow_may_stop_before_it_is_open() {
    let report = report("", "handshake = true\nstop = \"50 ms\"");
    assert_eq!((report.data_packets, report.flows[0].active_s), (0, 0.05));
}

/// A queue with room for one packet, which a datagram of 65 ms takes, drops the SYN: it goes again after 1 s.
#[test]
fn a_full_queue_drops_a_syn() {
    let datagram = "[[udp]]\nrate = \"1 Mbit/s\"\npacket_size = 65535\nstop = \"1 us\"";
    let report = report_with("1 packets", "", &format!("{ONE} true\n{datagram}"));
    assert_ms(&report, 1201.12);
    assert_eq!((report.links[0].forward.dropped_packets, report.packets.dropped), (1, 0));
}

/// Every web transfer has a handshake.
#[test]
fn every_transfer_has_a_handshake() {
    let mean = |handshake: bool| {
        let web = format!(
            "size = \"1 packets\"\n[[web]]\nalgorithm = \"reno\"\nhandshake = {handshake}\nsessions = 5\nmean_gap = \"1 s\"\nmean_size = \"1 kB\"\nshape = 100\n"
        );
        report("", &web).traffic[0].mean_completion_s
    };
    let (without, with) = (mean(false), mean(true));
    assert!((with - without - 0.098).abs() < 0.004, "{with} s and {without} s");
}
