"""Files of a recorded run: captures at the senders, samples of ss and tc (also as flent's), and the scenario."""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fullpipe._util.files import staged
from fullpipe.linux import job
from fullpipe.measurements import read
from fullpipe.measurements.to_flent import write_flent

if TYPE_CHECKING:
    from fullpipe.linux.plan import Plan
    from fullpipe.scenario import Scenario

__all__ = ["write"]

PCAP_HEAD = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 96, 1)
"""Head of a capture with times in nanoseconds, of at most 96 bytes of each Ethernet frame."""

ETHERNET, IPV4, TCP = 14, 4, 6


def write(
    directory: str, scenario: Scenario, plan: Plan, lines: Iterable[str], kernel: str, tested: Sequence[str] = ()
) -> None:
    """Writes what the guest reported.

    Args:
        directory: Directory of the files.
        scenario: The scenario, whose resolved form becomes ``truth.toml``.
        plan: Its plan.
        lines: Report of the guest.
        kernel: Version of the kernel.
        tested: Report of the guest where iperf3 was the sender; empty for none.
    """
    captures, outputs = _sorted(lines)
    names = [*(f"ss-{k}.txt" for k in range(job.senders(plan))), *(f"tc-{link.name}.txt" for link in plan.links)]
    with staged(directory) as stage:
        for i, flow in enumerate(plan.flows):
            algorithm = "".join(c if c.isalnum() else "-" for c in flow.tcp.algorithm)
            records = b"".join(captures.get(job.FIRST_PORT + i, []))
            (stage / f"flow-{i:04}-{algorithm}.pcap").write_bytes(PCAP_HEAD + records)
        for number, name in enumerate(names):
            text = "".join(f"{line}\n" for line in outputs.get(number, []))
            (stage / Path(name).name).write_text(text, encoding="utf-8")
        if outputs:
            samples = [read(stage / Path(name).name) for name in names]
            write_flent(samples, stage / "flows.flent.gz", job.RECORD_NS / 1e9, "made from ss")
        if tested:
            _, output = _sorted(tested)
            (stage / "iperf3.json").write_text("\n".join(output[1][1:]) + "\n", encoding="utf-8")
        truth = f"# Recorded on Linux {kernel}.\n{scenario.resolved().to_toml()}"
        (stage / "truth.toml").write_text(truth, encoding="utf-8")


def _sorted(lines: Iterable[str]) -> tuple[dict[int, list[bytes]], dict[int, list[str]]]:
    """Records of the captures by the receiver's port, and lines of the programs by their number."""
    captures: dict[int, list[bytes]] = defaultdict(list)
    outputs: dict[int, list[str]] = defaultdict(list)
    for line in lines:
        kind, _, rest = line.partition(" ")
        if kind == "c":
            _, t_ns, length, content = rest.split()
            for port, record in _record(int(t_ns), int(length), bytes.fromhex(content)):
                captures[port].append(record)
        elif kind == "o":
            number, _, text = rest.partition(" ")
            outputs[int(number)].append(text)
    return captures, outputs


def _record(t_ns: int, length: int, content: bytes) -> Iterator[tuple[int, bytes]]:
    """Record of a TCP packet, under the smaller port of both, which is the receiver's."""
    ip = content[ETHERNET:]
    if len(ip) < 40 or ip[0] >> 4 != IPV4 or ip[9] != TCP:
        return
    ports = struct.unpack_from("!HH", ip, 4 * (ip[0] & 15))
    head = struct.pack("<IIII", t_ns // 10**9, t_ns % 10**9, len(content), length)
    yield min(ports), head + content
