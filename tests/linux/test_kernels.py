"""Kernels as Debian packs them: fetched from a mirror made here, and, for long, real ones."""

from __future__ import annotations

import hashlib
import lzma
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from fullpipe import Result, Scenario, linux
from fullpipe.errors import InputError
from fullpipe.linux import kernel, machine, programs
from fullpipe.linux.errors import LinuxError

needs_apt = pytest.mark.skipif(
    shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None, reason="needs apt-get and dpkg-deb"
)

MODULES = ("drivers/net/veth", "net/sched/sch_netem", "net/ipv4/tcp_vegas")
META = "linux-image-cloud-amd64"

Files = dict[str, bytes]
Packages = dict[str, tuple[str, Files]]
"""By name: what a package depends on, and its files."""
Mirror = Callable[[Packages, str], None]


def modules(root: str, release: str, suffix: str = "", pack: Callable[[bytes], bytes] = bytes) -> Files:
    return {f"{root}/{release}/kernel/{name}.ko{suffix}": pack(name.encode()) for name in MODULES}


PLAIN: Packages = {
    META: ("linux-image-6.1.0-1-cloud-amd64 (= 1)", {}),
    "linux-image-6.1.0-1-cloud-amd64": (
        "kmod",
        {"boot/vmlinuz-6.1.0-1-cloud-amd64": b"boots", **modules("lib/modules", "6.1.0-1-cloud-amd64")},
    ),
}
COMPRESSED: Packages = {
    META: ("linux-image-6.12.1+deb12-cloud-amd64 (= 1)", {}),
    "linux-image-6.12.1+deb12-cloud-amd64": (
        "kmod",
        {
            "boot/vmlinuz-6.12.1+deb12-cloud-amd64": b"boots",
            **modules("lib/modules", "6.12.1+deb12-cloud-amd64", ".xz", lzma.compress),
        },
    ),
}
RELEASE = "7.3.4+deb13-cloud-amd64"
SPLIT: Packages = {
    META: (f"linux-base-cloud-amd64, linux-image-{RELEASE} (= 1), linux-modules-cloud-amd64", {}),
    "linux-base-cloud-amd64": ("", {}),
    "linux-modules-cloud-amd64": (f"linux-modules-{RELEASE}", {}),
    f"linux-image-{RELEASE}": (f"linux-binary-{RELEASE} (= 1), linux-modules-{RELEASE} (= 1)", {}),
    f"linux-binary-{RELEASE}": ("", {f"usr/lib/modules/{RELEASE}/vmlinuz": b"boots"}),
    f"linux-modules-{RELEASE}": ("kmod", modules("usr/lib/modules", RELEASE, ".xz", lzma.compress)),
}


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mirror:
    """Makes suites of a Debian on this disk; apt follows the suite "old" of it, and the kernels' cache is empty."""
    root, own = tmp_path / "mirror", tmp_path / "apt"
    (own / "lists" / "partial").mkdir(parents=True)
    (own / "sources.list").write_text(f"deb [trusted=yes] file:{root} old main\n")
    settings = {
        "Dir::Etc::SourceList": own / "sources.list",
        "Dir::Etc::SourceParts": "/dev/null",
        "Dir::State::Lists": own / "lists",
        "Dir::Cache": own,
        "APT::Architecture": "amd64",
        "APT::Architectures": "amd64",
        "APT::Sandbox::User": "root",
        "APT::Get::AllowUnauthenticated": "true",
        "Acquire::AllowInsecureRepositories": "true",
    }
    (own / "apt.conf").write_text("".join(f'{name} "{value}";\n' for name, value in settings.items()))
    monkeypatch.setenv("APT_CONFIG", str(own / "apt.conf"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def make(packages: Packages, suite: str) -> None:
        index = "".join(publish(root, suite, name, *package) for name, package in packages.items()).encode()
        place = root / "dists" / suite / "main" / "binary-amd64"
        place.mkdir(parents=True)
        (place / "Packages").write_bytes(index)
        (place.parents[1] / "Release").write_text(release(place, suite))
        if suite == "old":
            subprocess.run(["apt-get", "update", "-qq"], check=True)

    return make


def publish(root: Path, suite: str, name: str, depends: str, files: Files) -> str:
    """Packs a package. Returns its entry in the suite's index."""
    tree = root / "trees" / suite / name
    control = f"Package: {name}\nVersion: 1\nArchitecture: amd64\nMaintainer: nobody\nDescription: a test\n"
    control += f"Depends: {depends}\n" if depends else ""
    for path, content in {"DEBIAN/control": control.encode(), **files}.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_bytes(content)
    archive = root / "pool" / suite / f"{name}.deb"
    archive.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["dpkg-deb", "--build", "--root-owner-group", tree, archive], check=True, capture_output=True)
    content = archive.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    return f"{control}Filename: pool/{suite}/{archive.name}\nSize: {len(content)}\nSHA256: {digest}\n\n"


def release(place: Path, suite: str) -> str:
    """A suite's table of contents."""
    head = (
        f"Origin: Debian\nLabel: Debian\nSuite: {suite}\nCodename: {suite}\nDate: Sat, 01 Jan 2000 00:00:00 UTC\n"
        "Architectures: amd64\nComponents: main\n"
    )
    content = (place / "Packages").read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    return f"{head}SHA256:\n {digest} {len(content)} main/binary-amd64/Packages\n"


@needs_apt
@pytest.mark.parametrize(
    ("packages", "version"),
    [
        (PLAIN, "linux-image-6.1.0-1-cloud-amd64"),
        (COMPRESSED, "linux-image-6.12.1+deb12-cloud-amd64"),
        (SPLIT, f"linux-image-{RELEASE}"),
    ],
)
def test_layouts(mirror: Mirror, packages: Packages, version: str) -> None:
    mirror(packages, "old")
    fetched = kernel.ensure()
    assert fetched.version == version
    assert fetched.image.read_bytes() == b"boots"
    assert {name: path.read_bytes().decode() for name, path in fetched.modules.items()} == {
        Path(name).name: name for name in MODULES
    }


@needs_apt
def test_modules_that_an_earlier_version_did_not_keep(mirror: Mirror) -> None:
    """The kernel is fetched again into its directory. A built-in module is not reported as missing."""
    mirror(PLAIN, "old")
    kept = kernel.ensure().image.parent
    sums = (kept / "SHA256SUMS").read_text().splitlines(keepends=True)
    (kept / "tcp_vegas.ko").unlink()
    (kept / "SHA256SUMS").write_text("".join(line for line in sums if "tcp_vegas" not in line))
    assert "tcp_vegas" not in kernel.ensure(modules=["veth", "sch_fq_codel"]).modules
    again = kernel.ensure(modules=["veth", "tcp_vegas"])
    assert again.modules["tcp_vegas"] == kept / "tcp_vegas.ko"
    assert (kept / "SHA256SUMS").read_text() == "".join(sums)
    assert [path.name for path in kernel.kept_in().iterdir()] == [kept.name]


@needs_apt
def test_a_kernel_of_another_suite(mirror: Mirror) -> None:
    """The fetched kernel is additional. The default kernel stays the default after every fetch."""
    mirror(PLAIN, "old")
    mirror(SPLIT, "new")
    assert kernel.ensure().version == "linux-image-6.1.0-1-cloud-amd64"
    assert kernel.ensure(f"{META}/new").version == f"linux-image-{RELEASE}"
    assert kernel.ensure(f"linux-image-{RELEASE}/new").version == f"linux-image-{RELEASE}"
    assert kernel.ensure().version == "linux-image-6.1.0-1-cloud-amd64"
    assert kernel.cached("linux-image-6.1.0-1-cloud-amd64") is None


@needs_apt
@pytest.mark.parametrize(
    ("package", "words"),
    [
        ("linux-image-none", "unknown package 'linux-image-none'"),
        (f"{META}/none", "looking into none failed"),
        ("linux-base-cloud-amd64/new", "must have a kernel .*got linux-base-cloud-amd64"),
    ],
)
def test_what_cannot_be_had(mirror: Mirror, package: str, words: str) -> None:
    mirror(PLAIN, "old")
    mirror(SPLIT, "new")
    with pytest.raises(LinuxError, match=words) as caught:
        kernel.ensure(package)
    assert "\n" not in str(caught.value)
    assert list(kernel.kept_in().iterdir()) == []


@needs_apt
def test_unknown_compression(mirror: Mirror) -> None:
    mirror({META: ("", {"boot/vmlinuz-1": b"boots", **modules("lib/modules", "1", ".zst")})}, "old")
    with pytest.raises(LinuxError, match=r"veth\.ko\.zst of .*unknown compression .*\.xz"):
        kernel.ensure()


@pytest.mark.parametrize("name", ["", "../escape", "a b", "linux-image/trixie/main", "--help", "Linux"])
def test_what_is_no_package(name: str) -> None:
    with pytest.raises(InputError, match="kernel must be a package"):
        kernel.ensure(name)


LIBRARY = {"adaptive-aimd": 0.98, "hyun-jang": 0.90, "ehstcp": 0.98, "vegas": 0.98}
"""What is asked of each: part of the link that it uses (see test_programs.py)."""


@needs_apt
@pytest.mark.slow_linux
@pytest.mark.skipif(
    shutil.which(machine.QEMU) is None or not (programs.OBJECTS / "agent").exists(),
    reason="needs qemu-system-x86 and `make linux-objects`",
)
@pytest.mark.parametrize(
    ("suite", "release"), [("bookworm", "6.1."), ("trixie", "6.12."), ("trixie-backports", "7."), ("forky", "7.")]
)
def test_real_kernels(suite: str, release: str) -> None:
    """Each kernel boots, loads fullpipe's programs and its own module, and they behave as in other kernels: 5 Mbit/s,
    60 ms, a quarter of a BDP, a link for each.
    """
    package = f"{META}/{suite}"
    assert kernel.ensure(package).version.startswith(f"linux-image-{release}")
    link = {"rate": "5 Mbit/s", "delay": "29 ms", "buffer": "9 packets"}
    flow = {"access_delay": "1 ms", "recovery": "sack"}
    scenario = Scenario.from_dict(
        {
            "duration": "40 s",
            "warmup": "15 s",
            "links": [{"name": name, **link} for name in LIBRARY],
            "flows": [{"algorithm": name, "path": [name], **flow} for name in LIBRARY],
        }
    )
    links = Result(scenario, linux.run(scenario, kernel=package), engine="linux", wall_s=0).to_dict()["links"]
    used = {link["name"]: link["utilization"] for link in links}
    print(f"\n{kernel.ensure(package).version}: {used}")
    for name, least in LIBRARY.items():
        assert least <= used[name] <= 1.001
