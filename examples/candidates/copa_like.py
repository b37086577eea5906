"""Copa's target of two packets in the queue (NSDI 2018, section 2.1), without its velocity. Honest.

The window moves by two segments per round trip, and halves after a loss.
"""

import math

import fullpipe


@fullpipe.algorithm("candidate-copa-like", compiled=True)
class CopaLike(fullpipe.Classic):
    _least_s: float = math.inf
    _standing_s: float = math.inf

    def on_round(self, flow):
        self._standing_s = self._least_s
        self._least_s = math.inf

    def on_ack(self, flow, ack):
        if not math.isnan(ack.rtt_s):
            self._least_s = min(self._least_s, ack.rtt_s)
        standing_s = min(self._standing_s, self._least_s)
        credit = ack.credit
        if credit == 0.0 or flow.in_recovery or not flow.cwnd_limited or math.isinf(standing_s):
            return
        queue_s = max(0.0, standing_s - flow.min_rtt_s)
        is_below = self.cwnd * queue_s < 2.0 * standing_s
        if self.cwnd < self.ssthresh and is_below:
            self.cwnd += credit
            return
        self.ssthresh = min(self.ssthresh, self.cwnd)
        step = 2.0 * credit / self.cwnd
        self.cwnd = self.cwnd + step if is_below else max(2.0, self.cwnd - step)

    def increase(self, w, flow, ack):
        return 0.0

    def decrease(self, w, flow, signal):
        return 0.5 * w
