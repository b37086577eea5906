"""BBRv3 as a base class: a subclass changes one rule, and the built-in algorithm keeps all others.

The engine runs the built-in ``bbr3`` (draft-ietf-ccwg-bbr-06, ``crates/cc/src/algorithms/bbr3``), and calls the methods
of the class for five rules. The rules of ``variant = "linux-v3"`` are not part of this class.
"""

from __future__ import annotations

from enum import IntEnum

__all__ = ["Bbr3", "Bbr3State"]


class Bbr3State(IntEnum):
    """States of BBRv3 (section 5.1.1)."""

    STARTUP = 0
    DRAIN = 1
    DOWN = 2
    CRUISE = 3
    REFILL = 4
    UP = 5
    PROBE_RTT = 6


class Bbr3:
    """BBRv3 (draft-ietf-ccwg-bbr-06), whose rules a subclass may change one at a time.

    A subclass overrides `pacing_gain`, `tolerated_loss`, `inflight_after_loss`, `bw_after_loss`, or `probe_wait_ns`,
    and gets a name by `fullpipe.algorithm`. With ``compiled=True`` its rules are machine code. Amounts are segments.

    All parameters of ``bbr3`` except ``variant`` are parameters of the class. An annotated field with the name of one
    changes its default.

    >>> import fullpipe
    >>> @fullpipe.algorithm("bbr3-patient", compiled=True)
    ... class Patient(fullpipe.Bbr3):
    ...     beta: float = 0.85
    ...
    ...     def probe_wait_ns(self, random):
    ...         return 5e9 + 1e9 * random
    """

    startup_pacing_gain: float = 2.77
    drain_pacing_gain: float = 0.5
    down_pacing_gain: float = 0.9
    cruise_pacing_gain: float = 1.0
    refill_pacing_gain: float = 1.0
    up_pacing_gain: float = 1.25
    probe_rtt_pacing_gain: float = 1.0
    loss_threshold: float = 0.02
    beta: float = 0.7
    probe_wait: float = 2.0
    probe_wait_random: float = 1.0

    def pacing_gain(self, state: int) -> float:
        """Pacing gain of a state, a number of `Bbr3State` (section 5.6.1)."""
        if state == Bbr3State.STARTUP:
            return self.startup_pacing_gain
        if state == Bbr3State.DRAIN:
            return self.drain_pacing_gain
        if state == Bbr3State.DOWN:
            return self.down_pacing_gain
        if state == Bbr3State.CRUISE:
            return self.cruise_pacing_gain
        if state == Bbr3State.REFILL:
            return self.refill_pacing_gain
        if state == Bbr3State.UP:
            return self.up_pacing_gain
        return self.probe_rtt_pacing_gain

    def tolerated_loss(self, in_flight: float) -> float:
        """Most losses of an amount in flight with which it is not too high (section 5.5.10.2, IsInflightTooHigh)."""
        return in_flight * self.loss_threshold

    def inflight_after_loss(self, inflight: float) -> float:
        """Bound of the amount in flight after congestion that found this amount (sections 5.5.10.2 and 5.5.10.3)."""
        return self.beta * inflight

    def bw_after_loss(self, bw: float) -> float:
        """Bound of the rate after a round with a loss at this rate, in segments/s (section 5.5.10.3)."""
        return self.beta * bw

    def probe_wait_ns(self, random: float) -> float:
        """Nanoseconds until the next probe for bandwidth, from a random number in [0, 1) (section 5.3.3.8.3)."""
        return float(int(self.probe_wait * 1e9) + int(self.probe_wait_random * 1e9 * random))
