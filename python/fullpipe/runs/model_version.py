"""Version of the simulator's results."""

__all__ = ["MODEL_VERSION"]

MODEL_VERSION = 1
"""Integer that is raised only when results of the simulator change; equal on all platforms.

Baseline files of `fullpipe.check` contain it. A release with the same number does not invalidate them.
"""
