"""Controller under test of the example suite: additive increase, multiplicative decrease."""

import fullpipe


@fullpipe.algorithm("controller-under-test")
class Controller(fullpipe.Classic):
    """AIMD with the decrease of RFC 9438 and its Reno-friendly increase."""

    beta: float = 0.7

    def increase(self, w, flow, ack):
        """Increase per ACK: 3 (1 - beta)/(1 + beta) segments per round trip (RFC 9438 section 4.3)."""
        return 3 * (1 - self.beta) / (1 + self.beta) / w

    def decrease(self, w, flow, signal):
        """Window after congestion."""
        return self.beta * w
