"""Plots: a specification of what is shown (`spec`), drawn by matplotlib (`draw`) and as JSON for pages (`page`)."""
