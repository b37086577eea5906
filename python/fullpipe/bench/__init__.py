"""The bench in the browser: one page, one file, without a server."""

from __future__ import annotations

import base64
import json
import shutil
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fullpipe.charts.looks import LOOKS
from fullpipe.errors import InputError
from fullpipe.scenario.quantity import Quantity

if TYPE_CHECKING:
    from fullpipe.scenario import Scenario

__all__ = ["NAME", "PAGE", "link", "page", "put_beside"]

PAGE = Path(__file__).with_name("page.html")
"""The page as it was built."""

NAME = "bench.html"
"""What the page is called beside a report."""

MOST_PACKETS = 1e8
"""Of a link that is busy throughout: what browsers simulate in some seconds."""

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
        raise InputError("there is no page of the bench here; `make web` builds it, with npm")
    html = PAGE.read_text(encoding="utf-8")
    if scenario is None:
        return html
    return html.replace(GIVEN.format("null"), GIVEN.format(json.dumps(scenario).replace("<", r"\u003c")), 1)


def link(scenario: Scenario, about: str = "") -> str | None:
    """An address, relative to the directory that has the page (`put_beside`), that opens it with a scenario.

    The scenario stands behind the ``#``, deflated (RFC 1951) and in the alphabet of RFC 4648, section 5.

    Args:
        scenario: What the page shows.
        about: What it is, in a line, which the page says.

    Returns:
        The address; None where the page can't run the scenario: its algorithm is not built in, or it is too long.
    """
    tree = scenario.to_dict()
    if not all(name in LOOKS["algorithms"] for name in _algorithms(tree)) or _packets(scenario) > MOST_PACKETS:
        return None
    head = f"# {' '.join(about.split())}\n" if about else ""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = deflate.compress((head + scenario.to_toml()).encode()) + deflate.flush()
    return f"{NAME}#s={base64.urlsafe_b64encode(packed).decode().rstrip('=')}"


def put_beside(directory: Path) -> bool:
    """Copies the page into a directory as `NAME`, where there is one; says whether there is."""
    if not PAGE.exists():
        return False
    shutil.copyfile(PAGE, directory / NAME)
    return True


def _algorithms(tree: dict[str, Any]) -> Iterator[str]:
    """Of all traffic, by name; of one that is no built-in one's, nothing that is a name."""
    for group in [*tree.get("flows", []), *tree.get("web", [])]:
        algorithm = group["algorithm"]
        yield algorithm if isinstance(algorithm, str) else str(algorithm.get("name", ""))


def _packets(scenario: Scenario) -> float:
    """What the fastest link carries when it is busy throughout; a trace's rate is not looked at."""
    tree = scenario.to_dict()
    rates = [Quantity.parse(each.get("rate")) for each in tree.get("links", [])]
    fastest_bps = max((rate.value for rate in rates if rate is not None), default=0.0)
    return fastest_bps * scenario.duration_s / (8 * float(tree.get("packet_size", PACKET_BYTES)))


PACKET_BYTES = 1000
"""Where a scenario does not say."""
