"""What the README and the package's docstring show works as shown."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import click
import pytest

import fullpipe
from conftest import ROOT
from fullpipe import Scenario
from fullpipe.cli import fullpipe_command

README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def test_the_docstrings_example() -> None:
    failed, tried = doctest.testmod(fullpipe)
    assert (failed, tried > 0) == (0, True)


def test_the_readmes_scenario_is_the_shipped_one() -> None:
    (text,) = blocks("toml")
    scenario = Scenario.loads(text).replace(**{"flows.access_rate": "1 Gbit/s"})
    assert scenario == Scenario.load(ROOT / "scenarios/under-buffered.toml")


def test_the_readmes_python_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    monkeypatch.chdir(tmp_path)
    for code in blocks("python"):
        exec(compile(code, "README.md", "exec"), {})
    assert (tmp_path / "run.png").is_file()
    assert (tmp_path / "out/run/result.json").is_file()


def test_the_readmes_commands_parse() -> None:
    commands = [line for block in blocks("sh") for line in block.splitlines() if line.startswith("fullpipe ")]
    assert commands
    for command in commands:
        name, *arguments = shlex.split(command)[1:]
        found = fullpipe_command.get_command(click.Context(fullpipe_command), name)
        assert found is not None
        found.make_context(name, arguments)


def test_the_readme_names_every_algorithm() -> None:
    named = set(re.findall(r"`([a-z-]+)`", README[README.index("## Algorithms") : README.index("## Measured")]))
    assert set(fullpipe.algorithms()) <= named
