"""The guest's kernel: Debian's cloud image, fetched once by apt-get and kept in the cache with its checksums."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from fullpipe.linux.errors import LinuxError

__all__ = ["Kernel", "cache_directory", "cached", "ensure"]

PACKAGE = "linux-image-cloud-amd64"
"""Debian's package that depends on the newest kernel for virtual machines."""
MODULES = ("drivers/net/veth", "net/sched/sch_netem", "net/ipv4/tcp_*")
"""What is kept of the kernel's modules; none of them needs another."""
CHECKSUMS = "SHA256SUMS"


@dataclass(frozen=True)
class Kernel:
    """A kernel in the cache, checked.

    Attributes:
        version: As Debian names it.
        image: The bootable image.
        modules: The modules kept, by name without suffix.
    """

    version: str
    image: Path
    modules: dict[str, Path]


def cache_directory() -> Path:
    """Where kernels are kept: ``$XDG_CACHE_HOME/fullpipe/linux``, by default under ``~/.cache``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fullpipe" / "linux"


def ensure() -> Kernel:
    """The newest kernel in the cache; fetched first if there is none.

    Raises:
        LinuxError: It cannot be fetched, or what the cache holds is damaged.
    """
    if kernel := cached():
        return kernel
    _fetch()
    if kernel := cached():
        return kernel
    raise LinuxError(f"no kernel appeared in {cache_directory()} after it was fetched")


def cached() -> Kernel | None:
    """The newest kernel in the cache; None if there is none.

    Raises:
        LinuxError: A file of it is missing or not what was fetched.
    """
    homes = sorted(cache_directory().glob(f"*/{CHECKSUMS}"), key=lambda path: path.stat().st_mtime)
    if not homes:
        return None
    home = homes[-1].parent
    for line in homes[-1].read_text(encoding="utf-8").splitlines():
        digest, _, name = line.partition("  ")
        _check(home / name, digest)
    modules = {path.name.removesuffix(".ko"): path for path in home.glob("*.ko")}
    return Kernel(home.name, home / "vmlinuz", modules)


def _check(path: Path, digest: str) -> None:
    remedy = f"remove {path.parent} to fetch the kernel again"
    try:
        content = path.read_bytes()
    except OSError as error:
        raise LinuxError(f"the kernel's file {path.name} cannot be read ({error.strerror}); {remedy}") from None
    if hashlib.sha256(content).hexdigest() != digest:
        raise LinuxError(f"the kernel's file {path.name} is damaged (its checksum differs); {remedy}")


def _fetch() -> None:
    cache = cache_directory()
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".fetch.", dir=cache) as name:
            stage = Path(name)
            package = _newest_package()
            _run(["apt-get", "download", "-qq", "-o", "APT::Sandbox::User=root", package], stage, "fetching the kernel")
            _run(["dpkg-deb", "-x", str(next(stage.glob("*.deb"))), "unpacked"], stage, "unpacking the kernel")
            _keep(stage / "unpacked", stage / package)
            try:
                (stage / package).rename(cache / package)
            except OSError:
                if not (cache / package / CHECKSUMS).exists():  # else another process was faster
                    raise
    except OSError as error:
        raise LinuxError(f"the kernel cannot be kept in {cache}: {error.strerror or error}") from None


def _newest_package() -> str:
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise LinuxError(
            f"no kernel in {cache_directory()}, and no apt-get to fetch Debian's {PACKAGE} with; "
            "copy the directory from a Debian machine"
        )
    listing = _run(["apt-cache", "depends", PACKAGE], Path.cwd(), "looking for the kernel")
    found = re.search(r"Depends: (linux-image-\S+)", listing)
    if not found:
        raise LinuxError(f"apt knows no package {PACKAGE}; run `apt-get update` (as root) and try again")
    return found[1]


def _keep(unpacked: Path, home: Path) -> None:
    """Moves what is needed of an unpacked package to ``home`` and writes the checksums."""
    home.mkdir()
    images = list(unpacked.glob("boot/vmlinuz-*"))
    modules = [path for pattern in MODULES for path in unpacked.glob(f"lib/modules/*/kernel/{pattern}.ko")]
    if not images or not modules:
        raise LinuxError(f"{home.name} does not hold a kernel with the modules needed")
    for source, name in [(images[0], "vmlinuz"), *((path, path.name) for path in modules)]:
        source.rename(home / name)
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(home.iterdir())]
    (home / CHECKSUMS).write_text("".join(sums), encoding="utf-8")


def _run(command: list[str], directory: Path, what: str) -> str:
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise LinuxError(f"{what} failed: {lines[-1] if lines else f'{command[0]} ended with {done.returncode}'}")
    return done.stdout
