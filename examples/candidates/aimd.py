"""AIMD(1, 0.7): gentler decrease than RFC 5681. Honest."""

import fullpipe


@fullpipe.algorithm("candidate-aimd", compiled=True)
class Aimd(fullpipe.Classic):
    def increase(self, w, flow, ack):
        return 1.0 / w

    def decrease(self, w, flow, signal):
        return 0.7 * w
