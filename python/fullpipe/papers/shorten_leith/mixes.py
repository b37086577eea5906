"""Shorten and Leith, 25 standard and adaptive flows: figures 9, 11, 12, and 15."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from fullpipe.metrics import axis, metric
from fullpipe.papers.drawing import runs_of
from fullpipe.papers.shorten_leith.common import (
    KINDS,
    PACKET_BYTES,
    STANDARD,
    backoffs,
    chart,
    dumbbell,
    loss_rate,
    time_charts,
    utilization,
)
from fullpipe.plots.looks import pens, setting_pens
from fullpipe.reproduce.item import Item, Results, shorter
from fullpipe.reproduce.rows import Rows
from fullpipe.scenario import Scenario

if TYPE_CHECKING:
    from fullpipe.plots.spec import Plot
    from fullpipe.runs.result import Result

__all__ = ["FIGURE_9", "FIGURE_11", "FIGURE_12", "FIGURE_15"]

FLOWS = 25
ADAPTIVE_COUNTS = (0, 5, 10, 15, 20, 25)


def _mix(adaptive: int, access_delay: str) -> list[dict[str, object]]:
    counts = {"standard": FLOWS - adaptive, "adaptive": adaptive}
    return [
        {**KINDS[kind], "count": count, "start": "0 s..5 s", "access_delay": access_delay}
        for kind, count in counts.items()
        if count
    ]


# Figure 9: 155 Mbit/s, 40 ms, a queue of 25 packets.


def _figure_9_scenarios() -> dict[str, Scenario]:
    return {
        f"adaptive-{count}": dumbbell("155 Mbit/s", "10 ms", 25, _mix(count, "10 ms"), (150, 30))
        for count in ADAPTIVE_COUNTS
    }


def _figure_9_measure(results: Results) -> Rows:
    rows = Rows()
    for count in ADAPTIVE_COUNTS:
        result = results[f"adaptive-{count}"]
        rows.add("utilization", utilization(result), setting=f"{count} adaptive")
        rows.add("loss", 100 * loss_rate(result), unit="%", setting=f"{count} adaptive")
    return rows


def _figure_9_picture(results: Results) -> Plot:
    rows = _figure_9_measure(results)
    curve = [
        (count, rows.value("utilization", setting=f"{count} adaptive"), rows.value("loss", setting=f"{count} adaptive"))
        for count in ADAPTIVE_COUNTS
    ]
    title = "25 flows, some of them adaptive: 155 Mbit/s, 40 ms, queue 25 packets"
    return _mix_picture(title, {"40 ms, queue 25": curve})


def _mix_picture(title: str, curves: dict[str, list[tuple[int, float, float]]]) -> Plot:
    labels = (metric("utilization").title, axis("loss_rate")[0])
    plot, (used, lost) = time_charts(title, labels, x="Adaptive flows of 25")
    for look, (label, points) in zip(pens(["adaptive-aimd"] * len(curves), marked=True), curves.items(), strict=True):
        counts, utilizations, percent = zip(*points, strict=True)
        used.line(counts, utilizations, **look, label=label if len(curves) > 1 else None)
        lost.line(counts, percent, **look)
    lost.y.limits = (0, None)
    return plot


FIGURE_9 = Item(
    id="shorten-leith/figure-9",
    title="Utilization and loss against the number of adaptive flows",
    scenarios=_figure_9_scenarios,
    measure=_figure_9_measure,
    pictures={"figure-9": _figure_9_picture},
    quick=shorter(_figure_9_scenarios, "60 s instead of 150 s", duration="60 s"),
)


# Figures 11 and 12: the flows with reverse flows. The paper's 40 ms and 125 packets. Because the result depends on
# them, also other queues, and round trips that differ from flow to flow.

REVERSE_SETTINGS = {
    "as stated": (125, "10 ms"),
    "39.5 to 40.5 ms": (125, "9.75 ms..10.25 ms"),
    "36 to 44 ms": (125, "9 ms..11 ms"),
    "36 to 44 ms, queue 25": (25, "9 ms..11 ms"),
    "30 to 50 ms, queue 25": (25, "7.5 ms..12.5 ms"),
}
"""Queue in packets and one-way access delay. The link's 10 ms and the reverse path are the rest of the RTT."""

REVERSE_COUNTS = (0, 10, 25)

REVERSE_SEEDS = range(1, 6)
"""Seeds, of which the median is checked: single runs differ by as much as the paper attributes to the backoff, because
start times decide which bursts collide.
"""


def _reverse_scenarios(reverse: int) -> dict[str, Scenario]:
    return {
        _reverse_name(setting, count, seed): dumbbell(
            "155 Mbit/s",
            "10 ms",
            queue,
            [
                *_mix(count, delay),
                {**STANDARD, "count": reverse, "start": "0 s..5 s", "access_delay": delay, "reverse": True},
            ],
            (120, 30),
            seed=seed,
        )
        for setting, (queue, delay) in REVERSE_SETTINGS.items()
        for count in _reverse_counts(setting)
        for seed in REVERSE_SEEDS
    }


def _reverse_counts(setting: str) -> tuple[int, ...]:
    return ADAPTIVE_COUNTS if setting == "as stated" else REVERSE_COUNTS


def _reverse_name(setting: str, count: int, seed: int) -> str:
    return f"{setting.replace(',', '').replace(' ', '-')}-adaptive-{count}-seed-{seed}"


def _reverse_measure(results: Results) -> Rows:
    rows = Rows()
    for setting in REVERSE_SETTINGS:
        for count in _reverse_counts(setting):
            runs = _reverse_runs(results, setting, count)
            where = f"{setting}, {count} adaptive"
            rows.add("utilization", median(map(utilization, runs)), setting=where)
            rows.add("loss", 100 * median(map(loss_rate, runs)), unit="%", setting=where)
        none, every = (_reverse_runs(results, setting, count) for count in (0, 25))
        changes = [loss_rate(after) / loss_rate(before) - 1 for before, after in zip(none, every, strict=True)]
        rows.add("change of loss", 100 * median(changes), unit="%", setting=setting)
    return rows


def _reverse_curve(rows: Rows, setting: str) -> list[tuple[int, float, float]]:
    """Numbers of adaptive flows, each with the median utilization and loss rate, in percent."""
    places = {count: f"{setting}, {count} adaptive" for count in _reverse_counts(setting)}
    return [
        (count, rows.value("utilization", setting=place), rows.value("loss", setting=place))
        for count, place in places.items()
    ]


def _reverse_runs(results: Results, setting: str, count: int) -> list[Result]:
    return [results[_reverse_name(setting, count, seed)] for seed in REVERSE_SEEDS]


def _reverse_picture(reverse: int) -> Callable[[Results], Plot]:
    def draw(results: Results) -> Plot:
        rows = _reverse_measure(results)
        curves = {setting: _reverse_curve(rows, setting) for setting in REVERSE_SETTINGS}
        title = f"25 flows and {reverse} reverse flows: 155 Mbit/s, about 40 ms, queue 125 packets unless named"
        return _mix_picture(title, curves)

    return draw


def _reverse_item(number: int, reverse: int) -> Item:
    def scenarios() -> dict[str, Scenario]:
        return _reverse_scenarios(reverse)

    return Item(
        id=f"shorten-leith/figure-{number}",
        title=f"Utilization and loss against the number of adaptive flows, with {reverse} reverse flows",
        scenarios=scenarios,
        measure=_reverse_measure,
        pictures={f"figure-{number}": _reverse_picture(reverse)},
        quick=shorter(scenarios, "40 s instead of 120 s", duration="40 s", warmup="10 s"),
    )


FIGURE_11 = _reverse_item(11, 10)
FIGURE_12 = _reverse_item(12, 20)


# Figure 15: 155 Mbit/s, 120 ms, a queue of 125 packets, web traffic of 1 % of the link.

FIGURE_15_COUNTS = (1, 5, 10, 15, 20, 24)
FIGURE_15_RTTS = {"80 to 160 ms": (20.0, 40.0), "80 to 160 ms and 20 us": (20.01, 40.0), "all 120 ms": (20.0, 0.0)}
"""The mean access delay in ms, one way, and how far the delays spread about it; the link's own are 40 ms. 120 ms is
exactly 1550 packets' time on the link, a round trip that phase effects spare losses; 20 us more is a quarter of one
packet's time off."""

FIGURE_15_SEEDS = range(1, 6)
"""Medians count: the mean of a few flows of a kind varies from run to run."""

WEB_BYTES = 12_000


def _figure_15_scenarios() -> dict[str, Scenario]:
    users = {
        **STANDARD,
        "transfers_per_second": round(0.01 * 155e6 / (8 * WEB_BYTES), 3),
        "mean_size": f"{WEB_BYTES} B",
    }
    return {
        _figure_15_name(rtts, count, seed): dumbbell(
            "155 Mbit/s",
            "40 ms",
            125,
            _evenly_spread(count, mean_ms, breadth_ms),
            (300, 100),
            web=[{**users, "access_delay": "20 ms"}],
            series_interval="60 ms",
            seed=seed,
        )
        for rtts, (mean_ms, breadth_ms) in FIGURE_15_RTTS.items()
        for count in FIGURE_15_COUNTS
        for seed in FIGURE_15_SEEDS
    }


def _evenly_spread(adaptive: int, mean_ms: float, breadth_ms: float) -> list[dict[str, object]]:
    """The flows of each kind with access delays evenly spread, so that neither kind has the shorter round trips."""
    counts = {"standard": FLOWS - adaptive, "adaptive": adaptive}
    return [
        {
            **KINDS[kind],
            "start": "0 s..5 s",
            "access_delay": f"{mean_ms + breadth_ms * ((i + 0.5) / count - 0.5):.3f} ms",
        }
        for kind, count in counts.items()
        for i in range(count)
    ]


def _figure_15_name(rtts: str, adaptive: int, seed: int) -> str:
    return f"{rtts.replace(' ', '-')}-adaptive-{adaptive}-seed-{seed}"


def _figure_15_measure(results: Results) -> Rows:
    rows = Rows()
    for rtts in FIGURE_15_RTTS:
        for count in FIGURE_15_COUNTS:
            names = (_figure_15_name(rtts, count, seed) for seed in FIGURE_15_SEEDS)
            runs = [_events(run, count) for run in runs_of(results, names)]
            peaks = median(standard[0] / adaptive[0] for standard, adaptive in runs)
            events = median(standard[1] / adaptive[1] for standard, adaptive in runs)
            of = {"algorithm": "standard over adaptive", "setting": f"{rtts}, {count} adaptive"}
            rows.add("peak windows", peaks, **of)
            rows.add("events", events, **of)
    return rows


def _events(result: Result, adaptive: int) -> tuple[tuple[float, float], tuple[float, float]]:
    """Mean peak window and mean number of congestion events per flow, of standard flows and of adaptive ones."""

    def mean(flows: Sequence[int]) -> tuple[float, float]:
        events = [backoffs(result, flow, since_s=result.scenario.warmup_s) for flow in flows]
        peaks = [np.mean([event.window for event in own]) for own in events if own]
        return float(np.mean(peaks)), float(np.mean([len(own) for own in events]))

    return mean(range(FLOWS - adaptive)), mean(range(FLOWS - adaptive, FLOWS))


def _figure_15_picture(results: Results) -> Plot:
    rows = _figure_15_measure(results)
    title = f"Mean peak windows: 155 Mbit/s, 120 ms, queue 125 packets of {PACKET_BYTES} bytes, 1 % web"
    plot, axes = chart(title, "Adaptive flows of 25", "Standard over adaptive")
    for look, rtts in zip(setting_pens(len(FIGURE_15_RTTS)), FIGURE_15_RTTS, strict=True):
        settings = [f"{rtts}, {count} adaptive" for count in FIGURE_15_COUNTS]
        ratios = [rows.value("peak windows", "standard over adaptive", setting) for setting in settings]
        axes.line(FIGURE_15_COUNTS, ratios, **(look | {"marker": "o"}), label=f"round trips: {rtts}")
    axes.level(1, color="#666666", linestyle=":")
    axes.y.limits = (0, 2)
    return plot


FIGURE_15 = Item(
    id="shorten-leith/figure-15",
    title="Fairness of adaptive and standard flows",
    scenarios=_figure_15_scenarios,
    measure=_figure_15_measure,
    pictures={"figure-15": _figure_15_picture},
    quick=shorter(
        _figure_15_scenarios,
        "150 s instead of 300 s, with three seeds instead of five",
        lambda _, scenario: scenario.seed in FIGURE_15_SEEDS[:3],
        duration="150 s",
        warmup="50 s",
    ),
)
