"""Plots: a specification (`spec`), drawn by matplotlib (`draw`) and as JSON for pages (`page`)."""
