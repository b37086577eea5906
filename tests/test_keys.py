"""The typed keys are those that the engine knows, and its names those that it allows."""

from __future__ import annotations

import re
from typing import Any, get_args, get_type_hints

import pytest

from fullpipe import Scenario, ScenarioError
from fullpipe.scenario.keys import FlowKeys, LinkKeys, ScenarioKeys, UdpKeys, WebKeys

LINK = {"name": "b", "rate": "1 Mbit/s", "delay": "1 ms", "buffer": "9 packets"}
WEB = {"algorithm": "reno", "sessions": 1, "mean_gap": "1 s", "mean_size": "9 kB"}


def refusal(place: str, key: str, value: Any) -> str:
    """What the engine says of a key of a table."""
    tree: dict[str, Any] = {"duration": "1 s", "links": [dict(LINK)], "flows": [{"algorithm": "reno"}]}
    tree |= {"udp": [{"rate": "1 kbit/s"}], "web": [dict(WEB)]}
    (tree[place][0] if place else tree)[key] = value
    with pytest.raises(ScenarioError) as error:
        Scenario(**tree)
    return str(error.value)


def allowed(text: str) -> set[str]:
    """The names that a message lists."""
    return set(re.findall(r"\(allowed: ([^)]*)\)", text)[0].split(", "))


@pytest.mark.parametrize(
    ("place", "keys"),
    [("", ScenarioKeys), ("links", LinkKeys), ("flows", FlowKeys), ("udp", UdpKeys), ("web", WebKeys)],
)
def test_keys(place: str, keys: Any) -> None:
    assert set(get_type_hints(keys)) == allowed(refusal(place, "no_such_key", 1))


@pytest.mark.parametrize("key", ["host", "recovery", "slow_start", "pacing", "ecn"])
def test_names(key: str) -> None:
    assert set(get_args(get_type_hints(FlowKeys)[key])) == allowed(refusal("flows", key, "no such name"))
