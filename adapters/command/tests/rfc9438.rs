//! Which of RFC 9438's rules the libraries' CUBICs and ours follow, and what those that do not do instead, worked by hand from their code.
//!
//! reports/quic.md has a row for each rule. A test that fails after a change of version says that its row is to be read again.

use fullpipe_quic::rfc9438::{self, RULES};
use std::ops::RangeInclusive;

const QUINN: &str = "quinn-cubic";
const S2N: &str = "s2n-cubic";
const OURS: &str = "cubic";

type Measure = fn(&str) -> Result<Option<f64>, String>;

fn holds(measure: Measure, expected: [(&str, RangeInclusive<f64>); 3]) {
    for (algorithm, range) in expected {
        let measured = measure(algorithm).expect("it runs").expect("it is cut where it is asked");
        assert!(range.contains(&measured), "{algorithm}: {measured}");
    }
}

/// What follows the rule that `measure` is of.
fn follows(measure: Measure) -> RangeInclusive<f64> {
    let rule = RULES.iter().find(|rule| std::ptr::fn_addr_eq(rule.measure, measure));
    rule.expect("a rule").follows.clone()
}

#[test]
fn a_cut_leaves_seven_tenths() {
    let rule = rfc9438::left_by_a_cut;
    holds(rule, [QUINN, S2N, OURS].map(|algorithm| (algorithm, follows(rule))));
}

/// quinn's t begins with the cut (src/congestion/cubic.rs, lines 131 and 182).
#[test]
fn the_cubic_begins() {
    let rule = rfc9438::beginning;
    holds(rule, [(QUINN, -0.3..=0.5), (S2N, follows(rule)), (OURS, follows(rule))]);
}

#[test]
fn the_cubic_is_flat_at_w_max() {
    let rule = rfc9438::window_at_k;
    holds(rule, [QUINN, S2N, OURS].map(|algorithm| (algorithm, follows(rule))));
}

/// quinn takes 0.3 W_max for W_max - cwnd_epoch, right without fast convergence alone (src/congestion/cubic.rs, lines 39 and 197): its W_cubic(0)
/// is 0.595 windows, below the window, which stands still until it has come up, and K is (0.255/0.15)^(1/3) = 1.19 times as long. At 108
/// packets that is 0.66 s more to the middle of the curve, 3.3 round trips, and steps; t begins with the cut.
#[test]
fn fast_convergence_and_k() {
    let rule = rfc9438::beginning_below;
    holds(rule, [(QUINN, 2.75..=4.75), (S2N, follows(rule)), (OURS, follows(rule))]);
}

/// s2n-quic compares the window with that before the last cut, as RFC 8312 does (src/recovery/cubic.rs, lines 820 and 824), and gives way again.
#[test]
fn fast_convergence_twice() {
    let rule = rfc9438::plateau;
    holds(rule, [(QUINN, follows(rule)), (S2N, 0.835..=0.865), (OURS, follows(rule))]);
}

#[test]
fn the_reno_friendly_region() {
    let rule = rfc9438::reno_below;
    holds(rule, [QUINN, S2N, OURS].map(|algorithm| (algorithm, follows(rule))));
}

/// Neither library's alpha becomes 1 (quinn's src/congestion/cubic.rs, lines 51 to 56; s2n-quic's src/recovery/cubic.rs, lines 771 to 776), nor does
/// Linux's: 9/17 packets go on.
#[test]
fn the_reno_friendly_region_above_the_last_cut() {
    let rule = rfc9438::reno_above;
    holds(rule, [(QUINN, 0.49..=0.57), (S2N, 0.49..=0.57), (OURS, follows(rule))]);
}

/// Both libraries take 0.7 W_max for cwnd_epoch, as RFC 8312 does: 0.595 windows after fast convergence (quinn's src/congestion/cubic.rs, line
/// 53; s2n-quic's src/recovery/cubic.rs, line 772). At 60 packets that is 6.3 less, twelve round trips' growth; what grows before is the cubic, a little.
#[test]
fn the_reno_friendly_region_after_fast_convergence() {
    let rule = rfc9438::reno_after;
    holds(rule, [(QUINN, 0.0..=2.5), (S2N, 0.5..=3.5), (OURS, follows(rule))]);
}

/// quinn has nothing that ends slow start (src/congestion/cubic.rs, lines 111 to 113); s2n-quic leaves it when RTTs have grown
/// (src/recovery/hybrid_slow_start.rs, line 157: HyStart's rule of delay; HyStart++ stands there too, off by default, lines 64 and 80). Ours has
/// HyStart++ as an option.
#[test]
fn slow_start_ends() {
    let rule = rfc9438::slow_start;
    holds(rule, [(QUINN, 1.0..=1.0), (S2N, 0.0..=0.5), (OURS, 1.0..=1.0)]);
    let ours = rfc9438::slow_start_with(OURS, "slow_start = \"hystart++\"").expect("it runs").expect("a figure");
    assert!(follows(rule).contains(&ours), "{ours}");
}

/// NewReno is none: it halves.
#[test]
fn another_algorithm_does_not_follow() {
    let half = rfc9438::left_by_a_cut("newreno").expect("it runs").expect("a cut");
    assert!((0.49..0.51).contains(&half), "{half}");
    assert!(rfc9438::left_by_a_cut("no-such").is_err());
}
