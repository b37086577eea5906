"""Many environments that step together on all cores: Gymnasium's `VectorEnv`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from fullpipe._util.text import unknown
from fullpipe.errors import InputError, check_range
from fullpipe.gym.core import Core, Source
from fullpipe.gym.env import observation_space
from fullpipe.gym.rewards import Reward

__all__ = ["VectorEnv"]

Array = npt.NDArray[Any]


class VectorEnv(gymnasium.vector.VectorEnv[Array, Array, Array]):
    """``num_envs`` environments as `Env`, which Rust advances on ``workers`` threads without the interpreter's lock.

    ``reset(seed=s)`` gives environment i the seed s + i. The trajectories are those of single environments to the last
    bit, with any number of workers.

    Args:
        scenario: As for `Env`.
        num_envs: Number of environments.
        action: As for `Env`.
        features: As for `Env`.
        history: As for `Env`.
        interval: As for `Env`.
        reward: As for `Env`; a function gets arrays with a value for each environment that made a step.
        max_steps: As for `Env`.
        flatten: As for `Env`.
        autoreset_mode: ``"NextStep"``, ``"SameStep"`` or ``"Disabled"``, or Gymnasium's `AutoresetMode`.
        workers: Threads; None for the number of cores.

    Raises:
        InputError: An argument is not allowed.
        ScenarioError: The scenario is wrong, or has no learner, or several.
    """

    def __init__(
        self,
        scenario: Source,
        num_envs: int = 1,
        *,
        action: str | Mapping[str, object] = "rate-multiplier",
        features: str | Sequence[str] | None = None,
        history: int = 10,
        interval: str = "1 RTT",
        reward: str | Reward = "aurora",
        max_steps: int | None = None,
        flatten: bool = True,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        workers: int | None = None,
    ) -> None:
        check_range("num_envs", num_envs, 1)
        try:
            self._mode = AutoresetMode(autoreset_mode)
        except ValueError:
            raise InputError(
                unknown("autoreset_mode", str(autoreset_mode), (mode.value for mode in AutoresetMode))
            ) from None
        self._core = Core(
            scenario,
            num_envs,
            action=action,
            features_of=features,
            history=history,
            interval=interval,
            reward=reward,
            max_steps=max_steps,
            workers=workers,
        )
        self.num_envs = num_envs
        self.metadata = {"autoreset_mode": self._mode}
        self.single_observation_space = observation_space(self._core, flatten)
        self.single_action_space = self._core.action.space()
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._randoms: list[np.random.Generator | None] = [None] * num_envs
        self._ended = np.zeros(num_envs, bool)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, object] | None = None
    ) -> tuple[Array, dict[str, object]]:
        """Begins an episode in each environment, or in those of ``options["reset_mask"]``.

        Raises:
            InputError: The number of seeds, or the mask, is not that of the environments.
        """
        if seed is None or isinstance(seed, int):
            seeds = [None if seed is None else seed + i for i in range(self.num_envs)]
        else:
            seeds = list(seed)
        mask = np.asarray((options or {}).get("reset_mask", np.ones(self.num_envs, bool)))
        if len(seeds) != self.num_envs or mask.shape != (self.num_envs,):
            raise InputError(f"seed and reset_mask require {self.num_envs} values")
        for place in np.flatnonzero(mask):
            if seeds[place] is not None or self._randoms[place] is None:
                self._randoms[place] = seeding.np_random(seeds[place])[0]
            self._begin(int(place))
        self._ended[mask] = False
        return self._observations(), self._infos(mask)

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, object]]:
        """Applies an action in each environment.

        Raises:
            InputError: An episode has ended, and nothing resets it.
        """
        actions = np.asarray(actions).reshape(self.num_envs, 1)
        fresh = self._ended.copy()
        if self._mode == AutoresetMode.DISABLED and fresh.any():
            raise InputError("an episode has ended: reset it with options={'reset_mask': mask}")
        going = np.flatnonzero(~fresh)
        rewards = np.zeros(self.num_envs)
        terminated, truncated = np.zeros(self.num_envs, bool), np.zeros(self.num_envs, bool)
        for place in np.flatnonzero(fresh):
            self._begin(int(place))
        if len(going):
            self._core.step(going, actions[going])
            rewards[going] = self._core.rewards(going)[:, 0]
            terminated[going] = self._core.terminated(going)
            truncated[going] = self._core.truncated(going)
        ended = terminated | truncated
        infos: dict[str, object] = {}
        if self._mode == AutoresetMode.SAME_STEP and ended.any():
            last = self._observations()
            final = np.full(self.num_envs, None, object)
            for place in np.flatnonzero(ended):
                final[place] = last[place].copy()
            infos = {"final_obs": final, "_final_obs": ended.copy()}
            infos |= {"final_info": self._infos(ended), "_final_info": ended.copy()}
            for place in np.flatnonzero(ended):
                self._begin(int(place))
            self._ended[:] = False
        else:
            self._ended = ended.copy()
        everyone = np.ones(self.num_envs, bool)
        return self._observations(), rewards, terminated, truncated, {**self._infos(everyone), **infos}

    def close_extras(self, **_: object) -> None:
        """Nothing is open."""

    def _begin(self, place: int) -> None:
        random = self._randoms[place]
        if random is None:
            raise InputError("step before reset")
        self._core.begin(place, int(random.integers(0, 2**63)))

    def _observations(self) -> Array:
        return self._core.observations(np.arange(self.num_envs)).reshape(self.observation_space.shape or ())

    def _infos(self, mask: npt.NDArray[np.bool_]) -> dict[str, object]:
        """Facts as Gymnasium's vector form: an array for each key, and a mask."""
        found: dict[str, object] = {}
        for key, values in self._core.infos(np.arange(self.num_envs)).items():
            found[key] = np.where(mask, values[:, 0], np.zeros(1, values.dtype))
            found[f"_{key}"] = mask.copy()
        return found
