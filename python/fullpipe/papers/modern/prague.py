"""Prague versus CUBIC over DualPI2: rates compared with RFC 9332's equation."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from fullpipe.papers.drawing import bottleneck, flow_values, panels, utilization
from fullpipe.plots.looks import pen
from fullpipe.reproduce.item import Item, Quick, Results, published
from fullpipe.reproduce.rows import Rows
from fullpipe.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fullpipe.plots.spec import Plot
    from fullpipe.runs.result import Result

__all__ = ["PRAGUE"]

EACH = 10
"""Flows of each kind."""

SCHEMES: Mapping[str, tuple[object, tuple[int, ...]]] = {
    "Prague": ("prague", (5, 10, 25)),
    "Prague without a virtual RTT": ({"name": "prague", "virtual_rtt": 0}, (5, 10)),
}
"""Algorithm, and round trips in milliseconds."""


def _scenario(algorithm: object, rtt_ms: int, *, quick: bool) -> Scenario:
    """Link of 200 Mbit/s with ten flows of each kind, so that single sawteeth do not change the marking. The RFC gives
    no link.
    """
    beside = {"count": EACH, "start": "0 s..1 s"}
    return Scenario(
        duration="40 s" if quick else "120 s",
        warmup="20 s" if quick else "40 s",
        packet_size=1500,
        series_interval="off",
        links=[bottleneck("200 Mbit/s", f"{500 * rtt_ms} us", "unlimited", queue="dualpi2")],
        flows=[{"algorithm": "cubic", "ecn": "classic", **beside}, {"algorithm": algorithm, **beside}],
    )


def _scenarios(*, quick: bool) -> dict[str, Scenario]:
    return {
        _name(scheme, rtt_ms): _scenario(algorithm, rtt_ms, quick=quick)
        for scheme, (algorithm, rtts) in SCHEMES.items()
        for rtt_ms in rtts
    }


def _name(scheme: str, rtt_ms: int) -> str:
    return f"{scheme.lower().replace(' ', '-')}_{rtt_ms}ms"


def _ratio(result: Result) -> float:
    goodputs = flow_values(result, "goodput_bps")
    return float(goodputs[EACH:].sum() / goodputs[:EACH].sum())


def _measure(results: Results) -> Rows:
    cells = [(scheme, rtt_ms) for scheme, (_, rtts) in SCHEMES.items() for rtt_ms in rtts]
    rows = Rows()
    for quantity, measured in (("rate over CUBIC's", _ratio), ("utilization", utilization)):
        for scheme, rtt_ms in cells:
            rows.add(quantity, measured(results[_name(scheme, rtt_ms)]), algorithm=scheme, setting=f"{rtt_ms} ms")
    return rows


def _picture(results: Results) -> Plot:
    title = "Prague and CUBIC over DualPI2"
    rows = _measure(results)
    plot, ((axes,),) = panels((("Rate over CUBIC's", ""),), title=title, xlabel="Base RTT (ms)", height=3)
    for repeated, (scheme, (_, rtts)) in enumerate(SCHEMES.items()):
        look = pen("prague", marked=True, repeated=repeated)
        ratios = [rows.value("rate over CUBIC's", scheme, f"{rtt_ms} ms") for rtt_ms in rtts]
        axes.line(rtts, ratios, **look, label=scheme)
    for scheme, (_, rtts) in SCHEMES.items():
        given = [published("modern/prague", f"rate over CUBIC's, {scheme}, {rtt_ms} ms") for rtt_ms in rtts]
        look = pen("prague", marked=True) | {"linestyle": "none", "markersize": 9, "markerfacecolor": "none"}
        axes.line(rtts, given, **look, label="by RFC 9332" if scheme == "Prague" else None)
    axes.level(1, linewidth=0.8, color="#999999")
    axes.y.limits = (0, None)
    axes.legend = True
    return plot


PRAGUE = Item(
    id="modern/prague",
    title="Prague competing with CUBIC over DualPI2: the ratio of their rates",
    scenarios=partial(_scenarios, quick=False),
    measure=_measure,
    pictures={"prague": _picture},
    quick=Quick("40 s instead of 120 s", partial(_scenarios, quick=True)),
)
