"""Central experiment of each paper with all algorithms, later ones included.

No paper prints these values together. The experiments are the papers' with another algorithm. The expectation is the
order that the algorithms' rules imply.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from fullpipe.papers import survey
from fullpipe.papers.beyond.today import TODAY
from fullpipe.papers.drawing import bottleneck, flow_values, link_value, loss_percent, panels, runs_of, utilization
from fullpipe.papers.hyun_jang import single as hyun_jang
from fullpipe.plots.looks import pen
from fullpipe.reproduce.item import Item, Quick, Results
from fullpipe.reproduce.rows import Rows
from fullpipe.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fullpipe.plots.spec import Plot
    from fullpipe.runs.result import Result

__all__ = ["ITEMS"]


COMPARED = (
    *("tahoe", "reno", "newreno", "vegas", "hstcp", "scalable", "bic", "adaptive-aimd", "hyun-jang", "ehstcp"),
    *("cubic", "htcp"),
)


def _small_buffer(algorithm: object, *, quick: bool) -> Scenario:
    """Hyun and Jang: one flow, a buffer of an eighth of the bandwidth-delay product."""
    full = hyun_jang.link_scenario(1 / 8, algorithm)
    return full.replace(series_interval="off", **({"duration": "250 s", "warmup": "120 s"} if quick else {}))


def _high_speed(algorithm: object, *, quick: bool) -> Scenario:
    """Choi, Lee and Cho: four flows over 2.5 Gbit/s, round trips of 40 to 200 ms, and small TCP flows in both
    directions.
    """
    own = {"access_delay": "10 ms..90 ms"}
    beside = {"count": 25, "algorithm": "newreno", "max_window": 64, "start": "0 s..5 s", **own}
    return Scenario(
        duration="40 s" if quick else "200 s",
        warmup="15 s" if quick else "80 s",
        packet_size=1500,
        series_interval="off",
        # 100 ms at the link's rate.
        links=[bottleneck("2.5 Gbit/s", "10 ms", "20833 packets")],
        flows=[
            {"algorithm": algorithm, "count": 4, "start": "0 s..2 s", **own},
            beside,
            {**beside, "reverse": True},
        ],
    )


def _two_rtts(algorithm: object, *, quick: bool, seed: int = 1) -> Scenario:
    """Choi, Lee and Cho: two flows over 1 Gbit/s, RTTs of 40 and 120 ms, and the first flow's pipe as buffer. The seed
    varies their start times.
    """
    return Scenario(
        duration="80 s" if quick else "200 s",
        warmup="30 s" if quick else "80 s",
        seed=seed,
        packet_size=1500,
        series_interval="off",
        links=[bottleneck("1 Gbit/s", "10 ms", "3333 packets")],
        flows=[
            {"algorithm": algorithm, "access_delay": "10 ms", "start": "0 s..5 s"},
            {"algorithm": algorithm, "access_delay": "50 ms", "start": "0 s..5 s"},
        ],
    )


def _many_flows(algorithm: object, *, quick: bool, seed: int = 1) -> Scenario:
    """Shorten and Leith: 25 flows over 155 Mbit/s, 40 ms, and a buffer of 25 packets."""
    return Scenario(
        duration="60 s" if quick else "200 s",
        warmup="20 s" if quick else "50 s",
        seed=seed,
        packet_size=1500,
        series_interval="off",
        links=[bottleneck("155 Mbit/s", "10 ms", "25 packets")],
        flows=[{"algorithm": algorithm, "count": 25, "access_delay": "9.5 ms..10.5 ms", "start": "0 s..5 s"}],
    )


def _beside_udp(algorithm: object, *, quick: bool) -> Scenario:
    """Survey: one flow versus constant-rate UDP traffic, with a buffer of ten segments."""
    return survey.shared_link(algorithm, length_s=16 if quick else 100, interval="off")


EXPERIMENTS: Mapping[str, Callable[..., Scenario]] = {
    "small-buffer": _small_buffer,
    "high-speed": _high_speed,
    "two-rtts": _two_rtts,
    "many-flows": _many_flows,
    "beside-udp": _beside_udp,
}

SEEDS: Mapping[str, Sequence[int]] = {"two-rtts": range(1, 13), "many-flows": range(1, 7)}
"""Seeds of experiments in which single runs differ as much as algorithms; the means are checked. Other experiments run
once.
"""

QUICK_SEEDS: Mapping[str, Sequence[int]] = {"two-rtts": range(1, 4), "many-flows": range(1, 5)}

QUICK: Mapping[str, Sequence[str]] = {
    "high-speed": ("hstcp", "scalable", "bic", "ehstcp", "cubic", "htcp"),
    "two-rtts": ("bic", "cubic", "htcp"),
}
"""Algorithms of the shortened variant, if it does not have all."""


def _scenarios(*, quick: bool) -> dict[str, Scenario]:
    seeds = QUICK_SEEDS if quick else SEEDS
    return {
        f"{experiment}_{name}_{seed}": build(name, quick=quick, **({"seed": seed} if experiment in seeds else {}))
        for experiment, build in EXPERIMENTS.items()
        for name in (QUICK.get(experiment, COMPARED) if quick else COMPARED)
        for seed in seeds.get(experiment, (1,))
    }


def _runs(experiment: str, name: str, results: Results) -> list[Result]:
    return runs_of(results, (f"{experiment}_{name}_{seed}" for seed in SEEDS.get(experiment, (1,))))


def _mean_queue(result: Result) -> float:
    return link_value(result, "mean_queue_packets")


def _short_over_long(result: Result) -> float:
    short, long = flow_values(result, "goodput_bps")
    return float(short / long)


def _mbps(result: Result) -> float:
    return float(flow_values(result, "throughput_bps")[0]) / 1e6


QUANTITIES: Mapping[str, tuple[tuple[str, str, Callable[[Result], float]], ...]] = {
    "small-buffer": (("utilization", "", utilization), ("mean queue", "packets", _mean_queue)),
    "high-speed": (("utilization", "", utilization), ("loss", "%", loss_percent)),
    "two-rtts": (("throughput, 40 ms over 120 ms", "", _short_over_long), ("utilization", "", utilization)),
    "many-flows": (("utilization", "", utilization), ("loss", "%", loss_percent)),
    "beside-udp": (("throughput", "Mbit/s", _mbps), ("loss", "%", loss_percent)),
}
"""Measured quantities of each experiment, with units."""

TITLES = {
    "small-buffer": "Hyun and Jang: one flow, 100 Mbit/s, 80 ms, a buffer of 1/8 BDP",
    "high-speed": "Choi, Lee and Cho: four flows, 2.5 Gbit/s, 40 to 200 ms, small flows both ways",
    "two-rtts": "Choi, Lee and Cho: two flows, 1 Gbit/s, 40 and 120 ms",
    "many-flows": "Shorten and Leith: 25 flows, 155 Mbit/s, 40 ms, a buffer of 25 packets",
    "beside-udp": "The survey: one flow competing with UDP, 2 Mbit/s, a buffer of ten segments",
}


def _measure(results: Results) -> Rows:
    rows = Rows()
    for experiment, quantities in QUANTITIES.items():
        for quantity, unit, measured in quantities:
            for name in COMPARED:
                called = f"{experiment}: {_with_unit(quantity, unit)}, {name}"
                of = {"unit": unit, "algorithm": name, "setting": experiment, "name": called}
                values = [measured(run) for run in _runs(experiment, name, results)]
                if len(values) == 1:
                    rows.add(quantity, values[0], **of)
                elif measured is _short_over_long and values:
                    rows.add_geometric_mean(quantity, values, **of)
                elif values:
                    rows.add_mean(quantity, values, **of)
    return rows


def _with_unit(quantity: str, unit: str) -> str:
    return f"{quantity}, {unit}" if unit else quantity


def _picture(experiment: str, results: Results) -> Plot:
    """Plot with a bar per algorithm."""
    rows = _measure(results)
    names = [name for name in COMPARED if _runs(experiment, name, results)]
    quantities = QUANTITIES[experiment]
    height = 0.32 * len(names) + 0.6
    plot, (axes,) = panels((("", ""),), columns=2, common_x=False, title=TITLES[experiment], xlabel="", height=height)
    for panel, (quantity, unit, _) in zip(axes, quantities, strict=True):
        values = [rows.value(quantity, name, experiment) for name in names]
        colours = [pen(name)["color"] for name in names]
        shown = [f"{value:.3g}" for value in values]
        panel.bars(range(len(names)), values, colours, thickness=0.7, across=True, shown=shown)
        panel.y.name(range(len(names)), names)
        panel.title = _with_unit(quantity, unit)
    axes[0].y.reversed = True
    return plot


ITEMS = (
    Item(
        id="beyond/central-experiments",
        title="All algorithms, including CUBIC and H-TCP, in each paper's central experiment",
        scenarios=partial(_scenarios, quick=False),
        measure=_measure,
        pictures={experiment: partial(_picture, experiment) for experiment in EXPERIMENTS},
        quick=Quick(
            "small buffer 250 s instead of 600 s, high speed 40 s instead of 200 s and six algorithms, two RTTs 80 s "
            "instead of 200 s with three seeds instead of twelve and three algorithms, many flows 60 s instead of 200 "
            "s with four seeds instead of six, with UDP 16 s instead of 100 s",
            partial(_scenarios, quick=True),
        ),
    ),
    TODAY,
)
