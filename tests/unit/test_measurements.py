"""Readers of measurements: each trap of a format is a file that the test makes."""

from __future__ import annotations

import bz2
import gzip
import json
import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import fullpipe
from fullpipe.errors import InputError
from fullpipe.measurements import TABLES, Measurement, read, schema
from fullpipe.measurements.schema import UNKNOWN
from fullpipe.measurements.source import Source
from fullpipe.measurements.to_flent import write_flent

Make = Callable[..., Path]

LINE = "ESTAB 0 1448 10.0.0.1:40000 10.0.0.2:5201"
INFO = (
    "\t ts sack cubic wscale:7,7 rto:240 rtt:40.5/2.25 minrtt:40.1 mss:1448 cwnd:20 ssthresh:15 bytes_sent:2896000 "
    "bytes_acked:1448000 data_segs_out:2000 send 5720Kbps pacing_rate 6864Kbps delivery_rate 5500000bps "
    "delivered:1001 busy:1000ms unacked:10 retrans:1/7 lost:1 sacked:2"
)


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def write(content: str | bytes | object, name: str = "file") -> Path:
        path = tmp_path / name
        if isinstance(content, str):
            content = content.encode()
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return path

    return write


def rows(measured: Measurement, table: str = "samples") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = getattr(measured, table).to_pylist()
    return found


def ss(*samples: tuple[str, str], line: str = LINE) -> str:
    return "".join(f"{time}\n{line}\n{info}\n" for time, info in samples)


def flent(version: int = 4, raw: object = None, **metadata: object) -> dict[str, object]:
    about = {"NAME": "tcp_1up", "SERIES_META": {}, **metadata}
    return {"metadata": about, "version": version, "x_values": [0.0], "results": {}, "raw_values": raw or {}}


def iperf(
    streams: list[list[dict[str, object]]], start: object = None, end: object = None, **more: object
) -> dict[str, object]:
    begin = {"version": "iperf 3.12", "timestamp": {"timesecs": 1000}, "tcp_mss_default": 1448, "connected": []}
    return {
        "start": {**begin, **(start if isinstance(start, dict) else {})},
        "intervals": [{"streams": each} for each in streams],
        "end": end or {},
        **more,
    }


# Schema


@pytest.mark.parametrize(
    "content",
    [
        ss(("# 10.0", INFO)),
        flent(raw={"TCP upload": [{"t": 1.0, "val": 8.0, "dur": 1.0}]}),
        iperf([[{"socket": 5, "start": 0, "end": 1, "seconds": 1, "bytes": 1000, "sender": True}]]),
        [{"kind": "codel", "handle": "1:", "root": True, "bytes": 1, "packets": 1, "drops": 0}],
    ],
)
def test_tables_have_the_schema(make: Make, content: object) -> None:
    measured = read(make(content))
    for name, columns in TABLES.items():
        table = getattr(measured, name)
        assert table.schema.equals(schema(name), check_metadata=True)
        table.validate(full=True)
        for column, _, _, null in columns:
            assert null or table[column].null_count == 0, column
    assert pa.schema(schema("samples")).field("rtt_s").metadata == {b"unit": b"s"}


def test_own_results_map_one_to_one(tmp_path: Path) -> None:
    scenario = fullpipe.Scenario(
        duration="5 s",
        series_interval="100 ms",
        links=[{"name": "l", "rate": "10 Mbit/s", "delay": "20 ms", "buffer": "1 BDP"}],
        flows=[{"algorithm": "cubic"}],
    )
    result = fullpipe.run(scenario)
    result.save(tmp_path / "out")
    for path in (tmp_path / "out", tmp_path / "out" / "result.json"):
        measured = read(path)
        last = measured.of_flow(0)[-1]
        goodput = result.flows.to_pylist()[0]["payload_goodput_bps"]
        assert last["acked_bytes"] * 8 / 5 == pytest.approx(goodput, rel=0.01)
        assert rows(measured, "flows")[0]["algorithm"] == "cubic"
        assert rows(measured, "link_samples")[-1]["drops"] == result.links.to_pylist()[0]["dropped_packets"]
        assert [each["rtt_s"] for each in measured.of_flow(0)] == result.series["rtt_s"].to_pylist()


# ss


def test_ss_values(make: Make) -> None:
    measured = read(make(ss(("# 1588855606.5", INFO), ("# 1588855606.75", INFO))))
    first, second = measured.of_flow(0)
    assert measured.metadata["t0"] == "2020-05-07T12:46:46.500000Z"
    assert (first["t_s"], second["t_s"]) == (0, 0.25)
    assert first["acked_bytes"] == 1001 * 1448  # delivered, which counts SACKed data
    assert first["sent_bytes"] == 2896000
    assert (first["rtt_s"], first["rttvar_s"], first["min_rtt_s"]) == pytest.approx((0.0405, 0.00225, 0.0401))
    assert (first["cwnd_bytes"], first["ssthresh_bytes"]) == (20 * 1448, 15 * 1448)
    assert first["in_flight_bytes"] == (10 - 2 - 1 + 1) * 1448
    assert (first["pacing_bps"], first["delivery_bps"]) == (6864e3, 5500e3)
    assert first["retransmits"] == 7
    assert first["ce"] == 0  # not printed if 0, and the kernel has it, since it has delivered
    flow = rows(measured, "flows")[0]
    assert (flow["algorithm"], flow["algorithm_source"], flow["mss_bytes"]) == ("cubic", "ss", 1448)


@pytest.mark.parametrize(
    ("text", "t0", "second_s"),
    [
        (ss(("# 1000.5", INFO), ("# 1001.5", INFO)), "1970-01-01T00:16:40.500000Z", 1.0),
        (ss(("time:1000500000000", INFO), ("time:1000700000000", INFO)), "1970-01-01T00:16:40.500000Z", 0.2),
        (ss(("2020-01-01T00:00:00Z", INFO), ("2020-01-01T00:00:01Z", INFO)), "2020-01-01T00:00:00.000000Z", 1.0),
        (f"{LINE}\n{INFO}\nTime: 1000.5\n---\n{LINE}\n{INFO}\nTime: 1000.7\n---\n", "1970-01-01T00:16:40.500000Z", 0.2),
        (f"1000000000.5 {LINE} {INFO}\n1000000000.7 {LINE} {INFO}\n", "2001-09-09T01:46:40.500000Z", 0.2),
        (ss(("==== Time 12 ====", INFO), ("==== Time 14 ====", INFO)), None, 2.0),
    ],
)
def test_ss_times(make: Make, text: str, t0: str | None, second_s: float) -> None:
    measured = read(make(text))
    assert measured.metadata["t0"] == t0
    assert [each["t_s"] for each in measured.of_flow(0)] == pytest.approx([0.0, second_s], abs=1e-5)
    assert any("inexact" in each for each in measured.warnings) == (t0 is None)


def test_ss_without_times_needs_an_interval(make: Make) -> None:
    text = f"{LINE}\n{INFO}\n"
    assert read(make(text)).is_snapshot
    assert [each["t_s"] for each in read(make(text * 3), interval_s=0.1).of_flow(0)] == pytest.approx([0, 0.1, 0.2])
    with pytest.raises(InputError, match="--interval 100ms"):
        read(make(text * 3))


def test_ss_values_of_zero_are_not_printed(make: Make) -> None:
    new = "\t cubic rto:200 rtt:10/5 mss:1000 cwnd:10 bytes_sent:5000 delivered:5"
    old = "\t cubic rto:200 rtt:10/5 mss:1000 cwnd:10"
    assert rows(read(make(ss(("# 1", new)))))[0]["retransmits"] == 0
    measured = rows(read(make(ss(("# 1", old)))))[0]
    assert (measured["retransmits"], measured["acked_bytes"], measured["in_flight_bytes"]) == (None, None, None)


@pytest.mark.parametrize(
    ("words", "algorithm"),
    [
        ("ts sack bbr wscale:7,7 rto:204", "bbr"),
        ("ts sack ecn ecnseen reno rto:204", "reno"),
        ("ts sack wscale:7,7 rto:204", None),
        ("uid:1000 ino:5 sk:1 <-> --- ts usec_ts sack cubic wscale:7,7 rto:204", "cubic"),
    ],
)
def test_ss_algorithm_is_the_word_before_wscale_or_rto(make: Make, words: str, algorithm: str | None) -> None:
    text = ss(("# 1", f"\t {words} rtt:10/5 mss:1000 cwnd:10 bytes_acked:10"))
    assert rows(read(make(text)), "flows")[0]["algorithm"] == algorithm


@pytest.mark.parametrize(
    ("text", "bps"),
    [("55Gbps", 55e9), ("55001.0Mbps", 55.001e9), ("5.5Kbps", 5500), ("5.5kbps", 5500), ("123456bps", 123456)],
)
def test_ss_rates(make: Make, text: str, bps: float) -> None:
    info = f"\t cubic rto:204 mss:1000 cwnd:10 bytes_acked:10 pacing_rate {text}/{text} delivery_rate {text}"
    first = rows(read(make(ss(("# 1", info)))))[0]
    assert (first["pacing_bps"], first["delivery_bps"]) == (bps, bps)


def test_ss_flows_that_sent_little_are_left_out(make: Make) -> None:
    mapped = "ESTAB 0 0 [::ffff:127.0.0.1]:5301 [::ffff:127.0.0.1]:40000"
    other = "\t cubic rto:204 mss:1448 cwnd:10 bytes_sent:300 bytes_acked:301"
    text = f"# 1\n{LINE}\n{INFO}\n{mapped}\n{other}\n"
    assert [each["source"] for each in rows(read(make(text)), "flows")] == ["10.0.0.1:40000"]
    text = f"# 1\n{mapped}\n{INFO}\n"
    assert rows(read(make(text)), "flows")[0]["source"] == "127.0.0.1:5301"


def test_ss_port_that_is_used_again_is_another_flow(make: Make) -> None:
    infos = [f"\t cubic rto:204 mss:1000 cwnd:10 bytes_sent:{n} bytes_acked:{n}" for n in (1000, 2000, 1500)]
    measured = read(make(ss(*((f"# {i + 1}", info) for i, info in enumerate(infos)))))
    assert [each["flow"] for each in rows(measured)] == [0, 0, 1]


def test_ss_sockets_without_a_connection_are_left_out(make: Make) -> None:
    """Such a socket has the MSS without an option: 536 bytes (RFC 9293 section 3.7.1), less 12 of timestamps."""
    waits = LINE.replace("ESTAB", "SYN-SENT"), "bbr rto:1000 mss:524 pmtu:1500 cwnd:10 segs_out:1 unacked:1"
    text = f"# 1000.5\n{waits[0]}\n\t {waits[1]}\n" + ss(("# 1000.6", INFO), ("# 1000.7", INFO))
    measured = read(make(text))
    assert rows(measured, "flows")[0]["mss_bytes"] == 1448
    assert [each["cwnd_bytes"] for each in measured.of_flow(0)] == [20 * 1448] * 2


def test_ss_limits(make: Make) -> None:
    infos = [
        f"\t cubic rto:204 mss:1000 cwnd:10 bytes_acked:{i + 1} {words}"
        for i, words in enumerate(("rwnd_limited:100ms(9%)", "rwnd_limited:900ms(50%)", "app_limited", "busy:3s"))
    ]
    measured = read(make(ss(*((f"# {i}", info) for i, info in enumerate(infos, 1)))))
    assert [each["limited"] for each in rows(measured)] == [None, "rwnd", "app", None]


# iperf3


def stream(socket: int, end: float, **values: object) -> dict[str, object]:
    return {"socket": socket, "start": end - 1, "end": end, "seconds": 1.0, "bytes": 1000, "sender": True, **values}


def test_iperf3_first_interval_of_a_sender_fills_the_buffer(make: Make) -> None:
    streams = [
        [stream(5, 1, bytes=900_000, retransmits=3, snd_cwnd=14480, rtt=40500, rttvar=100)],
        [stream(5, 2, bytes=100_000, retransmits=2, snd_cwnd=0, rtt=0)],
    ]
    first, second = rows(read(make(iperf(streams, end={"sender_tcp_congestion": "bbr"}))))
    assert (first["acked_bytes"], second["acked_bytes"]) == (0, 100_000)
    assert (first["retransmits"], second["retransmits"]) == (3, 5)
    assert (first["rtt_s"], first["cwnd_bytes"], first["rtt_kind"]) == (0.0405, 14480, "smoothed")
    assert (second["rtt_s"], second["cwnd_bytes"], second["rtt_kind"]) == (None, None, None)


def test_iperf3_bytes_of_the_server_replace_those_of_the_sender(make: Make) -> None:
    mine = [[stream(5, 1, bytes=900_000)], [stream(5, 2, bytes=100_000)]]
    server = [[stream(7, 1, bytes=400_000, sender=False)], [stream(7, 2, bytes=410_000, sender=False)]]
    measured = read(make(iperf(mine, server_output_json=iperf(server))))
    assert [each["acked_bytes"] for each in rows(measured) if each["acked_bytes"] is not None] == [400_000, 810_000]


def test_iperf3_omitted_rows_shift_the_start(make: Make) -> None:
    streams = [[stream(5, 1, omitted=True)], [stream(5, 1)], [stream(5, 2)]]
    measured = read(make(iperf(streams, {"test_start": {"omit": 1, "protocol": "TCP"}})))
    assert measured.metadata["t0"] == "1970-01-01T00:16:41.000000Z"
    assert [each["t_s"] for each in rows(measured)] == [1, 2]


def test_iperf3_both_directions(make: Make) -> None:
    streams = [[stream(5, 1, rtt=10), stream(7, 1, sender=False)]] * 2
    measured = read(make(iperf(streams)))
    assert [each["direction"] for each in rows(measured, "flows")] == ["out", "in"]
    reverse = read(make(iperf([[stream(5, 1, sender=False)]])))
    assert reverse.metadata["vantage"] == "receiver"
    assert rows(reverse)[0]["retransmits"] is rows(reverse)[0]["rtt_s"] is None
    assert rows(reverse)[0]["acked_bytes"] == 1000


def test_iperf3_repairs(make: Make) -> None:
    text = json.dumps(iperf([[stream(5, 1)], [stream(5, 2, bytes=111, rtt=222)]]), indent=1)
    assert rows(read(make(text + "\niperf Done.\n")))[1]["acked_bytes"] == 111
    assert len(rows(read(make(text + "\n" + text)))) == 2
    damaged = text.replace("222", "-nan").replace("111", "5.924e 06")
    assert rows(read(make(damaged)))[1]["acked_bytes"] == 5_924_000
    assert rows(read(make(damaged)))[1]["rtt_s"] is None
    with pytest.raises(InputError, match=r"file: iperf3 reports an error: unable to connect$"):
        read(make(iperf([], error="error - unable to connect")))


def test_iperf3_json_stream(make: Make) -> None:
    events: list[tuple[str, object]] = [("start", {"version": "iperf 3.17", "timestamp": {"timesecs": 1000}})]
    events += [("interval", {"streams": [stream(5, i)]}) for i in (1, 2)]
    text = "".join(json.dumps({"event": name, "data": data}) + "\n" for name, data in events)
    assert [each["acked_bytes"] for each in rows(read(make(text)))] == [0, 1000]


# tc


def test_tc_json(make: Make) -> None:
    parent = {"kind": "tbf", "handle": "1:", "root": True, "options": {"rate": 1250000, "limit": 50000}, "drops": 47}
    child = {"kind": "codel", "handle": "2:", "parent": "1:1", "options": {"limit": 1000, "target": 4999}, "drops": 47}
    child |= {"bytes": 5000, "packets": 4, "backlog": 3028, "qlen": 2, "ldelay": 5000, "ecn_mark": 3}
    text = f"# 100\n{json.dumps([parent, child])}\n# 100.5\n{json.dumps([parent, child])}\n"
    measured = read(make(text))
    first, second = rows(measured, "links")
    assert (first["rate_bps"], first["limit_bytes"], first["limit_packets"]) == (10e6, 50000, None)
    assert (second["queue"], second["limit_packets"]) == ("codel", 1000)
    assert [json.loads(each["options"])["leaf"] for each in (first, second)] == [False, True]
    samples = [each for each in rows(measured, "link_samples") if each["link"] == 1]
    assert [each["t_s"] for each in samples] == [0, 0.5]
    assert (samples[0]["backlog_bytes"], samples[0]["marks"], samples[0]["delay_s"]) == (3028, 3, 0.005)


def test_tc_text(make: Make) -> None:
    text = (
        "qdisc tbf 1: dev eth0 root refcnt 2 rate 10Mbit burst 5000b lat 36.9ms\n"
        " Sent 123456 bytes 100 pkt (dropped 47, overlimits 0 requeues 0)\n backlog 3Kb 2p requeues 0\n"
        "qdisc codel 2: dev eth0 parent 1:1 limit 1000p target 5ms interval 100ms\n"
        " Sent 123456 bytes 100 pkt (dropped 47, overlimits 0 requeues 0)\n backlog 3028b 2p requeues 0\n"
        "  count 1 lastcount 1 ldelay 1.2ms drop_next 0us\n  maxpacket 1514 ecn_mark 5 drop_overlimit 0\n"
    )
    measured = read(make(text))
    assert measured.is_snapshot
    first, second = rows(measured, "links")
    assert (first["rate_bps"], first["name"]) == (10e6, "eth0 tbf 1:")
    assert second["limit_packets"] == 1000
    sample, child = rows(measured, "link_samples")
    assert (sample["backlog_bytes"], sample["drops"], sample["marks"]) == (3072, 47, None)
    assert (child["delay_s"], child["marks"], child["backlog_packets"]) == (pytest.approx(0.0012), 5, 2)


# flent


def test_flent_flows_and_units(make: Make) -> None:
    raw = {
        "TCP upload": [{"t": 1001.0, "val": 8.0, "dur": 0.5}, {"t": 1001.5, "tcp_cwnd": 10, "tcp_rtt": 40.0}],
        "TCP upload avg": [{"t": 1001.0, "val": 8.0}],
        "TCP download": [{"t": 1001.0, "val": 8.0, "dur": 0.5, "tcp_rtt": 9.0}],
        "Ping (ms) ICMP": [{"t": 1000.0, "val": 20.0}, {"t": 1001.5, "val": 21.0}],
        "VoIP": [{"t": 1001.0, "val": 20.0}],
    }
    content = flent(
        raw=raw,
        SERIES_META={"TCP upload": {"CONG_CONTROL": "bbr"}},
        SYSCTLS={"net.ipv4.tcp_congestion_control": "cubic"},
    )
    measured = read(make(gzip.compress(json.dumps(content).encode())))
    assert measured.metadata["t0"] == "1970-01-01T00:16:40.000000Z"
    upload, download, ping = rows(measured, "flows")
    assert (upload["algorithm"], upload["algorithm_source"], upload["direction"]) == ("bbr", "metadata", "out")
    assert (download["algorithm"], download["algorithm_source"], download["direction"]) == ("cubic", "guess", "in")
    assert (ping["protocol"], upload["mss_bytes"]) == ("icmp", None)
    first, second = measured.of_flow(0)
    assert (first["acked_bytes"], first["interval_s"], first["rtt_s"]) == (500_000, 0.5, None)
    assert (second["acked_bytes"], second["rtt_s"], second["t_s"]) == (None, 0.04, 1.5)
    assert measured.of_flow(1)[0]["rtt_s"] is None
    assert [each["rtt_s"] for each in measured.of_flow(2)] == [0.02, 0.021]


def test_flent_probes_of_udp_count_transactions_before_version_4(make: Make) -> None:
    raw = {"Ping (ms) UDP BE": [{"t": 1.0, "val": 94.53, "dur": 0.2}, {"t": 2.0, "val": 94.53, "dur": 0.2}]}
    for version, rtt_s in ((3, 0.01058), (4, 0.09453)):
        assert rows(read(make(flent(version, raw))))[0]["rtt_s"] == pytest.approx(rtt_s, rel=1e-3)


def test_flent_silence_of_a_probe_is_a_gap(make: Make) -> None:
    raw = {
        "Ping (ms) UDP BE": [{"t": 100 + i / 5, "val": 20.0} for i in range(5)],
        "TCP upload": [{"t": 100.0 + i, "val": 8.0, "dur": 1.0} for i in range(143)],
    }
    (gap,) = rows(read(make(flent(raw=raw))), "gaps")
    assert (gap["t_s"], gap["until_s"], gap["reason"]) == (pytest.approx(0.8), 142, "the probe is silent")


def test_flent_counters_of_disciplines(make: Make) -> None:
    raw = {"qdisc_stats_testbed::eth0": [{"t": float(t), "dropped": 5, "ecn_mark": 1} for t in (1, 2)]}
    for version, drops in ((3, [5, 5]), (4, [5, 10])):
        assert [each["drops"] for each in rows(read(make(flent(version, raw))), "link_samples")] == drops


def test_flent_disciplines_of_remote_hosts_come_first(make: Make) -> None:
    remote = {"testbed-02": {"EGRESS_INFO": {"qdiscs": [{"name": "codel", "params": {"limit": 1000}}]}}}
    local = {"qdiscs": [{"name": "noqueue", "params": {}}]}
    raw = {"TCP upload": [{"t": 1.0, "val": 8.0, "dur": 1.0}]}
    measured = read(make(flent(raw=raw, REMOTE_METADATA=remote, EGRESS_INFO=local)))
    assert [each["name"] for each in rows(measured, "links")] == ["testbed-02 codel", "noqueue"]


def test_flent_host_is_the_end_of_the_name(make: Make) -> None:
    raw = {"TCP upload::10.0.0.7": [{"t": 1.0, "val": 8.0}]}
    assert rows(read(make(flent(2, raw, HOSTS=["10.0.0.7"]))), "flows")[0]["sink"] == "10.0.0.7"


def test_samples_of_ss_and_tc_as_a_data_file(tmp_path: Path) -> None:
    """From 1001 to 1501 segments of 1448 bytes in 0.5 s are 11.584 Mbit/s; the queue dropped 2 packets."""
    later = INFO.replace("delivered:1001", "delivered:1501").replace("cwnd:20", "cwnd:30")
    queue = {"kind": "pfifo", "handle": "1:", "options": {}, "bytes": 1500, "packets": 1, "backlog": 3000, "qlen": 2}
    lines = (f"# {t}\n{json.dumps([queue | {'drops': drops}])}\n" for t, drops in ((1588855606.5, 5), (1588855607, 7)))
    names = ["ss.txt", "tc.txt"]
    for name, text in zip(names, (ss(("# 1588855606.5", INFO), ("# 1588855607", later)), "".join(lines)), strict=True):
        (tmp_path / name).write_text(text)
    file = tmp_path / "a.flent.gz"
    write_flent([read(tmp_path / name) for name in names], file, 0.1, "made from ss")
    (row,) = read(file).of_flow(0)
    assert row["acked_bytes"] == pytest.approx(500 * 1448)
    assert row["rtt_s"] == pytest.approx(0.0405)
    assert rows(read(file), "flows")[0]["algorithm"] == "cubic"
    assert [(each["drops"], each["backlog_packets"]) for each in rows(read(file), "link_samples")] == [(2, 2)]
    document = json.loads(gzip.decompress(file.read_bytes()))
    (raw,) = document["raw_values"]["TCP upload::1"]
    assert (raw["val"], raw["tcp_cwnd"]) == pytest.approx((11.584, 30))
    assert {len(each) for each in document["results"].values()} == {len(document["x_values"])}


@pytest.mark.parametrize("version", [1, 5, 10**12, "4"])
def test_flent_version(make: Make, version: object) -> None:
    with pytest.raises(InputError, match=r"flent version must be in \[2, 4\], got"):
        read(make({**flent(), "version": version}))


# Files that are wrong or hostile


@pytest.mark.parametrize("content", ["", "hello", "{}", "[]", b"\0", '{"a": 1}', "\x1b[31m"])
def test_unknown_formats(make: Make, content: str | bytes) -> None:
    with pytest.raises(InputError) as caught:
        read(make(content))
    assert str(caught.value).endswith(f"file: {UNKNOWN}")


@pytest.mark.parametrize(
    "compress", [gzip.compress, bz2.compress, lambda data: pa.compress(data, "zstd", asbytes=True)]
)
def test_compression_is_found_by_content(make: Make, compress: Callable[[bytes], bytes]) -> None:
    content = ss(("# 1", INFO)).encode()
    assert read(make(compress(content), "x.txt")).metadata["format"] == "ss"
    two = compress(content) + compress(ss(("# 2", INFO)).encode())
    assert len(rows(read(make(two)))) == 2


def test_expansion_is_limited(make: Make) -> None:
    path = make(gzip.compress(b"# 1 \n") + gzip.compress(b"\0" * (70 << 20)))
    with Source(path).open() as stream:
        stream.read_exactly(64 << 20)
        with pytest.raises(InputError, match="must expand at most 200 times"):
            stream.read_exactly(2 << 20)


def test_short_lines_are_refused(make: Make) -> None:
    with pytest.raises(InputError, match="1000000 lines of"):
        read(make(ss(("# 1", INFO)).encode() + b"x\n\n" * 1_000_000))


def test_long_lines_are_refused(make: Make) -> None:
    with pytest.raises(InputError, match="a line must have at most 16 MiB"):
        read(make(ss(("# 1", INFO)).encode() + b"x" * (17 << 20)))


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ("[" * 100_000, "levels of lists and objects"),
        ("1" * 5000, "is not valid JSON"),
        ('"' + "x" * (17 << 20) + '"', "a text or number must have at most 16 MiB"),
    ],
)
def test_hostile_json(make: Make, part: str, said: str) -> None:
    text = json.dumps(flent()).replace('"x_values": [0.0]', f'"x_values": {part}')
    with pytest.raises(InputError, match=said):
        read(make(text))


def test_numbers_that_are_not_finite_are_null(make: Make) -> None:
    text = json.dumps(flent(raw={"Ping (ms) ICMP": [{"t": 1.0, "val": 777}, {"t": 2.0, "val": 1.0}]}))
    assert rows(read(make(text.replace("777", "1e999"))))[0]["rtt_s"] is None


def test_text_of_a_file_is_clean(make: Make) -> None:
    raw = {"TCP upload \x1b[31m\n" + "x" * 1000: [{"t": 1.0, "val": 8.0}]}
    name = rows(read(make(flent(raw=raw))), "flows")[0]["name"]
    assert name.isprintable()
    assert len(name) <= 220


def test_truncated_json_is_marked(make: Make) -> None:
    text = json.dumps(flent(raw={"Ping (ms) ICMP": [{"t": float(t), "val": 20.0} for t in range(50)]}))
    measured = read(make(text[:-200]))
    assert measured.metadata["truncated"] is True
    assert 10 < len(rows(measured)) < 50


CONTENTS = {
    "ss": ss(("# 1", INFO), ("# 2", INFO), ("# 3", INFO)),
    "flent": json.dumps(flent(raw={"TCP upload": [{"t": float(t), "val": 8.0, "dur": 1.0} for t in range(5)]})),
    "iperf3": json.dumps(iperf([[stream(5, i, rtt=10)] for i in (1, 2, 3)])),
    "tc": json.dumps([{"kind": "codel", "handle": "1:", "options": {"limit": 1000}, "bytes": 1, "packets": 1}]),
}


@pytest.mark.parametrize("kind", CONTENTS)
def test_damaged_files_give_one_line(make: Make, kind: str) -> None:
    random.seed(kind)
    whole = CONTENTS[kind].encode()
    for _ in range(100):
        content = bytearray(whole[: random.randrange(1, len(whole))] if random.random() < 0.5 else whole)
        for _ in range(random.randrange(4)):
            content[random.randrange(len(content))] ^= 1 << random.randrange(8)
        with suppress(InputError):
            read(make(bytes(content)))
