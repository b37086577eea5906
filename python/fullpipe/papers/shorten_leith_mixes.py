"""Shorten and Leith on 25 flows, some standard and some adaptive: figures 9, 11, 12 and 15."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fullpipe.papers.item import Item, Results, shorter
from fullpipe.papers.shorten_leith_common import (
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
from fullpipe.plot import COLOURS
from fullpipe.scenario import Scenario

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fullpipe.result import Result

__all__ = ["FIGURE_9", "FIGURE_11", "FIGURE_12", "FIGURE_15"]

FLOWS = 25
ADAPTIVE_COUNTS = (0, 5, 10, 15, 20, 25)


def _mix(adaptive: int, access_delay: str) -> list[dict[str, Any]]:
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


def _figure_9_measure(results: Results) -> dict[str, float]:
    figures = {}
    for count in ADAPTIVE_COUNTS:
        figures[f"utilization, {count} adaptive"] = utilization(results[f"adaptive-{count}"])
        figures[f"loss, {count} adaptive, %"] = 100 * loss_rate(results[f"adaptive-{count}"])
    return figures


def _figure_9_picture(results: Results) -> Figure:
    values = {
        "40 ms, queue 25": [
            (count, utilization(results[f"adaptive-{count}"]), loss_rate(results[f"adaptive-{count}"]))
            for count in ADAPTIVE_COUNTS
        ]
    }
    return _mix_picture("25 flows, some of them adaptive: 155 Mbit/s, 40 ms, queue 25 packets", values)


def _mix_picture(title: str, curves: dict[str, list[tuple[int, float, float]]]) -> Figure:
    labels = ("utilization of the link", "loss, %")
    with time_charts(title, labels, x="adaptive flows of 25") as (figure, (used, lost)):
        for colour, (label, points) in zip(COLOURS, curves.items(), strict=False):
            counts, utilizations, losses = zip(*points, strict=True)
            used.plot(counts, utilizations, "o-", color=colour, label=label if len(curves) > 1 else None)
            lost.plot(counts, [100 * loss for loss in losses], "o-", color=colour)
        lost.set_ylim(bottom=0)
    return figure


FIGURE_9 = Item(
    id="shorten-leith/figure-9",
    title="Utilization and loss against the number of adaptive flows",
    scenarios=_figure_9_scenarios,
    measure=_figure_9_measure,
    pictures={"figure-9": _figure_9_picture},
    quick=shorter(_figure_9_scenarios, "60 s instead of 150 s", duration="60 s"),
)


# Figures 11 and 12: the same with reverse flows. The paper's 40 ms and 125 packets; and, since all depends on it, other
# queues and round trips that differ from flow to flow.

REVERSE_SETTINGS = {
    "as stated": (125, "10 ms"),
    "39.5 to 40.5 ms": (125, "9.75 ms..10.25 ms"),
    "36 to 44 ms": (125, "9 ms..11 ms"),
    "36 to 44 ms, queue 25": (25, "9 ms..11 ms"),
    "30 to 50 ms, queue 25": (25, "7.5 ms..12.5 ms"),
}
"""Queue in packets and access delay, one way; the link's own 10 ms and its way back make the rest of the round trip."""

REVERSE_COUNTS = (0, 10, 25)


def _reverse_scenarios(reverse: int) -> dict[str, Scenario]:
    return {
        _reverse_name(setting, count): dumbbell(
            "155 Mbit/s",
            "10 ms",
            queue,
            [
                *_mix(count, delay),
                {**STANDARD, "count": reverse, "start": "0 s..5 s", "access_delay": delay, "reverse": True},
            ],
            (120, 30),
        )
        for setting, (queue, delay) in REVERSE_SETTINGS.items()
        for count in (ADAPTIVE_COUNTS if setting == "as stated" else REVERSE_COUNTS)
    }


def _reverse_name(setting: str, count: int) -> str:
    return f"{setting.replace(',', '').replace(' ', '-')}-adaptive-{count}"


def _reverse_measure(results: Results) -> dict[str, float]:
    figures = {}
    for setting in REVERSE_SETTINGS:
        for count in ADAPTIVE_COUNTS:
            if result := results.get(_reverse_name(setting, count)):
                figures[f"utilization, {setting}, {count} adaptive"] = utilization(result)
                figures[f"loss, {setting}, {count} adaptive, %"] = 100 * loss_rate(result)
        none, every = (results[_reverse_name(setting, count)] for count in (0, 25))
        figures[f"change of loss, {setting}, %"] = 100 * (loss_rate(every) / loss_rate(none) - 1)
    return figures


def _reverse_picture(reverse: int) -> Callable[[Results], Figure]:
    def draw(results: Results) -> Figure:
        curves = {
            setting: [
                (count, utilization(result), loss_rate(result))
                for count in ADAPTIVE_COUNTS
                if (result := results.get(_reverse_name(setting, count)))
            ]
            for setting in REVERSE_SETTINGS
        }
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
FIGURE_15_RTTS = {"80 to 160 ms": 40.0, "all 120 ms": 0.0}
"""The breadth of the access delays in ms, one way, about 20 ms; the link's own are 40 ms."""

WEB_BYTES = 12_000


def _figure_15_scenarios() -> dict[str, Scenario]:
    users = {
        **STANDARD,
        "transfers_per_second": round(0.01 * 155e6 / (8 * WEB_BYTES), 3),
        "mean_size": f"{WEB_BYTES} B",
    }
    return {
        _figure_15_name(rtts, count): dumbbell(
            "155 Mbit/s",
            "40 ms",
            125,
            _evenly_spread(count, breadth_ms),
            (300, 100),
            web=[{**users, "access_delay": "20 ms"}],
            series_interval="60 ms",
        )
        for rtts, breadth_ms in FIGURE_15_RTTS.items()
        for count in FIGURE_15_COUNTS
    }


def _evenly_spread(adaptive: int, breadth_ms: float) -> list[dict[str, Any]]:
    """The flows of each kind with access delays evenly spread, so that neither kind has the shorter round trips."""
    counts = {"standard": FLOWS - adaptive, "adaptive": adaptive}
    return [
        {
            **KINDS[kind],
            "start": "0 s..5 s",
            "access_delay": f"{20 + breadth_ms * ((i + 0.5) / count - 0.5):.3f} ms",
        }
        for kind, count in counts.items()
        for i in range(count)
    ]


def _figure_15_name(rtts: str, adaptive: int) -> str:
    return f"{rtts.replace(' ', '-')}-adaptive-{adaptive}"


def _figure_15_measure(results: Results) -> dict[str, float]:
    figures = {}
    for rtts in FIGURE_15_RTTS:
        for count in FIGURE_15_COUNTS:
            standard, adaptive = _events(results[_figure_15_name(rtts, count)], count)
            figures[f"peak windows, standard over adaptive, {rtts}, {count} adaptive"] = standard[0] / adaptive[0]
            figures[f"events, standard over adaptive, {rtts}, {count} adaptive"] = standard[1] / adaptive[1]
    return figures


def _events(result: Result, adaptive: int) -> tuple[tuple[float, float], tuple[float, float]]:
    """Mean peak window and mean number of congestion events per flow, of standard flows and of adaptive ones."""

    def mean(flows: Sequence[int]) -> tuple[float, float]:
        events = [backoffs(result, flow, since_s=result.scenario.warmup_s) for flow in flows]
        peaks = [np.mean([event.window for event in own]) for own in events if own]
        return float(np.mean(peaks)), float(np.mean([len(own) for own in events]))

    return mean(range(FLOWS - adaptive)), mean(range(FLOWS - adaptive, FLOWS))


def _figure_15_picture(results: Results) -> Figure:
    figures = _figure_15_measure(results)
    title = f"Mean peak windows: 155 Mbit/s, 120 ms, queue 125 packets of {PACKET_BYTES} bytes, 1 % web"
    with chart(title, "adaptive flows of 25", "standard over adaptive") as (figure, axes):
        for colour, rtts in zip(COLOURS, FIGURE_15_RTTS, strict=False):
            ratios = [figures[f"peak windows, standard over adaptive, {rtts}, {n} adaptive"] for n in FIGURE_15_COUNTS]
            axes.plot(FIGURE_15_COUNTS, ratios, "o-", color=colour, label=f"round trips: {rtts}")
        axes.axhline(1, color="#666666", linestyle=":")
        axes.set_ylim(0, 2)
    return figure


FIGURE_15 = Item(
    id="shorten-leith/figure-15",
    title="Fairness of adaptive and standard flows",
    scenarios=_figure_15_scenarios,
    measure=_figure_15_measure,
    pictures={"figure-15": _figure_15_picture},
    quick=shorter(_figure_15_scenarios, "150 s instead of 300 s", duration="150 s", warmup="50 s"),
)
