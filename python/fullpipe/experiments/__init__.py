"""Runs of many scenarios, and what they say together: comparisons, sweeps, sizings."""
