"""The guest's kernel: one of Debian's, fetched once by apt-get and kept in the cache with its checksums.

Up to Linux 6 one package holds all of a kernel, with modules as they are (6.1) or compressed (6.12); since 7 it depends
on others that hold image and modules.
"""

from __future__ import annotations

import hashlib
import lzma
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from fullpipe._util.files import cache_directory
from fullpipe._util.text import quoted
from fullpipe.errors import InputError
from fullpipe.linux.errors import LinuxError

__all__ = ["BUILT_IN", "PACKAGE", "Kernel", "cached", "check_name", "ensure", "kept_in"]

PACKAGE = "linux-image-cloud-amd64"
"""Debian's package that depends on the newest kernel for virtual machines."""
QUEUES = ("cake", "cbs", "codel", "fq_codel", "fq_pie", "pie", "red")
WAYS = ("cls_matchall", "act_mirred", "act_police", "sch_ingress")
MODULES = (
    "drivers/net/veth",
    "net/sched/sch_netem",
    *(f"net/sched/sch_{name}" for name in QUEUES),
    *(f"net/sched/{name}" for name in WAYS),
    "net/ipv4/inet_diag",
    "net/ipv4/tcp_*",
)
"""Modules kept from a kernel; each works without the others, but tcp_diag requires inet_diag."""
BUILT_IN = ("sch_fq_codel", "sch_pfifo")
"""Modules that some kernels have built in."""
CHECKSUMS = "SHA256SUMS"
REQUEST = re.compile(r"([a-z0-9][a-z0-9+.-]+)(?:/([a-z0-9][a-z0-9-]*))?")
"""A package, or a package and a suite, as apt-get takes them (Debian Policy 5.6.1)."""
PART = re.compile(r"^ *Depends: (linux-(?:image|binary|modules)-\S+)$", re.MULTILINE)
"""A package that a kernel's package depends on for its files, as apt-cache lists it."""
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


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


def kept_in() -> Path:
    """Where kernels are kept."""
    return cache_directory("linux")


def ensure(package: str = PACKAGE, modules: Iterable[str] = ()) -> Kernel:
    """The newest kernel of a package in the cache; fetched first if there is none with these modules.

    Args:
        package: Debian's name of the package, or ``"PACKAGE/SUITE"`` for one in a suite of Debian that this machine's
            apt does not follow, such as ``"linux-image-cloud-amd64/trixie"``.
        modules: Names without suffix; an earlier version of this program has kept fewer.

    Raises:
        InputError: The name of the package is not allowed.
        LinuxError: The kernel cannot be fetched, or the cache is damaged.
    """
    kernel = cached(package)
    if kernel and all(name in kernel.modules or name in BUILT_IN for name in modules):
        return kernel
    _fetch(package)
    if kernel := cached(package):
        return kernel
    raise LinuxError(f"fetching stored no kernel in {_shelf(package)}")


def cached(package: str = PACKAGE) -> Kernel | None:
    """The newest kernel of a package in the cache; None if there is none.

    Raises:
        InputError: `package` is not a name as for `ensure`.
        LinuxError: A file of it is missing or damaged.
    """
    homes = sorted(_shelf(package).glob(f"*/{CHECKSUMS}"), key=lambda path: path.stat().st_mtime)
    if not homes:
        return None
    home = homes[-1].parent
    for line in homes[-1].read_text(encoding="utf-8").splitlines():
        digest, _, name = line.partition("  ")
        _check(home / name, digest)
    modules = {path.name.removesuffix(".ko"): path for path in home.glob("*.ko")}
    return Kernel(home.name, home / "vmlinuz", modules)


def check_name(package: str) -> None:
    """Refuses a name that is not allowed.

    Raises:
        InputError: `package` is not a name as for `ensure`.
    """
    if not REQUEST.fullmatch(package):
        raise InputError(
            f"kernel must be a package, or a package and a suite such as {PACKAGE}/trixie, got {quoted(package)}"
        )


def _shelf(package: str) -> Path:
    """Where the kernels of a package are kept, a directory per kernel."""
    check_name(package)
    return kept_in() if package == PACKAGE else kept_in() / package.replace("/", "_")


def _check(path: Path, digest: str) -> None:
    remedy = f"remove {path.parent} to fetch the kernel again"
    try:
        content = path.read_bytes()
    except OSError as error:
        raise LinuxError(f"the kernel's file {path.name} can't be read ({error.strerror}); {remedy}") from None
    if hashlib.sha256(content).hexdigest() != digest:
        raise LinuxError(f"the kernel's file {path.name} is damaged (its checksum differs); {remedy}")


def _fetch(request: str) -> None:
    shelf = _shelf(request)
    package, _, suite = request.partition("/")
    try:
        kept_in().mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".fetch.", dir=kept_in()) as name:
            stage = Path(name)
            apt = _options(stage, suite)
            _run(["apt-get", *apt, "download", "-qq", *_parts(package, apt)], stage, "fetching the kernel")
            for archive in stage.glob("*.deb"):
                _run(["dpkg-deb", "-x", str(archive), "unpacked"], stage, "unpacking the kernel")
            _place(_keep(stage, package), shelf)
    except OSError as error:
        raise LinuxError(f"the kernel can't be stored in {shelf}: {error.strerror or error}") from None


def _options(stage: Path, suite: str) -> list[str]:
    """Command line of apt; for a suite with separate lists, from the mirror in this machine's sources."""
    for program in ("apt-get", "dpkg-deb"):
        if shutil.which(program) is None:
            raise LinuxError(
                f"{kept_in()} has no kernel, and fetching one requires {program}; "
                "copy the directory from a Debian machine"
            )
    options = ["-o", "APT::Sandbox::User=root"]
    if not suite:
        return options
    query = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Label: Debian"]
    mirrors = _run(query, stage, "looking for Debian's mirror").split()
    if not mirrors:
        raise LinuxError(f"suite {suite} requires a Debian mirror in apt's sources; run `apt-get update` as root")
    signed = f" [signed-by={KEYRING}]" if KEYRING.exists() else ""
    (stage / "sources.list").write_text(f"deb{signed} {mirrors[0]} {suite} main\n", encoding="utf-8")
    (stage / "lists" / "partial").mkdir(parents=True)
    own = {
        "Dir::Etc::SourceList": stage / "sources.list",
        "Dir::Etc::SourceParts": os.devnull,
        "Dir::State::Lists": stage / "lists",
        "Dir::Cache": stage / "apt",
        "Acquire::Languages": "none",
    }
    options += [word for name, value in own.items() for word in ("-o", f"{name}={value}")]
    _run(["apt-get", *options, "update", "-qq"], stage, f"looking into {suite}")
    return options


def _parts(package: str, apt: list[str]) -> list[str]:
    """The packages with the files of a kernel: `package`, and those of its dependencies that were built with it."""
    parts, pending = [], [package]
    while pending:
        parts.append(pending.pop())
        try:
            listing = _run(["apt-cache", *apt, "depends", parts[-1]], Path.cwd(), "looking for the kernel")
        except LinuxError:
            raise LinuxError(
                f"unknown package {quoted(parts[-1])}; run `apt-get update` as root, or name a Debian suite, "
                f"for example {PACKAGE}/trixie"
            ) from None
        pending += [name for name in PART.findall(listing) if name not in [*parts, *pending]]
    return parts


def _keep(stage: Path, package: str) -> Path:
    """Moves the needed files of the unpacked packages to a directory of the kernel's name and writes the checksums."""
    trees = [path for root in ("", "usr/") for path in (stage / "unpacked").glob(f"{root}lib/modules/*")]
    images = [*(stage / "unpacked").glob("boot/vmlinuz-*"), *(path / "vmlinuz" for path in trees)]
    image = next((path for path in images if path.exists()), None)
    modules = [path for tree in trees for pattern in MODULES for path in tree.glob(f"kernel/{pattern}.ko*")]
    if image is None or not modules:
        raise LinuxError(f"the package must have a kernel with the modules of the Linux engine, got {package}")
    home = stage / f"linux-image-{trees[0].name}"
    home.mkdir()
    image.rename(home / "vmlinuz")
    for path in modules:
        name, _, compression = path.name.partition(".ko")
        if compression not in ("", ".xz"):
            raise LinuxError(f"{path.name} of {package}: unknown compression {quoted(compression)} (allowed: .xz)")
        content = path.read_bytes()
        (home / f"{name}.ko").write_bytes(lzma.decompress(content) if compression else content)
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(home.iterdir())]
    (home / CHECKSUMS).write_text("".join(sums), encoding="utf-8")
    return home


def _place(home: Path, shelf: Path) -> None:
    """Moves a kernel to the shelf; replaces files of another process or an earlier version."""
    kept = shelf / home.name
    kept.mkdir(parents=True, exist_ok=True)
    for path in sorted(home.iterdir(), key=lambda path: path.name == CHECKSUMS):
        path.replace(kept / path.name)


def _run(command: list[str], directory: Path, what: str) -> str:
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise LinuxError(f"{what} failed: {lines[-1] if lines else f'{command[0]} ended with {done.returncode}'}")
    return done.stdout
