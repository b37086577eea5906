"""Shorten and Leith, queue for many flows: figures 8 and 10."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from fullpipe.metrics import axis
from fullpipe.papers.shorten_leith.common import (
    ALGORITHMS,
    KINDS,
    STANDARD,
    buffer_for,
    chart,
    dumbbell,
    flows,
    utilization,
)
from fullpipe.plots.looks import pens
from fullpipe.reproduce.item import Item, Quick, Results, Scenarios, shorter
from fullpipe.reproduce.rows import Rows
from fullpipe.scenario import Scenario

if TYPE_CHECKING:
    from fullpipe.plots.spec import Plot

__all__ = ["FIGURE_8", "FIGURE_10"]


# Figures 8 and 10: 155 Mbit/s, round trips of 80 to 250 ms: 40 ms of the link and 0 to 85 ms of access, one way.

FIGURE_8_FLOWS = (5, 10, 20, 50, 100, 200)
FIGURE_10_FLOWS = (10, 50, 200)
TARGETS = {"98 %": 0.98, "99.5 %": 0.995}
SEARCH = {
    "standard": (57, 80, 113, 160, 226, 320, 453, 640, 905, 1280),
    "adaptive": (40, 57, 80, 113, 160, 226, 320),
    "adaptive, slow access": (5, 10, 20, 40, 80, 160, 320, 640),
}
"""Simulated buffers, packets."""


FIGURE_10_SEEDS = range(1, 5)
"""Seeds of figure 10, of which the mean is checked: ten adaptive flows with web traffic need 117 to 298 packets."""


def _sized(kind: str, n: int, web: bool = False, seed: int = 1) -> dict[str, Scenario]:
    group: dict[str, object] = {"count": n, "start": "0 s..10 s", "access_delay": "0 ms..85 ms"}
    if kind == "adaptive, slow access":
        group["access_rate"] = f"{3 * 155 / n:g} Mbit/s"
    keys: dict[str, object] = {"seed": seed}
    if web:
        # As many web transfers under way as long flows: half of n sessions each way at a time, since a transfer takes
        # 0.3 to 0.6 s and the gap as long.
        users = {**STANDARD, "sessions": n, "mean_gap": "500 ms", "mean_size": "12 kB", "access_delay": "0 ms..85 ms"}
        keys["web"] = [users, {**users, "reverse": True}]
    flow = KINDS[kind.partition(",")[0]]
    return {
        _sized_name(kind, n, q, web, seed): dumbbell("155 Mbit/s", "40 ms", q, [{**flow, **group}], (250, 100), **keys)
        for q in SEARCH[kind]
    }


def _sized_name(kind: str, n: int, q: int, web: bool, seed: int) -> str:
    plain = f"{kind.replace(', ', '-').replace(' ', '-')}{'-web' if web else ''}-flows-{n}-buffer-{q}"
    return plain if seed == 1 else f"{plain}-seed-{seed}"


def _add_needed(
    rows: Rows, results: Results, kind: str, n: int, web: bool = False, seeds: Sequence[int] = (1,)
) -> None:
    """Adds the buffer for each target: the mean over the seeds that were run."""
    used = []
    for seed in seeds:
        names = {q: _sized_name(kind, n, q, web, seed) for q in SEARCH[kind]}
        if found := {q: utilization(results[name]) for q, name in names.items() if name in results}:
            used.append(found)
    if not used:
        return
    for target, share in TARGETS.items():
        of = {"algorithm": f"{kind} with web" if web else kind, "setting": flows(n)}
        rows.add_mean(f"packets for {target}", [buffer_for(each, share) for each in used], unit="packets", **of)


def _figure_8_scenarios() -> dict[str, Scenario]:
    return {
        name: scenario
        for kind in SEARCH
        for n in (FIGURE_8_FLOWS if "," not in kind else FIGURE_8_FLOWS[1:])
        for name, scenario in _sized(kind, n).items()
    }


def _figure_8_measure(results: Results) -> Rows:
    rows = Rows(named=("quantity", "algorithm", "setting"))
    for kind in SEARCH:
        for n in FIGURE_8_FLOWS:
            _add_needed(rows, results, kind, n)
        for target in TARGETS:
            name = f"exponent of the flows, {target}, {kind}"
            rows.add("exponent of the flows", _exponent(rows, target, kind), algorithm=kind, setting=target, name=name)
    return rows


def _exponent(rows: Rows, target: str, kind: str) -> float:
    """Slope of log queue over log flows, by least squares."""
    counts, sizes = zip(*_sizes(rows, target, kind), strict=True)
    return float(np.polyfit(np.log(counts), np.log(sizes), 1)[0])


def _sizes(rows: Rows, target: str, kind: str) -> list[tuple[int, float]]:
    """Numbers of flows with the queues that they need."""
    found = {n: rows.get(f"packets for {target}", kind, flows(n)) for n in FIGURE_8_FLOWS}
    return [(n, size) for n, size in found.items() if size is not None]


def _figure_8_picture(results: Results) -> Plot:
    return _queue_picture(
        _figure_8_measure(results),
        ("standard", "adaptive", "adaptive, slow access"),
        "Queue for 98 % and 99.5 % utilization: 155 Mbit/s, round trips of 80 to 250 ms",
        root=True,
    )


def _queue_picture(rows: Rows, kinds: Sequence[str], title: str, *, root: bool = False) -> Plot:
    plot, axes = chart(title, "Long-lived flows", axis("queue_packets")[0], height=5.0)
    lines = [(kind, target) for kind in kinds for target in TARGETS]
    looks = pens((ALGORITHMS[kind.partition(" ")[0].rstrip(",")] for kind, _ in lines), marked=True)
    for look, (kind, target) in zip(looks, lines, strict=True):
        axes.line(*zip(*_sizes(rows, target, kind), strict=True), **look, label=f"{kind}, {target}")
    if root:
        points = _sizes(rows, "98 %", "adaptive")
        first, start = points[0]
        counts = [n for n, _ in points]
        axes.line(
            counts,
            [start * (first / n) ** 0.5 for n in counts],
            color="#666666",
            linestyle=":",
            label="1/sqrt(n) from the first adaptive point",
        )
    axes.x.scale = "log"
    axes.y.scale = "log"
    axes.x.name(FIGURE_8_FLOWS, [str(n) for n in FIGURE_8_FLOWS])
    axes.y.name([20, 50, 100, 200, 500, 1000], ["20", "50", "100", "200", "500", "1000"])
    return plot


def _briefly(scenarios: Scenarios, how: str) -> Quick:
    return shorter(
        scenarios,
        f"60 s instead of 250 s, {how}",
        lambda name, _: any(f"flows-{n}-" in name for n in FIGURE_10_FLOWS),
        duration="60 s",
        warmup="30 s",
    )


FIGURE_8 = Item(
    id="shorten-leith/figure-8",
    title="Queue for 98 % and 99.5 % utilization against the number of flows",
    scenarios=_figure_8_scenarios,
    measure=_figure_8_measure,
    pictures={"figure-8": _figure_8_picture},
    quick=_briefly(_figure_8_scenarios, "at 3 of 6 numbers of flows"),
)


def _figure_10_scenarios(seeds: Sequence[int] = FIGURE_10_SEEDS) -> dict[str, Scenario]:
    return {
        name: scenario
        for kind in KINDS
        for n in FIGURE_10_FLOWS
        for web in (False, True)
        for seed in seeds
        for name, scenario in _sized(kind, n, web, seed).items()
    }


def _figure_10_measure(results: Results) -> Rows:
    rows = Rows(named=("quantity", "algorithm", "setting"))
    for kind in KINDS:
        for web in (False, True):
            for n in FIGURE_10_FLOWS:
                _add_needed(rows, results, kind, n, web, FIGURE_10_SEEDS)
    return rows


def _figure_10_picture(results: Results) -> Plot:
    return _queue_picture(
        _figure_10_measure(results),
        ("standard", "standard with web", "adaptive", "adaptive with web"),
        "Queue for 98 % and 99.5 % utilization with and without web traffic: 155 Mbit/s, 80 to 250 ms",
    )


FIGURE_10 = Item(
    id="shorten-leith/figure-10",
    title="Queue for 98 % and 99.5 % utilization with web traffic",
    scenarios=_figure_10_scenarios,
    measure=_figure_10_measure,
    pictures={"figure-10": _figure_10_picture},
    quick=_briefly(partial(_figure_10_scenarios, (1,)), "with one seed"),
)
