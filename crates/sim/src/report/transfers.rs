//! Transfers of finite flows and of web traffic: one row each, from the first packet to the last ACK.

use super::meter::Events;
use super::{TransferReport, TransferState};
use crate::memory::make_room;
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
    /// Segments to send.
    segments: u64,
    state: TransferState,
    /// Time up to the last ACK of a complete transfer.
    took: Option<Nanos>,
    /// Events of its connection before it began; once it has ended, its own.
    events: Events,
}

impl Transfers {
    /// A transfer of `segments` segments begins; `before` are the events of its connection so far. Returns its place.
    pub fn begin(&mut self, flow: u32, begun: Nanos, segments: u64, before: Events) -> u32 {
        let state = TransferState::Running;
        make_room(&mut self.0);
        self.0.push(Transfer { flow, begun, segments, state, took: None, events: before });
        self.0.len() as u32 - 1
    }

    /// Its flow stops with segments left to send: the transfer will never be complete.
    pub fn cut_off(&mut self, place: u32) {
        self.0[place as usize].state = TransferState::CutOff;
    }

    /// Everything that its flow had to send has been acknowledged at `now`: the transfer is complete, unless it was cut off.
    pub fn end(&mut self, place: u32, now: Nanos, events: Events) {
        let transfer = &mut self.0[place as usize];
        if transfer.state == TransferState::Running {
            transfer.state = TransferState::Complete;
            transfer.took = Some(now - transfer.begun);
        }
        transfer.events = events.since(transfer.events);
    }

    /// The run ends before it does.
    pub fn leave(&mut self, place: u32, events: Events) {
        let transfer = &mut self.0[place as usize];
        transfer.events = events.since(transfer.events);
    }

    /// All, in the order of their beginnings.
    pub fn take_sorted(&mut self) -> Vec<Transfer> {
        let mut transfers = std::mem::take(&mut self.0);
        sort_nearly_sorted(&mut transfers);
        transfers
    }

    /// Bytes they take on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.0.capacity() * size_of::<Transfer>()
    }
}

/// By their beginnings, those of one moment as they are. They come in the order of the loop's clock, behind which flows' own are by
/// their access delays: most are a few places from where they belong, and are moved there; if that takes too long they are sorted.
fn sort_nearly_sorted(transfers: &mut [Transfer]) {
    let mut moves_left = 16 * transfers.len();
    for i in 1..transfers.len() {
        let mut place = i;
        while place > 0 && transfers[place - 1].begun > transfers[place].begun {
            if moves_left == 0 {
                return transfers.sort_by_key(|transfer| transfer.begun);
            }
            moves_left -= 1;
            transfers.swap(place - 1, place);
            place -= 1;
        }
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
            state: self.state,
            completion_s,
            slowdown: completion_s / path.time_s(self.segments),
            retransmits: self.events.retransmits,
            timeouts: self.events.timeouts,
            in_warmup: self.begun < warmup,
        }
    }
}

/// Time of segments over an idle path, sent back to back without a window: each link sends one
/// after another at its own rate, the one that it begins with where that changes, and the ACK of the last comes back. With a
/// handshake there is a round trip before.
#[derive(Clone, Copy, Debug)]
pub struct IdlePath {
    /// Of the first segment, seconds.
    first: f64,
    /// Of each further one.
    further: f64,
}

/// An [`IdlePath`] but for the access delay: that of all flows of a group.
#[derive(Clone, Copy, Debug)]
pub struct IdleLinks {
    /// Propagation there and back.
    delays: Nanos,
    /// Seconds that the links take for a segment, together, and the slowest of them alone; for an ACK; for a SYN.
    segment: f64,
    slowest: f64,
    ack: f64,
    syn: f64,
    handshake: bool,
}

impl IdleLinks {
    /// Those of `tcp`.
    pub fn new(scenario: &Scenario, tcp: &Tcp) -> IdleLinks {
        let there: Vec<&Link> = tcp.path.iter().map(|&link| scenario.links[link].direction(tcp.reverse)).collect();
        let back = tcp.path.iter().map(|&link| scenario.links[link].direction(!tcp.reverse));
        let takes = |size: u32, rate_bps: u64| 8.0 * f64::from(size) / rate_bps as f64;
        let rates = || there.iter().map(|link| link.rate_bps).chain(tcp.access_rate_bps);
        let each: Vec<f64> = rates().map(|rate_bps| takes(scenario.packet_size, rate_bps)).collect();
        IdleLinks {
            delays: there.iter().map(|link| link.delay).sum::<Nanos>()
                + back.clone().map(|link| link.delay).sum::<Nanos>(),
            segment: each.iter().sum(),
            slowest: each.iter().copied().fold(0.0, f64::max),
            ack: back.map(|link| takes(scenario.ack_size, link.rate_bps)).sum(),
            syn: rates().map(|rate_bps| takes(scenario.ack_size, rate_bps)).sum(),
            handshake: tcp.handshake,
        }
    }

    /// The path of a sender behind an access delay.
    pub fn behind(&self, access: Nanos) -> IdlePath {
        let delays = seconds(2 * access + self.delays);
        let round_trip = if self.handshake { delays + self.syn + self.ack } else { 0.0 };
        IdlePath { first: round_trip + delays + self.segment + self.ack, further: self.slowest }
    }
}

impl IdlePath {
    /// Seconds that `segments` segments take.
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
        let path = |tcp: &Tcp| IdleLinks::new(&scenario, tcp).behind(3_000_000);
        let near = |found: f64, exact: f64| assert!((found - exact).abs() < 1e-12, "{found} s, not {exact} s");
        near(path(&tcp).time_s(1), 0.069_12);
        near(path(&tcp).time_s(10), 0.087_12);
        near(path(&Tcp { handshake: true, ..tcp.clone() }).time_s(1), 0.069_12 + 0.066_24);
        // An access link of 2 Mbit/s takes 4 ms for each.
        near(path(&Tcp { access_rate_bps: Some(2_000_000), ..tcp }).time_s(10), 0.073_12 + 0.036);
    }

    /// A few places apart, or all the other way round: as a stable sort has them, those of one moment in their order.
    #[test]
    fn transfers_come_in_the_order_of_their_beginnings() {
        let nearly = |n: u64| (0..n).map(|i| 10 * i + 25 * (i % 3)).collect::<Vec<Nanos>>();
        for times in [nearly(100), (0..100).rev().map(|i| i / 2).collect(), vec![], vec![7]] {
            let mut transfers = Transfers::default();
            for (flow, &begun) in (0..).zip(&times) {
                transfers.begin(flow, begun, 1, Events::default());
            }
            let mut expected: Vec<(Nanos, u32)> = times.iter().copied().zip(0..).collect();
            expected.sort();
            let found = transfers.take_sorted();
            assert_eq!(found.iter().map(|transfer| (transfer.begun, transfer.flow)).collect::<Vec<_>>(), expected);
        }
    }

    const SCENARIO: &str = "duration = \"1 s\"\npacket_size = 1000\nack_size = 40\n[[links]]\nname = \"l\"\nrate = \"8 Mbit/s\"\n\
        delay = \"0 s\"\nbuffer = \"4 packets\"\n[[flows]]\nalgorithm = \"reno\"\n";
}
