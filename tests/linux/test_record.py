"""Recordings of a run in the virtual machine: our readers find the metrics that the agent reports."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from fullpipe import Scenario, linux
from fullpipe.measurements import join, read
from fullpipe.runs.result import Result
from linux.beside import needs_guest

pytestmark = [pytest.mark.slow_linux, needs_guest]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Path]:
    directory = tmp_path_factory.mktemp("recording") / "out"
    scenario = Scenario.from_dict(
        {
            "duration": "5 s",
            "packet_size": 1514,
            "series_interval": "100 ms",
            "links": [{"name": "l", "rate": "5 Mbit/s", "delay": "20 ms", "buffer": "15 packets"}],
            "flows": [{"algorithm": "cubic", "host": "linux"}],
        }
    )
    return Result(scenario, linux.run(scenario, record=str(directory)), engine="linux", wall_s=0), directory


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
