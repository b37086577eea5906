"""Tables of a sizing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fullpipe._util.display import Shown
from fullpipe.experiments.sizing.mix import BUFFER, MOST_BDP
from fullpipe.metrics import column, metric
from fullpipe.runs.measure import Row

if TYPE_CHECKING:
    from fullpipe.experiments.sizing.mix import Mix

__all__ = ["show"]

Rows = Sequence[Row]


def show(mix: Mix, rows: Rows) -> list[Shown | str]:
    """Tables and lines that the program prints: the link, the answers, the analytical rules, the metrics, and reasons
    for missing answers.
    """
    targets = list(dict.fromkeys(row["target"] for row in rows))
    names = {target: f"#{1 + i}" if "=" in target else target for i, target in enumerate(targets)}
    rows = [{**row, "target": names[row["target"]]} for row in rows]
    above = [_link(mix), *(f"{name}: {target}" for target, name in names.items() if name != target)]
    return [
        "\n".join([*above, ""]),
        _answers(mix, rows),
        *([_rules(rows)] if mix.sized == BUFFER else []),
        _measured(mix, rows),
        *(_why(mix, row) for row in rows if row[f"{mix.column}_packets"] is None),
    ]


def _link(mix: Mix) -> str:
    web = f", web transfers asking for {100 * mix.web_load:g} %" if mix.web_load else ""
    rtts = f"{1e3 * mix.rtt_min_s:.1f} ms"
    rtts = rtts if mix.rtt_min_s == mix.rtt_max_s else f"{rtts} to {1e3 * mix.rtt_max_s:.1f} ms"
    queue = "" if mix.queue == "drop-tail" else f", {mix.queue_name}"
    bdp = f"one BDP is {_count(mix.bdp_packets)} packets of {mix.packet_size} bytes"
    return f"{mix.rate_bps / 1e6:.2f} Mbit/s, RTT {rtts}{queue}{web}; {bdp}"


def _answers(mix: Mix, rows: Rows) -> Shown:
    limited = any(row["at_most_packets"] is not None for row in rows)
    at_most = [_count(row["at_most_packets"]) for row in rows]
    size = mix.column
    what = metric(f"{size}_packets").title
    return _table(
        f"Smallest {mix.what}",
        rows,
        {
            f"{what} (packets)": [_count(row[f"{size}_packets"]) for row in rows],
            f"{what} (kB)": [_scaled(row[f"{size}_bytes"], 1e-3, ",.1f") for row in rows],
            f"{what} (ms)": [_scaled(row[f"{size}_s"], 1e3, ",.2f") for row in rows],
            f"{what} (BDP)": [_scaled(row[f"{size}_bdp"], 1, ".3f") for row in rows],
            "Largest failing (packets)": [_count(row["too_small_packets"]) for row in rows],
            "95 % CI (packets)": [
                f"{_count(row['sure_low_packets'])} .. {_count(row['sure_high_packets'])}" for row in rows
            ],
            **({f"{metric('at_most_packets').title} (packets)": at_most} if limited else {}),
        },
    )


RULES = {
    "One BDP": "bdp",
    "BDP/√n": "sqrt",
    "Adaptive AIMD": "adaptive_full",
    "Reno, at target": "reno",
    "Adaptive, at target": "adaptive",
}


def _rules(rows: Rows) -> Shown:
    cells = {name: [_count(row[f"rule_{rule}_packets"]) for row in rows] for name, rule in RULES.items()}
    return _table("Analytical sizing rules, packets", rows, cells)


def _measured(mix: Mix, rows: Rows) -> Shown:
    names = ("loss_rate", "queueing_delay_s", "p99_queueing_delay_s", *(["p95_fct_s"] if mix.web_load else []))
    used = column("utilization", [row["utilization"] for row in rows], [row["utilization_ci95"] for row in rows])
    cells = dict([used, *(column(name, [row[name] for row in rows]) for name in (*names, "jain_index"))])
    return _table(
        "At that size",
        rows,
        cells
        | {
            "seeds": [str(row["seeds"]) for row in rows],
            **{
                f"{metric(name).title} (s)": [f"{row[name]:,.0f}" for row in rows]
                for name in ("warmup_s", "duration_s")
            },
        },
    )


def _table(title: str, rows: Rows, cells: Mapping[str, Sequence[str]]) -> Shown:
    """Table with target, algorithm, and number of flows of each row before the cells."""
    places = [(row["target"], row["algorithm"], str(row["flows"])) for row in rows]
    texts = [(*place, *own) for place, own in zip(places, zip(*cells.values(), strict=True), strict=True)]
    return Shown(title, ("target", "algorithm", "flows", *cells), texts, left=3)


def _why(mix: Mix, row: Row) -> str:
    """Reason for a missing answer."""
    flows = f"{row['flows']} flow{'s' if row['flows'] > 1 else ''}"
    at = f"{_count(row['at_packets'])} packet{'s' if row['at_packets'] > 1 else ''}"
    return (
        f"{row['target']}, {row['algorithm']}, {flows}: no {mix.what} up to {MOST_BDP} BDP meets the target; "
        f"the table shows {at}, which misses {row['unmet']}"
    )


def _scaled(value: float | None, scale: float, form: str) -> str:
    return "-" if value is None else f"{value * scale:{form}}"


def _count(packets: float | None) -> str:
    """Whole packets, rounded to nearest as a scenario's buffer in BDP."""
    return "-" if packets is None else f"{math.floor(packets + 0.5):,}"
