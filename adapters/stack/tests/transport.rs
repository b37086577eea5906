//! quinn's whole stack over the links, beside the QUIC transport of the simulator with the same controller of quinn's.

use fullpipe_cc::params::Info;
use fullpipe_net::{Links, Scenario};
use fullpipe_quinn::from_factory;
use fullpipe_sim::{Catalogue, Simulation};
use fullpipe_stack::transfer;
use quinn_proto::congestion::{ControllerFactory, CubicConfig, NewRenoConfig};
use std::sync::Arc;

const SECONDS: u64 = 60;
/// Datagram of 1252 bytes, and the headers of UDP and IPv4.
const PACKET: u64 = 1280;
/// Data in a full packet of quinn: a datagram of 1252 bytes without the tag of 16, the packet's header of 11 (flags, connection identifier,
/// number), and the STREAM frame's of 6 (type, stream, offset).
const DATA: f64 = 1252.0 - 16.0 - 11.0 - 6.0;

const NEWRENO: Info = Info::new("newreno-on-packets", "quinn-proto").recovery("rack").own_slow_start(true);
const CUBIC: Info = Info::new("cubic-on-packets", "quinn-proto").recovery("rack").own_slow_start(true);

fn factory(name: &str) -> Arc<dyn ControllerFactory + Send + Sync> {
    match name {
        "newreno" => Arc::new(NewRenoConfig::default()),
        _ => Arc::new(CubicConfig::default()),
    }
}

fn catalogue() -> Catalogue {
    Catalogue::builtin()
        .with(&NEWRENO, |_, start| from_factory(factory("newreno"), &start))
        .with(&CUBIC, |_, start| from_factory(factory("cubic"), &start))
}

fn scenario(link: &str, traffic: &str, seed: u64) -> String {
    format!(
        "duration = \"{SECONDS} s\"\nseed = {seed}\npacket_size = {PACKET}\nlinks = [{{ name = \"l\", {link} }}]\n{traffic}"
    )
}

/// Goodput in bits per second, of whole packets, and loss.
fn of_stack(name: &str, link: &str, seed: u64) -> (f64, f64) {
    let text = scenario(link, r#"flows = [{ algorithm = "newreno" }]"#, seed);
    let links = Links::new(&Scenario::from_toml(&text).expect("a scenario")).expect("a valid scenario");
    let found = transfer(links, "l", u64::MAX, factory(name), SECONDS * 1_000_000_000);
    let packets = found.received as f64 / DATA;
    (packets * PACKET as f64 * 8.0 / SECONDS as f64, found.lost as f64 / found.sent as f64)
}

fn of_transport(name: &str, link: &str, seed: u64) -> (f64, f64) {
    // quinn sends with ECT(0).
    let flow = format!(
        "flows = [{{ algorithm = \"{name}-on-packets\", transport = \"quic\", handshake = true, ecn = \"classic\" }}]"
    );
    let scenario = catalogue().read_toml(&scenario(link, &flow, seed)).expect("a scenario");
    let report = Simulation::new(scenario).expect("a valid scenario").report().expect("it runs");
    (report.flows[0].goodput_bps, report.flows[0].loss_rate)
}

/// Controller and link.
const CASES: [(&str, &str); 10] = [
    ("newreno", r#"rate = "10 Mbit/s", delay = "20 ms", buffer = "1 BDP""#),
    ("newreno", r#"rate = "20 Mbit/s", delay = "20 ms", buffer = "0.5 BDP""#),
    ("newreno", r#"rate = "5 Mbit/s", delay = "50 ms", buffer = "2 BDP""#),
    ("newreno", r#"rate = "20 Mbit/s", delay = "20 ms", buffer = "1000 packets", queue = "codel""#),
    (
        "newreno",
        r#"rate = "20 Mbit/s", delay = "20 ms", buffer = "1000 packets", queue = { name = "codel", ecn = true }"#,
    ),
    ("newreno", r#"rate = "10 Mbit/s", delay = "10 ms", buffer = "1 BDP", loss = 0.01"#),
    ("cubic", r#"rate = "20 Mbit/s", delay = "20 ms", buffer = "1 BDP""#),
    ("cubic", r#"rate = "50 Mbit/s", delay = "10 ms", buffer = "0.5 BDP""#),
    ("cubic", r#"rate = "20 Mbit/s", delay = "20 ms", buffer = "1000 packets", queue = "fq-codel""#),
    ("cubic", r#"rate = "10 Mbit/s", delay = "10 ms", buffer = "1 BDP", loss = 0.003"#),
];

/// Goodput within 3 %, and loss within a factor of 1.3.
#[test]
fn the_transport_has_the_goodput_and_the_loss_of_quinns_stack() {
    for (name, link) in CASES {
        let ((stack, stack_loss), (ours, our_loss)) = (of_stack(name, link, 1), of_transport(name, link, 1));
        let (goodput, loss) = (ours / stack, our_loss / stack_loss);
        println!(
            "{name}, {link}: {:.3} and {:.3} Mbit/s, {stack_loss:.5} and {our_loss:.5} lost",
            stack / 1e6,
            ours / 1e6
        );
        assert!((0.97..1.03).contains(&goodput), "{name}, {link}: goodput {stack} and {ours} bit/s");
        let equal = (1.0 / 1.3..1.3).contains(&loss) || (stack_loss == 0.0 && our_loss == 0.0);
        assert!(equal, "{name}, {link}: loss {stack_loss} and {our_loss}");
    }
}
