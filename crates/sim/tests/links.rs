//! Links without senders carry datagrams as the simulator does, packet by packet.

use fullpipe_sim::links::{Delivered, Ecn, Links};
use fullpipe_sim::{Scenario, run};

/// Two sources of datagrams of 1000 bytes over a link, which together exceed its rate.
fn scenario(keys: &str) -> Scenario {
    let text = format!(
        r#"
        duration = "5 s"
        links = [{{ name = "l", delay = "20 ms", buffer = "50 packets", reverse = {{ schedule = [] }}, {keys} }}]
        udp = [{{ rate = "8 Mbit/s", packet_size = 1000 }}]
        "#
    );
    Scenario::from_toml(&text).unwrap_or_else(|problem| panic!("{problem}"))
}

/// Packets that come out of the link, and packets that it has lost before the end.
fn carried(scenario: &Scenario) -> (Vec<Delivered>, u64) {
    let mut links = Links::new(scenario).expect("a valid scenario");
    let there = links.find("l", false).expect("a link");
    let (mut delivered, mut sent, mut now) = (Vec::new(), 0, 0);
    loop {
        let next = links.next_event().unwrap_or(u64::MAX).min(sent * 1_000_000);
        if next >= scenario.duration {
            return (delivered, links.lost(there));
        }
        now = now.max(next);
        while let Some(packet) = links.deliver(now) {
            delivered.push(packet);
        }
        if now == sent * 1_000_000 {
            links.send(now, there, 1000, Ecn::NotEct, sent);
            sent += 1;
        }
    }
}

#[test]
fn datagrams_meet_the_fate_of_the_simulators() {
    let changes = r#"rate = "6 Mbit/s", schedule = [{ at = "1 s", rate = "9 Mbit/s" }, { at = "2 s", loss = 0.2, delay = "5 ms" }],
        reorder = { probability = 0.1, delay = "9 ms" }"#;
    for keys in [
        r#"rate = "6 Mbit/s""#,
        r#"rate = "6 Mbit/s", queue = "codel""#,
        r#"rate = "6 Mbit/s", queue = "fq-codel""#,
        r#"rate = "6 Mbit/s", queue = "pie""#,
        r#"rate = "10 Mbit/s", loss = 0.05"#,
        r#"rate = "10 Mbit/s", jitter = { model = "uniform", mean = "3 ms" }"#,
        r#"rate = "10 Mbit/s", policer = { rate = "7 Mbit/s", burst = "20 kB" }"#,
        "trace = [1, 2, 3, 9]",
        changes,
    ] {
        let scenario = scenario(keys);
        let (delivered, lost) = carried(&scenario);
        let report = run(&scenario, &mut |_| true).expect("a run");
        let count = &report.packets;
        assert_eq!((delivered.len() as u64, lost), (count.delivered, count.dropped), "{keys}");
        assert!(delivered.is_sorted_by_key(|packet| packet.at), "{keys}");
        assert!(delivered.len() > 2500 && delivered.len() < 5000, "{keys}: {}", delivered.len());
    }
}

/// 1000 bytes take 1 ms at 8 Mbit/s, and 10 ms on the wire. Tags with equal upper halves share a queue of FQ-CoDel.
#[test]
fn packets_arrive_by_hand() {
    let scenario = scenario(r#"rate = "8 Mbit/s", queue = "fq-codel""#);
    let mut links = Links::new(&scenario).expect("a valid scenario");
    let there = links.find("l", false).expect("a link");
    assert_eq!((links.find("l", true).map(|it| it.index()), links.find("m", false)), (Some(1), None));
    for tag in [1, 2, 3, (7 << 32) + 4] {
        links.send(0, there, 1000, Ecn::Ect0, tag);
    }
    assert_eq!(links.next_event(), Some(1_000_000), "the first packet has been sent");
    assert!(!links.may_send(2_000_000));
    let mut found = Vec::new();
    while let Some(now) = links.next_event() {
        while let Some(packet) = links.deliver(now) {
            found.push((packet.at / 1_000_000, packet.tag as u32));
        }
    }
    assert_eq!(found, [(21, 1), (22, 2), (23, 4), (24, 3)], "the other flow is served before the third packet");
}

#[test]
#[should_panic(expected = "time 5 is before 9")]
fn time_never_goes_back() {
    let mut links = Links::new(&scenario(r#"rate = "6 Mbit/s""#)).expect("a valid scenario");
    links.deliver(9);
    links.deliver(5);
}
