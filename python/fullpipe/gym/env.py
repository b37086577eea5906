"""One learner, one path: Gymnasium's `Env`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from fullpipe.gym.core import Core, Source
from fullpipe.gym.rewards import Reward

__all__ = ["Env", "observation_space", "one_info"]

ONLY = np.array([0])


class Env(gymnasium.Env[npt.NDArray[np.float32], npt.ArrayLike]):
    """A flow under the control of an agent.

    A step applies the action, advances by an interval, and observes the ACKs in it: the effect of an action shows one
    round trip later. Equal seeds and actions give equal trajectories, in any process.

    Args:
        scenario: Scenario or distribution, or the file of either; one flow has ``algorithm = "external"``.
        action: A name of `ACTIONS`, or a table such as ``{"name": "rate-multiplier", "scale": 0.025}``.
        features: A preset ("default", "aurora", "orca"), or names of `FEATURES`.
        history: Intervals in an observation.
        interval: Length of a step: a time such as ``"10 ms"``, or ``"1 RTT"``, the last mean RTT, at least 1 ms.
        reward: A name of `REWARDS`, or a function of the measurements (``fullpipe.gym.core``), arrays of one value.
        max_steps: Steps after which an episode is truncated; None for the scenario's duration.
        flatten: Whether an observation has one dimension; otherwise (history, features).

    Raises:
        InputError: An argument is not allowed.
        ScenarioError: The scenario is wrong, or has no learner, or several.
    """

    metadata: dict[str, object] = {"render_modes": []}  # noqa: RUF012

    def __init__(
        self,
        scenario: Source,
        *,
        action: str | Mapping[str, object] = "rate-multiplier",
        features: str | Sequence[str] | None = None,
        history: int = 10,
        interval: str = "1 RTT",
        reward: str | Reward = "aurora",
        max_steps: int | None = None,
        flatten: bool = True,
    ) -> None:
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
        )
        self.observation_space = observation_space(self._core, flatten)  # type: ignore[assignment]  # of float32
        self.action_space = self._core.action.space()

    def reset(
        self, *, seed: int | None = None, options: dict[str, object] | None = None
    ) -> tuple[npt.NDArray[np.float32], dict[str, object]]:
        """Begins an episode. Each draws a number from the environment's random stream, which gives the scenario and the
        seed of the simulation.
        """
        super().reset(seed=seed, options=options)
        self._core.begin(0, int(self.np_random.integers(0, 2**63)))
        return self._observation(), one_info(self._core, 0)

    def step(self, action: npt.ArrayLike) -> tuple[npt.NDArray[np.float32], float, bool, bool, dict[str, object]]:
        """Applies an action for an interval."""
        self._core.step(ONLY, np.asarray(action).reshape(1, 1))
        terminated = bool(self._core.terminated(ONLY)[0])
        truncated = bool(self._core.truncated(ONLY)[0])
        reward = float(self._core.rewards(ONLY)[0, 0])
        return self._observation(), reward, terminated, truncated, one_info(self._core, 0)

    def _observation(self) -> npt.NDArray[np.float32]:
        return self._core.observations(ONLY).reshape(self.observation_space.shape or ())


def observation_space(core: Core, flatten: bool) -> spaces.Box:
    """Space of one learner's observations."""
    low, high = (np.tile(ends, (core.history, 1)).astype(np.float32) for ends in (core.low, core.high))
    return spaces.Box(low.ravel() if flatten else low, high.ravel() if flatten else high, dtype=np.float32)


def one_info(core: Core, agent: int) -> dict[str, object]:
    """Facts about the last interval of one learner."""
    return {key: values[0, agent].item() for key, values in core.infos(ONLY).items()}
