//! Sending: new segments and retransmissions, as far as window and pacer allow.

use super::Sender;
use crate::transport::pacing;
use crate::transport::policy::Policy;
use crate::transport::progress::Phase;
use crate::transport::repair::{Any, Repair};
use fullpipe_cc::Nanos;
use std::ops::Range;

impl<P: Policy> Sender<P> {
    /// Fast path: new segments that may be sent at `now`. The caller sends them.
    #[inline(always)]
    pub fn new_segments(&mut self, now: Nanos) -> Range<u64> {
        let window = self.window();
        let progress = &mut self.progress;
        let flight_size = progress.flight_size();
        let room = window.min(u64::from(progress.max_window)).saturating_sub(flight_size);
        let count = room.min(progress.end.saturating_sub(progress.nxt));
        progress.cwnd_limited = flight_size + count >= window;
        let first = progress.nxt;
        if count > 0 {
            progress.nxt += count;
            progress.high = progress.nxt;
            if self.rto_at == Nanos::MAX {
                self.rto_at = now + self.rtt.timeout();
            }
        }
        #[cfg(feature = "record")]
        (first..self.progress.nxt).for_each(|seq| crate::record::sent(now, seq));
        first..self.progress.nxt
    }

    /// General path: next segment that may be sent at `now`. Call it until it returns `None`. The caller sends the segment.
    #[inline]
    pub fn next_segment(&mut self, now: Nanos) -> Option<u64> {
        if !self.fast_path && self.quic.is_some() {
            return self.next_quic(now);
        }
        if self.is_held_back(now) {
            return None;
        }
        if self.reports_events() {
            self.report_restart(now);
        }
        let next = if self.fast_path { self.next_in_order() } else { self.next_of_recovery(now) };
        let Some(seq) = next else {
            if self.progress.is_app_limited() {
                self.note_app_limited();
                if self.reports_events() {
                    self.report_app_limited(now);
                }
            }
            return None;
        };
        #[cfg(feature = "record")]
        crate::record::sent(now, seq);
        let again = seq < self.progress.high;
        if again {
            self.meter.events.retransmits += 1;
            self.report_loss(seq, now);
            if self.reports_events() {
                self.report_events(now, 0, false);
            }
        } else {
            self.progress.high = seq + 1;
        }
        let fast_path = self.fast_path;
        let (repair, mut context) = self.recovery(now);
        match repair {
            Any::Rack(rack) if fast_path => rack.on_sent_in_order(&context),
            _ if fast_path => {}
            _ => repair.on_sent(seq, again, &mut context),
        }
        if self.keeps_records {
            self.record_transmission(seq, now);
        }
        if let Some(pacer) = &mut self.pacer {
            let rate = pacing::rate(&self.cc, self.rtt.smoothed().unwrap_or(self.rtt.handshake()));
            pacer.on_sent(now, rate, || self.cc.send_quantum());
        }
        if again && seq == self.progress.una && self.rtt.is_linux() {
            self.start_timer(now);
        } else {
            self.continue_timer(now);
        }
        Some(seq)
    }

    /// Next segment while nothing is lost or suspected.
    #[inline(always)]
    fn next_in_order(&mut self) -> Option<u64> {
        if self.progress.flight_size() >= self.window() {
            self.progress.cwnd_limited = true;
            return None;
        }
        self.progress.next_new()
    }

    /// Next segment that the recovery chooses.
    #[inline(never)]
    fn next_of_recovery(&mut self, now: Nanos) -> Option<u64> {
        let window = self.window();
        let (repair, mut context) = self.recovery(now);
        repair.next_segment(window, &mut context)
    }

    /// Records the transmission of segment `seq`, and reports it to an algorithm that takes rate samples or packet events.
    #[inline(always)]
    fn record_transmission(&mut self, seq: u64, now: Nanos) {
        self.outstanding.send(seq, now);
        if self.sampler().is_none() {
            return;
        }
        let flow = self.flow(now);
        self.cc.on_sent(&flow);
        self.outstanding.add_rate_state(seq, flow.in_flight.saturating_sub(1));
        if self.cc.records_packets() {
            self.report_packet_sent(seq, &flow);
        }
    }

    /// Wake-up time of a sender that its pacer holds back at `now`, if that has changed.
    #[inline]
    pub fn wake(&mut self, now: Nanos) -> Option<Nanos> {
        let Some(pacer) = self.pacer.as_ref() else { return self.wake_quic(now) };
        if pacer.is_awaited() || pacer.allows(now) || !self.has_more_to_send() {
            return None;
        }
        self.pacer.as_mut()?.wake()
    }

    /// Whether the pacer lets nothing leave yet. The sender is limited by its pacer then, as by a window, and not by a lack of data.
    #[inline(always)]
    fn is_held_back(&mut self, now: Nanos) -> bool {
        let held = self.pacer.as_ref().is_some_and(|pacer| !pacer.allows(now));
        if held {
            self.progress.cwnd_limited = self.progress.has_new() || self.in_network() >= self.window();
        }
        held
    }

    /// Whether the window, or a recovery, would let something leave without the pacer.
    fn has_more_to_send(&self) -> bool {
        self.progress.phase != Phase::Open || (self.progress.has_new() && self.in_network() < self.window())
    }
}
