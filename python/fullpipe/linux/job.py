"""A plan as the guest's files: its network as batches for ip and tc, its flows as orders for the agent.

Nodes are joined by links; each kind of flow (equal delay, path, and settings) has a sender's namespace, behind a device
that only this kind uses, and a receiver's address on the node at the end of its path:

    sender s0 ==== node n0 == rate ==> n1 (receiver's address 10.3.0.0)
             delay      ACKs <==

The bottleneck is a netem with a rate and a limit in packets: a packet leaves at the end of its transmission, and
the packet being sent counts, as in the simulator. (A tbf lets as many packets as its bucket holds pass in no time, so
that the least RTT is a transmission time too short; with the 2 % that Hyun and Jang's alpha leaves at 10 Mbit/s that
is the difference between finding the pipe full and not.) A buffer in bytes holds as many packets of full size as fit.

A netem hands packets to a queue below it only once it is done with them, so that an AQM there would see none wait.
With an AQM the bottleneck is a cbs above it, which takes a packet when the line is free: then, and not when it has been
sent, a packet leaves. So the packet being sent is in no queue, and its transmission is on the way of the ACKs. (A tbf
takes each packet a transmission time early. An htb takes it in time, but does not ask an empty queue, so that RED below
it never learns that the line is idle: its average stays where it was, and connections that lost their first packets to
it could not open for a minute.)

A link that loses or reorders has a namespace between its ends, n0 == rate ==> w0 == netem ==> n1, which hands frames on
by tc's mirred: lost packets have been sent. The agent applies the changes of a schedule by running tc in time.

All of a flow's propagation delay is in one more netem, which its ACKs cross last: the place of a constant
delay in a round trip does not change the queue, and a second netem per packet would cost the guest as much as the
bottleneck.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from fullpipe._util.plain import Tree
from fullpipe.errors import InputError, ScenarioError
from fullpipe.linux import programs
from fullpipe.linux.errors import LinuxError
from fullpipe.linux.initramfs import Initramfs
from fullpipe.linux.kernel import BUILT_IN
from fullpipe.linux.plan import Flow, Link, Plan, Tcp
from fullpipe.linux.queues import ETHERNET_BYTES, UNLIMITED_PACKETS, Discipline

if TYPE_CHECKING:
    from fullpipe.linux.kernel import Kernel

__all__ = ["FIRST_PORT", "Job", "Place", "Record", "build", "check", "counters", "empty_archive", "modules", "senders"]

TEND_NS = 100_000_000
"""At most this long between two visits of the agent to its sockets."""
FRAME_NS = 1_000_000
"""The same if a flow has frames, whose arrival a visit notes."""
REQUEST_VISITS = 4
"""Visits per sample if a flow has requests; two visits delay each: at the sender, and at the end of the response."""
MOST_SAMPLES = 300_000
"""Samples of flows and links in all; more would take longer to report than to run."""
TRUESIZE = 4
"""Maximum memory that the kernel charges a socket for a byte of data in small packets."""
LATE_NS = 50_000
"""How late the guest may send a packet without losing the time for the next."""
PORT_KBPS = 10_000_000
"""The rate that a veth claims."""
FIRST_PORT = 5001
IPERF3_NS = 1_000_000
"""Time of the agent in a run of iperf3, which takes its own time."""
RECORD_NS = 100_000_000
"""Time between two samples of ss and tc in a recording."""


HYSTART = "/sys/module/tcp_cubic/parameters/hystart"
"""Whether the kernel's cubic has HyStart."""


@dataclass(frozen=True)
class Job:
    """Archive to boot, its memory, and the time between two samples."""

    archive: bytes
    memory_mib: int
    sampling_ns: int


Record = Literal["all", "packets"]
"""Parts of a recording: packets and samples of ss and tc, or packets alone, which takes a fraction of the time."""

Place = tuple[int, bool, str]
"""Where packets are counted: a link's number, whether in its reverse direction, and its ``"queue"``, ``"wire"`` or
``"policer"`` there.
"""


def build(
    plan: Plan,
    kernel: Kernel,
    file: str | None = None,
    *,
    watch: bool = False,
    record: Record | None = None,
    iperf3: bool = False,
) -> Job:
    """The job of a plan.

    Args:
        plan: The network and its flows.
        kernel: Kernel whose modules are loaded.
        file: Named in errors about algorithms.
        watch: Whether to report each packet that leaves a sender or comes back to it: a line ``p`` with its time in
            nanoseconds, its flow, 1 where it leaves, its sequence and acknowledgement numbers, its payload in bytes.
        record: Parts of a recording to report (see `fullpipe.linux.record`); None for none.
        iperf3: Whether iperf3 sends in place of the agent. Its output has lines ``o 1`` after that with the time.

    Raises:
        InputError: iperf3 can't send as the plan has it.
        ScenarioError: An algorithm is not in the kernel, or with other parameters than asked for.
        LinuxError: A program that the guest needs is not installed here, or was not built.
    """
    guest = _Guest()
    guest.load(kernel, ["veth", "sch_netem", *modules(plan, record)])
    _load_algorithms(guest, plan, kernel, file)
    guest.order("write /proc/sys/net/ipv4/tcp_mem 4000000 8000000 16000000")
    nodes = _nodes(plan)
    kinds = list(dict.fromkeys(_kind(flow) for flow in plan.flows))
    wired = [f"w{i}" for i, link in enumerate(plan.links) if link.wired]
    places = [f"n{node}" for node in range(max(nodes.values()) + 1)]
    for name in [*places, *wired, *(f"s{k}" for k in range(len(kinds)))]:
        guest.order(f"namespace {name}")
    _Network(guest, plan, nodes, kinds).build()
    for k in range(len(kinds) if watch else 0):
        guest.order(f"watch s{k} uplink")
    if record is not None:
        _record(guest, plan, nodes, kinds, record)
    if iperf3:
        _iperf3(guest, plan, nodes)
        return Job(guest.archive(), 512, IPERF3_NS)
    tend_ns, sampling_ns = _intervals(plan)
    memory = _add_flows(guest, plan, nodes, kinds, tend_ns)
    guest.order(f"time {plan.duration_ns} {tend_ns} {sampling_ns}")
    return Job(guest.archive(), 256 + memory // 2**20, sampling_ns)


def _record(guest: _Guest, plan: Plan, nodes: Mapping[tuple[int, str], int], kinds: list[Flow], record: Record) -> None:
    """Captures each sender's device, and samples sockets and queues: ss of each sender, then tc of each link."""
    for k in range(len(kinds)):
        guest.order(f"capture s{k} uplink")
    if record == "packets":
        return
    guest.tool("ss", "iproute2")
    guest.tool("tc", "iproute2")
    for k in range(len(kinds)):
        guest.order(f"every {RECORD_NS} s{k} /bin/ss -tinO")
    for i in range(len(plan.links)):
        left = nodes[i, "left"]
        guest.order(f"every {RECORD_NS} n{left} /bin/tc -s -j qdisc show dev l{i}f")


def _iperf3(guest: _Guest, plan: Plan, nodes: Mapping[tuple[int, str], int]) -> None:
    """Orders a server in the background, then a client. The agent waits for the client, so that it changes no link."""
    (flow, *more) = plan.flows
    kept = replace(flow, start_ns=0, stop_ns=None, size_segments=None, frames=None, requests=None)
    if more or kept != flow:
        raise InputError("--iperf3 requires one flow that sends from the start to the end")
    if any(way.changes_rate or len(way.wires) > 1 for link in plan.links for way in link.ways):
        raise InputError("--iperf3 conflicts with a schedule")
    guest.tool("iperf3", "iperf3")
    guest.directory("/tmp")
    client = f"-c 10.3.0.0 -t {max(1, plan.duration_ns // 10**9)} -i 0.5 -J -C {_kernel_name(flow)} --get-server-output"
    guest.order(f"every {IPERF3_NS} n{_ends(flow, nodes)[1]} /bin/iperf3 -s -D -J")
    guest.order(f"every {IPERF3_NS} s0 /bin/iperf3 {client}")
    guest.order(f"time {IPERF3_NS - 1} {IPERF3_NS} {IPERF3_NS}")


def check(plan: Plan, file: str | None = None) -> None:
    """Refuses a plan whose algorithms the kernel does not support; fetches and builds nothing.

    Raises:
        ScenarioError: An algorithm is not in the kernel, or with other parameters than asked for.
    """
    _algorithms(plan, file)


def senders(plan: Plan) -> int:
    """Number of hosts of senders."""
    return len(dict.fromkeys(_kind(flow) for flow in plan.flows))


def empty_archive() -> bytes:
    """A guest that boots, does nothing and ends; for probes."""
    guest = _Guest()
    guest.order("time 1 1 1")
    return guest.archive()


def modules(plan: Plan, record: Record | None = None) -> list[str]:
    """The modules of a plan's queueing disciplines, wires and policers, and those that ss needs."""
    kinds = dict.fromkeys(link.discipline.kind for link in plan.links if link.discipline)
    # FQ-PIE needs functions of PIE's module.
    needed = ["pie"] if "fq_pie" in kinds else []
    queues = [f"sch_{kind}" for kind in dict.fromkeys(["cbs", *needed, *kinds])] if kinds else []
    actions = ["act_mirred"] * any(link.wired for link in plan.links)
    actions += ["act_police"] * any(way.policer for link in plan.links for way in link.ways)
    diagnosis = ["inet_diag", "tcp_diag"] if record == "all" else []
    return [*diagnosis, *queues, *(["sch_ingress", "cls_matchall", *actions] if actions else [])]


def counters(plan: Plan) -> list[Place]:
    """Where packets are counted, in the order in which the guest's agent numbers it: the queues of all links first."""
    both = [(i, reverse) for i in range(len(plan.links)) for reverse in (False, True)]
    ways = {(i, reverse): plan.links[i].ways[reverse] for i, reverse in both}
    return [
        *((i, reverse, "queue") for i, reverse in both),
        *((i, reverse, "wire") for (i, reverse), way in ways.items() if way.wires),
        *((i, reverse, "policer") for (i, reverse), way in ways.items() if way.policer),
    ]


class _Guest:
    """The guest's files, and the orders to its agent."""

    def __init__(self) -> None:
        self._files = Initramfs()
        self._orders: list[str] = []
        self._batches = 0
        agent = programs.OBJECTS / "agent"
        if not agent.exists():
            raise LinuxError("the Linux engine requires its agent; `make linux-objects` compiles it with a C compiler")
        self._files.add("/init", agent.read_bytes())

    def order(self, line: str) -> None:
        self._orders.append(line)

    def load(self, kernel: Kernel, modules: Iterable[str], settings: Iterable[str] = ()) -> None:
        for module in modules:
            path = kernel.modules.get(module)
            if path is None and module in BUILT_IN:
                continue
            if path is None:
                raise LinuxError(f"the scenario requires module {module}, which kernel {kernel.version} does not have")
            self._files.add(f"/modules/{module}.ko", path.read_bytes())
            self.order(" ".join([f"module /modules/{module}.ko", *settings]))

    def register(self, name: str, content: bytes) -> None:
        """Loads an eBPF program."""
        self.tool("bpftool", "bpftool")
        self._files.add(f"/bpf/{name}.o", content)
        self.order(f"run /bin/bpftool struct_ops register /bpf/{name}.o")

    def batch(self, tool: str, lines: Iterable[str]) -> None:
        """Runs ip or tc on many lines, in the namespace entered last."""
        text = "\n".join(lines)
        if not text:
            return
        self.tool(tool, "iproute2")
        self._batches += 1
        path = f"/net/{self._batches}.{tool}"
        self._files.add(path, f"{text}\n".encode())
        self.order(f"run /bin/{tool} -batch {path}")

    def directory(self, path: str) -> None:
        self._files.add(f"{path}/.keep", b"")

    def tool(self, name: str, package: str) -> None:
        found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
        if found is None:
            raise LinuxError(f"the Linux engine requires {name} (Debian: apt-get install {package})")
        self._files.add_program(f"/bin/{name}", Path(found).resolve())

    def archive(self) -> bytes:
        self._files.add("/job", "".join(f"{line}\n" for line in self._orders).encode())
        return self._files.pack()


def _algorithms(plan: Plan, file: str | None) -> tuple[dict[str, Tree], list[programs.Own]]:
    """Congestion controls for the kernel: its algorithms and ours with their settings, and object files of users."""
    chosen: dict[str, Tree] = {}
    own: dict[str, programs.Own] = {}
    held: dict[str, str] = {}
    for i, flow in enumerate(plan.flows):
        key, algorithm, params = f"flows[{i}].algorithm", flow.tcp.algorithm, dict(flow.tcp.params)
        if flow.tcp.own is not None:
            if own.setdefault(flow.tcp.own.kernel_name, flow.tcp.own) != flow.tcp.own:
                raise ScenarioError(
                    key, f"the Linux engine requires equal parameters for all flows of {flow.tcp.own.kernel_name}", file
                )
            continue
        found = programs.find(algorithm)
        if found is None:
            raise ScenarioError(
                key,
                f"{algorithm} is neither in Linux nor among the eBPF programs (`fullpipe linux list` lists both)",
                file,
            )
        other = held.setdefault(found.kernel_name, algorithm)
        if other != algorithm and any(name.startswith(programs.MODULE) for name in (other, algorithm)):
            raise ScenarioError(
                key, f"{algorithm} conflicts with {other}: both are {found.kernel_name} in the kernel", file
            )
        try:
            settings = programs.complete(algorithm, params) | {"slow_start": flow.tcp.slow_start}
        except InputError as error:
            raise ScenarioError(key, str(error), file) from None
        if chosen.setdefault(algorithm, settings) != settings:
            raise ScenarioError(key, f"the Linux engine requires equal parameters for all flows of {algorithm}", file)
    return chosen, list(own.values())


def _load_algorithms(guest: _Guest, plan: Plan, kernel: Kernel, file: str | None) -> None:
    chosen, own = _algorithms(plan, file)
    for mine in own:
        guest.register(mine.kernel_name, mine.content)
    for algorithm, settings in sorted(chosen.items(), key=lambda item: programs.builds_upon(item[0]) is not None):
        match programs.find(algorithm):
            case programs.Module() as module:
                if (needed := programs.builds_upon(algorithm)) is not None and needed not in chosen:
                    guest.load(kernel, [f"tcp_{needed}"])
                guest.load(kernel, [f"tcp_{module.kernel_name}"], module.settings(settings))
            case programs.Program() as program:
                guest.register(program.kernel_name, program.compiled(settings))
            case programs.Builtin() if algorithm == "cubic":
                guest.order(f"write {HYSTART} {int(settings['slow_start'] == 'hystart')}")


def _kind(flow: Flow) -> Flow:
    """The settings that decide the place of a flow in the network; all others at fixed values."""
    return replace(
        flow,
        tcp=replace(flow.tcp, algorithm="", params=(), slow_start="", own=None),
        start_ns=0,
        stop_ns=None,
        size_segments=None,
        frames=None,
        requests=None,
    )


def _nodes(plan: Plan) -> dict[tuple[int, str], int]:
    """The node at each end ("left", "right") of each link; links that follow one another in a path share one."""
    node = {(i, side): 2 * i + (side == "right") for i in range(len(plan.links)) for side in ("left", "right")}
    for flow in plan.flows:
        for before, after in zip(flow.path, flow.path[1:], strict=False):
            one, other = node[before, "right"], node[after, "left"]
            node = {end: one if n == other else n for end, n in node.items()}
    order = {n: i for i, n in enumerate(sorted(set(node.values())))}
    return {end: order[n] for end, n in node.items()}


def _ends(flow: Flow, nodes: Mapping[tuple[int, str], int]) -> tuple[int, int]:
    """The nodes where a flow's data enters and where it is received."""
    left, right = nodes[flow.path[0], "left"], nodes[flow.path[-1], "right"]
    return (right, left) if flow.reverse else (left, right)


@dataclass(frozen=True)
class _Hop:
    """One link as data crosses it: from a node, by a device, to an address on the next node; and back."""

    node: int
    device: str
    next_ip: str
    next_node: int
    back_device: str
    back_ip: str


class _Network:
    """Orders the network of a plan."""

    def __init__(self, guest: _Guest, plan: Plan, nodes: Mapping[tuple[int, str], int], kinds: list[Flow]) -> None:
        self._guest, self._plan, self._nodes, self._kinds = guest, plan, nodes, kinds
        self._mtu = plan.packet_bytes - ETHERNET_BYTES
        count = max(nodes.values()) + 1
        self._made: list[list[str]] = [[] for _ in range(count)]
        self._routed: list[list[str]] = [[] for _ in range(count)]
        self._queued: list[list[str]] = [[] for _ in range(count)]
        self._devices: list[list[str]] = [[] for _ in range(count)]

    def build(self) -> None:
        for i, link in enumerate(self._plan.links):
            self._link(i, link)
        for k, kind in enumerate(self._kinds):
            self._access(k, kind)
        for node, made in enumerate(self._made):
            self._guest.order(f"enter n{node}")
            self._guest.order("write /proc/sys/net/ipv4/ip_forward 1")
            self._guest.batch("ip", ["link set lo up", *made])
        # Only now do both ends of every pair exist.
        for node, routed in enumerate(self._routed):
            self._guest.order(f"enter n{node}")
            self._guest.batch("ip", routed)
            for device in self._devices[node]:
                self._guest.order(f"offloads-off {device}")
            self._guest.batch("tc", self._queued[node])
        for k, kind in enumerate(self._kinds):
            self._sender(k, kind)
        for i, link in enumerate(self._plan.links):
            if link.wired:
                self._wire(i, link)
        for place in counters(self._plan):
            self._guest.order(f"link {self._counted(place)}")
        changes = sorted(change for i, link in enumerate(self._plan.links) for change in self._changes(i, link))
        for at_ns, where, words in changes:
            self._guest.tool("tc", "iproute2")
            self._guest.order(f"at {at_ns} {where} /bin/tc {words}")

    def _counted(self, place: Place) -> str:
        """A namespace, a device in it, and the handle of the counting qdisc."""
        i, reverse, what = place
        if what == "wire":
            return f"w{i} {_behind(reverse)} 1"
        handle = 2 if self._plan.links[i].discipline and self._carries_data(i, reverse) else 1
        return f"{self._before(i, reverse)} {'ffff' if what == 'policer' else handle}"

    def _before(self, i: int, reverse: bool) -> str:
        """The namespace and the device by which packets come to a link."""
        return f"n{self._nodes[i, 'right' if reverse else 'left']} l{i}{'fr'[reverse]}"

    def _link(self, i: int, link: Link) -> None:
        left, right = self._nodes[i, "left"], self._nodes[i, "right"]
        if link.wired:
            self._pair(left, f"l{i}f", _mac(4, i), _behind(True), _mac(6, i), f"w{i}")
            self._pair(right, f"l{i}r", _mac(5, i), _behind(False), _mac(7, i), f"w{i}")
        else:
            self._pair(left, f"l{i}f", _mac(4, i), f"l{i}r", _mac(5, i), f"n{right}")
        self._end(left, f"l{i}f", f"10.4.{i}.1/30", f"10.4.{i}.2", _mac(5, i))
        self._end(right, f"l{i}r", f"10.4.{i}.2/30", f"10.4.{i}.1", _mac(4, i))
        for node, reverse in ((left, False), (right, True)):
            device = f"l{i}{'fr'[reverse]}"
            self._queued[node] += _queue(device, link, self._plan, self._carries_data(i, reverse))
            if policer := link.ways[reverse].policer:
                self._queued[node].append(f"qdisc add dev {device} clsact")
                self._queued[node].append(f"filter add dev {device} egress matchall action {' '.join(policer)}")

    def _wire(self, i: int, link: Link) -> None:
        """A namespace between the ends of a link: packets enter by one device and leave by the netem of the other."""
        self._guest.order(f"enter w{i}")
        self._guest.batch("ip", [f"link set {_behind(reverse)} up" for reverse in (False, True)])
        lines = []
        for reverse, way in enumerate(link.ways):
            come, leave = _behind(not reverse), _behind(bool(reverse))
            self._guest.order(f"offloads-off {come}")
            lines.append(f"qdisc add dev {come} clsact")
            lines.append(f"filter add dev {come} ingress matchall action mirred egress redirect dev {leave}")
            if way.wires:
                lines.append(f"qdisc add dev {leave} root handle 1: {_netem(way.wires[0][1])}")
        self._guest.batch("tc", lines)

    def _changes(self, i: int, link: Link) -> list[tuple[int, str, str]]:
        """Changes while the flows run: time, namespace, and arguments of tc."""
        changes = []
        for reverse, way in ((False, link.ways[0]), (True, link.ways[1])):
            where, _, device = self._before(i, reverse).partition(" ")
            rates = way.rates[1:] if self._carries_data(i, reverse) else ()
            changes += [(at, where, f"qdisc change {_cbs(device, rate, self._plan)}") for at, rate in rates]
            change = f"qdisc change dev {_behind(reverse)} root handle 1:"
            changes += [(at, f"w{i}", f"{change} {_netem(words)}") for at, words in way.wires[1:]]
        return changes

    def _carries_data(self, i: int, reverse: bool) -> bool:
        return any(i in flow.path and flow.reverse == reverse for flow in self._plan.flows)

    def _access(self, k: int, kind: Flow) -> None:
        first, last = _ends(kind, self._nodes)
        high, low = divmod(k, 256)
        sender_ip, receiver_ip = f"10.1.{high}.{low}", f"10.3.{high}.{low}"
        self._pair(first, f"a{k}", _mac(2, k), "uplink", _mac(1, k), f"s{k}")
        self._end(first, f"a{k}", "10.2.0.1/32", sender_ip, _mac(1, k))
        self._made[last].append(f"addr add {receiver_ip}/32 dev lo")
        if delay_ns := kind.base_rtt_ns(self._plan.links) + _transmissions_ns(kind, self._plan):
            self._queued[first].append(
                f"qdisc add dev a{k} root netem delay {delay_ns / 1e3:.3f}us limit {UNLIMITED_PACKETS}"
            )
        self._routed[first].append(f"route add {sender_ip}/32 dev a{k}")
        hops = [self._hop(i, kind.reverse) for i in (reversed(kind.path) if kind.reverse else kind.path)]
        quick = "" if kind.tcp.delayed_ack else " quickack 1"
        echo = f" congctl {kind.tcp.receiving}" if kind.tcp.receiving else ""
        for hop in hops:
            self._routed[hop.node].append(f"route add {receiver_ip}/32 via {hop.next_ip} dev {hop.device}")
            options = quick + echo if hop.next_node == last else ""
            self._routed[hop.next_node].append(
                f"route add {sender_ip}/32 via {hop.back_ip} dev {hop.back_device} src {receiver_ip}{options}"
                if hop.next_node == last
                else f"route add {sender_ip}/32 via {hop.back_ip} dev {hop.back_device}"
            )

    def _sender(self, k: int, kind: Flow) -> None:
        high, low = divmod(k, 256)
        tcp = kind.tcp
        self._guest.order(f"enter s{k}")
        self._guest.order("offloads-off uplink")
        self._guest.order("write /proc/sys/net/ipv4/tcp_no_metrics_save 1")
        self._guest.order(f"write /proc/sys/net/ipv4/tcp_sack {int(tcp.sack)}")
        self._guest.order(f"write /proc/sys/net/ipv4/tcp_ecn {int(tcp.ecn)}")
        self._guest.order(f"write /proc/sys/net/ipv4/tcp_slow_start_after_idle {int(tcp.idle)}")
        self._guest.batch(
            "ip",
            [
                f"addr add 10.1.{high}.{low}/32 dev uplink",
                "link set uplink up",
                f"neigh add 10.2.0.1 lladdr {_mac(2, k)} dev uplink nud permanent",
                "route add 10.2.0.1/32 dev uplink",
                f"route add default via 10.2.0.1 dev uplink {_route_options(tcp)}",
            ],
        )
        if kind.access_rate_bps:
            pace = f"netem rate {kind.access_rate_bps}bit limit {UNLIMITED_PACKETS}"
            self._guest.batch("tc", [f"qdisc add dev uplink root {pace}"])

    def _hop(self, i: int, reverse: bool) -> _Hop:
        left = (self._nodes[i, "left"], f"l{i}f", f"10.4.{i}.1")
        right = (self._nodes[i, "right"], f"l{i}r", f"10.4.{i}.2")
        (node, device, ip), (next_node, back_device, next_ip) = (right, left) if reverse else (left, right)
        return _Hop(node, device, next_ip, next_node, back_device, ip)

    def _pair(self, node: int, device: str, mac: str, peer: str, peer_mac: str, peer_ns: str) -> None:
        self._made[node].append(
            f"link add name {device} mtu {self._mtu} address {mac} type veth "
            f"peer name {peer} mtu {self._mtu} address {peer_mac} netns {peer_ns}"
        )

    def _end(self, node: int, device: str, address: str, neighbour: str, neighbour_mac: str) -> None:
        self._routed[node] += [
            f"addr add {address} dev {device}",
            f"link set {device} up",
            f"neigh add {neighbour} lladdr {neighbour_mac} dev {device} nud permanent",
        ]
        self._devices[node].append(device)


def _queue(device: str, link: Link, plan: Plan, data: bool) -> list[str]:
    """The queue of one direction of a link; where only ACKs cross it, one that merely counts them."""
    if not data:
        return [f"qdisc add dev {device} root handle 1: pfifo limit {UNLIMITED_PACKETS}"]
    if link.discipline:
        return _managed(device, link, link.discipline, plan)
    packets = link.buffer_packets or UNLIMITED_PACKETS
    if link.buffer_bytes is not None:
        packets = link.buffer_bytes // plan.packet_bytes
    return [f"qdisc add dev {device} root handle 1: netem rate {link.rate_bps}bit limit {packets}"]


def _managed(device: str, link: Link, discipline: Discipline, plan: Plan) -> list[str]:
    """An AQM below a cbs that keeps the rate: a port of 10 Gbit/s that idles for as long as the link sends."""
    return [
        f"qdisc add {_cbs(device, link.rate_bps, plan)}",
        f"qdisc add dev {device} parent 1:1 handle 2: {' '.join((discipline.kind, *discipline.words))}",
    ]


def _cbs(device: str, rate_bps: int, plan: Plan) -> str:
    rate_kbps = rate_bps // 1000
    ahead = max(plan.packet_bytes // 8, rate_bps * LATE_NS // (8 * 10**9))
    slopes = f"idleslope {rate_kbps} sendslope {rate_kbps - PORT_KBPS}"
    return f"dev {device} root handle 1: cbs {slopes} hicredit {ahead} locredit -{2 * plan.packet_bytes}"


def _netem(words: tuple[str, ...]) -> str:
    return " ".join(("netem", *words, "limit", str(UNLIMITED_PACKETS)))


def _behind(reverse: bool) -> str:
    """The device by which packets of a direction leave the namespace between a link's ends."""
    return "left" if reverse else "right"


def _transmissions_ns(kind: Flow, plan: Plan) -> int:
    """Transmission times of a full packet on links with an AQM, which their cbs leaves out."""
    rates = [plan.links[i].rate_bps for i in kind.path if plan.links[i].discipline]
    return sum(round(8e9 * plan.packet_bytes / rate) for rate in rates)


def _route_options(tcp: Tcp) -> str:
    return f"initcwnd {tcp.initial_window} rto_min {max(1, round(tcp.min_rto_ns / 1e6))}ms"


def _mac(kind: int, number: int) -> str:
    return f"02:00:00:{kind:02x}:{number >> 8:02x}:{number & 255:02x}"


def _intervals(plan: Plan) -> tuple[int, int]:
    """The time between two visits to the sockets, which divides the series' interval where it can, and the time between
    two samples, a multiple of it.
    """
    visits = REQUEST_VISITS if any(flow.requests for flow in plan.flows) else 1
    longest = FRAME_NS if any(flow.frames or flow.requests for flow in plan.flows) else TEND_NS
    series = plan.series_interval_ns or TEND_NS
    least = -(-series // longest)
    samples = (parts for parts in range(least, 8 * least) if series % (parts * visits) == 0)
    tend_ns = series // (next(samples, 1) * visits)
    entities = len(plan.flows) + len(counters(plan))
    most = max(1, MOST_SAMPLES // entities)
    every = -(-plan.duration_ns // (tend_ns * visits * most))
    return tend_ns, tend_ns * visits * every


def _add_flows(guest: _Guest, plan: Plan, nodes: Mapping[tuple[int, str], int], kinds: list[Flow], tend_ns: int) -> int:
    """Orders the flows; the memory their buffers may take, bytes."""
    total = 0
    for i, flow in enumerate(plan.flows):
        k = kinds.index(_kind(flow))
        high, low = divmod(k, 256)
        rate = min(plan.links[j].rate_bps for j in flow.path) / 8
        between_visits = rate * tend_ns / 1e9
        outstanding = sum(_held(plan.links[j], plan) for j in flow.path) + rate * flow.base_rtt_ns(plan.links) / 1e9
        send = round(TRUESIZE * (2 * outstanding + 2 * between_visits)) + 2**18
        receive = round(2 * TRUESIZE * (2 * outstanding + 2 * between_visits)) + 2**18
        total += 2 * send + receive
        kernel_name = _kernel_name(flow)
        stop = -1 if flow.stop_ns is None else flow.stop_ns
        size = -1 if flow.size_segments is None else flow.size_segments * plan.segment_bytes
        guest.order(
            f"flow s{k} 10.1.{high}.{low} n{_ends(flow, nodes)[1]} 10.3.{high}.{low} {FIRST_PORT + i} {kernel_name} "
            f"{flow.start_ns} {stop} {size} {min(send, 2**30)} {min(receive, 2**30)} {_source(flow, plan)}"
        )
    return min(total, 2 * 2**30)


def _source(flow: Flow, plan: Plan) -> str:
    """Bytes of a frame or a response and the time between frames; bytes of a request, think time, and server time."""
    if (frames := flow.frames) is not None:
        return f"{frames.packets * plan.segment_bytes} {frames.every_ns:.6f} 0 0 0"
    if (requests := flow.requests) is not None:
        response = requests.packets * plan.segment_bytes
        return f"{response} 0 {requests.payload_bytes} {requests.think_ns} {requests.server_ns}"
    return "0 0 0 0 0"


def _held(link: Link, plan: Plan) -> float:
    """Bytes a link's queue may hold."""
    if link.buffer_bytes is not None:
        return link.buffer_bytes
    return (link.buffer_packets if link.buffer_packets is not None else 1000) * plan.packet_bytes


def _kernel_name(flow: Flow) -> str:
    if flow.tcp.own is not None:
        return flow.tcp.own.kernel_name
    found = programs.find(flow.tcp.algorithm)
    assert found is not None
    return found.kernel_name
