"""DCTCP's steady state: one flow over a step of 65 packets at 10 Gbit/s."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullpipe.papers.drawing import bottleneck, flow_samples, link_samples, panels, utilization
from fullpipe.plots.looks import link_pen, pen
from fullpipe.reproduce.item import Item, Results
from fullpipe.reproduce.rows import Rows
from fullpipe.scenario import Scenario

if TYPE_CHECKING:
    from fullpipe.plots.spec import Plot

__all__ = ["DCTCP"]

UNSEEN_PACKETS = 2
"""Packets of the queue that the step does not compare: the one in service and the one that arrives."""

FROM_S = 0.25
"""Time at which alpha, from 1, has converged."""


def _scenarios() -> dict[str, Scenario]:
    """Alizadeh et al. 2010, section 3.3: K = 65 packets of 1500 bytes, a round trip of 100 us."""
    step = {"name": "step", "threshold": "65 packets"}
    return {
        "dctcp": Scenario(
            duration="500 ms",
            warmup="250 ms",
            packet_size=1500,
            series_interval="10 us",
            links=[bottleneck("10 Gbit/s", "50 us", "unlimited", queue=step)],
            flows=[{"algorithm": "dctcp"}],
        )
    }


def _measure(results: Results) -> Rows:
    result = results["dctcp"]
    t_s, alpha = flow_samples(result, 0, "alpha")
    at_s, queue = link_samples(result, "queue_packets")
    settled = queue[at_s >= FROM_S] - UNSEEN_PACKETS
    rows = Rows(named=("quantity", "unit"))
    rows.add("alpha, mean", alpha[t_s >= FROM_S].mean(), algorithm="dctcp")
    rows.add("queue, least", settled.min(), unit="packets", algorithm="dctcp")
    rows.add("queue, greatest", settled.max(), unit="packets", algorithm="dctcp")
    rows.add("utilization", utilization(result), algorithm="dctcp")
    return rows


def _picture(results: Results) -> Plot:
    """Plot of two milliseconds of the steady state."""
    result = results["dctcp"]
    rows = (("DCTCP's window", "packets"), ("alpha", ""), ("Queue", "packets"))
    plot, axes = panels(rows, title="DCTCP at 10 Gbit/s over a step of 65 packets", xlabel="Time (ms)")
    t_s, window, alpha = flow_samples(result, 0, "cwnd_packets", "alpha")
    at_s, queue = link_samples(result, "queue_packets")
    looks = (pen("dctcp"), pen("dctcp"), link_pen(0))
    for (panel,), times, values, look in zip(axes, (t_s, t_s, at_s), (window, alpha, queue), looks, strict=True):
        shown = (times >= FROM_S) & (times < FROM_S + 0.002)
        panel.line(1000 * times[shown], values[shown], **look)
    return plot


DCTCP = Item(
    id="modern/dctcp",
    title="DCTCP in the steady state: its fraction of marks and its queue at 10 Gbit/s",
    scenarios=_scenarios,
    measure=_measure,
    pictures={"dctcp": _picture},
)
