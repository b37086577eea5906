"""Types of a card's JSON. Keys of ``total=False`` are present where they apply."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

__all__ = ["CardData", "ComparedData", "CriterionData", "ExperimentData", "KernelData"]

Values = list[float | None]


class ComparedData(TypedDict, total=False):
    """Metric of a configuration, compared with the standards (`judging.Compared`)."""

    setting: str
    metric: str
    title: str
    unit: str
    rule: str
    victim: str
    verdict: str
    why: str
    limit: float
    bar: str
    difference: float
    ci95: float
    margin: float
    p: float
    seeds: int
    of_rates: bool
    apart: float
    least: float
    starves: bool
    among_many: bool
    shares: Mapping[str, float]
    times_tcp: Mapping[str, Values]
    candidate: Values
    newreno: Values
    cubic: Values
    linux: Mapping[str, Values]
    linux_shares: Mapping[str, float]


class ExperimentData(TypedDict, total=False):
    """Test case of a criterion (`judging.JudgedCell`)."""

    id: str
    title: str
    verdict: str
    why: str
    settings_run: int
    settings_in_all: int
    note: str
    command: str
    figures: dict[str, ComparedData]


class CriterionData(TypedDict, total=False):
    """Line of a card."""

    id: str
    title: str
    asks: str
    verdict: str
    where: str
    why: str
    addressed: bool
    cells_run: int
    cells_in_all: int
    settings_run: int
    settings_in_all: int
    experiments: list[ExperimentData]
    cells: list[ExperimentData]


class KernelData(TypedDict):
    """Runs of a real kernel (`card.Kernel`)."""

    kernel: str
    seeds: int
    settings: int
    failed_runs: int
    why: str
    note: str


class CardData(TypedDict, total=False):
    """Content of a card."""

    algorithm: str
    flow_keys: Mapping[str, object]
    profile: str
    fullpipe: str
    engine: str
    linux: KernelData
    seeds: int
    most_seeds: int
    criteria: list[CriterionData]
    risks: list[str]
    failed: list[Mapping[str, object]]
