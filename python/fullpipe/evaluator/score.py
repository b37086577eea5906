"""Score of a written controller: a cascade of checks, constraints, and held-out paths.

The score is 0 for a rejected candidate, 0.4 (1 - v) for one that violates constraints with the mean excess v, and
0.5 + 0.5 S for an accepted one. S is the lower end of the one-sided 95 % interval of 0.7 times the mean of u and 0.3
times the mean of its worst tenth, over held-out paths. u is the geometric mean of min(1, goodput / g*) and min(1,
(q* + 1 ms) / (p95 queueing delay + 1 ms)). The star is the best of `REFERENCES` on that path that has 0.9 of the
largest goodput.

Harm, starvation, and loss (RFC 9743, section 5) are constraints and no terms of S: goodput cannot pay for them.
"""

from __future__ import annotations

import hashlib
import math
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path as File
from typing import NamedTuple, TypedDict, Unpack, cast

from fullpipe import _core
from fullpipe._util.plain import Tree
from fullpipe.engine.options import RunOptions
from fullpipe.errors import InputError, check_range
from fullpipe.evaluator.paths import CANDIDATE, Path, draw, jobs_seed, neighbor, scenario
from fullpipe.evaluator.sandbox import Contained, Measured, contained, source_of
from fullpipe.evaluator.static import faults
from fullpipe.experiments.duel import harm
from fullpipe.runs.aggregate import estimate, student_t
from fullpipe.runs.design import Case, Run
from fullpipe.runs.runner import Runner
from fullpipe.runs.store import Store
from fullpipe.scenario import Scenario

__all__ = ["evaluate", "evaluate_stage1", "evaluate_stage2"]

PUBLIC = b"fullpipe: public paths of the evaluator"
"""Secret of the public paths, which everyone knows."""

PATHS = 24
"""Public paths, and held-out ones."""

HARM_PATHS = (Path(10e6, 0.04, 1), Path(20e6, 0.02, 2), Path(30e6, 0.03, 0.5), Path(10e6, 0.08, 2))
"""Paths of the constraints C1 and C2."""

OLD_S = 13.0
"""Age at which the shifted runs are measured, and START_S when their flows begin, seconds."""

START_S = 5.0

REFERENCES = ("newreno", "cubic", "bbr3", "copa")
STANDARDS = ("newreno", "cubic")

PASSED_STAGE_1 = 0.45
"""Score of a candidate that has passed the smoke test alone."""

GAP = 0.05
"""Difference of u, or of the excess of harm times 3, that a probe does not tolerate."""

LIMIT_S = {1: 30.0, 2: 120.0}
"""Processor time of a stage's process, the compilation included, seconds."""

Rows = Mapping["Key", Measured]


class Key(NamedTuple):
    """Run of an algorithm: kind and number of its path, and the victim beside it."""

    kind: str
    number: int = 0
    victim: str = ""


Plan = Mapping[Key, Callable[[str], Tree]]
"""Runs of an algorithm: functions of its name."""


class Options(TypedDict, total=False):
    """Options of `scenario`."""

    start_s: float
    age_s: float
    measured_s: float
    each: int


class Constraint(TypedDict):
    """A constraint: its value and limit, and by how much it is violated, from 0 to 1."""

    title: str
    value: float
    limit: float
    excess: float
    violated: bool


class Score(TypedDict):
    """Result of `evaluate`."""

    combined_score: float
    metrics: dict[str, float]
    constraints: dict[str, Constraint]
    artifacts: dict[str, str]


def evaluate(
    path: str | os.PathLike[str],
    *,
    secret: bytes | None = None,
    stages: int = 2,
    paths: int = PATHS,
    check_source: bool = True,
    workers: int | None = None,
) -> Score:
    """Scores a candidate: a file with one class that has ``@fullpipe.algorithm(..., compiled=True)``.

    Args:
        path: The file.
        secret: Secret from which held-out paths and seeds are drawn. None takes the file that the environment variable
            ``FULLPIPE_SECRET_FILE`` names, or else a new one that is not shown.
        stages: 1 for the smoke test alone, 2 for all.
        paths: Number of public paths, and of held-out paths, at least 4.
        check_source: Whether to refuse code that the static check does not allow. Without it the other checks remain,
            and the code has all that the limits of its process leave.
        workers: Runs of references at a time.

    Returns:
        ``combined_score`` from 0 to 1, ``metrics`` (numbers), ``constraints`` (``excess``, ``limit``, ``violated`` by
        id), and ``artifacts`` (texts). Each return has the score, also for a candidate that crashes.

    Raises:
        InputError: An argument is not allowed, or the file is not there.
    """
    if not File(path).is_file():
        raise InputError(f"{os.fspath(path)}: is not a file")
    check_range("stages", stages, 1, 2)
    check_range("paths", paths, 4)
    if secret is None:
        named = os.environ.get("FULLPIPE_SECRET_FILE")
        secret = File(named).read_bytes() if named else secrets.token_bytes(32)
    work = Work(os.fspath(path), secret, paths, workers)
    try:
        if check_source and (found := faults(source_of(work.file))):
            raise Contained(f"static check: {'; '.join(found[:5])}")
        work.smoke()
        return work.passed() if stages == 1 else work.judged()
    except Contained as rejected:
        work.artifacts["rejected"] = str(rejected)
        return work.outcome(0.0)


def evaluate_stage1(path: str) -> Score:
    """The smoke test, for the cascade of OpenEvolve: 0.45 if it is passed."""
    return evaluate(path, stages=1)


def evaluate_stage2(path: str) -> Score:
    """All stages, for the cascade of OpenEvolve."""
    return evaluate(path)


@dataclass
class Work:
    """An evaluation under way."""

    file: str
    secret: bytes
    paths: int
    workers: int | None
    metrics: dict[str, float] = field(default_factory=dict)
    constraints: dict[str, Constraint] = field(default_factory=dict)
    artifacts: dict[str, str] = field(default_factory=dict)

    def smoke(self) -> None:
        """Stage 1: it loads, delivers, and gives equal runs after other ones."""
        one, other = (draw(PUBLIC, "public", number) for number in (0, 1))
        first, second = (
            scenario(path, {"x": CANDIDATE}, self.seed("smoke", i), age_s=0.0, measured_s=2.0)
            for i, path in enumerate((one, other))
        )
        rows, layers = contained(self.file, [first, second, first], LIMIT_S[1])
        self.artifacts["sandbox"] = ", ".join(f"{name}: {'on' if on else 'missing'}" for name, on in layers.items())
        if min(row["goodputs"]["x"] for row in rows) <= 0:
            raise Contained("it delivers nothing")
        if rows[0]["digest"] != rows[2]["digest"]:
            raise Contained("A-B-A: path A gives another result after path B, so the code keeps state between runs")

    def judged(self) -> Score:
        """Stage 2: constraints, probes, and the score."""
        plan = self.plan()
        jobs = [scenario_of(CANDIDATE) for scenario_of in plan.values()]
        rows, _ = contained(self.file, jobs, LIMIT_S[2])
        mine = dict(zip(plan, rows, strict=True))
        theirs = {name: dict(zip(plan, found, strict=True)) for name, found in self.references(plan).items()}
        self.rerun(plan, mine)
        u = {kind: self.utilities(kind, mine, theirs) for kind in ("public", "neighbor", "late", "held")}
        self.probe(u, mine, theirs)
        self.constrain(mine, theirs)
        self.metrics |= {f"u_{kind}": _mean(values) for kind, values in u.items()}
        score = _lower(u["held"])
        self.metrics["s"] = score
        self.artifacts["held-out u by decile"] = _deciles(u["held"])
        excess = [min(1.0, each["excess"]) for each in self.constraints.values() if each["violated"]]
        self.metrics["violated"] = float(len(excess))
        return self.outcome(0.4 * (1 - _mean(excess)) if excess else 0.5 + 0.5 * score)

    def plan(self) -> Plan:
        """Runs of an algorithm by kind and number: functions of its name."""

        def alone(path: Path, purpose: str, number: int, **options: Unpack[Options]) -> Callable[[str], Tree]:
            return lambda name: scenario(path, {"x": name}, self.seed(purpose, number), **options)

        def beside(
            path: Path, victim: str, purpose: str, number: int, **options: Unpack[Options]
        ) -> Callable[[str], Tree]:
            return lambda name: scenario(path, {"x": name, "victim": victim}, self.seed(purpose, number), **options)

        plan: dict[Key, Callable[[str], Tree]] = {}
        late: Options = {"start_s": START_S, "age_s": OLD_S}
        for number in range(self.paths):
            public = draw(PUBLIC, "public", number)
            plan[Key("public", number)] = alone(public, "public", number)
            plan[Key("neighbor", number)] = alone(neighbor(public, self.secret, number), "public", number)
            plan[Key("held", number)] = alone(draw(self.secret, "held", number), "held", number)
            if number < self.paths // 2:
                plan[Key("late", number)] = alone(public, "late", number, **late)
        for number, path in enumerate(HARM_PATHS):
            for victim in STANDARDS:
                plan[Key("harm", number, victim)] = beside(path, victim, "harm", number)
                plan[Key("harm late", number, victim)] = beside(path, victim, "harm late", number, **late)
        plan[Key("many")] = alone(Path(50e6, 0.04, 1), "many", 0, each=64)
        plan[Key("four")] = alone(Path(20e6, 0.04, 1), "four", 0, each=4, age_s=10.0, measured_s=20.0)
        plan[Key("deep")] = alone(Path(20e6, 0.04, 8), "deep", 0)
        return plan

    def references(self, plan: Plan) -> dict[str, list[Measured]]:
        """Rows of the references, and of the victims alone ("newreno" stands for the victim in that run)."""
        cases = [(name, scenario_of(name)) for name in REFERENCES for scenario_of in plan.values()]
        runs = [Run(i, Case(Scenario.from_dict(tree), measure=MEASURED)) for i, (_, tree) in enumerate(cases)]
        with Store() as store:
            rows = Runner(RunOptions(self.workers), store).all_rows(runs)
        found: dict[str, list[Measured]] = {name: [] for name in REFERENCES}
        for (name, _), row in zip(cases, rows, strict=True):
            found[name].append(cast("Measured", row))
        return found

    def rerun(self, plan: Plan, mine: Rows) -> None:
        """Three runs again in a fresh process."""
        keys = list(plan)
        chosen = [keys[self.seed("rerun", i) % len(keys)] for i in range(3)]
        rows, _ = contained(self.file, [plan[key](CANDIDATE) for key in chosen], LIMIT_S[2])
        if any(row["digest"] != mine[key]["digest"] for key, row in zip(chosen, rows, strict=True)):
            raise Contained("A-B-A: path A gives another result in a new process, so the code keeps state between runs")

    def utilities(self, kind: str, mine: Rows, theirs: Mapping[str, Rows]) -> list[float]:
        """Utilities u of the paths of a kind."""
        found = []
        for key, row in mine.items():
            if key.kind != kind:
                continue
            others = [rows[key] for rows in theirs.values()]
            most = max(other["goodputs"]["x"] for other in others)
            queue_s = min(other["queue_s"] for other in others if other["goodputs"]["x"] >= 0.9 * most)
            goodput = min(1.0, row["goodputs"]["x"] / most)
            found.append(math.sqrt(goodput * min(1.0, (queue_s + 1e-3) / (row["queue_s"] + 1e-3))))
        return found

    def probe(self, u: Mapping[str, Sequence[float]], mine: Rows, theirs: Mapping[str, Rows]) -> None:
        """Behavior that differs between public and other paths, or with the clock, the seed, and the age."""
        if _above(_differences(u["public"], u["neighbor"]), GAP):
            raise Contained("neighbors: better results on the public paths than on paths that differ by 3 %")
        if _mean(u["public"]) - _mean(u["held"]) > 4 * GAP:
            raise Contained("held-out: far better results on the public paths than on held-out paths")
        usual, late = (self.excesses(kind, mine, theirs) for kind in ("harm", "harm late"))
        if _above(_differences(late, usual), 3 * GAP):
            raise Contained("shift: more harm at another start time, seed, and measurement interval")
        if _above(_differences(u["public"][: len(u["late"])], u["late"]), 2 * GAP):
            raise Contained("shift: worse results at another start time, seed, and measurement interval")

    def excesses(self, kind: str, mine: Rows, theirs: Mapping[str, Rows]) -> list[float]:
        """Harm to each victim beyond the greatest harm of a standard, by path. A victim alone has the whole link."""
        found = []
        for key, row in mine.items():
            if key.kind != kind:
                continue
            rate = HARM_PATHS[key.number].rate_bps
            harms = [_harm(rate, rows[key]) for name, rows in theirs.items() if name in STANDARDS]
            found.append(_harm(rate, row) - max(harms))
        return found

    def constrain(self, mine: Rows, theirs: Mapping[str, Rows]) -> None:
        """Constraints of RFC 9743."""
        standards = [theirs[name] for name in STANDARDS]
        harms = estimate(self.excesses("harm", mine, theirs))
        least = harms.mean - (harms.ci95 or 0.0)
        self._constraint("C1", "harm to NewReno and CUBIC, beyond their own (5.2.1)", least, 0.05, 0.5)
        starved = _mean([float(_share(row) < 0.1) for key, row in mine.items() if key.kind == "harm"])
        usual = max(_mean([float(_share(rows[key]) < 0.1) for key in mine if key.kind == "harm"]) for rows in standards)
        self._constraint("C2", "fraction of runs that starve the victim", starved, max(0.5, usual), 0.5)
        loss = _mean([row["loss"] for key, row in mine.items() if key.kind == "public"])
        usual = max(_mean([rows[key]["loss"] for key in mine if key.kind == "public"]) for rows in standards)
        self._constraint("C3", "loss rate of a solo flow (5.1.1)", loss, max(1.3 * usual, usual + 1e-3), 0.05)
        useless = 1 - mine[Key("many")]["useful"]
        self._constraint("C4", "64 flows: retransmissions per packet received", useless, 0.1, 0.5)
        self._constraint("C5", "four flows: 1 - Jain index (5.1.4)", 1 - mine[Key("four")]["jain"], 0.2, 0.5)
        usual = max(rows[Key("deep")]["queue_s"] for rows in standards)
        self._constraint(
            "C6", "p95 queueing delay with a buffer of 8 BDP (s)", mine[Key("deep")]["queue_s"], 1.02 * usual, usual
        )

    def _constraint(self, name: str, title: str, value: float, limit: float, scale: float) -> None:
        excess = max(0.0, (value - limit) / scale)
        self.constraints[name] = {
            "title": title,
            "value": value,
            "limit": limit,
            "excess": min(1.0, excess),
            "violated": value > limit,
        }

    def passed(self) -> Score:
        """Result of the smoke test alone."""
        return self.outcome(PASSED_STAGE_1)

    def outcome(self, score: float) -> Score:
        """The result."""
        self.artifacts["secret"] = hashlib.sha256(self.secret).hexdigest()[:8]
        self.artifacts["version"] = _core.VERSION
        return {
            "combined_score": float(score),
            "metrics": self.metrics,
            "constraints": self.constraints,
            "artifacts": self.artifacts,
        }

    def seed(self, purpose: str, number: int) -> int:
        """Seed of a run."""
        return jobs_seed(self.secret, f"seed {purpose}", number)


MEASURED = "fullpipe.evaluator.sandbox:measured"


def _harm(rate_bps: float, row: Measured) -> float:
    return harm(rate_bps, float(row["goodputs"]["victim"]), more_is_better=True)


def _share(row: Measured) -> float:
    """Goodput of the victim over the equal share."""
    return float(2 * row["goodputs"]["victim"] / max(1.0, sum(row["goodputs"].values())))


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else 0.0


def _differences(ones: Sequence[float], others: Sequence[float]) -> list[float]:
    return [one - other for one, other in zip(ones, others, strict=True)]


def _above(values: Sequence[float], limit: float) -> bool:
    """Whether the mean exceeds the limit, and its 95 % interval is above 0."""
    found = estimate(values)
    return found.mean > limit and found.mean - (found.ci95 or 0.0) > 0


def _lower(values: Sequence[float]) -> float:
    """Lower end of the one-sided 95 % interval of 0.7 mean + 0.3 mean of the worst tenth, at least 0. The spread
    is that of the mean.
    """
    found = estimate(values)
    worst = sorted(values)[: max(1, len(values) // 10)]
    half = student_t(len(values) - 1, 0.9) * (found.sd or 0.0) / math.sqrt(len(values))
    return min(1.0, max(0.0, 0.7 * (found.mean - half) + 0.3 * _mean(worst)))


def _deciles(values: Sequence[float]) -> str:
    """Deciles, rounded so that repeated calls tell little of the paths."""
    ordered = sorted(values)
    return " ".join(f"{ordered[min(len(ordered) - 1, round(i * (len(ordered) - 1) / 10))]:.2f}" for i in range(11))
