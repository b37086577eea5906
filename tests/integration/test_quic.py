"""Controllers of QUIC libraries in the simulator, by the program of adapters/.

Their unit tests run with cargo. ``make test-adapters`` builds and runs both.
"""

from __future__ import annotations

import json
import subprocess

import pytest

import fullpipe
from conftest import ROOT, module_of

PROGRAM = ROOT / "target/debug/fullpipe-quic"
LIBRARY = ROOT / "target/debug/libfullpipe_quic_library.so"
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


needs_library = pytest.mark.skipif(not LIBRARY.exists(), reason="the library is not built: `make test-adapters`")


@needs_library
def test_factories_of_libraries_run_in_every_command() -> None:
    path = {"rate": "20 Mbit/s", "delay": "20 ms", "buffer": "1 BDP"}
    flow = {"transport": "quic", "algorithm": "newreno"}
    scenario = fullpipe.Scenario(duration="20 s", warmup="5 s", links=[{"name": "l", **path}], flows=[flow])
    theirs = [f"{LIBRARY}:{name}" for name in ("quinn-newreno", "quinn-cubic", "s2n-cubic", "s2n-bbr")]
    runs = fullpipe.compare(scenario, [*theirs, "newreno", "cubic"], seeds=1)
    goodput = {name: found.figures()["goodput_bps"] for name, found in runs.results.items()}
    assert goodput["quinn-newreno"] == pytest.approx(goodput["newreno"], rel=0.03)
    assert goodput["quinn-cubic"] == pytest.approx(goodput["cubic"], rel=0.03)
    assert min(goodput.values()) > 17e6


@needs_library
def test_quinns_newreno_follows_rfc9002_but_for_the_initial_window() -> None:
    found = fullpipe.conform(f"{LIBRARY}:quinn-newreno", "rfc9002")
    # 12,000 bytes for each size of datagrams (src/congestion/new_reno.rs): 18,000 for those of 9000 in section 7.2.
    assert found.failed(strict=True) == ["N01"]


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


DIFFERENCES = {
    "quinn-cubic": {
        # t begins with the cut (lines 131 and 182).
        "C06": (-0.3, 0.5),
        # 0.3 W_max in place of W_max - cwnd_epoch (lines 39 and 197): W_cubic(0) is 0.595 windows, below the window,
        # and K is (0.255/0.15)^(1/3) = 1.19 times as long. At 108 packets the middle of the curve is 0.66 s later,
        # 3.3 round trips, and steps; t begins with the cut.
        "C14": (2.75, 4.75),
        # Alpha never becomes 1 (lines 51 to 56): 9/17 packets.
        "C10": (0.49, 0.57),
        # cwnd_epoch is 0.7 W_max (line 53), 0.595 windows: 6.3 packets less at 60 packets, the growth of twelve round
        # trips.
        "C12": (0.0, 2.5),
        # Nothing ends slow start (lines 111 to 113).
        "C22": (1.0, 1.0),
    },
    "s2n-cubic": {
        # The window before the cut is compared, as in RFC 8312 (lines 820 and 824).
        "C16": (0.835, 0.865),
        # Alpha never becomes 1 (lines 771 to 776).
        "C10": (0.49, 0.57),
        # cwnd_epoch is 0.7 W_max (line 772).
        "C12": (0.5, 3.5),
    },
}
"""Rules of RFC 9438 that a library's CUBIC does not follow, and the values by its code, calculated by hand.

Lines are of quinn-proto 0.11.19, src/congestion/cubic.rs, and s2n-quic-core 0.91.0, src/recovery/cubic.rs.
"""


@pytest.mark.parametrize("algorithm", DIFFERENCES)
def test_rules_of_rfc9438_that_a_library_follows(algorithm: str) -> None:
    found = {each.rule.id: each for each in fullpipe.conform(algorithm, program=str(PROGRAM)).rules}
    rules = ("C01", "C05", "C06", "C09", "C10", "C12", "C14", "C16", "C22")
    assert {rule for rule in rules if found[rule].verdict == "fail"} == set(DIFFERENCES[algorithm])
    for rule, (low, high) in DIFFERENCES[algorithm].items():
        measured = found[rule].measured
        assert measured is not None
        assert low <= measured <= high, rule


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
