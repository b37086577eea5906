"""Scenarios: links, queues, flows, and cross traffic of a run."""

from fullpipe.scenario.scenario import MOST_BYTES, Scenario, parse, read_text

__all__ = ["MOST_BYTES", "Scenario", "parse", "read_text"]
