"""Options that all commands and functions share: equal names, but for the exceptions that these tables name."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import click
import pytest

import fullpipe
from fullpipe._cli import fullpipe_command
from fullpipe._util.display import FORMATS
from fullpipe.reproduce import Outcome, reproduce_all
from fullpipe.runs.results import Results

FUNCTION = ("seeds", "workers", "dask", "memory", "out", "engine", "kernel", "progress", "stop")
"""Arguments of functions that run scenarios."""

COMMAND = ("seeds", "workers", "dask", "memory", "out", "engine", "kernel", "plot", "format", "json", "columns")
"""Options of commands that run scenarios."""

ONE_RUN = {"seeds", "workers", "dask"}
"""Options without a meaning for one run; it has ``seed``."""

SUITE = {"seeds", "out", "engine", "kernel", "plot", "columns"}
"""Options of `check`, whose suite file has seeds and metrics, and which writes --junit and --markdown files."""

RULES = {*SUITE, "workers", "dask", "memory"}
"""Options of `conform`: rules measure a controller in fixed, short runs without seeds or metrics."""

KERNEL = {"kernel"}
"""`evaluate` takes the default kernel, because a card names one."""

OWN_SEEDS = {"seeds", "engine", "kernel"}
"""`search` has fixed seeds in each phase, and runs the simulator."""

MODELS = {*OWN_SEEDS, "dask"}
"""`explain` does that too, on this machine, because its runs return series."""

SIMULATOR = {"engine", "kernel"}
"""`advise` runs the simulator: the Linux engine has no applications and not all queues."""

FUNCTIONS: dict[str, tuple[Callable[..., object], set[str]]] = {
    "run": (fullpipe.run, ONE_RUN),
    "compare": (fullpipe.compare, set()),
    "duel": (fullpipe.duel, set()),
    "sweep": (fullpipe.sweep, set()),
    "size": (fullpipe.size, set()),
    "evaluate": (fullpipe.evaluate, KERNEL),
    "reproduce": (reproduce_all, set()),
    "check": (fullpipe.check, SUITE),
    "conform": (fullpipe.conform, RULES),
    "search": (fullpipe.search, OWN_SEEDS),
    "explain": (fullpipe.explain, MODELS),
    "advise": (fullpipe.advise, SIMULATOR),
}

HIDDEN_COMMANDS = {"linux run": {*ONE_RUN, "memory", "engine"}}
"""``fullpipe linux run`` is ``run --engine linux`` with a choice of the accelerator."""


def options(name: str) -> dict[str, click.Option]:
    """Options of a command by name."""
    command: click.Command = fullpipe_command
    context = click.Context(command)
    for word in name.split():
        assert isinstance(command, click.Group)
        found = command.get_command(context, word)
        assert found is not None
        command = found
    return {
        text.removeprefix("--"): one for one in command.params if isinstance(one, click.Option) for text in one.opts
    }


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_take_the_same_arguments(name: str) -> None:
    function, without = FUNCTIONS[name]
    found = inspect.signature(inspect.unwrap(function)).parameters
    assert {each for each in FUNCTION if each not in found} == without & set(FUNCTION)
    assert all(found[each].kind is inspect.Parameter.KEYWORD_ONLY for each in FUNCTION if each in found)


@pytest.mark.parametrize("name", [*FUNCTIONS, *HIDDEN_COMMANDS])
def test_commands_take_the_same_options(name: str) -> None:
    without = FUNCTIONS[name][1] if name in FUNCTIONS else HIDDEN_COMMANDS[name]
    found = options(name)
    assert {each for each in COMMAND if each not in found} == without
    form = found["format"].type
    assert isinstance(form, click.Choice)
    assert tuple(form.choices) == FORMATS == ("table", "csv", "json", "markdown", "latex")


@pytest.mark.parametrize(
    "name", ["sweep", "duel", "compare", "size", "evaluate", "reproduce", "check", "search", "explain", "advise"]
)
def test_a_command_and_its_function_agree(name: str) -> None:
    arguments = inspect.signature(inspect.unwrap(FUNCTIONS[name][0])).parameters
    shared = {each for each in options(name) if each in FUNCTION}
    assert shared == {each for each in arguments if each in FUNCTION and each not in ("progress", "stop")}


def test_help_texts_of_shared_options_are_equal() -> None:
    for each in ("workers", "dask", "memory", "format", "json", "kernel"):
        texts = {found[each].help for name in FUNCTIONS if each in (found := options(name))}
        assert len(texts) == 1, each


@pytest.mark.parametrize(
    "kind",
    [
        fullpipe.Result,
        Outcome,
        *(
            getattr(fullpipe, name)
            for name in ("Comparison", "Duel", "Sweep", "Sizing", "Card", "Search", "Explanation", "Advice")
        ),
    ],
)
def test_results_have_the_same_methods(kind: type) -> None:
    methods = {"plot", "save", "to_dict"}
    assert methods <= set(dir(kind))
    assert "path" in inspect.signature(kind.plot).parameters
    if issubclass(kind, Results):
        own = {"runs", "summary", "compare", "load", "to_pandas", "to_polars", "_repr_html_", "shown", "to_json"}
        assert own <= set(dir(kind))
