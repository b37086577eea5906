"""Lessons in the playground: question, hint, answer, links, zoom, layout, and memory."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from browser.support import findings, needs_browser, needs_page
from browser.test_playground import COLOURS, after, deflated, opened, toml
from fullpipe.lessons import lesson, lessons
from fullpipe.playground import PAGE

pytestmark = [needs_browser, needs_page]


@pytest.fixture(scope="module")
def errors() -> list[str]:
    """Errors and network requests of the pages; the list stays empty."""
    return []


@pytest.fixture(scope="module")
def page(browser: Browser, errors: list[str]) -> Iterator[Page]:
    """One page for all tests of this file: each opens its lesson."""
    page = opened(browser, errors)
    yield page
    page.context.close()
    assert errors == []


OVERLAPS = """() => {
    const parts = "header, nav, #lesson, #lesson > *, fieldset, .control, #figures > div, figure, #phase > *, #groups,"
        + "#scenario, #scenario > *, footer";
    const seen = [...document.querySelectorAll(parts)].filter(element => element.checkVisibility());
    const name = element => element.id || element.className || element.tagName;
    const free = element => element.closest("#controls") || (innerWidth <= 760 && element.closest("#panels"));
    const overlap = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
        && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;
    const found = [];
    for (const a of seen) {
        const box = a.getBoundingClientRect();
        if (box.right > innerWidth + 1 || box.left < -1) found.push(`${name(a)}: too wide`);
        for (const b of seen) {
            const apart = a === b || a.contains(b) || b.contains(a) || free(a) || free(b);
            if (!apart && overlap(box, b.getBoundingClientRect())) found.push(`${name(a)} over ${name(b)}`);
        }
    }
    for (const element of document.querySelectorAll("#groups, #lesson *, #figures *")) {
        const cut = element.clientWidth && element.scrollWidth > element.clientWidth + 1;
        if (cut) found.push(`${name(element)}: cut`);
    }
    return found;
}"""
"""Boxes that overlap or are cut. The controls scroll in their column, and the plots of a phone stay in sight."""


@pytest.mark.parametrize("width", [1366, 390])
def test_lessons_ask_hint_and_answer_without_overlap(page: Page, width: int) -> None:
    """Light and dark."""
    page.set_viewport_size({"width": width, "height": 900})
    buttons = page.locator("#lessons button")
    assert buttons.all_inner_texts() == [f"{one.number} {one.title}" for one in lessons()]
    for button, one in zip(buttons.all(), lessons(), strict=True):
        after(page, button.click)
        assert page.locator("#notice").is_hidden()
        assert toml(page) == one.scenario
        shown = page.locator("#lesson")
        assert one.question.split("?")[0] in shown.inner_text()
        assert shown.locator("> ol li").all_inner_texts() == [task.text for task in one.tasks]
        for summary, hidden in (("Hint", one.hint), ("Answer", one.answer)):
            paragraph = shown.get_by_text(hidden)
            assert paragraph.is_hidden()
            shown.get_by_text(summary, exact=True).click()
            assert paragraph.is_visible()
        assert shown.locator("details ol li").all_inner_texts() == [task.value for task in one.tasks]
        assert (page.locator("#phase").get_attribute("open") is not None) == one.phase_plot
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            assert page.evaluate(OVERLAPS) == [], one.name
    assert findings(page, within=["#lesson", "#lessons", "#phase"]) == []
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1280, "height": 900})


def test_the_page_shows_the_values_of_the_key(page: Page) -> None:
    """Loss of the whole run, and one value that a menu changes."""
    after(page, page.get_by_role("button", name="1 Slow start").click)
    assert "whole run: 0.777 %, 251 dropped" in page.locator("#figures").inner_text()
    assert lesson("slow-start").tasks[1].value == "0.777 %"
    after(page, page.get_by_role("button", name="5 AQM and ECN").click)
    after(page, lambda: page.get_by_role("combobox", name="Side A: ECN").select_option("classic"))
    assert 'ecn = "classic"' in toml(page)
    assert f"{lesson('aqm-ecn').tasks[4].value.split()[0]} marked" in page.locator("#figures").inner_text()
    after(page, page.get_by_role("button", name="Start again").click)
    assert toml(page) == lesson("aqm-ecn").scenario


def test_start_and_seed_are_written_into_the_scenario(page: Page) -> None:
    after(page, page.get_by_role("button", name="3 Convergence to fairness").click)
    start = page.get_by_role("slider", name="Side B: start")
    assert start.get_attribute("aria-valuetext") == "20 s"
    after(page, lambda: start.press("ArrowRight"))
    assert 'start = "30 s"' in toml(page)
    after(page, lambda: page.get_by_role("slider", name="Run: seed").press("ArrowRight"))
    assert "seed = 2" in toml(page)


def test_the_phase_plot_shows_two_windows(page: Page) -> None:
    after(page, page.get_by_role("button", name="3 Convergence to fairness").click)
    label = page.locator("#phase canvas").get_attribute("aria-label") or ""
    assert label.startswith("Window of second against window of first. At the end: ")
    assert page.locator("#phase canvas").evaluate(COLOURS) > 10
    after(page, page.get_by_role("button", name="1 Slow start").click)
    assert page.locator("#phase").is_hidden()


def test_a_zoom_samples_the_part_again(page: Page) -> None:
    """A tenth of 100 s: 100 ms between samples become 10 ms. The figures do not change."""
    after(page, page.get_by_role("button", name="2 Sawtooth").click)
    figures, cursor = page.locator("#figures").inner_text(), page.locator("#cursor")
    assert cursor.get_attribute("max") == "999"
    box = page.locator("#window .u-over").bounding_box()
    assert box is not None
    page.evaluate(
        "void (window.again = new Promise(seen => document.addEventListener('resampled', seen, { once: true })))"
    )
    page.mouse.move(box["x"] + 1, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 10, box["y"] + 20, steps=4)
    page.mouse.up()
    page.evaluate("again.then(() => 1)")
    assert int(cursor.get_attribute("max") or 0) > 5000
    assert page.locator("#figures").inner_text() == figures
    page.locator("#window .u-over").dblclick()
    expect(cursor).to_have_attribute("max", "999")


@pytest.fixture
def host() -> Iterator[str]:
    """Address of the page on a web server."""
    handler = partial(Quiet, directory=str(PAGE.parent))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/{PAGE.name}"
        server.shutdown()
        thread.join()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


def test_links_of_a_lesson_open_it_on_any_host(browser: Browser, host: str) -> None:
    """The link of an unchanged lesson has only its name; a changed one has the scenario too."""
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(host + "#lesson=bufferbloat")
    page.wait_for_selector("#figures dd")
    page.get_by_role("button", name="Copy link").click()
    expect(page.locator("#said")).to_have_text("The link is on the clipboard")
    assert page.evaluate("navigator.clipboard.readText()") == host + "#lesson=bufferbloat"
    after(page, lambda: page.get_by_role("combobox", name="Link: queue").select_option("fq-codel"))
    page.get_by_role("button", name="Copy embed code").click()
    expect(page.locator("#said")).to_contain_text("frame")
    frame = page.evaluate("navigator.clipboard.readText()")
    assert frame.startswith(f'<iframe src="{host}#embed&lesson=bufferbloat&s=')
    changed = toml(page)
    slide = context.new_page()
    slide.set_content(frame)
    inside = slide.frame_locator("iframe")
    inside.locator("#figures dd").first.wait_for()
    assert inside.locator("#lesson h2").inner_text() == "Lesson 4: Bufferbloat"
    assert inside.locator("#text").input_value() == changed
    assert inside.locator("#controls").is_hidden()
    assert inside.locator("header").is_hidden()
    assert inside.get_by_role("link", name="Open in the playground").is_visible()
    context.close()


def test_a_link_from_a_file_has_a_warning(page: Page) -> None:
    page.get_by_role("button", name="Copy link").click()
    expect(page.locator("#said")).to_contain_text("It works on this computer only")


def test_an_unknown_lesson_is_reported(browser: Browser, errors: list[str]) -> None:
    page = opened(browser, errors, address="#lesson=quantum")
    expect(page.locator("#notice.wrong")).to_contain_text('The link names an unknown lesson, "quantum"')
    page.context.close()
    assert errors == []


@pytest.mark.parametrize("work", ["long", "wide"])
def test_a_link_of_a_stranger_does_not_block_the_page(browser: Browser, errors: list[str], work: str) -> None:
    """A run of hours stops at a click; 200 groups with a million samples are drawn, and the page answers."""
    link = '[[links]]\nname = "l"\nrate = "{}"\ndelay = "10 ms"\nbuffer = "unlimited"\n'
    flows = '[[flows]]\nalgorithm = "reno"\n'
    text = f'duration = "10000 s"\nseries_interval = "off"\n{link.format("100 Gbit/s")}{flows}'
    if work == "wide":
        rates = 'duration = "4 s"\nseries_interval = "1 ms"\n'
        text = rates + link.format("1 Mbit/s") + flows * 200
    context = browser.new_context()
    page = context.new_page()
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{PAGE.as_uri()}#s={deflated(text)}")
    if work == "long":
        page.get_by_role("button", name="Stop").click()
        page.locator("#notice.wrong", has_text="stopped").wait_for()
    else:
        page.wait_for_selector("#figures dd")
    after(page, page.get_by_role("button", name="2 Sawtooth").click)
    assert page.locator("#notice").is_hidden()
    context.close()
    assert errors == []


def test_memory_is_flat_over_fifty_runs(page: Page) -> None:
    """Objects of the page and bytes of its heap, after garbage collection, before and after 50 runs."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")

    def used() -> dict[str, float]:
        session.send("HeapProfiler.collectGarbage")
        metrics = session.send("Performance.getMetrics")["metrics"]
        return {each["name"]: each["value"] for each in metrics}

    drags = """async runs => {
        const slider = document.querySelector("[aria-label='Run: seed']");
        for (let i = 0; i < runs; i++) {
            slider.value = String(i % 7);
            const drawn = new Promise(drawn => document.addEventListener("drawn", drawn, { once: true }));
            slider.dispatchEvent(new Event("input", { bubbles: true }));
            await drawn;
        }
    }"""
    after(page, page.get_by_role("button", name="3 Convergence to fairness").click)
    page.evaluate(drags, 5)
    before = used()
    page.evaluate(drags, 50)
    later = used()
    assert later["Nodes"] <= before["Nodes"] + 20
    assert later["JSEventListeners"] <= before["JSEventListeners"] + 5
    assert later["JSHeapUsedSize"] <= before["JSHeapUsedSize"] + 2e6
