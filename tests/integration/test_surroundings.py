"""Current folder: commands run its code and read its settings only if the user names the files."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import PROGRAM, SMALL
from fullpipe.plots.draw import STYLE

OWN = """
import fullpipe
@fullpipe.algorithm("half-aimd")
class HalfAimd(fullpipe.Classic):
    def increase(self, w, flow, ack):
        return 0.5 / w
    def decrease(self, w, flow, signal):
        return w / 2
"""

MODULES = ("queue", "numpy", "pyarrow", "matplotlib", "json", "cloudpickle", "typing", "click", "own", "sitecustomize")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder whose modules and settings leave a trace where they are used."""
    place = tmp_path / "folder"
    place.mkdir()
    for name in MODULES:
        (place / f"{name}.py").write_text(f"open({str(tmp_path / 'trace')!r}, 'a').write({name!r})")
    os.mkfifo(place / "matplotlibrc")
    (place / "small.toml").write_text(SMALL)
    (place / "sweep.toml").write_text(f'{SMALL}\n[sweep]\nflows.algorithm = ["half-aimd", "reno"]\n')
    (tmp_path / "mine.py").write_text(OWN)
    return place


@pytest.mark.parametrize("start", [[str(PROGRAM)], [sys.executable, "-m", "fullpipe"]], ids=["program", "module"])
@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "small.toml", "--json", "--plot", "p.svg"],
        # Two runs at a time: interpreted algorithms run in child processes.
        ["compare", "small.toml", "--algorithms", "../mine.py,reno", "--json", "--plot", "p.svg"],
        ["sweep", "sweep.toml", "--load", "../mine.py", "--json", "--plot", "p.svg"],
        ["size", "--algorithms", "reno", "--rate", "9 Mbit/s", "--rtt", "9 ms", "--flows", "1", "--target", "0.5"],
        ["evaluate", "../mine.py", "--only", "iot", "--seeds", "2", "--out", "card"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_no_module_and_no_setting_of_the_current_folder_is_used(
    folder: Path, start: list[str], arguments: list[str]
) -> None:
    done = subprocess.run(
        [*start, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        stdin=subprocess.DEVNULL,
        env=os.environ | {"XDG_CACHE_HOME": str(folder.parent / "cache")},
    )
    assert not (folder.parent / "trace").exists(), (folder.parent / "trace").read_text()
    assert "Traceback" not in done.stderr
    assert done.returncode == 0, done.stderr


def test_worker_takes_no_module_of_the_folder_of_an_interactive_session(folder: Path) -> None:
    """In ``python -c`` the current folder is first on the path; the caller's modules are imported before."""
    (folder / "numpy.py").unlink()
    (folder / "typing.py").unlink()
    code = (
        "import sys; sys.path.remove(''); import cloudpickle, json, queue, numpy, pyarrow, click, fullpipe\n"
        "import fullpipe.runs.engines, fullpipe.custom.algorithm; sys.path.insert(0, '')\n"
        f"exec({OWN!r})\n"
        "print(len(fullpipe.compare('small.toml', ['half-aimd', 'reno'], workers=2).results))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.stdout == "2\n", done.stderr
    assert not (folder.parent / "trace").exists(), (folder.parent / "trace").read_text()


def test_settings_of_matplotlib_change_no_picture(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    (tmp_path / "rc").write_text("text.usetex: True\nlines.linewidth: 9\naxes.facecolor: red\n")
    pictures = []
    for name, settings in (("a.svg", os.devnull), ("b.svg", str(tmp_path / "rc"))):
        command = [PROGRAM, "run", "small.toml", "--plot", name, "--json"]
        subprocess.run(
            command,
            cwd=tmp_path,
            env=os.environ | {"MATPLOTLIBRC": settings},
            check=True,
            capture_output=True,
            timeout=300,
        )
        pictures.append((tmp_path / name).read_bytes())
    assert pictures[0] == pictures[1]
    assert STYLE["text.usetex"] is False


LIBRARY = """
#include <stdlib.h>
#include <stdbool.h>
LOADING
void on_start(void *state, const void *start) {}
int on_ack(double *state, const void *flow, const void *ack) { abort(); }
int on_congestion(double *state, const void *flow, long signal) { return 1; }
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
@pytest.mark.parametrize("when", ["running", "loading"])
def test_library_that_crashes_is_named_in_one_line(tmp_path: Path, when: str) -> None:
    loading = "__attribute__((constructor)) void begin(void) { abort(); }" if when == "loading" else ""
    (tmp_path / "own.c").write_text(LIBRARY.replace("LOADING", loading))
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "own.so", "own.c"], cwd=tmp_path, check=True, timeout=100)
    (tmp_path / "own.py").write_text(
        "import fullpipe, math\n"
        '@fullpipe.algorithm("crashing", library="own.so")\n'
        "class Crashing:\n    cwnd: float = 2.0\n    ssthresh: float = math.inf\n"
    )
    (tmp_path / "small.toml").write_text(SMALL)
    command = [PROGRAM, "run", "small.toml", "--load", "own.py", "--set", "flows.0.algorithm=crashing"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    (line,) = done.stderr.splitlines()
    if when == "loading":
        assert (done.returncode, "own.so: loading it ends the process (by SIGABRT)" in line) == (2, True), line
    else:
        assert done.returncode == 1
        assert line == "fullpipe: algorithm crashing: the process of its run ended by SIGABRT"


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_other_runs_of_a_sweep_go_on_after_a_crash(tmp_path: Path) -> None:
    (tmp_path / "own.c").write_text(LIBRARY.replace("LOADING", ""))
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "own.so", "own.c"], cwd=tmp_path, check=True, timeout=100)
    code = """
import math, fullpipe
@fullpipe.algorithm("crashing", library="own.so")
class Crashing:
    cwnd: float = 2.0
    ssthresh: float = math.inf
rows = fullpipe.sweep("small.toml", {"flows.algorithm": ["crashing", "reno"]}).runs.to_pylist()
print([row["error"] is None for row in rows], "SIGABRT" in rows[0]["error"])
"""
    (tmp_path / "small.toml").write_text(SMALL)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.stdout == "[False, True] True\n", done.stderr
