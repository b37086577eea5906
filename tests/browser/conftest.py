"""Fixtures of the tests that need a browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Playwright, sync_playwright

from browser.support import CHROMIUM, FLAGS


@pytest.fixture(scope="module")
def playwright() -> Iterator[Playwright]:
    """For a file's tests, and no longer: it holds the thread's event loop."""
    with sync_playwright() as playing:
        yield playing


@pytest.fixture(scope="module")
def browser(playwright: Playwright) -> Iterator[Browser]:
    """Chromium, without a window."""
    chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
    yield chromium
    chromium.close()
