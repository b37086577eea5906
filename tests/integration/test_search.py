"""`fullpipe search`: it finds weaknesses, and gives the same answer however its runs are made."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

import fullpipe
from conftest import ROOT, Program
from fullpipe.errors import Cancelled, InputError
from fullpipe.experiments.search import Search, search

NARROW = {
    "rate": "2..20 Mbit/s",
    "rtt": "10..40 ms",
    "rtt_ratio": "1",
    "late": "0 s",
    "cross": "0",
    "swing": "1",
    "period": "10 s",
    "jitter": "0",
}
"""Bounds of small, quick networks."""


def test_the_answer_depends_on_neither_workers_nor_interruptions(tmp_path: Path) -> None:
    one = search("bbr", bounds=NARROW, evaluations=12, workers=1)
    stop = threading.Event()

    def progress(done: float, _total: float) -> None:
        if done > 6:
            stop.set()

    with pytest.raises(Cancelled):
        search("bbr", bounds=NARROW, evaluations=12, out=tmp_path / "out", progress=progress, stop=stop)
    two = search("bbr", bounds=NARROW, evaluations=12, out=tmp_path / "out", workers=2)
    assert two.to_json() == one.to_json()
    assert one.found
    assert one.scenario is not None
    assert one.value is not None
    assert one.value > 0.75
    assert one.knobs.keys() <= {"rate", "rtt", "buffer"}
    again = Search.load(tmp_path / "out")
    assert again.to_json() == one.to_json()
    written = fullpipe.Scenario.load(tmp_path / "out/worst.toml")
    assert written == one.scenario
    assert again.runs.num_rows == 60


def test_a_search_on_the_command_line(program: Program) -> None:
    bounds = [f"--bound={name}={text}" for name, text in {**NARROW, "loss": "0", "rtt": "20 ms"}.items()]
    process = program("search", "cubic", "--against", "cubic", *bounds, "--evaluations", "3", "--json")
    found = json.loads(process.stdout)
    assert {"value", "ci95", "scenario", "evaluations"} <= found.keys()
    assert found["found"] is False, "two equal flows share"
    assert found["value"] == pytest.approx(0.5, abs=0.2)
    fullpipe.Scenario.from_dict(found["scenario"])


def test_bounds_are_read_from_a_file(program: Program, tmp_path: Path) -> None:
    """A later option replaces a bound of the file."""
    bounds = {**NARROW, "rate": "1..2 Mbit/s", "loss": "0"}
    (tmp_path / "bounds.toml").write_text("".join(f'{name} = "{text}"\n' for name, text in bounds.items()))
    options = ("--bound", "bounds.toml", "--bound", "rate=5 Mbit/s", "--evaluations", "2", "--json")
    found = json.loads(program("search", "cubic", *options).stdout)
    assert found["scenario"]["links"][0]["rate"] == "5 Mbit/s"
    (tmp_path / "bounds.toml").write_text("loss = 0\n")
    process = program("search", "cubic", "--bound", "bounds.toml")
    assert process.returncode == 2
    assert "bounds.toml: loss must be a text" in process.stderr
    (tmp_path / "bounds.toml").write_text("loss\n")
    assert "is no TOML file" in program("search", "cubic", "--bound", "bounds.toml").stderr


@pytest.mark.slow
def test_a_planted_weakness_is_found_and_shrinks_to_its_knob() -> None:
    @fullpipe.algorithm("stops-at-50-ms", compiled=True)
    class Stops(fullpipe.Classic):
        def increase(self, w, flow, ack):  # type: ignore[no-untyped-def]  # noqa: ARG002
            if 0.05 <= flow.min_rtt_s <= 0.055:
                self.ssthresh = 2.0
                return -0.5 if w > 4.0 else 0.0
            return 1.0 / w

        def decrease(self, w, flow, signal):  # type: ignore[no-untyped-def]  # noqa: ARG002
            return 0.5 * w

    bounds = {**NARROW, "rate": "5..20 Mbit/s", "rtt": "20..100 ms", "buffer": "1..2 BDP", "loss": "0"}
    found = search(Stops, maximize="regret", bounds=bounds, evaluations=120)
    assert found.found
    assert list(found.knobs) == ["rtt"]
    assert 0.049 <= found.knobs["rtt"] <= 0.056


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"maximize": "harm"}, "goodput_harm"),
        ({"budget": "5"}, "budget"),
        ({"budget": "0 s"}, "budget"),
        ({"evaluations": 0}, "must be in .1, 1000000., got 0"),
        ({"budget": "1 s", "evaluations": 5}, "conflicts"),
        ({"bounds": {"speed": "1"}}, "speed"),
        ({"against": "cubics"}, "cubic"),
    ],
)
def test_bad_input_is_named_before_any_run(options: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        search("cubic", **options)  # type: ignore[arg-type]


def test_a_search_without_a_feasible_network_says_so() -> None:
    bounds = {**NARROW, "rate": "100..200 Mbit/s", "rtt": "200 ms", "loss": "0.01", "buffer": "0.1..1 BDP"}
    found = search("cubic", maximize="loss", bounds=bounds, evaluations=2)
    assert found.found is False
    assert found.value is None
    assert "feasible" in str(found.shown()[0])


WORST = {
    "bbr-shallow-buffer": ("other", 0.1, 0.03),
    "copa-minimum-rtt": ("tested", 0.25, 0.0),
    "cubic-rtt": ("tested", 1 / 16, 0.0),
    "ledbat-latecomer": ("other", 0.1, 0.0),
    "vegas-and-cubic": ("other", 0.02, 0.0),
}
"""Scenarios that searches have found: the flow that suffers, its largest share of the goodput, and the least loss."""


@pytest.mark.parametrize("name", WORST)
def test_known_weaknesses_are_still_there(name: str) -> None:
    victim, most, loss = WORST[name]
    scenario = fullpipe.Scenario.load(ROOT / f"scenarios/worst/{name}.toml")
    results = [fullpipe.run(scenario.replace(seed=seed)) for seed in (1, 2)]
    groups = [{group["name"]: group for group in result.groups.to_pylist()} for result in results]
    assert sum(each[victim]["share"] for each in groups) / 2 < most
    assert min(result.figures()["loss_rate"] for result in results) >= loss


def test_each_found_scenario_has_a_test() -> None:
    assert {file.stem for file in (ROOT / "scenarios/worst").glob("*.toml")} == WORST.keys()
