"""Packet-level controllers: a class becomes an algorithm that hears of every packet, in bytes and nanoseconds.

>>> import fullpipe
>>> @fullpipe.packet_algorithm("packet-aimd")
... class Aimd:
...     window = 14720
...     recovery_end = 0
...
...     def on_packets_acked(self, path, acked, rtt):
...         if path.cwnd_limited and not path.in_recovery:
...             self.window += path.datagram * acked.bytes_total // self.window
...
...     def on_packets_lost(self, path, lost, persistent):
...         if lost.number_max >= self.recovery_end:
...             self.window = max(self.window // 2, 2 * path.datagram)
...             self.recovery_end = path.next_packet
...
...     def window_bytes(self):
...         return self.window
>>> fullpipe.algorithms()["packet-aimd"].recovery
'rack'
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import TypeVar

from fullpipe import _core
from fullpipe._util.plain import Tree
from fullpipe._util.text import listed, quoted
from fullpipe.custom.algorithm import GROUPS, LIKE, one_of, params_of, title_of
from fullpipe.custom.declared import remember
from fullpipe.errors import InputError

__all__ = ["packet_algorithm"]

Kind = TypeVar("Kind", bound=type)

REQUIRED, OPTIONAL = map(tuple, _core.packet_methods())
"""Methods that every class has, and methods that a class may have."""


def packet_algorithm(
    name: str,
    *,
    paper: str = "",
    group: str = "loss",
    ecn: str | None = None,
    inspect: Sequence[str] = (),
) -> Callable[[Kind], Kind]:
    """Makes a class a packet-level algorithm that scenarios can name, over QUIC and over TCP.

    The class has the methods ``window_bytes(self)``, ``on_packets_acked(self, path, acked, rtt)``, and
    ``on_packets_lost(self, path, lost, persistent)``. It may have ``on_start(self, start)``, the first call,
    ``on_packet_sent(self, path, packet)``, ``on_ecn_ce(self, path, count, largest)`` (without it a mark is a loss),
    ``on_spurious_loss(self, path, arrived, all)``, ``on_pto(self, path, count)``, ``on_app_limited(self, path)``,
    ``on_restart(self, path)``, ``on_mtu(self, path, max_datagram_bytes)``, ``on_discarded(self, path, bytes)``,
    ``on_ack_frequency(self, path, threshold, max_ack_delay)``,
    ``pacing_rate_bytes_per_s(self)``, ``send_quantum_bytes(self)``, ``marks_app_limited(self)``, ``ect(self)``,
    ``ssthresh_bytes(self)``, and ``state(self)``. Sizes are bytes and times nanoseconds. Annotated fields whose default
    is a number or a flag are parameters that a scenario can set.

    Args:
        name: Name in scenarios; no built-in algorithm's name. A later class of that name replaces an earlier one.
        paper: Source.
        group: Congestion signal: "loss", "delay", "both", "model" or "ECN".
        ecn: ECN mode of the algorithm, such as "accurate"; None if it responds to a mark as to a loss. With the method
            ``ect``, "accurate" is the default.
        inspect: Fields that the series have, by their names.

    Raises:
        InputError: The name is taken, or the class lacks a method that the message names.
    """
    options: dict[str, object] = {"paper": paper, "group": group, "ecn": ecn, "inspect": inspect}

    def declare(kind: Kind) -> Kind:
        _check(kind, name, inspect)
        try:
            _core.declare_packets(
                kind,
                name,
                paper=paper or title_of(kind),
                group=one_of(name, "group", group, GROUPS),
                ecn=_ecn(kind, name, ecn),
                params=params_of(kind, name),
                shown=list(inspect),
            )
        except ValueError as error:
            raise InputError(str(error)) from None
        remember(name, kind, {**options, "compiled": False, "library": None}, "", _declare_again)
        return kind

    return declare


def _declare_again(name: str, kind: type, options: Tree) -> None:
    given = ("paper", "group", "ecn", "inspect")
    packet_algorithm(name, **{key: options[key] for key in given})(kind)


def _ecn(kind: type, name: str, mode: str | None) -> tuple[str, int] | None:
    """ECN mode and codepoint. The method ``ect`` is called once, with default parameters."""
    ect = kind().ect() if callable(getattr(kind, "ect", None)) else None
    if ect not in (None, 0, 1):
        raise InputError(f"algorithm {quoted(name)}: ect must return None, 0, or 1, got {ect!r}")
    return None if mode is None and ect is None else (mode or "accurate", int(ect or 0))


def _check(kind: type, name: str, inspect: Sequence[str]) -> None:
    """Refuses a class that could not run."""

    def wrong(what: str) -> InputError:
        return InputError(f"algorithm {quoted(name)}: {what}")

    if not isinstance(kind, type):
        raise wrong("@fullpipe.packet_algorithm requires a class")
    methods = {
        field for part in kind.__mro__ if part is not object for field, value in vars(part).items() if callable(value)
    }
    known = (*REQUIRED, *OPTIONAL)
    for method in sorted(methods):
        meant = get_close_matches(method, [each for each in known if each not in methods], 1, LIKE)
        if method[0] != "_" and method not in known and meant:
            raise wrong(f'unknown method "{method}"; did you mean "{meant[0]}"?')
    missing = [method for method in REQUIRED if not callable(getattr(kind, method, None))]
    if missing:
        raise wrong(f"the class has no method {missing[0]} (required: {listed(list(REQUIRED))})")
    if "phase" in inspect and callable(getattr(kind, "state", None)):
        raise wrong('inspect = ["phase"] conflicts with the method state, which shows that series')
    for field in inspect:
        if not hasattr(kind, field):
            raise wrong(f"inspect: the class has no field {quoted(field)}")
