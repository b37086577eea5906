"""Reader of qlog and sqlog: each trap is a file that the test makes."""

from __future__ import annotations

import json
import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from fullpipe.errors import InputError
from fullpipe.measurements import Measurement, read

Event = tuple[float, str, dict[str, Any]]

EVENTS: list[Event] = [
    (0.0, "packet_sent", {"header": {"packet_type": "1RTT", "packet_number": 0}, "raw": {"length": 1200}}),
    (1.0, "packet_sent", {"header": {"packet_type": "1RTT", "packet_number": 1}, "raw": {"length": 1200}}),
    (30.0, "metrics_updated", {"latest_rtt": 30.0, "smoothed_rtt": 30.0, "min_rtt": 29.0, "congestion_window": 12000}),
    (
        30.0,
        "packet_received",
        {"frames": [{"frame_type": "ack", "acked_ranges": [[0]], "ce": 1}], "raw": {"length": 40}},
    ),
    (45.0, "metrics_updated", {"bytes_in_flight": 1200, "pacing_rate": 1000000}),
    (60.0, "packet_lost", {"header": {"packet_type": "1RTT", "packet_number": 1}}),
    (71.0, "packet_received", {"frames": [{"frame_type": "ack", "acked_ranges": [[0, 1]]}], "raw": {"length": 40}}),
]


def events(prefix: str = "transport:", every: list[Event] = EVENTS, factor: float = 1) -> list[dict[str, Any]]:
    return [{"time": time * factor, "name": prefix + name, "data": data} for time, name, data in every]


def document(version: str = "0.3", some: list[Any] | None = None, **trace: Any) -> dict[str, Any]:
    one = {"vantage_point": {"type": "server"}, "common_fields": {"time_format": "relative"}, **trace}
    key = "file_schema" if version.startswith("urn:") else "qlog_version"
    return {key: version, "traces": [{**one, "events": events() if some is None else some}]}


def load(tmp_path: Path, content: object) -> Measurement:
    path = tmp_path / "log"
    text = content if isinstance(content, str | bytes) else json.dumps(content)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read(path)


def rows(measured: Measurement) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = measured.samples.to_pylist()
    return found


def check(measured: Measurement) -> None:
    """The values of `EVENTS`: rows are bins of 10 ms that have events."""
    found = rows(measured)
    assert [round(each["t_s"], 3) for each in found] == [0.01, 0.04, 0.05, 0.07, 0.08]
    assert [each["sent_bytes"] for each in found] == [2400] * 5
    assert [each["acked_bytes"] for each in found] == [0, 1200, 1200, 1200, 2400]
    assert [each["lost"] for each in found] == [0, 0, 0, 1, 1]
    # What has changed is carried forward, and nothing is invented before the first value.
    assert [each["rtt_s"] for each in found] == [None, *[pytest.approx(0.03)] * 4]
    assert [each["cwnd_bytes"] for each in found] == [None, *[12000] * 4]
    assert [each["in_flight_bytes"] for each in found] == [None, None, 1200, 1200, 1200]
    assert found[-1]["pacing_bps"] == 1e6
    assert found[-1]["ce"] == 1
    (flow,) = measured.flows.to_pylist()
    assert (flow["protocol"], flow["direction"], flow["mss_bytes"]) == ("quic", "out", 1200)


@pytest.mark.parametrize("prefix", ["transport:", "recovery:", "quic:", "QUIC:", ""])
@pytest.mark.parametrize("version", ["0.3", "0.4", "urn:ietf:params:qlog:file:contained"])
def test_versions_and_names(tmp_path: Path, version: str, prefix: str) -> None:
    some = events(prefix)
    if prefix == "quic:":
        some = json.loads(json.dumps(some).replace("metrics_updated", "recovery_metrics_updated"))
    check(load(tmp_path, document(version, some)))


@pytest.mark.parametrize("version", ["0.2", "1.0", "draft-03", "urn:ietf:params:qlog:file:other"])
def test_other_versions_are_refused(tmp_path: Path, version: str) -> None:
    with pytest.raises(InputError, match=r"unknown qlog (version|schema) "):
        load(tmp_path, document(version))


def test_arrays_of_the_first_drafts(tmp_path: Path) -> None:
    # Times are strings in us since an unknown start, names are in upper case, the last event is empty.
    rename = {"metrics_updated": "METRIC_UPDATE"}
    some: list[Any] = [
        [str(round(103453984895 + 1000 * t)), "TRANSPORT", rename.get(name, name.upper()), "-", _older(data)]
        for t, name, data in EVENTS
    ]
    fields = ["relative_time", "CATEGORY", "EVENT_TYPE", "TRIGGER", "DATA"]
    units = {"time_units": "us"}
    common = {"reference_time": "0"}
    measured = load(
        tmp_path, document("draft-00", [*some, []], event_fields=fields, configuration=units, common_fields=common)
    )
    check(measured)
    assert measured.metadata["t0"] is None


def _older(data: dict[str, Any]) -> dict[str, Any]:
    """Data of draft 00: RTTs in us, the window called cwnd, and packet numbers as strings."""
    found = {{"congestion_window": "cwnd"}.get(key, key): value for key, value in data.items()}
    found = {key: value * 1000 if key.endswith("_rtt") else value for key, value in found.items()}
    if "header" in found and "raw" in found:
        found["header"] = {**found["header"], "packet_size": found.pop("raw")["length"]}
        found["header"]["packet_number"] = str(found["header"]["packet_number"])
    return found


@pytest.mark.parametrize(
    ("common", "first", "t0"),
    [
        ({"time_format": "relative", "reference_time": 1.6e12}, 0.0, "2020-09-13T12:26:40.000000Z"),
        ({}, 1.6e12, "2020-09-13T12:26:40.000000Z"),  # aioquic: absolute, without reference_time
        (
            {"time_format": "relative_to_epoch", "reference_time": {"epoch": "1970-01-01T00:00:00Z"}},
            0.0,
            "1970-01-01T00:00:00.000000Z",
        ),
        (
            {
                "reference_time": {
                    "clock_type": "monotonic",
                    "epoch": "unknown",
                    "wall_clock_time": "2020-09-13T12:26:40Z",
                }
            },
            5.0,
            "2020-09-13T12:26:40.000000Z",
        ),
        ({"time_format": "relative", "reference_time": {"epoch": "unknown"}}, 0.0, None),
    ],
)
def test_times(tmp_path: Path, common: dict[str, Any], first: float, t0: str | None) -> None:
    some = [{**each, "time": each["time"] + first} for each in events()]
    measured = load(tmp_path, document("0.3", some, common_fields=common))
    assert measured.metadata["t0"] == t0
    assert rows(measured)[-1]["t_s"] == pytest.approx(0.08)


def test_times_since_the_previous_event(tmp_path: Path) -> None:
    for kind in ("delta", "relative_to_previous_event"):
        some = events()
        some = [
            {**each, "time": each["time"] - before}
            for each, before in zip(some, [0.0] + [e["time"] for e in some], strict=False)
        ]
        check(load(tmp_path, document("0.3", some, common_fields={"time_format": kind})))


def test_rtts_in_seconds_are_corrected(tmp_path: Path) -> None:
    text = json.dumps(document()).replace('_rtt": 30.0', '_rtt": 0.03').replace('_rtt": 29.0', '_rtt": 0.029')
    measured = load(tmp_path, text)
    assert rows(measured)[-1]["rtt_s"] == pytest.approx(0.03)
    assert "in seconds" in measured.warnings[0]
    assert not load(tmp_path, document()).warnings


def test_times_that_do_not_grow_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="qlog requires increasing times"):
        load(tmp_path, document(some=events(factor=0)))


def test_the_trace_that_sent_more_is_the_sender(tmp_path: Path) -> None:
    both = document()
    receiver = {"vantage_point": {"type": "client"}, "common_fields": {"time_format": "relative"}}
    both["traces"].insert(0, {**receiver, "events": events(every=EVENTS[3:4] + EVENTS[6:])})
    measured = load(tmp_path, both)
    assert [each["direction"] for each in measured.flows.to_pylist()] == ["in", "out"]
    assert len({each["flow"] for each in rows(measured)}) == 2


def test_sequences(tmp_path: Path) -> None:
    head = {
        "file_schema": "urn:ietf:params:qlog:file:sequential",
        "trace": {"common_fields": {"time_format": "relative"}},
    }
    records = [json.dumps(each) for each in [head, *events("quic:")]]
    whole = "".join(f"\x1e{each}\n" for each in records)
    for content in (whole, "\n".join(records), whole + '\x1e{"time": 99'):
        measured = load(tmp_path, content)
        assert measured.metadata["format"] == "sqlog"
        check(measured)
    # A last record without line feed is dropped (RFC 7464, section 2.4).
    assert rows(load(tmp_path, whole[:-1]))[-1]["acked_bytes"] == 1200


def test_interrupted_files_are_marked(tmp_path: Path) -> None:
    text = json.dumps(document())
    measured = load(tmp_path, text[:-10])
    assert measured.metadata["truncated"] is True
    assert rows(measured)[-1]["sent_bytes"] == 2400


def test_hostile_ranges_take_no_time(tmp_path: Path) -> None:
    some = events()
    some[3]["data"]["frames"][0]["acked_ranges"] = [[0, 2**62], [5, 1], ["x"], [], 7, [0]]
    assert rows(load(tmp_path, document(some=some)))[-1]["acked_bytes"] == 2400


def test_damaged_files_give_one_line(tmp_path: Path) -> None:
    random.seed(2)
    whole = json.dumps(document()).encode()
    for _ in range(200):
        content = bytearray(whole[: random.randrange(1, len(whole))] if random.random() < 0.3 else whole)
        for _ in range(random.randrange(5)):
            content[random.randrange(len(content))] ^= 1 << random.randrange(8)
        with suppress(InputError):
            load(tmp_path, bytes(content))
