"""CUBIC's growth and decrease (RFC 9438, sections 4.2 and 4.6), without its estimate of Reno's window. Honest."""

import math

import fullpipe


@fullpipe.algorithm("candidate-cubic-like", compiled=True)
class CubicLike(fullpipe.Classic):
    _plateau: float = 0.0
    _began_s: float = -1.0
    _k_s: float = 0.0

    def increase(self, w, flow, ack):
        if self._began_s < 0.0:
            self._began_s = flow.now_s
            self._plateau = max(self._plateau, w)
            self._k_s = math.pow((self._plateau - w) / 0.4, 1.0 / 3.0)
        later_s = flow.now_s - self._began_s + flow.srtt_s - self._k_s
        target = 0.4 * later_s * later_s * later_s + self._plateau
        return max(0.0, min(target, 1.5 * w) - w) / w

    def decrease(self, w, flow, signal):
        self._plateau = w if w >= self._plateau else 0.85 * w
        self._began_s = -1.0
        return 0.7 * w
