"""A run's input is accepted in several forms, and its result is loaded, pickled, and shown again."""

from __future__ import annotations

import pickle
import pydoc
from pathlib import Path

import pyarrow as pa
import pytest

import fullpipe
from by_hand import by_hand
from fullpipe import Comparison, InputError, Scenario, ScenarioError, Sizing, Sweep
from fullpipe.engine.options import RunOptions
from fullpipe.experiments.sizing import Mix
from fullpipe.experiments.sweep.axes import read_axes
from fullpipe.experiments.sweep.directory import opened
from fullpipe.experiments.sweep.plan import Plan
from fullpipe.runs.runner import Runner
from test_tables import sized, sized_together


def test_a_file_a_dictionary_and_a_scenario_run_alike(small: Scenario, tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(small.to_toml())
    flows = fullpipe.run(small).to_dict()["flows"]
    for what in (str(file), file, small.to_dict()):
        assert fullpipe.run(what).to_dict()["flows"] == flows
    assert fullpipe.compare(file, ["reno"]).runs.equals(fullpipe.compare(small, ["reno"]).runs)
    assert fullpipe.sweep(file, {"seed": [1]}).runs.equals(fullpipe.sweep(small, {"seed": [1]}).runs)
    with pytest.raises(ScenarioError, match=r"no\.toml: can't be read"):
        fullpipe.run(tmp_path / "no.toml")


def test_names_are_exported() -> None:
    assert issubclass(fullpipe.LinuxError, fullpipe.FullpipeError)
    assert fullpipe.models.sqrt_rule_buffer(100, 4) == 50
    assert dir(fullpipe) == sorted(fullpipe.__all__)


def test_help_begins_with_the_four_functions_that_users_need_first() -> None:
    found = pydoc.plain(pydoc.render_doc(fullpipe)).split("DESCRIPTION\n")[1].splitlines()
    assert [line.strip().partition("(")[0] for line in found[:4]] == ["run", "compare", "sweep", "size"]


def test_comparisons(tmp_path: Path) -> None:
    comparison = Comparison({"reno": by_hand(), "vegas (alpha=2)": by_hand(engine="linux")})
    comparison.save(tmp_path / "out")
    for again in (Comparison.load(tmp_path / "out"), pickle.loads(pickle.dumps(comparison))):
        assert again.to_dict() == comparison.to_dict()
        assert again.runs.equals(comparison.runs)
        assert again.flows.equals(comparison.flows)
        assert again.links.equals(comparison.links)
        assert again._repr_html_() == comparison._repr_html_()
    # Two results with two links each, and with four groups and sources each; a heading above both tables.
    assert comparison._repr_html_().count("<tr>") == (1 + 2 * 2) + (1 + 2 * 4)
    with pytest.raises(InputError, match=r"comparison\.json: can.t be read: No such file"):
        Comparison.load(tmp_path)


def test_sizings_of_buffers_and_of_parameters(tmp_path: Path) -> None:
    for sizing, html in ((sized(), 3), (sized_together(), 2)):
        sizing.save(tmp_path / "out")
        for again in (Sizing.load(tmp_path / "out"), pickle.loads(pickle.dumps(sizing))):
            assert again.to_dict() == sizing.to_dict()
            assert again._repr_html_() == sizing._repr_html_()
        assert sizing._repr_html_().count("<table>") == html
        (tmp_path / "out").rename(tmp_path / f"of {html}")
    assert sorted(file.name for file in (tmp_path / "of 2/scenarios").iterdir()) == [
        "newreno-10-0.98.toml",
        "newreno-10-target-1.toml",
    ]
    text = (tmp_path / "of 2/scenarios/newreno-10-target-1.toml").read_text()
    assert text.startswith(
        "# The smallest target of codel found for the target utilization >= 0.9, p99_delay <= 20ms\n"
    )
    queue = Scenario.loads(text).to_dict()["links"][0]["queue"]
    # 1,234 packets of 1000 bytes at 100 Mbit/s.
    assert queue == {"name": "codel", "target": "98.72 ms"}


def test_sweeps(small: Scenario, tmp_path: Path) -> None:
    axes = {
        "links.bottleneck.buffer": {"from": "4 packets", "to": "16 packets", "count": 3, "scale": "log"},
        "flows.algorithm": ["reno", {"name": "vegas", "alpha": 2}],
    }
    sweep = fullpipe.sweep(small.replace(duration="2 s", warmup="1 s"), axes, out=tmp_path / "out")
    for again in (Sweep.load(tmp_path / "out"), pickle.loads(pickle.dumps(sweep))):
        assert again.runs.equals(sweep.runs)
        assert again.summary().equals(sweep.summary())
        assert [(axis.path, axis.values, axis.log) for axis in again.plan.axes] == [
            (axis.path, axis.values, axis.log) for axis in sweep.plan.axes
        ]
        assert again.plan.to_dict() == sweep.plan.to_dict()
        assert again._repr_html_() == sweep._repr_html_()
    with pytest.raises(InputError, match=r"sweep\.json: can't be read: No such file"):
        Sweep.load(tmp_path)


def test_a_sweep_that_was_broken_off_is_loaded_as_far_as_it_came(small: Scenario, tmp_path: Path) -> None:
    def broken_off() -> None:
        with opened(tmp_path / "out", plan) as place:
            Runner(RunOptions(), place.store).keep(
                plan.design[0], {"runs": {"utilization": 0.5}, "flows": {"id": [0]}, "links": {"name": ["bottleneck"]}}
            )
            raise KeyboardInterrupt

    plan = Plan(small, read_axes({"flows.count": [1, 2]}))
    with pytest.raises(KeyboardInterrupt):
        broken_off()
    again = Sweep.load(tmp_path / "out")
    assert again.runs.select(["run", "utilization"]).to_pylist() == [{"run": 0, "utilization": 0.5}]
    assert again.flows.select(["run", "flows.count", "seed", "id"]).to_pylist() == [
        {"run": 0, "flows.count": 1, "seed": small.seed, "id": 0}
    ]


def test_one_value_where_nothing_is_random(small: Scenario) -> None:
    plan = Plan(small, read_axes({"flows.count": [1]}), 2)
    rows = [{**plan.labels(run), "error": None, "utilization": 0.5} for run in (0, 1)]

    def title(*rows: dict[str, object]) -> str:
        from fullpipe.experiments.sweep.table import table_of

        (shown,) = Sweep(plan, table_of(rows, plan)).shown()
        return shown if isinstance(shown, str) else f"{shown.title}: {shown.rows[0][1]}"

    assert title(*rows) == "One value: this scenario has no randomness, and every seed gives the same: 50.00"
    # The mean of 0.5 and 0.6, and 12.706 times the standard deviation 0.0707 over the root of 2.
    rows[1]["utilization"] = 0.6
    assert title(*rows) == "Means over 2 seeds and their 95 % confidence intervals: 55.00 ± 63.53"


def test_sizings(tmp_path: Path) -> None:
    mix = Mix(1e6, 0.02, 0.04, 0.1, 500, {"name": "codel", "target": "5 ms"})
    row = {"target": "0.9", "algorithm": "reno", "flows": 1, "buffer_packets": None, "loss_rate": 0.01}
    row |= {"at_packets": 9, "unmet": "utilization >= 0.9"}
    tried = {"algorithm": "reno", "flows": 1, "buffer_packets": 3, "seed": 1, "utilization": 0.5}
    sizing = Sizing(mix, [row], pa.Table.from_pylist([tried]))
    sizing.save(tmp_path / "out")
    for again in (Sizing.load(tmp_path / "out"), pickle.loads(pickle.dumps(sizing))):
        assert (again.mix, again.rows, again.runs) == (sizing.mix, sizing.rows, sizing.runs)
    with pytest.raises(InputError, match=r"size\.json: can't be read: No such file"):
        Sizing.load(tmp_path)
