"""Hyun and Jang, one flow: figures 1, 2, and 3, table 1, equation (5)."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from fullpipe.models import hyun_jang_gain, reno_utilization
from fullpipe.papers.drawing import (
    bottleneck,
    flow_samples,
    link_samples,
    loss_times,
    mean_between,
    panels,
    titled,
    utilization,
)
from fullpipe.plots.looks import pen
from fullpipe.plots.spec import moving_mean
from fullpipe.reproduce.item import Item, Quick, Results, Scenarios, published, shorter
from fullpipe.reproduce.rows import Rows
from fullpipe.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fullpipe.plots.spec import Panel, Plot
    from fullpipe.runs.result import Result

__all__ = ["EQUATION_5", "FIGURE_1", "FIGURE_2", "FIGURE_3", "SCHEMES", "TABLE_1", "W_FULL_PACKETS", "link_scenario"]

W_FULL_PACKETS = 1000
"""100 Mbit/s times 80 ms in packets of 1000 bytes."""

BUFFERS = {"1/8": 1 / 8, "1/4": 1 / 4, "1/2": 1 / 2, "3/4": 3 / 4}
"""Ratios k of the buffer to the bandwidth-delay product."""

EQUATION_5_BUFFERS = {"1/8": 1 / 8, "1/4": 1 / 4, "3/8": 3 / 8, "1/2": 1 / 2, "3/4": 3 / 4, "1": 1.0}
"""Ratios k of the simulated points for equation (5)."""

BASE_RTT_S = 0.08
"""RTTmin."""

FIGURE_2_FIGURES = {
    "ramp, round trips": ("ramp", "round trips"),
    "hold, share of the cycle": ("hold, share of the cycle", ""),
    "window over W_full in the hold, largest difference": ("window over W_full in the hold, largest difference", ""),
    "slope of extra over slope of Reno's window in the hold": ("slope of extra over slope of Reno's window", ""),
    "extra after the hold, largest": ("extra after the hold, largest", "packets"),
    "W_full, packets": ("W_full", "packets"),
}
"""Quantity and unit of each value of figure 2, by name."""

SCHEMES = {"reno": "reno", "proposed": {"name": "hyun-jang", "a": 1.1, "alpha": 1.02, "beta": 0.97}}
"""Columns of the paper; a, alpha, and beta have its values."""

NAMES = {"reno": "reno", "proposed": "hyun-jang"}
"""Algorithms of the columns."""


def link_scenario(k: float, algorithm: object) -> Scenario:
    """One flow over the paper's link: 100 Mbit/s, 80 ms, and a drop-tail buffer of k bandwidth-delay products.

    The paper omits access rate ("faster"), duration, and averaging window. Here, the access link has 1 Gbit/s and 1 ms.
    The warm-up of 200 s contains the first congestion avoidance cycle, in which the scheme only measures (the paper
    excludes it too), and which ends after 88 to 113 s. The 400 s after it have at least four cycles with each buffer.
    """
    return Scenario(
        duration="600 s",
        warmup="200 s",
        packet_size=1000,
        series_interval="100 ms",
        links=[bottleneck("100 Mbit/s", "39 ms", f"{round(k * W_FULL_PACKETS)} packets", queue="drop-tail")],
        flows=[{"algorithm": algorithm, "access_delay": "1 ms", "access_rate": "1 Gbit/s"}],
    )


def _table_1_scenarios() -> dict[str, Scenario]:
    return {
        _name(scheme, k): link_scenario(BUFFERS[k], algorithm) for k in BUFFERS for scheme, algorithm in SCHEMES.items()
    }


def _table_1_measure(results: Results) -> Rows:
    used = {(scheme, k): utilization(results[_name(scheme, k)]) for scheme in SCHEMES for k in BUFFERS}
    rows = Rows()
    for (scheme, k), value in used.items():
        rows.add("utilization", value, algorithm=scheme, setting=f"k={k}")
    for k, size in BUFFERS.items():
        rows.add("gain over reno", 100 * (used["proposed", k] / used["reno", k] - 1), setting=f"k={k}", unit="%")
        rows.add("gain by equation (5)", 100 * (hyun_jang_gain(size) - 1), setting=f"k={k}", unit="%")
    return rows


def _table_1_picture(results: Results) -> Plot:
    """Windows at k = 1/8, with `extra` shaded, and the link's utilization."""
    runs = {scheme: results[_name(scheme, "1/8")] for scheme in SCHEMES}
    rows = (
        ("Reno", "Window (packets)"),
        ("Proposed scheme: Reno's window plus extra packets", "Window (packets)"),
        ("Utilization of the link, mean over 0.8 s", "Fraction of capacity"),
    )
    plot, axes = panels(rows, title="One flow, 100 Mbit/s, 80 ms, a buffer of 1/8 BDP", height=2.4)
    (above,), (below,), (link,) = axes
    for panel, (scheme, result) in zip((above, below), runs.items(), strict=True):
        _draw_window(panel, result, NAMES[scheme])
    for scheme, result in runs.items():
        t_s, used = link_samples(result, "utilization")
        label = f"{scheme}, {utilization(result):.3f} from {result.scenario.warmup_s:g} s on"
        # Samples are 100 ms apart, round trips at least 80 ms long: eight samples are ten round trips.
        link.line(t_s, moving_mean(used, 8), **pen(NAMES[scheme]), label=label)
    link.y.limits = (0, 1.05)
    link.x.limits = (0, runs["reno"].scenario.duration_s)
    link.legend = True
    return plot


def _utilization_picture(results: Results) -> Plot:
    """Utilization against the buffer; the letter's values are hollow."""
    rows = (titled("utilization", "Fraction of capacity"),)
    xlabel = "k, buffer (BDP)"
    plot, ((axes,),) = panels(rows, xlabel=xlabel, height=4.0)
    for scheme, name in NAMES.items():
        used = [utilization(results[_name(scheme, k)]) for k in BUFFERS]
        axes.line(list(BUFFERS.values()), used, **pen(name, marked=True), label=scheme)
    for scheme, name in NAMES.items():
        printed = [published("hyun-jang/table-1", f"utilization, {scheme}, k={k}") for k in BUFFERS]
        look = pen(name, marked=True) | {"linestyle": "none", "markersize": 9, "markerfacecolor": "none"}
        axes.line(list(BUFFERS.values()), printed, **look, label=f"{scheme}, published")
    axes.x.limits = (0, 0.8)
    axes.y.limits = (0.8, 1.01)
    axes.legend = True
    return plot


def _draw_window(axes: Panel, result: Result, algorithm: str, label: str = "congestion window") -> None:
    t_s, cwnd = flow_samples(result, 0, "cwnd_packets")
    axes.line(t_s, cwnd, **pen(algorithm), label=label)
    if "extra" in result.columns("series"):
        _, extra = flow_samples(result, 0, "extra")
        colour = pen(algorithm)["color"]
        axes.area(t_s, cwnd - extra, cwnd, colour, alpha=0.25, label="extra packets")
        axes.line(t_s, cwnd - extra, color=colour, linewidth=0.8, linestyle=(0, (4, 2)), label="Reno's window")
    axes.level(W_FULL_PACKETS, color="#666666", linewidth=0.8, linestyle=":", label="BDP, 1000 packets")
    axes.y.limits = (0, 1350)
    axes.legend = True


def _name(scheme: str, k: str) -> str:
    return f"{scheme}-k-{k.replace('/', '-')}"


def _steady(result: Result) -> list[tuple[float, float]]:
    """Congestion avoidance cycles after the warm-up, from one loss to the next, seconds."""
    losses = [t for t in loss_times(result, 0) if t > result.scenario.warmup_s]
    return list(pairwise(losses))


def _sawtooth(result: Result) -> dict[str, float]:
    """Means over the cycles after the warm-up: window before and after a loss, packets, and period, seconds."""
    t_s, cwnd, threshold = flow_samples(result, 0, "cwnd_packets", "ssthresh_packets")
    cycles = _steady(result)
    peaks = [cwnd[(t_s > begin) & (t_s < end)].max() for begin, end in cycles]
    halves = [threshold[np.searchsorted(t_s, begin)] for begin, _ in cycles]
    return {
        "peak": float(np.mean(peaks)) if cycles else float("nan"),
        "half": float(np.mean(halves)) if cycles else float("nan"),
        "period": float(np.mean([end - begin for begin, end in cycles])) if cycles else float("nan"),
    }


def _figure_1_measure(results: Results) -> Rows:
    result = results["reno"]
    t_s, cwnd = flow_samples(result, 0, "cwnd_packets")
    _, queue, used = link_samples(result, "queue_packets", "utilization")
    saw = _sawtooth(result)
    counted = t_s > result.scenario.warmup_s
    # A round trip around the crossing belongs to neither side.
    below, above = counted & (cwnd < 0.98 * W_FULL_PACKETS), counted & (cwnd > 1.02 * W_FULL_PACKETS)
    low, high = "window below 1000 packets", "window above 1000 packets"
    ratio = used[below].mean() / cwnd[below].mean() * W_FULL_PACKETS
    rows = Rows(named=("quantity", "setting", "unit"))
    rows.add("window before a loss", saw["peak"], unit="packets", algorithm="reno")
    rows.add("window after a loss", saw["half"], unit="packets", algorithm="reno")
    rows.add("full buffer", queue[counted].max(), unit="packets", algorithm="reno")
    rows.add("utilization", used[above].mean(), algorithm="reno", setting=high)
    rows.add("utilization over window", ratio, algorithm="reno", setting=low)
    rows.add(
        "mean queue", queue[below].mean(), unit="packets", algorithm="reno", setting=low, name=f"mean queue, {low}"
    )
    return rows


def _figure_1_picture(results: Results) -> Plot:
    rows = (titled("cwnd_packets"), titled("utilization", "Fraction of capacity"), titled("queue_packets"))
    result = results["reno"]
    plot, axes = panels(rows, title="Reno, 100 Mbit/s, 80 ms, a buffer of 1/4 BDP")
    _draw_window(axes[0][0], result, "reno")
    _draw_link(axes[1][0], axes[2][0], result, "reno")
    axes[0][0].x.limits = (0, result.scenario.duration_s)
    return plot


def _draw_link(used: Panel, queue: Panel, result: Result, algorithm: str) -> None:
    t_s, utilizations, packets = link_samples(result, "utilization", "queue_packets")
    used.line(t_s, moving_mean(utilizations, 8), **pen(algorithm))
    used.y.limits = (0, 1.05)
    queue.line(t_s, packets, **pen(algorithm))


def _figure_2_measure(results: Results) -> Rows:
    """Phases of the second cycle after the warm-up; t0 to t3 are the paper's names."""
    result = results["proposed"]
    t_s, cwnd, own, extra, full = flow_samples(result, 0, "cwnd_packets", "cwnd_reno", "extra", "w_full")
    t0, t1, t2, t3 = _phases(result)
    hold = (t_s >= t1) & (t_s < t2)
    if hold.sum() < 2:  # extra never filled the pipe
        return _figure_2_rows([float("nan")] * len(FIGURE_2_FIGURES))
    rise, slope = (np.polyfit(t_s[hold], values[hold], 1)[0] for values in (own, extra))
    after = (t_s >= t2) & (t_s < t3 - 0.2)
    measured = (
        (t1 - t0) / BASE_RTT_S,
        (t2 - t1) / (t3 - t0),
        float(np.abs(cwnd[hold] / full[hold] - 1).max()),
        float(slope / rise),
        float(extra[after].max()),
        float(full[hold].mean()),
    )
    return _figure_2_rows(measured)


def _figure_2_rows(measured: Sequence[float]) -> Rows:
    rows = Rows()
    for (name, (quantity, unit)), value in zip(FIGURE_2_FIGURES.items(), measured, strict=True):
        rows.add(quantity, value, unit=unit, algorithm="proposed", name=name)
    return rows


def _phases(result: Result) -> tuple[float, float, float, float]:
    """Times of the second cycle after the warm-up: its loss, W_full reached, end of extra, next loss; seconds."""
    t_s, cwnd, extra, full = flow_samples(result, 0, "cwnd_packets", "extra", "w_full")
    cycles = _steady(result)
    if len(cycles) < 2:
        return (float("nan"),) * 4
    begin, end = cycles[1]
    held = t_s[(t_s > begin) & (t_s < end) & (extra > 0) & (cwnd >= full * 0.999)]
    return (begin, float(held[0]), float(held[-1]), end) if len(held) else (begin, *(float("nan"),) * 2, end)


def _figure_2_picture(results: Results) -> Plot:
    result = results["proposed"]
    times = _phases(result)
    plot, ((axes,),) = panels((("Congestion window during one cycle", "Window (packets)"),), height=4.0)
    _draw_window(axes, result, "hyun-jang")
    if all(np.isfinite(times)):
        for name, t_s in zip(("t0", "t1", "t2", "t3"), times, strict=True):
            axes.upright(t_s, color="#999999", linewidth=0.8)
            axes.note(name, t_s, 20, (3, 0))
        axes.x.limits = (times[0] - 5, times[3] + 5)
    return plot


def _equation_5_measure(results: Results) -> Rows:
    rows = Rows()
    for name, k in {"k=0": 0.0, "k=1/4": 0.25}.items():
        rows.add("equation (5)", hyun_jang_gain(k), setting=name, name=f"equation (5) at {name}")
    for name, k in EQUATION_5_BUFFERS.items():
        simulated = _full_over(results[_name("reno", name)])
        fluid = 1 / reno_utilization(k)
        rows.add("equation (5) less the fluid sawtooth", hyun_jang_gain(k) - fluid, setting=f"k={name}")
        rows.add("full link over Reno, simulated", simulated, setting=f"k={name}")
        rows.add("simulated less equation (5)", simulated - hyun_jang_gain(k), setting=f"k={name}")
    return rows


def _full_over(result: Result) -> float:
    """Ratio of a full link's load to the run's load, over whole cycles."""
    t_s, used = link_samples(result, "utilization")
    cycles = _steady(result)
    return 1 / mean_between(t_s, used, cycles[0][0], cycles[-1][1]) if cycles else float("nan")


def _equation_5_picture(results: Results) -> Plot:
    k = np.linspace(0, 1, 101)
    points = {EQUATION_5_BUFFERS[name]: _full_over(results[_name("reno", name)]) for name in EQUATION_5_BUFFERS}
    rows = (("what a full link carries over what Reno carries", "ratio"),)
    plot, ((axes,),) = panels(rows, xlabel="k, buffer (BDP)", height=4.0)
    axes.line(k, [hyun_jang_gain(each) for each in k], color="#666666", label="equation (5)")
    look = pen("reno", marked=True) | {"linestyle": "none"}
    axes.line(list(points), list(points.values()), **look, label="Reno, simulated")
    axes.x.limits = (0, 1)
    axes.y.limits = (0.95, 1.4)
    axes.legend = True
    return plot


def _figure_3_measure(results: Results) -> Rows:
    reno, proposed = (_sawtooth(results[scheme]) for scheme in SCHEMES)
    rtts = {scheme: _mean_and_largest_rtt_ms(results[scheme]) for scheme in SCHEMES}
    queue = _largest_queue(results["proposed"]) - _largest_queue(results["reno"])
    ratio, difference = "proposed over reno", "proposed less reno"
    rows = Rows()
    rows.add("utilization", utilization(results["reno"]), algorithm="reno")
    rows.add("utilization", utilization(results["proposed"]), algorithm="proposed")
    rows.add("period", proposed["period"] / reno["period"], algorithm=ratio)
    rows.add("window before a loss", proposed["peak"] / reno["peak"], algorithm=ratio)
    rows.add("largest RTT", rtts["proposed"][1] - rtts["reno"][1], unit="ms", algorithm=difference)
    rows.add("mean RTT", rtts["proposed"][0] - rtts["reno"][0], unit="ms", algorithm=difference)
    rows.add("largest queue", queue, unit="packets", algorithm=difference)
    return rows


def _mean_and_largest_rtt_ms(result: Result) -> tuple[float, float]:
    t_s, rtt_s = flow_samples(result, 0, "rtt_s")
    counted = rtt_s[(t_s > result.scenario.warmup_s) & np.isfinite(rtt_s)]
    return float(counted.mean()) * 1e3, float(counted.max()) * 1e3


def _largest_queue(result: Result) -> float:
    t_s, queue = link_samples(result, "queue_packets")
    return float(queue[t_s > result.scenario.warmup_s].max())


def _figure_3_picture(results: Results) -> Plot:
    rows = (
        titled("cwnd_packets"),
        titled("utilization", "Fraction of capacity"),
        titled("rtt_s"),
        titled("queue_packets"),
    )
    plot, axes = panels(rows, columns=2, title="k = 1/4", width=11.0)
    for i, (scheme, algorithm) in enumerate(NAMES.items()):
        result = results[scheme]
        for (name, unit), row in zip(rows, axes, strict=True):
            row[i].title = f"{scheme}: {name}"
            row[i].y.label = unit
        _draw_window(axes[0][i], result, algorithm, scheme)
        _draw_link(axes[1][i], axes[3][i], result, algorithm)
        t_s, rtt_s = flow_samples(result, 0, "rtt_s")
        axes[2][i].line(t_s, rtt_s * 1e3, **pen(algorithm))
        axes[2][i].y.limits = (60, 120)
        axes[0][i].x.limits = (0, result.scenario.duration_s)
    return plot


def _at_quarter(*schemes: str) -> dict[str, Scenario]:
    return {scheme: link_scenario(BUFFERS["1/4"], SCHEMES[scheme]) for scheme in schemes}


def _equation_5_scenarios() -> dict[str, Scenario]:
    return {_name("reno", name): link_scenario(k, "reno") for name, k in EQUATION_5_BUFFERS.items()}


SHORT = "runs of 330 s instead of 600 s, averages from 140 s on instead of 200 s: two to four cycles instead of seven"


def _short(scenarios: Scenarios) -> Quick:
    return shorter(scenarios, SHORT, duration="330 s", warmup="140 s")


FIGURE_1 = Item(
    id="hyun-jang/figure-1",
    title="Reno on a link with a small buffer: window, utilization, buffer",
    scenarios=lambda: _at_quarter("reno"),
    measure=_figure_1_measure,
    pictures={"figure-1": _figure_1_picture},
    quick=_short(lambda: _at_quarter("reno")),
)

FIGURE_2 = Item(
    id="hyun-jang/figure-2",
    title="Phases of the proposed scheme's extra window during one congestion avoidance cycle, from a run",
    scenarios=lambda: _at_quarter("proposed"),
    measure=_figure_2_measure,
    pictures={"figure-2": _figure_2_picture},
    quick=_short(lambda: _at_quarter("proposed")),
)

TABLE_1 = Item(
    id="hyun-jang/table-1",
    title="Utilization by one flow against the buffer: Reno and the proposed scheme",
    scenarios=_table_1_scenarios,
    measure=_table_1_measure,
    pictures={"utilization": _utilization_picture, "table-1": _table_1_picture},
    quick=_short(_table_1_scenarios),
)

EQUATION_5 = Item(
    id="hyun-jang/equation-5",
    title="Ratio of the link rate to Reno's throughput by buffer: equation (5) and simulation",
    scenarios=_equation_5_scenarios,
    measure=_equation_5_measure,
    pictures={"equation-5": _equation_5_picture},
    quick=shorter(
        _equation_5_scenarios,
        "runs of 330 s instead of 600 s, whole cycles from 110 s on instead of 200 s",
        duration="330 s",
        warmup="110 s",
    ),
)

FIGURE_3 = Item(
    id="hyun-jang/figure-3",
    title="Comparison of Reno and the proposed scheme: window, utilization, RTT, buffer",
    scenarios=lambda: _at_quarter(*SCHEMES),
    measure=_figure_3_measure,
    pictures={"figure-3": _figure_3_picture},
    quick=_short(lambda: _at_quarter(*SCHEMES)),
)
