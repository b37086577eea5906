"""``fullpipe run``."""

from __future__ import annotations

from typing import Any

import click

from fullpipe._cli.output import algorithm_in, algorithms_option, progress_bar, seed_option, warn, warn_otherwise
from fullpipe._cli.results import Output, engine_options, memory_option, output_options
from fullpipe._cli.scenarios import load, scenario_options
from fullpipe.custom.arguments import as_algorithm
from fullpipe.runs.engines import ENGINES, run, run_many
from fullpipe.runs.recording import PLACES, QLOG_VERSIONS, Recording

__all__ = ["command"]


@click.command("run")
@scenario_options
@algorithms_option("A", "The algorithm of all flows, instead of the scenario's.", required=False)
@seed_option
@engine_options(ENGINES[0], f"Engine that runs the scenario: {' or '.join(ENGINES)}.")
@memory_option
@output_options(
    "Plot the series into FILE (.png, .svg or .pdf).",
    "Write result.json, the scenario, and Parquet tables into DIR, in place of an earlier result.",
)
@click.option("--pcap", metavar="DIR", help="Write a capture of each TCP flow into DIR, for Wireshark.")
@click.option("--pcap-at", type=click.Choice(PLACES), default=PLACES[0], show_default=True, help="Place of captures.")
@click.option("--qlog", metavar="DIR", help="Write a QUIC log of each flow into DIR, for qvis.")
@click.option(
    "--qlog-version", type=click.Choice(QLOG_VERSIONS), default=QLOG_VERSIONS[0], show_default=True, help="Schema."
)
@click.option("--flent", metavar="FILE", help="Write a data file of flent (.flent.gz).")
@click.option("--force", is_flag=True, help="Allow files of more than 1,000 flows or 10 million packets.")
def command(
    file: str,
    settings: tuple[str, ...],
    duration: str | None,
    algorithms: str | None,
    seed: int | None,
    engine: str,
    kernel: str | None,
    memory: str | None,
    output: Output,
    **files: Any,
) -> None:
    """Run the scenario in FILE: metrics per link and per flow."""
    scenario = load(file, settings, duration, seed)
    if algorithms is not None:
        scenario = scenario.set({"flows.algorithm": as_algorithm(algorithm_in(algorithms.strip()))})
    output = output.check(scenario)
    recording = Recording(**files)
    recording.check(scenario, engine)
    warn(scenario)
    with progress_bar(file) as progress:
        if recording.is_wanted:
            result = run(scenario, recording=recording, engine=engine, kernel=kernel, memory=memory, progress=progress)
        else:
            # Not in the main thread: a custom algorithm then has its own process, which can be ended at any time.
            found = run_many({file: scenario}, engine=engine, kernel=kernel, memory=memory, progress=progress)
            result = found[file]
    warn_otherwise(scenario, [result])
    output.deliver(result)
