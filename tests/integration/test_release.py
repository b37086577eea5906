"""Files of a release: metadata that agree, licenses of linked code, and workflows that call existing targets."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
import zipfile
from pathlib import Path
from types import ModuleType

import pytest
import yaml

import fullpipe
from conftest import ROOT, module_of


def module(name: str) -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "release")
        return module_of(ROOT / f"release/{name}.py")


@pytest.fixture(scope="module")
def build() -> ModuleType:
    return module("build")


def test_all_metadata_agree() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    crates = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert fullpipe.__version__ == crates["version"] == citation["version"]
    assert [each["name"] for each in project["authors"]] == crates["authors"] == ["fullpipe developers"]
    assert [each["name"] for each in citation["authors"]] == crates["authors"]
    assert all((ROOT / name).is_file() for name in project["license-files"])


def test_the_page_on_citing_has_the_version_year_and_title_of_the_citation_file() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    entry = dict(re.findall(r"^  (\w+) += \{?(.+?)\}?,?$", (ROOT / "docs/reference/cite.md").read_text(), re.MULTILINE))
    assert entry["version"] == citation["version"]
    assert int(entry["year"]) == citation["date-released"].year
    assert entry["title"].replace("{", "").replace("}", "") == citation["title"]
    assert entry["doi"].startswith("10.")


@pytest.mark.skipif(shutil.which("cargo") is None, reason="needs cargo")
def test_the_licences_of_what_is_linked_in_are_those_of_today() -> None:
    notices = module("notices")
    assert notices.FILE.read_text(encoding="utf-8") == notices.notices(), "make notices"


def test_the_notices_name_what_is_linked_in_and_nothing_else() -> None:
    text = (ROOT / "LICENSE-THIRD-PARTY").read_text()
    named = set(re.findall(r"^([a-z0-9_-]+) \d+\.\d+\.\S+: ", text, re.MULTILINE))
    assert {
        "pyo3",
        "libm",
        "toml",
        "winnow",
    } <= named  # the bindings; one under MIT alone; the parser, and what it needs
    assert named.isdisjoint({"syn", "proptest", "criterion", "fullpipe-cc"})  # macros, tests, ours
    assert "LGPL-2.1" in text
    assert "uPlot" in text  # draws in the playground's page


def targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


@pytest.mark.parametrize("path", sorted((ROOT / ".github/workflows").glob("*.yml")), ids=lambda path: path.stem)
def test_workflows_call_what_there_is(path: Path) -> None:
    jobs = yaml.safe_load(path.read_text())["jobs"].values()
    for job in jobs:
        assert (ROOT / job.get("uses", "Makefile")).is_file()
        for step in job.get("steps", []):
            assert set(re.findall(r"^make (\S+)", step.get("run", ""), re.MULTILINE)) <= targets()


def test_tests_wheels_releases_and_docs_have_workflows() -> None:
    assert {path.stem for path in (ROOT / ".github/workflows").glob("*.yml")} == {
        "test",
        "wheels",
        "release",
        "docs",
        "crates",
        "mutants",
    }


@pytest.mark.parametrize("path", sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml")), ids=lambda path: path.stem)
def test_issue_templates_are_what_a_forge_takes(path: Path) -> None:
    form = yaml.safe_load(path.read_text())
    if path.stem != "config":
        assert {"name", "description", "body"} <= form.keys()
        assert {each["type"] for each in form["body"]} <= {"input", "textarea"}
        assert len({each["id"] for each in form["body"]}) == len(form["body"])


def test_debian_packages_are_named_before_they_are_installed(tmp_path: Path) -> None:
    for name, status in (("dpkg-query", 1), ("sudo", 1), ("apt-get", 1)):
        (tmp_path / name).write_text(f"#!/bin/sh\nexit {status}\n")
        (tmp_path / name).chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["make", "--no-print-directory", "setup"],
        cwd=ROOT,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    first, second = done.stdout.splitlines()
    assert first.startswith("installing Debian packages: ns2 ")
    assert second == "could not install them: the tests that need them are skipped"


LINKS = """\
See [docs](docs/a.md#part), [out](https://example.org/x) and [below](#below).

![A
picture](docs/images/a.png)

<picture>
  <source media="(prefers-color-scheme: dark)" srcset="docs/images/b-dark.png">
  <img src="docs/images/b.png" alt="Another">
</picture>

```toml
[[links]](not/a/link)
```
"""


def test_links_hold_on_a_package_index(build: ModuleType) -> None:
    assert build.portable(LINKS, "https://forge.example/us/it/") == (
        LINKS.replace("(docs/a.md#part)", "(https://forge.example/us/it/blob/HEAD/docs/a.md#part)").replace(
            "docs/images/", "https://forge.example/us/it/raw/HEAD/docs/images/"
        )
    )
    without = LINKS.replace("[docs](docs/a.md#part)", "docs").replace("![A\npicture](docs/images/a.png)", "")
    without = without[: without.index("<picture>")] + without[without.index("</picture>\n") + len("</picture>\n") :]
    assert build.portable(LINKS, None) == without


def wheel(build: ModuleType, place: Path, left_out: str = "", content: bytes = b"\x7fELF") -> Path:
    """A file with the names that a wheel must have."""
    made = place / f"fullpipe-1-cp311-abi3-{build.PLATFORM}_x86_64.whl"
    names = [*build.INSIDE, *(f"fullpipe-1.dist-info/licenses/{name}" for name in build.LICENCES)]
    with zipfile.ZipFile(made, "w") as file:
        for name in names:
            if name != left_out:
                file.writestr(name, content)
    return made


def test_a_wheel_that_lacks_something_is_refused(build: ModuleType, tmp_path: Path) -> None:
    build.check_wheel(wheel(build, tmp_path))
    for name in (
        "fullpipe/linux/objects/agent",
        "fullpipe/linux/objects/ehstcp.bpf.o",
        "fullpipe-1.dist-info/licenses/LICENSE-THIRD-PARTY",
    ):
        with pytest.raises(SystemExit, match=f"lacks .*{name.rpartition('/')[2]}"):
            build.check_wheel(wheel(build, tmp_path, name))
    with pytest.raises(SystemExit, match="is not compiled"):
        build.check_wheel(wheel(build, tmp_path, content=b"text"))
    newer = tmp_path / "fullpipe-1-cp311-abi3-manylinux_2_34_x86_64.whl"
    wheel(build, tmp_path).rename(newer)
    with pytest.raises(SystemExit, match="is to be for cp311-abi3 and manylinux_2_28"):
        build.check_wheel(newer)


def test_wheels_are_tried_with_each_python_once(build: ModuleType) -> None:
    versions = [
        subprocess.run(
            [python, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, check=True
        ).stdout
        for python in build.pythons()
    ]
    assert versions
    assert len(versions) == len(set(versions))


def test_profile_needs_a_tool_as_new_as_the_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An older `llvm-profdata` cannot read the counts, so it is not taken."""
    optimization = module("optimization")
    compiler = tmp_path / "rustc"
    compiler.write_text(
        "#!/bin/sh\n"
        f'[ "$1" = --print ] && echo {tmp_path}/sysroot && exit\n'
        "printf 'host: x86_64-unknown-linux-gnu\\nLLVM version: 22.1.2\\n'\n"
    )
    tool = tmp_path / "llvm-profdata"
    tool.write_text("#!/bin/sh\necho LLVM version 14.0.6\n")
    for file in (compiler, tool):
        file.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(optimization.ProfileError, match="requires llvm-profdata of LLVM 22 or newer"):
        optimization.profdata_tool()
    tool.write_text("#!/bin/sh\necho LLVM version 22.1.8\n")
    assert optimization.profdata_tool() == str(tool)
