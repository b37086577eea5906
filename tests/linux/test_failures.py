"""Failures before a kernel runs are reported in one line and leave nothing behind."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conftest import started
from fullpipe import Scenario, linux
from fullpipe.errors import InputError, ScenarioError
from fullpipe.linux import host, job, kernel, machine, programs
from fullpipe.linux.errors import LinuxError
from fullpipe.linux.plan import Plan

PROGRAM = Path(sys.executable).parent / "fullpipe"

SCENARIO = """\
duration = "20 s"
packet_size = 1500
[[links]]
name = "bottleneck"
rate = "5 Mbit/s"
delay = "19 ms"
buffer = "0.5 BDP"
[[flows]]
algorithm = "reno"
access_delay = "1 ms"
recovery = "sack"
"""

needs_guest = pytest.mark.skipif(
    shutil.which(machine.QEMU) is None or shutil.which("apt-get") is None or not (programs.OBJECTS / "agent").exists(),
    reason="needs qemu-system-x86, apt-get and `make linux-objects`",
)


@pytest.fixture
def scenario_file(tmp_path: Path) -> Path:
    file = tmp_path / "scenario.toml"
    file.write_text(SCENARIO)
    return file


@pytest.fixture
def no_machine_left() -> Iterator[None]:
    """Fails if a machine of this process's children outlives the test."""
    yield
    assert _machines(os.getpid()) == []


def fullpipe(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PROGRAM, *arguments], env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )


def assert_one_line(done: subprocess.CompletedProcess[str], status: int, *words: str) -> None:
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("fullpipe: ")
    for word in words:
        assert word in line
    assert done.returncode == status


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ('recovery = "sack"', 'recovery = "tahoe"', ("flows[0].recovery", "sack")),
        ('recovery = "sack"', "max_window = 10", ("flows[0].max_window", "unlimited")),
        ('recovery = "sack"', "ack_every = 4", ("flows[0].ack_every", "delayed_ack")),
        (
            'recovery = "sack"',
            'source = { rate = "1 Mbit/s" }',
            ("flows[0].source", "or requests", "got another table"),
        ),
        (
            'recovery = "sack"',
            'idle = "linux"\nsource = { requests = "exponential 1 s", size = "20 kB" }',
            ("flows[0].source.requests", "must be fixed", "exponential 1 s"),
        ),
        (
            'recovery = "sack"',
            'idle = "linux"\nsource = { requests = "1 s", size = "pareto 30 kB 1.2" }',
            ("flows[0].source.size", "must be fixed", "pareto"),
        ),
        (
            'recovery = "sack"',
            'idle = "linux"\nsource = { requests = "1 s", size = "20 kB", request_size = "2 kB" }',
            ("flows[0].source.request_size", "at most packet_size", "2 kB"),
        ),
        ('recovery = "sack"', 'processing_time = "1 ms"', ("flows[0].processing_time", "0 s")),
        ('algorithm = "reno"', 'algorithm = "cubic"\nslow_start = "hystart++"', ("flows[0].slow_start", "hystart")),
        ('recovery = "sack"', 'pacing = "on"', ("flows[0].pacing", "algorithm")),
        ('recovery = "sack"', 'ecn = "accurate"', ("flows[0].ecn", '"off" or "classic"')),
        ('recovery = "sack"', 'ecn = "ace"', ("flows[0].ecn", '"off" or "classic"')),
        ('recovery = "sack"', 'ecn = "classic"\nect = 1', ("flows[0].ect", "must be 0")),
        ('recovery = "sack"', 'slow_start = "hystart"', ("flows[0].slow_start", "reno", '"standard"')),
        ('algorithm = "reno"', 'algorithm = "tahoe"', ("flows[0].algorithm", "tahoe")),
        ('algorithm = "reno"', 'algorithm = { name = "scalable", a = 0.02 }', ("flows[0].algorithm", "0.01")),
        ('algorithm = "reno"', 'algorithm = { name = "vegas", loss_cut = 0.3 }', ("loss_cut", "0.5")),
        (
            'buffer = "0.5 BDP"',
            'buffer = "0.5 BDP"\nreverse = { delay = "1 ms" }',
            ("links[0].reverse", "both directions"),
        ),
        (
            'buffer = "0.5 BDP"',
            'buffer = "0.5 BDP"\naggregation = "4 ms"',
            ("links[0].aggregation", "conflicts with the Linux engine"),
        ),
        ("packet_size = 1500", "packet_size = 100", ("packet_size", "128")),
        ("[[flows]]", '[[udp]]\nrate = "1 Mbit/s"\n[[flows]]', ("udp",)),
    ],
)
def test_what_a_kernel_cannot_do(tmp_path: Path, before: str, after: str, words: tuple[str, ...]) -> None:
    assert SCENARIO.count(before) == 1
    file = tmp_path / "scenario.toml"
    file.write_text(SCENARIO.replace(before, after))
    scenario = Scenario.load(file)
    with pytest.raises(ScenarioError) as caught:
        job.build(Plan.of(scenario), kernel.Kernel("none", file, {"veth": file, "sch_netem": file}), str(file))
    assert "\n" not in str(caught.value)
    for word in (file.name, *words):
        assert word in str(caught.value)


def test_no_qemu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(LinuxError, match=r"the Linux engine requires qemu-system-x86_64 \(Debian: apt-get install"):
        machine.run(machine.Machine(Path("/nowhere/vmlinuz"), b""))


def test_no_kernel_and_no_apt(scenario_file: Path, tmp_path: Path) -> None:
    done = fullpipe("linux", "run", scenario_file, XDG_CACHE_HOME=str(tmp_path / "cache"), PATH="/nowhere")
    assert_one_line(done, 1, "has no kernel", "requires apt-get")
    assert list((tmp_path / "cache" / "fullpipe" / "linux").iterdir()) == []


def test_a_cache_that_cannot_be_made(scenario_file: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the cache should be")
    done = fullpipe("linux", "run", scenario_file, XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert_one_line(done, 1, "can't be stored in", str(tmp_path / "cache"))


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A directory with room for next to nothing."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    place = tmp_path / "small"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", place], check=True)
    yield place
    subprocess.run(["umount", place], check=True)


@needs_guest
def test_full_disk(scenario_file: Path, full_disk: Path) -> None:
    done = fullpipe("linux", "run", scenario_file, XDG_CACHE_HOME=str(full_disk))
    assert_one_line(done, 1, "fetching the kernel failed", "space")
    assert list((full_disk / "fullpipe" / "linux").iterdir()) == []


@needs_guest
@pytest.mark.slow_linux
def test_full_disk_for_the_result(scenario_file: Path, full_disk: Path) -> None:
    kernel.ensure()
    filler = full_disk / "filler"
    with pytest.raises(OSError, match="space"):
        filler.write_bytes(bytes(2**21))
    done = fullpipe("linux", "run", scenario_file, "--out", full_disk / "result")
    assert_one_line(done, 1, "space")
    assert list(full_disk.iterdir()) == [filler]


@pytest.fixture
def own_cache(tmp_path: Path) -> Path:
    """A copy of the kernel's cache that a test may damage."""
    booted = kernel.ensure()
    home = tmp_path / "cache" / "fullpipe" / "linux" / booted.version
    shutil.copytree(booted.image.parent, home)
    return home


@needs_guest
def test_damaged_kernel(scenario_file: Path, own_cache: Path) -> None:
    with (own_cache / "vmlinuz").open("r+b") as image:
        image.seek(100_000)
        image.write(b"damage")
    done = fullpipe("linux", "run", scenario_file, XDG_CACHE_HOME=str(own_cache.parents[2]))
    assert_one_line(done, 1, "vmlinuz is damaged", f"remove {own_cache}")


@needs_guest
def test_missing_kernel(scenario_file: Path, own_cache: Path) -> None:
    (own_cache / "vmlinuz").unlink()
    done = fullpipe("linux", "run", scenario_file, XDG_CACHE_HOME=str(own_cache.parents[2]))
    assert_one_line(done, 1, "vmlinuz can't be read", f"remove {own_cache}")


@needs_guest
@pytest.mark.slow_linux
@pytest.mark.usefixtures("no_machine_left")
def test_guest_panic() -> None:
    """An archive without /init: the kernel has nothing to start."""
    from fullpipe.linux.initramfs import Initramfs

    with pytest.raises(LinuxError, match="the kernel of the virtual machine panicked: "):
        machine.run(machine.Machine(kernel.ensure().image, Initramfs().pack()))


@needs_guest
@pytest.mark.slow_linux
@pytest.mark.usefixtures("no_machine_left")
def test_flow_that_never_connects() -> None:
    plan = Plan.of(Scenario.loads(SCENARIO))
    work = job.build(plan, kernel.ensure())
    # Same length, so that the archive stays one: the node in the middle knows no way to the receiver.
    archive = work.archive.replace(b"route add 10.3.0.0/32 via", b"route add 10.9.0.0/32 via")
    assert archive != work.archive
    with pytest.raises(LinuxError, match="the virtual machine failed: flow 0: never connected"):
        machine.run(machine.Machine(kernel.ensure().image, archive, work.memory_mib))


@needs_guest
@pytest.mark.slow_linux
def test_killed_machine(scenario_file: Path) -> None:
    kernel.ensure()
    command = [PROGRAM, "linux", "run", scenario_file]
    with started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        os.kill(_wait_for_machine(running.pid), signal.SIGKILL)
        out, errors = running.communicate()
    assert_one_line(subprocess.CompletedProcess(command, running.returncode, out, errors), 1, "killed (SIGKILL)")


@needs_guest
@pytest.mark.slow_linux
def test_machine_ends_with_its_parent(scenario_file: Path) -> None:
    kernel.ensure()
    with started([PROGRAM, "linux", "run", scenario_file], stderr=subprocess.DEVNULL) as running:
        guest = _wait_for_machine(running.pid)
        running.kill()
    for _ in range(200):
        if not Path(f"/proc/{guest}").exists() or "Z" in Path(f"/proc/{guest}/stat").read_text().split()[2]:
            return
        time.sleep(0.05)
    os.kill(guest, signal.SIGKILL)
    pytest.fail("the machine outlived its parent")


FAKE_QEMU = """\
#!/bin/sh
case "$*" in *"-accel kvm"*) {kvm};; *) {tcg};; esac
"""
SAY_DONE = 'for word in "$@"; do case $word in file:*) echo done > "${word#file:}"; exit;; esac; done'


@pytest.fixture
def fake_qemu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Puts a QEMU before the real one that fails in a given way if KVM is requested. The device exists."""

    def make(kvm: str, tcg: str = "exit 1") -> None:
        program = tmp_path / machine.QEMU
        program.write_text(FAKE_QEMU.format(kvm=kvm, tcg=tcg))
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        monkeypatch.setattr(machine, "KVM", tmp_path)
        monkeypatch.setattr(machine, "PROBE_S", 1.0)

    return make


@pytest.mark.usefixtures("no_machine_left")
@pytest.mark.parametrize(
    ("kvm", "works"), [("exec sleep 1000", False), ("kill -ABRT $$", False), ("exit 1", False), (SAY_DONE, True)]
)
def test_probe_of_kvm(fake_qemu: Callable[..., None], kvm: str, works: bool) -> None:
    """It hangs, dies, refuses, works."""
    fake_qemu(kvm)
    begun = time.monotonic()
    assert machine.kvm_works(Path("/nowhere/vmlinuz"), b"") is works
    assert time.monotonic() - begun < 60
    assert _children("sleep") == []


def test_no_kvm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(machine, "KVM", tmp_path / "kvm")
    assert machine.kvm_works(Path("/nowhere/vmlinuz"), b"") is False


@needs_guest
def test_virtual_time_stands_in_for_a_kvm_that_hangs(fake_qemu: Callable[..., None]) -> None:
    fake_qemu("exec sleep 1000")
    assert (linux.usable_accelerator("kvm"), linux.usable_accelerator("tcg")) == ("tcg", "tcg")
    fake_qemu(SAY_DONE)
    assert linux.usable_accelerator("kvm") == "kvm"


def test_load_without_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    if not (programs.OBJECTS / "ehstcp.bpf.o").exists():
        pytest.skip("needs `make linux-objects`")
    with pytest.raises(LinuxError, match="requires root"):
        host.load("ehstcp")


def test_load_of_what_there_is_not() -> None:
    with pytest.raises(InputError, match="allowed: adaptive-aimd, hyun-jang, ehstcp"):
        host.load("cubic")


def test_kernel_without_type_information(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(host, "BTF", tmp_path / "vmlinux")
    if not (programs.OBJECTS / "ehstcp.bpf.o").exists():
        pytest.skip("needs `make linux-objects`")
    with pytest.raises(LinuxError, match="CONFIG_DEBUG_INFO_BTF"):
        host.load("ehstcp")


@pytest.mark.parametrize(
    ("algorithm", "setting", "allowed"),
    [
        ("adaptive-aimd", "beta_min=3", "must be in [0.05, 0.99]"),
        ("adaptive-aimd", "beta_min=-1", "must be in [0.05, 0.99]"),
        ("adaptive-aimd", "beta_max=nan", "must be in [0.05, 0.99]"),
        ("adaptive-aimd", "fading=1e300", "must be in [0, 1]"),
        ("hyun-jang", "a=inf", "must be in [1, 2]"),
        ("hyun-jang", "alpha=true", "must be in [1, 10]"),
        ("ehstcp", "n_star=-inf", "a whole number in [0, 1e+06] segments"),
        ("ehstcp", "safety_rtts=0.5", "a whole number in [0, 1000] RTTmax"),
        ("ehstcp", "cap_beta=2", "true or false"),
        ("ehstcp", "n_star=ten", "a number, true or false"),
        ("ehstcp", "high_p=0.5", "must be 1e-07"),
        ("ehstcp", "beta=0.5", "n_star"),
    ],
)
def test_parameters_that_are_not_allowed(algorithm: str, setting: str, allowed: str) -> None:
    """One line, exit status 2, nothing loaded."""
    done = fullpipe("linux", "load", algorithm, "--set", setting)
    assert_one_line(done, 2, allowed, setting.partition("=")[0])


def test_whole_numbers_of_modules() -> None:
    with pytest.raises(InputError, match="alpha of vegas must be a whole number in"):
        programs.complete("vegas", {"alpha": 2.5})
    assert programs.complete("vegas", {"alpha": 2})["alpha"] == 2


def _wait_for_machine(parent: int) -> int:
    for _ in range(1200):
        if found := _machines(parent):
            return found[0]
        time.sleep(0.05)
    raise AssertionError("no machine started")


def _machines(parent: int) -> list[int]:
    return _children("qemu-system", parent)


def _children(program: str, parent: int | None = None) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, rest = stat.read_text().rsplit(")", 1)
        except OSError:
            continue
        if program in name and int(rest.split()[1]) == (parent or os.getpid()) and rest.split()[0] != "Z":
            found.append(int(stat.parent.name))
    return found
