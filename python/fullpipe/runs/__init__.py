"""Runs scenarios; what comes of a run, and its tables."""
