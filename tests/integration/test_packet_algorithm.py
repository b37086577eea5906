"""Packet-level controllers in Python, over TCP and QUIC."""

# ruff: noqa: ARG002, ARG005

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import fullpipe
from conftest import ROOT, Program
from fullpipe import Scenario
from fullpipe.custom import arguments
from fullpipe.errors import AlgorithmError, InputError

NETWORK: dict[str, Any] = {
    "duration": "6 s",
    "warmup": "1 s",
    "links": [{"name": "l", "rate": "10 Mbit/s", "delay": "10 ms", "buffer": "20 packets"}],
}

AIMD = (ROOT / "examples/packet_aimd.py").read_text().replace('"packet-aimd"', '"{name}"')


@pytest.fixture
def aimd(tmp_path: Path) -> Path:
    file = tmp_path / "aimd.py"
    file.write_text(AIMD.format(name="packet-aimd"))
    return file


def test_the_page_shows_the_example() -> None:
    code = (ROOT / "examples/packet_aimd.py").read_text().partition('"""\n\n')[2]
    assert f"```python\n{code}```" in (ROOT / "docs/reference/custom-algorithms.md").read_text()


@pytest.mark.parametrize("transport", ["tcp", "quic"])
def test_aimd_fills_the_link(aimd: Path, transport: str) -> None:
    name = arguments.load_algorithms(str(aimd))
    scenario = Scenario(**NETWORK, flows=[{"algorithm": name, "transport": transport}])
    result = fullpipe.run(scenario)
    assert result.links.column("utilization")[0].as_py() > 0.9


def test_compare_takes_a_file_and_processes(aimd: Path) -> None:
    scenario = Scenario(**NETWORK, flows=[{"algorithm": "newreno", "host": "quic"}])
    compared = fullpipe.compare(scenario, [str(aimd), "newreno"], seeds=2)
    assert compared.runs.num_rows == 4


def test_program_runs_a_file(aimd: Path, program: Program) -> None:
    scenario = aimd.with_name("s.toml")
    scenario.write_text(Scenario(**NETWORK, flows=[{"algorithm": "newreno", "transport": "quic"}]).to_toml())
    said = program("compare", str(scenario), "--algorithms", f"newreno,{aimd}", "--json")
    assert said.returncode == 0, said.stderr
    assert '"packet-aimd"' in said.stdout


def test_events_carry_bytes_and_nanoseconds() -> None:
    seen: list[Any] = []

    @fullpipe.packet_algorithm("seen")
    class Seen:
        def on_packet_sent(self, path: Any, packet: Any) -> None:
            seen.append(("sent", packet.number, packet.bytes, packet.sent_at, path.now))

        def on_packets_acked(self, path: Any, acked: Any, rtt: Any) -> None:
            first = acked[0]
            assert len(acked) == len(list(acked))
            assert acked.bytes_total == sum(packet.bytes for packet in acked)
            assert list(acked.number) == [packet.number for packet in acked]
            assert acked[-1].rate is not None
            seen.append(("acked", first.number, first.acked_at, rtt.sample if rtt else None, path.in_flight))

        def on_packets_lost(self, path: Any, lost: Any, persistent: bool) -> None:
            raise AssertionError("nothing is lost")

        def window_bytes(self) -> int:
            return 14720

    link = {"name": "l", "rate": "10 Mbit/s", "delay": "10 ms", "buffer": "unlimited"}
    flows = [{"algorithm": "seen", "transport": "quic", "size": "4 packets", "pacing": "off"}]
    fullpipe.run(Scenario(duration="1 s", links=[link], flows=flows))
    # Packets of 1000 bytes carry datagrams of 972. The second arrives after 11.6 ms, and its ACK 10.032 ms later.
    assert [event[:4] for event in seen[:4]] == [("sent", number, 972, 0) for number in range(4)]
    assert seen[4] == ("acked", 0, 21_632_000, 21_632_000, 2 * 972)


def test_a_window_that_is_no_number_names_controller_method_and_packet() -> None:
    @fullpipe.packet_algorithm("broken")
    class Broken:
        window = 14720.0

        def on_packets_acked(self, path: Any, acked: Any, rtt: Any) -> None:
            self.window = float("nan")

        def on_packets_lost(self, path: Any, lost: Any, persistent: bool) -> None: ...

        def window_bytes(self) -> float:
            return self.window

    with pytest.raises(AlgorithmError, match=r'"broken".* returned window nan after on_packets_acked \(packet '):
        fullpipe.run(Scenario(**NETWORK, flows=[{"algorithm": "broken", "transport": "quic"}]))


def test_an_exception_is_the_cause() -> None:
    @fullpipe.packet_algorithm("raises")
    class Raises:
        def on_packets_acked(self, path: Any, acked: Any, rtt: Any) -> None:
            raise ZeroDivisionError("here")

        def on_packets_lost(self, path: Any, lost: Any, persistent: bool) -> None: ...

        def window_bytes(self) -> int:
            return 14720

    with pytest.raises(AlgorithmError) as raised:
        fullpipe.run(Scenario(**NETWORK, flows=[{"algorithm": "raises", "transport": "quic"}]))
    assert isinstance(raised.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize("missing", ["window_bytes", "on_packets_acked", "on_packets_lost"])
def test_a_class_without_a_required_method_is_refused(missing: str) -> None:
    methods = {"window_bytes", "on_packets_acked", "on_packets_lost"} - {missing}
    kind = type("Lacking", (), {method: lambda self, *_: 14720 for method in methods})
    with pytest.raises(InputError, match=missing):
        fullpipe.packet_algorithm("lacking")(kind)


def test_states_and_the_ack_frequency_of_a_class() -> None:
    heard: list[tuple[int, int]] = []

    @fullpipe.packet_algorithm("with-states")
    class WithStates:
        acks = 0

        def on_packets_acked(self, path: Any, acked: Any, rtt: Any) -> None:
            self.acks += 1

        def on_packets_lost(self, path: Any, lost: Any, persistent: bool) -> None: ...

        def on_ack_frequency(self, path: Any, threshold: int, max_ack_delay: int) -> None:
            heard.append((threshold, max_ack_delay))

        def window_bytes(self) -> int:
            return 14720

        def state(self) -> str:
            return ("Startup", "Drain", "Other")[min(self.acks // 20, 2)]

    flow = {"algorithm": "with-states", "transport": "quic"}
    scenario = Scenario(**NETWORK, series_interval="5 ms", flows=[flow])
    phases = fullpipe.run(scenario).series.column("phase").to_pylist()
    assert {phase for phase in phases if phase == phase} == {0.0, 1.0}
    assert heard == []
    fullpipe.run(scenario.set({"flows.0.ack_every": 4}))
    assert heard == [(3, 25_000_000)]
    with pytest.raises(InputError, match="conflicts with the method state"):
        fullpipe.packet_algorithm("twice", inspect=["phase"])(type("Twice", (WithStates,), {"phase": 0.0}))


def test_path_mtu_events_of_a_class() -> None:
    """A tunnel makes datagrams smaller once, and lost probes of the path MTU are no losses (RFC 9000, 14.4)."""
    mtus: list[tuple[int, int]] = []
    discarded: list[int] = []
    losses: list[int] = []

    @fullpipe.packet_algorithm("with-mtu")
    class WithMtu:
        def on_packets_acked(self, path: Any, acked: Any, rtt: Any) -> None: ...

        def on_packets_lost(self, path: Any, lost: Any, persistent: bool) -> None:
            losses.append(lost.bytes_total)

        def on_mtu(self, path: Any, max_datagram_bytes: int) -> None:
            mtus.append((max_datagram_bytes, path.datagram))

        def on_discarded(self, path: Any, discarded_bytes: int) -> None:
            discarded.append(discarded_bytes)

        def window_bytes(self) -> int:
            return 14720

    keys = {"mtu_probes": "500 ms", "tunnel": {"at": "1.8 s", "overhead": 60}}
    fullpipe.run(
        Scenario(**{**NETWORK, "duration": "3 s"}, flows=[{"algorithm": "with-mtu", "transport": "quic", **keys}])
    )
    assert mtus == [(912, 912)]
    assert discarded == [972, 972, 972, 912, 912]
    assert losses == []


@pytest.mark.parametrize(("ect", "codepoint"), [(0, 2), (1, 1), (None, 0)])
def test_packets_carry_the_codepoint_of_a_class(ect: int | None, codepoint: int) -> None:
    seen = set()

    @fullpipe.packet_algorithm(f"marked-{ect}")
    class Marked:
        def window_bytes(self) -> int:
            return 14720

        def on_packets_acked(self, path: Any, acked: Any, rtt: Any) -> None: ...

        def on_packets_lost(self, path: Any, lost: Any, persistent: bool) -> None: ...

        def on_packet_sent(self, path: Any, packet: Any) -> None:
            seen.add(packet.ecn)

        def ect(self) -> int | None:
            return ect

    flow = {"algorithm": f"marked-{ect}", "transport": "quic"}
    fullpipe.run(Scenario(**NETWORK, flows=[flow]))
    assert seen == {codepoint}
    seen.clear()
    fullpipe.run(Scenario(**NETWORK, flows=[{**flow, "ecn": "off"}]))
    assert seen == {0}


def test_a_wrong_codepoint_is_refused() -> None:
    names = ("window_bytes", "on_packets_acked", "on_packets_lost", "ect")
    kind = type("Wrong", (), dict.fromkeys(names, lambda self, *_: 2))
    with pytest.raises(InputError, match="ect must return None, 0, or 1, got 2"):
        fullpipe.packet_algorithm("wrong-codepoint")(kind)


def test_a_misspelt_method_is_refused() -> None:
    names = ("window_bytes", "on_packets_acked", "on_packets_lost", "on_packet_send")
    kind = type("Misspelt", (), dict.fromkeys(names, lambda self, *_: 14720))
    with pytest.raises(InputError, match='did you mean "on_packet_sent"'):
        fullpipe.packet_algorithm("misspelt")(kind)


@pytest.mark.parametrize(
    ("keys", "fault"),
    [
        ({"ack_reorder": 10}, "ack_reorder"),
        ({"mtu_probes": "1 s"}, "mtu_probes"),
        ({"transport": "quic", "tunnel": {"at": "1 s", "overhead": 500}}, "tunnel.overhead"),
        ({"transport": "quic", "recovery": "sack"}, "recovery"),
        ({"transport": "quic", "ack_every": 0}, "ack_every"),
        ({"transport": "sctp"}, "transport"),
    ],
)
def test_keys_of_the_wrong_transport_are_refused(keys: dict[str, Any], fault: str) -> None:
    with pytest.raises(fullpipe.ScenarioError, match=fault):
        Scenario(**NETWORK, flows=[{"algorithm": "newreno", **keys}])


def test_fewer_acks_leave_with_a_lower_frequency() -> None:
    """An ACK for ten packets of 1280 bytes instead of two: a fifth of the bytes on the way back."""
    link = {"name": "l", "rate": "10 Mbit/s", "delay": "10 ms", "buffer": "100 packets"}
    sent = {}
    for every in (2, 10):
        flows = [{"algorithm": "newreno", "host": "quic", "ack_every": every, "ack_delay": "50 ms"}]
        result = fullpipe.run(Scenario(duration="6 s", warmup="1 s", links=[link], flows=flows))
        sent[every] = result.links.column("reverse_utilization")[0].as_py()
    assert 0.18 < sent[10] / sent[2] < 0.25
