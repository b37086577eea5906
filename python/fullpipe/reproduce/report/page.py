"""HTML of the report."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from fullpipe._util.text import printable
from fullpipe.plots.looks import properties
from fullpipe.reproduce.report.view import ENGINES, KINDS, papers

if TYPE_CHECKING:
    from fullpipe.reproduce.record import Outcome

__all__ = ["environment", "page"]

VARIANTS = {
    "quick": "Quick variants: runs are shortened where an item says so.",
    "linux": "Linux variants: what a virtual machine can carry; in what they differ, each item says.",
}

WORDS = {"pass": "agree", "known": "known discrepancy", "fail": "discrepancy"}
"""Names of verdicts in the filter."""


def page(outcomes: Sequence[Outcome], directory: Path, *, command: str, playground: bool = False) -> str:
    """HTML of the whole page; see `write_report`. With ``playground``, links open the playground in its directory."""
    shown = papers(outcomes, directory)
    items = [item for paper in shown for item in paper["items"]]
    checks = [check for outcome in outcomes for check in outcome.checks]
    return (
        environment()
        .get_template("page.html")
        .render(
            papers=shown,
            items=items,
            counts={kind: sum(item["kind"] == kind for item in items) for kind in KINDS.values()},
            words=WORDS,
            checks=len(checks),
            passed=sum(check.passed for check in checks),
            engines=" and ".join(dict.fromkeys(ENGINES[outcome.engine] for outcome in outcomes)),
            variants=[VARIANTS[name] for name in dict.fromkeys(o.variant for o in outcomes if o.variant)],
            made=_made(outcomes),
            command=command,
            playground=playground,
            style=_own("vendor/uPlot.min.css") + _colours() + _own("style.css"),
            script=_own("vendor/uPlot.iife.min.js") + _own("report.js"),
        )
    )


def environment() -> Environment:
    """Templates. Names from outside are escaped for HTML and printable."""
    made = Environment(
        loader=PackageLoader("fullpipe.reproduce.report"),
        autoescape=True,
        finalize=lambda value: printable(value) if type(value) is str else value,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    return made


def _made(outcomes: Sequence[Outcome]) -> list[str]:
    """Versions, machines, and dates of the items, each once."""
    versions = dict.fromkeys(f"fullpipe {o.version}{f', {o.build}' if o.build else ''}" for o in outcomes)
    machines = dict.fromkeys(outcome.machine for outcome in outcomes if outcome.machine)
    dates = sorted({outcome.made for outcome in outcomes if outcome.made})
    span = dates[:1] if dates[:1] == dates[-1:] else [f"{dates[0]} to {dates[-1]}"]
    return [*versions, *machines, *span]


def _colours() -> Markup:
    """Colors of algorithms and links, for both color schemes."""
    dark = f"@media (prefers-color-scheme: dark) {{ :root {{ {properties('dark')} }} }}"
    return Markup(f":root {{ {properties('light')} }}\n{dark}\n")


def _own(name: str) -> Markup:
    """File of this package. Scripts cannot end their element."""
    text = files("fullpipe.reproduce.report").joinpath(*name.split("/")).read_text(encoding="utf-8")
    return Markup(text.replace("</", "<\\/") if name.endswith(".js") else text)
