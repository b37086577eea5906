"""How the package is laid out: no file imports another in a circle, and the lower layers know nothing above them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import fullpipe

PACKAGE = Path(fullpipe.__file__).parent

LAYERS = {
    "bench": {"bench", "charts", "errors", "files", "scenario"},
    "charts": {"charts", "display", "errors", "files", "runs", "study", "text"},
    "reproduce": {
        "bench",
        "charts",
        "errors",
        "files",
        "fingerprint",
        "folder",
        "inputs",
        "linux",
        "reproduce",
        "runs",
        "scenario",
        "text",
    },
    "runs": {
        "charts",
        "display",
        "errors",
        "files",
        "fingerprint",
        "inputs",
        "linux",
        "own",
        "runs",
        "scenario",
        "text",
    },
    "scenario": {"errors", "inputs", "own", "scenario", "text"},
    "study": {
        "bench",
        "charts",
        "display",
        "errors",
        "files",
        "fingerprint",
        "inputs",
        "linux",
        "models",
        "own",
        "registry",
        "runs",
        "scenario",
        "study",
        "text",
    },
}
"""Of some parts, those they may import; pictures take columns and numbers."""

NUMBERS_ALONE = {"fullpipe.runs.tables", "fullpipe.runs.aggregate"}
"""What pictures know of the parts above them."""


def modules() -> dict[str, Path]:
    """Every module by its name."""
    found = {}
    for file in PACKAGE.rglob("*.py"):
        parts = ("fullpipe", *file.relative_to(PACKAGE).with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def imported(name: str, known: dict[str, Path]) -> Iterator[str]:
    """The modules that one imports, anywhere in it; names that a package hands on are the package's."""
    for node in ast.walk(ast.parse(known[name].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                if inner in known or node.module in known:
                    yield inner if inner in known else node.module


@pytest.fixture(scope="module")
def graph() -> dict[str, set[str]]:
    known = modules()
    return {name: set(imported(name, known)) - {name, "fullpipe"} for name in known if name != "fullpipe"}


def test_the_graph_is_the_packages(graph: dict[str, set[str]]) -> None:
    assert "fullpipe.text" in graph["fullpipe.errors"]
    assert "fullpipe.charts.series" in graph["fullpipe.runs.result"], "an import inside a function"
    assert "fullpipe.scenario" in graph["fullpipe.runs.result"], "an import for types alone"


def test_no_file_imports_another_in_a_circle(graph: dict[str, set[str]]) -> None:
    left = dict(graph)
    while free := [name for name, wants in left.items() if not wants & left.keys()]:
        for name in free:
            del left[name]
    assert sorted(left) == []


@pytest.mark.parametrize("part", LAYERS)
def test_parts_know_those_below(part: str, graph: dict[str, set[str]]) -> None:
    wanted = {
        other
        for name, others in graph.items()
        if name.split(".")[1] == part
        for other in others
        if part != "charts" or other not in NUMBERS_ALONE
    }
    allowed = LAYERS[part] - ({"runs", "study"} if part == "charts" else set())
    assert {other.split(".")[1] for other in wanted} <= allowed
