"""Our algorithms in the kernel this program runs on.

A registration that is removed while connections, or network namespaces that have it as their default, use it stays in
the kernel until the last of them is gone: it is dead, is listed among those alive, and cannot be removed again.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from fullpipe._util.inputs import MOST_OBJECT_BYTES, read_bytes
from fullpipe._util.plain import Table
from fullpipe._util.text import unknown
from fullpipe.errors import InputError
from fullpipe.linux import programs
from fullpipe.linux.errors import LinuxError

__all__ = ["available", "dead", "load", "loaded", "unload"]

LIBC = ctypes.CDLL(None)
CLONE_NEWNET = 0x40000000
BTF = Path("/sys/kernel/btf/vmlinux")
AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
CURRENT = Path("/proc/sys/net/ipv4/tcp_congestion_control")


def load(algorithm: str, params: Table | None = None) -> str:
    """Registers an algorithm with the kernel; it stays until `unload` or a restart.

    Args:
        algorithm: One of ours as fullpipe calls it, such as ``"adaptive-aimd"``; or an object file's path, which ends
            in ``.o``.
        params: Its parameters; defaults for the rest.

    Returns:
        The name to use in ``net.ipv4.tcp_congestion_control`` and with TCP_CONGESTION.

    Raises:
        InputError: There is no such program, or it has no such parameter.
        LinuxError: The kernel or this user cannot, or it is loaded already.
    """
    program, content = _compiled(algorithm, params or {})
    bpftool = _able()
    if program.kernel_name in available():
        raise LinuxError(f"{algorithm} is loaded already; `fullpipe linux unload {algorithm}` removes it")
    before = _registered(bpftool)
    try:
        with tempfile.NamedTemporaryFile(suffix=".bpf.o") as file:
            file.write(content)
            file.flush()
            _bpftool(bpftool, "struct_ops", "register", file.name)
        if program.kernel_name not in available():
            raise LinuxError(f"the kernel accepted the program, but {AVAILABLE} does not list {program.kernel_name}")
    except BaseException:
        # An object may have several registrations, of which some succeeded.
        for number in _registered(bpftool) - before:
            with suppress(LinuxError):
                _bpftool(bpftool, "struct_ops", "unregister", "id", str(number))
        raise
    return program.kernel_name


def unload(algorithm: str) -> None:
    """Takes an algorithm that `load` has registered out of the kernel; connections that use it keep it to their end.

    Raises:
        InputError: There is no such program.
        LinuxError: It is not loaded, is the default of this machine or of a network namespace, or this user cannot.
    """
    program = _program(algorithm)
    bpftool = _able()
    if program.kernel_name not in available():
        raise LinuxError(f"{algorithm} is not loaded")
    if CURRENT.read_text().strip() == program.kernel_name:
        raise LinuxError(
            f"{program.kernel_name} is this machine's default; run `sysctl net.ipv4.tcp_congestion_control=cubic` first"
        )
    if places := [path for path in _namespaces() if _default_in(path) == program.kernel_name]:
        raise LinuxError(
            f"{program.kernel_name} is the default of {len(places)} other network namespaces; "
            f"run `nsenter --net={places[0]} sysctl net.ipv4.tcp_congestion_control=cubic` first"
        )
    for map_id, alive in _registrations(bpftool, program.kernel_name):
        if alive:
            _bpftool(bpftool, "struct_ops", "unregister", "id", str(map_id))
    if program.kernel_name in available():
        raise LinuxError(f"{algorithm} is still registered after it was removed")


def loaded() -> list[str]:
    """Those of our programs that the kernel has, as it calls them."""
    here = set(available())
    return [program.kernel_name for program in programs.OURS.values() if program.kernel_name in here]


def dead() -> list[str]:
    """Those of our programs, as the kernel calls them, that were removed and are still in use; none where this user may
    not look (it takes root and bpftool).
    """
    names = [program.kernel_name for program in programs.OURS.values()]
    try:
        bpftool = _able()
        return [name for name in names if not all(alive for _, alive in _registrations(bpftool, name))]
    except LinuxError:
        return []


def available() -> list[str]:
    """The congestion controls the kernel offers.

    Raises:
        LinuxError: This is no Linux.
    """
    try:
        return AVAILABLE.read_text().split()
    except OSError as error:
        raise LinuxError(
            f"{AVAILABLE} can't be read ({error.strerror}); this command requires a Linux kernel"
        ) from None


def _compiled(algorithm: str, params: Table) -> tuple[programs.Program | programs.Own, bytes]:
    """The program, and its object file with the parameters in it."""
    if _is_file(algorithm):
        own = _own(algorithm, params)
        return own, own.content
    program = _ours(algorithm)
    return program, program.compiled(programs.complete(algorithm, params))


def _program(algorithm: str) -> programs.Program | programs.Own:
    return _own(algorithm, {}) if _is_file(algorithm) else _ours(algorithm)


def _is_file(algorithm: str) -> bool:
    return algorithm.endswith(".o")


def _own(path: str, params: Table) -> programs.Own:
    content = read_bytes(path, MOST_OBJECT_BYTES)
    try:
        return programs.own(content, None, params)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _ours(algorithm: str) -> programs.Program:
    if algorithm not in programs.OURS:
        raise InputError(unknown("eBPF program", algorithm, programs.OURS))
    return programs.OURS[algorithm]


def _able() -> str:
    """Checks the requirements of registering; returns the path of bpftool."""
    if os.geteuid() != 0:
        raise LinuxError("this command requires root (CAP_BPF and CAP_NET_ADMIN) to register a congestion control")
    if not BTF.exists():
        raise LinuxError(f"this command requires a kernel with CONFIG_DEBUG_INFO_BTF=y ({BTF} is missing)")
    bpftool = shutil.which("bpftool") or shutil.which("bpftool", path="/usr/sbin:/sbin")
    if bpftool is None:
        raise LinuxError("this command requires bpftool (Debian: apt-get install bpftool)")
    return bpftool


def _registered(bpftool: str) -> set[int]:
    """The numbers of all registrations."""
    return {entry["id"] for entry in json.loads(_bpftool(bpftool, "-j", "struct_ops", "list") or "[]")}


def _registrations(bpftool: str, kernel_name: str) -> list[tuple[int, bool]]:
    """The registrations of this name: number, and whether it is alive."""
    listing = json.loads(_bpftool(bpftool, "-j", "struct_ops", "list") or "[]")
    numbers = [entry["id"] for entry in listing if entry["name"] == kernel_name]
    return [(number, _alive(bpftool, number)) for number in numbers]


def _alive(bpftool: str, number: int) -> bool:
    try:
        dump = _bpftool(bpftool, "-j", "struct_ops", "dump", "id", str(number))
    except LinuxError:  # a dead one whose last user has gone since it was listed
        return False
    return "BPF_STRUCT_OPS_STATE_INUSE" in dump


def _namespaces() -> Iterator[Path]:
    """A path to each network namespace but this process's that a name or another process holds."""
    seen = {Path("/proc/self/ns/net").stat().st_ino}
    mounts = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    named = [_unescaped(fields[4]) for fields in mounts if fields[3].startswith("net:[")]
    for path in [*named, *Path("/proc").glob("[0-9]*/ns/net")]:
        try:
            number = path.stat().st_ino
        except OSError:  # the process has ended, or is none of this user's
            continue
        if number not in seen:
            seen.add(number)
            yield path


def _unescaped(path: str) -> Path:
    """A path of ``mountinfo``, in which spaces, tabs, line breaks and backslashes are octal numbers (proc(5))."""
    return Path(re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), path))


def _default_in(namespace: Path) -> str | None:
    """The congestion control that new connections of a network namespace take; None where it cannot be entered."""

    def look() -> str | None:
        try:
            with namespace.open("rb") as entrance:
                return None if LIBC.setns(entrance.fileno(), CLONE_NEWNET) else CURRENT.read_text().strip()
        except OSError:
            return None

    with ThreadPoolExecutor(1) as other:  # a thread enters alone, and ends there
        return other.submit(look).result()


def _bpftool(bpftool: str, *arguments: str) -> str:
    done = subprocess.run([bpftool, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise LinuxError(
            f"the kernel rejects the program ({arguments[1]} {arguments[0]}): {_reason(done.stderr or done.stdout)}"
        )
    return done.stdout


def _reason(output: str) -> str:
    """Line of the output of libbpf with the reason."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for sign in ("GPL", "unknown func", "invalid", "too large", "Operation not permitted", "failed to", "Error"):
        for line in lines:
            if sign in line:
                return line
    return lines[-1] if lines else "no reason given"
