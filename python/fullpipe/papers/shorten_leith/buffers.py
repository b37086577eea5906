"""Shorten and Leith, utilization against the queue: figures 1, 4, and 7."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fullpipe.metrics import axis, metric
from fullpipe.models import aimd_utilization
from fullpipe.papers.shorten_leith.common import (
    ALGORITHMS,
    KINDS,
    NAMES,
    STANDARD,
    backoff_expected,
    buffer_for,
    chart,
    dumbbell,
    flows,
    utilization,
)
from fullpipe.plots.looks import pen, pens
from fullpipe.reproduce.item import Item, Results, shorter
from fullpipe.reproduce.rows import Rows
from fullpipe.scenario import Scenario

if TYPE_CHECKING:
    from fullpipe.plots.spec import Panel, Plot

__all__ = ["FIGURE_1", "FIGURE_4", "FIGURE_7"]


# Figure 1: 100 Mbit/s, delays of 80 ms on average.

FIGURE_1_FLOWS = (1, 100)
FIGURE_1_BUFFERS = (10, 20, 40, 80, 160, 333, 667)
FIGURE_1_BDP = 667


def _figure_1_scenarios() -> dict[str, Scenario]:
    groups = {
        1: {**STANDARD, "access_delay": "10 ms"},
        100: {**STANDARD, "count": 100, "start": "0 s..5 s", "access_delay": "0 ms..20 ms"},
    }
    return {
        f"flows-{n}-buffer-{q}": dumbbell("100 Mbit/s", "30 ms", q, [groups[n]], (300, 100))
        for n in FIGURE_1_FLOWS
        for q in FIGURE_1_BUFFERS
    }


def _figure_1_measure(results: Results) -> Rows:
    used = {(n, q): utilization(results[f"flows-{n}-buffer-{q}"]) for n in FIGURE_1_FLOWS for q in FIGURE_1_BUFFERS}
    rows = Rows()
    for (n, q), value in used.items():
        rows.add("utilization", value, setting=f"{flows(n)}, {q} packets")
    for q in FIGURE_1_BUFFERS:
        above = used[1, q] - aimd_utilization(q / FIGURE_1_BDP, 0.5)
        rows.add("1 flow less the closed form", above, setting=f"{q} packets")
    return rows


def _figure_1_picture(results: Results) -> Plot:
    rows = _figure_1_measure(results)
    plot, axes = chart(
        "Utilization against the buffer: 100 Mbit/s, round trips of 80 ms on average",
        axis("buffer_packets")[0],
        metric("utilization").title,
    )
    for look, n in zip(pens(["newreno"] * len(FIGURE_1_FLOWS), marked=True), FIGURE_1_FLOWS, strict=True):
        used = [rows.value("utilization", setting=f"{flows(n)}, {q} packets") for q in FIGURE_1_BUFFERS]
        axes.line(FIGURE_1_BUFFERS, used, **look, label=flows(n))
    sizes = np.geomspace(10, 667, 80)
    theory = [aimd_utilization(q / FIGURE_1_BDP, 0.5) for q in sizes]
    axes.line(sizes, theory, color="#666666", linestyle=":", label="1 flow, analytical model")
    _log_buffers(axes, FIGURE_1_BUFFERS)
    axes.y.limits = (0.65, 1.01)
    return plot


FIGURE_1 = Item(
    id="shorten-leith/figure-1",
    title="Utilization against the buffer, one flow and a hundred",
    scenarios=_figure_1_scenarios,
    measure=_figure_1_measure,
    pictures={"figure-1": _figure_1_picture},
    quick=shorter(_figure_1_scenarios, "150 s instead of 300 s", duration="150 s", warmup="50 s"),
)


# Figure 4: 10 Mbit/s; "delay" 50 ms and T = 1.2 ms are one-way delays of the link and of the access.

FIGURE_4_FLOWS = (1, 5, 10, 20, 30, 40, 50, 70, 100)
FIGURE_4_BUFFERS = (5, 10, 20, 30, 40, 50, 60, 70, 80, 85, 90, 100)
FIGURE_4_RTTS = {"equal RTT": "1.2 ms", "spread RTT": "0 ms..30 ms"}
FIGURE_4_TARGET = 0.9999


def _figure_4_scenarios() -> dict[str, Scenario]:
    return {
        f"{rtts.replace(' ', '-')}-flows-{n}-buffer-{q}": dumbbell(
            "10 Mbit/s",
            "50 ms",
            q,
            [{**STANDARD, "count": n, "start": "0 s..10 s", "access_delay": access_delay}],
            (300, 100),
        )
        for rtts, access_delay in FIGURE_4_RTTS.items()
        for n in FIGURE_4_FLOWS
        for q in FIGURE_4_BUFFERS
    }


def _figure_4_measure(results: Results) -> Rows:
    rows = Rows(named=("quantity", "setting"))
    for rtts in FIGURE_4_RTTS:
        for n in FIGURE_4_FLOWS:
            names = {q: f"{rtts.replace(' ', '-')}-flows-{n}-buffer-{q}" for q in FIGURE_4_BUFFERS}
            used = {q: utilization(results[name]) for q, name in names.items() if name in results}
            if used:
                packets = buffer_for(used, FIGURE_4_TARGET)
                rows.add("packets for 99.99 %", packets, unit="packets", setting=f"{rtts}, {flows(n)}")
    return rows


def _figure_4_picture(results: Results) -> Plot:
    rows = _figure_4_measure(results)
    title = "Least queue for 99.99 % utilization: 10 Mbit/s, delay-bandwidth product 85 packets"
    plot, axes = chart(title, "TCP flows", axis("queue_packets")[0])
    for look, rtts in zip(pens(["newreno"] * len(FIGURE_4_RTTS), marked=True), FIGURE_4_RTTS, strict=True):
        found = {n: rows.get("packets for 99.99 %", setting=f"{rtts}, {flows(n)}") for n in FIGURE_4_FLOWS}
        points = [(n, size) for n, size in found.items() if size is not None]
        axes.line(*zip(*points, strict=True), **look, label=rtts)
    axes.level(85, color="#666666", linestyle=":", label="delay-bandwidth product")
    axes.y.limits = (0, 110)
    return plot


FIGURE_4 = Item(
    id="shorten-leith/figure-4",
    title="Least queue for 99.99 % utilization against the number of flows",
    scenarios=_figure_4_scenarios,
    measure=_figure_4_measure,
    pictures={"figure-4": _figure_4_picture},
    quick=shorter(
        _figure_4_scenarios,
        "150 s instead of 300 s, at 5 of 9 numbers of flows",
        lambda name, _: any(f"flows-{n}-" in name for n in (1, 20, 40, 50, 100)),
        duration="150 s",
        warmup="50 s",
    ),
)


# Figure 7: 100 Mbit/s, 40 ms, one flow.

FIGURE_7_SHARES = (0.05, 0.1, 0.15, 0.2, 0.25, 0.4, 0.6, 0.8, 1.0)
FIGURE_7_BDP = 100e6 * 0.04 / 12000


def _figure_7_scenarios() -> dict[str, Scenario]:
    return {
        f"{kind}-k-{k:g}": dumbbell(
            "100 Mbit/s", "19 ms", round(k * FIGURE_7_BDP), [{**flow, "access_delay": "1 ms"}], (200, 50)
        )
        for kind, flow in KINDS.items()
        for k in FIGURE_7_SHARES
    }


def _figure_7_measure(results: Results) -> Rows:
    rows = Rows()
    for kind in KINDS:
        for k in FIGURE_7_SHARES:
            used = utilization(results[f"{kind}-k-{k:g}"])
            above = used - aimd_utilization(k, backoff_expected(kind, k))
            rows.add("utilization", used, algorithm=kind, setting=f"k={k:g}")
            rows.add("less the closed form", above, algorithm=kind, setting=f"k={k:g}")
    return rows


def _figure_7_picture(results: Results) -> Plot:
    rows = _figure_7_measure(results)
    title = "Efficiency against the queue: one flow (or synchronized ones), 100 Mbit/s, 40 ms"
    plot, axes = chart(title, "queue over the delay-bandwidth product", metric("utilization").title)
    shares = np.linspace(0.02, 1, 200)
    for kind in KINDS:
        look = pen(ALGORITHMS[kind], marked=True)
        used = [rows.value("utilization", kind, f"k={k:g}") for k in FIGURE_7_SHARES]
        axes.line(FIGURE_7_SHARES, used, **(look | {"linestyle": "none"}), label=NAMES[kind])
        theory = [aimd_utilization(k, backoff_expected(kind, k)) for k in shares]
        axes.line(shares, theory, color=look["color"], linewidth=0.9, label=f"{NAMES[kind]}, analytical model")
    axes.y.limits = (0.72, 1.01)
    axes.x.limits = (0, 1.02)
    return plot


FIGURE_7 = Item(
    id="shorten-leith/figure-7",
    title="Efficiency against the queue: standard, adaptive, theory",
    scenarios=_figure_7_scenarios,
    measure=_figure_7_measure,
    pictures={"figure-7": _figure_7_picture},
    quick=shorter(_figure_7_scenarios, "100 s instead of 200 s", duration="100 s", warmup="30 s"),
)


def _log_buffers(axes: Panel, sizes: tuple[int, ...]) -> None:
    axes.x.scale = "log"
    axes.x.name(sizes, [str(size) for size in sizes])
