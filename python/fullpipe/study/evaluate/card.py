"""The card: a word per criterion, and behind it each cell's figures."""

from __future__ import annotations

import json
import math
import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import fullpipe
from fullpipe.display import Shown, page
from fullpipe.files import readable, staged
from fullpipe.scenario import Scenario
from fullpipe.study.evaluate.cells.queues import ADDRESSED_BELOW_S
from fullpipe.study.evaluate.criteria import CRITERIA, Criterion
from fullpipe.study.evaluate.judging import BARS, Compared, JudgedCell, Runs, corrected
from fullpipe.study.evaluate.preset import Tree
from fullpipe.study.evaluate.rules import BADNESS, NO_WORSE, NOT_APPLICABLE, NOT_RUN, WORSE, worst
from fullpipe.study.evaluate.statement import Statement
from fullpipe.text import file_name

__all__ = ["BREAKER", "RISKS", "Card"]

BREAKER = 0.1
"""Loss above which a circuit breaker may end a flow (RFC 8084)."""

RISKS = (
    "There are no limits of receivers or processors.",
    "Real-time traffic does not adapt; RFC 8867's does.",
    "The bar for harm has CUBIC's own record on NewReno at large products of bandwidth and delay: read both victims.",
    "No word is a threshold of RFC 9743, which gives none (section 5).",
)

DIGITS = 6
"""Of the figures on the card."""


class Card:
    """An algorithm's card.

    Attributes:
        data: All that it says, as plain values ready for JSON.
    """

    def __init__(
        self,
        data: dict[str, Any],
        rows: Sequence[Mapping[str, Any]] = (),
        trees: Mapping[tuple[str, str, str], Tree] | None = None,
    ) -> None:
        self.data = data
        self._rows = rows
        self._trees = trees or {}

    @classmethod
    def of(
        cls,
        label: str,
        profile: str,
        seeds: int,
        flow_keys: dict[str, Any],
        cells: Sequence[JudgedCell],
        runs: Runs,
        trees: Mapping[tuple[str, str, str], Tree],
        statement: Statement,
        only: Sequence[str] = (),
    ) -> Card:
        """Puts the judged cells together."""
        rows = runs.rows()
        asked = " ".join(["fullpipe", "evaluate", shlex.quote(label), "--profile", profile])
        criteria = [
            _criterion(criterion, cells, rows, statement, asked)
            for criterion in CRITERIA
            if not only or any(criterion.id in cell.cell.criteria for cell in cells)
        ]
        data = {
            "algorithm": label,
            **({"flow_keys": flow_keys} if flow_keys else {}),
            "profile": profile,
            "fullpipe": fullpipe.__version__,
            "engine": "simulator",
            "seeds": seeds,
            "criteria": criteria,
            "risks": list(RISKS),
        }
        return cls(data, rows, trees)

    @property
    def worse(self) -> list[str]:
        """The criteria at which the algorithm is worse."""
        return [criterion["id"] for criterion in self.data["criteria"] if criterion["verdict"] == WORSE]

    def verdict(self, section: str) -> str:
        """A criterion's word."""
        return next(str(one["verdict"]) for one in self.data["criteria"] if one["id"] == section)

    def to_dict(self) -> dict[str, Any]:
        """All that the card says."""
        return self.data

    def to_json(self, *, indent: int | None = 1) -> str:
        """The same as JSON text; the same seeds, the same bytes."""
        return json.dumps(self.data, indent=indent, allow_nan=False)

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Writes ``card.json``, ``card.html``, ``runs.parquet`` and ``scenarios/CELL/SETTING/ROLE.toml``.

        Raises:
            InputError: The directory can't be made or written.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        from fullpipe.bench import put_beside
        from fullpipe.study.evaluate.page import card_page

        with staged(directory) as stage:
            (stage / "card.json").write_text(self.to_json() + "\n", encoding="utf-8")
            tries = self._tries() if put_beside(stage) else {}
            (stage / "card.html").write_text(card_page(self.data, tries), encoding="utf-8")
            sections = {cell["id"]: one["id"] for one in reversed(self.data["criteria"]) for cell in one["cells"]}
            rows = [{"criterion": sections.get(row["cell"], ""), **row} for row in self._rows]
            columns = dict.fromkeys(key for row in rows for key in row)
            pq.write_table(
                pa.table({name: [row.get(name) for row in rows] for name in columns}), stage / "runs.parquet"
            )
            for place, tree in self._trees.items():
                folder = Path(stage, "scenarios", *map(file_name, place[:-1]))
                folder.mkdir(parents=True, exist_ok=True)
                toml = Scenario.from_dict(tree).to_toml()
                (folder / f"{file_name(place[-1])}.toml").write_text(toml, encoding="utf-8")

    def _tries(self) -> dict[str, list[tuple[str, str]]]:
        """Of each cell the settings that the bench beside the card can run, with the link that opens it with the
        algorithm's first run there.
        """
        from fullpipe.bench import link

        found: dict[str, dict[str, str]] = {}
        for (cell, setting, role), tree in self._trees.items():
            settings = found.setdefault(cell, {})
            if setting in settings or not role.endswith("candidate"):
                continue
            about = f"{cell}, {setting}: {role.replace('candidate', self.data['algorithm'])}"
            address = link(Scenario.from_dict(tree), about)
            if address is not None:
                settings[setting] = address
        return {cell: list(settings.items()) for cell, settings in found.items()}

    @classmethod
    def load(cls, place: str | os.PathLike[str]) -> Card:
        """The card that `save` wrote, from its directory.

        Raises:
            InputError: There is none, or it can't be read.
        """
        with readable(place) as directory:
            return cls(json.loads((directory / "card.json").read_text(encoding="utf-8")))

    def shown(self) -> list[Shown | str]:
        """The table that the program prints."""
        rows = [
            (
                one["id"],
                one["title"],
                one["verdict"],
                one["where"] or (one["why"] if one["verdict"] not in BADNESS else ""),
            )
            for one in self.data["criteria"]
        ]
        data = self.data
        made = f"fullpipe {data['fullpipe']}, {data['engine']}, profile {data['profile']}, {data['seeds']} seeds"
        return [
            Shown(f"{data['algorithm']} beside NewReno and CUBIC", ("RFC 9743", "criterion", "word", "where"), rows, 4),
            f"Words are relative to the standards; RFC 9743 gives no thresholds. {made}",
        ]

    def _repr_html_(self) -> str:
        return page(self.shown())

    def __repr__(self) -> str:
        return f"<Card of {self.data['algorithm']}; worse at: {', '.join(self.worse) or 'nothing'}>"


def _criterion(
    criterion: Criterion,
    cells: Sequence[JudgedCell],
    rows: Sequence[Mapping[str, Any]],
    statement: Statement,
    asked: str,
) -> dict[str, Any]:
    """A criterion's line."""
    line: dict[str, Any] = {"id": criterion.id, "title": criterion.title, "asks": criterion.asks}
    if criterion.id in statement.excludes:
        return {**line, "verdict": NOT_APPLICABLE, "where": "", "why": "excluded by its authors", "cells": []}
    if criterion.stated:
        said = statement.answers.get(criterion.id, "")
        verdict = "stated" if said else "not stated"
        return {**line, "verdict": verdict, "where": "", "why": said or "no run can answer it", "cells": []}
    if criterion.id == "7.2":
        return {**line, **_breaker(rows), "cells": []}
    own = corrected([cell for cell in cells if criterion.id in cell.cell.criteria])
    verdict = worst(cell.verdict for cell in own)
    why = "; ".join(f"{cell.cell.id}: {cell.why}" for cell in own if cell.why and cell.verdict == NOT_RUN)
    more = {"addressed": _addressed(own)} if criterion.id == "5.1.2" and _addressed(own) is not None else {}
    return {
        **line,
        "verdict": verdict,
        "where": _where(own, verdict),
        "why": why,
        **more,
        "cells": [_cell(cell, asked) for cell in own],
    }


def _where(cells: Sequence[JudgedCell], verdict: str) -> str:
    """The comparison that gave the word: of several that with the largest distance beyond its margin."""
    found = [
        (_beyond(one), cell.cell.id, one)
        for cell in cells
        if cell.verdict == verdict
        for one in cell.compared
        if one.verdict == verdict
    ]
    if not found or verdict not in BADNESS[2:]:
        return ""
    _, cell, one = max(found, key=lambda each: each[0])
    others = len(found) - 1
    starved = " (starves it)" if one.starved else ""
    return f"{cell}, {one.setting}: {one.title}{starved}" + (f"; {others} more" if others else "")


def _beyond(one: Compared) -> float:
    if one.starved:
        return math.inf
    judgement = one.judgement
    return (judgement.mean - judgement.margin) / (judgement.margin or 1.0) if judgement else -math.inf


def _breaker(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """7.2: whether the candidate's runs lose more than a tenth over a whole window where no standard's do."""
    lossy: dict[tuple[str, str], dict[bool, bool]] = {}
    for row in rows:
        loss = row.get("loss_rate")
        if loss is not None and "alone" not in row["role"]:
            place = lossy.setdefault((row["cell"], row["setting"]), {True: False, False: False})
            place["candidate" in row["role"]] |= loss > BREAKER
    broken = [f"{cell}, {setting}" for (cell, setting), found in lossy.items() if found[True] and not found[False]]
    where = broken[0] + (f"; {len(broken) - 1} more" if len(broken) > 1 else "") if broken else ""
    verdict = (WORSE if broken else NO_WORSE) if lossy else NOT_RUN
    return {"verdict": verdict, "where": where, "why": "" if lossy else "no runs"}


def _addressed(cells: Sequence[JudgedCell]) -> bool | None:
    """Whether the median queueing delay at 10 BDP is below a round trip; None where that was not run."""
    for cell in cells:
        for one in cell.compared:
            values = [value for value in one.candidate if value is not None]
            if (cell.cell.id, one.setting, one.metric) == ("bloat", "10 BDP", "p50_queueing_delay_s") and values:
                return math.fsum(values) / len(values) < 1e3 * ADDRESSED_BELOW_S
    return None


def _cell(cell: JudgedCell, asked: str) -> dict[str, Any]:
    """A cell as plain values."""
    return {
        "id": cell.cell.id,
        "title": cell.cell.title,
        "verdict": cell.verdict,
        "why": cell.why,
        "note": cell.cell.note,
        "command": f"{asked} --only {cell.cell.id}",
        "figures": {f"{one.setting}: {one.title}": _figures(one) for one in cell.compared},
    }


def _figures(one: Compared) -> dict[str, Any]:
    judged = one.judgement
    numbers = (
        {
            "bar": judged.bar,
            "difference": _short(judged.mean),
            "ci95": _short(judged.ci95),
            "margin": _short(judged.margin),
            "p": _short(judged.p),
            "seeds": judged.seeds,
        }
        if judged
        else {}
    )
    return {
        "setting": one.setting,
        "metric": one.metric,
        "title": one.title,
        "unit": one.unit,
        "verdict": one.verdict,
        **({"why": one.why} if one.why else {}),
        **numbers,
        **({"starves": True} if one.starved else {}),
        **({"shares": {role: _short(share) for role, share in one.shares.items()}} if one.shares else {}),
        "candidate": [_short(value) for value in one.candidate],
        **{bar: [_short(value) for value in one.standards.get(bar, ())] for bar in BARS},
        **({"linux": {role: list(map(_short, values)) for role, values in one.linux.items()}} if one.linux else {}),
    }


def _short(value: float | None) -> float | None:
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.{DIGITS}g}")
