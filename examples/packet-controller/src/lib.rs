//! AIMD at packet level, as a shared library.

use fullpipe_abi::packets::{Acked, Lost, PacketControl, Path, Rtt};
use fullpipe_abi::{Controller, Start};
use std::ffi::CStr;

struct Aimd {
    window: u64,
    recovery_end: u64,
}

impl PacketControl for Aimd {
    fn window_bytes(&self) -> u64 {
        self.window
    }

    fn on_packets_acked(&mut self, path: &Path, acked: &[Acked], _: Option<Rtt>) {
        if path.cwnd_limited && !path.in_recovery {
            let bytes: u64 = acked.iter().map(|packet| packet.sent.bytes).sum();
            self.window += path.datagram * bytes / self.window;
        }
    }

    fn on_packets_lost(&mut self, path: &Path, lost: &[Lost], _: bool) {
        if lost.last().is_some_and(|newest| newest.sent.number >= self.recovery_end) {
            self.window = (self.window / 2).max(2 * path.datagram);
            self.recovery_end = path.next_packet;
        }
    }
}

impl Controller for Aimd {
    const NAME: &'static CStr = c"rust-aimd";

    fn create(start: &Start, _: &[f64]) -> Aimd {
        Aimd { window: start.initial_window, recovery_end: 0 }
    }
}

fullpipe_abi::export!(Aimd);
