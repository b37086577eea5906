"""Algorithms of users: a class becomes an algorithm that scenarios can name.

>>> import math
>>> import fullpipe
>>> @fullpipe.algorithm("half-aimd")
... class HalfAimd(fullpipe.Classic):
...     alpha: float = 0.5
...
...     def increase(self, w, flow, ack):
...         return self.alpha / w
...
...     def decrease(self, w, flow, signal):
...         return w / 2
>>> fullpipe.algorithms()["half-aimd"].params[0].default
0.5
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Sequence
from inspect import get_annotations
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, TypeVar

from fullpipe import _core
from fullpipe._util.plain import Tree
from fullpipe._util.text import listed, quoted, unknown
from fullpipe.custom.bbr3 import Bbr3
from fullpipe.custom.classic import Classic
from fullpipe.custom.declared import remember
from fullpipe.errors import InputError

if TYPE_CHECKING:
    from fullpipe.custom.compiled import Plug

__all__ = ["GROUPS", "LIKE", "algorithm", "one_of", "params_of", "title_of"]

Kind = TypeVar("Kind", bound=type)
GROUPS = ("loss", "delay", "both", "model", "ECN")
"""Congestion signals of algorithms."""

STATE = ("cwnd", "ssthresh", "pacing_rate")
"""Fields that control the sender; every class has the first two."""


CLASSIC = ("increase", "decrease")
"""Methods that `Classic` calls."""

LIKE = 0.8
"""How like such a method's name another one is that is a slip of the pen, the least ratio of `difflib`: on_recovery has
0.87 of on_recovered, on_acked 0.86 of on_ack; increment has 0.71 of increase, on_loss 0.86 of on_lost.
"""


def algorithm(
    name: str,
    *,
    recovery: str = "sack",
    paper: str = "",
    group: str = "loss",
    ecn: str | None = None,
    rate_samples: bool = False,
    prr: bool = True,
    inspect: Sequence[str] = (),
    compiled: bool = False,
    library: str | os.PathLike[str] | None = None,
) -> Callable[[Kind], Kind]:
    """Decorator that registers a class as an algorithm, so that scenarios can name it.

    Required fields: ``cwnd`` and ``ssthresh``, in segments. A scenario's ``initial_window`` replaces the default of
    ``cwnd``. Optional field: ``pacing_rate`` in segments per second, which paces the flow.

    Required methods: ``on_ack(self, flow, ack)`` and ``on_congestion(self, flow, signal)``.

    Optional methods: ``on_start(self, start)``; ``on_round(self, flow)``, once a round trip before ``on_ack``;
    ``on_recovered(self, flow)``; ``on_undo(self, cwnd, ssthresh)`` after a spurious reduction, with the values before
    the reduction (by default, both fields return to at least these values); ``on_sent(self, flow, sent)`` and
    ``on_lost(self, flow, lost)`` for each packet (`fullpipe._core.Sent`, `fullpipe._core.Lost`: bytes and nanoseconds);
    ``on_end(self)``, the last call.

    A class that derives from `fullpipe.Bbr3` needs none of these: it changes rules of the built-in algorithm.

    Each other annotated field with a number or a flag as its default is a parameter that a scenario can set. Fields
    and methods with names that begin with an underscore are private to the class.

    Args:
        name: Name in scenarios, other than the built-in names. A later class with that name replaces an earlier one in
            scenarios made after it.
        recovery: Loss recovery of scenarios that do not set one.
        paper: Source of the algorithm, for example a paper or an RFC.
        group: Congestion signal: "loss", "delay", "both", "model" or "ECN".
        ecn: ECN mode of the algorithm, such as "accurate"; None if it responds to a mark as to a loss.
        rate_samples: Call ``on_ack`` for each ACK that delivers data, with `Ack.delivery_rate`.
        prr: Whether proportional rate reduction may set the window in fast recovery (RFC 9937), where the scenario has
            it; False for an algorithm whose own window holds there, such as one that models the path.
        inspect: Names of fields that the series of a run record.
        compiled: Compile the class with Numba (the extra ``compiled``), with identical results and several times the
            speed. Its fields must be numbers and flags, and Numba must support its methods: no ``super()``, no
            ``__init__``, no fields that the class does not declare.
        library: A shared library, relative to the file that names it. Its functions ``on_ack``, ``on_congestion``, ...
            (``include/fullpipe.h``) replace the class's methods. The class declares the fields of their
            state, in their order.

    Raises:
        InputError: The name is taken, or the class lacks a field or a method that the message names.
    """
    # Not Path.resolve, which raises RuntimeError where links form a loop.
    shared = None if library is None else os.path.realpath(_folder_of_caller() / library)
    options = {
        "recovery": recovery,
        "paper": paper,
        "group": group,
        "ecn": ecn,
        "rate_samples": rate_samples,
        "prr": prr,
        "inspect": inspect,
        "compiled": compiled,
        "library": shared,
    }

    def declare(kind: Kind) -> Kind:
        if isinstance(kind, type) and issubclass(kind, Bbr3):
            _declare_bbr3(kind, name, options)
            return kind
        _check(kind, name, inspect, methods=library is None)
        plug = _plug(kind, name, shared) if compiled or shared else None
        try:
            _core.declare(
                kind,
                name,
                paper=paper or title_of(kind),
                group=one_of(name, "group", group, GROUPS),
                recovery=recovery,
                own_slow_start=not issubclass(kind, Classic),
                ecn=None if ecn is None else (ecn, 0),
                rate_samples=rate_samples,
                prr=prr,
                params=params_of(kind, name),
                shown=list(inspect),
                plug=plug,
            )
        except ValueError as error:
            raise InputError(str(error)) from None
        remember(name, kind, options, plug.content if plug else "", _declare_again)
        return kind

    return declare


def _declare_bbr3(kind: type, name: str, options: Tree) -> None:
    """Declares the built-in BBRv3 with the rules of a class."""
    usual = {"recovery": "sack", "group": "loss", "ecn": None, "rate_samples": False, "inspect": (), "library": None}
    for option, value in usual.items():
        if options[option] != value:
            raise InputError(f"algorithm {quoted(name)}: {option} conflicts with fullpipe.Bbr3, which has its own")
    rules = set(_core.bbr3_methods())
    for method in dir(kind):
        if method[0] != "_" and method not in rules and callable(getattr(kind, method)):
            private = "for a method that only your class calls, begin its name with _"
            raise InputError(f"algorithm {quoted(name)}: {unknown('rule', method, sorted(rules))} ({private})")
    try:
        _core.declare_bbr3(
            kind,
            name,
            paper=options["paper"] or title_of(kind),
            params=params_of(kind, name),
            plug=_plug(kind, name, None) if options["compiled"] else None,
        )
    except ValueError as error:
        raise InputError(f"algorithm {quoted(name)}: {error}") from None
    remember(name, kind, options, "", _declare_again)


def _declare_again(name: str, kind: type, options: Tree) -> None:
    algorithm(name, **options)(kind)


def _folder_of_caller() -> Path:
    """Folder of the file that calls `algorithm`; the current one for code of no file, such as a notebook's cell."""
    file = sys._getframe(2).f_globals.get("__file__")
    return Path(file).parent if isinstance(file, str) else Path()


def _fields(kind: type) -> Tree:
    """The annotated fields of a class and their defaults, those of the classes it derives from first."""
    fields: Tree = {}
    for part in reversed(kind.__mro__):
        for name in get_annotations(part):
            if name in vars(part):
                fields[name] = vars(part)[name]
    return fields


def title_of(kind: type) -> str:
    """Source of a class that names none: the first line of its docstring, or its name."""
    return (kind.__doc__ or "").strip().partition("\n")[0] or kind.__qualname__


def params_of(kind: type, name: str) -> dict[str, float | bool]:
    """Parameters of a class and their defaults."""
    fields = {field: value for field, value in _fields(kind).items() if field not in STATE and field[0] != "_"}
    for field, value in fields.items():
        number = isinstance(value, int | float)
        if not number or not math.isfinite(value):
            private = "for a field that is not a parameter, begin its name with _"
            what = f"parameter {field} must be a number or a flag, got {value!r}; {private}"
            raise InputError(f"algorithm {quoted(name)}: {what}")
    return {field: value if isinstance(value, bool) else float(value) for field, value in fields.items()}


def _plug(kind: type, name: str, library: str | None) -> Plug:
    from fullpipe.custom.compiled import compile_class, load_library

    state = {field: float(getattr(kind, field)) for field in STATE if hasattr(kind, field)}
    params = params_of(kind, name)
    others = {field: params.get(field, value) for field, value in _fields(kind).items() if field not in STATE}
    fields = {**state, **others}
    if library is not None:
        return load_library(library, name, fields)
    asking = dict(zip((Classic.on_ack.__code__, Classic.on_congestion.__code__), CLASSIC, strict=True))
    return compile_class(kind, name, fields, asking)


def _check(kind: type, name: str, inspect: Sequence[str], *, methods: bool) -> None:
    """Refuses a class that could not run."""

    def wrong(what: str) -> InputError:
        return InputError(f"algorithm {quoted(name)}: {what}")

    if not isinstance(kind, type):
        raise wrong("@fullpipe.algorithm requires a class")
    for field in STATE[:2]:
        if not isinstance(getattr(kind, field, None), int | float):
            raise wrong(
                f"the class requires a number {field}, e.g. {field}: float = {2.0 if field == 'cwnd' else 'math.inf'}"
            )
    if methods and (slip := _misspelt(kind)):
        raise wrong(
            f'unknown method "{slip[0]}"; did you mean "{slip[1]}"? '
            "(for a method that only your class calls, begin its name with _)"
        )
    for method in ("on_ack", "on_congestion") if methods else ():
        if not callable(getattr(kind, method, None)):
            raise wrong(f"the class requires a method {method}")
    rate = getattr(kind, "pacing_rate", math.inf)
    if not isinstance(rate, int | float) or not rate > 0:
        raise wrong(
            f"pacing_rate must be above 0 segments/s, got {quoted(rate)} (math.inf until the class sets a rate)"
        )
    known = _fields(kind)
    for field in inspect:
        if field not in known or field in STATE:
            raise wrong(f"inspect: unknown field {quoted(field)} (allowed: {listed(sorted(set(known) - set(STATE)))})")


def _misspelt(kind: type) -> tuple[str, str] | None:
    """A method that is called like one that the sender calls, but for some letters, and that method; none where the
    class has that one too, or calls this one.
    """
    from difflib import get_close_matches

    from fullpipe.custom.compiled import CALLS

    own = {name: value for part in kind.__mro__ if part not in (Classic, object) for name, value in vars(part).items()}
    used: set[str] = set()
    waiting: list[object] = [getattr(value, "__code__", None) for value in own.values()]
    while waiting:
        if isinstance(code := waiting.pop(), CodeType):
            used.update(code.co_names)
            waiting += code.co_consts  # the functions inside it
    wanted = [name for name in (*CALLS, *(CLASSIC if issubclass(kind, Classic) else ())) if name not in own]
    for name, value in own.items():
        if name[0] != "_" and name not in (*CALLS, *CLASSIC, *used) and callable(value):
            for meant in get_close_matches(name.lower(), wanted, 1, LIKE):
                return name, meant
    return None


def one_of(name: str, what: str, value: str, allowed: Sequence[str]) -> str:
    """The value of a decorator's argument, if it is allowed."""
    if value not in allowed:
        raise InputError(f"algorithm {quoted(name)}: {unknown(what, value, allowed)}")
    return value
