"""The page's HTML."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Sequence
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from fullpipe import _core
from fullpipe.reproduce.check import Check, Shape, Value
from fullpipe.reproduce.item import citation, notes
from fullpipe.reproduce.report.parameters import parameters
from fullpipe.text import html as escape

if TYPE_CHECKING:
    from fullpipe.reproduce.record import Outcome

__all__ = ["page"]

VERDICTS = {"pass": ("pass", "pass"), "documented miss": ("known", "documented miss"), "fail": ("fail", "miss")}
"""Class and words of each verdict."""

MEANINGS = {
    "pass": "every check agrees with the paper within its tolerance",
    "documented miss": "a check misses, and the item names the cause",
    "fail": "a check misses for no known cause",
}

ENGINES = {"simulator": "in the simulator", "linux": "on Linux in a virtual machine"}
"""What ran the scenarios, in words."""

VARIANTS = {
    "quick": "Quick variants: runs are shortened where an item says so.",
    "linux": "Linux variants: what a virtual machine can carry; in what they differ, each item says.",
}

MOST_FIGURES = 6
"""Figures of a shape that are written out."""

MOST_VALUES = 8
"""Values listed of a parameter that the scenarios vary."""


def page(outcomes: Sequence[Outcome], directory: Path, *, command: str) -> str:
    """The whole page; see `write_report`."""
    style = files("fullpipe.reproduce.report").joinpath("style.css").read_text(encoding="utf-8")
    papers = [(paper, list(group)) for paper, group in groupby(outcomes, key=_paper)]
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>fullpipe: the papers, reproduced</title>
<style>
{style}</style>
</head>
<body>
<header>
<h1>The papers, reproduced</h1>
{_summary(outcomes, command)}
</header>
<main>
<nav id="items" aria-label="items">
{"".join(_contents(paper, group) for paper, group in papers)}
</nav>
{"".join(_section(paper, group, directory) for paper, group in papers)}
</main>
</body>
</html>
"""


def _summary(outcomes: Sequence[Outcome], command: str) -> str:
    counts = {status: sum(outcome.status == status for outcome in outcomes) for status in VERDICTS}
    checks = [check for outcome in outcomes for check in outcome.checks]
    legend = "".join(
        f"<li>{_badge(status)} <b>{count}</b> {'item' if count == 1 else 'items'}: {MEANINGS[status]}</li>"
        for status, count in counts.items()
        if count
    )
    variants = dict.fromkeys(outcome.variant for outcome in outcomes if outcome.variant)
    shortened = "".join(f"<p class='note'>{VARIANTS[variant]}</p>" for variant in variants)
    engines = " and ".join(dict.fromkeys(ENGINES[outcome.engine] for outcome in outcomes))
    return f"""<p>Every measured figure here comes from runs {engines} that were made for this page; a sentence that
names ns-2 tells of runs of ns-2, made elsewhere. Of {len(checks)} checks in {len(outcomes)} items
{sum(check.passed for check in checks)} pass.</p>
<ul class="legend">{legend}</ul>
{shortened}
<p class="made">fullpipe {escape(_core.VERSION)}, made by <code>{escape(command)}</code></p>"""


def _contents(paper: str, outcomes: Sequence[Outcome]) -> str:
    rows = "".join(
        f"<tr><td class='item'><a href='#{_anchor(o)}'>{escape(o.item.id.partition('/')[2])}</a></td>"
        f"<td class='shows'>{escape(o.item.title)}</td><td class='verdict'>{_badge(o.status)}</td>"
        f"<td class='dots'>{_dots(o.checks)}</td>"
        f"<td class='number passed'>{sum(c.passed for c in o.checks)} of {len(o.checks)}</td>"
        f"<td class='number wall'>{o.wall_s:.1f} s</td></tr>\n"
        for o in outcomes
    )
    return f"""<details open><summary><a href="#{escape(paper)}">{escape(paper)}</a>
<span class="citation">{escape(citation(paper))}</span></summary>
<table class="contents">
<thead><tr><th class="item">item</th><th>shows</th><th class="verdict">verdict</th><th class="dots">checks</th>
<th class="number passed">passed</th><th class="number wall">wall time</th></tr></thead>
<tbody>
{rows}</tbody></table></details>
"""


def _dots(checks: Iterable[Check]) -> str:
    """A dot per check, in its verdict's colour."""
    return "".join(
        f"<i class='{VERDICTS[check.status][0]}' title='{escape(check.name)}: {check.status}'></i>" for check in checks
    )


def _section(paper: str, outcomes: Sequence[Outcome], directory: Path) -> str:
    return f"""<section id="{escape(paper)}">
<h2>{escape(paper)}</h2>
<p class="citation">{escape(citation(paper))}</p>
{"".join(_article(outcome, directory) for outcome in outcomes)}</section>
"""


def _article(outcome: Outcome, directory: Path) -> str:
    reading = f"<p>{escape(outcome.reading)}</p>" if outcome.reading else ""
    variant = outcome.variant.capitalize()
    shortened = f"<p class='note'>{variant}: {escape(outcome.shortened)}.</p>" if outcome.shortened else ""
    deviations = _deviations(notes(outcome.item.id)["deviations"])
    pictures = "".join(_picture(outcome, name, directory) for name in outcome.item.pictures)
    return f"""<article id="{_anchor(outcome)}" data-item="{escape(outcome.item.id)}">
<h3>{escape(outcome.item.id)} {_badge(outcome.status)} <a class="up" href="#items">all items</a></h3>
<p class="title">{escape(outcome.item.title)}</p>
{shortened}{reading}{pictures}{_checks(outcome.checks)}{_causes(outcome.checks)}{deviations}
{_figures(outcome)}{_parameters(outcome)}{_origin(outcome)}</article>
"""


def _picture(outcome: Outcome, name: str, directory: Path) -> str:
    place = f"{outcome.item.id}/{name}"
    data = base64.b64encode(Path(directory, f"{place}.png").read_bytes()).decode("ascii")
    label = (
        f"{outcome.item.id}: {outcome.item.title}" if len(outcome.item.pictures) == 1 else f"{outcome.item.id}: {name}"
    )
    return f"""<figure><div class="wide"><img alt="{escape(label)}" src="data:image/png;base64,{data}"></div>
<figcaption><a href="{quote(place)}.svg">SVG</a> <a href="{quote(place)}.png">PNG</a></figcaption></figure>
"""


def _checks(checks: Iterable[Check]) -> str:
    return f"""<div class="wide"><table class="checks">
<thead><tr><th>quantity</th><th class="number">published, or asked</th><th class="number">measured</th>
<th class="number">difference</th><th class="number">tolerance</th><th>verdict</th>
<th>origin, and why this tolerance</th></tr></thead>
<tbody>
{"".join(_check(check) for check in checks)}</tbody></table></div>
"""


def _check(check: Check) -> str:
    if isinstance(check, Shape):
        asked, measured, difference, tolerance = check.required, _figures_of(check), "", ""
    else:
        asked, measured, tolerance = _number(check.published), _number(check.measured), _tolerance(check)
        difference = f"{_difference(check)}{_gauge(check)}"
    cells = (
        ("quantity", escape(check.name), ""),
        ("published" if not isinstance(check, Shape) else "asked", escape(asked), "number"),
        ("measured", escape(measured), "number"),
        ("difference", difference, "number"),
        ("tolerance", escape(tolerance), "number"),
        ("verdict", _badge(check.status), ""),
        ("origin", f"{escape(check.origin)}: {escape(check.reason)}", "reason"),
    )
    return "<tr>" + "".join(f"<td data-label='{k}' class='{c}'>{v}</td>" for k, v, c in cells) + "</tr>\n"


def _figures_of(shape: Shape) -> str:
    """What a shape judges, written out where it is little: bounds by their extremes."""
    values = list(shape.figures.values())
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
    """To two digits beyond the tolerance's first; the ratio where a factor is allowed."""
    if not math.isfinite(value.difference):
        return "-"
    if value.within_factor is not None:
        return f"{_number(value.ratio)} times"
    digits = max(0, 2 - math.floor(math.log10(value.allowed))) if value.allowed > 0 else 3
    return f"{value.difference:+.{digits}f}"


def _gauge(value: Value) -> str:
    """Where the measured value lies: the bar's band is the tolerance about the published one, the mark the measured."""
    if math.isnan(value.place):
        return ""
    place = 50 + 25 * max(-1.9, min(1.9, value.place))
    return (
        f"<span class='gauge {VERDICTS[value.status][0]}' aria-hidden='true'><i style='left:{place:.0f}%'></i></span>"
    )


def _causes(checks: Iterable[Check]) -> str:
    causes = dict.fromkeys(check.miss for check in checks if check.status == "documented miss")
    return _list("Causes of the misses", causes)


def _deviations(deviations: Iterable[str]) -> str:
    return _list("Deviations from the paper", deviations)


def _figures(outcome: Outcome) -> str:
    lines = "".join(
        f"<tr><td>{escape(name)}</td><td class='number'>{_number(value)}</td></tr>\n"
        for name, value in outcome.figures.items()
    )
    return f"""<details><summary>All {len(outcome.figures)} measured figures</summary>
<div class="wide"><table><tbody>
{lines}</tbody></table></div></details>
"""


def _parameters(outcome: Outcome) -> str:
    if not outcome.scenarios:
        return ""
    common, varied = parameters(outcome.scenarios)
    rows = [(path, value) for path, value in common.items()] + [(p, _several(values)) for p, values in varied.items()]
    lines = "".join(f"<tr><td><code>{escape(path)}</code></td><td>{escape(value)}</td></tr>\n" for path, value in rows)
    links = " ".join(
        f'<a href="{quote(f"{outcome.item.id}/{name}/scenario.toml")}">{escape(name)}</a>' for name in outcome.scenarios
    )
    count = len(outcome.scenarios)
    return f"""<details><summary>Parameters and {count} scenario file{"s" if count > 1 else ""}</summary>
<div class="wide"><table class="parameters"><tbody>
{lines}</tbody></table></div>
<p class="files">{links}</p></details>
"""


def _origin(outcome: Outcome) -> str:
    seeds = sorted({scenario.seed for scenario in outcome.scenarios.values()})
    seeded = f", seed{'s' if len(seeds) > 1 else ''} {_several([str(seed) for seed in seeds])}" if seeds else ""
    kept = ", kept from an earlier run" if outcome.kept else ""
    made = f"{seeded}, {ENGINES[outcome.engine]}, {outcome.wall_s:.1f} s{kept}"
    return f"""<p class="made">fullpipe {escape(_core.VERSION)}{made}:
<code>{escape(outcome.command)}</code></p>
"""


def _list(title: str, entries: Iterable[str]) -> str:
    items = "".join(f"<li>{escape(entry)}</li>" for entry in entries)
    return f"<h4>{title}</h4><ul>{items}</ul>\n" if items else ""


def _badge(status: str) -> str:
    kind, words = VERDICTS[status]
    return f"<span class='badge {kind}'>{words}</span>"


def _several(values: Sequence[str]) -> str:
    shown = " | ".join(values[:MOST_VALUES])
    return shown if len(values) <= MOST_VALUES else f"{shown} | ... ({len(values)} in all)"


def _number(value: float) -> str:
    return f"{value:.4g}" if abs(value) < 1e4 else f"{value:,.0f}"


def _anchor(outcome: Outcome) -> str:
    return outcome.item.id.replace("/", "-")


def _paper(outcome: Outcome) -> str:
    return outcome.item.id.partition("/")[0]
