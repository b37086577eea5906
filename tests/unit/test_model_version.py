"""Model version: baseline files of `fullpipe check` rely on it, so that it must change with the simulator's results."""

from __future__ import annotations

import hashlib
import json

import fullpipe
from conftest import ROOT
from fullpipe.runs.model_version import MODEL_VERSION

EXPECTED = ROOT / "tests/unit/expected/model-version.json"
LINK = {"name": "l", "rate": "10 Mbit/s", "delay": "20 ms", "buffer": "0.5 BDP"}
FLOWS = {"start": "0 s..1 s", "count": 2}
SCENARIOS = [
    {"links": [LINK], "flows": [{"algorithm": name, **FLOWS}]}
    for name in ("newreno", "cubic", "bbr3", "vegas", "dctcp")
] + [
    {"links": [{**LINK, "loss": 0.01}], "flows": [{"algorithm": "cubic", "recovery": "rack", **FLOWS}]},
    {"links": [{**LINK, "queue": "fq-codel"}], "flows": [{"algorithm": "newreno", "recovery": "sack", **FLOWS}]},
]


def digest() -> str:
    """Hash of all metrics, rounded to six digits, which are equal on all platforms."""
    figures = [fullpipe.run({"duration": "10 s", "seed": 1, **each}).figures() for each in SCENARIOS]
    rounded = [{name: f"{value:.6g}" for name, value in row.items() if value is not None} for row in figures]
    return hashlib.sha256(json.dumps(rounded, sort_keys=True).encode()).hexdigest()[:16]


def test_results_change_only_with_the_model_version() -> None:
    expected = json.loads(EXPECTED.read_text())
    found = {"model_version": MODEL_VERSION, "digest": digest()}
    assert found == expected, (
        f"results of the simulator changed: raise MODEL_VERSION in python/fullpipe/runs/model_version.py, and write "
        f"{json.dumps({**found, 'model_version': expected['model_version'] + 1})} into {EXPECTED.name}"
    )
