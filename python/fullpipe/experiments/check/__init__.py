"""Suites of regression checks: metrics of a controller against limits, other controllers, and a stored baseline."""

from fullpipe.experiments.check.checks import Checked, Checks
from fullpipe.experiments.check.running import check
from fullpipe.experiments.check.suite import Suite

__all__ = ["Checked", "Checks", "Suite", "check"]
