"""``fullpipe size``."""

from __future__ import annotations

import click

from fullpipe._cli import completion as complete
from fullpipe._cli.output import algorithm_in, algorithms_option, progress_bar, resumable, words
from fullpipe._cli.results import Output, Placement, engine_options, output_options, placement
from fullpipe._util.files import check_picture
from fullpipe._util.text import quoted
from fullpipe.experiments.sizing import size
from fullpipe.experiments.sizing.mix import BUFFER, Mix
from fullpipe.experiments.sizing.sizing import MEASURED
from fullpipe.runs.engines import ENGINES

__all__ = ["command"]


class Numbers(click.ParamType):  # type: ignore[type-arg,unused-ignore]  # generic only where click is new
    """Parameter type of whole numbers separated by commas."""

    name = "numbers"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> object:
        """Numbers in the text."""
        try:
            return [int(part) for part in value.split(",")]
        except ValueError:
            self.fail(f"must be whole numbers separated by commas, got {quoted(value)}", param, ctx)


@click.command("size")
@click.option("--rate", "link", required=True, metavar="RATE", help="Rate of the link, e.g. 155Mbit/s.")
@click.option(
    "--rtt",
    required=True,
    metavar="TIME",
    help="Base RTT, e.g. 40ms (within 5 % of it for several flows), or a range for even spacing, e.g. 80ms..250ms.",
)
@click.option(
    "--flows", required=True, type=Numbers(), metavar="N,N", help="Numbers of long-lived flows, e.g. 1,10,100."
)
@click.option(
    "--target",
    "targets",
    required=True,
    multiple=True,
    metavar="U,U|CONDITIONS",
    help="Utilizations, e.g. 0.98,0.995, or conditions to meet together, e.g. "
    "'utilization>=0.98,loss<=0.1%'; with --web-load also mean_fct<=500ms. You can repeat the option.",
)
@algorithms_option(
    "A,B", "The algorithms, separated by commas, or mixes such as 'cubic*0.7+bbr*0.3'.", completed=complete.mixes
)
@click.option(
    "--web-load", type=float, default=0.0, metavar="FRACTION", help="Offered web load as a fraction of the link."
)
@click.option(
    "--packet-size",
    metavar="BYTES",
    type=click.IntRange(41, 65535),
    default=1000,
    show_default=True,
    help="Packet size in bytes, with headers.",
)
@click.option(
    "--queue",
    default="drop-tail",
    show_default=True,
    metavar="NAME[.PARAMETER]",
    shell_complete=complete.sizes,
    help="Queueing discipline. With a parameter, e.g. codel.target, size finds that parameter instead of the buffer.",
)
@click.option(
    "--seeds", type=int, default=5, show_default=True, metavar="N", help="Maximum number of runs per buffer, 2 to 1000."
)
@click.option(
    "--precision",
    type=float,
    default=0.05,
    show_default=True,
    metavar="FRACTION",
    help="Relative tolerance of the buffer.",
)
@engine_options(ENGINES[0], f"Engine that runs the scenarios: {' or '.join(ENGINES)}.")
@placement
@click.option(
    "--curve", metavar="FILE", help="Also run a range of buffers, and plot utilization against p99 delay into FILE."
)
@output_options(
    "Plot buffers against flows into FILE (.png, .svg or .pdf).",
    "Write size.json, Parquet tables, and each answer's scenario into DIR. A re-run continues an earlier one.",
)
def command(
    link: str,
    rtt: str,
    flows: list[int],
    targets: tuple[str, ...],
    algorithms: str,
    web_load: float,
    packet_size: int,
    queue: str,
    seeds: int,
    precision: float,
    engine: str,
    kernel: str | None,
    place: Placement,
    curve: str | None,
    output: Output,
) -> None:
    """Find the smallest buffer that meets a target, by simulation, and compare it with the analytical sizing rules.

    Targets are utilizations or conditions: at least (>=) for utilization and jain, at most (<=) for loss, mean_delay,
    p50_delay, p95_delay, p99_delay, max_delay, and, with web transfers, p50_fct, p95_fct, p99_fct.
    """
    discipline, _, sized = queue.partition(".")
    if output.columns:
        mix = Mix.parse(link, rtt, web_load, packet_size, discipline, sized or BUFFER)
        output = output.check(mix.scenario("newreno", 1, 1), more=MEASURED)
    else:
        output.check()
    if curve is not None:
        check_picture(curve)
    with resumable(click.get_current_context(), output.out), progress_bar("size", "answers") as progress:
        sizing = size(
            link,
            rtt,
            flows=flows,
            target=[target for text in targets for target in _targets(text)],
            algorithms=[algorithm_in(one) if one.startswith("{") else one for one in words(algorithms)],
            web_load=web_load,
            packet_size=packet_size,
            queue=discipline,
            sized=sized or BUFFER,
            seeds=seeds,
            precision=precision,
            curve=curve is not None,
            engine=engine,
            kernel=kernel,
            out=output.out,
            progress=progress,
            **place,
        )
    if curve is not None:
        sizing.plot_curve(curve)
    output.deliver(sizing, saved=True)


def _targets(text: str) -> list[str]:
    """Conditions form one target; utilizations are a target each."""
    return [text] if "=" in text else words(text)
