"""Linux's own congestion controls as algorithms of the simulator: a module's source, as it stands in the user's kernel
source, compiled against a header of ours for the simulator's virtual machine.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from fullpipe import _core
from fullpipe.errors import InputError
from fullpipe.linux import programs
from fullpipe.linux.errors import LinuxError

__all__ = ["build"]

SHIM = Path(__file__).with_name("shim") / "shim.h"
"""What a module takes from the kernel's headers."""

FLAGS = ("-target", "bpf", "-mcpu=v3", "-g", "-O2", "-w", "-nostdinc")


def build(tree: Path, name: str, out: Path) -> programs.Own:
    """Compiles ``net/ipv4/tcp_<name>.c`` of a kernel's source into the object file `out`, which scenarios may name.

    Args:
        tree: The kernel's source; not changed.
        name: The module, such as ``"illinois"``.
        out: The object file to write.

    Raises:
        InputError: There is no such module, or it needs what the simulator does not have.
        LinuxError: clang is not installed.
    """
    source = tree / "net" / "ipv4" / f"tcp_{name}.c"
    try:
        text = source.read_text(errors="replace")
    except OSError as error:
        raise InputError(
            f"{source}: cannot be read ({error.strerror}); expected a kernel's source and a module"
        ) from None
    clang, strip = (shutil.which(tool) for tool in ("clang", "llvm-strip"))
    if clang is None or strip is None:
        raise LinuxError("clang and llvm-strip are needed (Debian: apt-get install clang llvm)")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        headers = set(re.findall(r"^\s*#\s*include\s*<([\w/.-]+)>", text, re.MULTILINE))
        for header in {"net/tcp.h", "linux/module.h", *headers}:
            path = place / header
            if place in path.resolve().parents:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text('#include "shim.h"\n')
        shutil.copy(SHIM, place)
        (place / "target.h").write_text(_core.KERNEL_TARGET)
        made = place / "module.o"
        older = ["-DCONG_CONTROL_TAKES_TWO"] if _takes_two(text) else []
        command: list[str | Path] = [
            clang,
            *FLAGS,
            *older,
            f"-I{place}",
            f"-ffile-prefix-map={place}=.",
            "-c",
            source,
            "-o",
            made,
        ]
        said = subprocess.run(command, capture_output=True, text=True, check=False)
        if said.returncode != 0:
            raise InputError(_refusal(said.stderr, source))
        subprocess.run([strip, "-g", made], check=True)
        content = made.read_bytes()
        try:
            own = programs.own(content)
        except InputError as error:
            raise InputError(f"{source}: {error}") from None
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_bytes(content)
    return own


def _takes_two(text: str) -> bool:
    """Whether the module's ``cong_control`` is that of kernels before 6.10: without the ACK's number and flags."""
    named = re.search(r"\.cong_control\s*=\s*(\w+)", text)
    taken = re.search(rf"\b{named[1]}\(([^)]*)\)\s*\{{", text) if named else None
    return taken is not None and taken[1].count(",") == 1


def _refusal(said: str, source: Path) -> str:
    """The compiler's first error, in one line: what the module needs and the simulator does not have."""
    errors = [line.split("error: ", 1)[1] for line in said.splitlines() if "error: " in line]
    return f"{source}: needs what the simulator does not have: {errors[0] if errors else 'it does not compile'}"
