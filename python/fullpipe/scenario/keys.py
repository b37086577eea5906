"""Keys of a scenario and their types, for editors and type checkers; docs/reference/scenarios.md explains them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias, TypedDict

from fullpipe._util.plain import Table

__all__ = ["FlowKeys", "FramesKeys", "LinkKeys", "ScenarioKeys", "UdpKeys", "WebKeys"]

Named: TypeAlias = str | Table
"""A name, or a table with a name and parameters."""


class LinkKeys(TypedDict, total=False):
    """A link; quantities are text with units."""

    name: str
    count: int
    preset: Literal["leo", "geo", "wifi", "wifi-bad", "docsis", "5g"]
    rate: str
    delay: str
    buffer: str
    queue: Named
    loss: float | Table
    drop: Sequence[int]
    trace: str | Sequence[int]
    delay_trace: str | Sequence[Sequence[float]]
    delay_interpolation: Literal["linear", "hold"]
    loss_trace: str | Sequence[Sequence[float]]
    loss_interpolation: Literal["linear", "hold"]
    trace_repeat: bool
    schedule: Sequence[Table]
    repeat: str
    jitter: Table
    reorder: Table
    aggregation: str
    phase: str
    limit: int | str
    ecn_field: Literal["keep", "not-ect", "ect0", "ect1"]
    policer: Table
    reverse: Table


class _Times(TypedDict, total=False):
    start: str
    stop: str
    access_delay: str
    path: Sequence[str]
    reverse: bool


class _Tcp(_Times, total=False):
    algorithm: Named
    host: Literal["classic", "linux", "quic"]
    transport: Literal["tcp", "quic"]
    ack_every: int
    ack_delay: str
    ack_reorder: int
    mtu_probes: str
    tunnel: Table
    recovery: Literal["tahoe", "reno", "newreno", "sack", "rack", "vegas"]
    slow_start: Literal["standard", "hystart++", "hystart", "search", "rapid"]
    resume: Table
    pacing: Literal["algorithm", "on", "off"]
    ecn: Literal["off", "classic", "accurate", "ace"]
    ect: Literal[0, 1]
    prr: bool
    undo: bool
    handshake: bool
    delayed_ack: bool
    delayed_ack_timeout: str
    byte_counting: bool
    initial_window: int | str
    max_window: int | str
    min_rto: str
    rto: Literal["rfc6298", "linux"]
    idle: Literal["none", "rfc5681", "linux", "rfc7661"]
    sack_compression: bool
    timestamp_tick: str
    rtt_tick: str
    access_rate: str
    processing_time: str


class _Ip(TypedDict, total=False):
    sender: str
    receiver: str


_Class = TypedDict("_Class", {"class": Literal["bulk", "best-effort", "video", "voice"]}, total=False)


class FlowKeys(_Tcp, _Ip, _Class, total=False):
    """Long-lived or finite flows."""

    name: str
    count: int
    size: str
    source: Named
    growth: Literal["rfc", "validated"]


class FramesKeys(TypedDict, total=False):
    """Frames of video or audio."""

    per_second: float
    size: str
    key_size: str
    key_every: int


class UdpKeys(_Times, _Ip, _Class, total=False):
    """Datagrams at a constant rate, or frames."""

    name: str
    rate: str
    frames: FramesKeys | Table
    packet_size: int | str
    count: int


class WebKeys(_Tcp, total=False):
    """Short transfers."""

    sessions: int
    mean_gap: str
    transfers_per_second: float
    mean_size: str
    shape: float


class ScenarioKeys(TypedDict, total=False):
    """A whole scenario. Tables may be plain dictionaries, which are checked when the scenario is made."""

    duration: str
    warmup: str
    seed: int
    packet_size: int | str
    ack_size: int | str
    series_interval: str
    measure_jitter: bool
    links: Sequence[LinkKeys] | Sequence[Table]
    flows: Sequence[FlowKeys] | Sequence[Table]
    udp: Sequence[UdpKeys] | Sequence[Table]
    web: Sequence[WebKeys] | Sequence[Table]
