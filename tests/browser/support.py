"""Helpers of browser tests: the browser, the screens, and the accessibility checker."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from playwright.sync_api import Page

from fullpipe.playground import PAGE

CHROMIUM = shutil.which("chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WIDTHS = {"phone": 390, "desktop": 1280}

needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium here")
needs_page = pytest.mark.skipif(not PAGE.exists(), reason="needs `make web`")

AXE = Path(__file__).parent / "vendor" / "axe-core" / "axe.min.js"


def findings(page: Page, *, within: Sequence[str] = (), passes: int = 10) -> list[str]:
    """Findings of axe for a page, or for the parts that these selectors name, which is faster.

    At least ``passes`` checks must have passed, to show that axe has looked.
    """
    if page.evaluate("typeof axe") == "undefined":
        page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("(within) => axe.run(within.length ? { include: within } : document)", list(within))
    assert len(found["passes"]) > passes
    return [
        f"{each['id']}: {node['html'][:200]}: {node['failureSummary']}"
        for each in found["violations"]
        for node in each["nodes"]
    ]
