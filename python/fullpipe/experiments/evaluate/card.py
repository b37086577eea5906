"""Report card: a verdict per criterion, and the metrics of each test case."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import fullpipe
from fullpipe._util.display import Shown
from fullpipe._util.files import readable, staged
from fullpipe._util.inputs import read_json, read_rows
from fullpipe._util.text import file_label, file_name, shorten
from fullpipe.experiments.evaluate.cell import CANDIDATE, Cell, Role, Rule
from fullpipe.experiments.evaluate.cells import CELLS
from fullpipe.experiments.evaluate.cells.queues import ADDRESSED_BELOW_S
from fullpipe.experiments.evaluate.criteria import CRITERIA, Criterion
from fullpipe.experiments.evaluate.data import CardData, ComparedData, CriterionData, ExperimentData, KernelData
from fullpipe.experiments.evaluate.extent import run_of, seeds_used
from fullpipe.experiments.evaluate.judging import BARS, WHO, Compared, JudgedCell, Runs, Values, corrected
from fullpipe.experiments.evaluate.preset import Tree
from fullpipe.experiments.evaluate.rules import BADNESS, NO_WORSE, NOT_APPLICABLE, NOT_RUN, WORSE, at_most, worst
from fullpipe.experiments.evaluate.statement import Statement
from fullpipe.experiments.failures import failed_runs
from fullpipe.metrics import metric
from fullpipe.runs.measure import Row
from fullpipe.runs.results import Results, table_of
from fullpipe.scenario import Scenario

if TYPE_CHECKING:
    from fullpipe.plots.spec import Plot

__all__ = ["BREAKER", "RISKS", "Card", "Kernel"]

BREAKER = 0.1
"""Loss rate over 10 s above which a circuit breaker may end a flow (RFC 8084)."""

BREAKER_NOTE = (
    "Worst 10 s of each seed, with the warm-up. More than 10 % is worse unless a standard exceeds it in some seed."
)

RISKS = (
    "Receivers and processors have no limits.",
    "Real-time traffic does not adapt, unlike that of RFC 8867.",
    "The baseline of harm includes CUBIC's harm to NewReno at large bandwidth-delay products: compare both victims.",
    "Thresholds are fullpipe's, because RFC 9743 gives none (section 5).",
)

LABELS = ("criterion", "cell", "setting", "role", "victim", "other")

COLUMNS = ("RFC 9743", "criterion", "verdict", "test cases run", "configurations", "where")
"""Headings of the printed table."""

DIGITS = 6
"""Significant digits of values on the card."""

KERNEL_NOTE = (
    "Both engines run one scenario with different random choices, so that seeds are not paired. The guest's hosts "
    "have their own processing times. Percentiles of RTTs are of the kernel's smoothed RTT, sampled every 100 ms. The "
    "kernel does not report queueing delays."
)


@dataclass(frozen=True)
class Kernel:
    """Runs of a real kernel for a card.

    Attributes:
        version: Version of the Debian package; empty if no configuration of the card runs there.
        seeds: Runs of each configuration and role.
        settings: Number of configurations.
        failures: Failures by the address of the run.
    """

    version: str
    seeds: int
    settings: int
    failures: Mapping[str, str]

    def to_dict(self) -> KernelData:
        """Plain values ready for JSON."""
        whys = list(dict.fromkeys(self.failures.values()))
        return {
            "kernel": self.version,
            "seeds": self.seeds,
            "settings": self.settings,
            "failed_runs": len(self.failures),
            "why": "; ".join(whys),
            "note": KERNEL_NOTE,
        }


class Card(Results):
    """Report card of an algorithm.

    The labels of `runs` are ``criterion`` (the first one that a run counts for), ``cell``, ``setting``, and ``role``.
    The metrics are those of `measure.metrics`.

    Attributes:
        data: Content of the card as plain values ready for JSON.
    """

    KIND = "card"

    def __init__(
        self,
        data: CardData,
        runs: Sequence[Row] = (),
        trees: Mapping[tuple[str, str, str], Tree] | None = None,
    ) -> None:
        self.data = data
        sections = {cell["id"]: one["id"] for one in reversed(data["criteria"]) for cell in one["experiments"]}
        rows = [{"criterion": sections.get(row["cell"], ""), **row} for row in runs]
        super().__init__(LABELS, table_of(rows, LABELS))
        self._trees = trees or {}

    @classmethod
    def of(
        cls,
        label: str,
        profile: str,
        seeds: tuple[int, int],
        flow_keys: Mapping[str, object],
        cells: Sequence[JudgedCell],
        runs: Runs,
        trees: Mapping[tuple[str, str, str], Tree],
        statement: Statement,
        asked: str,
        only: Sequence[str] = (),
        kernel: Kernel | None = None,
    ) -> Card:
        """Card from judged test cases. ``seeds`` are the seeds of each configuration, and the most seeds of one that
        was inconclusive. ``asked`` is the command that makes the card.
        """
        rows = runs.rows()
        criteria = [
            _criterion(criterion, cells, rows, statement, asked)
            for criterion in CRITERIA
            if not only or any(criterion.id in cell.cell.criteria for cell in cells) or criterion.id in only
        ]
        data: CardData = {
            "algorithm": label,
            **({"flow_keys": flow_keys} if flow_keys else {}),
            "profile": profile,
            "fullpipe": fullpipe.__version__,
            "engine": "simulator",
            **({"linux": kernel.to_dict()} if kernel else {}),
            "seeds": seeds[0],
            "most_seeds": seeds[1],
            "criteria": criteria,
            "risks": list(RISKS),
        }
        names = ("cell", "setting", "role", "seed", "error")
        data["failed"] = [{name: row[name] for name in names} for row in rows if row.get("error") is not None]
        if not data["failed"]:
            del data["failed"]
        return cls(data, rows, trees)

    @property
    def worse(self) -> list[str]:
        """Criteria with the verdict "worse"."""
        return [criterion["id"] for criterion in self.data["criteria"] if criterion["verdict"] == WORSE]

    def verdict(self, section: str) -> str:
        """Verdict of a criterion."""
        return next(str(one["verdict"]) for one in self.data["criteria"] if one["id"] == section)

    def to_dict(self) -> dict[str, object]:
        """Content of the card. Each criterion has its test cases as ``experiments``, and as ``cells``, an alias."""
        criteria = [{**one, "cells": one["experiments"]} for one in self.data["criteria"]]
        return {**self.data, "criteria": criteria}

    def to_json(self, *, indent: int | None = 1) -> str:
        """`to_dict` as JSON text. Equal seeds give equal bytes."""
        return super().to_json(indent=indent)

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Writes ``card.json``, ``card.html``, ``runs.parquet``, and ``scenarios/CELL/SETTING/ROLE.toml``. All files
        appear whole or not at all.

        Raises:
            InputError: The directory is not writable.
        """
        import pyarrow.parquet as pq

        from fullpipe.experiments.evaluate.page import card_page
        from fullpipe.playground import put_beside

        with staged(directory) as stage:
            (stage / "card.json").write_text(self.to_json() + "\n", encoding="utf-8")
            tries = self._tries() if put_beside(stage) else {}
            (stage / "card.html").write_text(card_page(self.data, tries), encoding="utf-8")
            pq.write_table(self.runs, stage / "runs.parquet")
            for place, tree in self._trees.items():
                folder = Path(stage, "scenarios", *map(file_name, place[:-1]))
                folder.mkdir(parents=True, exist_ok=True)
                toml = Scenario.from_dict(tree).to_toml()
                (folder / f"{file_name(place[-1])}.toml").write_text(toml, encoding="utf-8")

    def _tries(self) -> dict[str, list[tuple[str, str]]]:
        """Links that open the candidate's first run of each configuration in the playground, by test case."""
        from fullpipe.playground import link

        runs, algorithm = self.runs, self.data["algorithm"]
        columns = (runs[name].to_pylist() for name in ("role", "other", "victim")) if len(runs) else ((), (), ())
        roles = {role: Role(other, victim) for role, other, victim in zip(*columns, strict=True)}
        found: dict[str, dict[str, str]] = {}
        for (cell, name, text), tree in self._trees.items():
            settings, role = found.setdefault(cell, {}), roles.get(text)
            if role is None or name in settings or role.other != CANDIDATE:
                continue
            about = f"{cell}, {name}: {Role(algorithm, role.victim)}"
            address = link(Scenario.from_dict(tree), about)
            if address is not None:
                settings[name] = address
        return {cell: list(settings.items()) for cell, settings in found.items()}

    @classmethod
    def load(cls, directory: str | os.PathLike[str]) -> Card:
        """Card that `save` wrote into a directory.

        Raises:
            InputError: The directory has no card, or a file is not readable.
        """
        with readable(directory) as place:
            data = read_json(place / "card.json")
            for one in data["criteria"]:
                one.setdefault("experiments", one.pop("cells", []))
            runs = read_rows(place / "runs.parquet")
            trees = {
                (file_label(file.parts[-3]), file_label(file.parts[-2]), file_label(file.stem)): Scenario.load(
                    file
                ).to_dict()
                for file in sorted(place.glob("scenarios/*/*/*.toml"))
            }
            return cls(data, runs, trees)

    def shown(self, columns: Sequence[str] | None = None) -> list[Shown | str]:
        """Table that the program prints.

        Args:
            columns: Metrics of all runs, shown in a table of their means.
        """
        rows = [
            (
                one["id"],
                one["title"],
                one["verdict"],
                *run_of(one),
                one["where"] or (one["why"] if one["verdict"] not in BADNESS else ""),
            )
            for one in self.data["criteria"]
        ]
        data = self.data
        made = f"fullpipe {data['fullpipe']}, {data['engine']}, profile {data['profile']}, {seeds_used(data)}"
        return [
            Shown(f"{data['algorithm']} compared with NewReno and CUBIC", COLUMNS, rows, len(COLUMNS)),
            f"For each metric, the baseline is the one with the worse mean; RFC 9743 gives no thresholds. {made}",
            *self._shown_kernel(),
            *failed_runs(self),
            *([self.shown_summary(columns)] if columns else []),
        ]

    def _own_plot(self, _: str | None) -> Plot:
        from fullpipe.experiments.evaluate.page import deciding, in_margins
        from fullpipe.plots.card import Point, card_plot

        decided = [(one, found[1]) for one in self.data["criteria"] if (found := deciding(one)) is not None]
        points = [Point(one["id"], one["verdict"], *in_margins(compared)) for one, compared in decided]
        return card_plot(points, f"{shorten(str(self.data['algorithm']))} compared with NewReno and CUBIC")

    def _shown_kernel(self) -> list[Shown | str]:
        """Comparison of a real kernel with the simulator, by test case."""
        if "linux" not in self.data:
            return []
        from fullpipe.experiments.evaluate.page import beside, kernel_line

        rows = [
            (cell["id"], compared["setting"], _heading(compared), *row)
            for cell in {cell["id"]: cell for one in self.data["criteria"] for cell in one["experiments"]}.values()
            for compared in cell["figures"].values()
            for row in beside(compared, self.data["algorithm"])
        ]
        columns = ("test case", "configuration", "metric", "algorithm", "simulator", "Linux")
        table = [Shown("Real kernel and simulator", columns, rows, 4)] if rows else []
        return [*table, kernel_line(self.data["linux"])]

    def __repr__(self) -> str:
        return f"<Card of {shorten(str(self.data['algorithm']))}; worse at: {', '.join(self.worse) or 'nothing'}>"


def _criterion(
    criterion: Criterion,
    cells: Sequence[JudgedCell],
    rows: Sequence[Row],
    statement: Statement,
    asked: str,
) -> CriterionData:
    line: CriterionData = {"id": criterion.id, "title": criterion.title, "asks": criterion.asks}
    if criterion.id in statement.excludes:
        return {**line, "verdict": NOT_APPLICABLE, "where": "", "why": "excluded by its authors", "experiments": []}
    if criterion.stated:
        said = statement.answers.get(criterion.id, "")
        verdict = "stated" if said else "not stated"
        return {**line, "verdict": verdict, "where": "", "why": said or "no run can answer it", "experiments": []}
    if criterion.id == "7.2":
        places = {(row["cell"], row["setting"]) for row in rows if row.get("worst_loss_rate") is not None}
        part = _part_run([cell for cell in CELLS if cell.settings], places)
        return cast("CriterionData", {**line, **part, **_breaker(rows, asked)})
    own = corrected([cell for cell in cells if criterion.id in cell.cell.criteria])
    verdict = worst(cell.verdict for cell in own)
    why = "; ".join(f"{cell.cell.id}: {cell.why}" for cell in own if cell.why and cell.verdict == NOT_RUN)
    addressed = _addressed(own) if criterion.id == "5.1.2" else None
    more = {} if addressed is None else {"addressed": addressed}
    places = {(cell.cell.id, one.setting) for cell in own for one in cell.compared}
    part = _part_run([cell for cell in CELLS if criterion.id in cell.criteria], places)
    experiments = [_cell(cell, asked) for cell in own]
    where = _where(own, verdict)
    whole = {**line, "verdict": verdict, "where": where, "why": why, **more, **part, "experiments": experiments}
    return cast("CriterionData", whole)


def _part_run(cells: Sequence[Cell], places: Collection[tuple[str, str]]) -> dict[str, int]:
    """Numbers of test cases and configurations of a criterion, and of those that were run."""
    return {
        "cells_run": len({cell for cell, _ in places}),
        "cells_in_all": len(cells),
        "settings_run": len(places),
        "settings_in_all": sum(len(cell.settings) for cell in cells),
    }


def _where(cells: Sequence[JudgedCell], verdict: str) -> str:
    """Comparison that gave the verdict: the one with the largest distance beyond its margin."""
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


def _breaker(rows: Sequence[Row], asked: str) -> CriterionData:
    """Section 7.2: whether the candidate's runs lose more than a tenth within 10 s and no standard's runs do."""
    found: dict[tuple[str, str, str], dict[str, Values]] = {}
    for row in rows:
        if row["other"] in WHO and row.get("worst_loss_rate") is not None:
            place = found.setdefault((row["cell"], row["setting"], row["victim"]), {who: [] for who in WHO})
            place[row["other"]].append(row["worst_loss_rate"])
    judged = [(place, _broken(*place, values)) for place, values in found.items() if values[CANDIDATE]]
    judged.sort(key=lambda each: -_most(each[1].candidate))
    broken = [f"{cell}, {setting}" for (cell, setting, _), one in judged if one.verdict == WORSE]
    where = broken[0] + (f"; {len(broken) - 1} more" if len(broken) > 1 else "") if broken else ""
    verdict = worst(one.verdict for _, one in judged)
    # The card has the violations, or the configuration closest to the limit.
    shown = [one for _, one in judged if _most(one.candidate) > 100 * BREAKER] or [one for _, one in judged[:1]]
    cell = Cell("breaker", ("7.2",), "worst 10 s of each run: packets dropped at the bottleneck", note=BREAKER_NOTE)
    cells = [{**_cell(JudgedCell(cell, shown), asked), "verdict": verdict, "command": asked}] if judged else []
    return cast(
        "CriterionData", {"verdict": verdict, "where": where, "why": "" if judged else "no runs", "experiments": cells}
    )


def _broken(cell: str, setting: str, victim: str, values: Mapping[str, Values]) -> Compared:
    """Largest loss in a configuration, compared with the limit. If a standard exceeds the limit too, it is no worse."""
    judgement = at_most(values[CANDIDATE], BREAKER)
    assert judgement is not None
    if any(_most(values[bar]) > BREAKER for bar in BARS):
        judgement = replace(judgement, verdict=NO_WORSE)
    shares = {who: [None if value is None else 100 * value for value in each] for who, each in values.items()}
    return Compared(
        setting=f"{cell}, {setting}",
        metric="worst_loss_rate",
        title=f"{metric('loss_rate').title} over 10 s" + (f" versus {victim}" if victim else ""),
        unit="%",
        verdict=judgement.verdict,
        main=True,
        candidate=shares[CANDIDATE],
        standards={bar: shares[bar] for bar in BARS},
        judgement=judgement,
        limit=100 * BREAKER,
        rule=Rule.LIMIT,
        victim=victim,
    )


def _most(values: Values) -> float:
    return max((value for value in values if value is not None), default=0.0)


def _addressed(cells: Sequence[JudgedCell]) -> bool | None:
    """Whether the median queueing delay at 10 BDP is below one RTT; None if that was not run."""
    for cell in cells:
        for one in cell.compared:
            values = [value for value in one.candidate if value is not None]
            if (cell.cell.id, one.setting, one.metric) == ("bloat", "10 BDP", "p50_queueing_delay_s") and values:
                return math.fsum(values) / len(values) < 1e3 * ADDRESSED_BELOW_S
    return None


def _cell(cell: JudgedCell, asked: str) -> ExperimentData:
    return cast(
        "ExperimentData",
        {
            "id": cell.cell.id,
            "title": cell.cell.title,
            "verdict": cell.verdict,
            "why": cell.why,
            **_settings_run(cell),
            "note": cell.cell.note,
            "command": f"{asked} --only {cell.cell.id}",
            "figures": {f"{one.setting}: {one.title}": _metric(one) for one in cell.compared},
        },
    )


def _settings_run(cell: JudgedCell) -> dict[str, int]:
    whole, ran = len(cell.cell.settings), len({one.setting for one in cell.compared})
    return {"settings_run": ran, "settings_in_all": whole} if whole else {}


def _metric(one: Compared) -> ComparedData:
    judged = one.judgement
    numbers = (
        {
            "bar": judged.bar,
            "difference": _short(judged.mean),
            "ci95": _short(judged.ci95),
            "margin": _short(judged.margin),
            "p": _short(judged.p),
            "seeds": judged.seeds,
            **({"of_rates": True} if judged.of_rates else {}),
            **({"apart": _short(judged.apart), "least": _short(judged.least)} if judged.apart is not None else {}),
        }
        if judged
        else {}
    )
    return cast(
        "ComparedData",
        {
            "setting": one.setting,
            "metric": one.metric,
            "title": one.title,
            "unit": one.unit,
            "rule": str(one.rule),
            **({"victim": one.victim} if one.victim else {}),
            "verdict": one.verdict,
            **({"why": one.why} if one.why else {}),
            **({"limit": one.limit} if one.limit is not None else {}),
            **numbers,
            **({"starves": True} if one.starved else {}),
            **({"among_many": True} if one.among_many else {}),
            **({"shares": {role: _short(share) for role, share in one.shares.items()}} if one.shares else {}),
            **({"times_tcp": _all_short(one.times_tcp)} if one.times_tcp else {}),
            "candidate": [_short(value) for value in one.candidate],
            **{bar: [_short(value) for value in one.standards.get(bar, ())] for bar in BARS},
            **_kernels(one),
        },
    )


def _kernels(one: Compared) -> dict[str, object]:
    """Values of a real kernel; ``linux`` is empty if the kernel does not report the metric."""
    if not one.asked_linux:
        return {}
    values = _all_short(one.linux)
    shares = {role: _short(share) for role, share in one.linux_shares.items()}
    return {"linux": values, **({"linux_shares": shares} if shares else {})}


def _all_short(values: Mapping[str, Sequence[float | None]]) -> dict[str, list[float | None]]:
    return {role: [_short(value) for value in each] for role, each in values.items()}


def _short(value: float | None) -> float | None:
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.{DIGITS}g}")


def _heading(compared: ComparedData) -> str:
    return compared["title"] + (f" ({compared['unit']})" if compared["unit"] else "")
