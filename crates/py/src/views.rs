//! Arguments of algorithms written in Python: the inputs of `fullpipe_cc` in SI units, unknown values as NaN. One object serves all calls
//! of a connection.

use fullpipe_cc::packets::{Lost, Sent};
use fullpipe_cc::time::seconds;
use fullpipe_cc::{Ack, Flow, Nanos, Start};
use pyo3::prelude::*;
use std::cell::Cell;

/// A place that is written and read with the interpreter's lock held.
struct Shown<T>(Cell<T>);

// SAFETY: it is reached through objects of the interpreter alone, whose lock (of which `set` asks a token, and which every getter's caller
// holds) lets one thread at a time near them; the module does not claim to do without that lock.
unsafe impl<T: Send> Sync for Shown<T> {}

fn known(time: Option<Nanos>) -> f64 {
    time.map_or(f64::NAN, seconds)
}

fn signed(time: Option<i64>) -> f64 {
    time.map_or(f64::NAN, |nanos| nanos as f64 / 1e9)
}

/// The sender's state after the event.
#[pyclass(frozen, name = "Flow", module = "fullpipe._core")]
pub struct FlowView(Shown<Flow>);

impl Default for FlowView {
    fn default() -> Self {
        FlowView(Shown(Cell::new(Flow::default())))
    }
}

impl FlowView {
    /// Shows another state.
    #[inline]
    pub fn set(&self, _: Python, flow: &Flow) {
        self.0.0.set(*flow);
    }

    #[inline]
    fn now(&self) -> Flow {
        self.0.0.get()
    }
}

#[pymethods]
impl FlowView {
    /// The sender's clock, seconds.
    #[getter]
    fn now_s(&self) -> f64 {
        seconds(self.now().now)
    }

    /// Smoothed RTT (RFC 6298), seconds; NaN before the first sample.
    #[getter]
    fn srtt_s(&self) -> f64 {
        known(self.now().srtt)
    }

    /// Least RTT seen on this flow, seconds; NaN before the first sample.
    #[getter]
    fn min_rtt_s(&self) -> f64 {
        known(self.now().min_rtt)
    }

    /// Segments acknowledged since the flow began.
    #[getter]
    fn delivered(&self) -> u64 {
        self.now().delivered
    }

    /// Segments found lost since the flow began.
    #[getter]
    fn lost(&self) -> u64 {
        self.now().lost
    }

    /// Segments sent and not yet cumulatively acknowledged (RFC 5681's FlightSize).
    #[getter]
    fn flight_size(&self) -> u64 {
        self.now().flight_size
    }

    /// Segments thought to be in the network (RFC 6675's pipe).
    #[getter]
    fn in_flight(&self) -> u64 {
        self.now().in_flight
    }

    /// Round trips completed.
    #[getter]
    fn round(&self) -> u64 {
        self.now().round
    }

    /// Fast recovery is under way; the window is not to grow.
    #[getter]
    fn in_recovery(&self) -> bool {
        self.now().in_recovery
    }

    /// The window, or the pacing rate, limits the sender.
    #[getter]
    fn cwnd_limited(&self) -> bool {
        self.now().cwnd_limited
    }

    /// There is nothing left to send, and the window has room.
    #[getter]
    fn app_limited(&self) -> bool {
        self.now().app_limited
    }
}

/// News of one ACK.
#[pyclass(frozen, name = "Ack", module = "fullpipe._core")]
pub struct AckView(Shown<Ack>);

impl Default for AckView {
    fn default() -> Self {
        AckView(Shown(Cell::new(Ack::default())))
    }
}

impl AckView {
    /// Shows another ACK.
    #[inline]
    pub fn set(&self, _: Python, ack: &Ack) {
        self.0.0.set(*ack);
    }

    #[inline]
    fn now(&self) -> Ack {
        self.0.0.get()
    }
}

#[pymethods]
impl AckView {
    /// Window increases it is worth: 1, or its segments where the sender counts these; 0 where the window is not to grow by it.
    #[getter]
    fn credit(&self) -> f64 {
        self.now().credit
    }

    /// Segments newly acknowledged.
    #[getter]
    fn acked(&self) -> u64 {
        self.now().acked
    }

    /// It ends a round trip.
    #[getter]
    fn round_start(&self) -> bool {
        self.now().round_start
    }

    /// The RTT sample it carries, seconds; NaN where it carries none.
    #[getter]
    fn rtt_s(&self) -> f64 {
        known(self.now().rtt)
    }

    /// One-way delay of the data, receiver's clock minus sender's, seconds; only differences mean anything. NaN where unknown.
    #[getter]
    fn forward_delay_s(&self) -> f64 {
        signed(self.now().forward_delay)
    }

    /// One-way delay of the ACK, sender's clock minus receiver's, seconds; same caution.
    #[getter]
    fn backward_delay_s(&self) -> f64 {
        signed(self.now().backward_delay)
    }

    /// Segments found lost since the ACK before.
    #[getter]
    fn newly_lost(&self) -> u64 {
        self.now().newly_lost
    }

    /// Marked segments (CE) that no earlier ACK has reported.
    #[getter]
    fn ce(&self) -> u64 {
        self.now().ce
    }

    /// The rate at which data arrived, segments a second, for algorithms that take samples; NaN where it shows none.
    #[getter]
    fn delivery_rate(&self) -> f64 {
        self.now().rate.and_then(|rate| rate.per_second()).unwrap_or(f64::NAN)
    }

    /// That rate was measured while the application had no more to send.
    #[getter]
    fn is_app_limited(&self) -> bool {
        self.now().rate.is_some_and(|rate| rate.is_app_limited)
    }
}

/// Packet that has been sent.
#[pyclass(frozen, name = "Sent", module = "fullpipe._core")]
pub struct SentView(Shown<Sent>);

impl Default for SentView {
    fn default() -> Self {
        SentView(Shown(Cell::new(Sent::default())))
    }
}

impl SentView {
    /// View of a packet.
    pub fn of(packet: &Sent) -> SentView {
        SentView(Shown(Cell::new(*packet)))
    }

    /// Shows another packet.
    #[inline]
    pub fn set(&self, _: Python, packet: &Sent) {
        self.0.0.set(*packet);
    }

    #[inline]
    fn now(&self) -> Sent {
        self.0.0.get()
    }
}

#[pymethods]
impl SentView {
    /// Packet number: each transmission of a segment, first or repeated, has the next one.
    #[getter]
    fn number(&self) -> u64 {
        self.now().number
    }

    /// Size on the wire, bytes.
    #[getter]
    fn bytes(&self) -> u64 {
        self.now().bytes
    }

    /// Time of sending, nanoseconds on the clock of the flow.
    #[getter]
    fn sent_at(&self) -> u64 {
        self.now().sent_at
    }

    /// Bytes in flight after this packet.
    #[getter]
    fn in_flight(&self) -> u64 {
        self.now().in_flight
    }

    /// Bytes delivered since the connection began, when this packet was sent.
    #[getter]
    fn delivered(&self) -> u64 {
        self.now().delivered
    }

    /// Bytes lost since the connection began, when this packet was sent.
    #[getter]
    fn lost(&self) -> u64 {
        self.now().lost
    }

    /// Time of the last delivery, when this packet was sent, nanoseconds.
    #[getter]
    fn delivered_at(&self) -> u64 {
        self.now().delivered_at
    }

    /// Time at which the sampling interval of this packet began, nanoseconds.
    #[getter]
    fn first_sent_at(&self) -> u64 {
        self.now().first_sent_at
    }

    /// The application limited the sender when this packet was sent.
    #[getter]
    fn app_limited(&self) -> bool {
        self.now().app_limited
    }

    /// Tail loss probe.
    #[getter]
    fn is_probe(&self) -> bool {
        self.now().is_probe
    }

    /// ECN codepoint: 0 not ECN-capable, 1 ECT(1), 2 ECT(0).
    #[getter]
    fn ecn(&self) -> u8 {
        self.now().ecn
    }
}

/// Packet that was found lost.
#[pyclass(frozen, name = "Lost", module = "fullpipe._core")]
pub struct LostView(Shown<Lost>);

impl Default for LostView {
    fn default() -> Self {
        LostView(Shown(Cell::new(Lost::default())))
    }
}

impl LostView {
    /// View of a packet.
    pub fn of(packet: &Lost) -> LostView {
        LostView(Shown(Cell::new(*packet)))
    }

    /// Shows another packet.
    #[inline]
    pub fn set(&self, _: Python, packet: &Lost) {
        self.0.0.set(*packet);
    }

    #[inline]
    fn now(&self) -> Lost {
        self.0.0.get()
    }
}

#[pymethods]
impl LostView {
    /// Packet number: each transmission of a segment, first or repeated, has the next one.
    #[getter]
    fn number(&self) -> u64 {
        self.now().sent.number
    }

    /// Size on the wire, bytes.
    #[getter]
    fn bytes(&self) -> u64 {
        self.now().sent.bytes
    }

    /// Time of sending, nanoseconds on the clock of the flow.
    #[getter]
    fn sent_at(&self) -> u64 {
        self.now().sent.sent_at
    }

    /// Bytes in flight after this packet.
    #[getter]
    fn in_flight(&self) -> u64 {
        self.now().sent.in_flight
    }

    /// Bytes delivered since the connection began, when this packet was sent.
    #[getter]
    fn delivered(&self) -> u64 {
        self.now().sent.delivered
    }

    /// Bytes lost since the connection began, when this packet was sent.
    #[getter]
    fn lost(&self) -> u64 {
        self.now().sent.lost
    }

    /// Time of the last delivery, when this packet was sent, nanoseconds.
    #[getter]
    fn delivered_at(&self) -> u64 {
        self.now().sent.delivered_at
    }

    /// Time at which the sampling interval of this packet began, nanoseconds.
    #[getter]
    fn first_sent_at(&self) -> u64 {
        self.now().sent.first_sent_at
    }

    /// The application limited the sender when this packet was sent.
    #[getter]
    fn app_limited(&self) -> bool {
        self.now().sent.app_limited
    }

    /// Tail loss probe.
    #[getter]
    fn is_probe(&self) -> bool {
        self.now().sent.is_probe
    }

    /// ECN codepoint: 0 not ECN-capable, 1 ECT(1), 2 ECT(0).
    #[getter]
    fn ecn(&self) -> u8 {
        self.now().sent.ecn
    }

    /// Rule that found the loss: 0 packet threshold, 1 time threshold (`fullpipe.LostBy`).
    #[getter]
    fn by(&self) -> u8 {
        self.now().by as u8
    }

    /// Bytes lost since this packet was sent, itself included.
    #[getter]
    fn lost_since_sent(&self) -> u64 {
        self.now().lost_since_sent
    }

    /// Bytes delivered since this packet was sent.
    #[getter]
    fn delivered_since_sent(&self) -> u64 {
        self.now().delivered_since_sent
    }
}

/// How a connection begins.
#[pyclass(frozen, get_all, name = "Start", module = "fullpipe._core")]
pub struct StartView {
    /// The first window, segments.
    window: f64,
    /// Bytes of a segment on the wire.
    segment_bytes: u32,
    /// The RTT that the handshake has shown, seconds; NaN where it has shown none.
    rtt_s: f64,
    /// Packets leave at a rate, and not as ACKs come.
    paced: bool,
    /// Seed of random choices: a function of scenario, seed and flow.
    seed: u64,
}

impl StartView {
    /// Start in SI units.
    pub fn of(start: Start) -> StartView {
        let Start { window, segment_bytes, rtt, paced, seed, .. } = start;
        StartView { window, segment_bytes, rtt_s: known(rtt), paced, seed }
    }
}
