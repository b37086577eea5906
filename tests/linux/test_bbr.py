"""Why BBR drops fewer packets on Linux if the buffer is a tenth of a BDP: one BBR flow alone, in the first minute of
the report card's duel. Functions of the kernel's hosts that the simulator's hosts lack are switched off.
Long; `make test-linux` runs it.

A phase of 5/4 drops the excess over the buffer until a loss is detected, or until 5/4 of a BDP are in flight. Two
functions of the kernel end the phase earlier. First, its timestamps tick in milliseconds, and the ACK of a
retransmission is measured with them. The minimum RTT, and with it the BDP, is up to a millisecond too small. Second,
after the third duplicate ACK a receiver delays further SACKs by up to a millisecond (since Linux 4.18). Less data is
delivered in that time, and the bandwidth is underestimated by up to a segment per round trip.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

from fullpipe.experiments.evaluate.beside_linux import for_linux
from fullpipe.experiments.evaluate.cells.harm import beside
from fullpipe.experiments.evaluate.measure import metrics
from fullpipe.experiments.evaluate.preset import Party
from fullpipe.linux import job
from fullpipe.runs.engines import run
from linux.beside import RECORD, keep_rows, keeps_linux, kept, needs_guest

pytestmark = [pytest.mark.slow_linux, needs_guest]

DURATION_S = 60.0
"""Of which 20 s are the warm-up."""
SEEDS = range(1, 25)
"""Of the simulator."""

AS_IT_IS, EACH = "as on the card", "an ACK per segment"
SIMULATED = (AS_IT_IS, EACH)
PROMPT, EXACT, BOTH = "SACKs not held back", "no timestamps", "both of these"
SETTINGS: dict[str, tuple[str, ...]] = {
    AS_IT_IS: (),
    EACH: (),
    PROMPT: ("tcp_comp_sack_nr 0",),
    EXACT: ("tcp_timestamps 0",),
    BOTH: ("tcp_comp_sack_nr 0", "tcp_timestamps 0"),
}
"""The cases, and what is written to the kernel's `net.ipv4` in each."""

WITHIN = 1.03
"""How far Linux may be from what the simulator's seeds span, which is 2 % to either side of their mean: a phase of 5/4
drops a whole number of some thirty packets.
"""


def scenario(case: str, seed: int) -> dict[str, Any]:
    tree = for_linux({**beside(50e6, 0.03, 0.1, Party("bbr", "bbr"), None, duration_s=DURATION_S), "seed": seed})
    return {**tree, "flows": [{**group, "delayed_ack": case != EACH} for group in tree["flows"]]}


def dropped(case: str, seed: int, engine: str) -> float:
    return metrics(run(scenario(case, seed), engine=engine))["dropped_packets"] or 0.0


def dropped_on_linux(case: str) -> float:
    with pytest.MonkeyPatch.context() as patch:
        ordered = job._Guest.order

        def order(guest: job._Guest, line: str) -> None:
            """Each end of a connection is set up behind one of these two, in its own namespace."""
            ordered(guest, line)
            if line.endswith(("ip_forward 1", "tcp_no_metrics_save 1")):
                for setting in SETTINGS[case]:
                    ordered(guest, f"write /proc/sys/net/ipv4/{setting}")

        patch.setattr(job._Guest, "order", order)
        return dropped(case, 1, "linux")


def test_what_the_kernels_hosts_do_is_why_bbr_drops_less() -> None:
    here = {case: [dropped(case, seed, "simulator") for seed in SEEDS] for case in SIMULATED}
    there = {case: kept("bbr")[case]["linux"][0] if keeps_linux() else dropped_on_linux(case) for case in SETTINGS}
    print(f"\nLinux {there}, simulator {here}")
    if os.environ.get(RECORD):
        keep_rows("bbr", {case: {"simulator": here.get(case, []), "linux": [there[case]]} for case in SETTINGS})
    assert there[AS_IT_IS] < min(there[PROMPT], there[EXACT]) < max(there[PROMPT], there[EXACT]) < there[BOTH]
    assert min(here[AS_IT_IS]) / WITHIN <= there[BOTH] <= WITHIN * max(here[AS_IT_IS])
