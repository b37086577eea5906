"""The card as a page: a line per criterion with the picture that shows why, then every cell with its dots."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from fullpipe.study.evaluate.judging import BARS
from fullpipe.study.evaluate.rules import BADNESS, BETTER, NO_WORSE, UNCLEAR, WORSE
from fullpipe.study.statistics import estimate

__all__ = ["card_page", "dots", "gauge", "number", "template"]

CLASSES = {BETTER: "better", NO_WORSE: "same", UNCLEAR: "unclear", WORSE: "worse"}
"""What a word is coloured by; other words are quiet."""

WIDTH, ROW = 320, 20
LEFT, RIGHT = 76, 312
"""Pixels of a picture, at its own size."""


def card_page(data: Mapping[str, Any], tries: Mapping[str, Sequence[tuple[str, str]]] | None = None) -> str:
    """One self-contained page of HTML: no scripts, no requests.

    Args:
        data: The card.
        tries: Of each cell the settings that the bench beside the page opens, and the links that do it.
    """
    counts = {word: sum(one["verdict"] == word for one in data["criteria"]) for word in reversed(BADNESS)}
    return template("card.html.j2").render(
        card=data,
        tries=tries or {},
        counts={word: count for word, count in counts.items() if count},
        deciding={one["id"]: deciding(one) for one in data["criteria"]},
    )


@cache
def template(name: str) -> Template:
    """A template of this package; what is put into it is escaped."""
    environment = Environment(
        loader=PackageLoader("fullpipe.study.evaluate", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(dots=dots, gauge=gauge, word=lambda verdict: CLASSES.get(verdict, "quiet"), told=told)
    environment.filters["mean"] = lambda values: _mean(_known(values))
    return environment.get_template(name)


def deciding(criterion: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The figure that its word comes from: of the worst ones that which is furthest beyond its margin."""
    judged = [
        one for cell in criterion["cells"] for one in cell["figures"].values() if one["verdict"] == criterion["verdict"]
    ]
    known = [one for one in judged if "difference" in one] or judged
    return max(known, key=_beyond) if known else None


def gauge(figure: Mapping[str, Any]) -> Markup:
    """How much worse than the bar, with its interval: grey is what is no worse, right is worse."""
    mean, ci95, margin = figure["difference"], figure["ci95"], figure["margin"]
    span = max(2.2 * margin, abs(mean) + ci95, 1e-9) * 1.08

    def at(value: float) -> float:
        return round(160.0 + 148.0 * max(-1.0, min(1.0, float(value / span))), 1)

    kind = CLASSES.get(figure["verdict"], "quiet")
    label = f"{figure['title']}: {told(figure)}"
    return Markup(
        '<svg class="gauge" viewBox="0 0 320 20" role="img" aria-label="{label}">'
        '<rect class="band" x="{low}" y="3" width="{wide}" height="14"/>'
        '<line class="axis" x1="160" x2="160" y1="1" y2="19"/>'
        '<line class="whisker {kind}" x1="{first}" x2="{last}" y1="10" y2="10"/>'
        '<circle class="dot {kind}" cx="{mean}" cy="10" r="4.5"/></svg>'
    ).format(
        label=label,
        low=at(-margin),
        wide=round(at(margin) - at(-margin), 1),
        kind=kind,
        first=at(mean - ci95),
        last=at(mean + ci95),
        mean=at(mean),
    )


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
    parts.append(
        Markup(
            '<text class="scale" x="{left}" y="74">{low}</text><text class="scale end" x="{right}" y="74">{high}</text>'
        ).format(left=LEFT, right=RIGHT, low=number(low + pad), high=f"{number(high - pad)} {figure['unit']}".strip())
    )
    label = "; ".join(f"{name} {_mean(values)}" for name, values in rows)
    return Markup('<svg class="dots" viewBox="0 0 {wide} 78" role="img" aria-label="{label}">{body}</svg>').format(
        wide=WIDTH, label=f"{figure['setting']}, {figure['title']}: {label}", body=Markup("").join(parts)
    )


def told(figure: Mapping[str, Any]) -> str:
    """The comparison in words."""
    if "difference" not in figure:
        return str(figure.get("why", ""))
    mean, ci95 = figure["difference"], figure["ci95"]
    if not figure["bar"]:
        return "within the limit" if mean <= 0 else f"{number(mean)} beyond the limit"
    if " of " in figure["metric"]:
        starves = "; starves it" if figure.get("starves") else ""
        return f"{mean:+.2f} ± {ci95:.2f} of harm beside {figure['bar']}'s{starves}"
    ratios = [math.exp(value) for value in (mean, mean - ci95, mean + ci95)]
    slight = figure["verdict"] == NO_WORSE and abs(mean) - ci95 > figure["margin"]
    text = "{:.3g} times {}'s cost ({:.3g} to {:.3g})".format(ratios[0], figure["bar"], *ratios[1:])
    return f"{text}; no difference that counts" if slight else text


def number(value: float) -> str:
    """Three digits."""
    return f"{value:.3g}" if abs(value) < 1e4 else f"{value:,.0f}"


def _known(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _mean(values: Sequence[float]) -> str:
    return number(math.fsum(values) / len(values)) if values else "unknown"


def _beyond(figure: Mapping[str, Any]) -> float:
    if figure.get("starves"):
        return math.inf
    margin = figure.get("margin") or 1.0
    return float((figure.get("difference", -math.inf) - margin) / margin)
