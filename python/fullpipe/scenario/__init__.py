"""Scenarios: links, queues, flows, and cross traffic of a run."""

from fullpipe.scenario.irtt import irtt_delays
from fullpipe.scenario.scenario import MOST_BYTES, Scenario, algorithm_name, parse, read_text

__all__ = ["MOST_BYTES", "Scenario", "algorithm_name", "irtt_delays", "parse", "read_text"]
