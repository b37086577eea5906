//! Application of a flow that does not always have data: when it writes, and how much. Times are on the flow's own clock.

mod law;
mod paced;

use crate::rng::Rng;
use crate::scenario::{self, Tcp};
use crate::transport::validation::Validation;
use crate::window::Window;
use fullpipe_cc::Nanos;
use paced::{OnOff, Ticks};

/// Application of one flow, and what the connection keeps for it.
#[derive(Debug)]
pub struct Source {
    writer: Writer,
    /// Packets written.
    written: u64,
    /// The application writes no more.
    stopped: bool,
    /// Time of the timer for the next write, on the loop's clock.
    pub timer_at: Nanos,
    /// Whether the window limits the sender, and its restart after idle time.
    pub validation: Validation,
    /// Time without data to send.
    pub app_limited: AppLimitedTime,
}

#[derive(Debug)]
enum Writer {
    Rate(Ticks),
    OnOff(OnOff),
}

impl Source {
    /// Source of a flow that begins at `begin`; `None` for one that always has data.
    pub fn new(source: &scenario::Source, tcp: &Tcp, packet_size: u32, begin: Nanos, rng: Rng) -> Option<Box<Source>> {
        let writer = match *source {
            scenario::Source::Bulk => return None,
            scenario::Source::Rate { rate_bps } => Writer::Rate(Ticks::new(begin, rate_bps, packet_size)),
            scenario::Source::OnOff { on, off, rate_bps } => {
                Writer::OnOff(OnOff::new((on, off), rate_bps.map(|rate| (rate, packet_size)), begin, rng))
            }
        };
        Some(Box::new(Source {
            writer,
            written: 0,
            stopped: false,
            timer_at: Nanos::MAX,
            validation: Validation::new(tcp.idle, tcp.initial_window, begin),
            app_limited: AppLimitedTime::default(),
        }))
    }

    /// Number of packets written up to `now`, of which `sent` have been sent.
    pub fn written(&mut self, now: Nanos, sent: u64) -> u64 {
        if !self.stopped {
            self.written = match &mut self.writer {
                Writer::Rate(ticks) => ticks.until(now),
                Writer::OnOff(periods) => periods.written(now, sent),
            };
        }
        self.written
    }

    /// Time at which the sender must be told of more data, if it has some left to send or not; `Nanos::MAX` for never. A sender with
    /// unsent data asks by itself, so no event is needed for each packet that waits.
    pub fn next_write(&self, now: Nanos, has_unsent: bool) -> Nanos {
        match &self.writer {
            _ if self.stopped => Nanos::MAX,
            Writer::OnOff(periods) if periods.is_behind(now) => now,
            Writer::OnOff(periods) if periods.is_unlimited() || !has_unsent => periods.next(now, self.written),
            Writer::Rate(ticks) if !has_unsent => ticks.time(self.written),
            _ => Nanos::MAX,
        }
    }

    /// The application writes nothing from now on, and what it has written and not sent, beyond `sent` packets, is discarded.
    pub fn stop(&mut self, sent: u64) {
        self.stopped = true;
        self.written = self.written.min(sent);
    }

    /// Whether the application writes no more.
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }
}

/// Time in which a sender has nothing to send, while window and pacer permit a packet and no loss is unrepaired.
#[derive(Debug)]
pub struct AppLimitedTime {
    /// Begin of the stretch at hand; `Nanos::MAX` outside.
    from: Nanos,
    total: Nanos,
}

impl Default for AppLimitedTime {
    fn default() -> Self {
        AppLimitedTime { from: Nanos::MAX, total: 0 }
    }
}

impl AppLimitedTime {
    /// Ends a stretch at `now`, and counts the part of it that is in `window`.
    pub fn end(&mut self, now: Nanos, window: Window) {
        let from = std::mem::replace(&mut self.from, Nanos::MAX).max(window.from);
        self.total += now.min(window.to).saturating_sub(from);
    }

    /// Begins a stretch at `from`, which may be later than now.
    pub fn begin(&mut self, from: Nanos) {
        self.from = from;
    }

    /// Part of a time of length `active`.
    pub fn share(&self, active: Nanos) -> f64 {
        self.total as f64 / active as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_count_inside_the_window() {
        let window = Window { from: 10, to: 50 };
        let mut time = AppLimitedTime::default();
        for (from, to) in [(0, 5), (8, 12), (20, 20), (30, 35), (40, 30), (45, 60)] {
            time.begin(from);
            time.end(to, window);
        }
        // 2 + 0 + 5 + 0 (it would have begun after its end) + 5.
        assert_eq!(time.share(24), 0.5);
        time.end(70, window);
        assert_eq!(time.share(24), 0.5);
    }
}
