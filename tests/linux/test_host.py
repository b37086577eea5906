"""Our programs in the kernel the tests run on, where it lets them in."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from fullpipe.linux import host, programs
from fullpipe.linux.errors import LinuxError

pytestmark = [
    pytest.mark.usefixtures("kernel_alone"),
    pytest.mark.skipif(
        os.geteuid() != 0
        or not host.BTF.exists()
        or shutil.which("bpftool", path="/usr/sbin:/usr/bin") is None
        or not (programs.OBJECTS / "ehstcp.bpf.o").exists(),
        reason="needs root, a kernel with BTF, bpftool and `make linux-objects`",
    ),
]


@pytest.fixture(params=list(programs.OURS))
def algorithm(request: pytest.FixtureRequest) -> Iterator[str]:
    name: str = request.param
    if programs.OURS[name].kernel_name in host.available():
        pytest.skip(f"{name} is in use on this machine")
    yield name
    if programs.OURS[name].kernel_name in host.available():
        host.unload(name)


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


def test_wrong_licence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel takes congestion controls under the GPL only."""
    source = programs.OBJECTS / "adaptive_aimd.bpf.o"
    assert source.read_bytes().count(b"GPL\0") == 1
    (tmp_path / source.name).write_bytes(source.read_bytes().replace(b"GPL\0", b"MIT\0"))
    monkeypatch.setattr(programs, "OBJECTS", tmp_path)
    with pytest.raises(LinuxError, match=r"the kernel refused .*GPL") as caught:
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
