"""Episodes of learning environments: first intervals, ends, facts, and published actions and rewards."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from fullpipe.errors import InputError, ScenarioError
from fullpipe.gym import Distribution, Env, ParallelEnv, VectorEnv
from fullpipe.gym.core import NAMES
from fullpipe.gym.formula import Formula
from fullpipe.gym.rewards import REWARDS

LINK = {"name": "l", "rate": "10 Mbit/s", "delay": "10 ms", "buffer": "1 BDP"}
LEARNER = {"name": "x", "algorithm": "external"}
PATH: dict[str, Any] = {"duration": "3 s", "packet_size": 1500, "links": [LINK], "flows": [LEARNER]}


def window(segments: float) -> list[float]:
    """Action of a window."""
    return [2 * math.log2(segments / 2) / 19 - 1]


def test_a_reset_runs_two_intervals_of_a_round_trip() -> None:
    env = Env(PATH, interval="10 ms", features=["valid", "interval"], flatten=False)
    observation, info = env.reset(seed=1)
    assert observation[:, 0].tolist() == [0] * 8 + [1, 1]
    rtt_s = float(str(info["mean_rtt_s"]))
    # interval = log10(1 + length / 0.1 ms) / 5
    length_s = (10 ** (5 * float(observation[-1, 1])) - 1) * 1e-4
    assert length_s == pytest.approx(float(str(info["interval_s"])), rel=1e-5)
    assert length_s == pytest.approx(rtt_s, rel=0.1)
    assert env.step([0.0])[4]["interval_s"] == pytest.approx(0.01)


def test_app_limited_is_the_share_of_the_time_without_data() -> None:
    options: dict[str, Any] = {"features": ["app_limited"], "history": 1, "interval": "1 s", "action": "window"}
    shares = []
    for source in ("bulk", {"rate": "1 Mbit/s"}):
        env = Env({**PATH, "duration": "5 s", "flows": [{**LEARNER, "source": source}]}, **options)
        env.reset(seed=1)
        shares.append([float(env.step(window(20))[0][0]) for _ in range(3)][-1])
    assert shares[0] == 0
    assert shares[1] > 0.9


def test_unit_scaling_takes_logarithms() -> None:
    options: dict[str, Any] = {"history": 1, "interval": "100 ms", "action": "window"}
    raw = Env(PATH, features=["latency_ratio", "send_ratio", "loss"], **options)
    unit = Env(PATH, features=["latency_ratio", "send_ratio", "loss"], scaling="unit", **options)
    raw.reset(seed=1)
    unit.reset(seed=1)
    for segments in (20, 40, 10):
        one, other = raw.step(window(segments))[0], unit.step(window(segments))[0]
        assert other[0] == pytest.approx(np.log10(one[0]) / 4, rel=1e-5)
        assert other[1] == pytest.approx(np.clip(np.log2(one[1]), -1, 1), rel=1e-5)
        assert other[2] == one[2]
    with pytest.raises(InputError, match="unit"):
        Env(PATH, scaling="units")


def test_the_truth_is_the_path_and_the_other_flows() -> None:
    rival = {"name": "r", "algorithm": "cubic", "source": {"rate": "2 Mbit/s"}}
    link = {**LINK, "buffer": "100 packets", "schedule": [{"at": "1.5 s", "rate": "5 Mbit/s"}]}
    scenario = {**PATH, "flows": [LEARNER, rival], "links": [link]}
    env = Env(scenario, truth=True, interval="200 ms", action="window")
    env.reset(seed=1)
    assert "capacity_bps" not in Env(scenario).reset(seed=1)[1]
    infos: list[dict[str, Any]] = []
    while not infos or infos[-1]["time_s"] < 2.99:
        infos.append(env.step(window(40))[4])
    assert all(info["base_rtt_s"] == 0.02 for info in infos)
    for info in infos:
        before, after = min(info["time_s"], 1.5), max(0.0, info["time_s"] - 1.5)
        begun = info["time_s"] - info["interval_s"]
        bits = 10e6 * max(0.0, before - begun) + 5e6 * min(after, info["interval_s"])
        assert info["capacity_bps"] == pytest.approx(bits / info["interval_s"])
    late = [info for info in infos if info["time_s"] > 2]
    # Headers are included in the rate of the source's packets; a window of 40 leaves a queue of at least 20.
    assert np.mean([info["other_goodput_bps"] for info in late]) == pytest.approx(2e6, rel=0.15)
    assert min(info["queue_packets"] for info in late) > 20


def test_timeouts_without_an_ack_end_an_episode() -> None:
    link = {**LINK, "schedule": [{"at": "1 s", "loss": 1}]}
    scenario = {**PATH, "links": [link], "duration": "60 s"}
    env = Env(scenario, action="window", interval="100 ms", collapse=3)
    env.reset(seed=1)
    over = False
    while not over:
        _, _, over, truncated, info = env.step(window(20))
        assert not truncated
    # Timeouts double: with a first one of at most 1 s (RFC 6298), the third expires at most 1 + 2 + 4 s after the loss.
    assert 2 < float(str(info["time_s"])) < 9
    patient = Env(scenario, action="window", interval="100 ms")
    patient.reset(seed=1)
    assert not any(patient.step(window(20))[2] for _ in range(90))


def test_the_end_of_an_episode_has_a_summary() -> None:
    env = Env(PATH, interval="100 ms", max_steps=12, action="window")
    env.reset(seed=1)
    rewards, info = [], {}
    for step in range(12):
        assert "summary" not in info, step
        _, reward, _, _, info = env.step(window(10))
        rewards.append(reward)
    summary: Any = info["summary"]
    assert summary["return"] == pytest.approx(sum(rewards))
    assert summary["length"] == 12
    assert summary["duration_s"] == info["time_s"]
    # A window of 10 is 60 % of a BDP of 16.7 packets: 10 packets per RTT, which includes 1.2 ms of transmission.
    assert summary["goodput_bps"] == pytest.approx(10 * 12000 / summary["mean_rtt_s"], rel=0.05)
    assert summary["loss_rate"] == 0
    env.reset(seed=1)
    assert "summary" not in env.step(window(10))[4]


def test_summaries_of_many_environments_are_those_of_single_ones() -> None:
    options: dict[str, Any] = {"interval": "50 ms", "max_steps": 7, "truth": True}
    for mode in (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP):
        ours = VectorEnv(PATH, num_envs=2, autoreset_mode=mode, **options)
        theirs = SyncVectorEnv([lambda: Env(PATH, **options)] * 2, autoreset_mode=mode)
        ours.reset(seed=3)
        theirs.reset(seed=3)
        for _ in range(7):
            mine: Any = ours.step(np.full((2, 1), 0.1, np.float32))[4]
            other: Any = theirs.step(np.full((2, 1), 0.1, np.float32))[4]
        if mode == AutoresetMode.SAME_STEP:
            mine, other = mine["final_info"], other["final_info"]
        assert set(mine["summary"]) == set(other["summary"])
        for key, values in other["summary"].items():
            np.testing.assert_array_equal(mine["summary"][key], values, err_msg=key)
        np.testing.assert_array_equal(mine["queue_packets"], other["queue_packets"])


def test_without_copies_two_arrays_take_turns() -> None:
    env = VectorEnv(PATH, num_envs=2, interval="20 ms", copy=False)
    kept = VectorEnv(PATH, num_envs=2, interval="20 ms")
    seen, other = [env.reset(seed=1)[0]], [kept.reset(seed=1)[0]]
    for _ in range(4):
        seen.append(env.step(np.zeros((2, 1)))[0])
        other.append(kept.step(np.zeros((2, 1)))[0])
        np.testing.assert_array_equal(seen[-1], other[-1])
    assert seen[0] is seen[2] is seen[4]
    assert seen[1] is seen[3]
    assert seen[0] is not seen[1]
    assert len({id(each) for each in other}) == 5


def test_an_agent_with_a_size_terminates_alone() -> None:
    flows = [{"name": "a", "algorithm": "external", "size": "100 kB"}, {"name": "b", "algorithm": "external"}]
    env = ParallelEnv({**PATH, "flows": flows})
    env.reset(seed=1)
    assert env.agents == ["a", "b"]
    ends: list[tuple[dict[str, bool], dict[str, bool]]] = []
    while env.agents:
        before = set(env.agents)
        observations, rewards, terminated, truncated, infos = env.step(dict.fromkeys(env.agents, 0.0))
        assert set(observations) == set(rewards) == set(terminated) == set(truncated) == set(infos) == before
        ends.append((terminated, truncated))
    first = next(i for i, (terminated, _) in enumerate(ends) if terminated.get("a"))
    assert all(set(terminated) == {"b"} for terminated, _ in ends[first + 1 :])
    assert ends[-1] == ({"b": False}, {"b": True})
    assert len(ends) - first > 20


def test_an_action_before_the_flow_starts_has_no_effect() -> None:
    flows = [{"name": "a", "algorithm": "external"}, {"name": "b", "algorithm": "external", "start": "1 s"}]
    rates = []
    for early in (-1.0, 1.0):
        env = ParallelEnv({**PATH, "flows": flows})
        env.reset(seed=1)
        found = []
        for _ in range(100):
            infos: Any = env.step({"a": -0.5, "b": early if len(found) < 40 else 0.0})[4]
            found.append(infos["b"]["send_rate_bps"])
        rates.append(found)
    assert rates[0] == rates[1]
    assert max(rates[0][60:]) > 0


def test_the_action_of_aurora_starts_at_a_share_of_the_rate() -> None:
    env = Env(Distribution.preset("aurora"), action="aurora", features="aurora", interval="0.5 RTT", max_steps=400)
    assert env.action_space.high[0] == np.float32(1e12)  # type: ignore[attr-defined]
    shares = []
    for seed in range(30):
        _, info = env.reset(seed=seed)
        link = Distribution.preset("aurora").sample(int(str(info["scenario_seed"]))).to_dict()["links"][0]
        share = float(str(info["first_rate_share"]))
        shares.append(share)
        delay_s = float(link["delay"].split()[0])
        assert info["time_s"] == pytest.approx(6 * delay_s)
        bps = share * float(link["rate"].split()[0])
        # At most 1000 packets per second; an action of 40 means 40 * 0.025 = 1: twice the rate.
        raw = env._core.step_one(40.0, env._room())
        assert raw[NAMES.index("set_rate_bps")] == pytest.approx(min(2 * bps, 1000 * 12000), rel=1e-9)
    assert 0.3 <= min(shares) < 0.6
    assert 1.2 < max(shares) <= 1.5
    with pytest.warns(UserWarning, match="symmetric and normalized"):
        check_env(Env(PATH, action="aurora"), skip_render_check=True)


def test_rewards_by_their_formulas() -> None:
    raw: dict[str, Any] = {name: np.array([0.0]) for name in NAMES}
    raw |= {
        "rate_bps": np.array([6e6]),
        "send_rate_bps": np.array([8e6]),
        "capacity_bps": np.array([10e6]),
        "lost_bps": np.array([1e6]),
        "loss_rate": np.array([0.02]),
        "mean_rtt_s": np.array([0.05]),
        "rtt_slope": np.array([0.1]),
        "min_rtt_s": np.array([0.02]),
        "srtt_s": np.array([0.04]),
        "flows": np.array([1.0]),
    }
    vivace = 8**0.9 - 900 * 8 * 0.1 - 11.35 * 8 * 0.02
    assert REWARDS["vivace"](raw)[0] == pytest.approx(vivace, rel=1e-12)
    assert REWARDS["remy"](raw)[0] == pytest.approx(math.log2(0.6) - math.log2(0.5), rel=1e-12)
    assert REWARDS["sage"](raw)[0] == pytest.approx(25 * 0.4**2 * 0.5, rel=1e-12)
    raw["lost_bps"] = np.array([4e6])
    assert REWARDS["sage"](raw)[0] == pytest.approx(-25 * 0.2**2 * 0.5, rel=1e-12)
    raw["flows"] = np.array([2.0])
    assert REWARDS["sage"](raw)[0] == pytest.approx(25 * math.exp(-8 * (6 / 4.75 - 1) ** 2), rel=1e-12)
    assert REWARDS["remy"](raw)[0] == pytest.approx(math.log2(1.2) - math.log2(0.5), rel=1e-12)


@pytest.mark.parametrize("name", list(REWARDS))
def test_the_engine_computes_the_formula_of_a_reward(name: str) -> None:
    seen: list[Any] = []

    def keep(raw: Any) -> Any:
        seen.append(REWARDS[name](raw)[0])
        return raw["rate_bps"] * 0

    ours, theirs = Env(PATH, reward=name, interval="60 ms"), Env(PATH, reward=keep, interval="60 ms")
    ours.reset(seed=2)
    theirs.reset(seed=2)
    random = np.random.default_rng(1)
    for _ in range(30):
        action = random.uniform(-1, 1, 1).astype(np.float32)
        reward = ours.step(action)[1]
        theirs.step(action)
        assert reward == pytest.approx(seen[-1], rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", ["mocc", "astraea"])
def test_a_reward_whose_source_was_not_read_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="was not read"):
        Env(PATH, reward=name)


def test_a_parameter_is_no_action() -> None:
    with pytest.raises(InputError, match="reads its parameters once"):
        Env(PATH, action="parameter")


def test_a_formula_has_measurements_and_known_operations() -> None:
    words = Formula("where(sent > 2, -sent ** 2, over(lost, sent, 1.0))").words()
    assert words[:3] == [("number", 2.0), ("sent", 0.0), ("less", 0.0)]
    with pytest.raises(ValueError, match="formula"):
        Formula("sent[0]").words()
    with pytest.raises(ScenarioError, match="no step is left"):
        Env({**PATH, "duration": "50 ms"}).reset(seed=1)
