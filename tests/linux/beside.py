"""Comparison of the metrics of two engines: measured, recorded for reports/linux.md, and judged."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import pytest
from benchmarks import records

from fullpipe import Scenario
from fullpipe.linux import machine, programs
from fullpipe.runs.engines import run

MEASURED = records.REPORTS
"""Directory of the records, by table."""
RECORD = "FULLPIPE_RECORD"
"""With this in the environment the tests keep what they measure there; `simulator` keeps what Linux gave before."""
FEW = 50
"""So many marks and drops or fewer are not compared."""
FULL = 1.001
"""Utilization at most; a packet more than fits may be counted."""

ALGORITHMS: dict[str, Any] = {
    "reno": {"name": "reno", "whole_segments": True},
    "cubic": {"name": "cubic", "alpha_to_one": False, "whole_segments": True},
    "vegas": {"name": "vegas", "alpha": 2, "beta": 4, "gamma": 1, "loss_cut": 0.5},
}
"""As the kernel has them."""

needs_guest = pytest.mark.skipif(
    shutil.which(machine.QEMU) is None or not (programs.OBJECTS / "agent").exists(),
    reason="needs qemu-system-x86 and `make linux-objects`",
)


class Figures(NamedTuple):
    """Of a run's one link."""

    utilization: float
    queue: float
    signals: float


UTILIZATION, QUEUE, SIGNALS = 0.02, 1.15, 1.3
"""How far Linux may be from what the simulator spans: a difference, and two ratios."""


def simulated(scenario: Scenario) -> Figures:
    return _figures(scenario, "simulator")


def run_on_linux(scenario: Scenario) -> Figures:
    return _figures(scenario, "linux")


def hold(table: str, name: str, there: Callable[[], list[Figures]], here: list[Figures]) -> None:
    """Prints and keeps a row of a table, and fails where the runs on Linux are too far from the simulator."""
    low, high = (Figures(*map(of, zip(*here, strict=True))) for of in (min, max))
    record = os.environ.get(RECORD)
    on_linux = [Figures(*kept(table)[name]["linux"])] if keeps_linux() else there()
    mean = Figures(*map(fmean, zip(*on_linux, strict=True)))
    print(f"\n{name}: Linux {on_linux}, simulator from {low} to {high}")
    if record:
        _keep(table, name, {"linux": mean, "low": low, "high": high})
    assert not (said := misses(mean, low, high)), ", ".join(said)


def keeps_linux() -> bool:
    """Whether Linux's earlier results are taken from the record."""
    return os.environ.get(RECORD) == "simulator"


def records_rows() -> bool:
    """Whether rows are kept."""
    return RECORD in os.environ


def misses(there: Figures, low: Figures, high: Figures) -> list[str]:
    """The figures that are too far from the range."""
    most = min(high.utilization + UTILIZATION, FULL)
    inside = {
        "utilization": low.utilization - UTILIZATION <= there.utilization <= most,
        "queue": low.queue / QUEUE <= there.queue <= high.queue * QUEUE,
        "signals": max(there.signals, high.signals) <= FEW
        or low.signals / SIGNALS <= there.signals <= high.signals * SIGNALS,
    }
    return [figure for figure, is_inside in inside.items() if not is_inside]


def _figures(scenario: Scenario, engine: str) -> Figures:
    link = run(scenario, engine=engine).to_dict()["links"][0]
    lost = sum(link[f"{what}_packets"] for what in ("marked", "dropped", "wire_lost"))
    return Figures(link["utilization"], link["mean_queue_packets"], lost)


def keep_rows(table: str, rows: Mapping[str, Any]) -> None:
    """Puts rows into a table's record, a line each, and replaces rows with equal names."""
    path, known = _path(table), {**kept(table), **rows}
    path.parent.mkdir(exist_ok=True)
    path.write_text("{\n" + ",\n".join(f"{json.dumps(key)}: {json.dumps(known[key])}" for key in known) + "\n}\n")
    records.note(path.name, rows, path.parent)


def _keep(table: str, name: str, row: dict[str, Figures]) -> None:
    rounded = {side: [round(figures[0], 4), round(figures[1], 2), round(figures[2])] for side, figures in row.items()}
    keep_rows(table, {name: rounded})


def kept(table: str) -> dict[str, Any]:
    """A table's record, by the names of its rows."""
    path = _path(table)
    return json.loads(path.read_text()) if path.exists() else {}


def _path(table: str) -> Path:
    return MEASURED / f"linux-{table}.json"
