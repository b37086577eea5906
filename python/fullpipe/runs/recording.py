"""Files of a run for other tools: captures for Wireshark, QUIC logs for qvis, and a data file for flent."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fullpipe._util.files import check_file, check_free, staged
from fullpipe._util.plain import Tree
from fullpipe._util.text import unknown
from fullpipe.engine.options import PacketFiles
from fullpipe.errors import InputError

if TYPE_CHECKING:
    from fullpipe.runs.result import Result
    from fullpipe.scenario import Scenario

__all__ = ["PLACES", "QLOG_VERSIONS", "Recording"]

QLOG_VERSIONS = ("0.3", "draft-13")
"""Schemas of a QUIC log. qvis reads the first one."""

PLACES = ("sender", "receiver")
"""Places of a capture."""

MOST_FLOWS, MOST_PACKETS = 1000, 10_000_000
"""Files, and packets in them, at most, unless more are forced."""

LEAST_PACKET_BYTES = 67
"""Size of a packet with one byte of payload: Ethernet, IPv4, TCP, and timestamps take 66."""


@dataclass(frozen=True)
class Recording:
    """Destinations of the files.

    Attributes:
        pcap: Directory of captures, one per TCP flow.
        pcap_at: Place of the captures, one of `PLACES`.
        qlog: Directory of QUIC logs, one per flow.
        qlog_version: One of `QLOG_VERSIONS`.
        flent: Data file of flent.
        force: Whether there may be more than 1,000 flows or 10 million packets.
    """

    pcap: str | os.PathLike[str] | None = None
    pcap_at: str = PLACES[0]
    qlog: str | os.PathLike[str] | None = None
    qlog_version: str = QLOG_VERSIONS[0]
    flent: str | os.PathLike[str] | None = None
    force: bool = False

    @property
    def is_wanted(self) -> bool:
        """Whether there is a destination."""
        return any(place is not None for place in (self.pcap, self.qlog, self.flent))

    def check(self, scenario: Scenario, engine: str) -> None:
        """Checks, before a run, that the files can be written.

        Raises:
            InputError: A destination is not writable, or the scenario has no such packets.
        """
        if not self.is_wanted:
            return
        names = [name for name in ("pcap", "qlog", "flent") if getattr(self, name) is not None]
        if engine != "simulator":
            raise InputError(f"--{names[0]} requires the engine simulator")
        if self.qlog_version not in QLOG_VERSIONS:
            raise InputError(unknown("version of qlog", self.qlog_version, QLOG_VERSIONS))
        if self.pcap_at not in PLACES:
            raise InputError(unknown("place of a capture", self.pcap_at, PLACES))
        resolved = scenario.resolved().to_dict()
        flows = resolved.get("flows", [])
        count = sum(int(flow.get("count", 1)) for flow in flows)
        if not count:
            raise InputError(f"--{names[0]} requires a flow in [[flows]]")
        if self.flent is not None:
            if scenario.series_interval_s is None:
                raise InputError('--flent requires series_interval, e.g. --set series_interval="200 ms"')
            check_file(self.flent)
        for place in (self.pcap, self.qlog):
            if place is not None:
                check_free(place)
        if count > MOST_FLOWS and not self.force and (self.pcap is not None or self.qlog is not None):
            raise InputError(f"--{names[0]} requires --force for more than {MOST_FLOWS} flows, got {count}")
        if self.pcap is not None:
            self._check_tcp(resolved)

    def _check_tcp(self, resolved: Tree) -> None:
        if any(flow.get("transport") == "quic" for flow in resolved["flows"]):
            raise InputError('--pcap requires transport = "tcp"')
        size = resolved.get("packet_size")
        if isinstance(size, int) and size < LEAST_PACKET_BYTES:
            raise InputError(f"--pcap requires packet_size of at least {LEAST_PACKET_BYTES} bytes, got {size}")

    @contextmanager
    def opened(self) -> Iterator[PacketFiles]:
        """Files for the packets of a run. They move to their places at the end, unless there is an exception."""
        if self.pcap is None and self.qlog is None:
            yield PacketFiles()
            return
        most = None if self.force else MOST_PACKETS
        files = PacketFiles(pcap_at=self.pcap_at, qlog_version=self.qlog_version, most_packets=most)
        with ExitStack() as stack:
            if self.pcap is not None:
                files = replace(files, pcap=str(stack.enter_context(staged(self.pcap))))
            if self.qlog is not None:
                files = replace(files, qlog=str(stack.enter_context(staged(self.qlog))))
            yield files

    def write(self, result: Result) -> None:
        """Writes the files that need the result."""
        if self.flent is not None:
            from fullpipe.runs.flent import write_flent

            write_flent(result, self.flent)
