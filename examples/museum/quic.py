"""NewReno of RFC 9002 with faults: the reference controllers of two sets of conformance rules.

The parameter ``fault`` is the number of the rule that the controller breaks, for example 3 for rule N03 of
``fullpipe conform --rules rfc9002``, or for rule L3 of ``--rules ratelimited``. It is 0 for none. Fault 28 of
NewReno is entry 28 of the museum.
"""

import fullpipe

INFINITE = 2**62


class Appendix:
    """Appendix B of RFC 9002, in bytes."""

    def on_start(self, start):
        """Initial window of section 7.2."""
        self.window = 32 * start.datagram if self.fault == 1 else start.initial_window
        self.ssthresh = INFINITE
        self.recovery_ns = -1
        self.datagram = start.datagram

    def on_packets_lost(self, path, lost, persistent):
        """Sections B.6 and B.8."""
        self._reduce(path, lost[-1].sent_at)
        if persistent:
            self.window = 2 * path.datagram
            self.recovery_ns = -1

    def on_ecn_ce(self, path, _count, largest):
        """Section B.7."""
        self._reduce(path, largest.sent_at)

    def window_bytes(self):
        """Window in whole bytes."""
        return int(self.window)

    def ssthresh_bytes(self):
        """Threshold of slow start."""
        return int(self.ssthresh)

    def _reduce(self, path, sent_ns):
        if sent_ns <= self.recovery_ns:
            return
        self.recovery_ns = path.now
        self.ssthresh = self.window / 2
        self.window = max(self.ssthresh, 2 * path.datagram)

    def _grow(self, path, packet, limit):
        if packet.sent_at <= self.recovery_ns:
            return
        is_slow_start = self.window < self.ssthresh
        step = packet.bytes if is_slow_start else path.datagram * packet.bytes / self.window
        self.window = max(self.window, min(self.window + step, limit))


@fullpipe.packet_algorithm("museum-quic-newreno")
class NewReno(Appendix):
    """NewReno of appendix B, which does not grow a window that is not used (section 7.8)."""

    fault: float = 0.0

    def on_packets_acked(self, path, acked, _rtt):
        """Section B.5."""
        if self.fault == 5:
            self.recovery_ns = -1
        used = path.cwnd_limited
        if self.fault == 11:
            used = path.prior_in_flight + path.datagram > self.window
        if not used and self.fault != 10:
            return
        for packet in [acked[0]] if self.fault == 2 else acked:
            if self.fault == 6 and self.window >= self.ssthresh:
                self.window += packet.bytes
            else:
                self._grow(path, packet, INFINITE)

    def on_packets_lost(self, path, lost, persistent):
        """Sections B.6 and B.8."""
        if self.fault == 4:
            self.recovery_ns = -1
        super().on_packets_lost(path, lost, persistent and self.fault != 8)
        if self.fault == 28 and persistent:  # both steps reduce the threshold
            self.ssthresh = self.ssthresh / 2
        if self.fault == 7:
            self.window = max(self.window, 4 * path.datagram)

    def on_ecn_ce(self, path, count, largest):
        """Section B.7."""
        if self.fault != 9:
            super().on_ecn_ce(path, count, largest)

    def on_pto(self, path, _count):
        """No change of the window (section 7.5)."""
        if self.fault == 12:
            self.window = 2 * path.datagram

    def pacing_rate_bytes_per_s(self):
        """Rate of the transport; none that limits a burst with fault 13."""
        return 1e12 if self.fault == 13 else None

    def _reduce(self, path, sent_ns):
        before = self.window
        super()._reduce(path, sent_ns)
        if self.fault == 3 and self.window < before:
            self.window = self.ssthresh = 0.7 * before


@fullpipe.packet_algorithm("museum-validated")
class Validated(Appendix):
    """NewReno with the rate-limited increase of draft-ietf-ccwg-ratelimited-increase, section 3."""

    fault: float = 0.0

    def on_start(self, start):
        """Initial window, and the largest flight."""
        faulty = self.fault
        self.fault = 0.0
        super().on_start(start)
        self.fault = faulty
        self.largest = 0 if self.fault == 5 else self.window

    def on_packet_sent(self, path, _packet):
        """Largest flight since the last reduction."""
        if self.fault != 2:
            self.largest = max(self.largest, path.in_flight)

    def on_packets_acked(self, path, acked, _rtt):
        """Growth up to the limit of the largest flight."""
        for packet in acked:
            is_slow_start = self.window < self.ssthresh
            limit = 2 * self.largest if is_slow_start else self.largest + path.datagram
            free = self.fault == (1 if is_slow_start else 3) or self.fault == 6
            self._grow(path, packet, INFINITE if free else limit)
            if self.fault == 5:
                self.window = max(min(self.window, limit), path.datagram)
        if self.fault == 2:
            self.largest = max(self.largest, path.in_flight)

    def _reduce(self, path, sent_ns):
        before = self.window
        super()._reduce(path, sent_ns)
        if self.window < before and self.fault != 4:
            self.largest = 0
