"""Shorten and Leith, tables I and II: paths of the test bed and the Internet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fullpipe.metrics import metric
from fullpipe.models import aimd_utilization
from fullpipe.papers.shorten_leith.common import (
    ALGORITHMS,
    KINDS,
    NAMES,
    backoff_expected,
    chart,
    dumbbell,
    flows,
    goodputs_bps,
    utilization,
)
from fullpipe.plots.looks import pen
from fullpipe.reproduce.item import Item, Quick, Results, shorter
from fullpipe.reproduce.rows import Rows
from fullpipe.scenario import Scenario

if TYPE_CHECKING:
    from fullpipe.plots.spec import Plot

__all__ = ["TABLE_1", "TABLE_2"]


# Table I: a test bed of Linux hosts behind DummyNet; Table II: 20 Mbit/s to Geneva and to California.

TABLE_1_PATHS = {"10 Mbit/s, 100 ms": 83, "100 Mbit/s, 40 ms": 333, "100 Mbit/s, 100 ms": 833}
"""Delay-bandwidth product in packets, by path (rate and RTT)."""

TABLE_1_LINUX_PATHS = {"5 Mbit/s, 200 ms": 83, "10 Mbit/s, 100 ms": 83, "20 Mbit/s, 40 ms": 67}
"""Paths for a virtual machine."""

TABLE_1_LINUX_SECONDS = {"5 Mbit/s, 200 ms": (90, 30), "10 Mbit/s, 100 ms": (50, 15), "20 Mbit/s, 40 ms": (26, 8)}
"""Duration and warm-up for a virtual machine: averages over at least 300 RTTs. Simulated, they are within 0.012 of the
averages over 600 s.
"""
TABLE_1_LINUX_FLOWS = (1, 10)

TABLE_1_SHARES = (0.1, 0.25, 0.5)
TABLE_1_FLOWS = (1, 2, 10)


def _table_1_scenarios(
    paths: Mapping[str, int] = TABLE_1_PATHS,
    numbers: Sequence[int] = TABLE_1_FLOWS,
    seconds: tuple[float, float] = (660, 60),
) -> dict[str, Scenario]:
    scenarios = {}
    for path, bdp in paths.items():
        rate, rtt = path.split(", ")
        delay = f"{float(rtt.split()[0]) / 2 - 1:g} ms"
        for k in TABLE_1_SHARES:
            for n in numbers:
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


def _table_1_measure(results: Results) -> Rows:
    rows = Rows()
    for path in {**TABLE_1_PATHS, **TABLE_1_LINUX_PATHS}:
        for k in TABLE_1_SHARES:
            for n in TABLE_1_FLOWS:
                for kind in KINDS:
                    if (name := _table_name(kind, path, k, n)) not in results:
                        continue
                    used = utilization(results[name])
                    rows.add("utilization", used, algorithm=kind, setting=f"{path}, k={k:g}, {flows(n)}")
                    if n == 1:
                        above = used - aimd_utilization(k, backoff_expected(kind, k))
                        rows.add("less the closed form", above, algorithm=kind, setting=f"{path}, k={k:g}")
    return rows


def _table_1_picture(results: Results) -> Plot:
    return _pairs_picture(
        "Utilization over ten minutes", metric("utilization").title, _table_1_measure(results), "utilization"
    )


def _pairs_picture(title: str, label: str, rows: Rows, quantity: str) -> Plot:
    """Plot with a row per setting, and a dot per scheme."""
    settings = list(dict.fromkeys(row.setting for row in rows if row.quantity == quantity))
    plot, axes = chart(title, label, "", height=0.8 + 0.22 * len(settings))
    places = range(len(settings), 0, -1)
    values = {kind: [rows.value(quantity, kind, setting) for setting in settings] for kind in KINDS}
    for place, pair in zip(places, zip(*values.values(), strict=True), strict=True):
        axes.line(pair, [place, place], color="#bbbbbb", linewidth=2, zorder=1)
    for kind in KINDS:
        look = pen(ALGORITHMS[kind], marked=True) | {"linestyle": "none"}
        axes.line(values[kind], places, **look, label=NAMES[kind])
    axes.y.name(list(places), settings)
    return plot


TABLE_1 = Item(
    id="shorten-leith/table-1",
    title="Utilization over ten minutes, standard and adaptive, on paths like the test bed's",
    scenarios=_table_1_scenarios,
    measure=_table_1_measure,
    pictures={"table-1": _table_1_picture},
    quick=shorter(
        _table_1_scenarios,
        "260 s instead of 660 s at 10 and 100 Mbit/s, without 100 Mbit/s and 100 ms",
        lambda name, _: "100M-100ms" not in name,
        duration="260 s",
    ),
    linux=Quick(
        "90, 50 and 26 s instead of 660 s, at 5, 10 and 20 Mbit/s, one flow and ten",
        _table_1_linux_scenarios,
    ),
)

TABLE_2_PATHS = {"Geneva": "9 ms", "Berkeley": "61 ms"}
"""One-way delays from Maynooth: 1200 and 8200 km at two thirds of the speed of light, and 50 % more for detours."""

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


def _table_2_measure(results: Results) -> Rows:
    rows = Rows()
    for place in TABLE_2_PATHS:
        for n in TABLE_2_FLOWS:
            for kind in KINDS:
                mbps = sum(goodputs_bps(results[f"{kind}-{place.lower()}-flows-{n}"])) / 1e6
                where = f"{place}, {flows(n)}"
                name = f"Mbit/s, {kind}, {where}"
                rows.add("throughput", mbps, unit="Mbit/s", algorithm=kind, setting=where, name=name)
    for place in TABLE_2_PATHS:
        for kind in KINDS:
            rates = [rows.value("throughput", kind, f"{place}, {flows(n)}") for n in TABLE_2_FLOWS]
            spread = max(rates) - min(rates)
            rows.add("spread over the numbers of flows", spread, unit="Mbit/s", algorithm=kind, setting=place)
    return rows


def _table_2_picture(results: Results) -> Plot:
    return _pairs_picture(
        "Throughput over 20 Mbit/s paths", "All flows together (Mbit/s)", _table_2_measure(results), "throughput"
    )


TABLE_2 = Item(
    id="shorten-leith/table-2",
    title="Throughput over 20 Mbit/s paths like those to Geneva and Berkeley",
    scenarios=_table_2_scenarios,
    measure=_table_2_measure,
    pictures={"table-2": _table_2_picture},
    quick=shorter(_table_2_scenarios, "260 s instead of 660 s", duration="260 s"),
)
