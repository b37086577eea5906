"""A paced rate that grows by a segment per round trip while at most 2 % of the packets are lost. Honest.

Above that bound the rate falls by a quarter. The window is two round trips of the rate.
"""

import math

import fullpipe


@fullpipe.algorithm("candidate-rate-based", recovery="rack", compiled=True)
class RateBased:
    cwnd: float = 2.0
    ssthresh: float = math.inf
    pacing_rate: float = math.inf
    _window: float = 10.0
    _starting: bool = True
    _lost: float = 0.0
    _delivered: float = 0.0

    def on_start(self, start):
        self._window = self.cwnd

    def on_round(self, flow):
        lost = flow.lost - self._lost
        delivered = flow.delivered - self._delivered
        self._lost = float(flow.lost)
        self._delivered = float(flow.delivered)
        if lost > 0.02 * (lost + delivered):
            self._window = max(2.0, 0.75 * self._window)
            self._starting = False
        elif self._starting and flow.srtt_s < 1.25 * flow.min_rtt_s:
            self._window = 2.0 * self._window
        else:
            self._window = self._window + 1.0
            self._starting = False

    def on_ack(self, flow, ack):
        if not math.isnan(flow.srtt_s):
            self.pacing_rate = self._window / flow.min_rtt_s
            self.cwnd = max(4.0, 2.0 * self._window)

    def on_congestion(self, flow, signal):
        if signal == fullpipe.Signal.TIMEOUT:
            self._window = max(2.0, 0.5 * self._window)
            self.cwnd = 1.0
