"""Several learners on one network: PettingZoo's parallel API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.utils import seeding
from pettingzoo import ParallelEnv as Base

from fullpipe.gym.core import TERMINATED, TRUNCATED, Core, Options, Source
from fullpipe.gym.env import observation_space
from fullpipe.gym.rewards import Reward

__all__ = ["ParallelEnv"]

Observation = npt.NDArray[np.float32]


class ParallelEnv(Base[str, Observation, npt.ArrayLike]):  # type: ignore[misc]  # the package has no types
    """Flows under the control of an agent each. An agent has the name of its flow; members of a group are ``NAME/1``,
    ``NAME/2`` and so on. All act together, so that the interval is a fixed time.

    Before a flow sends, its observation is neutral, and its action has no effect. An agent whose flow has delivered its
    size terminates, and leaves the others. The end of the scenario truncates those that are left.

    Args:
        scenario: As for `Env`, with one learner or more.
        action: As for `Env`.
        features: As for `Env`; the default has ``active`` as well.
        history: As for `Env`.
        interval: Length of a step, a time.
        reward: As for `Env`; a function gets arrays with a value for each agent, so that it may join their rewards.
        max_steps: As for `Env`.
        scaling: As for `Env`.
        collapse: As for `Env`.
        truth: As for `Env`.

    Raises:
        InputError: An argument is not allowed.
        ScenarioError: The scenario is wrong, or has no learner.
    """

    metadata: dict[str, object] = {"name": "fullpipe", "render_modes": []}  # noqa: RUF012

    def __init__(
        self,
        scenario: Source,
        *,
        action: str | Mapping[str, object] = "rate-multiplier",
        features: str | Sequence[str] | None = None,
        history: int = 10,
        interval: str = "20 ms",
        reward: str | Reward = "aurora",
        max_steps: int | None = None,
        scaling: str = "raw",
        collapse: int | None = None,
        truth: bool = False,
    ) -> None:
        if features is None:
            features = ("latency_slope", "log_latency_ratio", "log_send_ratio", "loss", "active")
        shared = Options(action, features, history, interval, reward, max_steps, scaling, collapse, truth)
        self._core = Core(scenario, 1, shared, workers=1, several=True)
        self.render_mode = None
        self.possible_agents = list(self._core.names)
        self.agents: list[str] = []
        self.observation_spaces = {name: observation_space(self._core, True) for name in self.possible_agents}
        self.action_spaces = {name: self._core.action.space() for name in self.possible_agents}
        self._random: np.random.Generator | None = None

    def observation_space(self, agent: str) -> spaces.Box:
        """Space of an agent's observations."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Space of an agent's actions."""
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, object] | None = None
    ) -> tuple[dict[str, Observation], dict[str, object]]:
        """Begins an episode; ``options`` are ignored."""
        del options
        if seed is not None or self._random is None:
            self._random = seeding.np_random(seed)[0]
        self.agents = list(self.possible_agents)
        self._core.begin(0, int(self._random.integers(0, 2**63)))
        observations, rows = self._read()
        return observations, self._infos(rows)

    def step(
        self, actions: Mapping[str, npt.ArrayLike]
    ) -> tuple[dict[str, Observation], dict[str, float], dict[str, bool], dict[str, bool], dict[str, object]]:
        """Applies an action of each agent for an interval."""
        given = [float(np.asarray(actions.get(name, 0)).reshape(-1)[0]) for name in self.possible_agents]
        self._core.step(np.array([given]))
        observations, rows = self._read()
        rewards = self._core.rewards(rows)[0]
        found = (
            observations,
            {name: float(rewards[i]) for i, name in self._present()},
            {name: bool(rows[TERMINATED, 0, i] > 0) for i, name in self._present()},
            {name: bool(rows[TRUNCATED, 0, i] > 0) for i, name in self._present()},
            self._infos(rows),
        )
        self.agents = [name for name in self.agents if not (found[2][name] or found[3][name])]
        return found

    def _present(self) -> list[tuple[int, str]]:
        """Agents that are left, with their places among all."""
        return [(i, name) for i, name in enumerate(self.possible_agents) if name in self.agents]

    def _read(self) -> tuple[dict[str, Observation], npt.NDArray[np.float64]]:
        width = self._core.history * len(self._core.features)
        found = np.empty((self._core.agents, width), np.float32)
        rows = self._core.read(found)
        return {name: found[i].copy() for i, name in self._present()}, rows

    def _infos(self, rows: npt.NDArray[np.float64]) -> dict[str, object]:
        return {name: self._core.info(rows[:, 0, i].tolist(), agent=i) for i, name in self._present()}
