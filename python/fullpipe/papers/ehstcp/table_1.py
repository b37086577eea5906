"""Choi, Lee and Cho, table 1: utilization, loss and stability at 2.5 Gbit/s."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from fullpipe.papers.drawing import flow_samples, utilization
from fullpipe.papers.ehstcp.common import (
    BACKGROUND_DELAY,
    HIGH_SPEED_FLOWS,
    SCHEMES,
    bars,
    bdp_packets,
    file_name,
    link_with_background,
)
from fullpipe.reproduce.item import Item, Quick, Results, marks
from fullpipe.reproduce.rows import Rows
from fullpipe.scenario import Scenario

if TYPE_CHECKING:
    from fullpipe.papers.drawing import Samples
    from fullpipe.runs.result import Result

__all__ = ["TABLE_1"]


RATE_MBPS = 2500
BDP = bdp_packets(RATE_MBPS, 0.1)
"""Of 100 ms, 20833 packets."""

AS_RECONSTRUCTED = "as reconstructed"
SETTINGS: dict[str, tuple[float, float]] = {
    "half the buffer": (0.05, 1),
    AS_RECONSTRUCTED: (0.1, 1),
    "2.5 times the buffer": (0.25, 1),
    "ten times the buffer": (1, 1),
    "no background": (0.1, 0),
    "twice the background": (0.1, 2),
}
"""Buffer in BDP of 100 ms, background in times of what is stated. The paper gives no buffer. With a tenth of the BDP
HSTCP leaves about as much of the link idle as table 1 has; with ten times that, nothing."""

SAMPLE_S = 1.0
"""Over which a flow's throughput is taken for its deviation; the paper does not say."""


def _scenarios() -> dict[str, Scenario]:
    return _runs((220, 60))


def _runs(seconds: tuple[float, float]) -> dict[str, Scenario]:
    return {
        file_name(scheme, setting): link_with_background(
            RATE_MBPS,
            round(share * BDP),
            [{"algorithm": scheme, "count": HIGH_SPEED_FLOWS, "access_delay": BACKGROUND_DELAY, "start": "0 s..5 s"}],
            seconds,
            load=load,
            series_interval=f"{SAMPLE_S:g} s",
        )
        for setting, (share, load) in SETTINGS.items()
        for scheme in SCHEMES
    }


def _measure(results: Results) -> Rows:
    rows = Rows()
    for setting in SETTINGS:
        for scheme, name in SCHEMES.items():
            if result := results.get(file_name(scheme, setting)):
                of = {"algorithm": name, "setting": setting}
                rates = _rates(result)
                rows.add("utilization", utilization(result), **of)
                rows.add("loss", 100 * float(result.links["loss_rate"][0].as_py()), unit="%", **of)
                rows.add("normalized deviation", float(np.mean([_deviation(rate) for rate in rates])), **of)
                rows.add("normalized deviation of all together", _deviation(sum(rates[1:], rates[0])), **of)
    return rows


def _rates(result: Result) -> list[Samples]:
    """The high-speed flows' throughputs after the warm-up, packets/s: window over round trip."""
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
    "loss, %": "loss",
    "deviation, each flow": "normalized deviation",
    "deviation, all together": "normalized deviation of all together",
}
"""Titles and the figures below them."""


def _picture(results: Results) -> Figure:
    rows = _measure(results)
    published = marks("ehstcp/table-1")
    settings = dict.fromkeys(row.setting for row in rows)
    names = list(SCHEMES.values())
    panels = {
        title: {setting: [rows.value(what, name, setting) for name in names] for setting in settings}
        for title, what in PANELS.items()
    }
    return bars(
        "2.5 Gbit/s: utilization, loss, normalized deviation of throughput",
        names,
        panels,
        columns=2,
        logarithmic=("loss, %",),
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
        "40 s instead of 220 s, as reconstructed only",
        lambda: {
            name: scenario
            for name, scenario in _runs((40, 15)).items()
            if name.endswith(file_name("", AS_RECONSTRUCTED))
        },
    ),
)
