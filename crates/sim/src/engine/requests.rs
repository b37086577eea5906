//! Requests of clients, which are at the receivers of flows: their packets, and their timers.

use super::Engine;
use super::timers::Timer;
use super::transit::Transit;
use crate::packet::{Packet, PacketKind};
use crate::traffic::connection::{Connection, Life};
use crate::traffic::source::client::{Action, Client};
use crate::transport::policy::Policy;
use fullpipe_cc::Nanos;

impl<P: Policy> Engine<P> {
    /// The client of flow `id` begins, if the flow has one.
    pub(super) fn begin_client(&mut self, id: u32, at: Nanos) {
        let flow = &mut self.flows[id as usize];
        if let Some(client) = client(flow) {
            client.begin(at);
            self.transit.arm_client(flow);
        }
    }

    /// A timer of the client of flow `id`.
    pub(super) fn on_client_timer(&mut self, id: u32, at: Nanos) {
        let flow = &mut self.flows[id as usize];
        let Some(client) = client(flow).filter(|client| client.timer_at == at) else { return };
        client.timer_at = Nanos::MAX;
        if flow.life != Life::Open || at >= self.transit.window.to {
            return;
        }
        let events = flow.sender.meter.events;
        let Some(client) = self.flows[id as usize].source.as_mut().and_then(|source| source.client.as_mut()) else {
            return;
        };
        match client.on_timer(at) {
            Action::Nothing => {}
            Action::Request { packets, again } => {
                if !again {
                    client.transfer = Some(self.transfers.begin(id, at, packets, events));
                }
                self.transit.send_request(&mut self.flows[id as usize], at);
            }
            Action::Complete => {
                let ended = client.transfer.take();
                ended.into_iter().for_each(|transfer| self.transfers.end(transfer, at, events));
            }
        }
        self.transit.arm_client(&mut self.flows[id as usize]);
    }

    /// A request is at the server.
    pub(super) fn on_request(&mut self, packet: &Packet) {
        let flow = &mut self.flows[packet.flow as usize];
        let now = packet.at - flow.access;
        if flow.life != Life::Open || now >= self.transit.window.to {
            return;
        }
        if let Some(source) = &mut flow.source {
            source.on_request(now, packet.seq);
        }
        flow.sender.pass_time(now, packet.flow, &mut self.transit.log);
        self.serve_source(packet.flow, packet.at);
    }
}

impl Transit {
    /// Sends the request at hand of the flow's client.
    fn send_request<P: Policy>(&mut self, flow: &mut Connection<P>, at: Nanos) {
        let Some(number) = client(flow).map(|client| client.number()) else { return };
        let hop = flow.route.hops + flow.route.data_hops;
        let request = Packet {
            at,
            stamp: at,
            flow: flow.id,
            seq: number,
            incarnation: flow.incarnation,
            hop,
            kind: PacketKind::SynAck,
            ..Packet::default()
        };
        self.send_answer(flow, request);
    }

    /// Sets the timer of the flow's client.
    #[cold]
    pub fn arm_client<P: Policy>(&mut self, flow: &mut Connection<P>) {
        let id = flow.id;
        let Some(client) = client(flow) else { return };
        let due = client.deadline();
        if due < client.timer_at {
            client.timer_at = due;
            self.timers.set_of(due, Timer::Client(id), self.schedule.flow(id));
        }
    }
}

fn client<P>(flow: &mut Connection<P>) -> Option<&mut Client> {
    flow.source.as_mut()?.client.as_deref_mut()
}
