use super::super::params::Value;
use super::super::testing::{Bench, queued, settings};
use super::*;
use crate::packet::Ecn;
use crate::scenario::Scenario;

/// CAKE over packets of up to 1514 bytes.
fn cake(given: &[(&'static str, Value)]) -> Bench<Cake> {
    Bench::new(Cake::new(&settings(&INFO, given), 1, 1500))
}

fn rate(mbits: u64) -> (&'static str, Value) {
    ("bandwidth", Value::Rate(mbits * 1_000_000))
}

/// CAKE that knows the hosts and classes of flows.
fn labelled(given: &[(&'static str, Value)], flows: &str) -> Bench<Cake> {
    let text = format!(
        "duration = \"1 s\"\nlinks = [{{ name = \"l\", rate = \"1 Mbit/s\", delay = \"1 ms\", buffer = \"9 packets\" }}]\nflows = [{flows}]"
    );
    let scenario = Scenario::from_toml(&text).unwrap_or_else(|problem| panic!("{problem}"));
    let mut bench = cake(given);
    bench.set_labels(&Arc::new(Labels::of(&scenario)));
    bench
}

/// Flows of packets that leave one after another at `now`.
fn turns(bench: &mut Bench<Cake>, now: Nanos, count: usize) -> Vec<u32> {
    (0..count).filter_map(|_| bench.leave(now)).map(|packet| packet.packet.flow).collect()
}

/// ATM: (1500 + 44)/48 is 33 cells of 53 bytes. DOCSIS: 18 bytes more, at least 64. PTM: one byte for each 64, 24 for 1500.
#[test]
fn lengths_follow_the_framing() {
    let length = |overhead, mpu, cells, size| Framing { overhead, mpu, cells }.length(size);
    assert_eq!(length(44, 0, "atm", 1500), 1749);
    assert_eq!((length(18, 64, "none", 1500), length(18, 64, "none", 40)), (1518, 64));
    assert_eq!((length(0, 0, "ptm", 1500), length(0, 0, "none", 1500), length(-64, 0, "none", 40)), (1524, 1500, 0));
}

/// Quantum R/4096 within 300 and 1514 bytes, target at least 1.5 MTU times, and the interval longer by the same time.
#[test]
fn tins_have_parameters_of_their_rates() {
    let laws = |mbits| {
        let queue = cake(&[rate(mbits), ("diffserv", Value::Name("diffserv3"))]);
        let ms = |nanos: Nanos| (nanos as f64 / 1e3).round() / 1e3;
        queue.tins.iter().map(|tin| (tin.quantum, ms(tin.law.target), ms(tin.law.interval))).collect::<Vec<_>>()
    };
    assert_eq!(laws(10), [(305, 5.0, 100.0), (300, 29.069, 124.069), (300, 7.267, 102.267)]);
    assert_eq!(laws(1)[..2], [(300, 18.168, 113.168), (300, 290.688, 581.376)]);
    let unshaped = cake(&[]);
    let tin = &unshaped.tins[0];
    assert_eq!((tin.quantum, tin.law.target, tin.law.interval, tin.law.mtu_time), (1514, 5_000_000, 100_000_000, 0));
}

/// tc-cake(8): the preset "metro" has an RTT of 10 ms and a target of 0.5 ms.
#[test]
fn the_target_is_a_twentieth_of_the_rtt() {
    let queue = cake(&[("rtt", Value::Time(10 * MILLISECOND))]);
    assert_eq!((queue.tins[0].law.target, queue.tins[0].law.interval), (500_000, 10_000_000));
}

/// 1500 bytes take 1.2 ms at 10 Mbit/s. After a pause of 10 ms the clock begins again.
#[test]
fn the_shaper_paces_packets() {
    let mut bench = cake(&[rate(10)]);
    for seq in 0..3 {
        bench.come(queued(1, seq, 1500, Ecn::NotEct, MILLISECOND), false);
    }
    let mut ready = Vec::new();
    for _ in 0..3 {
        ready.push(bench.ready_at());
        bench.leave(bench.ready_at());
    }
    assert_eq!(ready, [1_000_000, 2_200_000, 3_400_000]);
    assert_eq!(bench.ready_at(), 4_600_000);
    bench.come(queued(1, 3, 1500, Ecn::NotEct, 4 * MILLISECOND), false);
    assert_eq!(bench.ready_at(), 4_600_000);
    bench.leave(4_600_000);
    bench.come(queued(1, 4, 1500, Ecn::NotEct, 20 * MILLISECOND), false);
    assert_eq!(bench.ready_at(), 20 * MILLISECOND);
}

/// Without `ingress` an overflow costs nothing. With it, the dropped packet takes its 1.2 ms. The failsafe clock has not moved, and is due.
#[test]
fn dropped_packets_count_with_ingress() {
    for (ingress, next) in [(false, 0), (true, 1_200_000)] {
        let mut bench = cake(&[rate(10), ("ingress", Value::Flag(ingress))]);
        bench.come(queued(1, 0, 1500, Ecn::NotEct, 0), false);
        bench.come(queued(1, 1, 1500, Ecn::NotEct, 0), true);
        assert_eq!(bench.dropped(), [0]);
        let shaper = bench.shaper.as_ref().expect("a shaper");
        assert_eq!((shaper.next, shaper.failsafe, bench.ready_at()), (next, 0, 0));
        bench.leave(0);
        let shaper = bench.shaper.as_ref().expect("a shaper");
        assert_eq!((shaper.next, shaper.failsafe), (next + 1_200_000, 1_800_000));
    }
}

/// Packets of a quantum each: two flows alternate. A flow that comes later is sparse, and goes first, once.
#[test]
fn sparse_flows_go_first() {
    let mut bench = cake(&[]);
    for seq in 0..8 {
        bench.come(queued(1, seq, 1514, Ecn::NotEct, 0), false);
        bench.come(queued(2, seq, 1514, Ecn::NotEct, 0), false);
    }
    assert_eq!(turns(&mut bench, 0, 4), [1, 2, 1, 2]);
    bench.come(queued(3, 0, 1514, Ecn::NotEct, 0), false);
    bench.come(queued(3, 1, 1514, Ecn::NotEct, 0), false);
    // Flow 3 then has no quantum left, and goes behind flow 1, which has one, and before flow 2, which has none yet.
    assert_eq!(turns(&mut bench, 0, 5), [3, 1, 3, 2, 1]);
}

/// Shares of packets in the long run: host A sends one flow, host B three.
fn shares(isolation: &'static str, hosts: [&str; 4]) -> Vec<f64> {
    let flows: Vec<_> = hosts.iter().map(|host| format!("{{ algorithm = \"reno\", {host} }}")).collect();
    let given = [("isolation", Value::Name(isolation)), ("rtt", Value::Time(1000 * SECOND))];
    let mut bench = labelled(&given, &flows.join(", "));
    let mut counts = [0.0_f64; 4];
    (0..4).for_each(|flow| (0..3).for_each(|seq| bench.come(queued(flow, seq, 1000, Ecn::NotEct, 0), false)));
    for seq in 0..12_000 {
        let flow = bench.leave(0).expect("a packet").packet.flow;
        counts[flow as usize] += 1.0 / 12_000.0;
        bench.come(queued(flow, seq, 1000, Ecn::NotEct, 0), false);
    }
    counts.to_vec()
}

/// With `dual-dsthost` both hosts get a half: 1/2, and three times 1/6.
#[test]
fn hosts_get_equal_shares() {
    let to = ["receiver = \"A\"", "receiver = \"B\"", "receiver = \"B\"", "receiver = \"B\""];
    let from = ["sender = \"A\"", "sender = \"B\"", "sender = \"B\"", "sender = \"B\""];
    let near = |found: Vec<f64>, expected: [f64; 4]| {
        let off = found.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(off < 0.01, "{found:?}, not {expected:?}");
    };
    let (host, flow) = ([1.0 / 2.0, 1.0 / 6.0, 1.0 / 6.0, 1.0 / 6.0], [0.25; 4]);
    near(shares("dual-dsthost", to), host);
    near(shares("dual-srchost", from), host);
    near(shares("triple", to), host);
    near(shares("triple", from), host);
    near(shares("flows", to), flow);
    near(shares("dual-dsthost", from), flow);
}

/// One queue for all, for a host, or for a pair of hosts.
#[test]
fn isolation_decides_what_shares_a_queue() {
    let flows = "{ algorithm = \"reno\", sender = \"A\", receiver = \"X\" }, { algorithm = \"reno\", sender = \"A\", receiver = \"Y\" }, \
        { algorithm = \"reno\", sender = \"B\", receiver = \"Y\" }, { algorithm = \"reno\", sender = \"B\", receiver = \"Y\" }";
    let queues = |isolation| {
        let mut bench = labelled(&[("isolation", Value::Name(isolation))], flows);
        (0..4).for_each(|flow| bench.come(queued(flow, 0, 1000, Ecn::NotEct, 0), false));
        let tin = &bench.tins[0];
        tin.flows.flows.iter().filter(|flow| flow.packets.len() > 0).count()
    };
    let found = ["none", "srchost", "dsthost", "hosts", "flows", "triple"].map(queues);
    assert_eq!(found, [1, 2, 2, 3, 4, 4]);
}

const CLASSES: &str = "{ algorithm = \"reno\", class = \"bulk\" }, { algorithm = \"reno\" }, \
    { algorithm = \"reno\", class = \"video\" }, { algorithm = \"reno\", class = \"voice\" }";

/// Flows differ in class, so that there are three tins. Voice goes first while it is within a quarter of the rate: at 10 Mbit/s its clock
/// is 4.8 ms ahead after 1500 bytes. Bulk has 1/16, and best effort takes the rest.
#[test]
fn the_highest_tin_within_its_share_goes_first() {
    let mut bench = labelled(&[rate(10)], CLASSES);
    for seq in 0..9 {
        (0..4).for_each(|flow| bench.come(queued(flow, seq, 1500, Ecn::NotEct, 0), false));
    }
    assert_eq!(bench.tins.len(), 3);
    let mut order = Vec::new();
    for _ in 0..6 {
        order.push(bench.leave(bench.ready_at()).expect("a packet").packet.flow);
    }
    // At 0 voice; at 1.2 ms bulk, until 20.4 ms; then best effort and video; at 4.8 ms voice again, at 6 ms another.
    assert_eq!(order, [3, 0, 1, 2, 3, 1]);
}

/// A tin above its share still uses a link that is free.
#[test]
fn a_tin_alone_has_the_whole_rate() {
    let mut bench = labelled(&[rate(10)], CLASSES);
    (0..9).for_each(|seq| bench.come(queued(0, seq, 1500, Ecn::NotEct, 0), false));
    let times: Vec<_> = (0..9).map(|_| (bench.ready_at(), bench.leave(bench.ready_at())).0).collect();
    assert_eq!(times, (0..9).map(|k| k * 1_200_000).collect::<Vec<_>>());
}

/// Without a shaper tins take turns: 1024, 64, 512, and 256 bytes, so 0.552, 0.034, 0.276, and 0.138 of all.
#[test]
fn tins_share_a_link_without_shaper_by_bytes() {
    let mut bench = labelled(&[("diffserv", Value::Name("diffserv4")), ("rtt", Value::Time(1000 * SECOND))], CLASSES);
    let mut counts = [0.0_f64; 4];
    (0..4).for_each(|flow| (0..3).for_each(|seq| bench.come(queued(flow, seq, 1000, Ecn::NotEct, 0), false)));
    for seq in 0..20_000 {
        let flow = bench.leave(0).expect("a packet").packet.flow;
        counts[flow as usize] += 1.0 / 20_000.0;
        bench.come(queued(flow, seq, 1000, Ecn::NotEct, 0), false);
    }
    let off = counts.iter().zip([64.0, 1024.0, 512.0, 256.0]).map(|(a, b)| (a - b / 1856.0).abs()).fold(0.0, f64::max);
    assert!(off < 0.01, "{counts:?}");
    let eight: Vec<_> = tins("diffserv8").1.into_iter().map(|(_, bytes)| bytes).collect();
    assert_eq!(eight[..4], [256, 224, 196, 171]);
}

/// The head of the flow with the most bytes is dropped, until the arrival has room.
#[test]
fn a_full_buffer_costs_the_longest_flow() {
    let mut bench = cake(&[]);
    (0..3).for_each(|seq| bench.come(queued(1, seq, 1000, Ecn::NotEct, 0), false));
    bench.come(queued(2, 10, 1500, Ecn::NotEct, 0), true);
    assert_eq!((bench.dropped(), bench.packets), (vec![0, 1], 2));
}

/// All packets are over target: the second one is dropped, or marked where it may be. If it is the last one of its flow, it is spared.
#[test]
fn the_last_packet_of_a_flow_is_never_dropped() {
    let left = |packets: u32, ecn| {
        let mut bench = cake(&[]);
        (0..packets).for_each(|seq| bench.come(queued(1, seq, 1000, ecn, 0), false));
        let left: Vec<_> = std::iter::from_fn(|| bench.leave(SECOND)).map(|packet| packet.packet.seq).collect();
        (left, bench.dropped(), bench.stock.marked)
    };
    assert_eq!(left(3, Ecn::NotEct), (vec![0, 2], vec![1], 0));
    assert_eq!(left(2, Ecn::NotEct), (vec![0, 1], vec![], 0));
    assert_eq!(left(2, Ecn::Ect0), (vec![0, 1], vec![], 1));
}

/// A flow decays for an interval after its last packet.
#[test]
fn empty_flows_decay_for_an_interval() {
    let mut bench = cake(&[]);
    let decaying = |bench: &Bench<Cake>| bench.tins[0].flows.first(Kind::Decaying).is_some();
    bench.come(queued(1, 0, 1000, Ecn::NotEct, 0), false);
    bench.come(queued(2, 0, 1514, Ecn::NotEct, 0), false);
    bench.leave(0);
    assert!(!decaying(&bench));
    // Flow 1 is still first among the sparse ones, and is found empty.
    bench.leave(0);
    assert!(decaying(&bench));
    for (at, expected) in [(99, true), (100, false)] {
        bench.come(queued(2, 1, 1514, Ecn::NotEct, at * MILLISECOND), false);
        bench.leave(at * MILLISECOND);
        assert_eq!(decaying(&bench), expected, "{at} ms");
    }
}
