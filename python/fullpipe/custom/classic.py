"""Base class of custom algorithms that answer to losses, and the signals that they get."""

from __future__ import annotations

import math
from enum import IntEnum

from fullpipe import _core

__all__ = ["Classic", "LostBy", "Signal"]


class Signal(IntEnum):
    """Congestion signal, one call per episode."""

    LOSS = 0
    """Duplicate ACKs or SACK show a loss; fast recovery begins."""
    ECN = 1
    """The network marked a packet (RFC 3168)."""
    TIMEOUT = 2
    """The retransmission timer expired (RFC 6298): slow start runs again from one segment."""


class LostBy(IntEnum):
    """Rule that found a loss (`fullpipe._core.Lost.by`)."""

    PACKET_THRESHOLD = 0
    """Later packets had arrived: duplicate ACKs (RFC 5681) or SACK (RFC 6675)."""
    TIME_THRESHOLD = 1
    """Time had passed: RACK (RFC 8985), Vegas' fine-grained timer, or the retransmission timer."""


class Classic:
    """Slow start, congestion avoidance and backoff of RFC 5681, as the built-in algorithms that answer to losses have
    them, around a user's increase and decrease.

    A subclass defines `increase` and `decrease`, and may override more. Windows are segments.
    """

    cwnd: float = 2.0
    ssthresh: float = math.inf

    def increase(self, w: float, flow: _core.Flow, ack: _core.Ack) -> float:
        """Congestion avoidance: increase of a window of ``w`` segments per ACK, before the ACK's credit."""
        raise NotImplementedError("increase")

    def decrease(self, w: float, flow: _core.Flow, signal: Signal) -> float:
        """The window after congestion that found it at ``w``; at least 2 segments are left."""
        raise NotImplementedError("decrease")

    def on_ack(self, flow: _core.Flow, ack: _core.Ack) -> None:
        """Slow start below ssthresh (equation 2), `increase` above; neither in recovery, nor where something other than
        the window limits the sender (RFC 7661 section 4.1).
        """
        credit = ack.credit
        if credit == 0.0 or flow.in_recovery or not flow.cwnd_limited:
            return
        cwnd = self.cwnd
        if cwnd < self.ssthresh:
            self.cwnd = cwnd + credit
        else:
            added = self.increase(cwnd, flow, ack)
            if added is None:
                raise TypeError("increase must return a number of segments, got None")
            self.cwnd = cwnd + credit * added

    def on_congestion(self, flow: _core.Flow, signal: Signal) -> None:
        """`decrease`, at least 2 segments (equation 4); a mark leaves 1 at least, a timeout 1."""
        w = self.cwnd if flow.cwnd_limited else min(self.cwnd, float(flow.flight_size))
        kept = self.decrease(w, flow, signal)
        if kept is None:
            raise TypeError("decrease must return a number of segments, got None")
        self.ssthresh = max(kept, 2.0)
        if signal == Signal.LOSS:
            self.cwnd = self.ssthresh
        elif signal == Signal.ECN:
            self.cwnd = max(kept, 1.0)
        else:
            self.cwnd = 1.0
