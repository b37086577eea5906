"""RFC 9743, 5.2.1: harm between two camps of web transfers (draft-irtf-iccrg-tcpeval-01, section 6.1).

The draft uses traces of a campus. This load is synthetic.
"""

from __future__ import annotations

from itertools import product

from fullpipe.experiments.evaluate.cell import FULL, STANDARD, Camps, Metric, Setting
from fullpipe.experiments.evaluate.preset import PACKET_BYTES, Party, Tree, dumbbell, flows, mbps, ms
from fullpipe.experiments.evaluate.rules import LESS, MORE

__all__ = ["CELLS", "MEAN_PACKETS", "PAIRS_MS", "camps"]

MEAN_SIZE, SHAPE = "12 kB", 1.2
"""Parameters of the Pareto distribution of sizes, which starts at 2 kB."""

MEAN_PACKETS = 2 + (4 / 3) ** 1.2 * (5.591582441177751 - 1)
"""Mean number of packets of a transfer. It has more than k packets if it has more than k times 1500 B: always for k of
0 and 1, and with probability (4/(3k))^1.2 above. The sum over k has zeta(1.2) = 5.59, and is 5 % more than the bytes.
"""

PAIRS_MS = tuple(sum(ends) for ends in product((0, 12, 25), (2, 37, 75)))
"""One-way delays of the edge links of the nine pairs of nodes (section 4.1); the central link adds 2 ms."""

CENTRAL_S = 0.002
BUFFER_S = 0.08
"""Section 5.2.1: 80 ms of packets with 1500 B."""

DURATION_S = 500
"""Duration without a warm-up. Transfers left over from a warm-up would count as goodput of a slow camp."""


def camps(rate_bps: float, load: float, standard: Party, other: Party) -> Tree:
    """Two camps of web transfers, each over an edge link into the central link.

    Args:
        rate_bps: Rate of the central link.
        load: Offered load of both camps, as a fraction of that rate.
        standard: Algorithm of the camp "victim".
        other: Algorithm of the camp "other".
    """
    per_s = load * rate_bps / (8 * PACKET_BYTES * MEAN_PACKETS) / (2 * len(PAIRS_MS))
    edge = {"rate": "1 Gbit/s", "delay": "0 ms", "buffer": "unlimited"}
    tree = dumbbell(
        rate_bps,
        BUFFER_S,
        1,
        duration_s=DURATION_S,
        warmup_s=0,
        link={"delay": ms(CENTRAL_S)},
    )
    tree["links"] += [{"name": camp, **edge} for camp in ("victim", "other")]
    return {**tree, "web": [*_web(standard, "victim", per_s, rate_bps), *_web(other, "other", per_s, rate_bps)]}


def _web(party: Party, camp: str, per_s: float, rate_bps: float) -> list[Tree]:
    """Transfers of a camp, equal for all pairs of nodes."""
    group = flows(party, camp, path=[camp, "bottleneck"], processing_time=ms(8 * PACKET_BYTES / rate_bps))
    keys = {key: value for key, value in group.items() if key not in ("name", "count", "start")}
    load = {"transfers_per_second": per_s, "mean_size": MEAN_SIZE, "shape": SHAPE}
    return [{**keys, **load, "access_delay": f"{delay} ms"} for delay in PAIRS_MS]


CELLS = (
    Camps(
        "eval-6.1",
        ("5.2.1",),
        "nine RTTs of 8 to 204 ms: web transfers at half and all of the capacity, half of them the candidate's",
        [
            Setting(
                f"{mbps(rate)}, {load:.0%} load",
                lambda victim, other, rate=rate, load=load: camps(rate, load, victim, other),
                level,
                load * rate / 2,
            )
            for rate, level in ((10e6, STANDARD), (100e6, FULL))
            for load in (0.5, 1.0)
        ],
        (
            Metric("victim.goodput_bps", MORE),
            Metric("victim.p95_completion_s", LESS),
            Metric("victim.goodput_bps", MORE, of="this camp (L)", shown_in=("", 1.0), informs=True),
            Metric("other.goodput_bps", MORE, of="the other camp (G)", shown_in=("", 1.0), informs=True),
        ),
        measure="camps",
        note="draft-irtf-iccrg-tcpeval-01, 6.1, with a synthetic load instead of the draft's traces of a campus: web "
        "transfers with Pareto sizes (mean 12 kB, shape 1.2), in whole packets, which start as Poisson processes that "
        "do not depend on the algorithm. L is the goodput of the standard camp, and G that of the other camp, relative "
        "to two standard camps (the draft's BASELINE). Further differences: no transfer has a twin in the other camp, "
        "all traffic has one direction, all packets have 1500 B, hosts are the card's, and there is no warm-up. At "
        "half load, all transfers are delivered, so that L and G differ little, but completion times do.",
    ),
)
