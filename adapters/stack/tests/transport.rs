//! quinn's whole stack over the links, beside the QUIC transport of the simulator with the same controller of quinn's.

use fullpipe_stack::comparison::{CASES, of_stack, of_transport};

/// Goodput within 3 %, and loss within a factor of 1.3.
#[test]
fn the_transport_has_the_goodput_and_the_loss_of_quinns_stack() {
    for (name, link) in CASES {
        let (stack, ours) = (of_stack(name, link), of_transport(name, link));
        let goodput = ours.goodput_bps / stack.goodput_bps;
        assert!((0.97..1.03).contains(&goodput), "{name}, {link}: {stack:?} and {ours:?}");
        let equal = (1.0 / 1.3..1.3).contains(&(ours.loss / stack.loss)) || (stack.loss == 0.0 && ours.loss == 0.0);
        assert!(equal, "{name}, {link}: {stack:?} and {ours:?}");
    }
}
