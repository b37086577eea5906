//! draft-ietf-ccwg-bbr's example test cases (its appendix of July 2026), with one test of equal name each, and
//! properties of both BBRs on every path. A sender uses a bottleneck with changing rate, loss, delay, and policing. Its
//! application can pause.
//!
//! The default is 20 Mbit/s of 1500-byte segments, which are 1666.7 per second, and an RTT of 40 ms, which gives a BDP
//! of 66.7, with a buffer of 2000. ProbeRTT occurs only in tests about it.

mod path;

use super::*;
use crate::packet::{AckNote, SackBlocks};
use crate::report::meter::Terms;
use crate::traffic::connection::controller;
use crate::transport::policy::Guard;
use crate::transport::receiver::Receiver;
use crate::transport::recovery::Recovery;
use crate::window::Window;
use fullpipe_cc::CongestionControl;
use fullpipe_cc::params::Value;
use path::Path;
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

const MS: Nanos = 1_000_000;
const SECOND: Nanos = 1000 * MS;
const RTT: Nanos = 40 * MS;
const BITS: f64 = 12_000.0;

const STARTUP: f64 = 0.0;
const DRAIN: f64 = 1.0;
const DOWN: f64 = 2.0;
const CRUISE: f64 = 3.0;
const REFILL: f64 = 4.0;
const UP: f64 = 5.0;
const PROBE_RTT: f64 = 6.0;

#[test]
fn exiting_startup_on_bandwidth_plateau() {
    let mut path = Path::steady();
    let mut plateau = None;
    assert!(path.runs(5.0, |path| {
        // From the last ACK on that brings a quarter more.
        if path.shows("max_bw_bps") > 0.8 * 20e6 {
            plateau.get_or_insert(path.sender.round);
        }
        path.phase() != STARTUP
    }));
    assert!((path.shows("max_bw_bps") / 20e6 - 1.0).abs() < 0.02, "{}", path.shows("max_bw_bps"));
    let rounds = path.sender.round - plateau.expect("a plateau");
    assert!((3..=5).contains(&rounds), "{rounds} rounds without growth");
    assert_eq!(path.phase(), DRAIN);
    assert_eq!(path.drops, 0);
}

/// A tenth of the link's rate; then every fourth segment is lost: more than six ranges of a round's 13 or so take some rounds to come.
#[test]
fn exiting_startup_on_loss_when_application_limited() {
    let mut path = Path::steady();
    path.limit(1200.0);
    assert!(!path.runs(2.0, |path| path.phase() != STARTUP));
    path.loses_one_in = 4;
    assert!(path.runs(2.0, |path| path.phase() != STARTUP));
    // In flight is less than a BDP there, so that Drain is over with the ACK that begins it.
    assert!([DRAIN, DOWN, CRUISE].contains(&path.phase()));
    assert!(path.shows("inflight_longterm_packets") > 0.0);
}

#[test]
fn exiting_drain_based_on_inflight() {
    let mut path = Path::steady();
    path.reaches(DRAIN, 5.0);
    assert!((path.pacing_gain() - 0.5).abs() < 1e-9);
    assert!(path.in_flight() > path.bdp());
    let begun = path.sender.round;
    assert!(path.runs(1.0, |path| {
        let drained = path.in_flight() <= path.bdp();
        assert!(drained || path.phase() == DRAIN);
        path.phase() != DRAIN
    }));
    assert!(path.sender.round - begun <= 3, "well before its rounds are over");
    assert!([DOWN, CRUISE].contains(&path.phase()));
}

/// A tenth less is not enough where Drain sends at half the rate: the data in flight could still leave. With less than
/// half it does not.
#[test]
fn exiting_drain_based_on_time() {
    let mut path = Path::steady();
    path.reaches(DRAIN, 5.0);
    path.changes_to(0.45 * 20e6);
    let begun = path.sender.round;
    assert!(path.runs(5.0, |path| path.phase() != DRAIN));
    // The round begun before, three more, and the next has begun.
    assert_eq!(path.sender.round - begun, 4);
    assert!(path.in_flight() > path.bdp());
    assert_eq!(path.phase(), DOWN);
}

#[test]
fn exiting_probe_up_on_bandwidth_plateau() {
    let mut path = Path::steady();
    path.reaches(UP, 6.0);
    assert!((path.pacing_gain() - 1.25).abs() < 1e-9);
    let begun = path.sender.round;
    assert!(path.runs(3.0, |path| path.phase() != UP));
    assert_eq!(path.phase(), DOWN);
    let rounds = path.sender.round - begun;
    assert!((3..=4).contains(&rounds), "{rounds}");
    assert_eq!(path.drops, 0);
    assert!(path.shows("max_bw_bps") < 1.02 * 20e6);
}

/// The draft's `HandleInflightTooHigh` leaves inflight_longterm as it is where the lost segment was limited by the application.
#[test]
fn exiting_probe_up_on_loss_when_application_limited() {
    let mut path = Path::steady();
    path.reaches(UP, 6.0);
    path.limit(1200.0);
    assert!(!path.runs(0.3, |path| path.phase() != UP), "it stays while nothing is lost");
    path.loses_one_in = 4;
    assert!(path.runs(1.0, |path| path.phase() != UP));
    assert!([DOWN, CRUISE].contains(&path.phase()));
    assert!(path.shows("inflight_longterm_packets").is_nan());
}

#[test]
fn never_exiting_probe_up_or_startup_when_application_limited_with_no_loss() {
    let mut startup = Path::steady();
    startup.limit(500.0);
    assert!(!startup.runs(20.0, |path| path.phase() != STARTUP));
    let mut up = Path::steady();
    up.reaches(UP, 6.0);
    up.limit(800.0);
    assert!(!up.runs(20.0, |path| path.phase() != UP));
}

#[test]
fn exiting_probe_down_on_inflight() {
    let mut path = Path::steady();
    path.reaches(UP, 6.0);
    path.reaches(DOWN, 3.0);
    assert!((path.pacing_gain() - 0.9).abs() < 1e-9);
    assert!(path.in_flight() > path.bdp());
    assert!(path.runs(3.0, |path| {
        assert!(path.phase() == DOWN || path.in_flight() <= path.bdp());
        path.phase() != DOWN
    }));
    assert_eq!(path.phase(), CRUISE);
}

/// DOWN sends a tenth less, minus the pacing margin, so the queue could drain within the time. With 15 % less it does
/// not.
#[test]
fn exiting_probe_down_after_max_time() {
    let mut path = Path::steady();
    path.reaches(UP, 6.0);
    path.reaches(DOWN, 3.0);
    path.changes_to(0.85 * 20e6);
    let begun = path.now;
    assert!(path.runs(5.0, |path| path.phase() != DOWN));
    assert_eq!(path.phase(), REFILL, "CRUISE is passed over");
    assert!(path.in_flight() > path.bdp());
    let took = (path.now - begun) / MS;
    assert!((1900..=3100).contains(&took), "{took} ms");
}

#[test]
fn entering_and_exiting_probe_rtt() {
    let mut path = Path::bbr3();
    path.reaches(PROBE_RTT, 6.0);
    let begun = path.now;
    assert!((5 * SECOND..5200 * MS).contains(&begun), "{begun}");
    let most = (0.5 * path.shows("bw_bps") / BITS * 0.04 + 1e-9).max(4.0);
    assert!(path.runs(2.0, |path| {
        assert!(path.phase() != PROBE_RTT || path.sender.cc.cwnd() <= most);
        path.phase() != PROBE_RTT
    }));
    // Half a BDP must have left before the 200 ms begin.
    let took = (path.now - begun) / MS;
    assert!((200..=300).contains(&took), "{took} ms");
    assert_eq!(path.phase(), CRUISE);
    assert!(path.runs(1.0, |path| path.in_flight() > 0.9 * path.bdp()), "it sends on");
}

#[test]
fn skipping_probe_rtt_due_to_application_limited_sending() {
    let mut path = Path::bbr3();
    path.reaches(CRUISE, 3.0);
    path.pause();
    assert!(!path.runs(8.0, |path| path.phase() == PROBE_RTT));
    assert_eq!(path.in_flight(), 0.0);
    path.resume();
    assert!(!path.runs(2.0, |path| path.phase() == PROBE_RTT));
    assert!(path.in_flight() > 0.9 * path.bdp());
}

/// ACKs leave every 10 ms, of 16 or 17 segments.
#[test]
fn achieving_expected_startup_bandwidth_on_a_link_with_aggregation() {
    let mut path = Path::steady();
    path.aggregation = 10 * MS;
    let mut most = (0.0f64, 0.0f64);
    assert!(path.runs(5.0, |path| {
        most = (most.0.max(path.shows("extra_acked_packets")), most.1.max(path.sender.cc.cwnd()));
        path.phase() != STARTUP
    }));
    let bw = path.shows("max_bw_bps");
    // A round trip of 40 ms may bring a burst more than it should.
    assert!((0.98 * 20e6..=1.25 * 20e6).contains(&bw), "{bw}");
    assert!(most.0 >= 16.0 && most.1 > 2.0 * 66.7, "{most:?}");
}

#[test]
fn achieving_expected_cruise_bandwidth_on_a_link_with_aggregation() {
    let mut path = Path::steady();
    path.reaches(CRUISE, 3.0);
    path.aggregation = 10 * MS;
    path.runs(0.5, |_| false);
    let (before, mut extra) = (path.sender.progress.una, f64::INFINITY);
    path.runs(3.0, |path| {
        extra = extra.min(path.shows("extra_acked_packets"));
        false
    });
    assert!(extra >= 14.0, "{extra}");
    assert!(path.sender.cc.cwnd() >= 2.0 * 66.6 + 14.0, "{}", path.sender.cc.cwnd());
    let used = (path.sender.progress.una - before) as f64 * BITS / 3.0 / 20e6;
    assert!(used > 0.95, "{used}");
}

/// 64 kbit/s and 40 ms: a fifth of a segment.
#[test]
fn correctly_managing_sub_packet_bdps() {
    let mut path = Path::steady();
    path.rate_bps = 64e3;
    path.reaches(CRUISE, 60.0);
    path.runs(30.0, |path| {
        assert!(path.sender.cc.cwnd() >= 4.0);
        false
    });
    assert!((path.shows("max_bw_bps") / 64e3 - 1.0).abs() < 0.02, "{}", path.shows("max_bw_bps"));
    let before = path.sender.progress.una;
    path.runs(30.0, |_| false);
    let used = (path.sender.progress.una - before) as f64 * BITS / 30.0 / 64e3;
    assert!(used > 0.97, "{used}");
}

/// 10 Mbit/s and a buffer of a BDP, 33 segments, in which Startup finds its bound; then 100 Mbit/s and a buffer of a BDP of that.
#[test]
fn increasing_bandwidth_10x_and_ensuring_full_bandwidth_is_reached() {
    let mut path = Path::steady();
    (path.rate_bps, path.buffer) = (10e6, 33);
    path.reaches(CRUISE, 5.0);
    assert!(path.shows("inflight_longterm_packets").is_finite());
    path.buffer = 333;
    path.changes_to(100e6);
    path.reaches(UP, 6.0);
    let (mut round, mut longterm) = (path.sender.round, Vec::new());
    let begun = round;
    assert!(path.runs(5.0, |path| {
        if std::mem::replace(&mut round, path.sender.round) != path.sender.round {
            longterm.push(path.shows("inflight_longterm_packets"));
        }
        path.shows("max_bw_bps") > 0.98 * 100e6
    }));
    let steps: Vec<f64> = longterm.windows(2).map(|pair| pair[1] - pair[0]).filter(|&step| step > 0.0).collect();
    assert!(steps.len() >= 5 && steps.windows(2).take(4).all(|pair| pair[1] >= 1.5 * pair[0]), "{steps:?}");
    // 333 segments are 2^8.4.
    assert!(path.sender.round - begun <= 20, "{} rounds", path.sender.round - begun);
}

#[test]
fn decreasing_bandwidth_10x_and_ensuring_max_bandwidth_adapts_down() {
    let mut path = Path::steady();
    (path.rate_bps, path.buffer) = (100e6, 333);
    path.reaches(CRUISE, 5.0);
    path.buffer = 33;
    path.changes_to(10e6);
    // 0.7 a round: a tenth in seven.
    assert!(path.runs(2.0, |path| path.shows("bw_bps") < 15e6), "{}", path.shows("bw_bps"));
    assert!(path.shows("max_bw_bps") > 90e6);
    assert!(path.runs(12.0, |path| path.shows("max_bw_bps") < 1.02 * 10e6), "{}", path.shows("max_bw_bps"));
}

/// A policer of 10 Mbit/s and 100 segments on a link of 100 Mbit/s.
#[test]
fn handling_token_bucket_policers() {
    let mut path = Path::steady();
    path.rate_bps = 100e6;
    (path.policer, path.tokens) = (Some((10e6 / BITS, 100.0)), (100.0, 0));
    let mut adapts = false;
    path.runs(10.0, |path| {
        adapts |=
            path.shows("bw_bps") < path.shows("max_bw_bps") && path.shows("inflight_shortterm_packets").is_finite();
        false
    });
    assert!(adapts);
    let (sent, drops, una) = (path.sent, path.drops, path.sender.progress.una);
    path.runs(20.0, |_| false);
    let lost = (path.drops - drops) as f64 / (path.sent - sent) as f64;
    let goodput = (path.sender.progress.una - una) as f64 * BITS / 20.0;
    assert!(lost < 0.05 && goodput > 0.8 * 10e6, "{lost} {goodput}");
}

/// In UP one segment in eight comes 30 ms late: more than 2 % of the data in flight seem lost.
#[test]
fn handling_spurious_fast_recovery() {
    let mut path = Path::steady();
    path.reaches(UP, 6.0);
    path.late = Some((8, 30 * MS));
    assert!(path.runs(1.0, |path| path.phase() != UP));
    assert_eq!(path.phase(), DOWN);
    assert!(path.shows("inflight_longterm_packets").is_finite());
    path.late = None;
    assert!(path.runs(1.0, |path| path.phase() == REFILL), "undone: it probes again");
    assert!(path.shows("inflight_longterm_packets").is_nan() && path.shows("inflight_shortterm_packets").is_nan());
    assert!(path.drops == 0 && path.sender.meter.events.retransmits > 0);
    path.reaches(UP, 1.0);
}

/// In UP nothing arrives for a second.
#[test]
fn handling_spurious_rto_recovery() {
    let mut path = Path::steady();
    path.reaches(UP, 6.0);
    path.held_until = path.now + SECOND;
    assert!(path.runs(3.0, |path| path.sender.meter.events.timeouts > 0 && path.phase() == REFILL));
    assert!(path.shows("inflight_longterm_packets").is_nan() && path.shows("inflight_shortterm_packets").is_nan());
    assert_eq!(path.drops, 0);
    path.reaches(UP, 2.0);
}

#[test]
fn entering_and_exiting_probe_rtt_during_startup() {
    let mut path = Path::bbr3();
    path.limit(500.0);
    path.reaches(PROBE_RTT, 6.0);
    assert!(path.runs(2.0, |path| path.phase() != PROBE_RTT));
    assert_eq!(path.phase(), STARTUP);
    path.resume();
    assert!(path.runs(4.0, |path| path.phase() == CRUISE));
    assert!((path.shows("max_bw_bps") / 20e6 - 1.0).abs() < 0.02);
}

/// A buffer of a BDP, in which Startup finds its bound; then every tenth segment is lost in UP.
#[test]
fn handling_loss_during_probe_up_after_inflight_longterm_is_set() {
    let mut path = Path::steady();
    path.buffer = 67;
    path.reaches(UP, 6.0);
    let before = path.shows("inflight_longterm_packets");
    let least = 0.7 * path.bdp().min(path.sender.cc.cwnd());
    path.loses_one_in = 10;
    assert!(path.runs(1.0, |path| path.phase() != UP));
    let after = path.shows("inflight_longterm_packets");
    assert_eq!(path.phase(), DOWN);
    assert!(before.is_finite() && after < before && after >= least - 1.0, "{before} {after} {least}");
}

#[test]
fn handling_application_limited_sending_during_probe_refill() {
    let mut path = Path::steady();
    path.reaches(REFILL, 6.0);
    let bw = path.shows("max_bw_bps");
    path.limit(300.0);
    path.reaches(UP, 1.0);
    assert_eq!(path.shows("max_bw_bps"), bw);
    path.resume();
    assert!(path.runs(2.0, |path| path.phase() == DOWN));
    assert!((path.shows("max_bw_bps") / 20e6 - 1.0).abs() < 0.02);
}

/// Section 8 of RFC 9743's worry: BBRv1 alone hardly heeds losses. One segment in ten is lost, and nine tenths of the link are used; BBRv3, whose
/// threshold is 2 %, gives way.
#[test]
fn the_first_bbr_heeds_no_losses() {
    let used = ["bbr", "bbr3"].map(|algorithm| {
        let mut path = Path::of(algorithm, &[], 1);
        path.loses_one_in = 10;
        path.runs(10.0, |_| false);
        let before = path.sender.progress.una;
        path.runs(10.0, |_| false);
        (path.sender.progress.una - before) as f64 * BITS / 10.0 / 20e6
    });
    assert!(used[0] > 0.8 && used[1] < 0.8 * used[0], "{used:?}");
}

/// ProbeRTT of BBRv1 takes 200 ms, and up to a round trip in which the data in flight leaves, every 10 s: 2.4 %. A
/// round trip has 40 ms, and a quarter of that more after a phase of 5/4.
#[test]
fn what_probe_rtt_of_the_first_bbr_takes() {
    let mut path = Path::of("bbr", &[], 1);
    path.reaches(3.0, 11.0);
    let begun = path.now;
    assert!(path.runs(1.0, |path| path.phase() != 3.0));
    let took = path.now - begun;
    path.reaches(3.0, 11.0);
    let every = path.now - begun;
    assert!((200 * MS..=250 * MS).contains(&took), "{took}");
    assert!((10 * SECOND + took..10_100 * MS + took).contains(&every), "{every}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// Nothing is sent faster than the pacing rate, a quantum aside, whatever the path does.
    #[test]
    fn nothing_is_sent_faster_than_the_pacing_rate(
        algorithm in prop::sample::select(&["bbr", "bbr3"]),
        rate_bps in 0.1e6..50e6,
        buffer in 1usize..200,
        one_in in prop_oneof![Just(0), 2u64..200],
        aggregation in prop_oneof![Just(0), 1u64..30],
        late in prop_oneof![Just(None), (2u64..50, 1u64..100).prop_map(Some)],
        change in 0.05..20.0,
        seed in any::<u64>(),
    ) {
        let mut path = Path::of(algorithm, &[], seed);
        (path.rate_bps, path.buffer, path.loses_one_in, path.aggregation) = (rate_bps, buffer, one_in, aggregation * MS);
        path.late = late.map(|(one_in, ms)| (one_in, ms * MS));
        path.runs(1.5, |_| false);
        path.changes_to(rate_bps * change);
        path.runs(1.5, |_| false);
        // A part of a segment: the rate may have changed between the sending of one and the leave for the next.
        prop_assert!(path.sent > 10 && path.pace.worst < 1.0, "{} segments ahead", path.pace.worst);
    }
}
