"""Page of the report card: a line per criterion with its plot, then all test cases."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import cast

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from fullpipe.experiments.evaluate.cell import Rule
from fullpipe.experiments.evaluate.data import CardData, ComparedData, CriterionData, KernelData
from fullpipe.experiments.evaluate.extent import seeds_used
from fullpipe.experiments.evaluate.judging import BARS
from fullpipe.experiments.evaluate.rules import BADNESS, BETTER, INCONCLUSIVE, NO_WORSE, TIMES_TCP, WORSE
from fullpipe.runs.aggregate import estimate

__all__ = ["beside", "card_page", "dots", "gauge", "in_margins", "kernel_line", "number", "template"]

CLASSES = {BETTER: "better", NO_WORSE: "same", INCONCLUSIVE: "unclear", WORSE: "worse"}
"""CSS classes of verdicts. Other verdicts have no color."""

WIDTH, ROW = 320, 20
LEFT, RIGHT = 76, 312
"""Pixels of a plot at its original size."""


def card_page(data: CardData, tries: Mapping[str, Sequence[tuple[str, str]]] | None = None) -> str:
    """Self-contained HTML page without scripts and requests.

    Args:
        data: Content of the card.
        tries: By test case, the configurations that the playground can open, and their links.
    """
    counts = {word: sum(one["verdict"] == word for one in data["criteria"]) for word in reversed(BADNESS)}
    return template("card.html.j2").render(
        card=data,
        tries=tries or {},
        counts={word: count for word, count in counts.items() if count},
        deciding={one["id"]: deciding(one) for one in data["criteria"]},
        words=BADNESS,
    )


@cache
def template(name: str) -> Template:
    """Template of this package; values are escaped."""
    environment = Environment(
        loader=PackageLoader("fullpipe.experiments.evaluate", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(dots=dots, gauge=gauge, word=lambda verdict: CLASSES.get(verdict, "quiet"), told=told)
    environment.filters.update(beside=beside, kernel_line=kernel_line, run_of=ran, seeds_used=seeds_used, others=others)
    return environment.get_template(name)


def deciding(criterion: CriterionData) -> tuple[str, ComparedData] | None:
    """Comparison that gives a criterion's verdict, and its test case: the one furthest beyond its margin."""
    judged = [
        (cell["id"], one)
        for cell in criterion["experiments"]
        for one in cell["figures"].values()
        if one["verdict"] == criterion["verdict"] and "difference" in one
    ]
    return max(judged, key=lambda each: _beyond(each[1])) if judged else None


def in_margins(compared: ComparedData) -> tuple[float, float]:
    """Difference from the baseline, and half of the width of its interval, in units of the margin. For a limit, the
    worst seed's distance from it in units of the limit.
    """
    if "limit" in compared:
        return (max(_known(compared["candidate"])) - compared["limit"]) / compared["limit"], 0.0
    if "apart" in compared:
        return compared["apart"] / compared["least"], 0.0
    return compared["difference"] / compared["margin"], compared["ci95"] / compared["margin"]


def gauge(compared: ComparedData) -> Markup:
    """Difference from the baseline with its interval. The range of "no worse" is gray, and worse is on the right. For a
    limit, the plot has the worst seed and the range of the seeds, with the limit in the middle. For means that are too
    close to count, it has their difference. The dot is hollow if another rule gives the verdict.
    """
    if "limit" in compared:
        values, limit = _known(compared["candidate"]), compared["limit"]
        mean, first, last = max(values) - limit, min(values) - limit, max(values) - limit
        low, high = -math.inf, 0.0
        span = max(limit, mean, 1e-9) * 1.08
    elif "apart" in compared:
        mean = first = last = compared["apart"]
        low, high = -compared["least"], compared["least"]
        span = 2.2 * high * 1.08
    else:
        mean, ci95, high = compared["difference"], compared["ci95"], compared["margin"]
        first, last, low = mean - ci95, mean + ci95, -high
        span = max(2.2 * high, abs(mean) + ci95, 1e-9) * 1.08

    def at(value: float) -> float:
        return round(160.0 + 148.0 * max(-1.0, min(1.0, float(value / span))), 1)

    kind = CLASSES.get(compared["verdict"], "quiet") + (" other" if _otherwise(compared) else "")
    label = f"{compared['title']}: {told(compared)}"
    scale = [
        Markup('<text class="scale {where}" x="{x}" y="30">{text}</text>').format(where=where, x=at(value), text=text)
        for value, where, text in _scale(compared, span, high)
        # A label too close to the middle is left out.
        if value != high or at(value) - 160 > 24 or high == 0
    ]
    return Markup(
        '<svg class="gauge" viewBox="0 0 320 34" role="img" aria-label="{label}">'
        '<rect class="band" x="{low}" y="3" width="{wide}" height="14"/>'
        '<line class="axis" x1="160" x2="160" y1="1" y2="19"/>'
        '<line class="whisker {kind}" x1="{first}" x2="{last}" y1="10" y2="10"/>'
        '<circle class="dot {kind}" cx="{mean}" cy="10" r="4.5"/>{scale}</svg>'
    ).format(
        label=label,
        low=at(low),
        wide=round(at(high) - at(low), 1),
        kind=kind,
        first=at(first),
        last=at(last),
        mean=at(mean),
        scale=Markup("").join(scale),
    )


def _scale(compared: ComparedData, span: float, high: float) -> list[tuple[float, str, str]]:
    """Labels below a gauge with their positions: both ends, the middle, and the end of the gray range."""
    if "limit" in compared:
        limit = compared["limit"]
        most = f"{number(limit + span)} {compared['unit']}".strip()
        return [(-limit, "", "0"), (0.0, "mid", f"limit {number(limit)}"), (span, "end", most)]
    values = (-span, 0.0, high, span)
    if "apart" in compared:
        texts, unit = [number(value) for value in values], _points(compared)
    elif _is_harm(compared):
        texts, unit = [f"{value:.2g}" for value in values], "of harm"
    else:
        texts, unit = [number(math.exp(value)) for value in values], "times"
    texts[-1] = f"{texts[-1]} {unit}".strip()
    return list(zip(values, ("", "mid", "mid", "end"), texts, strict=True))


def _is_harm(compared: ComparedData) -> bool:
    return bool(compared["rule"] == Rule.HARM)


def _points(compared: ComparedData) -> str:
    """Unit of differences."""
    return "points" if compared["unit"] == "%" else str(compared["unit"])


def _otherwise(compared: ComparedData) -> str:
    """Reason for a verdict that differs from interval and gray range; empty if it does not."""
    if compared.get("starves"):
        return "starves the other flow"
    if compared.get("among_many"):
        return "worse by itself, but inconclusive after the correction for the number of comparisons"
    if "limit" in compared and compared["verdict"] == NO_WORSE and compared["difference"] > 0:
        return "as NewReno or CUBIC also is"
    return ""


def dots(compared: ComparedData) -> Markup:
    """Values of each seed as dots, with mean and 95 % interval, for the candidate and the standards."""
    rows = [(name, _known(_values(compared, name))) for name in ("candidate", *BARS)]
    every = [value for _, values in rows for value in values]
    if not every:
        return Markup("")
    low, high = min(every), max(every)
    pad = (high - low) * 0.04 or abs(high) * 0.04 or 1.0
    low, high = low - pad, high + pad

    def at(value: float) -> float:
        return round(LEFT + (RIGHT - LEFT) * max(0.0, min(1.0, (value - low) / (high - low))), 1)

    parts = []
    for i, (name, values) in enumerate(rows):
        y = ROW * i + ROW // 2
        parts.append(Markup('<text x="0" y="{y}">{name}</text>').format(y=y + 4, name=name))
        parts += [
            Markup('<circle class="seed" cx="{x}" cy="{y}" r="2.5"/>').format(x=at(value), y=y) for value in values
        ]
        if values:
            over = estimate(values)
            ci95 = over.ci95 or 0.0
            beyond = [(LEFT, -6)] * (over.mean - ci95 < low) + [(RIGHT, 6)] * (over.mean + ci95 > high)
            parts += [
                Markup('<path class="cut" d="M{x} {y}m{back} -4l{on} 4l{back} 4"/>').format(x=x, y=y, back=-on, on=on)
                for x, on in beyond
            ]
            parts.append(
                Markup(
                    '<line class="whisker {kind}" x1="{first}" x2="{last}" y1="{y}" y2="{y}"/>'
                    '<line class="mean {kind}" x1="{mean}" x2="{mean}" y1="{top}" y2="{end}"/>'
                ).format(
                    kind=CLASSES.get(compared["verdict"], "quiet") if name == "candidate" else "bar",
                    first=at(over.mean - ci95),
                    last=at(over.mean + ci95),
                    mean=at(over.mean),
                    y=y,
                    top=y - 6,
                    end=y + 6,
                )
            )
    ends = [(LEFT, "", low + pad), (RIGHT, " end", high - pad)] if max(every) > min(every) else [(LEFT, "", every[0])]
    for i, (x, kind, value) in enumerate(ends):
        text = number(value) if i < len(ends) - 1 else f"{number(value)} {compared['unit']}".strip()
        parts.append(Markup('<text class="scale{kind}" x="{x}" y="74">{text}</text>').format(kind=kind, x=x, text=text))
    label = "; ".join(f"{name} {_mean(values)}" for name, values in rows)
    return Markup('<svg class="dots" viewBox="0 0 {wide} 78" role="img" aria-label="{label}">{body}</svg>').format(
        wide=WIDTH, label=f"{compared['setting']}, {compared['title']}: {label}", body=Markup("").join(parts)
    )


def told(compared: ComparedData) -> str:
    """Comparison in words."""
    if "difference" not in compared:
        return str(compared.get("why", ""))
    mean, ci95 = compared["difference"], compared["ci95"]
    other = f", {_otherwise(compared)}" if _otherwise(compared) else ""
    if "limit" in compared:
        most, limit = (
            number(max(_known(compared["candidate"]))),
            f"{number(compared['limit'])} {compared['unit']}".strip(),
        )
        return (
            f"at most {most}, within the limit of {limit}"
            if mean <= 0
            else f"{most}, beyond the limit of {limit}{other}"
        )
    if _is_harm(compared):
        return f"harm {mean:+.2f} ± {ci95:.2f} compared with {compared['bar']}{other}"
    ratios = "{:.3g} ({:.3g} to {:.3g})".format(*(math.exp(value) for value in (mean, mean - ci95, mean + ci95)))
    if "times_tcp" in compared:
        times = {role: _mean(_known(values)) for role, values in compared["times_tcp"].items()}
        bar = compared["bar"]
        rates = f"{times['candidate']} times the rate that TCP would have at this loss, {bar} {times[bar]}"
        if compared.get("of_rates"):
            return f"{rates}; a ratio of {ratios}, of which up to {TIMES_TCP:g} is acceptable{other}"
        return f"{ratios} times the cost of {bar}; {rates}{other}"
    if "apart" in compared:
        apart, least = number(abs(compared["apart"])), number(compared["least"])
        other = f"; the means differ by {apart} {_points(compared)}, and only differences over {least} count"
    return f"{ratios} times the cost of {compared['bar']}{other}"


def beside(compared: ComparedData, algorithm: str) -> list[tuple[str, str, str]]:
    """Rows with a metric on a real kernel: label, and mean with minimum and maximum in the simulator and on Linux."""
    there = compared.get("linux", {})
    return [
        (
            algorithm if role == "candidate" else role,
            _spread(_values(compared, role)),
            _spread(there[role]),
        )
        for role in ("candidate", *BARS)
        if role in there
    ]


def kernel_line(kernel: KernelData) -> str:
    """Summary of the runs on a real kernel."""
    if not kernel["settings"]:
        return "The Linux engine runs duel, bloat, and shallow up to 50 Mbit/s. This card has no such test case."
    failed = kernel["failed_runs"]
    lost = f" {failed} of its runs failed, and are missing: {kernel['why']}." if failed else ""
    version, seeds = kernel["kernel"].removeprefix("linux-image-"), kernel["seeds"]
    made = f"Linux {version} in a virtual machine, {seeds} seeds in {kernel['settings']} configurations"
    return f"{made}: a check of the simulator without a verdict.{lost} {kernel['note']}"


def ran(criterion: CriterionData) -> str:
    """Numbers of test cases and configurations that were run; empty if no run can answer the criterion."""
    if "cells_run" not in criterion:
        return ""
    parts = (
        (criterion["cells_run"], criterion["cells_in_all"], "test case"),
        (criterion["settings_run"], criterion["settings_in_all"], "configuration"),
    )
    return ", ".join(f"{part} of {whole} {what}{'' if whole == 1 else 's'}" for part, whole, what in parts if whole)


def others(criterion: CriterionData) -> int:
    """Number of comparisons besides `deciding` that have the criterion's verdict."""
    verdict = criterion["verdict"]
    found = [
        one
        for cell in criterion["experiments"]
        for one in cell["figures"].values()
        if cell["verdict"] == one["verdict"] == verdict
    ]
    return max(0, len(found) - 1) if verdict in (INCONCLUSIVE, WORSE) else 0


def number(value: float) -> str:
    """Three significant digits, or all digits of a large number."""
    return f"{value:.3g}" if abs(value) < 999.5 else f"{value:,.0f}"


def _values(compared: ComparedData, label: str) -> Sequence[float | None]:
    return cast("Sequence[float | None]", compared.get(label, ()))


def _known(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _mean(values: Sequence[float]) -> str:
    return number(math.fsum(values) / len(values)) if values else "unknown"


def _spread(seeds: Sequence[float | None]) -> str:
    """Mean, and minimum and maximum in brackets if there are several values."""
    values = _known(seeds)
    low, high = (number(end) for end in (min(values), max(values))) if values else ("", "")
    return _mean(values) if low == high else f"{_mean(values)} ({low} to {high})"


def _beyond(compared: ComparedData) -> float:
    if compared.get("starves"):
        return math.inf
    if "apart" in compared:
        return float(compared["apart"] / compared["least"] - 1)
    margin = compared.get("margin") or 1.0
    return float((compared.get("difference", -math.inf) - margin) / margin)
