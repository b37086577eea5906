"""Text from outside (names, paths, values) as tables, pages and messages show it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape

__all__ = [
    "file_label",
    "file_name",
    "hint",
    "html",
    "listed",
    "number_text",
    "one_line",
    "printable",
    "quoted",
    "shorten",
    "unknown",
    "with_params",
]

LONGEST = 60
"""Characters of one name or value that a message repeats, at most."""

LONGEST_MESSAGE = 2000
"""Characters of a whole message, at most."""

LONGEST_FILE_NAME = 100
"""Characters of a file's name without its suffix, at most; file systems allow 255 bytes."""

KEPT = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.,= ()")
"""Characters that file names take over from labels."""

MOST_NAMES = 60
"""Names listed in a message, at most."""


def printable(text: str) -> str:
    r"""Text with escapes such as ``\x1b`` for control characters, direction marks, and surrogates.

    Such characters are invisible, or move the text around them.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def shorten(text: str, most: int = LONGEST) -> str:
    """The text, printable, with dots in place of its middle where it has more than ``most`` characters."""
    if len(text) <= most:
        return printable(text)
    tail = most // 3
    return f"{printable(text[: most - tail])}...{printable(text[-tail:])}"


def number_text(value: float) -> str:
    """A number as messages show it: a whole one below 10^15 with all digits, another with six."""
    whole = isinstance(value, int) or (value.is_integer() and abs(value) < 1e15)
    return str(int(value)) if whole else f"{value:g}"


def one_line(text: str, most: int = LONGEST_MESSAGE) -> str:
    """A message as it is shown: line breaks become spaces, the rest is as for `shorten`."""
    return shorten(" ".join(text.split()), most)


def quoted(value: object) -> str:
    """A value as messages repeat it: as Python writes it, short."""
    return shorten(repr(value))


def listed(names: Iterable[object]) -> str:
    """Names as messages list them: the first ones, each short."""
    known = [shorten(str(name)) for name in names]
    more = [f"... ({len(known)} in all)"] if len(known) > MOST_NAMES else []
    return ", ".join(known[:MOST_NAMES] + more) or "none"


def unknown(thing: str, name: object, allowed: Iterable[object]) -> str:
    """``unknown algorithm 'reon'; did you mean 'reno'? (allowed: tahoe, reno)``."""
    known = [str(each) for each in allowed]
    return f"unknown {thing} {quoted(name)}{hint(name, known)} (allowed: {listed(known)})"


def hint(name: object, known: Iterable[str]) -> str:
    """``; did you mean 'reno'?`` where one of the known names is like it; else nothing."""
    from difflib import get_close_matches

    near = get_close_matches(str(name)[:LONGEST], known, 1)
    return f"; did you mean {quoted(near[0])}?" if near else ""


def with_params(table: Mapping[str, object]) -> str:
    """``codel (target=5 ms, ecn=true)`` for a table with a name and parameters. For an
    object file ``my.bpf.o (beta=0.7)``, and for a module of Linux ``tcp_illinois (theta=3)``.
    """
    name = table.get("name")
    for key, beside, called in (("object", "struct_ops", "{}"), ("module", "kernel", "tcp_{}")):
        if (file := table.get(key)) is not None:
            name = called.format(file.get("name") if isinstance(file, Mapping) else file)
            chosen, given = {beside: table[beside]} if beside in table else {}, table.get("params")
            table = {**chosen, **given} if isinstance(given, Mapping) else chosen
    params = ", ".join(
        f"{key}={str(value).lower() if isinstance(value, bool) else value}"
        for key, value in table.items()
        if key != "name"
    )
    return f"{name} ({params})" if params else str(name)


def html(text: str) -> str:
    """The text as a page shows it, between tags or in an attribute."""
    return escape(printable(text))


def file_name(text: str) -> str:
    """Name of a file for a label: different labels have different names, of at most `LONGEST_FILE_NAME` characters.

    ASCII letters, digits, and ``-_.,= ()`` stay as they are. Other characters, and a leading dot, become ``%`` and the
    two hexadecimal digits of each UTF-8 byte, as in URLs. A longer name ends in ``~`` and a hash of the label.
    """
    kept = "".join(
        c if c in KEPT else "".join(f"%{byte:02X}" for byte in c.encode("utf-8", "surrogatepass")) for c in text
    )
    kept = f"%2E{kept[1:]}" if kept.startswith(".") else kept
    if 0 < len(kept) <= LONGEST_FILE_NAME:
        return kept
    from hashlib import sha256

    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{kept[: LONGEST_FILE_NAME - 17]}~{digest}"


def file_label(name: str) -> str:
    """Label that `file_name` made a name of; of a shortened one the name."""
    from urllib.parse import unquote

    return unquote(name)
