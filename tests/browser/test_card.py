"""The page of a card in a browser."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from browser.support import WIDTHS, findings, needs_browser, needs_page
from fullpipe import Scenario, run
from fullpipe.experiments.evaluate import Card
from fullpipe.experiments.evaluate.page import card_page, deciding
from test_evaluate_card import EVIL, card, made

__all__ = ["card", "made"]


@needs_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_the_page(browser: Browser, card: dict[str, Any], tmp_path: Path, width: str, scheme: Any) -> None:
    file = tmp_path / "card.html"
    file.write_text(card_page(card), encoding="utf-8")
    context = browser.new_context(viewport={"width": WIDTHS[width], "height": 900}, color_scheme=scheme)
    page = context.new_page()
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    assert page.locator("h1").inner_text().startswith(EVIL)
    lines = page.locator(".criteria > li")
    assert lines.count() == len(card["criteria"])
    for i, criterion in enumerate(card["criteria"]):
        line = lines.nth(i)
        assert line.locator(".badge").inner_text() == criterion["verdict"]
        assert line.locator("svg").count() == (deciding(criterion) is not None)
    # The first line's link leads to its cells; open all of them.
    page.locator(".criteria a").first.click()
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    for criterion in card["criteria"]:
        for cell in criterion["experiments"]:
            if cell["figures"]:
                assert page.get_by_text(cell["command"], exact=True).is_visible()
    figures = [figure for one in card["criteria"] for cell in one["experiments"] for figure in cell["figures"].values()]
    known = [figure for figure in figures if any(value is not None for value in figure["candidate"])]
    assert page.locator("svg.dots").count() == len(known)
    assert page.evaluate("document.documentElement.scrollWidth") <= WIDTHS[width]
    assert findings(page) == []
    assert said == []
    assert [url for url in asked if not url.startswith("data:")] == [file.as_uri()]
    context.close()


@needs_browser
@needs_page
def test_a_cells_scenario_is_tried_in_the_bench(browser: Browser, made: Card, tmp_path: Path) -> None:
    """Opens the playground by a click in the saved folder. Its measurements equal those of a run here."""
    made.save(tmp_path / "card")
    context = browser.new_context()
    context.set_offline(True)
    page = context.new_page()
    page.goto((tmp_path / "card" / "card.html").as_uri())
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    tried = set()
    for cell in ("step", "iot"):
        details = page.locator("details").filter(has=page.locator("summary strong", has_text=re.compile(f"^{cell}$")))
        first = details.locator("a[href^='playground.html']").first
        with context.expect_page() as opened:
            first.click()
        playground = opened.value
        playground.locator("#figures dd").first.wait_for()
        assert playground.locator("#story").inner_text().startswith(f"{cell}, {first.inner_text()}: ")
        scenario = Scenario.loads(playground.locator("#text").input_value())
        assert scenario in [Scenario.load(file) for file in (tmp_path / "card/scenarios" / cell).rglob("*.toml")]
        used = float(run(scenario).links["utilization"][0].as_py())
        exact = "text => playground.run(text).then(result => result.numbers('links', 'utilization')[0])"
        assert playground.evaluate(exact, playground.locator("#text").input_value()) == used
        tried.add(cell)
        playground.close()
    assert tried == {"step", "iot"}
    context.close()
