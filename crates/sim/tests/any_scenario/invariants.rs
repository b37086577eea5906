//! Invariants of the report of every scenario.

use fullpipe_sim::scenario::{Arrivals, Buffer, EcnField, EcnMode, Link, Source};
use fullpipe_sim::{
    DirectionReport, FramesReport, Percentiles, Report, Scenario, Serving, Stopped, TrafficReport, run, run_served,
};

/// What does not hold yet.
const AWAITED: &[&str] = &[];

/// Rounding of sums of doubles.
const ROUNDING: f64 = 1e-9;

/// Runs `scenario`. Returns the violated invariants. Returns an empty list if the run was stopped at call `patience` of
/// the watch, which is called every few thousand events.
pub fn broken(scenario: &Scenario, patience: usize) -> Vec<String> {
    let mut findings = Findings::default();
    if let Ok(report) = bounded_run(scenario, patience, &mut findings) {
        findings.of_packets(&report);
        findings.of_links(scenario, &report);
        findings.of_flows(scenario, &report);
        findings.of_traffic(scenario, &report);
        findings.of_series(scenario, &report);
        let again = bounded_run(scenario, patience, &mut findings).map(|report| format!("{report:?}"));
        findings.expect("the same twice", again == Ok(format!("{report:?}")), "another report");
        if scenario.measure_jitter {
            let without = Scenario { measure_jitter: false, ..scenario.clone() };
            let plain = bounded_run(&without, patience, &mut findings).map(|report| format!("{report:?}"));
            let measured = format!("{:?}", without_jitter(report.clone()));
            let same = plain.as_ref().map_or(true, |plain| *plain == measured);
            findings.expect(
                "the same where jitter is measured",
                same,
                plain.map(|plain| difference(&plain, &measured)),
            );
        }
        let promptly = (scenario.seed % 4 == 0).then_some(Serving::Promptly);
        for serving in [Some(Serving::Everywhere), promptly].into_iter().flatten() {
            let served = || run_served(scenario, serving, &mut patient(SERVED_PATIENCE * patience));
            if let (true, Ok(served)) = (takes_time(scenario), served()) {
                let (served, plain) = (format!("{served:?}"), format!("{report:?}"));
                findings.expect("the same however links are served", served == plain, difference(&served, &plain));
            }
        }
    }
    findings.0
}

/// As if none had been measured.
fn without_jitter(mut report: Report) -> Report {
    report.flows.iter_mut().for_each(|flow| flow.jitter = Percentiles::UNKNOWN);
    report.groups.iter_mut().for_each(|group| group.jitter = Percentiles::UNKNOWN);
    report.jitter = Percentiles::UNKNOWN;
    report
}

/// Served links take more events.
const SERVED_PATIENCE: usize = 8;

fn patient(mut calls: usize) -> impl FnMut(u64) -> bool {
    move |_| {
        calls -= 1;
        calls > 0
    }
}

/// Where two texts differ first.
fn difference(one: &str, other: &str) -> (String, String) {
    let same = one.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let from = |text: &str| text.chars().skip(same.saturating_sub(80)).take(160).collect();
    (from(one), from(other))
}

fn bounded_run(scenario: &Scenario, patience: usize, findings: &mut Findings) -> Result<Report, Stopped> {
    let (mut calls, mut reached) = (0, 0);
    run(scenario, &mut |now| {
        findings.expect("time goes on", reached <= now && now <= scenario.duration, (reached, now));
        reached = now;
        calls += 1;
        calls < patience
    })
}

#[derive(Default)]
struct Findings(Vec<String>);

impl Findings {
    fn expect(&mut self, invariant: &str, holds: bool, found: impl std::fmt::Debug) {
        if !holds && !AWAITED.contains(&invariant) {
            self.0.push(format!("{invariant}: {found:?}"));
        }
    }

    fn of_packets(&mut self, report: &Report) {
        let count = report.packets;
        let conserved = count.sent == count.delivered + count.dropped + count.in_flight;
        self.expect("sent = delivered + dropped + in flight", conserved, count);
        self.expect("data is among what was sent", report.data_packets <= count.sent, report.data_packets);
        let goodputs: Vec<_> = report.flows.iter().map(|flow| flow.goodput_bps).collect();
        let jain = report.jain_index;
        let in_range = match goodputs.iter().any(|&x| x > 0.0) {
            true => jain >= 1.0 / goodputs.len() as f64 - ROUNDING && jain <= 1.0,
            false => jain.is_nan(),
        };
        self.expect("Jain's index from 1/n to 1", in_range, jain);
    }

    fn of_links(&mut self, scenario: &Scenario, report: &Report) {
        for (number, (link, measured)) in scenario.links.iter().zip(&report.links).enumerate() {
            let directions = [(link, &measured.forward), (link.direction(true), &measured.reverse)];
            for (reverse, (link, direction)) in [false, true].into_iter().zip(directions) {
                let DirectionReport { utilization, loss_rate, mean_queue_packets: mean, .. } = *direction;
                let (most, arrived) = (direction.max_queue_packets, direction.arrived_packets);
                let lost = direction.dropped_packets + direction.wire_lost_packets;
                self.expect("utilization from 0 to 1", (0.0..=1.0).contains(&utilization), direction);
                self.expect("loss rate from 0 to 1", (0.0..=1.0).contains(&loss_rate), direction);
                // Packets in the queue at the begin of the measurement interval may be dropped in it.
                self.expect("no more lost than there was", lost <= arrived + most, direction);
                let rate = if lost == 0 { 0.0 } else { lost as f64 / arrived.max(lost) as f64 };
                let marking =
                    scenario.flows.iter().map(|group| &group.tcp).chain(scenario.web.iter().map(|web| &web.tcp));
                let capable = marking.clone().any(|tcp| tcp.ecn != EcnMode::Off);
                self.expect(
                    "nothing is marked that is not ECN-capable",
                    capable || direction.marked_packets == 0,
                    direction,
                );
                self.expect("loss rate is lost over arrived", loss_rate == rate, direction);
                let within = mean >= 0.0 && mean <= most as f64 * (1.0 + ROUNDING);
                self.expect("mean queue within its maximum", within, direction);
                match link.buffer {
                    Buffer::Packets(limit) => self.expect("queue within its limit", most <= limit, direction),
                    Buffer::Bytes(limit) => self.expect("queue within its limit", most <= limit, direction),
                    Buffer::Time(_) => {}
                    Buffer::Unlimited if link.policer.is_some() || !link.queue.is_drop_tail() => {}
                    Buffer::Unlimited => self.expect("unlimited", direction.dropped_packets == 0, direction),
                }
                // Packets sent in the interval were in the queue at its begin, or arrived later.
                let largest = scenario.udp.iter().map(|udp| udp.packet_size).max().unwrap_or(0);
                let largest = largest.max(scenario.packet_size).max(scenario.ack_size);
                let request = scenario.flows.iter().filter_map(|group| group.source.request_size()).max().unwrap_or(0);
                let largest = largest.max(request);
                let each = (8e9 * f64::from(largest) / link.rate_bps as f64).ceil();
                let sent = utilization * (scenario.duration - scenario.warmup) as f64;
                let there = (arrived + direction.wire_lost_packets + most - lost) as f64;
                let rate_changes = link.schedule.changes.iter().any(|change| change.rate_bps.is_some());
                let known = link.trace.is_none() && !rate_changes;
                let sent_too_much = known && sent > there * each * (1.0 + ROUNDING);
                self.expect("no more sent than there was", !sent_too_much, direction);
                let carried = direction.carried_goodput_bps;
                self.expect("goodput of a link is a rate", carried >= 0.0 && carried.is_finite(), direction);
                // A transmitter is busy for whole nanoseconds.
                let busy = sent * (1.0 + ROUNDING) + arrived as f64;
                let took = carried / link.rate_bps as f64 * (scenario.duration - scenario.warmup) as f64;
                let all = !known || scenario.warmup > 0 || took <= busy;
                self.expect("no more carried for somebody than sent", all, direction);
                let last = !carries_on(scenario, number, reverse);
                let within = !last || carried <= capacity(link, scenario, largest);
                self.expect("goodput of a link within its capacity", within, direction);
            }
        }
    }

    fn of_flows(&mut self, scenario: &Scenario, report: &Report) {
        let configured = scenario.flows.iter().flat_map(|group| std::iter::repeat_n(group, group.count as usize));
        self.expect("a row for each flow", configured.clone().count() == report.flows.len(), report.flows.len());
        for (group, flow) in configured.zip(&report.flows) {
            let tcp = &group.tcp;
            // A rate is over the flow's life in the window, where a single packet may be much.
            let ends = matches!(&group.source, Source::Video(video) if video.length.is_some());
            let lifelong = group.start.high <= scenario.warmup && (group.stop, group.size) == (None, None) && !ends;
            let capacity = if lifelong {
                capacity(last_link(scenario, &tcp.path, tcp.reverse), scenario, scenario.packet_size)
            } else {
                f64::INFINITY
            };
            let allowed = |rate: f64| rate.is_nan() && !lifelong || (0.0..=capacity).contains(&rate);
            self.expect("throughput within capacity", allowed(flow.throughput_bps), flow);
            self.expect("goodput within capacity", allowed(flow.goodput_bps), flow);
            let useless = flow.goodput_bps > flow.throughput_bps * (1.0 + ROUNDING);
            self.expect("goodput within throughput", !useless, flow);
            let window = flow.mean_cwnd_packets;
            self.expect(
                "a window of a segment and more",
                window.is_nan() || (1.0 - ROUNDING..1e15).contains(&window),
                flow,
            );
            let delays: u64 = tcp.path.iter().map(|&link| scenario.links[link].round_trip()).sum();
            let base = |access: u64| (delays + 2 * access) as f64 / 1e9;
            let (low, high) = (base(tcp.access_delay.low), base(tcp.access_delay.high));
            let base_rtt = flow.base_rtt_s;
            self.expect("base RTT as configured", base_rtt >= low - ROUNDING && base_rtt <= high + ROUNDING, flow);
            let shortest: u64 = tcp.path.iter().map(|&link| shortest_round_trip(&scenario.links[link])).sum();
            let base_rtt = base_rtt - (delays as f64 - shortest as f64) / 1e9;
            let least = (base_rtt - tcp.rtt_tick as f64 / 1e9) * (1.0 - ROUNDING);
            let rtt = flow.mean_rtt_s;
            self.expect("RTT not below its base", rtt.is_nan() || (rtt >= least && rtt.is_finite()), flow);
            let took = flow.completion_s;
            let bounded = took > 0.0 && took <= scenario.duration as f64 / 1e9;
            self.expect("completion within the run", took.is_nan() || bounded, flow);
            let keeps = |&link: &usize| scenario.links[link].direction(tcp.reverse).ecn_field == EcnField::Keep;
            let failed = flow.ecn == Some("failed");
            self.expect("ECN fails only where a link changes it", !failed || !tcp.path.iter().all(keeps), flow);
            let fraction = flow.app_limited_fraction;
            let part = fraction.is_none_or(|x| x.is_nan() && flow.active_s == 0.0 || (0.0..=1.0).contains(&x));
            self.expect("a part of the time without data", part, flow);
            let framed = matches!(group.source, Source::Frames { .. });
            self.expect("only with frames", flow.frames.is_some() == framed, flow);
            let late = flow.frames.map_or(0.0, |frames| frames.late_fraction);
            self.expect("a part of the frames", late.is_nan() || (0.0..=1.0).contains(&late), flow);
            self.expect("only with an application", fraction.is_some() != group.source.is_bulk(), flow);
        }
    }

    fn of_frames(&mut self, scenario: &Scenario, traffic: &TrafficReport, frames: &FramesReport) {
        if scenario.warmup == 0 {
            self.expect("no more frames than packets sent", frames.sent <= traffic.sent_packets, traffic);
            self.expect("no more frames than packets received", frames.received <= traffic.received_packets, traffic);
            self.expect("no more frames received than sent", frames.received <= frames.sent, traffic);
        }
        let Percentiles { p50_s, p95_s, p99_s, .. } = frames.delay;
        let longest = scenario.duration as f64 / 1e9 * 1.008;
        let known = 0.0 < p50_s && p50_s <= p95_s && p95_s <= p99_s && p99_s <= longest;
        self.expect(
            "delays of the frames received",
            if frames.received == 0 { p50_s.is_nan() } else { known },
            traffic,
        );
    }

    fn of_traffic(&mut self, scenario: &Scenario, report: &Report) {
        let groups = scenario.udp.len() + scenario.web.len();
        self.expect("a row for each group", groups == report.traffic.len(), report.traffic.len());
        let from_the_start = scenario.warmup == 0;
        for (udp, traffic) in scenario.udp.iter().zip(&report.traffic) {
            let capacity = capacity(last_link(scenario, &udp.path, udp.reverse), scenario, udp.packet_size);
            self.expect("throughput within capacity", (0.0..=capacity).contains(&traffic.throughput_bps), traffic);
            let asked =
                f64::from(udp.count) * (udp.rate_bps as f64 + 8.0 * f64::from(udp.packet_size) / length_s(scenario));
            let sent = traffic.sent_packets as f64 * 8.0 * f64::from(udp.packet_size) / length_s(scenario);
            self.expect("datagrams at the rate asked for", sent <= asked * (1.0 + ROUNDING), traffic);
            let received = traffic.received_packets <= traffic.sent_packets;
            self.expect("no more received than sent", !from_the_start || received, traffic);
            self.expect("frames where there are some", udp.frames.is_some() == traffic.frames.is_some(), traffic);
            traffic.frames.iter().for_each(|frames| self.of_frames(scenario, traffic, frames));
        }
        for (web, traffic) in scenario.web.iter().zip(&report.traffic[scenario.udp.len()..]) {
            let end = last_link(scenario, &web.tcp.path, web.tcp.reverse);
            let capacity = capacity(end, scenario, scenario.packet_size);
            self.expect("throughput within capacity", (0.0..=capacity).contains(&traffic.throughput_bps), traffic);
            let received = traffic.received_packets <= traffic.sent_packets;
            self.expect("no more received than sent", !from_the_start || received, traffic);
            let completed = traffic.transfers_completed <= traffic.transfers_started;
            self.expect("no more completed than started", !from_the_start || completed, traffic);
            let mean = traffic.mean_completion_s;
            let known = if traffic.transfers_completed == 0 { mean.is_nan() } else { mean > 0.0 && mean.is_finite() };
            self.expect("a mean of what was completed", known, traffic);
            if let Arrivals::Sessions { sessions, .. } = web.arrivals {
                let open = traffic.transfers_started <= traffic.transfers_completed + u64::from(sessions);
                self.expect("one transfer at a time for each user", open, traffic);
            }
        }
    }

    fn of_series(&mut self, scenario: &Scenario, report: &Report) {
        for series in [&report.flow_series, &report.link_series] {
            let end = scenario.duration as f64 / 1e9;
            let in_time = series.t_s.iter().all(|&t| t > 0.0 && t <= end * (1.0 + ROUNDING));
            self.expect("samples within the run", in_time, &series.t_s);
            for (name, column) in &series.columns {
                self.expect("a value for each time", column.len() == series.t_s.len(), name);
                let allowed = match name.as_str() {
                    "cwnd_packets" => |x: f64| (1.0..1e15).contains(&x),
                    "utilization" | "reverse_utilization" => |x: f64| (0.0..=1.0).contains(&x),
                    "queue_packets"
                    | "reverse_queue_packets"
                    | "in_flight_packets"
                    | "arrived_packets"
                    | "dropped_packets"
                    | "marked_packets"
                    | "reverse_arrived_packets"
                    | "reverse_dropped_packets"
                    | "reverse_marked_packets" => |x: f64| (0.0..1e13).contains(&x),
                    // An ACK may acknowledge many segments in an interval of any length.
                    "goodput_bps" => |x: f64| x >= 0.0 && x.is_finite(),
                    "ssthresh_packets" | "rtt_s" => |x: f64| x.is_nan() || (x > 0.0 && x.is_finite()),
                    _ => |x: f64| !x.is_infinite(),
                };
                let odd = column.iter().find(|&&x| !allowed(x));
                self.expect("samples make sense", odd.is_none(), (name, odd));
            }
        }
    }
}

/// Whether every transmission takes a nanosecond and more. Of those that begin and end at one moment, a served link has sent only some
/// when that moment is sampled.
fn takes_time(scenario: &Scenario) -> bool {
    let sizes = scenario.udp.iter().map(|udp| udp.packet_size).chain([scenario.packet_size, scenario.ack_size]);
    let least = sizes.min().unwrap_or(1);
    scenario.links.iter().flat_map(|link| [link, link.direction(true)]).all(|link| {
        let rates = link.schedule.changes.iter().filter_map(|change| change.rate_bps).chain([link.rate_bps]);
        rates.max().unwrap_or(0) <= 8_000_000_000 * u64::from(least)
    })
}

/// The least propagation delay there and back that a link ever has.
fn shortest_round_trip(link: &Link) -> u64 {
    let shortest = |link: &Link| {
        let changed = link.schedule.changes.iter().filter_map(|change| change.delay);
        changed.chain([link.least_delay()]).min().unwrap_or(0)
    };
    shortest(link) + shortest(link.direction(true))
}

/// Capacity of a link's direction plus one packet: packets sent before the interval may arrive in it. No bound if
/// packets may arrive closer together than they were sent.
fn capacity(link: &Link, scenario: &Scenario, size: u32) -> f64 {
    let even = link.trace.is_none() && link.delay_trace.is_none() && link.schedule.changes.is_empty();
    if !even || (link.jitter, link.reorder, link.aggregation) != (None, None, None) {
        return f64::INFINITY;
    }
    let packet = 8.0 * f64::from(size) / length_s(scenario);
    (link.rate_bps as f64 + packet) * (1.0 + ROUNDING)
}

/// Whether data that crosses this direction of a link continues to another link. Data that waited there at the begin of
/// the interval has crossed this one before.
fn carries_on(scenario: &Scenario, number: usize, reverse: bool) -> bool {
    let tcp = scenario.flows.iter().map(|group| &group.tcp).chain(scenario.web.iter().map(|web| &web.tcp));
    let ways = tcp.map(|tcp| (&tcp.path, tcp.reverse)).chain(scenario.udp.iter().map(|udp| (&udp.path, udp.reverse)));
    let last = |path: &[usize]| if reverse { path[0] } else { path[path.len() - 1] };
    ways.filter(|(_, backwards)| *backwards == reverse).any(|(path, _)| path.contains(&number) && last(path) != number)
}

/// The direction of a link that data crosses last.
fn last_link<'a>(scenario: &'a Scenario, path: &[usize], reverse: bool) -> &'a Link {
    scenario.links[if reverse { path[0] } else { path[path.len() - 1] }].direction(reverse)
}

fn length_s(scenario: &Scenario) -> f64 {
    (scenario.duration - scenario.warmup) as f64 / 1e9
}
