"""Common parts of Shorten and Leith's items: dumbbell, two kinds of flows, measurements, and axes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from fullpipe.papers import drawing
from fullpipe.papers.drawing import TIME, bottleneck, utilization
from fullpipe.plots.looks import Look, link_pen, pens
from fullpipe.plots.series import flow_series, link_series
from fullpipe.plots.spec import Panel, Plot
from fullpipe.scenario import Scenario

if TYPE_CHECKING:
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

Group: TypeAlias = dict[str, object]
"""Keys of a group of flows."""

STANDARD: Group = {"algorithm": "newreno", "recovery": "sack"}
"""Standard TCP: one segment per RTT, halving at a loss. The paper omits the kind of ns-2 sender. SACK repairs several
losses of a window without a timeout, like the adaptive scheme's sender.
"""

ADAPTIVE: Group = {"algorithm": "adaptive-aimd"}
"""The paper's scheme with its values: beta from 0.5 to 0.8, fading 7/8."""

KINDS: dict[str, Group] = {"standard": STANDARD, "adaptive": ADAPTIVE}
"""Columns of the paper's comparisons."""

NAMES = {"standard": "standard AIMD", "adaptive": "adaptive AIMD"}
"""Labels in plots."""

ALGORITHMS = {"standard": "newreno", "adaptive": "adaptive-aimd"}
"""Algorithms whose colors the plots use."""

BETA_MAX = 0.8
"""Largest backoff factor, section III."""

PACKET_BYTES = 1500
"""Packet size: with 1500 bytes, 10 Mbit/s over 2 (50 + 1.2) ms is the paper's delay-bandwidth product of 85 packets."""

RTT_100 = {"access_delay": "1.2 ms"}
"""Access delay over a link of 50 ms one way: the RTT of 102.4 ms that the paper calls 100 ms."""

BDP_PACKETS_10M = 10e6 * 0.1024 / (8 * PACKET_BYTES)
"""Delay-bandwidth product of 10 Mbit/s and 102.4 ms: 85 packets."""


def fixed_aimd(beta: float) -> Group:
    """AIMD with a constant backoff factor, and the increase by equation (5)."""
    return {"algorithm": {"name": "adaptive-aimd", "beta_min": beta, "beta_max": beta}}


def dumbbell(
    rate: str,
    delay: str,
    buffer_packets: int,
    flows: Sequence[Mapping[str, object]],
    seconds: tuple[float, float],
    **keys: Any,
) -> Scenario:
    """Flows over one drop-tail link.

    Args:
        rate: Rate of the link.
        delay: One-way delay of the link; the flows' `access_delay` is added.
        buffer_packets: Queue size of the paper.
        flows: Groups of flows.
        seconds: Duration and warm-up.
        keys: Additional keys of the scenario; ``series_interval`` is off by default.
    """
    return Scenario(
        duration=f"{seconds[0]:g} s",
        warmup=f"{seconds[1]:g} s",
        packet_size=PACKET_BYTES,
        links=[bottleneck(rate, delay, f"{buffer_packets} packets")],
        flows=[dict(group) for group in flows],
        **{"series_interval": "off", **keys},
    )


def flows(n: int) -> str:
    """Number of flows in names of values."""
    return f"{n} flow" if n == 1 else f"{n} flows"


def backoff_expected(kind: str, k: float) -> float:
    """Backoff factor of one flow with a queue of `k` delay-bandwidth products."""
    return 0.5 if kind == "standard" else min(BETA_MAX, max(0.5, 1 / (1 + k)))


def goodputs_bps(result: Result) -> list[float]:
    """Goodput of each flow after the warm-up."""
    return [float(rate) for rate in drawing.flow_values(result, "goodput_bps")]


def loss_rate(result: Result) -> float:
    """Loss rate of the link, with ACKs of reverse flows."""
    return drawing.link_value(result, "loss_rate")


def flow_values(result: Result, flow: int, name: str) -> NDArray[np.float64]:
    """Samples of one column of a flow's series."""
    return flow_series(result.sampled())[flow].values[name]


@dataclass(frozen=True)
class Backoff:
    """Congestion event of a flow.

    Attributes:
        t_s: Time of the last sample before the cut.
        window: Window at that time, packets.
        sample: Index in the flow's series.
    """

    t_s: float
    window: float
    sample: int


def backoffs(result: Result, flow: int, *, since_s: float = 0.0) -> list[Backoff]:
    """Window cuts of a flow: samples after which the window is smaller by a tenth or more."""
    line = flow_series(result.sampled())[flow]
    window = line.values["cwnd_packets"]
    cuts = np.flatnonzero(window[1:] < 0.9 * window[:-1])
    return [Backoff(float(line.t_s[i]), float(window[i]), int(i)) for i in cuts if line.t_s[i] >= since_s]


def buffer_for(used: Mapping[int, float], target: float) -> float:
    """Smallest buffer with at least a utilization of ``target``, interpolated between two simulated buffers on a
    logarithmic scale; the smallest or largest simulated buffer outside them.

    Args:
        used: Utilization by buffer, in packets.
        target: Utilization.
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


def chart(title: str, x: str, y: str, *, height: float = 4.2) -> tuple[Plot, Panel]:
    """A plot with one panel."""
    plot, (panel,) = time_charts(title, (y,), x=x, height=height)
    return plot, panel


def time_charts(title: str, labels: Sequence[str], *, x: str = TIME, height: float = 6.0) -> tuple[Plot, list[Panel]]:
    """Rows of axes with a common horizontal axis, in the house style. Legends are added at the end; long ones are below
    the axes.
    """
    plot = Plot.grid(len(labels), title=title, height=height, over_time=x.startswith("Time"))
    for panel, label in zip(plot.panels, labels, strict=True):
        panel.y.label = label
        panel.legend = True
    plot.panels[-1].x.label = x
    return plot, plot.panels


def draw(
    axes: Panel,
    result: Result,
    flow: int,
    name: str,
    look: Look,
    label: str | None = None,
    *,
    scale: float = 1.0,
) -> None:
    """Plots one column of a flow's series against time, multiplied by `scale`."""
    line = flow_series(result.sampled())[flow]
    axes.line(line.t_s, line.values[name] * scale, **look, label=label)


def flow_pens(result: Result) -> list[Look]:
    """Line styles of the flows, by their algorithms."""
    return pens(result.columns("flows")["algorithm"])


def draw_queue(axes: Panel, result: Result, link: int = 0, label: str | None = None) -> None:
    """Plots a link's queue against time."""
    line = link_series(result.sampled())[link]
    axes.line(line.t_s, line.values["queue_packets"], **(link_pen(link) | {"linewidth": 0.8}), label=label)
