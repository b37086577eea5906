"""Additive increase, multiplicative decrease, as an algorithm of one's own."""

import fullpipe


@fullpipe.algorithm("my-aimd", inspect=["beta"])
class Aimd(fullpipe.Classic):
    """AIMD around RFC 5681's slow start, floors and timeouts."""

    alpha: float = 1.0
    beta: float = 0.5

    def increase(self, w, flow, ack):
        """What an ACK adds to a window of w segments: alpha a round trip."""
        return self.alpha / w

    def decrease(self, w, flow, signal):
        """What congestion leaves of it."""
        return self.beta * w
