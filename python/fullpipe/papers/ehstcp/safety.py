"""What eHSTCP's safety check is for (Choi, Lee and Cho, section 2): the paper claims it and shows no figure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fullpipe.charts.style import pens
from fullpipe.papers.drawing import flow_samples, panels, utilization
from fullpipe.papers.ehstcp.common import STANDARD, bars, bdp_packets
from fullpipe.reproduce.item import Item, Results
from fullpipe.reproduce.rows import Rows
from fullpipe.runs.tables import to_numpy
from fullpipe.scenario import Scenario

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fullpipe.runs.result import Result

__all__ = ["SAFETY_CHECK"]

HIGH_SPEED, STANDARD_TCP = 2, 4
RATE_MBPS = 400
BUFFER = round(bdp_packets(RATE_MBPS, 0.04) / 20)
"""A twentieth of the bandwidth-delay product, 67 packets: a full queue adds 2 ms to 40. Equation (4) cuts by a 20th,
HSTCP by a third."""

SEEDS = (1, 2, 3)
ALGORITHMS: Mapping[str, Any] = {
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
            links=[
                {
                    "name": "bottleneck",
                    "rate": f"{RATE_MBPS} Mbit/s",
                    "delay": "10 ms",
                    "buffer": f"{BUFFER} packets",
                }
            ],
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


def _measure(results: Results) -> Rows:
    rows = Rows()
    for name in ALGORITHMS:
        for seed in SEEDS:
            result = results[_scenario_name(name, seed)]
            of = {"algorithm": name, "setting": f"seed {seed}"}
            rows.add("standard TCP's share", _standard_share(result), unit="%", **of)
            rows.add("loss", 100 * float(to_numpy(result.columns("links")["loss_rate"])[0]), unit="%", **of)
            rows.add("utilization", utilization(result), **of)
    return rows


def _standard_share(result: Result) -> float:
    rates = to_numpy(result.columns("flows")["throughput_bps"])
    return float(100 * rates[HIGH_SPEED:].sum() / (RATE_MBPS * 1e6))


def _shares_picture(results: Results) -> Figure:
    rows = _measure(results)
    quantities = {"standard TCP's share": ", %", "loss": ", %", "utilization": ""}
    return bars(
        "Four standard flows beside two high-speed ones: 400 Mbit/s, 40 ms, a buffer of 67 packets",
        list(ALGORITHMS),
        {
            f"{quantity}{unit}": {
                f"seed {seed}": [rows.value(quantity, name, f"seed {seed}") for name in ALGORITHMS] for seed in SEEDS
            }
            for quantity, unit in quantities.items()
        },
    )


def _windows_picture(results: Results) -> Figure:
    shown = {name: results[_scenario_name(name, 1)] for name in ALGORITHMS if name != "HSTCP"}
    rows = [(name, "window, packets") for name in shown]
    title = "The two eHSTCP flows: a small cut, and with the check a second one where the queue stays"
    with panels(rows, title=title) as (figure, axes):
        for (panel,), result in zip(axes, shown.values(), strict=True):
            for flow, look in enumerate(pens(["ehstcp"] * HIGH_SPEED)):
                t_s, window = flow_samples(result, flow, "cwnd_packets")
                panel.plot(t_s, window, **look)
            panel.set_xlim(60, 75)
    return figure


SAFETY_CHECK = Item(
    id="ehstcp/safety-check",
    title="Section 2's safety check: what it leaves to standard TCP on a small buffer",
    scenarios=_scenarios,
    measure=_measure,
    pictures={"shares": _shares_picture, "windows": _windows_picture},
)
