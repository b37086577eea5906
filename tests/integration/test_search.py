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
from fullpipe.experiments.search.space import KNOBS, network

NARROW = {
    "rate": "2..20 Mbit/s",
    "rtt": "10..40 ms",
    "rtt_ratio": "1",
    "late": "0 s",
    "cross": "0",
    "swing": "1",
    "jitter": "0",
    "outage": "0 s",
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
    assert "rate=2..20 Mbit/s, rtt=10..40 ms, buffer=0.1..16 BDP" in (tmp_path / "out/worst.toml").read_text()
    assert again.bounds == {"rate": "2..20 Mbit/s", "rtt": "10..40 ms", "buffer": "0.1..16 BDP", "loss": "0..0.01"}
    assert again.runs.num_rows == 60 * len(one.findings)
    assert [each.value for each in one.findings] == sorted((each.value for each in one.findings), reverse=True)


def test_a_search_on_the_command_line(program: Program) -> None:
    bounds = [f"--bound={name}={text}" for name, text in {**NARROW, "loss": "0", "rtt": "20 ms"}.items()]
    process = program("search", "cubic", "--against", "cubic", *bounds, "--evaluations", "3", "--json")
    found = json.loads(process.stdout)
    assert {"value", "ci95", "scenario", "evaluations"} <= found.keys()
    assert found["found"] is False, "two equal flows share"
    assert found["value"] == pytest.approx(0.5, abs=0.2)
    fullpipe.Scenario.from_dict(found["scenario"])
    bounds_here = {**NARROW, "loss": "0", "rtt": "20 ms"}
    assert search("cubic", bounds=bounds_here, evaluations=3).to_dict() == found, "in this process"


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


@pytest.mark.slow
def test_the_latecomer_is_found_with_ledbat_and_not_with_its_successor() -> None:
    """Up to 10 Mbit/s, and from 40 ms on: elsewhere the flows of LEDBAT++ need longer to share than the interval of a
    search. Its GAIN is 1/3 at 40 ms, and 1/16 at 7.5 ms or less.
    """
    bounds = dict.fromkeys(("loss", "cross", "jitter", "outage"), "0")
    bounds |= {"rate": "1..10 Mbit/s", "rtt": "40..200 ms", "rtt_ratio": "1", "swing": "1"}
    found = {name: search(name, against=name, bounds=bounds, evaluations=80) for name in ("ledbat", "ledbat++")}
    assert found["ledbat"].found
    assert "late" in found["ledbat"].knobs
    assert found["ledbat++"].found is False


def test_a_search_finds_several_weaknesses_and_draws_them(tmp_path: Path) -> None:
    """`bbr` harms CUBIC over shallow buffers, without any extra; the path of the best values never falls."""
    bounds = {**NARROW, "buffer": "0.1..1 BDP", "loss": "0", "jitter": "0..0.1"}
    found = search("bbr", bounds=bounds, evaluations=16, out=tmp_path / "out")
    assert found.findings[0].found
    assert {frozenset(each.knobs) & {"jitter"} for each in found.findings} >= {frozenset()}
    for number, each in enumerate(found.findings, 1):
        name = "worst.toml" if number == 1 else f"worst-{number}.toml"
        assert fullpipe.Scenario.load(tmp_path / "out" / name) == each.scenario
    values = [value for _, value in found.path]
    assert values == sorted(values)
    figure = found.plot(tmp_path / "search.svg")
    best, flows = figure.axes
    assert best.lines[0].get_ydata()[-1] == pytest.approx(values[-1])
    assert len(flows.lines) == 2


def test_transfers_beside_a_deep_queue_take_longer() -> None:
    bounds = {**NARROW, "rate": "10 Mbit/s", "rtt": "20 ms", "buffer": "1..8 BDP", "loss": "0"}
    found = search("cubic", maximize="fct_harm", bounds=bounds, evaluations=4)
    assert found.found
    assert found.value is not None
    assert 0.5 < found.value < 1
    assert found.scenario is not None
    assert [flow["name"] for flow in found.scenario.to_dict()["flows"]] == ["tested", "transfers"]


def test_pulses_and_changes_are_tried_only_if_asked_for() -> None:
    bounds = {**NARROW, "rate": "5 Mbit/s", "rtt": "20 ms", "buffer": "4..16 BDP", "loss": "0", "cross": "0.01..0.1"}
    found = search("cubic", maximize="underuse", bounds=bounds, attack=True, changes=True, evaluations=3)
    assert found.findings
    for each in found.findings:
        assert each.knobs.keys() >= {"cross", "pulse"}
    without = search("cubic", maximize="underuse", bounds=bounds, evaluations=3)
    assert not without.knobs.keys() & {"pulse", "step1", "step2", "step3", "step4"}


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
        ({"queue": "fq-codels"}, "fq-codel"),
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
    "bbr-loss": ("other", 0.25, 0.1),
    "bbr-shallow-buffer": ("other", 0.1, 0.02),
    "bbr3-shallow-buffer": ("other", 0.2, 0.0),
    "copa-minimum-rtt": ("tested", 0.25, 0.0),
    "cubic-rtt": ("other", 1 / 16, 0.0),
    "cubic-rtt-deep": ("other", 0.4, 0.0),
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


@pytest.mark.parametrize("name", WORST)
def test_shrunk_networks_differ_from_the_plain_dumbbell_in_few_keys(name: str) -> None:
    """At most eight keys; a key that both flows have is one. Copa's plain dumbbell has the drops of the RTT."""
    written = fullpipe.Scenario.load(ROOT / f"scenarios/worst/{name}.toml").to_dict()
    drop_s = 0.005 if len(written["links"]) > 1 else 0.0
    roles = [(flow["name"], flow["algorithm"]) for flow in written["flows"]]
    plain = network({**{knob.id: knob.plain for knob in KNOBS}, "rtt_drop": drop_s}, roles).to_dict()
    keys = {key for key, _ in leaves(written) ^ leaves(plain)}
    assert 0 < len(keys) <= 8, keys


def leaves(tree: object, key: str = "", flow: str = "") -> set[tuple[str, str]]:
    """Keys, and their values with the name of the flow."""
    if isinstance(tree, dict):
        name = tree.get("name", "")
        return {leaf for part, value in tree.items() for leaf in leaves(value, f"{key}.{part}", flow + name)}
    if isinstance(tree, list):
        return {leaf for each in tree for leaf in leaves(each, key, flow)}
    return {(key, f"{flow} {tree}")}


def test_each_found_scenario_has_a_test() -> None:
    assert {file.stem for file in (ROOT / "scenarios/worst").glob("*.toml")} == WORST.keys()
