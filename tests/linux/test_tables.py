"""Metrics from the agent's report, whose lines are written by hand."""

from __future__ import annotations

import math

from fullpipe import Scenario
from fullpipe._util.plain import Tree
from fullpipe.linux.plan import Plan
from fullpipe.linux.report import to_tables

LINES = """\
l 0 0 0 0 0 0 0
l 0 1 0 0 0 0 0
f 1000000000 0 10 10 20000 20000 0 0 0 500000 500000
f 6000000000 0 10 10 20000 20000 0 0 0 2500000 2500000
f 10000000000 0 10 10 20000 20000 0 0 0 2500000 2500000
finished 0 6000000000
f 5000000000 1 10 10 20000 20000 0 0 0 0 0
f 10000000000 1 10 10 20000 20000 0 0 0 2500000 2500000
finished 2 1000000000
l 10000000000 0 0 0 0 0 0
l 10000000000 1 0 0 0 0 0
"""


def tables_of(lines: str, *flows: Tree) -> Tree:
    """Tables of a guest's lines, for 10 s with a warm-up of 1 s over one link."""
    scenario = Scenario(
        duration="10 s",
        warmup="1 s",
        packet_size=1066,
        links=[{"name": "l", "rate": "8 Mbit/s", "delay": "10 ms", "buffer": "10 packets"}],
        flows=list(flows),
    )
    return to_tables(Plan.of(scenario), lines.splitlines())


def test_rates_are_over_a_flows_life_in_the_window() -> None:
    # Payload of 1000 bytes, 1066 on the wire. From 1 to 10 s: flow 0 has 2 MB acknowledged and ends at 6 s, flow 1
    # begins at 5 s and has 2.5 MB, flow 2 is over when the window begins.
    tables = tables_of(
        LINES, {"algorithm": "reno"}, {"algorithm": "reno", "start": "5 s"}, {"algorithm": "reno", "size": "1 packet"}
    )
    flows = tables["flows"]
    assert flows["active_s"] == [5, 5, 0]
    first, second, third = flows["goodput_bps"]
    assert (first, second) == (2e6 * 1.066 * 8 / 5, 2.5e6 * 1.066 * 8 / 5)
    assert math.isnan(third)
    assert flows["throughput_bps"][:2] == [first, second]
    assert [round(rate) for rate in flows["payload_goodput_bps"][:2]] == [round(2e6 * 8 / 5), round(2.5e6 * 8 / 5)]
    # 4.5 MB of payload in 9 s, all of it one way.
    links = tables["links"]
    assert math.isclose(links["carried_goodput_bps"][0], 4.5e6 * 1.066 * 8 / 9)
    assert links["reverse_carried_goodput_bps"] == [0]
    assert all(math.isnan(tables[name]["p99_jitter_s"][0]) for name in ("flows", "groups"))
    # Of flow 0 three samples of 20 ms are in the window, of flow 2 none.
    assert (flows["p50_rtt_s"][:2], flows["p99_rtt_s"][0]) == ([0.02, 0.02], 0.02)
    assert math.isnan(flows["p50_rtt_s"][2])
    assert (tables["groups"]["name"], tables["groups"]["p95_rtt_s"]) == (["reno"], [0.02])
    assert math.isnan(tables["links"]["p99_queueing_delay_s"][0])
    transfers = tables["transfers"]
    assert (transfers["group"], transfers["size_bytes"], transfers["in_warmup"]) == (["reno"], [1066], [True])
    assert (transfers["completion_s"], math.isnan(transfers["slowdown"][0])) == ([1.0], True)
    # (2 + 2.5)^2 / (2 (2^2 + 2.5^2)), of the two that live in the window.
    assert math.isclose(tables["totals"]["jain_index"], 20.25 / 20.5)


REQUESTS = """\
l 0 0 0 0 0 0 0
l 0 1 0 0 0 0 0
f 1000000000 0 10 10 20000 20000 0 0 0 0 0
f 2000000000 0 10 10 20000 20000 0 3 0 0 0
f 3000000000 0 10 10 20000 20000 0 3 0 0 0
f 4000000000 0 10 10 20000 20000 0 5 4 0 0
l 10000000000 0 0 0 0 0 0
l 10000000000 1 0 0 0 0 0
q 500000000 0 0
d 900000000 0 0
q 2100000000 0 1
d 2500000000 0 1
q 3300000000 0 2
d 3900000000 0 2
q 9900000000 0 3
"""


def test_each_response_is_a_transfer() -> None:
    # Of 0.4 and 0.6 s in the window; the first ended in the warm-up, and the last is under way. The third has what the
    # samples at 3 and 4 s show: two retransmissions and a timeout.
    flow = {"algorithm": "reno", "idle": "linux", "source": {"requests": "1 s", "size": "3 kB"}}
    tables = tables_of(REQUESTS, flow)
    assert math.isclose(tables["flows"]["request_completion_s"][0], 0.5)
    transfers = tables["transfers"]
    assert transfers["start_s"] == [0.5, 2.1, 3.3, 9.9]
    assert transfers["size_bytes"] == [3 * 1066] * 4
    assert transfers["completion_s"][:3] == [0.4, 0.4, 0.6]
    assert math.isnan(transfers["completion_s"][3])
    assert transfers["state"] == ["complete"] * 3 + ["running"]
    assert (transfers["retransmits"], transfers["timeouts"]) == ([0, 0, 2, 0], [0, 0, 1, 0])
    assert transfers["in_warmup"] == [True, False, False, False]
