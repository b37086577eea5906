"""Sweeps: a scenario, axes along which some of its keys change, and a run for every combination and seed."""

from fullpipe.sweeps.axes import Axis
from fullpipe.sweeps.plan import Plan
from fullpipe.sweeps.sweep import Sweep, load_plan, sweep, sweep_plan

__all__ = ["Axis", "Plan", "Sweep", "load_plan", "sweep", "sweep_plan"]
