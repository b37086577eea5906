"""The evaluator: cheats are rejected by the check that is meant for them, and code is contained."""

from __future__ import annotations

import asyncio
import json
import re
import runpy
import sys
import types
from pathlib import Path

import pytest

import fullpipe
from conftest import ROOT, Program
from fullpipe.engine.options import RunOptions
from fullpipe.errors import InputError
from fullpipe.evaluator import evaluate, evaluate_stage1, sandbox, score, wrapper
from fullpipe.evaluator.card import PLACEHOLDER, report_card
from fullpipe.evaluator.kernel import REFUSED, REFUSED_EVERYWHERE
from fullpipe.evaluator.paths import CANDIDATE, draw, neighbor, rate_cut, scenario, transfers
from fullpipe.evaluator.paths import Path as Network
from fullpipe.evaluator.score import Key, Work, _loses, _lower
from fullpipe.evaluator.static import faults
from fullpipe.evaluator.wrapper import CASCADE_THRESHOLDS
from fullpipe.experiments.evaluate import PROFILES
from fullpipe.experiments.evaluate.running import _asked
from fullpipe.experiments.evaluate.work import needed
from fullpipe.runs.aggregate import estimate
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
    Scenario.from_dict(transfers(one, "cubic", 1, start_s=999.999))


def test_a_flow_that_does_not_recover_from_a_rate_cut_leaves_the_link_unused() -> None:
    """2 Mbit/s and 40 ms hold 6.7 packets: a flow that keeps 2 after its first loss uses 0.3 of them."""

    @fullpipe.algorithm("candidate-gives-up", compiled=True)
    class GivesUp(fullpipe.Classic):
        lost: bool = False

        def increase(self, w, flow, ack):  # type: ignore[no-untyped-def]  # noqa: ARG002
            return 0.0 if self.lost else 1.0 / w

        def decrease(self, w, flow, signal):  # type: ignore[no-untyped-def]  # noqa: ARG002
            self.lost = True
            return 2.0

    path = Network(20e6, 0.04, 1)
    names = ("newreno", "candidate-gives-up")
    reno, gives_up = (fullpipe.run(rate_cut(path, {"x": name}, 1, start_s=7.0)).figures() for name in names)
    assert reno["utilization"] > 0.8
    assert gives_up["utilization"] < 0.4


def at_clock(name: str, start_s: float, seed: int, loss: float = 1e-3) -> dict[str, float]:
    """Metrics of a flow alone, without the random processing times of hosts, which are drawn by the time."""
    tree = scenario(Network(10e6, 0.04, 1, loss), {"x": name}, seed, start_s=start_s, age_s=1.0)
    (flow,) = tree["flows"]
    flow["start"] = f"{round(1000 * start_s)} ms"
    del flow["processing_time"]
    figures = fullpipe.run(tree).figures()
    return {key: value for key, value in figures.items() if isinstance(value, int | float)}


@pytest.mark.parametrize("name", sorted(set(fullpipe.algorithms()) - {"bbr"}))
def test_the_clock_of_a_run_changes_no_metric(name: str) -> None:
    """BBRv3 draws the times of its probes, and the stream of a flow goes by its start."""
    one, other = (at_clock(name, start_s, 7) for start_s in (0.0, 731.024))
    assert one["goodput_bps"] > 0
    assert other == pytest.approx(one, rel=1e-3 if name == "bbr3" else 1e-6)


def test_the_clock_of_a_run_changes_only_the_first_phase_of_bbr() -> None:
    """BBR draws one of seven phases, from a stream that goes by the start of the flow: 40 seeds give seven equal runs
    at both clocks.
    """
    sets = [{round(at_clock("bbr", s, seed, 0.0)["mean_rtt_s"], 12) for seed in range(1, 41)} for s in (0.0, 731.024)]
    assert len(sets[0]) == 7
    assert sets[0] == sets[1]


def test_u_is_the_geometric_mean_of_three_factors() -> None:
    """Half of the best goodput, (9 + 1)/(19 + 1) of the delay, and half of the best completion time: 1/2."""

    def rows(goodput: float, queue_s: float, completion_s: float) -> dict[Key, object]:
        row = {"goodputs": {"x": goodput}, "queue_s": queue_s, "completion_s": completion_s}
        return {Key("held"): row, Key("transfers held"): row}

    work = Work("", b"", 4, 4, None, False, 0.0)
    theirs = {"fast": rows(10e6, 0.009, 0.2), "slow, with a short queue": rows(8e6, 0.0, 0.1)}
    assert work.utilities("held", rows(5e6, 0.019, 0.4), theirs) == [pytest.approx(0.5)]  # type: ignore[arg-type]
    assert work.utilities("held", rows(20e6, 0.0, 0.1), theirs) == [pytest.approx(1.0)]  # type: ignore[arg-type]
    assert work.utilities("held", rows(0.0, 0.0, 5.0), theirs) == [0.0], "an idle sender"  # type: ignore[arg-type]
    assert _lower([0.5] * 20) == pytest.approx(0.5)
    assert _lower([0.5] * 18 + [0.0, 0.0]) < 0.7 * 0.45


def test_state_between_runs_is_found_without_the_static_check() -> None:
    assert "static check" in evaluate(CANDIDATES / "cheat_state.py", stages=1)["artifacts"]["rejected"]
    found = evaluate(CANDIDATES / "cheat_state.py", stages=1, check_source=False)
    assert found["combined_score"] == 0
    assert "A-B-A" in found["artifacts"]["rejected"]


@pytest.mark.parametrize(("name", "paths", "check"), [("cheat_clock", 4, "shift"), ("cheat_table", 8, "public paths")])
def test_cheats_are_rejected(name: str, paths: int, check: str) -> None:
    """Both sources are clean, so that the static check has no part in it."""
    found = evaluate(CANDIDATES / f"{name}.py", secret=b"x", paths=paths, stages=2, check_source=False)
    assert found["combined_score"] == 0
    assert check in found["artifacts"]["rejected"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "without"), [("cheat_table", "neighbors"), ("cheat_clock", "shift"), ("cheat_state", "A-B-A")]
)
def test_cheats_of_the_guide_are_rejected_with_its_secret(name: str, without: str) -> None:
    """All paths, and the secret of the table in the guide, with and without the static check."""
    secret = runpy.run_path(str(ROOT / "benchmarks/candidates.py"))["SECRET"]
    for check_source in (True, False):
        found = evaluate(CANDIDATES / f"{name}.py", secret=secret, check_source=check_source)
        assert found["combined_score"] == 0
        check = "static check" if check_source and name == "cheat_state" else without
        assert found["artifacts"]["rejected"].startswith(f"{check}:")


@pytest.mark.slow
def test_an_honest_candidate_is_accepted_and_scores_above_its_stages(tmp_path: Path) -> None:
    options = {"secret": b"x", "paths": 4, "held": 4, "workers": 2, "rounds": tmp_path / "rounds.json"}
    one = evaluate(CANDIDATES / "reno.py", **options)
    assert 0.5 < one["combined_score"] <= 1
    metrics = one["metrics"]
    good = metrics["criteria"] - metrics["worse"]
    assert one["combined_score"] == pytest.approx(0.5 + 0.5 * (good + metrics["s"]) / (metrics["criteria"] + 1))
    assert metrics["worse"] == 0, "NewReno is a standard"
    assert one["artifacts"]["worse on the report card"] == "nothing"
    assert not any(each["violated"] for each in one["constraints"].values())
    assert isinstance(one["combined_score"], float)
    assert evaluate(CANDIDATES / "cheat_state.py", **options)["metrics"]["rounds"] == 2
    counts = json.loads((tmp_path / "rounds.json").read_text())
    (tmp_path / "rounds.json").write_text(json.dumps(dict.fromkeys(counts, 1000)))
    assert "new one" in evaluate(CANDIDATES / "cheat_state.py", **options)["artifacts"]["warning"]
    assert "b'x'" not in str(counts)


def test_criteria_of_the_report_card_come_before_s(monkeypatch: pytest.MonkeyPatch) -> None:
    """One criterion more outweighs the whole S; with equal criteria S decides."""

    def scored(worse: list[str], s: float) -> float:
        card = types.SimpleNamespace(worse=worse, data={"criteria": [{}] * 20})
        monkeypatch.setattr(score, "report_card", lambda *_: card)
        work = Work("", b"", 4, 4, None, False, float("inf"))
        work.metrics["s"] = s
        work.card()
        return work.score

    assert scored([], 0.0) == pytest.approx(0.5 + 0.5 * 20 / 21)
    assert scored([], 1.0) == 1
    assert scored([], 0.0) == pytest.approx(scored(["7.3"], 1.0))
    assert scored(["7.3"], 0.6) > scored(["7.3"], 0.5) > scored(["7.3", "7.8"], 0.9) > 0.5


def test_the_card_of_a_candidate_runs_in_the_sandbox() -> None:
    """The candidate takes the place of the algorithm that stands for it."""
    work = Work(str(CANDIDATES / "aimd.py"), b"x", 4, 4, 1, False, float("inf"))
    tree = scenario(Network(10e6, 0.04, 1), {"x": PLACEHOLDER}, 1)
    (row,) = work.card_rows([tree], "fullpipe.runs.measure:metrics")
    figures = fullpipe.run(tree).figures()
    assert row["goodput_bps"] > 0
    assert row["mean_cwnd_packets"] != figures["mean_cwnd_packets"]


@pytest.mark.parametrize("profile", PROFILES)
def test_the_placeholder_of_a_candidate_is_in_no_test_case(profile: str) -> None:
    """The sandbox replaces each flow of the placeholder, so a test case with such a flow would have two candidates."""
    asked = _asked("newreno", profile, None, None, None, None)
    counts = dict.fromkeys(asked.counts, 1)
    trees = [each.tree for each in needed(asked.candidate, counts, "simulator", deployed=True)]
    assert len(trees) > 100
    assert "newreno" in set().union(*map(names, trees))
    assert PLACEHOLDER not in set().union(*map(names, trees))


def names(tree: object) -> set[str]:
    """Each text in a scenario."""
    if isinstance(tree, dict):
        return set().union(*map(names, tree.values()))
    if isinstance(tree, list | tuple):
        return set().union(*map(names, tree))
    return {tree} if isinstance(tree, str) else set()


@pytest.mark.slow
def test_the_card_of_the_sandbox_is_the_card_of_evaluate(tmp_path: Path) -> None:
    """Each figure and each verdict is equal: neither the process nor the name of the algorithm changes a run. The
    candidate computes what the built-in NewReno does.
    """
    file = CANDIDATES / "reno.py"
    work = Work(str(file), b"x", 4, 4, 2, False, float("inf"))
    ours = report_card(work.card_rows, "quick", RunOptions(2))
    for name in (str(file), "newreno"):
        theirs = fullpipe.evaluate(name, cache=tmp_path, workers=2)
        assert without_commands(ours.data["criteria"]) == without_commands(theirs.data["criteria"])


def without_commands(tree: object) -> object:
    """Criteria of a card without the commands, which name the algorithm."""
    if isinstance(tree, dict):
        return {key: without_commands(value) for key, value in tree.items() if key != "command"}
    return [without_commands(each) for each in tree] if isinstance(tree, list) else tree


def test_loss_is_judged_as_on_the_report_card() -> None:
    """At a loss of 2 % and an RTT of 40 ms a TCP flow has 2 Mbit/s. Twice that rate is allowed; 500 times is not."""

    def row(loss: float, rate_bps: float) -> dict[str, object]:
        return {"goodputs": {"x": rate_bps}, "rtt_s": 0.04, "loss": loss}

    keys = [Key("public", i) for i in range(6)]
    standard = {key: row(0.001 * (1 + 0.01 * key.number), 10e6) for key in keys}
    theirs = dict.fromkeys(("newreno", "cubic"), standard)
    for rate_bps, loses in ((4e6, False), (1e9, True)):
        mine = {key: row(0.02 * (1 + 0.01 * key.number), rate_bps) for key in keys}
        assert _loses(keys, mine, theirs) is loses  # type: ignore[arg-type]


def test_a_budget_returns_the_score_of_the_last_stage() -> None:
    found = evaluate(CANDIDATES / "reno.py", secret=b"x", budget="1 ms")
    assert found["combined_score"] == 0
    assert "budget" in found["artifacts"]["stopped"]


@pytest.mark.slow
def test_honest_candidates_are_not_rejected_with_other_secrets() -> None:
    for secret in (b"s", b"t", b"u"):
        for name in ("reno", "cubic_like"):
            found = evaluate(CANDIDATES / f"{name}.py", secret=secret, stages=2)
            assert "rejected" not in found["artifacts"], (secret, name, found["artifacts"])


@pytest.mark.slow
def test_equal_secrets_give_equal_results(program: Program, tmp_path: Path) -> None:
    """In any process, with one worker or two."""
    (tmp_path / "secret").write_bytes(b"x")
    file = CANDIDATES / "reno.py"
    one, two = (evaluate(file, secret=b"x", paths=4, stages=2, workers=workers) for workers in (1, 2))
    assert one == two
    assert one["artifacts"]["u of the public paths"].count("Mbit/s") == 4
    process = program("score", str(file), "--secret-file", "secret", "--paths", "4", "--stages", "2", "--json")
    assert json.loads(process.stdout) == one


@pytest.mark.slow
def test_two_secrets_give_equal_utilities_within_their_intervals() -> None:
    found = []
    for secret in (b"one", b"two"):
        work = Work(str(CANDIDATES / "reno.py"), secret, 4, 40, None, False, float("inf"))
        plan = work.held_out(40, "final")
        rows, _ = work.rows([scenario_of(CANDIDATE) for scenario_of in plan.values()], 3)
        theirs = {name: dict(zip(plan, each, strict=True)) for name, each in work.references(plan).items()}
        found.append(estimate(work.utilities("final", dict(zip(plan, rows, strict=True)), theirs)))
    one, two = found
    assert one.mean != two.mean
    assert abs(one.mean - two.mean) < (one.ci95 or 0) + (two.ci95 or 0)


@pytest.mark.parametrize(
    "code",
    [
        "open('made', 'w').write('x' * 100000)",
        "open('/dev/shm/made', 'w').write('x')",
        "open('/etc/passwd').read()",
        "import os; os.listdir('/')",
        "import os; os.fork()",
        "import subprocess; subprocess.run(['/bin/true'], check=True)",
        "import os; os.kill(os.getppid(), 9)",
        "import os; os.utime(__file__)",
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (-1, -1))",
        "import gc; raise RuntimeError([x for x in gc.get_objects() if isinstance(x, dict) and 'duration' in x])",
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


def test_an_object_file_runs_in_the_ebpf_machine(tmp_path: Path) -> None:
    found = evaluate(ROOT / "crates/kernel/tests/objects/aimd.bpf.o", stages=1)
    assert found["combined_score"] == 0.45
    assert found["artifacts"]["code"] == "eBPF machine"
    damaged = tmp_path / "damaged.o"
    damaged.write_bytes(b"\x7fELF")
    found = evaluate(damaged, stages=1)
    assert found["combined_score"] == 0
    assert "ELF" in found["artifacts"]["rejected"]


def test_an_interpreted_class_lowers_the_guarantee(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(CLEAN.replace(", compiled=True", ""))
    assert "requires compiled=True" in evaluate(file, stages=1)["artifacts"]["rejected"]
    found = evaluate(file, stages=1, interpreted=True)
    assert found["combined_score"] == 0.45
    assert "lower guarantee" in found["artifacts"]["code"]
    assert evaluate(CANDIDATES / "reno.py", stages=1)["artifacts"]["code"] == "compiled"
    assert faults(
        CLEAN.replace(", compiled=True", "").replace("import fullpipe", "import fullpipe, os"), interpreted=True
    )


def test_an_endless_loop_ends_at_the_limit_of_processor_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(score, "LIMIT_S", {1: 3.0})
    file = tmp_path / "mine.py"
    file.write_text("while True: pass\n")
    found = evaluate(file, stages=1, check_source=False)
    assert found["combined_score"] == 0
    assert "processor time" in found["artifacts"]["rejected"]


def test_a_compiled_class_cannot_reach_frames(tmp_path: Path) -> None:
    """Numba compiles nothing that inspects the interpreter."""
    file = tmp_path / "mine.py"
    file.write_text(
        CLEAN.replace("import fullpipe", "import fullpipe\nimport sys").replace(
            "return 1.0 / w", "return 1.0 * len(sys._getframe(1).f_locals)"
        )
    )
    found = evaluate(file, stages=1, check_source=False)
    assert found["combined_score"] == 0
    assert "_getframe" in found["artifacts"]["rejected"]


def test_the_sandbox_refuses_without_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "CODE", sandbox.CODE.replace("import work;", f"import work; {LACKING};"))
    found = evaluate(CANDIDATES / "reno.py", stages=1)
    assert found["combined_score"] == 0.45
    assert "system calls: missing" in found["artifacts"]["sandbox"]
    with pytest.raises(InputError, match="sandbox lacks a limit on this system"):
        evaluate(CANDIDATES / "reno.py", stages=1, require_sandbox=True)


LACKING = "import fullpipe.evaluator.sandbox as s; s.filter_calls = lambda: False"
"""A system without seccomp."""


def test_numbers_of_refused_calls_are_those_of_the_system() -> None:
    header = Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")
    if not header.exists():
        pytest.skip("needs the kernel's headers")
    numbers = dict(re.findall(r"#define __NR_(\w+)\s+(\d+)", header.read_text()))
    calls = [call.split() for call in f"{REFUSED['x86_64']},{REFUSED_EVERYWHERE}".split(",")]
    assert len(calls) > 60
    assert {name: number for name, number in calls if numbers.get(name, number) != number} == {}


@pytest.mark.slow
def test_openevolve_runs_the_wrapper(tmp_path: Path) -> None:
    config = pytest.importorskip("openevolve.config")
    evaluator = pytest.importorskip("openevolve.evaluator")
    (tmp_path / "secret").write_bytes(b"x")
    wrapper(tmp_path / "evaluator.py", secret_file=tmp_path / "secret", budget="600 s")
    options = config.EvaluatorConfig(
        cascade_evaluation=True, cascade_thresholds=list(CASCADE_THRESHOLDS), timeout=900, max_retries=0
    )
    tool = evaluator.Evaluator(options, str(tmp_path / "evaluator.py"))

    def scored(name: str) -> float:
        code = (CANDIDATES / f"{name}.py").read_text()
        return float(asyncio.run(tool.evaluate_program(code, name))["combined_score"])

    assert scored("cheat_state") == 0
    assert scored("reno") > 0.5


def test_a_wrapper_scores_without_openevolve_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for the one class that the wrapper takes from OpenEvolve."""
    module = types.ModuleType("openevolve.evaluation_result")
    module.EvaluationResult = types.SimpleNamespace  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "openevolve", types.ModuleType("openevolve"))
    monkeypatch.setitem(sys.modules, "openevolve.evaluation_result", module)
    (tmp_path / "secret").write_bytes(b"x")
    with pytest.raises(InputError, match="is not a file"):
        wrapper(tmp_path / "evaluator.py", secret_file=tmp_path / "absent")
    wrapper(tmp_path / "evaluator.py", secret_file=tmp_path / "secret")
    names = runpy.run_path(str(tmp_path / "evaluator.py"))
    found = names["evaluate_stage1"](str(CANDIDATES / "reno.py"))
    assert found.metrics["combined_score"] == 0.45
    assert names["evaluate_stage2"](str(CANDIDATES / "cheat_state.py")).metrics["rounds"] == 2


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
    with pytest.raises(InputError, match=r"stages must be in \[1, 3\], got 4"):
        evaluate(CANDIDATES / "reno.py", stages=4)
    with pytest.raises(InputError, match="budget must be a quantity above 0"):
        evaluate(CANDIDATES / "reno.py", budget="0 s")
    (tmp_path / "rounds").write_text("[]")
    with pytest.raises(InputError, match="is no file of rounds"):
        evaluate(CANDIDATES / "reno.py", rounds=tmp_path / "rounds")
