"""The typed keys are those that the engine knows, and its names those that it allows; so are those of the reference."""

from __future__ import annotations

import re
import tomllib
from typing import Any, get_args, get_type_hints

import pytest

from fullpipe import Scenario, ScenarioError, _core
from fullpipe.scenario.keys import FlowKeys, FramesKeys, LinkKeys, ScenarioKeys, UdpKeys, WebKeys

LINK = {"name": "b", "rate": "1 Mbit/s", "delay": "1 ms", "buffer": "9 packets"}
WEB = {"algorithm": "reno", "sessions": 1, "mean_gap": "1 s", "mean_size": "9 kB"}


def refusal(place: str, key: str, value: Any) -> str:
    """Engine's message about a key of a table."""
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


def test_keys_of_frames() -> None:
    assert set(get_type_hints(FramesKeys)) == allowed(says("udp frames", "no_such_key", 1))


@pytest.mark.parametrize("key", ["host", "recovery", "slow_start", "pacing", "ecn", "idle", "growth"])
def test_names(key: str) -> None:
    assert set(get_args(get_type_hints(FlowKeys)[key])) == allowed(refusal("flows", key, "no such name"))


LISTS = _core.scenario_keys()
PLACES = {
    "": ["run"],
    "links": ["link", "direction", "varying"],
    "links reverse": ["direction", "varying"],
    "links schedule": ["change"],
    "links jitter": ["jitter"],
    "links reorder": ["reorder"],
    "links policer": ["policer"],
    "links loss": ["channel"],
    "flows": ["flow", "tcp", "traffic", "ip"],
    "flows source/rate": ["source-rate"],
    "flows source/on-off": ["source-on-off"],
    "flows source/frames": ["source-frames"],
    "flows source/requests": ["source-requests"],
    "flows source/video": ["source-video"],
    "udp": ["udp", "traffic", "ip"],
    "flows resume": ["resume"],
    "flows tunnel": ["tunnel"],
    "udp frames": ["frames"],
    "web": ["web", "tcp", "traffic"],
}
"""The tables of a scenario, and the lists of the reference that are about their keys."""

WHOLE: dict[str, Any] = {
    "jitter": {"model": "normal", "mean": "1 ms", "spread": "1 ms"},
    "reorder": {"probability": 0.1, "delay": "1 ms"},
    "policer": {"rate": "1 Mbit/s", "burst": "9 kB"},
    "loss": {"model": "gilbert-elliott", "p": 0.1, "r": 0.1},
    "resume": {"cwnd": 400, "rtt": "50 ms"},
    "tunnel": {"at": "1 s", "overhead": "60 B"},
    "schedule": [{"at": "1 s", "delay": "2 ms"}],
    "source/rate": {"rate": "1 Mbit/s"},
    "source/on-off": {"on": "1 s", "off": "1 s", "rate": "1 Mbit/s"},
    "source/requests": {"requests": "1 s", "size": "9 kB"},
    "source/video": {"video": ["1 Mbit/s"]},
    "source/frames": {"frames": "30/s", "size": "9 kB", "key_size": "9 kB", "key_every": 2},
    "frames": {"per_second": 1, "size": "9 B", "key_size": "9 B", "key_every": 2},
    "reverse": {},
}
"""Tables within a table that have all that they need; what follows a slash tells the forms of one key apart."""

QUIC = {"transport": "quic"}
NEEDED: dict[str, dict[str, Any]] = dict.fromkeys(("ack_reorder", "mtu_probes", "tunnel"), QUIC)
"""Keys that a key requires in the same table."""


def says(place: str, key: str, value: Any) -> str:
    """Engine's message about a key of any table, including those within a link; "" if the key is valid."""
    outer, _, inner = place.partition(" ")
    table: dict[str, Any] = {"links": dict(LINK), "web": dict(WEB), "udp": {"rate": "1 Mbit/s"}}.get(
        outer, {"algorithm": "reno"}
    )
    tree: dict[str, Any] = {"duration": "1000000 s", "links": [dict(LINK)], "flows": [{"algorithm": "reno"}]}
    if inner:
        within = WHOLE[inner]
        changed = [{**within[0], key: value}] if isinstance(within, list) else {**within, key: value}
        name = inner.partition("/")[0]
        table |= {**NEEDED.get(name, {}), name: changed}
    elif outer:
        table |= {**NEEDED.get(key, {}), key: value}
    else:
        tree[key] = value
    if outer:
        tree[outer] = [table]
    try:
        Scenario(**tree)
    except ScenarioError as error:
        return str(error)
    return ""


EVERY = [(place, key) for place, lists in PLACES.items() for name in lists for key in LISTS[name]]


def test_the_reference_has_every_list() -> None:
    assert {name for lists in PLACES.values() for name in lists} == set(LISTS)


@pytest.mark.parametrize("place", PLACES)
def test_the_reference_has_the_keys_that_the_reader_knows(place: str) -> None:
    names = [key["name"] for name in PLACES[place] for key in LISTS[name]]
    assert len(names) == len(set(names))
    assert set(names) == allowed(says(place, "no_such_key", 1))


@pytest.mark.parametrize(("place", "key"), EVERY, ids=lambda each: each if isinstance(each, str) else each["name"])
def test_the_reference_says_what_the_reader_does(place: str, key: Any) -> None:
    """A default equals a missing key. Beyond the bounds, the reader names those bounds."""
    assert key["doc"].endswith(".")
    if key["default"] is not None:
        default = tomllib.loads(f"x = {key['default']}")["x"]
        assert not says(place, key["name"], default)
    bounds = re.fullmatch(r"(\S+ ?\S*) to (\S+ ?\S*)", key["allowed"])
    if bounds and key["kind"] in UNITS:
        beyond = UNITS[key["kind"]](bounds)
        found = says(place, key["name"], beyond)
        assert bounds[1] in found, found
        assert bounds[2] in found, found


UNITS = {
    "time": lambda _: "1000000000 s",
    "time or spread": lambda _: "1000000000 s",
    "rate": lambda _: "1000000 Gbit/s",
    "data": lambda _: "10000000 GB",
    "whole number": lambda bounds: int(bounds[2]) + 1 if int(bounds[2]) < 2**63 - 1 else -1,
    "whole number, or data": lambda bounds: int(bounds[2]) + 1,
    "whole number, or packets": lambda bounds: int(bounds[2]) + 1,
}
"""For each kind of key what is beyond its bounds."""


def test_defaults_are_those_of_a_scenario_that_says_nothing() -> None:
    silent = Scenario(duration="9 s", links=[LINK], flows=[{"algorithm": "reno"}]).resolved().to_dict()
    (link,), (flow,) = silent["links"], silent["flows"]
    tables = {"run": silent, "direction": link, "tcp": flow, "traffic": flow, "flow": flow}
    tried = 0
    for name, table in tables.items():
        for key in LISTS[name]:
            if key["default"] is not None and key["name"] in table:
                assert table[key["name"]] == tomllib.loads(f"x = {key['default']}")["x"], key["name"]
                tried += 1
    assert tried > 15
