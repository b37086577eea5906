"""The evaluator: cheats are rejected by the check that is meant for them, and code is contained."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import ROOT, Program
from fullpipe.errors import InputError
from fullpipe.evaluator import evaluate, evaluate_stage1
from fullpipe.evaluator.paths import draw, neighbor, scenario
from fullpipe.evaluator.static import faults
from fullpipe.scenario import Scenario

CANDIDATES = ROOT / "examples/candidates"

CLEAN = (CANDIDATES / "reno.py").read_text()


@pytest.mark.parametrize("file", sorted(CANDIDATES.glob("*.py")), ids=lambda file: file.stem)
def test_the_static_check_refuses_shared_state_alone(file: Path) -> None:
    found = faults(file.read_text())
    assert bool(found) == (file.stem == "cheat_state")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("import fullpipe", "import fullpipe, os", "import os"),
        ("import fullpipe", "import fullpipe\nfrom sys import modules", "from sys"),
        ("import fullpipe", "import fullpipe\nfullpipe.run('x')", "the module must have only"),
        ("import fullpipe", "import fullpipe\nRUN = fullpipe.run", "fullpipe.run"),
        ("import fullpipe", "import fullpipe\nBEST = []", "the module must have only"),
        ("import fullpipe", "import fullpipe\nBIG = 10 ** 10 ** 10", "the module must have only"),
        ("return 1.0 / w", "return self.__class__.best", "__class__"),
        ("return 1.0 / w", "return open('x').read()", "open"),
        ("return 1.0 / w", "global best", "global"),
        ("flow, ack):", "flow, ack, best=[]):", "default"),
        (", compiled=True", "", "compiled=True"),
        ("compiled=True", "compiled=True, library='a.so'", "library"),
        ("(fullpipe.Classic)", "(fullpipe.Classic, metaclass=print)", "got print"),
        ("    def increase", "    best = print(1)\n\n    def increase", "fields"),
        ("return 0.5 * w", "return (", "no Python code"),
    ],
)
def test_the_static_check_names_the_line(old: str, new: str, said: str) -> None:
    assert old in CLEAN
    assert said in "; ".join(faults(CLEAN.replace(old, new)))


def test_paths_depend_on_the_secret_and_neighbors_are_near() -> None:
    one, other = draw(b"a", "held", 3), draw(b"b", "held", 3)
    assert one == draw(b"a", "held", 3) != other
    near = neighbor(one, b"a", 3)
    assert 0.005 < abs(near.rtt_s / one.rtt_s - 1) < 0.031
    assert 0.005 < abs(near.rate_bps / one.rate_bps - 1) < 0.031
    Scenario.from_dict(scenario(one, {"x": "cubic", "victim": "newreno"}, 1, start_s=5.0))


def test_state_between_runs_is_found_without_the_static_check() -> None:
    assert "static check" in evaluate(CANDIDATES / "cheat_state.py", stages=1)["artifacts"]["rejected"]
    found = evaluate(CANDIDATES / "cheat_state.py", stages=1, check_source=False)
    assert found["combined_score"] == 0
    assert "A-B-A" in found["artifacts"]["rejected"]


@pytest.mark.parametrize(("name", "paths", "check"), [("cheat_clock", 4, "shift"), ("cheat_table", 8, "public paths")])
def test_cheats_are_rejected(name: str, paths: int, check: str) -> None:
    found = evaluate(CANDIDATES / f"{name}.py", secret=b"x", paths=paths)
    assert found["combined_score"] == 0
    assert check in found["artifacts"]["rejected"]


def test_an_honest_candidate_is_accepted() -> None:
    one = evaluate(CANDIDATES / "reno.py", secret=b"x", paths=4, workers=2)
    assert 0.5 <= one["combined_score"] <= 1
    assert not any(each["violated"] for each in one["constraints"].values())
    assert isinstance(one["combined_score"], float)


@pytest.mark.slow
def test_equal_secrets_give_equal_results() -> None:
    one, two = (evaluate(CANDIDATES / "reno.py", secret=b"x", workers=workers) for workers in (1, 2))
    assert one == two


@pytest.mark.slow
def test_honest_candidates_are_ranked() -> None:
    """The one that keeps a short queue is best, and those that violate a constraint are below all others."""
    names = ("vegas_like", "reno", "aimd", "greedy")
    scores = [evaluate(CANDIDATES / f"{name}.py", secret=b"x")["combined_score"] for name in names]
    assert scores == sorted(scores, reverse=True)
    assert scores[1] > 0.5 > scores[2]


@pytest.mark.parametrize(
    "code",
    [
        "open('made', 'w').write('x' * 100000)",
        'print(\'{"rows": [], "layers": {}}\')',
        "import socket; socket.create_connection(('127.0.0.1', 9), 1)",
        "bytearray(10**10)",
        "raise SystemExit(0)",
        "import os; os._exit(0)",
    ],
)
def test_code_that_the_static_check_would_refuse_is_contained(code: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(f"{code}\n")
    found = evaluate(file, stages=1, check_source=False)
    assert found["combined_score"] == 0
    assert found["artifacts"]["rejected"]
    assert [each.name for each in tmp_path.iterdir()] == ["mine.py"]


def test_the_smoke_test_scores_below_each_accepted_candidate() -> None:
    assert evaluate_stage1(str(CANDIDATES / "reno.py"))["combined_score"] == 0.45


def test_a_score_on_the_command_line(program: Program, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("import os\n")
    process = program("score", "mine.py", "--json")
    found = json.loads(process.stdout)
    assert found["combined_score"] == 0
    assert {"combined_score", "metrics", "constraints", "artifacts"} == found.keys()
    assert program("score", "absent.py").returncode == 2
    table = program("score", "mine.py", "--format", "markdown")
    assert "| combined_score |" in table.stdout
    assert "| id |" in table.stdout


def test_bad_arguments(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a file"):
        evaluate(tmp_path / "absent.py")
    with pytest.raises(InputError, match="at least 4"):
        evaluate(CANDIDATES / "reno.py", paths=1)
    with pytest.raises(InputError, match=r"stages must be in \[1, 2\], got 3"):
        evaluate(CANDIDATES / "reno.py", stages=3)
