"""``fullpipe conform``."""

from __future__ import annotations

import click

from fullpipe._cli import completion as complete
from fullpipe._cli.output import algorithm_in, declared, progress_bar
from fullpipe._cli.results import format_options, print_parts
from fullpipe.experiments.conform import RULES, conform

__all__ = ["command"]


@click.command("conform")
@click.argument("controller", shell_complete=complete.algorithms, callback=declared)
@click.option(
    "--rules", type=click.Choice(list(RULES)), default="rfc9438", show_default=True, help="Source of the rules."
)
@click.option("--program", metavar="FILE", help="Program with further controllers, such as fullpipe-quic.")
@click.option("--explain", metavar="ID", help="Measure one rule, and print its method and the windows of its runs.")
@click.option("--strict", is_flag=True, help="Exit with status 1 if a rule of level SHOULD fails, too.")
@format_options
def command(controller: str, rules: str, program: str | None, explain: str | None, strict: bool, form: str) -> int:
    """Measure CONTROLLER by the rules of an RFC or a draft. The exit status is 1 if a rule of level MUST, or
    an equation (level EQ), fails.

    CONTROLLER is a name, a table such as '{ name = "cubic", beta = 0.8 }', FILE.py or FILE.py:CLASS for a custom
    algorithm, FILE.so or FILE.so:NAME for a controller of a shared library, or FILE.o for a kernel object file.
    """
    with progress_bar("conform", "rules") as progress:
        found = conform(algorithm_in(controller.strip()), rules, rule=explain, program=program, progress=progress)
    print_parts(form, found)
    return 1 if found.failed(strict=strict) else 0
