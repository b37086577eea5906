"""Loss zone of BBR: its first version loses packets with buffers below 1.5 BDP, and the third does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullpipe.experiments.evaluate.cells.loss import ZONE_BUFFERS_BDP, ZONE_FLOWS, zone
from fullpipe.experiments.evaluate.preset import Party
from fullpipe.metrics import axis
from fullpipe.papers.drawing import loss_percent, panels, runs_of, utilization
from fullpipe.plots.looks import pen
from fullpipe.reproduce.item import Item, Results, shorter
from fullpipe.reproduce.rows import Rows
from fullpipe.scenario import Scenario

if TYPE_CHECKING:
    from fullpipe.plots.spec import Plot

__all__ = ["LOSS_ZONE"]

ALGORITHMS = ("bbr", "bbr3", "cubic")

SEEDS = range(1, 7)
"""Seeds, of which the mean is checked. Start times decide how much of the buffer BBR's flows leave empty."""
QUICK_SEEDS = SEEDS[:4]


def _scenarios() -> dict[str, Scenario]:
    """Link of the test case bbr1-zone of `fullpipe evaluate`, 100 Mbit/s and 40 ms. Hock, Bless and Zitterbart have a
    testbed of 1 and 10 Gbit/s.
    """
    return {
        _name(algorithm, count, buffer_bdp, seed): Scenario.from_dict(
            {**zone(Party(algorithm, algorithm), count, buffer_bdp), "series_interval": "off", "seed": seed}
        )
        for algorithm in ALGORITHMS
        for count in ZONE_FLOWS
        for buffer_bdp in ZONE_BUFFERS_BDP
        for seed in SEEDS
    }


def _name(algorithm: str, count: int, buffer_bdp: float, seed: int) -> str:
    return f"{algorithm}_{count}-flows_{buffer_bdp:g}-bdp_{seed}"


def _measure(results: Results) -> Rows:
    rows = Rows()
    for count in ZONE_FLOWS:
        for buffer_bdp in ZONE_BUFFERS_BDP:
            for algorithm in ALGORITHMS:
                if runs := runs_of(results, (_name(algorithm, count, buffer_bdp, seed) for seed in SEEDS)):
                    where = {"algorithm": algorithm, "setting": _setting(count, buffer_bdp)}
                    rows.add_mean("loss", [loss_percent(run) for run in runs], unit="%", **where)
                    rows.add_mean("utilization", [utilization(run) for run in runs], **where)
    return rows


def _setting(count: int, buffer_bdp: float) -> str:
    return f"{count} flows, {buffer_bdp:g} BDP"


def _picture(results: Results) -> Plot:
    """Plot of loss against the buffer."""
    rows = _measure(results)
    plot, (axes,) = panels(
        (("", axis("loss_rate")[0]),), columns=len(ZONE_FLOWS), xlabel=axis("buffer_bdp")[0], height=3
    )
    for panel, count in zip(axes, ZONE_FLOWS, strict=True):
        panel.title = f"{count} flows"
        panel.upright(1.5, linewidth=0.8, color="#999999")
        for algorithm in ALGORITHMS:
            losses = [(bdp, rows.get("loss", algorithm, _setting(count, bdp))) for bdp in ZONE_BUFFERS_BDP]
            if shown := [(bdp, loss) for bdp, loss in losses if loss is not None]:
                panel.line(*zip(*shown, strict=True), **pen(algorithm, marked=True), label=algorithm)
    axes[-1].legend = True
    return plot


LOSS_ZONE = Item(
    id="modern/loss-zone",
    title="The loss zone of BBR's first version, and its absence in the third",
    scenarios=_scenarios,
    measure=_measure,
    pictures={"loss-zone": _picture},
    quick=shorter(
        _scenarios,
        "five flows alone, 25 s instead of 120 s, with four seeds instead of six",
        lambda name, scenario: f"_{max(ZONE_FLOWS)}-flows" in name and scenario.seed in QUICK_SEEDS,
        duration="25 s",
        warmup="10 s",
    ),
)
