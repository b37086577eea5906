"""Tutorials on custom algorithms: their code is the code of the examples, and it runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT

PAGES = ROOT / "docs/tutorials"


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", (PAGES / page).read_text(), re.DOTALL | re.MULTILINE)


def test_the_examples_are_the_ones_shown() -> None:
    example = ROOT / "examples/own-algorithm"
    assert blocks("algorithm-in-rust.md", "toml") == [(example / "Cargo.toml").read_text()]
    assert blocks("algorithm-in-rust.md", "rust") == [(example / "src/main.rs").read_text()]
    assert blocks("algorithm-in-python.md", "python")[0] == (ROOT / "examples/aimd.py").read_text()


def test_the_python_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The blocks run in order, as for a reader; each asserts the claims of its text."""
    monkeypatch.chdir(tmp_path)
    space: dict[str, Any] = {"__name__": "tutorial"}
    shown = blocks("algorithm-in-python.md", "python")
    for number, code in enumerate(shown, 1):
        if "compiled=True" in code:
            pytest.importorskip("numba", reason="no Numba: what is compiled is not tested")
        file = tmp_path / f"block{number}.py"
        file.write_text(code)
        exec(compile(code, str(file), "exec"), space)
    assert len(shown) == 5
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "0.7"
    rates = [rate for _, rate in eval(lines[0])]
    assert 18 < sum(rates) <= 20
