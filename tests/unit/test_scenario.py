"""Scenarios: loading, building in code, changing, writing back."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import fullpipe
from conftest import ROOT
from fullpipe import Scenario, ScenarioError

LINK = {"name": "bottleneck", "rate": "10 Mbit/s", "delay": "20 ms", "buffer": "50 packets"}


def two_links() -> Scenario:
    return Scenario(
        duration="10 s",
        links=[LINK, {**LINK, "name": "second"}],
        flows=[
            {"algorithm": "reno", "path": ["bottleneck"]},
            {"algorithm": {"name": "vegas", "alpha": 2}, "path": ["bottleneck", "second"], "count": 3},
        ],
    )


def test_the_same_scenario_from_text_and_from_code(small: Scenario) -> None:
    built = Scenario(
        duration="20 s",
        warmup="5 s",
        links=[{"name": "bottleneck", "rate": "10 Mbit/s", "delay": "19 ms", "buffer": "0.5 BDP"}],
        flows=[{"algorithm": "newreno", "count": 2, "start": "0 s..1 s", "access_delay": "1 ms..5 ms"}],
    )
    assert built == small
    assert built != small.replace(seed=2)
    assert built.duration_s == 20
    assert built.warmup_s == 5
    assert built.seed == 1


def test_what_is_written_reads_back(small: Scenario) -> None:
    for scenario in (small, two_links()):
        assert Scenario.loads(scenario.to_toml()) == scenario
        assert Scenario.from_dict(scenario.to_dict()) == scenario
        assert pickle.loads(pickle.dumps(scenario)) == scenario


@pytest.mark.parametrize("file", sorted((ROOT / "scenarios").glob("*.toml")), ids=lambda file: file.stem)
def test_the_shipped_scenarios_read_back(file: Path) -> None:
    scenario = Scenario.load(file)
    assert Scenario.loads(scenario.to_toml()) == scenario


@pytest.mark.parametrize("file", sorted((ROOT / "scenarios").glob("*.toml")), ids=lambda file: file.stem)
def test_shipped_scenarios_mean_what_they_say(file: Path) -> None:
    assert Scenario.load(file).warnings == []


@pytest.mark.parametrize(
    ("name", "rtts_ms", "used", "lossless"),
    [
        ("bufferbloat", {2: 302.0}, None, [2]),
        ("fq-codel", {2: 41.0}, 0.99, [2]),
        ("l4s", {0: 34.2, 1: 20.5}, None, [1]),
        ("ecn", {}, None, [0, 1]),
    ],
)
def test_scenarios_with_queues_show_the_effect_in_their_head(
    name: str, rtts_ms: dict[int, float], used: float | None, lossless: list[int]
) -> None:
    """Figures in the head of a file hold within a tenth; `lossless` flows retransmit nothing, all others do."""
    result = fullpipe.run(Scenario.load(ROOT / f"scenarios/{name}.toml")).to_dict()
    for number, rtt_ms in rtts_ms.items():
        assert 1e3 * result["flows"][number]["mean_rtt_s"] == pytest.approx(rtt_ms, rel=0.1)
    if used is not None:
        assert result["links"][0]["utilization"] == pytest.approx(used, abs=0.02)
    assert [flow["id"] for flow in result["flows"] if not flow["retransmits"]] == lossless


def test_fq_codel_is_bufferbloat_with_another_queue() -> None:
    deep, fair = (Scenario.load(ROOT / f"scenarios/{name}.toml") for name in ("bufferbloat", "fq-codel"))
    assert deep.replace(**{"links.0.queue": "fq-codel"}) == fair


def test_a_scenario_does_not_change_with_what_it_was_built_from() -> None:
    flow = {"algorithm": "reno"}
    scenario = Scenario(duration="10 s", links=[LINK], flows=[flow])
    flow["algorithm"] = "vegas"
    scenario.to_dict()["flows"].clear()
    assert scenario.to_dict()["flows"] == [{"algorithm": "reno"}]


def test_replace_reaches_keys_by_path() -> None:
    old = two_links()
    new = old.replace(
        **{
            "duration": "30 s",
            "links.second.buffer": "0.5 BDP",
            "flows.0.algorithm": "bic",
            "flows.1.algorithm.alpha": 1,
            "flows.start": "1 s",
        }
    ).to_dict()
    assert new["duration"] == "30 s"
    assert [link["buffer"] for link in new["links"]] == ["50 packets", "0.5 BDP"]
    assert [flow["algorithm"] for flow in new["flows"]] == ["bic", {"name": "vegas", "alpha": 1}]
    assert [flow["start"] for flow in new["flows"]] == ["1 s", "1 s"]
    assert old == two_links()


def test_replace_names_all_flows_adds_parameters_and_removes_keys() -> None:
    new = two_links().replace(**{"flows.algorithm": "vegas", "flows.count": None})
    assert [flow["algorithm"] for flow in new.to_dict()["flows"]] == ["vegas", "vegas"]
    assert all("count" not in flow for flow in new.to_dict()["flows"])
    tuned = new.replace(**{"flows.0.algorithm.beta": 5})
    assert tuned.to_dict()["flows"][0]["algorithm"] == {"name": "vegas", "beta": 5}


def test_replace_reaches_the_parameters_of_a_queue() -> None:
    queued = two_links().replace(**{"links.0.queue": "codel", "links.second.queue": {"name": "step"}})
    new = queued.replace(**{"links.0.queue.target": "2 ms", "links.second.queue.threshold": "9 packets"})
    expected = [{"name": "codel", "target": "2 ms"}, {"name": "step", "threshold": "9 packets"}]
    assert [link["queue"] for link in new.to_dict()["links"]] == expected
    resolved = [link["queue"] for link in new.resolved().to_dict()["links"]]
    assert [{key: queue[key] for key in given} for queue, given in zip(resolved, expected, strict=True)] == expected
    with pytest.raises(ScenarioError, match=r"links\[0\]\.queue\.target: unknown unit \"packets\""):
        queued.replace(**{"links.0.queue.target": "9 packets"})


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("links.third.buffer", "bottleneck, second"),
        ("flows.7.algorithm", "the entry must be in "),
        ("links.bottleneck", "requires a key of the table"),
        ("duration.x", "no keys inside"),
        ("wep.mean_size", "unknown key 'wep'"),
        ("links..buffer", "unknown key ''"),
        ("", "unknown key"),
    ],
)
def test_a_path_that_leads_nowhere(path: str, says: str) -> None:
    with pytest.raises(ScenarioError, match=says):
        two_links().replace(**{path: "1 s"})


def test_errors_name_file_line_key_and_fault(tmp_path: Path) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text('duration = "10 s"\n[[links]]\nname = "a"\nrate = "10"\n')
    with pytest.raises(ScenarioError) as caught:
        Scenario.load(file)
    error = caught.value
    assert (error.file, error.line, error.key) == (str(file), 4, "links[0].rate")
    assert str(error) == f"{file}:4: links[0].rate: {error.what}"
    copied = pickle.loads(pickle.dumps(error))
    assert (str(copied), copied.key) == (str(error), error.key)
    assert isinstance(error, ValueError)


def test_values_that_no_file_could_hold() -> None:
    endless: dict[str, object] = {}
    endless["flows"] = [endless]
    for wrong in ({"duration": object()}, {"seed": 2**70}, {"duration": "\ud800"}, {"links": [{1: 2}]}, endless):
        with pytest.raises(ScenarioError):
            Scenario.from_dict(wrong)


def traced(**link: object) -> dict[str, object]:
    """A scenario whose link follows a trace."""
    link = {"name": "l", "delay": "20 ms", "buffer": "50 packets", **link}
    return {"duration": "2 s", "links": [link], "flows": [{"algorithm": "reno"}]}


def test_a_trace_is_read_beside_the_scenarios_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "two.down").write_text("1\n3\n")
    file = tmp_path / "scenario.toml"
    file.write_text(Scenario.from_dict(traced(trace=[1])).to_toml().replace("[\n    1,\n]", '"two.down"'))
    scenario = Scenario.load(file)
    assert scenario.to_dict()["links"][0]["trace"] == [1, 3]
    monkeypatch.chdir(tmp_path)
    assert Scenario.from_dict(traced(reverse={"trace": "two.down"}, rate="1 Mbit/s")).to_dict()["links"][0][
        "reverse"
    ] == {"trace": [1, 3]}
    # It has been read: it runs, and goes elsewhere, whatever becomes of the file.
    (tmp_path / "two.down").unlink()
    for same in (pickle.loads(pickle.dumps(scenario)), scenario.replace(seed=1), scenario.resolved()):
        assert same.to_dict()["links"][0]["trace"] == [1, 3]


def test_what_is_wrong_with_a_trace_has_its_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "bad.down").write_text("1\ntwo\n")
    file = tmp_path / "scenario.toml"
    for name, what in {
        "bad.down": '"bad.down", line 2: "two" is no whole number of milliseconds from 0 to 1000000000',
        "none.down": '"none.down" can\'t be read: No such file or directory',
        ".": '"." can\'t be read: it is not a regular file',
    }.items():
        text = Scenario.from_dict(traced(rate="1 Mbit/s")).to_toml()
        file.write_text(text.replace('rate = "1 Mbit/s"', f'trace = "{name}"'))
        with pytest.raises(ScenarioError) as caught:
            Scenario.load(file)
        assert (caught.value.key, caught.value.what) == ("links[0].trace", what)
        assert caught.value.line is not None


def test_the_shipped_trace_is_what_its_program_writes() -> None:
    traces = ROOT / "scenarios/traces"
    written = subprocess.run([sys.executable, traces / "lte.py"], capture_output=True, text=True, check=True)
    assert written.stdout == (traces / "lte.down").read_text()


def test_set_changes_keys_by_path(small: Scenario) -> None:
    changes = {"links.bottleneck.buffer": "1 BDP", "flows.algorithm": "cubic", "warmup": None}
    assert small.set(changes) == small.replace(**changes)
    assert small.set(changes).to_dict()["links"][0]["buffer"] == "1 BDP"
    with pytest.raises(ScenarioError, match=r"links\[0\]\.bufer"):
        small.set({"links.bottleneck.bufer": "1 BDP"})
