"""Several files of one run as one measurement."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import fullpipe
from fullpipe.errors import InputError
from fullpipe.experiments.explain.observation import metrics_of, observe
from fullpipe.measurements import Measurement, join, read, schema

SCENARIO = """\
duration = "6 s"
packet_size = 1500
series_interval = "50 ms"
links = [{ name = "l", rate = "8 Mbit/s", delay = "20 ms", buffer = "30 packets" }]
flows = [{ algorithm = "cubic", host = "linux" }]
"""

BEGIN_S = 946_684_801
"""2000-01-01 00:00:01 UTC, the time 0 of captures."""


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("capture")
    (folder / "scenario.toml").write_text(SCENARIO)
    recording = fullpipe.Recording(pcap=folder / "captures")
    fullpipe.run(fullpipe.Scenario.load(folder / "scenario.toml"), recording=recording)
    return folder / "captures" / "flow-0000-cubic.pcap"


def tc(path: Path, begin_s: float, count: int) -> Path:
    """Samples of a queue of 12 packets, at 8 Mbit/s, that drops one packet a second."""
    lines = []
    for i in range(count):
        one = f'"kind":"pfifo","handle":"1:","root":true,"bytes":{100_000 * i},"packets":{33 * i},"drops":{i // 10}'
        lines += [f"# {begin_s + i / 10:.6f}", f'[{{{one},"overlimits":0,"requeues":0,"backlog":18000,"qlen":12}}]']
    path.write_text("\n".join(lines) + "\n")
    return path


def test_queue_of_another_file_has_the_times_of_the_capture(capture: Path, tmp_path: Path) -> None:
    queue = read(tc(tmp_path / "queue", BEGIN_S + 1.0, 50))
    both = join([queue, read(capture)], ["queue", "capture"])
    assert both.metadata["format"] == "pcap"
    rows = both.link_samples.to_pylist()
    # The capture begins at the time 0 with its SYN.
    assert rows[0]["t_s"] == pytest.approx(1.0, abs=0.001)
    assert rows[0]["backlog_packets"] == 12
    assert both.links.to_pylist()[0]["queue"] == "pfifo"
    assert both.samples.equals(read(capture).samples)


def test_files_of_different_times_are_refused(capture: Path, tmp_path: Path) -> None:
    late = read(tc(tmp_path / "queue", BEGIN_S + 4.0, 50))
    with pytest.raises(InputError, match=r"queue conflicts with capture: times overlap by 2 s of 4\.9 s"):
        join([read(capture), late], ["capture", "queue"])


def named(measured: Measurement, algorithm: str | None, **metadata: object) -> Measurement:
    rows = [{**row, "algorithm": algorithm} for row in measured.flows.to_pylist()]
    flows = pa.Table.from_pylist(rows, schema=schema("flows"))
    return replace(measured, flows=flows, metadata={**measured.metadata, **metadata})


def test_flow_takes_the_algorithm_of_its_addresses(capture: Path) -> None:
    first = read(capture)
    both = join([first, named(first, "bbr")], ["capture", "sockets"])
    assert [row["algorithm"] for row in both.flows.to_pylist()] == ["bbr"]


def test_acknowledged_bytes_match_clocks_without_dates(capture: Path) -> None:
    first = read(capture)
    late = replace(named(first, "cubic", t0=None), link_samples=read_queue(first))
    moved = late.samples.set_column(0, late.samples.schema.field(0), pc.add(late.samples["t_s"], 1.5))
    both = join([first, replace(late, samples=moved)], ["capture", "sockets"])
    # The other clock is 1.5 s ahead.
    assert both.link_samples.to_pylist()[0]["t_s"] == pytest.approx(3.0 - 1.5, abs=0.011)


def read_queue(measured: Measurement) -> pa.Table:
    row = dict.fromkeys(measured.link_samples.schema.names) | {"t_s": 3.0, "link": 0, "backlog_packets": 1}
    return pa.Table.from_pylist([row], schema=schema("link_samples"))


def test_other_flows_are_no_match(capture: Path) -> None:
    first = read(capture)
    steady = first.samples.to_pylist()
    steady = [{**row, "acked_bytes": (i % 7) ** 3} for i, row in enumerate(steady)]
    other = replace(named(first, None, t0=None), samples=pa.Table.from_pylist(steady, schema=schema("samples")))
    with pytest.raises(InputError, match="sockets conflicts with capture: acknowledged bytes differ"):
        join([first, other], ["capture", "sockets"])


@pytest.mark.parametrize("is_bottleneck", [True, False])
def test_drops_and_queue_of_the_bottleneck_are_metrics_of_the_fit(
    capture: Path, tmp_path: Path, is_bottleneck: bool
) -> None:
    queue = tc(tmp_path / "queue", BEGIN_S, 60)
    if not is_bottleneck:  # which carries the bytes of the flow, within 10 %
        queue.write_text(re.sub(r'"bytes":\d+', '"bytes":7', queue.read_text()))
    seen = observe(join([read(capture), read(queue)], ["capture", "queue"]), "capture")
    values = metrics_of(seen.trace, seen.begin_s, seen.span_s).values
    found = values.get("mean_queue_packets"), values.get("dropped_packets")
    assert found == ((12, 5) if is_bottleneck else (None, None))
