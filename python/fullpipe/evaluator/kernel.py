"""Limits of the Linux kernel for the process of a candidate: Landlock for files, seccomp for system calls, and a
network without interfaces.

No library is used: ``pyseccomp`` needs a shared library of the system, and Landlock has no package on PyPI. Each limit
takes a few system calls. A limit that the system lacks is reported as missing.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path

__all__ = ["filter_calls", "isolate_network", "restrict_files"]

_LIBRARY = ctypes.CDLL(None, use_errno=True)

CLONE_NEWNET = 0x40000000
"""Flag of unshare(2): a network without interfaces."""

CLONE_THREAD = 0x00010000
"""Flag of clone(2): a thread, and no process."""

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2

EPERM, ENOSYS = 1, 38


def isolate_network() -> bool:
    """Gives this process a network without interfaces; whether the system allows it."""
    return bool(_LIBRARY.unshare(CLONE_NEWNET) == 0)


# Landlock, landlock(7).

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
"""System calls, with one number on all architectures."""

RIGHTS = {1: 13, 2: 14, 3: 15, 5: 16}
"""Number of rights about files, by the version that brought the last of them."""

EXECUTE, READ_FILE, READ_DIR = 1, 4, 8

TCP = 3
"""Rights to bind and to connect, since version 4."""

SCOPED = 3
"""Scopes of abstract sockets and signals, since version 6."""

READABLE = ("/usr/lib", "/usr/lib64", "/lib", "/lib64", "/etc/ld.so.cache", "/proc/cpuinfo", "/sys/devices/system/cpu")
"""Files of the system that libraries read when they are loaded."""


def restrict_files(readable: Iterable[str]) -> bool:
    """Lets this process read the given files and folders and those of `READABLE`, and write none; whether the system
    allows it.
    """
    version = _LIBRARY.syscall(CREATE_RULESET, None, 0, 1)
    if version < 1:
        return False
    rights = (1 << max(count for since, count in RIGHTS.items() if since <= version)) - 1
    fields = [rights, TCP if version >= 4 else 0, SCOPED if version >= 6 else 0]
    fields = fields[: 1 if version < 4 else 2 if version < 6 else 3]
    attributes = struct.pack(f"={len(fields)}Q", *fields)
    rules = _LIBRARY.syscall(CREATE_RULESET, attributes, len(attributes), 0)
    if rules < 0:
        return False
    try:
        for path in (*readable, *READABLE):
            if Path(path).exists():
                _allow(rules, path)
        return _no_new_privileges() and _LIBRARY.syscall(RESTRICT_SELF, rules, 0) == 0
    finally:
        os.close(rules)


def _allow(rules: int, path: str) -> None:
    rights = EXECUTE | READ_FILE | (READ_DIR if Path(path).is_dir() else 0)
    opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        _LIBRARY.syscall(ADD_RULE, rules, 1, struct.pack("=Qi", rights, opened), 0)
    finally:
        os.close(opened)


def _no_new_privileges() -> bool:
    return bool(_LIBRARY.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)


# seccomp(2), with numbers of the kernel's unistd.h.

NEW_CALLS = 463
"""First number after the calls that this module knows; later ones are refused."""

REFUSED_EVERYWHERE = """
        pidfd_send_signal 424, io_uring_setup 425, open_tree 428, move_mount 429, fsopen 430, fsconfig 431,
        fsmount 432, pidfd_getfd 438, process_madvise 440, mount_setattr 442, fchmodat2 452
"""
"""Calls with one number on all architectures: signals, mounts, and asynchronous input and output."""

REFUSED = {
    "x86_64": """
        shmget 29, shmat 30, socket 41, connect 42, accept 43, sendto 44, recvfrom 45, sendmsg 46, recvmsg 47,
        bind 49, listen 50, socketpair 53, fork 57, vfork 58, execve 59, kill 62, semget 64, msgget 68, chmod 90,
        fchmod 91, chown 92, fchown 93, lchown 94, ptrace 101, rt_sigqueueinfo 129, utime 132, personality 135,
        pivot_root 155, setrlimit 160, chroot 161, mount 165, umount2 166, swapon 167, reboot 169, init_module 175,
        delete_module 176, setxattr 188, lsetxattr 189, fsetxattr 190, removexattr 197, lremovexattr 198,
        fremovexattr 199, tkill 200, io_setup 206, tgkill 234, utimes 235, mq_open 240, kexec_load 246, add_key 248,
        request_key 249, keyctl 250, fchownat 260, futimesat 261, fchmodat 268, unshare 272, utimensat 280,
        accept4 288, rt_tgsigqueueinfo 297, perf_event_open 298, recvmmsg 299, fanotify_init 300, prlimit64 302,
        open_by_handle_at 304, sendmmsg 307, setns 308, process_vm_readv 310, process_vm_writev 311,
        finit_module 313, bpf 321, execveat 322, userfaultfd 323
    """,
    "aarch64": """
        io_setup 0, setxattr 5, lsetxattr 6, fsetxattr 7, removexattr 14, lremovexattr 15, fremovexattr 16,
        umount2 39, mount 40, pivot_root 41, chroot 51, fchmod 52, fchmodat 53, fchownat 54, fchown 55, utimensat 88,
        personality 92, unshare 97, kexec_load 104, init_module 105, delete_module 106, ptrace 117, kill 129,
        tkill 130, tgkill 131, rt_sigqueueinfo 138, reboot 142, setrlimit 164, mq_open 180, msgget 186, semget 190,
        shmget 194, shmat 196, socket 198, socketpair 199, bind 200, listen 201, accept 202, connect 203, sendto 206,
        recvfrom 207, sendmsg 211, recvmsg 212, add_key 217, request_key 218, keyctl 219, execve 221, swapon 224,
        rt_tgsigqueueinfo 240, perf_event_open 241, accept4 242, recvmmsg 243, prlimit64 261, fanotify_init 262,
        open_by_handle_at 265, setns 268, sendmmsg 269, process_vm_readv 270, process_vm_writev 271,
        finit_module 273, bpf 280, execveat 281, userfaultfd 282
    """,
}
"""Refused calls of an architecture, with their numbers: processes, signals, sockets, memory that outlives the process,
attributes of files, limits, and administration.
"""

ARCHITECTURES = {"x86_64": (0xC000003E, 56), "aarch64": (0xC00000B7, 220)}
"""AUDIT_ARCH of the filter's data, and the number of clone."""

CLONE3 = 435

LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
"""Instructions of the classic BPF machine."""

ALLOW, REFUSE, KILL = 0x7FFF0000, 0x00050000, 0x80000000
"""Answers of a filter; a refusal has an errno in its low bits."""

NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16
"""Offsets in struct seccomp_data."""


def filter_calls() -> bool:
    """Refuses this process the calls of `REFUSED` and new processes; whether the system allows the filter."""
    machine = platform.machine()
    if machine not in ARCHITECTURES:
        return False
    code = b"".join(struct.pack("=HBBI", *each) for each in program(machine))
    kept = ctypes.create_string_buffer(code, len(code))
    filters = struct.pack("@HP", len(code) // 8, ctypes.addressof(kept))
    return _no_new_privileges() and _LIBRARY.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filters, 0, 0) == 0


def program(machine: str) -> Sequence[tuple[int, int, int, int]]:
    """Instructions of the filter: code, jump if true, jump if false, constant."""
    architecture, clone = ARCHITECTURES[machine]
    refused = [int(call.split()[1]) for call in f"{REFUSED_EVERYWHERE},{REFUSED[machine]}".split(",")]
    return [
        (LOAD, 0, 0, ARCHITECTURE),
        (EQUAL, 1, 0, architecture),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER),
        (AT_LEAST, 0, 1, NEW_CALLS),
        (RETURN, 0, 0, REFUSE | ENOSYS),
        (EQUAL, 0, 1, CLONE3),
        (RETURN, 0, 0, REFUSE | ENOSYS),  # the C library then calls clone, whose flags a filter can read
        *(step for number in sorted(refused) for step in ((EQUAL, 0, 1, number), (RETURN, 0, 0, REFUSE | EPERM))),
        (EQUAL, 0, 3, clone),
        (LOAD, 0, 0, FIRST_ARGUMENT),
        (ANY_BIT, 1, 0, CLONE_THREAD),
        (RETURN, 0, 0, REFUSE | EPERM),
        (RETURN, 0, 0, ALLOW),
    ]
