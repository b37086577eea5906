"""``fullpipe size``."""

from __future__ import annotations

import math
from typing import Any

import click

from fullpipe.cli import completion as complete
from fullpipe.cli.output import check_targets, deliver, json_option, memory_option, print_table, progress_bar, words
from fullpipe.display import milliseconds, rate
from fullpipe.study.size import Sizing, size
from fullpipe.text import quoted

__all__ = ["command"]


class Numbers(click.ParamType):  # type: ignore[type-arg,unused-ignore]  # generic only where click is new
    """Numbers separated by commas."""

    name = "numbers"

    def __init__(self, kind: type[int] | type[float]) -> None:
        self.kind = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The numbers."""
        try:
            return [self.kind(part) for part in value.split(",")]
        except ValueError:
            what = "whole numbers" if self.kind is int else "numbers"
            self.fail(f"{quoted(value)}: expected {what} separated by commas", param, ctx)


@click.command("size")
@click.option("--rate", "link", required=True, metavar="RATE", help="The link's rate, e.g. 155Mbit/s.")
@click.option(
    "--rtt",
    required=True,
    metavar="TIME",
    help="The flows' base RTT, e.g. 40ms (5 % to either side for several), or evenly in 80ms..250ms.",
)
@click.option("--flows", required=True, type=Numbers(int), metavar="N,N", help="Numbers of long-lived flows.")
@click.option("--target", required=True, type=Numbers(float), metavar="U,U", help="Utilizations to reach, e.g. 0.98.")
@click.option(
    "--algorithms",
    required=True,
    metavar="A,B",
    shell_complete=complete.algorithms,
    help="The algorithms, separated by commas.",
)
@click.option(
    "--web-load", type=float, default=0.0, metavar="PART", help="Part of the link that web transfers ask for."
)
@click.option(
    "--packet-size", type=click.IntRange(41, 65535), default=1000, show_default=True, help="Bytes on the wire."
)
@click.option(
    "--queue",
    default="drop-tail",
    show_default=True,
    metavar="NAME",
    shell_complete=complete.queues,
    help="The link's queueing discipline.",
)
@click.option("--seeds", type=int, default=5, show_default=True, metavar="N", help="Runs per buffer, at most.")
@click.option(
    "--precision", type=float, default=0.05, show_default=True, metavar="PART", help="How sharp, as part of the buffer."
)
@click.option("--workers", type=click.IntRange(min=1), metavar="N", help="Searches at a time; default: one a core.")
@memory_option
@json_option
@click.option("--plot", metavar="FILE", help="Draw buffers against flows into FILE (.png, .svg or .pdf).")
@click.option("--out", metavar="DIR", help="Write size.json, Parquet tables and each answer's scenario into DIR.")
def command(
    link: str,
    rtt: str,
    flows: list[int],
    target: list[float],
    algorithms: str,
    web_load: float,
    packet_size: int,
    queue: str,
    seeds: int,
    precision: float,
    workers: int | None,
    memory_bytes: int | None,
    as_json: bool,
    plot: str | None,
    out: str | None,
) -> None:
    """Find by simulation the smallest buffer with which a link reaches a utilization; beside it, what the rules say."""
    check_targets(plot, out)
    with progress_bar("size", "answers") as progress:
        sizing = size(
            link,
            rtt,
            flows=flows,
            target=target,
            algorithms=words(algorithms),
            web_load=web_load,
            packet_size=packet_size,
            queue=queue,
            seeds=seeds,
            precision=precision,
            workers=workers,
            memory_bytes=memory_bytes,
            progress=progress,
        )
    deliver(sizing, _print, as_json=as_json, plot=plot, out=out)


def _print(sizing: Sizing) -> None:
    mix = sizing.mix
    web = f", web transfers asking for {100 * mix.web_load:g} %" if mix.web_load else ""
    rtts = milliseconds(mix.rtt_min_s)
    rtts = rtts if mix.rtt_min_s == mix.rtt_max_s else f"{rtts} to {milliseconds(mix.rtt_max_s)}"
    queue = "" if mix.queue == "drop-tail" else f", {mix.queue if isinstance(mix.queue, str) else mix.queue['name']}"
    click.echo(
        f"{rate(mix.rate_bps)}, RTT {rtts}{queue}{web}; "
        f"one BDP is {_count(mix.bdp_packets)} packets of {mix.packet_size} bytes\n"
    )
    print_table(
        "Smallest buffer, packets",
        (
            "target",
            "algorithm",
            "flows",
            "buffer",
            "too small",
            "95 % sure",
            "of a BDP",
            "one BDP",
            "BDP/√n",
            "adaptive AIMD",
            "Reno, at target",
            "adaptive, at target",
        ),
        [
            (
                f"{row['target']:g}",
                row["algorithm"],
                str(row["flows"]),
                _count(row["buffer_packets"]),
                _count(row["too_small_packets"]),
                f"{_count(row['sure_low_packets'])} .. {_count(row['sure_high_packets'])}",
                "-" if row["buffer_bdp"] is None else f"{row['buffer_bdp']:.3f}",
                *(_count(row[f"rule_{rule}_packets"]) for rule in ("bdp", "sqrt", "adaptive_full", "reno", "adaptive")),
            )
            for row in sizing.rows
        ],
        left=2,
    )
    print_table(
        "At that buffer",
        ("target", "algorithm", "flows", "utilization", "loss, %", "queueing delay", "Jain", "seeds", "warm-up", "run"),
        [
            (
                f"{row['target']:g}",
                row["algorithm"],
                str(row["flows"]),
                f"{row['utilization']:.4f}" + ("" if row["utilization_ci95"] is None else _ci(row["utilization_ci95"])),
                f"{100 * row['loss_rate']:.4f}",
                milliseconds(row["queueing_delay_s"]),
                "-" if row["jain_index"] is None else f"{row['jain_index']:.3f}",
                str(row["seeds"]),
                f"{row['warmup_s']:,.0f} s",
                f"{row['duration_s']:,.0f} s",
            )
            for row in sizing.rows
        ],
        left=2,
    )
    if any(row["buffer_packets"] is None for row in sizing.rows):
        click.echo("Where the buffer is '-', none up to 4 BDP reaches the target; the second table is at the largest.")


def _ci(half: float) -> str:
    return f" ± {half:.4f}"


def _count(packets: float | None) -> str:
    """Whole packets: the nearest number, as a scenario's buffer in BDP is rounded too."""
    return "-" if packets is None else f"{math.floor(packets + 0.5):,}"
