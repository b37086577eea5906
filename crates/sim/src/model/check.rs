//! Rules of a scenario's data: ranges, names, indices, and combinations. The ranges are those of `scenario::limits`.

use super::invalid::{Amount, Interval, Invalid};
use super::source::source;
use super::{
    Algorithm, Arrivals, Buffer, Change, Ecn, FlowGroup, Frames, Jitter, JitterModel, Link, Loss, Pacing, Queue,
    Scenario, Schedule, SlowStart, Spread, Tcp, Udp, Web,
};
use crate::network::discipline;
use crate::scenario::limits;
use fullpipe_cc::params::{Info, Kind, Param, Value};
use fullpipe_cc::{Nanos, registry};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

pub(super) type Checked = Result<(), Invalid>;

impl Scenario {
    /// Checks all data. Scenarios from TOML have passed it; [`Simulation::new`](crate::Simulation::new) calls it for every scenario.
    ///
    /// # Errors
    /// The first fault found.
    ///
    /// ```
    /// use fullpipe_sim::model::{Link, Scenario};
    ///
    /// let link = Link { rate_bps: 0, ..Link::named("l") };
    /// let scenario = Scenario { links: vec![link], ..Scenario::lasting(1_000_000_000) };
    /// let fault = scenario.check().expect_err("a rate of 0");
    /// assert_eq!(fault.to_string(), "links[0].rate must be in [1 bit/s, 10000 Gbit/s], got 0 bit/s");
    /// ```
    pub fn check(&self) -> Result<(), Invalid> {
        time("duration", self.duration, limits::SPAN)?;
        below("warmup", self.warmup, self.duration)?;
        whole("seed", self.seed, limits::SEED)?;
        bytes("packet_size", self.packet_size.into(), limits::PACKET)?;
        bytes("ack_size", self.ack_size.into(), limits::SMALL_PACKET)?;
        self.check_links()?;
        for (index, group) in self.flows.iter().enumerate() {
            self.check_flows(&format!("flows[{index}]"), group)?;
        }
        let mut names = BTreeMap::new();
        for (index, udp) in self.udp.iter().enumerate() {
            self.check_udp(&format!("udp[{index}]"), udp)?;
            if let Some(first) = udp.name.as_ref().and_then(|name| names.insert(name, index)) {
                return Err(Invalid::Conflict {
                    key: format!("udp[{index}].name"),
                    with: format!("udp[{first}].name"),
                });
            }
        }
        for (index, web) in self.web.iter().enumerate() {
            self.check_web(&format!("web[{index}]"), web)?;
        }
        self.check_entities()?;
        self.check_series()
    }

    fn check_links(&self) -> Checked {
        whole("number of links", self.links.len() as u64, 1..=limits::MOST_LINKS as u64)?;
        let mut names = BTreeMap::new();
        for (index, link) in self.links.iter().enumerate() {
            let key = format!("links[{index}]");
            name(&key, &link.name)?;
            if let Some(first) = names.insert(&link.name, index) {
                return Err(Invalid::Conflict { key: format!("{key}.name"), with: format!("links[{first}].name") });
            }
            self.check_direction(&key, link)?;
            if let Some(back) = &link.reverse {
                let key = format!("{key}.reverse");
                if back.reverse.is_some() {
                    return Err(Invalid::Conflict { key: format!("{key}.reverse"), with: key });
                }
                self.check_direction(&key, back)?;
            }
        }
        Ok(())
    }

    fn check_direction(&self, at: &str, link: &Link) -> Checked {
        rate(&format!("{at}.rate"), link.rate_bps, limits::RATE)?;
        time(&format!("{at}.delay"), link.delay, limits::DELAY)?;
        let one_packet = u64::from(self.packet_size)..=*limits::BYTES.end();
        match link.buffer {
            Buffer::Packets(n) => within(&format!("{at}.buffer"), n, limits::PACKETS, Amount::Packets)?,
            Buffer::Bytes(n) => bytes(&format!("{at}.buffer"), n, one_packet.clone())?,
            Buffer::Time(nanos) => time(&format!("{at}.buffer"), nanos, limits::BUFFER_TIME)?,
            Buffer::Unlimited => {}
        }
        loss(&format!("{at}.loss"), link.loss, false)?;
        drops(&format!("{at}.drop"), &link.drop)?;
        if link.loss_trace.is_some() && link.loss != Loss::NONE {
            return Err(Invalid::Conflict { key: format!("{at}.loss_trace"), with: format!("{at}.loss") });
        }
        queue(&format!("{at}.queue"), &link.queue)?;
        schedule(at, link)?;
        if link.trace.as_ref().is_some_and(|trace| trace.rate_bps() != link.rate_bps) {
            return Err(Invalid::Conflict { key: format!("{at}.rate"), with: format!("{at}.trace") });
        }
        link.jitter.map_or(Ok(()), |own| jitter(&format!("{at}.jitter"), own))?;
        if let Some(reorder) = link.reorder {
            unit(&format!("{at}.reorder.probability"), reorder.probability)?;
            time(&format!("{at}.reorder.delay"), reorder.delay, limits::WAIT)?;
        }
        aggregation(at, link)?;
        if let Some(packets) = link.limit {
            within(&format!("{at}.limit"), packets, limits::PACKETS, Amount::Packets)?;
        }
        if let Some(policer) = link.policer {
            rate(&format!("{at}.policer.rate"), policer.rate_bps, limits::RATE)?;
            bytes(&format!("{at}.policer.burst"), policer.burst, one_packet)?;
        }
        Ok(())
    }

    /// Flows, UDP sources, and web sessions together.
    fn check_entities(&self) -> Checked {
        let flows = self.flows.iter().map(|group| u64::from(group.count));
        let udp = self.udp.iter().map(|udp| u64::from(udp.count));
        let web = self.web.iter().map(|web| match web.arrivals {
            Arrivals::Sessions { sessions, .. } => u64::from(sessions),
            Arrivals::Poisson { .. } => 1,
        });
        whole("number of flows, sources, and sessions", flows.chain(udp).chain(web).sum(), 1..=limits::MOST_ENTITIES)
    }

    fn check_flows(&self, at: &str, group: &FlowGroup) -> Checked {
        self.check_tcp(at, &group.tcp)?;
        whole(&format!("{at}.count"), group.count.into(), limits::COUNT)?;
        self.check_times(at, group.start, group.stop)?;
        source(at, group)?;
        group.size.map_or(Ok(()), |size| within(&format!("{at}.size"), size, limits::BYTES, Amount::Packets))
    }

    fn check_tcp(&self, at: &str, tcp: &Tcp) -> Checked {
        tcp.name.as_ref().map_or(Ok(()), |own| name(at, own))?;
        algorithm(&format!("{at}.algorithm"), &tcp.algorithm)?;
        self.check_path(at, &tcp.path)?;
        if tcp.prr && tcp.recovery.prr().is_none() {
            return Err(Invalid::Requires {
                key: format!("{at}.prr"),
                what: "recovery = \"sack\" or \"rack\"".to_owned(),
            });
        }
        let longest = limits::LONGEST_PATH / 2;
        if tcp.handshake && tcp.path.len() > longest {
            let what = format!("a path of at most {longest} links");
            return Err(Invalid::Requires { key: format!("{at}.handshake"), what });
        }
        if !matches!(tcp.ect, Ecn::Ect0 | Ecn::Ect1) {
            return Err(Invalid::Requires { key: format!("{at}.ect"), what: "ECT(0) or ECT(1)".to_owned() });
        }
        acks(at, tcp)?;
        path_mtu(at, tcp, self.packet_size)?;
        beginning(at, tcp)?;
        let windows = limits::INITIAL_WINDOW;
        within(&format!("{at}.initial_window"), tcp.initial_window.into(), windows, Amount::Packets)?;
        if let Some(most) = tcp.max_window {
            within(&format!("{at}.max_window"), most, limits::PACKETS, Amount::Packets)?;
        }
        let held = match tcp.ack_every {
            None => ("delayed_ack_timeout", tcp.delayed_ack_timeout, limits::ACK_DELAY),
            Some(_) => ("ack_delay", tcp.delayed_ack_timeout, limits::TCP_ACK_DELAY),
        };
        let times = [
            held,
            ("min_rto", tcp.min_rto, limits::MIN_RTO),
            ("timestamp_tick", tcp.timestamp_tick, limits::TICK),
            ("rtt_tick", tcp.rtt_tick, limits::TICK),
            ("processing_time", tcp.processing_time, limits::PROCESSING),
        ];
        times.into_iter().try_for_each(|(key, nanos, range)| time(&format!("{at}.{key}"), nanos, range))?;
        spread(&format!("{at}.access_delay"), tcp.access_delay, limits::DELAY)?;
        tcp.access_rate_bps.map_or(Ok(()), |bps| rate(&format!("{at}.access_rate"), bps, limits::RATE))
    }

    fn check_path(&self, at: &str, path: &[usize]) -> Checked {
        let key = format!("{at}.path");
        whole(&format!("length of {key}"), path.len() as u64, 1..=limits::LONGEST_PATH as u64)?;
        for (place, &link) in path.iter().enumerate() {
            whole(&format!("{key}[{place}]"), link as u64, 0..=self.links.len() as u64 - 1)?;
            if let Some(first) = path[..place].iter().position(|&other| other == link) {
                return Err(Invalid::Conflict { key: format!("{key}[{place}]"), with: format!("{key}[{first}]") });
            }
        }
        Ok(())
    }

    fn check_times(&self, at: &str, start: Spread, stop: Option<Nanos>) -> Checked {
        let key = format!("{at}.start");
        spread(&key, start, limits::MOMENT)?;
        below(&key, start.low, self.duration)?;
        let Some(stop) = stop else { return Ok(()) };
        let (least, most) = (Amount::Time(start.high), Amount::Time(*limits::MOMENT.end()));
        let allowed = Interval { least, most, with_least: false, with_most: true };
        let inside = stop > start.high && limits::MOMENT.contains(&stop);
        inside.then_some(()).ok_or(Invalid::OutOfRange { key: format!("{at}.stop"), got: Amount::Time(stop), allowed })
    }

    fn check_udp(&self, at: &str, udp: &Udp) -> Checked {
        udp.name.as_ref().map_or(Ok(()), |own| name(at, own))?;
        rate(&format!("{at}.rate"), udp.rate_bps, limits::RATE)?;
        bytes(&format!("{at}.packet_size"), udp.packet_size.into(), limits::SMALL_PACKET)?;
        whole(&format!("{at}.count"), udp.count.into(), limits::COUNT)?;
        self.check_times(at, udp.start, udp.stop)?;
        spread(&format!("{at}.access_delay"), udp.access_delay, limits::DELAY)?;
        self.check_path(at, &udp.path)?;
        udp.frames.map_or(Ok(()), |own| frames(&format!("{at}.frames"), own, udp))?;
        for &link in &udp.path {
            if let Buffer::Bytes(room) = self.links[link].direction(udp.reverse).buffer {
                bytes(&format!("links[{link}].buffer"), room, u64::from(udp.packet_size)..=*limits::BYTES.end())?;
            }
        }
        Ok(())
    }

    fn check_web(&self, at: &str, web: &Web) -> Checked {
        self.check_tcp(at, &web.tcp)?;
        match web.arrivals {
            Arrivals::Sessions { sessions, mean_gap } => {
                whole(&format!("{at}.sessions"), sessions.into(), limits::COUNT)?;
                time(&format!("{at}.mean_gap"), mean_gap, limits::SPAN)?;
            }
            Arrivals::Poisson { per_second } => {
                number(&format!("{at}.transfers_per_second"), per_second, limits::TRANSFERS_PER_SECOND)?;
            }
        }
        let (least, most) = limits::BYTES.into_inner();
        number(&format!("{at}.mean_size"), web.mean_size, least as f64..=most as f64)?;
        let allowed =
            Interval { least: Amount::Number(1.0), most: Amount::Number(100.0), with_least: false, with_most: true };
        if !(web.shape > 1.0 && web.shape <= 100.0) {
            return Err(Invalid::OutOfRange { key: format!("{at}.shape"), got: Amount::Number(web.shape), allowed });
        }
        self.check_times(at, web.start, web.stop)
    }

    /// Interval of the series, and number of its rows.
    fn check_series(&self) -> Checked {
        let Some(interval) = self.series_interval else { return Ok(()) };
        time("series_interval", interval, 1..=limits::LONGEST)?;
        let flows: u64 = self.flows.iter().map(|group| u64::from(group.count)).sum();
        let rows = u128::from(self.duration / interval) * u128::from(flows + self.links.len() as u64);
        let rows = u64::try_from(rows).unwrap_or(u64::MAX);
        whole("number of rows of series_interval", rows, 0..=limits::MOST_ROWS)
    }
}

fn schedule(at: &str, link: &Link) -> Checked {
    let Schedule { changes, repeat } = &link.schedule;
    let key = format!("{at}.schedule");
    whole(&format!("number of changes of {key}"), changes.len() as u64, 0..=limits::MOST_CHANGES as u64)?;
    let mut least = 0;
    for (place, change) in changes.iter().enumerate() {
        let key = format!("{key}[{place}]");
        let Change { at: moment, rate_bps, delay, loss: losses } = *change;
        time(&format!("{key}.at"), moment, least..=*limits::MOMENT.end())?;
        least = moment + 1;
        if rate_bps.is_some() && link.trace.is_some() {
            return Err(Invalid::Conflict { key: format!("{key}.rate"), with: format!("{at}.trace") });
        }
        rate_bps.map_or(Ok(()), |bps| rate(&format!("{key}.rate"), bps, limits::CHANGED_RATE))?;
        delay.map_or(Ok(()), |nanos| time(&format!("{key}.delay"), nanos, limits::DELAY))?;
        losses.map_or(Ok(()), |own| loss(&format!("{key}.loss"), own, true))?;
        for (name, both) in [
            ("delay", delay.is_some() && link.delay_trace.is_some()),
            ("loss", losses.is_some() && link.loss_trace.is_some()),
        ] {
            if both {
                return Err(Invalid::Conflict { key: format!("{key}.{name}"), with: format!("{at}.{name}_trace") });
            }
        }
        if (rate_bps, delay, losses) == (None, None, None) {
            return Err(Invalid::Requires { key, what: "rate, delay, or loss".to_owned() });
        }
    }
    match repeat {
        None => Ok(()),
        Some(_) if changes.is_empty() => {
            Err(Invalid::Requires { key: format!("{at}.repeat"), what: "schedule".to_owned() })
        }
        Some(repeat) => time(&format!("{at}.repeat"), *repeat, least.max(*limits::SPAN.start())..=limits::LONGEST),
    }
}

fn loss(key: &str, loss: Loss, certain: bool) -> Checked {
    match loss {
        Loss::Independent(p) if certain => unit(key, p),
        Loss::Independent(p) if (0.0..1.0).contains(&p) => Ok(()),
        Loss::Independent(p) => {
            let (least, most) = (Amount::Number(0.0), Amount::Number(1.0));
            let allowed = Interval { least, most, with_least: true, with_most: false };
            Err(Invalid::OutOfRange { key: key.to_owned(), got: Amount::Number(p), allowed })
        }
        Loss::GilbertElliott { p, r, h, k } => [("p", p), ("r", r), ("h", h), ("k", k)]
            .into_iter()
            .try_for_each(|(name, x)| unit(&format!("{key}.{name}"), x)),
    }
}

fn drops(key: &str, numbers: &[u64]) -> Checked {
    whole(&format!("length of {key}"), numbers.len() as u64, 0..=limits::MOST_DROPPED as u64)?;
    let mut least = *limits::PACKETS.start();
    for (place, &number) in numbers.iter().enumerate() {
        whole(&format!("{key}[{place}]"), number, least..=*limits::PACKETS.end())?;
        least = number + 1;
    }
    Ok(())
}

fn jitter(key: &str, jitter: Jitter) -> Checked {
    let mean = format!("{key}.mean");
    let correlation = jitter.correlation;
    if correlation != 0.0 && jitter.model == JitterModel::Wifi {
        return Err(Invalid::Conflict { key: format!("{key}.correlation"), with: format!("{key}.model") });
    }
    if !(0.0..1.0).contains(&correlation) {
        let (least, most) = (Amount::Number(0.0), Amount::Number(1.0));
        let allowed = Interval { least, most, with_least: true, with_most: false };
        return Err(Invalid::OutOfRange {
            key: format!("{key}.correlation"),
            got: Amount::Number(correlation),
            allowed,
        });
    }
    match jitter.model {
        JitterModel::Uniform { spread } => {
            time(&mean, jitter.mean, limits::DELAY)?;
            time(&format!("{key}.spread"), spread, 0..=jitter.mean)
        }
        JitterModel::Normal { spread } | JitterModel::Pareto { spread } | JitterModel::ParetoNormal { spread } => {
            time(&mean, jitter.mean, limits::DELAY)?;
            time(&format!("{key}.spread"), spread, limits::DELAY)
        }
        JitterModel::Wifi => time(&mean, jitter.mean, limits::WIFI_MEAN),
    }
}

fn aggregation(at: &str, link: &Link) -> Checked {
    let key = format!("{at}.phase");
    match (link.aggregation, link.phase) {
        (None, None) => Ok(()),
        (None, Some(_)) => Err(Invalid::Requires { key, what: "aggregation".to_owned() }),
        (Some(every), phase) => {
            time(&format!("{at}.aggregation"), every, limits::WAIT)?;
            below(&key, phase.unwrap_or(0), every)
        }
    }
}

fn queue(key: &str, queue: &Queue) -> Checked {
    let known: Vec<&str> = discipline::ALL.iter().map(|info| info.name).collect();
    let Some(info) = discipline::find(queue.info.name).filter(|info| std::ptr::eq(*info, queue.info)) else {
        return Err(unknown(key, "queue", queue.info.name, &known));
    };
    params(key, info.params, &queue.given)?;
    match (info.conflict)(queue) {
        None => Ok(()),
        Some((name, relation, other)) => {
            let what = format!("a value {relation} {other}");
            Err(Invalid::Requires { key: format!("{key}.{name}"), what })
        }
    }
}

/// How often the receiver acknowledges.
fn acks(at: &str, tcp: &Tcp) -> Checked {
    if let Some(quic) = tcp.quic {
        whole(&format!("{at}.ack_every"), quic.ack_every.into(), limits::ACK_EVERY)?;
        time(&format!("{at}.ack_delay"), quic.ack_delay, limits::QUIC_ACK_DELAY)?;
        whole(&format!("{at}.ack_reorder"), quic.ack_reorder.into(), limits::ACK_REORDER)?;
    }
    if let Some(every) = tcp.ack_every {
        whole(&format!("{at}.ack_every"), every.into(), limits::TCP_ACK_EVERY)?;
        if tcp.delayed_ack || tcp.quic.is_some() {
            let with = if tcp.delayed_ack { "delayed_ack" } else { "transport" };
            return Err(Invalid::Conflict { key: format!("{at}.ack_every"), with: format!("{at}.{with}") });
        }
    }
    Ok(())
}

/// Path MTU of a QUIC connection: a tunnel leaves more than half of a packet.
fn path_mtu(at: &str, tcp: &Tcp, packet_size: u32) -> Checked {
    let Some(quic) = tcp.quic else { return Ok(()) };
    if let Some(interval) = quic.mtu_probes {
        time(&format!("{at}.mtu_probes"), interval, limits::MTU_PROBES)?;
    }
    if let Some(tunnel) = quic.tunnel {
        time(&format!("{at}.tunnel.at"), tunnel.at, limits::MOMENT)?;
        let most = u64::from(packet_size.div_ceil(2) - 1).min(*limits::OVERHEAD.end());
        bytes(&format!("{at}.tunnel.overhead"), tunnel.overhead.into(), *limits::OVERHEAD.start()..=most)?;
    }
    Ok(())
}

/// How a flow begins: by a saved path, or paced.
fn beginning(at: &str, tcp: &Tcp) -> Checked {
    if let Some(saved) = tcp.resume {
        let windows = limits::SAVED_WINDOW;
        within(&format!("{at}.resume.cwnd"), saved.cwnd as u64, windows.clone(), Amount::Packets)?;
        time(&format!("{at}.resume.rtt"), saved.rtt, limits::SAVED_RTT)?;
        if saved.max_jump != f64::INFINITY {
            within(&format!("{at}.resume.max_jump"), saved.max_jump as u64, windows, Amount::Packets)?;
        }
        if tcp.slow_start != SlowStart::Standard {
            return Err(Invalid::Conflict { key: format!("{at}.resume"), with: format!("{at}.slow_start") });
        }
    }
    if tcp.starts_paced() && tcp.pacing != Pacing::On {
        let key = format!("{at}.{}", if tcp.resume.is_some() { "resume" } else { "slow_start" });
        return Err(Invalid::Requires { key, what: "pacing = \"on\"".to_owned() });
    }
    // Rapid Start may lose half of a window, of which other recoveries repair one segment per round trip.
    let repairs_many = tcp.quic.is_some() || tcp.recovery.repairs_many();
    if tcp.starts_paced() && tcp.slow_start == SlowStart::Rapid && !repairs_many {
        return Err(Invalid::Requires {
            key: format!("{at}.slow_start"),
            what: "recovery = \"sack\" or \"rack\"".to_owned(),
        });
    }
    Ok(())
}

fn algorithm(key: &str, algorithm: &Algorithm) -> Checked {
    let known = || registry::ALL.iter().map(|info| info.name).collect::<Vec<_>>();
    let info: &Info = algorithm.info().ok_or_else(|| unknown(key, "algorithm", &algorithm.name, &known()))?;
    if info.name != algorithm.name {
        return Err(unknown(key, "algorithm", &algorithm.name, &[info.name]));
    }
    params(key, info.params, &algorithm.params)
}

fn params(at: &str, declared: &'static [Param], given: &[(&str, Value)]) -> Checked {
    for &(name, value) in given {
        let Some(param) = declared.iter().find(|param| param.name == name) else {
            return Err(unknown(at, "parameter", name, &declared.iter().map(|param| param.name).collect::<Vec<_>>()));
        };
        let key = format!("{at}.{name}");
        match (param.kind, value) {
            (Kind::Number { min, max }, Value::Number(x)) => number(&key, x, min..=max)?,
            (Kind::Whole { min, max }, Value::Whole(n)) => whole(&key, n, min..=max)?,
            (Kind::Time { min, max }, Value::Time(nanos)) => time(&key, nanos, min..=max)?,
            (Kind::Packets { min, max }, Value::Packets(n)) => within(&key, n, min..=max, Amount::Packets)?,
            (Kind::Bytes { min, max }, Value::Bytes(n)) => bytes(&key, n, min..=max)?,
            (Kind::Rate { min, max }, Value::Rate(bps)) => rate(&key, bps, min..=max)?,
            (Kind::PacketsOrTime, Value::Packets(n)) => within(&key, n, limits::PACKETS, Amount::Packets)?,
            (Kind::PacketsOrTime, Value::Time(nanos)) => time(&key, nanos, limits::DELAY)?,
            (Kind::Choice(names), Value::Name(name)) if !names.contains(&name) => {
                return Err(unknown(&key, "choice", name, names));
            }
            (kind, value) if !kind.admits(value) => {
                return Err(Invalid::Requires { key, what: kind_name(kind).to_owned() });
            }
            _ => {}
        }
    }
    Ok(())
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Number { .. } => "a number",
        Kind::Whole { .. } => "a whole number",
        Kind::Time { .. } => "a time",
        Kind::Packets { .. } => "packets",
        Kind::Bytes { .. } => "bytes",
        Kind::Rate { .. } => "a rate",
        Kind::PacketsOrTime => "packets or a time",
        Kind::Flag => "true or false",
        Kind::Choice(_) => "a name",
    }
}

fn frames(key: &str, frames: Frames, udp: &Udp) -> Checked {
    number(&format!("{key}.per_second"), frames.per_second, limits::FRAMES_PER_SECOND)?;
    bytes(&format!("{key}.size"), frames.size, limits::BYTES)?;
    if let Some(own) = frames.key {
        bytes(&format!("{key}.key_size"), own.size, limits::BYTES)?;
        whole(&format!("{key}.key_every"), own.every, limits::KEY_EVERY)?;
    }
    let needs = frames.mean_rate_bps(udp.packet_size);
    if needs > udp.rate_bps as f64 {
        return rate(&format!("mean rate of {key}"), needs.ceil() as u64, 1..=udp.rate_bps);
    }
    Ok(())
}

/// Name of a link or a group: printable, not empty.
fn name(at: &str, name: &str) -> Checked {
    if !name.is_empty() && !name.chars().any(char::is_control) {
        return Ok(());
    }
    Err(Invalid::Requires { key: format!("{at}.name"), what: "at least one printable character".to_owned() })
}

fn spread(key: &str, Spread { low, high }: Spread, range: RangeInclusive<Nanos>) -> Checked {
    let (least, most) = range.into_inner();
    time(key, high, least..=most)?;
    time(key, low, least..=high)
}

fn unknown(key: &str, thing: &'static str, name: &str, allowed: &[&str]) -> Invalid {
    let allowed = allowed.iter().map(|name| (*name).to_owned()).collect();
    Invalid::Unknown { key: key.to_owned(), thing, name: name.to_owned(), allowed }
}

pub(super) fn time(key: &str, value: Nanos, range: RangeInclusive<Nanos>) -> Checked {
    within(key, value, range, Amount::Time)
}

pub(super) fn rate(key: &str, value: u64, range: RangeInclusive<u64>) -> Checked {
    within(key, value, range, Amount::Rate)
}

pub(super) fn bytes(key: &str, value: u64, range: RangeInclusive<u64>) -> Checked {
    within(key, value, range, Amount::Bytes)
}

pub(super) fn whole(key: &str, value: u64, range: RangeInclusive<u64>) -> Checked {
    within(key, value, range, Amount::Whole)
}

fn unit(key: &str, x: f64) -> Checked {
    number(key, x, 0.0..=1.0)
}

pub(super) fn number(key: &str, x: f64, range: RangeInclusive<f64>) -> Checked {
    within(key, x, range, Amount::Number)
}

/// Both ends are allowed values; NaN is not.
fn within<T: PartialOrd + Copy>(key: &str, value: T, range: RangeInclusive<T>, of: fn(T) -> Amount) -> Checked {
    if range.contains(&value) {
        return Ok(());
    }
    let (least, most) = (of(*range.start()), of(*range.end()));
    let allowed = Interval { least, most, with_least: true, with_most: true };
    Err(Invalid::OutOfRange { key: key.to_owned(), got: of(value), allowed })
}

/// Times below `most`.
fn below(key: &str, value: Nanos, most: Nanos) -> Checked {
    if value < most {
        return Ok(());
    }
    let (least, most) = (Amount::Time(0), Amount::Time(most));
    let allowed = Interval { least, most, with_least: true, with_most: false };
    Err(Invalid::OutOfRange { key: key.to_owned(), got: Amount::Time(value), allowed })
}
