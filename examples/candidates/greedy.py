"""AIMD(4, 0.85): takes more than its share. Honest, and violates a constraint."""

import fullpipe


@fullpipe.algorithm("candidate-greedy", compiled=True)
class Greedy(fullpipe.Classic):
    def increase(self, w, flow, ack):
        return 4.0 / w

    def decrease(self, w, flow, signal):
        return 0.85 * w
