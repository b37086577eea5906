"""Table of the museum: each public failure, and the checks that catch it.

python examples/museum/table.py [SEEDS]        prints Markdown
python examples/museum/table.py --cards NAME   prints the test cases of report cards that show a fault of a controller
python examples/museum/table.py --plots DIR    plots the windows of each fault and of the controller without it
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import fullpipe
from fullpipe.custom.arguments import as_algorithm
from fullpipe.experiments.check import Checked, Suite

HERE = Path(__file__).parent
SOURCES = {"quinn": "quinn-rs", "zquic": "zigstack", "quicly": "h2o", "quiche": "cloudflare", "gvisor": "google"}
SOURCES |= {"noq": "n0-computer", "picoquic": "private-octopus", "s2n-quic": "aws", "xquic": "alibaba"}
SOURCES |= {"freenet-core": "freenet", "rfc8312bis": "NTAP", "msquic": "microsoft"}


CARD_SEEDS = 3
"""Runs of each configuration of a report card."""


class Entry(NamedTuple):
    """A public failure.

    Attributes:
        number: Number of the entry, and id of its check in the suite where it has one.
        issue: Project and number of the issue or pull request.
        what: The fault, in a few words.
        controller: File of the museum with this fault, and its class if there are several: ``quic:NewReno``.
        fault: Value of its parameter ``fault``.
        rules: Rules of `fullpipe.conform` that apply to the controller; None without such rules.
        rule: One of them that reports the fault; None if its check in the suite reports it.
    """

    number: str
    issue: str
    what: str
    controller: str
    fault: int
    rules: str | None = None
    rule: str | None = None

    def algorithm(self, *, fault: bool) -> dict[str, Any]:
        """The controller with or without its fault."""
        return algorithm(self.controller, self.fault if fault else 0)

    def broken(self, *, fault: bool) -> tuple[str, ...]:
        """Rules of `fullpipe.conform` that the controller breaks."""
        return () if self.rules is None else broken(self.controller, self.fault if fault else 0, self.rules)

    @property
    def reference(self) -> str:
        """Built-in algorithm that the controller implements."""
        return {"bbr": "bbr3", "ledbat": "ledbat++", "quic:NewReno": "newreno"}.get(self.controller, self.controller)

    @property
    def link(self) -> str:
        """Link to the issue."""
        project, number = self.issue.split("#")
        return f"[{self.issue}](https://github.com/{SOURCES[project]}/{project}/issues/{number})"


ENTRIES = (
    Entry("01", "quinn#2640", "CUBIC: beta is applied to the already reduced W_max", "cubic", 15, "rfc9438", "C15"),
    Entry("02", "zquic#175", "any ACK ends recovery, so that every loss of a round trip cuts the window", "newreno", 2),
    Entry("03", "quicly#679", "CUBIC: K does not count fast convergence", "cubic", 14, "rfc9438", "C14"),
    Entry("04", "quiche#2370", "CUBIC: an empty flight at a small window is taken for idle", "cubic", 25, "rfc9438"),
    Entry("05", "gvisor#14102", "a spurious loss is detected, and the window is not restored", "newreno", 5),
    Entry("06", "quiche#1411", "CUBIC: a few real losses are taken for spurious ones", "cubic", 20, "rfc9438", "C20"),
    Entry("07", "noq#800", "the pacing rate stays at initial window / 1 ms", "bbr", 7, "bbr"),
    Entry("08", "quiche#2698", "ProbeRTT cannot end if half of a BDP is below the floor", "bbr", 8, "bbr", "B10"),
    Entry("09", "freenet-core#2697", "BBR: a timeout makes the least RTT infinite, and the BDP 0", "bbr", 9, "bbr"),
    Entry("10", "picoquic#1485", "the window grows while the sender does not use it", "newreno", 10),
    Entry("11", "s2n-quic#458", "the first ACK of a batch alone grows the window", "newreno", 11),
    Entry("12", "s2n-quic#1326", "pacing delay is taken for an application limit", "newreno", 12),
    Entry("13", "s2n-quic#1697", "BBR: the plateau of Startup is growth below 4/3, not 5/4", "bbr", 13, "bbr", "S17"),
    Entry("14", "xquic#552", "BBR: the target of the next round wraps", "bbr", 14, "bbr"),
    Entry("15", "freenet-core#2532", "LEDBAT++: a slowdown in every round trip of a long path", "ledbat", 15),
    Entry("16", "freenet-core#2510", "LEDBAT++: the ramp after a slowdown ends at the target delay", "ledbat", 16),
    Entry("17", "xquic#729", "CE counts are ignored", "newreno", 17),
    Entry("18", "quiche#2680", "persistent congestion is ignored", "newreno", 18),
    Entry("21", "picoquic#1754", "CUBIC: no W_max where a queue ends slow start", "cubic", 23, "rfc9438", "C23"),
    Entry("22", "picoquic#439", "NewReno grows one byte per round trip", "newreno", 22),
    Entry("23", "quinn#2798", "BBR: a gain is compared with bytes: Startup's guard is always true", "bbr", 23, "bbr"),
    Entry("24", "picoquic#1547", "BBR: application-limited samples replace larger ones", "bbr", 24, "bbr"),
    Entry("26", "quinn#2481", "BBR: packets of one loss count as separate losses in Startup", "bbr", 102, "bbr", "B02"),
    Entry("27", "rfc8312bis#23", "CUBIC: one late sample ends slow start", "cubic", 27, "rfc9438"),
    Entry("28", "msquic#2231", "persistent congestion cuts the threshold twice", "quic:NewReno", 28, "rfc9002", "N14"),
)  # fmt: skip


class Caught(NamedTuple):
    """Reports on a controller with or without a fault.

    Attributes:
        conform: Rules that it breaks.
        check: Its check in the suite; None without one.
    """

    conform: tuple[str, ...]
    check: Checked | None

    @property
    def reported(self) -> bool:
        """Whether anything is reported."""
        return bool(self.conform) or (self.check is not None and self.check.verdict == "worse")


def checked(entry: Entry, suite: Suite, *, fault: bool, cache: str | None = None) -> Checked | None:
    """Runs the check of an entry; None without one."""
    checks = tuple(each for each in suite.checks if each.id == entry.number)
    if not checks:
        return None
    changed: Mapping[str, Any] = {**suite.controllers, entry.controller: entry.algorithm(fault=fault)}
    (found,) = fullpipe.check(replace(suite, checks=checks, controllers=changed), cache=cache).checks
    return found


def caught(entry: Entry, suite: Suite, *, fault: bool) -> Caught:
    """Runs the rules and the check of an entry."""
    return Caught(entry.broken(fault=fault), checked(entry, suite, fault=fault))


def algorithm(controller: str, fault: int) -> dict[str, Any]:
    """A controller of the museum; fault 0 for the right one."""
    file, _, kind = controller.partition(":")
    return {"name": as_algorithm(f"{HERE / file}.py" + (kind and f":{kind}")), "fault": fault}


@functools.cache
def broken(controller: str, fault: int, rules: str) -> tuple[str, ...]:
    """Rules that a controller breaks. Entries share the right ones."""
    found = fullpipe.conform(algorithm(controller, fault), rules)
    return tuple(each.rule.id for each in found.rules if each.verdict == "fail")


def compared(entry: Entry, suite: Suite, *, fault: bool) -> str:
    """Verdict of `fullpipe.compare` on the metric of an entry, against the built-in algorithm. Entries without a check
    take the goodput with random losses.
    """
    place, metric = next(
        ((each.scenario, each.metric) for each in suite.checks if each.id == entry.number), ("losses", "goodput_bps")
    )
    algorithm = entry.algorithm(fault=fault)
    scenario = suite.templates[place].scenario(algorithm).set({"flows.recovery": "rack"})
    found = fullpipe.compare(scenario, [entry.reference, algorithm], seeds=suite.seeds).compare(entry.reference)
    (verdict,) = (each["verdict"] for each in found.to_pylist() if each["metric"] == metric)
    return str(verdict)


@functools.cache
def worse_cells(controller: str, fault: int) -> frozenset[str]:
    """Test cases of the report card with the verdict "worse". Faults share the right controllers."""
    card = fullpipe.evaluate(algorithm(controller, fault), seeds=CARD_SEEDS).to_dict()
    cells = [cell for criterion in card["criteria"] for cell in criterion.get("experiments", ())]
    return frozenset(cell["id"] for cell in cells if cell["verdict"] == "worse")


def card_rows(controller: str) -> Iterator[str]:
    """Rows of the table of report cards, for the faults of a controller."""
    for entry in ENTRIES:
        if entry.controller == controller:
            found = sorted(worse_cells(controller, entry.fault) - worse_cells(controller, 0))
            yield f"| {int(entry.number)} | {', '.join(found) or 'none'} |"


def rows(seeds: int) -> Iterator[str]:
    """Rows of the table."""
    suite = replace(Suite.load(HERE / "suite.toml"), seeds=seeds, max_seeds=seeds)
    yield "| # | source | fault | `conform` | `check` | `compare` | metric | without the fault | with the fault |"
    yield "|---|---|---|---|---|---|---|---:|---:|"
    for entry in ENTRIES:
        worse = [compared(entry, suite, fault=fault) == "worse" for fault in (False, True)]
        shown = {(False, True): "worse", (True, True): "worse in both"}.get(tuple(worse), "")
        right, wrong = caught(entry, suite, fault=False), caught(entry, suite, fault=True)
        assert not right.reported, entry
        if wrong.check is not None and right.check is not None:
            _, metric, _, now, _ = wrong.check.cells()
            verdict, good = wrong.check.verdict, right.check.cells()[3]
        else:
            verdict, metric, good, now = "", "", "", ""
        rules = ", ".join(wrong.conform)
        found = f"{rules} | {verdict} | {shown} | {metric} | {good} | {now}"
        yield f"| {int(entry.number)} | {entry.link} | {entry.what} | {found} |"


def plot(folder: Path) -> None:
    """Plots the windows with and without each fault. Entries without a check take the scenario of random losses."""
    suite = Suite.load(HERE / "suite.toml")
    scenarios = {check.id: check.scenario for check in suite.checks}
    for entry in ENTRIES:
        template = suite.templates[scenarios.get(entry.number, "losses")]
        both = [entry.algorithm(fault=fault) for fault in (False, True)]
        scenario = template.scenario(both[0]).replace(series_interval="50 ms")
        fullpipe.compare(scenario, both, seeds=1).plot(folder / f"{entry.number}.svg")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--cards"]:
        for row in card_rows(sys.argv[2]):
            print(row, flush=True)
        sys.exit()
    if sys.argv[1:2] == ["--plots"]:
        plot(Path(sys.argv[2]))
        sys.exit()
    for row in rows(int(sys.argv[1]) if len(sys.argv) > 1 else 20):
        print(row)
