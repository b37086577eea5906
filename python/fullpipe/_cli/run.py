"""``fullpipe run``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fullpipe._cli.output import (
    check_targets,
    deliver,
    json_option,
    memory_option,
    out_option,
    plot_option,
    progress_bar,
    seed_option,
    show,
    warn,
    warn_otherwise,
)
from fullpipe._cli.scenarios import load, scenario_options
from fullpipe.runs.engines import run

if TYPE_CHECKING:
    from fullpipe.runs.result import Result

__all__ = ["command"]


@click.command("run")
@scenario_options
@json_option
@seed_option
@memory_option
@plot_option
@out_option
def command(
    file: str,
    settings: tuple[str, ...],
    duration: str | None,
    as_json: bool,
    seed: int | None,
    memory_bytes: int | None,
    plot: str | None,
    out: str | None,
) -> None:
    """Run the scenario in FILE: metrics per link and per flow."""
    scenario = load(file, settings, duration, seed)
    check_targets(plot, out)
    warn(scenario)
    with progress_bar(file) as progress:
        result = run(scenario, progress=progress, memory_bytes=memory_bytes)
    warn_otherwise(scenario, [result])
    deliver(result, print_result, as_json=as_json, plot=plot, out=out)


def print_result(result: Result) -> None:
    """Prints a result's figures."""
    show(result.shown())
