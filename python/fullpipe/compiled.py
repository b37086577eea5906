"""Classes compiled by Numba: their methods, as functions that the engine calls without the interpreter.

An object is a record of the class's fields, its methods are compiled as they stand, and what they are told are the
structs of ``include/fullpipe.h``. Figures are those of the interpreter to the last bit: no arithmetic is reordered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fullpipe.errors import InputError
from fullpipe.text import one_line, quoted

if TYPE_CHECKING:
    import numpy as np

__all__ = ["HEADER", "Plug", "compile_class", "load_library"]

HEADER = Path(__file__).parent / "include" / "fullpipe.h"
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
START = [("window", "f8"), ("rtt_s", "f8"), ("seed", "i8"), ("segment_bytes", "i8"), ("paced", "?")]
"""The structs of the header, field by field."""

CALLS: dict[str, tuple[str, ...]] = {
    "on_start": ("start",),
    "on_ack": ("flow", "ack"),
    "on_congestion": ("flow", "signal"),
    "on_round": ("flow",),
    "on_recovered": ("flow",),
}
"""What each method is told."""


@dataclass(frozen=True)
class Plug:
    """What the engine calls.

    Attributes:
        state: An object's bytes before a connection begins.
        fields: Where in it each field is, and whether that is a flag (of a byte) instead of a number (of 8 bytes).
        calls: The functions' addresses, by the methods' names.
        keep: What must live as long as they may be called.
    """

    state: bytes
    fields: dict[str, tuple[int, bool]]
    calls: dict[str, int]
    keep: Any


def compile_class(kind: type, name: str, fields: Mapping[str, Any]) -> Plug:
    """Compiles a class.

    Args:
        kind: The class.
        name: What messages call it.
        fields: Its fields and their defaults, in the order in which the record has them: numbers and flags.

    Raises:
        InputError: Numba is not there, or can't compile it; its reason is in the message.
    """
    try:
        import numpy as np
        from numba import carray, cfunc, njit, types
        from numba.core.errors import NumbaError
        from numba.np.numpy_support import from_dtype
    except ImportError:
        raise InputError(
            f'algorithm {quoted(name)}: compiled = True needs Numba: pip install "fullpipe[compiled]"'
        ) from None
    state, places = _state_of(fields)
    records = {
        key: from_dtype(np.dtype(struct, align=True))
        for key, struct in (("flow", FLOW), ("ack", ACK), ("start", START))
    }
    methods = {
        method: getattr(kind, method) for method in dir(kind) if method[:2] != "__" and callable(getattr(kind, method))
    }
    own = _record(kind, from_dtype(state.dtype), {method: njit(function) for method, function in methods.items()})

    def entry(method: str) -> Any:
        told = CALLS[method]
        arguments = [types.int64 if what == "signal" else types.CPointer(records[what]) for what in told]
        signature = types.int32(types.CPointer(own), *arguments)
        return cfunc(signature)(_entry(method, told, carray))

    try:
        entries = {method: entry(method) for method in CALLS if method in methods}
    except NumbaError as error:
        raise InputError(f"algorithm {quoted(name)}: Numba can't compile it: {one_line(_reason(error))}") from None
    return Plug(state.tobytes(), places, {method: made.address for method, made in entries.items()}, (entries, own))


def load_library(library: str, name: str, fields: Mapping[str, Any]) -> Plug:
    """The functions of a shared library.

    Args:
        library: Its file.
        name: As for `compile_class`.
        fields: As for `compile_class`; its functions' state is a struct of them, a double, an int64_t or a bool each.

    Raises:
        InputError: It can't be loaded, or lacks a function.
    """
    import ctypes

    try:
        loaded = ctypes.CDLL(library)
    except OSError as error:
        raise InputError(f"algorithm {quoted(name)}: {one_line(str(error))}") from None
    functions = {method: getattr(loaded, method, None) for method in CALLS}
    calls = {
        method: ctypes.cast(function, ctypes.c_void_p).value or 0 for method, function in functions.items() if function
    }
    for method in ("on_ack", "on_congestion"):
        if method not in calls:
            raise InputError(f"algorithm {quoted(name)}: {library} has no function {method}")
    state, places = _state_of(fields)
    return Plug(state.tobytes(), places, calls, loaded)


def _state_of(fields: Mapping[str, Any]) -> tuple[np.ndarray[Any, Any], dict[str, tuple[int, bool]]]:
    """An object's bytes as an array of one, and where its fields are."""
    import numpy as np

    kinds = {bool: "?", int: "i8"}
    dtype = np.dtype([(field, kinds.get(type(value), "f8")) for field, value in fields.items()], align=True)
    places = {field: (dtype.fields[field][1], dtype[field].kind == "b") for field in fields}  # type: ignore[index]
    return np.array([tuple(fields.values())], dtype=dtype), places


def _record(kind: type, plain: Any, methods: Mapping[str, Any]) -> Any:
    """A record type with methods."""
    from numba import types
    from numba.core.datamodel import models
    from numba.core.errors import TypingError
    from numba.extending import overload_method, register_model

    class Own(types.Record):  # type: ignore[misc]
        def __init__(self) -> None:
            keys = ("type", "offset", "alignment", "title")
            fields = [(name, {key: getattr(field, key) for key in keys}) for name, field in plain.fields.items()]
            super().__init__(fields, plain.size, plain.aligned)
            self.name = f"{kind.__module__}.{kind.__qualname__} at {id(methods):#x}"

        def typeof(self, key: str) -> Any:
            if key not in self.fields:
                raise TypingError(f"{kind.__name__} declares no field {key!r}")
            return super().typeof(key)

    register_model(Own)(models.RecordModel)
    for name, function in methods.items():

        def attach(name: str, function: Any) -> None:
            @overload_method(Own, name)  # type: ignore[untyped-decorator]
            def method(self: Any, *arguments: Any) -> Any:  # noqa: ARG001
                def call(self: Any, *arguments: Any) -> Any:
                    return function(self, *arguments)

                return call

        attach(name, function)
    return Own()


def _entry(method: str, told: tuple[str, ...], carray: Any) -> Callable[..., int]:
    """The function that the engine calls; 0 is what it returns where the method raises."""
    # By text: Numba compiles no function whose method's name is a value.
    arguments = ", ".join(what if what == "signal" else f"carray({what}, 1)[0]" for what in told)
    call = f"carray(state, 1)[0].{method}({arguments})"
    code = f"def entry(state, {', '.join(told)}):\n try:\n  {call}\n except Exception:\n  return 0\n return 1\n"
    space: dict[str, Any] = {"carray": carray}
    exec(code, space)
    made: Callable[..., int] = space["entry"]
    return made


def _reason(error: Exception) -> str:
    """The part of Numba's message that says what is wrong, and where in the class's file."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    wrong = [line for line in lines if "declares no field" in line] or lines[1:2] or lines
    places = [
        line for line in lines if line.startswith('File "') and "compiled.py" not in line and "<string>" not in line
    ]
    return " ".join([wrong[-1], *places[-1:]])
