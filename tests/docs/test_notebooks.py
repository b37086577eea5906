"""Notebooks run from top to bottom, and their text agrees with their results."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT, module_of

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.py"))


def ran(path: Path) -> dict[str, Any]:
    """Names defined by a notebook's cells."""
    _, defined = module_of(path).app.run()
    return dict(defined)


def test_the_page_of_the_editor_has_its_files() -> None:
    """`marimo-base` has the page without its scripts, so that a browser shows nothing."""
    static = Path(importlib.util.find_spec("marimo").origin).parent / "_static"  # type: ignore[union-attr,arg-type]
    used = re.findall(r'(?:src|href)="\./(assets/[^"]+)"', (static / "index.html").read_text())
    assert used
    assert [name for name in used if not (static / name).is_file()] == []


@pytest.mark.filterwarnings("default")  # marimo's own
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run(path: Path) -> None:
    defined = ran(path)
    if path.stem == "buffer":
        found = list(defined["utilization"].values())
        assert found == sorted(found)
        assert found[-1] > 0.99 > 0.9 > found[0]  # a BDP of buffer fills the link, a twentieth does not
    elif path.stem == "bufferbloat":
        assert defined["round_trips"]["call"] > 0.2  # 500 packets of 1500 bytes at 20 Mbit/s take 0.3 s
    elif path.stem == "lessons":
        assert defined["lesson"].title == "Slow start"
        assert defined["result"].figures()["utilization"] > 0.99
    elif path.stem == "seeds":
        assert set(defined["means"]) == {"newreno", "adaptive-aimd"}
        assert defined["difference"][1] >= 0
    else:
        assert set(defined["comparison"].results) == set(defined["comparison"].summary()["algorithm"].to_pylist())


def test_there_are_five() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["buffer", "bufferbloat", "lessons", "seeds", "windows"]
