//! Allowed values of a scenario. Wide enough for any network; they catch slips of unit and keep the arithmetic exact.

use fullpipe_cc::Nanos;
use fullpipe_cc::time::{MICROSECOND, MILLISECOND, SECOND};
use std::ops::RangeInclusive;

/// The longest run.
pub const LONGEST: Nanos = 1_000_000 * SECOND;
/// Lengths of time that must pass: duration, gaps, timeouts.
pub const SPAN: RangeInclusive<Nanos> = MICROSECOND..=LONGEST;
/// Points in time.
pub const MOMENT: RangeInclusive<Nanos> = 0..=LONGEST;
/// One-way delays.
pub const DELAY: RangeInclusive<Nanos> = 0..=100 * SECOND;
/// Seeds of random numbers; TOML's whole numbers end there.
pub const SEED: RangeInclusive<u64> = 0..=i64::MAX as u64;
/// Seed of a scenario without `seed`.
pub const DEFAULT_SEED: u64 = 1;
/// ECT(0) and ECT(1).
pub const ECT: RangeInclusive<u64> = 0..=1;
/// Delayed ACKs: RFC 1122 section 4.2.3.2 allows at most half a second.
pub const ACK_DELAY: RangeInclusive<Nanos> = MICROSECOND..=500 * MILLISECOND;
/// Segments for an ACK of TCP.
pub const TCP_ACK_EVERY: RangeInclusive<u64> = 1..=1000;
/// ACK delay of TCP with such a number, more than RFC 1122 allows.
pub const TCP_ACK_DELAY: RangeInclusive<Nanos> = 0..=2 * SECOND;
/// ACK delay of QUIC: RFC 9000 section 18.2 allows less than 2^14 ms.
pub const QUIC_ACK_DELAY: RangeInclusive<Nanos> = 0..=16_383 * MILLISECOND;
/// Packets for an ACK of QUIC.
pub const ACK_EVERY: RangeInclusive<u64> = 1..=1_000_000;
/// Reordering thresholds of QUIC.
pub const ACK_REORDER: RangeInclusive<u64> = 0..=1_000_000;
/// Least retransmission timeouts.
pub const MIN_RTO: RangeInclusive<Nanos> = MICROSECOND..=100 * SECOND;
/// Timestamp clocks: RFC 7323 section 5.4 allows at most a second.
pub const TICK: RangeInclusive<Nanos> = 0..=SECOND;
/// Processing time of a host.
pub const PROCESSING: RangeInclusive<Nanos> = 0..=SECOND;
/// Rates, bits per second.
pub const RATE: RangeInclusive<u64> = 1..=10_000_000_000_000;
/// Data packets, bytes: more than an ACK, at most an IP datagram.
pub const PACKET: RangeInclusive<u64> = 41..=65_535;
/// ACKs and UDP packets, bytes.
pub const SMALL_PACKET: RangeInclusive<u64> = 1..=65_535;
/// Buffers and transfers in packets, and windows.
pub const PACKETS: RangeInclusive<u64> = 1..=1_000_000_000_000;
/// Buffers and transfers in bytes.
pub const BYTES: RangeInclusive<u64> = 1..=1_000_000_000_000_000;
/// Buffers in time.
pub const BUFFER_TIME: RangeInclusive<Nanos> = 1..=LONGEST;
/// First windows, segments.
pub const INITIAL_WINDOW: RangeInclusive<u64> = 1..=1_000_000;
/// Windows that a connection saves, and that careful resume jumps to, segments.
pub const SAVED_WINDOW: RangeInclusive<u64> = 1..=1_000_000_000;
/// Headers that a tunnel adds, bytes.
pub const OVERHEAD: RangeInclusive<u64> = 1..=1000;
/// Time between path MTU probes.
pub const MTU_PROBES: RangeInclusive<Nanos> = MILLISECOND..=LONGEST;
/// RTT that a connection saves.
pub const SAVED_RTT: RangeInclusive<Nanos> = MICROSECOND..=100 * SECOND;
/// Rates of a schedule: 0 is an outage.
pub const CHANGED_RATE: RangeInclusive<u64> = 0..=*RATE.end();
/// Changes of a schedule.
pub const MOST_CHANGES: usize = 100_000;
/// Rows of a trace of delays or losses.
pub const MOST_SAMPLES: usize = 1_000_000;
/// Packets that a link loses by their numbers.
pub const MOST_DROPPED: usize = 1_000_000;
/// Opportunities of a trace.
pub const MOST_OPPORTUNITIES: usize = 10_000_000;
/// Times of a trace, milliseconds: as long as [`LONGEST`].
pub const TRACE_TIMES_MS: RangeInclusive<u64> = 0..=1_000_000_000;
/// Mean of the Wi-Fi jitter: that of its short delays, and that of a long one for every packet.
pub const WIFI_MEAN: RangeInclusive<Nanos> = MILLISECOND..=91 * MILLISECOND;
/// Additional delay of a reordered packet, and the interval of aggregated departures.
pub const WAIT: RangeInclusive<Nanos> = 1..=100 * SECOND;
/// Phase of an aggregation.
pub const PHASE: RangeInclusive<Nanos> = 0..=100 * SECOND;
/// Links of a scenario.
pub const MOST_LINKS: usize = 10_000;
/// Links of a path: there and back at most 254, as many routers as an IP packet may cross (RFC 791 section 3.2), which packets
/// count in 8 bits.
pub const LONGEST_PATH: usize = 127;
/// Web transfers a second: from one in [`LONGEST`] on average.
pub const TRANSFERS_PER_SECOND: RangeInclusive<f64> = 1e-6..=1e6;
/// Frames a second, as seldom and as often.
pub const FRAMES_PER_SECOND: RangeInclusive<f64> = TRANSFERS_PER_SECOND;
/// Playing time of a video segment.
pub const SEGMENT: RangeInclusive<Nanos> = 10 * MILLISECOND..=60 * SECOND;
/// Playing time that a video player holds.
pub const PLAYER_BUFFER: RangeInclusive<Nanos> = 20 * MILLISECOND..=1000 * SECOND;
/// Segments that a video player has before it plays.
pub const STARTUP: RangeInclusive<u64> = 1..=100;
/// Rates of a video.
pub const MOST_RATES: usize = 64;
/// Delay after which a frame is late.
pub const DEADLINE: RangeInclusive<Nanos> = MICROSECOND..=100 * SECOND;
/// Frames from one key frame to the next.
pub const KEY_EVERY: RangeInclusive<u64> = 1..=1_000_000;
/// Flows, sources and users in one group.
pub const COUNT: RangeInclusive<u64> = 1..=MOST_ENTITIES;
/// Flows, sources and users in a scenario.
pub const MOST_ENTITIES: u64 = 1_000_000;
/// Rows of the time series a scenario may ask for.
pub const MOST_ROWS: u64 = 100_000_000;
