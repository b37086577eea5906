"""Classes compiled by Numba: their methods, as functions that the engine calls without the interpreter.

An object is a record of the fields of the class. The compiled methods get the structs of ``include/fullpipe.h``.
Results equal those of the interpreter bit for bit, because no arithmetic is reordered.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any

from fullpipe._core import bbr3_methods
from fullpipe._util.plain import Table, Tree
from fullpipe._util.text import hint, one_line, quoted
from fullpipe.custom.bbr3 import Bbr3
from fullpipe.custom.loading import load_shared
from fullpipe.errors import InputError

if TYPE_CHECKING:
    import numpy as np

__all__ = ["HEADER", "Plug", "compile_class", "load_library"]

HEADER = Path(__file__).parents[1] / "include" / "fullpipe.h"
"""The structs in C."""

FLOW = [
    *((name, "f8") for name in ("now_s", "srtt_s", "min_rtt_s")),
    *((name, "i8") for name in ("delivered", "lost", "flight_size", "in_flight", "round")),
    *((name, "?") for name in ("in_recovery", "cwnd_limited", "app_limited")),
]
ACK = [
    *((name, "f8") for name in ("credit", "rtt_s", "forward_delay_s", "backward_delay_s", "delivery_rate")),
    *((name, "i8") for name in ("acked", "newly_lost", "ce")),
    *((name, "?") for name in ("round_start", "is_app_limited")),
]
SENT = [
    *((name, "i8") for name in ("number", "bytes", "sent_at", "in_flight", "delivered", "lost")),
    *((name, "i8") for name in ("delivered_at", "first_sent_at")),
    *((name, "?") for name in ("app_limited", "is_probe")),
    *((name, "u1") for name in ("ecn", "_0", "_1", "_2", "_3", "_4")),
]
LOST = [*SENT, ("by", "u1"), *((name, "i8") for name in ("lost_since_sent", "delivered_since_sent"))]
START = [("window", "f8"), ("rtt_s", "f8"), ("seed", "i8"), ("segment_bytes", "i8"), ("paced", "?")]
"""The structs of the header, field by field."""

CALLS: dict[str, tuple[str, ...]] = {
    "on_start": ("start",),
    "on_ack": ("flow", "ack"),
    "on_congestion": ("flow", "signal"),
    "on_round": ("flow",),
    "on_recovered": ("flow",),
    "on_undo": ("cwnd", "ssthresh"),
    "on_sent": ("flow", "sent"),
    "on_lost": ("flow", "lost"),
    "on_end": (),
}
"""Arguments of each method."""

RULES = {name: "int(argument)" if name == "pacing_gain" else "argument" for name in bbr3_methods()}
"""Argument of each rule of `fullpipe.Bbr3`, a method with one number and one value."""

PLAIN = ("signal", "cwnd", "ssthresh")
"""Arguments that are numbers; others are structs."""


@dataclass(frozen=True)
class Plug:
    """Compiled functions, and the record that they work on.

    Attributes:
        state: Bytes of an object before a connection begins.
        fields: Offset of each field in the record, and whether the field is a flag (a byte) or a number (8 bytes).
        calls: Addresses of the functions, by the names of the methods.
        keep: Objects that must live as long as the functions may be called.
        content: Digests of a library's bytes, and of those it is linked to; empty without one.
    """

    state: bytes
    fields: dict[str, tuple[int, bool]]
    calls: dict[str, int]
    keep: Any
    content: str = ""


def compile_class(kind: type, name: str, fields: Table, asking: Mapping[CodeType, str] | None = None) -> Plug:
    """Compiles a class.

    Args:
        kind: The class.
        name: Name of the class in messages.
        fields: Fields and their defaults, in the order of the record: numbers and flags.
        asking: Code outside the class, and the method whose value it takes; errors there name the method.

    Raises:
        InputError: Numba is not there, or can't compile it; its reason is in the message.
    """
    try:
        import numpy as np
        from numba import carray, cfunc, types
        from numba.core.errors import NumbaError
        from numba.np.numpy_support import from_dtype
    except ImportError:
        raise InputError(
            f'algorithm {quoted(name)}: compiled = True requires Numba: pip install "fullpipe[compiled]"'
        ) from None
    state, places = _state_of(fields)
    records = {
        key: _record(key, from_dtype(np.dtype(struct, align=True)), {})
        for key, struct in (("flow", FLOW), ("ack", ACK), ("start", START), ("sent", SENT), ("lost", LOST))
    }
    methods = {
        method: getattr(kind, method) for method in dir(kind) if method[:2] != "__" and callable(getattr(kind, method))
    }
    own = _record(kind.__name__, from_dtype(state.dtype), methods)

    def entry(method: str) -> Any:
        if issubclass(kind, Bbr3):
            signature = types.int32(types.CPointer(own), types.float64, types.CPointer(types.float64))
            return cfunc(signature)(_rule_entry(method, carray))
        told = CALLS[method]
        numbers = {"signal": types.int64, "cwnd": types.float64, "ssthresh": types.float64}
        arguments = [numbers[what] if what in PLAIN else types.CPointer(records[what]) for what in told]
        signature = types.int32(types.CPointer(own), *arguments)
        return cfunc(signature)(_entry(method, told, carray))

    try:
        called = RULES if issubclass(kind, Bbr3) else CALLS
        entries = {method: entry(method) for method in called if method in methods}
    except Exception as error:  # Numba raises its own, and what its parts stumble over
        why = (
            _reason(str(error), kind, asking or {})
            if isinstance(error, NumbaError)
            else f"{type(error).__name__}: {error}"
        )
        raise InputError(f"algorithm {quoted(name)}: Numba can't compile it: {one_line(why)}") from None
    return Plug(state.tobytes(), places, {method: made.address for method, made in entries.items()}, (entries, own))


def load_library(library: str, name: str, fields: Table) -> Plug:
    """The functions of a shared library.

    Args:
        library: Its file.
        name: As for `compile_class`.
        fields: As for `compile_class`; its functions' state is a struct of them, a double, an int64_t or a bool each.

    Raises:
        InputError: It can't be loaded, or lacks a function.
    """
    import ctypes

    loaded, content = load_shared(library, f"algorithm {quoted(name)}: {library}")
    functions = {method: getattr(loaded, method, None) for method in CALLS}
    calls = {
        method: ctypes.cast(function, ctypes.c_void_p).value or 0 for method, function in functions.items() if function
    }
    for method in ("on_ack", "on_congestion"):
        if method not in calls:
            raise InputError(f"algorithm {quoted(name)}: {library} has no function {method}")
    state, places = _state_of(fields)
    return Plug(state.tobytes(), places, calls, loaded, content)


def _state_of(fields: Table) -> tuple[np.ndarray[Any, Any], dict[str, tuple[int, bool]]]:
    """An object's bytes as an array of one, and where its fields are."""
    import numpy as np

    kinds = {bool: "?", int: "i8"}
    dtype = np.dtype([(field, kinds.get(type(value), "f8")) for field, value in fields.items()], align=True)
    places = {field: (dtype.fields[field][1], dtype[field].kind == "b") for field in fields}  # type: ignore[index]
    return np.array([tuple(fields.values())], dtype=dtype), places


def _record(name: str, plain: Any, methods: Mapping[str, Callable[..., Any]]) -> Any:
    """A record type with methods; messages call it by its name."""
    from numba import types
    from numba.core.datamodel import models
    from numba.core.errors import TypingError
    from numba.extending import overload_method, register_model

    class Own(types.Record):  # type: ignore[misc]
        def __init__(self) -> None:
            keys = ("type", "offset", "alignment", "title")
            fields = [(name, {key: getattr(field, key) for key in keys}) for name, field in plain.fields.items()]
            super().__init__(fields, plain.size, plain.aligned)
            self.name = f"{name} at {id(methods):#x}"

        def typeof(self, key: str) -> Any:
            if key not in self.fields:
                raise TypingError(f"{name} has no field {quoted(key)}{hint(key, self.fields)}")
            return super().typeof(key)

    register_model(Own)(models.RecordModel)
    for method, function in methods.items():
        overload_method(Own, method, strict=False)(_giver(function))  # strict: annotations too must be equal
    return Own()


def _giver(function: Callable[..., Any]) -> Callable[..., Any]:
    """Function with the parameters of a method that returns the method: Numba compiles that one for each call. With
    another signature, such as ``*arguments``, Numba would need a second function that calls the first.
    """
    nothing, given = inspect.Parameter.empty, inspect.signature(function).parameters.values()
    parameters = inspect.Signature([each.replace(annotation=nothing, default=nothing) for each in given])
    found: Tree = {"function": function}
    exec(f"def giver{parameters}: return function", found)
    giver: Callable[..., Any] = found["giver"]
    giver.__defaults__ = function.__defaults__
    return giver


def _entry(method: str, told: tuple[str, ...], carray: Any) -> Callable[..., int]:
    """Function for the engine; it returns 0 if the method raises."""
    # By text: Numba compiles no function whose method's name is a value.
    arguments = ", ".join(what if what in PLAIN else f"carray({what}, 1)[0]" for what in told)
    return _function(("state", *told), f"carray(state, 1)[0].{method}({arguments})", carray)


def _rule_entry(method: str, carray: Any) -> Callable[..., int]:
    """Function for the engine that writes the value of a rule; it returns 0 if the method raises."""
    call = f"carray(value, 1)[0] = carray(state, 1)[0].{method}({RULES[method]})"
    return _function(("state", "argument", "value"), call, carray)


def _function(arguments: tuple[str, ...], call: str, carray: Any) -> Callable[..., int]:
    code = f"def entry({', '.join(arguments)}):\n try:\n  {call}\n except Exception:\n  return 0\n return 1\n"
    space: Tree = {"carray": carray}
    exec(code, space)
    made: Callable[..., int] = space["entry"]
    return made


def _reason(told: str, kind: type, asking: Mapping[CodeType, str]) -> str:
    """The reason in Numba's message, and the line of the class.

    Numba lists nested calls from the innermost; each ends with its place.
    """
    lines = [line.strip(" -") for line in told.splitlines() if line.strip(" -")]
    begun = max((i for i, line in enumerate(lines) if "Failed in nopython mode" in line), default=-1)
    why, *after = [line for line in lines[begun + 1 :] if not line.startswith("Resolution failure")] or [told]
    if why.startswith("No implementation of function"):
        call = next((line.removeprefix(">>> ") for line in after if line.startswith(">>> ")), why)
        why = f"it knows no {call}"
    for line in after:
        place = re.fullmatch(r"During: typing of .* at (.+) \((\d+)\)", line)
        where = _line_of(kind, asking, place[1], int(place[2])) if place else None
        # For an unknown name the message has only the method.
        if method := re.match(r"During: resolving callee type: BoundFunction\(\(.*'(\w+)'\) for ", line):
            where = _first_line(kind, method[1])
        if where is not None:
            return f"{where}: {why}"
    return why


def _line_of(kind: type, asking: Mapping[CodeType, str], file: str, line: int) -> str | None:
    """A line of the class for messages; no line of the code that calls the methods for the engine."""
    if file == "<string>" or file == __file__:
        return None
    for code, method in asking.items():
        if file == code.co_filename and line in {at for *_, at in code.co_lines()}:
            return f"{_first_line(kind, method)}: what {method} returns"
    return f"{Path(file).name}:{line}"


def _first_line(kind: type, method: str) -> str | None:
    code = getattr(getattr(kind, method, None), "__code__", None)
    return code and f"{Path(code.co_filename).name}:{code.co_firstlineno}"
