"""Simulation step by step, with flows under outside control: the base of learning environments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fullpipe import _core
from fullpipe._util.text import quoted, unknown
from fullpipe.engine.memory import share_bytes
from fullpipe.errors import AlgorithmError, FullpipeError, InputError, MemoryLimitError, ScenarioError, check_range
from fullpipe.runs.result import Result
from fullpipe.scenario import Scenario, algorithm_name
from fullpipe.scenario.quantity import Quantity, read_quantity

if TYPE_CHECKING:
    import os

__all__ = [
    "EXTERNAL",
    "ExternalFlow",
    "Simulation",
    "Snapshot",
    "check_not_external",
    "is_external",
    "named_failures",
    "numbered",
    "packet_bits",
]

EXTERNAL = "external"
"""Algorithm of flows that a caller controls."""

MOST_CWND = 2.0**31 - 1
"""Greatest congestion window, packets."""


@dataclass(frozen=True, slots=True)
class ExternalFlow:
    """State of a flow under outside control, as its sender knows it.

    Attributes:
        cwnd_packets: Congestion window.
        pacing_rate_bps: Pacing rate, headers included; infinite without pacing.
        in_flight_packets: Packets thought to be in the network (RFC 6675's pipe).
        delivered_packets: Packets delivered since the start.
        lost_packets: Packets found lost since the start.
        marked_packets: CE marks reported since the start.
        congestions: Congestion episodes since the start.
        timeouts: Retransmission timeouts since the start.
        rtt_s: Last RTT sample, seconds; None before the first one.
        srtt_s: Smoothed RTT, seconds (RFC 6298).
        min_rtt_s: Least RTT, seconds.
        delivery_rate_bps: Last sample of the delivery rate (draft-ietf-ccwg-bbr, 4.1); None before the first one.
    """

    cwnd_packets: float
    pacing_rate_bps: float
    in_flight_packets: int
    delivered_packets: int
    lost_packets: int
    marked_packets: int
    congestions: int
    timeouts: int
    rtt_s: float | None
    srtt_s: float | None
    min_rtt_s: float | None
    delivery_rate_bps: float | None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """State of a simulation at a moment.

    Attributes:
        now_s: Simulated time, seconds.
        flows: Flows under outside control, by number.
        queue_packets: Packets in the queue of each link, the one that is being sent included.
        reverse_queue_packets: Packets in the queues of the other direction.
    """

    now_s: float
    flows: Mapping[int, ExternalFlow] = field(default_factory=dict)
    queue_packets: Mapping[str, int] = field(default_factory=dict)
    reverse_queue_packets: Mapping[str, int] = field(default_factory=dict)


class Simulation:
    """A run that advances step by step. Flows with ``algorithm = "external"`` have the congestion window and
    the pacing rate that `set` gives them. Any thread may use it, one at a time.

    The steps change no metric: a scenario without external flows has an equal result with `fullpipe.run`.

    >>> import fullpipe
    >>> scenario = fullpipe.Scenario(
    ...     duration="10 s",
    ...     links=[{"name": "l", "rate": "10 Mbit/s", "delay": "20 ms", "buffer": "1 BDP"}],
    ...     flows=[{"algorithm": "external"}],
    ... )
    >>> simulation = fullpipe.Simulation(scenario)
    >>> simulation.set(0, cwnd=20)
    >>> simulation.advance("2 s")
    >>> simulation.now
    2.0
    >>> simulation.snapshot().flows[0].cwnd_packets
    20.0

    Args:
        scenario: The scenario; also a TOML file's path, or a dictionary with its keys.
        seed: Seed in place of the scenario's own.
        memory: Memory that the simulator may hold, in bytes or as text such as ``"8 GB"``; None for half of the free
            memory.

    Raises:
        ScenarioError: The scenario or the seed is not allowed.
        MemoryLimitError: The scenario needs more memory than that.
    """

    def __init__(
        self,
        scenario: Scenario | str | os.PathLike[str] | Mapping[str, object],
        *,
        seed: int | None = None,
        memory: int | str | None = None,
    ) -> None:
        scenario = Scenario.of(scenario)
        if seed is not None:
            scenario = scenario.replace(seed=seed)
        self._scenario = scenario
        apart, self._external = numbered(scenario)
        self._links = [str(link["name"]) for link in scenario.to_dict()["links"]]
        self._packet_bits = packet_bits(scenario)
        with named_failures(scenario.file):
            self._steps = _core.Steps(apart.model, share_bytes(1, memory))

    @property
    def scenario(self) -> Scenario:
        """The scenario."""
        return self._scenario

    @property
    def external(self) -> tuple[int, ...]:
        """Numbers of the flows under outside control."""
        return self._external

    @property
    def now(self) -> float:
        """Simulated time reached, seconds."""
        return self._steps.now_ns / 1e9

    @property
    def is_over(self) -> bool:
        """Whether the end of the scenario is reached."""
        return self.now >= self._scenario.duration_s

    def advance(self, until: str | float) -> None:
        """Advances to a time, or to the end of the scenario if that comes first.

        Args:
            until: Simulated time from the start: seconds, or text such as ``"2 s"``.

        Raises:
            InputError: The time is before `now`, or is not a time.
            AlgorithmError: A custom algorithm has failed.
            KeyboardInterrupt: Ctrl-C was pressed.
        """
        until_s = read_quantity("until", until, "s", '"2 s"') if isinstance(until, str) else float(until)
        until_ns = round(until_s * 1e9) if 0 <= until_s < 1e9 else -1
        if until_ns < self._steps.now_ns:
            raise InputError(f"until must be in [{self.now:g} s, 1e9 s), got {until_s:g} s")
        self._step(until_ns)

    def set(self, flow: int, *, cwnd: float | None = None, pacing_rate: str | float | None = None) -> None:
        """Sets the window and the pacing rate of a flow. They hold from its next ACK, packet, or timer on.

        Args:
            flow: Number of the flow, from 0 in the order of the scenario.
            cwnd: Congestion window, packets, at least 1; None leaves it.
            pacing_rate: Pacing rate with headers: bit/s, or text such as ``"10 Mbit/s"``; infinity for no pacing. None
                leaves it.

        Raises:
            InputError: The flow is not external, or a value is not allowed.
        """
        if flow not in self._external:
            raise InputError(unknown("external flow", flow, self._external))
        if cwnd is not None:
            check_range("cwnd", cwnd, 1, MOST_CWND, "packets")
        rate = None
        if pacing_rate is not None:
            text = isinstance(pacing_rate, str)
            bps = read_quantity("pacing_rate", str(pacing_rate), "bit/s", '"10 Mbit/s"') if text else float(pacing_rate)
            if not bps > 0:
                raise InputError(f"pacing_rate must be above 0 bit/s, got {bps:g}")
            rate = min(bps / self._packet_bits, 1e12)
        self._steps.set(flow, None if cwnd is None else float(cwnd), rate)

    def snapshot(self) -> Snapshot:
        """State of the external flows and of the queues now."""
        state = self._steps.snapshot()
        flows = {number: self._flow(found) for number, found in state["flows"].items()}
        queues = state["queue_packets"]
        return Snapshot(
            state["now_s"],
            flows,
            {name: queue[0] for name, queue in zip(self._links, queues, strict=True)},
            {name: queue[1] for name, queue in zip(self._links, queues, strict=True)},
        )

    def result(self) -> Result:
        """Advances to the end, and returns the result of the run; the simulation is over then.

        Raises:
            AlgorithmError: A custom algorithm has failed.
            FullpipeError: The simulation was over before.
        """
        try:
            with named_failures(self._scenario.file):
                tables = self._steps.tables()
        except RuntimeError as error:
            raise FullpipeError(str(error)) from None
        return Result(self._scenario, tables, engine="simulator", wall_s=0.0)

    def _step(self, until_ns: int) -> None:
        with named_failures(self._scenario.file):
            self._steps.advance(until_ns)

    def _flow(self, found: _core.ExternalState) -> ExternalFlow:
        rate = found["delivery_rate"]
        pacing = found["pacing_rate"]
        return ExternalFlow(
            found["cwnd_packets"],
            pacing * self._packet_bits if pacing < 1e12 else float("inf"),
            found["in_flight_packets"],
            found["delivered_packets"],
            found["lost_packets"],
            found["marked_packets"],
            found["congestions"],
            found["timeouts"],
            found["rtt_s"],
            found["srtt_s"],
            found["min_rtt_s"],
            None if rate is None else rate * self._packet_bits,
        )


@contextmanager
def named_failures(file: str | None) -> Iterator[None]:
    """Failures of the engine as those of the package.

    Args:
        file: The scenario's file, or None.

    Raises:
        MemoryLimitError: The scenario needs more memory than it may have.
        AlgorithmError: A custom algorithm has failed.
    """
    try:
        yield
    except _core.Problem as problem:
        key, what, _ = problem.args
        raise MemoryLimitError(key, what, file) from None
    except _core.Failure as failure:
        raise AlgorithmError(str(failure)) from failure.__cause__


def packet_bits(scenario: Scenario) -> float:
    """Size of a scenario's data packets, bits."""
    given = scenario.to_dict().get("packet_size", 1000)
    parsed = Quantity.parse(given)
    return 8.0 * float(given if parsed is None else parsed.value)


def check_not_external(scenario: Scenario) -> None:
    """Refuses a scenario that runs step by step only.

    Raises:
        ScenarioError: A flow is external.
    """
    if not scenario.model.is_external:
        return
    groups = scenario.to_dict().get("flows", [])
    place = next((i for i, group in enumerate(groups) if is_external(group["algorithm"])), 0)
    what = f"{quoted(EXTERNAL)} is controlled step by step: use fullpipe.Simulation in Python"
    raise ScenarioError(f"flows[{place}].algorithm", what, scenario.file)


def is_external(algorithm: object) -> bool:
    """Whether a caller controls the flows of an algorithm."""
    return algorithm_name(algorithm) == EXTERNAL


def numbered(scenario: Scenario) -> tuple[Scenario, tuple[int, ...]]:
    """The scenario with a group per external flow, whose algorithm has the number of the flow, and these numbers."""
    groups: list[dict[str, object]] = []
    found: list[int] = []
    number = 0
    for group in scenario.to_dict().get("flows", []):
        count = int(group.get("count", 1))
        if is_external(group["algorithm"]):
            name = group.get("name", EXTERNAL)
            numbers = range(number, number + count)
            given = group["algorithm"]
            table = dict(given) if isinstance(given, Mapping) else {"name": EXTERNAL}
            groups += [{**group, "name": name, "count": 1, "algorithm": {**table, "flow": i}} for i in numbers]
            found += numbers
        else:
            groups.append(group)
        number += count
    return (scenario.replace(flows=groups) if found else scenario), tuple(found)
