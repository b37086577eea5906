"""The virtual machine: boots a kernel on an archive of files, and returns the report of its agent.

Nothing touches the disk: the archive and the guest's two outputs are memory files that vanish with this process, and
the machine ends when this process does.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fullpipe._util.children import end_with_parent
from fullpipe.linux.errors import LinuxError

__all__ = ["Accelerator", "Machine", "kvm_works", "run"]

QEMU = "qemu-system-x86_64"
KVM = Path("/dev/kvm")
PATIENCE_S = 600.0
"""A guest silent for this long is given up, seconds of wall time; it reports twenty times per run and more."""
PROBE_S = 20.0
"""How long a probe of /dev/kvm may take, seconds of wall time."""
POLL_S = 0.05
LEAN = "nokaslr mitigations=off init_on_alloc=0 hardened_usercopy=off rodata=off cryptomgr.notests"
"""Kernel parameters that turn off randomness, defenses, and self-tests. Booting then takes less than half the
instructions.
"""
CLOCK = "tsc=reliable clocksource=tsc"
"""The one clock that a guest reads without leaving its own instructions."""
CPU = "qemu64,-cx16"
"""QEMU 7.2 leaves behind CMPXCHG16B, with which the kernel allocates memory, the operand of an earlier comparison in
place of the flags; an interrupt just then is a double fault. Without the feature the kernel does without it.
"""
QUIET = "console=ttyS0 quiet panic=-1 ipv6.disable=1 audit=0"

Accelerator = str
"""``"tcg"``: every instruction in software, 2 ns of virtual time each, idle time skipped; ``"kvm"``: real time."""


@dataclass(frozen=True)
class Machine:
    """A virtual machine: kernel ``image``, ``archive`` of files, ``memory_mib``, and the accelerator."""

    image: Path
    archive: bytes
    memory_mib: int = 512
    accelerator: Accelerator = "tcg"


def run(
    machine: Machine, progress: Callable[[float], object] | None = None, patience_s: float = PATIENCE_S
) -> list[str]:
    """Boots the machine and returns the lines its agent reported, once it has ended.

    Args:
        machine: The machine.
        progress: Called about twenty times a second with the simulated seconds reached.
        patience_s: Maximum wall time without output, in seconds.

    Raises:
        LinuxError: QEMU is missing, the machine was killed, the kernel panicked, or its agent reported a failure.
    """
    if shutil.which(QEMU) is None:
        raise LinuxError(f"the Linux engine requires {QEMU} (Debian: apt-get install qemu-system-x86)")
    archive, report, console = (os.memfd_create(name) for name in ("archive", "report", "console"))
    try:
        _write_all(archive, machine.archive)
        process = subprocess.Popen(
            _command(machine, archive, report, console),
            pass_fds=(archive, report, console),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=end_with_parent,
        )
        try:
            silent_for_s = _watch(process, report, progress, patience_s)
        finally:
            process.kill()
            errors = process.communicate()[1].decode(errors="replace")
        return _outcome(process.returncode, _read_all(report), _read_all(console), errors, silent_for_s)
    finally:
        for fd in (archive, report, console):
            os.close(fd)


def kvm_works(image: Path, archive: bytes) -> bool:
    """Whether a machine with this archive boots and ends by KVM within `PROBE_S`; on some hosts /dev/kvm hangs."""
    if not os.access(KVM, os.R_OK | os.W_OK):
        return False
    try:
        run(Machine(image, archive, accelerator="kvm"), patience_s=PROBE_S)
    except LinuxError:
        return False
    return True


def _command(machine: Machine, archive: int, report: int, console: int) -> list[str]:
    accelerate = {
        "tcg": ["-accel", "tcg,thread=single", "-icount", "shift=1,sleep=off", "-cpu", CPU, "-seed", "1"],
        "kvm": ["-accel", "kvm", "-cpu", "host"],
    }[machine.accelerator]
    clock = "-rtc", "base=2000-01-01,clock=vm"
    append = f"{QUIET} {LEAN}" + (f" {CLOCK}" if machine.accelerator == "tcg" else "")
    return [
        QEMU, "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-machine", "pc",
        *accelerate, *clock, "-smp", "1", "-m", str(machine.memory_mib),
        "-kernel", str(machine.image), "-initrd", f"/proc/self/fd/{archive}", "-append", append,
        "-debugcon", f"file:/proc/self/fd/{report}", "-serial", f"file:/proc/self/fd/{console}",
        "-device", "isa-debug-exit,iobase=0x501,iosize=1",
    ]  # fmt: skip


def _watch(
    process: subprocess.Popen[bytes], report: int, progress: Callable[[float], object] | None, patience_s: float
) -> float:
    """Waits for the end; the seconds of silence that were too many, else 0."""
    seen, heard_at, reached_s = 0, time.monotonic(), 0.0
    while process.poll() is None:
        time.sleep(POLL_S)
        size = os.fstat(report).st_size
        if size > seen:
            reached_ns = [line[2:] for line in os.pread(report, size - seen, seen).split(b"\n") if line[:2] == b"t "]
            if reached_ns and reached_ns[-1].isdigit():
                reached_s = int(reached_ns[-1]) / 1e9
            seen, heard_at = size, time.monotonic()
        if progress:
            progress(reached_s)
        if time.monotonic() - heard_at > patience_s:
            return patience_s
    return 0.0


def _outcome(status: int, report: str, console: str, errors: str, silent_for_s: float) -> list[str]:
    lines = report.splitlines()
    for line in lines:
        if line.startswith("error "):
            raise LinuxError(f"the virtual machine failed: {line[6:]}")
    if lines and lines[-1] == "done":
        return lines
    for line in console.splitlines():
        if "Kernel panic" in line:
            reason = line.partition("not syncing: ")[2].strip() or line.strip()
            raise LinuxError(f"the kernel of the virtual machine panicked: {reason}")
    if silent_for_s:
        raise LinuxError(f"the virtual machine was stopped after {silent_for_s:.0f} s without output")
    if status < 0:
        name = signal.Signals(-status).name
        raise LinuxError(f"the virtual machine was killed ({name}) after {_reached(lines)}")
    said = [line for line in errors.splitlines() if line.strip()]
    raise LinuxError(f"the virtual machine ended early (status {status}): {said[-1] if said else 'no output'}")


def _reached(lines: list[str]) -> str:
    times = [line[2:] for line in lines if line.startswith("t ")]
    return f"{int(times[-1]) / 1e9:.0f} s of the run" if times else "booting"


def _write_all(fd: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(fd, view) :]


def _read_all(fd: int) -> str:
    return os.pread(fd, os.fstat(fd).st_size, 0).decode(errors="replace")
