"""The playground: one page, one file, without a server."""

from __future__ import annotations

import base64
import json
import math
import shutil
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from fullpipe._util.files import staged_file
from fullpipe._util.plain import Tree
from fullpipe.errors import InputError
from fullpipe.plots.looks import LOOKS
from fullpipe.scenario.quantity import Quantity

if TYPE_CHECKING:
    from fullpipe.scenario import Scenario

__all__ = ["NAME", "PAGE", "link", "packed", "page", "put_beside", "text_for"]

PAGE = Path(__file__).with_name("page.html")
"""The page as it was built."""

NAME = "playground.html"
"""File name of the page next to a report."""

MOST_PACKETS = 1e8
"""Maximum number of packets of a busy link that browsers simulate in a few seconds."""

GIVEN = '<script type="application/json" id="given">{}</script>'
"""Where the page has the scenario that it begins with."""


def page(scenario: str | None = None) -> str:
    """The page as HTML.

    Args:
        scenario: TOML that it begins with; None for the first of its presets.

    Raises:
        InputError: This installation has no page.
    """
    if not PAGE.exists():
        raise InputError("the playground requires its page; `make web` builds it, with npm")
    html = PAGE.read_text(encoding="utf-8")
    if scenario is None:
        return html
    return html.replace(GIVEN.format("null"), GIVEN.format(json.dumps(scenario).replace("<", r"\u003c")), 1)


def link(scenario: Scenario, about: str = "") -> str | None:
    """An address, relative to the directory that has the page (`put_beside`), that opens it with a scenario.

    Args:
        scenario: The scenario.
        about: Description in one line for the page.

    Returns:
        The address; None where the page can't run the scenario (`text_for`).
    """
    text = text_for(scenario, about)
    return None if text is None else f"{NAME}#s={packed(text)}"


def text_for(scenario: Scenario, about: str = "") -> str | None:
    """A scenario as the page takes it; None where its algorithm is not built in, or it is too long."""
    if not all(name in LOOKS["algorithms"] for name in _algorithms(scenario.to_dict())):
        return None
    if _packets(scenario) > MOST_PACKETS:
        return None
    return (f"# {' '.join(about.split())}\n" if about else "") + scenario.to_toml()


def packed(text: str) -> str:
    """Text as the page's address carries it: deflated (RFC 1951) and in the alphabet of RFC 4648, section 5."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    whole = deflate.compress(text.encode()) + deflate.flush()
    return base64.urlsafe_b64encode(whole).decode().rstrip("=")


def put_beside(directory: Path, most_bytes: float = math.inf) -> bool:
    """Copies the page into a directory as `NAME`, if there is a page and it is no larger; returns whether it did."""
    if not PAGE.exists() or PAGE.stat().st_size > most_bytes:
        (directory / NAME).unlink(missing_ok=True)
        return False
    # Moved into its place: a link of this name is replaced and not followed.
    with staged_file(directory / NAME) as stage:
        shutil.copyfile(PAGE, stage)
    return True


def _algorithms(tree: Tree) -> Iterator[str]:
    """Of all traffic, by name; of one that is no built-in one's, nothing that is a name."""
    for group in [*tree.get("flows", []), *tree.get("web", [])]:
        algorithm = group["algorithm"]
        yield algorithm if isinstance(algorithm, str) else str(algorithm.get("name", ""))


def _packets(scenario: Scenario) -> float:
    """Packets that the fastest link carries if it is always busy; rates of traces are ignored."""
    tree = scenario.to_dict()
    rates = [Quantity.parse(each.get("rate")) for each in tree.get("links", [])]
    fastest_bps = max((rate.value for rate in rates if rate is not None), default=0.0)
    return fastest_bps * scenario.duration_s / (8 * float(tree.get("packet_size", PACKET_BYTES)))


PACKET_BYTES = 1000
"""Default of scenarios."""
