"""A small LEDBAT++ with faults from public issue trackers.

It has the gains, the first slow start, and the slowdowns of draft-irtf-iccrg-ledbat-plus-plus-06. The parameter
``fault`` is the number of the entry of the museum; 0 for none.
"""

import math

import fullpipe
from fullpipe import Signal

TARGET_S = 0.06
FIRST, AVOIDANCE, QUIET, RAMP = range(4)


@fullpipe.algorithm("museum-ledbat", recovery="rack")
class Ledbat:
    """LEDBAT++ with a fault, by the number of the entry of the museum; 0 for none."""

    cwnd: float = 10.0
    ssthresh: float = math.inf
    fault: float = 0.0

    def on_start(self, _start):
        """The first slow start."""
        self._phase = FIRST
        self._due_s = math.inf
        self._begun_s = 0.0
        self._delays = []

    def on_ack(self, flow, ack):
        """Slow start up to the threshold, or by the target."""
        if ack.rtt_s > 0:
            self._delays = [*self._delays[-3:], ack.rtt_s]
        if not self._delays:
            return
        delay_s = min(self._delays) - flow.min_rtt_s
        self._move_on(flow, delay_s)
        gain = 1 / min(16, max(1, math.ceil(2 * TARGET_S / flow.min_rtt_s)))
        if self._phase == AVOIDANCE and delay_s > TARGET_S:
            fall = max(gain - self.cwnd * (delay_s / TARGET_S - 1), -self.cwnd / 2)
            self.cwnd = max(self.cwnd + fall * ack.acked / self.cwnd, 2.0)
        elif self._phase != QUIET and ack.credit > 0 and flow.cwnd_limited and not flow.in_recovery:
            self.cwnd += gain * (ack.credit / self.cwnd if self._phase == AVOIDANCE else ack.credit)
        if self._phase == RAMP:
            self.cwnd = min(self.cwnd, self.ssthresh)

    def on_congestion(self, flow, signal):
        """A halved window, or one segment after a timeout."""
        before = self.ssthresh if self._phase == QUIET else self.cwnd
        self.ssthresh = max(before / 2, 2.0)
        if signal == Signal.TIMEOUT:
            self.cwnd, self._phase, self._begun_s = 1.0, RAMP, flow.now_s
        elif self._phase != QUIET:
            self.cwnd = self.ssthresh
            if self._phase == FIRST:
                self._avoid(flow.now_s + 2 * flow.srtt_s)

    def on_undo(self, cwnd, ssthresh):
        """The window before a spurious reduction (RFC 4015)."""
        self.cwnd, self.ssthresh = max(self.cwnd, cwnd), max(self.ssthresh, ssthresh)

    def _move_on(self, flow, delay_s):
        """The slowdowns of section 4.4: two segments for two round trips, then slow start up to the window before."""
        now_s = flow.now_s
        if self._phase == FIRST and delay_s > 0.75 * TARGET_S:
            self.ssthresh = self.cwnd
            self._avoid(now_s + 2 * flow.srtt_s)
        elif self._phase == AVOIDANCE and now_s >= self._due_s and not flow.in_recovery:
            self.ssthresh, self.cwnd = max(self.cwnd, 2.0), 2.0
            self._phase, self._begun_s, self._due_s = QUIET, now_s, now_s + 2 * flow.srtt_s
        elif self._phase == QUIET and now_s >= self._due_s:
            self._phase = RAMP
        elif self._phase == RAMP and (self.cwnd >= self.ssthresh or (self.fault == 16 and delay_s > TARGET_S)):
            # Fault 15: the next slowdown is due a round trip later, and not after nine times the length of this one.
            self._avoid(now_s + (flow.srtt_s if self.fault == 15 else 9 * (now_s - self._begun_s)))

    def _avoid(self, due_s):
        self._phase, self._due_s = AVOIDANCE, due_s
