"""Modules that commands load: those that take long are loaded only where they are needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {
    "cloudpickle",
    "distributed",
    "jinja2",
    "matplotlib",
    "numba",
    "numpy",
    "pandas",
    "polars",
    "pyarrow",
}
"""Third-party packages that take more than 20 ms to import, or that only some commands need."""

SHORT = """\
duration = "0.1 s"
links = [{ name = "b", rate = "10 Mbit/s", delay = "19 ms", buffer = "0.5 BDP" }]
flows = [{ algorithm = "newreno" }]
"""


def loaded(folder: Path, *words: str) -> set[str]:
    """Modules that a command has loaded at its end."""
    code = (
        "import sys\n"
        "from fullpipe._cli import main\n"
        f"sys.argv = ['fullpipe', *{words!r}]\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "print('LOADED', *sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("LOADED ")]
    return set(line.split()[1:])


@pytest.mark.parametrize(
    "words",
    [("--help",), ("--version",), ("run", "--help"), ("sweep", "--help"), ("algorithms",), ("run", "short.toml")],
    ids=" ".join,
)
def test_commands_without_tables_or_plots_load_no_heavy_package(tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "short.toml").write_text(SHORT)
    assert loaded(tmp_path, *words) & HEAVY == set()


def test_help_loads_no_tables(tmp_path: Path) -> None:
    found = loaded(tmp_path, "--help")
    assert found & {"rich", "importlib.metadata", "subprocess"} == set()


UNUSED = {
    "bz2",
    "difflib",
    "email.message",
    "fullpipe._util.fingerprint",
    "fullpipe.custom.compiled",
    "fullpipe.custom.identity",
    "fullpipe.runs.results",
    "fullpipe.runs.runner",
    "importlib.metadata",
    "importlib.resources",
    "pickle",
    "rich",
    "shutil",
    "sqlite3",
    "subprocess",
    "tempfile",
}
"""Modules that a run with tables as text has no use for; they took a fifth of the time of a short run."""


def test_a_run_loads_only_the_modules_that_it_uses(tmp_path: Path) -> None:
    (tmp_path / "short.toml").write_text(SHORT)
    assert loaded(tmp_path, "run", "short.toml") & UNUSED == set()


def test_a_picture_loads_matplotlib(tmp_path: Path) -> None:
    (tmp_path / "short.toml").write_text(SHORT)
    assert "matplotlib" in loaded(tmp_path, "run", "short.toml", "--set", "series_interval=10 ms", "--plot", "a.svg")
