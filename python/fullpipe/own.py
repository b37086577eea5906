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

import hashlib
import math
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from dataclasses import field as with_default
from enum import IntEnum
from inspect import get_annotations
from pathlib import Path
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from fullpipe import _core
from fullpipe._util.inputs import MOST_CODE_BYTES, FileError, read_bytes
from fullpipe._util.plain import Tree
from fullpipe._util.text import listed, quoted, unknown
from fullpipe.errors import AlgorithmError, InputError

if TYPE_CHECKING:
    from fullpipe.compiled import Plug
    from fullpipe.identity import Identity

__all__ = [
    "Classic",
    "LostBy",
    "Signal",
    "algorithm",
    "called",
    "carried",
    "declared_in",
    "identity_of",
    "interpreted",
    "load_file",
    "names_of",
    "of_library",
    "one_of",
    "own_lines",
    "params_of",
    "remember",
    "restore",
    "used_in",
]

Kind = TypeVar("Kind", bound=type)
Again: TypeAlias = Callable[[str, type, Tree], None]

STATE = ("cwnd", "ssthresh", "pacing_rate")
"""Fields that control the sender; every class has the first two."""


CLASSIC = ("increase", "decrease")
"""Methods that `Classic` calls."""

LIKE = 0.8
"""How like such a method's name another one is that is a slip of the pen, the least ratio of `difflib`: on_recovery has
0.87 of on_recovered, on_acked 0.86 of on_ack; increment has 0.71 of increase, on_loss 0.86 of on_lost.
"""


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
        from fullpipe.identity import identify

        return identify(self.kind, {**self.options, "library": self.library}, self.files)


_lock = threading.Lock()

_sending = threading.Lock()

_declared: dict[str, Declared] = {}
"""The classes by their algorithms' names."""


class Signal(IntEnum):
    """Congestion signal, one call per episode."""

    LOSS = 0
    """Duplicate ACKs or SACK show a loss; fast recovery begins."""
    ECN = 1
    """The network marked a packet (RFC 3168)."""
    TIMEOUT = 2
    """The retransmission timer expired (RFC 6298): slow start runs again from one segment."""


class LostBy(IntEnum):
    """Rule that found a loss (`fullpipe._core.Lost.by`)."""

    PACKET_THRESHOLD = 0
    """Later packets had arrived: duplicate ACKs (RFC 5681) or SACK (RFC 6675)."""
    TIME_THRESHOLD = 1
    """Time had passed: RACK (RFC 8985), Vegas' fine-grained timer, or the retransmission timer."""


class Classic:
    """Slow start, congestion avoidance and backoff of RFC 5681, as the built-in algorithms that answer to losses have
    them, around a user's increase and decrease.

    A subclass defines `increase` and `decrease`, and may override more. Windows are segments.
    """

    cwnd: float = 2.0
    ssthresh: float = math.inf

    def increase(self, w: float, flow: _core.Flow, ack: _core.Ack) -> float:
        """Congestion avoidance: increase of a window of ``w`` segments per ACK, before the ACK's credit."""
        raise NotImplementedError("increase")

    def decrease(self, w: float, flow: _core.Flow, signal: Signal) -> float:
        """The window after congestion that found it at ``w``; at least 2 segments are left."""
        raise NotImplementedError("decrease")

    def on_ack(self, flow: _core.Flow, ack: _core.Ack) -> None:
        """Slow start below ssthresh (equation 2), `increase` above; neither in recovery, nor where something other than
        the window limits the sender (RFC 7661 section 4.1).
        """
        credit = ack.credit
        if credit == 0.0 or flow.in_recovery or not flow.cwnd_limited:
            return
        cwnd = self.cwnd
        if cwnd < self.ssthresh:
            self.cwnd = cwnd + credit
        else:
            added = self.increase(cwnd, flow, ack)
            if added is None:
                raise TypeError("increase returns None; allowed: a number of segments")
            self.cwnd = cwnd + credit * added

    def on_congestion(self, flow: _core.Flow, signal: Signal) -> None:
        """`decrease`, at least 2 segments (equation 4); a mark leaves 1 at least, a timeout 1."""
        w = self.cwnd if flow.cwnd_limited else min(self.cwnd, float(flow.flight_size))
        kept = self.decrease(w, flow, signal)
        if kept is None:
            raise TypeError("decrease returns None; allowed: a number of segments")
        self.ssthresh = max(kept, 2.0)
        if signal == Signal.LOSS:
            self.cwnd = self.ssthresh
        elif signal == Signal.ECN:
            self.cwnd = max(kept, 1.0)
        else:
            self.cwnd = 1.0


def algorithm(
    name: str,
    *,
    recovery: str = "sack",
    paper: str = "",
    group: str = "loss",
    ecn: str | None = None,
    rate_samples: bool = False,
    inspect: Sequence[str] = (),
    compiled: bool = False,
    library: str | os.PathLike[str] | None = None,
) -> Callable[[Kind], Kind]:
    """Makes a class an algorithm that scenarios can name, in this process and in all that get such a scenario.

    The class has the fields ``cwnd`` and ``ssthresh`` (segments; a scenario's ``initial_window`` takes the place of the
    former), may have ``pacing_rate`` (segments a second, which paces the flow), and has the methods ``on_ack(self,
    flow, ack)`` and ``on_congestion(self, flow, signal)``; it may have ``on_start(self, start)``, ``on_round(self,
    flow)``, called once a round trip before ``on_ack``, ``on_recovered(self, flow)``, ``on_undo(self, cwnd, ssthresh)``
    for a spurious reduction (segments before it; without the method both are at least that again), ``on_sent(self,
    flow, sent)`` and ``on_lost(self, flow, lost)`` for every packet sent and lost (`fullpipe._core.Sent`,
    `fullpipe._core.Lost`: bytes and nanoseconds), and ``on_end(self)``, the last call. Its other fields that are
    annotated and have a number or a flag as their default are the parameters that a scenario can set; names that begin
    with an underscore are its own business.

    Args:
        name: As scenarios call it; no built-in algorithm's name. A later class of that name takes the place of an
            earlier one, for scenarios made from then on.
        recovery: The loss recovery where a scenario is silent.
        paper: Where it comes from.
        group: Congestion signal: "loss", "delay", "both", "model" or "ECN".
        ecn: ECN mode of the algorithm, such as "accurate"; None if it responds to a mark as to a loss.
        rate_samples: It hears of every ACK that delivers anything, with `Ack.delivery_rate`.
        inspect: Fields that the series are to have, by their names.
        compiled: Numba compiles it (the extra ``compiled``), to the same figures and several times as fast. Its fields
            must be numbers and flags, and Numba must support its methods: no ``super()``, no ``__init__``, no
            fields that the class does not declare.
        library: A shared library, relative to the file that names it. Its functions ``on_ack``, ``on_congestion``, ...
            (``include/fullpipe.h``) take the place of the class's methods. The class declares the fields of their
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
        "inspect": inspect,
        "compiled": compiled,
        "library": shared,
    }

    def declare(kind: Kind) -> Kind:
        from fullpipe.identity import file_digest

        _check(kind, name, inspect, methods=library is None)
        plug = _plug(kind, name, shared) if compiled or shared else None
        try:
            _core.declare(
                kind,
                name,
                paper=paper or (kind.__doc__ or "").strip().partition("\n")[0] or kind.__qualname__,
                group=one_of(name, "group", group, ("loss", "delay", "both", "model", "ECN")),
                recovery=recovery,
                own_slow_start=not issubclass(kind, Classic),
                ecn=None if ecn is None else (ecn, 0),
                rate_samples=rate_samples,
                params=params_of(kind, name),
                shown=list(inspect),
                plug=plug,
            )
        except ValueError as error:
            raise InputError(str(error)) from None
        libraries = (shared, *plug.linked) if shared and plug else ()
        remember(name, kind, options, " ".join(map(file_digest, libraries)), _declare_again)
        return kind

    return declare


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
    first = known.identity()
    if options["compiled"]:
        known.frozen = first
        with suppress(InputError):  # it cannot be sent, which is an error once that is asked for
            _data_of(name, known)
    from fullpipe.registry import algorithms

    algorithms.cache_clear()


def _declare_again(name: str, kind: type, options: Tree) -> None:
    algorithm(name, **options)(kind)


def _folder_of_caller() -> Path:
    """Folder of the file that calls `algorithm`; the current one for code of no file, such as a notebook's cell."""
    file = sys._getframe(2).f_globals.get("__file__")
    return Path(file).parent if isinstance(file, str) else Path()


def names_of(kind: type) -> list[str]:
    """Names that a class is declared by, the latest last."""
    return [name for name, known in _declared.items() if known.kind is kind]


def declared_in(module: ModuleType) -> dict[str, type]:
    """Classes of a module that are algorithms now, by name."""
    return {name: known.kind for name, known in _declared.items() if known.kind.__module__ == module.__name__}


def load_file(file: str) -> ModuleType:
    """Runs a file of Python code, once for each version of it.

    Raises:
        InputError: The file is missing or ends the program, or a declared class is no algorithm.
        AlgorithmError: It raises.
    """
    from importlib.util import module_from_spec, spec_from_file_location

    path = Path(os.path.realpath(file))
    try:
        content = read_bytes(path, MOST_CODE_BYTES)
    except FileError as error:
        raise FileError(file, error.why) from None
    name = "fullpipe_own_" + hashlib.sha256(str(path).encode() + content).hexdigest()[:12]
    if name not in sys.modules:
        _check_code(file, content)
        spec = spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            raise InputError(f"{file}: no Python code; allowed: a file whose name ends in .py")
        module = sys.modules[name] = module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except BaseException as error:
            del sys.modules[name]
            if isinstance(error, InputError):
                raise InputError(f"{file}: {error}") from None
            if isinstance(error, SystemExit):
                from traceback import extract_tb

                lines = [str(frame.lineno) for frame in extract_tb(error.__traceback__) if frame.filename == str(path)]
                place = ":".join([file, *lines[-1:]])
                raise InputError(f"{place}: it ends the program ({_said(error)}) while it is loaded") from None
            if not isinstance(error, Exception):
                raise
            raise AlgorithmError(f"{file}: {_said(error)}") from error
    return sys.modules[name]


def _check_code(file: str, content: bytes) -> None:
    """Refuses code that Python cannot compile.

    Raises:
        InputError: It can't; the message has the line.
    """
    try:
        compile(content, file, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as error:
        why, line = (error.msg, error.lineno) if isinstance(error, SyntaxError) else (str(error), None)
        place = f"{file}:{line}" if line else file
        raise InputError(f"{place}: is no Python code: {why or type(error).__name__}") from None


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
    from fullpipe.identity import Identity

    found = {name: _declared[name].identity() for name in names}
    for name, each in found.items():
        if each.digest is None:
            return Identity(None, f"algorithm {quoted(name)}: {each.why}")
    return Identity(" ".join(each.digest or "" for each in found.values()))


def used_in(*values: Any) -> list[str]:
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
                raise InputError(f"algorithm {quoted(name)}: {options['library']} is another library here")
            _declared[name].data = data


def _code_of(kind: type, method: str) -> CodeType | None:
    """The code of a class's method, or where that is this package's of any other that is the class's own."""
    codes = [getattr(value, "__code__", None) for part in kind.__mro__ for value in vars(part).values()]
    first = getattr(getattr(kind, method, None), "__code__", None)
    return next((code for code in (first, *codes) if code is not None and not _is_ours(code.co_filename)), None)


def _is_ours(file: str) -> bool:
    return file.startswith(("<frozen importlib", str(Path(__file__).parent) + os.sep))


def _said(error: BaseException) -> str:
    """Exception as one line of text."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


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


def _fields(kind: type) -> Tree:
    """The annotated fields of a class and their defaults, those of the classes it derives from first."""
    fields: Tree = {}
    for part in reversed(kind.__mro__):
        for name in get_annotations(part):
            if name in vars(part):
                fields[name] = vars(part)[name]
    return fields


def params_of(kind: type, name: str) -> dict[str, float | bool]:
    """Parameters of a class and their defaults."""
    fields = {field: value for field, value in _fields(kind).items() if field not in STATE and field[0] != "_"}
    for field, value in fields.items():
        number = isinstance(value, int | float)
        if not number or not math.isfinite(value):
            allowed = "numbers and flags, or a name that begins with _ for what is no parameter"
            raise InputError(f"algorithm {quoted(name)}: {field} = {value!r} is no parameter (allowed: {allowed})")
    return {field: value if isinstance(value, bool) else float(value) for field, value in fields.items()}


def _plug(kind: type, name: str, library: str | None) -> Plug:
    from fullpipe.compiled import compile_class, load_library

    state = {field: float(getattr(kind, field)) for field in STATE if hasattr(kind, field)}
    params = params_of(kind, name)
    others = {field: params.get(field, value) for field, value in _fields(kind).items() if field not in STATE}
    fields = {**state, **others}
    if library is not None:
        return load_library(library, name, fields)
    asking = dict(zip((Classic.on_ack.__code__, Classic.on_congestion.__code__), CLASSIC, strict=True))
    return compile_class(kind, name, fields, asking)


@contextmanager
def interpreted(names: Iterable[str]) -> Iterator[None]:
    """Algorithms of these names are run by the interpreter meanwhile, for scenarios made meanwhile."""
    with _lock:
        known = {name: _declared[name] for name in names}
        for name, each in known.items():
            if each.options["compiled"]:
                algorithm(name, **{**each.options, "compiled": False})(each.kind)
        try:
            yield
        finally:
            for name, each in known.items():
                each.again(name, each.kind, each.options)
                _declared[name] = each


def _check(kind: type, name: str, inspect: Sequence[str], *, methods: bool) -> None:
    """Refuses a class that could not run."""

    def wrong(what: str) -> InputError:
        return InputError(f"algorithm {quoted(name)}: {what}")

    if not isinstance(kind, type):
        raise wrong("what is declared is a class")
    for field in STATE[:2]:
        if not isinstance(getattr(kind, field, None), int | float):
            raise wrong(
                f"the class has no number {field}; write e.g. {field}: float = {2.0 if field == 'cwnd' else 'math.inf'}"
            )
    if methods and (slip := _misspelt(kind)):
        raise wrong(
            f"nothing calls the method {slip[0]}; did you mean {slip[1]}? "
            "(a name that begins with _ is the class's own)"
        )
    for method in ("on_ack", "on_congestion") if methods else ():
        if not callable(getattr(kind, method, None)):
            raise wrong(f"the class has no method {method}")
    rate = getattr(kind, "pacing_rate", math.inf)
    if not isinstance(rate, int | float) or not rate > 0:
        raise wrong(
            f"pacing_rate = {quoted(rate)}, with which nothing is ever sent (allowed: above 0, segments a second; "
            "math.inf for what is not paced yet)"
        )
    known = _fields(kind)
    for field in inspect:
        if field not in known or field in STATE:
            raise wrong(
                f"inspect: {quoted(field)} is none of its other fields ({listed(sorted(set(known) - set(STATE)))})"
            )


def _misspelt(kind: type) -> tuple[str, str] | None:
    """A method that is called like one that the sender calls, but for some letters, and that method; none where the
    class has that one too, or calls this one.
    """
    from difflib import get_close_matches

    from fullpipe.compiled import CALLS

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
