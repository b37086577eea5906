//! An algorithm of the page's reader: a class in JavaScript, called "mine" in scenarios. Arguments
//! and answers of its objects go through a row of numbers; times are in seconds, windows in segments, and unknown values are NaN.

use fullpipe_cc::packets::{Lost, Sent};
use fullpipe_cc::params::{Group, Info};
use fullpipe_cc::time::seconds;
use fullpipe_cc::{Ack, CongestionControl, Flow, Nanos, Signal, Start};
use fullpipe_sim::Catalogue;
use std::fmt::Display;

/// Description of the algorithm.
const MINE: Info = Info::new("mine", "the page's reader").group(Group::Both).own_slow_start(true);

/// The crate's algorithms and the reader's.
pub fn catalogue() -> Catalogue {
    Catalogue::builtin().with(&MINE, |_, start| Mine::begin(start))
}

/// Functions of the page; the engine calls no others. Each is given where a row of [`WORDS`] numbers begins, and is true
/// where nothing went wrong.
mod page {
    #[link(wasm_import_module = "mine")]
    unsafe extern "C" {
        /// A connection of this number begins. The page writes whether its object asks for packets where the row had the first argument.
        pub safe fn begin(object: u32, row: *mut f64) -> bool;
        /// See [`CongestionControl::on_ack`](fullpipe_cc::CongestionControl::on_ack).
        pub safe fn ack(object: u32, row: *mut f64) -> bool;
        /// See [`CongestionControl::on_congestion`](fullpipe_cc::CongestionControl::on_congestion): 0 for a loss, 1 for a mark, 2 for a timeout.
        pub safe fn congestion(object: u32, signal: u32, row: *mut f64) -> bool;
        /// See [`CongestionControl::on_recovered`](fullpipe_cc::CongestionControl::on_recovered).
        pub safe fn recovered(object: u32, row: *mut f64) -> bool;
        /// See [`CongestionControl::on_undo`](fullpipe_cc::CongestionControl::on_undo).
        pub safe fn undo(object: u32, cwnd: f64, ssthresh: f64, row: *mut f64) -> bool;
        /// See [`CongestionControl::on_packet_sent`](fullpipe_cc::CongestionControl::on_packet_sent).
        pub safe fn sent(object: u32, row: *mut f64) -> bool;
        /// See [`CongestionControl::on_packet_lost`](fullpipe_cc::CongestionControl::on_packet_lost).
        pub safe fn lost(object: u32, row: *mut f64) -> bool;
    }
}

/// Numbers of a row: first the answers of the object (window, threshold, pacing rate), then the arguments.
const WORDS: usize = 32;
const TOLD: usize = 3;

/// A connection's.
struct Mine {
    object: u32,
    cwnd: f64,
    ssthresh: f64,
    pacing_rate: Option<f64>,
    takes_packets: bool,
    failed: bool,
}

impl Mine {
    fn begin(start: Start) -> Mine {
        use std::sync::atomic::{AtomicU32, Ordering};
        static OBJECTS: AtomicU32 = AtomicU32::new(0);
        let object = OBJECTS.fetch_add(1, Ordering::Relaxed);
        let (cwnd, ssthresh) = (start.window, f64::INFINITY);
        let mut mine = Mine { object, cwnd, ssthresh, pacing_rate: None, takes_packets: false, failed: false };
        let told = [start.window, known(start.rtt), f64::from(start.segment_bytes)];
        let row = mine.tell(&told, |object, row| page::begin(object, row));
        mine.takes_packets = row[TOLD] == 1.0;
        mine
    }

    /// Calls the object, and takes its answers.
    fn tell(&mut self, told: &[f64], call: impl FnOnce(u32, *mut f64) -> bool) -> [f64; WORDS] {
        let mut row = [f64::NAN; WORDS];
        row[TOLD..][..told.len()].copy_from_slice(told);
        let whole = call(self.object, row.as_mut_ptr());
        let [cwnd, ssthresh, rate, ..] = row;
        self.failed |= !whole;
        (self.cwnd, self.ssthresh, self.pacing_rate) = (cwnd, ssthresh, Some(rate).filter(|rate| !rate.is_nan()));
        row
    }
}

fn known(time: Option<Nanos>) -> f64 {
    time.map_or(f64::NAN, seconds)
}

fn flow_words(flow: &Flow) -> [f64; 11] {
    [
        seconds(flow.now),
        flow.delivered as f64,
        flow.lost as f64,
        flow.flight_size as f64,
        flow.in_flight as f64,
        known(flow.srtt),
        known(flow.min_rtt),
        flow.round as f64,
        f64::from(u8::from(flow.in_recovery)),
        f64::from(u8::from(flow.cwnd_limited)),
        f64::from(u8::from(flow.app_limited)),
    ]
}

fn ack_words(ack: &Ack) -> [f64; 6] {
    let round_start = f64::from(u8::from(ack.round_start));
    [ack.acked as f64, ack.credit, round_start, known(ack.rtt), ack.newly_lost as f64, ack.ce as f64]
}

fn sent_words(sent: &Sent) -> [f64; 11] {
    [
        sent.number as f64,
        sent.bytes as f64,
        sent.sent_at as f64,
        sent.in_flight as f64,
        sent.delivered as f64,
        sent.lost as f64,
        sent.delivered_at as f64,
        sent.first_sent_at as f64,
        f64::from(u8::from(sent.app_limited)),
        f64::from(u8::from(sent.is_probe)),
        f64::from(sent.ecn),
    ]
}

fn lost_words(lost: &Lost) -> [f64; 3] {
    [f64::from(lost.by as u8), lost.lost_since_sent as f64, lost.delivered_since_sent as f64]
}

impl CongestionControl for Mine {
    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    fn pacing_rate(&self) -> Option<f64> {
        self.pacing_rate
    }

    fn on_ack(&mut self, flow: &Flow, ack: &Ack) {
        let mut told = [0.0; 17];
        told[..11].copy_from_slice(&flow_words(flow));
        told[11..].copy_from_slice(&ack_words(ack));
        self.tell(&told, |object, row| page::ack(object, row));
    }

    fn on_congestion(&mut self, flow: &Flow, signal: Signal) {
        let signal = match signal {
            Signal::Ecn => 1,
            Signal::Timeout => 2,
            _ => 0,
        };
        self.tell(&flow_words(flow), |object, row| page::congestion(object, signal, row));
    }

    fn on_recovered(&mut self, flow: &Flow) {
        self.tell(&flow_words(flow), |object, row| page::recovered(object, row));
    }

    fn takes_packets(&self) -> bool {
        self.takes_packets
    }

    fn on_packet_sent(&mut self, flow: &Flow, sent: &Sent) {
        let mut told = [0.0; 22];
        told[..11].copy_from_slice(&flow_words(flow));
        told[11..].copy_from_slice(&sent_words(sent));
        self.tell(&told, |object, row| page::sent(object, row));
    }

    fn on_packet_lost(&mut self, flow: &Flow, lost: &Lost) {
        let mut told = [0.0; 25];
        told[..11].copy_from_slice(&flow_words(flow));
        told[11..22].copy_from_slice(&sent_words(&lost.sent));
        told[22..].copy_from_slice(&lost_words(lost));
        self.tell(&told, |object, row| page::lost(object, row));
    }

    fn on_undo(&mut self, cwnd: f64, ssthresh: f64) {
        self.tell(&[], |object, row| page::undo(object, cwnd, ssthresh, row));
    }

    fn fault(&self) -> Option<&dyn Display> {
        self.failed.then_some(&"its code failed")
    }
}
