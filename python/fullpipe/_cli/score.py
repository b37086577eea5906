"""``fullpipe score``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from fullpipe._cli.results import format_options, print_parts, workers_option
from fullpipe._util.display import Outcome, Shown
from fullpipe.evaluator import Score, evaluate
from fullpipe.experiments.evaluate import PROFILES

__all__ = ["command"]

VERDICTS = ("ok", "violated")


@click.command("score")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--secret-file",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="File with the secret of the held-out paths; default: a new secret.",
)
@click.option(
    "--stages",
    type=click.IntRange(1, 3),
    default=3,
    show_default=True,
    help="1 runs only the smoke test, 2 also constraints and checks against gaming.",
)
@click.option(
    "--paths",
    type=click.IntRange(min=4),
    default=24,
    show_default=True,
    metavar="N",
    help="Published paths, and held-out paths of stage 2.",
)
@click.option(
    "--held",
    type=click.IntRange(min=4),
    default=100,
    show_default=True,
    metavar="N",
    help="Held-out paths of stage 3.",
)
@click.option(
    "--card",
    type=click.Choice(list(PROFILES)),
    default="quick",
    show_default=True,
    help="Profile of the report card in stage 3.",
)
@click.option("--budget", metavar="TIME", help="Wall time, after which the score of the last stage is printed.")
@click.option("--rounds", metavar="FILE", help="Count the calls of the secret in FILE; warn after 1,000.")
@click.option(
    "--interpreted",
    is_flag=True,
    help="Take a class without compiled=True. Its code then runs in the process that measures it.",
)
@click.option("--require-sandbox", is_flag=True, help="Run nothing if your system lacks a limit of the sandbox.")
@workers_option
@format_options
def command(
    file: str,
    secret_file: str | None,
    stages: int,
    card: str,
    paths: int,
    held: int,
    budget: str | None,
    rounds: str | None,
    interpreted: bool,
    require_sandbox: bool,
    workers: int | None,
    form: str,
) -> None:
    """Score the controller in FILE on held-out paths: a compiled Python class, or a kernel object file (FILE.o). Its
    code runs in a process with limits of time, memory, files, network, and system calls.
    """
    found = evaluate(
        file,
        secret=None if secret_file is None else Path(secret_file).read_bytes(),
        stages=stages,
        card=card,
        paths=paths,
        held=held,
        budget=budget,
        rounds=rounds,
        interpreted=interpreted,
        require_sandbox=require_sandbox,
        workers=workers,
    )
    print_parts(form, Scored(found))


@dataclass(frozen=True)
class Scored(Outcome):
    """A score as the command prints it."""

    score: Score

    def to_dict(self) -> dict[str, object]:
        """Plain values ready for JSON."""
        return {**self.score}

    def shown(self, _columns: Sequence[str] | None = None) -> list[Shown | str]:
        """Tables of constraints and of metrics, and lines of artifacts."""
        score = self.score
        limits = [
            (name, each["title"], f"{each['value']:.3g}", f"{each['limit']:.3g}", VERDICTS[each["violated"]])
            for name, each in score["constraints"].items()
        ]
        metrics = {**score["metrics"], "combined_score": score["combined_score"]}
        return [
            *(
                [Shown("Constraints", ("id", "constraint", "value", "limit", "verdict"), limits, left=2)]
                if limits
                else []
            ),
            *(f"{name}: {text}" for name, text in score["artifacts"].items()),
            Shown("Metrics", ("id", "value"), [(name, f"{value:.4g}") for name, value in metrics.items()], left=1),
        ]
