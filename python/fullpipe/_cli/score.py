"""``fullpipe score``."""

from __future__ import annotations

from pathlib import Path

import click

from fullpipe._cli.output import json_option, print_json, show
from fullpipe._util.display import Shown, json_text
from fullpipe.evaluator import evaluate

__all__ = ["command"]


@click.command("score")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--secret-file",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="File with the secret of the held-out paths; default: a new secret.",
)
@click.option("--stages", type=click.IntRange(1, 2), default=2, show_default=True, help="1: the smoke test alone.")
@click.option("--paths", type=click.IntRange(min=4), default=24, show_default=True, metavar="N", help="Held-out paths.")
@json_option
def command(file: str, secret_file: str | None, stages: int, paths: int, as_json: bool) -> None:
    """Score the controller in FILE, a compiled Python class, on held-out paths. Its code runs in a process with
    limits of time, memory, files, and network.
    """
    secret = None if secret_file is None else Path(secret_file).read_bytes()
    found = evaluate(file, secret=secret, stages=stages, paths=paths)
    if as_json:
        print_json(json_text(found))
        return
    limits = [
        (name, each["title"], f"{each['value']:.3g}", f"{each['limit']:.3g}", "violated" if each["violated"] else "ok")
        for name, each in found["constraints"].items()
    ]
    columns = ("id", "constraint", "value", "limit", "verdict")
    show([Shown("Constraints", columns, limits, left=2)] if limits else [])
    show([f"{name}: {text}" for name, text in found["artifacts"].items()])
    show([f"{name} = {value:.4g}" for name, value in found["metrics"].items()])
    show([f"combined_score = {found['combined_score']:.4f}"])
