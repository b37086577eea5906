//! quinn's whole stack over the links, compared with the QUIC transport of the simulator with the same controller of quinn's.

use crate::transfer;
use fullpipe_cc::params::Info;
use fullpipe_net::{Links, Scenario};
use fullpipe_quinn::from_factory;
use fullpipe_sim::{Catalogue, Simulation};
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

/// Controller of quinn's, and the link.
pub const CASES: [(&str, &str); 10] = [
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

/// Goodput of whole packets in bits per second, and the part of the packets that is lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// Goodput, bits per second.
    pub goodput_bps: f64,
    /// Lost packets over sent ones.
    pub loss: f64,
}

fn factory(name: &str) -> Arc<dyn ControllerFactory + Send + Sync> {
    match name {
        "newreno" => Arc::new(NewRenoConfig::default()),
        _ => Arc::new(CubicConfig::default()),
    }
}

fn scenario(link: &str, traffic: &str) -> String {
    format!("duration = \"{SECONDS} s\"\npacket_size = {PACKET}\nlinks = [{{ name = \"l\", {link} }}]\n{traffic}")
}

/// quinn's stack with a controller of quinn's.
pub fn of_stack(name: &str, link: &str) -> Figures {
    let text = scenario(link, r#"flows = [{ algorithm = "newreno" }]"#);
    let links = Links::new(&Scenario::from_toml(&text).expect("a scenario")).expect("a valid scenario");
    let found = transfer(links, "l", u64::MAX, factory(name), SECONDS * 1_000_000_000);
    let packets = found.received as f64 / DATA;
    Figures { goodput_bps: packets * PACKET as f64 * 8.0 / SECONDS as f64, loss: found.lost as f64 / found.sent as f64 }
}

/// The simulator's QUIC transport with the same controller.
pub fn of_transport(name: &str, link: &str) -> Figures {
    // quinn sends with ECT(0).
    let flow = format!(
        "flows = [{{ algorithm = \"{name}-on-packets\", transport = \"quic\", handshake = true, ecn = \"classic\" }}]"
    );
    let catalogue = Catalogue::builtin()
        .with(&NEWRENO, |_, start| from_factory(factory("newreno"), &start))
        .with(&CUBIC, |_, start| from_factory(factory("cubic"), &start));
    let scenario = catalogue.read_toml(&scenario(link, &flow)).expect("a scenario");
    let report = Simulation::new(scenario).expect("a valid scenario").report().expect("it runs");
    Figures { goodput_bps: report.flows[0].goodput_bps, loss: report.flows[0].loss_rate }
}
