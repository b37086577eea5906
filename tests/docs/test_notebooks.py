"""Notebooks run from top to bottom, and their text agrees with their results."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
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


def test_a_notebook_opens_in_the_editor(tmp_path: Path) -> None:
    """The page, and each file that it loads, come from the server."""
    notebook = Path(shutil.copy(ROOT / "notebooks/buffer.py", tmp_path))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    options = (
        "--headless",
        "--no-token",
        "--skip-update-check",
        "--host",
        "127.0.0.1",
        "--port",
        address.split(":")[2],
    )
    command = [sys.executable, "-m", "marimo", "edit", notebook.name, *options]
    environment = {**os.environ, "HOME": str(tmp_path)}
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT
    ) as server:
        try:
            page = fetched(f"{address}/", server).decode()
            files = re.findall(r'(?:src|href)="\./(assets/[^"]+)"', page)
            assert [name for name in files if name.endswith(".js")]
            assert [name for name in files if not fetched(f"{address}/{name}", server)] == []
            assert "buffer.py" in page
        finally:
            server.terminate()


def fetched(url: str, server: subprocess.Popen[bytes]) -> bytes:
    """Answer of a server, when it has begun."""
    while True:
        assert server.poll() is None, "the server has ended"
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                return bytes(answer.read())
        except urllib.error.HTTPError:
            raise
        except urllib.error.URLError:
            time.sleep(0.2)


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
