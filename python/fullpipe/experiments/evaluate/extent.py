"""Number of seeds, test cases, and configurations behind a card, as text."""

from __future__ import annotations

from fullpipe.experiments.evaluate.data import CardData, CriterionData

__all__ = ["run_of", "seeds_used"]


def seeds_used(data: CardData) -> str:
    """Number of seeds of a card."""
    most = data.get("most_seeds", data["seeds"])
    added = f", up to {most} where a verdict was inconclusive" if most > data["seeds"] else ""
    return f"{data['seeds']} seeds{added}"


def run_of(one: CriterionData) -> tuple[str, str]:
    """Numbers of test cases and of configurations that were run for a criterion; empty if no run can answer it."""
    if "cells_run" not in one:
        return "", ""
    settings = f"{one['settings_run']} of {one['settings_in_all']}" if one["settings_in_all"] else ""
    return f"{one['cells_run']} of {one['cells_in_all']}", settings
