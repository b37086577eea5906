"""A controller in a shared library, in C and in Rust, in every command, on this machine and on a Dask cluster."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fullpipe
from conftest import PROGRAM, ROOT, SMALL
from fullpipe.engine import simulator
from test_cluster import scheduler, worker
from test_packet_library import compiled

__all__ = ["scheduler"]

Command = Callable[..., Any]

SWEEP = '\n[sweep]\nrepeats = 2\n"flows.algorithm" = ["c-aimd", "newreno"]\n'
SUITE = """
seeds = 5
max_seeds = 5
scenarios = [{ name = "small", file = "small.toml" }]
checks = [
  { id = "goodput", scenario = "small", controller = "mine", metric = "goodput_bps", min = "1 Mbit/s" },
]
[controllers]
mine = "./libaimd.so:c-aimd"
"""


def built(folder: Path, *changes: tuple[str, str]) -> Path:
    """The library of the template in Rust, with changes."""
    source = ROOT / "examples/packet-controller"
    template = folder / "template"
    shutil.copytree(source, template, ignore=shutil.ignore_patterns("target"))
    manifest = template / "Cargo.toml"
    manifest.write_text(manifest.read_text().replace("../../crates", str(ROOT / "crates")))
    code = template / "src/lib.rs"
    text = code.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    code.write_text(text)
    build = ["cargo", "build", "--quiet", "--offline", "--target-dir", str(folder / "target")]
    subprocess.run(build, cwd=template, check=True, timeout=600)
    return Path(shutil.copy(folder / "target/debug/libpacket_controller.so", folder / "libaimd.so"))


@pytest.fixture(scope="module", params=["c", "rust"])
def language(request: pytest.FixtureRequest) -> str:
    """Language of the library."""
    tool = {"c": "cc", "rust": "cargo"}[request.param]
    if shutil.which(tool) is None:
        pytest.skip(f"needs {tool}")
    return str(request.param)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, language: str) -> Path:
    """Folder with the library and scenarios."""
    found = tmp_path_factory.mktemp("library")
    if language == "c":
        compiled(found)
    else:
        built(found, ('c"rust-aimd"', 'c"c-aimd"'))
    small = SMALL.replace('"20 s"', '"8 s"').replace('"5 s"', '"1 s"')
    (found / "small.toml").write_text(small)
    (found / "named.toml").write_text(small.replace('"newreno"', '"c-aimd"'))
    (found / "sweep.toml").write_text(small.replace("count = 2\n", "") + SWEEP)
    (found / "suite.toml").write_text(SUITE)
    return found


@pytest.fixture
def command(folder: Path) -> Command:
    """Runs the program with ``--json``. Returns the object, or asserts the exit status."""

    def run(*arguments: str, status: int = 0) -> Any:
        done = subprocess.run(
            [PROGRAM, *arguments, "--json"], cwd=folder, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == status, done.stderr
        return json.loads(done.stdout)

    return run


LIBRARY = "./libaimd.so:c-aimd"
"""The library; in Rust the controller has the name of that in C."""


def test_run(command: Command) -> None:
    given = command("run", "small.toml", "--algorithms", LIBRARY)
    assert [flow["algorithm"] for flow in given["flows"]] == ["c-aimd"] * 2
    loaded = command("run", "named.toml", "--load", "./libaimd.so")
    assert loaded["flows"] == given["flows"]
    assert command("run", "named.toml", "--load", LIBRARY)["flows"] == given["flows"]


def test_compare(command: Command) -> None:
    rows = command("compare", "small.toml", "--algorithms", f"{LIBRARY},newreno", "--seeds", "2")["runs"]
    assert len(rows) == 4
    assert not any("error" in row for row in rows)


def test_sweep(command: Command) -> None:
    assert command("sweep", "sweep.toml", "--load", LIBRARY)["failed"] == 0


def test_duel(command: Command) -> None:
    found = command("duel", "small.toml", "--algorithms", f"{LIBRARY},newreno", "--seeds", "2", "--buffers", "1 BDP")
    assert "c-aimd" in json.dumps(found)


@pytest.mark.slow
def test_size(command: Command) -> None:
    path = ("--rate", "10Mbit/s", "--rtt", "20ms", "--flows", "2", "--target", "0.8")
    found = command("size", *path, "--algorithms", LIBRARY, "--seeds", "2", "--precision", "0.5")
    assert "c-aimd" in json.dumps(found)


def test_evaluate(command: Command) -> None:
    card = command("evaluate", LIBRARY, "--only", "shallow", "--seeds", "2")
    assert card["algorithm"] == "c-aimd"
    assert any(criterion["experiments"] for criterion in card["criteria"])


def test_check(command: Command) -> None:
    found = command("check", "suite.toml")
    assert [(each["id"], each["verdict"]) for each in found["checks"]] == [("goodput", "ok")]


def test_conform(command: Command) -> None:
    # The window after a loss starts no slow start, and is not a cut by 0.7.
    (rule,) = command("conform", LIBRARY, "--rules", "ratelimited", "--explain", "L5")["rules"]
    assert (rule["verdict"], rule["level"]) == ("pass", "MUST")


def test_algorithms(command: Command) -> None:
    assert command("algorithms", LIBRARY)["algorithms"][0]["name"] == "c-aimd"


@pytest.mark.slow
def test_every_experiment_on_a_cluster(scheduler: str, command: Command, tmp_path: Path) -> None:
    with worker(tmp_path / "dask", scheduler):
        dask = ("--dask", scheduler)
        compare = ("compare", "small.toml", "--algorithms", f"{LIBRARY},newreno", "--seeds", "2")
        assert not any("error" in row for row in command(*compare, *dask)["runs"])
        assert command("sweep", "sweep.toml", "--load", LIBRARY, *dask)["failed"] == 0
        duel = ("duel", "small.toml", "--algorithms", f"{LIBRARY},newreno", "--seeds", "2", "--buffers", "1 BDP")
        assert "c-aimd" in json.dumps(command(*duel, *dask))
        checks = command("check", "suite.toml", *dask)["checks"]
        assert {each["id"]: each["verdict"] for each in checks}["goodput"] == "ok"
        assert command("evaluate", LIBRARY, "--only", "shallow", "--seeds", "2", *dask)["algorithm"] == "c-aimd"


FAULTS = {
    "crash": ("let bytes: u64", "unsafe { (8 as *mut u64).write_volatile(1) }; let bytes: u64", "ended by SIGSEGV"),
    "panic": ("let bytes: u64", 'panic!("no window"); let bytes: u64', "ended by SIGABRT"),
    "loop": ("let bytes: u64", "while std::hint::black_box(true) {} let bytes: u64", "has not returned for 1 s"),
    "window": ("        self.window\n", "        self.window % 20_000\n", "returned window "),
    "rate": (
        "    fn on_packets_acked",
        "    fn pacing_rate_bytes_per_s(&self) -> Option<f64> { Some(f64::NAN) }\n\n    fn on_packets_acked",
        "returned pacing rate NaN after create",
    ),
}
"""Changes of the code, and what the message says."""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cargo") is None, reason="no cargo")
@pytest.mark.parametrize("fault", FAULTS)
def test_fault_of_a_library_in_rust_is_named_and_other_runs_are_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    *change, said = FAULTS[fault]
    library = built(tmp_path, (change[0], change[1]))
    monkeypatch.setattr(simulator, "MOST_SILENT_S", 1.0)
    (tmp_path / "small.toml").write_text(SMALL)
    found = fullpipe.compare(tmp_path / "small.toml", [f"{library}:rust-aimd", "newreno"], seeds=2, workers=2)
    assert (found.failed, found.runs.num_rows) == (2, 4)
    errors = found.runs["error"].to_pylist()
    assert all("rust-aimd" in error and said in error for error in errors[:2]), errors
    assert errors[2:] == [None, None]
