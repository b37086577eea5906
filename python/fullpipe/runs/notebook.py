"""Progress in notebooks."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from importlib import import_module
from typing import Any, ParamSpec, TypeVar

from fullpipe._util.text import html

__all__ = ["shows_progress"]

PATIENCE_S = 1.0
"""Wall time before a bar is shown, in seconds."""

EVERY_S = 0.2
"""How often the bar moves, seconds of wall time."""

Params = ParamSpec("Params")
Outcome = TypeVar("Outcome")


def shows_progress(unit: str) -> Callable[[Callable[Params, Outcome]], Callable[Params, Outcome]]:
    """Where a function is called in a notebook's cell without ``progress``, it shows a bar that counts ``unit``."""

    def decorate(function: Callable[Params, Outcome]) -> Callable[Params, Outcome]:
        @wraps(function)
        def call(*arguments: Params.args, **options: Params.kwargs) -> Outcome:
            if options.get("progress") is not None or not _in_a_cell():
                return function(*arguments, **options)
            with _bar(unit) as tell:
                options["progress"] = tell
                return function(*arguments, **options)

        return call

    return decorate


def _in_a_cell() -> bool:
    """Whether a notebook's kernel runs us, in the thread that its cells run in."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return hasattr(shell, "kernel") and threading.current_thread() is threading.main_thread()


@contextmanager
def _bar(unit: str) -> Iterator[Callable[[float, float], None]]:
    """A function that takes progress: ``unit`` done, and in total. The bar is removed at the end."""
    notebook = import_module("IPython.display")

    begun = last = time.monotonic()
    shown: Any = None

    def tell(reached: float, total: float) -> None:
        nonlocal last, shown
        now = time.monotonic()
        if now - begun < PATIENCE_S or now - last < EVERY_S:
            return
        last = now
        left = f", about {(now - begun) * (total - reached) / reached:,.0f} s left" if reached else ""
        bar = f'<progress value="{reached:g}" max="{total:g}"></progress>'
        text = notebook.HTML(f"{bar} {html(f'{reached:,.0f} of {total:,.0f} {unit}{left}')}")
        if shown is None:
            shown = notebook.display(text, display_id=True)
        else:
            shown.update(text)

    try:
        yield tell
    finally:
        if shown is not None:
            shown.update(notebook.HTML(""))
