"""Builder of the documentation site (README.md, docs/, reports/*.md): ``make docs`` writes it to out/site/html.

Pages are copied to out/site/pages. The program adds generated pages: the command line from ``--help``, the library from
its docstrings, and the scenarios of the repository. A link to a file that is not a page becomes plain text. Equations
(TeX between dollar signs) become MathML. Below a block of commands or Python, a comment `<!-- picture: TITLE -->` is
replaced by the plot. Each build runs the block again, and takes the last file that it names::

    ```sh
    fullpipe run scenarios/one-flow.toml --set flows.algorithm=bic --plot bic.svg
    ```
    <!-- picture: window, queue, utilization and round-trip time over a minute -->

The site also has the playground, `playground.html`, if it is built; a comment `<!-- playground -->` becomes a link to
it. ``reference/scenarios.zip`` has the scenarios. A comment `<!-- lessons -->` becomes a table of the lessons with
links to the playground and to the exercise sheets in ``lessons/``.

The navigation follows the folders: each section lists patterns, a page belongs to the first pattern that matches, and
all other pages are under *More*.
"""

from __future__ import annotations

import inspect
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import click
from latex2mathml.converter import convert

import fullpipe
from fullpipe._cli import fullpipe_command
from fullpipe.lessons import lessons
from fullpipe.lessons.sheets import write_sheets

__all__ = [
    "Picture",
    "draw",
    "files",
    "headings",
    "navigation",
    "outside_code",
    "pages",
    "pictures",
    "with_mathml",
    "write",
]

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
REPORTS = ROOT / "reports"
OUT = ROOT / "out/site"
PLAYGROUND = ROOT / "python/fullpipe/playground/page.html"

SECTIONS = {
    "Start": ["start/install.md", "start/five-minutes.md", "start/coming-from.md", "start/faq.md", "start/*.md"],
    "Tutorials": [
        "tutorials/size-a-buffer.md",
        "tutorials/choose-an-algorithm.md",
        "tutorials/python-api.md",
        "tutorials/own-algorithm.md",
        "tutorials/algorithm-in-*.md",
        "tutorials/*.md",
    ],
    "Guides": [
        *(f"guides/{page}.md" for page in ("quic", "library", "c-stacks", "conform", "check", "evaluate", "duel")),
        *(f"guides/{page}.md" for page in ("sizing", "sweeps", "recipes", "gallery", "playground", "lessons", "linux")),
        "guides/*.md",
    ],
    "Explanation": [
        "explanation/what-is-simulated.md",
        "explanation/how-true.md",
        "explanation/performance.md",
        "explanation/*.md",
    ],
    "Papers": ["explanation/papers/*.md"],
    "Reference": ["reference/scenarios.md", "reference/metrics.md", "reference/glossary.md", "reference/*.md"],
    "Algorithms": ["reference/algorithms/README.md", "reference/algorithms/*.md"],
    "Queues": ["reference/queues/README.md", "reference/queues/*.md"],
    "Measurement reports": ["reports/*.md"],
    "More": ["**/*.md"],
}
"""Sections in their order, each with the patterns of its pages."""

LEFT_OUT = {"index.md", "README.md"}
"""Pages outside the sections. The site starts with the repository's README.md; docs/README.md is for forges."""

MADE = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md", "README.md": "index.md"}
"""Pages from outside ``docs`` and ``reports``."""

LIBRARY = """\
# Python library

Public names of `import fullpipe`: functions first, then classes, errors, and modules. The
[Python API tutorial](../tutorials/python-api.md) shows how they work together.

"""
READY = """\
# Scenarios ready to run

These are the files in `scenarios/`. A clone has them. With a wheel, `fullpipe examples --out work` copies them and
other examples into the new directory `work` ([scenarios.zip](scenarios.zip) is a download). Run one with
`fullpipe run scenarios/NAME.toml`, or with `fullpipe sweep` if it is in `sweeps/`.
"""
CONFIGURATION = """\
[project]
site_name = "fullpipe"
site_description = "Deterministic packet-level simulator and test suite for TCP and QUIC congestion control"
docs_dir = "pages"
site_dir = "html"
use_directory_urls = false
extra_css = ["site.css"]
nav = {nav}

[project.theme]
font = false
features = ["content.code.copy", "navigation.indexes", "navigation.path", "navigation.top", "search.highlight"]

[[project.theme.palette]]
media = "(prefers-color-scheme: light)"
scheme = "default"

[[project.theme.palette]]
media = "(prefers-color-scheme: dark)"
scheme = "slate"

[project.markdown_extensions]
attr_list = {{}}
tables = {{}}
toc.permalink = true
pymdownx.superfences = {{}}
pymdownx.highlight.pygments_lang_class = true

# Makes the search work without a server.
[project.plugins.offline]

[[project.extra.polyfills]]
path = "iframe-worker.js"
type = "text/javascript"
async = false
defer = false

[project.plugins.mkdocstrings.handlers.python]
paths = [{paths}]

[project.plugins.mkdocstrings.handlers.python.options]
docstring_style = "google"
heading_level = 3
members_order = "source"
show_root_heading = true
show_source = false
"""


STYLE = """\
/* Wide tables scroll in themselves, rather than break names and equations. */
.md-typeset table:not([class]) :is(th, td) { padding: 0.5em 0.8em; min-width: 4em; }
.md-typeset table:not([class]) code { overflow-wrap: normal; word-break: normal; }
.md-typeset table:not([class]) :is(th, td):nth-child(5):last-child { min-width: 16em; }
.md-typeset math { white-space: nowrap; }
.md-typeset math .word { font-style: italic; }
/* Pictures are drawn on white, but those that have one for each scheme. */
[data-md-color-scheme="slate"] .md-typeset :not(picture) > img:is([src$=".svg"], [src$=".png"]) {
  filter: invert(1) hue-rotate(180deg);
}
"""


def write(out: Path = OUT) -> None:
    """Writes the source of the site into an empty directory."""
    shutil.rmtree(out, ignore_errors=True)
    for file in sorted(DOCS.rglob("*")):
        if file.suffix in (".png", ".svg", ".js"):
            _put(out / "pages" / file.relative_to(DOCS), file.read_bytes())
    for place, text in pages().items():
        _put(out / "pages" / place, with_mathml(text).encode())
    for place, content in files().items():
        _put(out / "pages" / place, content)
    write_sheets(out / "pages/lessons")
    for place, picture in pictures().items():
        _put(out / "pages" / place, draw(picture))
    _put(out / "pages/site.css", STYLE.encode())
    sections = navigation(pages()).items()
    nav = json.dumps([{section: places if len(places) > 1 else places[0]} for section, places in sections])
    nav = re.sub(r'(\{"[^"]*"): ', r"\1 = ", nav)
    paths = json.dumps(str(ROOT / "python"))
    _put(out / "zensical.toml", CONFIGURATION.format(nav=nav, paths=paths).encode())


def _put(file: Path, content: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)


def files() -> dict[str, bytes]:
    """Files of the site that readers download: the scenarios, and the playground if it is built."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted((ROOT / "scenarios").rglob("*")):
            if file.suffix in (".toml", ".down"):
                archive.writestr(zipfile.ZipInfo(file.relative_to(ROOT).as_posix()), file.read_bytes())
    playground = {"playground.html": PLAYGROUND.read_bytes()} if PLAYGROUND.is_file() else {}
    return {"reference/scenarios.zip": packed.getvalue(), **playground}


class Picture(NamedTuple):
    """A block of a page that draws: its language (``sh`` or ``python``), its code, and the title of the plot."""

    language: str
    code: str
    title: str

    @property
    def file(self) -> str:
        """Path of the plot, the last one in the code."""
        return re.findall(r"[\w./-]+\.(?:svg|png)", self.code)[-1]

    @property
    def name(self) -> str:
        """Name of the plot on the site, in the folder of its page."""
        return PurePosixPath(self.file).name


PICTURE = re.compile(r"^```(sh|python)\n((?:(?!```).*\n)+)```\n<!-- picture: (.+?) -->$", re.MULTILINE)


def pictures() -> dict[str, Picture]:
    """Blocks that draw a plot for a page, by the path of the plot on the site."""
    found: dict[str, Picture] = {}
    for file in sorted(DOCS.rglob("*.md")):
        for match in PICTURE.finditer(file.read_text(encoding="utf-8")):
            picture = Picture(*match.groups())
            found[(file.relative_to(DOCS).parent / picture.name).as_posix()] = picture
    return found


def draw(picture: Picture) -> bytes:
    """Plot drawn by a block of a page, in a directory with the scenarios of the repository."""
    program = ["bash", "-e", "-c"] if picture.language == "sh" else [sys.executable, "-c"]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "scenarios").symlink_to(ROOT / "scenarios")
        environment = {**os.environ, "PATH": path}
        subprocess.run([*program, picture.code], cwd=folder, env=environment, stdout=subprocess.DEVNULL, check=True)
        return Path(folder, picture.file).read_bytes()


EQUATION = re.compile(r"(`[^`\n]*`)|\$([^$\n]+)\$")


def with_mathml(text: str) -> str:
    """Text of a page with its equations as MathML."""

    def equation(match: re.Match[str]) -> str:
        if match[1]:
            return match[1]
        made = convert(match[2]).replace(_PLUS_IS, "<mo>+=</mo>").replace(_LESS_IS, "<mo>-=</mo>")
        made = re.sub(f"<mrow>(?:{_LETTER}){{2,}}</mrow>", _word, made)
        # The span keeps Markdown from reading a line that starts with MathML as a block of HTML.
        return f"<span>{made}</span>"

    return outside_code(text, lambda part: EQUATION.sub(equation, part))


def _word(match: re.Match[str]) -> str:
    return f'<mi class="word">{"".join(re.findall(_LETTER, match[0]))}</mi>'


_LETTER = r'<mi mathvariant="italic">([^<]*)</mi>'
"""One letter of ``\\mathit{cwnd}`` in the library's output."""

_PLUS_IS, _LESS_IS = (f"<mo><mrow><mo>&#x{code};</mo></mrow></mo><mo>&#x0003D;</mo>" for code in ("0002B", "02212"))
"""The library's output for ``\\mathrel{+}=``: two operators, one inside the other."""


def pages() -> dict[str, str]:
    """Text of each page by its path on the site, with links relative to that path."""
    found = {file.relative_to(DOCS).as_posix(): file for file in sorted(DOCS.rglob("*.md"))}
    found |= {f"reports/{file.name}": file for file in sorted(REPORTS.glob("*.md"))}
    homes = {file: place for place, file in found.items() if place not in LEFT_OUT}
    homes |= {ROOT / name: place for name, place in MADE.items()}
    homes |= {ROOT / "scenarios": "reference/ready.md", DOCS / "README.md": "index.md"}
    texts = {place: _moved(file, place, homes) for file, place in homes.items() if file.name.endswith(".md")}
    del texts["index.md"]
    return texts | {
        "index.md": _moved(ROOT / "README.md", "index.md", homes),
        "reference/command-line.md": _command_line(),
        "reference/library.md": _library(),
        "reference/ready.md": _ready(),
    }


def _moved(file: Path, place: str, homes: dict[Path, str]) -> str:
    """Text of a page with links relative to its path on the site."""

    def target(match: re.Match[str]) -> str:
        mark, text, link, anchor = match[1], match[2], match[3], match[4] or ""
        if not link or re.match(r"[a-z]+:", link):
            return match[0]
        aim = Path(os.path.normpath(file.parent / link))
        if aim.is_dir() and (aim / "README.md") in homes:
            aim /= "README.md"
        elif aim.is_dir() and (pages_there := sorted(page for page in homes if page.parent == aim)):
            aim = pages_there[0]
        if aim in homes or (aim.suffix in (".png", ".svg") and aim.is_relative_to(DOCS)):
            home = homes.get(aim) or aim.relative_to(DOCS).as_posix()
            there = os.path.relpath(home, PurePosixPath(place).parent)
            return f"{mark}[{text}]({there}{anchor})"
        return text

    def source(match: re.Match[str]) -> str:
        there = (file.parent / match[2]).relative_to(DOCS).as_posix()
        return f'{match[1]}="{os.path.relpath(there, PurePosixPath(place).parent)}"'

    def shown(match: re.Match[str]) -> str:
        picture = Picture(*match.groups())
        return f"```{picture.language}\n{picture.code}```\n\n![{picture.title}]({picture.name})"

    text = PICTURE.sub(shown, file.read_text(encoding="utf-8"))
    text = outside_code(text, lambda part: SOURCE.sub(source, LINK.sub(target, part)))
    there = os.path.relpath("playground.html", PurePosixPath(place).parent)
    playground = f"**[Open the playground]({there})** in this browser." if PLAYGROUND.is_file() else ""
    return text.replace("<!-- playground -->", playground).replace("<!-- lessons -->", _lessons(place))


def _lessons(place: str) -> str:
    """Table of the lessons, with links relative to a page."""
    home = os.path.relpath(".", PurePosixPath(place).parent)
    rows = ["| lesson | playground | exercise sheet | key |", "|---|---|---|---|"]
    for lesson in lessons():
        sheet = f"{home}/lessons/{lesson.number}-{lesson.name}"
        opened = f"[open]({home}/playground.html#lesson={lesson.name})" if PLAYGROUND.is_file() else ""
        rows.append(f"| {lesson.number} {lesson.title} | {opened} | [sheet]({sheet}.html) | [key]({sheet}-key.html) |")
    return "\n".join(rows)


SOURCE = re.compile(r'\b(src|srcset)="([^"]+)"')
"""Source of an image with variants for light and dark pages."""

LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s#]*)(#[^)\s]*)?\)")


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """Text changed outside its fenced code blocks."""
    parts = re.split(r"(^```.*?^```$)", text, flags=re.DOTALL | re.MULTILINE)
    return "".join(part if part.startswith("```") else change(part) for part in parts)


def navigation(places: dict[str, str]) -> dict[str, list[str]]:
    """Pages of each section; each page belongs to one section."""
    left = sorted(set(places) - LEFT_OUT)
    sections: dict[str, list[str]] = {"fullpipe": ["index.md"]}
    for section, patterns in SECTIONS.items():
        chosen: list[str] = []
        for pattern in patterns:
            chosen += [place for place in left if _fits(place, pattern) and place not in chosen]
        left = [place for place in left if place not in chosen]
        if chosen:
            sections[section] = chosen
    return sections


def _fits(place: str, pattern: str) -> bool:
    return pattern == "**/*.md" or (PurePosixPath(place).match(pattern) and place.count("/") == pattern.count("/"))


def headings(text: str) -> Iterator[str]:
    """Anchors of the headings of a page, in the form of forges and of the site."""
    seen: dict[str, int] = {}
    code = False
    for line in text.splitlines():
        code ^= line.startswith("```")
        if not code and (match := re.match(r"#+ (.*)", line)):
            words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", match[1]).lower()
            anchor = re.sub(r"[^\w\- ]", "", words).strip().replace(" ", "-")
            seen[anchor] = seen.get(anchor, -1) + 1
            yield anchor if not seen[anchor] else f"{anchor}-{seen[anchor]}"


def _command_line() -> str:
    """Help text of each command."""
    parts = ["# Command line\n\nHelp text of the program and of each command (`fullpipe COMMAND --help`).\n"]
    for name, command in _commands("fullpipe", fullpipe_command):
        context = click.Context(command, info_name=name, terminal_width=100, max_content_width=100)
        parts.append(f"## {name}\n\n```text\n{command.get_help(context)}\n```\n")
    return "\n".join(parts)


def _commands(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    yield name, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for each in command.list_commands(context):
            inner = command.get_command(context, each)
            if inner is not None:
                yield from _commands(f"{name} {each}", inner)


def _library() -> str:
    parts: dict[str, list[str]] = {"Functions": [], "Classes": [], "Errors": [], "Modules": []}
    for name in sorted(fullpipe.__all__):
        if name.startswith("_"):
            continue
        what = getattr(fullpipe, name)
        if inspect.ismodule(what):
            kind, home = "Modules", what.__name__
        else:
            error = inspect.isclass(what) and issubclass(what, BaseException)
            kind = "Errors" if error else "Classes" if inspect.isclass(what) else "Functions"
            home = f"{what.__module__}.{name}"
        parts[kind].append(f"::: {home}\n    options:\n      heading: fullpipe.{name}\n")
    return LIBRARY + "\n".join(f"## {kind}\n\n" + "\n".join(names) for kind, names in parts.items())


def _ready() -> str:
    """Text of each scenario of the repository."""
    parts = [READY]
    for file in sorted((ROOT / "scenarios").rglob("*.toml")):
        name = file.relative_to(ROOT / "scenarios").as_posix()
        parts.append(f"\n## {name}\n\n```toml\n{file.read_text(encoding='utf-8').strip()}\n```\n")
    return "".join(parts)


if __name__ == "__main__":
    write()
