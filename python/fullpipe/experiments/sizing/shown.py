"""The tables of a sizing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fullpipe._util.display import Shown, fairness, milliseconds, rate
from fullpipe.experiments.sizing.mix import BUFFER, MOST_BDP

if TYPE_CHECKING:
    from fullpipe.experiments.sizing.mix import Mix

__all__ = ["show"]

Rows = Sequence[Mapping[str, Any]]


def show(mix: Mix, rows: Rows) -> list[Shown | str]:
    """What the program prints: the link, the answers, what the rules say, what was measured, and what a dash means."""
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
    rtts = milliseconds(mix.rtt_min_s)
    rtts = rtts if mix.rtt_min_s == mix.rtt_max_s else f"{rtts} to {milliseconds(mix.rtt_max_s)}"
    queue = "" if mix.queue == "drop-tail" else f", {mix.queue if isinstance(mix.queue, str) else mix.queue['name']}"
    bdp = f"one BDP is {_count(mix.bdp_packets)} packets of {mix.packet_size} bytes"
    return f"{rate(mix.rate_bps)}, RTT {rtts}{queue}{web}; {bdp}"


def _answers(mix: Mix, rows: Rows) -> Shown:
    limited = any(row["at_most_packets"] is not None for row in rows)
    return Shown(
        f"Smallest {mix.what}",
        (
            "target",
            "algorithm",
            "flows",
            "packets",
            "kB",
            "ms",
            "of a BDP",
            "too small",
            "95 % sure",
            *(["at most"] if limited else []),
        ),
        [
            (
                *_place(row),
                _count(row[f"{mix.column}_packets"]),
                _scaled(row[f"{mix.column}_bytes"], 1e-3, ",.1f"),
                _scaled(row[f"{mix.column}_s"], 1e3, ",.2f"),
                _scaled(row[f"{mix.column}_bdp"], 1, ".3f"),
                _count(row["too_small_packets"]),
                f"{_count(row['sure_low_packets'])} .. {_count(row['sure_high_packets'])}",
                *([_count(row["at_most_packets"])] if limited else []),
            )
            for row in rows
        ],
        left=3,
    )


def _rules(rows: Rows) -> Shown:
    rules = {
        "one BDP": "bdp",
        "BDP/√n": "sqrt",
        "adaptive AIMD": "adaptive_full",
        "Reno, at target": "reno",
        "adaptive, at target": "adaptive",
    }
    return Shown(
        "What the rules say, packets",
        ("target", "algorithm", "flows", *rules),
        [(*_place(row), *(_count(row[f"rule_{rule}_packets"]) for rule in rules.values())) for row in rows],
        left=3,
    )


def _measured(mix: Mix, rows: Rows) -> Shown:
    web = bool(mix.web_load)
    return Shown(
        "At that size",
        (
            "target",
            "algorithm",
            "flows",
            "utilization",
            "loss, %",
            "mean delay",
            "p99 delay",
            *(["p95 completion"] if web else []),
            "Jain",
            "seeds",
            "warm-up",
            "run",
        ),
        [
            (
                *_place(row),
                _utilization(row),
                f"{100 * row['loss_rate']:.4f}",
                milliseconds(row["queueing_delay_s"]),
                milliseconds(row["p99_queueing_delay_s"]),
                *([milliseconds(row["p95_fct_s"])] if web else []),
                fairness(row["jain_index"]),
                str(row["seeds"]),
                f"{row['warmup_s']:,.0f} s",
                f"{row['duration_s']:,.0f} s",
            )
            for row in rows
        ],
        left=3,
    )


def _why(mix: Mix, row: Mapping[str, Any]) -> str:
    """Why an answer is a dash."""
    flows = f"{row['flows']} flow{'s' if row['flows'] > 1 else ''}"
    at = f"{_count(row['at_packets'])} packet{'s' if row['at_packets'] > 1 else ''}"
    return (
        f"{row['target']}, {row['algorithm']}, {flows}: no {mix.what} up to {MOST_BDP} BDP will do; "
        f"the figures are of {at}, where it misses {row['unmet']}"
    )


def _place(row: Mapping[str, Any]) -> tuple[str, str, str]:
    return row["target"], row["algorithm"], str(row["flows"])


def _utilization(row: Mapping[str, Any]) -> str:
    ci = row["utilization_ci95"]
    return f"{row['utilization']:.4f}" + ("" if ci is None else f" ± {ci:.4f}")


def _scaled(value: float | None, scale: float, form: str) -> str:
    return "-" if value is None else f"{value * scale:{form}}"


def _count(packets: float | None) -> str:
    """Whole packets: the nearest number, as a scenario's buffer in BDP is rounded too."""
    return "-" if packets is None else f"{math.floor(packets + 0.5):,}"
