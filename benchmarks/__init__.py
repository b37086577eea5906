"""Comparisons with other simulators, run on demand: agreement of results, and speed."""
