"""``fullpipe queues``."""

from __future__ import annotations

import json

import click

from fullpipe._cli import completion as complete
from fullpipe._cli.algorithms import print_params
from fullpipe._cli.output import json_option, print_json, print_table
from fullpipe._util.text import unknown
from fullpipe.errors import InputError
from fullpipe.registry import Queue, queues

__all__ = ["command"]


@click.command("queues")
@click.argument("name", required=False, shell_complete=complete.queues)
@json_option
def command(name: str | None, as_json: bool) -> None:
    """List the queueing disciplines, or show the one called NAME."""
    known = queues()
    if name is not None and name not in known:
        raise InputError(unknown("queue", name, known))
    chosen = list(known.values()) if name is None else [known[name]]
    if as_json:
        print_json(json.dumps({"queues": [queue.to_dict() for queue in chosen]}, indent=2))
    elif name is None:
        _print_all(chosen)
    else:
        click.echo(f"{chosen[0].name}\n{chosen[0].source}")
        print_params(chosen[0].params)


def _print_all(known: list[Queue]) -> None:
    rows = [(queue.name, ", ".join(param.name for param in queue.params) or "-", queue.source) for queue in known]
    print_table("", ("queue", "parameters", "source"), rows, left=3)
