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
from fullpipe.gym.core import NAMES, STEPS, SUMMARY, TERMINATED, TRUNCATED, Core, Options, Source
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
        scaling: As for `Env`.
        collapse: As for `Env`.
        truth: As for `Env`.
        autoreset_mode: ``"NextStep"``, ``"SameStep"`` or ``"Disabled"``, or Gymnasium's `AutoresetMode`.
        workers: Threads; None for the number of cores.
        copy: Whether each call returns new observations. Otherwise two arrays take turns.

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
        scaling: str = "raw",
        collapse: int | None = None,
        truth: bool = False,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        workers: int | None = None,
        copy: bool = True,
    ) -> None:
        check_range("num_envs", num_envs, 1)
        try:
            self._mode = AutoresetMode(autoreset_mode)
        except ValueError:
            raise InputError(
                unknown("autoreset_mode", str(autoreset_mode), (mode.value for mode in AutoresetMode))
            ) from None
        options = Options(action, features, history, interval, reward, max_steps, scaling, collapse, truth)
        self._core = Core(scenario, num_envs, options, workers=workers)
        self.num_envs = num_envs
        self.metadata = {"autoreset_mode": self._mode}
        self.single_observation_space = observation_space(self._core, flatten)
        self.single_action_space = self._core.action.space()
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._randoms: list[np.random.Generator | None] = [None] * num_envs
        self._ended = np.zeros(num_envs, bool)
        self._rooms = [] if copy else [self._room(), self._room()]

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
        return self._seen(mask)

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, object]]:
        """Applies an action in each environment.

        Raises:
            InputError: An episode has ended, and nothing resets it.
        """
        given = np.ascontiguousarray(actions, np.float64).reshape(self.num_envs, 1)
        fresh = np.flatnonzero(self._ended).tolist()
        if self._mode == AutoresetMode.DISABLED and fresh:
            raise InputError("an episode has ended: reset it with options={'reset_mask': mask}")
        for begun in fresh:
            self._begin(begun)
        self._core.step(given, fresh)
        observations, rows = self._read()
        rewards = self._core.rewards(rows, fresh)[:, 0]
        terminated, truncated = rows[TERMINATED, :, 0] > 0, rows[TRUNCATED, :, 0] > 0
        ended = terminated | truncated
        self._ended = ended
        if self._mode == AutoresetMode.SAME_STEP and ended.any():
            final = np.full(self.num_envs, None, object)
            for place in np.flatnonzero(ended):
                final[place] = observations[place].copy()
            infos: dict[str, object] = {"final_obs": final, "_final_obs": ended.copy()}
            infos |= {"final_info": self._infos(rows, ended), "_final_info": ended.copy()}
            for place in np.flatnonzero(ended):
                self._begin(int(place))
            self._ended = np.zeros(self.num_envs, bool)
            observations, infos_now = self._seen(np.ones(self.num_envs, bool))
            return observations, rewards, terminated, truncated, {**infos_now, **infos}
        return observations, rewards, terminated, truncated, self._infos(rows, np.ones(self.num_envs, bool))

    def close_extras(self, **_: object) -> None:
        """Nothing is open."""

    def _begin(self, place: int) -> None:
        random = self._randoms[place]
        if random is None:
            raise InputError("step before reset")
        self._core.begin(place, int(random.integers(0, 2**63)))

    def _room(self) -> Array:
        return np.empty(self.observation_space.shape or (), np.float32)

    def _read(self) -> tuple[Array, Array]:
        """Observations and rows of all environments."""
        if self._rooms:
            self._rooms.reverse()
        observations = self._rooms[0] if self._rooms else self._room()
        return observations, self._core.read(observations)

    def _seen(self, mask: npt.NDArray[np.bool_]) -> tuple[Array, dict[str, object]]:
        observations, rows = self._read()
        return observations, self._infos(rows, mask)

    def _infos(self, rows: Array, mask: npt.NDArray[np.bool_]) -> dict[str, object]:
        """Facts as Gymnasium's vector form: an array for each key, and a mask."""
        core, found = self._core, {}
        every = bool(mask.all())
        for key, place in core.info_places:
            values = rows[place, :, 0]
            found[key] = values if every else np.where(mask, values, 0.0)
        found["scenario_seed"] = np.where(mask, np.array(core.seeds), 0)
        if core.action.start is not None:
            found["first_rate_share"] = np.where(mask, np.array(core.first_shares, float), 0.0)
        infos: dict[str, object] = {}
        for key, values in found.items():
            infos[key], infos[f"_{key}"] = values, mask.copy()
        ended = mask & ((rows[TERMINATED, :, 0] > 0) | (rows[TRUNCATED, :, 0] > 0))
        if ended.any():
            infos["summary"], infos["_summary"] = self._summary(rows, ended), ended
        return infos

    def _summary(self, rows: Array, ended: npt.NDArray[np.bool_]) -> dict[str, object]:
        found = {"return": self._core.returns[:, 0], "length": rows[STEPS, :, 0].astype(int)}
        found |= {key: rows[NAMES.index(name), :, 0] for key, name in SUMMARY.items()}
        summary: dict[str, object] = {}
        for key, values in found.items():
            summary[key], summary[f"_{key}"] = np.where(ended, values, np.zeros(1, values.dtype)), ended.copy()
        return summary
