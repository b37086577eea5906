"""Compares the exported policy with CUBIC, BBRv3, and Copa on paths that training has not seen: reports/learned.md.

Held-out paths have the laws of paths.toml, and other seeds. Paths outside have a rate, a delay, and a buffer beyond the
largest or below the least of training: by a factor of up to 1.5, or a buffer of 5 packets. Each path has four runs for
each algorithm: alone, beside CUBIC, two flows of the algorithm, and CUBIC alone for its harm.

    python examples/learned/table.py [PATHS]
"""

import math
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import learned  # noqa: F401  # registers the algorithm
import numpy as np

import fullpipe
from fullpipe.gym import Distribution
from fullpipe.runs.aggregate import student_t

HERE = Path(__file__).parent
REPORT = HERE.parents[1] / "reports" / "learned.md"
ALGORITHMS = ("learned", "cubic", "bbr3", "copa")
FIRST_SEED = 10**12
DURATION, WARMUP = "40 s", "10 s"
COLUMNS = {
    "goodput alone, % of the rate": lambda row: 100 * row["use"],
    "p95 queueing delay, ms": lambda row: 1000 * row["queue_s"],
    "loss rate, %": lambda row: 100 * row["loss"],
    "harm to CUBIC": lambda row: row["harm"],
    "Jain's index of two": lambda row: row["jain"],
}


def laws(kind):
    """Laws of the paths: those of training, or those `above` or `below` each range."""
    tree = tomllib.loads((HERE / "paths.toml").read_text())
    axes = {key: law for key, law in tree["axes"].items() if key.startswith("links")}
    if kind in ("above", "below"):
        axes |= {
            "above": {
                "links.l.rate": {"log": ["50 Mbit/s", "75 Mbit/s"]},
                "links.l.delay": {"uniform": ["50 ms", "75 ms"]},
                "links.l.buffer": {"log": ["4 BDP", "6 BDP"]},
            },
            "below": {
                "links.l.rate": {"log": ["1.333 Mbit/s", "2 Mbit/s"]},
                "links.l.delay": {"uniform": ["3.333 ms", "5 ms"]},
                "links.l.buffer": {"choice": ["5 packets"]},  # with fewer, every algorithm fails
            },
        }[kind]
    return Distribution({**tree["scenario"], "duration": DURATION, "warmup": WARMUP}, axes)


def run(scenario, *algorithms):
    """A run of one path with these flows."""
    tree = scenario.to_dict()
    processing = tree["flows"][0]["processing_time"]
    tree["flows"] = [
        {"name": f"f{i}", "algorithm": name, "start": "0 s..0.1 s", "processing_time": processing}
        for i, name in enumerate(algorithms)
    ]
    return fullpipe.run(fullpipe.Scenario.from_dict({**tree, "series_interval": "off"}))


def measure(scenario):
    """Measurements of each algorithm on one path."""
    rate = scenario.to_dict()["links"][0]["rate"]
    rate_bps = float(rate.split()[0])
    solo = run(scenario, "cubic").flows["goodput_bps"][0].as_py()
    found = {}
    for name in ALGORITHMS:
        alone, beside, two = run(scenario, name), run(scenario, name, "cubic"), run(scenario, name, name)
        found[name] = {
            "use": alone.flows["goodput_bps"][0].as_py() / rate_bps,
            "queue_s": alone.runs["p95_queueing_delay_s"][0].as_py(),
            "loss": alone.runs["loss_rate"][0].as_py(),
            "harm": max(0.0, (solo - beside.flows["goodput_bps"][1].as_py()) / solo),
            "jain": two.runs["jain_index"][0].as_py(),
        }
    return found


def cell(values):
    """Mean and half of the 95 % interval (Student's t)."""
    half = student_t(len(values) - 1) * np.std(values, ddof=1) / math.sqrt(len(values))
    digits = max(0, 2 - math.floor(math.log10(max(abs(np.mean(values)), half, 1e-9)))) if half else 2
    return f"{np.mean(values):.{digits}f} ± {half:.{digits}f}"


def main(paths=40):
    """Measures all paths, and writes the report."""
    kinds = {
        "held out": [laws("training").sample(FIRST_SEED + k) for k in range(paths)],
        "outside": [laws(("above", "below")[k % 2]).sample(FIRST_SEED + k) for k in range(paths)],
    }
    lines = [TOP.format(paths=paths, version=fullpipe.__version__)]
    for kind, scenarios in kinds.items():
        with ThreadPoolExecutor(2) as pool:
            rows = list(pool.map(measure, scenarios))
        lines.append(f"## Paths {kind}\n")
        lines.append(f"| algorithm | {' | '.join(COLUMNS)} |")
        lines.append("|---" * (len(COLUMNS) + 1) + "|")
        for name in ALGORITHMS:
            cells = [cell([value(row[name]) for row in rows]) for value in COLUMNS.values()]
            lines.append(f"| {name} | {' | '.join(cells)} |")
        lines.append("")
    REPORT.write_text("\n".join(lines))
    print("\n".join(lines))


TOP = """# A trained policy on paths that it has not seen

`examples/learned/train.py` trains a policy with 81 numbers by CMA-ES. `examples/learned/table.py` writes this page:
means and 95 % intervals over {paths} held-out paths (the laws of training, other seeds), and {paths} outside of its
ranges (rate, delay, and buffer all above or all below). Runs take 40 s, and are measured from 10 s on. Harm is the
fraction of its solo goodput that a CUBIC flow loses. Version {version}.
"""

if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
