//! Events of the packet-level interface that reach s2n-quic's trait.

use fullpipe_abi::packets::{Acked, PacketControl, Path, Sent};
use fullpipe_s2n_quic::Control;
use s2n_quic_core::recovery::cubic::{CubicCongestionController, builder::Builder};

const MS: u64 = 1_000_000;

fn cubic() -> Control<CubicCongestionController> {
    Control::new(Builder::default().build(), 1000, None, 1)
}

/// RFC 9002 section 7.2: the initial window is ten datagrams. If their size changes, it "SHOULD be recalculated with the new size".
#[test]
fn datagrams_of_another_size_change_the_window() {
    let mut control = cubic();
    assert_eq!(control.window_bytes(), 10_000);
    control.on_mtu(&Path::default(), 900);
    assert_eq!(control.window_bytes(), 9_000);
}

/// RFC 9002 section 7.8: a window that is not used does not grow. s2n-quic takes half of it for used in slow start.
#[test]
fn discarded_bytes_use_no_window() {
    let grown = |discarded: u64| {
        let (mut control, mut path) = (cubic(), Path::default());
        (path.now, path.app_limited) = (MS, true);
        let packet = |number| Sent { number, bytes: 1000, sent_at: MS, ..Sent::default() };
        (0..5).for_each(|number| control.on_packet_sent(&path, &packet(number)));
        control.on_discarded(&path, discarded);
        control.on_packet_sent(&path, &packet(5));
        path.now = 40 * MS;
        control.on_packets_acked(&path, &[Acked { sent: packet(5), acked_at: path.now, rate: None }], None);
        control.window_bytes() - 10_000
    };
    assert_eq!((grown(0), grown(4000)), (1000, 0));
}
