"""Learning environments: Gymnasium's `Env` and `VectorEnv`, and PettingZoo's parallel API, over the simulator.

>>> import fullpipe.gym
>>> link = {"name": "l", "rate": "10 Mbit/s", "delay": "10 ms", "buffer": "1 BDP"}
>>> env = fullpipe.gym.Env({"duration": "10 s", "links": [link], "flows": [{"algorithm": "external"}]})
>>> observation, info = env.reset(seed=1)
>>> observation.shape
(40,)
>>> observation, reward, terminated, truncated, info = env.step(env.action_space.sample())

Requires ``pip install 'fullpipe[gym]'``.
"""

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fullpipe.gym.actions import ACTIONS
    from fullpipe.gym.distribution import Distribution
    from fullpipe.gym.env import Env
    from fullpipe.gym.exported import export
    from fullpipe.gym.features import FEATURES
    from fullpipe.gym.parallel import ParallelEnv
    from fullpipe.gym.policy import Policy
    from fullpipe.gym.presets import PRESETS
    from fullpipe.gym.rewards import REWARDS
    from fullpipe.gym.vector import VectorEnv

__all__ = [
    "ACTIONS",
    "FEATURES",
    "PRESETS",
    "REWARDS",
    "Distribution",
    "Env",
    "ParallelEnv",
    "Policy",
    "VectorEnv",
    "export",
]

_HOMES = {
    "ACTIONS": "actions",
    "Distribution": "distribution",
    "Env": "env",
    "FEATURES": "features",
    "ParallelEnv": "parallel",
    "PRESETS": "presets",
    "Policy": "policy",
    "REWARDS": "rewards",
    "VectorEnv": "vector",
    "export": "exported",
}

if not TYPE_CHECKING:

    def __getattr__(name):
        if name not in _HOMES:
            raise AttributeError(f"module 'fullpipe.gym' has no attribute {name!r}")
        try:
            found = getattr(import_module(f"fullpipe.gym.{_HOMES[name]}"), name)
        except ModuleNotFoundError as error:
            if error.name not in ("gymnasium", "pettingzoo"):
                raise
            from fullpipe.errors import InputError

            raise InputError(f"fullpipe.gym requires {error.name}: pip install 'fullpipe[gym]'") from None
        globals()[name] = found
        return found
