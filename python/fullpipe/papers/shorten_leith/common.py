"""What the items of Shorten and Leith share: the dumbbell, the two kinds of flow, what is read off a run, axes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from fullpipe.charts.series import flow_series, link_series
from fullpipe.charts.style import STYLE, legend_above, link_pen, pens
from fullpipe.papers.drawing import utilization
from fullpipe.runs.tables import to_numpy
from fullpipe.scenario import Scenario

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from fullpipe.runs.result import Result

__all__ = [
    "ADAPTIVE",
    "ALGORITHMS",
    "BDP_PACKETS_10M",
    "KINDS",
    "NAMES",
    "RTT_100",
    "STANDARD",
    "Backoff",
    "backoff_expected",
    "backoffs",
    "buffer_for",
    "chart",
    "draw",
    "draw_queue",
    "dumbbell",
    "fixed_aimd",
    "flow_pens",
    "flow_values",
    "flows",
    "goodputs_bps",
    "loss_rate",
    "time_charts",
    "utilization",
]

STANDARD: dict[str, Any] = {"algorithm": "newreno", "recovery": "sack"}
"""Standard TCP: one segment per round trip, halving at a loss. The paper does not say which ns-2 sender it used; SACK
repairs several losses of a window without a timeout, as does the adaptive scheme's sender."""

ADAPTIVE: dict[str, Any] = {"algorithm": "adaptive-aimd"}
"""The paper's scheme with its own values: beta from 0.5 to 0.8, fading 7/8."""

KINDS: dict[str, dict[str, Any]] = {"standard": STANDARD, "adaptive": ADAPTIVE}
"""The two columns of the paper's comparisons."""

NAMES = {"standard": "standard AIMD", "adaptive": "adaptive AIMD"}
"""How pictures call them."""

ALGORITHMS = {"standard": "newreno", "adaptive": "adaptive-aimd"}
"""Whose colors they have."""

BETA_MAX = 0.8
"""The greatest backoff factor, section III."""

PACKET_BYTES = 1500
"""10 Mbit/s over 2 (50 + 1.2) ms is the paper's delay-bandwidth product of 85 packets with 1500 bytes each."""

RTT_100 = {"access_delay": "1.2 ms"}
"""Behind a link of 50 ms one way: the round trip of 102.4 ms that the paper calls 100 ms."""

BDP_PACKETS_10M = 10e6 * 0.1024 / (8 * PACKET_BYTES)
"""Of 10 Mbit/s and 102.4 ms: 85 packets."""


def fixed_aimd(beta: float) -> dict[str, Any]:
    """AIMD with a constant backoff factor and the increase that equation (5) gives it."""
    return {"algorithm": {"name": "adaptive-aimd", "beta_min": beta, "beta_max": beta}}


def dumbbell(
    rate: str,
    delay: str,
    buffer_packets: int,
    flows: Sequence[Mapping[str, Any]],
    seconds: tuple[float, float],
    **keys: Any,
) -> Scenario:
    """Flows over one drop-tail link.

    Args:
        rate: Of the link.
        delay: Of the link, one way; the flows' `access_delay` comes on top.
        buffer_packets: The paper's queue size.
        flows: The groups of flows.
        seconds: The run's length and the warm-up in it.
        keys: Further keys of the scenario; ``series_interval`` is off unless given.
    """
    return Scenario(
        duration=f"{seconds[0]:g} s",
        warmup=f"{seconds[1]:g} s",
        packet_size=PACKET_BYTES,
        links=[{"name": "bottleneck", "rate": rate, "delay": delay, "buffer": f"{buffer_packets} packets"}],
        flows=[dict(group) for group in flows],
        **{"series_interval": "off", **keys},
    )


def flows(n: int) -> str:
    """How figures' names count flows."""
    return f"{n} flow" if n == 1 else f"{n} flows"


def backoff_expected(kind: str, k: float) -> float:
    """The backoff factor of one flow on a queue of `k` delay-bandwidth products."""
    return 0.5 if kind == "standard" else min(BETA_MAX, max(0.5, 1 / (1 + k)))


def goodputs_bps(result: Result) -> list[float]:
    """What each flow got across, outside the warm-up."""
    return [float(rate) for rate in to_numpy(result.columns("flows")["goodput_bps"])]


def loss_rate(result: Result) -> float:
    """Packets dropped over packets that arrived at the link, ACKs of reverse flows included."""
    return float(result.links["loss_rate"][0].as_py())


def flow_values(result: Result, flow: int, name: str) -> NDArray[np.float64]:
    """A flow's samples of one column of the series."""
    return flow_series(result.sampled())[flow].values[name]


@dataclass(frozen=True)
class Backoff:
    """A congestion event as a flow saw it.

    Attributes:
        t_s: The last sample before the cut.
        window: The window then, packets.
        sample: Its index in the flow's series.
    """

    t_s: float
    window: float
    sample: int


def backoffs(result: Result, flow: int, *, since_s: float = 0.0) -> list[Backoff]:
    """A flow's window cuts: samples after which the window is less by a tenth or more."""
    line = flow_series(result.sampled())[flow]
    window = line.values["cwnd_packets"]
    cuts = np.flatnonzero(window[1:] < 0.9 * window[:-1])
    return [Backoff(float(line.t_s[i]), float(window[i]), int(i)) for i in cuts if line.t_s[i] >= since_s]


def buffer_for(used: Mapping[int, float], target: float) -> float:
    """The buffer from which on the utilization is at least ``target``: between two simulated buffers by the logarithm;
    the smallest or greatest simulated where it lies outside them.

    Args:
        used: The utilization by buffer, in packets.
        target: The utilization asked for.
    """
    sizes = sorted(used, reverse=True)
    above = sizes[0]
    for size in sizes:
        if used[size] < target:
            if size == above:
                return float(size)
            part = (target - used[size]) / (used[above] - used[size])
            return math.exp(math.log(size) + part * (math.log(above) - math.log(size)))
        above = size
    return float(above)


@contextmanager
def chart(title: str, x: str, y: str, *, height: float = 4.2) -> Iterator[tuple[Figure, Axes]]:
    """One pair of axes in the house style."""
    with time_charts(title, (y,), x=x, height=height) as (figure, (axes,)):
        yield figure, axes


@contextmanager
def time_charts(
    title: str, labels: Sequence[str], *, x: str = "time, s", height: float = 6.0
) -> Iterator[tuple[Figure, list[Axes]]]:
    """Axes above one another with a common horizontal axis, in the house style; legends are added at the end, long ones
    below the axes.
    """
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9.0, height), layout="constrained")
        panels = [axes for (axes,) in figure.subplots(len(labels), 1, sharex=True, squeeze=False)]
        for axes, label in zip(panels, labels, strict=True):
            axes.set_ylabel(label)
        panels[-1].set_xlabel(x)
        yield figure, panels
        for axes in panels:
            legend_above(axes)
        figure.suptitle(title, x=0.01, ha="left", fontsize=10, fontweight="bold")


def draw(
    axes: Axes,
    result: Result,
    flow: int,
    name: str,
    look: Mapping[str, Any],
    label: str | None = None,
    *,
    scale: float = 1.0,
) -> None:
    """A flow's samples of one column of the series against time, times `scale`."""
    line = flow_series(result.sampled())[flow]
    axes.plot(line.t_s, line.values[name] * scale, **look, label=label)


def flow_pens(result: Result) -> list[dict[str, Any]]:
    """A pen for each flow, by its algorithm."""
    return pens(result.columns("flows")["algorithm"])


def draw_queue(axes: Axes, result: Result, link: int = 0, label: str | None = None) -> None:
    """A link's queue against time."""
    line = link_series(result.sampled())[link]
    axes.plot(line.t_s, line.values["queue_packets"], **link_pen(link), label=label, linewidth=0.8)
