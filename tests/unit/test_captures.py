"""Reader of pcap and pcapng: each trap is a capture that the test makes."""

from __future__ import annotations

import random
import struct
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from fullpipe.errors import InputError
from fullpipe.measurements import Measurement, read

CLIENT, SERVER = (b"\x0a\x00\x00\x01", 40000), (b"\x0a\x00\x00\x02", 5201)
SYN, ACK, ECE, CWR, AE = 2, 16, 64, 128, 256
ISN, OTHER = 4_294_967_000, 7000  # the first one wraps after 296 bytes

Packet = tuple[float, bytes, int]

READ = """
import sys
from fullpipe.measurements import read
calls = []
read(sys.argv[1], progress=lambda done, size: calls.append(done))
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]
print(peak, len(calls), calls[-1])
"""
"""Program that reads a file: its own peak memory in kB, calls of progress, and bytes read by the last one."""


def tcp(
    t: float,
    back: bool,
    seq: int,
    ack: int,
    size: int = 0,
    flags: int = ACK,
    options: bytes = b"",
    total: int | None = None,
    ident: int = 0,
    protocol: int = 6,
    link: int = 1,
    cut: int = 10_000,
) -> Packet:
    """A packet whose payload is not captured."""
    source, sink = (SERVER, CLIENT) if back else (CLIENT, SERVER)
    options += b"\1" * (-len(options) % 4)
    offset = (5 + len(options) // 4) << 4 | flags >> 8
    header = struct.pack("!HHIIBBHHH", source[1], sink[1], seq % 2**32, ack % 2**32, offset, flags & 255, 100, 0, 0)
    length = 20 + len(header) + len(options) + size
    ip = struct.pack("!BBHHHBBH", 0x45, 0, length if total is None else total, ident, 0, 64, protocol, 0)
    ip += source[0] + sink[0]
    ether = {1: b"\2" * 12 + b"\x08\0", 113: b"\0" * 14 + b"\x08\0", 101: b"", 0: b"\2\0\0\0"}
    ether[276] = b"\x08\0" + b"\0" * 18
    captured = ether[link] + ip + header + options
    return t, captured[:cut], len(ether[link]) + length


def stamps(value: int, echo: int) -> bytes:
    return b"\1\1\x08\x0a" + struct.pack("!II", value, echo)


def sack(*blocks: tuple[int, int]) -> bytes:
    packed = b"".join(struct.pack("!II", (ISN + 1 + a) % 2**32, (ISN + 1 + b) % 2**32) for a, b in blocks)
    return b"\1\1\x05" + bytes([2 + len(packed)]) + packed


def pcap(packets: Sequence[Packet], link: int = 1, order: str = "<", nanoseconds: bool = False) -> bytes:
    magic, unit = (0xA1B23C4D, 1e9) if nanoseconds else (0xA1B2C3D4, 1e6)
    found = struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, 65535, link)
    for t, data, length in packets:
        found += struct.pack(f"{order}IIII", int(t), round(t % 1 * unit), len(data), length) + data
    return found


def pcapng(packets: Sequence[Packet], link: int = 1, digits: int = 9) -> bytes:
    def block(kind: int, body: bytes) -> bytes:
        body += b"\0" * (-len(body) % 4)
        length = struct.pack("<I", 12 + len(body))
        return struct.pack("<I", kind) + length + body + length

    found = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    found += block(1, struct.pack("<HHI", link, 0, 0) + struct.pack("<HHB3x", 9, 1, digits) + struct.pack("<HH", 0, 0))
    for t, data, length in packets:
        ticks = round(t * 10**digits)
        found += block(6, struct.pack("<IIIII", 0, ticks >> 32, ticks & 0xFFFFFFFF, len(data), length) + data)
    return found


def handshake(rtt: float = 0.04, delay: float = 0.0001, **more: Any) -> list[Packet]:
    flags = more.pop("flags", (SYN, SYN | ACK))
    mss = b"\x02\x04\x05\xb4"  # 1460
    return [
        tcp(100.0, False, ISN, 0, flags=flags[0], options=mss, **more),
        tcp(100.0 + rtt, True, OTHER, ISN + 1, flags=flags[1], options=mss, **more),
        tcp(100.0 + rtt + delay, False, ISN + 1, OTHER + 1, **more),
    ]


def data(t: float, n: int, size: int = 1448, **more: Any) -> Packet:
    return tcp(t, False, ISN + 1 + 1448 * n, OTHER + 1, size, **more)


def ack(t: float, n: float, **more: Any) -> Packet:
    return tcp(t, True, OTHER + 1, ISN + 1 + round(1448 * n), **more)


def load(tmp_path: Path, content: bytes) -> Measurement:
    path = tmp_path / "capture"
    path.write_bytes(content)
    return read(path)


def last(measured: Measurement) -> dict[str, Any]:
    found: dict[str, Any] = measured.samples.to_pylist()[-1]
    return found


def flow(measured: Measurement) -> dict[str, Any]:
    found: list[dict[str, Any]] = measured.flows.to_pylist()
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize(
    "write",
    [
        pcap,
        lambda packets: pcap(packets, order=">"),
        lambda packets: pcap(packets, nanoseconds=True),
        pcapng,
        lambda packets: pcapng(packets, digits=6),
    ],
)
def test_values_at_the_sender(tmp_path: Path, write: Any) -> None:
    packets = [*handshake(), data(100.05, 0), data(100.051, 1), data(100.052, 2), ack(100.095, 2)]
    measured = load(tmp_path, write(packets))
    found = last(measured)
    # The sequence numbers wrap in the first packet.
    assert (found["acked_bytes"], found["sent_bytes"], found["in_flight_bytes"]) == (2896, 4344, 1448)
    assert found["rtt_s"] == pytest.approx(0.045, abs=1e-6)  # of the oldest packet that the ACK covers
    assert found["min_rtt_s"] == pytest.approx(0.04, abs=1e-6)  # of the handshake
    assert (found["retransmits"], found["ce"]) == (0, 0)
    one = flow(measured)
    assert (one["source"], one["sink"], one["direction"]) == ("10.0.0.1:40000", "10.0.0.2:5201", "out")
    assert (one["mss_bytes"], one["header_bytes"]) == (1448, 54)
    assert measured.metadata["t0"] == "1970-01-01T00:01:40.000000Z"
    assert measured.metadata["vantage"] == "sender"


def test_retransmissions_and_selective_acknowledgments(tmp_path: Path) -> None:
    packets = [*handshake(), *(data(100.05 + n / 1000, n) for n in range(5))]
    packets += [
        ack(100.095, 1),
        ack(100.096, 1, options=sack((2896, 4344))),
        ack(100.097, 1, options=sack((2896, 7240))),
    ]
    before = last(load(tmp_path, pcap(packets)))
    assert (before["acked_bytes"], before["in_flight_bytes"]) == (1448 + 4344, 1448)
    found = last(load(tmp_path, pcap([*packets, data(100.1, 1), ack(100.14, 5)])))
    assert (found["retransmits"], found["acked_bytes"], found["in_flight_bytes"]) == (1, 7240, 0)
    # Karn: the ACK of retransmitted data gives no RTT without timestamps.
    assert found["rtt_s"] == pytest.approx(0.045, abs=1e-6)


def test_rows_of_packets(tmp_path: Path) -> None:
    """Four segments, of which the second is lost: SACK of the third and the fourth, and a retransmission."""
    path = tmp_path / "capture"
    found = [data(100.1 + n / 1000, n) for n in range(4)]
    found += [ack(100.15, 1), ack(100.16, 1, options=sack((2896, 5792))), data(100.17, 1), ack(100.21, 4)]
    found.append(ack(100.22, 4, options=sack((1448, 2896))))  # a D-SACK block
    path.write_bytes(pcap([*handshake(), *found]))
    assert len(read(path).packets) == 0
    rows = [(row["kind"], row["seq"], row["bytes"]) for row in read(path, packets=True).packets.to_pylist()]
    assert rows == [
        *(("sent", 1448 * n, 1448) for n in range(4)),
        ("acked", 0, 1448),
        ("sacked", 2896, 2896),
        ("sent", 1448, 1448),
        ("acked", 1448, 4344),
    ]


def test_timestamps_give_an_rtt_in_a_recovery(tmp_path: Path) -> None:
    packets = [*handshake(), data(100.05, 0, options=stamps(1, 1)), data(100.051, 1, options=stamps(2, 1))]
    packets += [data(100.2, 0, options=stamps(200, 1)), ack(100.25, 2, options=stamps(9, 200))]
    measured = load(tmp_path, pcap(packets))
    assert last(measured)["rtt_s"] == pytest.approx(0.05, abs=1e-6)
    assert flow(measured)["header_bytes"] == 66


def test_keep_alive_is_no_retransmission(tmp_path: Path) -> None:
    packets = [*handshake(), data(100.05, 0), ack(100.09, 1), tcp(100.2, False, ISN + 1448, OTHER + 1, 1)]
    assert last(load(tmp_path, pcap(packets)))["retransmits"] == 0


def test_accurate_ecn_is_a_counter(tmp_path: Path) -> None:
    flags = (SYN | AE | CWR | ECE, SYN | ACK | CWR)
    packets = [*handshake(flags=flags), data(100.05, 0), data(100.051, 1)]
    # 5 is no mark; 0 is 8 modulo 8, which is 3 marks.
    packets += [ack(100.09, 1, flags=ACK | AE | ECE), ack(100.095, 2, flags=ACK)]
    measured = load(tmp_path, pcap(packets))
    assert (flow(measured)["ecn"], last(measured)["ce"]) == ("accurate", 3)
    flags = (SYN | CWR | ECE, SYN | ACK | ECE)
    packets = [*handshake(flags=flags), *(data(100.05 + n / 1000, n) for n in range(4))]
    bits = (ACK | ECE, ACK | ECE, ACK, ACK | ECE)
    packets += [ack(100.09 + n / 1000, n + 1, flags=each) for n, each in enumerate(bits)]
    assert last(load(tmp_path, pcap(packets)))["ce"] == 2  # edges


def test_segmentation_offload(tmp_path: Path) -> None:
    packets = [*handshake(), data(100.05, 0), data(100.051, 1, 14480, total=0), ack(100.09, 11)]
    measured = load(tmp_path, pcap(packets))
    assert last(measured)["acked_bytes"] == 11 * 1448
    assert flow(measured)["mss_bytes"] == 1448
    assert "offload" in measured.events["kind"].to_pylist()


@pytest.mark.parametrize("link", [1, 113, 276, 101, 0])
def test_link_types(tmp_path: Path, link: int) -> None:
    packets = [*handshake(link=link), data(100.05, 0, link=link), ack(100.09, 1, link=link)]
    assert last(load(tmp_path, pcap(packets, link)))["acked_bytes"] == 1448


def test_unknown_link_types_are_refused(tmp_path: Path) -> None:
    for content in (pcap(handshake(), 105), pcapng(handshake(), 105)):
        with pytest.raises(
            InputError, match=r"unknown link type 105 \(allowed: Ethernet, Linux cooked, raw IP, null\)$"
        ):
            load(tmp_path, content)


def test_packets_that_a_cooked_capture_holds_twice(tmp_path: Path) -> None:
    packets = [*handshake(link=113), data(100.05, 0, ident=9, link=113), data(100.0501, 0, ident=9, link=113)]
    found = last(load(tmp_path, pcap([*packets, ack(100.09, 1, link=113)], 113)))
    assert (found["retransmits"], found["sent_bytes"]) == (0, 1448)
    packets = [*handshake(), data(100.05, 0, ident=9), data(100.0501, 0, ident=9), ack(100.09, 1)]
    assert last(load(tmp_path, pcap(packets)))["retransmits"] == 1


def test_start_in_mid_flow(tmp_path: Path) -> None:
    packets = [ack(99.9, 5), data(100.0, 8), ack(100.01, 7), ack(100.02, 8), data(100.03, 9), ack(100.04, 9)]
    measured = load(tmp_path, pcap(packets))
    assert (last(measured)["acked_bytes"], measured.metadata["packets_missing"]) == (1448, 0)
    assert (measured.metadata["vantage"], flow(measured)["direction"]) == ("unknown", "unknown")


def test_packets_that_the_capture_lost(tmp_path: Path) -> None:
    packets = [*handshake(), data(100.05, 0), data(100.053, 3), ack(100.09, 4), data(100.1, 7), ack(100.14, 10)]
    measured = load(tmp_path, pcap(packets))
    assert measured.metadata["packets_missing"] == 2
    assert any("2 of 5 packets are missing" in each for each in measured.warnings)


def test_capture_at_the_receiver(tmp_path: Path) -> None:
    packets = [*handshake(rtt=0.0001, delay=0.04), data(100.05, 0), ack(100.0501, 1)]
    measured = load(tmp_path, pcap(packets))
    assert measured.metadata["vantage"] == "receiver"
    assert last(measured)["rtt_s"] is None
    assert any("capture at the sender" in each for each in measured.warnings)
    assert load(tmp_path, pcap([*handshake(delay=0.02), data(100.07, 0)])).metadata["vantage"] == "middle"


def test_times_that_go_back(tmp_path: Path) -> None:
    packets = [*handshake(), data(100.05, 0), ack(100.09, 1), data(100.0899, 1)]
    assert not load(tmp_path, pcap(packets)).warnings
    assert "go back" in load(tmp_path, pcap([*packets, data(100.01, 2)])).warnings[0]


def test_snapshot_cuts_options(tmp_path: Path) -> None:
    packets = [*handshake(), data(100.05, 0), data(100.051, 1), ack(100.09, 1, options=sack((1448, 2896)), cut=60)]
    assert last(load(tmp_path, pcap(packets)))["acked_bytes"] == 1448


def test_captures_without_tcp_are_refused(tmp_path: Path) -> None:
    packets = [tcp(100.0 + n, False, 0, 0, 50, protocol=17) for n in range(3)]
    with pytest.raises(InputError, match=r"explain requires a TCP or QUIC sender; found 3 UDP packets$"):
        load(tmp_path, pcap(packets))


def test_truncated_captures(tmp_path: Path) -> None:
    packets = [*handshake(), *(data(100.05 + n / 1000, n) for n in range(150)), ack(100.3, 150)]
    whole = pcap(packets)
    begin = len(pcap(packets[:-1]))
    measured = load(tmp_path, whole[:-5])
    said = f"truncated after packet 153 (byte {begin} of {len(whole) - 5}); the rest is left out"
    assert (measured.warnings, measured.metadata["truncated"]) == ([said], True)
    with pytest.raises(InputError, match="truncated after packet 4"):
        load(tmp_path, pcap(packets[:5])[:-5])


def test_lengths_are_checked(tmp_path: Path) -> None:
    head = pcap([])
    with pytest.raises(InputError, match="the record at byte 24 must have at most 262144 bytes, got 2147483647"):
        load(tmp_path, head + struct.pack("<IIII", 1, 1, 2**31 - 1, 100) + b"\0" * 100)
    section = pcapng([])
    for length, said in (
        (0, "must have a multiple of 4 bytes, at least 12, got 0"),
        (18, "at least 12, got 18"),
        (2**24, "bytes, got 16777216"),
    ):
        with pytest.raises(InputError, match=said):
            load(tmp_path, section + struct.pack("<II", 6, length) + b"\0" * 100)


@pytest.mark.parametrize("write", [pcap, pcapng])
def test_damaged_captures_give_one_line(tmp_path: Path, write: Any) -> None:
    random.seed(1)
    packets = [*handshake(), *(data(100.05 + n / 1000, n, options=stamps(n, 1)) for n in range(8))]
    whole = write([*packets, ack(100.1, 3, options=sack((4344, 5792))), ack(100.2, 8)])
    for _ in range(300):
        content = bytearray(whole[: random.randrange(1, len(whole))] if random.random() < 0.3 else whole)
        for _ in range(random.randrange(5)):
            content[random.randrange(len(content))] ^= 1 << random.randrange(8)
        with suppress(InputError):
            load(tmp_path, bytes(content))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_gigabyte_takes_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "big"
    count = 200_000
    part = bytearray()
    for n in range(0, count, 2):
        part += pcap([data(100 + n / 1e4, n), ack(100.04 + n / 1e4, n + 2)])[24:]
    with path.open("wb") as file:
        file.write(pcap(handshake()))
        while file.tell() < 1 << 30:
            file.write(part)
    done = subprocess.run([sys.executable, "-c", READ, str(path)], check=True, capture_output=True, text=True)
    peak_kb, calls, read_bytes = map(int, done.stdout.split())
    assert peak_kb < 300_000
    assert calls > 100
    assert read_bytes == path.stat().st_size
