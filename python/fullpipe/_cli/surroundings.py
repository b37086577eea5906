"""The current folder is no source of code or settings: no command takes either from it unless you name the file."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from importlib.abc import Loader
    from importlib.machinery import ModuleSpec
    from types import ModuleType

__all__ = ["ignore_matplotlibrc"]

SETTINGS = "matplotlibrc"
"""File that matplotlib looks for in the current folder when it is imported."""


def ignore_matplotlibrc() -> None:
    """From now on matplotlib is imported without the settings of the current folder.

    A pipe of that name would block the import, and a device would fill the memory. Settings of the user's own
    configuration directory stay.
    """
    if "matplotlib" not in sys.modules and not any(isinstance(finder, Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, Finder())


class Finder:
    """Finder of matplotlib alone, which gives it another loader."""

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module as it is found without this finder, with `Quiet` as its loader."""
        if fullname != "matplotlib":
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = cast("Loader", Quiet(spec.loader))
        return spec


class Quiet:
    """Loader for which the current folder has no settings of matplotlib."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """The module, as its own loader makes it."""
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Runs the module."""
        exists = os.path.exists
        os.path.exists = lambda path: path != SETTINGS and exists(path)
        try:
            self._loader.exec_module(module)
        finally:
            os.path.exists = exists
