"""AIMD as a packet-level class: the same controller as ``packet_aimd.c`` and ``packet-controller``."""

import fullpipe


@fullpipe.packet_algorithm("packet-aimd")
class Aimd:
    recovery_end = 0

    def on_start(self, start):
        self.window = start.initial_window

    def on_packets_acked(self, path, acked, rtt):
        if path.cwnd_limited and not path.in_recovery:
            self.window += path.datagram * acked.bytes_total // self.window

    def on_packets_lost(self, path, lost, persistent):
        if lost.number_max >= self.recovery_end:
            self.window = max(self.window // 2, 2 * path.datagram)
            self.recovery_end = path.next_packet

    def window_bytes(self):
        return self.window
