//! Recorded transfers of quinn's stack: the packets and ACKs that its loss detection sees, and what it declares.

use crate::frames::{Ack, Packet, Space, packets};
use crate::{Seen, watched_transfer};
use fullpipe_net::{Links, Scenario};
use quinn_proto::congestion::{Controller, ControllerFactory, NewRenoConfig};
use quinn_proto::{RttEstimator, congestion::ControllerMetrics};
use std::any::Any;
use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// ACK delays on the wire are in units of 8 us (RFC 9000 section 18.2).
const DELAY_UNIT: u64 = 8_000;

/// Input of a loss detector, with its time in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// RTT sample of the handshake.
    Sample {
        /// Time.
        at: u64,
        /// Sample.
        rtt: u64,
    },
    /// Ack-eliciting packet after the handshake.
    Sent {
        /// Time.
        at: u64,
        /// Packet number.
        number: u64,
        /// Bytes of the datagram.
        bytes: u64,
    },
    /// ACK frame.
    Acked {
        /// Time.
        at: u64,
        /// Numbers that no ACK before it had, ascending.
        numbers: Vec<u64>,
        /// Largest number of the frame.
        largest: u64,
        /// ACK delay.
        delay: u64,
    },
}

impl Event {
    /// Time of the event.
    pub fn at(&self) -> u64 {
        let (Event::Sample { at, .. } | Event::Sent { at, .. } | Event::Acked { at, .. }) = self;
        *at
    }
}

/// What a loss detector declares, with times in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Lost packets: number and time.
    pub lost: Vec<(u64, u64)>,
    /// Those found by the time threshold; 0 for quinn, which does not tell.
    pub by_time: u64,
    /// Probe timeouts.
    pub timeouts: Vec<u64>,
    /// Persistent congestion.
    pub persistent: Vec<u64>,
}

/// Recorded transfer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// Input of the loss detection, in the order of time.
    pub events: Vec<Event>,
    /// What quinn has declared.
    pub quinn: Found,
    /// End of the record.
    pub end: u64,
}

/// Log that quinn writes and the recorder reads.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// NewReno of quinn's that counts reports of persistent congestion.
struct Counting {
    inner: Box<dyn Controller>,
    persistent: Arc<AtomicU64>,
}

impl Controller for Counting {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.inner.on_sent(now, bytes, last_packet_number);
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, rtt: &RttEstimator) {
        self.inner.on_ack(now, sent, bytes, app_limited, rtt);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest: Option<u64>) {
        self.inner.on_end_acks(now, in_flight, app_limited, largest);
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, is_persistent_congestion: bool, lost_bytes: u64) {
        self.persistent.fetch_add(u64::from(is_persistent_congestion), Ordering::Relaxed);
        self.inner.on_congestion_event(now, sent, is_persistent_congestion, lost_bytes);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.inner.on_mtu_update(new_mtu);
    }

    fn window(&self) -> u64 {
        self.inner.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        self.inner.metrics()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Counting { inner: self.inner.clone_box(), persistent: Arc::clone(&self.persistent) })
    }

    fn initial_window(&self) -> u64 {
        self.inner.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

struct CountingConfig(Arc<AtomicU64>);

impl ControllerFactory for CountingConfig {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let inner = Arc::new(NewRenoConfig::default()).build(now, current_mtu);
        Box::new(Counting { inner, persistent: Arc::clone(&self.0) })
    }
}

/// Recorder of a transfer.
#[derive(Default)]
struct Recorder {
    trace: Trace,
    log: Log,
    persistent: Arc<AtomicU64>,
    reported: u64,
    /// Send times of the handshake's packets by space, and the largest number acknowledged.
    handshake: [(HashMap<u64, u64>, Option<u64>); 2],
    /// Number that the next packet with data has at least.
    next: u64,
    /// Numbers of packets with data that an ACK has had.
    acked: Vec<bool>,
}

impl Recorder {
    fn see(&mut self, now: u64, seen: &Seen) {
        match seen {
            Seen::Sent(datagram) => packets(datagram).into_iter().for_each(|packet| self.sent(now, &packet)),
            Seen::Arrived(datagram) => {
                for packet in packets(datagram) {
                    if let Some(ack) = &packet.ack {
                        self.arrived(now, packet.space, ack);
                    }
                }
            }
            Seen::End => self.read_log(now),
        }
        self.trace.end = now;
    }

    fn sent(&mut self, now: u64, packet: &Packet) {
        if packet.space != Space::Data {
            self.handshake[packet.space as usize].0.insert(packet.number, now);
            return;
        }
        let ahead = packet.number.wrapping_sub(self.next) & (u64::MAX >> (64 - packet.bits));
        let number = self.next + ahead;
        self.next = number + 1;
        assert!(packet.is_ack_eliciting, "packet {number} elicits no ACK");
        self.trace.events.push(Event::Sent { at: now, number, bytes: packet.bytes });
    }

    fn arrived(&mut self, now: u64, space: Space, ack: &Ack) {
        if space != Space::Data {
            let (sent, largest) = &mut self.handshake[space as usize];
            let newest = ack.ranges[0].1;
            if largest.is_none_or(|largest| newest > largest) {
                *largest = Some(newest);
                self.trace.events.push(Event::Sample { at: now, rtt: now - sent[&newest] });
            }
            return;
        }
        self.acked.resize(self.next as usize, false);
        let mut numbers = Vec::new();
        for &(first, last) in ack.ranges.iter().rev() {
            for number in first..=last {
                if !std::mem::replace(&mut self.acked[number as usize], true) {
                    numbers.push(number);
                }
            }
        }
        if !numbers.is_empty() {
            let (largest, delay) = (ack.ranges[0].1, DELAY_UNIT * ack.delay);
            self.trace.events.push(Event::Acked { at: now, numbers, largest, delay });
        }
    }

    /// Reads what quinn has declared at `now`. Times in the log have only single precision.
    fn read_log(&mut self, now: u64) {
        let text = std::mem::take(&mut *self.log.0.lock().expect("no panic"));
        for line in text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            let value: serde_json::Value = serde_json::from_slice(&line[1..]).expect("a record");
            let (name, data) = (&value["name"], &value["data"]);
            if name == "recovery:packet_lost" && data["header"]["packet_type"] == "1RTT" {
                let number = data["header"]["packet_number"].as_u64().expect("a number");
                self.trace.quinn.lost.push((number, now));
            } else if data["pto_count"].as_u64().is_some_and(|count| count > 0) {
                self.trace.quinn.timeouts.push(now);
            }
        }
        let persistent = self.persistent.load(Ordering::Relaxed);
        if std::mem::replace(&mut self.reported, persistent) < persistent {
            self.trace.quinn.persistent.push(now);
        }
    }
}

/// Records a transfer of `bytes` over a link with these keys, with quinn's NewReno.
///
/// # Panics
/// The keys are invalid.
pub fn record(link: &str, seed: u64, bytes: u64, limit_ns: u64) -> Trace {
    let text = format!(
        "duration = \"100 s\"\nseed = {seed}\nlinks = [{{ name = \"l\", {link} }}]\nflows = [{{ algorithm = \"newreno\" }}]"
    );
    let links = Links::new(&Scenario::from_toml(&text).expect("a scenario")).expect("a valid scenario");
    let mut recorder = Recorder::default();
    let controller = Arc::new(CountingConfig(Arc::clone(&recorder.persistent)));
    let log = Some(Box::new(recorder.log.clone()) as Box<dyn Write + Send + Sync>);
    watched_transfer(links, "l", bytes, controller, limit_ns, log, &mut |now, seen| recorder.see(now, &seen));
    recorder.trace
}
