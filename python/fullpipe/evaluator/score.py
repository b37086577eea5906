"""Score of a written controller: a cascade of checks, constraints, and held-out paths.

The score is 0 for a rejected candidate, and 0.4 (1 - v) for one that violates constraints. v is the mean excess of all
constraints, so that another violation never raises the score. For an accepted one it is
0.5 + 0.5 (N - n + S) / (N + 1), where n of the N criteria of the report card are worse: S decides between equal n. S is
the lower end of the one-sided 95 % interval of 0.7 times the mean of u and 0.3 times the mean of its worst tenth, over
held-out paths. u is the geometric mean of min(1, goodput / g*), min(1, (q* + 1 ms) / (p95 queueing delay + 1 ms)), and
min(1, t* / t) for transfers of 100 kB. The star is the best of `REFERENCES` on that path that has 0.9 of the largest
goodput.

Harm, starvation, and loss (RFC 9743, section 5) are constraints and no terms of S: goodput cannot pay for them.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import math
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path as File
from typing import NamedTuple, TypedDict, Unpack, cast

from fullpipe import _core
from fullpipe._util.plain import Tree
from fullpipe._util.text import unknown
from fullpipe.engine.options import RunOptions
from fullpipe.errors import Cancelled, InputError, check_range
from fullpipe.evaluator.card import PLACEHOLDER, report_card
from fullpipe.evaluator.paths import CANDIDATE, Path, draw, jobs_seed, neighbor, rate_cut, scenario, transfers
from fullpipe.evaluator.sandbox import MEASURED, Contained, Measured, contained, source_of
from fullpipe.evaluator.static import faults
from fullpipe.experiments.duel import harm
from fullpipe.experiments.evaluate import PROFILES
from fullpipe.experiments.evaluate.measure import Row
from fullpipe.experiments.evaluate.preset import PACKET_BYTES
from fullpipe.experiments.evaluate.rules import WORSE, rule_loss, times_tcp
from fullpipe.runs.aggregate import estimate, student_t
from fullpipe.runs.design import Case, Run
from fullpipe.runs.runner import Runner
from fullpipe.runs.store import Store
from fullpipe.scenario import Scenario
from fullpipe.scenario.quantity import read_quantity

__all__ = ["Score", "evaluate", "evaluate_stage1", "evaluate_stage2", "evaluate_stage3"]

PUBLIC = b"fullpipe: public paths of the evaluator"
"""Secret of the public paths, which everyone knows."""

PATHS, HELD = 24, 100
"""Public paths, and held-out paths of stages 2 and 3."""

HARM_PATHS = (Path(10e6, 0.04, 1), Path(20e6, 0.02, 2), Path(30e6, 0.03, 0.5), Path(10e6, 0.08, 2))
"""Paths of the constraints C1 and C2."""

OLD_S = 13.0
"""Age at which the shifted runs are measured, seconds."""

LATEST_START_S = 1000
"""Largest offset of the senders' clock: the clock does not show a candidate when its run began."""

REFERENCES = ("newreno", "cubic", "bbr3", "copa")
STANDARDS = ("newreno", "cubic")

PASSED = {1: 0.45, 2: 0.5}
"""Score of a candidate that has passed a stage, and was not measured further: below each accepted one."""

GAP = 0.05
"""Difference of u, or of the excess of harm times 3, that a probe does not tolerate."""

LIMIT_S = {1: 30.0, 2: 120.0, 3: 120.0}
"""Processor time of a stage's process, the compilation included, seconds."""

MOST_ROUNDS = 1000
"""Calls of a secret after which results may have leaked too much of the paths."""

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
    stages: int = 3,
    paths: int = PATHS,
    held: int = HELD,
    card: str = "quick",
    check_source: bool = True,
    interpreted: bool = False,
    require_sandbox: bool = False,
    budget: str | None = None,
    rounds: str | os.PathLike[str] | None = None,
    workers: int | None = None,
) -> Score:
    """Scores a candidate: a file with one class that has ``@fullpipe.algorithm(..., compiled=True)``, or a kernel
    object file, ending in ".o", which runs in the eBPF machine.

    Args:
        path: The file.
        secret: Secret from which held-out paths and seeds are drawn. None takes the file that the environment variable
            ``FULLPIPE_SECRET_FILE`` names, or else a new one that is not shown.
        stages: 1 for the smoke test alone, 2 for constraints and probes too, 3 for all.
        paths: Number of public paths, and of held-out paths of stage 2, at least 4.
        held: Number of held-out paths of stage 3, at least 4.
        card: Profile of the report card of stage 3: "quick", "standard", or "full".
        check_source: Whether to refuse code that the static check does not allow. Without it the other checks remain,
            and the code has all that the limits of its process leave.
        interpreted: Whether to take a class without ``compiled=True``, whose code runs in the process that measures it.
        require_sandbox: Whether to refuse to run anything if the system lacks a limit of the sandbox.
        budget: Wall time such as ``"120 s"``, after which the score of the last stage is returned; None for no limit.
        rounds: File that counts the calls of each secret; after 1,000 a warning asks for a new secret.
        workers: Runs of references at a time.

    Returns:
        ``combined_score`` from 0 to 1, ``metrics`` (numbers), ``constraints`` (``excess``, ``limit``, ``violated`` by
        id), and ``artifacts`` (texts). Each return has the score, also for a candidate that crashes.

    Raises:
        InputError: An argument is not allowed, the file is not there, or the system lacks a required limit.
    """
    if not File(path).is_file():
        raise InputError(f"{os.fspath(path)}: is not a file")
    check_range("stages", stages, 1, 3)
    check_range("paths", paths, 4)
    check_range("held", held, 4)
    if card not in PROFILES:
        raise InputError(unknown("card", card, PROFILES))
    budget_s = math.inf if budget is None else read_quantity("budget", budget, "s", '"120 s"')
    if secret is None:
        named = os.environ.get("FULLPIPE_SECRET_FILE")
        secret = File(named).read_bytes() if named else secrets.token_bytes(32)
    deadline_s = time.monotonic() + budget_s
    work = Work(os.fspath(path), secret, paths, held, workers, require_sandbox, deadline_s, card)
    if rounds is not None:
        work.count(File(rounds))
    try:
        if is_object(work.file):
            work.artifacts["code"] = "eBPF machine"
        elif check_source and (found := faults(source_of(work.file), interpreted=interpreted)):
            raise Contained(f"static check: {'; '.join(found[:5])}")
        else:
            work.artifacts["code"] = INTERPRETED if interpreted else "compiled"
        work.smoke()
        for stage in range(2, stages + 1):
            work.measure(stage)
    except Contained as rejected:
        work.artifacts["rejected"] = str(rejected)
        work.score = 0.0
    except Late:
        work.artifacts["stopped"] = f"the budget of {budget} is over"
    return work.outcome()


def evaluate_stage1(path: str) -> Score:
    """The smoke test, for the cascade of OpenEvolve: 0.45 if it is passed."""
    return evaluate(path, stages=1)


def evaluate_stage2(path: str) -> Score:
    """The smoke test, constraints, and probes, for the cascade of OpenEvolve: 0.5 if all are passed."""
    return evaluate(path, stages=2)


def evaluate_stage3(path: str) -> Score:
    """All stages, for the cascade of OpenEvolve."""
    return evaluate(path)


INTERPRETED = "may be interpreted: lower guarantee, because its code runs in the process that measures it"
"""What a result says of a class that may be interpreted."""


def is_object(file: str) -> bool:
    """Whether a candidate is a kernel object file."""
    return file.endswith(".o")


class Late(Exception):
    """The budget is over."""


@dataclass
class Work:
    """An evaluation under way."""

    file: str
    secret: bytes
    paths: int
    held: int
    workers: int | None
    require_sandbox: bool
    deadline_s: float
    profile: str = "quick"
    score: float = 0.0
    metrics: dict[str, float] = field(default_factory=dict)
    constraints: dict[str, Constraint] = field(default_factory=dict)
    artifacts: dict[str, str] = field(default_factory=dict)

    def count(self, file: File) -> None:
        """Adds one to the calls of the secret in a file of counts."""
        with file.open("a+", encoding="utf-8") as opened:
            fcntl.flock(opened, fcntl.LOCK_EX)
            opened.seek(0)
            try:
                counts = json.loads(opened.read() or "{}")
                calls = int(counts.get(self.name, 0)) + 1
            except (ValueError, AttributeError, TypeError):
                raise InputError(f"{file}: is no file of rounds") from None
            opened.truncate(0)
            json.dump({**counts, self.name: calls}, opened)
        self.metrics["rounds"] = float(calls)
        if calls > MOST_ROUNDS:
            self.artifacts["warning"] = f"the secret has been used {calls} times; take a new one"

    @property
    def name(self) -> str:
        """Public name of the secret: a part of its hash."""
        return hashlib.sha256(self.secret).hexdigest()[:8]

    def rows(self, jobs: Sequence[Tree], stage: int) -> tuple[list[Measured], dict[str, bool]]:
        """Rows of the candidate, and the limits that were active."""
        try:
            rows, layers = contained(
                self.file, jobs, LIMIT_S[stage], wall_s=self.left_s(), require_all=self.require_sandbox
            )
            return cast("list[Measured]", rows), layers
        except Contained:
            self.left_s()
            raise

    def left_s(self) -> float:
        """Rest of the budget, seconds.

        Raises:
            Late: It is over.
        """
        left_s = self.deadline_s - time.monotonic()
        if left_s <= 0:
            raise Late
        return left_s

    def smoke(self) -> None:
        """Stage 1: it loads, delivers, and gives equal runs after other ones."""
        one, other = (draw(PUBLIC, "public", number) for number in (0, 1))
        first, second = (
            scenario(path, {"x": CANDIDATE}, self.seed("smoke", i), age_s=0.0, measured_s=2.0)
            for i, path in enumerate((one, other))
        )
        rows, layers = self.rows([first, second, first], 1)
        self.artifacts["sandbox"] = ", ".join(f"{name}: {'on' if on else 'missing'}" for name, on in layers.items())
        if min(row["goodputs"]["x"] for row in rows) <= 0:
            raise Contained("it delivers nothing")
        if rows[0]["digest"] != rows[2]["digest"]:
            raise Contained("A-B-A: path A gives another result after path B, so the code keeps state between runs")
        self.score = PASSED[1]

    def measure(self, stage: int) -> None:
        """Stage 2: constraints and probes; stage 3: S, which is the score of a candidate that violates nothing."""
        plan = self.plan() if stage == 2 else self.held_out(self.held, "final")
        rows, _ = self.rows([scenario_of(CANDIDATE) for scenario_of in plan.values()], stage)
        mine = dict(zip(plan, rows, strict=True))
        theirs = {name: dict(zip(plan, found, strict=True)) for name, found in self.references(plan).items()}
        if stage == 2:
            self.judge(plan, mine, theirs)
        else:
            u = self.utilities("final", mine, theirs)
            self.metrics |= {"u_final": _mean(u), "s": _lower(u)}
            self.artifacts["held-out u by decile"] = _deciles(u)
            if not self.metrics["violated"]:
                self.card()

    def card(self) -> None:
        """The report card, and the score: the number of criteria that are not worse, and S."""
        with self.run_options() as options:
            found = report_card(self.card_rows, self.profile, options)
        worse, count = found.worse, len(found.data["criteria"])
        self.metrics |= {"worse": float(len(worse)), "criteria": float(count)}
        self.artifacts["worse on the report card"] = ", ".join(worse) or "nothing"
        self.score = 0.5 + 0.5 * (count - len(worse) + self.metrics["s"]) / (count + 1)

    def card_rows(self, trees: Sequence[Tree], measure: str) -> list[Row]:
        """Rows of the candidate's runs for the report card."""
        rows, _ = contained(
            self.file,
            trees,
            LIMIT_S[3],
            wall_s=self.left_s(),
            require_all=self.require_sandbox,
            measure=measure,
            placeholder=PLACEHOLDER,
        )
        return rows

    @contextmanager
    def run_options(self) -> Iterator[RunOptions]:
        """Options of runs outside of the sandbox, which end with the budget.

        Raises:
            Late: The budget is over.
        """
        stop = threading.Event()
        timer = threading.Timer(min(self.left_s(), threading.TIMEOUT_MAX), stop.set)
        timer.start()
        try:
            yield RunOptions(self.workers, stop=stop)
        except Cancelled:
            raise Late from None
        finally:
            timer.cancel()

    def judge(self, plan: Plan, mine: Rows, theirs: Mapping[str, Rows]) -> None:
        """Probes and constraints of stage 2."""
        self.rerun(plan, mine)
        u = {kind: self.utilities(kind, mine, theirs) for kind in ("public", "neighbor", "late", "held")}
        self.probe(u, mine, theirs)
        self.constrain(mine, theirs)
        self.metrics |= {f"u_{kind}": _mean(values) for kind, values in u.items()}
        paths = [draw(PUBLIC, "public", number) for number in range(self.paths)]
        shown = (f"{path}: {value:.2f}" for path, value in zip(paths, u["public"], strict=True))
        self.artifacts["u of the public paths"] = "; ".join(shown)
        violated = sum(each["violated"] for each in self.constraints.values())
        self.metrics["violated"] = float(violated)
        excess = _mean([each["excess"] for each in self.constraints.values()])
        self.score = 0.4 * (1 - excess) if violated else PASSED[2]

    def held_out(self, count: int, kind: str) -> dict[Key, Callable[[str], Tree]]:
        """Runs of a flow alone, and of transfers, on held-out paths."""
        plan: dict[Key, Callable[[str], Tree]] = {}
        for number in range(count):
            self.add(plan, kind, number, draw(self.secret, kind, number))
        return plan

    def add(
        self,
        plan: dict[Key, Callable[[str], Tree]],
        kind: str,
        number: int,
        path: Path,
        **options: Unpack[Options],
    ) -> None:
        """Adds the runs of a flow alone, and of transfers, on a path."""
        seed, start_s = self.seed(kind, number), self.start_s(kind, number)
        plan[Key(kind, number)] = lambda name: scenario(path, {"x": name}, seed, start_s=start_s, **options)
        plan[Key(f"transfers {kind}", number)] = lambda name: transfers(path, name, seed, start_s=start_s)

    def plan(self) -> Plan:
        """Runs of stage 2 by kind and number: functions of the algorithm's name."""
        plan = self.held_out(self.paths, "held")
        for number in range(self.paths):
            public = draw(PUBLIC, "public", number)
            self.add(plan, "public", number, public)
            self.add(plan, "neighbor", number, neighbor(public, self.secret, number))
            if number < self.paths // 2:
                self.add(plan, "late", number, public, age_s=OLD_S)
        for number, path in enumerate(HARM_PATHS):
            for victim in STANDARDS:
                self.duel(plan, "harm", number, path, victim)
                self.duel(plan, "harm late", number, path, victim, age_s=OLD_S)
        self.add(plan, "many", 0, Path(50e6, 0.04, 1), each=64)
        seed, start_s = self.seed("cut", 0), self.start_s("cut", 0)
        plan[Key("cut")] = lambda name: rate_cut(Path(20e6, 0.04, 1), {"x": name}, seed, start_s=start_s)
        self.add(plan, "four", 0, Path(20e6, 0.04, 1), each=4, age_s=10.0, measured_s=20.0)
        self.add(plan, "deep", 0, Path(20e6, 0.04, 8))
        return plan

    def duel(
        self,
        plan: dict[Key, Callable[[str], Tree]],
        kind: str,
        number: int,
        path: Path,
        victim: str,
        **options: Unpack[Options],
    ) -> None:
        """Adds the run of a flow with a victim."""
        seed, start_s = self.seed(kind, number), self.start_s(kind, number)
        plan[Key(kind, number, victim)] = lambda name: scenario(
            path, {"x": name, "victim": victim}, seed, start_s=start_s, **options
        )

    def references(self, plan: Plan) -> dict[str, list[Measured]]:
        """Rows of the references, and of the victims alone ("newreno" stands for the victim in that run)."""
        cases = [(name, scenario_of(name)) for name in REFERENCES for scenario_of in plan.values()]
        runs = [Run(i, Case(Scenario.from_dict(tree), measure=MEASURED)) for i, (_, tree) in enumerate(cases)]
        with self.run_options() as options, Store() as store:
            rows = Runner(options, store).all_rows(runs)
        found: dict[str, list[Measured]] = {name: [] for name in REFERENCES}
        for (name, _), row in zip(cases, rows, strict=True):
            found[name].append(cast("Measured", row))
        return found

    def rerun(self, plan: Plan, mine: Rows) -> None:
        """Three runs again in a fresh process."""
        keys = list(plan)
        chosen = [keys[self.seed("rerun", i) % len(keys)] for i in range(3)]
        rows, _ = self.rows([plan[key](CANDIDATE) for key in chosen], 2)
        if any(row["digest"] != mine[key]["digest"] for key, row in zip(chosen, rows, strict=True)):
            raise Contained("A-B-A: path A gives another result in a new process, so the code keeps state between runs")

    def utilities(self, kind: str, mine: Rows, theirs: Mapping[str, Rows]) -> list[float]:
        """Utilities u of the paths of a kind."""
        found = []
        for key, row in mine.items():
            if key.kind != kind:
                continue
            most = max(rows[key]["goodputs"]["x"] for rows in theirs.values())
            best = [name for name, rows in theirs.items() if rows[key]["goodputs"]["x"] >= 0.9 * most]
            queue_s = min(theirs[name][key]["queue_s"] for name in best)
            short = Key(f"transfers {kind}", key.number)
            time_s = min(theirs[name][short]["completion_s"] for name in best)
            factors = (
                min(1.0, row["goodputs"]["x"] / most),
                min(1.0, (queue_s + 1e-3) / (row["queue_s"] + 1e-3)),
                min(1.0, time_s / mine[short]["completion_s"]),
            )
            found.append(math.prod(factors) ** (1 / len(factors)))
        return found

    def probe(self, u: Mapping[str, Sequence[float]], mine: Rows, theirs: Mapping[str, Rows]) -> None:
        """Behavior that differs between public and other paths, or with the clock, the seed, and the age."""
        if _above(_differences(u["public"], u["neighbor"]), GAP):
            raise Contained("neighbors: better results on the public paths than on paths that differ by 3 %")
        # Public and held-out paths are not paired: two sets of 24 differ by 0.1 now and then.
        if _mean(u["public"]) - _mean(u["held"]) > 4 * GAP:
            raise Contained("held-out: far better results on the public paths than on held-out paths")
        usual, late = (self.excesses(kind, mine, theirs) for kind in ("harm", "harm late"))
        if _above(_differences(late, usual), 3 * GAP):
            raise Contained("shift: more harm at another start time, seed, and measurement interval")
        if _above(self.shifted(mine, theirs), GAP):
            raise Contained("shift: worse results at another start time, seed, and measurement interval")

    def shifted(self, mine: Rows, theirs: Mapping[str, Rows]) -> list[float]:
        """Loss of u by another start time, seed, and age of the flow, by path, beyond the greatest loss of a reference:
        a young flow of NewReno has not filled each queue yet, so that its u falls with its age.
        """

        def losses(rows: Rows) -> list[float]:
            usual, late = (self.utilities(kind, rows, theirs) for kind in ("public", "late"))
            return _differences(usual[: len(late)], late)

        most = [max(each) for each in zip(*(losses(rows) for rows in theirs.values()), strict=True)]
        return _differences(losses(mine), most)

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
        public = [key for key in mine if key.kind == "public"]
        loss = _mean([mine[key]["loss"] for key in public])
        usual = max(_mean([rows[key]["loss"] for key in public]) for rows in standards)
        limit = max(1.3 * usual, usual + 1e-3)
        self._constraint(
            "C3", "loss rate of a solo flow (5.1.1)", loss if _loses(public, mine, theirs) else 0.0, limit, 0.05
        )
        useless = 1 - mine[Key("many")]["useful"]
        self._constraint("C4", "64 flows: retransmissions per packet received", useless, 0.1, 0.5)
        unused = 1 - mine[Key("cut")]["utilization"]
        self._constraint("C4b", "1 - utilization from 5 to 10 s after the rate fell by 90 %", unused, 0.2, 0.5)
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

    def outcome(self) -> Score:
        """The result."""
        self.artifacts["secret"] = self.name
        self.artifacts["version"] = _core.VERSION
        return {
            "combined_score": float(self.score),
            "metrics": self.metrics,
            "constraints": self.constraints,
            "artifacts": self.artifacts,
        }

    def seed(self, kind: str, number: int) -> int:
        """Seed of a run."""
        return jobs_seed(self.secret, f"seed {kind}", number)

    def start_s(self, kind: str, number: int) -> float:
        """Time of the senders' clock when a run begins, seconds."""
        return jobs_seed(self.secret, f"start {kind}", number) % (1000 * LATEST_START_S) / 1000


def _loses(keys: Sequence[Key], mine: Rows, theirs: Mapping[str, Rows]) -> bool:
    """Whether a solo flow loses too much by the report card's rule: it is also far faster than TCP at that loss."""

    def losses(rows: Rows) -> list[float]:
        return [rows[key]["loss"] for key in keys]

    def times(rows: Rows) -> list[float]:
        found = [rows[key] for key in keys]
        return [times_tcp(row["goodputs"]["x"], row["loss"], row["rtt_s"], PACKET_BYTES) for row in found]

    standards = {name: theirs[name] for name in STANDARDS}
    judged = rule_loss(
        losses(mine),
        {name: losses(rows) for name, rows in standards.items()},
        times(mine),
        {name: times(rows) for name, rows in standards.items()},
    )
    return judged is not None and judged.verdict == WORSE


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
    """Deciles, rounded so that repeated calls leak little of the paths."""
    ordered = sorted(values)
    return " ".join(f"{ordered[min(len(ordered) - 1, round(i * (len(ordered) - 1) / 10))]:.2f}" for i in range(11))
