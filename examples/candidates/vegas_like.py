"""Keeps a queue of two to four packets, and halves its window after a loss. Honest."""

import fullpipe


@fullpipe.algorithm("candidate-vegas-like", compiled=True)
class VegasLike(fullpipe.Classic):
    def increase(self, w, flow, ack):
        queued = w * (1.0 - flow.min_rtt_s / flow.srtt_s)
        if queued < 2.0:
            return 1.0 / w
        if queued > 4.0:
            return -1.0 / w
        return 0.0

    def decrease(self, w, flow, signal):
        return 0.5 * w
