"""Shorten and Leith on the queue a link needs: figures 1, 4, 7, 8 and 10, tables I and II."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fullpipe.papers.item import Item, Quick, Results, shorter
from fullpipe.papers.shorten_leith_common import (
    KINDS,
    NAMES,
    STANDARD,
    buffer_for,
    chart,
    dumbbell,
    goodputs_bps,
    utilization,
)
from fullpipe.papers.shorten_leith_theory import aimd_utilization
from fullpipe.scenario import Scenario

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FIGURE_1", "FIGURE_4", "FIGURE_7", "FIGURE_8", "FIGURE_10", "TABLE_1", "TABLE_2"]

BETA_MAX = 0.8
"""The greatest backoff factor, section III."""


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


def _figure_1_measure(results: Results) -> dict[str, float]:
    used = {(n, q): utilization(results[f"flows-{n}-buffer-{q}"]) for n in FIGURE_1_FLOWS for q in FIGURE_1_BUFFERS}
    figures = {f"utilization, {_flows(n)}, {q} packets": value for (n, q), value in used.items()}
    for q in FIGURE_1_BUFFERS:
        figures[f"1 flow less the closed form, {q} packets"] = used[1, q] - aimd_utilization(q / FIGURE_1_BDP, 0.5)
    return figures


def _figure_1_picture(results: Results) -> Figure:
    import numpy as np

    from fullpipe.plot import COLOURS

    with chart("Utilization against the buffer: 100 Mbit/s, round trips of 80 ms on average", "buffer, packets",
               "utilization of the link") as (figure, axes):  # fmt: skip
        for colour, n in zip(COLOURS, FIGURE_1_FLOWS, strict=False):
            used = [utilization(results[f"flows-{n}-buffer-{q}"]) for q in FIGURE_1_BUFFERS]
            axes.plot(FIGURE_1_BUFFERS, used, "o-", color=colour, label=_flows(n))
        sizes = np.geomspace(10, 667, 80)
        theory = [aimd_utilization(q / FIGURE_1_BDP, 0.5) for q in sizes]
        axes.plot(sizes, theory, color="#666666", linestyle=":", label="1 flow, closed form")
        _log_buffers(axes, FIGURE_1_BUFFERS)
        axes.set_ylim(0.65, 1.01)
    return figure


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


def _figure_4_measure(results: Results) -> dict[str, float]:
    figures = {}
    for rtts in FIGURE_4_RTTS:
        for n in FIGURE_4_FLOWS:
            names = {q: f"{rtts.replace(' ', '-')}-flows-{n}-buffer-{q}" for q in FIGURE_4_BUFFERS}
            used = {q: utilization(results[name]) for q, name in names.items() if name in results}
            if used:
                figures[f"packets for 99.99 %, {rtts}, {_flows(n)}"] = buffer_for(used, FIGURE_4_TARGET)
    return figures


def _figure_4_picture(results: Results) -> Figure:
    from fullpipe.plot import COLOURS

    figures = _figure_4_measure(results)
    title = "Least queue for 99.99 % utilization: 10 Mbit/s, delay-bandwidth product 85 packets"
    with chart(title, "TCP flows", "queue, packets") as (figure, axes):
        for colour, marker, rtts in zip(COLOURS, "o+", FIGURE_4_RTTS, strict=False):
            counts = [n for n in FIGURE_4_FLOWS if f"packets for 99.99 %, {rtts}, {_flows(n)}" in figures]
            sizes = [figures[f"packets for 99.99 %, {rtts}, {_flows(n)}"] for n in counts]
            axes.plot(counts, sizes, marker=marker, color=colour, label=rtts)
        axes.axhline(85, color="#666666", linestyle=":", label="delay-bandwidth product")
        axes.set_ylim(0, 110)
    return figure


def _figure_4_quick() -> dict[str, Scenario]:
    keep = {f"flows-{n}-" for n in (1, 20, 40, 50, 100)}
    return {
        name: scenario.replace(duration="150 s", warmup="50 s")
        for name, scenario in _figure_4_scenarios().items()
        if any(part in name for part in keep)
    }


FIGURE_4 = Item(
    id="shorten-leith/figure-4",
    title="Least queue for 99.99 % utilization against the number of flows",
    scenarios=_figure_4_scenarios,
    measure=_figure_4_measure,
    pictures={"figure-4": _figure_4_picture},
    quick=Quick("150 s instead of 300 s, at 5 of 9 numbers of flows", _figure_4_quick),
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


def _figure_7_measure(results: Results) -> dict[str, float]:
    figures = {}
    for kind in KINDS:
        for k in FIGURE_7_SHARES:
            used = utilization(results[f"{kind}-k-{k:g}"])
            figures[f"utilization, {kind}, k={k:g}"] = used
            figures[f"less the closed form, {kind}, k={k:g}"] = used - aimd_utilization(k, _backoff(kind, k))
    return figures


def _backoff(kind: str, k: float) -> float:
    return 0.5 if kind == "standard" else min(BETA_MAX, max(0.5, 1 / (1 + k)))


def _figure_7_picture(results: Results) -> Figure:
    import numpy as np

    from fullpipe.plot import COLOURS

    title = "Efficiency against the queue: one flow (or synchronized ones), 100 Mbit/s, 40 ms"
    with chart(title, "queue over the delay-bandwidth product", "utilization of the link") as (figure, axes):
        shares = np.linspace(0.02, 1, 200)
        for colour, marker, kind in zip(COLOURS, "os", KINDS, strict=False):
            used = [utilization(results[f"{kind}-k-{k:g}"]) for k in FIGURE_7_SHARES]
            axes.plot(FIGURE_7_SHARES, used, marker, color=colour, label=NAMES[kind])
            theory = [aimd_utilization(k, _backoff(kind, k)) for k in shares]
            axes.plot(shares, theory, color=colour, linewidth=0.9, label=f"{NAMES[kind]}, closed form")
        axes.set_ylim(0.72, 1.01)
        axes.set_xlim(0, 1.02)
    return figure


FIGURE_7 = Item(
    id="shorten-leith/figure-7",
    title="Efficiency against the queue: standard, adaptive, theory",
    scenarios=_figure_7_scenarios,
    measure=_figure_7_measure,
    pictures={"figure-7": _figure_7_picture},
    quick=shorter(_figure_7_scenarios, "100 s instead of 200 s", duration="100 s", warmup="30 s"),
)


# Figures 8 and 10: 155 Mbit/s, round trips of 80 to 250 ms: 40 ms of the link and 0 to 85 ms of access, one way.

FIGURE_8_FLOWS = (5, 10, 20, 50, 100, 200)
FIGURE_10_FLOWS = (10, 50, 200)
TARGETS = {"98 %": 0.98, "99.5 %": 0.995}
SEARCH = {
    "standard": (57, 80, 113, 160, 226, 320, 453, 640, 905, 1280),
    "adaptive": (40, 57, 80, 113, 160, 226, 320),
    "adaptive, slow access": (5, 10, 20, 40, 80, 160, 320, 640),
}
"""Buffers tried, packets."""


def _sized(kind: str, n: int, web: bool = False) -> dict[str, Scenario]:
    group: dict[str, Any] = {"count": n, "start": "0 s..10 s", "access_delay": "0 ms..85 ms"}
    if kind == "adaptive, slow access":
        group["access_rate"] = f"{3 * 155 / n:g} Mbit/s"
    keys: dict[str, Any] = {}
    if web:
        # As many web transfers under way as long flows: half of n sessions each way at a time, since a transfer takes
        # 0.3 to 0.6 s and the gap as long.
        users = {**STANDARD, "sessions": n, "mean_gap": "500 ms", "mean_size": "12 kB", "access_delay": "0 ms..85 ms"}
        keys["web"] = [users, {**users, "reverse": True}]
    flow = KINDS[kind.partition(",")[0]]
    return {
        _sized_name(kind, n, q, web): dumbbell("155 Mbit/s", "40 ms", q, [{**flow, **group}], (250, 100), **keys)
        for q in SEARCH[kind]
    }


def _sized_name(kind: str, n: int, q: int, web: bool) -> str:
    return f"{kind.replace(', ', '-').replace(' ', '-')}{'-web' if web else ''}-flows-{n}-buffer-{q}"


def _needed(results: Results, kind: str, n: int, web: bool = False) -> dict[str, float]:
    names = {q: _sized_name(kind, n, q, web) for q in SEARCH[kind]}
    used = {q: utilization(results[name]) for q, name in names.items() if name in results}
    what = f"{kind} with web" if web else kind
    return {f"packets for {t}, {what}, {_flows(n)}": buffer_for(used, TARGETS[t]) for t in TARGETS} if used else {}


def _figure_8_scenarios() -> dict[str, Scenario]:
    return {
        name: scenario
        for kind in SEARCH
        for n in (FIGURE_8_FLOWS if "," not in kind else FIGURE_8_FLOWS[1:])
        for name, scenario in _sized(kind, n).items()
    }


def _figure_8_measure(results: Results) -> dict[str, float]:
    figures: dict[str, float] = {}
    for kind in SEARCH:
        for n in FIGURE_8_FLOWS:
            figures |= _needed(results, kind, n)
        for target in TARGETS:
            figures[f"exponent of the flows, {target}, {kind}"] = _exponent(figures, target, kind)
    return figures


def _exponent(figures: Mapping[str, float], target: str, kind: str) -> float:
    """The slope of log queue over log flows, by least squares."""
    import numpy as np

    sizes = {n: figures.get(f"packets for {target}, {kind}, {_flows(n)}") for n in FIGURE_8_FLOWS}
    known = {n: size for n, size in sizes.items() if size is not None}
    return float(np.polyfit(np.log(list(known)), np.log(list(known.values())), 1)[0])


def _figure_8_picture(results: Results) -> Figure:
    return _queue_picture(
        _figure_8_measure(results),
        {"standard": "o", "adaptive": "s", "adaptive, slow access": "^"},
        "Queue for 98 % and 99.5 % utilization: 155 Mbit/s, round trips of 80 to 250 ms",
        root=True,
    )


def _queue_picture(figures: Mapping[str, float], kinds: Mapping[str, str], title: str, *, root: bool = False) -> Figure:
    from fullpipe.plot import COLOURS

    with chart(title, "long-lived flows", "queue, packets", height=5.0) as (figure, axes):
        for colour, (kind, marker) in zip(COLOURS, kinds.items(), strict=False):
            for target, style in zip(TARGETS, ("-", "--"), strict=True):
                found = {n: figures.get(f"packets for {target}, {kind}, {_flows(n)}") for n in FIGURE_8_FLOWS}
                points = [(n, size) for n, size in found.items() if size is not None]
                axes.plot(*zip(*points, strict=True), style, marker=marker, color=colour, label=f"{kind}, {target}")
        if root:
            counts = [n for n in FIGURE_8_FLOWS if f"packets for 98 %, adaptive, {_flows(n)}" in figures]
            start = figures[f"packets for 98 %, adaptive, {_flows(counts[0])}"]
            line = [start * (counts[0] / n) ** 0.5 for n in counts]
            axes.plot(counts, line, color="#666666", linestyle=":", label="1/sqrt(n) from the first adaptive point")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xticks(FIGURE_8_FLOWS, [str(n) for n in FIGURE_8_FLOWS])
        axes.set_yticks([20, 50, 100, 200, 500, 1000], ["20", "50", "100", "200", "500", "1000"])
        axes.minorticks_off()
    return figure


def _briefly(scenarios: Mapping[str, Scenario]) -> dict[str, Scenario]:
    keep = {f"flows-{n}-" for n in FIGURE_10_FLOWS}
    return {
        name: scenario.replace(duration="60 s", warmup="30 s")
        for name, scenario in scenarios.items()
        if any(part in name for part in keep)
    }


FIGURE_8 = Item(
    id="shorten-leith/figure-8",
    title="Queue for 98 % and 99.5 % utilization against the number of flows",
    scenarios=_figure_8_scenarios,
    measure=_figure_8_measure,
    pictures={"figure-8": _figure_8_picture},
    quick=Quick("60 s instead of 250 s, at 3 of 6 numbers of flows", lambda: _briefly(_figure_8_scenarios())),
)


def _figure_10_scenarios() -> dict[str, Scenario]:
    return {
        name: scenario
        for kind in KINDS
        for n in FIGURE_10_FLOWS
        for web in (False, True)
        for name, scenario in _sized(kind, n, web).items()
    }


def _figure_10_measure(results: Results) -> dict[str, float]:
    figures: dict[str, float] = {}
    for kind in KINDS:
        for web in (False, True):
            for n in FIGURE_10_FLOWS:
                figures |= _needed(results, kind, n, web)
    return figures


def _figure_10_picture(results: Results) -> Figure:
    return _queue_picture(
        _figure_10_measure(results),
        {"standard": "o", "standard with web": "D", "adaptive": "s", "adaptive with web": "v"},
        "Queue for 98 % and 99.5 % utilization with and without web traffic: 155 Mbit/s, 80 to 250 ms",
    )


FIGURE_10 = Item(
    id="shorten-leith/figure-10",
    title="Queue for 98 % and 99.5 % utilization with web traffic",
    scenarios=_figure_10_scenarios,
    measure=_figure_10_measure,
    pictures={"figure-10": _figure_10_picture},
    quick=Quick("60 s instead of 250 s", lambda: _briefly(_figure_10_scenarios())),
)


# Table I: a test bed of Linux hosts behind DummyNet; Table II: 20 Mbit/s to Geneva and to California.

TABLE_1_PATHS = {"10 Mbit/s, 100 ms": 83, "100 Mbit/s, 40 ms": 333, "100 Mbit/s, 100 ms": 833}
"""Paths by rate and round trip: delay-bandwidth product in packets."""

TABLE_1_LINUX_PATHS = {"5 Mbit/s, 200 ms": 83, "10 Mbit/s, 100 ms": 83, "20 Mbit/s, 40 ms": 67}
"""Paths that a virtual machine can carry."""
TABLE_1_LINUX_SECONDS = {"5 Mbit/s, 200 ms": (90, 30), "10 Mbit/s, 100 ms": (50, 15), "20 Mbit/s, 40 ms": (26, 8)}
"""Duration and warm-up there: 300 round trips and more are averaged. Simulated, the averages are then within 0.012 of
those over 600 s.
"""
TABLE_1_LINUX_FLOWS = (1, 10)

TABLE_1_SHARES = (0.1, 0.25, 0.5)
TABLE_1_FLOWS = (1, 2, 10)


def _table_1_scenarios(
    paths: Mapping[str, int] = TABLE_1_PATHS,
    flows: Sequence[int] = TABLE_1_FLOWS,
    seconds: tuple[float, float] = (660, 60),
) -> dict[str, Scenario]:
    scenarios = {}
    for path, bdp in paths.items():
        rate, rtt = path.split(", ")
        delay = f"{float(rtt.split()[0]) / 2 - 1:g} ms"
        for k in TABLE_1_SHARES:
            for n in flows:
                for kind, flow in KINDS.items():
                    # The text: averages over 10 minutes; receivers in Linux acknowledge every second segment.
                    group = {**flow, "count": n, "start": "0 s..5 s", "access_delay": "1 ms", "delayed_ack": True}
                    scenarios[_table_name(kind, path, k, n)] = dumbbell(
                        rate, delay, max(2, round(k * bdp)), [group], seconds
                    )
    return scenarios


def _table_1_linux_scenarios() -> dict[str, Scenario]:
    return {
        name: scenario
        for path, bdp in TABLE_1_LINUX_PATHS.items()
        for name, scenario in _table_1_scenarios({path: bdp}, TABLE_1_LINUX_FLOWS, TABLE_1_LINUX_SECONDS[path]).items()
    }


def _table_name(kind: str, path: str, k: float, n: int) -> str:
    place = path.replace(" Mbit/s, ", "M-").replace(" ms", "ms")
    return f"{kind}-{place}-k-{k:g}-flows-{n}"


def _table_1_measure(results: Results) -> dict[str, float]:
    figures = {}
    for path in {**TABLE_1_PATHS, **TABLE_1_LINUX_PATHS}:
        for k in TABLE_1_SHARES:
            for n in TABLE_1_FLOWS:
                for kind in KINDS:
                    if (name := _table_name(kind, path, k, n)) not in results:
                        continue
                    used = utilization(results[name])
                    figures[f"utilization, {kind}, {path}, k={k:g}, {_flows(n)}"] = used
                    if n == 1:
                        theory = aimd_utilization(k, _backoff(kind, k))
                        figures[f"less the closed form, {kind}, {path}, k={k:g}"] = used - theory
    return figures


def _table_1_picture(results: Results) -> Figure:
    figures = _table_1_measure(results)
    rows = [
        (
            f"{path}, k={k:g}, {_flows(n)}",
            [figures[f"utilization, {kind}, {path}, k={k:g}, {_flows(n)}"] for kind in KINDS],
        )
        for path in {**TABLE_1_PATHS, **TABLE_1_LINUX_PATHS}
        for k in TABLE_1_SHARES
        for n in TABLE_1_FLOWS
        if f"utilization, standard, {path}, k={k:g}, {_flows(n)}" in figures
    ]
    return _pairs_picture("Utilization over ten minutes", "utilization of the link", rows)


def _pairs_picture(title: str, label: str, rows: list[tuple[str, list[float]]]) -> Figure:
    """A row per condition, a dot per scheme, joined."""
    from fullpipe.plot import COLOURS

    with chart(title, label, "", height=0.8 + 0.22 * len(rows)) as (figure, axes):
        places = range(len(rows), 0, -1)
        for place, (_, values) in zip(places, rows, strict=True):
            axes.plot(values, [place, place], color="#bbbbbb", linewidth=2, zorder=1)
        for colour, index, kind in zip(COLOURS, (0, 1), KINDS, strict=False):
            axes.plot([values[index] for _, values in rows], places, "o", color=colour, label=NAMES[kind])
        axes.set_yticks(list(places), [name for name, _ in rows])
    return figure


TABLE_1 = Item(
    id="shorten-leith/table-1",
    title="Utilization over ten minutes, standard and adaptive, on paths like the test bed's",
    scenarios=_table_1_scenarios,
    measure=_table_1_measure,
    pictures={"table-1": _table_1_picture},
    quick=Quick(
        "260 s instead of 660 s at 10 and 100 Mbit/s, without 100 Mbit/s and 100 ms",
        lambda: {
            name: scenario.replace(duration="260 s")
            for name, scenario in _table_1_scenarios().items()
            if "100M-100ms" not in name
        },
    ),
    linux=Quick(
        "90, 50 and 26 s instead of 660 s, at 5, 10 and 20 Mbit/s, one flow and ten",
        _table_1_linux_scenarios,
    ),
)

TABLE_2_PATHS = {"Geneva": "9 ms", "Berkeley": "61 ms"}
"""One-way delays from Maynooth: 1200 and 8200 km at two thirds of light's speed, and half as much again for detours."""

TABLE_2_FLOWS = (1, 2, 4, 8)
TABLE_2_BUFFER = 15


def _table_2_scenarios() -> dict[str, Scenario]:
    return {
        f"{kind}-{place.lower()}-flows-{n}": dumbbell(
            "20 Mbit/s",
            delay,
            TABLE_2_BUFFER,
            [{**flow, "count": n, "start": "0 s..5 s", "access_delay": "0 ms..2 ms", "delayed_ack": True}],
            (660, 60),
        )
        for place, delay in TABLE_2_PATHS.items()
        for n in TABLE_2_FLOWS
        for kind, flow in KINDS.items()
    }


def _table_2_measure(results: Results) -> dict[str, float]:
    figures = {
        f"Mbit/s, {kind}, {place}, {_flows(n)}": sum(goodputs_bps(results[f"{kind}-{place.lower()}-flows-{n}"])) / 1e6
        for place in TABLE_2_PATHS
        for n in TABLE_2_FLOWS
        for kind in KINDS
    }
    for place in TABLE_2_PATHS:
        for kind in KINDS:
            rates = [figures[f"Mbit/s, {kind}, {place}, {_flows(n)}"] for n in TABLE_2_FLOWS]
            figures[f"spread over the numbers of flows, {kind}, {place}, Mbit/s"] = max(rates) - min(rates)
    return figures


def _table_2_picture(results: Results) -> Figure:
    figures = _table_2_measure(results)
    rows = [
        (f"{place}, {_flows(n)}", [figures[f"Mbit/s, {kind}, {place}, {_flows(n)}"] for kind in KINDS])
        for place in TABLE_2_PATHS
        for n in TABLE_2_FLOWS
    ]
    return _pairs_picture("Throughput over 20 Mbit/s paths", "all flows together, Mbit/s", rows)


TABLE_2 = Item(
    id="shorten-leith/table-2",
    title="Throughput over 20 Mbit/s paths like those to Geneva and Berkeley",
    scenarios=_table_2_scenarios,
    measure=_table_2_measure,
    pictures={"table-2": _table_2_picture},
    quick=shorter(_table_2_scenarios, "260 s instead of 660 s", duration="260 s"),
)


def _flows(n: int) -> str:
    return f"{n} flow" if n == 1 else f"{n} flows"


def _log_buffers(axes: Any, sizes: tuple[int, ...]) -> None:
    axes.set_xscale("log")
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.minorticks_off()
