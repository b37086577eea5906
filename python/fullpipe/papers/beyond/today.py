"""The papers' three proposals compared with algorithms in use today, on links of today."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from fullpipe.experiments.evaluate.preset import Party, dumbbell, flows
from fullpipe.papers.drawing import flow_values, link_value, loss_percent, panels, runs_of, utilization
from fullpipe.plots.looks import pen
from fullpipe.reproduce.item import Item, Quick, Results
from fullpipe.reproduce.rows import Rows
from fullpipe.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fullpipe.plots.spec import Plot
    from fullpipe.runs.result import Result

__all__ = ["TODAY"]

PROPOSALS = ("hyun-jang", "adaptive-aimd", "ehstcp")

COMPARED = (*PROPOSALS, "cubic", "bbr3", "prague")

CUBIC = Party("cubic", "cubic")


@dataclass(frozen=True)
class Link:
    """Link with flows.

    Attributes:
        rate_bps: Rate.
        rtt_s: Base RTT.
        buffer: Buffer in BDP, or text as in scenarios.
        count: Number of flows.
        duration_s: Duration.
        warmup_s: Warm-up.
        queue: Queueing discipline.
        ecn: Whether flows use ECN of their algorithm's kind.
        shared: Whether there are also runs in which half of the flows use CUBIC.
    """

    rate_bps: float
    rtt_s: float
    buffer: float | str
    count: int
    duration_s: float
    warmup_s: float
    queue: object = "drop-tail"
    ecn: bool = False
    shared: bool = False


AQM = Link(50e6, 0.04, "1000 packets", 4, 100, 30)

LINKS: Mapping[str, Link] = {
    # Hyun and Jang's; their scheme measures in its first cycle, which is left out.
    "one flow, 1/8 BDP": Link(100e6, 0.08, 1 / 8, 1, 500, 200),
    # Shorten and Leith's.
    "25 flows, 25 packets": Link(155e6, 0.04, "25 packets", 25, 120, 30, shared=True),
    "1 Gbit/s": Link(1e9, 0.1, 0.1, 4, 200, 80),
    "CoDel": replace(AQM, queue="codel"),
    "CoDel, ECN": replace(AQM, queue={"name": "codel", "ecn": True}, ecn=True, shared=True),
    "DualPI2": replace(AQM, queue="dualpi2"),
    "DualPI2, ECN": replace(AQM, queue="dualpi2", ecn=True, shared=True),
}
"""Links with small buffers, high rates, and managed queues."""

SHORTER: Mapping[str, Link] = {
    # A fifth of the rate: the first cycle ends as much sooner.
    "one flow, 1/8 BDP": replace(LINKS["one flow, 1/8 BDP"], rate_bps=20e6, duration_s=120, warmup_s=60),
    "25 flows, 25 packets": replace(LINKS["25 flows, 25 packets"], duration_s=20, warmup_s=8, shared=False),
    "CoDel, ECN": replace(LINKS["CoDel, ECN"], duration_s=30, warmup_s=10, shared=False),
    "DualPI2, ECN": replace(LINKS["DualPI2, ECN"], duration_s=30, warmup_s=10, shared=False),
}


SEEDS = range(1, 5)
"""Seeds of the runs with CUBIC, whose shares differ between single runs by some percentage points."""


def _scenario(link: Link, *groups: Mapping[str, object], seed: int = 1) -> Scenario:
    tree = dumbbell(
        link.rate_bps,
        link.rtt_s,
        link.buffer,
        *map(dict, groups),
        duration_s=link.duration_s,
        warmup_s=link.warmup_s,
        link={"queue": link.queue},
        series_interval="off",
        seed=seed,
    )
    return Scenario.from_dict(tree)


def _scenarios(links: Mapping[str, Link]) -> dict[str, Scenario]:
    """Scenarios with the report card's hosts (`fullpipe evaluate`): RACK-TLP, delayed ACKs, byte counting, initial
    windows of ten.
    """
    found = {}
    for where, link in links.items():
        for algorithm in COMPARED:
            party = Party(algorithm, algorithm)
            found[_name(where, algorithm)] = _scenario(link, flows(party, "ours", link.count, ecn=link.ecn))
            if link.shared:
                halves = ((party, "ours"), (CUBIC, "beside"))
                groups = [flows(each, name, link.count // 2, ecn=link.ecn) for each, name in halves]
                for seed in SEEDS:
                    found[_name(where, algorithm, shared=seed)] = _scenario(link, *groups, seed=seed)
    return found


def _name(where: str, algorithm: str, *, shared: int | None = None) -> str:
    """Name of the run of an algorithm alone, or of the run with CUBIC with this seed."""
    plain = where.lower().replace(",", "").replace(" ", "-").replace("/", "-")
    return f"{plain}_{algorithm}{'' if shared is None else f'_with-cubic-seed-{shared}'}"


def _p95_delay_ms(result: Result) -> float:
    return 1e3 * link_value(result, "p95_queueing_delay_s")


def _share_percent(result: Result) -> float:
    """Share of the first half of the flows."""
    goodputs = flow_values(result, "goodput_bps")
    return 100 * float(goodputs[: len(goodputs) // 2].sum() / goodputs.sum())


QUANTITIES = {
    "utilization": ("", utilization),
    "p95 queueing delay": ("ms", _p95_delay_ms),
    "loss": ("%", loss_percent),
}
"""Unit and measuring function of each quantity."""

SHARE = "share beside CUBIC"


def _measure(results: Results) -> Rows:
    rows = Rows()
    for where in LINKS:
        for algorithm in COMPARED:
            of = {"algorithm": algorithm, "setting": where}
            if alone := results.get(_name(where, algorithm)):
                for quantity, (unit, measured) in QUANTITIES.items():
                    rows.add(quantity, measured(alone), unit=unit, **of)
                if LINKS[where].count > 1:
                    rows.add("Jain's index", alone.totals["jain_index"], **of)
            if shared := runs_of(results, (_name(where, algorithm, shared=seed) for seed in SEEDS)):
                rows.add_mean(SHARE, [_share_percent(result) for result in shared], unit="%", **of)
    return rows


def _picture(results: Results) -> Plot:
    """Plot with a row per link and a point per algorithm."""
    rows = _measure(results)
    links = [where for where in LINKS if rows.get("utilization", "cubic", where) is not None]
    units = {**{quantity: unit for quantity, (unit, _) in QUANTITIES.items()}, SHARE: "%"}
    shown = [quantity for quantity in units if any(row.quantity == quantity for row in rows)]
    plot, (axes,) = panels((("", ""),), columns=len(shown), common_x=False, xlabel="", width=11, height=4.6)
    for panel, quantity in zip(axes, shown, strict=True):
        for place, algorithm in enumerate(COMPARED):
            values = [rows.get(quantity, algorithm, where) for where in links]
            points = [(value, row + 0.12 * (place - 2.5)) for row, value in enumerate(values) if value is not None]
            look = pen(algorithm, marked=True) | {"linestyle": "none", "markersize": 5}
            panel.line(*zip(*points, strict=True), **look, label=algorithm)
        panel.title = quantity
        panel.x.label = units[quantity]
        panel.y.name(range(len(links)), links)
    axes[0].y.reversed = True
    delay = axes[shown.index("p95 queueing delay")]
    delay.x.scale = "log"
    delay.x.name([1, 3, 10, 30, 100], ["1", "3", "10", "30", "100"])
    if SHARE in shown:
        axes[shown.index(SHARE)].upright(50, linewidth=0.8, color="#999999")
    plot.legend = True
    return plot


TODAY = Item(
    id="beyond/today",
    title="2026: the three proposals compared with CUBIC, BBRv3, and Prague on under-buffered, fast, and managed links",
    scenarios=partial(_scenarios, LINKS),
    measure=_measure,
    pictures={"today": _picture},
    quick=Quick(
        "one flow 120 s instead of 500 s and over 20 Mbit/s instead of 100, 25 flows 20 s instead of 120 s, managed "
        "queues with ECN alone and 30 s instead of 100 s, without 1 Gbit/s and shares versus CUBIC",
        partial(_scenarios, SHORTER),
    ),
)
