"""Writes LICENSE-THIRD-PARTY, the licenses of the code linked into a wheel: ``make notices``.

Cargo lists the crates: all dependencies of the extension module, except those needed only to compile. If a crate has a
choice of two licenses, the MIT license applies. Rust's standard library, the virtual machine's C library, and the
playground's plot library are not crates.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["FILE", "linked", "notices"]

ROOT = Path(__file__).parents[1]
FILE = ROOT / "LICENSE-THIRD-PARTY"
LICENCES = ("LICENSE-MIT", "LICENSE-MIT.txt", "LICENSE", "LICENSE.txt", "LICENSE.md", "COPYING")
"""Where a crate's licence stands; the first there is."""

HEAD = """\
A wheel of fullpipe holds compiled code of the projects below, under the licences that follow each. fullpipe's own
licences are in LICENSE-MIT and LICENSE-APACHE, that of the programs for the Linux kernel in bpf/LICENSE. Made by
`make notices`.
"""
GLIBC = """\
GNU C Library: LGPL-2.1-or-later

The program fullpipe/linux/objects/agent, which runs inside a virtual machine alone, is linked statically with the C
library of the machine where the wheel was built. Its source, fullpipe/linux/guest/agent.c, and the Makefile beside it
lie in the wheel, so that it can be linked anew with another version of the library. The library's source is the package
glibc of that machine's distribution; the licence is GNU's Lesser General Public License, version 2.1, in a Debian
system at /usr/share/common-licenses/LGPL-2.1.
"""
RUST = """\
Rust's standard library: MIT OR Apache-2.0

Copyright (c) The Rust Project Contributors
"""
UPLOT = """\
uPlot: MIT

Copyright (c) 2022 Leon Sorokin
"""
"""In the playground's page; from its file LICENSE, as the package index has it."""


def notices() -> str:
    """The whole text."""
    rule = f"\n{'-' * 80}\n\n"
    mit = (ROOT / "LICENSE-MIT").read_text(encoding="utf-8")
    terms = mit[mit.index("Permission is hereby granted") :]
    return rule.join([HEAD, *map(_notice, linked()), f"{RUST}\n{terms}", f"{UPLOT}\n{terms}", GLIBC])


def linked() -> list[dict[str, Any]]:
    """The packages of others that the extension module is linked with, by name, as ``cargo metadata`` has them."""
    metadata = _metadata()
    packages = {package["id"]: package for package in metadata["packages"]}
    needs = {node["id"]: set(_needs(node)) for node in metadata["resolve"]["nodes"]}
    (root,) = [name for name, package in packages.items() if package["name"] == "fullpipe-py"]
    found: set[str] = set()
    left = {root}
    while left:
        found |= left
        left = {
            other
            for name in left
            for other in needs[name]
            if not any("proc-macro" in target["kind"] for target in packages[other]["targets"])
        } - found
    others = (packages[name] for name in found if packages[name]["source"] is not None)
    return sorted(others, key=lambda package: str(package["name"]))


def _metadata() -> Any:
    version = subprocess.run(["rustc", "-vV"], stdout=subprocess.PIPE, text=True, check=True).stdout
    (host,) = [line.removeprefix("host: ") for line in version.splitlines() if line.startswith("host: ")]
    command = ["cargo", "metadata", "--format-version=1", "--locked", "--filter-platform", host]
    return json.loads(subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout)


def _needs(node: dict[str, Any]) -> Iterator[str]:
    for dependency in node["deps"]:
        if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
            yield dependency["pkg"]


def _notice(package: dict[str, Any]) -> str:
    folder = Path(package["manifest_path"]).parent
    texts = [folder / name for name in LICENCES if (folder / name).is_file()]
    name = f"{package['name']} {package['version']}"
    if not texts:
        raise SystemExit(f"{name} has no file with its licence ({package['license']})")
    return f"{name}: {package['license']}\n\n{texts[0].read_text(encoding='utf-8').strip()}\n"


if __name__ == "__main__":
    FILE.write_text(notices(), encoding="utf-8")
