//! Events of the packet-level interface that reach quinn's trait.

use fullpipe_abi::packets::{Lost, PacketControl, Path};
use fullpipe_quinn::Control;
use quinn_proto::congestion::NewRenoConfig;
use std::sync::Arc;

/// RFC 9002 section 7.2: the least window is two datagrams, also if their size changes.
#[test]
fn larger_datagrams_have_a_larger_least_window() {
    let mut control = Control::new(Arc::new(NewRenoConfig::default()), 1000, None, 1);
    control.on_packets_lost(&Path::default(), &[Lost::default()], true);
    assert_eq!(control.window_bytes(), 2000);
    control.on_mtu(&Path::default(), 1400);
    assert_eq!(control.window_bytes(), 2800);
}
