"""`python -m benchmarks.faults`: faults of caches and of foreign files, as one or two builds behave on their input.

Each probe runs in a new folder with the build's program and Python. The program prints a table. For example, with an
older build in another directory:

    .venv/bin/python -m benchmarks.faults ../older/.venv .venv
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from . import foreign, running, stored
from .build import ROOT, Build

sys.path += [str(ROOT / "tests"), str(ROOT / "tests/integration")]

PROBES: dict[str, Callable[[Build], str]] = {
    "1. `KEEP` of `own.py` changes from 0.5 to 0.95 between two `evaluate`": stored.changed_constant,
    "1. library of a class built again between two `evaluate`": stored.changed_library,
    "1. killed `sweep`, started again after that change": stored.resumed_sweep,
    "2. 90 corruptions of the `evaluate` cache": stored.corrupted_cache,
    "3. kill before each rename of `run --out` over an earlier result": stored.killed_save,
    "4. `compare --out` of names that share 70 characters": stored.equal_labels,
    "4. objects `a/b.bpf.o` and `a_b.bpf.o`": stored.alike_objects,
    "4. object with a path of 300 characters": stored.long_paths,
    "5. ten modules and a `matplotlibrc` in the current folder": foreign.folder_modules,
    "6. `--out` with a symbolic link to a directory outside": foreign.links_in_result,
    "6. files of a sweep's directory that are symbolic links": foreign.links_in_sweep,
    "7. result whose `result.json` is a FIFO": foreign.result_with("result.json", os.mkfifo),
    "7. result whose `result.json` is a link to `/dev/zero`": foreign.result_with(
        "result.json", lambda file: file.symlink_to("/dev/zero")
    ),
    "7. result whose `result.json` has 100,000 nested lists": foreign.result_with(
        "result.json", lambda file: file.write_text("[" * 100_000)
    ),
    "7. result whose `series.parquet` becomes 8 GB": foreign.result_with("series.parquet", foreign.expanding),
    "7. `repr` of a result with ESC": foreign.escaped,
    "8. object with 4,000 sections over the same bytes": foreign.object_sections,
    "8. object with 15 MB of data, 200 flows, `--memory '100 MB'`": foreign.object_data,
    "9. Ctrl-C while a window of 2,147,483,647 segments is sent": running.interrupted_burst,
    "9. that window with `--memory '100 MB'`": running.burst_memory,
    "9. Ctrl-C in a call of C code that does not return": running.interrupted_loop,
    "9. that call without Ctrl-C": running.endless_loop,
    "10. text of 60,000 line breaks": running.page_expression,
    "10. link that inflates to 200 MB, and a damaged one": running.page_links,
    "11. `evaluate --dask` without workers": running.no_workers,
    "11. `evaluate --dask` whose scheduler is killed": running.killed_scheduler,
    "11. `evaluate --dask --memory '2 kB'`": running.cluster_memory,
    "12. SIGSEGV in a library, `compare`": running.crashing_library("compare", "*(volatile int *)8 = 1"),
    "12. SIGSEGV in a library, `evaluate`": running.crashing_library("evaluate", "*(volatile int *)8 = 1"),
    "12. `exit(0)` in a library, `evaluate`": running.crashing_library("evaluate", "exit(0)"),
    "12. packet-level library whose table is no table": running.packet_library(
        "return &library;", "return (const void *)64;"
    ),
    "12. SIGSEGV in a packet-level library": running.packet_library(
        "uint64_t bytes = 0;", "*(volatile int *)8 = 1; uint64_t bytes = 0;"
    ),
    "12. packet-level library that never returns": running.packet_library(
        "uint64_t bytes = 0;", "for (volatile int i = 0;; i ^= 1); uint64_t bytes = 0;"
    ),
}
"""Probes by the name that the table has for them."""


def main() -> None:
    """Prints the table of the environments that the command line names; ``--only TEXT`` takes probes with that text."""
    words = sys.argv[1:]
    only = words.pop() if words[-2:-1] == ["--only"] else ""
    environments = [Path(each).absolute() for each in words if each != "--only"]
    if not environments:
        raise SystemExit("benchmarks.faults: name at least one virtual environment, for example .venv")
    print("| input |" + "".join(f" {each.parent.name} |" for each in environments))
    print("|---" * (1 + len(environments)) + "|")
    for name, probe in PROBES.items():
        if only not in name:
            continue
        found = []
        for number, environment in enumerate(environments):
            with tempfile.TemporaryDirectory() as place:
                folder = Path(place) / f"folder-{number}"
                folder.mkdir()
                found.append(probe(Build(environment, folder)))
        print(f"| {name} | {' | '.join(found)} |", flush=True)


if __name__ == "__main__":
    main()
