"""The reproduction as one page that a browser shows without network."""

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

MOST_BYTES = 2_200_000
"""Of the report's page and the playground together: what can be mailed anywhere."""


def write_report(outcomes: Sequence[Outcome], directory: str | os.PathLike[str], *, command: str) -> Path:
    """Writes ``index.html`` beside the items that `reproduce_all` saved in the directory; pictures are inside it,
    scenario files are linked. Beside it goes the playground (`fullpipe.playground.page`), which opens an item's
    scenarios; where the package was built without it, or both together would be more than `MOST_BYTES`, the report has
    the command alone.

    Args:
        outcomes: The items to show, paper by paper.
        directory: Where they are saved.
        command: What made them, as typed.

    Returns:
        The file.

    Raises:
        OSError: An item's picture is not there, or the file can't be written.
    """
    target = Path(directory, "index.html")
    text = page(outcomes, Path(directory), command=command, playground=True)
    if not put_beside(target.parent, MOST_BYTES - len(text.encode())):
        text = page(outcomes, Path(directory), command=command, playground=False)
    with staged_file(target) as stage:
        stage.write_text(text, encoding="utf-8")
    return target
