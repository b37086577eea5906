//! Packet-level congestion control: one call for each packet sent, each ACK, each loss, in bytes and nanoseconds. QUIC stacks work so.
//!
//! A controller implements [`PacketControl`]. Three methods are required. The transport keeps all counters ([`Path`]),
//! so that a controller needs no packet map. AIMD:
//!
//! ```
//! use fullpipe_cc::packets::{Acked, Lost, PacketControl, Path, Rtt};
//!
//! struct Aimd { window: u64, recovery_end: u64 }
//!
//! impl PacketControl for Aimd {
//!     fn on_packets_acked(&mut self, path: &Path, acked: &[Acked], _: Option<Rtt>) {
//!         let bytes: u64 = acked.iter().map(|packet| packet.sent.bytes).sum();
//!         if path.cwnd_limited && !path.in_recovery {
//!             self.window += path.datagram * bytes / self.window;
//!         }
//!     }
//!
//!     fn on_packets_lost(&mut self, path: &Path, lost: &[Lost], _: bool) {
//!         if lost.iter().any(|packet| packet.sent.number >= self.recovery_end) {
//!             self.window = (self.window / 2).max(2 * path.datagram);
//!             self.recovery_end = path.next_packet;
//!         }
//!     }
//!
//!     fn window_bytes(&self) -> u64 {
//!         self.window
//!     }
//! }
//! ```
//!
//! Units: times are nanoseconds since the connection began or on the sender's clock, sizes are bytes, rates are bytes per second.
//! [`Packets`] makes an algorithm of a controller that any sender of this crate can drive.

mod adapter;
mod control;
mod newreno;
mod record;

pub use adapter::{PHASES, Packets};
pub use control::{Event, PacketControl, Path};
pub use newreno::NewReno;
pub use record::{Acked, Lost, LostBy, RateSample, Rtt, Sent};
