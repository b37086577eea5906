"""Writes the program's outputs that README.md and docs/ show, from runs made now: ``make docs-tables``, or
``docs/tables.py PAGE.md`` for one page.

Above each stands what it is the output of, a line of shell, in a comment that no reader sees::

    <!-- output of: fullpipe compare scenarios/under-buffered.toml --algorithms reno,vegas -->

What takes more than some seconds is an ``output (long) of``: the tests make the others anew and compare.

What the tests on Linux have measured (``make linux-tables``) stands in ``docs/measured``, and is shown between::

    <!-- table of: linux-queues -->
    <!-- end of table -->
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

__all__ = ["Shown", "measured", "output", "pages", "rewrite", "shown"]

ROOT = Path(__file__).parent.parent
MARK = re.compile(r"(<!-- output (\(long\) )?of: (.+?) -->\n```\n)(.*?)(^```$)", re.DOTALL | re.MULTILINE)

TABLE = re.compile(r"(<!-- table of: (\S+) -->\n)(.*?)(^<!-- end of table -->$)", re.DOTALL | re.MULTILINE)
HEADS = (
    "",
    *(f"{what}: {side}" for what in ("utilization", "mean queue", "signals") for side in ("simulator", "Linux")),
)
FORMS = (".4f", ".2f", "d")


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


def measured(name: str) -> str:
    """The table of ``docs/measured/NAME.json``: of each figure the range simulated and what Linux has."""
    rows = json.loads((ROOT / "docs" / "measured" / f"{name}.json").read_text(encoding="utf-8"))
    lines = [HEADS, ("---",) * len(HEADS)]
    for case, row in rows.items():
        pairs = zip(row["low"], row["high"], row["linux"], FORMS, strict=True)
        cells = (cell for low, high, there, form in pairs for cell in (_range(low, high, form), f"{there:{form}}"))
        lines.append((case, *cells))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _range(low: float, high: float, form: str) -> str:
    return f"{low:{form}}" if low == high else f"{low:{form}} to {high:{form}}"


def rewrite(page: Path, make: Callable[[str], str] = output) -> bool:
    """Makes a page's outputs anew; whether one differs from what was there."""
    before = page.read_text(encoding="utf-8")
    after = MARK.sub(lambda match: f"{match[1]}{make(match[3])}{match[5]}", before)
    after = TABLE.sub(lambda match: f"{match[1]}{measured(match[2])}{match[4]}", after)
    page.write_text(after, encoding="utf-8")
    return after != before


if __name__ == "__main__":
    wanted = sys.argv[1:]
    for each in [page for page in pages() if page.name in wanted or not wanted]:
        for one in shown(each):
            print(f"{each.relative_to(ROOT)}: {one.command}", flush=True)
        if rewrite(each):
            print(f"{each.relative_to(ROOT)} has changed", flush=True)
