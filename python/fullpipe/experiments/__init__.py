"""Experiments: comparisons, duels, sweeps, sizings, and report cards."""
