"""Protection from files in the current folder: no command takes code or settings from it unless you name the file."""

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
"""File that matplotlib reads from the current folder when it is imported."""


def ignore_matplotlibrc() -> None:
    """Makes matplotlib ignore settings in the current folder. A pipe of that name would block the import, and a device
    would fill the memory. Settings in the user's configuration directory stay.
    """
    if "matplotlib" not in sys.modules and not any(isinstance(finder, Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, Finder())


class Finder:
    """Import finder that replaces the loader of matplotlib."""

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Module spec with `Quiet` as its loader."""
        if fullname != "matplotlib":
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = cast("Loader", Quiet(spec.loader))
        return spec


class Quiet:
    """Loader of matplotlib that hides settings in the current folder."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Module of the original loader."""
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Runs the module."""
        exists = os.path.exists
        os.path.exists = lambda path: path != SETTINGS and exists(path)
        try:
            self._loader.exec_module(module)
        finally:
            os.path.exists = exists
