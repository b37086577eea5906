"""LEDBAT's latecomer, which LEDBAT++ does not favor, and the queue of either alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullpipe.papers.drawing import bottleneck, flow_samples, flow_values, link_value, panels, utilization
from fullpipe.plots.looks import pens
from fullpipe.reproduce.item import Item, Results
from fullpipe.reproduce.rows import Rows
from fullpipe.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fullpipe.plots.spec import Plot

__all__ = ["LEDBAT"]

SCHEMES: Mapping[str, object] = {
    "LEDBAT": "ledbat",
    "LEDBAT++": "ledbat++",
    "LEDBAT++ without slowdowns": {"name": "ledbat++", "slowdowns": False},
}


def _scenario(duration: str, warmup: str, *flows: Mapping[str, object]) -> Scenario:
    """Link of 10 Mbit/s and 50 ms, with a buffer of 1.6 s, so that delays decide and losses do not. The sources give no
    link.
    """
    return Scenario(
        duration=duration,
        warmup=warmup,
        series_interval="200 ms",
        links=[bottleneck("10 Mbit/s", "25 ms", "2000 packets")],
        flows=list(flows),
    )


def _scenarios() -> dict[str, Scenario]:
    """Flows alone; two flows, the second one 40 s later, measured two minutes after that; and a flow versus Reno."""
    found = {}
    for name, algorithm in SCHEMES.items():
        own = {"algorithm": algorithm}
        found[f"late, {name}"] = _scenario("200 s", "160 s", own, {**own, "start": "40 s"})
    for name in ("LEDBAT", "LEDBAT++"):
        own = {"algorithm": SCHEMES[name]}
        found[f"alone, {name}"] = _scenario("200 s", "60 s", own)
        found[f"beside Reno, {name}"] = _scenario("200 s", "60 s", own, {"algorithm": "reno", "recovery": "sack"})
    return {name.lower().replace(", ", "_").replace(" ", "-").replace("+", "p"): each for name, each in found.items()}


def _key(kind: str, name: str) -> str:
    return f"{kind}_{name}".lower().replace(" ", "-").replace("+", "p")


def _measure(results: Results) -> Rows:
    def share(key: str, flow: int) -> float:
        goodputs = flow_values(results[key], "goodput_bps")
        return float(goodputs[flow] / goodputs.sum())

    rows = Rows(named=("quantity", "unit", "algorithm"))
    for name in SCHEMES:
        rows.add("latecomer's share", share(_key("late", name), 1), algorithm=name)
    for name in ("LEDBAT", "LEDBAT++"):
        alone = results[_key("alone", name)]
        rows.add("mean queue alone", link_value(alone, "mean_queue_packets"), unit="packets", algorithm=name)
        rows.add("utilization alone", utilization(alone), algorithm=name)
        rows.add("share beside Reno", share(_key("beside-reno", name), 0), algorithm=name)
    return rows


def _picture(results: Results) -> Plot:
    """Plot of the windows of both flows."""
    rows = tuple((name, "packets") for name in SCHEMES)
    plot, axes = panels(rows, title="Windows of two flows, the second from 40 s on")
    for name, (panel,) in zip(SCHEMES, axes, strict=True):
        result = results[_key("late", name)]
        looks = pens(result.columns("flows")["algorithm"])
        for flow, (label, look) in enumerate(zip(("first", "second"), looks, strict=True)):
            panel.line(*flow_samples(result, flow, "cwnd_packets"), **look, label=label)
    axes[0][0].legend = True
    return plot


LEDBAT = Item(
    id="modern/ledbat",
    title="LEDBAT's latecomer takes all, LEDBAT++'s an equal share",
    scenarios=_scenarios,
    measure=_measure,
    pictures={"ledbat": _picture},
)
