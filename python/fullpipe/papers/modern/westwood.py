"""Westwood+ with small buffers: by its paper, the pipe is full with any buffer; by Linux's rule, it is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullpipe.papers.drawing import bottleneck, flow_samples, panels, utilization
from fullpipe.plots.looks import pen
from fullpipe.reproduce.item import Item, Results
from fullpipe.reproduce.rows import Rows
from fullpipe.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fullpipe.plots.spec import Plot

__all__ = ["WESTWOOD"]

SCHEMES: Mapping[str, object] = {
    "westwood": "westwood",
    "westwood as in Linux": {"name": "westwood", "halve_in_recovery": True},
    "reno": "reno",
}

BUFFERS_BDP = {"1/8": 0.125, "1/4": 0.25, "1/2": 0.5}


def _scenario(algorithm: object, buffer_bdp: float) -> Scenario:
    """Link of the comparison between simulator and Linux (reports/linux.md), 10 Mbit/s and 100 ms. The text of the
    paper was not available.
    """
    return Scenario(
        duration="240 s",
        warmup="40 s",
        packet_size=1500,
        series_interval="100 ms",
        links=[bottleneck("10 Mbit/s", "49 ms", f"{buffer_bdp} BDP")],
        flows=[{"algorithm": algorithm, "access_delay": "1 ms", "recovery": "sack"}],
    )


def _scenarios() -> dict[str, Scenario]:
    return {
        _name(scheme, buffer): _scenario(algorithm, buffer_bdp)
        for scheme, algorithm in SCHEMES.items()
        for buffer, buffer_bdp in BUFFERS_BDP.items()
    }


def _name(scheme: str, buffer: str) -> str:
    return f"{scheme.replace(' ', '-').lower()}_{buffer.replace('/', '-')}"


def _measure(results: Results) -> Rows:
    rows = Rows()
    for buffer in BUFFERS_BDP:
        for scheme in SCHEMES:
            used = utilization(results[_name(scheme, buffer)])
            rows.add("utilization", used, algorithm=scheme, setting=f"{buffer} BDP")
    return rows


def _picture(results: Results) -> Plot:
    """Plot of half a minute of the windows with the smallest buffer."""
    rows = tuple((scheme, "packets") for scheme in SCHEMES)
    plot, axes = panels(rows, title="Windows over a buffer of 1/8 BDP")
    for scheme, (panel,) in zip(SCHEMES, axes, strict=True):
        t_s, window = flow_samples(results[_name(scheme, "1/8")], 0, "cwnd_packets")
        shown = (t_s >= 100) & (t_s < 130)
        panel.line(t_s[shown], window[shown], **pen(scheme.partition(" ")[0]))
        panel.y.limits = (0, None)
    return plot


WESTWOOD = Item(
    id="modern/westwood",
    title="Westwood+ over small buffers, by its paper and by Linux's rule",
    scenarios=_scenarios,
    measure=_measure,
    pictures={"westwood": _picture},
)
