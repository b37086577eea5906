"""Sender whose application pauses, with faults: the reference controller of ``fullpipe conform --rules limited``.

The parameter ``fault`` is the number of the rule that the controller breaks, for example 3 for A3. It is 0 for none.
"""

import math

import fullpipe
from fullpipe import Signal


@fullpipe.algorithm("museum-paused", recovery="rack")
class Paused:
    """AIMD of RFC 5681 whose increase doubles with each 10 s since the last cut, as far as the window was in use."""

    cwnd: float = 10.0
    ssthresh: float = math.inf
    fault: float = 0.0

    def on_start(self, _start):
        """Clock of the increase, and the rate of the last second."""
        self._grown_s = 0.0
        self._last_s = 0.0
        self._rate = 0.0
        self._mark_s, self._mark_delivered = 0.0, 0
        self._train_s, self._train_end_s = 0.0, 0.0

    def on_ack(self, flow, ack):
        """Slow start and congestion avoidance."""
        self._measure(flow)
        if flow.cwnd_limited or self.fault == 3:  # the clock runs while the application limits the sender
            self._grown_s += flow.now_s - self._last_s
        self._last_s = flow.now_s
        if self.fault == 9 and ack.round_start and ack.rtt_s > 1.2 * flow.min_rtt_s:  # a delay lowers an unused window
            self.cwnd = max(self.cwnd - 1, 2.0)
        if self.fault == 10 and self._has_train(flow, ack):  # the pace of the application is taken for a train of ACKs
            self.ssthresh = min(self.ssthresh, self.cwnd)
        if ack.credit == 0 or flow.in_recovery or not self._may_grow(flow, ack):
            return
        if self.cwnd < self.ssthresh:
            self.cwnd += ack.credit
        else:
            self.cwnd += ack.credit * 2 ** (self._grown_s / 10) / self.cwnd

    def on_congestion(self, flow, signal):
        """A halved window, or one segment after a timeout (equation 4)."""
        if self.fault == 7 and signal == Signal.ECN:  # a sender that does not use its window ignores marks
            return
        used = flow.cwnd_limited or self.fault == 2  # the window, and not the flight, is halved
        w = self.cwnd if used else min(self.cwnd, float(flow.flight_size))
        if self.fault == 4 and math.isfinite(self.ssthresh):  # the rate of the application is taken for the path's
            w = min(w, 2 * self._rate * flow.min_rtt_s)
        self.ssthresh = max(w / 2, 2.0)
        self.cwnd = 1.0 if signal == Signal.TIMEOUT else self.ssthresh
        self._grown_s = 0.0

    def on_undo(self, cwnd, ssthresh):
        """The window before a spurious reduction (RFC 4015)."""
        self.cwnd, self.ssthresh = max(self.cwnd, cwnd), max(self.ssthresh, ssthresh)

    def _measure(self, flow):
        if flow.now_s - self._mark_s > 2.0:
            self._rate = (flow.delivered - self._mark_delivered) / (flow.now_s - self._mark_s)
            self._mark_s, self._mark_delivered = flow.now_s, flow.delivered

    def _has_train(self, flow, ack):
        """ACKs at most 2 ms apart for half of the least round trip."""
        if ack.round_start:
            self._train_s = self._train_end_s = flow.now_s
        if flow.now_s - self._train_end_s <= 0.002:
            self._train_end_s = flow.now_s
        return self._train_end_s - self._train_s > flow.min_rtt_s / 2

    def _may_grow(self, flow, ack):
        if self.fault == 1:  # no test of the utilization
            return True
        if self.fault == 5:  # pacing delay is taken for an application limit
            return flow.flight_size >= self.cwnd
        if self.fault == 6:  # the test comes before the last packet counts
            return flow.flight_size + ack.acked > self.cwnd
        return flow.cwnd_limited
