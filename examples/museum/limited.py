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


@fullpipe.packet_algorithm("museum-empty-drain")
class EmptyDrain:
    """Startup that ends when the delivery rate no longer grows by a quarter in a round trip. Then it sends two BDP.

    With the fault, rounds that the application limits count too, and the first rate is that of the initial window in
    the handshake's RTT. A late event loop delays all ACKs, so that Drain finds an empty pipe, and the window is four
    packets of a BDP that was never measured (oven-sh/bun#37455).
    """

    fault: float = 0.0

    def on_start(self, start):
        """Startup, with the handshake's RTT."""
        self._datagram = start.datagram
        self.window = start.initial_window
        self._rate = start.initial_window / (start.initial_rtt / 1e9) if self.fault and start.initial_rtt else 0.0
        self._round, self._delivered, self._begun = 0, 0, 0
        self._calm, self._startup = 0, True

    def on_packets_acked(self, path, acked, _rtt):
        """Growth in Startup, and the rate of each round trip."""
        if self._startup:
            self.window += acked.bytes_total if path.cwnd_limited else 0
        if path.round == self._round:
            return
        limited = not path.cwnd_limited
        elapsed = max(path.now - self._begun, 1)
        rate = (path.delivered - self._delivered) / (elapsed / 1e9)
        self._round, self._delivered, self._begun = path.round, path.delivered, path.now
        if limited and not self.fault:
            return
        self._calm = 0 if rate > 1.25 * self._rate else self._calm + 1
        self._rate = max(rate, self._rate) if self._calm == 0 else self._rate
        if self._startup and self._calm >= 3 - 2 * self.fault:
            self._startup = False
            bdp = rate * path.min_rtt / 1e9 if self.fault else self.window / 2
            self.window = max(2 * bdp, 4 * self._datagram)

    def on_packets_lost(self, path, lost, persistent):
        """Nothing is lost in the experiment."""

    def window_bytes(self):
        """Window in whole bytes."""
        return int(self.window)


@fullpipe.packet_algorithm("museum-unbounded")
class Unbounded:
    """Slow start up to a loss, and to twice the largest flight. With the fault, a receive window that limits the sender
    lets the window grow without end (private-octopus/picoquic#873).
    """

    fault: float = 0.0

    def on_start(self, start):
        """Initial window."""
        self.window = self._largest = start.initial_window

    def on_packet_sent(self, path, _packet):
        """Largest flight."""
        self._largest = max(self._largest, path.in_flight)

    def on_packets_acked(self, _path, acked, _rtt):
        """Growth by all acknowledged bytes."""
        grown = self.window + acked.bytes_total
        self.window = grown if self.fault else min(grown, 2 * self._largest)

    def on_packets_lost(self, path, lost, persistent):
        """Half of the window."""
        self.window = max(self.window // 2, 2 * path.datagram)

    def window_bytes(self):
        """Window in bytes."""
        return self.window
