//! The ends of the allowed ranges, by hand.

use fullpipe_sim::{Report, Scenario, Stopped, run};

fn scenario(duration: &str, link: &str, traffic: &str) -> Scenario {
    let text = format!(
        "duration = \"{duration}\"\nseries_interval = \"off\"\n\
         [[links]]\nname = \"l\"\ndelay = \"1 us\"\nbuffer = \"unlimited\"\n{link}\n{traffic}"
    );
    Scenario::from_toml(&text).expect("valid")
}

/// Runs it. Gives up after `patience` times 16,384 events.
fn bounded(scenario: &Scenario, patience: usize) -> Result<Report, Stopped> {
    let mut calls = 0;
    run(scenario, &mut |_| {
        calls += 1;
        calls < patience
    })
}

/// 1000 bytes at 900 Gbit/s take 80/9 ns: 112,500 in a millisecond, and the one at its beginning.
#[test]
fn datagrams_keep_a_rate_that_does_not_divide() {
    let udp = "[[udp]]\nrate = \"900 Gbit/s\"";
    let report = bounded(&scenario("1.000004 ms", "rate = \"1000 Gbit/s\"", udp), 100).expect("an end");
    assert_eq!(report.packets.sent, 112_501);
}

/// 1000 bytes at 10 Tbit/s take 4/5 ns: 1250 in a microsecond, and perhaps those that fall on its end.
#[test]
fn datagrams_less_than_a_nanosecond_apart_come_to_an_end() {
    let udp = "[[udp]]\nrate = \"10000 Gbit/s\"";
    let report = bounded(&scenario("1 us", "rate = \"10000 Gbit/s\"", udp), 100).expect("an end");
    assert!((1250..=1252).contains(&report.packets.sent), "{:?}", report.packets);
    // A byte at 9 Gbit/s: 8/9 ns.
    let udp = "[[udp]]\nrate = \"9 Gbit/s\"\npacket_size = 1";
    let report = bounded(&scenario("80 us", "rate = \"10 Gbit/s\"", udp), 100).expect("an end");
    assert!((90_000..=90_002).contains(&report.packets.sent), "{:?}", report.packets);
}

/// The access link of a sender: 100,000 segments of 1000 bytes at 900 Gbit/s take 888.9 us, and not 800; the link has the rest.
#[test]
fn a_slow_access_link_keeps_its_rate() {
    let flows = "[[flows]]\nalgorithm = \"reno\"\naccess_rate = \"900 Gbit/s\"\ninitial_window = 100000\nsize = \"100000 packets\"";
    let report = bounded(&scenario("1 s", "rate = \"10000 Gbit/s\"", flows), 100).expect("an end");
    let took = report.flows[0].completion_s;
    // 2 us of delay, and the last segment and its ACK on the link: 0.8 and 0.032 ns.
    let expected = 100_000.0 * 80e-9 / 9.0 + 2e-6;
    assert!((took - expected).abs() <= 2e-9, "{took} s, {expected} by hand");
}

/// 65,535 bytes at 1 bit/s take six days, a hundred thousand of them 1661 years: they wait in the queue, and nothing overflows.
#[test]
fn a_queue_of_centuries_is_a_queue() {
    let flows = "[[flows]]\nalgorithm = \"reno\"\ninitial_window = 100000";
    let mut slow = scenario("1000000 s", "rate = \"1 bit/s\"", flows);
    slow.packet_size = 65_535;
    let report = bounded(&slow, 100).expect("an end");
    // One has been sent after 524,280 s. All retransmissions wait behind it.
    let waiting = report.packets.in_flight;
    assert_eq!((report.packets.delivered, report.packets.dropped), (1, 0));
    assert!(waiting >= 100_000 && report.links[0].forward.max_queue_packets >= waiting, "{:?}", report.links[0]);
    slow.flows[0].tcp.access_rate_bps = Some(1);
    assert_eq!(bounded(&slow, 100).expect("an end").packets.delivered, 0, "six days on each of the two");
}

/// Over 127 links, the longest path there may be, segments and ACKs arrive; each link takes 100 us, and 1000 bytes 8 us.
#[test]
fn the_longest_path_is_crossed() {
    let names: Vec<_> = (0..127).map(|index| format!("\"{index}\"")).collect();
    let link = |name: &String| {
        format!("[[links]]\nname = {name}\nrate = \"1 Gbit/s\"\ndelay = \"100 us\"\nbuffer = \"9 packets\"\n")
    };
    let path = names.join(", ");
    let text = format!(
        "duration = \"1 s\"\nwarmup = \"1 ms\"\n{}\n[[flows]]\nalgorithm = \"reno\"\nstart = \"2 ms\"\nsize = \"1 packet\"\npath = [{path}]\n\
         [[udp]]\nrate = \"1 bit/s\"\nstart = \"2 ms\"\npath = [{path}]\nreverse = true",
        names.iter().map(link).collect::<String>(),
    );
    let report = bounded(&Scenario::from_toml(&text).expect("valid"), 100).expect("an end");
    assert_eq!((report.packets.sent, report.packets.delivered), (2, 2));
    assert_eq!(report.traffic[0].received_packets, 1);
    assert!(report.links.iter().all(|link| (link.forward.arrived_packets, link.reverse.arrived_packets) == (1, 2)));
    // There and back, 8 us for the segment and 0.32 us for the ACK on each link; the ACK may wait for a datagram once.
    let (took, expected) = (report.flows[0].completion_s, 127.0 * (2.0 * 100e-6 + 8e-6 + 0.32e-6));
    assert!((took - expected).abs() <= 8.1e-6, "{took} s, {expected} by hand");
}

/// A sender a hundred seconds away keeps the loop at work for a hundred seconds after the end; no transfers begin then.
#[test]
fn transfers_do_not_begin_after_the_end() {
    let traffic = "[[web]]\nalgorithm = \"reno\"\ntransfers_per_second = 100000\nmean_size = \"1 kB\"\nshape = 100\n\
                   [[udp]]\nrate = \"1 bit/s\"\naccess_delay = \"100 s\"";
    let sent = bounded(&scenario("10 ms", "rate = \"10 Gbit/s\"", traffic), 3).expect("an end").packets.sent;
    // A Poisson variable of mean 1000, five standard deviations either way; of one or two packets each.
    assert!((842..=2316).contains(&sent), "{sent}");
}

/// The rarest transfers: one in a million seconds on average, and none by accident of a number that is too large.
#[test]
fn rare_transfers_are_rare() {
    let web = "[[web]]\nalgorithm = \"reno\"\ntransfers_per_second = 0.000001\nmean_size = \"1 kB\"\nshape = 100";
    let report = bounded(&scenario("1000 s", "rate = \"1 Gbit/s\"", web), 3).expect("an end");
    // The first begins with the run; a second in 1000 s has a probability of a thousandth.
    assert!((1..=2).contains(&report.packets.sent), "{:?}", report.packets);
}

/// Datagrams end with the run, with or without `stop`, although the loop continues for a distant sender.
#[test]
fn datagrams_end_with_the_run() {
    let udp = |stop: &str| {
        let near =
            format!("[[udp]]\nrate = \"1 Mbit/s\"\n{stop}\n[[udp]]\nrate = \"1 bit/s\"\naccess_delay = \"100 s\"");
        bounded(&scenario("1 s", "rate = \"1 Gbit/s\"", &near), 3).expect("an end").packets
    };
    assert_eq!(udp("stop = \"50 s\""), udp(""));
}

/// The reported time is that of the next event, also if only timers are left.
#[test]
fn progress_is_that_of_timers_too() {
    let udp = "[[udp]]\nrate = \"800 Mbit/s\"";
    let mut reached = Vec::new();
    let report = run(&scenario("1 s", "rate = \"1 Gbit/s\"", udp), &mut |now| {
        reached.push(now);
        true
    });
    // 10 us between datagrams, 16,384 of them between two calls.
    assert_eq!(reached, [163_840_000, 327_680_000, 491_520_000, 655_360_000, 819_200_000, 983_040_000]);
    assert!(report.is_ok());
}
