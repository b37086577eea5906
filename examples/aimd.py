"""Additive increase, multiplicative decrease, as a custom algorithm."""

import fullpipe


@fullpipe.algorithm("my-aimd", inspect=["beta"])
class Aimd(fullpipe.Classic):
    """AIMD around RFC 5681's slow start, floors and timeouts."""

    alpha: float = 1.0
    beta: float = 0.5

    def increase(self, w, flow, ack):
        """Increase per ACK of a window of w segments: alpha per round trip."""
        return self.alpha / w

    def decrease(self, w, flow, signal):
        """Window after a loss, a mark, or a timeout."""
        return self.beta * w
