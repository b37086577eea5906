"""Processor time per packet of this tree against another revision: alternating pairs of runs, and their median ratio.

``python -m benchmarks.speed.against REVISION [--case NAME ...] [--rounds N] [--python PATH] [--gate]`` builds the bare
engine (`crates/sim/examples/run.rs`) of REVISION, in a separate worktree under ``out/speed``, and of this tree; both
without profile-guided optimization. The two programs take turns, so that other load slows both. A ratio below 1 is
faster than REVISION.

``--python PATH`` adds a column for an installed release: PATH is a Python with its wheel, which is optimized with a
profile (`release/optimization.py`). Start-up and imports are measured with an empty run and subtracted. ``--gate``
exits with status 1 where a median is above the limit of its case. ``out/speed/against.json`` keeps the ratios.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from .instructions import build_engine
from .measure import keep, shortened, spend

__all__ = ["CASES", "Case"]

ROOT = Path(__file__).parents[2]
OUT = ROOT / "out/speed"


@dataclass(frozen=True)
class Case:
    """A scenario of this directory, shortened and edited.

    Attributes:
        scenario: Name of the file without its ending.
        duration_s: Simulated seconds.
        limit: Largest ratio that ``--gate`` accepts.
        edits: Pairs of a line's text and its replacement.
    """

    scenario: str
    duration_s: float
    limit: float
    edits: tuple[tuple[str, str], ...] = ()

    def text(self) -> str:
        """The scenario as TOML.

        Raises:
            ValueError: The file lacks a text that is to be replaced.
        """
        text = shortened(self.scenario, self.duration_s)
        for old, new in self.edits:
            if old not in text:
                raise ValueError(f"{self.scenario}.toml: no {old!r}")
            text = text.replace(old, new)
        return text


RUN = "import fullpipe, sys; print('data_packets', fullpipe.run(sys.argv[1]).to_dict()['totals']['data_packets'])"
RENO = 'algorithm = "reno"\nrecovery = "sack"'
QUEUE = 'queue = "drop-tail"'


def _algorithm(name: str, limit: float) -> Case:
    return Case("hundred-flows", 10, limit, ((RENO, f'algorithm = "{name}"'),))


def _queue(name: str) -> Case:
    return Case("hundred-flows", 10, 1.15, ((QUEUE, f'queue = "{name}"'),))


CASES = {
    "one flow": Case("one-flow", 200, 1.0),
    "hundred flows": Case("hundred-flows", 15, 0.9),
    "web": Case("web", 15, 0.95),
    "10,000 flows": Case("ten-thousand-flows", 4, 0.95),
    "three links": Case("three-links", 30, 0.95),
    "cubic": _algorithm("cubic", 1.0),
    "bbr": _algorithm("bbr", 0.75),
    "bbr3": _algorithm("bbr3", 0.75),
    "copa": _algorithm("copa", 0.75),
    "prague": _algorithm("prague", 0.85),
    "10 % loss": Case(
        "one-flow",
        200,
        0.6,
        ((RENO, 'algorithm = "bbr"\nrecovery = "rack"'), (QUEUE, f"{QUEUE}\nloss = 0.1")),
    ),
    "fq-codel": _queue("fq-codel"),
    "codel": _queue("codel"),
    "pie": _queue("pie"),
    "dualpi2": _queue("dualpi2"),
}
"""The cases that users run most, with the limits of ``--gate`` against commit 48e67e8."""


def main() -> int:
    """Build, run in turns, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revision", help="git revision to compare with")
    parser.add_argument("--case", action="append", choices=list(CASES), help="case to run; default: all")
    parser.add_argument("--rounds", type=int, default=9, help="pairs of runs per case; default: 9")
    parser.add_argument("--python", type=Path, help="Python with an installed wheel to measure as well")
    parser.add_argument("--gate", action="store_true", help="exit with status 1 where a case exceeds its limit")
    arguments = parser.parse_args()
    programs = [[str(_build_revision(arguments.revision))], [str(build_engine(ROOT, OUT / "this")[0])]]
    if arguments.python:
        programs.append([str(arguments.python), "-c", RUN])
    print(f"{'case':<14} {'ratio':>7} {'least':>7} {'most':>7} {'limit':>7}{'wheel':>11}")
    records, slow = [], []
    for name in arguments.case or CASES:
        case = CASES[name]
        costs = _costs(programs, case, arguments.rounds)
        ratios = [now / base for base, now, *_ in costs]
        optimized = median(more[0] / base for base, _, *more in costs) if arguments.python else None
        records.append({"case": name, "ratio": median(ratios), "limit": case.limit, "optimized": optimized})
        slow += [name] if median(ratios) > case.limit else []
        last = f"{optimized:>11.3f}" if optimized else ""
        print(
            f"{name:<14} {median(ratios):>7.3f} {min(ratios):>7.3f} {max(ratios):>7.3f} {case.limit:>7}{last}",
            flush=True,
        )
    if not arguments.case:
        keep("against", {"revision": arguments.revision, "rounds": arguments.rounds, "cases": records})
    if slow:
        print(f"above the limit: {', '.join(slow)}", file=sys.stderr)
    return 1 if slow and arguments.gate else 0


def _build_revision(revision: str) -> Path:
    """The bare engine of a revision. Its worktree stays for the next call."""
    found = subprocess.run(
        ["git", "rev-parse", "--verify", f"{revision}^{{commit}}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if found.returncode != 0:
        raise SystemExit(f"against: unknown revision {revision!r}")
    commit = found.stdout.strip()
    tree = OUT / f"tree-{commit[:12]}"
    if not tree.exists():
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", str(tree), commit], cwd=ROOT, check=True)
    return build_engine(tree, OUT / commit[:12])[0]


def _costs(programs: list[list[str]], case: Case, rounds: int) -> list[list[float]]:
    """Seconds of processor time per data packet, of each program, for each round."""
    with tempfile.TemporaryDirectory() as directory:
        file, empty = Path(directory) / "case.toml", Path(directory) / "empty.toml"
        file.write_text(case.text(), encoding="utf-8")
        empty.write_text(replace(case, duration_s=1e-3).text(), encoding="utf-8")
        return [[_seconds_per_packet(program, file, empty) for program in programs] for _ in range(rounds)]


def _seconds_per_packet(program: list[str], scenario: Path, empty: Path) -> float:
    start_up_s, _ = spend(program, empty)
    spent_s, packets = spend(program, scenario)
    return (spent_s - start_up_s) / packets


if __name__ == "__main__":
    sys.exit(main())
