"""Choi, Lee and Cho, table 1: utilization, loss and stability at 2.5 Gbit/s."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fullpipe.papers.drawing import flow_samples, loss_percent, runs_of, utilization
from fullpipe.papers.ehstcp.common import (
    BACKGROUND_DELAY,
    HIGH_SPEED_FLOWS,
    SCHEMES,
    bars,
    bdp_packets,
    file_name,
    link_with_background,
)
from fullpipe.plots.spec import Plot
from fullpipe.reproduce.item import Item, Quick, Results, marks
from fullpipe.reproduce.rows import Rows
from fullpipe.scenario import Scenario

if TYPE_CHECKING:
    from fullpipe.papers.drawing import Samples
    from fullpipe.runs.result import Result

__all__ = ["TABLE_1"]


RATE_MBPS = 2500
BDP = bdp_packets(RATE_MBPS, 0.1)
"""Bandwidth-delay product of 100 ms, 20833 packets."""

AS_RECONSTRUCTED = "as reconstructed"
SETTINGS: dict[str, tuple[float, float]] = {
    "half the buffer": (0.05, 1),
    AS_RECONSTRUCTED: (0.1, 1),
    "2.5 times the buffer": (0.25, 1),
    "ten times the buffer": (1, 1),
    "no background": (0.1, 0),
    "twice the background": (0.1, 2),
}
"""Buffer in BDP of 100 ms, and background traffic relative to the paper's. The paper gives no buffer. With a tenth of
the BDP, HSTCP's utilization is near table 1; with ten times that, the link is never idle.
"""

SEEDS = range(1, 5)
VARIED = (AS_RECONSTRUCTED, "half the buffer", "ten times the buffer")
"""Settings that run with all seeds, of which the mean is checked. Other settings run with the first seed."""

SAMPLE_S = 1.0
"""Averaging interval of a flow's throughput for its deviation, which the paper omits."""


def _scenarios() -> dict[str, Scenario]:
    return _runs((220, 60))


def _runs(seconds: tuple[float, float]) -> dict[str, Scenario]:
    return {
        _name(scheme, setting, seed): link_with_background(
            RATE_MBPS,
            round(share * BDP),
            [{"algorithm": scheme, "count": HIGH_SPEED_FLOWS, "access_delay": BACKGROUND_DELAY, "start": "0 s..5 s"}],
            seconds,
            load=load,
            seed=seed,
            series_interval=f"{SAMPLE_S:g} s",
        )
        for setting, (share, load) in SETTINGS.items()
        for scheme in SCHEMES
        for seed in (SEEDS if setting in VARIED else SEEDS[:1])
    }


def _name(scheme: str, setting: str, seed: int) -> str:
    return f"{file_name(scheme, setting)}-seed-{seed}"


def _measure(results: Results) -> Rows:
    rows = Rows()
    for setting in SETTINGS:
        for scheme, name in SCHEMES.items():
            if runs := runs_of(results, (_name(scheme, setting, seed) for seed in SEEDS)):
                of = {"algorithm": name, "setting": setting}
                rates = [_rates(result) for result in runs]
                rows.add_mean("utilization", [utilization(result) for result in runs], **of)
                rows.add_mean("loss", [loss_percent(result) for result in runs], unit="%", **of)
                each = [float(np.mean([_deviation(rate) for rate in own])) for own in rates]
                rows.add_mean("normalized deviation", each, **of)
                together = [_deviation(sum(own[1:], own[0])) for own in rates]
                rows.add_mean("normalized deviation of all together", together, **of)
    return rows


def _rates(result: Result) -> list[Samples]:
    """Throughputs of the high-speed flows after the warm-up, packets/s: window over RTT."""
    rates = []
    for flow in range(HIGH_SPEED_FLOWS):
        t_s, window, rtt_s = flow_samples(result, flow, "cwnd_packets", "rtt_s")
        rates.append((window / rtt_s)[t_s > result.scenario.warmup_s])
    return rates


def _deviation(rate: Samples) -> float:
    """Sample standard deviation of a throughput over its average."""
    known = rate[np.isfinite(rate)]
    return float(np.std(known, ddof=1) / np.mean(known))


PANELS = {
    "utilization": "utilization",
    "loss (%)": "loss",
    "deviation, each flow": "normalized deviation",
    "deviation, all together": "normalized deviation of all together",
}
"""Titles of panels, and their quantities."""


def _picture(results: Results) -> Plot:
    rows = _measure(results)
    published = marks("ehstcp/table-1")
    settings = dict.fromkeys(row.setting for row in rows)
    names = [name for name in SCHEMES.values() if rows.get("utilization", name, AS_RECONSTRUCTED) is not None]
    panels = {
        title: {setting: [rows.value(what, name, setting) for name in names] for setting in settings}
        for title, what in PANELS.items()
    }
    return bars(
        "2.5 Gbit/s: utilization, loss, normalized deviation of throughput",
        names,
        panels,
        columns=2,
        logarithmic=("loss (%)",),
        published={
            title: {name: published[f"{title}, {name}"] for name in names if f"{title}, {name}" in published}
            for title in PANELS
        },
    )


TABLE_1 = Item(
    id="ehstcp/table-1",
    title="Utilization, loss and stability at 2.5 Gbit/s",
    scenarios=_scenarios,
    measure=_measure,
    pictures={"table-1": _picture},
    quick=Quick(
        "40 s instead of 220 s, as reconstructed only, HSTCP and STCP with one seed",
        lambda: {
            name: scenario
            for name, scenario in _runs((40, 15)).items()
            if name in (_name("hstcp", AS_RECONSTRUCTED, 1), _name("scalable", AS_RECONSTRUCTED, 1))
        },
    ),
)
