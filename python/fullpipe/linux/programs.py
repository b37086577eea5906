"""Congestion control of the kernel for each algorithm, and the translation of its parameters."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from fullpipe import _core
from fullpipe._util.plain import Table, Tree
from fullpipe._util.text import quoted
from fullpipe.errors import InputError
from fullpipe.linux.errors import LinuxError

__all__ = ["OBJECTS", "OURS", "Builtin", "Module", "Own", "Program", "builds_upon", "find", "named", "own"]

OBJECTS = Path(__file__).with_name("objects")
"""What `make` compiles: the eBPF programs and the guest's agent."""

ONE_Q20 = 1 << 20
MODULE = "tcp_"
"""Prefix of the names of the kernel's modules."""


@dataclass(frozen=True)
class Builtin:
    """Compiled into the kernel.

    Attributes:
        kernel_name: Name in the kernel.
        known, whole: Empty, because its parameters cannot be set.
        fixed: Values of its parameters in the kernel, where they are known.
    """

    kernel_name: str
    fixed: Table = field(default_factory=dict)
    known: frozenset[str] = frozenset()
    whole: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Module:
    """A module of the kernel.

    Attributes:
        kernel_name: Name in the kernel; the module is ``tcp_<kernel_name>``.
        translate: The module's parameters from the algorithm's.
        known: The algorithm's parameters that can be set.
        fixed: The values that others have in the kernel, where they can be stated.
        whole: Those of `known` that are whole numbers there.
        needs: The algorithm whose module it is built upon.
        counts_marks: Whether it has accurate ECN, as in RFC 8257, so that the receiver must run it too.
    """

    kernel_name: str
    translate: Callable[[Table], Mapping[str, int]] = lambda _: {}
    known: frozenset[str] = frozenset()
    fixed: Table = field(default_factory=dict)
    whole: frozenset[str] = frozenset()
    needs: str | None = None
    counts_marks: bool = False

    def settings(self, params: Table) -> list[str]:
        """The words behind the module's name when it is loaded."""
        return [f"{name}={value}" for name, value in self.translate(params).items()]


@dataclass(frozen=True)
class Program:
    """One of our eBPF programs.

    Attributes:
        kernel_name: As the kernel calls it.
        pack: The bytes of its ``params`` from the algorithm's parameters.
        known: The algorithm's parameters that can be set.
        fixed: The values that others have in the program.
        whole: Those of `known` that are whole numbers there.
    """

    kernel_name: str
    pack: Callable[[Table], bytes]
    known: frozenset[str]
    fixed: Table = field(default_factory=dict)
    whole: frozenset[str] = frozenset()

    def compiled(self, params: Table) -> bytes:
        """The object file with these parameters in it.

        Raises:
            LinuxError: The object was not built.
        """
        path = OBJECTS / f"{self.kernel_name}.bpf.o"
        try:
            image = path.read_bytes()
        except OSError:
            raise LinuxError(
                f"{path.name} is not built; `make linux-objects` compiles it with clang and libbpf-dev"
            ) from None
        content = self.pack(params)
        at = _symbol(image, b"params", len(content))
        return image[:at] + content + image[at + len(content) :]


@dataclass(frozen=True)
class Own:
    """The user's own object file.

    Attributes:
        name: As the simulator calls the algorithm.
        kernel_name: As the kernel calls it.
        content: The file, with its parameters in it.
    """

    name: str
    kernel_name: str
    content: bytes = field(repr=False)


def own(content: bytes, struct_ops: str | None = None, params: Table | None = None) -> Own:
    """An algorithm of an object file; its only one where `struct_ops` is None.

    Raises:
        InputError: The file is no such object, or it has no such algorithm or parameter.
    """
    try:
        return Own(*_core.kernel_object(content, struct_ops, params or {}))
    except ValueError as error:
        raise InputError(str(error)) from None


def find(algorithm: str) -> Builtin | Module | Program | None:
    """Program of the kernel for the algorithm; None if there is none. A name such as ``tcp_illinois`` always means the
    module of the kernel.
    """
    if not algorithm.startswith(MODULE):
        return _ALL.get(algorithm)
    kernel_name = algorithm.removeprefix(MODULE)
    same = _ALL.get(kernel_name)
    return Builtin(kernel_name) if isinstance(same, Builtin) else Module(kernel_name, _as_given)


def named(kernel_name: str) -> str | None:
    """Algorithm of a congestion control of the kernel; None if there is none. NewReno is that of ``reno``."""
    names = [name for name, program in _ALL.items() if program.kernel_name == kernel_name]
    return names[-1] if names else None


def builds_upon(algorithm: str) -> str | None:
    """The algorithm whose module has to be loaded before this one's."""
    chosen = find(algorithm)
    return chosen.needs if isinstance(chosen, Module) else None


def counts_marks(algorithm: str) -> bool:
    """Whether the kernel's algorithm has accurate ECN, and no other."""
    found = find(algorithm)
    return isinstance(found, Module) and found.counts_marks


def complete(algorithm: str, given: Table) -> Tree:
    """The parameters of the algorithm: defaults and given values.

    Raises:
        InputError: One is given that cannot be set in the kernel, or is not among the values that the algorithm allows.
    """
    if algorithm.startswith(MODULE):
        if given and isinstance(find(algorithm), Builtin):
            raise InputError(f"{algorithm} has no parameters in Linux: it is built into the kernel")
        return dict(given)
    chosen = _ALL[algorithm]
    info = next(info for info in _core.algorithms() if info["name"] == algorithm)
    params = {param["name"]: param for param in info["params"]}
    for name, value in given.items():
        if name in chosen.fixed and value != chosen.fixed[name]:
            raise InputError(f"parameter {name} of {algorithm} must be {chosen.fixed[name]} in Linux")
        if name not in chosen.known and name not in chosen.fixed:
            settable = ", ".join(sorted(chosen.known)) or "none"
            raise InputError(f"unknown parameter {quoted(name)} of {algorithm} in Linux (allowed: {settable})")
        if name in chosen.known and (allowed := _refusal(params[name], value, name in chosen.whole)):
            raise InputError(f"parameter {name} of {algorithm} must be {allowed} in Linux, got {value}")
    return {name: param["default"] for name, param in params.items()} | dict(given)


def _refusal(param: Table, value: object, whole: bool) -> str | None:
    """Allowed values by the registry, if `value` is not allowed."""
    if param["kind"] == "flag":
        return None if value in (True, False) else "true or false"
    least, most, unit = param["min"], param["max"], param["unit"]
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    if least <= number <= most and (not whole or number == int(number)):
        return None
    return f"{'a whole number ' * whole}in [{least:g}, {most:g}]{f' {unit}' if unit != '1' else ''}"


def _as_given(params: Table) -> Mapping[str, int]:
    return {name: int(value) for name, value in params.items() if name != "slow_start"}


def _vegas(params: Table) -> Mapping[str, int]:
    return {name: round(params[name]) for name in _VEGAS}


def _bic(params: Table) -> Mapping[str, int]:
    return {
        "max_increment": round(params["s_max"]),
        "low_window": round(params["low_window"]),
        "beta": round(1024 * (1 - params["beta"])),
        "fast_convergence": int(params["fast_convergence"]),
    }


def _htcp(params: Table) -> Mapping[str, int]:
    return {"use_rtt_scaling": int(params["rtt_scaling"]), "use_bandwidth_switch": int(params["adaptive_backoff"])}


def _dctcp(params: Table) -> Mapping[str, int]:
    return {"dctcp_alpha_on_init": round(1024 * params["first_alpha"])}


def _illinois(params: Table) -> Mapping[str, int]:
    return {name: round(params[name]) for name in _ILLINOIS}


def _hybla(params: Table) -> Mapping[str, int]:
    return {"rtt0": round(1000 * params["rtt_ref"])}


def _q20(names: tuple[str, ...], params: Table) -> bytes:
    return struct.pack(f"<{len(names)}I", *(round(params[name] * ONE_Q20) for name in names))


def _ehstcp(params: Table) -> bytes:
    return struct.pack("<3I", round(params["n_star"]), round(params["safety_rtts"]), int(params["cap_beta"]))


_AIMD, _HYUN_JANG, _EHSTCP = (
    ("beta_min", "beta_max", "fading"),
    ("a", "alpha", "beta"),
    ("n_star", "safety_rtts", "cap_beta"),
)

_VEGAS = frozenset(("alpha", "beta", "gamma"))
_HSTCP = {"low_window": 38, "high_window": 83_000, "high_p": 1e-7, "high_decrease": 0.1}
_RENO = {"whole_segments": True}
_CUBIC = {
    "c": 0.4,
    "beta": 0.7,
    "fast_convergence": True,
    "reno_friendly": True,
    "alpha_to_one": False,
    "whole_segments": True,
}
_SCALABLE = {"a": 0.01, "b": 0.125, "at_least_reno": True}
_ILLINOIS = frozenset(("win_thresh", "theta"))
_ILLINOIS_FIXED = {"alpha_min": 0.3, "alpha_max": 10, "beta_min": 0.125, "beta_max": 0.5}
_YEAH = {"alpha": 80, "gamma": 1, "delta": 3, "epsilon": 1, "phi": 8, "rho": 16, "zeta": 50}
_HTCP = {"delta_l": 1, "beta_min": 0.5, "beta_max": 0.8, "fading": 0.95, "throughput_change": 0.2, "rtt_ref": 0.1}

OURS: Mapping[str, Program] = {
    "adaptive-aimd": Program("adaptive_aimd", partial(_q20, _AIMD), frozenset(_AIMD), {"estimator": "rtt"}),
    "hyun-jang": Program("hyun_jang", partial(_q20, _HYUN_JANG), frozenset(_HYUN_JANG), {"lsrtt": "ewma"}),
    "ehstcp": Program("ehstcp", _ehstcp, frozenset(_EHSTCP), _HSTCP, frozenset(("n_star", "safety_rtts"))),
}

_ALL: Mapping[str, Builtin | Module | Program] = {
    "reno": Builtin("reno", _RENO),
    "newreno": Builtin("reno", _RENO),
    "cubic": Builtin("cubic", _CUBIC),
    "hstcp": Module("highspeed", fixed=_HSTCP),
    "scalable": Module("scalable", fixed=_SCALABLE),
    "vegas": Module("vegas", _vegas, _VEGAS, {"loss_cut": 0.5, "whole_segments": True}, _VEGAS),
    "bic": Module(
        "bic",
        _bic,
        frozenset(("s_max", "low_window", "beta", "fast_convergence")),
        {"divisor": 4, "search": "smooth", "s_min": 0.2},
        frozenset(("s_max", "low_window")),
    ),
    "htcp": Module("htcp", _htcp, frozenset(("rtt_scaling", "adaptive_backoff")), _HTCP),
    "dctcp": Module("dctcp", _dctcp, frozenset(("first_alpha",)), {"g": 1 / 16}, counts_marks=True),
    "westwood": Module("westwood", fixed={"memory": 0.875, "min_interval": 0.05, "halve_in_recovery": True}),
    "illinois": Module("illinois", _illinois, _ILLINOIS, _ILLINOIS_FIXED, _ILLINOIS),
    "veno": Module("veno", fixed={"beta": 3, "random_kept": 0.8}),
    "yeah": Module("yeah", fixed=_YEAH, needs="vegas"),
    "hybla": Module("hybla", _hybla, frozenset(("rtt_ref",))),
    "bbr": Module("bbr"),
    **OURS,
}


def _symbol(image: bytes, name: bytes, size: int) -> int:
    """Where the data of a symbol lies in an ELF file of 64 bits, little-endian (System V ABI, chapter 4)."""
    table_at, entry_size, count = struct.unpack_from("<Q", image, 0x28)[0], *struct.unpack_from("<2H", image, 0x3A)
    sections = [struct.unpack_from("<2I4Q2I2Q", image, table_at + i * entry_size) for i in range(count)]
    for _name, kind, _flags, _address, at, length, link, *_ in sections:
        if kind != 2:  # SHT_SYMTAB
            continue
        names_at = sections[link][4]
        for entry in range(at, at + length, 24):
            name_at, _info, _other, section, value, symbol_size = struct.unpack_from("<IBBHQQ", image, entry)
            if image[names_at + name_at :].startswith(name + b"\0") and symbol_size == size:
                return int(sections[section][4] + value)
    raise LinuxError(f"an eBPF object requires a variable {name.decode()} of {size} bytes; build it again")
