"""Link and traffic of a sizing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from fullpipe import models
from fullpipe._util.text import quoted, unknown
from fullpipe.errors import InputError
from fullpipe.experiments.sizing.shares import algorithms_of
from fullpipe.registry import Param, queues
from fullpipe.scenario import Scenario
from fullpipe.scenario.quantity import read_quantity

__all__ = ["BUFFER", "MOST_BDP", "Mix"]

BUFFER = "buffer"
"""Name of the size if it is not a parameter of the queue."""

MOST_BDP = 4
"""Largest buffer, in bandwidth-delay products; also the buffer if a parameter of the queue is sized."""

WAYS = {"packets": "{packets} packets", "packets or time": "{packets} packets", "time": "{time}", "data": "{bytes} B"}
"""Text of a size in packets, by the kind of the parameter."""

EPOCHS_ALONE = (3, 6)
"""Congestion epochs of one flow in the warm-up and after it, at least. The first loss ends slow start; adaptive
backoffs are right from the second loss on.
"""

EPOCHS_TOGETHER = (5, 10)
"""Epochs for several flows, whose windows have to converge first: `models.convergence_epochs(0.5)` is 4.3."""

WARMUP_ROUNDS = 50
"""Smallest warm-up, in longest RTTs. Flows start during the first fifth of it."""

MEASURED_ROUNDS = 200
"""Smallest time after the warm-up, in longest RTTs."""

RTT_SPREAD = 0.05
"""Relative spread of the flows' RTTs if one RTT is given. Flows with exactly equal RTTs synchronize, which real flows
do not; reports/sizing.md has the effect of 2, 5 and 10 %.
"""

RTO_ABOVE_RTT_S = 0.2
"""Minimum RTO less the base RTT, as in Linux, which adds at least 200 ms to the smoothed RTT. A fixed 200 ms is no
minimum on longer paths.
"""

LONGEST_S = 1_000_000
"""Longest duration of a scenario."""

WEB_ALGORITHM = "newreno"
WEB_MEAN_SIZE = 12_000
"""Mean size in bytes; with `WEB_SHAPE`, as in the reconstruction of Shorten and Leith's experiments."""
WEB_SHAPE = 1.2


@dataclass(frozen=True)
class Mix:
    """Link with flows.

    The base RTTs of the flows are spread evenly: flow i of n has the middle of the i-th of n equal parts between the
    two ends, or within `RTT_SPREAD` of one RTT. Several flows start at random times, and their senders have a random
    processing time up to the time of a packet on the link (Floyd and Jacobson 1992, against phase effects). Web
    transfers are random too.

    Attributes:
        rate_bps: Rate of the link.
        rtt_min_s: Shortest base RTT.
        rtt_max_s: Longest base RTT.
        web_load: Offered web load as a fraction of the link, 0 to less than 1: a Poisson process of NewReno transfers
            with Pareto sizes, mean 12 kB, shape 1.2.
        packet_size: Bytes on the wire.
        queue: Queueing discipline of the link, as in scenarios.
        sized: The link's buffer (`BUFFER`), or a parameter of the queue, such as CoDel's "target"; the buffer is then
            `MOST_BDP` bandwidth-delay products. A size counts packets, also for parameters in time or bytes.
        tables: Algorithms with parameters, by the names that stand for them.
    """

    rate_bps: float
    rtt_min_s: float
    rtt_max_s: float
    web_load: float = 0.0
    packet_size: int = 1000
    queue: str | Mapping[str, object] = "drop-tail"
    sized: str = BUFFER
    tables: Mapping[str, Mapping[str, object]] = field(default_factory=dict)

    @classmethod
    def parse(
        cls,
        rate: str,
        rtt: str,
        web_load: float = 0.0,
        packet_size: int = 1000,
        queue: str | Mapping[str, object] = "drop-tail",
        sized: str = BUFFER,
    ) -> Mix:
        """Mix from text such as "155 Mbit/s" and "80 ms..250 ms" or "80 ms".

        Raises:
            InputError: A quantity is malformed or out of range.
            ScenarioError: The queue, or its parameter, is unknown.
        """
        ends = [read_quantity("rtt", end, "s", '"80 ms" or "80 ms..250 ms"') for end in rtt.split("..", 1)]
        rate_bps = read_quantity("rate", rate, "bit/s", '"155 Mbit/s"')
        mix = cls(rate_bps, ends[0], ends[-1], web_load, packet_size, queue, sized)
        if mix.rtt_min_s > mix.rtt_max_s:
            raise InputError(f"rtt must have the shorter RTT first, got {quoted(rtt)}")
        if not 0 <= web_load < 1:
            raise InputError(f"web_load must be in [0, 1), got {web_load:g}")
        if mix.bdp_packets < 1:
            raise InputError(
                f"rate and rtt must give a BDP of at least 1 packet, got {mix.bdp_packets:.2g} "
                f"({quoted(rate)}, {quoted(rtt)})"
            )
        mix.scenario("newreno", 1, 1)
        return mix

    @property
    def column(self) -> str:
        """First part of columns of sizes: "buffer", or "queue_target" for a parameter called target."""
        return BUFFER if self.sized == BUFFER else f"queue_{self.sized}"

    @property
    def what(self) -> str:
        """Name of the size in tables: "buffer", or "target of codel"."""
        return BUFFER if self.sized == BUFFER else f"{self.sized} of {self.queue_name}"

    @property
    def queue_name(self) -> str:
        """Name of the queueing discipline."""
        return _name(self.queue)

    @property
    def most_packets(self) -> int:
        """Largest size."""
        return math.ceil(MOST_BDP * self.bdp_packets)

    @property
    def rtt_s(self) -> float:
        """Mean base RTT."""
        return (self.rtt_min_s + self.rtt_max_s) / 2

    @property
    def packet_s(self) -> float:
        """Time of a packet on the link."""
        return 8 * self.packet_size / self.rate_bps

    @property
    def bdp_packets(self) -> float:
        """Rate of the link times the mean base RTT."""
        return self.rtt_s / self.packet_s

    def epoch_s(self, flows: int, buffer_packets: int) -> float:
        """Time between losses of a Reno flow with its share of pipe and buffer: half that share of round trips with a
        full queue. Adaptive AIMD's epoch is equally long (`models.aimd_epoch_rounds`).
        """
        peak = (self.bdp_packets + buffer_packets) / flows
        return models.aimd_epoch_rounds(peak) * (self.rtt_s + buffer_packets * self.packet_s)

    def warmup_s(self, flows: int, buffer_packets: int) -> float:
        """Warm-up."""
        left_out, _ = EPOCHS_ALONE if flows == 1 else EPOCHS_TOGETHER
        return max(left_out * self.epoch_s(flows, buffer_packets), WARMUP_ROUNDS * self.rtt_max_s)

    def duration_s(self, flows: int, buffer_packets: int) -> float:
        """Duration of a run."""
        _, measured = EPOCHS_ALONE if flows == 1 else EPOCHS_TOGETHER
        measured_s = max(measured * self.epoch_s(flows, buffer_packets), MEASURED_ROUNDS * self.rtt_max_s)
        return self.warmup_s(flows, buffer_packets) + measured_s

    def is_random(self, flows: int) -> bool:
        """Whether two seeds can differ."""
        return flows > 1 or self.web_load > 0

    def scenario(self, algorithm: str, flows: int, buffer_packets: int, seed: int = 1) -> Scenario:
        """Scenario of a run.

        Args:
            algorithm: Name, or a mix such as "cubic*0.7+bbr*0.3".
            flows: Number of flows.
            buffer_packets: Size.
            seed: Seed.

        Raises:
            ScenarioError: The algorithm is unknown, or a number is not allowed.
            InputError: The run would be too long, or there are too few flows for the mix.
        """
        length_s = self.duration_s(flows, buffer_packets)
        if length_s > LONGEST_S:
            pipe = f"{flows} flow{'s' if flows > 1 else ''}, a BDP of {self.bdp_packets:,.0f} packets"
            raise InputError(
                f"{pipe}, and a buffer of {buffer_packets:,} packets: losses are so rare that a run must simulate "
                f"{length_s:.3g} s; the limit is {LONGEST_S:.0f} s"
            )
        link_s = self.rtt_min_s / 4
        starts = WARMUP_ROUNDS / 5 * self.rtt_max_s if flows > 1 else 0.0
        noise_s = self.packet_s if flows > 1 else 0.0
        keys: dict[str, object] = {
            "duration": _time(length_s),
            "warmup": _time(self.warmup_s(flows, buffer_packets)),
            "seed": seed,
            "packet_size": self.packet_size,
            "series_interval": "off",
            "links": [
                {
                    "name": "bottleneck",
                    "rate": f"{self.rate_bps:.0f} bit/s",
                    "delay": _time(link_s),
                    **self._link(buffer_packets),
                }
            ],
            "flows": [
                {
                    "algorithm": self.tables.get(name, name),
                    "access_delay": _time(rtt_s / 2 - link_s),
                    "start": f"0 s..{_time(starts)}" if starts else "0 s",
                    "min_rto": _time(rtt_s + RTO_ABOVE_RTT_S),
                    "processing_time": _time(noise_s),
                }
                for name, rtt_s in zip(algorithms_of(algorithm, flows), self._rtts(flows), strict=True)
            ],
        }
        if self.web_load > 0:
            keys["web"] = [
                {
                    "algorithm": WEB_ALGORITHM,
                    "transfers_per_second": self.web_load * self.rate_bps / (8 * WEB_MEAN_SIZE),
                    "mean_size": f"{WEB_MEAN_SIZE} B",
                    "shape": WEB_SHAPE,
                    "access_delay": self._web_delay(link_s),
                    "min_rto": _time(self.rtt_max_s + RTO_ABOVE_RTT_S),
                }
            ]
        return Scenario.from_dict(keys)

    def _link(self, size: int) -> dict[str, object]:
        if self.sized == BUFFER:
            return {"buffer": f"{size} packets", "queue": self.queue}
        of_queue = dict(self.queue) if isinstance(self.queue, Mapping) else {"name": self.queue}
        way = WAYS[_parameter(_name(of_queue), self.sized).kind]
        text = way.format(packets=size, time=_time(size * self.packet_s), bytes=size * self.packet_size)
        return {"buffer": f"{self.most_packets} packets", "queue": {**of_queue, self.sized: text}}

    def _rtts(self, flows: int) -> list[float]:
        shortest, width = self.rtt_min_s, self.rtt_max_s - self.rtt_min_s
        if not width and flows > 1:
            shortest, width = self.rtt_s * (1 - RTT_SPREAD), self.rtt_s * 2 * RTT_SPREAD
        return [shortest + (i + 0.5) / flows * width for i in range(flows)]

    def _web_delay(self, link_s: float) -> str:
        low, high = (_time(rtt_s / 2 - link_s) for rtt_s in (self.rtt_min_s, self.rtt_max_s))
        return low if low == high else f"{low}..{high}"


def _parameter(queue: str, name: str) -> Param:
    """Parameter of a queueing discipline that can be sized.

    Raises:
        InputError: The queue or parameter is unknown, or the parameter is no time, packets, or bytes.
    """
    if queue not in queues():
        raise InputError(unknown("queue", queue, queues()))
    sizes = {param.name: param for param in queues()[queue].params if param.kind in WAYS}
    if name not in sizes:
        raise InputError(unknown(f"size of {queue}", name, sizes) if sizes else f"{queue} has no parameter to size")
    return sizes[name]


def _name(queue: str | Mapping[str, object]) -> str:
    return queue if isinstance(queue, str) else str(queue["name"])


def _time(seconds: float) -> str:
    """Time in whole nanoseconds, written in the largest unit of which it has at least one."""
    nanoseconds = round(seconds * 1e9)
    for unit, digits in (("s", 9), ("ms", 6), ("us", 3)):
        whole, rest = divmod(nanoseconds, 10**digits)
        if whole:
            fraction = f"{rest:0{digits}}".rstrip("0")
            return f"{whole}.{fraction} {unit}" if fraction else f"{whole} {unit}"
    return f"{nanoseconds} ns"
