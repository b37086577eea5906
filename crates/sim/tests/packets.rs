//! Packet-level controllers in a run: their events, their windows, and their faults.

use fullpipe_cc::Start;
use fullpipe_cc::packets::{Acked, Lost, NewReno, PacketControl, Packets, Path, Rtt, Sent};
use fullpipe_cc::params::Info;
use fullpipe_sim::{Catalogue, Report, Stopped, run};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

const MINE: Info = Info::new("mine", "a test").recovery("rack");

/// AIMD of the documentation.
#[derive(Debug)]
struct Aimd {
    window: u64,
    recovery_end: u64,
}

impl PacketControl for Aimd {
    fn on_packets_acked(&mut self, path: &Path, acked: &[Acked], _: Option<Rtt>) {
        let bytes: u64 = acked.iter().map(|packet| packet.sent.bytes).sum();
        if path.cwnd_limited && !path.in_recovery {
            self.window += path.datagram * bytes / self.window;
        }
    }

    fn on_packets_lost(&mut self, path: &Path, lost: &[Lost], _: bool) {
        if lost.iter().any(|packet| packet.sent.number >= self.recovery_end) {
            self.window = (self.window / 2).max(2 * path.datagram);
            self.recovery_end = path.next_packet;
        }
    }

    fn window_bytes(&self) -> u64 {
        self.window
    }
}

fn aimd(start: &Start) -> Aimd {
    Aimd { window: start.window as u64 * u64::from(start.segment_bytes), recovery_end: 0 }
}

/// Packets in flight, and counts; every event is checked against them.
#[derive(Debug, Default)]
struct Seen {
    in_flight: BTreeMap<u64, Sent>,
    lost: BTreeMap<u64, Sent>,
    next: u64,
    delivered: u64,
    losses: u64,
    spurious: u64,
    marks: u64,
    last: Path,
    events: BTreeMap<&'static str, u64>,
}

impl Seen {
    fn in_flight_bytes(&self) -> u64 {
        self.in_flight.values().map(|sent| sent.bytes).sum()
    }
}

/// NewReno of RFC 9002, and checks of all events; of bytes in flight only where losses are reported when they are found.
#[derive(Debug)]
struct Checked(NewReno, Arc<Mutex<Seen>>, bool);

impl Checked {
    fn see(&self, name: &'static str, path: &Path, check: impl FnOnce(&mut Seen)) {
        let mut seen = self.1.lock().unwrap();
        *seen.events.entry(name).or_default() += 1;
        let last = seen.last;
        assert!(path.now >= last.now && path.sent >= last.sent && path.delivered >= last.delivered, "{name}");
        assert!(path.lost >= last.lost && path.ce >= last.ce && path.round >= last.round, "{name}");
        check(&mut seen);
        seen.last = *path;
    }
}

impl PacketControl for Checked {
    fn on_packet_sent(&mut self, path: &Path, sent: &Sent) {
        self.see("sent", path, |seen| {
            assert_eq!(sent.number, seen.next, "numbers are never reused");
            seen.next += 1;
            assert_eq!((path.next_packet, path.now), (seen.next, sent.sent_at));
            seen.in_flight.insert(sent.number, *sent);
            assert!(!self.2 || path.in_flight == seen.in_flight_bytes(), "{path:?}");
            assert_eq!((sent.in_flight, sent.bytes), (path.in_flight, path.datagram));
            assert_eq!(path.prior_in_flight, path.in_flight - sent.bytes);
            if sent.is_probe && path.in_flight > self.0.window_bytes() {
                *seen.events.entry("probe-beyond-window").or_default() += 1;
            }
        });
    }

    fn on_packets_acked(&mut self, path: &Path, acked: &[Acked], rtt: Option<Rtt>) {
        self.see("acked", path, |seen| {
            assert!(acked.is_sorted_by_key(|packet| packet.sent.number) && !acked.is_empty());
            for packet in acked {
                let known = seen.in_flight.remove(&packet.sent.number);
                assert_eq!(known.map(|sent| sent.sent_at), Some(packet.sent.sent_at), "{packet:?}");
                seen.delivered += packet.sent.bytes;
            }
            assert!(!self.2 || path.in_flight == seen.in_flight_bytes(), "{path:?}");
            assert!(path.delivered >= seen.delivered);
            let (newest, others) = acked.split_last().unwrap();
            assert!(newest.rate.is_some() && others.iter().all(|packet| packet.rate.is_none()));
            if let Some(rtt) = rtt {
                assert_eq!((rtt.packet, rtt.sample), (newest.sent.number, path.now - newest.sent.sent_at));
                assert!(rtt.adjusted <= rtt.sample && path.min_rtt <= Some(rtt.sample));
                assert_eq!(path.latest_rtt, Some(rtt.sample));
            }
        });
        self.0.on_packets_acked(path, acked, rtt);
    }

    fn on_packets_lost(&mut self, path: &Path, lost: &[Lost], persistent: bool) {
        self.see(if persistent { "persistent" } else { "lost" }, path, |seen| {
            assert!(lost.is_sorted_by_key(|packet| packet.sent.number) && !lost.is_empty());
            for packet in lost {
                let known = seen.in_flight.remove(&packet.sent.number);
                assert!(known.is_some(), "{packet:?}");
                seen.lost.insert(packet.sent.number, packet.sent);
                seen.losses += packet.sent.bytes;
                assert!(packet.lost_since_sent >= packet.sent.bytes);
            }
            assert_eq!(path.lost, seen.losses);
        });
        self.0.on_packets_lost(path, lost, persistent);
    }

    fn on_ecn_ce(&mut self, path: &Path, count: u64, largest: &Acked) {
        self.see("ce", path, |seen| {
            seen.marks += count;
            assert_eq!(path.ce, seen.marks);
        });
        let marked = Lost { sent: largest.sent, ..Lost::default() };
        self.0.on_packets_lost(path, &[marked], false);
    }

    fn on_spurious_loss(&mut self, path: &Path, arrived: &[Lost], _: bool) {
        self.see("spurious", path, |seen| {
            for packet in arrived {
                assert!(seen.lost.remove(&packet.sent.number).is_some(), "{packet:?}");
                seen.spurious += packet.sent.bytes;
            }
            assert_eq!(path.spurious, seen.spurious);
        });
    }

    fn on_pto(&mut self, path: &Path, count: u32) {
        assert!(count > 0);
        self.see("pto", path, |_| {});
    }

    fn on_app_limited(&mut self, path: &Path) {
        self.see("app-limited", path, |_| assert!(path.app_limited));
    }

    fn on_restart(&mut self, path: &Path) {
        self.see("restart", path, |seen| assert!(seen.in_flight.is_empty() && seen.next > 0));
    }

    fn on_ack_frequency(&mut self, path: &Path, threshold: u64, max_ack_delay: u64) {
        assert_eq!((threshold, max_ack_delay), (9, path.max_ack_delay));
        self.see("ack-frequency", path, |seen| assert!(seen.delivered > 0));
    }

    fn on_mtu(&mut self, path: &Path, max_datagram_bytes: u64) {
        assert_eq!((max_datagram_bytes, path.datagram), (912, 912), "1000 bytes without 28 and 60 of headers");
        self.see("mtu", path, |seen| assert_eq!(path.in_flight, seen.in_flight_bytes()));
    }

    fn on_discarded(&mut self, path: &Path, bytes: u64) {
        self.see("discarded", path, |seen| {
            assert!(path.prior_in_flight >= path.in_flight + bytes);
            // The oldest packet that neither arrived nor was lost: one probe at a time is in flight.
            let (number, probe) = seen.in_flight.pop_first().unwrap();
            assert_eq!((probe.bytes, number < path.next_packet), (bytes, true));
            assert_eq!(path.lost, seen.losses, "a discarded packet is not lost");
        });
    }

    fn window_bytes(&self) -> u64 {
        self.0.window_bytes()
    }
}

/// Text of a scenario with a tight link and these flows.
fn network(link: &str, flows: &str) -> String {
    format!(
        r#"duration = "10 s"
        warmup = "1 s"
        [[links]]
        name = "l"
        rate = "20 Mbit/s"
        delay = "10 ms"
        buffer = "20 packets"
        {link}
        [[flows]]
        algorithm = "mine"
        {flows}"#
    )
}

/// Report of a run with events checked, and counts of these events.
fn checked(link: &str, flows: &str) -> (Report, BTreeMap<&'static str, u64>) {
    let seen = Arc::new(Mutex::new(Seen::default()));
    let shared = Arc::clone(&seen);
    let exact = !flows.contains("recovery");
    let catalogue = Catalogue::builtin()
        .with(&MINE, move |_, start| Packets::new(Checked(NewReno::new(&start), Arc::clone(&shared), exact), &start));
    let scenario = catalogue.read_toml(&network(link, flows)).unwrap();
    let report = run(&scenario, &mut |_| true).unwrap();
    let events = seen.lock().unwrap().events.clone();
    (report, events)
}

#[test]
fn events_over_tcp_agree_with_the_packets() {
    let flows = "pacing = \"off\"\nhandshake = true\n";
    let (report, events) = checked("", flows);
    assert!(report.links[0].forward.utilization > 0.9, "{}", report.links[0].forward.utilization);
    assert!(events["lost"] > 5 && events["sent"] > 10_000, "{events:?}");
    let (_, events) = checked("loss = 0.02", "max_window = 40\nundo = true");
    assert!(events["lost"] > 5, "{events:?}");
    let (_, events) = checked("queue = \"fq-codel\"", "ecn = \"accurate\"");
    assert!(events["ce"] > 2, "{events:?}");
    let (_, events) = checked("loss = 0.3", "");
    assert!(events["pto"] > 2 && events["persistent"] > 2, "{events:?}");
    let (_, events) = checked("", "size = \"30 packets\"\ninitial_window = 10");
    assert!(events["app-limited"] > 0 && !events.contains_key("lost"), "{events:?}");
    for recovery in ["sack", "newreno"] {
        let (report, events) = checked("", &format!("recovery = \"{recovery}\""));
        assert!(events["lost"] > 2 && report.links[0].forward.utilization > 0.8, "{recovery} {events:?}");
    }
}

/// Losses, marks, timeouts, spurious losses, and idle times over QUIC: every event agrees with the packets.
#[test]
fn events_over_quic_agree_with_the_packets() {
    let quic = |link: &str, flows: &str| checked(link, &format!("transport = \"quic\"\n{flows}"));
    let (report, events) = quic("", "");
    assert!(report.links[0].forward.utilization > 0.9, "{}", report.links[0].forward.utilization);
    assert!(events["lost"] > 5 && events["sent"] > 10_000 && !events.contains_key("pto"), "{events:?}");
    assert!(!events.contains_key("ack-frequency"), "RFC 9000's frequency needs no frame");
    let (_, events) = quic("loss = 0.02", "max_window = 40\nhandshake = true\nack_every = 10\nack_delay = \"5 ms\"");
    assert!(events["lost"] > 5 && events["ack-frequency"] == 1, "{events:?}");
    let (_, events) = quic("queue = \"fq-codel\"", "ecn = \"accurate\"");
    assert!(events["ce"] > 2, "{events:?}");
    let (_, events) = quic("loss = 0.4", "");
    assert!(events["pto"] > 2 && events["persistent"] > 0, "{events:?}");
    assert!(events["probe-beyond-window"] > 0, "RFC 9002 section 7.5: the window does not limit probes, {events:?}");
    let (_, events) = quic("", "size = \"30 packets\"");
    assert!(events["app-limited"] > 0 && !events.contains_key("lost"), "{events:?}");
    let (_, events) = quic("reorder = { probability = 0.002, delay = \"15 ms\" }", "");
    assert!(events["spurious"] > 2, "{events:?}");
}

/// A tunnel of 60 bytes makes datagrams smaller once. Lost probes of the path MTU, every 100 ms, are no congestion (RFC 9000 section 14.4).
#[test]
fn events_of_the_path_mtu_agree_with_the_packets() {
    let clean = |keys: &str| checked("", &format!("transport = \"quic\"\nmax_window = 40\n{keys}"));
    let (plain, events) = clean("");
    assert!(!events.contains_key("mtu") && !events.contains_key("discarded"), "{events:?}");
    let (report, events) = clean("mtu_probes = \"100 ms\"\ntunnel = { at = \"3 s\", overhead = 60 }");
    assert_eq!(events["mtu"], 1);
    assert!((95..=99).contains(&events["discarded"]), "{events:?}");
    assert!(!events.contains_key("lost") && !events.contains_key("pto"), "{events:?}");
    let ratio = report.flows[0].goodput_bps / plain.flows[0].goodput_bps;
    assert!(ratio > 0.98, "{ratio}: probes take a place of the window for a round trip");
}

/// Every algorithm of segments runs over QUIC. Those that answer to losses use the link.
#[test]
fn algorithms_of_segments_run_over_quic() {
    for info in fullpipe_cc::registry::ALL {
        let text = network("", "transport = \"quic\"").replace("\"mine\"", &format!("{:?}", info.name));
        let report = run(&fullpipe_sim::Scenario::from_toml(&text).unwrap(), &mut |_| true).unwrap();
        let utilization = report.links[0].forward.utilization;
        assert!(utilization > if info.name == "vegas" { 0.5 } else { 0.75 }, "{}: {utilization}", info.name);
    }
}

/// A transfer of 1000 packets completes, and each datagram of its data counts once.
#[test]
fn a_transfer_over_quic_is_complete() {
    for link in ["", "loss = 0.05", "loss = 0.3"] {
        let flows = "transport = \"quic\"\nsize = \"1000 packets\"";
        let text = network(link, flows).replace("\"mine\"", "\"newreno\"").replace("warmup = \"1 s\"", "");
        let text = text.replace("10 s", "200 s");
        let report = run(&fullpipe_sim::Scenario::from_toml(&text).unwrap(), &mut |_| true).unwrap();
        assert!(report.flows[0].completion_s > 0.4, "{link} {}", report.flows[0].completion_s);
    }
}

/// Both interfaces have equal windows with equal losses, except where recoveries end differently.
#[test]
fn newreno_by_packets_keeps_up_with_newreno_by_acks() {
    let (report, _) = checked("", "");
    let catalogue = Catalogue::builtin();
    let text = network("", "recovery = \"rack\"").replace("\"mine\"", "\"newreno\"");
    let by_acks = run(&catalogue.read_toml(&text).unwrap(), &mut |_| true).unwrap();
    let ratio = report.flows[0].goodput_bps / by_acks.flows[0].goodput_bps;
    assert!((0.97..1.03).contains(&ratio), "{ratio}");
}

#[test]
fn aimd_of_twenty_lines_fills_the_link() {
    let catalogue = Catalogue::builtin().with(&MINE, |_, start| Packets::new(aimd(&start), &start));
    let scenario = catalogue.read_toml(&network("", "count = 2")).unwrap();
    let report = run(&scenario, &mut |_| true).unwrap();
    assert!(report.links[0].forward.utilization > 0.9, "{}", report.links[0].forward.utilization);
}

/// A window of nothing after the first loss ends the run, and the message names controller, method, packet and time.
#[test]
fn a_window_below_a_datagram_ends_the_run() {
    struct Broken(u64);
    impl PacketControl for Broken {
        fn on_packets_acked(&mut self, _: &Path, _: &[Acked], _: Option<Rtt>) {
            self.0 += 1000;
        }
        fn on_packets_lost(&mut self, _: &Path, _: &[Lost], _: bool) {
            self.0 = 0;
        }
        fn window_bytes(&self) -> u64 {
            self.0
        }
    }
    let catalogue = Catalogue::builtin().with(&MINE, |_, start| Packets::new(Broken(10_000), &start));
    let scenario = catalogue.read_toml(&network("", "")).unwrap();
    let Err(Stopped::Algorithm(fault)) = run(&scenario, &mut |_| true) else { panic!("a fault") };
    let text = fault.to_string();
    assert!(text.starts_with("algorithm \"mine\", flow 0, at 0."), "{text}");
    assert!(text.contains("returned window 0 after on_packets_lost (packet "), "{text}");
}
