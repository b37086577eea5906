"""``fullpipe explain``."""

from __future__ import annotations

import click

from fullpipe._cli.output import note, progress_bar
from fullpipe._cli.results import Output, memory_option, output_options, print_parts, workers_option
from fullpipe.experiments.explain import explain
from fullpipe.experiments.explain.normal import normal
from fullpipe.experiments.explain.objective import TOLERANCES

__all__ = ["command"]


@click.command("explain")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--budget", default="60 s", show_default=True, metavar="TIME", help="Wall time of the search for a path.")
@click.option("--interval", metavar="TIME", help="Time between samples of ss, for a file without times, e.g. 100ms.")
@click.option("--normal", "is_snapshot", is_flag=True, help="List unusual values in one sample of ss or tc.")
@workers_option
@memory_option
@output_options(
    "Plot the measured and the simulated series into FILE (.png, .svg or .pdf).",
    "Write scenario.toml, report.md, overlay.png, explain.json and Parquet tables into DIR.",
)
def command(
    files: tuple[str, ...],
    budget: str,
    interval: str | None,
    is_snapshot: bool,
    workers: int | None,
    memory: str | None,
    output: Output,
) -> int:
    """Explain a measurement of one flow in FILE: find a path and an algorithm whose simulation gives the measured
    metrics, or report that there is none.

    FILE is a measurement of ss -tin, iperf3 -J, flent, or tcpdump, or a directory with a result of fullpipe. Its
    content decides the format. Several files of one run are joined, e.g. a capture and samples of tc.
    """
    if is_snapshot:
        if output.plot is not None or output.out is not None:
            raise click.UsageError("--normal conflicts with --plot and --out")
        if len(files) != 1:
            raise click.UsageError("--normal requires one file")
        print_parts(output.format, normal(files[0]))
        return 0
    output.check(more=TOLERANCES)
    with progress_bar("explain", "s") as progress:
        found = explain(
            *files,
            budget=budget,
            interval=interval,
            out=output.out,
            workers=workers,
            memory=memory,
            progress=progress,
        )
    for warning in found.warnings:
        note(f"warning: {files[0]}: {warning}")
    return output.deliver(found, saved=True)
