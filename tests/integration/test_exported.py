"""Export of policies: a flow of the exported class has the results of a flow that the policy controls."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from runpy import run_path
from typing import Any

import numpy as np
import pytest

import fullpipe
from conftest import ROOT
from fullpipe.custom.arguments import load_algorithms
from fullpipe.errors import InputError
from fullpipe.gym import FEATURES, Distribution, Env, Policy, export

LINK = {"name": "l", "rate": "10 Mbit/s", "delay": "10 ms", "buffer": "1 BDP"}
FLOWS = [{"name": "x", "algorithm": "external"}, {"name": "rival", "algorithm": "cubic"}]
DRAWN: dict[str, Any] = {
    "scenario": {"duration": "5 s", "packet_size": 1500, "links": [LINK], "flows": FLOWS},
    "axes": {
        "links.l.rate": {"log": ["1 Mbit/s", "50 Mbit/s"]},
        "links.l.delay": {"uniform": ["5 ms", "50 ms"]},
        "links.l.buffer": {"log": ["0.2 BDP", "4 BDP"]},
        "links.l.loss": {"log": [1e-4, 0.01], "zero": 0.5},
        "flows.x.start": {"uniform": ["0 s", "1 s"]},
    },
}
WINDOWS = ["2 packets", "200 packets"]
EXPORTABLE = [name for name, law in FEATURES.items() if "rtt_inflation_s" not in law.formula]


def drawn_policy(inputs: int, seed: int, activation: str = "softsign") -> Policy:
    """Policy with random numbers."""
    sizes = (inputs, 6, 1)
    return Policy.of(np.random.default_rng(seed).normal(0, 0.5, Policy.count(sizes)), sizes, activation)


def actions_of(env: Env, policy: Policy, seed: int) -> tuple[list[float], fullpipe.Scenario]:
    """Actions of a policy in an episode, and the scenario."""
    observation, info = env.reset(seed=seed)
    found, over = [], False
    while not over:
        action = policy(observation)
        observation, _, terminated, truncated, info = env.step(action)
        found.append(float(action[0]))
        over = terminated or truncated
    return found, Distribution.of(DRAWN).sample(int(str(info["scenario_seed"])))


def run_exported(scenario: fullpipe.Scenario, name: str) -> dict[str, Any]:
    """Metrics of the exported class in the place of the external flow."""
    tree = scenario.to_dict()
    tree["flows"][0]["algorithm"] = name
    return dict(fullpipe.run(fullpipe.Scenario.from_dict(tree)).flows.to_pylist()[0])


@pytest.mark.parametrize(
    ("options", "activation"),
    [
        ({"history": 2}, "softsign"),
        (
            {
                "history": 1,
                "features": EXPORTABLE,
                "interval": "20 ms",
                "action": {"name": "rate-multiplier", "scale": 0.1},
            },
            "relu",
        ),
        pytest.param(
            {"history": 3, "action": {"name": "window-multiplier", "bounds": WINDOWS}, "interval": "0.5 RTT"},
            "softsign",
            marks=pytest.mark.slow,
        ),
        (
            {
                "history": 4,
                "action": {"name": "window", "bounds": WINDOWS},
                "features": ["rtt", "rate", "app_limited", "acks_per_cwnd"],
            },
            "clip",
        ),
        pytest.param(
            {"history": 5, "action": {"name": "rate", "bounds": ["1 Mbit/s", "50 Mbit/s"]}},
            "tanh",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            {"history": 32, "action": {"name": "window-multiplier", "bounds": WINDOWS}, "interval": "20 ms"},
            "softsign",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_an_exported_policy_equals_the_one_in_the_environment(
    tmp_path: Path, options: dict[str, Any], activation: str
) -> None:
    env = Env(DRAWN, **options)
    policy = drawn_policy(env.observation_space.shape[0], 3, activation)
    name = export(policy, tmp_path / "mine.py", env, name=f"mine-{options['history']}")
    load_algorithms(str(tmp_path / "mine.py"))
    for seed in range(4):
        actions, scenario = actions_of(env, policy, seed)
        assert len(set(actions)) > 3
        total = env._core.batch.tables(0)
        theirs = fullpipe.Result(scenario, total, engine="simulator", wall_s=0.0).flows.to_pylist()[0]
        mine = run_exported(scenario, name)
        for metric in ("goodput_bps", "throughput_bps", "retransmits", "timeouts", "mean_rtt_s", "loss_rate"):
            assert mine[metric] == theirs[metric], (seed, metric)


def test_the_example_is_what_export_writes(tmp_path: Path) -> None:
    folder = ROOT / "examples" / "learned"
    options = run_path(str(folder / "train.py"))["OPTIONS"]
    export(drawn_policy(8, 1), tmp_path / "learned.py", Env(folder / "paths.toml", **options))

    def without_network(text: str) -> str:
        tree = ast.parse(text)
        for each in ast.walk(tree):
            if isinstance(each, ast.FunctionDef) and each.name == "_act":
                each.body = [one for one in each.body if not re.match(r"(h0_\d|action) = ", ast.unparse(one))]
        return ast.unparse(tree)

    written, shipped = (without_network(each.read_text()) for each in (tmp_path / "learned.py", folder / "learned.py"))
    assert written == shipped


def test_a_policy_adds_its_inputs_in_order_and_clips_its_action() -> None:
    policy = Policy([(np.array([[2.0, -1.0]]), np.array([0.5])), (np.array([[4.0]]), np.array([0.0]))])
    # 0.5 + 2 * 0.25 - 1 * 0.5 = 0.5; softsign 1/3; times 4, clipped to 1. Then 0.5 - 1 = -0.5, -1/3, clipped to -1.
    assert policy([0.25, 0.5]).tolist() == [1.0]
    assert policy([[0.0, 1.0]]).tolist() == [[-1.0]]
    both = Policy.of([[0.1, 0.2, 0.3], [0.4, 0.5, -0.3]], (2, 1))
    assert both(np.ones((2, 5, 2))).shape == (2, 5, 1)
    np.testing.assert_allclose(both(np.ones((2, 1, 2)))[:, 0, 0], [0.6, 0.6])
    assert Policy.count((8, 8, 1)) == 81


@pytest.mark.parametrize(
    ("options", "file", "named"),
    [
        ({"action": "aurora", "history": 1}, "mine.py", "share of the link's rate"),
        ({"features": "aurora", "history": 1}, "mine.py", "latency_inflation"),
        ({"history": 65}, "mine.py", "256"),
        ({"history": 1}, "mine.txt", ".py"),
        ({"history": 1}, "nowhere/mine.py", "nowhere"),
    ],
)
def test_what_cannot_be_exported_is_named(tmp_path: Path, options: dict[str, Any], file: str, named: str) -> None:
    env = Env(DRAWN, **options)
    policy = drawn_policy(env.observation_space.shape[0], 1)
    with pytest.raises(InputError, match=named):
        export(policy, tmp_path / file, env)
    assert list(tmp_path.iterdir()) == []


def test_a_policy_must_fit_its_environment(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="8 inputs"):
        export(drawn_policy(7, 1), tmp_path / "mine.py", Env(DRAWN, history=2))
    with pytest.raises(InputError, match="81 numbers"):
        Policy.of(np.zeros(80), (8, 8, 1))
    with pytest.raises(InputError, match="softsin"):
        Policy([(np.zeros((1, 2)), np.zeros(1))], "softsin")
    with pytest.raises(InputError, match="fit together"):
        Policy([(np.zeros((3, 2)), np.zeros(3)), (np.zeros((1, 2)), np.zeros(1))])
