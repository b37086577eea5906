"""AIMD(4, 0.5): grows by four segments per round trip, so that it takes more than its share. Honest."""

import fullpipe


@fullpipe.algorithm("candidate-aimd-4", compiled=True)
class Aimd4(fullpipe.Classic):
    def increase(self, w, flow, ack):
        return 4.0 / w

    def decrease(self, w, flow, signal):
        return 0.5 * w
