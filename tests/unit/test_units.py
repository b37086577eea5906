"""Python's units against the engine's own, which it reads scenarios with."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from by_hand import SCENARIO
from fullpipe import Scenario, ScenarioError
from fullpipe.linux import ways
from fullpipe.metrics import SUFFIXES
from fullpipe.scenario.quantity import UNITS, Quantity

KEYS = {"s": ("delay", "s"), "bit/s": ("rate", "bit/s"), "bytes": ("buffer", "B"), "packets": ("buffer", "packets")}
"""Of each base, a key of a link that takes it, and the engine's own name of the base unit."""

NUMBERS = {"min": 0.25, "B": 7000}
"""What the engine takes of a unit, where 3 of it are too many or too few for the key."""

KNOWN = {
    "rate": {"bit/s", "kbit/s", "Mbit/s", "Gbit/s"},
    "delay": {"ns", "us", "ms", "s", "min"},
    "buffer": {"packets", "BDP", "B", "kB", "MB", "GB", "ns", "us", "ms", "s", "min"},
}


def resolved(key: str, value: str) -> Any:
    """Engine's value for a link's key."""
    link = {**SCENARIO["links"][0], "name": "bottleneck", key: value}
    model = Scenario(**{**SCENARIO, "duration": "1000 min", "links": [link, SCENARIO["links"][1]]}).model
    return model.resolved()["links"][0][key]


@pytest.mark.parametrize("unit", [unit for unit in UNITS if unit != "BDP"])
def test_a_unit_is_as_large_as_the_engines(unit: str) -> None:
    text = f"{NUMBERS.get(unit, 3)} {unit}"
    quantity = Quantity.parse(text)
    assert quantity is not None
    key, base = KEYS[quantity.base]
    plain = f"{Decimal(repr(quantity.value)):f} {base}"
    assert resolved(key, text) == resolved(key, plain)


@pytest.mark.parametrize("key", KNOWN)
def test_the_engine_knows_the_same_units(key: str) -> None:
    with pytest.raises(ScenarioError) as error:
        resolved(key, "1 furlong")
    allowed = str(error.value).partition("(allowed: ")[2].partition(")")[0]
    assert set(allowed.split(", ")) == KNOWN[key]
    assert KNOWN[key] <= UNITS.keys()


def test_by_hand() -> None:
    assert [
        (quantity.value, quantity.base)
        for quantity in map(Quantity.parse, ("1.5 kB", "250 ms", "2 Gbit/s", "1 min", "0.25 BDP", "-3e2us"))
        if quantity is not None
    ] == [(1500, "bytes"), (0.25, "s"), (2e9, "bit/s"), (60, "s"), (0.25, "BDP"), (pytest.approx(-3e-4), "s")]
    half, two = Quantity.parse("500 ms"), Quantity.parse("2 s")
    assert half is not None
    assert two is not None
    assert (half.in_unit("s"), two.in_unit("ms"), two.in_unit("s")) == (0.5, 2000, 2)
    # Metrics and columns of sweeps have these units too.
    assert set(UNITS.values()) == set(SUFFIXES.values())


@pytest.mark.parametrize("text", ["", "ms", "5", "5 parsecs", "1.2.3 ms", "5 ms or so", "e5 ms", None, 5, True])
def test_what_is_none(text: object) -> None:
    assert Quantity.parse(text) is None


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("999999.999999999 s", 999_999_999_999_999),
        ("123.456789 ms", 123_456_789),
        ("0.001 us", 1),
        ("1.5 min", 90_000_000_000),
        ("155.52 Mbit/s", 155_520_000),
        ("1.5 kB", 1500),
        ("7 segments", 7),
    ],
)
def test_the_laboratory_reads_whole_numbers(text: str, number: int) -> None:
    assert ways.whole(text) == number
