"""``fullpipe search``."""

from __future__ import annotations

import tomllib

import click

from fullpipe._cli import completion as complete
from fullpipe._cli.output import algorithm_in, declared, progress_bar, resumable
from fullpipe._cli.results import Output, Placement, output_options, placement
from fullpipe._util.inputs import read_text
from fullpipe.errors import InputError
from fullpipe.experiments.search import search
from fullpipe.experiments.search.space import DROP_TAIL, example

__all__ = ["command"]

MOST_BOUNDS_BYTES = 100_000
"""Size of a file of bounds, at most."""


@click.command("search")
@click.argument("algorithm", shell_complete=complete.algorithms, callback=declared)
@click.option(
    "--against",
    default="cubic",
    show_default=True,
    metavar="NAME",
    shell_complete=complete.algorithms,
    callback=declared,
    help="The other algorithm.",
)
@click.option(
    "--maximize",
    default="goodput_harm",
    show_default=True,
    metavar="METRIC",
    help="goodput_harm, mean_rtt_harm, p95_rtt_harm, p99_rtt_harm, fct_harm, starvation, unfairness, regret, loss, "
    "underuse, or a metric of a run, with - before it for less.",
)
@click.option(
    "--bound",
    "bounds",
    multiple=True,
    metavar="KNOB=LOW..HIGH|FILE",
    help="Bounds of a knob, e.g. 'rate=1..200 Mbit/s' or 'loss=0', or a TOML file with a text for each knob. You can "
    "repeat the option.",
)
@click.option("--queue", default=DROP_TAIL, show_default=True, metavar="NAME", help="Queueing discipline of the link.")
@click.option("--attack", is_flag=True, help="Let the datagrams come in pulses with a period of 0.1 to 5 s.")
@click.option("--changes", is_flag=True, help="Let the rate change up to four times, by a factor of up to 4.")
@click.option("--beyond-standard", is_flag=True, help="Subtract the harm that newreno and cubic do in that network.")
@click.option("--threshold", type=float, metavar="VALUE", help="Value from which the weakness counts as found.")
@click.option("--budget", metavar="TIME", help="Wall time of the search.  [default: 60 s]")
@click.option("--evaluations", type=int, metavar="N", help="Number of networks in the search, instead of --budget.")
@click.option("--seed", type=int, default=1, show_default=True, metavar="N", help="Seed of the search's choices.")
@placement
@output_options(
    "Plot the best values and the worst network into FILE (.png, .svg or .pdf).",
    "Write search.json, worst.toml and Parquet tables into DIR; a re-run continues an earlier one.",
)
def command(
    algorithm: str,
    against: str,
    maximize: str,
    bounds: tuple[str, ...],
    queue: str,
    attack: bool,
    changes: bool,
    beyond_standard: bool,
    threshold: float | None,
    budget: str | None,
    evaluations: int | None,
    seed: int,
    place: Placement,
    output: Output,
) -> int:
    """Search the network on which ALGORITHM does worst, and shrink it to the simplest one that still shows it.

    ALGORITHM is a name, a table such as '{ name = "vegas", alpha = 2 }', FILE.py or FILE.py:CLASS for a custom
    algorithm, FILE.so or FILE.so:NAME for a controller of a shared library, or FILE.o for a kernel object file.
    """
    limits = {name: value for text in bounds for name, value in _bounds(text).items()}
    output = output.check(example(limits))
    with resumable(click.get_current_context(), output.out), progress_bar("search", "") as progress:
        found = search(
            algorithm_in(algorithm.strip()),
            against=algorithm_in(against.strip()),
            maximize=maximize,
            bounds=limits,
            queue=queue,
            attack=attack,
            changes=changes,
            beyond_standard=beyond_standard,
            threshold=threshold,
            budget=budget,
            evaluations=evaluations,
            seed=seed,
            out=output.out,
            progress=progress,
            **place,
        )
    return output.deliver(found, saved=True)


def _bounds(text: str) -> dict[str, str]:
    name, equals, value = text.partition("=")
    if equals:
        return {name.strip(): value.strip()}
    if not text.endswith(".toml"):
        raise InputError(f"--bound must be KNOB=LOW..HIGH, KNOB=VALUE, or a TOML file, got {text}")
    try:
        bounds = tomllib.loads(read_text(text, MOST_BOUNDS_BYTES))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{text}: is no TOML file: {error}") from None
    for name, value in bounds.items():
        if not isinstance(value, str):
            raise InputError(f'{text}: {name} must be a text such as "1..200 Mbit/s", got {value!r}')
    return bounds
