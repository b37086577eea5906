"""A bench for TCP congestion control: one scenario in, one result out.

>>> import fullpipe
>>> scenario = fullpipe.Scenario(
...     duration="20 s",
...     warmup="5 s",
...     links=[{"name": "bottleneck", "rate": "10 Mbit/s", "delay": "20 ms", "buffer": "0.5 BDP"}],
...     flows=[{"algorithm": "newreno", "count": 2}],
... )
>>> result = fullpipe.run(scenario)
>>> [flow["algorithm"] for flow in result.flows.to_pylist()]
['newreno', 'newreno']
"""

from importlib import import_module

# Nothing is loaded before it is used: the program can deal with Ctrl-C from its first moment, and starts sooner.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from fullpipe import models
    from fullpipe.errors import AlgorithmError, Cancelled, FullpipeError, InputError, MemoryLimitError, ScenarioError
    from fullpipe.linux.errors import LinuxError
    from fullpipe.own import Classic, Signal, algorithm
    from fullpipe.registry import Algorithm, Param, Queue, algorithms, queues
    from fullpipe.runs.engines import run, run_many
    from fullpipe.runs.result import Result
    from fullpipe.scenario import Scenario
    from fullpipe.study.compare import compare
    from fullpipe.study.comparison import Comparison
    from fullpipe.study.duel import Duel, duel
    from fullpipe.study.evaluate import Card, evaluate
    from fullpipe.study.size import Sizing, size
    from fullpipe.study.sweep import Sweep, sweep

    __version__: str

__all__ = [
    "Algorithm",
    "AlgorithmError",
    "Cancelled",
    "Card",
    "Classic",
    "Comparison",
    "Duel",
    "FullpipeError",
    "InputError",
    "LinuxError",
    "LostBy",
    "MemoryLimitError",
    "Param",
    "Queue",
    "Result",
    "Scenario",
    "ScenarioError",
    "Signal",
    "Sizing",
    "Sweep",
    "__version__",
    "algorithm",
    "algorithms",
    "compare",
    "duel",
    "evaluate",
    "models",
    "queues",
    "run",
    "run_many",
    "size",
    "sweep",
]

_HOMES = {
    "linux.errors": ("LinuxError",),
    "errors": ("AlgorithmError", "Cancelled", "FullpipeError", "InputError", "MemoryLimitError", "ScenarioError"),
    "own": ("Classic", "LostBy", "Signal", "algorithm"),
    "registry": ("Algorithm", "Param", "Queue", "algorithms", "queues"),
    "runs.engines": ("run", "run_many"),
    "runs.result": ("Result",),
    "scenario": ("Scenario",),
    "study.compare": ("compare",),
    "study.comparison": ("Comparison",),
    "study.duel": ("Duel", "duel"),
    "study.evaluate": ("Card", "evaluate"),
    "study.size": ("Sizing", "size"),
    "study.sweep": ("Sweep", "sweep"),
}
"""The module of each name above."""

if not TYPE_CHECKING:

    def __getattr__(name):
        if name == "__version__":
            value = import_module("fullpipe._core").VERSION
        elif home := next((home for home, names in _HOMES.items() if name in names), None):
            value = getattr(import_module(f"fullpipe.{home}"), name)
        else:
            try:
                return import_module(f"fullpipe.{name}")
            except ModuleNotFoundError:
                raise AttributeError(f"module 'fullpipe' has no attribute {name!r}") from None
        globals()[name] = value
        return value

    def __dir__():
        return sorted({*globals(), *__all__})
