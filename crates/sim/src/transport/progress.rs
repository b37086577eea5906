//! Progress of a connection: outstanding data, data left to send, and the phase of loss recovery.

/// State that a sender and its loss recovery share.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Progress {
    /// First segment not acknowledged.
    pub una: u64,
    /// Next segment to send. It goes back at a timeout if the recovery is without SACK.
    pub nxt: u64,
    /// One past the highest segment ever sent.
    pub high: u64,
    /// One past the last segment there is to send.
    pub end: u64,
    /// Phase of loss recovery.
    pub phase: Phase,
    /// Maximum number of outstanding segments: the receiver's advertised window.
    pub max_window: u32,
    /// Whether the window, and not a lack of data, delayed the last segment.
    pub cwnd_limited: bool,
}

/// Phase of loss recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// No loss.
    Open,
    /// Fast recovery, until `point` is acknowledged.
    Recovery {
        /// One past the highest segment sent when it began.
        point: u64,
    },
    /// No loss, but the window decreases after a mark, until more than `point` is acknowledged.
    Reduction {
        /// Same as in [`Phase::Recovery`].
        point: u64,
    },
    /// Slow start after a timeout (or Tahoe's fast retransmit), until `point` is acknowledged.
    Restart {
        /// Same as in [`Phase::Recovery`].
        point: u64,
    },
}

impl Phase {
    /// Whether a loss is under repair.
    #[inline]
    pub fn is_repairing(self) -> bool {
        matches!(self, Phase::Recovery { .. } | Phase::Restart { .. })
    }

    /// Whether the window decreases and does not grow.
    #[inline]
    pub fn is_reducing(self) -> bool {
        matches!(self, Phase::Recovery { .. } | Phase::Reduction { .. })
    }
}

impl Progress {
    /// Progress of a connection before the first of `end` segments.
    pub fn new(end: u64, max_window: u32) -> Progress {
        Progress { una: 0, nxt: 0, high: 0, end, max_window, phase: Phase::Open, cwnd_limited: false }
    }

    /// RFC 5681's FlightSize: segments sent and not cumulatively acknowledged.
    #[inline]
    pub fn flight_size(&self) -> u64 {
        self.nxt - self.una
    }

    /// Whether an episode is in progress and all data outstanding at its begin has been acknowledged.
    #[inline]
    pub fn past_point(&self) -> bool {
        match self.phase {
            Phase::Open => false,
            Phase::Recovery { point } | Phase::Restart { point } => self.una >= point,
            // The episode ends when the segment that carries CWR is acknowledged (as in Linux).
            Phase::Reduction { point } => self.una > point,
        }
    }

    /// Whether there is new data and the receiver has room for it.
    #[inline]
    pub fn has_new(&self) -> bool {
        self.nxt < self.end && self.flight_size() < u64::from(self.max_window)
    }

    /// Whether there is no new data to send, and the window did not delay the last segment.
    #[inline]
    pub fn is_app_limited(&self) -> bool {
        self.nxt >= self.end && !self.cwnd_limited
    }

    /// Next segment of new data, if there is one and the receiver has room for it.
    #[inline]
    pub fn next_new(&mut self) -> Option<u64> {
        if !self.has_new() {
            self.cwnd_limited = false;
            return None;
        }
        self.nxt += 1;
        Some(self.nxt - 1)
    }
}
