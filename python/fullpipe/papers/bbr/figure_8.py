"""Cardwell et al., figure 8: goodput of BBR and CUBIC against random loss, in the simulator and on a kernel."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from fullpipe.metrics import axis
from fullpipe.papers.drawing import bottleneck, flow_values, panels, runs_of
from fullpipe.plots.looks import pen
from fullpipe.reproduce.item import Item, Quick, Results, marks
from fullpipe.reproduce.rows import Rows
from fullpipe.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fullpipe.plots.spec import Plot

__all__ = ["ALGORITHMS", "FIGURE_8", "LOSSES", "scenario"]

ALGORITHMS = {"bbr": "BBR", "cubic": "CUBIC"}
"""Algorithms, and their names in the figure."""

LOSSES = (0.0, 0.001, 0.01, 0.05, 0.1, 0.15, 0.2)
"""Loss probabilities of data packets. The paper's axis goes from 0.001 % to 50 %."""

RATE_MBPS = 100

SEEDS = range(1, 25)
"""Seeds, of which the mean is checked."""
QUICK_SEEDS = SEEDS[:3]
QUICK_LOSSES = (0.001, 0.05, 0.1)

HEAVY = 0.1
"""Loss from which losses may end Startup early, when three rounds happen to deliver no more."""

EARLY = 0.8
"""Goodput over the median of all seeds below which a run of BBR has left Startup early."""


def scenario(algorithm: str, loss: float, seed: int, start: str = "0 s..30 ms") -> Scenario:
    """One flow of 60 s over the paper's link, 100 Mbit/s and 100 ms. The buffer is not given: one BDP here.

    Args:
        algorithm: Name of the algorithm.
        loss: Loss probability of data packets.
        seed: Seed of start and losses.
        start: Start of the flow; a kernel has other random losses with another start.
    """
    return Scenario(
        duration="60 s",
        warmup="0 s",
        packet_size=1500,
        seed=seed,
        series_interval="off",
        links=[bottleneck(f"{RATE_MBPS} Mbit/s", "50 ms", "1 BDP", loss=loss, reverse={"loss": 0})],
        flows=[{"algorithm": algorithm, "host": "linux", "start": start}],
    )


def _scenarios(losses: Sequence[float] = LOSSES, seeds: Sequence[int] = SEEDS) -> dict[str, Scenario]:
    return {
        _name(algorithm, loss, seed): scenario(algorithm, loss, seed)
        for algorithm in ALGORITHMS
        for loss in losses
        for seed in seeds
    }


def _name(algorithm: str, loss: float, seed: int) -> str:
    return f"{algorithm}_{100 * loss:g}-percent_{seed}"


def _setting(loss: float) -> str:
    return f"{100 * loss:g} % loss"


def _goodputs(results: Results, algorithm: str, loss: float) -> list[float]:
    """Goodput of each seed, Mbit/s."""
    runs = runs_of(results, (_name(algorithm, loss, seed) for seed in SEEDS))
    return [float(flow_values(run, "goodput_bps")[0]) / 1e6 for run in runs]


def _usual(goodputs: Sequence[float]) -> list[float]:
    """Runs of BBR that did not leave Startup early."""
    return [goodput for goodput in goodputs if goodput >= EARLY * median(goodputs)]


def _measure(results: Results) -> Rows:
    rows = Rows()
    heavy, usual = 0, 0
    for algorithm, called in ALGORITHMS.items():
        for loss in LOSSES:
            goodputs = _goodputs(results, algorithm, loss)
            kept = _usual(goodputs) if algorithm == "bbr" and goodputs else goodputs
            if kept:
                rows.add_mean("goodput", kept, unit="Mbit/s", algorithm=called, setting=_setting(loss))
            if algorithm == "bbr" and loss >= HEAVY:
                heavy, usual = heavy + len(goodputs), usual + len(kept)
    rows.add("runs that leave Startup early", 1 - usual / heavy, algorithm="BBR", setting="loss of 10 % and more")
    return rows


def _picture(results: Results) -> Plot:
    """Goodput against loss: means over the seeds, and values of the kernel."""
    rows, kernel = _measure(results), marks("bbr/figure-8")
    shown = [loss for loss in LOSSES if rows.get("goodput", "BBR", _setting(loss)) is not None]
    title = "Goodput of 60 s against random loss: 100 Mbit/s, 100 ms, a buffer of one BDP"
    plot, ((axes,),) = panels((("", axis("goodput_bps")[0]),), title=title, xlabel=axis("loss_rate")[0], height=3.4)
    at = [100 * loss for loss in shown]
    axes.line(at, [RATE_MBPS * (1 - loss) for loss in shown], color="#666666", linestyle=":", label="link less loss")
    for algorithm, called in ALGORITHMS.items():
        look = pen(algorithm, marked=True)
        means = [rows.value("goodput", called, _setting(loss)) for loss in shown]
        axes.line(at, means, **look, label=f"{called}, simulator")
        points = [(100 * loss, kernel.get(f"{called}, {_setting(loss)}")) for loss in shown]
        if known := [(x, y) for x, y in points if y is not None]:
            hollow = look | {"linestyle": "none", "markerfacecolor": "none", "markersize": 9}
            axes.line(*zip(*known, strict=True), **hollow, label=f"{called}, Linux 6.1")
    axes.y.limits = (0, None)
    axes.legend = True
    return plot


FIGURE_8 = Item(
    id="bbr/figure-8",
    title="Goodput of BBR and CUBIC under random loss, in the simulator and on Linux",
    scenarios=_scenarios,
    measure=_measure,
    pictures={"figure-8": _picture},
    quick=Quick(
        "losses of 0.1, 5 and 10 % alone, with three seeds instead of 24",
        lambda: _scenarios(QUICK_LOSSES, QUICK_SEEDS),
    ),
)
