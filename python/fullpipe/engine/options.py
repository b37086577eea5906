"""Options of every experiment: how its runs are carried out. No result depends on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fullpipe.engine.memory import parse_bytes

if TYPE_CHECKING:
    import threading

__all__ = ["PacketFiles", "Progress", "RunOptions"]

Progress = Callable[[float, float], object]
"""Function that is called with the amount of work done and the whole amount."""


@dataclass(frozen=True)
class PacketFiles:
    """Files of the packets of a run.

    Attributes:
        pcap: Existing directory for captures.
        pcap_at: Place of these: "sender" or "receiver".
        qlog: Existing directory for QUIC logs.
        qlog_version: Schema of these.
        most_packets: Number of packets at which the run ends; None for no limit.
    """

    pcap: str | None = None
    pcap_at: str = "sender"
    qlog: str | None = None
    qlog_version: str = "0.3"
    most_packets: int | None = None


@dataclass(frozen=True)
class RunOptions:
    """How runs are carried out.

    Attributes:
        workers: Runs at a time on this machine; None for the number of cores.
        memory: Memory that all runs under way on a machine may hold together in the simulator, as bytes or as text such
            as ``"8 GB"``; None for half of the free memory.
        stop: Event that ends all runs once it is set.
        progress: Function that is called about ten times a second.
        dask: Address of a Dask scheduler such as ``"tcp://scheduler:8786"``, or a client of one; None for this machine.
    """

    workers: int | None = None
    memory: int | str | None = None
    stop: threading.Event | None = None
    progress: Progress | None = None
    dask: object = None

    @property
    def memory_bytes(self) -> int | None:
        """The memory limit in bytes.

        Raises:
            InputError: The text is not a size.
        """
        return parse_bytes(self.memory) if isinstance(self.memory, str) else self.memory
