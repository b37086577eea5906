"""RFC 5681. Honest."""

import fullpipe


@fullpipe.algorithm("candidate-reno", compiled=True)
class Reno(fullpipe.Classic):
    def increase(self, w, flow, ack):
        return 1.0 / w

    def decrease(self, w, flow, signal):
        return 0.5 * w
