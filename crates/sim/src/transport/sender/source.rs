//! Sender of an application that does not always have data. See [`Validation`] for its windows.

use super::Sender;
use crate::transport::pipe_ack::Moment;
use crate::transport::policy::Policy;
use crate::transport::repair::Repair;
use crate::transport::validation::{Attempt, Validation, Windows};
use fullpipe_cc::Nanos;

impl<P: Policy> Sender<P> {
    /// The application has written everything below segment `end`. Packets sent from now on count as limited by the application if the
    /// sender had nothing to send before (draft-ietf-ccwg-bbr, section 4.1.2.4: the test comes before the data is queued).
    pub fn write(&mut self, end: u64) {
        if end == self.progress.end {
            return;
        }
        if self.lacks_data() {
            self.note_app_limited();
        }
        self.progress.end = end;
    }

    /// Whether some data has been written and not sent.
    pub fn has_unsent(&self) -> bool {
        self.progress.nxt < self.progress.end
    }

    /// Time from which the sender has nothing to send while window and pacer permit a packet and no loss is unrepaired; `None` if it has
    /// something to send, or must not send.
    pub fn app_limited_from(&self, now: Nanos) -> Option<Nanos> {
        if !self.lacks_data() {
            return None;
        }
        let allowed = match &self.quic {
            Some(quic) => self.next_departure(quic),
            None => self.pacer.as_ref().map_or(0, |pacer| pacer.next()),
        };
        Some(now.max(allowed))
    }

    /// Applies the rules for a window that is not used, after an ACK or a timer at `now`.
    #[inline]
    pub fn validate(&mut self, now: Nanos, validation: &mut Validation) {
        if !validation.looks_at_events() {
            return;
        }
        if let Some(cwnd) = validation.capped(self.windows()) {
            self.cc.on_limit(cwnd);
            self.cwnd = self.cc.cwnd();
        }
        let moment = Moment {
            now,
            una: self.progress.una,
            flight: self.progress.flight_size(),
            srtt: self.smoothed_rtt(),
            phase: self.progress.phase,
            retransmits: self.meter.events.retransmits,
            windows: self.windows(),
        };
        if let Some(windows) = validation.after_event(&moment) {
            self.set_windows(windows);
        }
    }

    fn smoothed_rtt(&self) -> Nanos {
        let quic = self.quic.as_ref().map(|quic| quic.rtt.smoothed);
        quic.or_else(|| self.rtt.smoothed()).unwrap_or(0)
    }

    /// Lowers the window after idle time, if there is data to send at `now`.
    pub fn restart_after_idle(&mut self, now: Nanos, validation: &mut Validation) {
        if !validation.looks_at_idle_time() || !self.has_unsent() {
            return;
        }
        let (flight, rto) = (self.progress.flight_size(), self.rtt.timeout());
        if let Some(windows) = validation.before_send(now, flight, rto, self.windows()) {
            self.set_windows(windows);
        }
    }

    /// Takes note of an attempt to send at `now`, before which `sent` segments had been sent in all.
    pub fn note_attempt(&mut self, now: Nanos, sent: u64, validation: &mut Validation) {
        let windows = self.windows();
        validation.after_attempt(&Attempt {
            now,
            una: self.progress.una,
            nxt: self.progress.nxt,
            sent: self.counters().sent > sent,
            limited: self.progress.cwnd_limited,
            open: self.fast_path || self.is_calm(),
            windows,
        });
        self.progress.cwnd_limited = validation.limits_growth(windows);
        if let Some(quic) = self.quic.as_mut().filter(|_| validation.limits_to_flight()) {
            quic.permits_growth = Some(self.progress.cwnd_limited);
        }
    }

    fn lacks_data(&self) -> bool {
        if self.has_unsent() {
            return false;
        }
        let room = self.in_network() < self.window().min(self.progress.max_window.into());
        let repaired = match &self.quic {
            Some(quic) => !quic.has_waiting(),
            None => self.fast_path || self.repair.tally(&self.progress, &self.outstanding).lost == 0,
        };
        room && repaired
    }

    fn windows(&self) -> Windows {
        Windows { cwnd: self.cc.cwnd(), ssthresh: self.cc.ssthresh() }
    }

    fn set_windows(&mut self, windows: Windows) {
        self.cc.on_restart(windows.cwnd, windows.ssthresh);
        self.cwnd = self.cc.cwnd();
    }
}
