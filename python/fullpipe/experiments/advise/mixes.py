"""Scenario of `advise` from a few numbers: a ready mix of traffic for the rate, RTT, and users of a link."""

from __future__ import annotations

from fullpipe._util.examples import examples
from fullpipe._util.plain import Tree
from fullpipe._util.text import quoted, unknown
from fullpipe.errors import InputError, check_range
from fullpipe.scenario import Scenario
from fullpipe.scenario.quantity import Quantity

__all__ = ["USERS", "mix"]

USERS = {"home": 5, "branch": 20, "pon": 300, "backbone": 5000, "rack": 18}
"""Users of each mix in ``scenarios/mixes``: people, customers, or flows. The link of a phone has no fixed rate."""

MOST_USERS = 100_000
"""Users of a mix, at most."""


def mix(
    rate: str, *, rtt: str | None = None, users: int | None = None, name: str = "home", buffer: str | None = None
) -> Scenario:
    """Scenario of a ready mix, scaled to a link.

    The counts of flows, calls, and web users are in proportion to the users, and at least 1.

    Args:
        rate: Rate of the link, for example "50 Mbit/s".
        rtt: Base RTT of the path without the access delays of the users; None for that of the mix.
        users: Number of users; None for that of the mix (`USERS`).
        name: Name of the mix.
        buffer: Buffer of the link as it is; None for that of the mix, in milliseconds of the link's rate.

    Raises:
        ScenarioError: A value is not allowed for its key.
        InputError: The mix is unknown, or a value has no unit or is out of range.
    """
    if name not in USERS:
        raise InputError(unknown("mix", name, list(USERS)))
    if users is not None:
        check_range("users", users, 1, MOST_USERS)
    tree = Scenario.load(examples() / "scenarios" / "mixes" / f"{name}.toml").to_dict()
    (link,) = tree["links"]
    link["buffer"] = buffer or _scaled_buffer(link, _value("rate", rate, "bit/s", "50 Mbit/s"))
    link["rate"] = rate
    if rtt is not None:
        link["delay"] = f"{_value('rtt', rtt, 's', '40 ms') / 2:.9g} s"
    if users is not None:
        for table in ("flows", "udp", "web"):
            for group in tree.get(table, ()):
                _scale(group, users / USERS[name])
    return Scenario.from_dict(tree)


def _value(option: str, text: str, base: str, example: str) -> float:
    quantity = Quantity.parse(text)
    if quantity is None or quantity.base != base or quantity.value <= 0:
        raise InputError(f"{option} requires a value with a unit, e.g. {quoted(example)}, got {quoted(text)}")
    return quantity.value


def _scaled_buffer(link: Tree, rate_bps: float) -> str:
    """Buffer of the mix: packets in proportion to the rate, other units as they are."""
    own, rate = Quantity.parse(link["buffer"]), Quantity.parse(link["rate"])
    if own is None or rate is None or own.base != "packets":
        return str(link["buffer"])
    return f"{max(1, round(own.value * rate_bps / rate.value))} packets"


def _scale(group: Tree, factor: float) -> None:
    for key in ("count", "sessions"):
        if key in group or (key == "count" and "sessions" not in group and "transfers_per_second" not in group):
            group[key] = max(1, round(int(group.get(key, 1)) * factor))
    if "transfers_per_second" in group:
        group["transfers_per_second"] *= factor
