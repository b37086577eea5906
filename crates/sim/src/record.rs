//! Events that a sender passes to its congestion control, as fixed-size records, to drive another implementation of the
//! algorithm by identical events. Compiled only with the feature `record`; for scenarios of one flow.

use fullpipe_cc::{Ack, CongestionControl, Flow, Nanos, Signal};
use std::cell::RefCell;
use std::io::Write;

thread_local! {
    static SINK: RefCell<Option<Box<dyn Write>>> = const { RefCell::new(None) };
    static SENDS: RefCell<Option<Box<dyn Write>>> = const { RefCell::new(None) };
}

/// Sends a line for each segment that a sender lets go in this thread to `sink`: when, in nanoseconds, and its number. `None`
/// ends that and drops the sink.
pub fn sends_to(sink: Option<Box<dyn Write>>) {
    SENDS.set(sink);
}

/// A segment leaves.
pub fn sent(now: Nanos, seq: u64) {
    SENDS.with_borrow_mut(|sink| {
        if let Some(sink) = sink {
            writeln!(sink, "{now} {seq}").expect("the reader of the lines takes them all");
        }
    });
}

/// Sends the records of runs in this thread to `sink`; `None` ends that and drops the sink.
pub fn to(sink: Option<Box<dyn Write>>) {
    SINK.set(sink);
}

/// An ACK; `cc` as it is after it.
pub fn ack(flow: &Flow, ack: &Ack, cc: &impl CongestionControl) {
    write(0, flow, ack, cc);
}

/// A loss or a timeout.
pub fn congestion(flow: &Flow, signal: Signal, cc: &impl CongestionControl) {
    write(if signal == Signal::Timeout { 2 } else { 1 }, flow, &Ack::default(), cc);
}

/// The end of a recovery.
pub fn recovered(flow: &Flow, cc: &impl CongestionControl) {
    write(3, flow, &Ack::default(), cc);
}

/// 64 bytes, little-endian: kind, flags, six of padding; now, delivered, in flight, RTT (0 for none), backward delay,
/// credit, window after the event. Times in nanoseconds, the last two as f64.
fn write(kind: u8, flow: &Flow, ack: &Ack, cc: &impl CongestionControl) {
    let flags = u8::from(flow.in_recovery)
        | u8::from(flow.cwnd_limited) << 1
        | u8::from(ack.round_start) << 2
        | u8::from(ack.backward_delay.is_some()) << 3;
    let words = [
        u64::from(kind) | u64::from(flags) << 8,
        flow.now,
        flow.delivered,
        flow.flight_size,
        ack.rtt.unwrap_or(0),
        ack.backward_delay.unwrap_or(0) as u64,
        ack.credit.to_bits(),
        cc.cwnd().to_bits(),
    ];
    SINK.with_borrow_mut(|sink| {
        if let Some(sink) = sink {
            for word in words {
                sink.write_all(&word.to_le_bytes()).expect("the reader of the records takes them all");
            }
        }
    });
}
