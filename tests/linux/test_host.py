"""Our programs in the kernel the tests run on, where it lets them in."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fullpipe.linux import host, programs
from fullpipe.linux.errors import LinuxError

from .conftest import Claim

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0
    or not host.BTF.exists()
    or shutil.which("bpftool", path="/usr/sbin:/usr/bin") is None
    or not (programs.OBJECTS / "ehstcp.bpf.o").exists(),
    reason="needs root, a kernel with BTF, bpftool and `make linux-objects`",
)


OWN = Path(__file__).parents[2] / "crates/kernel/tests/objects/aimd.bpf.o"
PROGRAM = Path(sys.executable).parent / "fullpipe"
ALLOWED = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control")


@pytest.fixture(params=list(programs.OURS))
def algorithm(request: pytest.FixtureRequest, claim: Claim) -> str:
    name: str = request.param
    claim(name)
    return name


@pytest.fixture
def ehstcp(claim: Claim) -> str:
    claim("ehstcp")
    return "ehstcp"


def test_load_and_unload(algorithm: str) -> None:
    kernel_name = host.load(algorithm)
    assert kernel_name in host.available()
    assert kernel_name in host.loaded()
    with pytest.raises(LinuxError, match="loaded already"):
        host.load(algorithm)
    host.unload(algorithm)
    assert kernel_name not in host.available()
    with pytest.raises(LinuxError, match="is not loaded"):
        host.unload(algorithm)


@contextmanager
def connection(kernel_name: str) -> Iterator[None]:
    """A connection on this machine that uses the algorithm."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, kernel_name.encode())
        client.connect(server.getsockname())
        peer, _ = server.accept()
        with peer:
            yield


def test_the_users_own_object(claim: Claim) -> None:
    """The page's program with a parameter set: the kernel has it, a connection sends by it, and it is taken out."""
    file = str(OWN)
    claim(file)
    loading = [str(PROGRAM), "linux", "load", file, "--set", "beta=0.875"]
    said = subprocess.run(loading, capture_output=True, text=True, check=True).stdout
    assert said.startswith("aimd is registered.")
    assert f"fullpipe linux unload {file}" in said
    with pytest.raises(LinuxError, match="loaded already"):
        host.load(file)
    assert sent("aimd", bytes(2**20)) == ("aimd", 2**20)
    # alpha and beta times 2^10, as they lie in the object.
    assert (1024).to_bytes(4, "little") + (896).to_bytes(4, "little") in constants("aimd_ssthresh")
    subprocess.run([PROGRAM, "linux", "unload", file], check=True, stdout=subprocess.DEVNULL)
    assert "aimd" not in host.available()
    with pytest.raises(LinuxError, match="is not loaded"):
        host.unload(file)


def sent(kernel_name: str, content: bytes) -> tuple[str, int]:
    """Sends over a connection of this machine with itself: by which algorithm, and how many bytes arrived."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, kernel_name.encode())
        client.connect(server.getsockname())
        peer, _ = server.accept()

        def send() -> None:
            client.sendall(content)
            client.shutdown(socket.SHUT_WR)

        sending = threading.Thread(target=send)
        sending.start()
        with peer:
            arrived = sum(map(len, iter(lambda: peer.recv(2**16), b"")))
        sending.join()
        used = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
        return used.rstrip(b"\0").decode(), arrived


def constants(program: str) -> bytes:
    """Constants of a program in the kernel, by the program's name."""
    shown = listed("prog", "show", "name", program)
    # A program that was removed a moment ago may still be listed.
    there = max(shown if isinstance(shown, list) else [shown], key=lambda one: one["id"])
    (rodata,) = [
        str(map_id)
        for map_id in there["map_ids"]
        if listed("map", "show", "id", str(map_id))["name"].endswith(".rodata")
    ]
    (entry,) = listed("map", "dump", "id", rodata)
    return bytes(int(byte, 16) for byte in entry["value"])


def listed(*arguments: str) -> Any:
    """Output of bpftool."""
    return json.loads(subprocess.run(["bpftool", "-j", *arguments], capture_output=True, check=True).stdout)


def registrations(kernel_name: str) -> int:
    listing = subprocess.run(["bpftool", "struct_ops", "list"], capture_output=True, text=True, check=True).stdout
    return listing.split().count(kernel_name)


def test_unload_in_use(ehstcp: str) -> None:
    """A registration that is removed while a connection uses it stays, dead. The next registration is independent of
    it.
    """
    before = registrations("ehstcp")
    host.load(ehstcp)
    with connection("ehstcp"):
        host.unload(ehstcp)
        assert "ehstcp" in host.dead()
        assert "ehstcp" not in host.loaded()
        listed = subprocess.run([PROGRAM, "linux", "list"], capture_output=True, text=True, check=True).stdout
        assert "removed, still in use" in listed
        host.load(ehstcp)
        assert registrations("ehstcp") == before + 2
        host.unload(ehstcp)
        assert "ehstcp" not in host.available()
    for _ in range(100):  # the kernel frees it in its own time
        if registrations("ehstcp") == before:
            return
        time.sleep(0.1)
    pytest.fail("a registration was left behind")


@pytest.fixture
def namespace(ehstcp: str) -> Iterator[Path]:
    """A network namespace whose default is the algorithm."""
    allowed = ALLOWED.read_text()
    host.load(ehstcp)
    try:
        ALLOWED.write_text(f"{allowed.strip()} ehstcp")
    except OSError:
        pytest.skip("this machine's list of allowed algorithms cannot be changed from here")
    setting = "net/ipv4/tcp_congestion_control"
    command = ["unshare", "--net", "sh", "-c", f"echo ehstcp > /proc/sys/{setting} && echo ready && exec cat"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as inside:
        try:
            assert inside.stdout is not None
            assert inside.stdout.readline() == "ready\n"
            yield Path(f"/proc/{inside.pid}/ns/net")
            give_back = ["nsenter", f"--net=/proc/{inside.pid}/ns/net", "sh", "-c", f"echo reno > /proc/sys/{setting}"]
            subprocess.run(give_back, check=True)
        finally:
            inside.kill()
            ALLOWED.write_text(allowed)


def test_default_of_a_namespace(namespace: Path) -> None:
    """It would keep the algorithm, and give it to new connections, without anything that shows it."""
    with pytest.raises(LinuxError, match=f"other network namespaces; .*nsenter --net={namespace}"):
        host.unload("ehstcp")
    assert "ehstcp" in host.available()


def test_wrong_licence(claim: Claim, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel takes congestion controls under the GPL only."""
    claim("adaptive-aimd")
    source = programs.OBJECTS / "adaptive_aimd.bpf.o"
    assert source.read_bytes().count(b"GPL\0") == 1
    (tmp_path / source.name).write_bytes(source.read_bytes().replace(b"GPL\0", b"MIT\0"))
    monkeypatch.setattr(programs, "OBJECTS", tmp_path)
    with pytest.raises(LinuxError, match=r"the kernel rejects the program .*GPL") as caught:
        host.load("adaptive-aimd")
    assert "\n" not in str(caught.value)
    assert "adaptive_aimd" not in host.available()


def test_parameters_reach_the_program() -> None:
    """The bytes of `params`, as the object's own symbol table places them."""
    image = programs.OURS["adaptive-aimd"].compiled({"beta_min": 0.25, "beta_max": 0.75, "fading": 0.5})
    plain = (programs.OBJECTS / "adaptive_aimd.bpf.o").read_bytes()
    (at,) = [i for i in range(len(plain) - 12) if plain[i : i + 12] == _q20(0.5, 0.8, 0.875)]
    assert image[at : at + 12] == _q20(0.25, 0.75, 0.5)
    assert image[:at] == plain[:at]
    assert subprocess.run(["llvm-readelf", "-h", "-"], input=image, capture_output=True, check=False).returncode in (
        0,
        1,
    )


def _q20(*values: float) -> bytes:
    # 0.8 is rounded down in the header: a fifth of 2^20, times four.
    return b"".join(
        int(value * 2**20 // 4 * 4 if value == 0.8 else value * 2**20).to_bytes(4, "little") for value in values
    )
