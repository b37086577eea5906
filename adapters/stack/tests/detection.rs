//! Loss detection of the simulator's QUIC transport on the packets and ACKs of quinn's stack, beside quinn's and s2n-quic's.

use fullpipe_stack::detection::{CASES, Difference, of_s2n, of_transport};

/// quinn: every lost packet, probe timeout, and persistent congestion within 10 ns, since it takes 9/8 of the RTT in single precision.
/// s2n-quic: its timers may expire a millisecond early, so that a packet which arrives in that time is lost there.
#[test]
fn the_transport_declares_what_quinn_and_s2n_declare() {
    let (mut lost, mut by_time, mut timeouts, mut persistent) = (0, 0, 0, 0);
    let mut from_s2n = Difference::default();
    for case in CASES {
        let mut from_quinn = Difference::default();
        for trace in case.record() {
            let ours = of_transport(&trace);
            from_quinn.add(&trace.quinn, &ours);
            from_s2n.add(&of_s2n(&trace), &ours);
            lost += ours.lost.len();
            by_time += ours.by_time;
            timeouts += ours.timeouts.len();
            persistent += ours.persistent.len();
        }
        assert_eq!(from_quinn.differing, 0, "{}", case.name);
        assert!(from_quinn.apart_ns <= 10, "{}: {from_quinn:?}", case.name);
    }
    assert!(from_s2n.differing <= 10, "{from_s2n:?}");
    assert!(
        lost > 1000 && by_time > 50 && timeouts > 100 && persistent > 10,
        "{lost} {by_time} {timeouts} {persistent}"
    );
}
