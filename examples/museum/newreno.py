"""NewReno of RFC 6582 with faults from public issue trackers.

The parameter ``fault`` is the number of the entry of the museum; 0 for none.
"""

import math

import fullpipe
from fullpipe import Signal


@fullpipe.algorithm("museum-newreno", recovery="rack")
class NewReno:
    """NewReno with a fault, by the number of the entry of the museum; 0 for none."""

    cwnd: float = 10.0
    ssthresh: float = math.inf
    fault: float = 0.0

    def on_start(self, start):
        """Takes the size of segments."""
        self._segment_bytes = start.segment_bytes
        self._last_ack_s = -1.0

    def on_ack(self, flow, ack):
        """Slow start and congestion avoidance (RFC 5681, equations 2 and 3)."""
        is_first = flow.now_s - self._last_ack_s > 0.001
        self._last_ack_s = flow.now_s
        if ack.credit == 0 or flow.in_recovery or not self._may_grow(flow, is_first):
            return
        if self.cwnd < self.ssthresh:
            self.cwnd += ack.credit
        elif self.fault == 22:  # the size of a segment is missing in the product
            self.cwnd += ack.credit / self.cwnd / self._segment_bytes
        else:
            self.cwnd += ack.credit / self.cwnd

    def on_congestion(self, flow, signal):
        """A halved window, or one segment after a timeout (equation 4)."""
        if self.fault == 17 and signal == Signal.ECN:  # CE counts are ignored
            return
        if self.fault == 18 and signal == Signal.TIMEOUT:  # persistent congestion is ignored
            return
        w = self.cwnd if flow.cwnd_limited else min(self.cwnd, float(flow.flight_size))
        self.ssthresh = max(w / 2, 2.0)
        self.cwnd = 1.0 if signal == Signal.TIMEOUT else self.ssthresh

    def on_lost(self, _flow, _lost):
        """No response to a single packet; with fault 2, recovery has always ended, so that each loss is a new event."""
        if self.fault == 2:
            self.ssthresh = self.cwnd = max(self.cwnd / 2, 2.0)

    def on_undo(self, cwnd, ssthresh):
        """The window before a spurious reduction (RFC 4015)."""
        if self.fault != 5:  # detected, but not restored
            self.cwnd, self.ssthresh = max(self.cwnd, cwnd), max(self.ssthresh, ssthresh)

    def _may_grow(self, flow, is_first):
        if self.fault == 10:  # no test of the utilization
            return True
        if self.fault == 11:  # the first ACK of a batch has reduced the flight that the others are tested against
            return is_first and flow.cwnd_limited
        if self.fault == 12:  # pacing delay is taken for an application limit
            return flow.in_flight >= self.cwnd
        return flow.cwnd_limited
