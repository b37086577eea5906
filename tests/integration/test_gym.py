"""Learning environments: the interfaces' own checks, equal trajectories, and what an observation says."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from pettingzoo.test import parallel_api_test, parallel_seed_test

import fullpipe.gym
from conftest import ROOT
from fullpipe.errors import InputError, MemoryLimitError, ScenarioError
from fullpipe.gym import Distribution, Env, ParallelEnv, VectorEnv, core

LINK = {"name": "l", "rate": "10 Mbit/s", "delay": "10 ms", "buffer": "1 BDP"}
LEARNER = {"name": "x", "algorithm": "external"}
PATH: dict[str, Any] = {"duration": "3 s", "packet_size": 1500, "links": [LINK], "flows": [LEARNER]}
DRAWN: dict[str, Any] = {
    "scenario": {**PATH, "flows": [LEARNER, {"name": "rival", "algorithm": "cubic"}]},
    "axes": {
        "links.l.rate": {"log": ["2 Mbit/s", "20 Mbit/s"]},
        "flows.rival.algorithm": {"choice": ["cubic", "bbr3"]},
    },
}


def test_the_checker_of_gymnasium_passes() -> None:
    for action in ("rate-multiplier", "window-multiplier", "rate", "window", "discrete"):
        check_env(Env(PATH, action=action), skip_render_check=True)
    check_env(Env(DRAWN, features="orca", reward="orca", interval="20 ms", flatten=False), skip_render_check=True)


def test_the_memory_limit_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core, "share_bytes", lambda *_: 1000)
    env = Env(PATH)
    with pytest.raises(MemoryLimitError):
        env.reset(seed=1)


def test_the_tests_of_pettingzoo_pass() -> None:
    flows = [{"name": "a", "algorithm": "external", "count": 2}, {"name": "b", "algorithm": "external", "start": "1 s"}]
    scenario = {**PATH, "flows": flows}
    env = ParallelEnv(scenario)
    parallel_api_test(env, num_cycles=50)
    parallel_seed_test(lambda: ParallelEnv(scenario))
    assert env.possible_agents == ["a/1", "a/2", "b"]
    observations, _ = env.reset(seed=1)
    active = {name: values[-1] for name, values in observations.items()}
    assert active == {"a/1": 1, "a/2": 1, "b": 0}
    while env.agents:
        observations, *_ = env.step(dict.fromkeys(env.agents, 0))
    assert observations["b"][-1] == 1


def played(env: VectorEnv | SyncVectorEnv, steps: int = 60) -> list[np.ndarray[Any, Any]]:
    """Everything that some random actions give."""
    actions = np.random.default_rng(5).uniform(-0.3, 0.3, (steps, env.num_envs, 1)).astype(np.float32)
    observation, infos = env.reset(seed=7)
    found = [observation, infos["time_s"], infos["scenario_seed"]]
    for each in actions:
        *values, infos = env.step(each)
        found += [np.array(value) for value in values]
        found += [np.array(infos[key]) for key in ("time_s", "goodput_bps", "mean_rtt_s", "loss_rate", "cwnd_packets")]
        ended = values[2] | values[3]
        if env.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP and ended.any():
            found += [np.array(infos["final_obs"][place]) for place in np.flatnonzero(ended)]
        if env.metadata["autoreset_mode"] == AutoresetMode.DISABLED and ended.any():
            found.append(env.reset(options={"reset_mask": ended})[0])
    return found


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_many_environments_equal_single_ones(mode: AutoresetMode) -> None:
    """To the last bit, over several episodes of 20 steps, in each mode of Gymnasium."""
    options: dict[str, Any] = {"interval": "50 ms", "max_steps": 20}
    ours = played(VectorEnv(DRAWN, num_envs=3, autoreset_mode=mode, **options))
    theirs = played(SyncVectorEnv([lambda: Env(DRAWN, **options)] * 3, autoreset_mode=mode))
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one, other)


def digest(workers: int) -> str:
    found = played(VectorEnv(DRAWN, num_envs=9, workers=workers, interval="30 ms"), 80)
    return hashlib.sha256(b"".join(np.ascontiguousarray(each).tobytes() for each in found)).hexdigest()


def test_trajectories_do_not_depend_on_threads_or_processes() -> None:
    one = digest(1)
    assert digest(2) == digest(3) == one
    code = "import test_gym; print(test_gym.digest(2))"
    process = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": f"{Path(__file__).parent}:{ROOT / 'tests'}"},
    )
    assert process.stdout.strip() == one


def test_another_seed_is_another_trajectory() -> None:
    env = Env(DRAWN)
    first, info = env.reset(seed=1)
    again, same = env.reset(seed=1)
    np.testing.assert_array_equal(first, again)
    assert info == same
    assert env.reset()[1]["scenario_seed"] != info["scenario_seed"]
    assert env.reset(seed=2)[1]["scenario_seed"] != info["scenario_seed"]


def test_a_rate_below_the_link_is_the_goodput_and_leaves_no_queue() -> None:
    env = Env(PATH, action="rate", interval="100 ms", features=["rate", "rtt", "loss", "log_send_ratio"], history=1)
    env.reset(seed=1)
    # 10 kbit/s to 10 Gbit/s are 6 decades: this is 8 Mbit/s. A packet takes 1.2 ms, and half of that to be processed.
    action = np.array([2 * np.log10(8e6 / 1e4) / 6 - 1], np.float32)
    for _ in range(15):
        observation, reward, _, _, info = env.step(action)
    assert info["goodput_bps"] == pytest.approx(8e6, rel=0.03)
    assert info["mean_rtt_s"] == pytest.approx(0.0218, rel=0.03)
    assert observation[0] == pytest.approx(np.log10(1 + info["goodput_bps"] / 1e3) / 7, rel=1e-5)
    assert observation[2] == 0
    assert abs(observation[3]) < 0.05
    assert reward == pytest.approx(0.001 * (10 * info["goodput_bps"] / 12000 - 1000 * info["mean_rtt_s"]), rel=1e-12)


def test_a_window_of_twice_the_bdp_has_losses_and_a_full_queue() -> None:
    env = Env(PATH, action="window", interval="100 ms", features=["loss", "rtt"], history=2, flatten=False)
    env.reset(seed=1)
    action = np.array([2 * np.log2(64 / 2) / 19 - 1], np.float32)
    lost = [env.step(action)[4]["loss_rate"] for _ in range(15)]
    assert max(lost) > 0
    observation, *_, info = env.step(action)
    assert observation.shape == (2, 2)
    assert info["cwnd_packets"] == pytest.approx(64, rel=1e-5)
    assert info["mean_rtt_s"] > 0.03


def test_a_timeout_leaves_one_packet_whatever_the_action() -> None:
    link = {**LINK, "schedule": [{"at": "1 s", "loss": 1}]}
    env = Env({**PATH, "links": [link], "duration": "5 s"}, action="window", interval="200 ms")
    env.reset(seed=1)
    rates = [env.step(np.array([0.0], np.float32))[4] for _ in range(20)]
    late = [info["send_rate_bps"] * info["interval_s"] / 12000 for info in rates if info["time_s"] > 2]
    assert late
    assert max(late) <= 1


def test_aurora_and_orca_by_their_formulas() -> None:
    seen: list[dict[str, float]] = []

    def custom(raw: dict[str, Any]) -> Any:
        seen.append({name: float(values[0]) for name, values in raw.items()})
        return raw["rate_bps"] * 0

    env = Env(DRAWN, reward=custom, features="aurora", history=1, interval="60 ms")
    _, info = env.reset(seed=3)
    drawn = Distribution.of(DRAWN).sample(int(str(info["scenario_seed"]))).to_dict()
    capacity_bps = float(drawn["links"][0]["rate"].split()[0])
    from fullpipe.gym.rewards import REWARDS

    random = np.random.default_rng(1)
    for _ in range(40):
        observation, reward, *_ = env.step(random.uniform(-1, 1, 1).astype(np.float32))
        assert reward == 0
        raw = seen[-1]
        arrays: Any = {name: np.array([value]) for name, value in raw.items()}
        loss = raw["lost"] / (raw["lost"] + raw["delivered"]) if raw["lost"] + raw["delivered"] else 0
        wanted = 0.001 * (10 * raw["delivered"] / raw["duration_s"] - 1000 * raw["mean_rtt_s"] - 2000 * loss)
        assert REWARDS["aurora"](arrays)[0] == pytest.approx(wanted, rel=1e-12, abs=1e-12)
        metric = min(1, 1.25 * raw["min_rtt_s"] / raw["srtt_s"])
        orca = (raw["rate_bps"] - 5 * raw["lost"] * 12000 / raw["duration_s"]) / raw["best_bps"] * metric
        assert REWARDS["orca"](arrays)[0] == pytest.approx(orca, rel=1e-12, abs=1e-12)
        share = raw["rate_bps"] / raw["capacity_bps"]
        assert raw["capacity_bps"] == capacity_bps
        genet = 500 * share - 1000 * raw["mean_rtt_s"] - 2000 * loss
        assert REWARDS["genet"](arrays)[0] == pytest.approx(genet, rel=1e-12)
        ratio = raw["sent"] / (raw["delivered"] - 1) if raw["delivered"] > 1 else 1
        assert observation[2] == pytest.approx(min(ratio, 1000), rel=1e-6)


def test_bounds_hold_a_rate() -> None:
    env = Env(PATH, action={"name": "rate-multiplier", "bounds": ["2 Mbit/s", "5 Mbit/s"]}, interval="20 ms")
    env.reset(seed=1)
    high = [float(env.step([1.0])[4]["send_rate_bps"]) for _ in range(30)]
    low = [float(env.step([-1.0])[4]["send_rate_bps"]) for _ in range(30)]
    assert np.mean(high[10:]) == pytest.approx(5e6, rel=0.05)
    assert np.mean(low[10:]) == pytest.approx(2e6, rel=0.05)


def test_a_base_algorithm_goes_on_between_the_actions() -> None:
    flow = {"name": "x", "algorithm": {"name": "external", "base": "cubic"}, "recovery": "rack"}
    env = Env({**PATH, "duration": "10 s", "flows": [flow]}, action="window-multiplier", interval="20 ms")
    _, info = env.reset(seed=1)
    over = False
    while not over:
        _, _, terminated, truncated, _ = env.step([0.0])
        over = terminated or truncated
    scenario = Distribution.of({**PATH, "duration": "10 s", "flows": [flow]}).sample(int(str(info["scenario_seed"])))
    controlled = fullpipe.Result(scenario, env._core.batch.tables(0), engine="simulator", wall_s=0.0)
    alone = fullpipe.run(scenario.replace(**{"flows.x.algorithm": "cubic"}))
    for metric in ("goodput_bps", "retransmits", "mean_rtt_s", "loss_rate"):
        assert controlled.flows[metric][0].as_py() == alone.flows[metric][0].as_py(), metric
    env.reset(seed=1)
    before = float(env.step([0.0])[4]["cwnd_packets"])
    assert env.step([-0.5])[4]["cwnd_packets"] < 0.75 * before


def test_a_base_algorithm_requires_an_action_on_the_window() -> None:
    flow = {"name": "x", "algorithm": {"name": "external", "base": "cubic"}}
    with pytest.raises(InputError, match="window"):
        Env({**PATH, "flows": [flow]}, action="rate")
    with pytest.raises(ScenarioError, match="newreno"):
        Env({**PATH, "flows": [{"name": "x", "algorithm": {"name": "external", "base": "cubics"}}]}, action="window")


def test_the_reward_of_genet_requires_a_rate() -> None:
    schedule = [{"at": "1 s", "rate": "5 Mbit/s"}]
    Env({**PATH, "links": [{**LINK, "schedule": schedule}]}, reward="genet").reset(seed=1)
    link = {"name": "l", "trace": [1, 2, 3], "delay": "10 ms", "buffer": "100 packets"}
    with pytest.raises(ScenarioError, match="not with a trace"):
        Env({**PATH, "links": [link]}, reward="genet").reset(seed=1)


def test_a_flow_that_has_sent_its_size_terminates() -> None:
    env = Env({**PATH, "flows": [{**LEARNER, "size": "300 kB"}]}, interval="50 ms")
    env.reset(seed=1)
    ends = [env.step(np.array([0.1], np.float32))[2:4] for _ in range(12)]
    assert (True, False) in ends


def test_draws_follow_the_law_and_their_own_stream() -> None:
    one = Distribution.of(DRAWN)
    more = Distribution({**DRAWN["scenario"]}, {**DRAWN["axes"], "links.l.delay": {"uniform": ["5 ms", "50 ms"]}})
    rates, algorithms = [], []
    for seed in range(300):
        tree, other = one.sample(seed).to_dict(), more.sample(seed).to_dict()
        assert tree["links"][0]["rate"] == other["links"][0]["rate"]
        rates.append(float(tree["links"][0]["rate"].split()[0]))
        algorithms.append(tree["flows"][1]["algorithm"])
    places = np.sort(np.log(np.array(rates) / 2e6) / np.log(10))
    # The critical value of Kolmogorov and Smirnov at 1 % is 1.63 / sqrt(n).
    assert np.abs(places - (np.arange(300) + 0.5) / 300).max() < 1.63 / np.sqrt(300)
    assert 100 < algorithms.count("bbr3") < 200
    assert one.sample(5) == one.sample(5)


@pytest.mark.parametrize(
    ("axes", "said"),
    [
        ({"links.l.rate": {"log": ["2 Mbit/s", "1 Mbit/s"]}}, "lesser one first"),
        ({"links.l.rate": {"log": ["2 Mbit/s", "1 s"]}}, "one unit"),
        ({"links.l.rate": {"gamma": [1, 2]}}, "uniform"),
        ({"links.m.rate": {"log": ["1 Mbit/s", "2 Mbit/s"]}}, "links.m"),
        ({"links.l.loss": {"choice": [0, 0.1], "weights": [1]}}, "weights"),
    ],
)
def test_a_wrong_law_is_named(axes: dict[str, Any], said: str) -> None:
    with pytest.raises(ScenarioError, match=said):
        Distribution(PATH, axes)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"action": "speed"}, "rate-multiplier"),
        ({"action": {"name": "discrete", "operations": ["x2"]}}, "/2"),
        ({"features": "auroras"}, "aurora"),
        ({"features": ["rat"]}, "rate"),
        ({"reward": "money"}, "aurora"),
        ({"action": {"name": "rate", "bounds": ["2 Mbit/s", "1 Mbit/s"]}}, "lesser one first"),
        ({"action": {"name": "rate", "bounds": ["1 Mbit/s", "2 ms"]}}, "two rates"),
        ({"action": {"name": "window", "bounds": ["1 Mbit/s", "2 Mbit/s"]}}, "two windows"),
        ({"interval": "2"}, "10 ms"),
        ({"history": 0}, "history"),
        ({"max_steps": 0}, "max_steps"),
    ],
)
def test_bad_arguments(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Env(PATH, **options)


def test_wrong_scenarios() -> None:
    with pytest.raises(ScenarioError, match="requires a flow with algorithm"):
        Env({**PATH, "flows": [{"algorithm": "cubic"}]})
    with pytest.raises(ScenarioError, match="ParallelEnv"):
        Env({**PATH, "flows": [{**LEARNER, "count": 2}]})

    @fullpipe.algorithm("interpreted-rival")
    class Rival(fullpipe.Classic):
        def increase(self, w: float, _flow: object, _ack: object) -> float:
            return 1 / w

        def decrease(self, w: float, _flow: object, _signal: object) -> float:
            return w / 2

    with pytest.raises(ScenarioError, match="compiled"):
        Env({**PATH, "flows": [LEARNER, {"algorithm": "interpreted-rival"}]}).reset(seed=1)


def test_gymnasium_wrappers_work() -> None:
    env = gymnasium.wrappers.RecordEpisodeStatistics(Env(PATH, max_steps=5))
    env.reset(seed=1)
    ends = [env.step(env.action_space.sample()) for _ in range(5)]
    assert ends[-1][3]
    assert ends[-1][4]["episode"]["l"] == 5
