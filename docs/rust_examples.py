"""Public types of the crates whose documentation has no example: `python docs/rust_examples.py`, after `cargo doc`.

A type has an example if its page has code, or a line `Example: see [...]` whose link leads to a page with code. Code of
methods does not count, except as the target of such a link. `make lint-rust` builds the pages and runs this check.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

CRATES = ("fullpipe_cc", "fullpipe_sim", "fullpipe_net")
"""Crates that other programs depend on."""

PAGES = Path(__file__).parent.parent / "target/doc"
CODE = "rust-example-rendered"
TYPE = re.compile(r'<a href="((?:\w+/)*(?:struct|enum|trait|union)\.\w+\.html)"')
LINK = re.compile(r'Example: see <a href="([^"#]+)?(#[^"]+)?"')


def types(crate: Path) -> list[Path]:
    """Pages of the public types of a crate, from the directory of its documentation."""
    return [crate / name for name in TYPE.findall((crate / "all.html").read_text(encoding="utf-8"))]


def has_example(page: Path) -> bool:
    """Whether the documentation of a type has code, or names a page that has."""
    top = _top(page)
    if CODE in top:
        return True
    link = LINK.search(top)
    if link is None:
        return False
    target = (page.parent / link[1]).resolve() if link[1] else page
    if not target.is_file():
        return False
    return CODE in (target.read_text(encoding="utf-8") if link[2] else _top(target))


def _top(page: Path) -> str:
    """Documentation of the type or module itself, without its methods and fields."""
    _, _, rest = page.read_text(encoding="utf-8").partition('class="toggle top-doc"')
    return rest.partition("</details>")[0]


def main() -> int:
    """Print the number of types, and fail if one has no example."""
    missing = []
    for crate in CRATES:
        pages = types(PAGES / crate)
        if not pages:
            print(f"{crate}: no public types in {PAGES / crate}", file=sys.stderr)
            return 1
        without = [page for page in pages if not has_example(page)]
        print(f"{crate}: {len(pages) - len(without)} of {len(pages)} public types have an example")
        missing += without
    for page in missing:
        print(f"{page.relative_to(PAGES)}: no example; add code, or a line `Example: see [...]`", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
