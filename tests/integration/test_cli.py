"""Installed program: output, written files, and exit status."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import fullpipe
from conftest import BUILT_IN, ROOT, Program
from fullpipe import Scenario


def one_object(text: str) -> dict[str, object]:
    """The JSON object that ``text`` is, the whole of it."""
    value = json.loads(text)
    assert isinstance(value, dict)
    return value


def timeless(figures: dict[str, object]) -> dict[str, object]:
    totals = figures["totals"]
    assert isinstance(totals, dict)
    return {**figures, "totals": {key: value for key, value in totals.items() if key != "wall_s"}}


@pytest.mark.parametrize(
    "arguments",
    [
        ("duel", "FILE", "--algorithms", "reno,vegas"),
        ("size", "--rate", "10 Mbit/s", "--rtt", "20 ms", "--flows", "2", "--target", "0.9", "--algorithms", "reno"),
        ("evaluate", "reno", "--only", "iot", "--dry-run"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_the_allowed_seeds_stand_in_the_help(program: Program, small_file: Path, arguments: tuple[str, ...]) -> None:
    told = " ".join(program(arguments[0], "--help").stdout.split())
    assert re.search(r"--seeds N [^-]*\b2 to 1000\b", told)
    for seeds in ("1", "1001"):
        done = program(*(str(small_file) if one == "FILE" else one for one in arguments), "--seeds", seeds)
        assert (done.returncode, f"seeds must be in [2, 1000], got {seeds}" in done.stderr) == (2, True), done.stderr


def test_bench_is_listed_and_its_alias_is_not(program: Program, tmp_path: Path) -> None:
    assert (
        program("bench", "--out", "page.html").returncode == program("playground", "--out", "new.html").returncode == 0
    )
    assert (tmp_path / "page.html").read_bytes() == (tmp_path / "new.html").read_bytes()
    listed = program("--help").stdout
    assert "\n  bench " in listed
    assert "\n  playground " not in listed


def test_help_and_version(program: Program) -> None:
    for arguments in (
        ["--help"],
        ["run", "--help"],
        ["compare", "-h"],
        ["algorithms", "--help"],
        ["queues", "--help"],
        ["reproduce", "--help"],
    ):
        done = program(*arguments)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("Usage: fullpipe")
    assert program("--version").stdout == f"fullpipe, version {fullpipe.__version__}\n"


@pytest.mark.parametrize(
    "code", ["import fullpipe", "from fullpipe._cli import main; sys.argv[1:] = ['--help']; main()"]
)
def test_what_costs_time_to_import_is_left_for_later(code: str) -> None:
    heavy = "{'pyarrow', 'numpy', 'matplotlib', 'rich', 'tomli_w', 'asyncio'}"
    report = f"import atexit, sys; atexit.register(lambda: sys.stderr.write(str({heavy} & set(sys.modules)))); {code}"
    done = subprocess.run([sys.executable, "-c", report], capture_output=True, text=True, check=True)
    assert done.stderr == "set()"


def test_run_prints_tables(program: Program, small_file: Path) -> None:
    done = program("run", str(small_file))
    assert (done.returncode, done.stderr) == (0, "")
    for word in ("bottleneck", "newreno", "Mbit/s", "packets", "seed 1"):
        assert word in done.stdout


def test_run_json_is_what_the_library_gives(program: Program, small_file: Path, small: Scenario) -> None:
    done = program("run", str(small_file), "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert timeless(one_object(done.stdout)) == timeless(fullpipe.run(small).to_dict())


def test_run_seed_takes_the_place_of_the_scenarios(program: Program, small_file: Path, small: Scenario) -> None:
    done = program("run", str(small_file), "--json", "--seed", "7")
    figures = one_object(done.stdout)
    assert figures["seed"] == 7
    assert timeless(figures) == timeless(fullpipe.run(small, seed=7).to_dict())


def test_run_writes_pictures_and_tables(program: Program, small_file: Path, tmp_path: Path) -> None:
    done = program("run", str(small_file), "--json", "--plot", "picture.svg", "--out", "a/b")
    assert done.returncode == 0
    assert (tmp_path / "picture.svg").read_bytes().startswith(b"<?xml")
    assert json.loads((tmp_path / "a/b/result.json").read_text()) == one_object(done.stdout)
    assert pq.read_table(tmp_path / "a/b/flows.parquet")["algorithm"].to_pylist() == ["newreno", "newreno"]
    assert Scenario.load(tmp_path / "a/b/scenario.toml") == Scenario.load(small_file).resolved()


def test_compare_prints_one_table_and_writes_one_picture(program: Program, small_file: Path, tmp_path: Path) -> None:
    done = program(
        "compare",
        str(small_file),
        "--algorithms",
        "reno, vegas",
        "--engine",
        "simulator",
        "--plot",
        "c.png",
        "--out",
        "c",
    )
    assert (done.returncode, done.stderr) == (0, "")
    lines = [line.split()[0] for line in done.stdout.splitlines() if line.strip()]
    assert lines.count("reno") == lines.count("vegas") == 1
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")
    assert pq.read_table(tmp_path / "c/summary.parquet")["algorithm"].to_pylist() == ["reno", "vegas"]
    assert (tmp_path / "c/vegas/result.json").is_file()


def test_compare_json(program: Program, small_file: Path, small: Scenario) -> None:
    done = program("compare", str(small_file), "--algorithms", "reno,vegas", "--json")
    runs = one_object(done.stdout)["runs"]
    assert isinstance(runs, list)
    # Starts and delays are random: five seeds each.
    assert [(run.pop("algorithm"), run["seed"]) for run in runs] == [
        (name, seed) for name in ("reno", "vegas") for seed in range(1, 6)
    ]
    assert timeless(runs[5]) == timeless(fullpipe.run(small.replace(**{"flows.algorithm": "vegas"})).to_dict())


def test_algorithms_lists_every_one_with_its_parameters(program: Program) -> None:
    listed = one_object(program("algorithms", "--json").stdout)["algorithms"]
    assert isinstance(listed, list)
    names = [algorithm["name"] for algorithm in listed]
    fixed = ["tahoe", "reno", "newreno", "vegas", "hstcp", "scalable", "bic", "adaptive-aimd", "hyun-jang", "ehstcp"]
    assert set(fixed) <= set(names)
    for algorithm in listed:
        assert algorithm["paper"]
        assert algorithm["recovery"]
        for param in algorithm["params"]:
            assert {"name", "unit", "kind", "default", "doc", "source"} <= param.keys()
    params = {algorithm["name"]: {param["name"] for param in algorithm["params"]} for algorithm in listed}
    assert {"a", "alpha", "beta"} <= params["hyun-jang"]
    assert {"low_window", "high_window", "high_p", "high_decrease"} <= params["hstcp"]
    table = program("algorithms").stdout
    assert all(name in table for name in names)


def test_algorithms_are_grouped_by_what_they_answer_to(program: Program) -> None:
    groups = {name: algorithm.group for name, algorithm in BUILT_IN.items()}
    answers = {"reno": "loss", "cubic": "loss", "vegas": "delay", "htcp": "both", "ehstcp": "both"}
    assert answers.items() <= groups.items()
    order = ["loss", "delay", "both", "model", "ECN"]
    assert [order.index(group) for group in groups.values()] == sorted(map(order.index, groups.values()))
    _, _, *rows = program("algorithms").stdout.strip().splitlines()
    assert [tuple(row.split()[:2]) for row in rows] == [(group, name) for name, group in groups.items()]
    listed = json.loads(program("algorithms", "--json").stdout)["algorithms"]
    assert {entry["name"]: entry["group"] for entry in listed} == groups
    assert "Congestion signal: delay\n" in program("algorithms", "vegas").stdout


def test_algorithms_says_all_about_one(program: Program) -> None:
    done = program("algorithms", "scalable")
    assert done.returncode == 0
    assert "  a = 0.01" in done.stdout
    assert "Kelly" in done.stdout
    assert [a["name"] for a in json.loads(program("algorithms", "scalable", "--json").stdout)["algorithms"]] == [
        "scalable"
    ]


def test_queues_lists_every_one_with_its_parameters(program: Program) -> None:
    listed = one_object(program("queues", "--json").stdout)["queues"]
    assert listed == [queue.to_dict() for queue in fullpipe.queues().values()]
    names = ["drop-tail", "red", "ared", "codel", "fq-codel", "pie", "fq-pie", "cake", "dualpi2", "step"]
    assert set(names) <= fullpipe.queues().keys()
    table = program("queues").stdout
    assert all(name in table for name in names)
    params = {param.name: param for param in fullpipe.queues()["fq-codel"].params}
    # RFC 8290, sections 5.2.1, 5.2.4 to 5.2.6.
    defaults = {name: params[name].default for name in ("interval", "quantum", "flows", "ecn")}
    assert defaults == {"interval": "100 ms", "quantum": "1.514 kB", "flows": 1024, "ecn": True}
    assert (params["interval"].kind, params["quantum"].kind, params["flows"].kind) == ("time", "data", "whole number")


def test_every_default_and_bound_of_a_queue_is_one_that_a_scenario_takes(small: Scenario) -> None:
    # The bound of one that is beyond the default of the other, below which it has to be.
    apart = {("red", "min_th", "max"), ("red", "max_th", "min"), ("ared", "bottom", "max"), ("ared", "top", "min")}
    for name, queue in fullpipe.queues().items():
        for param in queue.params:
            bounds = [getattr(param, bound) for bound in ("min", "max") if (name, param.name, bound) not in apart]
            for value in (param.default, *bounds, *param.choices):
                if value is not None:
                    chosen = small.replace(**{"links.0.queue": {"name": name, param.name: value}})
                    resolved = chosen.model.resolved()["links"][0]["queue"]
                    assert (resolved["name"], resolved[param.name]) == (name, value)


def test_queues_says_all_about_one(program: Program) -> None:
    done = program("queues", "codel")
    assert done.returncode == 0
    for text in (
        "RFC 8289",
        "  target = 5 ms (allowed: 1 us to 10 s)",
        "  sqrt = exact (allowed: exact, newton)",
        'variant = "linux": newton',
    ):
        assert text in done.stdout
    assert "  mtu (allowed: 1 B to 1.048576 MB)" in done.stdout, "no default of its own"
    assert "  ce_threshold (allowed: 0 s to 10 s, or off)" in done.stdout
    assert "  threshold = 65 packets (allowed: packets or time)" in program("queues", "step").stdout
    assert program("queues", "drop-tail").stdout.endswith("No parameters.\n")
    wrong = program("queues", "fqcodel")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr.startswith("fullpipe: unknown queue 'fqcodel'; did you mean 'fq-codel'? (allowed: drop-tail, ")


def test_marks_are_seen_in_every_output(program: Program, small_file: Path, small: Scenario, tmp_path: Path) -> None:
    assert "Marks" not in program("run", str(small_file)).stdout
    marking = small.replace(**{"links.0.queue": {"name": "codel", "ecn": True}, "flows.ecn": "classic"})
    small_file.write_text(marking.to_toml(), encoding="utf-8")
    done = program("run", str(small_file), "--out", "out")
    assert (done.returncode, done.stderr) == (0, "")
    kept = json.loads((tmp_path / "out/result.json").read_text())["links"][0]
    assert kept["marked_packets"] > 0
    # An ACK is not ECN-capable.
    assert kept["reverse"]["marked_packets"] == 0
    assert pq.read_table(tmp_path / "out/links.parquet")["marked_packets"].to_pylist() == [kept["marked_packets"]]
    head, _, row = [line for line in done.stdout.splitlines() if line.strip()][1:4]
    heads = re.split(r"\s{2,}", head.strip())
    assert re.split(r"\s{2,}", row.strip())[heads.index("Marks (packets)")] == str(kept["marked_packets"])
    both = program("compare", str(small_file), "--algorithms", "reno,cubic")
    assert (both.returncode, both.stderr) == (0, "")
    assert both.stdout.split().count("Marks") == 1


def test_a_queue_that_moves_to_the_senders_is_warned_of(program: Program, small_file: Path, small: Scenario) -> None:
    # Two flows behind 5 Mbit/s each cannot fill the link's 10.
    assert fullpipe.run(small).to_dict()["warnings"] == []
    slow = small.replace(**{"flows.access_rate": "5 Mbit/s"})
    small_file.write_text(slow.to_toml(), encoding="utf-8")
    for arguments in (["run", str(small_file), "--json"], ["compare", str(small_file), "--algorithms", "reno"]):
        done = program(*arguments)
        assert done.returncode == 0
        (line,) = done.stderr.splitlines()
        assert line.startswith(f"fullpipe: warning: {small_file}: flows[0].access_rate = ")
    (warning,) = fullpipe.run(slow).to_dict()["warnings"]
    assert line.endswith(warning)


def test_a_directory_that_is_not_ours_is_refused_before_the_run(program: Program, small_file: Path) -> None:
    """A new result replaces an earlier one of any kind. Files that fullpipe did not write stay."""
    here = small_file.parent
    for out, said in (
        (
            ".",
            ".: must be a new or empty directory, or one of an earlier result; it has other files",
        ),
        ("", '"": is not a directory'),
    ):
        done = program("run", small_file.name, "--out", out)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert done.stderr.startswith(f"fullpipe: {said}")
    assert [path.name for path in here.iterdir()] == [small_file.name]
    assert program("compare", small_file.name, "--algorithms", "reno,vegas", "--out", "out").returncode == 0
    assert (here / "out/vegas/result.json").exists()
    assert program("compare", small_file.name, "--algorithms", "reno,cubic", "--out", "out").returncode == 0
    assert sorted(path.name for path in (here / "out").iterdir() if path.is_dir()) == ["cubic", "reno"]
    assert program("run", small_file.name, "--out", "out").returncode == 0
    assert not [path for path in (here / "out").iterdir() if path.is_dir()]


def test_examples_are_those_of_the_documentation(program: Program, tmp_path: Path) -> None:
    listed = program("examples").stdout
    files = [file.relative_to(ROOT).as_posix() for file in (ROOT / "scenarios").rglob("*.toml")]
    assert all(file in listed for file in files)
    assert "One flow on a 10 Mbit/s link" in listed
    done = program("examples", "--out", "new/work")
    assert (done.returncode, done.stdout) == (0, "new/work: scenarios, examples, notebooks\n")
    place = tmp_path / "new/work"
    for file in (*files, "scenarios/traces/lte.down", "examples/check/suite.toml", "notebooks/buffer.py"):
        assert (place / file).read_bytes() == (ROOT / file).read_bytes()
    assert not list(place.rglob("target"))
    assert [file.name for file in place.parent.iterdir()] == ["work"]
    (place / "scenarios/small-link.toml").write_text("changed")
    again = program("examples", "--out", "new/work")
    assert (again.returncode, again.stdout) == (2, "")
    assert again.stderr == "fullpipe: --out must be a new or empty directory, and 'new/work' has files\n"
    assert (place / "scenarios/small-link.toml").read_text() == "changed"
