"""Senders whose application limits them, each with the fault of a public report (``fault = 1``) or without it (0)."""

import math

import fullpipe

GAIN = 2.773
"""Startup gain of BBR, 4 ln 2."""


@fullpipe.packet_algorithm("museum-unpaced")
class Unpaced:
    """Pacing at a multiple of the window per RTT; the window is 100 packets.

    With the fault, the rate is that of an assumed RTT of 1 ms for ever: all rate samples are limited by the
    application, and no RTT sample is taken (n0-computer/noq#800).
    """

    fault: float = 0.0

    def on_start(self, start):
        """Rate of the initial window over 1 ms, as long as no RTT is known."""
        self._window = 100 * start.datagram
        self._rate = GAIN * start.initial_window / 1e-3

    def on_packets_acked(self, path, _acked, rtt):
        """Section 7.7 of RFC 9002: 1.25 windows per RTT."""
        if rtt is not None and self.fault == 0:
            self._rate = 1.25 * self._window / (path.smoothed_rtt / 1e9)

    def on_packets_lost(self, path, lost, persistent):
        """The window stays, so that the loss depends on the pacing alone."""

    def window_bytes(self):
        """Window of 100 packets."""
        return self._window

    def pacing_rate_bytes_per_s(self):
        """Bytes per second."""
        return self._rate


@fullpipe.packet_algorithm("museum-ratchet")
class Ratchet:
    """AIMD in whole packets that restarts after idle time as in RFC 5681 section 4.1, from an initial window of 10.

    With the fault it begins with 100 packets. After each idle time it halves its window without a lower limit, and sets
    its threshold to the result.
    """

    fault: float = 0.0

    def on_start(self, start):
        """Initial window and threshold."""
        self._datagram = start.datagram
        self.window = 100 if self.fault else 10
        self._threshold = self.window if self.fault else math.inf
        self._credit = 0
        self._last_ns = 0

    def on_packet_sent(self, path, _packet):
        """Time of the last packet."""
        self._last_ns = path.now

    def on_restart(self, path):
        """Idle time of more than a second, which is more than the retransmission timeout here."""
        if path.now - self._last_ns < 1_000_000_000:
            return
        if self.fault:
            self.window = max(self.window // 2, 2)
            self._threshold = self.window
        else:
            self.window = min(self.window, 10)
        self._credit = 0

    def on_packets_acked(self, path, acked, _rtt):
        """Slow start below the threshold; above it a packet for each window of acknowledged packets."""
        for _ in range(len(acked)):
            if self.window < self._threshold:
                self.window += 1
                continue
            self._credit += 1
            if self._credit >= self.window:
                self.window, self._credit = self.window + 1, 0

    def on_packets_lost(self, path, lost, persistent):
        """Nothing is lost in the experiment."""

    def window_bytes(self):
        """Window in bytes."""
        return self.window * self._datagram
