"""BBRv3 with the rules of Linux, compared with Google's module: its figures in four scenarios, and the module."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from statistics import fmean

import pytest
from click.testing import CliRunner

from conftest import ROOT
from fullpipe import Scenario, run
from fullpipe._cli import fullpipe_command

CASES = json.loads((ROOT / "tests/cases/bbr3-module.json").read_text())["cases"]
OURS = '{ name = "bbr3", variant = "linux-v3" }'
NAMES = ["one flow", "four flows", "ten flows", "four flows, FQ-CoDel"]
SEEDS = range(2, 14)
MODULE = "FULLPIPE_BBR3_MODULE"
"""The variable that names the module's source, such as `tcp_bbr.c`."""


def figures(case: dict[str, str], algorithm: str) -> dict[str, float]:
    """The means of the link's figures."""
    texts = [case["scenario"].replace("ALGORITHM", algorithm).replace("SEED", str(seed)) for seed in SEEDS]
    links = [run(Scenario.loads(text)).to_dict()["links"][0] for text in texts]
    return {key: fmean(link[key] for link in links) for key in ("utilization", "mean_queue_packets", "loss_rate")}


def assert_close(found: dict[str, float], expected: dict[str, float], utilization: float) -> None:
    """The tolerances: utilization as given, the mean queue 15 % or 2 packets, losses a factor of 1.3."""
    queue = expected["mean_queue_packets"]
    assert found["utilization"] == pytest.approx(expected["utilization"], abs=utilization)
    assert found["mean_queue_packets"] == pytest.approx(queue, abs=max(0.15 * queue, 2))
    assert 1 / 1.3 < found["loss_rate"] / expected["loss_rate"] < 1.3


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_linux_rules_give_the_modules_figures(case: dict[str, dict[str, float]]) -> None:
    assert_close(figures(case, OURS), case["module"], 0.01)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_linux_rules_give_what_the_module_gives(
    case: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = os.environ.get(MODULE)
    if source is None or not Path(source).is_file() or shutil.which("clang") is None:
        pytest.skip(f"needs clang, and {MODULE} to name the source of google/bbr's tcp_bbr.c (branch v3)")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    place = tmp_path / "net/ipv4"
    place.mkdir(parents=True)
    shutil.copy(source, place / "tcp_v3.c")
    done = CliRunner().invoke(fullpipe_command, ["linux", "module", str(tmp_path), "v3"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert_close(figures(case, OURS), figures(case, '{ module = "v3" }'), 0.01)
