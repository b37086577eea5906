"""Recommendations to an operator: the queue to configure, its cost, its certainty, and the assumptions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from fullpipe._util.plain import Table
from fullpipe.linux import queues
from fullpipe.scenario.quantity import Quantity

__all__ = ["ABOUT_TC", "LOSS_LIMIT", "Buffer", "Recommendation", "joined", "tc_line"]

LOSS_LIMIT = 0.01
"""Loss rate of a link above which a recommendation has a warning."""

ABOUT_TC = (
    "The tc command needs an interface with the rate of the link, because packets must wait there. Its limit leaves "
    "out the packet in transmission."
)
"""Sentences about `Recommendation.tc`, for the assumptions."""

INTERFACE = "IFACE"
"""Place of the interface in a line for tc."""


@dataclass(frozen=True)
class Buffer:
    """A limit of a queue in the units that vendors use.

    Attributes:
        packets: Full packets, the one in transmission included.
        bytes: Bytes of these packets.
        seconds: Time of these packets on the link; None for a link whose rate follows a trace.
    """

    packets: int
    bytes: int
    seconds: float | None

    @classmethod
    def of(cls, packets: int, packet_bytes: int, rate_bps: float) -> Buffer:
        """Buffer of a number of packets; a rate of 0 is unknown."""
        size = packets * packet_bytes
        return cls(packets, size, 8 * size / rate_bps if rate_bps else None)

    def __str__(self) -> str:
        time = "" if self.seconds is None else f"{1e3 * self.seconds:.1f} ms, "
        return f"{self.packets:,} packets ({time}{self.bytes:,} bytes)"


@dataclass(frozen=True)
class Recommendation:
    """Advice in sentences and as numbers.

    Attributes:
        case: Algorithm and target, or file, for example "newreno, target 0.98".
        action: The advice: "Use a buffer of 653 packets ...".
        queue: Name of the queueing discipline; None if nothing meets the target.
        buffer: Its limit; None if nothing meets the target.
        tc: Line for Linux, with ``IFACE`` for the interface; None if tc has no such queue.
        cost: Loss, delay, and flows that suffer.
        certainty: Confidence intervals of the answer.
        assumptions: Link and traffic of the runs.
        warnings: Reasons to doubt the answer.
        change: Metrics with the present queue and with the advised one; empty if there is no present queue.
    """

    case: str
    action: str
    queue: str | None
    buffer: Buffer | None
    tc: str | None
    cost: str
    certainty: str
    assumptions: str
    warnings: tuple[str, ...] = ()
    change: str = ""

    def lines(self) -> list[str]:
        """The recommendation as lines of text."""
        parts = {
            f"Recommendation ({self.case})": self.action,
            "Linux": self.tc,
            "Cost": self.cost,
            "Change from your queue": self.change,
            "Certainty": self.certainty,
            "Assumptions": self.assumptions,
        }
        said = [f"{name}: {text}" for name, text in parts.items() if text]
        return [*said, *(f"Warning: {text}" for text in self.warnings)]

    def text(self) -> str:
        """The recommendation as one text, a line per part, and an empty line after the last."""
        return "\n".join([*self.lines(), ""])

    def to_dict(self) -> dict[str, object]:
        """Plain values ready for JSON."""
        return {**asdict(self), "warnings": list(self.warnings)}


def tc_line(link: Table, packet_bytes: int) -> str | None:
    """Line for tc that configures the queue of a link; None if tc has no such queue.

    Times become whole microseconds, as tc takes them.

    Args:
        link: Link as a resolved scenario writes it.
        packet_bytes: Size of full packets.
    """
    queue = link["queue"]
    if isinstance(queue, Mapping):
        queue = {key: _whole_microseconds(value) for key, value in queue.items()}
    try:
        found = queues.advised(queue, queues.Line.of(link, packet_bytes))
    except queues.Refusal:
        return None
    return f"tc qdisc replace dev {INTERFACE} root {' '.join((found.kind, *_without_memory(found.words)))}"


def _without_memory(words: Sequence[str]) -> list[str]:
    """Words without the memory limit, which only a comparison with the simulator needs; the kernel's default suits."""
    if "memory_limit" not in words:
        return list(words)
    at = words.index("memory_limit")
    return [*words[:at], *words[at + 2 :]]


def joined(parts: Sequence[str]) -> str:
    """Parts of a sentence: "a", "a and b", "a, b, and c"."""
    if len(parts) < 3:
        return " and ".join(parts)
    return f"{', '.join(parts[:-1])}, and {parts[-1]}"


def _whole_microseconds(value: object) -> object:
    quantity = Quantity.parse(value)
    if quantity is None or quantity.base != "s":
        return value
    micros = 1e6 * quantity.value
    return value if abs(micros - round(micros)) < 1e-3 <= micros else f"{max(1, round(micros))} us"
