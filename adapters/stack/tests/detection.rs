//! Loss detection of the simulator's QUIC transport on the packets and ACKs of quinn's stack, beside quinn's own.

use fullpipe_stack::detection::{CASES, Difference, of_transport};

/// Every lost packet, probe timeout, and persistent congestion, within 10 ns: quinn takes 9/8 of the RTT in single precision.
#[test]
fn the_transport_declares_what_quinn_declares() {
    let (mut lost, mut by_time, mut timeouts, mut persistent) = (0, 0, 0, 0);
    for case in CASES {
        let mut difference = Difference::default();
        for trace in case.record() {
            let ours = of_transport(&trace);
            difference.add(&trace.quinn, &ours);
            lost += trace.quinn.lost.len();
            by_time += ours.by_time;
            timeouts += trace.quinn.timeouts.len();
            persistent += trace.quinn.persistent.len();
        }
        assert_eq!(difference.differing, 0, "{}", case.name);
        assert!(difference.apart_ns <= 10, "{}: {difference:?}", case.name);
    }
    assert!(
        lost > 1000 && by_time > 50 && timeouts > 100 && persistent > 10,
        "{lost} {by_time} {timeouts} {persistent}"
    );
}
