"""A cheat: gentle while the clock says that it is measured, and greedy later."""

import fullpipe


@fullpipe.algorithm("candidate-clock", compiled=True)
class Clock(fullpipe.Classic):
    def increase(self, w, flow, ack):
        return 1.0 / w if flow.now_s < 10.0 else 6.0 / w

    def decrease(self, w, flow, signal):
        return 0.5 * w if flow.now_s < 10.0 else 0.9 * w
