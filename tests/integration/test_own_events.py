# ruff: noqa: ARG002
"""Events of algorithms in Python and C: spurious reductions, packets sent and lost, and the end of a connection."""

from __future__ import annotations

import ctypes
import math
import subprocess
from pathlib import Path
from typing import Any

import pytest

import fullpipe
from fullpipe import Scenario
from fullpipe.custom import compiled
from fullpipe.custom.compiled import HEADER

UNDONE: list[tuple[float, float, float]] = []
CHANGED: list[float] = []


class RenoCopy:
    """Reno that notes when its window differs from the one that it set."""

    cwnd: float = 2.0
    ssthresh: float = math.inf

    def on_start(self, start: Any) -> None:
        self._mine = start.window

    def on_ack(self, flow: Any, ack: Any) -> None:
        if abs(self.cwnd - self._mine) > 1e-9:
            CHANGED.append(flow.now_s)
        if not flow.in_recovery and flow.cwnd_limited:
            self.cwnd += ack.credit if self.cwnd < self.ssthresh else ack.credit / self.cwnd
        self._mine = self.cwnd

    def on_congestion(self, flow: Any, signal: fullpipe.Signal) -> None:
        w = self.cwnd if flow.cwnd_limited else min(self.cwnd, flow.flight_size)
        self.ssthresh = max(w / 2, 2.0)
        self.cwnd = 1.0 if signal == fullpipe.Signal.TIMEOUT else self.ssthresh
        self._mine = self.cwnd


fullpipe.algorithm("reno-silent", recovery="rack")(RenoCopy)


@fullpipe.algorithm("reno-undo", recovery="rack")
class RenoUndo(RenoCopy):
    """Variant with the event."""

    def on_undo(self, cwnd: float, ssthresh: float) -> None:
        UNDONE.append((self.cwnd, cwnd, ssthresh))
        self.cwnd = max(self.cwnd, cwnd)
        self.ssthresh = max(self.ssthresh, ssthresh)
        self._mine = self.cwnd


def reordered(algorithm: str, **more: Any) -> fullpipe.Result:
    """One segment in a thousand arrives 60 ms late, which looks like a loss."""
    link = {"name": "path", "rate": "100 Mbit/s", "delay": "99 ms", "buffer": "1 BDP"}
    link |= {"reorder": {"probability": 0.001, "delay": "60 ms"}, "reverse": {"reorder": "off"}}
    flow = {"algorithm": algorithm, "recovery": "rack", "initial_window": 10, "delayed_ack": True, **more}
    flow |= {"byte_counting": True}
    UNDONE.clear()
    CHANGED.clear()
    return fullpipe.run(Scenario(duration="20 s", warmup="1 s", packet_size=1500, links=[link], flows=[flow]))


def test_spurious_reduction_is_an_event() -> None:
    """Reno halves its window for the loss, and the event has the window before: twice as much."""
    result = reordered("reno-undo")
    assert UNDONE
    assert not CHANGED, "nobody else writes the window"
    halved, before, _ = UNDONE[0]
    assert before == pytest.approx(2 * halved, rel=0.02)
    assert result.flows["goodput_bps"] == reordered("reno-silent").flows["goodput_bps"], "as without the method"
    assert CHANGED, "without the method the sender writes the window"


def test_undo_false_keeps_a_spurious_reduction() -> None:
    undone = reordered("reno-undo")
    kept = reordered("reno-undo", undo=False)
    assert not UNDONE
    assert not CHANGED
    assert kept.flows["goodput_bps"][0].as_py() < 0.9 * undone.flows["goodput_bps"][0].as_py()
    builtin = reordered("reno", undo=False).flows["goodput_bps"], reordered("reno").flows["goodput_bps"]
    assert builtin[0][0].as_py() < builtin[1][0].as_py()


class Reno(fullpipe.Classic):
    """Reno."""

    packets: float = 0.0
    losses: float = 0.0
    digest: float = 0.0
    undone: float = 0.0

    def increase(self, w: float, flow: Any, ack: Any) -> float:
        return 1 / w

    def decrease(self, w: float, flow: Any, signal: Any) -> float:
        return w / 2


class Counted(Reno):
    """Reno that reads every field of every packet."""

    def on_sent(self, flow: Any, sent: Any) -> None:
        self.packets += 1.0
        sizes = sent.bytes + 2 * sent.in_flight + 3 * sent.delivered + 5 * sent.lost
        times = sent.sent_at - sent.first_sent_at + 7 * (sent.sent_at - sent.delivered_at)
        flags = sent.ecn + 10 * sent.is_probe + 100 * sent.app_limited
        self.digest = (self.digest * 0.5 + sizes + times + flags + sent.number) % 1e9

    def on_lost(self, flow: Any, lost: Any) -> None:
        self.losses += 1.0
        since = lost.lost_since_sent + 2 * lost.delivered_since_sent
        self.digest = (self.digest * 0.5 + since + lost.number + lost.bytes + lost.by) % 1e9

    def on_undo(self, cwnd: float, ssthresh: float) -> None:
        self.undone += 1.0
        self.cwnd = max(self.cwnd, cwnd)
        self.ssthresh = max(self.ssthresh, ssthresh)


SHOWN = ["packets", "losses", "digest", "undone"]
fullpipe.algorithm("plain-reno", inspect=SHOWN)(Reno)
fullpipe.algorithm("counted-reno", inspect=SHOWN)(Counted)


def lossy(algorithm: str, **more: Any) -> fullpipe.Result:
    link = {"name": "l", "rate": "10 Mbit/s", "delay": "15 ms", "buffer": "20 packets", "loss": 0.004}
    link |= {"reorder": {"probability": 0.002, "delay": "10 ms"}}
    flow = {"algorithm": algorithm, "initial_window": 10, **more}
    return fullpipe.run(Scenario(duration="20 s", warmup="0 s", packet_size=1000, links=[link], flows=[flow]))


def last(result: fullpipe.Result, column: str) -> float:
    value: float = result.series[column].to_pylist()[-1]
    return value


@pytest.mark.parametrize(
    "keys",
    [
        {"recovery": "newreno"},
        {"recovery": "sack"},
        {"recovery": "rack"},
        {"recovery": "rack", "pacing": "on", "handshake": True},
        {"recovery": "rack", "size": "2 MB", "ecn": "accurate"},
    ],
)
def test_packets_change_nothing_and_are_counted(keys: dict[str, Any]) -> None:
    """A class that takes packet events sends as one that does not, and each packet is reported once."""
    plain, counted = lossy("plain-reno", **keys), lossy("counted-reno", **keys)
    for column in ("goodput_bps", "retransmits", "timeouts", "mean_cwnd_packets"):
        assert plain.flows[column] == counted.flows[column], column
    if "size" not in keys:  # the series ends with the last sample of a flow, which lives to the end here
        assert last(counted, "packets") == pytest.approx(counted.to_dict()["totals"]["data_packets"], abs=60)
    retransmits = counted.flows["retransmits"][0].as_py()
    assert 0 < last(counted, "losses") <= retransmits + 2
    assert last(counted, "losses") >= 0.7 * retransmits


def test_records_of_packets() -> None:
    """Eleven segments of 1,000 bytes leave at once, at 8 Mbit/s and 10 ms each way. The link has room for nine and
    drops the last two, for which a tail loss probe goes. The probe repeats the eleventh, which then counts as lost.
    """
    sent: list[dict[str, Any]] = []
    lost: list[dict[str, Any]] = []
    fields = [name for name, _ in compiled.SENT if name[0] != "_"]

    @fullpipe.algorithm("note-packets", recovery="rack")
    class NotePackets(Reno):
        def on_sent(self, flow: Any, packet: Any) -> None:
            sent.append({name: getattr(packet, name) for name in fields} | {"now_s": flow.now_s})

        def on_lost(self, flow: Any, packet: Any) -> None:
            names = [*fields, "by", "lost_since_sent", "delivered_since_sent"]
            lost.append({name: getattr(packet, name) for name in names} | {"now_s": flow.now_s})

    link = {"name": "l", "rate": "8 Mbit/s", "delay": "10 ms", "buffer": "9 packets"}
    flow = {"algorithm": "note-packets", "size": "11 packets", "initial_window": 11}
    fullpipe.run(Scenario(duration="1 s", warmup="0 s", packet_size=1000, ack_size=40, links=[link], flows=[flow]))
    assert [packet["number"] for packet in sent] == list(range(len(sent)))
    assert len(sent) >= 13, "eleven segments, of which the link drops two"
    first = sent[:11]
    assert [packet["in_flight"] for packet in first] == [1000 * n for n in range(1, 12)]
    assert all(packet["sent_at"] == 0 and packet["delivered"] == packet["lost"] == 0 for packet in first)
    assert all(packet["bytes"] == 1000 and packet["ecn"] == 0 for packet in sent)
    assert all(packet["sent_at"] == round(packet["now_s"] * 1e9) for packet in sent)
    probes = [packet for packet in sent if packet["is_probe"]]
    assert [packet["delivered"] for packet in probes] == [9000], "nine have arrived, two have not"
    assert [packet["number"] for packet in lost] == [10, 9]
    assert all(packet["by"] == fullpipe.LostBy.TIME_THRESHOLD for packet in lost)
    since = [(packet["lost_since_sent"], packet["delivered_since_sent"]) for packet in lost]
    assert since == [(1000, 9000), (2000, 10_000)]


def test_compiled_events_are_those_of_the_interpreter() -> None:
    pytest.importorskip("numba", reason="no Numba: what is compiled is not tested")
    fullpipe.algorithm("compiled-reno", inspect=SHOWN, compiled=True)(Counted)
    for recovery in ("sack", "rack"):
        slow, fast = (lossy(name, recovery=recovery).series for name in ("counted-reno", "compiled-reno"))
        for column in ("cwnd_packets", *SHOWN):
            assert slow[column].to_pylist() == fast[column].to_pylist(), column
    assert last(lossy("compiled-reno", recovery="rack"), "undone") > 0


C = """
#include <fullpipe.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

struct mine {
	double cwnd, ssthresh, packets, losses, undone;
	int64_t memory;
};

static void note(const char *event)
{
	FILE *log = fopen(LOG, "a");

	fputs(event, log);
	fclose(log);
}

int32_t on_start(void *state, const struct fullpipe_start *start)
{
	((struct mine *)state)->memory = (int64_t)(intptr_t)malloc(64);
	note("begun ");
	return start->window >= 1;
}

int32_t on_end(void *state)
{
	free((void *)(intptr_t)((struct mine *)state)->memory);
	note("ended ");
	return 1;
}

int32_t on_ack(void *state, const struct fullpipe_flow *flow, const struct fullpipe_ack *ack)
{
	struct mine *mine = state;

	if (!flow->in_recovery && flow->cwnd_limited && ack->credit != 0)
		mine->cwnd += mine->cwnd < mine->ssthresh ? ack->credit : ack->credit * (1 / mine->cwnd);
	return 1;
}

int32_t on_congestion(void *state, const struct fullpipe_flow *flow, int64_t signal)
{
	struct mine *mine = state;
	double w = flow->cwnd_limited || mine->cwnd < flow->flight_size ? mine->cwnd : flow->flight_size;

	mine->ssthresh = w / 2 > 2 ? w / 2 : 2;
	mine->cwnd = signal == FULLPIPE_TIMEOUT ? 1 : mine->ssthresh;
	return 1;
}

int32_t on_undo(void *state, double cwnd, double ssthresh)
{
	struct mine *mine = state;

	mine->undone++;
	mine->cwnd = cwnd > mine->cwnd ? cwnd : mine->cwnd;
	mine->ssthresh = ssthresh > mine->ssthresh ? ssthresh : mine->ssthresh;
	return 1;
}

int32_t on_sent(void *state, const struct fullpipe_flow *flow, const struct fullpipe_sent *sent)
{
	((struct mine *)state)->packets++;
	return sent->bytes == 1000 && sent->in_flight == 1000 * (uint64_t)flow->in_flight && !sent->reserved[4];
}

int32_t on_lost(void *state, const struct fullpipe_flow *flow, const struct fullpipe_lost *lost)
{
	((struct mine *)state)->losses++;
	return lost->by <= FULLPIPE_TIME_THRESHOLD && lost->lost_since_sent >= 1000 && lost->sent.bytes == 1000 &&
		lost->sent.lost + lost->lost_since_sent == 1000 * (uint64_t)flow->lost;
}

int64_t offsets[] = {
	offsetof(struct fullpipe_sent, first_sent_at), offsetof(struct fullpipe_sent, ecn), sizeof(struct fullpipe_sent),
	offsetof(struct fullpipe_lost, by), offsetof(struct fullpipe_lost, lost_since_sent),
	offsetof(struct fullpipe_lost, delivered_since_sent), sizeof(struct fullpipe_lost),
};
"""


def test_library_in_c_has_the_events(tmp_path: Path) -> None:
    import numpy as np

    (tmp_path / "mine.c").write_text(C)
    command = ["cc", "-O2", "-ffp-contract=off", "-Wall", "-Werror", "-shared", "-fPIC", f"-I{HEADER.parent}"]
    log = tmp_path / "log"
    subprocess.run([*command, f'-DLOG="{log}"', "mine.c", "-o", "mine.so"], cwd=tmp_path, check=True)

    @fullpipe.algorithm("events-in-c", inspect=SHOWN[:2] + SHOWN[3:], library=tmp_path / "mine.so")
    class InC:
        cwnd: float = 2.0
        ssthresh: float = math.inf
        packets: float = 0.0
        losses: float = 0.0
        undone: float = 0.0
        memory: int = 0

    library = ctypes.CDLL(str(tmp_path / "mine.so"))
    sent, lost = (np.dtype(fields, align=True) for fields in (compiled.SENT, compiled.LOST))
    assert sent.fields is not None
    assert lost.fields is not None
    expected = [sent.fields["first_sent_at"][1], sent.fields["ecn"][1], sent.itemsize, lost.fields["by"][1]]
    expected += [lost.fields[name][1] for name in ("lost_since_sent", "delivered_since_sent")] + [lost.itemsize]
    assert list((ctypes.c_int64 * 7).in_dll(library, "offsets")) == expected
    for recovery in ("sack", "rack"):
        native, counted = (lossy(name, recovery=recovery) for name in ("events-in-c", "counted-reno"))
        for column in ("cwnd_packets", "packets", "losses", "undone"):
            assert native.series[column].to_pylist() == counted.series[column].to_pylist(), column
    events = log.read_text().split()
    assert events.count("begun") == events.count("ended") == 2


def test_python_objects_end_once_each() -> None:
    begun: list[int] = []
    ended: list[int] = []

    @fullpipe.algorithm("note-end")
    class NoteEnd(Reno):
        def on_start(self, start: Any) -> None:
            begun.append(id(self))

        def on_end(self) -> None:
            ended.append(id(self))

    web = {"algorithm": "note-end", "sessions": 2, "mean_gap": "100 ms", "mean_size": "5 kB"}
    link = {"name": "l", "rate": "10 Mbit/s", "delay": "5 ms", "buffer": "50 packets"}
    fullpipe.run(Scenario(duration="2 s", links=[link], flows=[{"algorithm": "note-end"}], web=[web]))
    assert len(begun) == len(ended) > 5


def test_slip_of_the_pen_in_an_event_is_refused() -> None:
    with pytest.raises(fullpipe.InputError, match='did you mean "on_undo"'):

        @fullpipe.algorithm("slip")
        class Slip(Reno):
            def on_undoo(self, cwnd: float, ssthresh: float) -> None: ...


def test_packets_bring_no_ack_of_nothing_new() -> None:
    """ACKs that only SACK reports are for classes with ``rate_samples``: asking for packets adds none."""
    calls = {"empty": 0, "all": 0, "lost": 0}

    @fullpipe.algorithm("note-acks", recovery="rack")
    class NoteAcks(Reno):
        def on_ack(self, flow: Any, ack: Any) -> None:
            calls["all"] += 1
            calls["empty"] += ack.acked == 0
            super().on_ack(flow, ack)

        def on_lost(self, flow: Any, lost: Any) -> None:
            calls["lost"] += 1

    for recovery in ("newreno", "sack", "rack"):
        lossy("note-acks", recovery=recovery)
    assert calls["all"] > 10_000
    assert calls["lost"] > 50
    assert calls["empty"] == 0
