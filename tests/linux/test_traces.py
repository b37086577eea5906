"""Sending times of each segment of one flow, on Linux and in the simulator: a lost tail, lost retransmissions,
reordering, and a policer. 10 Mbit/s, 100 ms, Reno with `host = "linux"` and an ACK per segment.

The kernel's timers have ticks of 4 ms, and a probe waits for two ticks more than in RFC 8985.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from fullpipe import Scenario
from linux import traces
from linux.beside import needs_guest
from linux.traces import Sent, again

pytestmark = [pytest.mark.slow_linux, needs_guest]

SEND_MS = 0.5
"""How far apart two sends are that ACKs have set off; the guest takes its time for each."""
TIMER_MS = 16
"""How much later a timer of the kernel's expires: two ticks more, and a tick's rounding at either end."""


def scenario(size: int, **link: Any) -> Scenario:
    bottleneck = {"name": "l", "rate": "10 Mbit/s", "delay": "49 ms", "buffer": "1000 packets", **link}
    flow = {"algorithm": "reno", "host": "linux", "delayed_ack": False, "access_delay": "1 ms"}
    return Scenario.from_dict(
        {
            "duration": "4 s",
            "series_interval": "10 ms",
            "links": [bottleneck],
            "flows": [{**flow, "size": f"{size} segments"}],
        }
    )


def both(tried: Scenario, folder: Path) -> tuple[list[Sent], list[Sent]]:
    there, here = traces.on_linux(tried), traces.simulated(tried, folder)
    print(f"\nsent again: Linux {again(there)}\n  simulator {again(here)}")
    return there, here


def assert_alike(there: list[Sent], here: list[Sent], within_ms: float) -> None:
    assert [one.segment for one in there] == [one.segment for one in here]
    assert max(abs(one.at_ms - other.at_ms) for one, other in zip(there, here, strict=True)) <= within_ms


def test_a_lost_tail(tmp_path: Path) -> None:
    """The last three of ten find the buffer full: a probe of the last shows the two before it, and ACKs let them go."""
    there, here = both(scenario(10, buffer="7 packets"), tmp_path)
    assert_alike(there[:10], here[:10], SEND_MS)
    assert [one.segment for one in here[10:]] == [9, 7, 8]
    assert_alike(there, here, TIMER_MS)
    late_ms = there[10].at_ms - here[10].at_ms
    assert_alike([Sent(one.at_ms - late_ms, one.segment) for one in there[10:]], here[10:], SEND_MS)


def test_a_lost_last_segment(tmp_path: Path) -> None:
    """With one segment in flight, the kernel allows a delay of its ACK by a minimum RTO, 200 ms. The simulator allows
    the receiver's actual delay (RFC 8985 section 7.2: max_ack_delay), here none.
    """
    there, here = both(scenario(10, buffer="9 packets"), tmp_path)
    assert_alike(there[:10], here[:10], SEND_MS)
    assert [one.segment for one in there[10:]] == [one.segment for one in here[10:]] == [9]
    assert here[10].at_ms < there[10].at_ms <= here[10].at_ms + 200 + TIMER_MS


def test_lost_retransmissions_and_a_policer(tmp_path: Path) -> None:
    """The policer drops retransmissions too: 99 is sent three times, without a timer. From then on a token more or less
    decides which segment is dropped.
    """
    there, here = both(scenario(400, policer={"rate": "3 Mbit/s", "burst": "60 kB"}), tmp_path)
    third = [one.segment for one in again(here)].index(99, 1)
    alike = here.index(again(here)[third]) + 1
    assert alike > 200
    assert_alike(there[:alike], here[:alike], SEND_MS)
    assert len(there) == pytest.approx(len(here), rel=0.1)
    # No timer: nowhere a silence of the least timeout.
    for sent in (there, here):
        assert max(after.at_ms - before.at_ms for before, after in pairwise(sent)) < 200


def test_reordering(tmp_path: Path) -> None:
    """Of 2000 segments some forty come 10 ms late. The first that three others overtake is sent again; from then on a
    quarter of the least RTT is waited for.
    """
    for sent in both(scenario(2000, reorder={"probability": 0.02, "delay": "10 ms"}), tmp_path):
        assert 1 <= len(again(sent)) <= 2
        assert again(sent)[-1].at_ms < 1000
