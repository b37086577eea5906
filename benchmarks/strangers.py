"""Measurements of others beside fullpipe: ``python -m benchmarks.strangers > reports/strangers.md``.

``reports/strangers.toml`` has the measurements with their sources, and what fullpipe is expected to give. It is
committed before this script runs: the page names its commit, and a file that differs from its commit is refused.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import fullpipe

ROOT = Path(__file__).parents[1]
FILE = "reports/strangers.toml"

SEEDS = range(1, 6)

PAYLOAD, FRAME = 1448, 1514
"""Bytes of a segment's data, and of its Ethernet frame."""


DURATION = {1: ("30 s", "0 s"), 2: ("180 s", "120 s")}
"""Duration and warmup of runs with one flow and two."""


def scenario(row: dict[str, Any]) -> fullpipe.Scenario:
    """Scenario of a measurement. The RTTs are those of private links; the bottleneck has 1 ms in each direction."""
    duration, warmup = DURATION[len(row["rtts_ms"])]
    link: dict[str, Any] = {
        "name": "l",
        "rate": f"{row['rate_mbit']} Mbit/s",
        "delay": "1 ms",
        "queue": row["queue"],
        "buffer": f"{row['packets']} packets",
    }
    if "loss" in row:
        link["loss"] = row["loss"]
    flows = [
        {
            "name": f"flow {i}",
            "algorithm": row["algorithm"],
            "host": "linux",
            "access_delay": f"{rtt / 2 - 1} ms",
            "processing_time": "100 us" if len(row["rtts_ms"]) > 1 else "0 s",
        }
        for i, rtt in enumerate(row["rtts_ms"], 1)
    ]
    tree = {"duration": duration, "warmup": warmup, "packet_size": FRAME, "links": [link], "flows": flows}
    return fullpipe.Scenario.from_dict(tree)


def quantities(mbit: list[float]) -> dict[str, float]:
    """Quantities of a pair of rates, or of a single one."""
    if len(mbit) == 1:
        return {"goodput": mbit[0]}
    return {"share": mbit[0] / sum(mbit), "rate": sum(mbit)}


def simulated(row: dict[str, Any]) -> list[dict[str, float]]:
    """Quantities of each seed."""
    found = []
    for seed in SEEDS:
        flows = fullpipe.run(scenario(row), seed=seed).flows.to_pylist()
        found.append(quantities([flow["goodput_bps"] * PAYLOAD / FRAME / 1e6 for flow in flows]))
    return found


def judge(name: str, measured: float, values: list[float], tolerance: float) -> bool:
    """Whether a measured value is inside the interval of the simulated ones, wider by the tolerance."""
    low, high = min(values), max(values)
    if name == "share":
        return low - tolerance <= measured <= high + tolerance
    return low * (1 - tolerance) <= measured <= high * (1 + tolerance)


def commit() -> str:
    """Commit of the expectations."""

    def git(*command: str) -> str:
        return subprocess.run(["git", *command], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()

    if git("status", "--porcelain", FILE):
        sys.exit(f"{FILE} is not committed")
    return git("log", "-1", "--format=%h", "--", FILE)


def main() -> None:
    stated = commit()
    data = tomllib.loads((ROOT / FILE).read_text(encoding="utf-8"))
    rows, right, inside = [], 0, 0
    for row in data["measurements"]:
        measured, runs = quantities(row["measured_mbit"]), simulated(row)
        found = {
            name: judge(name, value, [each[name] for each in runs], data["tolerances"][name])
            for name, value in measured.items()
        }
        verdict = "inside" if all(found.values()) else "outside"
        cells = [row["name"]]
        for name, value in measured.items():
            values = [each[name] for each in runs]
            cells.append(f"{name}: {value:.4g}; {min(values):.4g} to {max(values):.4g}")
        while len(cells) < 3:
            cells.append("")
        rows.append(
            [*cells, verdict, row["expected"], f"[{row['source']}]({data['sources'][row['source']]['address']})"]
        )
        right += verdict == row["expected"]
        inside += verdict == "inside"
        print(rows[-1], file=sys.stderr, flush=True)
    print(page(data, rows, stated, inside, right))


def page(data: dict[str, Any], rows: list[list[str]], stated: str, inside: int, right: int) -> str:
    """The page in Markdown."""
    return PAGE.format(
        stated=stated,
        version=fullpipe.__version__,
        inside=inside,
        right=right,
        count=len(rows),
        rows="\n".join(f"| {' | '.join(row)} |" for row in rows),
        sources="\n".join(f"- {source['title']}: {source['address']}" for source in data["sources"].values()),
        share=data["tolerances"]["share"],
        rate=100 * data["tolerances"]["rate"],
        goodput=100 * data["tolerances"]["goodput"],
    )


PAGE = """# Measurements of others

`python -m benchmarks.strangers` writes this page. `strangers.toml` has the paths, the published numbers, and the reason
of each expectation. The expectations are of commit {stated}, before these runs of fullpipe {version}.

Each path runs with five seeds. A measured value is inside if the interval of the seeds has it, wider by a tolerance:
{share:g} for the share of the first flow, {rate:.0f} % for the rate of both, and {goodput:.0f} % for the goodput of a
single flow. Rates are those of payload, in Mbit/s.

{inside} of {count} measurements are inside. The expectation was right for {right}.

| measurement | measured; simulated | measured; simulated | verdict | expected | source |
|---|---|---|---|---|---|
{rows}

## Sources

{sources}"""


if __name__ == "__main__":
    main()
