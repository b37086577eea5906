"""The programs' integer arithmetic against the crates' algorithms, driven by the same events of a simulation."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import started

ROOT = Path(__file__).parents[2]
BPF = ROOT / "bpf"
CC = shutil.which("cc")

pytestmark = pytest.mark.skipif(CC is None, reason="needs a C compiler")


@pytest.fixture(scope="session")
def record() -> Path:
    """The simulator's recorder."""
    command = "cargo build --quiet --locked --release --package fullpipe-sim --example record --features record"
    subprocess.run(command.split(), cwd=ROOT, check=True)
    return ROOT / "target" / "release" / "examples" / "record"


@pytest.fixture(scope="session")
def conform(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("conform") / "conform"
    subprocess.run([str(CC), "-O2", "-o", program, BPF / "conform.c", "-lm"], check=True)
    return program


CASES = {
    # The central experiments: Hyun-Jang's Table 1, Shorten-Leith's figure 5, eHSTCP's fast path.
    "hyun-jang": ("hyun-jang", "200 s", "100 Mbit/s", "39 ms", "0.25 BDP", 1000, 0, "reno", 2),
    "adaptive-aimd": ("adaptive-aimd", "200 s", "10 Mbit/s", "49 ms", "25 packets", 1500, 0, "sack", 10),
    "ehstcp": ("ehstcp", "60 s", "1 Gbit/s", "19 ms", "2000 packets", 1500, 0, "sack", 2),
    # Many losses, random ones too, and cuts while extra > 0 or the safety check runs.
    "hyun-jang, random losses": ("hyun-jang", "200 s", "20 Mbit/s", "39 ms", "0.125 BDP", 1000, 1e-5, "reno", 5),
    "adaptive-aimd, random losses": ("adaptive-aimd", "200 s", "20 Mbit/s", "39 ms", "0.5 BDP", 1000, 2e-5, "reno", 5),
    "ehstcp, small buffer": ("ehstcp", "100 s", "200 Mbit/s", "19 ms", "50 packets", 1500, 1e-6, "sack", 20),
}


@pytest.mark.parametrize("case", CASES)
def test_windows_stay_within_a_segment_or_two_percent(record: Path, conform: Path, tmp_path: Path, case: str) -> None:
    algorithm, duration, rate, delay, buffer, packet_size, loss, recovery, least_losses = CASES[case]
    file = tmp_path / "scenario.toml"
    file.write_text(
        f'duration = "{duration}"\npacket_size = {packet_size}\nseries_interval = "off"\n'
        f'[[links]]\nname = "b"\nrate = "{rate}"\ndelay = "{delay}"\nbuffer = "{buffer}"\nloss = {loss}\n'
        f'[[flows]]\nalgorithm = "{algorithm}"\naccess_delay = "1 ms"\nrecovery = "{recovery}"\n'
    )
    with started([record, file], stdout=subprocess.PIPE) as events:
        said = subprocess.run([conform, algorithm], stdin=events.stdout, capture_output=True, text=True, check=True)
    assert events.returncode == 0
    outcome = json.loads(said.stdout)
    print(f"{case}: {outcome}")
    assert outcome["losses"] >= least_losses
    assert outcome["events"] > 100_000
    assert outcome["apart"] == 0


def test_highspeed_response_is_that_of_the_rfc(tmp_path: Path) -> None:
    """RFC 3649's table of a(w) and b(w): whole segments of a, b to two digits. Its a is up to 5 % less than the line
    through (38, 1.5/38^2) that the header describes.
    """
    table = {38: (1, 0.50), 118: (2, 0.44), 495: (5, 0.37), 1529: (10, 0.31), 10661: (30, 0.21)}
    source = tmp_path / "table.c"
    source.write_text(
        '#include <stdio.h>\n#include "hstcp.h"\nint main(void) { unsigned w; while (scanf("%u", &w) == 1) '
        'printf("%f %f\\n", hstcp_a(w) / 1048576.0, hstcp_b(w) / 1048576.0); }\n'
    )
    program = tmp_path / "table"
    subprocess.run([str(CC), "-I", BPF, "-o", program, source], check=True)
    windows = "\n".join(map(str, table))
    lines = subprocess.run([program], input=windows, capture_output=True, text=True, check=True).stdout.splitlines()
    for (published_a, published_b), line in zip(table.values(), lines, strict=True):
        a, b = map(float, line.split())
        assert a == pytest.approx(published_a, rel=0.06)
        assert b == pytest.approx(published_b, abs=0.01)
