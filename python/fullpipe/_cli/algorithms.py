"""``fullpipe algorithms``."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

import click

from fullpipe._cli import completion as complete
from fullpipe._cli.output import declared, json_option, print_json, print_table
from fullpipe._util.text import unknown
from fullpipe.errors import InputError
from fullpipe.registry import Algorithm, Param, algorithms

__all__ = ["command", "print_params"]


@click.command("algorithms")
@click.argument("name", required=False, shell_complete=complete.algorithms, callback=declared)
@json_option
def command(name: str | None, as_json: bool) -> None:
    """List the algorithms by congestion signal, or show one: NAME, or the FILE.py that declares it."""
    known = algorithms()
    if name is not None and name.endswith(".o"):
        raise InputError(
            f"{name}: an object file's parameters are its const volatile variables; this lists what has names"
        )
    if name is not None and name not in known:
        raise InputError(unknown("algorithm", name, known))
    chosen = list(known.values()) if name is None else [known[name]]
    if as_json:
        print_json(json.dumps({"algorithms": [algorithm.to_dict() for algorithm in chosen]}, indent=2))
    elif name is None:
        _print_all(chosen)
    else:
        _print_one(chosen[0])


def _print_all(known: list[Algorithm]) -> None:
    rows = [(a.group, a.name, a.recovery, ", ".join(p.name for p in a.params) or "-", a.paper) for a in known]
    print_table("", ("congestion signal", "algorithm", "recovery", "parameters", "paper"), rows, left=5)


def _print_one(algorithm: Algorithm) -> None:
    click.echo(f"{algorithm.name}\n{algorithm.paper}")
    click.echo(f"Congestion signal: {algorithm.group}\nLoss recovery: {algorithm.recovery}")
    print_params(algorithm.params)


def print_params(params: Sequence[Param]) -> None:
    """Prints parameters with defaults, allowed values, and meanings."""
    if not params:
        click.echo("No parameters.")
    for param in params:
        unit = "" if param.unit in (None, "1") else f" {param.unit}"
        default = "" if param.default is None else f" = {_value(param.default)}{unit}"
        click.echo(f"\n  {param.name}{default} (allowed: {_allowed(param)})")
        click.echo(f"      {param.doc}")
        for variant, value in param.variants.items():
            click.echo(f'      Default with variant = "{variant}": {_value(value)}{unit}')
        click.echo(f"      Source: {param.source}")


def _value(value: float | bool | str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _allowed(param: Param) -> str:
    return _values(param) + (f", or {param.unset}" if param.unset else "")


def _values(param: Param) -> str:
    if param.choices:
        return ", ".join(param.choices)
    if param.kind == "flag":
        return "true, false"
    if param.min is None or param.max is None:
        return param.kind
    if (param.min, param.max) == (-sys.float_info.max, sys.float_info.max):
        return "any number"
    return f"{_value(param.min)} to {_value(param.max)}"
