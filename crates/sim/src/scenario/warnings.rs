//! What is allowed, but probably not what was meant.

use super::units::RATE;
use super::{Arrivals, Scenario, SlowStart, Tcp};
use fullpipe_cc::registry;

impl Scenario {
    /// One line for each: the key, what it leads to, what to do about it.
    pub fn warnings(&self) -> Vec<String> {
        let flows = self.flows.iter().enumerate().map(|(index, group)| (format!("flows[{index}]"), &group.tcp));
        let web = self.web.iter().enumerate().map(|(index, group)| (format!("web[{index}]"), &group.tcp));
        let all = flows.chain(web);
        all.flat_map(|(key, tcp)| [self.queue_at_the_sender(&key, tcp), other_slow_start(&key, tcp)])
            .flatten()
            .collect()
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

/// An algorithm with a slow start of its own has no other. No error, so that one scenario can compare it with those that have.
fn other_slow_start(key: &str, tcp: &Tcp) -> Option<String> {
    let asked = tcp.slow_start != SlowStart::default();
    let own = registry::find(&tcp.algorithm.name).is_some_and(|info| info.own_slow_start);
    (asked && own).then(|| {
        let (asked, algorithm) = (tcp.slow_start.name(), &tcp.algorithm.name);
        format!(
            "{key}.slow_start = {asked:?}: {algorithm} has a slow start of its own and runs that; leave slow_start out"
        )
    })
}

/// More than any link's rate, and the sum of a million of them is a number still.
const UNLIMITED: u128 = 1 << 64;

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys warned of, with two links of 100 and 10 Mbit/s and this traffic.
    fn warned(traffic: &str) -> Vec<String> {
        let link = |name: &str, rate: u32| {
            format!(
                "[[links]]\nname = \"{name}\"\nrate = \"{rate} Mbit/s\"\ndelay = \"1 ms\"\nbuffer = \"9 packets\"\n"
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
        // Five of 2 Mbit/s cannot, six can, and so can five beside a source of 1 bit/s.
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

    #[test]
    fn a_slow_start_that_an_algorithm_does_not_have_is_warned_of() {
        let flow = |algorithm: &str, slow_start: &str| {
            warned(&format!("[[flows]]\nalgorithm = {algorithm:?}\nslow_start = {slow_start:?}\npath = [\"wide\"]\n"))
        };
        assert_eq!(flow("vegas", "hystart++"), ["flows[0].slow_start"]);
        assert!(flow("vegas", "standard").is_empty() && flow("cubic", "hystart++").is_empty());
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
