"""A kernel's object file as an algorithm: what docs/your-own/kernel-object.md shows works as shown."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from conftest import ROOT
from fullpipe import Scenario, compare, run
from fullpipe.cli import fullpipe_command
from fullpipe.errors import InputError, ScenarioError
from fullpipe.linux import programs
from fullpipe.linux.plan import Plan
from fullpipe.text import with_params

PAGE = (ROOT / "docs/your-own/kernel-object.md").read_text()
OBJECT = ROOT / "crates/kernel/tests/objects/aimd.bpf.o"
BETA = OBJECT.read_bytes().index((1 << 10).to_bytes(4, "little") + (1 << 9).to_bytes(4, "little")) + 4
"""Where the object has `beta_q10`, behind `alpha_q10`: 0.5 and 1 times 2^10."""


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with the page's files."""
    shutil.copy(OBJECT, tmp_path)
    (tmp_path / "aimd.bpf.c").write_text(blocks("c")[0])
    (tmp_path / "aimd.toml").write_text(blocks("toml")[0])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_pages_program_is_the_object(place: Path) -> None:
    assert (place / "aimd.bpf.c").read_text() == OBJECT.with_suffix(".c").read_text()


@pytest.mark.skipif(shutil.which("clang") is None, reason="needs clang")
def test_the_pages_program_compiles_and_runs(place: Path) -> None:
    (place / "aimd.bpf.o").unlink()
    subprocess.run(blocks("sh")[0], shell=True, check=True)
    assert flows(place / "aimd.toml") == flows(_with_object(place, OBJECT))


def flows(scenario: Scenario | Path) -> object:
    return run(scenario).to_dict()["flows"]


def _with_object(place: Path, path: Path) -> Scenario:
    shutil.copy(path, place / "aimd.bpf.o")
    return Scenario.load(place / "aimd.toml")


@pytest.mark.usefixtures("place")
def test_the_pages_output() -> None:
    said = CliRunner().invoke(fullpipe_command, ["run", "aimd.toml"])
    assert said.exit_code == 0, said.output
    lines = [line.rstrip() for line in said.output.splitlines()]
    shown = PAGE.split("fullpipe run aimd.toml\n```\n\n```\n")[1].split("```")[0]
    for line in shown.splitlines():
        assert line in lines


def test_the_deviations_are_those_of_the_source() -> None:
    source = (ROOT / "crates/kernel/src/control.rs").read_text().split("# Deviations and choices")[1]
    said = [line.removeprefix("//!").strip() for line in source.split("\n\nuse ")[0].splitlines()]
    assert " ".join(filter(None, said)) == " ".join(PAGE.split("### Deviations and choices")[1].split())


@pytest.mark.usefixtures("place")
def test_what_is_wrong_is_said_in_one_line() -> None:
    def said(algorithm: str) -> str:
        text = blocks("toml")[0].replace('{ object = "aimd.bpf.o", params = { beta = 0.875 } }', algorithm)
        with pytest.raises(ScenarioError) as caught:
            Scenario.loads(text)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    assert "flows[0].algorithm.object" in said('{ object = "missing.bpf.o" }')
    assert "no object file that can be read" in said('{ object = "aimd.toml" }')
    assert 'did you mean "beta"?' in said('{ object = "aimd.bpf.o", params = { betta = 1 } }')
    assert "(allowed: aimd)" in said('{ object = "aimd.bpf.o", struct_ops = "reno" }')


def test_a_scenario_in_memory_needs_the_file_no_more(place: Path) -> None:
    scenario = Scenario.load(place / "aimd.toml")
    before = flows(scenario)
    (place / "aimd.bpf.o").unlink()
    assert flows(scenario.replace(seed=scenario.model.seed)) == before


def test_the_kernel_gets_the_file_with_its_parameters(place: Path) -> None:
    """0.875 times 2^10 is 896; the rest is as it was."""
    own = Plan.of(Scenario.load(place / "aimd.toml")).flows[0].tcp.own
    assert own is not None
    assert (own.name, own.kernel_name) == ("aimd.bpf", "aimd")
    expected = bytearray(OBJECT.read_bytes())
    expected[BETA : BETA + 4] = (896).to_bytes(4, "little")
    assert own.content == bytes(expected)


@pytest.mark.usefixtures("place")
def test_what_the_kernel_cannot_get() -> None:
    content = OBJECT.read_bytes()
    for params, said in [({"gamma": 1}, "it has alpha, beta"), ({"beta": -1}, "allowed: numbers from 0")]:
        with pytest.raises(InputError, match=said):
            programs.own(content, None, params)
    with pytest.raises(InputError, match="no object file"):
        programs.own(b"")


def test_it_is_called_by_its_file() -> None:
    assert (
        with_params({"object": {"name": "aimd.bpf.o", "base64": "f0VM"}, "params": {"beta": 0.7}})
        == "aimd.bpf.o (beta=0.7)"
    )
    assert with_params({"object": "two.bpf.o", "struct_ops": "one"}) == "two.bpf.o (struct_ops=one)"


@pytest.mark.slow_linux
def test_both_engines_run_the_same_file(place: Path) -> None:
    """Alone behind half a BDP, kept by 0.875: no engine leaves the link idle, and their queues are alike."""
    scenario = Scenario.load(place / "aimd.toml").replace(duration="20 s", warmup="5 s", packet_size=1514)
    alone = [dict(group, host="linux") for group in scenario.to_dict()["flows"][:1]]
    results = compare(scenario.replace(flows=alone), engines=["simulator", "linux"]).results
    (ours, theirs) = (result.to_dict()["links"][0] for result in results.values())
    assert ours["utilization"] > 0.99
    assert theirs["utilization"] > 0.99
    assert theirs["mean_queue_packets"] == pytest.approx(ours["mean_queue_packets"], rel=0.1)
