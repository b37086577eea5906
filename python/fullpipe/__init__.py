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

from fullpipe import _core
from fullpipe.algorithms import Algorithm, Param, algorithms
from fullpipe.comparison import Comparison, compare
from fullpipe.errors import Cancelled, FullpipeError, ScenarioError
from fullpipe.result import Result
from fullpipe.runner import run, run_many
from fullpipe.scenario import Scenario
from fullpipe.sizing import Sizing, size
from fullpipe.sweeps import Sweep, sweep

__version__ = _core.VERSION

__all__ = [
    "Algorithm",
    "Cancelled",
    "Comparison",
    "FullpipeError",
    "Param",
    "Result",
    "Scenario",
    "ScenarioError",
    "Sizing",
    "Sweep",
    "__version__",
    "algorithms",
    "compare",
    "run",
    "run_many",
    "size",
    "sweep",
]
