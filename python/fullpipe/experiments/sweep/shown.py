"""A sweep's table as people read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fullpipe._util.display import Shown

if TYPE_CHECKING:
    import pyarrow as pa

    from fullpipe.experiments.sweep.plan import Plan

__all__ = ["show_differences", "show_summary"]

MOST_POINTS = 60
"""Combinations listed."""

FIGURES: dict[str, tuple[str, float, str]] = {
    "utilization": ("utilization", 1.0, ".4f"),
    "loss_rate": ("loss, %", 100.0, ".4f"),
    "marked_packets": ("marked", 1.0, ",.0f"),
    "mean_queue_packets": ("queue, packets", 1.0, ",.1f"),
    "p99_queueing_delay_s": ("p99 delay, ms", 1e3, ",.1f"),
    "goodput_bps": ("goodput, Mbit/s", 1e-6, ",.2f"),
    "mean_rtt_s": ("rtt, ms", 1e3, ",.1f"),
    "jain_index": ("Jain", 1.0, ".3f"),
}
"""The figures shown: their headings, scales and formats; marks where there are any."""


def show_summary(plan: Plan, table: pa.Table, summary: pa.Table, failed: int) -> Shown:
    """Means over the seeds of each combination, with 95 % confidence intervals."""
    axes = [axis.path for axis in plan.axes]
    figures = _figures(table, summary, "mean")
    count = len(summary)
    more = f", the first {MOST_POINTS} of {count} combinations" if count > MOST_POINTS else ""
    one_value = ONE_VALUE if plan.repeats > 1 and not _varies(summary, figures) else ""
    title = (
        f"Means over {plan.repeats} seeds and their 95 % confidence intervals{more}" if plan.repeats > 1 else more[2:]
    )
    return Shown(
        one_value or title,
        (*_headings(axes), *(FIGURES[figure][0] for figure in figures), *(["failed"] if failed else [])),
        [
            (
                *(str(row[axis]) for axis in axes),
                *(_estimate(row, figure, plain=bool(one_value)) for figure in figures),
                *([str(row["failed"])] if failed else []),
            )
            for row in summary.slice(0, MOST_POINTS).to_pylist()
        ],
        left=max(1, len(axes)),
    )


def show_differences(plan: Plan, table: pa.Table, differences: pa.Table, value: Any) -> Shown:
    """How much each combination differs from the one with a value, with 95 % confidence intervals."""
    axes = [axis.path for axis in plan.axes]
    figures = _figures(table, differences, "difference")
    return Shown(
        f"Less those of {value}, paired by seed, and 95 % confidence intervals of the differences",
        (*_headings(axes), *(FIGURES[figure][0] for figure in figures), "pairs"),
        [
            (
                *(str(row[axis]) for axis in axes),
                *(_difference(row, figure) for figure in figures),
                str(row["pairs"]),
            )
            for row in differences.slice(0, MOST_POINTS).to_pylist()
        ],
        left=max(1, len(axes)),
    )


def _figures(table: pa.Table, worked_out: pa.Table, what: str) -> list[str]:
    """Those that have been worked out, without marks where no run had a packet marked."""
    known = [figure for figure in FIGURES if f"{figure}_{what}" in worked_out.column_names]
    return [figure for figure in known if figure != "marked_packets" or any(table["marked_packets"].to_pylist())]


def _headings(axes: list[str]) -> list[str]:
    """The axes by the last parts of their key paths, where these tell them apart."""
    endings = [axis.rpartition(".")[2] for axis in axes]
    return [end if endings.count(end) == 1 else axis for axis, end in zip(axes, endings, strict=True)]


def _difference(row: Mapping[str, Any], figure: str) -> str:
    _, scale, form = FIGURES[figure]
    mean, ci = row[f"{figure}_difference"], row[f"{figure}_difference_ci95"]
    if mean is None:
        return "-"
    return f"{mean * scale:+{form}}" + (f" ± {ci * scale:{form}}" if ci else "")


ONE_VALUE = "One value: this scenario has no randomness, every seed gives the same"
"""The title where intervals would all be of no width."""


def _varies(summary: pa.Table, figures: list[str]) -> bool:
    """Whether any two seeds differ, or it can't be told."""
    deviations = [sd for figure in figures for sd in summary[f"{figure}_sd"].to_pylist() if sd is not None]
    return not deviations or any(sd > 0 for sd in deviations)


def _estimate(row: Mapping[str, Any], figure: str, *, plain: bool) -> str:
    _, scale, form = FIGURES[figure]
    mean, ci = row[f"{figure}_mean"], row[f"{figure}_ci95"]
    if mean is None:
        return "-"
    value = f"{mean * scale:{form}}"
    return value if plain or ci is None else f"{value} ± {ci * scale:{form}}"
