"""QUIC libraries' own controllers in the simulator: the adapters' tests, and their program as a reader would run it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess

import pytest

from conftest import ROOT

ADAPTERS = ROOT / "adapters"

pytestmark = [pytest.mark.slow, pytest.mark.skipif(shutil.which("cargo") is None, reason="no cargo")]


def cargo(*arguments: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "CARGO_TARGET_DIR": str(ROOT / "target")}
    done = subprocess.run(
        ["cargo", *arguments],
        cwd=ADAPTERS,
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done


def test_the_adapters() -> None:
    cargo("test", "--quiet", "--locked")


def test_a_scenario_with_quinns_cubic_and_ours() -> None:
    printed = cargo("run", "--quiet", "--locked", "--", "--json", "scenarios/cubic.toml").stdout
    report = json.loads(printed)
    assert [flow["algorithm"] for flow in report["flows"]] == ["quinn-cubic", "cubic"]
    assert 0.97 < report["links"][0]["utilization"] <= 1
    # Both follow one function: neither takes twice what the other gets.
    rates = [flow["goodput_bps"] for flow in report["flows"]]
    assert max(rates) < 2 * min(rates)


def test_faults_are_a_line() -> None:
    for arguments in (["no-such-file.toml"], ["--wrong", "scenarios/cubic.toml"], []):
        done = cargo("run", "--quiet", "--locked", "--", *arguments, status=2)
        assert done.stdout == ""
        assert len(done.stderr.splitlines()) == 1
