"""Packet-level controllers in shared libraries, over TCP and QUIC."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import fullpipe
from conftest import PROGRAM, ROOT, Program
from fullpipe import Scenario
from fullpipe.custom import arguments
from fullpipe.custom.compiled import HEADER
from fullpipe.errors import AlgorithmError, InputError
from test_packet_algorithm import AIMD, NETWORK

SOURCE = Path(__file__).parents[2] / "examples" / "packet_aimd.c"


def compiled(folder: Path, source: Path = SOURCE) -> Path:
    """The shared library of a C file."""
    folder.mkdir(exist_ok=True)
    library = folder / "libaimd.so"
    include = f"-I{Path(HEADER).parent}"
    flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run(["cc", *flags, include, "-o", library, source], check=True)
    return library


@pytest.fixture
def library(tmp_path: Path) -> Path:
    return compiled(tmp_path)


def figures(algorithm: Any, **keys: Any) -> str:
    """Metrics of two competing flows, without names, as text: NaN equals NaN there."""
    result = fullpipe.run(Scenario(**NETWORK, flows=[{"algorithm": algorithm, "count": 2, **keys}]))
    columns = {"name", "algorithm"}
    return str({key: column for key, column in result.flows.to_pydict().items() if key not in columns})


@pytest.mark.parametrize("keys", [{"transport": "quic"}, {}, {"host": "quic", "ack_every": 10}])
def test_c_and_python_give_the_same_results(library: Path, tmp_path: Path, keys: dict[str, Any]) -> None:
    file = tmp_path / "same.py"
    file.write_text(AIMD.format(name="same-aimd"))
    in_c = arguments.load_algorithms(f"{library}:c-aimd")
    in_python = arguments.load_algorithms(str(file))
    assert figures(in_c, **keys) == figures(in_python, **keys)


@pytest.mark.skipif(shutil.which("cargo") is None, reason="no cargo")
@pytest.mark.parametrize("transport", ["tcp", "quic"])
def test_rust_c_and_python_have_equal_windows(library: Path, tmp_path: Path, transport: str) -> None:
    target = ROOT / "target"
    build = ["cargo", "build", "--quiet", "--locked", "--target-dir", str(target)]
    subprocess.run(build, cwd=ROOT / "examples/packet-controller", check=True, timeout=600)
    file = tmp_path / "equal.py"
    file.write_text(AIMD.format(name="equal-aimd"))
    rust = target / "debug/libpacket_controller.so"
    windows = []
    for what in (f"{rust}:rust-aimd", f"{library}:c-aimd", str(file)):
        flow = {"algorithm": arguments.load_algorithms(what), "transport": transport}
        scenario = Scenario(**{**NETWORK, "duration": "60 s"}, series_interval="1 ms", flows=[flow])
        windows.append(fullpipe.run(scenario).series.column("cwnd_packets").to_pylist())
    assert windows[0] == windows[1] == windows[2]
    assert len(windows[0]) == 60_000


def test_the_example_without_an_interface_halves_its_window_once(tmp_path: Path) -> None:
    library = compiled(tmp_path / "lwip", ROOT / "examples/c-stacks/lwip.c")
    for rule in ("N03", "N04"):
        (found,) = fullpipe.conform(f"{library}:lwip-style", "rfc9002", rule=rule).rules
        assert (found.verdict, found.measured) == ("pass", pytest.approx(0.5, abs=0.002))


def test_rules_of_a_reduction_judge_a_controller_without_slow_start(library: Path, tmp_path: Path) -> None:
    for rule in ("N03", "N04", "N05", "N06", "N09"):
        (found,) = fullpipe.conform(f"{library}:c-aimd", "rfc9002", rule=rule).rules
        assert found.verdict == "pass", found
    source = tmp_path / "whole.c"
    text = SOURCE.read_text().replace("s->window / 2 > 2 * path->datagram ? s->window / 2", "s->window > 0 ? s->window")
    source.write_text(text.replace('"c-aimd"', '"c-whole"'))
    (found,) = fullpipe.conform(str(compiled(tmp_path / "whole", source)), "rfc9002", rule="N03").rules
    assert (found.verdict, found.measured) == ("fail", 1.0)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cargo") is None, reason="no cargo")
@pytest.mark.parametrize("verdict", ["ok", "worse"])
def test_cargo_test_has_a_test_for_each_check_of_a_suite(tmp_path: Path, verdict: str) -> None:
    program = tmp_path / "program"  # the program, which reports another verdict on one of the two checks
    change = f's/"verdict": "ok"/"verdict": "{verdict}"/'
    program.write_text(f"#!/bin/sh\n'{PROGRAM}' \"$@\" | sed '0,/verdict/{change}'\n")
    program.chmod(0o755)
    done = subprocess.run(
        ["cargo", "test", "--quiet", "--locked", "--test", "check", "--", "--format", "pretty"],
        cwd=ROOT / "examples/packet-controller",
        env={**os.environ, "FULLPIPE": str(program), "XDG_CACHE_HOME": str(tmp_path), "RUST_BACKTRACE": "0"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert "test suite::bulk_loss ... ok" in done.stdout, done.stdout + done.stderr
    if verdict == "ok":
        assert "test suite::bulk_goodput ... ok" in done.stdout
        assert done.returncode == 0
    else:
        assert "bulk-goodput is worse: Goodput: limit 8.00 Mbit/s, now " in done.stdout
        assert done.returncode != 0


def test_the_program_takes_a_library(library: Path, program: Program) -> None:
    scenario = library.with_name("s.toml")
    scenario.write_text(Scenario(**NETWORK, flows=[{"algorithm": "newreno", "transport": "quic"}]).to_toml())
    said = program("compare", str(scenario), "--algorithms", f"{library}:c-aimd,newreno", "--seeds", "2")
    assert said.returncode == 0, said.stderr
    assert "c-aimd" in said.stdout


FREQUENCY = """
static int frequency(void *state, const struct fullpipe_path *path, uint64_t threshold, uint64_t max_ack_delay)
{
	(void)state;
	return (int)(threshold * 1000 + max_ack_delay / 1000000 + path->in_flight * 0);
}

static int mtu(void *state, const struct fullpipe_path *path, uint64_t datagram)
{
	(void)state;
	return (int)(datagram + path->in_flight * 0);
}

static int discarded(void *state, const struct fullpipe_path *path, uint64_t bytes)
{
	(void)state;
	return (int)(bytes + path->in_flight * 0);
}

static const char *name(void *state)
{
	return ((struct aimd *)state)->recovery_end ? "ProbeBW_UP" : "Startup";
}

static const struct fullpipe_packet_control control = {
	.state_name = name,
	.ack_frequency = frequency,
	.mtu = mtu,
	.discarded = discarded,
"""
"""Optional functions of a library. All but ``name`` return their arguments in one number, which is a fault."""


DATAGRAM = NETWORK.get("packet_size", 1000) - 28
"""Bytes of a packet without the headers of UDP and IPv4."""


def test_optional_functions_of_a_library_are_called(tmp_path: Path) -> None:
    source = tmp_path / "more.c"
    text = SOURCE.read_text().replace("static const struct fullpipe_packet_control control = {", FREQUENCY)
    source.write_text(text.replace('"c-aimd"', '"c-more"'))
    algorithm = arguments.load_algorithms(f"{compiled(tmp_path / 'more', source)}")
    scenario = Scenario(**NETWORK, series_interval="10 ms", flows=[{"algorithm": algorithm, "transport": "quic"}])
    phases = fullpipe.run(scenario).series.column("phase").to_pylist()
    assert set(phases) - {None} == {0.0, 5.0}
    with pytest.raises(AlgorithmError, match="on_ack_frequency of the library returned 9007"):
        fullpipe.run(scenario.set({"flows.0.ack_every": 10, "flows.0.ack_delay": "7 ms"}))
    with pytest.raises(AlgorithmError, match=f"on_mtu of the library returned {DATAGRAM - 60}"):
        fullpipe.run(scenario.set({"flows.0.tunnel": {"at": "1 s", "overhead": "60 B"}}))
    with pytest.raises(AlgorithmError, match=f"on_discarded of the library returned {DATAGRAM}"):
        fullpipe.run(scenario.set({"flows.0.mtu_probes": "1 s"}))


def test_faults_of_a_library_are_named(library: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"unknown controller \"cubic\" of the library \(allowed: c-aimd\)"):
        arguments.load_algorithms(f"{library}:cubic")
    with pytest.raises(InputError, match="No such file"):
        arguments.load_algorithms(str(tmp_path / "none.so"))
    for text, fault in [(".acked = acked,", "has no acked"), ("FULLPIPE_ABI, .count", "abi")]:
        source = tmp_path / "broken.c"
        changed = "" if text.startswith(".") else "7, .count"
        source.write_text(SOURCE.read_text().replace(text, changed).replace("static int acked", "int acked"))
        with pytest.raises(InputError, match=fault):
            arguments.load_algorithms(str(compiled(tmp_path / fault.replace(" ", "-"), source)))


ECT = """
static int codepoint(void *state)
{
	(void)state;
	return CODEPOINT;
}

static const struct fullpipe_packet_control control = {
	.ect = codepoint,
"""


def test_codepoint_of_a_library_holds_unless_the_scenario_has_one(tmp_path: Path) -> None:
    def ecn(codepoint: int, **keys: Any) -> tuple[str, int]:
        name = f"ect-{codepoint % 256}"
        text = SOURCE.read_text().replace("static const struct fullpipe_packet_control control = {", ECT)
        source = tmp_path / f"{name}.c"
        source.write_text(text.replace("CODEPOINT", str(codepoint)).replace('"c-aimd"', f'"{name}"'))
        algorithm = arguments.load_algorithms(str(compiled(tmp_path / name, source)))
        (group,) = Scenario(**NETWORK, flows=[{"algorithm": algorithm, **keys}]).resolved().to_dict()["flows"]
        return group["ecn"], group["ect"]

    for transport in ("tcp", "quic"):
        assert ecn(1, transport=transport) == ("accurate", 1)
        assert ecn(0, transport=transport) == ("accurate", 0)
        assert ecn(-1, transport=transport) == ("off", 0)
    assert ecn(1, ect=0) == ("accurate", 0)
    assert ecn(1, ecn="off") == ("off", 0)
    with pytest.raises(InputError, match=r"ect of controller \"ect-2\" must return -1, 0, or 1, got 2"):
        ecn(2)
