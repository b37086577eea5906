"""`fullpipe explain` on simulated measurements whose path is known: a table in Markdown, on standard output.

Each measurement is a run of 30 s with samples of 100 ms, without a handshake sample, without the algorithm's name, and
without the queue of the link.
Simulator against simulator, so that the distance from Linux is not in it. Times depend on the machine: with a budget,
so does the number of evaluations.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa

import fullpipe
from fullpipe.measurements import Measurement
from fullpipe.measurements.own import from_result

ALGORITHMS = ("newreno", "cubic", "bbr")
QUEUES = ("drop-tail", "codel", "fq-codel")
RATES = (5.0, 10.0, 20.0)
RTTS = (20.0, 50.0, 100.0)
BUFFERS = (0.5, 1.0, 2.0)

WRONG = {
    "rate x 0.7": {"schedule": [{"at": "15 s", "rate": "7 Mbit/s"}]},
    "rate x 0.85": {"schedule": [{"at": "15 s", "rate": "8.5 Mbit/s"}]},
    "loss 0.3 %": {"loss": 0.003},
    "policer 0.6": {"policer": {"rate": "6 Mbit/s", "burst": "50 kB"}},
    "source 0.4, 8 s": {},
}


def measured(
    algorithm: str, rate: float, rtt: float, packets: int, queue: str = "drop-tail", **more: Any
) -> Measurement:
    udp = more.pop("udp", None)
    link = {
        "name": "l",
        "rate": f"{rate} Mbit/s",
        "delay": f"{rtt / 2} ms",
        "queue": queue,
        "buffer": f"{packets} packets",
    }
    flow = {"algorithm": algorithm, "host": "linux", "processing_time": "100 us"}
    tree: dict[str, Any] = {"duration": "30 s", "series_interval": "100 ms", "packet_size": 1500, "seed": 4711}
    tree |= {"links": [link | more], "flows": [flow]}
    if udp:
        tree["udp"] = udp
    found = from_result(fullpipe.run(tree))
    flows = found.flows
    place = flows.schema.get_field_index("algorithm")
    nothing: Any = pa.array([None] * len(flows), pa.string())
    flows = flows.set_column(place, flows.schema.field(place), nothing)
    return replace(found, flows=flows, link_samples=found.link_samples.slice(0, 0))


def right() -> Iterator[tuple[str, Measurement, tuple[str, float, float, int | None]]]:
    for i, algorithm in enumerate(ALGORITHMS):
        for j, queue in enumerate(QUEUES):
            for k in range(3):
                rate, rtt, bdp = RATES[k], RTTS[(k + j) % 3], BUFFERS[(k + i + j) % 3]
                packets = max(4, round(bdp * rate * 1e6 * rtt / 1e3 / 12000)) if queue == "drop-tail" else 1000
                name = f"{algorithm}, {queue}, {rate:g} Mbit/s, {rtt:g} ms"
                truth = (algorithm, rate * 1e6, rtt / 1e3, packets if queue == "drop-tail" else None)
                yield name, measured(algorithm, rate, rtt, packets, queue), truth


def wrong() -> Iterator[tuple[str, str, Measurement]]:
    source = [{"name": "s", "rate": "4 Mbit/s", "start": "12 s", "stop": "20 s"}]
    for kind, more in WRONG.items():
        for algorithm in ALGORITHMS:
            for rtt, packets in ((40.0, 33), (80.0, 67)):
                extra = {"udp": source} if kind.startswith("source") else {}
                yield kind, f"{algorithm}, {rtt:g} ms", measured(algorithm, 10.0, rtt, packets, **more, **extra)


def off(value: float | None, truth: float | None) -> str:
    return "-" if value is None or truth is None else f"{100 * (value / truth - 1):+.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", default="20 s")
    budget = parser.parse_args().budget
    print(
        "| measurement | verdict | algorithm | rate, % off | base RTT, % off | buffer, % off | J | not determined | s |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for name, measurement, (algorithm, rate, rtt, packets) in right():
        found = fullpipe.explain(measurement, budget=budget)
        fit, kept = found.fit, found.to_dict()
        buffer = off(kept["buffer_packets"], packets)  # type: ignore[arg-type]
        own = "right" if fit["algorithm"] == algorithm else f"wrong: {fit['algorithm']}"
        cells = [name, "explained" if found.explained else f"not: {found.sentences[0][15:60]}", own]
        cells += [off(fit["rate_bps"], rate), off(fit["base_rtt_s"], rtt), buffer, f"{kept['distance']:.1f}"]
        cells += ["; ".join(each.partition(";")[0] for each in found.not_determined), f"{kept['seconds']}"]
        print(f"| {' | '.join(cells)} |", flush=True)
    print("\n| impairment | measurement | verdict | hint | J | s |\n|---|---|---|---|---|---|")
    for kind, name, measurement in wrong():
        found = fullpipe.explain(measurement, budget=budget)
        kept = found.to_dict()
        verdict = "explained" if found.explained else "not explained"
        told = found.hint or "; ".join(found.not_determined)
        print(f"| {kind} | {name} | {verdict} | {told} | {kept['distance']:.1f} | {kept['seconds']} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
