"""Values of the records in two commits: ``python -m benchmarks.changed_records OLD > reports/changed-records.md``.

Prints a table for each record, with each value that changed by more than 1 %, and each verdict of a report card that
changed. OLD is a commit; the other side is the working tree. Records may have been in other directories at OLD.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import TypeAlias

ROOT = Path(__file__).parent.parent
REPORTS = ROOT / "reports"
FOLDERS = ("cards", "ns2", "papers")
RENAMED = {"unclear": "inconclusive"}
LEAST_CHANGE = 0.01
"""Relative change of a value from which on it is listed."""

Json: TypeAlias = "dict[str, Json] | list[Json] | str | float | bool | None"


def main() -> int:
    (old,) = sys.argv[1:]
    print(f"# Values of the records that changed since commit {old}\n")
    print("Values that changed by more than 1 %, and verdicts of report cards, old and new.")
    print("`python -m benchmarks.changed_records` wrote this page.")
    earlier = _files_at(old)
    for name in sorted(path.relative_to(REPORTS).as_posix() for path in REPORTS.rglob("*.json")):
        if name == "builds.json" or name not in earlier:
            continue
        before = json.loads(_show(old, earlier[name]))
        after = json.loads((REPORTS / name).read_text(encoding="utf-8"))
        values = _verdicts if name.startswith("cards/") else _numbers
        _print_table(name, dict(values(before)), dict(values(after)))
    return 0


def _print_table(name: str, before: dict[str, str | float], after: dict[str, str | float]) -> None:
    changed = [key for key in before if key in after and _differs(before[key], after[key])]
    if not changed:
        return
    print(f"\n## `{name}`\n\n{len(changed)} of {len(before.keys() & after.keys())} values changed.\n")
    print("| value | before | now |\n|---|---|---|")
    for key in changed:
        print(f"| {key.replace('|', '/')} | {_shown(before[key])} | {_shown(after[key])} |")


def _differs(before: str | float, after: str | float) -> bool:
    if isinstance(before, str) or isinstance(after, str):
        return before != after
    return abs(before - after) > LEAST_CHANGE * max(abs(before), abs(after))


def _shown(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"


def _numbers(record: Json, path: str = "") -> Iterator[tuple[str, float]]:
    """Numbers of a record by their path; a list of numbers, one for each run, counts as its mean."""
    if isinstance(record, bool):
        return
    if isinstance(record, int | float):
        yield path, record
    elif isinstance(record, list) and record and all(isinstance(value, int | float) for value in record):
        yield path, fmean(value for value in record if isinstance(value, int | float))
    elif isinstance(record, dict | list):
        for key, part in record.items() if isinstance(record, dict) else enumerate(record):
            yield from _numbers(part, f"{path}, {key}" if path else str(key))


def _verdicts(card: dict[str, Json]) -> Iterator[tuple[str, str]]:
    criteria = card["criteria"]
    assert isinstance(criteria, list)
    for criterion in criteria:
        assert isinstance(criterion, dict)
        yield f"{criterion['id']} {criterion['title']}", RENAMED.get(verdict := str(criterion["verdict"]), verdict)


def _files_at(commit: str) -> dict[str, str]:
    """JSON files of a commit, by their path below today's folder of records."""
    listed = _git("ls-tree", "-r", "--name-only", commit, "docs", "reports").splitlines()
    found = {}
    for path in (line for line in listed if line.endswith(".json")):
        parts = path.split("/")
        found["/".join(parts[-2:]) if parts[-2] in FOLDERS else parts[-1]] = path
    return found


def _show(commit: str, path: str) -> str:
    return _git("show", f"{commit}:{path}")


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    sys.exit(main())
