"""Equal scenarios on Linux and in the simulator: comparison of each metric. Long; `make test-linux` runs it.

10 Mbit/s, 100 ms, one flow, 200 s after 40 s of start-up, SACK, and an ACK per segment on both sides. Algorithms for
which the kernel has other constants than the papers are simulated with the kernel's.
"""

from __future__ import annotations

import shutil
from functools import cache
from statistics import fmean, stdev
from typing import Any

import pytest

from fullpipe import Result, Scenario
from fullpipe.linux import machine, programs
from fullpipe.runs.engines import ENGINES, run

pytestmark = [
    pytest.mark.slow_linux,
    pytest.mark.skipif(
        shutil.which(machine.QEMU) is None or not (programs.OBJECTS / "agent").exists(),
        reason="needs qemu-system-x86 and `make linux-objects`",
    ),
]

CASES: dict[str, tuple[Any, int]] = {
    "reno": ("reno", 1500),
    "vegas": ({"name": "vegas", "alpha": 2, "beta": 4, "gamma": 1, "loss_cut": 0.5}, 1500),
    "hstcp": ("hstcp", 1500),
    "scalable": ({"name": "scalable", "at_least_reno": True}, 1500),
    "bic": ({"name": "bic", "s_max": 16, "s_min": 0.2, "beta": 0.2, "divisor": 4, "search": "smooth"}, 1500),
    "cubic": ("cubic", 1500),
    "htcp": ("htcp", 1500),
    "adaptive-aimd": ("adaptive-aimd", 1500),
    "ehstcp": ("ehstcp", 1500),
    "hyun-jang": ("hyun-jang", 1500),
    "hyun-jang, 400 bytes": ("hyun-jang", 400),
}
"""What runs, and the packets' size in bytes."""
DELAYS_MS = {"hyun-jang": (48.5, 48.7, 48.9, 49, 49.1, 49.3, 49.5)}
"""The link's delays simulated; 49 ms for the others. With a BDP of 83 packets Hyun and Jang's 2 % of the RTT are 1.7
packets, and W_full settles in one of several cycles: at 1/4 BDP 49 ms give 0.970, 48.9 ms 0.942. Linux, which shows
whole segments and leaves a recovery with another window, is to be within the range that the simulator spans for delays
within 1 %. With 400-byte packets there is one cycle.
"""
RUNS = [(case, bdp) for bdp in (0.125, 0.25, 0.5) for case in CASES if CASES[case][1] == 1500 or bdp == 0.125]
"""Cases and buffers; a run with small packets takes as long as three."""
APART = {("hstcp", 0.125): 0.03}
"""Where more than 0.02 of utilization lie between the two. The kernel's table has a = 2 and b = 0.44 for 39 to 118
segments, the RFC's formulas a of 1 to 2 and b of 0.50 to 0.44: 0.859 on Linux, 0.831 simulated; the closed form for
constant a and b = 0.44 gives 0.865.
"""


def scenario(
    *cases: str,
    buffer_bdp: float,
    delay_ms: float = 49,
    starts_ms: tuple[int, ...] = (0, 300),
    access_ms: tuple[int, ...] = (1, 1),
    delayed_ack: bool = False,
) -> Scenario:
    shared = {"recovery": "sack", "delayed_ack": delayed_ack}
    flows = [
        {"algorithm": CASES[name][0], "start": f"{start} ms", "access_delay": f"{access} ms", **shared}
        for name, start, access in zip(cases, starts_ms, access_ms, strict=False)
    ]
    link = {"name": "bottleneck", "rate": "10 Mbit/s", "delay": f"{delay_ms} ms", "buffer": f"{buffer_bdp} BDP"}
    return Scenario.from_dict(
        {
            "duration": "240 s",
            "warmup": "40 s",
            "packet_size": CASES[cases[0]][1],
            "series_interval": "100 ms",
            "links": [link],
            "flows": flows,
        }
    )


@cache
def on_linux(case: str, buffer_bdp: float) -> Result:
    return run(scenario(case, buffer_bdp=buffer_bdp), engine="linux")


def simulated(case: str, buffer_bdp: float) -> list[Result]:
    return [run(scenario(case, buffer_bdp=buffer_bdp, delay_ms=delay)) for delay in DELAYS_MS.get(case, (49,))]


def utilization(result: Result) -> float:
    value: float = result.to_dict()["links"][0]["utilization"]
    return value


def mean_cwnd(result: Result) -> float:
    value: float = result.to_dict()["flows"][0]["mean_cwnd_packets"]
    return value


def mean_queue(result: Result) -> float:
    value: float = result.to_dict()["links"][0]["mean_queue_packets"]
    return value


@pytest.mark.parametrize(("case", "buffer_bdp"), RUNS)
def test_linux_and_simulator_agree(case: str, buffer_bdp: float) -> None:
    """Within 2 percentage points of utilization (but for `APART`) and 6 % of mean cwnd."""
    apart = APART.get((case, buffer_bdp), 0.02)
    there, here = on_linux(case, buffer_bdp), simulated(case, buffer_bdp)
    used, windows = sorted(map(utilization, here)), sorted(map(mean_cwnd, here))
    print(
        f"\n{case}, {buffer_bdp} BDP: utilization Linux {utilization(there):.4f}, simulator {_range(used, '.4f')}; "
        f"mean cwnd {mean_cwnd(there):.1f}, {_range(windows, '.1f')}"
    )
    assert used[0] - apart <= utilization(there) <= used[-1] + apart
    assert 0.94 * windows[0] <= mean_cwnd(there) <= 1.06 * windows[-1]


LATER: dict[str, Any] = {
    "westwood": {"algorithm": {"name": "westwood", "halve_in_recovery": True}},
    "illinois": {"algorithm": "illinois"},
    "veno": {"algorithm": "veno"},
    "yeah": {"algorithm": "yeah"},
    "hybla": {"algorithm": "hybla"},
    "reno": {"algorithm": "reno"},
    "vegas": {"algorithm": CASES["vegas"][0]},
    "cubic": {"algorithm": {"name": "cubic", "alpha_to_one": False, "whole_segments": True}},
}
LATER["cubic, HyStart"] = {**LATER["cubic"], "slow_start": "hystart"}
"""What runs with the kernel's own recovery, RACK-TLP and proportional rate reduction, in the simulator too."""
A_SEGMENT = {("vegas", 2): 1.1}
"""Packets that mean queues may be apart. Vegas stops wherever it finds itself between alpha and beta: with 89 segments
on Linux, 88 in the simulator.
"""


BUFFERS = (0.125, 0.25, 0.5, 2)
"""In bandwidth-delay products."""
COLLAPSED = {("westwood", 0.125): 0.6, ("westwood", 0.25): 0.75}
"""What is judged by a test of its own, and what it uses of the link at most."""


def later(flow: Any, buffer_bdp: float) -> Scenario:
    """One flow, with the kernel's recovery."""
    alone = scenario("reno", buffer_bdp=buffer_bdp)
    return alone.replace(flows=[{**alone.to_dict()["flows"][0], **flow, "recovery": "rack"}])


@pytest.mark.parametrize(
    ("case", "buffer_bdp"), [(case, bdp) for case in LATER for bdp in BUFFERS if (case, bdp) not in COLLAPSED]
)
def test_modules_agree(case: str, buffer_bdp: float) -> None:
    """Within 2 percentage points of utilization, 6 % of mean cwnd and 15 % of mean queue (in packets, and so of the
    queueing delay).
    """
    alone = later(LATER[case], buffer_bdp)
    there, here = (run(alone, engine=engine) for engine in ENGINES[::-1])
    used, windows, queues = (
        [figure(result) for result in (there, here)] for figure in (utilization, mean_cwnd, mean_queue)
    )
    print(
        f"\n{case}, {buffer_bdp} BDP, Linux and simulator: utilization {used[0]:.4f}, {used[1]:.4f}; "
        f"mean cwnd {windows[0]:.1f}, {windows[1]:.1f}; mean queue {queues[0]:.2f}, {queues[1]:.2f}"
    )
    assert used[0] == pytest.approx(used[1], abs=0.02)
    assert windows[0] == pytest.approx(windows[1], rel=0.06)
    assert queues[0] == pytest.approx(queues[1], rel=0.15, abs=A_SEGMENT.get((case, buffer_bdp), 0.0))


@pytest.mark.parametrize(("case", "bdp"), COLLAPSED)
def test_linuxs_westwood_fails_over_a_small_buffer(case: str, bdp: float) -> None:
    """Behavior after a recovery: the simulator behaves as Linux with the rule, and not without it."""
    linux = utilization(run(later(LATER[case], bdp), engine="linux"))
    halving, paper = (
        utilization(run(later({"algorithm": algorithm}, bdp))) for algorithm in (LATER[case]["algorithm"], case)
    )
    print(f"\n{case}, {bdp} BDP: utilization Linux {linux:.4f}, simulator {halving:.4f}, as in the paper {paper:.4f}")
    assert max(linux, halving) < COLLAPSED[case, bdp]
    assert paper >= 0.99


@pytest.mark.parametrize("buffer_bdp", [0.25, 0.5])
def test_adaptive_aimd_fills_the_link(buffer_bdp: float) -> None:
    assert utilization(on_linux("adaptive-aimd", buffer_bdp)) >= 0.98
    assert utilization(on_linux("adaptive-aimd", buffer_bdp)) > utilization(on_linux("reno", buffer_bdp))


def test_hyun_jang_nearly_fills_the_link() -> None:
    assert utilization(on_linux("hyun-jang, 400 bytes", 0.125)) >= 0.97
    assert utilization(on_linux("hyun-jang", 0.125)) > utilization(on_linux("reno", 0.125)) + 0.03


def test_delayed_acks() -> None:
    """An ACK for every second segment, not for all segments within a timer of 40 ms: a quarter of a BDP gives Reno 0.88
    of the link (equation 5 of Hyun and Jang: 0.893).
    """
    there, here = (run(scenario("reno", buffer_bdp=0.25, delayed_ack=True), engine=name) for name in ENGINES[::-1])
    print(f"\nreno, delayed ACKs: utilization Linux {utilization(there):.4f}, simulator {utilization(here):.4f}")
    assert utilization(there) == pytest.approx(utilization(here), abs=0.02)
    assert mean_cwnd(there) == pytest.approx(mean_cwnd(here), rel=0.06)


STARTS_MS = (300, 800, 1300, 1800, 2300)
"""When the second flow begins: as many runs as a mean takes. One says little: which flow meets a full queue hangs on
microseconds, and another build of the guest's agent moves a share by 0.02.
"""
T_95 = 2.776
"""Student's t for five values: 95 % of a mean's distribution lie within so many standard errors."""
PRECISE = 0.05
"""The half of a mean's interval at most, half the way from an even share to the limit: wider, and the runs were too few
to judge by.
"""


@pytest.mark.parametrize(
    ("algorithm", "buffer_bdp", "least", "most"),
    [
        ("hyun-jang", 0.125, 0.4, 0.6),
        ("hyun-jang", 0.25, 0.4, 0.6),
        ("adaptive-aimd", 0.5, 0.4, 0.6),
        ("adaptive-aimd", 0.75, 0.4, 0.6),
        ("adaptive-aimd", 0.25, 0.6, 0.7),
    ],
)
def test_friendly_to_reno(algorithm: str, buffer_bdp: float, least: float, most: float) -> None:
    """One flow of each, with delayed ACKs as Linux's receivers send them: neither gets more than 60 % in the mean.

    The exception is adaptive AIMD with equal round trips and small buffers. Its window grows more slowly, so it is less
    often the flow that meets a full queue (at 1/4 BDP 51 times versus 77). The paper's fairness is for flows that meet
    equal events.
    """
    pairs = [
        scenario(algorithm, "reno", buffer_bdp=buffer_bdp, starts_ms=(0, start_ms), delayed_ack=True)
        for start_ms in STARTS_MS
    ]
    judge(f"{algorithm} beside reno, {buffer_bdp} BDP", [[pair] for pair in pairs], least, most)


@pytest.mark.parametrize("buffer_bdp", [0.125, 0.25, 0.5])
def test_adaptive_aimd_is_friendly_where_round_trips_differ(buffer_bdp: float) -> None:
    """98 and 102 ms, each flow once with the shorter: the flows are out of step, and neither gets more than 60 %."""
    both_ways = [
        [
            scenario(
                *("adaptive-aimd", "reno"),
                buffer_bdp=buffer_bdp,
                delay_ms=47,
                starts_ms=(0, start_ms),
                access_ms=access_ms,
                delayed_ack=True,
            )
            for access_ms in ((2, 4), (4, 2))
        ]
        for start_ms in STARTS_MS
    ]
    judge(f"adaptive-aimd beside reno, 98 and 102 ms, {buffer_bdp} BDP", both_ways, 0.4, 0.6)


def judge(where: str, repetitions: list[list[Scenario]], least: float, most: float) -> None:
    """Holds the mean share over repetitions, each the mean of its scenarios, to limits."""
    means = {engine: [fmean(share(pair, engine) for pair in pairs) for pairs in repetitions] for engine in ENGINES}
    mean = {engine: fmean(values) for engine, values in means.items()}
    half = {engine: T_95 * stdev(values) / len(values) ** 0.5 for engine, values in means.items()}
    print(f"\n{where}: " + ", ".join(f"{engine} {mean[engine]:.3f} +- {half[engine]:.3f}" for engine in ENGINES))
    print(f"  Linux, run by run: {_range(sorted(means['linux']), '.3f')}")
    assert half["linux"] <= PRECISE
    assert least <= mean["linux"] <= most


def bbr(*algorithms: str, buffer_bdp: float, seconds: int = 120, seed: int = 1) -> Scenario:
    """Flows with Linux's defaults; the first is BBR's."""
    flows = [
        {"algorithm": name, "start": f"{300 * place} ms", "access_delay": "1 ms", "host": "linux"}
        for place, name in enumerate(algorithms)
    ]
    link = {"name": "bottleneck", "rate": "10 Mbit/s", "delay": "49 ms", "buffer": f"{buffer_bdp} BDP"}
    run_for = {"duration": f"{seconds} s", "warmup": "40 s", "seed": seed, "series_interval": "100 ms"}
    return Scenario.from_dict({**run_for, "packet_size": 1500, "links": [link], "flows": flows})


@pytest.mark.parametrize("buffer_bdp", [0.125, 0.25, 0.5, 1, 2])
def test_bbr_agrees(buffer_bdp: float) -> None:
    """Within 2 percentage points of utilization, 6 % of mean in-flight and 15 % of mean queue."""
    there, here = (run(bbr("bbr", buffer_bdp=buffer_bdp), engine=name) for name in ENGINES[::-1])

    def in_flight(result: Result) -> float:
        series = result.series.to_pydict()
        return fmean(x for t, x in zip(series["t_s"], series["in_flight_packets"], strict=True) if t > 40)

    def queue(result: Result) -> float:
        value: float = result.to_dict()["links"][0]["mean_queue_packets"]
        return value

    figures = [(name(there), name(here)) for name in (utilization, in_flight, queue)]
    print(f"\nbbr, {buffer_bdp} BDP, Linux and simulator: {figures}")
    assert figures[0][0] == pytest.approx(figures[0][1], abs=0.02)
    assert figures[1][0] == pytest.approx(figures[1][1], rel=0.06)
    assert figures[2][0] == pytest.approx(figures[2][1], rel=0.15)


@pytest.mark.parametrize("other", ["cubic", "bbr"])
def test_bbr_shares_as_on_linux(other: str) -> None:
    """At 1 BDP, shares within 10 points of the mean of several seeds, from which the simulator draws BBR's phases."""
    linux = share(bbr("bbr", other, buffer_bdp=1, seconds=160), "linux")
    simulator = [share(bbr("bbr", other, buffer_bdp=1, seconds=160, seed=seed), "simulator") for seed in range(1, 5)]
    print(f"\nbbr beside {other}: {linux:.3f} of both, simulator {_range(sorted(simulator), '.3f')}")
    assert linux == pytest.approx(fmean(simulator), abs=0.1)


def share(pair: Scenario, engine: str) -> float:
    """Of both flows' goodput, that of the first."""
    ours, reno = (flow["goodput_bps"] for flow in run(pair, engine=engine).to_dict()["flows"])
    return float(ours / (ours + reno))


def _range(values: list[float], form: str) -> str:
    return f"{values[0]:{form}}" + (f" to {values[-1]:{form}}" if len(values) > 1 else "")
