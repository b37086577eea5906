"""CUBIC of RFC 9438 with faults: the reference controller of the conformance rules, and of two entries of the museum.

The parameter ``fault`` is the number of the rule that the controller breaks, for example 14 for rule C14 of
``fullpipe conform``.
"""

import math

import fullpipe
from fullpipe import Signal


@fullpipe.algorithm("museum-cubic", recovery="rack")
class Cubic:
    """CUBIC of RFC 9438 with a fault, by the number of the rule that it breaks; 0 for none."""

    cwnd: float = 10.0
    ssthresh: float = math.inf
    fault: float = 0.0

    def on_start(self, _start):
        """Parameters of section 4.1 and state of the curve."""
        self._c = 0.04 if self.fault == 5 else 0.4
        self._beta = 0.5 if self.fault == 1 else 0.7
        self._alpha = 1.0 if self.fault == 9 else 3 * (1 - self._beta) / (1 + self._beta)
        self._w_max = self._prior = self._w_est = self._k = 0.0
        self._peak = 0.0
        self._epoch = None
        self._timeout = False
        self._last_ack = 0.0
        self._lost = 0
        self._before = None
        self._seen, self._least_s, self._last_s = 0, math.inf, math.inf

    def on_ack(self, flow, ack):
        """Slow start, or section 4.2 and 4.3."""
        # Fault 25: an empty flight at an ACK is taken for idle. Neither the curve nor the estimate moves on.
        is_idle = self.fault == 25 and flow.in_flight == 0 and self.cwnd <= 4
        paused = flow.now_s - self._last_ack if is_idle or not flow.cwnd_limited else 0.0
        self._last_ack = flow.now_s
        if self.fault == 4 and self.cwnd < self.ssthresh:
            self.cwnd += ack.acked  # also of a window that is not used
            return
        if self._epoch is not None:
            self._epoch += paused
        if ack.credit == 0 or flow.in_recovery or not flow.cwnd_limited:
            return
        if self.cwnd < self.ssthresh:
            self.cwnd += ack.credit
            if self.fault != 22 and self._sees_queue(flow, ack):
                self.ssthresh = self.cwnd  # section 4.10
            return
        if self._epoch is None:
            self._begin(flow.now_s)
        if is_idle:
            return
        t = flow.now_s - self._epoch
        self._grow_estimate(ack)
        target = self._cubic(t + flow.srtt_s)
        if self.fault != 8:
            target = max(target, self.cwnd)
        if self.fault != 7:
            target = min(target, 1.5 * self.cwnd)
        if self._cubic(t) < self._w_est:
            self.cwnd = max(self.cwnd, self._w_est)
        else:
            credit = 1.0 if self.fault == 24 else ack.credit
            self.cwnd += credit * (target - self.cwnd) / self.cwnd

    def on_congestion(self, flow, signal):
        """Sections 4.6 to 4.8."""
        used = flow.cwnd_limited or self.fault == 4
        self._reduce(self.cwnd if used else min(self.cwnd, float(flow.flight_size)), flow, signal)

    def on_sent(self, flow, sent):
        """The first packet after an idle time, which does not count for the curve (section 5.8)."""
        if sent.in_flight == sent.bytes and self._epoch is not None and self.fault != 21:
            self._epoch += flow.now_s - self._last_ack
            self._last_ack = flow.now_s

    def on_undo(self, cwnd, ssthresh):
        """All losses of a recovery have proved spurious: the state before the reduction (section 4.9.2)."""
        self.cwnd, self.ssthresh = max(self.cwnd, cwnd), max(self.ssthresh, ssthresh)
        if self.fault != 19 and self._before is not None:
            self._w_max, self._prior, self._peak, self._k, self._w_est, self._epoch = self._before

    def on_recovered(self, _flow):
        """Fault 20: a few lost packets are taken for spurious ones."""
        if self.fault == 20 and self._lost < 0.2 * self._prior:
            self.cwnd = self._prior

    def on_lost(self, flow, _lost):
        """A cut for each lost packet is a fault."""
        self._lost += 1
        if self.fault == 2:
            self._reduce(self.cwnd, flow, Signal.LOSS)

    def _sees_queue(self, flow, ack):
        """The delay rule of RFC 9406 at the end of a round, without its second phase: the least of its samples is above
        the one of the round before. Fault 27: one sample above the least of all is enough.
        """
        rise_s = min(max(flow.min_rtt_s / 8, 0.004), 0.016)
        if self.fault == 27:
            return ack.rtt_s > flow.min_rtt_s + rise_s
        has_risen = ack.round_start and self._seen >= 8 and self._least_s > self._last_s + rise_s
        if ack.round_start:
            self._last_s, self._seen, self._least_s = self._least_s, 0, math.inf
        if ack.rtt_s > 0:
            self._seen, self._least_s = self._seen + 1, min(self._least_s, ack.rtt_s)
        return has_risen

    def _begin(self, now_s):
        """Start of congestion avoidance: equation 2, or section 4.8 after a timeout, or 4.10 after slow start."""
        if self._epoch is None:
            self._epoch = now_s
        kept = self._timeout and self.fault == 18
        if not kept and (self._timeout or self._w_max <= self.cwnd) and self.fault != 23:
            self._k, self._w_max = 0.0, self.cwnd
        elif not kept:
            gap = 0.3 * self._w_max if self.fault == 14 else self._w_max - self.cwnd
            self._k = math.copysign(abs(gap / self._c) ** (1 / 3), gap)
        if self.fault != 12 or not self._w_est:
            self._w_est = self.cwnd
        self._timeout = False

    def _grow_estimate(self, ack):
        """Equation 4: W_est, with alpha = 1 from the window before the cut on."""
        limit = self._w_max if self.fault == 11 else self._prior
        alpha = self._alpha if self.fault == 10 or self._w_est < limit else 1.0
        self._w_est += alpha * ack.acked / self.cwnd

    def _cubic(self, t):
        """Equation 1."""
        return self._w_max + self._c * (t - self._k) ** 3

    def _reduce(self, w, flow, signal):
        converges = w < (self._peak if self.fault == 16 else self._w_max) and self.fault != 13
        self._before = self._w_max, self._prior, self._peak, self._k, self._w_est, self._epoch
        self._peak = w
        self._prior = w
        self._w_max = w * (1 + self._beta) / 2 if converges else w
        kept = self._beta * (self._w_max if self.fault == 15 else w)
        self._timeout = signal == Signal.TIMEOUT
        self._lost = 0
        if self._timeout and self.fault == 17:
            kept = w / 2
        self.ssthresh = kept if self.fault == 3 else max(kept, 2.0)
        self.cwnd = 1.0 if self._timeout else max(self.ssthresh, 1.0)
        self._epoch = flow.now_s if self.fault == 6 and not self._timeout else None
        if self.fault == 6 and not self._timeout:
            self._begin(flow.now_s)
