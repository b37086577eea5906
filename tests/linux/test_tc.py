"""Queues as arguments of tc: each parameter in its unit, parameters that tc lacks, and the kernel's counters."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fullpipe import Result, Scenario
from fullpipe.errors import ScenarioError
from fullpipe.linux import job
from fullpipe.linux.initramfs import Initramfs
from fullpipe.linux.kernel import Kernel
from fullpipe.linux.plan import Plan
from fullpipe.linux.report import to_tables
from fullpipe.linux.ways import Way

PROGRAM = Path(sys.executable).parent / "fullpipe"


def scenario(queue: Any, **changes: Any) -> Scenario:
    """10 Mbit/s: a packet of 1500 bytes takes 1.2 ms."""
    link = {"name": "l", "rate": "10 Mbit/s", "delay": "49 ms", "buffer": "1000 packets", "queue": queue}
    flow = {"algorithm": "reno", "recovery": "sack", "access_delay": "1 ms", "ecn": changes.pop("ecn", "off")}
    tree = {"duration": "2 s", "packet_size": 1500, "links": [link | changes], "flows": [flow]}
    return Scenario.from_dict(tree)


def words(queue: Any, **changes: Any) -> str:
    """Arguments after "qdisc add dev DEVICE parent 1:1 handle 2:"."""
    discipline = Plan.of(scenario(queue, **changes)).links[0].discipline
    assert discipline is not None
    return " ".join((discipline.kind, *discipline.words))


def test_codel() -> None:
    """Times in microseconds; of a buffer of 1000 packets one is being sent."""
    newton = {"name": "codel", "sqrt": "newton"}
    assert words(newton) == "codel limit 999 target 5000us interval 100000us noecn"
    all_given = {
        **newton,
        "target": "1.5 ms",
        "interval": "20 ms",
        "mtu": "1500 B",
        "ce_threshold": "1 us",
        "ecn": True,
    }
    assert words(all_given) == "codel limit 999 target 1500us interval 20000us ce_threshold 1us ecn"


def test_fq_codel() -> None:
    """The quantum is RFC 8290's, not the kernel's, which would be a packet; its memory does not limit the queue."""
    queue = {"name": "fq-codel", "sqrt": "newton", "floor": "all"}
    control = "target 5000us interval 100000us"
    many = "limit 999 memory_limit 2147483648"
    assert words(queue) == f"fq_codel {many} flows 1024 quantum 1514 drop_batch 64 {control} ecn"
    other = {**queue, "flows": 16, "quantum": "300 B", "drop_batch": "1 packet", "ecn": False}
    assert words(other) == f"fq_codel {many} flows 16 quantum 300 drop_batch 1 {control} noecn"


def test_pie() -> None:
    """alpha and beta in sixteenths: 1/8 and 1 1/4 (RFC 8033, appendix A) are 2 and 20."""
    queue = {"name": "pie", "variant": "linux"}
    assert words(queue) == "pie limit 999 target 15000us tupdate 15000us alpha 2 beta 20 noecn"
    other = {**queue, "target": "20 ms", "update": "16 ms", "alpha": 0.0625, "beta": 2, "ecn": True}
    assert words(other) == "pie limit 999 target 20000us tupdate 16000us alpha 1 beta 32 ecn"
    assert words({**queue, "decay_factor": 0.984375, "delay": "timestamp", "long_delay_step": True}) == words(queue)


def test_fq_pie() -> None:
    """As PIE, and with the kernel's defaults of flows; its memory does not limit the queue."""
    queue = {"name": "fq-pie", "variant": "linux"}
    many = "limit 999 memory_limit 2147483648"
    control = "target 15000us tupdate 15000us alpha 2 beta 20"
    assert words(queue) == f"fq_pie {many} flows 1024 quantum 1514 {control} noecn"
    other = {**queue, "flows": 16, "quantum": "300 B", "ecn": True}
    assert words(other) == f"fq_pie {many} flows 16 quantum 300 {control} ecn"


def test_cake() -> None:
    """Flows on Linux share hosts, so that only flows are isolated. A packet of 1500 B takes 2250 B of the limit. With
    `overhead` the kernel counts IP packets, which are 14 B shorter than the scenario's.
    """
    rest = "flows no-ack-filter no-split-gso nonat nowash"
    assert (
        words(CAKE) == f"cake unlimited rtt 100000us besteffort {rest} overhead 14 mpu 0 noatm memlimit 2247750 egress"
    )
    other = {
        **CAKE,
        "bandwidth": "8 Mbit/s",
        "rtt": "10 ms",
        "diffserv": "diffserv4",
        "overhead": 44,
        "mpu": "64 B",
        "framing": "atm",
        "ingress": True,
    }
    shaper = "cake bandwidth 8000000bit rtt 10000us diffserv4"
    assert words(other) == f"{shaper} {rest} overhead 58 mpu 64 atm memlimit 2247750 ingress"


@pytest.mark.parametrize(("w_q", "burst"), [(1 / 256, 34), (1 / 512, 48)])
def test_red(w_q: float, burst: int) -> None:
    """Sizes in bytes. With min 7500 and avpkt 1500, tc (iproute2 6.1) sends the kernel a Wlog of 7 for a burst of 33, 8
    for 34 and 47, 9 for 48: read from its message by strace.
    """
    queue = {"name": "red", "w_q": w_q, "gentle": False, "gaps": "drawn"}
    sizes = "limit 1498500 min 7500 max 22500 avpkt 1500"
    assert words(queue) == f"red {sizes} burst {burst} probability 0.02 bandwidth 10000000bit"
    assert words({**queue, "ecn": True}) == f"{words(queue)} ecn harddrop"


def test_red_of_other_thresholds() -> None:
    """For a Wlog of 9, with min 15000 and max 60000, 72 is a burst that tc takes (by strace)."""
    queue = {
        "name": "red",
        "w_q": 1 / 512,
        "gentle": False,
        "gaps": "drawn",
        "min_th": "10 packets",
        "max_th": "40 packets",
        "max_p": 0.1,
    }
    sizes = "limit 13500 min 15000 max 60000 avpkt 1500"
    assert words(queue, buffer="10 packets") == f"red {sizes} burst 72 probability 0.1 bandwidth 10000000bit"


def test_step() -> None:
    """A ce_threshold, and a CoDel that never drops."""
    threshold = words({"name": "step", "threshold": "1 ms"})
    assert threshold == "codel limit 999 target 2000s interval 2000s ce_threshold 1000us noecn"


@pytest.mark.parametrize(
    ("buffer", "limit"),
    [
        ("unlimited", 10_000_000),
        ("20 packets", 19),
        ("15 kB", 9),
        # 12 ms are 10 packets, in addition to the one being sent.
        ("12 ms", 10),
        ("12.5 ms", 10),
    ],
)
def test_buffers(buffer: str, limit: int) -> None:
    assert words({"name": "codel", "sqrt": "newton"}, buffer=buffer).startswith(f"codel limit {limit} ")


def test_a_drop_tail_buffer_in_time() -> None:
    """The packet being sent is in it: 11 packets."""
    link = Plan.of(scenario("drop-tail", buffer="12 ms")).links[0]
    assert (link.buffer_packets, link.buffer_bytes, link.discipline) == (11, None, None)


RED = {"name": "red", "w_q": 2**-9, "gentle": False, "gaps": "drawn"}
PIE = {"name": "pie", "variant": "linux"}
CAKE = {"name": "cake", "isolation": "flows"}
CODEL = {"name": "codel", "sqrt": "newton"}
FQ_CODEL = {"name": "fq-codel", "sqrt": "newton", "floor": "all"}


@pytest.mark.parametrize(
    ("queue", "key", "said"),
    [
        ("dualpi2", "", "allowed: drop-tail, cake, codel, fq-codel, fq-pie, pie, red, step"),
        ("ared", "", "allowed: drop-tail"),
        ({**CODEL, "mtu": "512 B"}, ".mtu", '"1500 B"'),
        ({**CODEL, "target": "1500 ns"}, ".target", "whole microseconds"),
        ({**CODEL, "interval": "100000.5 us"}, ".interval", "whole microseconds"),
        ({**CODEL, "ce_threshold": "1 ns"}, ".ce_threshold", "whole microseconds"),
        ({**FQ_CODEL, "floor": "queue"}, ".floor", '"all"'),
        ("cake", ".isolation", '"flows"'),
        ({**CAKE, "target": "1 ms"}, ".target", "a twentieth of rtt"),
        ({**CAKE, "flows": 512}, ".flows", "1024"),
        ({**CAKE, "root": "exact"}, ".root", '"linux"'),
        ("pie", ".variant", '"linux"'),
        ({**PIE, "update": "15000.5 us"}, ".update", "whole microseconds"),
        ({**PIE, "alpha": 0.1}, ".alpha", "[0.0625, 2]"),
        ({**PIE, "beta": 0}, ".beta", "[0.0625, 2]"),
        ({**PIE, "beta": 2.0625}, ".beta", "[0.0625, 2]"),
        ({**PIE, "max_burst": "0 s"}, ".max_burst", '"150 ms"'),
        ({**PIE, "ecn_threshold": 0.2}, ".ecn_threshold", "0.1"),
        ({**PIE, "derandomize": False}, ".derandomize", "true"),
        ({**PIE, "cap_step": False}, ".cap_step", "true"),
        ({**PIE, "decay": "half-target"}, ".decay", '"empty"'),
        ({**PIE, "decay_factor": 0.98}, ".decay_factor", "0.984375"),
        ({**PIE, "delay": "rate"}, ".delay", '"timestamp"'),
        ({**PIE, "long_delay_step": False}, ".long_delay_step", "true"),
        ({**RED, "gentle": True}, ".gentle", "false"),
        ({**RED, "gaps": "uniform"}, ".gaps", '"drawn"'),
        ({**RED, "w_q": 0.002}, ".w_q", "0.001953125"),
        ({**RED, "w_q": 1}, ".w_q", "power of two"),
        # tc finds no weight for a burst that is not longer than min_th.
        ({**RED, "min_th": "1 packet"}, ".w_q", "a larger value"),
        ({**RED, "min_th": "15 packets"}, ".min_th", "not below max_th"),
        ({**RED, "max_p": 0}, ".max_p", "in (0, 1) for tc"),
        ({**RED, "max_p": 1}, ".max_p", "in (0, 1) for tc"),
        # 6000 packets are 9,000,000 bytes: 24 bits, and 9 of w_q.
        ({**RED, "max_th": "6000 packets"}, ".max_th", "32 bits"),
        ("step", ".threshold", "a time such as"),
        ({"name": "step", "threshold": "1 packet"}, ".threshold", "a time such as"),
    ],
)
def test_what_tc_cannot_be_told(queue: Any, key: str, said: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        Plan.of(scenario(queue))
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(f"links[0].queue{key}: ")
    assert said in str(caught.value)


@pytest.mark.parametrize("rate", ["10.0005 Mbit/s", "10 Gbit/s"])
def test_rates_that_cbs_cannot_keep(rate: str) -> None:
    with pytest.raises(ScenarioError, match=r"links\[0\].queue: .* whole kbit/s below 10 Gbit/s"):
        Plan.of(scenario(CODEL, rate=rate))


def test_an_aqm_needs_a_packet_that_waits() -> None:
    with pytest.raises(ScenarioError, match=r"links\[0\].queue: .* at least 2 packets"):
        Plan.of(scenario(CODEL, buffer="1 packet"))


def test_a_refusal_ends_the_program_with_2(tmp_path: Path) -> None:
    file = tmp_path / "scenario.toml"
    file.write_text(scenario("fq-codel").to_toml())
    done = subprocess.run([PROGRAM, "linux", "run", file], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert f"{file.name}" in line
    assert "links[0].queue.floor" in line


@pytest.mark.parametrize("queue", ["codel", {"name": "codel", "sqrt": "exact"}, {**FQ_CODEL, "sqrt": "exact"}])
def test_another_root_is_run_and_said(queue: Any) -> None:
    """A plain CoDel runs, but with a warning, because the metrics of two engines are compared."""
    (warning,) = Plan.of(scenario(queue)).warnings
    assert warning.startswith("links[0].queue.sqrt: the kernel computes one Newton step")


def test_what_both_do_alike_is_not_said() -> None:
    assert Plan.of(scenario(CODEL)).warnings == Plan.of(scenario(FQ_CODEL)).warnings == ()


def test_a_warning_is_in_the_result() -> None:
    tried = scenario("codel")
    lines = ["l 0 0 0 0 0 4 0", "l 2000000000 0 1875000 1250 7 8 9", "l 0 1 0 0 0 0 0", "l 2000000000 1 0 0 0 0 0"]
    result = Result(tried, to_tables(Plan.of(tried), lines), engine="linux", wall_s=1)
    assert result.to_dict()["warnings"] == [*tried.warnings, *Plan.of(tried).warnings] != tried.warnings


def orders(tried: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The guest's files that are text."""
    files: dict[str, str] = {}
    monkeypatch.setattr(Initramfs, "add", lambda _, path, content: files.update({path: content.decode()}))
    monkeypatch.setattr(Initramfs, "add_program", lambda *_: None)
    monkeypatch.setattr(job.programs, "OBJECTS", tmp_path)
    (tmp_path / "agent").write_bytes(b"")
    (tmp_path / "module").write_bytes(b"")
    ways = ("sch_ingress", "cls_matchall", "act_mirred", "act_police")
    names = ("veth", "sch_netem", "sch_cbs", "sch_codel", "sch_pie", "sch_red", "tcp_vegas", "tcp_yeah", *ways)
    job.build(Plan.of(tried), Kernel("none", tmp_path / "module", dict.fromkeys(names, tmp_path / "module")))
    return files


def test_the_bottleneck(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cbs that keeps the rate, of the 10 Gbit/s that a veth claims, with 150 us for its lateness (an eighth of a
    packet); the AQM below it, whose counters are read; the ACKs' delay has the packet's transmission, 1.2 ms, on top of
    the 100 ms.
    """
    files = orders(scenario(CODEL), tmp_path, monkeypatch)
    text = "\n".join(files.values())
    slopes = "idleslope 10000 sendslope -9990000 hicredit 187 locredit -3000"
    assert f"qdisc add dev l0f root handle 1: cbs {slopes}\n" in text
    assert "qdisc add dev l0f parent 1:1 handle 2: codel limit 999 " in text
    assert "netem delay 101200.000us" in text
    assert "link n0 l0f 2\nlink n1 l0r 1\n" in files["/job"]
    assert "module /modules/sch_cbs.ko\nmodule /modules/sch_codel.ko\n" in files["/job"]


def test_drop_tail_is_a_netem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = orders(scenario("drop-tail"), tmp_path, monkeypatch)
    text = "\n".join(files.values())
    assert "qdisc add dev l0f root handle 1: netem rate 10000000bit limit 1000\n" in text
    assert "netem delay 100000.000us" in text
    assert "link n0 l0f 1\n" in files["/job"]
    assert "cbs" not in text


def test_fq_codel_may_be_built_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = orders(scenario(FQ_CODEL), tmp_path, monkeypatch)
    assert "sch_cbs" in files["/job"]
    assert "sch_fq_codel" not in files["/job"]


@pytest.mark.parametrize(("slow_start", "written"), [("standard", "0"), ("hystart", "1")])
def test_hystart(slow_start: str, written: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel's cubic is built in, and has HyStart by default."""
    tried = scenario("drop-tail").replace(**{"flows.algorithm": "cubic", "flows.slow_start": slow_start})
    assert f"write /sys/module/tcp_cubic/parameters/hystart {written}\n" in orders(tried, tmp_path, monkeypatch)["/job"]
    assert "hystart" not in orders(scenario("drop-tail"), tmp_path, monkeypatch)["/job"]


@pytest.mark.parametrize("algorithms", [["yeah"], ["yeah", "vegas"], ["vegas", "yeah"]])
def test_yeah_stands_on_vegas(algorithms: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel's yeah calls functions of its vegas, which has to be loaded before it, and once."""
    (flow,) = scenario("drop-tail").to_dict()["flows"]
    flows = [{**flow, "algorithm": algorithm} for algorithm in algorithms]
    loaded = re.findall(
        r"/modules/tcp_(\w+)", orders(scenario("drop-tail").replace(flows=flows), tmp_path, monkeypatch)["/job"]
    )
    assert loaded == ["vegas", "yeah"]


@pytest.mark.parametrize(("ecn", "written"), [("off", "0"), ("classic", "1")])
def test_ecn(ecn: str, written: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked for by the sender's namespace; the receiver's, by the kernel's default, grants it."""
    asked = orders(scenario(CODEL, ecn=ecn), tmp_path, monkeypatch)["/job"]
    assert asked.count("tcp_ecn") == 1
    assert "enter s0\noffloads-off uplink\n" in asked
    assert f"write /proc/sys/net/ipv4/tcp_ecn {written}\n" in asked


def test_what_the_kernel_counts() -> None:
    """Samples of 4 and 8 packets waiting; 1250 packets of 1500 bytes in 2 s are 0.75 of the link, the part of the time
    in which one more is being sent; drops and marks are those of the window.
    """
    plan = Plan.of(scenario(CODEL))
    lines = ["l 0 0 0 0 0 4 0", "l 2000000000 0 1875000 1250 7 8 9", "l 0 1 0 0 0 0 0", "l 2000000000 1 0 0 0 0 0"]
    link = {name: column[0] for name, column in to_tables(plan, lines)["links"].items()}
    assert link["utilization"] == 0.75
    assert link["mean_queue_packets"] == 6.75
    assert link["max_queue_packets"] == 9
    assert (link["dropped_packets"], link["marked_packets"]) == (7, 9)
    # Sent, dropped, and 4 more waiting than before.
    assert link["arrived_packets"] == 1261
    assert link["reverse_marked_packets"] == 0


def way(**changes: Any) -> Way:
    """The forward direction of a link of 10 Mbit/s in a run of 2 s."""
    return Plan.of(scenario("drop-tail", **changes)).links[0].ways[0]


def wire(**changes: Any) -> str:
    """Initial parameters of the netem behind the link."""
    return " ".join(way(**changes).wires[0][1])


def test_wires() -> None:
    """netem delays all packets but a part: 1 % late is 99 % at once. Of Gilbert and Elliott's chances it takes those to
    lose.
    """
    assert way() == Way(rates=((0, 10_000_000),))
    assert wire(loss=0.015) == "loss random 1.5%"
    assert wire(reorder={"probability": 0.01, "delay": "5 ms"}) == "delay 5000.000us reorder 99%"
    channel = {"model": "gilbert-elliott", "p": 0.01, "r": 0.25, "h": 0.125, "k": 0.999}
    assert wire(loss=channel) == "loss gemodel 1% 25% 87.5% 0.1%"


def test_a_policer() -> None:
    assert " ".join(way(policer={"rate": "5 Mbit/s", "burst": "50 kB"}).policer) == (
        "police rate 5000000bit burst 50000b conform-exceed drop/pass"
    )


def test_schedules() -> None:
    """Within the run. With `repeat`, each period begins with the link's own values."""
    steps = [{"at": "0.5 s", "rate": "5 Mbit/s"}, {"at": "600 ms", "loss": 0.25}, {"at": "3 s", "rate": "1 Mbit/s"}]
    once = way(schedule=steps)
    assert once.rates == ((0, 10_000_000), (500_000_000, 5_000_000))
    assert once.wires == ((0, ()), (600_000_000, ("loss", "random", "25%")))
    again = way(schedule=steps[:1], repeat="1.5 s")
    assert again.rates == ((0, 10**7), (500_000_000, 5_000_000), (1_500_000_000, 10**7))
    assert way(schedule=steps[:1], repeat="1 s").rates[2:] == ((1_000_000_000, 10**7), (1_500_000_000, 5_000_000))


def test_capacity_follows_the_rate() -> None:
    """10 Mbit/s for half a second, then 5: from 0.25 s to 1.25 s 2.5 and 3.75 Mbit."""
    assert way(schedule=[{"at": "0.5 s", "rate": "5 Mbit/s"}]).sent_bits(250_000_000, 1_250_000_000) == 6_250_000


@pytest.mark.parametrize(
    ("change", "key", "said"),
    [
        ({"schedule": [{"at": "1 s", "delay": "1 ms"}]}, "schedule", "only rate and loss"),
        ({"schedule": [{"at": "1 s", "rate": "0 bit/s"}]}, "schedule", "whole kbit/s above 0"),
        ({"schedule": [{"at": "1 s", "rate": "1500 bit/s"}]}, "schedule", "whole kbit/s"),
        ({"schedule": [{"at": "1 ms", "loss": 0.1}], "repeat": "2 ms"}, "schedule", "at most 256"),
        ({"jitter": {"model": "uniform", "mean": "1 ms"}}, "jitter", "conflicts with the Linux engine"),
        ({"aggregation": "4 ms"}, "aggregation", "conflicts with the Linux engine"),
        ({"ecn_field": "not-ect"}, "ecn_field", "conflicts with the Linux engine"),
        ({"drop": [3]}, "drop", "conflicts with the Linux engine"),
        ({"limit": 9}, "limit", "conflicts with the Linux engine"),
        ({"delay_trace": [[0, 0.001]]}, "delay_trace", "conflicts with the Linux engine"),
        ({"reverse": {"drop": [3]}}, "reverse.drop", "conflicts with the Linux engine"),
        ({"reverse": {"rate": "1 Mbit/s"}}, "reverse.rate", "both directions"),
        ({"reverse": {"delay": "1 ms"}}, "reverse.delay", "both directions"),
        ({"reverse": {"buffer": "1 packet"}}, "reverse.buffer", "both directions"),
        ({"reverse": {"queue": "red"}}, "reverse.queue", "both directions"),
        ({"reverse": {"trace": [1]}}, "reverse.rate", "both directions"),
    ],
)
def test_what_a_link_cannot_do(change: Any, key: str, said: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        Plan.of(scenario("drop-tail", **change))
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(f"links[0].{key}: ")
    assert said in str(caught.value)


def test_a_wire_is_a_namespace_behind_the_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Data loses a hundredth, ACKs nothing. Losses are counted after the queues."""
    files = orders(scenario("drop-tail", loss=0.01, reverse={"loss": 0}), tmp_path, monkeypatch)
    text = "\n".join(files.values())
    assert "namespace w0\n" in files["/job"]
    assert "peer name left mtu 1486 address 02:00:00:06:00:00 netns w0\n" in text
    assert "qdisc add dev right root handle 1: netem loss random 1% limit 10000000\n" in text
    assert "qdisc add dev left root" not in text
    assert "filter add dev left ingress matchall action mirred egress redirect dev right\n" in text
    assert "filter add dev right ingress matchall action mirred egress redirect dev left\n" in text
    assert "link n0 l0f 1\nlink n1 l0r 1\nlink w0 right 1\n" in files["/job"]


def test_changes_are_ordered_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change of rate applies in the direction of the data, with a queue whose rate tc can change. A change of losses
    applies in both.
    """
    steps = [{"at": "0.5 s", "loss": 1}, {"at": "1 s", "rate": "5 Mbit/s", "loss": 0}]
    files = orders(scenario("drop-tail", schedule=steps), tmp_path, monkeypatch)
    assert "handle 2: pfifo limit 999\n" in "\n".join(files.values())
    slopes = "idleslope 5000 sendslope -9995000 hicredit 187 locredit -3000"
    assert [line for line in files["/job"].splitlines() if line.startswith("at ")] == [
        "at 500000000 w0 /bin/tc qdisc change dev left root handle 1: netem loss random 100% limit 10000000",
        "at 500000000 w0 /bin/tc qdisc change dev right root handle 1: netem loss random 100% limit 10000000",
        f"at 1000000000 n0 /bin/tc qdisc change dev l0f root handle 1: cbs {slopes}",
        "at 1000000000 w0 /bin/tc qdisc change dev left root handle 1: netem limit 10000000",
        "at 1000000000 w0 /bin/tc qdisc change dev right root handle 1: netem limit 10000000",
    ]


def test_what_a_wire_and_a_policer_count() -> None:
    """Of 1250 that came out 50 are lost behind; 7 found the queue full, 25 the bucket empty: 1250 + 7 + 25 came, and 82
    of them are lost.
    """
    tried = scenario("drop-tail", loss=0.04, policer={"rate": "5 Mbit/s", "burst": "50 kB"}, reverse={"loss": 0})
    plan = Plan.of(tried)
    assert job.counters(plan) == [
        *((0, False, "queue"), (0, True, "queue"), (0, False, "wire")),
        *((0, False, "policer"), (0, True, "policer")),
    ]
    ends = ["1875000 1250 7 0 0", "0 0 0 0 0", "0 0 50 0 0", "0 0 25 0 0", "0 0 3 0 0"]
    lines = [line for i, end in enumerate(ends) for line in (f"l 0 {i} 0 0 0 0 0", f"l 2000000000 {i} {end}")]
    link = {name: column[0] for name, column in to_tables(plan, lines)["links"].items()}
    assert (link["dropped_packets"], link["wire_lost_packets"], link["arrived_packets"]) == (32, 50, 1282)
    assert link["loss_rate"] == 82 / 1282
    assert (link["reverse_dropped_packets"], link["reverse_wire_lost_packets"]) == (3, 0)
