"""The eBPF programs on this host, called as the kernel calls them, compared with the crates' algorithms under equal
events of a simulation. Also calls that only a kernel makes. Each program runs twice: the source compiled for this host,
and the object for the kernel in the crates' virtual machine.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import started
from fullpipe import _core
from fullpipe.linux import programs

ROOT = Path(__file__).parents[2]
BPF = ROOT / "bpf"
CC = shutil.which("cc")

pytestmark = pytest.mark.skipif(CC is None, reason="needs a C compiler")


@pytest.fixture(scope="session")
def record(debug_build: Path) -> Path:
    """The simulator's recorder."""
    return debug_build / "examples/record"


ALGORITHMS = ("adaptive-aimd", "hyun-jang", "ehstcp")

Conform = Callable[[str], list[Path]]


@pytest.fixture(scope="session", params=["host", "machine"])
def conform(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, debug_build: Path) -> Conform:
    """The command that runs an algorithm's program inside a model of the kernel."""
    place = tmp_path_factory.mktemp("conform")

    def compiled(algorithm: str) -> list[Path]:
        program = place / algorithm
        if not program.exists():
            choice = f"-DALGORITHM={algorithm.replace('-', '_')}"
            command = [str(CC), "-O2", "-Wall", "-Werror", choice, "-o", program, BPF / "conform.c", "-lm"]
            subprocess.run(command, check=True)
        return [program]

    if request.param == "host":
        return compiled
    missing = [name for name in ALGORITHMS if not _object(name).exists()]
    if missing:
        pytest.skip(f"not built (make linux-objects): {', '.join(missing)}")
    return lambda algorithm: [debug_build / "examples/conform", _object(algorithm)]


def _object(algorithm: str) -> Path:
    return programs.OBJECTS / f"{algorithm.replace('-', '_')}.bpf.o"


CASES = {
    # Algorithm, duration, rate, delay, buffer, packet size, loss, recovery, least losses, least timeouts.
    # The central experiments: Hyun-Jang's Table 1, Shorten-Leith's figure 5, eHSTCP's fast path.
    "hyun-jang": ("hyun-jang", "200 s", "100 Mbit/s", "39 ms", "0.25 BDP", 1000, 0, "reno", 2, 0),
    "adaptive-aimd": ("adaptive-aimd", "200 s", "10 Mbit/s", "49 ms", "25 packets", 1500, 0, "sack", 10, 0),
    "ehstcp": ("ehstcp", "60 s", "1 Gbit/s", "19 ms", "2000 packets", 1500, 0, "sack", 2, 0),
    # Many losses, random ones too, and cuts while extra > 0 or the safety check runs.
    "hyun-jang, random losses": ("hyun-jang", "200 s", "20 Mbit/s", "39 ms", "0.125 BDP", 1000, 1e-5, "reno", 5, 0),
    "adaptive-aimd, random losses": (
        "adaptive-aimd",
        "200 s",
        "20 Mbit/s",
        "39 ms",
        "0.5 BDP",
        1000,
        2e-5,
        "reno",
        5,
        0,
    ),
    "ehstcp, small buffer": ("ehstcp", "100 s", "200 Mbit/s", "19 ms", "50 packets", 1500, 1e-6, "sack", 20, 0),
    # Random losses enough for timeouts.
    "hyun-jang, timeouts": ("hyun-jang", "400 s", "10 Mbit/s", "39 ms", "0.5 BDP", 1000, 5e-3, "reno", 100, 2),
    "adaptive-aimd, timeouts": ("adaptive-aimd", "400 s", "10 Mbit/s", "39 ms", "0.5 BDP", 1000, 5e-3, "reno", 100, 2),
    "ehstcp, timeouts": ("ehstcp", "400 s", "10 Mbit/s", "39 ms", "0.5 BDP", 1000, 5e-3, "reno", 100, 2),
}


@pytest.mark.parametrize("case", CASES)
def test_windows_stay_within_a_segment_or_two_percent(
    record: Path, conform: Conform, tmp_path: Path, case: str
) -> None:
    algorithm, duration, rate, delay, buffer, packet_size, loss, recovery, least_losses, least_timeouts = CASES[case]
    file = tmp_path / "scenario.toml"
    file.write_text(
        f'duration = "{duration}"\npacket_size = {packet_size}\nseries_interval = "off"\n'
        f'[[links]]\nname = "b"\nrate = "{rate}"\ndelay = "{delay}"\nbuffer = "{buffer}"\nloss = {loss}\n'
        f'[[flows]]\nalgorithm = "{algorithm}"\naccess_delay = "1 ms"\nrecovery = "{recovery}"\n'
    )
    with started([record, file], stdout=subprocess.PIPE) as events:
        said = subprocess.run(conform(algorithm), stdin=events.stdout, capture_output=True, text=True, check=True)
    assert events.returncode == 0
    outcome = json.loads(said.stdout)
    print(f"{case}: {outcome}")
    assert outcome["losses"] >= least_losses
    assert outcome["timeouts"] >= least_timeouts
    assert outcome["events"] > 50_000
    assert outcome["apart"] == 0


Say = Callable[..., list[tuple[int, int]]]


@pytest.fixture
def say(conform: Conform) -> Say:
    """Sends events, lines of `conform script`, to a program. Returns window and threshold after each, in segments."""

    def tell(algorithm: str, *lines: str) -> list[tuple[int, int]]:
        text = "".join(f"{line}\n" for line in lines)
        command = [*conform(algorithm), "script"]
        said = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
        pairs = [tuple(map(int, line.split())) for line in said.splitlines()]
        return [(cwnd, ssthresh) for cwnd, ssthresh in pairs]

    return tell


UNLIMITED = 0x7FFFFFFF
"""The kernel's threshold before the first loss."""


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_fresh_connection_starts_slowly(say: Say, algorithm: str) -> None:
    assert say(algorithm, f"connect 10 {UNLIMITED}", "ack 2 100000", "ack 8 100000") == [
        (10, UNLIMITED), (12, UNLIMITED), (20, UNLIMITED)
    ]  # fmt: skip


@pytest.mark.parametrize(("algorithm", "window"), [("adaptive-aimd", 230), ("hyun-jang", 230), ("ehstcp", 232)])
def test_switched_onto_a_live_connection(say: Say, algorithm: str, window: int) -> None:
    """213 segments, threshold 230, a round trip of ACKs of 20: 17 of the first one reach the threshold, the 200 of the
    ten that follow add 200/230 = 0.87 segments, or 2.6 with HighSpeed TCP's a(221) = 3 (RFC 3649, table). Not 433.
    """
    assert say(algorithm, "connect 213 230", *["ack 20 100000"] * 11)[-1] == (window, 230)


@pytest.mark.parametrize(("algorithm", "threshold"), [("adaptive-aimd", 5), ("hyun-jang", 5), ("ehstcp", 10)])
def test_loss_after_an_idle_restart(say: Say, algorithm: str, threshold: int) -> None:
    """The kernel has taken the window from 1000 to 10 (RFC 2861). A loss halves that, not 1000; equation 4 of eHSTCP
    cuts nothing, since no RTT was above the least. A timeout halves in all three (b(10) = 0.5).
    """
    idle = ("connect 1000 500", "ack 1 100000", "kernel 10 750")
    assert say(algorithm, *idle, "loss")[-1] == (10, threshold)
    assert say(algorithm, *idle, "timeout")[-1] == (1, 5)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_slow_start_ends_at_the_threshold(say: Say, algorithm: str) -> None:
    """A timeout at 20 leaves 1 and a threshold of 10; an ACK of 52 segments, most of which had arrived long before,
    takes the window to 10, not to 53.
    """
    assert say(algorithm, f"connect 20 {UNLIMITED}", "timeout", "ack 52 100000")[1:] == [(1, 10), (10, 10)]


@pytest.mark.parametrize("algorithm", ["adaptive-aimd", "hyun-jang"])
def test_undone_loss(say: Say, algorithm: str) -> None:
    """Back to 100 segments and a threshold of 50; then 110 segments acknowledged add 1.1, as before the loss."""
    assert say(algorithm, "connect 100 50", "loss", "undo", "ack 110 100000")[1:] == [(100, 50), (100, 50), (101, 50)]


QUEUED = ("connect 1000 1000", "ack 1 100000", "ack 1 125000", "kernel 1000 1000")
"""eHSTCP at 1000 segments with RTTmin = 100 ms and a last RTT of 125 ms: equation 4 cuts by 0.2, to 800; HighSpeed
TCP's b(1000) = 0.3299 cuts to 670.1.
"""


def test_ehstcp_timeout_takes_the_threshold_of_highspeed(say: Say) -> None:
    """The kernel asks for the threshold before it reports the timeout. 671 is the first whole window that is not below
    670.1.
    """
    told = say("ehstcp", *QUEUED, "timeout", "ack 1 100000", "ack 2000 100000")
    assert told[-3:] == [(1, 670), (2, 670), (671, 670)]


def test_ehstcp_timeout_in_recovery_is_no_second_cut(say: Say) -> None:
    """The kernel asks once: 800 stays; and there is no safety check: 800 segments acknowledged above it add a(789) = 7
    (RFC 3649, table). In binary the factor 0.8 is a hair more, so that slow start may end at 801.
    """
    told = say("ehstcp", *QUEUED, "loss", "timeout", "ack 2000 100000", "ack 800 100000")
    assert told[-4:-2] == [(1000, 800), (1, 800)]
    before, after = told[-2][0], told[-1][0]
    assert 800 <= before <= 801
    assert 6 <= after - before <= 7


def test_ehstcp_switched_to_during_a_timeout(say: Say) -> None:
    """Another timeout of an episode, for which the kernel does not ask: its threshold of 300 stays."""
    assert say("ehstcp", "connect 600 600", "loss", "connect 280 300", "timeout")[-1] == (1, 300)


def test_ehstcp_safety_check_tells_the_kernel(say: Say) -> None:
    """800 segments and an RTT of 102 ms after the recovery: N' = 800 2/102 = 15.7 > 10, so 670 for both."""
    told = say("ehstcp", *QUEUED, "loss", "recovered", "ack 800 102000", "ack 201 102000")
    assert told[-3:] == [(800, 800), (800, 800), (670, 670)]


def test_ehstcp_without_safety_check(say: Say) -> None:
    """`safety_rtts = 0`: growth at once, by Reno's 1 in the round trip of the loss, then by a(789) = 7."""
    told = say("ehstcp", "params 10 0 0", *QUEUED, "loss", "recovered", "ack 801 100000", "ack 800 100000")
    first, second = told[-2][0], told[-1][0]
    assert first == 801
    assert 6 <= second - first <= 7


def test_ehstcp_leaves_out_the_way_back(say: Say) -> None:
    """RTT 130 ms, 20 ms of which are queueing on the way back: eRTT 110 ms, so the cut at 1100 is 10/110: 1000."""
    told = say("ehstcp", "connect 1100 1100", "ack 1 100000 -7000", "ack 1 130000 13000", "kernel 1100 1100", "loss")
    assert told[-1] == (1100, 1000)


@pytest.mark.parametrize("drift_ppm", [50, -50])
def test_ehstcp_clocks_that_drift_apart(say: Say, drift_ppm: int) -> None:
    """RTTmin 100 ms, then 15 minutes at 105 ms, with the queue in the forward direction (N' = 25): the cut at 525 is
    5/105, to 500. The stored offset of the clocks, from 20 s, is wrong by 1 ms, and their tick differs: at most 525
    100/103 = 510. Without expiry of the offset, 45 ms of drift would hide the queue and prevent the cut.
    """
    rounds = [f"ack 1 105000 {20_000 + drift_ppm * second}" for second in range(15 * 60)]
    lines = [line for event in rounds for line in ("wait 1000", "kernel 525 525", event)]
    (_, threshold) = say("ehstcp", "connect 525 525", "ack 1 100000 20000", *lines, "kernel 525 525", "loss")[-1]
    assert 500 <= threshold <= 510


@pytest.mark.parametrize(("minutes", "threshold"), [(5, 500), (25, 714)])
def test_adaptive_aimd_forgets_the_greatest_rtt(say: Say, minutes: int, threshold: int) -> None:
    """RTTmin 100 ms, once 500 ms, then 140 ms: beta is 100/500, drawn to 0.5, while remembered; then 100/140."""
    once = ["connect 100 100", "loss", "recovered", "ack 1 100000", *["ack 1 500000"] * 60]
    lines = ["wait 1000", "ack 1 140000"] * (60 * minutes)
    assert say("adaptive-aimd", *once, *lines, "kernel 1000 1000", "loss")[-1] == (1000, threshold)


def test_ehstcp_forgets_the_greatest_rtt(say: Say) -> None:
    """Once 10 s, then 100 and 125 ms: 25 minutes later the safety check takes 5 RTTmax = 0.625 s, not 50 s."""
    quiet = ["wait 1000", "ack 1 100000"] * (60 * 25)
    once = ["connect 1000 1000", "ack 1 100000", "ack 1 10000000", *quiet, "ack 1 125000", "kernel 1000 1000"]
    after = ["wait 2000", "ack 800 100000", "ack 201 100000", "ack 800 100000"]
    told = say("ehstcp", *once, "loss", "recovered", *after)
    assert told[-4:-2] == [(800, 800), (800, 800)]
    assert told[-1][0] > 800


def test_parameters_out_of_range_are_drawn_into_it(say: Say) -> None:
    """beta_min = 3 and beta_max = 3 in the object: the greatest that the algorithm allows is 0.99."""
    three = 3 * 2**20
    assert say("adaptive-aimd", f"params {three} {three} 0", "connect 1000 500", "loss")[-1] in [
        (1000, 989),
        (1000, 990),
    ]


SCALES = {
    "adaptive-aimd": {"beta_min": 2**20, "beta_max": 2**20, "fading": 2**20},
    "hyun-jang": {"a": 2**20, "alpha": 2**20, "beta": 2**20},
    "ehstcp": {"n_star": 1, "safety_rtts": 1, "cap_beta": 1},
}
"""The programs' parameters in their order, and what 1 is there."""


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_programs_know_the_ranges_of_the_registry(tmp_path: Path, algorithm: str) -> None:
    name = algorithm.replace("-", "_")
    source = tmp_path / "ranges.c"
    source.write_text(
        f'#include <stdio.h>\n#include "{name}.h"\nint main(void) {{ for (int i = 0; i < 2; i++) {{ '
        f"struct {name}_params p = {name}_within(-i, -i, -i); __u32 *v = (__u32 *)&p; "
        'printf("%u %u %u\\n", v[0], v[1], v[2]); } }\n'
    )
    subprocess.run([str(CC), "-I", BPF, "-o", tmp_path / "ranges", source], check=True)
    said = subprocess.run([tmp_path / "ranges"], capture_output=True, text=True, check=True).stdout
    ends = [list(map(int, line.split())) for line in said.splitlines()]
    (info,) = (info for info in _core.algorithms() if info["name"] == algorithm)
    for i, (param, scale) in enumerate(SCALES[algorithm].items()):
        (known,) = (known for known in info["params"] if known["name"] == param)
        least, most = (0, 1) if known["kind"] == "flag" else (known["min"], known["max"])
        assert (ends[0][i], ends[1][i]) == (int(least * scale), int(most * scale))


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
