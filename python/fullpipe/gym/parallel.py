"""Several learners on one network: PettingZoo's parallel API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.utils import seeding
from pettingzoo import ParallelEnv as Base

from fullpipe.gym.core import Core, Source
from fullpipe.gym.env import ONLY, observation_space, one_info
from fullpipe.gym.rewards import Reward

__all__ = ["ParallelEnv"]

Observation = npt.NDArray[np.float32]


class ParallelEnv(Base[str, Observation, npt.ArrayLike]):  # type: ignore[misc]  # the package has no types
    """Flows under the control of an agent each. An agent has the name of its flow; members of a group are ``NAME/1``,
    ``NAME/2`` and so on. All act together, so that the interval is a fixed time.

    Before a flow sends, its observation is neutral, and its action has no effect. The episode ends for all agents
    together.

    Args:
        scenario: As for `Env`, with one learner or more.
        action: As for `Env`.
        features: As for `Env`; the default has ``active`` as well.
        history: As for `Env`.
        interval: Length of a step, a time.
        reward: As for `Env`; a function gets arrays with a value for each agent, so that it may join their rewards.
        max_steps: As for `Env`.

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
    ) -> None:
        if features is None:
            features = ("latency_slope", "log_latency_ratio", "log_send_ratio", "loss", "active")
        self._core = Core(
            scenario,
            1,
            action=action,
            features_of=features,
            history=history,
            interval=interval,
            reward=reward,
            max_steps=max_steps,
            workers=1,
            several=True,
        )
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
        return self._observations(), self._infos()

    def step(
        self, actions: Mapping[str, npt.ArrayLike]
    ) -> tuple[dict[str, Observation], dict[str, float], dict[str, bool], dict[str, bool], dict[str, object]]:
        """Applies an action of each agent for an interval."""
        names = self.possible_agents
        given = [float(np.asarray(actions.get(name, 0)).reshape(-1)[0]) for name in names]
        self._core.step(ONLY, np.array([given]))
        rewards = self._core.rewards(ONLY)[0]
        terminated = bool(self._core.terminated(ONLY)[0])
        truncated = bool(self._core.truncated(ONLY)[0])
        found = (
            self._observations(),
            {name: float(rewards[i]) for i, name in enumerate(names)},
            dict.fromkeys(names, terminated),
            dict.fromkeys(names, truncated),
            self._infos(),
        )
        if terminated or truncated:
            self.agents = []
        return found

    def _observations(self) -> dict[str, Observation]:
        found = self._core.observations(ONLY)[0]
        return {name: found[i].ravel() for i, name in enumerate(self.possible_agents)}

    def _infos(self) -> dict[str, object]:
        return {name: one_info(self._core, i) for i, name in enumerate(self.possible_agents)}
