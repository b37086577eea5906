"""Transfers alone on their link: completion times and RTTs of CUBIC and BBR, compared with C4's test draft."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fullpipe.experiments.evaluate.preset import Party, dumbbell, flows, ms
from fullpipe.papers.drawing import flow_values, panels
from fullpipe.plots.looks import pen
from fullpipe.reproduce.item import Item, Results, published
from fullpipe.reproduce.rows import Rows
from fullpipe.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fullpipe.plots.spec import Plot

__all__ = ["C4"]


@dataclass(frozen=True)
class Case:
    """Link of draft-huitema-ccwg-c4-test, and the size of the transfer."""

    rate_bps: float
    rtt_s: float
    buffer: str
    megabytes: float
    queue: str = "drop-tail"


CASES: Mapping[str, Case] = {
    "alone": Case(20e6, 0.080, "80 ms", 10),
    "alone_200": Case(200e6, 0.040, "40 ms", 20),
    "alone_1_5M": Case(1.5e6, 0.040, "50 ms", 4),
    "alone_512k": Case(512e3, 0.034, "50 ms", 1),
    "bbloat": Case(20e6, 0.080, "20 s", 30),
    "ecn": Case(20e6, 0.080, "80 ms", 10, "dualpi2"),
}
"""Links by the draft's names."""

ALGORITHMS = ("cubic", "bbr", "bbr3")

SEEDS = range(1, 21)
"""Seeds, of which the mean is checked: they control the start, host processing jitter, and random drops of DualPI2."""

PACKET_BYTES = 1440

OVERHEAD = 1.01
"""Overhead of QUIC's headers and frames."""


def _scenario(case: Case, algorithm: str, seed: int) -> Scenario:
    """Transfer as in picoquic: an ACK per packet, because QUIC subtracts the ACK delay from its samples (RFC 9002,
    section 5.3); a handshake; pacing; Linux's HyStart with CUBIC. No ECN, because the draft sets no marks for these
    algorithms.
    """
    group = flows(
        Party(algorithm, algorithm),
        "subject",
        size=f"{math.ceil(OVERHEAD * 1e6 * case.megabytes / PACKET_BYTES)} segments",
        start="0 s..10 ms",
        access_delay=ms(0.03 * case.rtt_s),  # the case's RTT to the bit, where the card's flows have theirs by chance
        delayed_ack=False,
        byte_counting=False,
        handshake=True,
        pacing="on",
        slow_start="hystart" if algorithm == "cubic" else "standard",
    )
    tree = dumbbell(
        case.rate_bps,
        case.rtt_s,
        case.buffer,
        group,
        duration_s=60,
        warmup_s=0,
        link={"queue": case.queue},
        packet_size=PACKET_BYTES,
        series_interval="off",
        seed=seed,
    )
    return Scenario.from_dict(tree)


def _scenarios() -> dict[str, Scenario]:
    return {
        _name(algorithm, name, seed): _scenario(case, algorithm, seed)
        for name, case in CASES.items()
        for algorithm in ALGORITHMS
        for seed in SEEDS
    }


def _name(algorithm: str, case: str, seed: int) -> str:
    return f"{algorithm}_{case}_{seed}"


def _values(results: Results, column: str, algorithm: str, case: str) -> list[float]:
    """Values of a column in each run."""
    keys = (_name(algorithm, case, seed) for seed in SEEDS)
    return [float(flow_values(results[key], column)[0]) for key in keys]


QUANTITIES = {"time": ("completion_s", 1, "s", 0.05), "mean RTT": ("mean_rtt_s", 1e3, "ms", 0.15)}
"""Column of flows, its factor, the unit, and the relative tolerance (see the data)."""


def _measure(results: Results) -> Rows:
    rows = Rows()
    for quantity, (column, factor, unit, _) in QUANTITIES.items():
        for algorithm in ALGORITHMS:
            for case in CASES:
                values = [factor * value for value in _values(results, column, algorithm, case)]
                rows.add_mean(quantity, values, unit=unit, algorithm=algorithm, setting=case)
    return rows


PRINTED = {"cubic": "cubic", "bbr": "bbr3", "bbr3": "bbr3"}
"""Name of the draft's values in the data."""


def _picture(results: Results) -> Plot:
    """Plot of the values over the draft's."""
    rows = _measure(results)
    plot, (axes,) = panels(
        (("", ""),), columns=2, common_x=False, title="Ratio to the draft's value", xlabel="Ratio", height=3.2
    )
    for panel, (quantity, (_, _, unit, band)) in zip(axes, QUANTITIES.items(), strict=True):
        panel.span(1 - band, 1 + band, "#ebebeb")
        for place, algorithm in enumerate(ALGORITHMS):
            ratios = [
                rows.value(quantity, algorithm, case)
                / published("modern/c4", f"{quantity}, {PRINTED[algorithm]}, {case}, {unit}")
                for case in CASES
            ]
            places = [row + 0.2 * (place - 1) for row in range(len(CASES))]
            panel.line(ratios, places, **(pen(algorithm, marked=True) | {"linestyle": "none"}), label=algorithm)
        panel.title = quantity
        panel.y.name(range(len(CASES)), list(CASES))
    axes[0].y.reversed = True
    axes[1].legend = True
    return plot


C4 = Item(
    id="modern/c4",
    title="Transfers of CUBIC and BBR alone on six links: their times and round trips in C4's test draft",
    scenarios=_scenarios,
    measure=_measure,
    pictures={"c4": _picture},
)
