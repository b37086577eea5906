"""The engine, the algorithms and the queueing disciplines, for the package around it."""

import os
import pathlib
import sys
from collections.abc import Callable, Mapping
from typing import Any, Literal, Self, TypedDict, final, type_check_only

import numpy as np
import numpy.typing as npt

__all__ = [
    "VERSION",
    "Ack",
    "Acked",
    "AckedList",
    "Batch",
    "Column",
    "Failure",
    "Flow",
    "Lost",
    "LostList",
    "Model",
    "PacketStart",
    "Path",
    "Problem",
    "RateSample",
    "Rtt",
    "Sent",
    "Start",
    "Steps",
    "algorithms",
    "bbr3_methods",
    "check",
    "declare",
    "declare_bbr3",
    "declare_library",
    "declare_packets",
    "figure_names",
    "kernel_module",
    "kernel_object",
    "load",
    "metrics",
    "module_file",
    "module_headers",
    "packet_methods",
    "parse",
    "quantity",
    "queues",
    "scenario_keys",
    "units",
]

VERSION: str

class Failure(Exception):
    """An algorithm that is not built in has failed, in one line."""

class Problem(ValueError):
    """A scenario is wrong; `args` are key, what, line (or None)."""

@final
class Column:
    """A column of numbers, all of one type; its bytes are open to Python's buffer protocol, read-only."""

    @property
    def dtype(self) -> Literal["float64", "uint32", "uint64"]: ...
    def to_list(self) -> list[int] | list[float | None]: ...
    def __len__(self) -> int: ...
    if sys.version_info >= (3, 12):
        def __buffer__(self, flags: int, /) -> memoryview: ...

@final
class Model:
    """A scenario that has been checked and can run."""

    @property
    def seed(self) -> int: ...
    @property
    def duration_s(self) -> float: ...
    @property
    def warmup_s(self) -> float: ...
    @property
    def series_interval_s(self) -> float | None: ...
    @property
    def holds_lock(self) -> bool: ...
    @property
    def is_compiled(self) -> bool: ...
    @property
    def warnings(self) -> list[str]: ...
    @property
    def is_external(self) -> bool: ...
    def resolved(self) -> dict[str, Any]: ...
    def given_algorithms(self) -> list[str | dict[str, Any]]: ...
    def run(
        self,
        progress: Callable[[float], object] | None = None,
        memory_bytes: int | None = None,
        *,
        pcap: str | os.PathLike[str] | None = None,
        pcap_at: str = "sender",
        qlog: str | os.PathLike[str] | None = None,
        qlog_version: str = "0.3",
        most_packets: int | None = None,
    ) -> dict[str, Any]: ...

@type_check_only
class ExternalState(TypedDict):
    """State of a flow under outside control; rates in packets per second."""

    cwnd_packets: float
    pacing_rate: float
    in_flight_packets: int
    delivered_packets: int
    lost_packets: int
    marked_packets: int
    congestions: int
    timeouts: int
    rtt_s: float | None
    srtt_s: float | None
    min_rtt_s: float | None
    delivery_rate: float | None

@type_check_only
class StepsState(TypedDict):
    """State of a simulation."""

    now_s: float
    flows: dict[int, ExternalState]
    queue_packets: list[list[int]]

@final
class Steps:
    """Simulation in steps. Any thread may use it, one at a time."""

    def __new__(cls, model: Model, memory_bytes: int | None = None) -> Self: ...
    @property
    def now_ns(self) -> int: ...
    def advance(self, until_ns: int) -> None: ...
    def set(self, flow: int, cwnd: float | None, pacing_rate: float | None) -> None: ...
    def snapshot(self) -> StepsState: ...
    def tables(self) -> dict[str, Any]: ...

@final
class Batch:
    """Simulations that advance together on several threads."""

    def __new__(cls, count: int, agents: int, workers: int, terms: dict[str, object]) -> Self: ...
    def begin(self, place: int, model: Model, memory_bytes: int | None, facts: dict[str, object]) -> bool: ...
    def step(self, skip: list[int], actions: npt.NDArray[np.float64]) -> None: ...
    def step_one(self, action: float, observation: npt.NDArray[np.float32]) -> list[float]: ...
    def read(self, rows: npt.NDArray[np.float64], observations: npt.NDArray[np.float32]) -> None: ...
    def tables(self, place: int) -> dict[str, Any]: ...
    @staticmethod
    def names() -> list[str]: ...
    @staticmethod
    def constants() -> dict[str, float]: ...

@final
class Flow:
    """The sender's state after the event."""

    @property
    def now_s(self) -> float: ...
    @property
    def srtt_s(self) -> float: ...
    @property
    def min_rtt_s(self) -> float: ...
    @property
    def delivered(self) -> int: ...
    @property
    def lost(self) -> int: ...
    @property
    def flight_size(self) -> int: ...
    @property
    def in_flight(self) -> int: ...
    @property
    def round(self) -> int: ...
    @property
    def in_recovery(self) -> bool: ...
    @property
    def cwnd_limited(self) -> bool: ...
    @property
    def app_limited(self) -> bool: ...

@final
class Ack:
    """What one ACK adds."""

    @property
    def credit(self) -> float: ...
    @property
    def acked(self) -> int: ...
    @property
    def round_start(self) -> bool: ...
    @property
    def rtt_s(self) -> float: ...
    @property
    def forward_delay_s(self) -> float: ...
    @property
    def backward_delay_s(self) -> float: ...
    @property
    def newly_lost(self) -> int: ...
    @property
    def ce(self) -> int: ...
    @property
    def delivery_rate(self) -> float: ...
    @property
    def is_app_limited(self) -> bool: ...

@final
class Sent:
    """Packet that has been sent; bytes, and nanoseconds on the clock of the flow."""

    @property
    def number(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def sent_at(self) -> int: ...
    @property
    def in_flight(self) -> int: ...
    @property
    def delivered(self) -> int: ...
    @property
    def lost(self) -> int: ...
    @property
    def delivered_at(self) -> int: ...
    @property
    def first_sent_at(self) -> int: ...
    @property
    def app_limited(self) -> bool: ...
    @property
    def is_probe(self) -> bool: ...
    @property
    def ecn(self) -> int: ...

@final
class Lost:
    """Packet that was found lost, as it was sent."""

    @property
    def number(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def sent_at(self) -> int: ...
    @property
    def in_flight(self) -> int: ...
    @property
    def delivered(self) -> int: ...
    @property
    def lost(self) -> int: ...
    @property
    def delivered_at(self) -> int: ...
    @property
    def first_sent_at(self) -> int: ...
    @property
    def app_limited(self) -> bool: ...
    @property
    def is_probe(self) -> bool: ...
    @property
    def ecn(self) -> int: ...
    @property
    def by(self) -> int: ...
    @property
    def lost_since_sent(self) -> int: ...
    @property
    def delivered_since_sent(self) -> int: ...

@final
class Start:
    """How a connection begins."""

    @property
    def window(self) -> float: ...
    @property
    def segment_bytes(self) -> int: ...
    @property
    def rtt_s(self) -> float: ...
    @property
    def paced(self) -> bool: ...
    @property
    def seed(self) -> int: ...

@final
class Path:
    """State of a sender after an event; bytes, and nanoseconds on the clock of the flow."""

    @property
    def now(self) -> int: ...
    @property
    def in_flight(self) -> int: ...
    @property
    def prior_in_flight(self) -> int: ...
    @property
    def delivered(self) -> int: ...
    @property
    def lost(self) -> int: ...
    @property
    def spurious(self) -> int: ...
    @property
    def sent(self) -> int: ...
    @property
    def ce(self) -> int: ...
    @property
    def delivered_at(self) -> int: ...
    @property
    def first_sent_at(self) -> int: ...
    @property
    def latest_rtt(self) -> int | None: ...
    @property
    def smoothed_rtt(self) -> int | None: ...
    @property
    def rttvar(self) -> int | None: ...
    @property
    def min_rtt(self) -> int | None: ...
    @property
    def max_ack_delay(self) -> int: ...
    @property
    def pto(self) -> int: ...
    @property
    def next_packet(self) -> int: ...
    @property
    def round(self) -> int: ...
    @property
    def in_recovery(self) -> bool: ...
    @property
    def cwnd_limited(self) -> bool: ...
    @property
    def app_limited(self) -> bool: ...
    @property
    def datagram(self) -> int: ...

@final
class RateSample:
    """Delivery rate that the newest packet of an ACK shows."""

    @property
    def delivered(self) -> int: ...
    @property
    def interval(self) -> int: ...
    @property
    def prior_delivered(self) -> int: ...
    @property
    def tx_in_flight(self) -> int: ...
    @property
    def lost(self) -> int: ...
    @property
    def is_app_limited(self) -> bool: ...

@final
class Rtt:
    """RTT sample of an ACK, nanoseconds."""

    @property
    def sample(self) -> int: ...
    @property
    def adjusted(self) -> int: ...
    @property
    def ack_delay(self) -> int: ...
    @property
    def packet(self) -> int: ...

@final
class Acked:
    """Acknowledged packet, as it was sent."""

    @property
    def number(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def sent_at(self) -> int: ...
    @property
    def in_flight(self) -> int: ...
    @property
    def delivered(self) -> int: ...
    @property
    def lost(self) -> int: ...
    @property
    def delivered_at(self) -> int: ...
    @property
    def first_sent_at(self) -> int: ...
    @property
    def app_limited(self) -> bool: ...
    @property
    def is_probe(self) -> bool: ...
    @property
    def ecn(self) -> int: ...
    @property
    def acked_at(self) -> int: ...
    @property
    def rate(self) -> RateSample | None: ...

@final
class PacketStart:
    """Start of a connection with a packet-level controller; bytes and nanoseconds."""

    @property
    def initial_window(self) -> int: ...
    @property
    def datagram(self) -> int: ...
    @property
    def seed(self) -> int: ...
    @property
    def initial_rtt(self) -> int | None: ...

@final
class AckedList:
    """Packets that an ACK newly acknowledges, in the order of their numbers."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Acked: ...
    @property
    def bytes_total(self) -> int: ...
    @property
    def number_max(self) -> int | None: ...
    @property
    def number(self) -> npt.NDArray[np.uint64]: ...
    @property
    def bytes(self) -> npt.NDArray[np.uint64]: ...
    @property
    def sent_at(self) -> npt.NDArray[np.uint64]: ...

@final
class LostList:
    """Packets found lost together, in the order of their numbers."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Lost: ...
    @property
    def bytes_total(self) -> int: ...
    @property
    def number_max(self) -> int | None: ...
    @property
    def number(self) -> npt.NDArray[np.uint64]: ...
    @property
    def bytes(self) -> npt.NDArray[np.uint64]: ...
    @property
    def sent_at(self) -> npt.NDArray[np.uint64]: ...

def declare(
    kind: type,
    name: str,
    *,
    paper: str,
    group: str,
    recovery: str,
    own_slow_start: bool,
    ecn: tuple[str, int] | None,
    rate_samples: bool,
    prr: bool,
    params: Mapping[str, float | bool],
    shown: list[str],
    plug: object,
) -> None: ...
def bbr3_methods() -> list[str]: ...
def declare_bbr3(kind: type, name: str, *, paper: str, params: Mapping[str, float | bool], plug: object) -> None: ...
def declare_library(address: int, name: str | None = None) -> list[str]: ...
def declare_packets(
    kind: type,
    name: str,
    *,
    paper: str,
    group: str,
    ecn: tuple[str, int] | None,
    params: Mapping[str, float | bool],
    shown: list[str],
) -> None: ...
def packet_methods() -> tuple[list[str], list[str]]: ...
def load(text: str, folder: str) -> tuple[Model, dict[str, Any]]: ...
def parse(text: str) -> dict[str, Any]: ...
def check(tree: Mapping[str, Any], folder: str) -> tuple[Model, dict[str, Any]]: ...
def quantity(text: str) -> tuple[float, str, str, float] | None: ...
def units() -> list[tuple[str, str]]: ...

class _Key(TypedDict):
    name: str
    kind: str
    default: str | None
    otherwise: str | None
    allowed: str
    doc: str
    source: str

def scenario_keys() -> dict[str, list[_Key]]:
    """A scenario's keys by the names of their lists. `default` is TOML, `otherwise` words; a required key has none."""

@type_check_only
class MetricEntry(TypedDict):
    table: Literal["links", "flows", "groups", "transfers", "traffic", "series", "totals", "experiments"]
    id: str
    title: str
    unit: str
    definition: str
    kind: str
    better: Literal["more", "less", ""]
    form: str
    source: str

def metrics() -> list[MetricEntry]:
    """All metrics of the registry, in the order of the pages."""

def figure_names() -> dict[str, list[str]]:
    """What the columns of each table of a run are called, but for those of series, which depend on the run."""

class _Param(TypedDict, total=False):
    name: str
    unit: str
    kind: Literal["time", "packets", "data", "packets or time", "rate", "number", "whole number", "flag", "choice"]
    default: float | bool | str | None
    variants: dict[str, float | bool | str]
    unset: str
    min: float | str
    max: float | str
    choices: list[str]
    doc: str
    source: str

class _Algorithm(TypedDict):
    name: str
    paper: str
    group: Literal["loss", "delay", "both", "model", "ECN"]
    recovery: str
    params: list[_Param]

def algorithms() -> list[_Algorithm]: ...

class _Queue(TypedDict):
    name: str
    source: str
    params: list[_Param]

def queues() -> list[_Queue]: ...
def kernel_object(content: bytes, struct_ops: str | None, params: Mapping[str, float]) -> tuple[str, str, bytes]:
    """An algorithm of an object file (None: its only one): what the simulator and what the kernel call it, and the file
    with `params` in it. Raises ValueError, in one line, where the file is none, or has no such algorithm or parameter.
    """

def kernel_module(content: bytes) -> tuple[str, list[str]]:
    """A module that was compiled for the simulator: what its kernel calls the algorithm, and its parameters. Raises
    ValueError, in one line, where it is none, or needs what the simulator does not have.
    """

def module_file(kernel: str, name: str) -> pathlib.Path:
    """The file in the user's cache where a module of a kernel, like "6.1", is looked for."""

def module_headers() -> tuple[dict[str, str], str]:
    """What a module is compiled with: files by their names, and what they are told it is made for."""
