"""A scenario in the laboratory's terms: plain numbers, one entry per flow, and no key a kernel cannot honour."""

from __future__ import annotations

import base64
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fullpipe._util.plain import Table
from fullpipe._util.text import quoted
from fullpipe.errors import ScenarioError
from fullpipe.linux import programs, queues, ways
from fullpipe.linux.ways import Way, whole
from fullpipe.scenario.quantity import Quantity

if TYPE_CHECKING:
    from fullpipe.scenario import Scenario

__all__ = ["Flow", "Link", "Plan", "Tcp"]

IP_TCP_BYTES = 20 + 20 + 12
"""IPv4 and TCP headers with the timestamp option."""
LEAST_PACKET_BYTES = 128
"""Smaller packets would leave hardly room for data."""

MISSING = ("drop", "trace", "delay_trace", "loss_trace", "jitter", "aggregation", "limit", "ecn_field")
"""Keys of a link that the engine has nothing for."""
ECN = ("off", "classic")
"""ECN modes of the kernel for algorithms without an ECN mode."""
MOST_LINKS, MOST_FLOWS = 16, 500
"""Maximum that the agent of the guest has room for."""


@dataclass(frozen=True)
class Link:
    """A link; ``delay_ns`` is one way; its queue is in packets or in bytes, None for the other or for no limit, and
    drop-tail where ``discipline`` is None; ``ways`` are its directions.
    """

    name: str
    rate_bps: int
    delay_ns: int
    buffer_packets: int | None
    buffer_bytes: int | None
    discipline: queues.Discipline | None
    ways: tuple[Way, Way]

    @property
    def wired(self) -> bool:
        """Whether something happens to packets behind it."""
        return any(way.wires for way in self.ways)


@dataclass(frozen=True)
class Tcp:
    """Settings of a connection that the kernel takes per route, namespace, or socket. ``receiving`` is the congestion
    control that the receiver must run, None for any; ``own`` is the object file of a user's algorithm;
    ``idle`` is whether unused windows fall.
    """

    algorithm: str
    params: tuple[tuple[str, object], ...]
    slow_start: str
    sack: bool
    delayed_ack: bool
    initial_window: int
    min_rto_ns: int
    ecn: bool
    receiving: str | None
    own: programs.Own | None = None
    idle: bool = True


@dataclass(frozen=True)
class Frames:
    """Frames of one size, written at equal intervals; ``deadline_ns`` is None if no frame is late."""

    every_ns: float
    packets: int
    deadline_ns: int | None


@dataclass(frozen=True)
class Requests:
    """Requests of the receiver for responses of ``packets``. ``payload_bytes`` are those of a request; ``think_ns`` is
    from the start or a response to the next request, and ``server_ns`` from a request to its response.
    """

    think_ns: int
    server_ns: int
    packets: int
    payload_bytes: int


@dataclass(frozen=True)
class Flow:
    """One connection. ``name`` is the name of its group; ``path`` holds indices of links in the order the data
    crosses them; ``access_rate_bps``, ``stop_ns`` and ``size_segments`` are None for no limit, and
    ``frames`` and ``requests`` are None for a sender that always has data.
    """

    name: str
    tcp: Tcp
    access_delay_ns: int
    access_rate_bps: int | None
    start_ns: int
    stop_ns: int | None
    size_segments: int | None
    path: tuple[int, ...]
    reverse: bool
    frames: Frames | None = None
    requests: Requests | None = None

    def base_rtt_ns(self, links: tuple[Link, ...]) -> int:
        """The round trip without queueing and transmission."""
        return 2 * (self.access_delay_ns + sum(links[i].delay_ns for i in self.path))


@dataclass(frozen=True)
class Plan:
    """Network and flows for the guest."""

    duration_ns: int
    warmup_ns: int
    series_interval_ns: int | None
    packet_bytes: int
    links: tuple[Link, ...]
    flows: tuple[Flow, ...]
    warnings: tuple[str, ...] = ()

    @property
    def segment_bytes(self) -> int:
        """Payload of a full packet."""
        return self.packet_bytes - queues.ETHERNET_BYTES - IP_TCP_BYTES

    @classmethod
    def of(cls, scenario: Scenario) -> Plan:
        """The plan of a scenario. Spreads are drawn from its seed, with other values than the simulator draws.

        Raises:
            ScenarioError: The kernel does not support the scenario.
        """
        reader = _Reader(scenario.file)
        tree = scenario.model.resolved()
        for key in ("udp", "web"):
            if tree.get(key):
                raise reader.cannot(key, "conflicts with the Linux engine, which runs TCP flows only")
        if tree["packet_size"] < LEAST_PACKET_BYTES:
            raise reader.cannot(
                "packet_size",
                f"must be at least {LEAST_PACKET_BYTES} bytes on the Linux engine, got {tree['packet_size']}",
            )
        if len(tree["links"]) > MOST_LINKS:
            raise reader.cannot(
                "links", f"must have at most {MOST_LINKS} on the Linux engine, got {len(tree['links'])}"
            )
        duration_ns = whole(tree["duration"])
        links = tuple(reader.link(i, link, tree["packet_size"], duration_ns) for i, link in enumerate(tree["links"]))
        names = [link.name for link in links]
        draw = random.Random(tree["seed"])
        # The kernel gets only values that differ from defaults, as it lacks many parameters of the simulator.
        groups = [
            {**group, "algorithm": algorithm}
            for group, algorithm in zip(tree.get("flows", []), scenario.model.given_algorithms(), strict=True)
        ]
        flows = tuple(
            reader.flow(group, names, draw, tree["packet_size"])
            for i, group in enumerate(groups)
            for _ in range(reader.checked_count(i, group, tree["packet_size"]))
        )
        if not 1 <= len(flows) <= MOST_FLOWS:
            raise reader.cannot(
                "flows", f"the number of flows must be in [1, {MOST_FLOWS}] on the Linux engine, got {len(flows)}"
            )
        if tree["measure_jitter"]:
            reader.warnings.append("measure_jitter: the kernel does not report one-way delays of packets")
        interval = tree["series_interval"]
        return cls(
            duration_ns=duration_ns,
            warmup_ns=whole(tree["warmup"]),
            series_interval_ns=None if interval == "off" else whole(interval),
            packet_bytes=tree["packet_size"],
            links=links,
            flows=flows,
            warnings=tuple(reader.warnings),
        )


class _Reader:
    """Reads a checked scenario's tree; knows its file for errors."""

    def __init__(self, file: str | None) -> None:
        self._file = file
        self.warnings: list[str] = []

    def cannot(self, key: str, what: str) -> ScenarioError:
        return ScenarioError(key, what, self._file)

    def link(self, i: int, link: Table, packet_bytes: int, duration_ns: int) -> Link:
        key = f"links[{i}]"
        both = self._ways(key, link, duration_ns)
        rate_bps = whole(link["rate"])
        packets, size = queues.limits(link["buffer"], rate_bps, packet_bytes)
        line = queues.Line.of(link, packet_bytes)
        try:
            discipline = queues.translate(link["queue"], line)
            if discipline is None and any(way.changes_rate for way in both):
                discipline = queues.fifo(line)
        except queues.Refusal as refusal:
            raise self.cannot(f"{key}.queue" + (f".{refusal.key}" if refusal.key else ""), refusal.what) from None
        self.warnings += [f"{key}.queue.{name}: {what}" for name, what in (discipline.otherwise if discipline else ())]
        return Link(link["name"], rate_bps, whole(link["delay"]), packets, size, discipline, both)

    def _ways(self, key: str, link: Table, duration_ns: int) -> tuple[Way, Way]:
        back = link.get("reverse", link)
        for where, direction in ((key, link), (f"{key}.reverse", back)):
            for name in ("rate", "delay", "buffer", "queue"):
                if back.get(name) != link[name] and direction is back:
                    raise self.cannot(f"{where}.{name}", "must be equal in both directions on the Linux engine")
            for name in MISSING:
                if name in direction:
                    raise self.cannot(f"{where}.{name}", "conflicts with the Linux engine")
        both = []
        for where, direction in ((key, link), (f"{key}.reverse" if "reverse" in link else key, back)):
            try:
                both.append(ways.translate(direction, duration_ns))
            except ways.Refusal as refusal:
                raise self.cannot(f"{where}.{refusal.key}", refusal.what) from None
        return both[0], both[1]

    def checked_count(self, i: int, group: Table, packet_bytes: int) -> int:
        if group.get("transport", "tcp") != "tcp":
            raise self.cannot(f"flows[{i}].transport", f'must be "tcp" on the Linux engine, got "{group["transport"]}"')
        if group["max_window"] != "unlimited":
            raise self.cannot(
                f"flows[{i}].max_window", f'must be "unlimited" on the Linux engine, got {quoted(group["max_window"])}'
            )
        if "resume" in group:
            raise self.cannot(f"flows[{i}].resume", "conflicts with the Linux engine: the kernel has no careful resume")
        if "ack_every" in group:
            raise self.cannot(
                f"flows[{i}].ack_every", "conflicts with the Linux engine: the kernel has only delayed_ack"
            )
        if whole(group["processing_time"]):
            raise self.cannot(
                f"flows[{i}].processing_time",
                f'must be "0 s" on the Linux engine, got {quoted(group["processing_time"])}',
            )
        if group["source"] != "bulk":
            self._check_source(i, group, packet_bytes)
        if group["recovery"] == "tahoe":
            raise self.cannot(f"flows[{i}].recovery", 'must be "sack" or "newreno" on the Linux engine, got "tahoe"')
        if group["class"] != "best-effort":
            raise self.cannot(
                f"flows[{i}].class", f'must be "best-effort" on the Linux engine, got {quoted(group["class"])}'
            )
        name = _name(group["algorithm"])
        kernels = ("standard", "hystart") if name == "cubic" else ("standard",)
        if group["slow_start"] not in kernels:
            allowed = " or ".join(f'"{kind}"' for kind in kernels)
            raise self.cannot(
                f"flows[{i}].slow_start",
                f"must be {allowed} with {name} on the Linux engine, got {quoted(group['slow_start'])}",
            )
        if not group["undo"]:
            raise self.cannot(f"flows[{i}].undo", "must be true on the Linux engine, got false")
        if group["pacing"] != "algorithm":
            raise self.cannot(
                f"flows[{i}].pacing",
                f'must be "algorithm" on the Linux engine, got {quoted(group["pacing"])}',
            )
        kinds = ("accurate",) if programs.counts_marks(name) else ECN
        if group["ecn"] not in kinds:
            allowed = " or ".join(f'"{kind}"' for kind in kinds)
            raise self.cannot(
                f"flows[{i}].ecn", f"must be {allowed} with {name} on the Linux engine, got {quoted(group['ecn'])}"
            )
        if group["ecn"] != "off" and group["ect"]:
            raise self.cannot(f"flows[{i}].ect", f"must be 0 on the Linux engine, got {group['ect']}")
        count: int = group["count"]
        return count

    def _check_source(self, i: int, group: Table, packet_bytes: int) -> None:
        """A source other than ``"bulk"``."""
        source = group["source"]
        if "requests" in source:
            for name in ("requests", "size", "server"):
                if Quantity.parse(source[name]) is None:
                    what = f"must be fixed on the Linux engine, got {quoted(source[name])}"
                    raise self.cannot(f"flows[{i}].source.{name}", what)
            if whole(source["request_size"]) > packet_bytes:
                what = f"must be at most packet_size on the Linux engine, got {quoted(source['request_size'])}"
                raise self.cannot(f"flows[{i}].source.request_size", what)
        elif (
            not {"frames", "size"} <= source.keys() <= {"frames", "size", "deadline"}
            or Quantity.parse(source["size"]) is None
        ):
            what = 'must be "bulk", frames of one size, or requests on the Linux engine, got another table'
            raise self.cannot(f"flows[{i}].source", what)
        if group["idle"] not in ("none", "linux"):
            what = f'must be "none" or "linux" on the Linux engine, got {quoted(group["idle"])}'
            raise self.cannot(f"flows[{i}].idle", what)

    def flow(self, group: Table, names: list[str], draw: random.Random, packet_bytes: int) -> Flow:
        algorithm = group["algorithm"]
        own = _own(algorithm)
        name = _name(algorithm) if own is None else own.name
        found = programs.find(name)
        tcp = Tcp(
            algorithm=name,
            params=tuple(sorted(_params(algorithm).items())),
            slow_start=group["slow_start"],
            sack=group["recovery"] != "newreno",
            delayed_ack=group["delayed_ack"],
            initial_window=group["initial_window"],
            min_rto_ns=whole(group["min_rto"]),
            ecn=group["ecn"] != "off",
            receiving=found.kernel_name if found is not None and programs.counts_marks(name) else None,
            own=own,
            idle=group["source"] == "bulk" or group["idle"] == "linux",
        )
        return Flow(
            name=group.get("name", tcp.algorithm),
            tcp=tcp,
            access_delay_ns=_drawn(group["access_delay"], draw),
            access_rate_bps=None if group["access_rate"] == "unlimited" else whole(group["access_rate"]),
            start_ns=_drawn(group["start"], draw),
            stop_ns=whole(group["stop"]) if "stop" in group else None,
            size_segments=whole(group["size"]) if "size" in group else None,
            path=tuple(names.index(name) for name in group["path"]),
            reverse=group["reverse"],
            frames=_frames(group["source"], packet_bytes) if "frames" in group["source"] else None,
            requests=_requests(group["source"], packet_bytes) if "requests" in group["source"] else None,
        )


def _frames(source: Table, packet_bytes: int) -> Frames:
    per_s = float(source["frames"].removesuffix("/s"))
    deadline_ns = whole(source["deadline"]) if "deadline" in source else None
    return Frames(1e9 / per_s, -(-whole(source["size"]) // packet_bytes), deadline_ns)


def _requests(source: Table, packet_bytes: int) -> Requests:
    headers = queues.ETHERNET_BYTES + IP_TCP_BYTES
    return Requests(
        whole(source["requests"]),
        whole(source["server"]),
        -(-whole(source["size"]) // packet_bytes),
        max(1, whole(source["request_size"]) - headers),
    )


def _drawn(text: str, draw: random.Random) -> int:
    low, _, high = text.partition("..")
    if not high:
        return whole(low)
    return round(draw.uniform(whole(low), whole(high)))


def _name(algorithm: str | Table) -> str:
    """Name of the algorithm; the file of an object file."""
    if isinstance(algorithm, str):
        return algorithm
    if "module" in algorithm:
        return f"{programs.MODULE}{algorithm['module']['name']}"
    return str(algorithm["name"] if "name" in algorithm else algorithm["object"]["name"])


def _params(algorithm: str | Table) -> Table:
    if isinstance(algorithm, str) or "object" in algorithm:
        return {}
    if "module" in algorithm:
        params: Table = algorithm.get("params", {})
        return params
    return {key: value for key, value in algorithm.items() if key != "name"}


def _own(algorithm: str | Table) -> programs.Own | None:
    if isinstance(algorithm, str) or "object" not in algorithm:
        return None
    content = base64.b64decode(algorithm["object"]["base64"])
    return programs.own(content, algorithm.get("struct_ops"), algorithm.get("params"))
