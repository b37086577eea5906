"""`fullpipe explain --normal`: verdicts on the values of snapshots."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from fullpipe._cli import fullpipe_command
from fullpipe.errors import InputError
from fullpipe.experiments.explain.normal import Finding, normal

LINE = "ESTAB 0 1448 10.0.0.1:40000 10.0.0.2:5201\n"

USUAL = (
    "cubic wscale:7,7 rto:260 rtt:50/5 minrtt:40 mss:1448 cwnd:50 ssthresh:40 bytes_sent:14480000 data_segs_out:10000 "
    "bytes_acked:14400000 retrans:0/20 pacing_rate 13900800bps delivery_rate 11000000bps busy:10000ms delivered:9950"
)
"""A window of 50 x 1448 bytes a 50 ms is 11.58 Mbit/s; 1.2 times that is the pacing rate."""


def found(tmp_path: Path, text: str) -> dict[str, Finding]:
    path = tmp_path / "snapshot"
    path.write_text(text)
    return {each.value: each for each in normal(path).findings}


def changed(tmp_path: Path, *pairs: tuple[str, str]) -> dict[str, Finding]:
    text = USUAL
    for before, after in pairs:
        assert before in text
        text = text.replace(before, after)
    return found(tmp_path, f"{LINE}\t {text}\n")


def test_a_usual_flow(tmp_path: Path) -> None:
    values = changed(tmp_path)
    assert {each.verdict for each in values.values()} == {"usual"}
    assert {"rtt / minrtt", "cwnd", "retransmitted fraction", "pacing_rate over cwnd x mss / rtt"} <= set(values)
    assert values["pacing_rate over cwnd x mss / rtt"].measured == pytest.approx(1.2, rel=1e-3)


@pytest.mark.parametrize(
    ("value", "pair", "said"),
    [
        ("rtt / minrtt", ("minrtt:40", "minrtt:10"), "the queue holds 40 ms"),
        ("rto (ms)", ("rto:260", "rto:12800"), "timeouts are repeated"),
        ("backoff", ("rto:260", "rto:260 backoff:2"), "timeouts are repeated"),
        ("cwnd", ("cwnd:50", "cwnd:1"), "one-segment window"),
        ("mss", ("mss:1448", "mss:536"), "MTU"),
        ("pmtu", ("mss:1448", "mss:1448 pmtu:1000"), "MTU"),
        # 1.5 / W^2 with W = 11 Mbit/s x 50 ms / 8 / 1448 = 47.5 is 0.00066; 0.02 is 30 times that.
        ("retransmitted fraction", ("retrans:0/20", "retrans:0/200"), "loss is 30 times"),
        ("rwnd_limited / busy", ("busy:10000ms", "busy:10000ms rwnd_limited:900ms(9.0%)"), "receiver's window"),
        ("sndbuf_limited / busy", ("busy:10000ms", "busy:10000ms sndbuf_limited:900ms(9.0%)"), "send buffer"),
        ("app_limited", ("busy:10000ms", "busy:10000ms app_limited"), "nothing about the path"),
        ("cwnd x mss / rtt over delivery_rate", ("delivery_rate 11000000bps", "delivery_rate 1000000bps"), "limits"),
        ("delivered_ce / delivered", ("delivered:9950", "delivered:9950 delivered_ce:995"), "marks often"),
    ],
)
def test_unusual_values(tmp_path: Path, value: str, pair: tuple[str, str], said: str) -> None:
    one = changed(tmp_path, pair)[value]
    assert one.verdict == "unusual"
    assert said in one.sentence
    assert one.source


def test_impossible_values(tmp_path: Path) -> None:
    assert changed(tmp_path, ("minrtt:40", "minrtt:80"))["rtt / minrtt"].verdict == "impossible"
    assert changed(tmp_path, ("retrans:0/20", "retrans:0/20000"))["retrans"].verdict == "impossible"


def test_bbr_has_limits_of_its_own(tmp_path: Path) -> None:
    pair = ("minrtt:40", "minrtt:18")
    assert changed(tmp_path, pair)["rtt / minrtt"].verdict == "usual"
    assert changed(tmp_path, pair, ("cubic", "bbr"))["rtt / minrtt"].verdict == "unusual"
    assert changed(tmp_path, ("cwnd:50", "cwnd:3"), ("cubic", "bbr"))["cwnd"].verdict == "unusual"
    # ProbeRTT: 4 packets a 50 ms are 0.93 Mbit/s, and the last rate was 11.
    key = "cwnd x mss / rtt over delivery_rate"
    assert changed(tmp_path, ("cwnd:50", "cwnd:4"), ("cubic", "bbr"))[key].verdict == "usual"
    assert changed(tmp_path, ("cwnd:50", "cwnd:4"))[key].verdict == "unusual"
    for bandwidth, verdict in (("11.5Mbps", "usual"), ("20000000bps", "unusual")):
        pair = ("busy:", f"bbr:(bw:{bandwidth},mrtt:40,pacing_gain:1,cwnd_gain:2) busy:")
        assert changed(tmp_path, pair, ("cubic", "bbr"))["BBR bw / delivery_rate"].verdict == verdict


def test_disciplines(tmp_path: Path) -> None:
    tbf = {"kind": "tbf", "handle": "1:", "options": {"rate": 1250000}, "bytes": 1, "packets": 10000, "drops": 47}
    text = json.dumps(
        [
            {**tbf, "backlog": 60000},
            {"kind": "codel", "handle": "2:", "drop_overlimit": 5, "ldelay": 9000, "overlimits": 3},
        ]
    )
    values = found(tmp_path, text)
    assert values["drops / packets"].verdict == "usual"
    assert values["backlog / rate (s)"].measured == pytest.approx(0.048)
    assert values["drop_overlimit"].verdict == "unusual"
    assert values["ldelay (s)"].verdict == "usual"
    assert values["overlimits"].verdict == "unusual"
    values = found(tmp_path, json.dumps([{**tbf, "backlog": 200000, "drops": 500}]))
    assert values["backlog / rate (s)"].verdict == values["drops / packets"].verdict == "unusual"


def test_command(tmp_path: Path) -> None:
    path = tmp_path / "snapshot"
    path.write_text(f"{LINE}\t {USUAL.replace('cwnd:50', 'cwnd:1')}\n")
    done = CliRunner().invoke(fullpipe_command, ["explain", "--normal", str(path), "--json"])
    assert done.exit_code == 0
    tree = json.loads(done.stdout)
    assert tree["kind"] == "normal"
    assert [each["verdict"] for each in tree["values"] if each["value"] == "cwnd"] == ["unusual"]
    shown = CliRunner().invoke(fullpipe_command, ["explain", "--normal", str(path)])
    assert "one-segment window" in shown.output
    path.write_text("{}")
    with pytest.raises(InputError, match="--normal requires a snapshot of ss or tc"):
        normal(path)
