//! Result of a run, computed from its final state.

use super::Engine;
use crate::network::served::Served;
use crate::packet::{Packet, PacketKind};
use crate::report::jitter::Jitter;
use crate::report::percentiles::Histogram;
use crate::report::transfers::{IdleLinks, Transfer};
use crate::report::{
    DirectionReport, FlowFrames, FlowReport, FramesReport, GroupReport, LinkReport, Percentiles, Report, Series,
    TrafficReport, TransferReport,
};
use crate::scenario::order::Order;
use crate::scenario::{Link, Tcp};
use crate::traffic::connection::{Connection, Life};
use crate::traffic::frames;
use crate::transport::Policy;
use crate::transport::quic::EcnState;
use fullpipe_cc::{Nanos, time::seconds};
use std::collections::BTreeMap;
use std::sync::Arc;

impl<P: Policy> Engine<P> {
    /// The figures of a run that has ended.
    pub fn report(mut self) -> Report {
        let end = self.transit.window.to;
        for flow in self.flows.iter_mut().filter(|flow| flow.life != Life::Idle) {
            flow.sender.pass_time(end, flow.id, &mut self.transit.log);
        }
        (0..self.long_lived as u32).for_each(|id| self.end_app_limited(id, end));
        let data =
            |packet: &Packet| matches!(packet.kind, PacketKind::Data | PacketKind::Received | PacketKind::Datagram);
        self.transit.count.in_flight += self.transit.schedule.packets().filter(data).count() as u64;
        self.transit.count.in_flight += self.transit.network.served.iter().map(Served::waiting_data).sum::<u64>();
        let data_packets = self.flows.iter().map(|flow| flow.sender.counters().sent).sum();
        self.transit.count.sent += data_packets;
        let mut flows = self.flow_reports();
        let (groups, rtt, jitter) = self.group_reports();
        // Before the written order, so that it does not depend on that.
        let jain_index = jain(flows.iter().map(|flow| flow.goodput_bps));
        flows.sort_by_key(|flow| flow.id);
        let (transfers, transfer_groups) = self.transfer_reports();
        Report {
            transfers,
            transfer_groups,
            links: self.link_reports(),
            traffic: self.traffic_reports(),
            data_packets,
            packets: self.transit.count,
            jain_index,
            flow_series: self.transit.log.series(),
            link_series: self.link_series(),
            flows,
            groups,
            rtt: rtt.percentiles(0),
            jitter: jitter.percentiles(),
        }
    }

    fn flow_reports(&mut self) -> Vec<FlowReport> {
        let scenario = Arc::clone(&self.scenario);
        let groups = scenario.flows.iter().flat_map(|group| std::iter::repeat_n(group, group.count as usize));
        let mut reports = Vec::with_capacity(self.long_lived);
        reports.extend(groups.enumerate().map(|(id, group)| {
            let rtt = self.flows[id].sender.meter.rtts().percentiles(0);
            self.flow_report(id, &group.tcp, &self.flows[id], rtt)
        }));
        reports
    }

    /// Reports of the groups, and the RTT and jitter of all flows.
    fn group_reports(&mut self) -> (Vec<GroupReport>, Histogram, Jitter) {
        let scenario = Arc::clone(&self.scenario);
        let mut places = BTreeMap::new();
        let mut names: Vec<&str> = Vec::new();
        for name in self.written.flows.iter().map(|group| group.tcp.group()) {
            places.entry(name).or_insert_with(|| {
                names.push(name);
                names.len() - 1
            });
        }
        let mut sums: Vec<(u64, u64, Histogram, Jitter)> = names.iter().map(|_| Default::default()).collect();
        let mut flows = self.flows.iter_mut().zip(&self.transit.lost);
        for group in &scenario.flows {
            let (all_lost, all_sent, rtts, jitter) = &mut sums[places[group.tcp.group()]];
            for (flow, lost) in flows.by_ref().take(group.count as usize) {
                *all_lost += lost;
                *all_sent += flow.sender.meter.counted(&flow.sender.counters()).sent;
                rtts.add(flow.sender.meter.rtts());
                flow.jitter().into_iter().for_each(|own| jitter.add(own));
            }
        }
        let (mut all_rtts, mut all_jitter) = (Histogram::default(), Jitter::default());
        for (_, _, rtts, jitter) in &sums {
            all_rtts.add(rtts);
            all_jitter.add(jitter);
        }
        let frames = self.frames_of_groups();
        let report = |(name, (lost, sent, rtts, jitter)): (&str, (u64, u64, Histogram, Jitter))| GroupReport {
            name: name.to_owned(),
            loss_rate: loss_rate(lost, sent),
            rtt: rtts.percentiles(0),
            jitter: jitter.percentiles(),
            frames: frames.get(name).map(|all| FlowFrames::new(&all.delays, all.late)),
        };
        (names.into_iter().zip(sums).map(report).collect(), all_rtts, all_jitter)
    }

    fn flow_report(&self, id: usize, tcp: &Tcp, flow: &Connection<P>, rtt: Percentiles) -> FlowReport {
        let (counted, averages) = (flow.sender.meter.counted(&flow.sender.counters()), flow.sender.meter.averages());
        let round_trip: Nanos = tcp.path.iter().map(|&link| self.scenario.links[link].round_trip()).sum();
        let size = self.scenario.packet_size;
        let client = flow.source.as_ref().and_then(|source| source.client.as_ref());
        FlowReport {
            id: self.order.number(id as u32),
            name: tcp.group().to_owned(),
            algorithm: tcp.algorithm.name.clone(),
            active_s: seconds(averages.active),
            throughput_bps: bits_per_second(flow.received + flow.duplicates, size, averages.active),
            goodput_bps: bits_per_second(flow.received, size, averages.active),
            payload_goodput_bps: bits_per_second(flow.received, self.scenario.payload(), averages.active),
            retransmits: counted.events.retransmits,
            timeouts: counted.events.timeouts,
            fast_recoveries: counted.events.fast_recoveries,
            loss_rate: loss_rate(self.transit.lost[id], counted.sent),
            mean_rtt_s: averages.rtt_s,
            rtt,
            jitter: flow.jitter().map_or(Percentiles::UNKNOWN, Jitter::percentiles),
            mean_cwnd_packets: averages.cwnd,
            base_rtt_s: seconds(round_trip + 2 * flow.access),
            app_limited_fraction: flow
                .source
                .as_ref()
                .filter(|source| !source.is_bulk())
                .map(|source| source.app_limited.share(averages.active)),
            frames: flow
                .source
                .as_ref()
                .and_then(|source| source.frames())
                .map(|(all, late)| FlowFrames::new(all.delays(), late)),
            request_completion_s: client.map(|client| client.mean_completion_s()),
            video: client.and_then(|client| client.player()).map(|player| player.figures()),
            ecn: flow.sender.ecn_state().map(EcnState::name),
            completion_s: if flow.completed == Nanos::MAX { f64::NAN } else { seconds(flow.completed - flow.started) },
        }
    }

    /// One row per transfer, and the groups of transfers.
    fn transfer_reports(&mut self) -> (Vec<TransferReport>, Vec<String>) {
        let scenario = Arc::clone(&self.scenario);
        for flow in self.flows.iter().filter(|flow| flow.life != Life::Idle) {
            let client = flow.source.as_ref().and_then(|source| source.client.as_ref());
            if let Some(transfer) = flow.transfer.or(client.and_then(|client| client.transfer)) {
                self.transfers.leave(transfer, flow.sender.meter.events);
            }
        }
        let (written, order) = (Arc::clone(&self.written), &self.order);
        let several = written.web.len() > 1;
        let web = written.web.iter().enumerate().map(|(index, web)| match &web.tcp.name {
            Some(name) => name.clone(),
            None if several => format!("web {index}"),
            None => "web".to_owned(),
        });
        let groups: Vec<String> = written.flows.iter().map(|group| group.tcp.group().to_owned()).chain(web).collect();
        let mut names: Vec<String> = Vec::new();
        let mut known = BTreeMap::new();
        let place = |name: &String| {
            *known.entry(name.clone()).or_insert_with(|| {
                names.push(name.clone());
                names.len() as u32 - 1
            })
        };
        let places: Vec<u32> = groups.iter().map(place).collect();
        // Place of each group in canonical order.
        let web = order.web.iter().map(|&index| written.flows.len() + index);
        let places: Vec<u32> = order.groups.iter().copied().chain(web).map(|index| places[index]).collect();
        // Of each finite flow, which group of the scenario it belongs to.
        let of_flows: Vec<usize> = (0..)
            .zip(&scenario.flows)
            .flat_map(|(index, group)| std::iter::repeat_n(index, group.count as usize))
            .collect();
        let transfers = self.transfers.take_sorted();
        let tcp = scenario.flows.iter().map(|group| &group.tcp).chain(scenario.web.iter().map(|web| &web.tcp));
        let links: Vec<IdleLinks> = tcp.map(|tcp| IdleLinks::new(&scenario, tcp)).collect();
        let row = |transfer: &Transfer| {
            let flow = &self.flows[transfer.flow as usize];
            let group =
                flow.web.map_or_else(|| of_flows[transfer.flow as usize], |web| scenario.flows.len() + web as usize);
            let path = links[group].behind(flow.access);
            transfer.report(places[group], &path, scenario.packet_size, scenario.warmup)
        };
        (transfers.iter().map(row).collect(), names)
    }

    fn link_reports(&mut self) -> Vec<LinkReport> {
        let useful = self.useful_bytes();
        let window_s = seconds(self.transit.window.length());
        let network = &mut self.transit.network;
        let mut direction = |direction: usize| DirectionReport {
            carried_goodput_bps: useful[direction] as f64 * 8.0 / window_s,
            ..network.report(direction)
        };
        let report = |(index, link): (usize, &Link)| LinkReport {
            name: link.name.clone(),
            forward: direction(2 * index),
            reverse: direction(2 * index + 1),
        };
        let reports = self.scenario.links.iter().enumerate().map(report).collect();
        Order::written(&self.order.links, reports)
    }

    /// Of each direction, the bytes over it that reached their receivers in the window for the first time.
    fn useful_bytes(&self) -> Vec<u64> {
        let scenario = &*self.scenario;
        let mut useful = vec![0; self.transit.network.directions()];
        let mut add = |path: &[usize], reverse: bool, bytes: u64| {
            path.iter().for_each(|&link| useful[2 * link + usize::from(reverse)] += bytes);
        };
        let long_lived = scenario.flows.iter().flat_map(|group| std::iter::repeat_n(&group.tcp, group.count as usize));
        let web = self.flows.iter().filter_map(|flow| flow.web).map(|group| &scenario.web[group as usize].tcp);
        for (flow, tcp) in self.flows.iter().zip(long_lived.chain(web)) {
            add(&tcp.path, tcp.reverse, flow.received * u64::from(scenario.packet_size));
        }
        for source in &self.datagrams {
            let udp = &scenario.udp[source.group as usize];
            add(&udp.path, udp.reverse, source.received * u64::from(udp.packet_size));
        }
        useful
    }

    fn traffic_reports(&self) -> Vec<TrafficReport> {
        let window = self.transit.window.length();
        let udp = self.scenario.udp.iter().enumerate().map(|(group, udp)| {
            let sources = || self.datagrams.iter().filter(|source| source.group == group as u32);
            let received = sources().map(|source| source.received).sum();
            let frames = || sources().filter_map(|source| source.frames.as_deref());
            TrafficReport {
                kind: "udp",
                name: udp.name.clone().unwrap_or_default(),
                throughput_bps: bits_per_second(received, udp.packet_size, window),
                sent_packets: sources().map(|source| source.sent).sum(),
                received_packets: received,
                transfers_started: 0,
                transfers_completed: 0,
                mean_completion_s: f64::NAN,
                frames: udp.frames.map(|_| FramesReport {
                    sent: frames().map(|source| source.sent()).sum(),
                    received: frames().map(|source| source.received()).sum(),
                    delay: frames::percentiles(frames()),
                }),
            }
        });
        let web = self.web.iter().enumerate().map(|(index, group)| {
            let flows = || self.flows.iter().filter(|flow| flow.web == Some(index as u32));
            let received = flows().map(|flow| flow.received + flow.duplicates).sum();
            TrafficReport {
                kind: "web",
                name: self.scenario.web[index].tcp.name.clone().unwrap_or_default(),
                throughput_bps: bits_per_second(received, self.scenario.packet_size, window),
                sent_packets: flows().map(|flow| flow.sender.meter.counted(&flow.sender.counters()).sent).sum(),
                received_packets: received,
                transfers_started: group.started,
                transfers_completed: group.completed,
                mean_completion_s: group.completion_sum / group.completed as f64,
                frames: None,
            }
        });
        let (udp, web) =
            (Order::written(&self.order.udp, udp.collect()), Order::written(&self.order.web, web.collect()));
        udp.into_iter().chain(web).collect()
    }

    fn link_series(&mut self) -> Series {
        let names = [
            "queue_packets",
            "utilization",
            "arrived_packets",
            "dropped_packets",
            "marked_packets",
            "reverse_queue_packets",
            "reverse_utilization",
            "reverse_arrived_packets",
            "reverse_dropped_packets",
            "reverse_marked_packets",
        ];
        let Some(interval) = self.scenario.series_interval else { return Series::with_columns(names, 0) };
        let rows = (self.transit.window.to / interval) as usize * self.scenario.links.len();
        let mut series = Series::with_columns(names, rows);
        for (number, index) in (0..).zip(Order::back(&self.order.links)) {
            let mut taken = |direction| self.transit.network.take_series(direction);
            let columns = [2 * index, 2 * index + 1].into_iter().filter_map(&mut taken);
            let columns: Vec<_> =
                columns.flat_map(|one| [one.queue, one.utilization, one.arrived, one.dropped, one.marked]).collect();
            let n = columns[0].len();
            series.t_s.extend((1..=n as u64).map(|k| seconds(k * interval)));
            series.entity.extend(std::iter::repeat_n(number, n));
            for ((_, into), from) in series.columns.iter_mut().zip(columns) {
                into.extend(from);
            }
        }
        series
    }
}

/// Rate of a number of packets of `size` bytes in a time; NaN without packets.
fn bits_per_second(packets: u64, size: u32, time: Nanos) -> f64 {
    if time == 0 {
        return f64::NAN;
    }
    packets as f64 * f64::from(size) * 8.0 / seconds(time)
}

/// Loss rate of sent packets. Packets sent before the measurement interval may be lost in it.
fn loss_rate(lost: u64, sent: u64) -> f64 {
    if lost == 0 { 0.0 } else { lost as f64 / sent.max(lost) as f64 }
}

/// Jain's fairness index, (sum x)^2 / (n sum x^2), of the known rates; NaN if all rates are 0. Computed from mean and
/// variance, m^2 / (m^2 + v), which rounding cannot raise above 1.
fn jain(rates: impl Iterator<Item = f64> + Clone) -> f64 {
    let rates = rates.filter(|rate| !rate.is_nan());
    let n = rates.clone().count() as f64;
    let mean = rates.clone().sum::<f64>() / n;
    let variance = rates.map(|rate| (rate - mean) * (rate - mean)).sum::<f64>() / n;
    mean * mean / (mean * mean + variance)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Jain, Chiu and Hawe 1984, section 4: k of n users with equal shares and nothing for the rest give k/n.
    #[test]
    fn jains_index() {
        assert_eq!(jain([20.0, 0.0, 20.0, 0.0, 0.0].into_iter()), 0.4);
        assert_eq!(jain([7.0, f64::NAN].into_iter()), 1.0, "one whose rate is known");
        assert!(jain([0.0, 0.0].into_iter()).is_nan());
    }

    /// Equal shares are 1 to the last bit, whatever their sums round to.
    #[test]
    fn equal_shares_are_no_fairer_than_one() {
        for n in 1..200 {
            let index = jain(std::iter::repeat_n(0.1, n));
            assert!(index <= 1.0 && index > 1.0 - 1e-15, "{index} of {n}");
        }
    }
}
