//! Transfers, those of finite flows and of web traffic: one row each, from its first packet to its last ACK.

use super::TransferReport;
use super::meter::Events;
use crate::scenario::{Link, Scenario, Tcp};
use fullpipe_cc::{Nanos, time::seconds};

/// The transfers of a run, in the order in which they began.
#[derive(Debug, Default)]
pub struct Transfers(Vec<Transfer>);

/// One of them, as the run goes.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    /// Which connection's.
    pub flow: u32,
    begun: Nanos,
    /// Segments to send, or sent where it ended before.
    segments: u64,
    /// Up to the last ACK.
    took: Option<Nanos>,
    /// Those of its connection before it began; once it is complete, its own.
    events: Events,
}

impl Transfers {
    /// One of so many segments begins; `before` are the events of its connection so far. Says where it is.
    pub fn begin(&mut self, flow: u32, begun: Nanos, segments: u64, before: Events) -> u32 {
        self.0.push(Transfer { flow, begun, segments, took: None, events: before });
        self.0.len() as u32 - 1
    }

    /// The one there is complete at `now`.
    pub fn complete(&mut self, place: u32, now: Nanos, segments: u64, events: Events) {
        let transfer = &mut self.0[place as usize];
        transfer.took = Some(now - transfer.begun);
        transfer.segments = segments;
        transfer.events = events.since(transfer.events);
    }

    /// One that is under way at the end of the run.
    pub fn leave(&mut self, place: u32, events: Events) {
        let transfer = &mut self.0[place as usize];
        transfer.events = events.since(transfer.events);
    }

    /// All, in the order of their beginnings.
    pub fn take_sorted(&mut self) -> Vec<Transfer> {
        let mut transfers = std::mem::take(&mut self.0);
        transfers.sort_by_key(|transfer| transfer.begun);
        transfers
    }

    /// Bytes they take on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.0.capacity() * size_of::<Transfer>()
    }
}

impl Transfer {
    /// Its row: it is of a `group`, over an idle `path`.
    pub fn report(&self, group: u32, path: &IdlePath, packet_size: u32, warmup: Nanos) -> TransferReport {
        let completion_s = self.took.map_or(f64::NAN, seconds);
        TransferReport {
            group,
            start_s: seconds(self.begun),
            size_bytes: self.segments * u64::from(packet_size),
            completion_s,
            slowdown: completion_s / path.time_s(self.segments),
            retransmits: self.events.retransmits,
            timeouts: self.events.timeouts,
            in_warmup: self.begun < warmup,
        }
    }
}

/// How long segments take over a path on which nobody else is, sent back to back, whatever a window would allow: each link sends one
/// after another at its own rate, the one that it begins with where that changes, and the ACK of the last comes back. With a
/// handshake there is a round trip before.
#[derive(Clone, Copy, Debug)]
pub struct IdlePath {
    /// Of the first segment, seconds.
    first: f64,
    /// Of each further one.
    further: f64,
}

impl IdlePath {
    /// The path of `tcp` for a sender behind an access delay.
    pub fn new(scenario: &Scenario, tcp: &Tcp, access: Nanos) -> IdlePath {
        let there: Vec<&Link> = tcp.path.iter().map(|&link| scenario.links[link].direction(tcp.reverse)).collect();
        let back = tcp.path.iter().map(|&link| scenario.links[link].direction(!tcp.reverse));
        let takes = |size: u32, rate_bps: u64| 8.0 * f64::from(size) / rate_bps as f64;
        let rates = || there.iter().map(|link| link.rate_bps).chain(tcp.access_rate_bps);
        let each: Vec<f64> = rates().map(|rate_bps| takes(scenario.packet_size, rate_bps)).collect();
        let delays = seconds(
            2 * access
                + there.iter().map(|link| link.delay).sum::<Nanos>()
                + back.clone().map(|link| link.delay).sum::<Nanos>(),
        );
        let ack: f64 = back.map(|link| takes(scenario.ack_size, link.rate_bps)).sum();
        let syn: f64 = rates().map(|rate_bps| takes(scenario.ack_size, rate_bps)).sum();
        let round_trip = if tcp.handshake { delays + syn + ack } else { 0.0 };
        IdlePath {
            first: round_trip + delays + each.iter().sum::<f64>() + ack,
            further: each.iter().copied().fold(0.0, f64::max),
        }
    }

    /// Seconds that so many segments take.
    pub fn time_s(&self, segments: u64) -> f64 {
        self.first + segments.saturating_sub(1) as f64 * self.further
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Recovery;

    /// 1000 bytes take 1 ms at 8 Mbit/s and 2 ms at 4, ACKs of 40 bytes 40 and 80 us; delays 10, 20 and 3 ms each way. One segment is
    /// there after 36 ms and acknowledged after 69.12; each of nine more takes 2 ms; a handshake as an ACK there and back, 66.24 ms.
    #[test]
    fn an_idle_path_takes_what_its_links_take() {
        let link = |rate_bps, delay| Link { rate_bps, delay, ..Link::default() };
        let links = vec![link(8_000_000, 10_000_000), link(4_000_000, 20_000_000)];
        let scenario = Scenario { links, ..Scenario::from_toml(SCENARIO).expect("a scenario") };
        let tcp = Tcp::new("reno", Recovery::Reno, vec![0, 1]);
        let path = |tcp: &Tcp| IdlePath::new(&scenario, tcp, 3_000_000);
        let near = |found: f64, exact: f64| assert!((found - exact).abs() < 1e-12, "{found} s, not {exact} s");
        near(path(&tcp).time_s(1), 0.069_12);
        near(path(&tcp).time_s(10), 0.087_12);
        near(path(&Tcp { handshake: true, ..tcp.clone() }).time_s(1), 0.069_12 + 0.066_24);
        // An access link of 2 Mbit/s takes 4 ms for each.
        near(path(&Tcp { access_rate_bps: Some(2_000_000), ..tcp }).time_s(10), 0.073_12 + 0.036);
    }

    const SCENARIO: &str = "duration = \"1 s\"\npacket_size = 1000\nack_size = 40\n[[links]]\nname = \"l\"\nrate = \"8 Mbit/s\"\n\
        delay = \"0 s\"\nbuffer = \"4 packets\"\n[[flows]]\nalgorithm = \"reno\"\n";
}
