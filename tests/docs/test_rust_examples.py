"""The check that each public type of the crates has an example in its documentation."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import ROOT, module_of

rust_examples = module_of(ROOT / "docs/rust_examples.py")

CODE = '<pre class="rust rust-example-rendered"><code>let x = 1;</code></pre>'


def page(top: str, methods: str = "") -> str:
    """Page of a type as rustdoc writes it, without the parts that the check does not read."""
    return f'<details class="toggle top-doc" open><div class="docblock">{top}</div></details>{methods}'


@pytest.fixture
def crate(tmp_path: Path) -> Path:
    """Documentation of a crate with two types: `A` has an example."""
    crate = tmp_path / "mine"
    (crate / "m").mkdir(parents=True)
    links = '<a href="struct.A.html">A</a> <a href="m/enum.B.html">B</a> <a href="fn.f.html">f</a>'
    (crate / "all.html").write_text(links)
    (crate / "struct.A.html").write_text(page(CODE))
    return crate


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        (page("A kind."), False),
        (page("A kind.", methods=CODE), False),
        (page(CODE), True),
        (page('Example: see <a href="../struct.A.html" title="struct"><code>A</code></a>.'), True),
        (page('Example: see <a href="../struct.C.html"><code>C</code></a>.'), False),
        (page('See <a href="../struct.A.html"><code>A</code></a>.'), False),
        (page('Example: see <a href="#method.of"><code>of</code></a>.', methods=CODE), True),
        (page('Example: see <a href="#method.of"><code>of</code></a>.'), False),
    ],
)
def test_type_needs_code_or_a_link_to_code(
    crate: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str, allowed: bool
) -> None:
    (crate / "m/enum.B.html").write_text(text)
    monkeypatch.setattr(rust_examples, "PAGES", crate.parent)
    monkeypatch.setattr(rust_examples, "CRATES", ("mine",))
    assert rust_examples.main() == (0 if allowed else 1)
    printed = capsys.readouterr()
    assert printed.out == f"mine: {2 if allowed else 1} of 2 public types have an example\n"
    assert ("mine/m/enum.B.html: no example" in printed.err) is not allowed
