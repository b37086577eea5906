"""Cost of a packet-level controller in Rust, C, and Python: processor time of ``fullpipe run`` over QUIC.

``python -m benchmarks.speed.controllers [ROUNDS]``; needs cargo and cc. All AIMDs send the same packets. Each time is
that of simulated seconds 60 to 260: a run of 260 s less one of 60 s, without the start of the program. The controllers
run alternately, and the medians count. ``out/speed/controllers.json`` has the results.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import fullpipe

from .measure import fullpipe_command, keep, output_and_seconds

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
ROUNDS = 4
SCENARIO = """\
duration = "{duration_s} s"
series_interval = "off"

[[links]]
name = "bottleneck"
rate = "200 Mbit/s"
delay = "20 ms"
buffer = "1 BDP"

[[flows]]
algorithm = "newreno"
transport = "quic"
"""
BEGIN_S, END_S = 60, 260


def main() -> int:
    """Build the libraries, run all controllers, print."""
    rounds = int(sys.argv[1]) if sys.argv[1:] else ROUNDS
    with tempfile.TemporaryDirectory() as folder:
        controllers = _controllers(Path(folder))
        spent: dict[str, list[float]] = {title: [] for title in controllers}
        for _ in range(rounds):
            for title, name in controllers.items():
                spent[title].append(_seconds(Path(folder), name, END_S) - _seconds(Path(folder), name, BEGIN_S))
    records: list[dict[str, Any]] = [{"controller": title, "cpu_s": median(each)} for title, each in spent.items()]
    for record in records:
        ratio = record["cpu_s"] / records[0]["cpu_s"]
        print(f"{record['controller']:<20} {record['cpu_s']:6.2f} s {ratio:6.2f}")
    keep("controllers", records)
    return 0


def _controllers(folder: Path) -> dict[str, str]:
    """Title of each controller, and what ``--algorithms`` calls it. Rust is first."""
    target = ROOT / "target"
    cargo = ["cargo", "build", "--quiet", "--release", "--locked", "--target-dir", str(target)]
    subprocess.run(cargo, cwd=EXAMPLES / "packet-controller", check=True)
    header = Path(fullpipe.__file__).parent / "include"
    in_c = folder / "libaimd.so"
    flags = ["-O2", "-shared", "-fPIC", f"-I{header}"]
    subprocess.run(["cc", *flags, "-o", str(in_c), str(EXAMPLES / "packet_aimd.c")], check=True)
    return {
        "Rust library": str(target / "release/libpacket_controller.so"),
        "C library": str(in_c),
        "Python class": str(EXAMPLES / "packet_aimd.py"),
        "built-in `newreno`": "newreno",
    }


def _seconds(folder: Path, algorithm: str, duration_s: int) -> float:
    scenario = folder / "scenario.toml"
    scenario.write_text(SCENARIO.format(duration_s=duration_s), encoding="utf-8")
    command = [*fullpipe_command(), "run", str(scenario), "--algorithms", algorithm, "--json"]
    return output_and_seconds(command)[1]


if __name__ == "__main__":
    sys.exit(main())
