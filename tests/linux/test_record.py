"""Recordings of a run in the virtual machine: our readers find the metrics that the agent reports."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

import pytest

from fullpipe import Scenario, linux
from fullpipe.errors import InputError
from fullpipe.linux import job, kernel
from fullpipe.linux.plan import Plan
from fullpipe.measurements import join, read
from fullpipe.runs.result import Result
from linux.beside import needs_guest

pytestmark = [pytest.mark.slow_linux, needs_guest]


IPERF3 = shutil.which("iperf3") is not None
needs_iperf3 = pytest.mark.skipif(not IPERF3, reason="requires iperf3")

SCENARIO = Scenario.from_dict(
    {
        "duration": "5 s",
        "packet_size": 1514,
        "series_interval": "100 ms",
        "links": [{"name": "l", "rate": "5 Mbit/s", "delay": "20 ms", "buffer": "15 packets"}],
        "flows": [{"algorithm": "cubic", "host": "linux"}],
    }
)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Path]:
    directory = tmp_path_factory.mktemp("recording") / "out"
    found = linux.run(SCENARIO, record=str(directory), iperf3=IPERF3)
    return Result(SCENARIO, found, engine="linux", wall_s=0), directory


@needs_iperf3
def test_iperf3_has_the_goodput_of_the_flow(recorded: tuple[Result, Path]) -> None:
    result, directory = recorded
    measured = read(directory / "iperf3.json")
    last = measured.samples.to_pylist()[-1]
    (flow,) = result.flows.to_pylist()
    assert measured.flows.to_pylist()[0]["algorithm"] == "cubic"
    # The last 15 packets and those on their way are not received after 5 s of sending.
    expected = flow["goodput_bps"] * 1448 / 1514
    assert 8 * last["acked_bytes"] / 5 == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"flows": [{"algorithm": "cubic", "host": "linux", "count": 2}]}, "one flow that sends from the start"),
        ({"flows": [{"algorithm": "cubic", "host": "linux", "start": "1 s"}]}, "one flow that sends from the start"),
        ({"links.l.schedule": [{"at": "2 s", "rate": "3 Mbit/s"}]}, "--iperf3 conflicts with a schedule"),
    ],
)
def test_runs_that_iperf3_cannot_have(change: dict[str, object], message: str) -> None:
    plan = Plan.of(SCENARIO.set(change))
    booted = kernel.ensure(modules=job.modules(plan))
    with pytest.raises(InputError, match=message):
        job.build(plan, booted, iperf3=True)


def test_capture_has_the_packets_of_the_flow(recorded: tuple[Result, Path]) -> None:
    result, directory = recorded
    (flow,) = result.flows.to_pylist()
    measured = read(directory / "flow-0000-cubic.pcap")
    last = measured.samples.to_pylist()[-1]
    assert last["retransmits"] == flow["retransmits"] > 0
    # Goodput counts 1514 bytes for 1448 of payload; ACKs of the last round trip are on their way.
    acked = flow["goodput_bps"] * flow["active_s"] / 8 * 1448 / 1514
    assert last["acked_bytes"] == pytest.approx(acked, rel=0.02)
    assert measured.metadata["vantage"] == "sender"
    assert last["min_rtt_s"] == pytest.approx(0.04, rel=0.01)


def test_sockets_and_queues_have_the_clock_of_the_capture(recorded: tuple[Result, Path]) -> None:
    result, directory = recorded
    names = ["flow-0000-cubic.pcap", "ss-0.txt", "tc-l.txt"]
    both = join([read(directory / name) for name in names], names)
    (flow,) = both.flows.to_pylist()
    assert flow["algorithm"] == "cubic"
    last = both.link_samples.to_pylist()[-1]
    assert last["drops"] == result.links.to_pylist()[0]["dropped_packets"] > 0
    assert last["t_s"] == pytest.approx(both.samples.to_pylist()[-1]["t_s"], abs=0.3)
    (uploaded,) = read(directory / "flows.flent.gz").flows.to_pylist()
    assert uploaded["algorithm"] == "cubic"
    truth = tomllib.loads((directory / "truth.toml").read_text())
    assert truth["links"][0]["rate"] == "5 Mbit/s"
