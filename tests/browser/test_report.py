"""The report in a real browser: the whole quick reproduction, every item, no error, no network."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from browser.support import WIDTHS, findings, needs_browser, needs_page
from conftest import ROOT
from fullpipe import Result, Scenario
from fullpipe.papers import PAPERS, select
from fullpipe.playground import NAME
from fullpipe.reproduce import Outcome, Rows
from fullpipe.reproduce.check import judge
from fullpipe.reproduce.item import expected
from fullpipe.reproduce.report import MOST_BYTES
from fullpipe.reproduce.report.page import page as render


@pytest.fixture(scope="module")
def page_file(reproduced: dict[str, Any], report_directory: Path) -> Path:
    assert reproduced["items"]
    return report_directory / "index.html"


def test_the_report_is_small_enough_for_a_mail(page_file: Path) -> None:
    assert page_file.stat().st_size < 2e6


@needs_browser
@pytest.mark.parametrize(("width", "scheme"), [("phone", "dark"), ("desktop", "light")])
def test_the_page(browser: Browser, page_file: Path, reproduced: dict[str, Any], width: str, scheme: Any) -> None:
    context = browser.new_context(viewport={"width": WIDTHS[width], "height": 900}, color_scheme=scheme)
    page = context.new_page()
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(page_file.as_uri())
    _sees_claims(page, width)
    for item in reproduced["items"]:
        _sees(page, item, page_file.parent, WIDTHS[width])
    assert said == []
    assert [url for url in asked if not url.startswith("data:")] == [page_file.as_uri()]
    assert float(page.evaluate("parseFloat(getComputedStyle(document.body).fontSize)")) >= 16
    context.close()


def _sees_claims(page: Page, width: str) -> None:
    """Each paper's claim with a verdict and a drawn picture; on a desk the first screen begins all of them."""
    claims = page.locator(".claim").all()
    assert len(claims) == len(PAPERS)
    for claim in claims:
        assert claim.locator("h2").inner_text()
        assert claim.locator(".words span").inner_text()
        assert claim.locator(".picture .cell :is(svg, canvas)").first.is_visible()
    assert page.locator("article:visible").count() == 0
    assert _no_wider(page, WIDTHS[width])
    if width == "desktop":
        assert max(claim.bounding_box()["y"] for claim in claims) < 900  # type: ignore[index]


def _no_wider(page: Page, width: int) -> bool:
    """Nothing has to be scrolled sideways but wide tables, which do so by themselves."""
    return int(page.evaluate("document.documentElement.scrollWidth")) <= width


LOOK = """id => {
    const article = document.querySelector(`article[data-item='${id}']`);
    const row = document.querySelector(`.contents a[href='#${id}']`).closest('li');
    return {
        visible: [...document.querySelectorAll('article')].filter(each => each.checkVisibility()).length,
        head: article.querySelector('h1').innerText,
        width: document.documentElement.scrollWidth,
        drawn: [...article.querySelectorAll('.picture')].map(
            picture => picture.querySelectorAll('.charts :is(svg, canvas)').length),
        checks: article.querySelectorAll('.checks tbody tr').length,
        dots: [...row.querySelectorAll('.dot')].map(dot => dot.className.split(' ')[1]),
        text: article.innerText,
        links: [...article.querySelectorAll('a')].map(link => link.getAttribute('href')),
    };
}"""
"""Content of an item on the screen, in one call: many calls of the browser take seconds per item."""


def _sees(page: Page, item: dict[str, Any], directory: Path, width: int) -> None:
    page.evaluate("(id) => { location.hash = id }", item["id"])
    page.locator(f"article[data-item='{item['id']}'] .picture .cell :is(svg, canvas)").first.wait_for()
    seen = page.evaluate(LOOK, item["id"])
    assert seen["visible"] == 1
    assert page.title().startswith(seen["head"])
    assert seen["width"] <= width, item["id"]
    assert all(count > 0 for count in seen["drawn"]), item["id"]
    assert seen["checks"] == len(item["checks"])
    kinds = {"pass": "pass", "documented miss": "known", "fail": "fail"}
    assert seen["dots"] == [kinds[check["status"]] for check in item["checks"]]
    for check in item["checks"]:
        assert check["name"] in seen["text"]
        assert check["status"] != "documented miss" or check["miss"] in seen["text"]
    for target in seen["links"]:
        assert target == "#start" or (directory / target.partition("#")[0]).exists()


@needs_browser
@pytest.mark.parametrize(("width", "scheme"), [("phone", "dark"), ("desktop", "light")])
def test_axe_finds_nothing(browser: Browser, page_file: Path, width: str, scheme: Any) -> None:
    context = browser.new_context(viewport={"width": WIDTHS[width], "height": 900}, color_scheme=scheme)
    page = context.new_page()
    page.goto(page_file.as_uri())
    for place in ("start", "hyun-jang/figure-4", "ehstcp/table-2"):
        page.evaluate("(id) => { location.hash = id }", place)
        page.locator(".page:visible .cell :is(svg, canvas)").first.wait_for()
        # Hidden parts are left out, because they take minutes.
        assert findings(page, within=(".side", f"[id='{place}']")) == [], place
    context.close()


@needs_browser
def test_values_are_read_off_series_zoomed_and_items_filtered(browser: Browser, page_file: Path) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    page.goto(f"{page_file.as_uri()}#hyun-jang/table-1")
    article = page.locator("article:visible")
    series = article.locator(".series .u-over")
    series.first.wait_for()
    series.first.scroll_into_view_if_needed()
    # One cursor for all panels.
    series.first.hover(position={"x": 300, "y": 40})
    values = article.locator(".u-legend .u-series:first-child .u-value").all_inner_texts()
    assert len(values) == series.count() == 3
    assert len(set(values)) == 1
    assert float(values[0]) > 0
    # And one stretch of time.
    article.locator("button[aria-label='Zoom in']").click()
    series.first.hover(position={"x": 301, "y": 40})
    zoomed = article.locator(".u-legend .u-series:first-child .u-value").all_inner_texts()
    assert len(set(zoomed)) == 1
    assert zoomed != values
    article.locator("button[aria-label='Whole run']").click()
    # A point shows its value.
    points = article.locator(".picture .plot .u-over").first
    points.scroll_into_view_if_needed()
    points.hover(position={"x": 110, "y": 210})
    assert re.fullmatch(r"reno.*: [\d.]+ → 0\.8\d*", page.locator("#tip").inner_text())
    with page.expect_download() as download:
        article.locator("[data-of=checks]").click()
    first, second, *_ = Path(download.value.path()).read_text().splitlines()
    assert first.startswith("quantity,published or required,measured")
    assert second.startswith('"utilization, reno, k=1/8",0.83,')
    page.locator("[data-filter=known]").click()
    shown = page.locator("nav li:visible").all_inner_texts()
    assert 0 < len(shown) < page.locator("nav li").count()
    assert all("known discrepancy" in text for text in shown)
    page.close()


TRIED = {"hyun-jang/table-1": "proposed-k-1-8", "shorten-leith/figure-5": "adaptive", "survey/figure-4": "vegas"}


@needs_browser
@needs_page
@pytest.mark.parametrize("item", TRIED)
def test_an_items_scenario_is_tried_in_the_bench(browser: Browser, page_file: Path, item: str) -> None:
    """The playground in the report's folder measures the result that the report has."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_offline(True)
    page = context.new_page()
    page.goto(f"{page_file.as_uri()}#{item}")
    tries = page.locator("article:visible .try")
    tries.locator("select").select_option(label=TRIED[item])
    tries.locator("code", has_text=f"fullpipe bench {item}/{TRIED[item]}/scenario.toml").wait_for()
    with context.expect_page() as opened:
        tries.locator(".go").click()
    playground = opened.value
    playground.locator("#figures dd").first.wait_for()
    assert f"{item}, {TRIED[item]}" in playground.locator("#story").inner_text()
    measured = Result.load(page_file.parent / item / TRIED[item])
    used = float(measured.links["utilization"][0].as_py())
    assert playground.locator("#figures dd").first.inner_text() == f"{float(f'{100 * used:.3g}'):g} %"
    text = playground.locator("#text").input_value()
    assert Scenario.loads(text) == next(iter(select(item))).variant(quick=True)[0][TRIED[item]]
    exact = "text => playground.run(text).then(result => result.numbers('links', 'utilization')[0])"
    assert playground.evaluate(exact, text) == used
    context.close()


@needs_page
def test_the_full_report_is_small_enough_for_a_mail(reproduced: dict[str, Any], report_directory: Path) -> None:
    """With the scenarios and checks of full runs, and their figures from the record; pictures have as many samples."""
    outcomes = []
    for entry in reproduced["items"]:
        (item,) = select(entry["id"])
        record = ROOT / f"reports/papers/{item.id.partition('/')[0]}.json"
        figures = json.loads(record.read_text()).get(item.id) if record.is_file() else None
        rows = Rows.from_list(entry["rows"])
        if figures is not None:
            rows = Rows()
            for name, value in figures.items():
                mean = value["mean"] if isinstance(value, dict) else value
                rows.add(name, math.nan if mean is None else mean, setting="of twenty-five flows", name=name)
        checks = judge(rows.values, expected(item.id, quick=figures is None))
        made = {"build": "commit 0123456789ab", "machine": "a machine with a name of some length", "made": "2001-02-03"}
        plain = {"results": {}, "rows": rows, "checks": checks, "wall_s": 60.0}
        outcomes.append(Outcome(item, item.scenarios(), "", False, **plain, **made))
    text = render(outcomes, report_directory, command="fullpipe reproduce", playground=True)
    assert len(text.encode()) + (report_directory / NAME).stat().st_size < MOST_BYTES


@needs_page
def test_every_item_can_be_tried_and_with_the_playground_the_report_is_small_enough_for_a_mail(
    reproduced: dict[str, Any], page_file: Path
) -> None:
    articles = dict(re.findall(r'data-item="(\S+)">(.*?)</article>', page_file.read_text(), re.DOTALL))
    for item in reproduced["items"]:
        (found,) = re.findall(r'class="go" href="(playground.html#s=[\w-]+)"', articles[item["id"]])
        assert found
    pages = [page_file, page_file.parent / NAME]
    assert sum(page.stat().st_size for page in pages) < 2.5e6
