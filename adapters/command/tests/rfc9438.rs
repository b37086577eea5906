//! RFC 9438's rules, and which of them the libraries' CUBICs and ours follow, each by a simulation.
//!
//! docs/your-own/quic.md has a row for each rule, with the line of code that it comes from. A test that fails after a change of version
//! says that its row is to be read again. Expected values are the RFC's equations by hand; the algorithm in the RFC's own words is "ours" where
//! it says follows.

mod common;

use common::{run, windows};
use fullpipe_sim::Report;

const QUINN: &str = "quinn-cubic";
const S2N: &str = "s2n-cubic";
const OURS: &str = "cubic";

const C: f64 = 0.4;
const BETA: f64 = 0.7;

/// A path of 1 Gbit/s without a queue, which loses all in a quarter of a round trip from each of `losses` on, seconds, and nothing else:
/// a window's cuts are where they are asked, and round trips are all alike. Everyone paces.
fn path(algorithm: &str, rtt_ms: f64, losses: &[f64], duration_s: f64) -> Report {
    let bursts: Vec<String> = losses
        .iter()
        .map(|at| {
            let end = 1e3 * at + rtt_ms / 4.0;
            format!("{{ at = \"{} ms\", loss = 0.999999 }}, {{ at = \"{end} ms\", loss = 0 }}", 1e3 * at)
        })
        .collect();
    run(&format!(
        r#"
        duration = "{duration_s} s"
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
        rtt_ms / 2.0,
        bursts.join(", ")
    ))
}

/// What came of a cut: the time, the window before and after it, and the windows from then on, time since the cut and packets.
struct Cut {
    before: f64,
    after: f64,
    windows: Vec<(f64, f64)>,
}

impl Cut {
    /// Since the cut, the first time that the window is at least this.
    fn reaches(&self, window: f64) -> f64 {
        self.windows.iter().find(|(_, w)| *w >= window).expect("it grows").0
    }

    fn at(&self, time: f64) -> f64 {
        self.windows.iter().find(|(t, _)| *t >= time).expect("it lasts").1
    }

    /// Packets a round trip between two windows.
    fn slope(&self, from: f64, to: f64, rtt_s: f64) -> f64 {
        (to - from) / (self.reaches(to) - self.reaches(from)) * rtt_s
    }
}

fn cuts(report: &Report) -> Vec<Cut> {
    let all = windows(report);
    let at = all.windows(2).enumerate().filter(|(_, pair)| pair[1].1 < 0.9 * pair[0].1).map(|(i, _)| i + 1);
    at.map(|i| {
        let start = all[i].0;
        Cut { before: all[i - 1].1, after: all[i].1, windows: all[i..].iter().map(|(t, w)| (t - start, *w)).collect() }
    })
    .collect()
}

/// Section 4.6: beta_cubic "SHOULD be set to 0.7"; all do.
#[test]
fn a_cut_leaves_seven_tenths() {
    for algorithm in [QUINN, S2N, OURS] {
        let found = cuts(&path(algorithm, 200.0, &[0.7, 7.0], 8.0));
        let part = found[1].after / found[1].before;
        assert!((part - BETA).abs() < 0.002, "{algorithm}: {part}");
    }
}

/// Section 4.2, figures 1 and 2: half of the way from the cut to W_max is behind at t = K (1 - 1/2^(1/3)), K = ((W_max - cwnd_epoch)/C)^(1/3), and t is 0 at
/// "the beginning of the current congestion avoidance stage", when what was sent after the cut is acknowledged, a round trip later.
/// quinn's t begins with the cut (src/congestion/cubic.rs, lines 131 and 182). What leaves in a round trip steps up by ACKs
/// adds up to half a round trip.
#[test]
fn the_cubic_begins() {
    for (algorithm, rounds) in [(QUINN, -0.3..0.5), (S2N, 0.9..1.6), (OURS, 0.9..1.6)] {
        let cut = cuts(&path(algorithm, 200.0, &[0.7, 7.0], 16.0)).remove(1);
        let k = ((cut.before - cut.after) / C).cbrt();
        let late = cut.reaches((cut.before + cut.after) / 2.0) - k * (1.0 - 0.5_f64.cbrt());
        assert!(rounds.contains(&(late / 0.2)), "{algorithm}: {}", late / 0.2);
        // And at K it is back at W_max, to a packet.
        let back = cut.at(k + 0.2);
        assert!((back - cut.before).abs() < 1.0, "{algorithm}: {back} {}", cut.before);
    }
}

/// Sections 4.7 and 4.2: a cut below W_max sets W_max to 0.85 windows, and K is of W_max - cwnd_epoch, 0.15 windows. quinn takes 0.3 W_max for it,
/// right without fast convergence alone (src/congestion/cubic.rs, lines 39 and 197): its W_cubic(0) is 0.595 windows, below the window, which stands still until it
/// has come up: K is (0.255/0.15)^(1/3) = 1.19 times as long. At 108 packets that is 0.66 s more to any point of the curve.
#[test]
fn fast_convergence_and_k() {
    for (algorithm, late_s) in [(QUINN, 0.55..0.95), (S2N, 0.15..0.35), (OURS, 0.15..0.35)] {
        let cut = cuts(&path(algorithm, 200.0, &[0.7, 2.9], 12.0)).remove(1);
        let w_max = 0.85 * cut.before;
        let k = ((w_max - cut.after) / C).cbrt();
        let late = cut.reaches((w_max + cut.after) / 2.0) - k * (1.0 - 0.5_f64.cbrt());
        assert!(late_s.contains(&late), "{algorithm}: {late}");
    }
}

/// Section 4.7: a window is compared with W_max as fast convergence has left it. A third cut comes at a window between 0.85 of the second's
/// and that, which is above W_max: the plateau is the window itself. s2n-quic compares it with the second's window, as RFC 8312 does
/// (src/recovery/cubic.rs, lines 820 and 824), and gives way again.
#[test]
fn fast_convergence_twice() {
    for (algorithm, plateau) in [(QUINN, 1.0), (S2N, 0.85), (OURS, 1.0)] {
        let found = cuts(&path(algorithm, 200.0, &[0.7, 2.9, 8.0], 13.0));
        let [_, second, third] = &found[..] else { panic!("{algorithm}: {} cuts", found.len()) };
        assert!(third.before > 0.85 * second.before && third.before < second.before);
        let k = ((plateau * third.before - third.after) / C).cbrt();
        let part = third.at(k + 0.2) / third.before;
        assert!((part - plateau).abs() < 0.015, "{algorithm}: {part}");
    }
}

/// Section 4.3, figure 4: W_est grows by alpha_cubic = 3 (1 - 0.7)/(1 + 0.7) = 0.53 packets a round trip, and "Once W_est has grown to reach the
/// cwnd at the time of most recently setting ssthresh [...] the sender SHOULD set alpha_cubic to 1". Neither library does (quinn's
/// src/congestion/cubic.rs, lines 51 to 56; s2n-quic's src/recovery/cubic.rs, lines 771 to 776), nor does Linux.
#[test]
fn the_reno_friendly_region() {
    for (algorithm, after) in [(QUINN, 0.53), (S2N, 0.53), (OURS, 1.0)] {
        let cut = cuts(&path(algorithm, 20.0, &[0.05, 1.0], 3.0)).remove(1);
        let below = cut.slope(0.75 * cut.before, 0.95 * cut.before, 0.02);
        assert!((below - 9.0 / 17.0).abs() < 0.04, "{algorithm}: {below}");
        let above = cut.slope(1.1 * cut.before, 1.4 * cut.before, 0.02);
        assert!((above - after).abs() < 0.04, "{algorithm}: {above}");
    }
}

/// Section 4.3: W_est is cwnd_epoch, 0.7 windows, where the stage begins, fast convergence or not. Both libraries take 0.7 W_max, as RFC 8312 does:
/// 0.595 windows after fast convergence (quinn's src/congestion/cubic.rs, line 53; s2n-quic's src/recovery/cubic.rs, line 772). In eleven
/// round trips after the one of recovery W_est grows by 5.8 packets; theirs has not caught up.
#[test]
fn the_reno_friendly_region_after_fast_convergence() {
    for (algorithm, grown) in [(QUINN, 0.0..2.5), (S2N, 0.5..3.5), (OURS, 5.0..6.6)] {
        let cut = cuts(&path(algorithm, 20.0, &[0.05, 0.35], 1.0)).remove(1);
        let more = cut.at(0.24) - cut.after;
        assert!(grown.contains(&more), "{algorithm}: {more} of {}", cut.before);
    }
}

/// Section 4.10: "CUBIC SHOULD use the HyStart++ slow start algorithm". quinn has nothing of the kind (src/congestion/cubic.rs, lines 111 to 113) and fills
/// the buffer; s2n-quic leaves slow start when RTTs have grown (src/recovery/hybrid_slow_start.rs, line 157: HyStart's rule of delay; HyStart++
/// stands there too, off by default, lines 64 and 80). Ours has it as an option.
#[test]
fn slow_start_ends() {
    let most = |algorithm: &str, more: &str| {
        let report = run(&format!(
            r#"
            duration = "3 s"
            links = [{{ name = "l", rate = "20 Mbit/s", delay = "20 ms", buffer = "8 BDP" }}]
            flows = [{{ algorithm = "{algorithm}", recovery = "rack", {more} }}]
            "#
        ));
        report.links[0].forward.max_queue_packets as f64 / 800.0
    };
    assert_eq!((most(QUINN, ""), most(OURS, "")), (1.0, 1.0));
    let [s2n, ours] = [most(S2N, ""), most(OURS, "slow_start = \"hystart++\"")];
    assert!(s2n < 0.5 && ours < 1.0, "{s2n} {ours}");
}
