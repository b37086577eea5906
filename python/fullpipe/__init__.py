"""Congestion control on simulated links: run a scenario, and get a result.

run(scenario)                                        one run: metrics per link, per flow, and per group
compare(scenario, ["newreno", "cubic"], seeds=5)     the scenario with each algorithm, under equal random choices
sweep(scenario, {"links.0.buffer": ["1 BDP", ...]})  every combination of the values of some keys
size("100 Mbit/s", "40 ms", flows=[1, 10], ...)      the smallest buffer with which a link meets a target

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
    from fullpipe.custom.algorithm import algorithm
    from fullpipe.custom.bbr3 import Bbr3, Bbr3State
    from fullpipe.custom.classic import Classic, Signal
    from fullpipe.custom.cubic import Cubic
    from fullpipe.custom.packets import packet_algorithm
    from fullpipe.errors import AlgorithmError, Cancelled, FullpipeError, InputError, MemoryLimitError, ScenarioError
    from fullpipe.experiments.advise import Advice, advise
    from fullpipe.experiments.check import Checks, check
    from fullpipe.experiments.compare import compare
    from fullpipe.experiments.comparison import Comparison
    from fullpipe.experiments.conform import Conformance, conform
    from fullpipe.experiments.duel import Duel, duel
    from fullpipe.experiments.evaluate import Card, Statement, evaluate
    from fullpipe.experiments.explain import Explanation, explain
    from fullpipe.experiments.search import Search, search
    from fullpipe.experiments.sizing import Sizing, size
    from fullpipe.experiments.sweep import Sweep, sweep
    from fullpipe.linux.errors import LinuxError
    from fullpipe.registry import Algorithm, Param, Queue, algorithms, queues
    from fullpipe.runs.engines import run, run_many
    from fullpipe.runs.recording import Recording
    from fullpipe.runs.result import Result
    from fullpipe.runs.results import Results
    from fullpipe.runs.stepwise import ExternalFlow, Simulation, Snapshot
    from fullpipe.scenario import Scenario

    __version__: str

__all__ = [
    "Advice",
    "Algorithm",
    "AlgorithmError",
    "Bbr3",
    "Bbr3State",
    "Cancelled",
    "Card",
    "Checks",
    "Classic",
    "Comparison",
    "Conformance",
    "Cubic",
    "Duel",
    "Explanation",
    "ExternalFlow",
    "FullpipeError",
    "InputError",
    "LinuxError",
    "LostBy",
    "MemoryLimitError",
    "Param",
    "Queue",
    "Recording",
    "Result",
    "Results",
    "Scenario",
    "ScenarioError",
    "Search",
    "Signal",
    "Simulation",
    "Sizing",
    "Snapshot",
    "Statement",
    "Sweep",
    "__version__",
    "advise",
    "algorithm",
    "algorithms",
    "check",
    "compare",
    "conform",
    "duel",
    "evaluate",
    "explain",
    "models",
    "packet_algorithm",
    "queues",
    "run",
    "run_many",
    "search",
    "size",
    "sweep",
]

_HOMES = {
    "linux.errors": ("LinuxError",),
    "errors": ("AlgorithmError", "Cancelled", "FullpipeError", "InputError", "MemoryLimitError", "ScenarioError"),
    "custom.bbr3": ("Bbr3", "Bbr3State"),
    "custom.classic": ("Classic", "LostBy", "Signal"),
    "custom.cubic": ("Cubic",),
    "custom.algorithm": ("algorithm",),
    "custom.packets": ("packet_algorithm",),
    "registry": ("Algorithm", "Param", "Queue", "algorithms", "queues"),
    "runs.engines": ("run", "run_many"),
    "runs.recording": ("Recording",),
    "runs.result": ("Result",),
    "runs.results": ("Results",),
    "runs.stepwise": ("ExternalFlow", "Simulation", "Snapshot"),
    "scenario": ("Scenario",),
    "experiments.advise": ("Advice", "advise"),
    "experiments.check": ("Checks", "check"),
    "experiments.compare": ("compare",),
    "experiments.comparison": ("Comparison",),
    "experiments.conform": ("Conformance", "conform"),
    "experiments.duel": ("Duel", "duel"),
    "experiments.evaluate": ("Card", "Statement", "evaluate"),
    "experiments.explain": ("Explanation", "explain"),
    "experiments.search": ("Search", "search"),
    "experiments.sizing": ("Sizing", "size"),
    "experiments.sweep": ("Sweep", "sweep"),
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
        return sorted(__all__)
