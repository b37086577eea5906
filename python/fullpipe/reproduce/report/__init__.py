"""Report of a reproduction: one page that a browser shows without network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fullpipe._util.files import staged_file
from fullpipe.playground import put_beside
from fullpipe.reproduce.report.page import page

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from fullpipe.reproduce.record import Outcome

__all__ = ["MOST_BYTES", "write_report"]

MOST_BYTES = 2_500_000
"""Largest size of the report's page and the playground together, so that you can mail them."""


def write_report(outcomes: Sequence[Outcome], directory: str | os.PathLike[str], *, command: str) -> Path:
    """Writes ``index.html`` next to the items that `reproduce_all` saved in the directory. Plots are inside it, and
    scenario files are linked. The playground (`fullpipe.playground.page`) goes into this directory too, and opens an
    item's scenarios. Without the playground's page, or if both together exceed `MOST_BYTES`, the report shows the
    command only.

    Args:
        outcomes: Items to show, in order of papers.
        directory: Directory of the saved items.
        command: Command that made them.

    Returns:
        The file.

    Raises:
        OSError: A plot of an item is missing, or the file is not writable.
    """
    target = Path(directory, "index.html")
    text = page(outcomes, Path(directory), command=command, playground=True)
    if not put_beside(target.parent, MOST_BYTES - len(text.encode())):
        text = page(outcomes, Path(directory), command=command, playground=False)
    with staged_file(target) as stage:
        stage.write_text(text, encoding="utf-8")
    return target
