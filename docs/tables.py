"""Writes the program's outputs that README.md and docs/ show, from runs made now: ``make docs-tables``.

Above each stands what it is the output of, a line of shell, in a comment that no reader sees::

    <!-- output of: fullpipe compare scenarios/under-buffered.toml --algorithms reno,vegas -->

What takes more than some seconds is an ``output (long) of``: the tests make the others anew and compare.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

__all__ = ["Shown", "output", "pages", "rewrite", "shown"]

ROOT = Path(__file__).parent.parent
MARK = re.compile(r"(<!-- output (\(long\) )?of: (.+?) -->\n```\n)(.*?)(^```$)", re.DOTALL | re.MULTILINE)


class Shown:
    """An output that a page shows: the ``command``, whether it is ``long``, and the ``text``."""

    def __init__(self, match: re.Match[str]) -> None:
        self.long = match[2] is not None
        self.command = match[3]
        self.text = match[4]


def pages() -> list[Path]:
    """The pages that may show outputs."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def shown(page: Path) -> Iterator[Shown]:
    """The outputs that a page shows."""
    return map(Shown, MARK.finditer(page.read_text(encoding="utf-8")))


def output(command: str) -> str:
    """What a command prints, in an empty directory beside the scenarios; without blanks at the ends of lines."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "scenarios").symlink_to(ROOT / "scenarios")
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            cwd=folder,
            env={**os.environ, "PATH": path},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    return "\n".join(line.rstrip() for line in done.stdout.strip("\n").splitlines()).strip("\n") + "\n"


def rewrite(page: Path, make: Callable[[str], str] = output) -> bool:
    """Makes a page's outputs anew; whether one differs from what was there."""
    before = page.read_text(encoding="utf-8")
    after = MARK.sub(lambda match: f"{match[1]}{make(match[3])}{match[5]}", before)
    page.write_text(after, encoding="utf-8")
    return after != before


if __name__ == "__main__":
    for each in pages():
        for one in shown(each):
            print(f"{each.relative_to(ROOT)}: {one.command}", flush=True)
        if rewrite(each):
            print(f"{each.relative_to(ROOT)} has changed", flush=True)
