"""Choi, Lee and Cho, figure 1: shares of links from 20 Mbit/s to 2.5 Gbit/s."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

from fullpipe.papers.drawing import flow_values, runs_of, utilization
from fullpipe.papers.ehstcp.common import (
    BACKGROUND_DELAY,
    HIGH_SPEED_FLOWS,
    LONG_LIVED,
    SCHEMES,
    SMALL,
    bdp_packets,
    file_name,
    link_with_background,
)
from fullpipe.plots.looks import COLOURS
from fullpipe.plots.spec import Plot
from fullpipe.reproduce.item import Item, Results, shorter
from fullpipe.reproduce.rows import Rows
from fullpipe.scenario import Scenario

if TYPE_CHECKING:
    from fullpipe.runs.result import Result

__all__ = ["FIGURE_1"]


RATES_MBPS = (20, 100, 300, 1000, 2500)
KINDS = ("high-speed", "long-lived TCP", "small TCP", "web", "unused")

BUFFER_SECONDS = 0.01
"""Buffer at the link's rate: a tenth of a bandwidth-delay product of 100 ms, as for table 1."""

LINKS: dict[str, tuple[int, float]] = {
    **{f"{rate} Mbit/s": (rate, BUFFER_SECONDS) for rate in RATES_MBPS},
    "2500 Mbit/s and half the buffer": (2500, BUFFER_SECONDS / 2),
    "2500 Mbit/s and ten times the buffer": (2500, 10 * BUFFER_SECONDS),
}
"""Rate and buffer."""

SLOWEST = "20 Mbit/s"
"""Link on which the paper's schemes do not differ."""

VARIED = (SLOWEST, *(link for link in LINKS if link.startswith("2500")))
"""Links with several seeds, which vary the flows' RTTs. RTTs change the shares more than the scheme does."""

SEEDS = range(1, 5)
"""Seeds of these links, of which the mean is checked. Other links run with the first seed."""


def _scenarios() -> dict[str, Scenario]:
    high_speed = {"count": HIGH_SPEED_FLOWS, "access_delay": BACKGROUND_DELAY, "start": "0 s..5 s"}
    return {
        _scenario_name(scheme, link, seed): link_with_background(
            rate, round(bdp_packets(rate, buffer_s)), [{"algorithm": scheme, **high_speed}], (200, 50), seed=seed
        )
        for link, (rate, buffer_s) in LINKS.items()
        for scheme in SCHEMES
        for seed in _seeds(link)
    }


def _scenario_name(scheme: str, link: str, seed: int) -> str:
    return f"{file_name(scheme, link.replace(' Mbit/s', '-Mbps'))}-seed-{seed}"


def _seeds(link: str) -> range:
    return SEEDS if link in VARIED else SEEDS[:1]


def _measure(results: Results) -> Rows:
    rows = Rows()
    for link in LINKS:
        for scheme, name in SCHEMES.items():
            for kind, shares in zip(KINDS, zip(*_runs(results, scheme, link), strict=True), strict=False):
                called = f"{kind}, {name}, {link}, %"
                percent = [100 * share for share in shares]
                rows.add_mean(f"share, {kind}", percent, unit="%", algorithm=name, setting=link, name=called)
    return rows


def _runs(results: Results, scheme: str, link: str) -> list[list[float]]:
    """Shares of the link by kind of flow, for each seed that was run."""
    runs = runs_of(results, (_scenario_name(scheme, link, seed) for seed in _seeds(link)))
    return [_shares(run, LINKS[link][0]) for run in runs]


def _shares(result: Result, rate_mbps: float) -> list[float]:
    """Shares of the link by kind of flow: throughput at the receivers, and the idle time of the link."""
    rates = [float(rate) for rate in flow_values(result, "throughput_bps")]
    ends = (HIGH_SPEED_FLOWS, HIGH_SPEED_FLOWS + LONG_LIVED, HIGH_SPEED_FLOWS + LONG_LIVED + SMALL)
    parts = [sum(rates[: ends[0]]), sum(rates[ends[0] : ends[1]]), sum(rates[ends[1] : ends[2]])]
    parts.append(float(result.traffic["throughput_bps"][0].as_py()))
    return [part / (rate_mbps * 1e6) for part in parts] + [1 - utilization(result)]


def _picture(results: Results) -> Plot:
    links = [link for link in LINKS if _runs(results, "ehstcp", link)]
    plot = Plot.grid(1, len(links), height=4.4, share_x="none", legend=True)
    for panel, link in zip(plot.panels, links, strict=True):
        rate, bottom = LINKS[link][0], [0.0] * len(SCHEMES)
        shares = [[fmean(own) for own in zip(*_runs(results, scheme, link), strict=True)] for scheme in SCHEMES]
        for colour, kind, values in zip((*COLOURS[:4], "#eeeeee"), KINDS, zip(*shares, strict=True), strict=True):
            percent = [100 * value for value in values]
            panel.bars(range(len(SCHEMES)), percent, colour, base=bottom, label=kind)
            bottom = [low + part for low, part in zip(bottom, percent, strict=True)]
        at = f"{rate} Mbit/s" if rate < 1000 else f"{rate / 1000:g} Gbit/s"
        panel.title = ",\n".join(filter(None, (at, link.partition(" and ")[2])))
        panel.x.name(range(len(SCHEMES)), SCHEMES.values())
        panel.x.rotation = 60
        panel.y.limits = (0, 101)
    plot.panels[0].y.label = "Share of the link (%)"
    return plot


FIGURE_1 = Item(
    id="ehstcp/figure-1",
    title="Shares of the bandwidth by kind of flow, 20 Mbit/s to 2.5 Gbit/s",
    scenarios=_scenarios,
    measure=_measure,
    pictures={"figure-1": _picture},
    quick=shorter(
        _scenarios,
        "40 s instead of 200 s, with one seed above 20 Mbit/s, at 2.5 Gbit/s with one buffer",
        lambda name, _: name.endswith(f"-Mbps-seed-{SEEDS[0]}") or SLOWEST.replace(" Mbit/s", "-Mbps") in name,
        duration="40 s",
        warmup="15 s",
    ),
)
