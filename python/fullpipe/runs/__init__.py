"""Runs of scenarios, their results, and tables."""
