"""Controllers of QUIC libraries in the simulator, by the program of adapters/.

Their unit tests run with cargo. ``make test-adapters`` builds and runs both.
"""

from __future__ import annotations

import json
import subprocess

import pytest

from conftest import ROOT, module_of

PROGRAM = ROOT / "target/debug/fullpipe-quic"
TOLERANCE = 0.05
"""Relative tolerance of recorded metrics: a record belongs to the build that measured it, and the simulator changes."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not PROGRAM.exists(), reason="adapters/ is not built: `make test-adapters` (Rust 1.95 or newer)"
    ),
]


def fullpipe_quic(*arguments: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [PROGRAM, *arguments], cwd=ROOT / "adapters", capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done


def test_a_scenario_with_quinns_cubic_and_ours() -> None:
    report = json.loads(fullpipe_quic("--json", "scenarios/cubic.toml").stdout)
    assert [flow["algorithm"] for flow in report["flows"]] == ["quinn-cubic", "cubic"]
    assert 0.97 < report["links"][0]["utilization"] <= 1
    # Both follow one function: neither gets twice as much as the other.
    rates = [flow["goodput_bps"] for flow in report["flows"]]
    assert max(rates) < 2 * min(rates)


def test_faults_are_a_line() -> None:
    for arguments in (["no-such-file.toml"], ["--wrong", "scenarios/cubic.toml"], []):
        done = fullpipe_quic(*arguments, status=2)
        assert done.stdout == ""
        assert len(done.stderr.splitlines()) == 1


def test_recorded_metrics_are_near_those_of_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    quic = module_of(ROOT / "benchmarks/quic.py")
    monkeypatch.setattr(quic, "PROGRAM", PROGRAM)
    record = json.loads(quic.RECORD.read_text(encoding="utf-8"))
    name = "10 Mbit/s, 100 ms, 1 BDP"
    for family, algorithms in quic.FAMILIES.items():
        for algorithm in algorithms:
            measured, recorded = quic.figures(name, algorithm), record[family][name][algorithm]
            assert measured == pytest.approx(recorded, rel=TOLERANCE, abs=1e-3), algorithm
    share = record["shares"][name]["quinn-cubic"]
    assert quic.share(name, "quinn-cubic") == pytest.approx(share, rel=TOLERANCE, abs=1e-3)
