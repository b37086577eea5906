"""A cheat: a list of the module keeps the best window of earlier runs."""

import fullpipe

BEST = [10.0]


@fullpipe.algorithm("candidate-state")
class State(fullpipe.Classic):
    def on_start(self, start):
        self.cwnd = BEST[0]

    def increase(self, w, flow, ack):
        BEST[0] = max(BEST[0], w)
        return 1.0 / w

    def decrease(self, w, flow, signal):
        return 0.5 * w
