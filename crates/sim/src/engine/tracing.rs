//! Events of flows for their files ([`crate::trace`]).

use super::Engine;
use crate::packet::{AckNote, Marks, Segment};
use crate::trace::{self, Destinations, Sent, Tracer};
use crate::traffic::connection::Connection;
use crate::transport::policy::Policy;
use crate::transport::sender::Arrival;
use fullpipe_cc::Nanos;

type Trace = Option<Box<Tracer>>;

impl<P: Policy> Engine<P> {
    /// Writes packets to files from now on. Call it before the first event.
    pub(super) fn trace_to(&mut self, to: &Destinations) {
        let (order, flows) = (&self.order, &self.flows);
        let base_rtt = |id: u32| flows[id as usize].sender.handshake_rtt();
        let facts = trace::facts(&self.scenario, |id| order.number(id), base_rtt);
        self.transit.tracer = Some(Box::new(Tracer::new(to, &facts)));
        self.flows.iter_mut().for_each(|flow| flow.sender.list_settled());
    }

    /// Reason why files are not complete.
    pub(super) fn trace_fault(&self) -> Option<String> {
        self.transit.tracer.as_ref()?.fault()
    }

    /// Writes the ends of the files. Returns the reason why they are not complete.
    pub(super) fn close_trace(&mut self) -> Option<String> {
        let tracer = self.transit.tracer.as_mut()?;
        tracer.close();
        tracer.fault()
    }
}

/// A connection begins, with a SYN or established.
pub fn started<P: Policy>(trace: &mut Trace, flow: &Connection<P>, now: Nanos, handshake: bool) {
    if let Some(tracer) = trace {
        tracer.started(flow.id, now, handshake, &flow.sender.snapshot());
    }
}

/// A segment or a QUIC packet leaves.
pub fn sent<P: Policy>(trace: &mut Trace, flow: &Connection<P>, seq: u64, now: Nanos, new: bool, marks: Marks) {
    if let Some(tracer) = trace {
        let sender = &flow.sender;
        let is_last = sender.to_send() == Some(seq + 1);
        let (chunk, after_mtu_probe) = (sender.chunk_of(seq).unwrap_or(seq), sender.is_after_mtu_probe(seq));
        let sent = Sent { seq, chunk, after_mtu_probe, new, marks, is_last };
        tracer.sent(flow.id, now, &sent, &sender.snapshot());
    }
}

/// A TCP segment arrives at its receiver.
pub fn received(trace: &mut Trace, segment: &Segment) {
    if let Some(tracer) = trace {
        tracer.received(segment);
    }
}

/// A TCP receiver sends an ACK.
pub fn replied(trace: &mut Trace, flow: u32, arrival: &Arrival, note: Option<&AckNote>) {
    if let Some(tracer) = trace {
        tracer.replied(flow, arrival, note);
    }
}

/// An ACK has been handled.
pub fn acked<P: Policy>(
    trace: &mut Trace,
    flow: &mut Connection<P>,
    now: Nanos,
    arrival: &Arrival,
    note: Option<&AckNote>,
) {
    if let Some(tracer) = trace {
        let settled = flow.sender.take_settled();
        tracer.acked(flow.id, now, arrival, note, settled.as_ref(), &flow.sender.snapshot());
    }
}

/// A timer has been handled.
pub fn timed_out<P: Policy>(trace: &mut Trace, flow: &mut Connection<P>, now: Nanos) {
    if let Some(tracer) = trace {
        let settled = flow.sender.take_settled();
        tracer.timed_out(flow.id, now, settled.as_ref(), &flow.sender.snapshot());
    }
}
