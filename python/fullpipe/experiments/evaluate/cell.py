"""A cell of the card: what is run, what is measured of it, and by which rule it is judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from fullpipe.experiments.evaluate.preset import STANDARDS, Party, Tree

__all__ = [
    "ALWAYS",
    "CANDIDATE",
    "DEPLOYED",
    "FULL",
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
"""From which profile on a setting is run: quick, standard, full."""

DEPLOYED = (Party("bbr", "bbr"), Party("bbr3", "bbr3"))
"""Deployed but not standardized: what is done to them is reported, and never a bar."""

CANDIDATE = "candidate"
"""Label of the algorithm that is judged."""


@dataclass(frozen=True)
class Role:
    """Role of a run: whose flows it has.

    Attributes:
        other: Label of the party that is measured; with a victim, of the party that competes with it. Empty for a
            victim without a competitor.
        victim: Label of the party that harm is done to; empty where no harm is judged.
    """

    other: str
    victim: str = ""

    def __str__(self) -> str:
        """The role as text, for tables and file names."""
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
"""Real-time traffic without congestion control, where it is what harm is done to."""


@dataclass(frozen=True)
class Metric:
    """A figure of a run.

    Attributes:
        key: What `measure` calls it.
        title: What readers call it.
        kind: How rule R compares it; for rule H "more" or "less".
        unit: Of the figure as shown.
        scale: What the figure is multiplied with to be in that unit.
        limit: For the rule "limit": how much is allowed.
        informs: It is shown and not judged.
        senders: Of a loss: whose own it is, by the name of the group that alone crosses the link.
    """

    key: str
    title: str
    kind: str
    unit: str = ""
    scale: float = 1.0
    limit: float | None = None
    informs: bool = False
    senders: str = ""


@dataclass(frozen=True, eq=False)
class Setting:
    """A network with parties in it.

    Attributes:
        name: What tells it from the cell's others.
        tree: The scenario, from the party that is judged; where harm is, from the victim and who is beside it (None:
            nobody).
        level: From which profile on it is run.
        equal_bps: Where harm is judged: the equal share of all victims together.
    """

    name: str
    tree: Callable[..., Tree]
    level: int = STANDARD
    equal_bps: float | None = None


@dataclass(frozen=True, eq=False)
class Cell:
    """A cell of which one party's figures are judged, by rule R or against a limit.

    Attributes:
        id: Its name.
        criteria: The sections of RFC 9743 that it belongs to.
        title: What it is, in a line: what all settings have in common, since a profile runs some of them.
        settings: What is run.
        metrics: What is judged; of `Beside` the first gives the word, and the others can only make it worse.
        measure: What is measured, a name in `measure.MEASURES`.
        missing: Why it can't be run; empty where it can.
        note: What to know in reading it.
    """

    id: str
    criteria: Sequence[str]
    title: str
    settings: Sequence[Setting] = ()
    metrics: Sequence[Metric] = ()
    measure: str = "figures"
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
    """A cell of which harm to others is judged, by rule H."""

    settings: Sequence[Setting] = field(default=())

    def roles(self, setting: Setting, candidate: Party, deployed: bool) -> Mapping[Role, Tree]:
        """Each victim solo, versus the candidate, and versus each standard."""
        roles: dict[Role, Tree] = {}
        for victim in self.victims(deployed):
            roles[self.unharmed(victim)] = self.unharmed_tree(setting, victim)
            roles[Role(CANDIDATE, victim.label)] = setting.tree(victim, candidate)
            for standard in STANDARDS:
                roles[Role(standard.label, victim.label)] = setting.tree(victim, standard)
        return roles

    @staticmethod
    def victims(deployed: bool) -> Sequence[Party]:
        """Whom harm is done to."""
        return (*STANDARDS, *DEPLOYED) if deployed else STANDARDS

    def unharmed(self, victim: Party) -> Role:
        """Role that harm is measured from: the victim solo."""
        return Role("", victim.label)

    def unharmed_tree(self, setting: Setting, victim: Party) -> Tree:
        """What is run in that role."""
        return setting.tree(victim, None)


@dataclass(frozen=True, eq=False)
class Call(Beside):
    """A cell of which harm to a call, which is no party's, is judged: harm to its delays by rule H, its losses by
    rule R, since alone it has none and harm to them would be 1 beside anything.
    """

    @staticmethod
    def victims(_deployed: bool) -> Sequence[Party]:
        """The call alone, whatever is deployed."""
        return (CALL,)


@dataclass(frozen=True, eq=False)
class Camps(Beside):
    """A cell of which harm to one of two camps is judged, from what that camp has where the other is its own kind: the
    MIX and the BASELINE of draft-irtf-iccrg-tcpeval-01, section 6.1. Figures that inform are shown as ratios to that.
    """

    def unharmed(self, victim: Party) -> Role:
        """The victim in both camps; for a standard, one of the roles versus standards."""
        return Role(victim.label, victim.label)

    def unharmed_tree(self, setting: Setting, victim: Party) -> Tree:
        """The victim in both camps."""
        return setting.tree(victim, victim)
