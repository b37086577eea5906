"""Comparison of QUIC libraries' controllers with fullpipe's and Linux's, for the tables of reports/quic.md.

``python -m benchmarks.quic [--linux]``, or ``make records-quic``, which also writes the page. It needs cargo, with the
Rust version that adapters/ requires. The program of adapters/ runs the libraries' controllers and fullpipe's in the
simulator: one flow alone, with equal recovery, pacing, packets, and first window. Only quinn's BBR has its own first
window of 200 packets. With ``--linux``, the kernel of a virtual machine also runs its CUBIC and BBR on the first
scenarios, which takes minutes each. Without it, earlier results of the kernel stay. ``reports/quic.json`` has all
results.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks import records

ROOT = Path(__file__).parent.parent
RECORD = ROOT / "reports/quic.json"
TARGET = ROOT / "target"
PROGRAM = TARGET / "release/fullpipe-quic"

FAMILIES = {
    "newreno": ["quinn-newreno", "newreno"],
    "cubic": ["quinn-cubic", "s2n-cubic", "cubic"],
    "bbr": ["quinn-bbr", "s2n-bbr", "bbr", "bbr3"],
}
LINUX = ["cubic", "bbr"]
PACKET_BYTES = 1500
TEN = {"rate": "10 Mbit/s", "delay": "50 ms"}
LINKS: dict[str, dict[str, Any]] = {
    "10 Mbit/s, 100 ms, 0.25 BDP": {**TEN, "buffer": "0.25 BDP"},
    "10 Mbit/s, 100 ms, 1 BDP": {**TEN, "buffer": "1 BDP"},
    "10 Mbit/s, 100 ms, 4 BDP": {**TEN, "buffer": "4 BDP"},
    "100 Mbit/s, 40 ms, 1 BDP": {"rate": "100 Mbit/s", "delay": "20 ms", "buffer": "1 BDP"},
    "10 Mbit/s, 100 ms, 1 BDP, 0.1 % lost": {**TEN, "buffer": "1 BDP", "loss": 0.001},
    "10 Mbit/s, 100 ms, 1 BDP, 1 % lost": {**TEN, "buffer": "1 BDP", "loss": 0.01},
    "10 Mbit/s, 100 ms, ACKs in clumps of 10 ms": {**TEN, "buffer": "4 BDP", "reverse": {"aggregation": "10 ms"}},
    "10 Mbit/s, 100 ms, FQ-CoDel": {**TEN, "buffer": "1000 packets", "queue": "fq-codel"},
}
FEW = list(LINKS)[:3]
"""Where each controller has one of our CUBIC's beside it, and Linux runs its own alone."""
DURATION, WARMUP = "120 s", "20 s"
SEEDS = range(1, 6)
"""Of links that lose at random; on others one run is like another."""


def main() -> int:
    subprocess.run(
        ["cargo", "build", "--quiet", "--release", "--locked", "--target-dir", str(TARGET)],
        cwd=ROOT / "adapters",
        check=True,
    )
    known = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.is_file() else {}
    record: dict[str, dict[str, dict[str, Any]]] = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for family, algorithms in FAMILIES.items():
            for name in LINKS:
                found = pool.map(partial(figures, name), algorithms)
                row = record.setdefault(family, {})[name] = dict(zip(algorithms, found, strict=True))
                if family in LINUX and name in FEW and "--linux" in sys.argv[1:]:
                    row["Linux"] = on_linux(name, family)
                elif "Linux" in (before := known.get(family, {}).get(name, {})):
                    row["Linux"] = before["Linux"]
        every = [algorithm for algorithms in FAMILIES.values() for algorithm in algorithms]
        record["shares"] = {name: dict(zip(every, pool.map(partial(share, name), every), strict=True)) for name in FEW}
    RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    records.note(RECORD.name)
    return 0


def figures(name: str, algorithm: str) -> dict[str, float]:
    """Of one flow alone: the link's utilization, the mean time in its queue, the part it dropped; means over seeds."""
    seeds = SEEDS if "loss" in LINKS[name] else SEEDS[:1]
    reports = [run(name, [algorithm], seed) for seed in seeds]
    return mean([of_link(name, report["links"][0]) for report in reports])


def share(name: str, algorithm: str) -> float:
    """Share of the first flow in the goodput of both, when competing with fullpipe's CUBIC. Both begin together."""
    flows = run(name, [algorithm, "cubic"], 1)["flows"]
    return round(float(flows[0]["goodput_bps"] / sum(flow["goodput_bps"] for flow in flows)), 6)


def on_linux(name: str, algorithm: str) -> dict[str, float]:
    """Share of the first flow, on a kernel."""
    from fullpipe.runs.engines import run as run_on  # What the other tables do without.

    flow = {"algorithm": algorithm, "initial_window": 10}
    link = {"name": "l", **LINKS[name]}
    scenario = {"duration": DURATION, "warmup": WARMUP, "packet_size": PACKET_BYTES, "links": [link], "flows": [flow]}
    return mean([of_link(name, run_on(scenario, engine="linux").to_dict()["links"][0])])


def of_link(name: str, link: dict[str, float]) -> dict[str, float]:
    packets_per_ms = float(LINKS[name]["rate"].split()[0]) * 1e3 / (8 * PACKET_BYTES)
    queue_ms = link["mean_queue_packets"] / packets_per_ms
    return {"utilization": link["utilization"], "queue_ms": queue_ms, "loss_rate": link["loss_rate"]}


def mean(rows: list[dict[str, float]]) -> dict[str, float]:
    return {key: round(fmean(row[key] for row in rows), 6) for key in rows[0]}


def run(name: str, algorithms: list[str], seed: int) -> dict[str, Any]:
    """Output of the adapters' program for a scenario."""
    flow = 'recovery = "rack"\npacing = "on"\ninitial_window = 10\n'
    flows = "".join(f'[[flows]]\nalgorithm = "{each}"\n{flow}' for each in algorithms)
    text = (
        f'duration = "{DURATION}"\nwarmup = "{WARMUP}"\nseed = {seed}\npacket_size = {PACKET_BYTES}\n'
        f'series_interval = "off"\nlinks = [{toml({"name": "l", **LINKS[name]})}]\n{flows}'
    )
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(text)
        file.flush()
        done = subprocess.run([PROGRAM, "--json", file.name], stdout=subprocess.PIPE, text=True, check=True)
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def toml(value: Any) -> str:
    """An inline table, or a value in one."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(each)}" for key, each in value.items()) + " }"
    return json.dumps(value)


if __name__ == "__main__":
    sys.exit(main())
