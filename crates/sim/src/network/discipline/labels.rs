//! Hosts and classes of packets, for queues that read the addresses and the DSCP of an IP header.

use crate::packet::{Packet, PacketKind};
use crate::scenario::{Class, Ip, Scenario};
use std::collections::BTreeMap;

/// Labels of all packets of a scenario. Each web connection has separate hosts, and is best effort.
#[derive(Debug, Default)]
pub struct Labels {
    flows: Vec<Label>,
    sources: Vec<Label>,
    /// Number of hosts with a name.
    pub hosts: usize,
}

/// Label of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Label {
    /// Source and destination; `None` for a host of this flow alone.
    pub hosts: [Option<u32>; 2],
    /// Class of data and ACKs.
    pub class: Class,
}

impl Labels {
    /// Labels of a scenario.
    pub fn of(scenario: &Scenario) -> Labels {
        let mut labels = Labels::default();
        let mut numbers = BTreeMap::new();
        for group in &scenario.flows {
            let label = label(&group.tcp.ip, &mut numbers);
            labels.flows.extend((0..group.count).map(|_| label));
        }
        for udp in &scenario.udp {
            let label = label(&udp.ip, &mut numbers);
            labels.sources.extend((0..udp.count).map(|_| label));
        }
        labels.hosts = numbers.len();
        labels
    }

    /// Label of a packet, whose source sends it: of an ACK, the receiver of the data.
    pub fn of_packet(&self, packet: &Packet) -> Label {
        let list = if packet.kind == PacketKind::Datagram { &self.sources } else { &self.flows };
        let label = list.get(packet.flow as usize).copied().unwrap_or_default();
        let [sender, receiver] = label.hosts;
        if packet.is_of_receiver() { Label { hosts: [receiver, sender], ..label } } else { label }
    }

    /// Whether flows and sources differ in their class.
    pub fn differ_in_class(&self) -> bool {
        let mut classes = self.flows.iter().chain(&self.sources).map(|label| label.class);
        classes.next().is_some_and(|first| classes.any(|class| class != first))
    }
}

/// Label of a packet from the sender; `numbers` has the hosts with a name.
fn label<'a>(ip: &'a Ip, numbers: &mut BTreeMap<&'a str, u32>) -> Label {
    let mut host = |name: &'a Option<String>| {
        let next = numbers.len() as u32;
        name.as_deref().map(|name| *numbers.entry(name).or_insert(next))
    };
    Label { hosts: [host(&ip.sender), host(&ip.receiver)], class: ip.class }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels() -> Labels {
        let scenario = Scenario::from_toml(
            r#"
            duration = "1 s"
            links = [{ name = "l", rate = "1 Mbit/s", delay = "1 ms", buffer = "9 packets" }]
            flows = [
                { algorithm = "reno", count = 2, sender = "a", receiver = "b" },
                { algorithm = "reno", sender = "b", class = "bulk" },
            ]
            udp = [{ rate = "1 kbit/s", receiver = "a", class = "voice" }]
            "#,
        );
        Labels::of(&scenario.expect("a scenario"))
    }

    /// By hand: hosts a and b are 0 and 1. An ACK of flow 0 goes from b to a.
    #[test]
    fn acks_have_the_hosts_of_data_in_reverse() {
        let labels = labels();
        let of = |kind, flow| {
            let Label { hosts: [from, to], class } = labels.of_packet(&Packet { kind, flow, ..Packet::default() });
            (from, to, class)
        };
        for flow in [0, 1] {
            assert_eq!(of(PacketKind::Data, flow), (Some(0), Some(1), Class::BestEffort));
            assert_eq!(of(PacketKind::Ack, flow), (Some(1), Some(0), Class::BestEffort));
        }
        assert_eq!(of(PacketKind::Data, 2), (Some(1), None, Class::Bulk));
        assert_eq!(of(PacketKind::SynAck, 2), (None, Some(1), Class::Bulk));
        assert_eq!(of(PacketKind::Datagram, 0), (None, Some(0), Class::Voice));
        assert_eq!(of(PacketKind::Data, 3), (None, None, Class::BestEffort));
        assert!((labels.hosts, labels.differ_in_class()) == (2, true) && !Labels::default().differ_in_class());
    }
}
