"""Designs of experiments: labeled scenarios, each with several seeds, in an order that numbers the runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fullpipe.errors import check_range

if TYPE_CHECKING:
    from fullpipe.runs.measure import Row
    from fullpipe.scenario import Scenario

__all__ = ["MOST_SEEDS", "Case", "Design", "Done", "Label", "Run", "check_seeds", "error_line"]

Label = str | int | float | bool | None
"""Value of a label: a cell of the column that it is in."""

MOST_SEEDS = 1000
"""Runs of a scenario, at most."""

METRICS = "fullpipe.runs.measure:metrics"
"""Function that measures all metrics of a run."""


def check_seeds(seeds: int, least: int = 2) -> None:
    """Refuses a number of seeds that is not allowed; confidence intervals need two.

    Raises:
        InputError: The number is not allowed.
    """
    check_range("seeds", seeds, least, MOST_SEEDS)


@dataclass(frozen=True)
class Case:
    """A scenario of a design.

    Attributes:
        scenario: Scenario that the case changes.
        labels: Columns that distinguish the case from the others.
        changes: Keys that it changes, as `Scenario.replace` takes them.
        measure: Function that makes a row of a run's result, as ``MODULE:FUNCTION``, so that any process can find it.
        asked: Text that identifies the run in place of the scenario; for engines that run something made of it.
    """

    scenario: Scenario
    labels: Mapping[str, Label] = field(default_factory=dict)
    changes: Mapping[str, object] = field(default_factory=dict)
    measure: str = METRICS
    asked: str | None = None


@dataclass(frozen=True)
class Run:
    """A run of a design.

    Attributes:
        number: Place in the design, from 0.
        case: The scenario.
        seed: Seed in place of the scenario's; None where the case sets it.
    """

    number: int
    case: Case
    seed: int | None = None

    @property
    def changes(self) -> dict[str, object]:
        """Keys that differ from the case's scenario, the seed included."""
        return {**self.case.changes, **({} if self.seed is None else {"seed": self.seed})}

    def scenario(self) -> Scenario:
        """The scenario that runs.

        Raises:
            ScenarioError: A change is not allowed.
        """
        changes = self.changes
        return self.case.scenario.replace(**changes) if changes else self.case.scenario


@dataclass(frozen=True)
class Design:
    """Cases times seeds. Runs are numbered from 0; the seed changes fastest. Runs are made when they are asked for.

    Attributes:
        cases: The scenarios; may be a sequence that makes each of them when it is asked for.
        seeds: Seeds of every case, so that cases are compared under equal random choices.
    """

    cases: Sequence[Case]
    seeds: Sequence[int | None] = (None,)

    def __len__(self) -> int:
        return len(self.cases) * len(self.seeds)

    def __getitem__(self, number: int) -> Run:
        place, seed = divmod(number, len(self.seeds))
        return Run(number, self.cases[place], self.seeds[seed])

    def __iter__(self) -> Iterator[Run]:
        return (self[number] for number in range(len(self)))


@dataclass(frozen=True)
class Done:
    """A run that ended.

    Attributes:
        run: The run.
        row: The measured values; None where the run failed.
        error: Its failure; None where it succeeded.
    """

    run: Run
    row: Row | None
    error: BaseException | None = None


def error_line(error: BaseException) -> str:
    """A failure in one line."""
    return " ".join(str(error).split()) or type(error).__name__
