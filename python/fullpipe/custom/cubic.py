"""CUBIC as a base class: a subclass changes one rule, and keeps all others.

The rules are those of the built-in ``cubic`` (RFC 9438, ``crates/cc/src/algorithms/cubic.rs``), with identical results.
Parameters ``whole_segments`` and ``abe`` and slow starts other than the standard one are not part of this class.
"""

from __future__ import annotations

import math

from fullpipe import _core
from fullpipe.custom.classic import Classic, Signal

__all__ = ["Cubic"]


class Cubic(Classic):
    """CUBIC (RFC 9438), whose rules a subclass may change one at a time.

    A subclass overrides `window_after_loss`, `plateau_after_loss`, `cubic`, or `estimate_gain`, and gets a name by
    `fullpipe.algorithm`. With ``compiled=True`` it runs as machine code. Windows are segments.

    >>> import fullpipe
    >>> @fullpipe.algorithm("cubic-like-reno", compiled=True)
    ... class CubicLikeReno(fullpipe.Cubic):
    ...     def window_after_loss(self, w, signal):
    ...         return w / 2
    """

    c: float = 0.4
    beta: float = 0.7
    fast_convergence: bool = True
    reno_friendly: bool = True
    alpha_to_one: bool = True

    _w_max: float = 0.0
    _prior: float = 0.0
    _after_timeout: bool = False
    _in_stage: bool = False
    _began_ns: int = 0
    _k_s: float = 0.0
    _w_est: float = 0.0
    _old_w_max: float = 0.0
    _old_prior: float = 0.0
    _old_after_timeout: bool = False
    _old_in_stage: bool = False
    _old_began_ns: int = 0
    _old_k_s: float = 0.0
    _old_w_est: float = 0.0
    _last_ack_ns: int = 0
    _drained: bool = False

    def window_after_loss(self, w: float, signal: Signal) -> float:  # noqa: ARG002
        """Window after a congestion event that found it at ``w`` (section 4.6)."""
        return self.beta * w

    def plateau_after_loss(self, w: float) -> float:
        """W_max after a congestion event that found the window at ``w``: with fast convergence, less than the window if
        the window is below the last W_max (section 4.7).
        """
        if self.fast_convergence and w < self._w_max:
            return w * (1.0 + self.beta) / 2.0
        return w

    def cubic(self, t_s: float) -> float:
        """W_cubic, ``t_s`` seconds after its plateau (section 4.2, figure 1)."""
        return self.c * t_s * t_s * t_s + self._w_max

    def estimate_gain(self, w: float, acked: int) -> float:
        """Increase of the estimate of Reno's window, at a window of ``w`` segments (section 4.3, figure 4)."""
        alpha = 3.0 * (1.0 - self.beta) / (1.0 + self.beta)
        if self.alpha_to_one and self._w_est >= self._prior:
            alpha = 1.0
        return alpha * float(acked) * (1.0 / w)

    def on_ack(self, flow: _core.Flow, ack: _core.Ack) -> None:
        """As `Classic.on_ack`. Before it, time in which the window does not limit the sender is left out of t
        (section 5.8).
        """
        now_ns = self._nanoseconds(flow.now_s)
        if not flow.cwnd_limited or self._drained:
            round_trip_s = 0.0
            if flow.cwnd_limited:
                round_trip_s = flow.srtt_s if math.isnan(ack.rtt_s) else ack.rtt_s
            idle_ns = now_ns - self._last_ack_ns - (0 if math.isnan(round_trip_s) else self._nanoseconds(round_trip_s))
            if self._in_stage and idle_ns > 0:
                self._began_ns += idle_ns
        self._last_ack_ns = now_ns
        self._drained = flow.flight_size == 0

        credit = ack.credit
        if credit == 0.0 or flow.in_recovery or not flow.cwnd_limited:
            return
        cwnd = self.cwnd
        if cwnd < self.ssthresh:
            self.cwnd = cwnd + credit
        else:
            self.cwnd = cwnd + credit * self.increase(cwnd, flow, ack)

    def increase(self, w: float, flow: _core.Flow, ack: _core.Ack) -> float:
        """Increase of an ACK: towards W_cubic one RTT later, or to Reno's estimate (sections 4.2 to 4.5)."""
        if not self._in_stage:
            self._begin(w, self._nanoseconds(flow.now_s))
        self._w_est += self.estimate_gain(w, ack.acked)
        t_s = float(self._nanoseconds(flow.now_s) - self._began_ns) / 1e9 - self._k_s
        if self.reno_friendly and self.cubic(t_s) < self._w_est:
            return max((self._w_est - w) / ack.credit, 0.0)
        later_s = t_s if math.isnan(flow.srtt_s) else t_s + flow.srtt_s
        target = min(max(self.cubic(later_s), w), 1.5 * w)
        return (target - w) * (1.0 / w)

    def decrease(self, w: float, flow: _core.Flow, signal: Signal) -> float:  # noqa: ARG002
        """`window_after_loss`, and the memory of the event for the next stage."""
        self._old_w_max = self._w_max
        self._old_prior = self._prior
        self._old_after_timeout = self._after_timeout
        self._old_in_stage = self._in_stage
        self._old_began_ns = self._began_ns
        self._old_k_s = self._k_s
        self._old_w_est = self._w_est
        self._w_max = self.plateau_after_loss(w)
        self._prior = w
        self._after_timeout = signal == Signal.TIMEOUT
        self._in_stage = False
        return self.window_after_loss(w, signal)

    def on_undo(self, cwnd: float, ssthresh: float) -> None:
        """Restores the memory from before a spurious reduction (section 4.9)."""
        self._w_max = self._old_w_max
        self._prior = self._old_prior
        self._after_timeout = self._old_after_timeout
        self._in_stage = self._old_in_stage
        self._began_ns = self._old_began_ns
        self._k_s = self._old_k_s
        self._w_est = self._old_w_est
        self.cwnd = max(self.cwnd, cwnd)
        self.ssthresh = max(self.ssthresh, ssthresh)

    def _begin(self, w: float, now_ns: int) -> None:
        """Begins a stage of congestion avoidance at window ``w`` (sections 4.2, 4.8, and 4.10)."""
        if self._after_timeout or self._w_max <= w:
            self._w_max = w
        self._in_stage = True
        self._began_ns = now_ns
        self._k_s = self._cube_root((self._w_max - w) / self.c)
        self._w_est = w

    def _nanoseconds(self, time_s: float) -> int:
        """Whole nanoseconds of a time in seconds, exact for runs of up to 20 days."""
        return int(time_s * 1e9 + 0.5)

    def _cube_root(self, x: float) -> float:
        """Cube root, correctly rounded as in the built-in algorithm: a power, corrected by its exact residual."""
        root = math.pow(x, 1.0 / 3.0)
        if root == 0.0:
            return 0.0
        for _ in range(2):
            square, square_rest = self._product(root, root)
            cube, cube_rest = self._product(square, root)
            residual = x - cube - cube_rest - square_rest * root
            root += residual / (3.0 * square)
        return root

    def _product(self, a: float, b: float) -> tuple[float, float]:
        """Product and its rounding error (T. J. Dekker, Numerische Mathematik 18, 1971)."""
        split = 134217729.0  # 2^27 + 1
        a_high = split * a - (split * a - a)
        b_high = split * b - (split * b - b)
        a_low, b_low = a - a_high, b - b_high
        product = a * b
        return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
