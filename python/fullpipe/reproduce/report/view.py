"""Content of the report's page as plain values, of which the templates make HTML."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import quote

from fullpipe._util.inputs import read_json
from fullpipe._util.plain import Tree
from fullpipe.playground import NAME, packed, text_for
from fullpipe.reproduce.check import Check, Shape, Value
from fullpipe.reproduce.item import Claim, citation, claim, notes
from fullpipe.reproduce.record import MEASURED
from fullpipe.reproduce.report.parameters import parameters

if TYPE_CHECKING:
    from fullpipe.reproduce.record import Outcome
    from fullpipe.reproduce.rows import Row

__all__ = ["KINDS", "papers"]

View: TypeAlias = Tree
"""Values for the templates."""

Intervals = Mapping[str, Mapping[str, "float | None"]]
"""Confidence intervals of means by name (`Rows.intervals`)."""

NO_MEANS: Intervals = {}
"""No intervals."""

KINDS = {"pass": "pass", "documented miss": "known", "fail": "fail"}
"""CSS classes of verdicts."""

VERDICTS = {"pass": "agrees", "documented miss": "known discrepancy", "fail": "discrepancy"}
"""Texts of verdicts."""

ENGINES = {"simulator": "in the simulator", "linux": "on Linux in a virtual machine"}
"""Texts of engines."""

MOST_FIGURES = 6
"""Largest number of a shape's values that are written out."""

MOST_VALUES = 8
"""Largest number of values shown for a varying parameter."""

WIDE = 30.0
"""Largest ratio of values on a linear axis."""


def papers(outcomes: Sequence[Outcome], directory: Path) -> list[View]:
    """Papers in order, each with its claim and items."""
    groups = [(name, list(group)) for name, group in groupby(outcomes, key=lambda o: o.item.id.partition("/")[0])]
    return [
        {
            "name": name,
            "citation": citation(name),
            "claim": _claim(claim(name), group),
            "items": [_item(outcome, directory) for outcome in group],
        }
        for name, group in groups
    ]


def _claim(said: Claim, outcomes: Sequence[Outcome]) -> View:
    """Claim of a paper, its outcome in words, and its plot if the item is present."""
    by_name = {outcome.item.id.partition("/")[2]: outcome for outcome in outcomes}
    shown = by_name.get(said.item)
    judged_by = said.judged_by or tuple(by_name)
    judged = [check for item in judged_by if item in by_name for check in by_name[item].checks]
    missed = sum(check.status == "fail" for check in judged)
    absent = [item for item in judged_by if item not in by_name]
    figures = {f"{item}: {name}": value for item, o in by_name.items() for name, value in o.values.items()}
    if absent:
        kind, words = "none", f"Not judged here, without {', '.join(absent)}."
    elif missed:
        kind, words = "fail", f"Does not hold in this run: {missed} of the {len(judged)} checks behind it miss."
    else:
        agree = sum(check.passed for check in judged)
        kind = KINDS["pass" if agree == len(judged) else "documented miss"]
        words = said.verdict(figures) or f"{agree} of {len(judged)} checks agree."
    picture = f"{shown.item.id}/{said.picture}" if shown and said.picture in shown.item.pictures else None
    return {
        "of": said.of,
        "says": said.says,
        "kind": kind,
        "words": words,
        "picture": picture,
        "panels": said.panels,
        "shown": shown.item.id if shown else None,
        "shortened": any(outcome.shortened for item, outcome in by_name.items() if item in judged_by),
    }


def _item(outcome: Outcome, directory: Path) -> View:
    intervals = outcome.rows.intervals
    checks = [_check(check, intervals) for check in outcome.checks]
    missed = [check for check in outcome.checks if not check.passed]
    return {
        "id": outcome.item.id,
        "name": outcome.item.id.partition("/")[2],
        "title": outcome.item.title,
        "kind": KINDS[outcome.status],
        "verdict": VERDICTS[outcome.status],
        "passed": len(outcome.checks) - len(missed),
        "reading": outcome.reading,
        "shortened": f"{outcome.variant.capitalize()}: {outcome.shortened}." if outcome.shortened else "",
        "pictures": [_picture(outcome, name, directory) for name in outcome.item.pictures],
        "beside": _beside(outcome),
        "stories": _stories(missed, intervals),
        "checks": checks,
        "deviations": notes(outcome.item.id)["deviations"],
        "figures": [(row, _with_interval(row.value, intervals.get(row.name))) for row in outcome.rows],
        "measured": quote(f"{outcome.item.id}/{MEASURED}"),
        "parameters": _parameters(outcome),
        "tries": _tries(outcome),
        "scenarios": len(outcome.scenarios),
        "files": packed(json.dumps([quote(name) for name in outcome.scenarios])) if outcome.scenarios else "",
        "made": _made(outcome),
        "command": outcome.command,
    }


def _tries(outcome: Outcome) -> View | None:
    """Scenarios that the playground can run: name, link, and command of the first one, and all of them as ``[name,
    text, command]``. They are packed together, because they are similar. None without such scenarios.
    """
    found = {}
    for name, scenario in outcome.scenarios.items():
        text = text_for(scenario, f"{outcome.item.id}, {name}: {outcome.item.title}.")
        if text is not None:
            command = shlex.join(["fullpipe", "bench", f"{outcome.item.id}/{name}/scenario.toml"])
            found[name] = [name, text, command]
    if not found:
        return None
    first, text, command = next(iter(found.values()))
    return {
        "first": first,
        "link": f"{NAME}#s={packed(text)}",
        "command": command,
        "where": "in the simulator, " if outcome.engine == "linux" else "",
        "packed": packed(json.dumps(list(found.values()))) if len(found) > 1 else "",
    }


def _picture(outcome: Outcome, name: str, directory: Path) -> View:
    place = f"{outcome.item.id}/{name}"
    drawn = read_json(Path(directory, f"{place}.json"))
    title = drawn["title"] or outcome.item.title
    return {"id": place, "title": title, "drawn": drawn, "svg": f"{quote(place)}.svg", "png": f"{quote(place)}.png"}


def _beside(outcome: Outcome) -> list[View]:
    """Published and measured values: a panel for each quantity with several published values."""
    quantities: dict[tuple[str, str], list[tuple[Row, Value]]] = {}
    for check in outcome.checks:
        if isinstance(check, Value) and math.isfinite(check.measured):
            row = outcome.rows.called(check.name)
            quantities.setdefault((row.quantity, row.unit), []).append((row, check))
    return [_panel(", ".join(filter(None, named)), pairs) for named, pairs in quantities.items() if len(pairs) > 1]


def _panel(title: str, pairs: Sequence[tuple[Row, Value]]) -> View:
    numbers = [number for _, value in pairs for number in (value.published, value.measured)]
    return {
        "title": title,
        "log": min(numbers) > 0 and max(numbers) > WIDE * min(numbers),
        "rows": [
            {
                "label": ", ".join(filter(None, (row.algorithm, row.setting))),
                "published": value.published,
                "measured": value.measured,
                "low": _range(value)[0],
                "high": _range(value)[1],
                "kind": KINDS[value.status],
            }
            for row, value in pairs
        ],
    }


def _range(value: Value) -> tuple[float, float]:
    if value.within_factor is None:
        return value.published - value.allowed, value.published + value.allowed
    low, high = sorted((value.published / value.within_factor, value.published * value.within_factor))
    return low, high


def _stories(missed: Iterable[Check], intervals: Intervals = NO_MEANS) -> list[View]:
    """Texts of the causes of discrepancies, with the published and measured values of their checks."""
    causes: dict[str, list[Check]] = {}
    for check in missed:
        causes.setdefault(check.miss if check.status == "documented miss" else "", []).append(check)
    return [
        {"kind": "known" if cause else "fail", "cause": cause, "checks": [_check(check, intervals) for check in checks]}
        for cause, checks in causes.items()
    ]


def _check(check: Check, intervals: Intervals = NO_MEANS) -> View:
    """Row of the table of checks; means over several runs have their intervals."""
    if isinstance(check, Shape):
        found: View = {
            "asked": check.required,
            "measured": _figures_of(check, intervals),
            "difference": "",
            "tolerance": "",
            "place": None,
        }
    else:
        found = {
            "published": _number(check.published),
            "measured": _with_interval(check.measured, intervals.get(check.name)),
            "difference": _difference(check),
            "tolerance": _tolerance(check),
            "place": _place(check),
        }
    common = {"quantity": check.name, "kind": KINDS[check.status], "verdict": VERDICTS[check.status]}
    return {**common, **found, "origin": check.origin, "reason": check.reason}


def _figures_of(shape: Shape, intervals: Intervals = NO_MEANS) -> str:
    """Values that a shape checks: all of them if there are few; for bounds, the extremes."""
    if shape.shape == "bounds" and len(shape.values) == 1:
        ((name, value),) = shape.values.items()
        return _with_interval(value, intervals.get(name))
    values = list(shape.values.values())
    partners = list((shape.than or {}).values())
    if shape.shape == "bounds":
        low, high = _number(min(values)), _number(max(values))
        return low if low == high else f"{low} to {high}"
    if shape.shape == "below" and len(values) == len(partners) <= MOST_FIGURES // 2:
        return "; ".join(f"{_number(low)} < {_number(high)}" for low, high in zip(values, partners, strict=True))
    if shape.shape != "below" and len(values) <= MOST_FIGURES:
        return ", ".join(_number(value) for value in values)
    return f"least step {_number(shape.measured)}"


def _tolerance(value: Value) -> str:
    return _number(value.allowed) if value.within_factor is None else f"factor {_number(value.allowed)}"


def _difference(value: Value) -> str:
    """Difference with two digits beyond the tolerance's first digit; the ratio if a factor is allowed."""
    if not math.isfinite(value.difference):
        return "-"
    if value.within_factor is not None:
        return f"{_number(value.ratio)} times"
    digits = max(0, 2 - math.floor(math.log10(value.allowed))) if value.allowed > 0 else 3
    return f"{value.difference:+.{digits}f}"


def _place(value: Value) -> int | None:
    """Position of the measured value on a gauge, in percent: 50 is the published value, 25 to 75 passes."""
    return None if math.isnan(value.place) else round(50 + 25 * max(-1.9, min(1.9, value.place)))


def _parameters(outcome: Outcome) -> list[tuple[str, str]]:
    if not outcome.scenarios:
        return []
    common, varied = parameters(outcome.scenarios)
    return [*common.items(), *((path, _several(values)) for path, values in varied.items())]


def _made(outcome: Outcome) -> list[tuple[str, str]]:
    """Provenance of an item's values."""
    seeds = sorted({scenario.seed for scenario in outcome.scenarios.values()})
    made: Mapping[str, str] = {
        "engine": ENGINES[outcome.engine],
        "seeds": _several([str(seed) for seed in seeds]),
        "version": f"fullpipe {outcome.version}, {outcome.build}" if outcome.build else f"fullpipe {outcome.version}",
        "machine": outcome.machine,
        "date": f"{outcome.made}{', kept since' if outcome.kept else ''}" if outcome.made else "",
        "took": f"{outcome.wall_s:.1f} s",
    }
    return [(name, value) for name, value in made.items() if value]


def _several(values: Sequence[str]) -> str:
    shown = " | ".join(values[:MOST_VALUES])
    return shown if len(values) <= MOST_VALUES else f"{shown} | ... ({len(values)} in all)"


def _with_interval(value: float, interval: Mapping[str, float | None] | None) -> str:
    """Value; for a mean over several runs, also half of the width of its 95 % confidence interval."""
    ci95 = None if interval is None else interval["ci95"]
    if interval is None or ci95 is None:
        return _number(value)
    return f"{_number(value)} ± {ci95:.2g} ({interval['runs']} runs)"


def _number(value: float) -> str:
    return f"{value:.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
