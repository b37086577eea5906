"""Algorithms broken through their parameters: results that depend on the broken part must fail, and others must not."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from fullpipe import Scenario
from fullpipe.papers import select
from fullpipe.reproduce import Item, reproduce


def broken(item: Item, name: str, params: Mapping[str, Any]) -> Item:
    """The item's quick variant with an algorithm's parameters changed wherever it is used; its name, for another."""

    def change(scenario: Scenario) -> Scenario:
        tree = copy.deepcopy(scenario.to_dict())
        for group in tree["flows"]:
            own = group["algorithm"] if isinstance(group["algorithm"], dict) else {"name": group["algorithm"]}
            if own["name"] == name:
                group["algorithm"] = {**own, **params}
        return Scenario.from_dict(tree)

    scenarios = {key: change(scenario) for key, scenario in item.variant(True)[0].items()}
    assert scenarios != dict(item.variant(True)[0]), f"{item.id} does not use {name}"
    return replace(item, quick=None, scenarios=lambda: scenarios)


@pytest.mark.parametrize(
    ("item_id", "name", "params", "seen_by"),
    [
        # extra never grows: the window stays Reno's.
        ("hyun-jang/table-1", "hyun-jang", {"a": 1.0}, "utilization, proposed, k=1/8"),
        ("hyun-jang/figure-2", "hyun-jang", {"a": 1.0}, "extra fills more than half of the cycle"),
        ("hyun-jang/figure-3", "hyun-jang", {"a": 1.0}, "utilization, proposed"),
        # The algorithm assumes twice the actual BDP: the excess fills the buffer.
        ("hyun-jang/figure-2", "hyun-jang", {"alpha": 1.2, "beta": 1.0}, "W_full is the pipe"),
        # The safety check is skipped: the cut stays a twentieth, and standard TCP pays.
        ("ehstcp/safety-check", "ehstcp", {"safety_rtts": 0}, "friendliness comparable to HSTCP's"),
        ("ehstcp/safety-check", "ehstcp", {"safety_rtts": 0}, "and less is lost"),
        # BBRv1 for BBRv3: it continues into full queues.
        ("modern/c4", "bbr3", {"name": "bbr"}, "mean RTT, bbr3, alone_1_5M, ms"),
        ("modern/loss-zone", "bbr3", {"name": "bbr"}, "the third version leaves the zone"),
        # Vegas for CUBIC: the deep buffer stays empty.
        ("modern/c4", "cubic", {"name": "vegas"}, "mean RTT, cubic, bbloat, ms"),
        (
            "modern/westwood",
            "westwood",
            {"halve_in_recovery": True},
            "by its paper Westwood+ fills the link over any buffer",
        ),
    ],
)
def test_what_is_broken_is_seen(item_id: str, name: str, params: dict[str, Any], seen_by: str) -> None:
    (item,) = select(item_id)
    outcome = reproduce(broken(item, name, params), quick=True)
    assert outcome.status == "fail"
    assert seen_by in {check.name for check in outcome.checks if check.status == "fail"}
