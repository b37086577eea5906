//! Warnings: scenarios that are allowed, but probably not intended.

use super::network::base_rtt;
use super::units::{RATE, TIME};
use super::{Arrivals, Buffer, Ecn, EcnMode, FlowGroup, Queue, Scenario, SlowStart, Tcp, groups};
use fullpipe_cc::Nanos;
use fullpipe_cc::params::MadeForEcn;

impl Scenario {
    /// One line for each warning: the key, its effect, and a remedy.
    pub fn warnings(&self) -> Vec<String> {
        let written = self.written_flows();
        let flows = written.iter().enumerate().map(|(index, group)| (format!("flows[{index}]"), &group.tcp));
        let web = self.web.iter().enumerate().map(|(index, group)| (format!("web[{index}]"), &group.tcp));
        let of_tcp = flows.chain(web).flat_map(|(key, tcp)| {
            [
                self.queue_at_the_sender(&key, tcp),
                self.timer_below_the_path(&key, tcp),
                other_slow_start(&key, tcp),
                not_worth_saving(&key, tcp),
                self.nothing_marks(&key, tcp),
                ect_without_l4s(&key, tcp),
                unlike_what_it_is_made_for(&key, tcp),
            ]
        });
        let late =
            written.iter().enumerate().map(|(index, group)| (format!("flows[{index}]"), &group.tcp, group.start));
        let late_web = self.web.iter().enumerate().map(|(index, web)| (format!("web[{index}]"), &web.tcp, web.start));
        let of_first_timers =
            late.chain(late_web).map(|(key, tcp, start)| self.first_timer_below_the_queue(&key, tcp, start.high));
        let is_written =
            |&link: &usize| link == 0 || !groups::follows(&self.links[link - 1].name, &self.links[link].name);
        let of_links = (0..self.links.len())
            .filter(is_written)
            .flat_map(|link| [false, true].map(|reverse| self.nothing_to_mark(link, reverse)));
        of_tcp.chain(of_first_timers).chain(of_links).flatten().collect()
    }

    /// Groups of flows of each table of the file. Of those over several links of a group, the first one.
    fn written_flows(&self) -> Vec<&FlowGroup> {
        let is_first =
            |&index: &usize| index == 0 || !groups::continues(&self.links, &self.flows[index - 1], &self.flows[index]);
        (0..self.flows.len()).filter(is_first).map(|index| &self.flows[index]).collect()
    }

    /// ECN over queues that do not mark.
    fn nothing_marks(&self, key: &str, tcp: &Tcp) -> Option<String> {
        let unmarked = tcp.ecn != EcnMode::Off
            && !tcp.path.iter().any(|&link| self.links[link].direction(tcp.reverse).queue.marks());
        unmarked.then(|| {
            let (ecn, algorithm) = (tcp.ecn.name(), &tcp.algorithm.name);
            match made_for(tcp) {
                Some(_) => format!(
                    "{key}.ecn = {ecn:?}: {algorithm} answers to marks, but no queue of the path marks, so that it does as Reno; write \
                     e.g. queue = \"step\" in [[links]]"
                ),
                None => format!(
                    "{key}.ecn = {ecn:?}: no queue of the path marks; write e.g. queue = {{ name = \"codel\", ecn = true }} in \
                     [[links]], or leave ecn out"
                ),
            }
        })
    }

    /// Marking queue that no ECN-capable packet crosses. Where both directions have equal queues, one with such packets is enough.
    fn nothing_to_mark(&self, index: usize, reverse: bool) -> Option<String> {
        let link = &self.links[index];
        let queue = &link.direction(reverse).queue;
        let alike = *queue == link.direction(!reverse).queue;
        let mut tcp = self.flows.iter().map(|group| &group.tcp).chain(self.web.iter().map(|group| &group.tcp));
        let marked =
            |tcp: &Tcp| tcp.ecn != EcnMode::Off && tcp.path.contains(&index) && (alike || tcp.reverse == reverse);
        (is_to_mark(queue) && !(alike && reverse) && !tcp.any(marked)).then(|| {
            format!(
                "links[{}]{}.queue: {} is to mark, but no flow whose data cross it is ECN-capable; write e.g. ecn = \
                 \"classic\" in [[flows]], or choose a queue that does not mark",
                groups::written_link(&self.links, index),
                if reverse { ".reverse" } else { "" },
                queue.info.name
            )
        })
    }

    /// Senders behind access links that together are no faster than any link of the path can't fill a queue there.
    fn queue_at_the_sender(&self, key: &str, tcp: &Tcp) -> Option<String> {
        let rate = tcp.access_rate_bps?;
        let idle = |&link: &usize| {
            self.fastest_arrivals(link, tcp.reverse)
                <= u128::from(self.links[link].direction(tcp.reverse).least_rate_bps())
        };
        if !tcp.path.iter().all(idle) {
            return None;
        }
        let links = tcp.path.iter().map(|&link| self.links[link].direction(tcp.reverse));
        let slowest = links.min_by_key(|link| link.least_rate_bps())?;
        Some(format!(
            "{key}.access_rate = \"{}\": nothing reaches link {:?} faster than it sends, so that queues form at the senders, where \
             there is no limit, no loss and no figure but the round-trip time; raise access_rate for one in the link's buffer",
            RATE.format(rate),
            slowest.name,
        ))
    }

    /// RFC 6298, rule 2.4: a least timeout leaves time for a round trip that takes longer than those before. One below the path's
    /// round trip leaves none: where these are alike, the timeout is hardly more than one.
    fn timer_below_the_path(&self, key: &str, tcp: &Tcp) -> Option<String> {
        let base = base_rtt(tcp, &self.links);
        (tcp.min_rto < base).then(|| {
            format!(
                "{key}.min_rto = \"{}\": is no floor under a path whose round trip takes {}, so that timers may end where nothing is \
                 lost; write e.g. min_rto = \"{}\"",
                TIME.format(tcp.min_rto),
                TIME.format(base),
                TIME.format(base + ABOVE_RTT),
            )
        })
    }

    /// First timeout of a connection that begins established, over queues that earlier flows may have filled. Its handshake measured the
    /// idle path, so that the timer expires before an ACK can come through a queue that takes longer.
    fn first_timer_below_the_queue(&self, key: &str, tcp: &Tcp, start: Nanos) -> Option<String> {
        let base = base_rtt(tcp, &self.links);
        let timeout = tcp.min_rto.max(3 * base);
        let begun =
            self.flows.iter().map(|group| group.start.low).chain(self.web.iter().map(|web| web.start.low)).min()?;
        let waits = tcp.path.iter().map(|&link| {
            let link = self.links[link].direction(tcp.reverse);
            let time_of = |bytes: u64| (8e9 * bytes as f64 / link.least_rate_bps() as f64) as Nanos;
            match link.buffer {
                _ if !link.queue.is_drop_tail() => 0,
                Buffer::Packets(packets) => time_of(packets.saturating_mul(self.packet_size.into())),
                Buffer::Bytes(bytes) => time_of(bytes),
                Buffer::Time(time) => time,
                Buffer::Unlimited => Nanos::MAX,
            }
        });
        let loaded = waits.fold(base, Nanos::saturating_add);
        (!tcp.handshake && start > begun.saturating_add(timeout) && loaded > timeout).then(|| {
            let loaded = if loaded == Nanos::MAX { "any time".to_owned() } else { TIME.format(loaded) };
            format!(
                "{key}.handshake = false: the first timeout, {}, is three round trips of the idle path or min_rto; over full queues a round \
                 trip takes up to {loaded}; write handshake = true, which measures it",
                TIME.format(timeout),
            )
        })
    }

    /// Bits per second that may arrive at a link in one direction, at most.
    fn fastest_arrivals(&self, link: usize, reverse: bool) -> u128 {
        let senders = |tcp: &Tcp, count: Option<u32>| match (tcp.access_rate_bps, count) {
            _ if !tcp.path.contains(&link) => 0,
            (Some(rate), Some(count)) if tcp.reverse == reverse => u128::from(rate) * u128::from(count),
            // Of those that cross it the other way the ACKs arrive, as fast as they come.
            _ => UNLIMITED,
        };
        let flows = self.flows.iter().map(|group| senders(&group.tcp, Some(group.count)));
        let web = self.web.iter().map(|group| match group.arrivals {
            Arrivals::Sessions { sessions, .. } => senders(&group.tcp, Some(sessions)),
            Arrivals::Poisson { .. } => senders(&group.tcp, None),
        });
        let udp = self.udp.iter().filter(|group| group.reverse == reverse && group.path.contains(&link));
        let udp = udp.map(|group| u128::from(group.rate_bps) * u128::from(group.count));
        flows.chain(web).chain(udp).sum()
    }
}

/// An algorithm that has its own slow start takes no other. No error, so that one scenario can compare it with those that have.
fn other_slow_start(key: &str, tcp: &Tcp) -> Option<String> {
    let asked = tcp.slow_start != SlowStart::default() || tcp.resume.is_some();
    let own = tcp.algorithm.info().is_some_and(|info| info.own_slow_start);
    // Those around an algorithm are not built around foreign ones.
    let around = tcp.resume.is_some() || matches!(tcp.slow_start, SlowStart::Search | SlowStart::Rapid);
    let asked = asked && (own || (around && tcp.algorithm.foreign.is_some()));
    asked.then(|| {
        let algorithm = &tcp.algorithm.name;
        if !own {
            let asked = if tcp.resume.is_some() { "resume" } else { "slow_start" };
            return format!("{key}.{asked}: no effect on {algorithm}, a custom algorithm; leave {asked} out");
        }
        if tcp.resume.is_some() {
            return format!("{key}.resume: {algorithm} runs its own slow start; leave out resume");
        }
        let asked = tcp.slow_start.name();
        format!("{key}.slow_start = {asked:?}: {algorithm} runs its own slow start; leave out slow_start")
    })
}

/// A saved window below four initial windows (draft-ietf-tsvwg-careful-resume-24, section 3.1).
fn not_worth_saving(key: &str, tcp: &Tcp) -> Option<String> {
    let least = 4.0 * f64::from(tcp.initial_window);
    let saved = tcp.resume.filter(|saved| saved.cwnd < least)?;
    Some(format!(
        "{key}.resume.cwnd = {}: less than four initial windows, {least} segments, is not worth saving",
        saved.cwnd
    ))
}

/// An algorithm that needs the number of marked packets, with ECN that does not report it.
fn unlike_what_it_is_made_for(key: &str, tcp: &Tcp) -> Option<String> {
    let made_for = made_for(tcp)?;
    let why = match tcp.ecn {
        EcnMode::Off => "answers to marks; without them it does as Reno",
        EcnMode::Classic => "answers to how many packets are marked, which classic ECN does not tell",
        EcnMode::Accurate | EcnMode::Ace => return None,
    };
    let (ecn, algorithm) = (tcp.ecn.name(), &tcp.algorithm.name);
    Some(format!("{key}.ecn = {ecn:?}: {algorithm} {why}; write ecn = {:?}, or leave ecn out", made_for.kind))
}

/// The ECN that the algorithm is made for.
fn made_for(tcp: &Tcp) -> Option<MadeForEcn> {
    tcp.algorithm.info()?.ecn
}

/// Whether the author of the scenario wants the queue to mark: it always does, or a parameter asks for it. One that marks by default, as
/// FQ-CoDel and CAKE, is chosen for other reasons too.
fn is_to_mark(queue: &Queue) -> bool {
    let told = queue.given.iter().any(|(name, _)| ["ecn", "ce_threshold"].contains(name));
    let always = ["dualpi2", "step"].contains(&queue.info.name);
    queue.marks() && (told || always)
}

/// ECT(1) means a scalable response to each mark (RFC 9331 section 4), which classic ECN cannot report.
fn ect_without_l4s(key: &str, tcp: &Tcp) -> Option<String> {
    let why = match (tcp.ect, tcp.ecn) {
        (Ecn::Ect1, EcnMode::Off) => "ECN is off, so that no packet is ECN-capable",
        (Ecn::Ect1, EcnMode::Classic) => {
            "ECT(1) is for L4S, and classic ECN does not report how many packets were marked"
        }
        _ => return None,
    };
    Some(format!("{key}.ect = 1: {why}; write ecn = \"accurate\", or leave ect out"))
}

/// Least margin of Linux over the smoothed RTT.
const ABOVE_RTT: Nanos = 200_000_000;

/// More than any link's rate, and the sum of a million of them is a number still.
const UNLIMITED: u128 = 1 << 64;

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys warned of, with two links of 100 and 10 Mbit/s and this traffic.
    fn warned(traffic: &str) -> Vec<String> {
        warned_over("\"drop-tail\"", traffic)
    }

    /// Warnings of a scenario whose first link has this queue.
    fn warned_over(queue: &str, traffic: &str) -> Vec<String> {
        let link = |name: &str, rate: u32| {
            let queue = if name == "wide" { queue } else { "\"drop-tail\"" };
            format!(
                "[[links]]\nname = \"{name}\"\nrate = \"{rate} Mbit/s\"\ndelay = \"1 ms\"\nbuffer = \"9 packets\"\nqueue = {queue}\n"
            )
        };
        let text = format!("duration = \"1 s\"\n{}{}{traffic}", link("wide", 100), link("narrow", 10));
        let warnings = Scenario::from_toml(&text).expect("a sound scenario").warnings();
        warnings.iter().map(|line| line.split(' ').next().expect("a key").to_owned()).collect()
    }

    fn flows(count: u32, access_rate: &str, path: &str) -> String {
        format!("[[flows]]\nalgorithm = \"reno\"\ncount = {count}\naccess_rate = \"{access_rate}\"\npath = [{path}]\n")
    }

    #[test]
    fn a_link_that_senders_cannot_fill_is_warned_of() {
        let narrow = "\"narrow\"";
        assert_eq!(warned(&flows(1, "10 Mbit/s", narrow)), ["flows[0].access_rate"], "equal rates");
        assert!(warned(&flows(1, "10.1 Mbit/s", narrow)).is_empty());
        assert!(warned(&flows(1, "unlimited", narrow)).is_empty());
        // Five flows of 2 Mbit/s cannot, six can, and so can five with a source of 1 bit/s.
        assert_eq!(warned(&flows(5, "2 Mbit/s", narrow)).len(), 1);
        assert!(warned(&flows(6, "2 Mbit/s", narrow)).is_empty());
        let udp = "[[udp]]\nrate = \"1 bit/s\"\npath = [\"narrow\"]\n";
        assert!(warned(&(flows(5, "2 Mbit/s", narrow) + udp)).is_empty());
    }

    /// One link that can be full is enough, in the direction of the data.
    #[test]
    fn every_link_of_the_path_counts() {
        let both = "\"wide\", \"narrow\"";
        assert!(warned(&flows(1, "50 Mbit/s", both)).is_empty());
        assert_eq!(warned(&flows(1, "50 Mbit/s", "\"wide\"")), ["flows[0].access_rate"]);
        let fast = flows(1, "unlimited", "\"narrow\"");
        assert!(warned(&(flows(1, "9 Mbit/s", both) + &fast)).is_empty());
        let back = flows(1, "9 Mbit/s", "\"narrow\"") + "reverse = true\n";
        assert!(warned(&(flows(1, "9 Mbit/s", "\"narrow\"") + &back)).is_empty(), "each meets the other's ACKs");
    }

    /// Both links and back take 4 ms; with access 204 ms.
    #[test]
    fn a_least_timeout_below_the_round_trip_is_warned_of() {
        let with = |access_delay: &str, min_rto: &str| {
            warned(&flow(&format!("access_delay = {access_delay:?}\nmin_rto = {min_rto:?}")))
        };
        assert!(with("98 ms", "200 ms").is_empty(), "200 ms, and a round trip of 200 ms");
        assert_eq!(with("98.1 ms", "200 ms"), ["flows[0].min_rto"]);
        assert_eq!(with("97 ms..99.2 ms", "200 ms"), ["flows[0].min_rto"], "the middle counts");
        assert!(with("98.1 ms", "1 s").is_empty());
    }

    #[test]
    fn a_slow_start_that_an_algorithm_does_not_have_is_warned_of() {
        let with = |algorithm: &str, slow_start: &str| {
            warned(&format!("[[flows]]\nalgorithm = {algorithm:?}\nslow_start = {slow_start:?}\npath = [\"wide\"]\n"))
        };
        assert_eq!(with("vegas", "hystart++"), ["flows[0].slow_start"]);
        assert!(with("vegas", "standard").is_empty() && with("cubic", "hystart++").is_empty());
    }

    /// A flow with these keys, over both links.
    fn flow(keys: &str) -> String {
        format!("[[flows]]\nalgorithm = \"reno\"\npath = [\"narrow\", \"wide\"]\n{keys}\n")
    }

    /// Queues that may mark, and those that do not.
    const MARKING: &[&str] = &[
        "{ name = \"red\", ecn = true }",
        "{ name = \"ared\", ecn = true }",
        "{ name = \"codel\", ecn = true }",
        "{ name = \"codel\", ce_threshold = \"1 ms\" }",
        "\"fq-codel\"",
        "{ name = \"fq-codel\", ecn = false, ce_threshold = \"1 ms\" }",
        "{ name = \"pie\", ecn = true }",
        "\"dualpi2\"",
        "\"step\"",
    ];
    const OTHERS: &[&str] =
        &["\"drop-tail\"", "\"red\"", "\"ared\"", "\"codel\"", "{ name = \"fq-codel\", ecn = false }", "\"pie\""];

    #[test]
    fn ecn_over_queues_that_do_not_mark_is_warned_of() {
        for mode in ["classic", "accurate", "ace"] {
            for queue in OTHERS {
                assert_eq!(warned_over(queue, &flow(&format!("ecn = {mode:?}"))), ["flows[0].ecn"], "{queue}");
            }
            for queue in MARKING {
                assert!(warned_over(queue, &flow(&format!("ecn = {mode:?}"))).is_empty(), "{queue}");
            }
        }
        assert!(warned(&flow("ecn = \"off\"")).is_empty());
    }

    /// FQ-CoDel marks by default, without a key in the scenario.
    #[test]
    fn a_queue_that_is_to_mark_and_meets_nothing_to_mark_is_warned_of() {
        for queue in MARKING.iter().filter(|queue| **queue != "\"fq-codel\"") {
            assert_eq!(warned_over(queue, &flow("")), ["links[0].queue:"], "{queue}");
            let elsewhere = "[[flows]]\nalgorithm = \"reno\"\npath = [\"narrow\"]\necn = \"classic\"\n";
            let warned = warned_over(queue, &(flow("") + elsewhere));
            assert_eq!(warned, ["flows[1].ecn", "links[0].queue:"], "{queue}");
            assert!(warned_over(queue, &(flow("") + &flow("ecn = \"classic\""))).is_empty(), "{queue}");
        }
        for queue in [OTHERS, &["\"fq-codel\""]].concat() {
            assert!(warned_over(queue, &flow("")).is_empty(), "{queue}");
        }
    }

    /// Queues mark only data, which a flow in reverse sends in the other direction. In each direction with a separate
    /// queue, the flows of that direction count.
    #[test]
    fn each_direction_is_warned_of_for_itself() {
        let warned = |reverse: &str, flows: &str| {
            let queue = format!("\"step\"\nreverse = {{ {reverse} }}");
            warned_over(&queue, flows)
        };
        let (there, back) = (flow("ecn = \"classic\""), flow("ecn = \"classic\"\nreverse = true"));
        let other = "queue = \"drop-tail\"";
        assert!(warned(other, &there).is_empty());
        assert_eq!(warned(other, &back), ["flows[0].ecn", "links[0].queue:"]);
        let own = "queue = { name = \"step\", threshold = \"9 packets\" }";
        assert_eq!(warned(own, &there), ["links[0].reverse.queue:"]);
        assert_eq!(warned(own, &back), ["links[0].queue:"]);
        assert!(warned(own, &(there.clone() + &back)).is_empty());
        assert_eq!(warned(own, &flow("")), ["links[0].queue:", "links[0].reverse.queue:"]);
        // A queue that is equal in both directions is named once in the scenario.
        for like in ["", "rate = \"5 Mbit/s\"", "queue = \"step\""] {
            assert!(warned(like, &back).is_empty() && warned(like, &there).is_empty(), "{like}");
            assert_eq!(warned(like, &flow("")), ["links[0].queue:"], "{like}");
        }
    }

    #[test]
    fn ect_1_without_accurate_ecn_is_warned_of() {
        let over = |keys: &str| warned_over("\"dualpi2\"", &(flow("ecn = \"accurate\"") + &flow(keys)));
        assert_eq!(over("ect = 1"), ["flows[1].ect"]);
        assert_eq!(over("ect = 1\necn = \"classic\""), ["flows[1].ect"]);
        for keys in ["ect = 1\necn = \"accurate\"", "ect = 1\necn = \"ace\"", "ect = 0\necn = \"classic\"", "ect = 0"] {
            assert!(over(keys).is_empty(), "{keys}");
        }
    }

    /// DCTCP has accurate ECN where a scenario is silent.
    #[test]
    fn an_algorithm_that_is_not_told_of_marks_as_it_needs_is_warned_of() {
        let with = |queue: &str, ecn: &str| {
            warned_over(queue, &format!("[[flows]]\nalgorithm = \"dctcp\"\npath = [\"wide\"]\n{ecn}\n"))
        };
        for ecn in ["", "ecn = \"accurate\"", "ecn = \"ace\""] {
            assert!(with("\"step\"", ecn).is_empty(), "{ecn}");
            assert_eq!(with("\"drop-tail\"", ecn), ["flows[0].ecn"], "{ecn}");
        }
        assert_eq!(with("\"step\"", "ecn = \"off\""), ["flows[0].ecn", "links[0].queue:"]);
        assert_eq!(with("\"step\"", "ecn = \"classic\""), ["flows[0].ecn"]);
    }

    #[test]
    fn web_sessions_are_senders_and_a_poisson_process_has_no_limit() {
        let web = |arrivals: &str| {
            format!(
                "[[web]]\nalgorithm = \"reno\"\nmean_size = \"9 kB\"\naccess_rate = \"1 Mbit/s\"\npath = [\"narrow\"]\n{arrivals}\n"
            )
        };
        assert_eq!(warned(&web("sessions = 10\nmean_gap = \"1 s\"")), ["web[0].access_rate"]);
        assert!(warned(&web("sessions = 11\nmean_gap = \"1 s\"")).is_empty());
        assert!(warned(&web("transfers_per_second = 0.1")).is_empty());
    }
}
