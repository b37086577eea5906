"""The report in a real browser: the whole quick reproduction, every item, no error, no network."""

from __future__ import annotations

import html
import json
import math
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Playwright, sync_playwright

from conftest import PROGRAM, ROOT
from fullpipe.papers import select
from fullpipe.reproduce import reproduce
from fullpipe.reproduce.check import judge
from fullpipe.reproduce.item import expected
from fullpipe.reproduce.report import write_report
from fullpipe.reproduce.report.parameters import parameters
from test_prose import given, quoted, strange

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


@pytest.fixture(scope="session")
def directory(pytestconfig: pytest.Config) -> Path:
    """Of the tests alone, not where a user's report is; what is there and current is not run again."""
    cache = pytestconfig.cache
    assert cache is not None
    return cache.mkdir("report")


@pytest.fixture(scope="module")
def reproduced(directory: Path) -> dict[str, Any]:
    """The quick reproduction of everything."""
    done = subprocess.run(
        [PROGRAM, "reproduce", "--quick", "--json", "--out", directory], cwd=ROOT, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    outcome: dict[str, Any] = json.loads(done.stdout)
    return outcome


@pytest.fixture(scope="module")
def page_file(reproduced: dict[str, Any], directory: Path) -> Path:
    assert reproduced["items"]
    return directory / "index.html"


@pytest.fixture(scope="module")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="module")
def browser(playwright: Playwright) -> Iterator[Browser]:
    started = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
    yield started
    started.close()


def test_every_item_passes_or_misses_for_a_cause_that_is_named(reproduced: dict[str, Any]) -> None:
    assert [item["id"] for item in reproduced["items"]] == [item.id for item in select(None)]
    for item in reproduced["items"]:
        assert item["status"] in ("pass", "documented miss")
        assert item["checks"]
        for check in item["checks"]:
            assert check["pass"] or check["miss"]


def test_a_corrupted_published_value_is_seen(reproduced: dict[str, Any]) -> None:
    corrupted = 0
    for item in reproduced["items"]:
        entries = expected(item["id"], quick=True)
        figures = {name: math.nan if value is None else value for name, value in item["figures"].items()}
        for i, entry in enumerate(entries):
            if "published" not in entry:
                continue
            if "within_factor" in entry:
                far = entry["published"] * 1.1 * max(entry["within_factor"], entry.get("miss_within", 0.0)) ** 2
            else:
                away = 2.1 * max(entry["tolerance"], entry.get("miss_within", 0.0)) + 1e-6
                far = entry["published"] + math.copysign(away, entry["published"])
            changed = [*entries[:i], {**entry, "published": far}, *entries[i + 1 :]]
            assert judge(figures, changed)[i].status == "fail", (item["id"], entry["name"])
            corrupted += 1
    assert corrupted > 30


def test_the_page_has_no_figure_in_prose_that_was_not_measured_for_it(
    reproduced: dict[str, Any], page_file: Path
) -> None:
    articles = dict(
        re.findall(r'<article id="\S+" data-item="(\S+)">(.*?)</article>', page_file.read_text(), re.DOTALL)
    )
    for (item,) in (select(entry["id"]) for entry in reproduced["items"]):
        (entry,) = (entry for entry in reproduced["items"] if entry["id"] == item.id)
        measured = {name: value for name, value in entry["figures"].items() if value is not None}
        prose = re.findall(
            r"<p>(.*?)</p>|<p class='note'>(.*?)</p>|<li>(.*?)</li>|class='reason'>(.*?)</td>", articles[item.id]
        )
        assert prose
        known = given(item) | quoted(item, measured)
        for text in (html.unescape("".join(groups)) for groups in prose):
            assert strange(text, known) == [], (item.id, text)


@needs_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_the_page(browser: Browser, page_file: Path, reproduced: dict[str, Any], width: str, scheme: Any) -> None:
    context = browser.new_context(viewport={"width": WIDTHS[width], "height": 900}, color_scheme=scheme)
    page = context.new_page()
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(page_file.as_uri())
    assert said == []
    assert [url for url in asked if not url.startswith("data:")] == [page_file.as_uri()]
    for item in reproduced["items"]:
        _sees(page, item, page_file.parent)
    # Nothing has to be scrolled sideways but wide tables, which do so by themselves.
    assert page.evaluate("document.documentElement.scrollWidth") <= WIDTHS[width]
    assert page.evaluate("[...document.images].every((i) => i.complete && i.naturalWidth > 0)")
    assert float(page.evaluate("parseFloat(getComputedStyle(document.body).fontSize)")) >= 16
    for colour in ("body", ".badge.pass", ".citation", "article a"):
        assert _contrast(page, colour) >= 4.5
    context.close()


def _sees(page: Page, item: dict[str, Any], directory: Path) -> None:
    article = page.locator(f"article[data-item='{item['id']}']")
    assert article.is_visible()
    assert article.locator("img").first.is_visible()
    assert article.locator(".checks tbody tr").count() == len(item["checks"])
    dots = page.locator(f".contents tr:has(a[href='#{item['id'].replace('/', '-')}']) .dots i")
    kinds = {"pass": "pass", "documented miss": "known", "fail": "fail"}
    assert [dot.get_attribute("class") for dot in dots.all()] == [kinds[c["status"]] for c in item["checks"]]
    assert item["checks"][0]["name"] in article.inner_text()
    assert article.locator("h3 .badge").inner_text() in ("pass", "documented miss")
    for check in item["checks"]:
        assert check["status"] != "documented miss" or check["miss"] in article.inner_text()
    for link in article.locator("a").all():
        target = str(link.get_attribute("href"))
        if target.startswith("#"):
            assert page.locator(target).is_visible()
        else:
            assert (directory / target).exists()


def _contrast(page: Page, selector: str) -> float:
    """Contrast of an element's text with what is behind it, after WCAG 2.2."""
    colours = page.evaluate(
        """(selector) => {
            let element = document.querySelector(selector);
            const text = getComputedStyle(element).color;
            while (getComputedStyle(element).backgroundColor === 'rgba(0, 0, 0, 0)') element = element.parentElement;
            return [text, getComputedStyle(element).backgroundColor];
        }""",
        selector,
    )
    high, low = sorted((_luminance(colour) for colour in colours), reverse=True)
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_a_failure_is_shown_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (item,) = select("survey/figure-4")
    wrong = {
        "name": "vegas, mean window",
        "published": 99.0,
        "tolerance": 1.0,
        "origin": "<script>alert(1)</script>",
        "reason": "corrupted",
    }
    rest = {"name": "rest", "shape": "bounds", "figures": ["*"], "at_most": 1e9, "origin": "-", "reason": "-"}
    monkeypatch.setattr("fullpipe.reproduce.record.expected", lambda *_, **__: [wrong, rest])
    outcome = reproduce(item)
    outcome.save(tmp_path / item.id)
    text = write_report([outcome], tmp_path, command="fullpipe reproduce <x>").read_text(encoding="utf-8")
    assert outcome.status == "fail"
    assert "<span class='badge fail'>miss</span>" in text
    assert "0 pass" not in text
    assert "<script>" not in text
    assert "fullpipe reproduce &lt;x&gt;" in text


def test_parameters_are_those_of_the_scenarios() -> None:
    (item,) = select("hyun-jang/table-1")
    common, varied = parameters(item.scenarios())
    assert common["links.bottleneck.rate"] == "100 Mbit/s"
    assert varied["links.bottleneck.buffer"] == ["125 packets", "250 packets", "500 packets", "750 packets"]
    assert varied["flows.algorithm"] == ["reno", "hyun-jang"]
    assert varied["flows.algorithm.a"] == ["-", "1.1"]
