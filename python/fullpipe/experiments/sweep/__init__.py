"""Sweeps: a scenario, axes of keys with values, and a run for every combination and seed."""

from fullpipe.experiments.sweep.axes import Axis
from fullpipe.experiments.sweep.plan import Plan
from fullpipe.experiments.sweep.sweeping import Sweep, read_plan, sweep, sweep_plan

__all__ = ["Axis", "Plan", "Sweep", "read_plan", "sweep", "sweep_plan"]
