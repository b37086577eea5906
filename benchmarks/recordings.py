"""Recordings of Linux flows whose path is known, and the explanations of them.

`make` runs each case in the virtual machine, and keeps what `fullpipe.measurements` reads from the capture of the first
flow, in 10 ms bins: captures of all cases would take 150 MB. `explain` prints tables in Markdown on standard output.
For example: ``python -m benchmarks.recordings make tests/recordings 1 2 3``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import fullpipe
from fullpipe.linux import job, kernel, machine, record
from fullpipe.linux.plan import Plan
from fullpipe.measurements import TABLES, Measurement, read, schema

HERE = Path(__file__).parents[1] / "tests" / "recordings"
"""Directory of the recordings."""

NAMES = ("reno", "cubic", "bbr")
DURATION_S = 40.0
OURS = {"reno": "newreno"}


@dataclass(frozen=True)
class Case:
    """A recording.

    Attributes:
        number: Number of the case. Odd ones up to 34 are for tuning, even ones are looked at once. Those from 35
            on test a rule of the verdict that was chosen with the others.
        algorithm: Algorithm of the measured flow.
        queue: Queue of the link.
        rate: Rate, Mbit/s.
        rtt: Base RTT, ms.
        buffer: Buffer of the link.
        cross: Further flows.
        link: Further keys of the link.
        lacks: Part of the path that the model of an explanation lacks; "" for none.
    """

    number: int
    algorithm: str
    queue: str
    rate: float
    rtt: float
    buffer: str
    cross: tuple[dict[str, Any], ...] = ()
    link: dict[str, Any] = field(default_factory=dict)
    lacks: str = ""

    @property
    def scenario(self) -> fullpipe.Scenario:
        # The kernel's CoDel looks at the bytes of all queues.
        queue: Any = {"name": self.queue, "floor": "all"} if self.queue == "fq-codel" else self.queue
        link: dict[str, Any] = {
            "name": "l",
            "rate": f"{self.rate} Mbit/s",
            "delay": f"{self.rtt / 2} ms",
            "queue": queue,
        }
        flow = {"algorithm": self.algorithm, "host": "linux", "path": ["l"]}
        links = [link | {"buffer": self.buffer} | self.link]
        if self.lacks.startswith("second bottleneck"):
            links.append(link | {"name": "m", "rate": f"{0.8 * self.rate} Mbit/s", "delay": "1 ms", "buffer": "1 BDP"})
            flow["path"] = ["l", "m"]
        tree = {"duration": f"{DURATION_S} s", "packet_size": 1514, "series_interval": "100 ms"}
        return fullpipe.Scenario.from_dict(tree | {"links": links, "flows": [flow, *self.cross]})

    @property
    def buffer_packets(self) -> float | None:
        """Packets of a drop-tail buffer."""
        if self.queue != "drop-tail":
            return None
        return float(self.buffer.split()[0]) * self.rate * self.rtt * 1e3 / 8 / 1514

    @property
    def late_s(self) -> float:
        """Time that the handshake takes too long. Behind an active queue the virtual machine adds the transmission time
        of a full packet to every round trip, that of the handshake's 60 bytes included.
        """
        return 0.0 if self.queue == "drop-tail" else 8 * (1514 - 60) / (1e6 * self.rate)

    @property
    def name(self) -> str:
        return f"{self.algorithm}, {self.queue}, {self.rate:g} Mbit/s, {self.rtt:g} ms, {self.buffer}"


def cases() -> list[Case]:
    """All cases. The first 24 have a path that the model can give, but for their cross traffic."""

    def flow(algorithm: str, **more: Any) -> dict[str, Any]:
        return {"algorithm": algorithm, "host": "linux", "path": ["l"], "name": f"cross {algorithm}", **more}

    found: list[Case] = []

    def add(queue: str, rate: float, rtt: float, buffer: str, *cross: dict[str, Any]) -> None:
        begin = len(found)
        found.extend(Case(begin + i, name, queue, rate, rtt, buffer, cross) for i, name in enumerate(NAMES, 1))

    add("drop-tail", 10, 40, "1 BDP")
    add("drop-tail", 5, 100, "0.5 BDP")
    add("drop-tail", 20, 20, "2 BDP")
    add("drop-tail", 10, 80, "1 BDP", flow("cubic", start="10 s"))
    add("codel", 10, 40, "1000 packets")
    add("codel", 20, 80, "1000 packets", flow("reno"))
    add("fq-codel", 10, 60, "1000 packets")
    add("fq-codel", 20, 30, "1000 packets", flow("cubic"), flow("cubic", name="second"))
    base = Case(0, "", "drop-tail", 10, 40, "1 BDP")
    slower = {"schedule": [{"at": "20 s", "rate": "7 Mbit/s"}]}
    for i, name in enumerate(NAMES):
        found.append(replace(base, number=25 + i, algorithm=name, link=slower, lacks="rate x 0.7"))
    slightly = {"schedule": [{"at": "20 s", "rate": "8.5 Mbit/s"}]}
    found.append(replace(base, number=28, algorithm="cubic", link=slightly, lacks="rate x 0.85"))
    for number, name in ((29, "reno"), (30, "cubic")):
        across = {
            "algorithm": "cubic",
            "host": "linux",
            "path": ["m"],
            "start": "10 s",
            "stop": "25 s",
            "name": "cross",
        }
        found.append(
            replace(base, number=number, algorithm=name, cross=(across,), lacks="second bottleneck, cross traffic")
        )
    policer = {"policer": {"rate": "6 Mbit/s", "burst": "50 kB"}}
    for number, name in ((31, "cubic"), (32, "bbr")):
        found.append(replace(base, number=number, algorithm=name, link=policer, lacks="policer x 0.6"))
    found.append(replace(base, number=33, algorithm="cubic", link={"loss": 0.005}, lacks="loss of 0.5 %"))
    late = {"reorder": {"probability": 0.01, "delay": "10 ms"}}
    found.append(replace(base, number=34, algorithm="reno", link=late, lacks="reordering of 1 %"))
    return found + _held_out()


def _held_out() -> list[Case]:
    """Cases that were fixed after the rule of the verdict, and before their first run."""

    def others(*flows: tuple[str, str]) -> tuple[dict[str, Any], ...]:
        own = {"host": "linux", "path": ["l"]}
        return tuple(own | {"algorithm": name, "start": at, "name": f"cross {i}"} for i, (name, at) in enumerate(flows))

    found = [
        Case(35, "reno", "drop-tail", 15, 30, "1.5 BDP"),
        Case(36, "cubic", "drop-tail", 8, 60, "1 BDP"),
        Case(37, "bbr", "drop-tail", 12, 50, "2 BDP"),
        Case(38, "cubic", "codel", 15, 50, "1000 packets"),
        Case(39, "cubic", "drop-tail", 12, 60, "1 BDP", others(("reno", "0 s"))),
        Case(40, "reno", "drop-tail", 15, 40, "0.5 BDP", others(("cubic", "8 s"), ("cubic", "8 s"))),
        Case(41, "reno", "codel", 16, 60, "1000 packets", others(("cubic", "0 s"))),
        Case(42, "bbr", "fq-codel", 15, 40, "1000 packets", others(("cubic", "0 s"))),
    ]
    base = Case(0, "reno", "drop-tail", 12, 50, "1 BDP")
    slower = {"schedule": [{"at": "25 s", "rate": "9 Mbit/s"}]}
    burst = {"schedule": [{"at": "15 s", "loss": 0.05}, {"at": "16 s", "loss": 0.0}]}
    crossing = {"algorithm": "reno", "host": "linux", "path": ["m"], "start": "12 s", "stop": "30 s", "name": "cross"}

    def policer(rate: str, burst: str) -> dict[str, Any]:
        return {"policer": {"rate": f"{rate} Mbit/s", "burst": burst}}

    late = {"reorder": {"probability": 0.02, "delay": "15 ms"}}
    return [
        *found,
        replace(base, number=43, link=slower, lacks="rate x 0.75"),
        Case(44, "cubic", "drop-tail", 16, 30, "1 BDP", (crossing,), lacks="second bottleneck, cross traffic"),
        replace(base, number=45, link=policer("8.4", "50 kB"), lacks="policer x 0.7"),
        Case(46, "cubic", "drop-tail", 15, 30, "1 BDP", link=policer("7.5", "30 kB"), lacks="policer x 0.5"),
        replace(base, number=47, link={"loss": 0.003}, lacks="loss of 0.3 %"),
        replace(base, number=48, algorithm="cubic", link=burst, lacks="loss of 5 % for 1 s"),
        replace(base, number=49, algorithm="cubic", link=late, lacks="reordering of 2 %"),
        replace(base, number=50, algorithm="bbr", link=policer("8.4", "50 kB"), lacks="policer x 0.7"),
    ]


def make(case: Case, directory: Path) -> None:
    """Records a case."""
    plan = Plan.of(case.scenario)
    booted = kernel.ensure(modules=job.modules(plan, "packets"))
    work = job.build(plan, booted, record="packets")
    lines = machine.run(machine.Machine(booted.image, work.archive, work.memory_mib))
    with tempfile.TemporaryDirectory() as folder:
        record.write(f"{folder}/out", case.scenario, plan, lines, booted.version)
        (capture,) = Path(folder, "out").glob("flow-0000-*.pcap")
        measured = read(capture)
    keep(measured, case.number, booted.version, directory)


def keep(measured: Measurement, number: int, version: str, directory: Path) -> None:
    """Keeps the samples of a measurement, and the columns that an explanation reads. RTTs and rates have 24 bits."""
    (flow,) = measured.flows.to_pylist()
    metadata = {"kernel": version, "vantage": measured.metadata["vantage"], "t0": measured.metadata["t0"]}
    samples = measured.samples.drop_columns(["sent_bytes"])
    for name in ("rtt_s", "delivery_bps"):
        place = samples.schema.get_field_index(name)
        samples = samples.set_column(place, name, samples[name].cast(pa.float32()))
    columns = [name for name in samples.schema.names if samples[name].null_count < len(samples)]
    flow = {name: value for name, value in flow.items() if value is not None}
    table = samples.select(columns).replace_schema_metadata({"flow": repr(flow), "metadata": repr(metadata)})
    directory.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, directory / f"{number:02}.parquet", compression="zstd", compression_level=19)


def load(path: Path) -> Measurement:
    """Measurement of a recording, with the RTT that the handshake has on its path."""
    from ast import literal_eval

    (case,) = (each for each in cases() if each.number == int(path.stem))
    table = pq.read_table(path)
    if case.late_s:
        place = table.schema.get_field_index("min_rtt_s")
        handshake_s = table["min_rtt_s"][0].as_py() - case.late_s
        table = table.set_column(place, "min_rtt_s", pa.repeat(handshake_s, len(table)))
    kept = table.schema.metadata
    flow, metadata = (literal_eval(kept[key].decode()) for key in (b"flow", b"metadata"))
    tables = {name: schema(name).empty_table() for name in TABLES}
    wanted = schema("samples")
    rows = [
        table[name].cast(wanted.field(name).type)
        if name in table.column_names
        else pa.nulls(len(table), wanted.field(name).type)
        for name in wanted.names
    ]
    tables["samples"] = pa.table(rows, schema=wanted)
    tables["flows"] = pa.Table.from_pylist([flow], schema=schema("flows"))
    about = {"format": "pcap", "file": path.name, "truncated": False, **metadata}
    return Measurement(metadata=about, **tables)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("make", "explain"))
    parser.add_argument("directory", type=Path, nargs="?", default=HERE)
    parser.add_argument("numbers", type=int, nargs="*")
    parser.add_argument("--budget", default="60 s")
    given = parser.parse_args()
    chosen = [case for case in cases() if not given.numbers or case.number in given.numbers]
    for case in chosen:
        if given.what == "make":
            make(case, given.directory)
            print(case.number, case.name, flush=True)
        else:
            explain(case, given.directory, given.budget)


def explain(case: Case, directory: Path, budget: str) -> None:
    """Explains a recording, and prints a row of a table."""
    measured = load(directory / f"{case.number:02}.parquet")
    begun_s = time.process_time()
    found = fullpipe.explain(measured, budget=budget)
    cpu_s = time.process_time() - begun_s
    kept, fit = found.to_dict(), found.fit
    was_full = measured.samples["retransmits"][-1].as_py() > 0
    full = case.buffer_packets if was_full else None
    own = "right" if fit["algorithm"] == OURS.get(case.algorithm, case.algorithm) else f"wrong: {fit['algorithm']}"
    cells = [
        str(case.number),
        case.name,
        case.lacks or f"{len(case.cross)} other flows",
        "Explained" if found.explained else found.sentences[0],
        own,
    ]
    truth = (case.rate * 1e6, case.rtt / 1e3, full)
    values = (fit["rate_bps"], fit["base_rtt_s"], kept["buffer_packets"])
    cells += [off(value, true) for value, true in zip(values, truth, strict=True)]
    cells += [
        f"{kept['distance']:.1f}",
        found.hint or "",
        "; ".join(each.partition(";")[0] for each in found.not_determined),
    ]
    cells += [fit["queue"], fit["cross"] or "", f"{cpu_s:.0f}", str(kept["seconds"])]
    print(f"| {' | '.join(cells)} |", flush=True)


def off(value: Any, truth: float | None) -> str:
    return "-" if value is None or truth is None else f"{100 * (float(value) / truth - 1):+.1f}"


if __name__ == "__main__":
    sys.exit(main())
