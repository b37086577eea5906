"""Choi, Lee and Cho, table 2: two flows over 1 Gbit/s, with RTTs of 40 ms and 3 or 6 times as long."""

from __future__ import annotations

from fullpipe.papers.drawing import flow_values, runs_of
from fullpipe.papers.ehstcp.common import (
    SCHEMES,
    bars,
    bdp_packets,
    file_name,
    link_with_background,
)
from fullpipe.plots.spec import Plot
from fullpipe.reproduce.item import Item, Results, marks, shorter
from fullpipe.reproduce.rows import Rows
from fullpipe.scenario import Scenario

__all__ = ["TABLE_2"]


RATIOS = (3, 6)
BDP = bdp_packets(1000, 0.04)
"""Bandwidth-delay product of 40 ms, 3333 packets."""

AS_RECONSTRUCTED, SHORTER = "as reconstructed", "20 to 100 s"
LONG, SHORT = (300, 60), (100, 20)
"""Duration and warm-up, seconds; the paper omits both."""

SETTINGS: dict[str, tuple[float, float, tuple[float, float]]] = {
    "half the buffer": (0.5, 1, LONG),
    AS_RECONSTRUCTED: (1, 1, LONG),
    "2.5 times the buffer": (2.5, 1, LONG),
    "no background": (1, 0, LONG),
    SHORTER: (1, 1, SHORT),
}
"""Buffer in BDP of 40 ms, background traffic relative to the paper's, duration and warm-up."""

SEEDS = range(1, 9)
"""Seeds of the reconstruction, long and short, of which the geometric mean is checked. Other settings run with the
first seed.
"""

START = "0 s..1 s"
"""Start of both flows. With equal starts, and one RTT a multiple of the other, packets of both flows would tie at the
link, and the rule for ties would decide the ratio.
"""


def _scenarios() -> dict[str, Scenario]:
    return {
        _name(scheme, setting, ratio, seed): link_with_background(
            1000,
            round(share * BDP),
            [
                {"algorithm": scheme, "access_delay": "10 ms", "start": START},
                {"algorithm": scheme, "access_delay": f"{20 * ratio - 10} ms", "start": START},
            ],
            seconds,
            load=load,
            seed=seed,
        )
        for setting, (share, load, seconds) in SETTINGS.items()
        for ratio in RATIOS
        for scheme in SCHEMES
        for seed in _seeds(setting)
    }


def _name(scheme: str, setting: str, ratio: int, seed: int) -> str:
    return f"{file_name(scheme, setting)}-ratio-{ratio}-seed-{seed}"


def _seeds(setting: str) -> range:
    return SEEDS if setting in (AS_RECONSTRUCTED, SHORTER) else SEEDS[:1]


def _ratios(results: Results, scheme: str, setting: str, ratio: int) -> list[float]:
    """Goodput of the flow with 40 ms over the other flow's, for each seed that was run."""
    runs = runs_of(results, (_name(scheme, setting, ratio, seed) for seed in _seeds(setting)))
    goodputs = (flow_values(run, "goodput_bps") for run in runs)
    return [float(short / long) for short, long in (rates[:2] for rates in goodputs)]


def _measure(results: Results) -> Rows:
    rows = Rows()
    for setting in SETTINGS:
        for ratio in RATIOS:
            for scheme, name in SCHEMES.items():
                if ratios := _ratios(results, scheme, setting, ratio):
                    where = f"RTT ratio {ratio}, {setting}"
                    rows.add_geometric_mean("throughput ratio", ratios, algorithm=name, setting=where)
    return rows


def _picture(results: Results) -> Plot:
    rows = _measure(results)
    settings = [s for s in SETTINGS if rows.get("throughput ratio", "eHSTCP", f"RTT ratio 3, {s}") is not None]
    known = {(row.algorithm, row.setting) for row in rows}
    shown = [ratio for ratio in RATIOS if ("eHSTCP", f"RTT ratio {ratio}, {AS_RECONSTRUCTED}") in known]
    names = [name for name in SCHEMES.values() if (name, f"RTT ratio 3, {AS_RECONSTRUCTED}") in known]
    titles = {ratio: f"throughput ratio, RTT ratio {ratio}" for ratio in shown}
    panels = {
        titles[ratio]: {
            s: [rows.value("throughput ratio", name, f"RTT ratio {ratio}, {s}") for name in names] for s in settings
        }
        for ratio in shown
    }
    title = "1 Gbit/s: throughput of the flow of 40 ms over that of the flow of 120 or 240 ms"
    published = marks("ehstcp/table-2")
    spans = {
        titles[ratio]: {
            s: [(min(seen), max(seen)) for seen in (_ratios(results, each, s, ratio) for each in SCHEMES) if seen]
            for s in settings
        }
        for ratio in shown
    }
    return bars(
        title,
        names,
        panels,
        columns=len(panels),
        logarithmic=tuple(panels),
        spans=spans,
        published={
            title: {name: published[f"RTT ratio {ratio}, {name}"] for name in names} for ratio, title in titles.items()
        },
    )


QUICK = [
    _name(scheme, AS_RECONSTRUCTED, RATIOS[0], seed) for scheme in SCHEMES if scheme != "hstcp" for seed in SEEDS[:2]
]
"""Scenarios of the shortened variant."""

TABLE_2 = Item(
    id="ehstcp/table-2",
    title="Throughput ratio of two flows with different round trips at 1 Gbit/s",
    scenarios=_scenarios,
    measure=_measure,
    pictures={"table-2": _picture},
    quick=shorter(
        _scenarios,
        "60 s instead of 300 s, RTT ratio 3 as reconstructed only, without HSTCP, with two seeds",
        lambda name, _: name in QUICK,
        duration="60 s",
        warmup="20 s",
    ),
)
