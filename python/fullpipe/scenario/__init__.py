"""Scenarios: what a run is made of."""

from fullpipe.scenario.scenario import MOST_BYTES, Scenario, parse, read_text

__all__ = ["MOST_BYTES", "Scenario", "parse", "read_text"]
