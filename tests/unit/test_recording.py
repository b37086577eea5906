"""Captures, QUIC logs, and flent's data files of a run: other readers, and ours, find the metrics of the run."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import statistics
import struct
import subprocess
from pathlib import Path
from typing import Any

import dpkt
import pytest

import fullpipe
from fullpipe.errors import InputError
from fullpipe.measurements import Measurement, read

LOSSES = """\
duration = "8 s"
packet_size = 1500
series_interval = "100 ms"
links = [{ name = "l", rate = "10 Mbit/s", delay = "20 ms", buffer = "20 packets" }]
flows = [{ algorithm = "cubic", host = "linux" }]
"""

MARKS = """\
duration = "6 s"
packet_size = 1500
links = [{ name = "l", rate = "10 Mbit/s", delay = "20 ms", buffer = "1000 packets",
  queue = { name = "codel", ecn = true } }]
flows = [
  { algorithm = "prague", ecn = "accurate" },
  { algorithm = "cubic", ecn = "classic", size = "1 MB" },
]
"""

QUIC = LOSSES.replace('host = "linux"', 'transport = "quic"')
TAHOE = LOSSES.replace('"cubic", host = "linux"', '"tahoe"')
BBR = LOSSES.replace('"cubic"', '"bbr"')

DAY_2000_S = 946_684_800 + 1


def scenario(text: str, tmp_path: Path) -> fullpipe.Scenario:
    file = tmp_path / "scenario.toml"
    file.write_text(text)
    return fullpipe.Scenario.load(file)


def run(text: str, tmp_path: Path, **recording: Any) -> fullpipe.Result:
    return fullpipe.run(scenario(text, tmp_path), recording=fullpipe.Recording(**recording))


def flow(result: fullpipe.Result, number: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = result.flows.to_pylist()[number]
    return found


def last(measured: Measurement) -> dict[str, Any]:
    found: dict[str, Any] = measured.samples.to_pylist()[-1]
    return found


def packets(path: Path) -> list[tuple[float, dpkt.ip.IP, dpkt.tcp.TCP]]:
    """Packets by a library that shares no code with this project."""
    with path.open("rb") as file:
        found = []
        for t_s, content in dpkt.pcap.Reader(file):
            ip = dpkt.ethernet.Ethernet(content).data
            found.append((float(t_s) - DAY_2000_S, ip, ip.data))
        return found


def options(tcp: dpkt.tcp.TCP) -> dict[int, bytes]:
    return dict(dpkt.tcp.parse_opts(tcp.opts))


def checksum(content: bytes) -> int:
    total = sum(struct.unpack(f"!{len(content) // 2}H", content))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


@pytest.mark.parametrize("text", [LOSSES, MARKS, QUIC, TAHOE, BBR])
def test_files_change_no_metric(text: str, tmp_path: Path) -> None:
    plain = fullpipe.run(scenario(text, tmp_path))
    places = {"qlog": tmp_path / "logs"} if text == QUIC else {"pcap": tmp_path / "captures", "qlog": tmp_path / "logs"}
    recorded = run(text, tmp_path, **places)
    for table in ("flows", "links", "series"):
        # As text, since an unknown value does not equal itself.
        assert str(getattr(recorded, table).to_pylist()) == str(getattr(plain, table).to_pylist())


def test_capture_has_each_data_packet_with_its_headers(tmp_path: Path) -> None:
    result = run(LOSSES, tmp_path, pcap=tmp_path / "captures")
    (file,) = (tmp_path / "captures").glob("*.pcap")
    assert file.name == "flow-0000-cubic.pcap"
    found = packets(file)
    data = [
        (t, ip, tcp) for t, ip, tcp in found if tcp.sport == 10000 and not tcp.flags & dpkt.tcp.TH_SYN and ip.len > 60
    ]
    assert len(data) == result.totals["data_packets"]
    # 1500 bytes with Ethernet, of which 66 are headers.
    assert {ip.len for _, ip, _ in data} == {1486}
    highest = -1
    again = 0
    for _, _, tcp in data:
        again += tcp.seq <= highest
        highest = max(highest, tcp.seq)
    assert again == flow(result)["retransmits"] > 0
    assert all(checksum(bytes(ip)[:20]) == 0xFFFF for _, ip, _ in found)
    assert [t for t, _, _ in found] == sorted(t for t, _, _ in found)


def test_timestamps_give_the_mean_rtt(tmp_path: Path) -> None:
    result = run(LOSSES, tmp_path, pcap=tmp_path / "captures")
    found = packets(tmp_path / "captures" / "flow-0000-cubic.pcap")
    sent: dict[int, float] = {}
    rtts = []
    una = 0
    for t_s, ip, tcp in found:
        value, echo = struct.unpack("!II", options(tcp)[8])
        if tcp.sport == 10000 and ip.len > 60:
            sent.setdefault(value, t_s)
        elif tcp.sport == 5201 and tcp.ack > una and echo in sent:
            una = tcp.ack
            rtts.append(t_s - sent[echo])
    # A segment may leave at any time of the millisecond in which the clock has the value.
    assert sum(rtts) / len(rtts) == pytest.approx(flow(result)["mean_rtt_s"], abs=0.001)


def test_selective_acknowledgments_are_above_the_cumulative_one(tmp_path: Path) -> None:
    run(LOSSES, tmp_path, pcap=tmp_path / "captures")
    blocks = 0
    sent = set()
    for _, ip, tcp in packets(tmp_path / "captures" / "flow-0000-cubic.pcap"):
        if tcp.sport == 10000 and ip.len > 60:
            sent |= {tcp.seq, tcp.seq + 1434}
        for at in range(0, len(options(tcp).get(5, b"")), 8):
            start, end = struct.unpack_from("!II", options(tcp)[5], at)
            assert tcp.ack < start < end
            assert {start, end} <= sent
            blocks += 1
    assert blocks > 20


def test_duplicates_are_reported_before_the_blocks(tmp_path: Path) -> None:
    """RFC 2883 section 4: a D-SACK block is the first one, and is below the ACK, or inside the next block."""
    reordered = 'buffer = "60 packets", reorder = { probability = 0.02, delay = "30 ms" }'
    run(LOSSES.replace('buffer = "20 packets"', reordered), tmp_path, pcap=tmp_path / "captures")
    found = 0
    for _, _, tcp in packets(tmp_path / "captures" / "flow-0000-cubic.pcap"):
        edges = struct.unpack(f"!{len(options(tcp).get(5, b'')) // 4}I", options(tcp).get(5, b""))
        below = [start < tcp.ack for start in edges[::2]]
        assert not any(below[1:])
        found += below[:1] == [True]
    assert found > 0


def test_capture_at_the_receiver_has_what_arrives(tmp_path: Path) -> None:
    text = LOSSES.replace('"linux"', '"linux", size = "6 MB"')
    result = run(text, tmp_path, pcap=tmp_path / "there", pcap_at="receiver")
    run(text, tmp_path, pcap=tmp_path / "here")
    there, here = (packets(tmp_path / place / "flow-0000-cubic.pcap") for place in ("there", "here"))
    (link,) = result.links.to_pylist()
    assert link["dropped_packets"] > 0
    data = [tcp for _, ip, tcp in there if ip.len > 100]
    assert len(data) == result.totals["data_packets"] - link["dropped_packets"]
    # No ACK is lost. Each takes 20 ms, and less than 0.1 ms for its transmission.
    sent, arrived = ([(t, bytes(tcp)) for t, _, tcp in found[3:] if tcp.sport == 5201] for found in (there, here))
    assert [content for _, content in sent] == [content for _, content in arrived]
    delays = [after[0] - before[0] for before, after in zip(sent, arrived, strict=True)]
    assert 0.02 <= min(delays) <= max(delays) < 0.0201
    assert [t for t, _, _ in there] == sorted(t for t, _, _ in there)
    syn, syn_ack, ack, *_ = there
    assert [tcp.flags & 0x12 for _, _, tcp in (syn, syn_ack, ack)] == [0x02, 0x12, 0x10]
    assert syn_ack[0] - syn[0] == 0 < 0.04 <= ack[0] - syn_ack[0]
    measured = read(tmp_path / "there" / "flow-0000-cubic.pcap")
    assert measured.metadata["vantage"] == "receiver"
    assert last(measured)["rtt_s"] is None


def test_marks_are_in_captures_at_the_receiver(tmp_path: Path) -> None:
    result = run(MARKS, tmp_path, pcap=tmp_path / "captures", pcap_at="receiver")
    marked = [
        sum(ip.tos & 3 == 3 for _, ip, _ in packets(tmp_path / "captures" / name))
        for name in ("flow-0000-prague.pcap", "flow-0001-cubic.pcap")
    ]
    assert sum(marked) == sum(link["marked_packets"] for link in result.links.to_pylist())
    assert min(marked) > 0
    rows = read(tmp_path / "captures" / "flow-0000-prague.pcap", packets=True).packets.to_pylist()
    assert sum(row["ecn"] == 3 for row in rows) == marked[0]


def test_handshake_before_an_established_connection_takes_a_base_rtt(tmp_path: Path) -> None:
    run(MARKS, tmp_path, pcap=tmp_path / "captures")
    syn, syn_ack, ack, *_ = packets(tmp_path / "captures" / "flow-0000-prague.pcap")
    assert [tcp.flags & 0x12 for _, _, tcp in (syn, syn_ack, ack)] == [0x02, 0x12, 0x10]
    assert syn_ack[0] - syn[0] == pytest.approx(0.04, abs=1e-6)
    assert ack[0] == syn_ack[0]
    # RFC 9768 section 3.1: AE, CWR, and ECE in the SYN.
    assert syn[2].flags & 0xC0 == 0xC0
    assert bytes(syn[2])[12] & 1


def test_ecn_bits_of_both_kinds(tmp_path: Path) -> None:
    result = run(MARKS, tmp_path, pcap=tmp_path / "captures")
    accurate = packets(tmp_path / "captures" / "flow-0000-prague.pcap")
    assert {ip.tos & 3 for _, ip, tcp in accurate if tcp.sport == 10000 and ip.len > 60} == {1}
    assert {ip.tos & 3 for _, ip, tcp in accurate if tcp.sport == 5201} == {0}
    # The field AE, CWR, ECE counts CE marks from 5 on, modulo 8 (RFC 9768 section 3.2.2).
    fields = [(bytes(tcp)[12] & 1) << 2 | tcp.flags >> 6 & 3 for _, _, tcp in accurate[3:] if tcp.sport == 5201]
    counted = sum((after - before) % 8 for before, after in zip([5, *fields], fields, strict=False))
    assert counted == last(read(tmp_path / "captures" / "flow-0000-prague.pcap"))["ce"]
    assert 0 < counted <= sum(link["marked_packets"] for link in result.links.to_pylist())
    classic = packets(tmp_path / "captures" / "flow-0001-cubic.pcap")
    assert {ip.tos & 3 for _, ip, tcp in classic if tcp.sport == 10001 and ip.len > 60} == {2}
    echoes = sum(bool(tcp.flags & 0x40) for _, _, tcp in classic[3:] if tcp.sport == 5201)
    reductions = sum(bool(tcp.flags & 0x80) for _, _, tcp in classic[3:] if tcp.sport == 10001)
    assert echoes >= reductions > 0
    # The flow ends.
    assert classic[-1][2].flags & dpkt.tcp.TH_FIN


def test_our_readers_find_the_metrics_of_the_run(tmp_path: Path) -> None:
    place = {"pcap": tmp_path / "captures", "qlog": tmp_path / "logs", "flent": tmp_path / "a.flent.gz"}
    # The flow ends, so that all its packets are acknowledged.
    result = run(LOSSES.replace('"linux"', '"linux", size = "6 MB"'), tmp_path, **place)
    expected = flow(result)
    acked_packets = 4000
    capture, log, tests = (
        read(path)
        for path in (
            tmp_path / "captures" / "flow-0000-cubic.pcap",
            tmp_path / "logs" / "flow-0000-cubic.qlog",
            tmp_path / "a.flent.gz",
        )
    )
    for measured, payload in ((capture, 1434), (log, 1472)):
        found = last(measured)
        assert found["acked_bytes"] / payload == acked_packets
        assert found["sent_bytes"] / payload == result.totals["data_packets"]
        assert found["retransmits"] == expected["retransmits"]
    assert measured_rtt(log) == pytest.approx(expected["mean_rtt_s"], rel=0.02)
    assert capture.metadata["vantage"] == "sender"
    uploads = [row["acked_bytes"] for row in tests.samples.to_pylist() if row["acked_bytes"] is not None]
    # The series ends with the last sample before the end of the flow: 100 ms at 10 Mbit/s are 83 packets.
    assert acked_packets - 84 <= round(uploads[-1] / 1434) <= acked_packets
    assert tests.flows.to_pylist()[0]["algorithm"] == "cubic"


def measured_rtt(measured: Measurement) -> float:
    found = [row["rtt_s"] for row in measured.samples.to_pylist() if row["rtt_s"]]
    return float(sum(found) / len(found))


@pytest.mark.parametrize("version", ["0.3", "draft-13"])
def test_quic_log_has_packets_losses_and_states(tmp_path: Path, version: str) -> None:
    result = run(QUIC, tmp_path, qlog=tmp_path / "logs", qlog_version=version)
    (file,) = (path for path in (tmp_path / "logs").iterdir() if path.name.startswith("flow"))
    text = file.read_text()
    if version == "0.3":
        assert '"qlog_version"' in text[:1000]  # where qvis looks for it
        document = json.loads(text)
        assert document["qlog_version"] == "0.3"
        (trace,) = document["traces"]
        assert trace["vantage_point"] == {"name": "fullpipe", "type": "server"}
        events = trace["events"]
        prefix = "transport:"
    else:
        head, *events = [json.loads(record) for record in text.split("\x1e")[1:]]
        assert head["file_schema"] == "urn:ietf:params:qlog:file:sequential"
        prefix = "quic:"
    sent = [each["data"]["header"]["packet_number"] for each in events if each["name"] == f"{prefix}packet_sent"]
    assert sent == list(range(result.totals["data_packets"]))
    names = [each["name"].rpartition(":")[2] for each in events]
    assert names.count("packet_lost") == flow(result)["retransmits"] > 0
    states = [each["data"]["new"] for each in events if each["name"].endswith("congestion_state_updated")]
    assert states[:2] == ["recovery", "congestion_avoidance"]
    times = [each["time"] for each in events]
    assert times == sorted(times)
    found = read(file, packets=True)
    assert last(found)["retransmits"] == flow(result)["retransmits"]
    rows = [(row["kind"], row["seq"], row["bytes"]) for row in found.packets.to_pylist()]
    assert [row for row in rows if row[0] == "sent"] == [("sent", 1472 * n, 1472) for n in range(len(sent))]
    lost = {event["data"]["header"]["packet_number"] for event in events if event["name"].endswith("packet_lost")}
    assert {seq // 1472 for kind, seq, _ in rows if kind == "lost"} == lost
    assert sum(size for kind, _, size in rows if kind == "acked") == last(found)["acked_bytes"]


@pytest.mark.parametrize("version", ["0.3", "draft-13"])
def test_quic_log_has_the_tunnel_and_probes_of_the_path_mtu(tmp_path: Path, version: str) -> None:
    """RFC 9000 section 14.4: the loss of a path MTU probe is no congestion."""
    rules = 'transport = "quic", tunnel = { at = "4 s", overhead = "60 B" }, mtu_probes = "1 s"'
    text = LOSSES.replace('"cubic", host = "linux"', f'"log-packets", {rules}')

    @fullpipe.packet_algorithm("log-packets")
    class LogPackets:
        datagram = 1472

        def on_packets_acked(self, path: Any, acked: Any, rtt: Any) -> None: ...

        def on_packets_lost(self, path: Any, lost: Any, persistent: bool) -> None: ...

        def on_mtu(self, _path: Any, max_datagram_bytes: int) -> None:
            self.datagram = max_datagram_bytes

        def window_bytes(self) -> int:
            """More than the 33 packets of the path and its buffer of 20."""
            return 60 * self.datagram

    result = run(text, tmp_path, qlog=tmp_path / "logs", qlog_version=version)
    (file,) = (path for path in (tmp_path / "logs").iterdir() if path.name.startswith("flow"))
    if version == "0.3":
        events = json.loads(file.read_text())["traces"][0]["events"]
    else:
        events = [json.loads(record) for record in file.read_text().split("\x1e")[2:]]
    sent, lost = (
        [(each["time"], each["data"]) for each in events if each["name"].endswith(kind)]
        for kind in ("packet_sent", "packet_lost")
    )
    assert [data["header"]["packet_number"] for _, data in sent] == list(range(len(sent)))
    # 1500 bytes with 28 of headers, and with 60 more in the tunnel.
    for time, data in sent:
        assert data["raw"]["length"] == (1472 if time < 4000 else 1412)
    probes, lost_probes = (
        {data["header"]["packet_number"] for _, data in rows if data.get("is_mtu_probe_packet")}
        for rows in (sent, lost)
    )
    # One in each second but the first, of a run of 8 s.
    assert lost_probes == probes
    assert len(probes) == 7
    retransmits = flow(result)["retransmits"]
    assert len(lost) - len(probes) == retransmits > 0
    assert last(read(file))["lost"] == retransmits
    # Windows are in packets of the same size.
    metrics = [each["data"] for each in events if each["name"].endswith("metrics_updated")]
    assert [data["congestion_window"] for data in metrics if "congestion_window" in data] == [60 * 1472, 60 * 1412]
    assert metrics[-1]["bytes_in_flight"] % 1412 == 0


def test_reader_knows_a_probe_of_the_path_mtu_by_its_transmission(tmp_path: Path) -> None:
    """Some writers mark such packets in ``packet_sent`` only."""
    head = '{"qlog_version":"0.3","traces":[{"vantage_point":{"type":"client"},"events":['
    events = [
        f'{{"time":{10 * number},"name":"transport:packet_sent","data":{{"header":{{"packet_type":"1RTT",'
        f'"packet_number":{number}}},"raw":{{"length":1200}},"is_mtu_probe_packet":{flag}}}}}'
        for number, flag in enumerate(["false", "true", "false"])
    ]
    events += [
        f'{{"time":50,"name":"recovery:packet_lost","data":{{"header":{{"packet_type":"1RTT","packet_number":{n}}}}}}}'
        for n in (0, 1)
    ]
    file = tmp_path / "a.qlog"
    file.write_text(head + ",".join(events) + "]}]}")
    assert last(read(file))["lost"] == 1


SCHEMAS = Path(__file__).parent / "expected" / "qlog"
"""CDDL of the drafts that define the two versions."""

EVENT_TYPES = {
    "0.3": {
        "transport:parameters_set": "TransportParametersSet",
        "transport:packet_sent": "TransportPacketSent",
        "transport:packet_received": "TransportPacketReceived",
        "recovery:parameters_set": "RecoveryParametersSet",
        "recovery:metrics_updated": "RecoveryMetricsUpdated",
        "recovery:congestion_state_updated": "RecoveryCongestionStateUpdated",
        "recovery:packet_lost": "RecoveryPacketLost",
    },
    "draft-13": {
        "quic:parameters_set": "QUICParametersSet",
        "quic:packet_sent": "QUICPacketSent",
        "quic:packet_received": "QUICPacketReceived",
        "quic:recovery_parameters_set": "QUICRecoveryParametersSet",
        "quic:recovery_metrics_updated": "QUICRecoveryMetricsUpdated",
        "quic:congestion_state_updated": "QUICCongestionStateUpdated",
        "quic:packet_lost": "QUICPacketLost",
        "quic:ecn_state_updated": "QUICECNStateUpdated",
    },
}


@pytest.mark.parametrize("text", [QUIC, LOSSES], ids=["quic", "tcp"])
@pytest.mark.parametrize("version", ["0.3", "draft-13"])
def test_log_has_the_schema_of_its_version(tmp_path: Path, version: str, text: str) -> None:
    """Each event has the type of its name: as a whole, a file may have any other event."""
    cddl = pytest.importorskip("cddl_verifier")
    run(text, tmp_path, qlog=tmp_path / "logs", qlog_version=version)
    (file,) = (path for path in (tmp_path / "logs").iterdir() if path.name.startswith("flow"))
    # JSON has one kind of number.
    schema = re.sub(r"\bfloat(32|64)\b", "number", (SCHEMAS / f"{version}.cddl").read_text())
    validator = cddl.Validator(schema)
    if version == "0.3":
        head = json.loads(file.read_text())
        events = head["traces"][0]["events"]
        head["traces"][0]["events"] = events[:20]
    else:
        head, *events = [json.loads(record) for record in file.read_text().split("\x1e")[1:]]
    found = validator.validate(head, "QlogFile" if version == "0.3" else "QlogFileSeq")
    assert found.valid, found.errors
    kinds: dict[str, list[dict[str, Any]]] = {}
    for event in events:
        kinds.setdefault(event["name"], []).append(event)
    assert {"packet_sent", "packet_received", "packet_lost"} <= {name.rpartition(":")[2] for name in kinds}
    for name, some in kinds.items():
        for event in some[:5] + some[-5:]:
            assert validator.validate(event, "Event").valid
            found = validator.validate(event["data"], EVENT_TYPES[version][name])
            assert found.valid, (event, found.errors)
    sent = events[[event["name"].endswith("packet_sent") for event in events].index(True)]["data"]
    kind = EVENT_TYPES[version][next(name for name in kinds if name.endswith("packet_sent"))]
    for wrong in ({"header": {}}, {"frames": [5]}, {"raw": {"length": -1}}):
        assert not validator.validate(sent | wrong, kind).valid


def test_bbr_shows_its_phases(tmp_path: Path) -> None:
    run(BBR, tmp_path, qlog=tmp_path / "logs")
    trace = json.loads((tmp_path / "logs" / "flow-0000-bbr.qlog").read_text())["traces"][0]
    states = [each["data"]["new"] for each in trace["events"] if each["name"].endswith("state_updated")]
    assert states[:3] == ["startup", "drain", "probe_bw"]


def test_flent_document(tmp_path: Path) -> None:
    text = LOSSES.replace('host = "linux" }]', 'host = "linux" }, { algorithm = "reno", start = "2 s" }]')
    result = run(text, tmp_path, flent=tmp_path / "a.flent.gz")
    document = json.loads(gzip.decompress((tmp_path / "a.flent.gz").read_bytes()))
    assert document["version"] == 4
    assert {len(column) for column in document["results"].values()} == {len(document["x_values"])} == {80}
    assert document["results"]["TCP upload::2"][5] is None
    assert document["results"]["TCP upload::2"][40] > 0
    total = document["results"]["TCP upload sum"]
    # Payload of both flows, which fill the link: 10 Mbit/s x 1434 / 1500.
    assert sum(total[40:]) / 40 == pytest.approx(9.56, rel=0.03)
    ping = document["results"]["Ping (ms) ICMP"]
    assert 40 <= min(ping) <= max(ping) <= 40 + 20 * 1.2
    assert document["metadata"]["SERIES_META"]["TCP upload::1"]["CONG_CONTROL"] == flow(result)["algorithm"]


@pytest.mark.parametrize(
    ("text", "recording", "message"),
    [
        (QUIC, {"pcap": "a"}, '--pcap requires transport = "tcp"'),
        (LOSSES.replace("1500", "66"), {"pcap": "a"}, "--pcap requires packet_size of at least 67 bytes, got 66"),
        (LOSSES.replace('"100 ms"', '"off"'), {"flent": "a"}, "--flent requires series_interval"),
        (LOSSES.replace("linux", 'linux", count = 1001, name = "x'), {"qlog": "a"}, "flows, got 1001"),
        (LOSSES, {"qlog": "a", "qlog_version": "0.5"}, "unknown version of qlog"),
        (LOSSES, {"pcap": "a", "pcap_at": "sendr"}, "unknown place of a capture 'sendr'; did you mean 'sender'?"),
        (LOSSES, {"pcap": "full"}, "must be a new or empty directory"),
    ],
)
def test_wrong_requests_write_nothing(
    tmp_path: Path, text: str, recording: dict[str, str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "note").write_text("mine")
    with pytest.raises(InputError, match=message):
        run(text, tmp_path, **recording)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["full", "scenario.toml"]


def test_engine_without_packets_is_refused(tmp_path: Path) -> None:
    recording = fullpipe.Recording(pcap=tmp_path / "a")
    tried = scenario(LOSSES, tmp_path)
    with pytest.raises(InputError, match="--pcap requires the engine simulator"):
        fullpipe.run(tried, engine="linux", recording=recording)


def test_a_run_with_more_packets_than_allowed_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fullpipe.runs.recording.MOST_PACKETS", 1000)
    with pytest.raises(OSError, match="the run has more than 1000 packets"):
        run(LOSSES, tmp_path, pcap=tmp_path / "captures")
    assert not (tmp_path / "captures").exists()
    run(LOSSES, tmp_path, pcap=tmp_path / "captures", force=True)


TSHARK = shutil.which("tshark")


@pytest.mark.slow
@pytest.mark.skipif(TSHARK is None, reason="requires tshark")
@pytest.mark.parametrize("text", [LOSSES, MARKS, BBR, TAHOE])
def test_wireshark_finds_the_retransmissions_and_nothing_wrong(tmp_path: Path, text: str) -> None:
    result = run(text, tmp_path, pcap=tmp_path / "captures")
    run(text, tmp_path, pcap=tmp_path / "there", pcap_at="receiver")

    def tshark(*arguments: str) -> str:
        done = subprocess.run([str(TSHARK), *arguments], capture_output=True, text=True, check=True, env=os.environ)
        return done.stdout

    for file in (tmp_path / "there").glob("*.pcap"):
        expert = tshark("-r", str(file), "-q", "-z", "expert").lower()
        assert "malformed" not in expert
        assert "checksum" not in expert
    for number, file in enumerate(sorted((tmp_path / "captures").glob("*.pcap"))):
        expert = tshark("-r", str(file), "-q", "-z", "expert").lower()
        assert "malformed" not in expert
        assert "checksum" not in expert
        kinds = ("retransmission", "fast_retransmission", "spurious_retransmission", "out_of_order")
        again = tshark("-r", str(file), "-Y", " || ".join(f"tcp.analysis.{kind}" for kind in kinds))
        assert len(again.splitlines()) == flow(result, number)["retransmits"]
        assert not tshark("-r", str(file), "-Y", "tcp.analysis.lost_segment || tcp.analysis.ack_lost_segment")
        rtts = tshark(
            "-r",
            str(file),
            "-Y",
            "tcp.analysis.ack_rtt && tcp.srcport == 5201",
            "-T",
            "fields",
            "-e",
            "tcp.analysis.ack_rtt",
        )
        values = [float(line) for line in rtts.split()]
        if text in (MARKS, BBR):
            assert sum(values) / len(values) == pytest.approx(flow(result, number)["mean_rtt_s"], rel=0.01)
        else:  # Wireshark's RTTs include the time that a segment waited behind a hole: for Tahoe, 6 % of the mean
            assert statistics.median(values) == pytest.approx(flow(result, number)["p50_rtt_s"], rel=0.01)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("flent") is None, reason="requires flent")
def test_flent_reads_its_file(tmp_path: Path) -> None:
    result = run(LOSSES, tmp_path, flent=tmp_path / "a.flent.gz")
    done = subprocess.run(
        ["flent", "-i", str(tmp_path / "a.flent.gz"), "-f", "summary"], capture_output=True, text=True, check=True
    )
    (line,) = (line for line in done.stdout.splitlines() if line.strip().startswith("TCP upload::1 "))
    mean = float(line.split()[3])
    assert mean == pytest.approx(flow(result)["goodput_bps"] * 1434 / 1500 / 1e6, rel=0.02)
    for plot in ("totals", "tcp_cwnd", "tcp_rtt_cdf"):
        picture = tmp_path / f"{plot}.png"
        subprocess.run(["flent", "-i", str(tmp_path / "a.flent.gz"), "-p", plot, "-o", str(picture)], check=True)
        assert picture.read_bytes().startswith(b"\x89PNG")
