"""Scenario of a command: a file or standard input, with keys from the command line."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import TypeVar

import click

from fullpipe._cli.completion import files
from fullpipe._cli.output import code_of_others
from fullpipe._util.text import quoted
from fullpipe.errors import InputError, ScenarioError
from fullpipe.scenario import MOST_BYTES, Scenario, parse, read_text

__all__ = ["STANDARD_INPUT", "change_options", "changes_of", "changing", "load", "named", "scenario_options", "text_of"]

STANDARD_INPUT = "-"
"""File name that stands for standard input."""

LARGEST = 2**63 - 1
"""Largest whole number of a key."""

Command = TypeVar("Command", bound=Callable[..., object])


def scenario_options(command: Command) -> Command:
    """The argument FILE and the options that change its keys: ``file``, ``settings``, ``duration``."""
    return click.argument("file", shell_complete=files)(change_options(command))


def change_options(command: Command) -> Command:
    """Options that change keys of a scenario: ``settings``, ``duration``."""
    command = click.option("--duration", metavar="TIME", help="Duration instead of the scenario's, e.g. '60 s'.")(
        command
    )
    command = click.option(
        "--load",
        "_loaded",
        multiple=True,
        metavar="FILE",
        expose_value=False,
        is_eager=True,
        callback=_load_code,
        help="Load FILE.py, FILE.so, or FILE.so:NAME first, so that the scenario can use its algorithms.",
    )(command)
    return click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="KEY=VALUE",
        help="Set a key by its path, e.g. links.bottleneck.buffer='0.5 BDP'; an empty value removes the key.",
    )(command)


def _load_code(_context: click.Context, _parameter: click.Parameter, files: tuple[str, ...]) -> None:
    from fullpipe.custom.files import load_file
    from fullpipe.custom.library import SUFFIXES, declare

    with code_of_others():
        for what in files:
            file, _, name = what.partition(":")
            if file.endswith(SUFFIXES):
                declare(file, name or None)
            else:
                load_file(what)


def load(file: str, settings: tuple[str, ...], duration: str | None, seed: int | None = None) -> Scenario:
    """Scenario in a file or on standard input, with the changes of the options."""
    change = changing(settings, duration, seed)
    return change(Scenario.loads(text_of(file), file=named(file)))


def changing(
    settings: tuple[str, ...], duration: str | None, seed: int | None = None
) -> Callable[[Scenario], Scenario]:
    """Function that applies the options to a scenario. Its errors name the option instead of the file."""
    changes = changes_of(settings, duration, seed)
    options = {setting.partition("=")[0].strip(): f"--set {setting}" for setting in settings}
    options |= {"duration": f"--duration {duration}"} if duration is not None else {}
    options |= {"seed": f"--seed {seed}"} if seed is not None else {}

    def change(scenario: Scenario) -> Scenario:
        try:
            return scenario.replace(**changes) if changes else scenario
        except ScenarioError as error:
            alone = [key for key, value in changes.items() if _wrong(scenario, key, value)]
            named = " ".join(options[key] for key in alone or changes)
            if file := re.match(r'unknown algorithm "([^"]+\.py)"', error.what):
                what = f"algorithm requires a name, not a file; pass --load {file[1]}, and set its name"
                raise ScenarioError(error.key, what, named) from None
            raise ScenarioError(error.key, error.what, named) from None

    return change


def _wrong(scenario: Scenario, key: str, value: object) -> bool:
    try:
        scenario.replace(**{key: value})
    except ScenarioError:
        return True
    return False


def changes_of(settings: tuple[str, ...], duration: str | None, seed: int | None = None) -> dict[str, object]:
    """Changes by the options, for `Scenario.replace`.

    Raises:
        InputError: A setting has no ``=`` or an impossible number, or two options set one key.
    """
    changes: dict[str, object] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key.strip():
            raise InputError(f"--set must be KEY=VALUE, e.g. links.bottleneck.buffer='0.5 BDP', got {quoted(setting)}")
        changes[key.strip()] = _value(value.strip())
        if isinstance(changes[key.strip()], str) and re.fullmatch(r"[+-]?\d+", value.strip()):
            bound = f"at least -{LARGEST}" if value.strip()[0] == "-" else f"at most {LARGEST}"
            raise InputError(f"--set {quoted(setting)}: the number must be {bound}")
    for key, given in (("duration", duration), ("seed", seed)):
        if given is not None:
            if key in changes:
                raise InputError(f"--{key} conflicts with --set {key}")
            changes[key] = given
    return changes


def text_of(file: str) -> str:
    """Text of a file, or of standard input.

    Raises:
        ScenarioError: The file is not readable, too large, or not UTF-8.
    """
    if file != STANDARD_INPUT:
        return read_text(file)
    data = sys.stdin.buffer.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise ScenarioError("", f"must have at most {MOST_BYTES / 1e6:g} MB", named(file))
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        what = f"is not UTF-8 text (byte {error.start}); a scenario is TOML"
        raise ScenarioError("", what, named(file)) from None


def named(file: str) -> str:
    """Name of a file in messages."""
    return "standard input" if file == STANDARD_INPUT else file


def _value(text: str) -> object:
    """TOML value of a text; the text itself if it is no TOML value, None for empty text."""
    if not text:
        return None
    try:
        tree = parse(f"value = {text}")
    except ScenarioError:
        return text
    return tree["value"] if set(tree) == {"value"} else text
