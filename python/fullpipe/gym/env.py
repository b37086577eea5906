"""One learner, one path: Gymnasium's `Env`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from fullpipe.gym.core import REWARD, TERMINATED, TRUNCATED, Core, Options, Source
from fullpipe.gym.rewards import Reward

__all__ = ["Env", "observation_space"]


class Env(gymnasium.Env[npt.NDArray[np.float32], npt.ArrayLike]):
    """A flow under the control of an agent.

    A step applies the action, advances by an interval, and observes the ACKs in it: the effect of an action shows one
    round trip later. Equal seeds and actions give equal trajectories, in any process.

    Args:
        scenario: Scenario or distribution, or the file of either; one flow has ``algorithm = "external"``.
        action: A name of `ACTIONS`, or a table such as ``{"name": "rate-multiplier", "scale": 0.025}``.
        features: A set ("default", "aurora", "orca"), or names of `FEATURES`.
        history: Intervals in an observation.
        interval: Length of a step: a time such as ``"10 ms"``, or ``"1 RTT"``, the last mean RTT, at least 1 ms.
        reward: A name of `REWARDS`, or a function of the measurements (``fullpipe.gym.core``), arrays of one value.
        max_steps: Steps after which an episode is truncated; None for the scenario's duration.
        flatten: Whether an observation has one dimension; otherwise (history, features).
        scaling: "unit" for logarithms in place of ``latency_ratio`` and ``send_ratio``; the default set has them.
        collapse: Retransmission timeouts without an ACK between them that end an episode; None for no such end.
        truth: Whether ``info`` has the capacity, the base RTT, the queue, and the goodput of the other flows.

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
        scaling: str = "raw",
        collapse: int | None = None,
        truth: bool = False,
    ) -> None:
        options = Options(action, features, history, interval, reward, max_steps, scaling, collapse, truth)
        self._core = Core(scenario, 1, options, workers=1)
        self.observation_space = observation_space(self._core, flatten)  # type: ignore[assignment]  # of float32
        self.action_space = self._core.action.space()
        self._shape = self.observation_space.shape or ()

    def reset(
        self, *, seed: int | None = None, options: dict[str, object] | None = None
    ) -> tuple[npt.NDArray[np.float32], dict[str, object]]:
        """Begins an episode. Each draws a number from the environment's random stream, which gives the scenario and the
        seed of the simulation.
        """
        super().reset(seed=seed, options=options)
        self._core.begin(0, int(self.np_random.integers(0, 2**63)))
        observation = self._room()
        row = self._core.read(observation)[:, 0, 0].tolist()
        return observation, self._core.info(row)

    def step(self, action: npt.ArrayLike) -> tuple[npt.NDArray[np.float32], float, bool, bool, dict[str, object]]:
        """Applies an action for an interval."""
        number = action.item() if isinstance(action, np.ndarray) else float(np.asarray(action).reshape(-1)[0])
        observation = self._room()
        row = self._core.step_one(number, observation)
        return observation, row[REWARD], row[TERMINATED] > 0, row[TRUNCATED] > 0, self._core.info(row)

    def _room(self) -> npt.NDArray[np.float32]:
        return np.empty(self._shape, np.float32)


def observation_space(core: Core, flatten: bool) -> spaces.Box:
    """Space of one learner's observations."""
    low, high = (np.tile(ends, (core.history, 1)).astype(np.float32) for ends in (core.low, core.high))
    return spaces.Box(low.ravel() if flatten else low, high.ravel() if flatten else high, dtype=np.float32)
