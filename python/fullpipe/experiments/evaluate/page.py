"""The card as a page: a line per criterion with the picture that shows why, then every cell with its dots."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from fullpipe.experiments.evaluate.cell import Rule
from fullpipe.experiments.evaluate.extent import run_of, seeds_used
from fullpipe.experiments.evaluate.judging import BARS
from fullpipe.experiments.evaluate.rules import BADNESS, BETTER, INCONCLUSIVE, NO_WORSE, TIMES_TCP, WORSE
from fullpipe.runs.aggregate import estimate

__all__ = ["beside", "card_page", "dots", "gauge", "kernel_line", "number", "template"]

CLASSES = {BETTER: "better", NO_WORSE: "same", INCONCLUSIVE: "unclear", WORSE: "worse"}
"""What a word is coloured by; other words are quiet."""

WIDTH, ROW = 320, 20
LEFT, RIGHT = 76, 312
"""Pixels of a picture, at its own size."""


def card_page(data: Mapping[str, Any], tries: Mapping[str, Sequence[tuple[str, str]]] | None = None) -> str:
    """One self-contained page of HTML: no scripts, no requests.

    Args:
        data: The card.
        tries: Of each cell the settings that the playground beside the page opens, and the links that do it.
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
    """A template of this package; what is put into it is escaped."""
    environment = Environment(
        loader=PackageLoader("fullpipe.experiments.evaluate", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(dots=dots, gauge=gauge, word=lambda verdict: CLASSES.get(verdict, "quiet"), told=told)
    environment.filters.update(beside=beside, kernel_line=kernel_line, run_of=ran, seeds_used=seeds_used)
    return environment.get_template(name)


def deciding(criterion: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]] | None:
    """The figure that its word comes from, and its cell: of the worst ones that which is furthest beyond its margin."""
    judged = [
        (cell["id"], one)
        for cell in criterion["experiments"]
        for one in cell["figures"].values()
        if one["verdict"] == criterion["verdict"] and "difference" in one
    ]
    return max(judged, key=lambda each: _beyond(each[1])) if judged else None


def gauge(figure: Mapping[str, Any]) -> Markup:
    """How much worse than the bar, with its interval: grey is what is no worse, right is worse. Of a limit: the worst
    seed and how far the others are from it; the limit is in the middle. Of means that are too little apart to count:
    how far they are apart. Below stands what that is in. The dot is hollow where something else gives the word.
    """
    if "limit" in figure:
        values, limit = _known(figure["candidate"]), figure["limit"]
        mean, first, last = max(values) - limit, min(values) - limit, max(values) - limit
        low, high = -math.inf, 0.0
        span = max(limit, mean, 1e-9) * 1.08
    elif "apart" in figure:
        mean = first = last = figure["apart"]
        low, high = -figure["least"], figure["least"]
        span = 2.2 * high * 1.08
    else:
        mean, ci95, high = figure["difference"], figure["ci95"], figure["margin"]
        first, last, low = mean - ci95, mean + ci95, -high
        span = max(2.2 * high, abs(mean) + ci95, 1e-9) * 1.08

    def at(value: float) -> float:
        return round(160.0 + 148.0 * max(-1.0, min(1.0, float(value / span))), 1)

    kind = CLASSES.get(figure["verdict"], "quiet") + (" other" if _otherwise(figure) else "")
    label = f"{figure['title']}: {told(figure)}"
    scale = [
        Markup('<text class="scale {where}" x="{x}" y="30">{text}</text>').format(where=where, x=at(value), text=text)
        for value, where, text in _scale(figure, span, high)
        # What is no worse may end too near the middle to be named.
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


def _scale(figure: Mapping[str, Any], span: float, high: float) -> list[tuple[float, str, str]]:
    """What stands below a gauge, and where: the values at both its ends, in the middle and where grey ends."""
    if "limit" in figure:
        limit = figure["limit"]
        most = f"{number(limit + span)} {figure['unit']}".strip()
        return [(-limit, "", "0"), (0.0, "mid", f"limit {number(limit)}"), (span, "end", most)]
    values = (-span, 0.0, high, span)
    if "apart" in figure:
        texts, unit = [number(value) for value in values], _points(figure)
    elif _is_harm(figure):
        texts, unit = [f"{value:.2g}" for value in values], "of harm"
    else:
        texts, unit = [number(math.exp(value)) for value in values], "times"
    texts[-1] = f"{texts[-1]} {unit}".strip()
    return list(zip(values, ("", "mid", "mid", "end"), texts, strict=True))


def _is_harm(figure: Mapping[str, Any]) -> bool:
    """Whether rule H judges a figure; the others have ratios."""
    return bool(figure["rule"] == Rule.HARM)


def _points(figure: Mapping[str, Any]) -> str:
    """What differences of a figure are in."""
    return "points" if figure["unit"] == "%" else str(figure["unit"])


def _otherwise(figure: Mapping[str, Any]) -> str:
    """What gives the word where the interval and what is grey do not; empty where they do."""
    if figure.get("starves"):
        return "starves it"
    if figure.get("among_many"):
        return "worse by itself, but inconclusive after the correction for the number of comparisons"
    if "limit" in figure and figure["verdict"] == NO_WORSE and figure["difference"] > 0:
        return "as a standard is"
    return ""


def dots(figure: Mapping[str, Any]) -> Markup:
    """Every seed's value as a dot, with mean and 95 % interval: the candidate's and the standards'."""
    rows = [(name, _known(figure[name])) for name in ("candidate", *BARS)]
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
                    kind=CLASSES.get(figure["verdict"], "quiet") if name == "candidate" else "bar",
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
        text = number(value) if i < len(ends) - 1 else f"{number(value)} {figure['unit']}".strip()
        parts.append(Markup('<text class="scale{kind}" x="{x}" y="74">{text}</text>').format(kind=kind, x=x, text=text))
    label = "; ".join(f"{name} {_mean(values)}" for name, values in rows)
    return Markup('<svg class="dots" viewBox="0 0 {wide} 78" role="img" aria-label="{label}">{body}</svg>').format(
        wide=WIDTH, label=f"{figure['setting']}, {figure['title']}: {label}", body=Markup("").join(parts)
    )


def told(figure: Mapping[str, Any]) -> str:
    """The comparison in words."""
    if "difference" not in figure:
        return str(figure.get("why", ""))
    mean, ci95 = figure["difference"], figure["ci95"]
    other = f", {_otherwise(figure)}" if _otherwise(figure) else ""
    if "limit" in figure:
        most, limit = number(max(_known(figure["candidate"]))), f"{number(figure['limit'])} {figure['unit']}".strip()
        return (
            f"at most {most}, within the limit of {limit}"
            if mean <= 0
            else f"{most}, beyond the limit of {limit}{other}"
        )
    if _is_harm(figure):
        return f"{mean:+.2f} ± {ci95:.2f} of harm beside {figure['bar']}'s{other}"
    ratios = "{:.3g} ({:.3g} to {:.3g})".format(*(math.exp(value) for value in (mean, mean - ci95, mean + ci95)))
    if "times_tcp" in figure:
        times = {role: _mean(_known(values)) for role, values in figure["times_tcp"].items()}
        bar = figure["bar"]
        rates = f"{times['candidate']} times the rate that TCP would have at this loss, {bar} {times[bar]}"
        if figure.get("of_rates"):
            return f"{rates}; of that {ratios} times, up to {TIMES_TCP:g} are acceptable{other}"
        return f"{ratios} times {bar}'s cost; {rates}{other}"
    if "apart" in figure:
        apart, least = number(abs(figure["apart"])), number(figure["least"])
        other = f"; the means are {apart} {_points(figure)} apart, which counts only beyond {least}"
    return f"{ratios} times {figure['bar']}'s cost{other}"


def beside(figure: Mapping[str, Any], algorithm: str) -> list[tuple[str, str, str]]:
    """A row for each whose figure a real kernel has too: who, and the means over the seeds, with the least and the
    greatest, in the simulator and on Linux.
    """
    there = figure.get("linux", {})
    return [
        (algorithm if role == "candidate" else role, _spread(_known(figure[role])), _spread(_known(there[role])))
        for role in ("candidate", *BARS)
        if role in there
    ]


def kernel_line(kernel: Mapping[str, Any]) -> str:
    """What a real kernel has run, and what failed."""
    if not kernel["settings"]:
        return "No setting of these cells is run on a real kernel: it runs duel, bloat and shallow up to 50 Mbit/s."
    failed = kernel["failed_runs"]
    lost = f" {failed} of its runs failed, and are missing: {kernel['why']}." if failed else ""
    version, seeds = kernel["kernel"].removeprefix("linux-image-"), kernel["seeds"]
    made = f"Linux {version} in a virtual machine, {seeds} seeds in {kernel['settings']} settings"
    return f"{made}: a check of the simulator, which gives no word.{lost} {kernel['note']}"


def ran(criterion: Mapping[str, Any]) -> str:
    """How much of a criterion's cells and settings was run."""
    parts = zip(run_of(criterion), ("cell", "setting"), strict=True)
    return ", ".join(f"{part} {what}{'' if part.endswith(' of 1') else 's'}" for part, what in parts if part)


def number(value: float) -> str:
    """Three digits, or all before the point."""
    return f"{value:.3g}" if abs(value) < 999.5 else f"{value:,.0f}"


def _known(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _mean(values: Sequence[float]) -> str:
    return number(math.fsum(values) / len(values)) if values else "unknown"


def _spread(values: Sequence[float]) -> str:
    """Their mean, and in brackets the least and the greatest, where there are several."""
    low, high = (number(end) for end in (min(values), max(values))) if values else ("", "")
    return _mean(values) if low == high else f"{_mean(values)} ({low} to {high})"


def _beyond(figure: Mapping[str, Any]) -> float:
    if figure.get("starves"):
        return math.inf
    if "apart" in figure:
        return float(figure["apart"] / figure["least"] - 1)
    margin = figure.get("margin") or 1.0
    return float((figure.get("difference", -math.inf) - margin) / margin)
