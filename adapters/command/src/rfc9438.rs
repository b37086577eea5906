//! RFC 9438's rules as measurements of any algorithm: simulations whose windows say what it does, and what the RFC's equations give by hand.

use crate::{run, windows};
use std::ops::RangeInclusive;

/// What can be seen of a rule from outside.
pub struct Rule {
    /// Of RFC 9438.
    pub section: &'static str,
    /// What is measured, with its unit.
    pub what: &'static str,
    /// What follows the RFC; as wide as steps by packets and by ACKs make it.
    pub follows: RangeInclusive<f64>,
    /// Measures an algorithm, as a scenario names it; none where its windows show no such thing.
    pub measure: fn(&str) -> Result<Option<f64>, String>,
}

/// All that are measured.
pub const RULES: [Rule; 9] = [
    Rule {
        section: "4.6",
        what: "part of the window that a loss leaves",
        follows: 0.698..=0.702,
        measure: left_by_a_cut,
    },
    Rule { section: "4.2", what: "round trips from the cut to t = 0", follows: 0.9..=1.6, measure: beginning },
    Rule { section: "4.2", what: "window at t = K, parts of W_max", follows: 0.99..=1.01, measure: window_at_k },
    Rule {
        section: "4.2",
        what: "the same trips, K of fast convergence",
        follows: 0.75..=1.75,
        measure: beginning_below,
    },
    Rule { section: "4.7", what: "plateau above W_max, parts of the window", follows: 0.985..=1.015, measure: plateau },
    Rule { section: "4.3", what: "packets a round trip, Reno-friendly", follows: 0.49..=0.57, measure: reno_below },
    Rule {
        section: "4.3",
        what: "packets a round trip, above the last cut",
        follows: 0.96..=1.04,
        measure: reno_above,
    },
    Rule { section: "4.3", what: "packets in 11 round trips, convergent", follows: 5.0..=6.6, measure: reno_after },
    Rule { section: "4.10", what: "part of 8 BDP that slow start fills", follows: 0.0..=0.99, measure: slow_start },
];

const C: f64 = 0.4;
/// Of the paths on which the cubic function rules, and on which Reno's estimate does.
const LONG_S: f64 = 0.2;
const SHORT_S: f64 = 0.02;

/// Section 4.6: beta_cubic "SHOULD be set to 0.7".
pub fn left_by_a_cut(algorithm: &str) -> Result<Option<f64>, String> {
    Ok(cut(algorithm, LONG_S, &[0.7, 7.0])?.map(|cut| cut.after / cut.before))
}

/// Section 4.2: t is 0 at "the beginning of the current congestion avoidance stage", when what was sent after the cut is acknowledged, a round
/// trip later. Half of the way from the cut to W_max is behind at t = K (1 - 1/2^(1/3)), K = ((W_max - cwnd_epoch)/C)^(1/3). What leaves
/// in a round trip, and steps up by ACKs, add up to half a round trip.
pub fn beginning(algorithm: &str) -> Result<Option<f64>, String> {
    Ok(cut(algorithm, LONG_S, &[0.7, 7.0])?.and_then(|cut| cut.late_rounds(cut.before)))
}

/// Section 4.2, figures 1 and 2: W_cubic(K) is W_max, where the curve is flat.
pub fn window_at_k(algorithm: &str) -> Result<Option<f64>, String> {
    Ok(cut(algorithm, LONG_S, &[0.7, 7.0])?.and_then(|cut| Some(cut.at(cut.k(cut.before) + LONG_S)? / cut.before)))
}

/// Sections 4.7 and 4.2: a cut below W_max sets W_max to 0.85 windows, and K is of W_max - cwnd_epoch, 0.15 windows.
pub fn beginning_below(algorithm: &str) -> Result<Option<f64>, String> {
    Ok(cut(algorithm, LONG_S, &[0.7, 2.9])?.and_then(|cut| cut.late_rounds(0.85 * cut.before)))
}

/// Section 4.7: a window is compared with W_max as fast convergence has left it. A third cut comes at a window between 0.85 of the second's
/// and that, which is above W_max: the new W_max is the window itself. It is where the curve is flat, the packet that takes the window longest.
pub fn plateau(algorithm: &str) -> Result<Option<f64>, String> {
    let found = cuts(algorithm, LONG_S, &[0.7, 2.9, 8.0])?;
    let [_, second, third] = &found[..] else { return Ok(None) };
    let asked = third.before > 0.85 * second.before && third.before < second.before;
    let mut last = None;
    let mut longest = (0.0, f64::NAN);
    // The window stands still at first, in recovery.
    for &(time, window) in third.windows.iter().filter(|(time, _)| *time > 5.0 * LONG_S) {
        let (since, from) = *last.get_or_insert((time, window));
        if window - from >= 1.0 {
            if time - since > longest.0 {
                longest = (time - since, (from + window) / 2.0);
            }
            last = Some((time, window));
        }
    }
    Ok(asked.then_some(longest.1 / third.before).filter(|part| !part.is_nan()))
}

/// Section 4.3, figure 4: W_est grows by alpha_cubic = 3 (1 - 0.7)/(1 + 0.7) = 9/17 packets a round trip.
pub fn reno_below(algorithm: &str) -> Result<Option<f64>, String> {
    Ok(cut(algorithm, SHORT_S, &[0.05, 1.0])?.and_then(|cut| cut.slope(0.75 * cut.before, 0.95 * cut.before)))
}

/// Section 4.3: "Once W_est has grown to reach the cwnd at the time of most recently setting ssthresh [...] the sender SHOULD set alpha_cubic to 1".
pub fn reno_above(algorithm: &str) -> Result<Option<f64>, String> {
    Ok(cut(algorithm, SHORT_S, &[0.05, 1.0])?.and_then(|cut| cut.slope(1.1 * cut.before, 1.4 * cut.before)))
}

/// Section 4.3: W_est is cwnd_epoch where the stage begins, fast convergence or not. In eleven round trips after the one of recovery it
/// grows by 99/17 = 5.8 packets.
pub fn reno_after(algorithm: &str) -> Result<Option<f64>, String> {
    Ok(cut(algorithm, SHORT_S, &[0.05, 0.35])?.and_then(|cut| Some(cut.at(12.0 * SHORT_S)? - cut.after)))
}

/// Section 4.10: "CUBIC SHOULD use the HyStart++ slow start algorithm", which ends before a buffer of eight products is full.
pub fn slow_start(algorithm: &str) -> Result<Option<f64>, String> {
    slow_start_with(algorithm, "")
}

/// The same with more keys of the flow's.
pub fn slow_start_with(algorithm: &str, keys: &str) -> Result<Option<f64>, String> {
    let report = run(&format!(
        r#"
        duration = "3 s"
        links = [{{ name = "l", rate = "20 Mbit/s", delay = "20 ms", buffer = "8 BDP" }}]
        flows = [{{ algorithm = "{algorithm}", recovery = "rack", {keys} }}]
        "#
    ))?;
    Ok(Some(f64::from(u32::try_from(report.links[0].forward.max_queue_packets).unwrap_or(u32::MAX)) / 800.0))
}

/// What came of a cut: the window before and after it, and from then on, time since the cut and packets.
struct Cut {
    rtt_s: f64,
    before: f64,
    after: f64,
    windows: Vec<(f64, f64)>,
}

impl Cut {
    fn k(&self, w_max: f64) -> f64 {
        ((w_max - self.after) / C).cbrt()
    }

    /// By how many round trips half of the way to W_max is behind later than if t were 0 at the cut.
    fn late_rounds(&self, w_max: f64) -> Option<f64> {
        let half = self.k(w_max) * (1.0 - 0.5_f64.cbrt());
        Some((self.reaches((w_max + self.after) / 2.0)? - half) / self.rtt_s)
    }

    /// Since the cut, the first time that the window is at least this.
    fn reaches(&self, window: f64) -> Option<f64> {
        self.windows.iter().find(|(_, w)| *w >= window).map(|(t, _)| *t)
    }

    fn at(&self, time: f64) -> Option<f64> {
        self.windows.iter().find(|(t, _)| *t >= time).map(|(_, w)| *w)
    }

    /// Packets a round trip between two windows.
    fn slope(&self, from: f64, to: f64) -> Option<f64> {
        Some((to - from) / (self.reaches(to)? - self.reaches(from)?) * self.rtt_s)
    }
}

/// The last of the cuts that `losses` make.
fn cut(algorithm: &str, rtt_s: f64, losses: &[f64]) -> Result<Option<Cut>, String> {
    let mut found = cuts(algorithm, rtt_s, losses)?;
    Ok(if found.len() == losses.len() { found.pop() } else { None })
}

/// The cuts on a path of 1 Gbit/s without a queue, which loses all in a quarter of a round trip from each of `losses` on, seconds, and nothing else:
/// cuts are where they are asked, and round trips are all alike. Everyone paces.
fn cuts(algorithm: &str, rtt_s: f64, losses: &[f64]) -> Result<Vec<Cut>, String> {
    let rtt_ms = 1e3 * rtt_s;
    let bursts: Vec<String> = losses
        .iter()
        .map(|at| {
            let begin = 1e3 * at;
            let end = begin + rtt_ms / 4.0;
            format!("{{ at = \"{begin} ms\", loss = 0.999999 }}, {{ at = \"{end} ms\", loss = 0 }}")
        })
        .collect();
    let report = run(&format!(
        r#"
        duration = "{} s"
        series_interval = "5 ms"
        flows = [{{ algorithm = "{algorithm}", recovery = "rack", pacing = "on", initial_window = 10 }}]
        [[links]]
        name = "l"
        rate = "1 Gbit/s"
        delay = "{} ms"
        buffer = "unlimited"
        schedule = [{}]
        reverse = {{ schedule = [] }}
        "#,
        losses[losses.len() - 1] + if rtt_s < 0.1 { 4.0 } else { 8.0 },
        rtt_ms / 2.0,
        bursts.join(", ")
    ))?;
    let all = windows(&report);
    let at = all.windows(2).enumerate().filter(|(_, pair)| pair[1].1 < 0.9 * pair[0].1).map(|(i, _)| i + 1);
    let cut = |i: usize| {
        let start = all[i].0;
        let windows = all[i..].iter().map(|(t, w)| (t - start, *w)).collect();
        Cut { rtt_s, before: all[i - 1].1, after: all[i].1, windows }
    };
    Ok(at.map(cut).collect())
}
