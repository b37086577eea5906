"""Linux's column of `fullpipe evaluate --engine linux`: two flows over 50 Mbit/s and 30 ms on both engines. The
scenarios are the report card's, of which the first minute is run, without host processing times. Long; `make
test-linux` runs it.
"""

from __future__ import annotations

import os
from statistics import fmean
from typing import Any

import pytest

from fullpipe.experiments.evaluate.beside_linux import for_linux
from fullpipe.experiments.evaluate.cells.harm import beside
from fullpipe.experiments.evaluate.measure import metrics
from fullpipe.experiments.evaluate.preset import Party
from fullpipe.runs.engines import run
from linux.beside import RECORD, keep_rows, keeps_linux, kept, needs_guest

pytestmark = [pytest.mark.slow_linux, needs_guest]

PAIRS = (("cubic", "newreno"), ("newreno", "newreno"), ("cubic", "cubic"), ("bbr", "newreno"), ("bbr", "cubic"))
BUFFERS_BDP = (1, 0.1, 4)
DURATION_S = 60.0
"""Of which 20 s are the warm-up."""
SEEDS = range(1, 25)
"""Of the simulator."""
LINUX_SEEDS: dict[tuple[tuple[str, str], float], tuple[int, ...]] = {(("bbr", "newreno"), 4): (1, 2, 3)}
"""One where nothing else is said. These three spread as the simulator's do: from hardly a drop to ninety."""

Figures = dict[str, float]
FIGURES = ("share", "utilization", "rtt_ms", "drops")


def scenario(pair: tuple[str, str], buffer_bdp: float, seed: int) -> dict[str, Any]:
    first, second = (Party(name, name) for name in pair)
    return {**beside(50e6, 0.03, buffer_bdp, first, second, duration_s=DURATION_S), "seed": seed}


def measured(tree: dict[str, Any], engine: str) -> Figures:
    """Share of the first flow in both goodputs, the link's utilization and drops, and the first flow's mean RTT.
    Without host processing times, as in the virtual machine.
    """
    row = metrics(run(for_linux(tree), engine=engine))
    one, other = (row[f"{name}.goodput_bps"] or 0.0 for name in ("victim", "other"))
    return {
        "share": one / (one + other),
        "utilization": row["utilization"] or 0.0,
        "rtt_ms": 1e3 * (row["victim.mean_rtt_s"] or 0.0),
        "drops": row["dropped_packets"] or 0.0,
    }


WITHIN = {"share": 0.1, "utilization": 0.02}
"""How far Linux may be from what the simulator spans, as a difference."""
RATIOS = {"rtt_ms": 1.05, "drops": 1.3}
"""The same as a ratio."""
FEW = 50
"""So many drops or fewer are not compared."""


@pytest.mark.parametrize("buffer_bdp", BUFFERS_BDP)
@pytest.mark.parametrize("pair", PAIRS, ids=" beside ".join)
def test_linux_and_simulator_agree_on_duels(pair: tuple[str, str], buffer_bdp: float) -> None:
    here = [measured(scenario(pair, buffer_bdp, seed), "simulator") for seed in SEEDS]
    name = f"{' beside '.join(pair)}, {buffer_bdp:g} BDP"
    if keeps_linux():
        before = kept("duels")[name]["linux"]
        there = [dict(zip(FIGURES, values, strict=True)) for values in zip(*map(before.get, FIGURES), strict=True)]
    else:
        seeds = LINUX_SEEDS.get((pair, buffer_bdp), (1,))
        there = [measured(scenario(pair, buffer_bdp, seed), "linux") for seed in seeds]
    print(f"\n{name}: Linux {there}")
    if os.environ.get(RECORD):
        keep(name, here, there)
    assert misses(here, there) == []


def misses(here: list[Figures], there: list[Figures]) -> list[str]:
    """The figures whose mean on Linux is too far from the simulator's range."""
    found = []
    for figure in FIGURES:
        values = [row[figure] for row in here]
        mean, low, high = fmean(row[figure] for row in there), min(values), max(values)
        if figure == "drops" and max(mean, high) <= FEW:
            continue
        ratio, apart = RATIOS.get(figure, 1.0), WITHIN.get(figure, 0.0)
        if not low / ratio - apart <= mean <= high * ratio + apart:
            found.append(f"{figure}: {mean:.4g} on Linux, {low:.4g} to {high:.4g} in the simulator")
    return found


def keep(name: str, here: list[Figures], there: list[Figures]) -> None:
    """A row of the record, from which reports/linux.md has its table."""
    sides = {"simulator": here, "linux": there}
    row = {side: {figure: [rounded(one[figure]) for one in runs] for figure in FIGURES} for side, runs in sides.items()}
    keep_rows("duels", {name: row})


def rounded(value: float) -> float:
    return float(f"{value:.4g}")
