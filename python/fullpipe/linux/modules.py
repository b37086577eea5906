"""Linux's congestion controls as algorithms of the simulator: a module's source from the user's kernel source,
compiled against the simulator's header for the simulator's virtual machine.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from fullpipe import _core
from fullpipe._util.text import quoted
from fullpipe.errors import InputError
from fullpipe.linux.errors import LinuxError

__all__ = ["Built", "build"]

FLAGS = ("-target", "bpf", "-mcpu=v3", "-g", "-O2", "-w", "-nostdinc")
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
SIGNED = re.compile(r"= sdiv (?:exact )?(i32|i64) (\S+), ([^\s,]+)")
"""LLVM's signed division, which BPF before v4 does not have: functions of the header take its place."""


@dataclass(frozen=True)
class Built:
    """A module that was compiled.

    Attributes:
        file: Where it is.
        kernel: The version of the kernel whose source it was made of, such as ``"6.1.176"``; ``"unknown"`` without one
            in the source.
        params: The names of its parameters.
    """

    file: Path
    kernel: str
    params: tuple[str, ...]


def build(tree: Path, name: str, out: Path | None = None) -> Built:
    """Compiles ``net/ipv4/tcp_<name>.c`` of a kernel's source, for scenarios to name.

    Args:
        tree: The kernel's source; not changed.
        name: The module, such as ``"illinois"``.
        out: The object file to write; None for the place in the user's cache where ``algorithm = { module = "..." }``
            looks for it.

    Raises:
        InputError: There is no such module, or it needs something that the simulator lacks.
        LinuxError: clang is not installed.
    """
    if not NAME.fullmatch(name):
        raise InputError(f"module must be a name such as 'illinois', got {quoted(name)}")
    source = tree / "net" / "ipv4" / f"tcp_{name}.c"
    try:
        text = source.read_text(errors="replace")
    except OSError as error:
        raise InputError(
            f"{source}: can't be read ({error.strerror}); the command requires a kernel source tree and a module name"
        ) from None
    version = _version(tree)
    content = _compiled(source, text, version)
    try:
        _, params = _core.kernel_module(content)
    except ValueError as error:
        raise InputError(f"{source}: {error}") from None
    file = out or _core.module_file(".".join(version.split(".")[:2]), name)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=file.parent, prefix=f".{name}.", delete=False) as made:
            made.write(content)
        Path(made.name).chmod(0o644)
        Path(made.name).replace(file)
    except OSError as error:
        raise InputError(f"{file}: can't be written ({error.strerror})") from None
    return Built(file, version, tuple(params))


def _version(tree: Path) -> str:
    """The kernel's version, as its Makefile begins with it."""
    try:
        text = (tree / "Makefile").read_text(errors="replace")
    except OSError:
        return "unknown"
    parts = [
        re.search(rf"^{part}\s*=\s*(\d+)\s*$", text, re.MULTILINE) for part in ("VERSION", "PATCHLEVEL", "SUBLEVEL")
    ]
    return ".".join(part[1] for part in parts if part) or "unknown"


def _compiled(source: Path, text: str, version: str) -> bytes:
    """The object file."""
    clang, strip = (shutil.which(tool) for tool in ("clang", "llvm-strip"))
    if clang is None or strip is None:
        raise LinuxError("compiling requires clang and llvm-strip (Debian: apt-get install clang llvm)")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        headers = set(re.findall(r"^\s*#\s*include\s*<([\w/.-]+)>", text, re.MULTILINE))
        for header in {"net/tcp.h", "linux/module.h", *headers}:
            path = place / header
            if place in path.resolve().parents:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text('#include "shim.h"\n')
        ours, made_for = _core.module_headers()
        for header, content in ours.items():
            (place / header).write_text(content)
        missing = _without_file(source, text)
        for header in missing:
            (place / header).write_text('#include "shim.h"\n')
        older = ["-DCONG_CONTROL_TAKES_TWO"] if _takes_two(text) else []
        older += [f"-DLACKS_{re.sub(r'[^A-Za-z0-9]', '_', header)}" for header in missing]
        older += ["-DLARGE_CA_PRIV"] if re.search(r"\.skb_marked_lost\s*=", text) else []
        said_of = [f'-DMADE_FOR="{made_for}"', f'-DMADE_OF="{version}"']
        paths = [f"-I{place}", f"-ffile-prefix-map={place}=."]
        between, made = place / "module.ll", place / "module.o"
        _run([clang, *FLAGS, *older, *said_of, *paths, "-S", "-emit-llvm", source, "-o", between], source)
        between.write_text(SIGNED.sub(r"= call \1 @signed_\1(\1 \2, \1 \3)", between.read_text()))
        _run([clang, *FLAGS, "-c", between, "-o", made], source)
        subprocess.run([strip, "-g", made], check=True)
        return made.read_bytes()


def _run(command: list[str | Path], source: Path) -> None:
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    if said.returncode != 0:
        raise InputError(_refusal(said.stderr, source))


def _without_file(source: Path, text: str) -> list[str]:
    """The headers of the module's own directory that it includes and that are not there."""
    named = re.findall(r'^\s*#\s*include\s*"([\w.-]+)"', text, re.MULTILINE)
    return sorted({header for header in named if not (source.parent / header).is_file()} - {"shim.h", "target.h"})


def _takes_two(text: str) -> bool:
    """Whether the module's ``cong_control`` is that of kernels before 6.10: without the ACK's number and flags."""
    named = re.search(r"\.cong_control\s*=\s*(\w+)", text)
    # Where it has both forms, the one that holds without a definition is the last.
    taken = re.search(rf"\b{named[1]}\(([^)]*)\)\s*(?:#\s*endif\s*)?\{{", text) if named else None
    return taken is not None and taken[1].count(",") == 1


def _refusal(said: str, source: Path) -> str:
    """The compiler's first error, in one line: the missing part of the kernel."""
    errors = [line.split("error: ", 1)[1] for line in said.splitlines() if "error: " in line]
    problem = errors[0] if errors else "it does not compile"
    return f"{source}: requires functions that the simulator does not have: {problem}"
