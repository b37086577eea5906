"""Test cases of the report card: runs, metrics, and rules."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from fullpipe.experiments.evaluate.preset import STANDARDS, Party, Tree
from fullpipe.metrics import AXES, metric

__all__ = [
    "ALWAYS",
    "CANDIDATE",
    "DEPLOYED",
    "FULL",
    "SECONDS",
    "STANDARD",
    "Beside",
    "Call",
    "Camps",
    "Cell",
    "Metric",
    "Role",
    "Rule",
    "Setting",
]

ALWAYS, STANDARD, FULL = 0, 1, 2
"""Lowest profile that runs a configuration: quick, standard, or full."""

DEPLOYED = (Party("bbr", "bbr"), Party("bbr3", "bbr3"))
"""Deployed algorithms without a standard. Harm to them is shown and not judged."""

SECONDS = ("s", 1.0)
"""Unit and factor of times that are shown in seconds."""

CANDIDATE = "candidate"
"""Label of the algorithm that is judged."""


@dataclass(frozen=True)
class Role:
    """Role of a run: whose flows it has.

    Attributes:
        other: Label of the algorithm that is measured; with a victim, of its competitor. Empty for a victim solo.
        victim: Label of the algorithm that harm is done to; empty if no harm is judged.
    """

    other: str
    victim: str = ""

    def __str__(self) -> str:
        if not self.victim:
            return self.other
        return f"{self.victim} versus {self.other}" if self.other else f"{self.victim} solo"


class Rule(StrEnum):
    """Rule that gives a verdict."""

    HARM = "harm"
    RATIO = "ratio"
    LIMIT = "limit"
    NONE = "none"


CALL = Party("call", "")
"""Victim in test cases with real-time traffic, which has no congestion control."""


@dataclass(frozen=True)
class Metric:
    """A metric of a run. Title, unit, and scale come from the registry of metrics.

    Attributes:
        key: Column in the row of a run (`measure.MEASURES`).
        kind: Comparison by rule R, one of `rules.KINDS`; for rule H "more" or "less".
        of: Flows or traffic that the title names, for example "long flows".
        shown_in: Unit and factor if they differ from the registry's, for example ``("s", 1.0)`` in place of ms.
        limit: Largest value that the rule "limit" allows.
        informs: Whether the metric is shown without a verdict.
        senders: For a loss rate, the group of flows that lose these packets.
    """

    key: str
    kind: str
    of: str = ""
    shown_in: tuple[str, float] | None = None
    limit: float | None = None
    informs: bool = False
    senders: str = ""

    def title(self, victim: str = "", *, harm: bool = False) -> str:
        """Title for readers, for example "Goodput harm to cubic" or "Goodput of long flows"."""
        name = metric(self.key).title + (" harm" if harm else "") + (f" of {self.of}" if self.of else "")
        if not victim:
            return name
        return f"{name} to {victim}" if harm else f"{name}, victim {victim}" if self.of else f"{name} of {victim}"

    @property
    def unit(self) -> str:
        """Unit of shown values; empty for counts and indices."""
        return self._shown[0]

    @property
    def scale(self) -> float:
        """Factor from the value in a row to the shown value."""
        return self._shown[1]

    @property
    def _shown(self) -> tuple[str, float]:
        if self.shown_in is not None:
            return self.shown_in
        of_registry = metric(self.key)
        if of_registry.percent:
            return "%", 100.0
        size, unit = AXES.get(of_registry.unit, (1.0, of_registry.unit))
        return "" if unit == "1" else unit, 1 / size


@dataclass(frozen=True, eq=False)
class Setting:
    """Network configuration of a test case.

    Attributes:
        name: Name within the test case.
        tree: Function that makes the scenario from the algorithm; for harm, from the victim and its competitor (None:
            solo).
        level: Lowest profile that runs it.
        equal_bps: For harm, the equal share of all victims together.
        without: Keys of the test case's metrics that its runs do not have.
    """

    name: str
    tree: Callable[..., Tree]
    level: int = STANDARD
    equal_bps: float | None = None
    without: Collection[str] = ()


@dataclass(frozen=True, eq=False)
class Cell:
    """Test case in which one algorithm's metrics are judged, by rule R or against a limit.

    Attributes:
        id: Name.
        criteria: Sections of RFC 9743.
        title: Common description of all configurations, in one line.
        settings: Network configurations.
        metrics: Metrics. In `Beside`, the first metric gives the verdict, and the others can only make it worse.
        measure: Name of a function in `measure.MEASURES`.
        missing: Reason why the test case cannot run; empty if it can.
        note: Remark for readers.
    """

    id: str
    criteria: Sequence[str]
    title: str
    settings: Sequence[Setting] = ()
    metrics: Sequence[Metric] = ()
    measure: str = "metrics"
    missing: str = ""
    note: str = ""

    def roles(self, setting: Setting, candidate: Party, _deployed: bool) -> Mapping[Role, Tree]:
        """Scenarios of a configuration, by role."""
        return {
            Role(CANDIDATE): setting.tree(candidate),
            **{Role(standard.label): setting.tree(standard) for standard in STANDARDS},
        }


@dataclass(frozen=True, eq=False)
class Beside(Cell):
    """Test case in which harm to others is judged, by rule H."""

    settings: Sequence[Setting] = field(default=())

    def roles(self, setting: Setting, candidate: Party, deployed: bool) -> Mapping[Role, Tree]:
        """Scenarios with each victim solo, versus the candidate, and versus each standard."""
        roles: dict[Role, Tree] = {}
        for victim in self.victims(deployed):
            roles[self.unharmed(victim)] = self.unharmed_tree(setting, victim)
            roles[Role(CANDIDATE, victim.label)] = setting.tree(victim, candidate)
            for standard in STANDARDS:
                roles[Role(standard.label, victim.label)] = setting.tree(victim, standard)
        return roles

    @staticmethod
    def victims(deployed: bool) -> Sequence[Party]:
        """Algorithms that harm is done to."""
        return (*STANDARDS, *DEPLOYED) if deployed else STANDARDS

    def unharmed(self, victim: Party) -> Role:
        """Role with which harm is compared: the victim solo."""
        return Role("", victim.label)

    def unharmed_tree(self, setting: Setting, victim: Party) -> Tree:
        """Scenario of that role."""
        return setting.tree(victim, None)


@dataclass(frozen=True, eq=False)
class Call(Beside):
    """Test case with harm to a call: its delays by rule H, its losses by rule R. A call solo has no losses, so that
    harm to them would always be 1.
    """

    @staticmethod
    def victims(_deployed: bool) -> Sequence[Party]:
        """The call."""
        return (CALL,)


@dataclass(frozen=True, eq=False)
class Camps(Beside):
    """Test case with harm to one of two camps, compared with that camp versus its own algorithm: MIX and BASELINE of
    draft-irtf-iccrg-tcpeval-01, section 6.1. Metrics without a verdict are ratios to the BASELINE.
    """

    def unharmed(self, victim: Party) -> Role:
        """Role with the victim in both camps. For a standard, it is one of the roles versus standards."""
        return Role(victim.label, victim.label)

    def unharmed_tree(self, setting: Setting, victim: Party) -> Tree:
        """Scenario with the victim in both camps."""
        return setting.tree(victim, victim)
