//! Calls of a program as the kernel makes them: events of the simulator's sender ([`CongestionControl`]) in the kernel's terms.
//!
//! Of an ACK: `in_ack_event`; `pkts_acked`; then `cong_control`, or outside recovery `cong_avoid`. Of a segment found lost: `skb_marked_lost`. Of a
//! loss, a mark or a timeout: `ssthresh`, then `set_state`. The end of an episode: the window is the threshold, `cwnd_event` (`CA_EVENT_COMPLETE_CWR`), `set_state`. `init` and
//! `CA_EVENT_TX_START` at the beginning, `undo_cwnd` where a loss was none, `min_tso_segs` or `tso_segs` where segments are paced.
//!
//! # Deviations and choices
//!
//! - The simulator controls the window in recovery (with proportional rate reduction if the scenario has it). The program
//!   sees the window at its threshold from the loss on; in a kernel the window shrinks to it. A program with `cong_control`
//!   controls the window itself, as in a kernel.
//! - `cong_avoid` receives the number of window increases of the ACK as acknowledged segments: 1, or the ACK's segments if
//!   the scenario counts them (`host = "linux"` does).
//! - Variables and arrays are shared between the connections of a kernel; here each connection has its own.
//! - The clock begins with the connection, at 1000 s, and `CONFIG_HZ` is 250, as Debian has it.
//! - The receiver's timestamps begin anywhere among the 2^32, as a kernel's do (RFC 7323, section 5.4): where is drawn for each connection.
//! - Positions count bytes, `mss_cache` to a segment: its bytes on the wire less 66 of headers (Ethernet, IPv4, TCP,
//!   timestamps), as with the Linux engine.
//! - The least RTT is the connection's, where a kernel forgets after five minutes.
//! - A program with `cong_control` finds `is_cwnd_limited` as a kernel's own check of the window gives it, and `tcp_wstamp_ns` as the rate and
//!   the burst give it.
//! - Of kernels with BBRv3 `skb_marked_lost`, `tso_segs`, `CA_EVENT_TLP_RECOVERY` and the members of `rate_sample` that BBRv3 reads are there, but
//!   for `is_acking_tlp_retrans_seq`, `is_ack_delayed` and the marks of a sample (`delivered_ce` counts those of the ACK).
//! - `ecn_flags` reports ECN as negotiated, even if the scenario has it off; then there are no marks.
//! - `sndbuf_expand` and `release` are not called: nothing here depends on either.

use crate::error::Fault;
use crate::load::Program;
use crate::run::Machine;
use crate::target::{Field, HZ, size_of};
use fullpipe_cc::random::mix;
use fullpipe_cc::time::{MICROSECOND, MILLISECOND, SECOND};
use fullpipe_cc::{Ack, CongestionControl, Flow, Lost, Nanos, RateSample, Signal, Start};
use std::fmt::{self, Display};
use std::sync::{Arc, LazyLock};

mod events;

/// The clock when a connection begins: no kernel's clock is at 0, which programs take for "never".
const BEGINNING: Nanos = 1000 * SECOND;
/// Bytes of headers in a segment: Ethernet, IPv4, TCP, timestamps.
const HEADERS: u32 = 66;
/// The threshold before the first loss.
const INFINITE_SSTHRESH: u64 = 0x7fff_ffff;
/// The first position; 0 is for programs that take it for "never".
const FIRST: u32 = 1;

/// `enum tcp_ca_state`.
mod state {
    pub const OPEN: u64 = 0;
    pub const CWR: u64 = 2;
    pub const RECOVERY: u64 = 3;
    pub const LOSS: u64 = 4;
}

/// `enum tcp_ca_event`.
mod event {
    pub const TX_START: u64 = 0;
    pub const COMPLETE_CWR: u64 = 2;
    pub const LOSS: u64 = 3;
    pub const TLP_RECOVERY: u64 = 6;
}

/// `enum tcp_ca_ack_event_flags`.
mod flag {
    pub const SLOW_PATH: u64 = 1;
    pub const WINDOW_UPDATE: u64 = 2;
    pub const ECHO: u64 = 4;
}

/// The places of the members in [`MEMBERS`](crate::MEMBERS).
mod member {
    pub const INIT: usize = 0;
    pub const SSTHRESH: usize = 2;
    pub const CONG_AVOID: usize = 3;
    pub const SET_STATE: usize = 4;
    pub const CWND_EVENT: usize = 5;
    pub const IN_ACK_EVENT: usize = 6;
    pub const PKTS_ACKED: usize = 7;
    pub const MIN_TSO_SEGS: usize = 8;
    pub const CONG_CONTROL: usize = 9;
    pub const UNDO_CWND: usize = 10;
    pub const TSO_SEGS: usize = 12;
    pub const SKB_MARKED_LOST: usize = 13;
}

macro_rules! fields {
    ($name:ident: $record:literal { $($field:ident = $path:literal,)* }) => {
        struct $name { $($field: Field,)* }

        impl $name {
            fn of_target() -> $name {
                $name { $($field: Field::of($record, $path),)* }
            }
        }
    };
}

fields! {
    Socket: "tcp_sock" {
        tcp_state = "inet_conn.icsk_inet.sk.__sk_common.skc_state",
        pacing_shift = "inet_conn.icsk_inet.sk.sk_pacing_shift",
        pacing_status = "inet_conn.icsk_inet.sk.sk_pacing_status",
        pacing_rate = "inet_conn.icsk_inet.sk.sk_pacing_rate",
        max_pacing_rate = "inet_conn.icsk_inet.sk.sk_max_pacing_rate",
        gso_max = "inet_conn.icsk_inet.sk.sk_gso_max_size",
        ca_state = "inet_conn.icsk_ca_state",
        ca_initialized = "inet_conn.icsk_ca_initialized",
        rcv_tsval = "rx_opt.rcv_tsval",
        rcv_tsecr = "rx_opt.rcv_tsecr",
        saw_tstamp = "rx_opt.saw_tstamp",
        tstamp_ok = "rx_opt.tstamp_ok",
        sack_ok = "rx_opt.sack_ok",
        header_len = "tcp_header_len",
        una = "snd_una",
        nxt = "snd_nxt",
        write_seq = "write_seq",
        rcv_nxt = "rcv_nxt",
        mss = "mss_cache",
        cwnd = "snd_cwnd",
        clamp = "snd_cwnd_clamp",
        ssthresh = "snd_ssthresh",
        prior_cwnd = "prior_cwnd",
        prior_ssthresh = "prior_ssthresh",
        packets_out = "packets_out",
        retrans_out = "retrans_out",
        sacked_out = "sacked_out",
        max_packets_out = "max_packets_out",
        high_seq = "high_seq",
        delivered = "delivered",
        delivered_ce = "delivered_ce",
        lost = "lost",
        app_limited = "app_limited",
        srtt = "srtt_us",
        lsndtime = "lsndtime",
        mstamp = "tcp_mstamp",
        clock_cache = "tcp_clock_cache",
        wstamp = "tcp_wstamp_ns",
        delivered_mstamp = "delivered_mstamp",
        bytes_acked = "bytes_acked",
        rtt_min = "rtt_min",
        ecn_flags = "ecn_flags",
        cwnd_limited = "is_cwnd_limited",
        tail_app_limited = "tlp_orig_data_app_limited",
    }
}

fields! {
    AckSample: "ack_sample" {
        pkts_acked = "pkts_acked",
        rtt_us = "rtt_us",
        in_flight = "in_flight",
    }
}

fields! {
    Rates: "rate_sample" {
        prior_mstamp = "prior_mstamp",
        prior_delivered = "prior_delivered",
        delivered = "delivered",
        delivered_ce = "delivered_ce",
        interval_us = "interval_us",
        rtt_us = "rtt_us",
        losses = "losses",
        acked_sacked = "acked_sacked",
        prior_in_flight = "prior_in_flight",
        is_app_limited = "is_app_limited",
        tx_in_flight = "tx_in_flight",
        lost = "lost",
        is_ece = "is_ece",
    }
}

fields! {
    LostSegment: "sk_buff" {
        stamp = "cb.tx.delivered_mstamp",
        in_flight = "cb.tx.in_flight",
        lost = "cb.tx.lost",
        is_app_limited = "cb.tx.is_app_limited",
    }
}

static SOCKET: LazyLock<Socket> = LazyLock::new(Socket::of_target);
static ACK: LazyLock<AckSample> = LazyLock::new(AckSample::of_target);
static RATES: LazyLock<Rates> = LazyLock::new(Rates::of_target);
static LOST: LazyLock<LostSegment> = LazyLock::new(LostSegment::of_target);

/// Why a connection cannot go on.
#[derive(Clone, Debug)]
enum Failure {
    Fault(Fault),
    Refused(String),
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Failure::Fault(fault) => fault.fmt(f),
            Failure::Refused(what) => what.fmt(f),
        }
    }
}

/// A connection whose window a program rules.
#[derive(Clone, Debug)]
pub struct Control {
    machine: Machine,
    fault: Option<Failure>,
    /// Offset from the simulator's clock; known after the first event.
    clock_offset: Option<i64>,
    /// Offset of the receiver's timestamps, milliseconds.
    timestamps_ahead: u32,
    mss: u32,
    delivered_ce: u32,
    /// The segments acknowledged at which a reduction or a restart is over.
    high: u64,
    /// The program rules its window and its rate alone.
    rules: bool,
    cwnd: f64,
    ssthresh: f64,
    pacing_rate: Option<f64>,
    quantum: u64,
    /// When the next segment may leave, on the machine's clock.
    departure: Nanos,
    /// When a segment was last found lost, on the sender's clock.
    last_loss: Option<Nanos>,
    usage: Usage,
    /// The program declared, at an ACK, that it sends less than the path may take.
    holds_back: bool,
}

/// How the window of a program that rules it is used, as a kernel finds it where it sends (`tcp_cwnd_validate`).
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    is_limited: bool,
    most_out: u64,
    /// The segment behind the window in which that was found.
    end: u64,
}

impl Usage {
    /// A segment leaves: a window is full, the last one's finding is too old, or more are out than it knows.
    fn note(&mut self, flow: &Flow, cwnd: f64) {
        let is_limited = flow.in_flight as f64 >= cwnd;
        let is_old = flow.delivered >= self.end;
        if is_old || is_limited || (!self.is_limited && flow.flight_size > self.most_out) {
            let end = flow.delivered + flow.flight_size;
            *self = Usage { is_limited, most_out: flow.flight_size, end };
        }
    }
}

impl Control {
    /// Connection with this start; its parameters are those of `machine`.
    pub fn new(machine: Machine, start: impl Into<Start>) -> Control {
        let start = start.into();
        let mss = start.segment_bytes.saturating_sub(HEADERS).max(1);
        let rules = machine.program().has(member::CONG_CONTROL);
        let mut control = Control {
            machine,
            fault: None,
            clock_offset: None,
            timestamps_ahead: (mix(!start.seed) >> 32) as u32,
            mss,
            delivered_ce: 0,
            high: 0,
            rules,
            cwnd: start.window,
            ssthresh: f64::INFINITY,
            pacing_rate: None,
            quantum: 1,
            departure: 0,
            last_loss: None,
            usage: Usage::default(),
            holds_back: false,
        };
        control.establish(&start);
        if let Err(fault) = control.machine.begin() {
            control.fault = Some(Failure::Fault(fault));
        }
        control.call(member::INIT, &[]);
        control.set(&SOCKET.ca_initialized, 1);
        control.call(member::CWND_EVENT, &[event::TX_START]);
        control.take_over();
        control
    }

    /// Connection that has failed from the beginning.
    pub(crate) fn refused(self, what: String) -> Control {
        Control { fault: Some(Failure::Refused(what)), ..self }
    }

    /// The socket of a connection that has just been established.
    fn establish(&mut self, start: &Start) {
        let s = &*SOCKET;
        self.machine.now = BEGINNING;
        let unlimited = u64::MAX;
        for (field, value) in [
            (&s.tcp_state, 1),
            (&s.pacing_shift, 10),
            (&s.pacing_rate, unlimited),
            (&s.max_pacing_rate, unlimited),
            (&s.gso_max, 65_536),
            (&s.saw_tstamp, 1),
            (&s.tstamp_ok, 1),
            (&s.sack_ok, u64::from(start.selective_acks)),
            (&s.header_len, 32),
            (&s.una, u64::from(FIRST)),
            (&s.nxt, u64::from(FIRST)),
            (&s.write_seq, u64::from(FIRST)),
            (&s.rcv_nxt, u64::from(FIRST)),
            (&s.mss, u64::from(self.mss)),
            (&s.cwnd, start.window as u64),
            (&s.clamp, u64::from(u32::MAX)),
            (&s.ssthresh, INFINITE_SSTHRESH),
            (&s.ecn_flags, 1),
        ] {
            self.set(field, value);
        }
        self.pass_time();
        self.set_min_rtt(start.rtt);
        self.set(&s.srtt, start.rtt.map_or(0, |rtt| 8 * microseconds(rtt)));
    }

    #[inline]
    fn set(&mut self, field: &Field, value: u64) {
        field.set(self.machine.socket_mut(), value);
    }

    #[inline]
    fn read(&self, field: &Field) -> u64 {
        field.read(self.machine.socket())
    }

    /// Calls a member with the socket and further arguments; none after the first failure.
    #[inline]
    fn call(&mut self, member: usize, rest: &[u64]) -> u64 {
        if self.fault.is_some() {
            return 0;
        }
        let mut arguments = [Machine::address_of_socket(), 0, 0, 0];
        arguments[1..=rest.len()].copy_from_slice(rest);
        self.machine.call(member, &arguments[..=rest.len()]).unwrap_or_else(|fault| {
            self.fault = Some(Failure::Fault(fault));
            0
        })
    }

    /// Clock and the fields that show it.
    fn pass_time(&mut self) {
        let s = &*SOCKET;
        let now = self.machine.now;
        let departure = self.departure;
        let socket = self.machine.socket_mut();
        s.mstamp.set(socket, now / MICROSECOND);
        s.clock_cache.set(socket, now);
        s.wstamp.set(socket, now.max(departure));
        s.lsndtime.set(socket, now / (SECOND / HZ));
    }

    /// The sender's state, in the kernel's terms.
    fn look(&mut self, flow: &Flow, rtt: Option<Nanos>) {
        let s = &*SOCKET;
        let begun = flow.now.saturating_sub(rtt.unwrap_or(0));
        let offset = *self.clock_offset.get_or_insert(BEGINNING as i64 - begun as i64);
        self.machine.now = flow.now.saturating_add_signed(offset);
        self.pass_time();
        let srtt = flow.srtt.map_or(0, |srtt| 8 * microseconds(srtt));
        let una = (flow.delivered as u32).wrapping_mul(self.mss).wrapping_add(FIRST);
        let nxt = (flow.flight_size as u32).wrapping_mul(self.mss).wrapping_add(una);
        let bytes_acked = flow.delivered.wrapping_mul(self.mss.into());
        self.set_min_rtt(flow.min_rtt);
        let cwnd_limited = if self.rules { self.usage.is_limited } else { flow.cwnd_limited };
        let socket = self.machine.socket_mut();
        s.una.set(socket, una.into());
        s.nxt.set(socket, nxt.into());
        s.write_seq.set(socket, nxt.into());
        s.bytes_acked.set(socket, bytes_acked);
        s.packets_out.set(socket, flow.flight_size);
        s.sacked_out.set(socket, flow.flight_size.saturating_sub(flow.in_flight));
        s.retrans_out.set(socket, flow.in_flight.saturating_sub(flow.flight_size));
        s.lost.set(socket, flow.lost);
        s.srtt.set(socket, srtt);
        s.cwnd_limited.set(socket, cwnd_limited.into());
        s.app_limited.set(socket, if flow.app_limited { (flow.delivered + flow.in_flight).max(1) } else { 0 });
    }

    /// Three samples in descending age; one is known. Where none is, the kernel has the greatest number.
    fn set_min_rtt(&mut self, rtt: Option<Nanos>) {
        let at = SOCKET.rtt_min.at;
        let value = rtt.map_or(u32::MAX, |rtt| microseconds(rtt) as u32).to_le_bytes();
        let stamp = ((self.machine.now / MILLISECOND) as u32).to_le_bytes();
        for sample in self.machine.socket_mut()[at..at + SOCKET.rtt_min.size].chunks_exact_mut(8) {
            sample[..4].copy_from_slice(&stamp);
            sample[4..].copy_from_slice(&value);
        }
    }

    fn set_state(&mut self, next: u64) {
        self.call(member::SET_STATE, &[next]);
        self.set(&SOCKET.ca_state, next);
    }

    /// Asks for the threshold, as at the beginning of every episode.
    fn cut(&mut self, flow: &Flow) {
        let s = &*SOCKET;
        let (cwnd, ssthresh, nxt) = (self.read(&s.cwnd), self.read(&s.ssthresh), self.read(&s.nxt));
        self.set(&s.prior_cwnd, cwnd);
        self.set(&s.prior_ssthresh, ssthresh);
        self.set(&s.high_seq, nxt);
        self.high = flow.delivered + flow.flight_size;
        let ssthresh = self.call(member::SSTHRESH, &[]);
        self.set(&s.ssthresh, ssthresh);
    }

    /// The window goes to the threshold, unless the program rules it alone.
    fn reduce(&mut self) {
        if !self.rules {
            let ssthresh = self.read(&SOCKET.ssthresh);
            self.set(&SOCKET.cwnd, ssthresh);
        }
    }

    /// The episode is over.
    fn open(&mut self) {
        if matches!(self.read(&SOCKET.ca_state), state::RECOVERY | state::CWR) {
            self.reduce();
            if !self.rules {
                self.call(member::CWND_EVENT, &[event::COMPLETE_CWR]);
            }
        }
        self.set_state(state::OPEN);
    }

    /// Windows and rate that the program has set.
    fn take_over(&mut self) {
        let s = &*SOCKET;
        self.cwnd = self.read(&s.cwnd) as f64;
        let ssthresh = self.read(&s.ssthresh);
        self.ssthresh = if ssthresh >= INFINITE_SSTHRESH { f64::INFINITY } else { ssthresh as f64 };
        if !self.rules && self.read(&s.pacing_status) == 0 {
            return;
        }
        if !self.rules {
            self.set_kernels_rate();
        }
        let rate = self.read(&s.pacing_rate).min(self.read(&s.max_pacing_rate));
        self.pacing_rate = Some(rate as f64 / f64::from(self.mss));
        if self.machine.program().has(member::TSO_SEGS) {
            let mss = self.mss.into();
            self.quantum = u64::from(self.call(member::TSO_SEGS, &[mss]) as u32).max(1);
            return;
        }
        let least = if self.machine.program().has(member::MIN_TSO_SEGS) {
            self.call(member::MIN_TSO_SEGS, &[]) as u32
        } else {
            2
        };
        let burst = (rate >> self.read(&s.pacing_shift).min(63)).min(self.read(&s.gso_max)) / u64::from(self.mss);
        self.quantum = burst.max(least.into()).max(1);
    }

    /// Rate that a kernel sets for programs that set none: twice the window a round trip in slow start, 1.2 times it later.
    fn set_kernels_rate(&mut self) {
        let s = &*SOCKET;
        let (cwnd, srtt) = (self.read(&s.cwnd), self.read(&s.srtt));
        if srtt == 0 {
            return;
        }
        let percent = if cwnd < self.read(&s.ssthresh) / 2 { 200 } else { 120 };
        let window = u128::from(cwnd.max(self.read(&s.packets_out))) * u128::from(self.mss);
        let rate = window * 8 * 1_000_000 * percent / 100 / u128::from(srtt);
        self.set(&s.pacing_rate, rate.min(u128::from(u64::MAX)) as u64);
    }

    /// A segment leaves. The next one may leave after the interval of the rate, or a quantum after a whole quantum.
    fn note_departure(&mut self) {
        let Some(rate) = self.pacing_rate.filter(|&rate| rate > 0.0) else { return };
        let (now, gap) = (self.machine.now, SECOND as f64 / rate);
        let longest = (self.quantum as f64 * gap) as Nanos;
        self.departure = (self.departure.max(now) + gap as Nanos).min(now + longest);
    }

    fn tell_of_rates(&mut self, flow: &Flow, ack: &Ack) {
        let (r, ack_sequence) = (&*RATES, self.read(&SOCKET.una));
        let now_us = self.machine.now / MICROSECOND;
        let before = flow.in_flight + ack.acked + ack.newly_lost;
        let sample = &mut self.machine.sample_mut()[..size_of_rates()];
        sample.fill(0);
        r.losses.set(sample, ack.newly_lost);
        r.delivered_ce.set(sample, ack.ce);
        r.rtt_us.set(sample, ack.rtt.map_or(u64::MAX, microseconds));
        r.acked_sacked.set(sample, ack.acked);
        r.prior_in_flight.set(sample, before);
        let unknown = (-1i64) as u64;
        match ack.rate {
            Some(rate) => {
                let RateSample { delivered, prior_delivered, newly_delivered, interval, is_app_limited, .. } = rate;
                // Of the newest segment, as a kernel has it, and not of the one that the ACK echoes.
                r.rtt_us.set(sample, rate.rtt.map_or(u64::MAX, microseconds));
                r.tx_in_flight.set(sample, rate.tx_in_flight);
                r.lost.set(sample, rate.lost);
                r.is_ece.set(sample, u64::from(ack.ce > 0));
                let interval_us = interval.map(microseconds);
                r.prior_mstamp.set(sample, now_us.saturating_sub(interval_us.unwrap_or(0)));
                r.prior_delivered.set(sample, prior_delivered);
                r.delivered.set(sample, delivered);
                r.acked_sacked.set(sample, newly_delivered);
                r.prior_in_flight.set(sample, flow.in_flight + newly_delivered + ack.newly_lost);
                r.interval_us.set(sample, interval_us.unwrap_or(unknown));
                r.is_app_limited.set(sample, is_app_limited.into());
            }
            None => {
                r.delivered.set(sample, unknown);
                r.interval_us.set(sample, unknown);
            }
        }
        let address = Machine::address_of_sample();
        if self.machine.program().control_takes_four {
            self.call(member::CONG_CONTROL, &[ack_sequence, 0, address]);
        } else {
            self.call(member::CONG_CONTROL, &[address]);
        }
    }
}

fn size_of_rates() -> usize {
    static SIZE: LazyLock<usize> = LazyLock::new(|| size_of("rate_sample"));
    *SIZE
}

/// Rounded.
fn microseconds(nanos: Nanos) -> u64 {
    (nanos + MICROSECOND / 2) / MICROSECOND
}

/// A connection with this program and its own defaults.
pub fn begin(program: &Arc<Program>, start: Start) -> Control {
    Control::new(Machine::new(Arc::clone(program), start.seed), start)
}
