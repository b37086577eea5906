"""The bench in the browser: the same bits as the engine here, every control, no request."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, Playwright, sync_playwright

import fullpipe
from conftest import PROGRAM, ROOT, Program
from fullpipe import Scenario, ScenarioError, run
from fullpipe.bench import PAGE
from fullpipe.runs.tables import to_numpy
from test_report import CHROMIUM, FLAGS, WIDTHS, needs_browser

AXE = ROOT / "web/node_modules/axe-core/axe.min.js"
LOOKS = json.loads((ROOT / "python/fullpipe/charts/looks.json").read_text())
PRESETS = sorted((ROOT / "web/presets").glob("*.toml"))
READY = [*sorted((ROOT / "scenarios").glob("*.toml")), *PRESETS]

needs_page = pytest.mark.skipif(not PAGE.exists(), reason="needs `make web`")
pytestmark = [needs_browser, needs_page]


@pytest.fixture(scope="module")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="module")
def browser(playwright: Playwright) -> Iterator[Browser]:
    started = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
    yield started
    started.close()


@pytest.fixture
def errors() -> list[str]:
    """What the page complains of, and what it asks the network for; none when the test ends."""
    return []


def opened(
    browser: Browser, errors: list[str], width: str = "desktop", scheme: Any = "light", address: str = ""
) -> Page:
    context = browser.new_context(viewport={"width": WIDTHS[width], "height": 900}, color_scheme=scheme)
    page = context.new_page()
    page.on("console", lambda message: errors.append(message.text))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: errors.append(request.url) if not request.url.startswith(LOCAL) else None)
    page.goto(PAGE.as_uri() + address)
    page.wait_for_selector("#figures dd")
    return page


LOCAL = (PAGE.as_uri(), "blob:")


@pytest.fixture
def page(browser: Browser, errors: list[str]) -> Iterator[Page]:
    page = opened(browser, errors)
    yield page
    page.context.close()
    assert errors == []


RUN = """async text => {
    const result = await bench.run(text);
    const bits = numbers => {
        const bytes = new Uint8Array(new Float64Array(numbers).buffer);
        let binary = "";
        for (let at = 0; at < bytes.length; at += 8192) binary += String.fromCharCode(...bytes.subarray(at, at + 8192));
        return btoa(binary);
    };
    const tables = {};
    for (const table of ["links", "flows", "traffic", "series", "link_series"]) {
        tables[table] = {};
        for (const column of result.columns(table)) tables[table][column] = bits(result.numbers(table, column));
    }
    return { tables, totals: result.totals, names: result.text("flows", "name") };
}"""


def bits(column: Any) -> list[int]:
    """A column's numbers to the bit; what is unknown is one value, whichever of its many a machine writes."""
    numbers = np.array(column, dtype=np.float64)
    return np.where(np.isnan(numbers), np.nan, numbers).view(np.uint64).tolist()


def compare_with_native(page: Page, scenario: Scenario) -> None:
    here, there = run(scenario), page.evaluate(RUN, scenario.to_toml())
    compared = 0
    for table, columns in there["tables"].items():
        known = here.columns(table)
        for name, encoded in columns.items():
            assert bits(np.frombuffer(base64.b64decode(encoded))) == bits(to_numpy(known[name])), (table, name)
            compared += len(known[name])
    assert compared > 20
    figures = here.to_dict()["totals"]
    assert there["totals"] == {name: figures[name] for name in ("data_packets", "jain_index")}
    assert there["names"] == list(here.columns("flows")["name"])


@pytest.mark.parametrize("file", READY, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_the_same_bits_as_here(page: Page, file: Path) -> None:
    """The ready scenarios and the presets; at most 30 s of each, a fifth of that warm-up."""
    whole = Scenario.load(file)
    short_s = min(whole.duration_s, 30.0)
    compare_with_native(page, whole.replace(duration=f"{short_s} s", warmup=f"{min(whole.warmup_s, short_s / 5)} s"))


WIDE = """\
duration = "2 s"
packet_size = 65535

[[links]]
name = "wide"
rate = "10000 Gbit/s"
delay = "100 us"
buffer = "{buffer}"
queue = {queue}

[[flows]]
algorithm = "cubic"
size = "1000000000000 packets"
max_window = 1000000000000
initial_window = 10
"""


@pytest.mark.parametrize("buffer", ["1000000000000 packets", "1000000000000000 B", "1000000 s", "unlimited"])
def test_numbers_of_more_than_32_bits(page: Page, buffer: str) -> None:
    """The largest that a scenario may have; a queue of a trillion packets in 32 bits would be one of 3,567,587,328."""
    text = WIDE.format(buffer=buffer, queue='"drop-tail"').replace("10000 Gbit/s", "100 Mbit/s")
    compare_with_native(page, Scenario.loads(text))


@pytest.mark.parametrize(
    "change",
    [("1000000000000 packets", "1000000000001 packets"), ("max_window = 1000000000000", "max_window = 4294967296.5")],
)
def test_what_is_refused_is_refused_in_the_same_words(page: Page, change: tuple[str, str]) -> None:
    text = WIDE.format(buffer="1000000000000 packets", queue='"drop-tail"').replace(*change)
    with pytest.raises(ScenarioError) as refused:
        Scenario.loads(text)
    said = page.evaluate("text => bench.run(text).then(() => '', error => error.message)", text)
    assert said == f"{refused.value.key}: {refused.value.what}"


def after(page: Page, act: Callable[[], object]) -> None:
    """Does something, and waits for the pictures of what becomes of it."""
    page.evaluate("void (window.seen = new Promise(seen => document.addEventListener('drawn', seen, { once: true })))")
    act()
    page.evaluate("seen.then(() => null)")


def toml(page: Page) -> str:
    return page.locator("#text").input_value()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_phone_and_desktop_light_and_dark(browser: Browser, errors: list[str], width: str, scheme: Any) -> None:
    page = opened(browser, errors, width, scheme)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for name in ("window", "queue", "rtt", "share"):
        assert page.locator(f"#{name} canvas").evaluate(COLOURS) > 10, name
    page.add_script_tag(content=AXE.read_text())
    assert findings(page) == []
    page.locator("#text").fill('duration = "1 parsec"')
    page.wait_for_selector("#notice.wrong")
    assert findings(page) == []
    page.context.close()
    assert errors == []


COLOURS = """canvas => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return new Set(new Uint32Array(data.buffer)).size;
}"""
"""How many colours a canvas has; an empty one has one."""


def findings(page: Page) -> list[str]:
    found = page.evaluate("axe.run()")
    assert len(found["passes"]) > 20
    return [f"{each['id']}: {node['html'][:200]}" for each in found["violations"] for node in each["nodes"]]


def test_every_preset_runs_here_and_there(page: Page) -> None:
    shown = set()
    for button in page.locator("#presets button").all():
        after(page, button.click)
        shown.add(toml(page))
        assert page.locator("#notice").is_hidden()
        assert page.locator("#story").inner_text()
    assert shown == {file.read_text() for file in PRESETS}
    for text in shown:
        assert Scenario.loads(text).warnings == []


def test_every_algorithm_has_a_look_of_its_own() -> None:
    looks = LOOKS["algorithms"]
    assert set(looks) == set(fullpipe.algorithms())
    assert len({(look["colour"], look["dash"]) for look in looks.values()}) == len(looks)
    assert {look["colour"] for look in looks.values()} <= set(LOOKS["colours"])


@pytest.mark.parametrize(("scheme", "ground"), [("light", "#ffffff"), ("dark", "#151b23")])
def test_colours_stand_out(scheme: str, ground: str) -> None:
    """WCAG 2.2, criterion 1.4.11: graphical objects have a contrast of 3:1 to what is beside them."""
    assert f"--card: {ground}" in (ROOT / "web/src/style.css").read_text()
    for name, shades in LOOKS["colours"].items():
        light, dark = sorted((luminance(shades[scheme]), luminance(ground)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 3, name


def luminance(colour: str) -> float:
    """WCAG 2.2: relative luminance."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_the_command_writes_the_page(program: Program, tmp_path: Path) -> None:
    done = program("bench", "--out", "page.html")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / "page.html").read_text() == PAGE.read_text()
    assert program("bench", "--out", ".").returncode == 2
    assert program("bench", "--out", "no/where.html").returncode == 2
    (tmp_path / "bad.toml").write_text("duration = 5")
    done = program("bench", "bad.toml")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "bad.toml:1: duration" in done.stderr


@pytest.mark.parametrize("name", ["bufferbloat", "lte"])
def test_the_command_opens_the_page_with_a_scenario(
    browser: Browser, errors: list[str], tmp_path: Path, name: str
) -> None:
    """As it is written; what names a file has its content, which is a list of 6886 times."""
    file = ROOT / f"scenarios/{name}.toml"
    opener = tmp_path / "opener"
    opener.write_text(f"#!{sys.executable}\nimport sys\nopen({str(tmp_path / 'opened')!r}, 'w').write(sys.argv[1])\n")
    opener.chmod(0o755)
    surroundings = {**os.environ, "BROWSER": str(opener), "TMPDIR": str(tmp_path)}
    done = subprocess.run([PROGRAM, "bench", file], env=surroundings, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    address = (tmp_path / "opened").read_text()
    assert Path(done.stdout.strip()).as_uri() == address
    context = browser.new_context()
    page = context.new_page()
    page.on("console", lambda message: errors.append(message.text))
    page.goto(address)
    page.wait_for_selector("#figures dd")
    assert Scenario.loads(toml(page)) == Scenario.load(file)
    assert (toml(page) == file.read_text()) == (name == "bufferbloat")
    context.close()
    assert errors == []
