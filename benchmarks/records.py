"""Measurement records in ``reports/``, and the build of fullpipe that made each.

A record is a JSON file of figures, which `docs/tables.py` writes into pages. Pages may show an older build, so
``reports/builds.json`` has, for each record and each part of it, the version, the commit and the day of the run.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import fullpipe
from fullpipe.reproduce.provenance import build

__all__ = ["REPORTS", "note", "sources"]

REPORTS = Path(__file__).parent.parent / "reports"
BUILDS = "builds.json"

WHOLE = ""
"""Name of the part that stands for all parts of a record without an entry."""

TARGETS = {
    "validation.json/agreement": "records-agreement",
    "validation.json/reproduction": "records-papers",
    "cards/*": "records-cards",
    "linux-*.json/*": "records-linux",
    "papers/*": "records-papers",
    "quic.json/*": "records-quic",
    "speed.json/*": "records-speed",
    "trials.json/*": "records-trials",
}
"""Target of the Makefile that measures each record, or a part of one, again."""

Build = dict[str, str]


def note(record: str, parts: Iterable[str] = (WHOLE,), reports: Path = REPORTS) -> None:
    """Notes this build as the one that made parts of a record.

    Args:
        record: Path of the record below ``reports``, for example ``papers/modern.json``.
        parts: Names of the parts, for example ``modern/c4``; without, the whole record.
        reports: Directory of the records.
    """
    known = _known(reports)
    made = known.setdefault(record, {})
    if WHOLE in (names := list(parts)):
        made.clear()
    made.update(dict.fromkeys(names, _today()))
    file = reports / BUILDS
    text = json.dumps({name: dict(sorted(known[name].items())) for name in sorted(known)}, indent=1)
    file.with_suffix(".new").write_text(f"{text}\n", encoding="utf-8")
    file.with_suffix(".new").replace(file)


def sources(used: Iterable[tuple[str, str]], reports: Path = REPORTS) -> Iterator[str]:
    """Sentences that name the build of each record, one for each record and build.

    Args:
        used: Pairs of a record and the part of it that is shown; with `WHOLE`, all parts that have an entry.
        reports: Directory of the records.
    """
    known = _known(reports)
    shown: dict[str, dict[str, list[str]]] = {}
    for record, part in sorted(set(used)):
        made = known[record]
        for each in sorted(made) if part == WHOLE else [part]:
            sentence = _sentence(made.get(each) or made[WHOLE])
            shown.setdefault(record, {}).setdefault(sentence, []).append(each)
    for record, builds in shown.items():
        for sentence, parts in builds.items():
            named = f" ({', '.join(f'`{part}`' for part in parts if part != WHOLE)})" if len(builds) > 1 else ""
            commands = dict.fromkeys(_command(f"{record}/{part}") for part in parts)
            yield f"`reports/{record}`{named}: {sentence}; {' and '.join(commands)}"


def _sentence(made: Build) -> str:
    model = f", model {made['model']}" if "model" in made else ""
    return f"fullpipe {made['version']}{model}, {made['build']}, {made['day']}"


def _command(part: str) -> str:
    return f"`make {next(target for pattern, target in TARGETS.items() if fnmatch(part, pattern))}`"


def _known(reports: Path) -> dict[str, dict[str, Build]]:
    file = reports / BUILDS
    found: dict[str, dict[str, Build]] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return found


def _today() -> Build:
    made: dict[str, Any] = {"version": fullpipe.__version__, "build": build(), "day": f"{datetime.now(UTC):%Y-%m-%d}"}
    model = getattr(fullpipe._core, "model_version", None)
    return {**made, "model": str(model() if callable(model) else model)} if model is not None else made


if __name__ == "__main__":
    note(sys.argv[1], sys.argv[2:] or (WHOLE,))
