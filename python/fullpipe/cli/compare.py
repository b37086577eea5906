"""``fullpipe compare``."""

from __future__ import annotations

import click

from fullpipe.cli.output import (
    check_targets,
    deliver,
    json_option,
    kernel_option,
    memory_option,
    plot_option,
    print_table,
    progress_bar,
    warn,
    warn_otherwise,
)
from fullpipe.cli.run import any_marked, marked, milliseconds, rate
from fullpipe.comparison import Comparison, compare
from fullpipe.runner import ENGINES
from fullpipe.scenario import Scenario

__all__ = ["command"]


@click.command("compare")
@click.argument("file")
@click.option(
    "--algorithms",
    metavar="A,B,C",
    help="The algorithms, separated by commas; default, where there are several engines: the scenario's own.",
)
@click.option(
    "--engine",
    "engines",
    default=ENGINES[0],
    show_default=True,
    metavar="ENGINE[,ENGINE]",
    help=f"What runs the scenario: {' or '.join(ENGINES)}, or both.",
)
@kernel_option
@memory_option
@json_option
@plot_option
@click.option("--out", metavar="DIR", help="Write comparison.json, a Parquet table and each run's files into DIR.")
def command(
    file: str,
    algorithms: str | None,
    engines: str,
    kernel: str | None,
    memory_bytes: int | None,
    as_json: bool,
    plot: str | None,
    out: str | None,
) -> None:
    """Run the scenario in FILE with several algorithms, all flows using one at a time, or on several engines."""
    scenario = Scenario.load(file)
    check_targets(plot, out)
    warn(scenario)
    names = None if algorithms is None else _words(algorithms)
    with progress_bar(file) as progress:
        comparison = compare(
            scenario, names, engine=_words(engines), progress=progress, kernel=kernel, memory_bytes=memory_bytes
        )
    warn_otherwise(scenario, comparison.results.values())
    deliver(comparison, _print, as_json=as_json, plot=plot, out=out)


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _print(comparison: Comparison) -> None:
    rows = comparison.rows()
    marks = any_marked(rows)
    print_table(
        "",
        (
            "algorithm",
            "link",
            "utilization",
            "loss",
            *(["marked"] if marks else []),
            "mean queue",
            "goodput",
            "mean rtt",
            "sent again",
            "timeouts",
            "Jain",
        ),
        [
            (
                row["algorithm"],
                row["link"],
                f"{row['utilization']:.4f}",
                f"{row['loss_rate']:.2e}",
                *([marked(row)] if marks else []),
                f"{row['mean_queue_packets']:,.1f} packets",
                rate(row["goodput_bps"]),
                milliseconds(row["mean_rtt_s"]),
                f"{row['retransmits']:,}",
                f"{row['timeouts']:,}",
                "-" if row["jain_index"] is None else f"{row['jain_index']:.3f}",
            )
            for row in rows
        ],
        left=2,
    )
