"""Copa's packets in the queue, and its starvation under random delay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullpipe.papers.drawing import bottleneck, flow_values, link_samples, link_value, panels, utilization
from fullpipe.plots.looks import link_pen
from fullpipe.reproduce.item import Item, Results
from fullpipe.reproduce.rows import Rows
from fullpipe.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fullpipe.plots.spec import Plot
    from fullpipe.runs.result import Result

__all__ = ["COPA"]

COUNTS = (1, 2, 4)
"""Numbers of flows."""

JITTERS_MS = (0, 1, 5)
"""Mean random delay of the first flow's packets, milliseconds."""

SWITCHING: object = {"name": "copa", "competitive": True}
"""Copa with the paper's mode switch."""


def _flows(count: int, algorithm: object) -> Scenario:
    """Scenario of section 3, which gives no link: 50 Mbit/s, 40 ms, and a buffer that never fills in default mode."""
    return Scenario(
        duration="60 s",
        warmup="20 s",
        series_interval="20 ms",
        links=[bottleneck("50 Mbit/s", "20 ms", "1000 packets")],
        flows=[{"algorithm": algorithm, "count": count, "start": "0 s..1 s"}],
    )


def _beside_jitter(mean_ms: int) -> Scenario:
    """Two flows. The first crosses a link with a random delay, uniform between 0 and twice the mean."""
    access = {"rate": "1 Gbit/s", "delay": "10 ms", "buffer": "unlimited"}
    links: list[Mapping[str, object]] = [
        bottleneck("50 Mbit/s", "10 ms", "1000 packets"),
        {"name": "unsteady", **access, "jitter": {"model": "uniform", "mean": f"{mean_ms} ms"}},
        {"name": "steady", **access},
    ]
    return Scenario(
        duration="60 s",
        warmup="20 s",
        series_interval="off",
        links=links,
        flows=[{"algorithm": "copa", "path": [name, "bottleneck"]} for name in ("unsteady", "steady")],
    )


def _scenarios() -> dict[str, Scenario]:
    return {
        **{f"{count}_flows": _flows(count, "copa") for count in COUNTS},
        "4_flows_switching": _flows(4, SWITCHING),
        **{f"jitter_{mean_ms}_ms": _beside_jitter(mean_ms) for mean_ms in JITTERS_MS},
    }


def _waiting(result: Result) -> float:
    """Packets in the queue without the one in service."""
    return link_value(result, "mean_queue_packets") - utilization(result)


def _measure(results: Results) -> Rows:
    waiting: dict[str, str] = {"quantity": "waiting packets a flow", "unit": "packets", "algorithm": "copa"}
    rows = Rows(named=("quantity", "setting"))
    for count in COUNTS:
        rows.add(**waiting, value=_waiting(results[f"{count}_flows"]) / count, setting=f"N={count}")
    for count in COUNTS:
        rows.add("utilization", utilization(results[f"{count}_flows"]), algorithm="copa", setting=f"N={count}")
    rows.add(**waiting, value=_waiting(results["4_flows_switching"]) / 4, setting="N=4, mode switch on")
    for mean_ms in JITTERS_MS:
        goodputs = flow_values(results[f"jitter_{mean_ms}_ms"], "goodput_bps")
        rows.add("share under jitter", goodputs[0] / goodputs.sum(), algorithm="copa", setting=f"{mean_ms} ms")
    return rows


def _picture(results: Results) -> Plot:
    """Plot of four seconds of the queue."""
    rows = tuple((f"Queue of {count}" if count > 1 else "Queue of one flow", "packets") for count in COUNTS)
    plot, axes = panels(rows, title="Copa at 50 Mbit/s, 40 ms, in default mode")
    for count, (panel,) in zip(COUNTS, axes, strict=True):
        t_s, queue = link_samples(results[f"{count}_flows"], "queue_packets")
        shown = (t_s >= 40) & (t_s < 44)
        panel.line(t_s[shown], queue[shown], **link_pen(0))
    return plot


COPA = Item(
    id="modern/copa",
    title="Copa's two and a half packets a flow, and its starvation under jitter of the least RTT",
    scenarios=_scenarios,
    measure=_measure,
    pictures={"copa": _picture},
)
