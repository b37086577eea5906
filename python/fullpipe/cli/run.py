"""``fullpipe run``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click

from fullpipe.cli.output import (
    check_targets,
    deliver,
    json_option,
    memory_option,
    out_option,
    plot_option,
    print_table,
    progress_bar,
    warn,
)
from fullpipe.runs.engines import run
from fullpipe.scenario import Scenario

if TYPE_CHECKING:
    from fullpipe.runs.result import Result

__all__ = ["command"]

MOST_FLOWS = 20
"""Flows listed one by one in the table."""


@click.command("run")
@click.argument("file")
@json_option
@click.option("--seed", type=int, metavar="N", help="Take the place of the scenario's seed.")
@memory_option
@plot_option
@out_option
def command(
    file: str, as_json: bool, seed: int | None, memory_bytes: int | None, plot: str | None, out: str | None
) -> None:
    """Run the scenario in FILE: figures per link and per flow."""
    scenario = Scenario.load(file)
    check_targets(plot, out)
    warn(scenario)
    with progress_bar(file) as progress:
        result = run(scenario, seed=seed, progress=progress, memory_bytes=memory_bytes)
    deliver(result, print_result, as_json=as_json, plot=plot, out=out)


def print_result(result: Result) -> None:
    """Prints a result's figures as tables."""
    figures = result.to_dict()
    marks = any_marked(figures["links"])
    print_table(
        "Links",
        ("link", "utilization", "loss", "dropped", *(["marked"] if marks else []), "mean queue", "max queue"),
        [
            (
                link["name"],
                f"{link['utilization']:.4f}",
                f"{link['loss_rate']:.2e}",
                f"{link['dropped_packets']:,}",
                *([marked(link)] if marks else []),
                f"{link['mean_queue_packets']:,.1f} packets",
                f"{link['max_queue_packets']:,} packets",
            )
            for link in figures["links"]
        ],
    )
    _print_flows(figures["flows"])
    _print_traffic(figures["traffic"])
    totals = figures["totals"]
    speed = totals["data_packets"] / totals["wall_s"] / 1e6 if totals["wall_s"] else 0.0
    if len(figures["flows"]) > 1 and totals["jain_index"] is not None:
        click.echo(f"Jain index {totals['jain_index']:.3f}")
    click.echo(
        f"{totals['data_packets']:,} data packets in {totals['wall_s']:.2f} s, {speed:.1f} million a second; "
        f"seed {figures['seed']}"
    )


def rate(bits_per_s: float | None) -> str:
    """A rate with the unit that reads best, or a dash."""
    if bits_per_s is None:
        return "-"
    for unit, size in (("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)):
        if bits_per_s >= size:
            return f"{bits_per_s / size:.2f} {unit}"
    return f"{bits_per_s:.0f} bit/s"


def milliseconds(seconds: float | None) -> str:
    """A time in milliseconds, or a dash."""
    return "-" if seconds is None else f"{seconds * 1e3:.1f} ms"


def any_marked(rows: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a queue of any of the links has marked a packet; only then a table says so."""
    return any(row.get("marked_packets") for row in rows)


def marked(row: Mapping[str, Any]) -> str:
    """How many packets a link's queue has marked, or a dash where its engine does not say."""
    return "-" if row.get("marked_packets") is None else f"{row['marked_packets']:,}"


def _print_flows(flows: list[dict[str, Any]]) -> None:
    if not flows:
        return
    print_table(
        "Flows" if len(flows) <= MOST_FLOWS else f"Flows (the first {MOST_FLOWS} of {len(flows)})",
        ("flow", "algorithm", "goodput", "mean rtt", "mean cwnd", "sent again", "timeouts"),
        [
            (
                str(flow["id"]),
                flow["algorithm"],
                rate(flow["goodput_bps"]),
                milliseconds(flow["mean_rtt_s"]),
                "-" if flow["mean_cwnd_packets"] is None else f"{flow['mean_cwnd_packets']:,.1f} packets",
                f"{flow['retransmits']:,}",
                f"{flow['timeouts']:,}",
            )
            for flow in flows[:MOST_FLOWS]
        ],
        left=2,
    )


def _print_traffic(traffic: list[dict[str, Any]]) -> None:
    if not traffic:
        return
    print_table(
        "Cross traffic",
        ("kind", "throughput", "sent", "received", "transfers", "mean completion"),
        [
            (
                group["kind"],
                rate(group["throughput_bps"]),
                f"{group['sent_packets']:,}",
                f"{group['received_packets']:,}",
                f"{group['transfers_completed']:,} of {group['transfers_started']:,}"
                if group["kind"] == "web"
                else "-",
                milliseconds(group["mean_completion_s"]),
            )
            for group in traffic
        ],
    )
