//! How far a connection has come: what is outstanding, what is left to send, and where it stands between losses.

/// What a sender and its recovery both work on.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Progress {
    /// First segment not acknowledged.
    pub una: u64,
    /// Next segment to send; goes back at a timeout where recovery is without SACK.
    pub nxt: u64,
    /// One past the highest segment ever sent.
    pub high: u64,
    /// One past the last segment there is to send.
    pub end: u64,
    /// Where it stands between losses.
    pub phase: Phase,
    /// Most segments outstanding: what the receiver advertises.
    pub max_window: u32,
    /// The window, and not a lack of data, kept the last segment back.
    pub cwnd_limited: bool,
}

/// Where a sender is between losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Nothing lost.
    Open,
    /// Fast recovery, until `point` is acknowledged.
    Recovery {
        /// One past the highest segment sent when it began.
        point: u64,
    },
    /// Nothing lost; the window sinks after a mark, until more than `point` is acknowledged.
    Reduction {
        /// As of [`Phase::Recovery`].
        point: u64,
    },
    /// Slow start after a timeout (or Tahoe's fast retransmit), until `point` is acknowledged.
    Restart {
        /// As of [`Phase::Recovery`].
        point: u64,
    },
}

impl Phase {
    /// Something is lost.
    #[inline]
    pub fn is_repairing(self) -> bool {
        matches!(self, Phase::Recovery { .. } | Phase::Restart { .. })
    }

    /// The window comes down, and does not grow.
    #[inline]
    pub fn is_reducing(self) -> bool {
        matches!(self, Phase::Recovery { .. } | Phase::Reduction { .. })
    }
}

impl Progress {
    /// Nothing sent yet of `end` segments.
    pub fn new(end: u64, max_window: u32) -> Progress {
        Progress { una: 0, nxt: 0, high: 0, end, max_window, phase: Phase::Open, cwnd_limited: false }
    }

    /// RFC 5681's FlightSize: segments sent and not cumulatively acknowledged.
    #[inline]
    pub fn flight_size(&self) -> u64 {
        self.nxt - self.una
    }

    /// Whether an episode is under way and all that was outstanding when it began has been acknowledged.
    #[inline]
    pub fn past_point(&self) -> bool {
        match self.phase {
            Phase::Open => false,
            Phase::Recovery { point } | Phase::Restart { point } => self.una >= point,
            // The segment that tells of the answer is acknowledged (as in Linux).
            Phase::Reduction { point } => self.una > point,
        }
    }

    /// Whether there is new data, and the receiver has room for it.
    #[inline]
    pub fn has_new(&self) -> bool {
        self.nxt < self.end && self.flight_size() < u64::from(self.max_window)
    }

    /// There is nothing new left to send, and the window did not keep the last segment back.
    #[inline]
    pub fn is_app_limited(&self) -> bool {
        self.nxt >= self.end && !self.cwnd_limited
    }

    /// The next segment of new data, where there is one and the receiver has room for it.
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
