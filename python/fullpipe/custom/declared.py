"""Classes that are algorithms in this process, their identity, and their way to other processes."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from dataclasses import field as with_default
from pathlib import Path
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, TypeAlias
from weakref import WeakKeyDictionary

from fullpipe._util.plain import Tree
from fullpipe._util.text import listed, quoted
from fullpipe.errors import InputError

if TYPE_CHECKING:
    from fullpipe.custom.identity import Identity

__all__ = [
    "called",
    "carried",
    "declared_in",
    "identity_of",
    "interpreted",
    "name_of",
    "of_library",
    "own_lines",
    "remember",
    "restore",
    "used_in",
]

Again: TypeAlias = Callable[[str, type, Tree], None]


@dataclass
class Declared:
    """A class that is an algorithm.

    Attributes:
        kind: The class.
        options: The decorator's arguments.
        library: Digests of the shared library's bytes, and of those it is linked to, when it was loaded; empty
            without one.
        again: Declares the class once more, with its name and options.
        files: Digests of the user's source files, as they were when the class was declared (`identity.identify`).
        frozen: Identity of a compiled class: its code has the values of its declaration, whatever changes later.
        data: Pickle that another process makes the class of, once asked for.
        data_of: Identity of the class when that pickle was made.
    """

    kind: type
    options: Tree
    library: str
    again: Again
    files: dict[str, str] = with_default(default_factory=dict)
    frozen: Identity | None = None
    data: bytes | None = None
    data_of: Identity | None = None

    def identity(self) -> Identity:
        """Content identity as of now: a changed global or closure makes another one."""
        if self.frozen is not None:
            return self.frozen
        from fullpipe.custom.identity import identify

        return identify(self.kind, {**self.options, "library": self.library}, self.files)


_lock = threading.Lock()

_sending = threading.Lock()

_declared: dict[str, Declared] = {}
"""The classes by their algorithms' names."""


_made: WeakKeyDictionary[type, dict[str, tuple[Tree, Again]]] = WeakKeyDictionary()
"""Declarations of each class by name, also where a later class has replaced it."""


def remember(name: str, kind: type, options: Tree, library: str, again: Again) -> None:
    """Keeps a class that has been declared, for `identity_of`, `carried`, and the registry.

    Args:
        name: The algorithm.
        kind: The class.
        options: The decorator's arguments.
        library: Digest of its shared library; empty without one.
        again: Declares the class once more, in this process or another.
    """
    known = _declared[name] = Declared(kind, options, library, again)
    _made.setdefault(kind, {})[name] = options, again
    first = known.identity()
    if options["compiled"]:
        known.frozen = first
        with suppress(InputError):  # it cannot be sent, which is an error once that is asked for
            _data_of(name, known)
    from fullpipe.registry import algorithms

    algorithms.cache_clear()


def name_of(kind: type) -> str | None:
    """Name that a class is declared by, the latest of several; None for a class that is no algorithm.

    A later class may have replaced it, for example that of its own file, if a command or a function loaded the file.
    The class is then declared again.
    """
    names = [name for name, known in _declared.items() if known.kind is kind]
    if not names and kind in _made:
        name, (options, again) = list(_made[kind].items())[-1]
        again(name, kind, options)
        return name
    return names[-1] if names else None


def declared_in(module: ModuleType) -> dict[str, type]:
    """Classes of a module that are algorithms now, by name."""
    return {name: known.kind for name, known in _declared.items() if known.kind.__module__ == module.__name__}


@contextmanager
def interpreted(names: Iterable[str]) -> Iterator[None]:
    """Algorithms of these names are run by the interpreter meanwhile, for scenarios made meanwhile."""
    with _lock:
        known = {name: _declared[name] for name in names}
        for name, each in known.items():
            if each.options["compiled"]:
                each.again(name, each.kind, {**each.options, "compiled": False})
        try:
            yield
        finally:
            for name, each in known.items():
                each.again(name, each.kind, each.options)
                _declared[name] = each


def called(names: Iterable[str]) -> str:
    """The algorithms of these names as messages name them, with the files that their classes are in."""
    # By their code, which knows its file in other processes too, where there is no such module.
    files = {name: _code_of(_declared[name].kind, "on_ack") for name in names}
    return listed(f"{name} ({Path(code.co_filename).name})" if code else name for name, code in files.items())


def own_lines(error: BaseException) -> str:
    """Traceback of an exception without the lines of this package and of its loaders and compilers."""
    from traceback import StackSummary, TracebackException

    told = TracebackException.from_exception(error)
    waiting: list[TracebackException | None] = [told]
    while waiting:
        if (each := waiting.pop()) is not None:
            each.stack = StackSummary.from_list([frame for frame in each.stack if not _is_ours(frame.filename)])
            waiting += [each.__cause__, each.__context__]
    return "".join(told.format())


def identity_of(names: Iterable[str]) -> Identity:
    """Content identity of the algorithms of these names together: 32 hexadecimal digits of each, spaces between."""
    from fullpipe.custom.identity import Identity

    found = {name: _declared[name].identity() for name in names}
    for name, each in found.items():
        if each.digest is None:
            return Identity(None, f"algorithm {quoted(name)}: {each.why}")
    return Identity(" ".join(each.digest or "" for each in found.values()))


def used_in(*values: object) -> list[str]:
    """Names of users' algorithms in the keys of a scenario, or in values for its keys."""
    if not _declared:
        return []
    found: set[str] = set()
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            found |= {value} & _declared.keys()
        elif isinstance(value, Mapping):
            waiting += value.values()
        elif isinstance(value, Sequence):
            waiting += value
    return sorted(found)


def of_library(names: Iterable[str]) -> bool:
    """Whether one of the algorithms of these names is a shared library, which may end its process."""
    return any(_declared[name].options["library"] is not None for name in names)


def carried(names: Iterable[str]) -> dict[str, bytes]:
    """Pickled algorithms by name, for `restore` in another process."""
    return {name: _data_of(name, _declared[name]) for name in names}


def restore(algorithms: Mapping[str, bytes]) -> None:
    """Declares algorithms that another process has sent, unless they are there already."""
    import pickle

    for name, data in algorithms.items():
        here = _declared.get(name)
        if here is None or here.data != data:
            kind, options, library, again = pickle.loads(data)
            again(name, kind, options)
            if _declared[name].library != library:
                del _declared[name]
                raise InputError(
                    f"algorithm {quoted(name)}: {options['library']} differs from the library of the scenario"
                )
            _declared[name].data = data


def _code_of(kind: type, method: str) -> CodeType | None:
    """The code of a class's method, or where that is this package's of any other that is the class's own."""
    codes = [getattr(value, "__code__", None) for part in kind.__mro__ for value in vars(part).values()]
    first = getattr(getattr(kind, method, None), "__code__", None)
    return next((code for code in (first, *codes) if code is not None and not _is_ours(code.co_filename)), None)


def _is_ours(file: str) -> bool:
    return file.startswith(("<frozen importlib", str(Path(__file__).parents[1]) + os.sep))


def _data_of(name: str, known: Declared) -> bytes:
    # One thread at a time: cloudpickle has one list of modules to pickle by value for all threads.
    with _sending:
        now = known.identity()
        if known.data is None or known.data_of != now or now.digest is None:
            known.data, known.data_of = _pickled(name, known, now), now
        return known.data


def _pickled(name: str, known: Declared, now: Identity) -> bytes:
    """The class by value: the other process need not have the files that the class is in or imports."""
    own = known.kind.__module__
    try:
        return _pickled_with({own, *now.modules}, known)
    except Exception:  # a module may hold anything; one that stays behind is imported there
        pass
    try:
        return _pickled_with({own}, known)
    except Exception as error:  # whatever the class refers to may refuse
        raise InputError(f"algorithm {quoted(name)}: it can't be sent to another process: {error}") from None


def _pickled_with(names: Iterable[str], known: Declared) -> bytes:
    import cloudpickle

    modules = [sys.modules[name] for name in names if name in sys.modules and name not in ("__main__", "builtins")]
    with ExitStack() as stack:
        for module in modules:
            cloudpickle.register_pickle_by_value(module)
            stack.callback(cloudpickle.unregister_pickle_by_value, module)
        data: bytes = cloudpickle.dumps((known.kind, known.options, known.library, known.again))
    return data
