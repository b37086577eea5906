"""Purpose of eHSTCP's safety check (Choi, Lee and Cho, section 2), which the paper claims without a figure."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean
from typing import TYPE_CHECKING

from fullpipe.metrics import axis
from fullpipe.papers.drawing import bottleneck, flow_samples, flow_values, loss_percent, panels, runs_of, utilization
from fullpipe.papers.ehstcp.common import STANDARD, bars, bdp_packets
from fullpipe.plots.looks import pens
from fullpipe.reproduce.item import Item, Results, shorter
from fullpipe.reproduce.rows import Rows
from fullpipe.scenario import Scenario

if TYPE_CHECKING:
    from fullpipe.plots.spec import Plot
    from fullpipe.runs.result import Result

__all__ = ["SAFETY_CHECK"]

HIGH_SPEED, STANDARD_TCP = 2, 4
RATE_MBPS = 400
BUFFER = round(bdp_packets(RATE_MBPS, 0.04) / 20)
"""A twentieth of the bandwidth-delay product, 67 packets: a full queue adds 2 ms to 40 ms. Equation (4) cuts by a
twentieth, HSTCP by a third.
"""

SEEDS = range(1, 25)
"""Seeds, of which the mean is checked. Start times and RTTs decide which flows lose packets: in single runs, standard
TCP has from 2 to 82 % of the link.
"""
QUICK_SEEDS = SEEDS[:8]
ALGORITHMS: Mapping[str, object] = {
    "HSTCP": "hstcp",
    "eHSTCP": "ehstcp",
    "eHSTCP without the check": {"name": "ehstcp", "safety_rtts": 0},
}


def _scenarios() -> dict[str, Scenario]:
    common = {"access_delay": "9 ms..11 ms", "start": "0 s..2 s"}
    return {
        _scenario_name(name, seed): Scenario(
            duration="100 s",
            warmup="30 s",
            seed=seed,
            packet_size=1500,
            series_interval="20 ms",
            links=[bottleneck(f"{RATE_MBPS} Mbit/s", "10 ms", f"{BUFFER} packets")],
            flows=[
                {"algorithm": algorithm, "count": HIGH_SPEED, **common},
                {**STANDARD, "count": STANDARD_TCP, **common},
            ],
        )
        for name, algorithm in ALGORITHMS.items()
        for seed in SEEDS
    }


def _scenario_name(name: str, seed: int) -> str:
    return f"{name.replace(' ', '-').lower()}-seed-{seed}"


QUANTITIES: Mapping[str, str] = {"standard TCP's share": "%", "loss": "%", "utilization": ""}
"""Quantities and their units."""


def _measure(results: Results) -> Rows:
    rows = Rows()
    found = {name: _values(results, name) for name in ALGORITHMS}
    for name, values in found.items():
        for quantity, unit in QUANTITIES.items():
            rows.add_mean(quantity, values[quantity], unit=unit, algorithm=name)
    for quantity in ("standard TCP's share", "loss"):
        pairs = zip(found["eHSTCP"][quantity], found["eHSTCP without the check"][quantity], strict=True)
        differences = [one - other for one, other in pairs]
        rows.add_mean(f"{quantity}, with the check less without", differences, unit="%")
    shares = [rows.value("standard TCP's share", name) for name in ("eHSTCP", "HSTCP")]
    rows.add("standard TCP's share, eHSTCP over HSTCP", shares[0] / shares[1])
    return rows


def _values(results: Results, name: str) -> dict[str, list[float]]:
    """Values of each run of an algorithm, by quantity."""
    runs = runs_of(results, (_scenario_name(name, seed) for seed in SEEDS))
    return {
        "standard TCP's share": [_standard_share(result) for result in runs],
        "loss": [loss_percent(result) for result in runs],
        "utilization": [utilization(result) for result in runs],
    }


def _standard_share(result: Result) -> float:
    rates = flow_values(result, "throughput_bps")
    return float(100 * rates[HIGH_SPEED:].sum() / (RATE_MBPS * 1e6))


def _shares_picture(results: Results) -> Plot:
    """Plot of means over the seeds, with the range of the runs."""
    titles = {f"{quantity}{' (%)' if unit else ''}": quantity for quantity, unit in QUANTITIES.items()}
    found = {name: _values(results, name) for name in ALGORITHMS}
    count = len(found["HSTCP"]["loss"])
    means = {title: [fmean(found[name][quantity]) for name in ALGORITHMS] for title, quantity in titles.items()}
    spans = {
        title: [(min(seen), max(seen)) for seen in (found[name][quantity] for name in ALGORITHMS)]
        for title, quantity in titles.items()
    }
    label = f"mean of {count} runs"
    return bars(
        "Four standard flows and two high-speed flows: 400 Mbit/s, 40 ms, a buffer of 67 packets",
        list(ALGORITHMS),
        {title: {label: values} for title, values in means.items()},
        spans={title: {label: pairs} for title, pairs in spans.items()},
    )


def _windows_picture(results: Results) -> Plot:
    shown = {name: results[_scenario_name(name, 1)] for name in ALGORITHMS if name != "HSTCP"}
    rows = [(name, axis("cwnd_packets")[0]) for name in shown]
    title = "The two eHSTCP flows: a small cut, and with the check a second one where the queue stays"
    plot, axes = panels(rows, title=title)
    for (panel,), result in zip(axes, shown.values(), strict=True):
        for flow, look in enumerate(pens(["ehstcp"] * HIGH_SPEED)):
            t_s, window = flow_samples(result, flow, "cwnd_packets")
            panel.line(t_s, window, **look)
        panel.x.limits = (40, 55)
    return plot


SAFETY_CHECK = Item(
    id="ehstcp/safety-check",
    title="Section 2's safety check: standard TCP's share with a small buffer",
    scenarios=_scenarios,
    measure=_measure,
    pictures={"shares": _shares_picture, "windows": _windows_picture},
    quick=shorter(
        _scenarios,
        "60 s instead of 100 s, with eight seeds instead of 24",
        lambda _, scenario: scenario.seed in QUICK_SEEDS,
        duration="60 s",
        warmup="20 s",
    ),
)
