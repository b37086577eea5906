"""The bench in the browser: one page, one file, without a server."""

from __future__ import annotations

import json
from pathlib import Path

from fullpipe.errors import InputError

__all__ = ["PAGE", "page"]

PAGE = Path(__file__).with_name("page.html")
"""The page as it was built."""

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
