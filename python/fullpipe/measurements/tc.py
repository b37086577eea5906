"""Reader of ``tc -s qdisc``, as text and as JSON (``-j``).

Traps of iproute2 6.1: JSON has rates in bytes per second and times in microseconds, and no device if one was named. A
parent counts the drops of its child, so that only leaves are summed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from fullpipe._util.inputs import parse_json
from fullpipe._util.plain import Tree
from fullpipe.measurements.schema import Builder, Measurement
from fullpipe.measurements.source import MOST_LINE_BYTES, Source
from fullpipe.measurements.times import rfc3339, time_line
from fullpipe.measurements.values import as_number

__all__ = ["qdiscs", "read_tc"]

HEAD = re.compile(r"^qdisc (\S+) (\S+) (?:dev (\S+) )?(root|ingress|parent \S+)?\s*(.*)$")
SENT = re.compile(r"Sent (\d+) bytes (\d+) pkts? \(dropped (\d+), overlimits (\d+) requeues (\d+)\)")
BACKLOG = re.compile(r"backlog (\d+)([KMG]?)b (\d+)p")
PAIR = re.compile(r"\b([a-z_]+) ([\d.]+)(us|ms|s|p|b|[KMG]?bit)?(?=\s|$)")
UNITS = {"us": 1.0, "ms": 1e3, "s": 1e6, "p": 1.0, "b": 1.0, "bit": 1 / 8, "Kbit": 125.0, "Mbit": 125e3, "Gbit": 125e6}
"""Units of the text, in those of JSON: microseconds, packets, and bytes per second."""

BETWEEN = re.compile(r"\]\s*\[")
"""End of an array and begin of the next one."""

SIZES = {"": 1, "K": 1024, "M": 1 << 20, "G": 1 << 30}

BYTE_LIMITS = ("tbf", "bfifo", "cake")
"""Disciplines whose ``limit`` is in bytes."""


def qdiscs(source: Source) -> Iterator[tuple[float | None, list[Tree]]]:
    """Samples: time, or None where unknown, and the disciplines in the form of tc's JSON.

    Raises:
        FileError: The file is damaged, a sample is larger than 16 MiB, or its JSON can't be read.
    """
    t_s: float | None = None
    lines: list[str] = []
    length = 0
    for line in source.lines():
        mark = time_line(line)
        if mark is None:
            lines.append(line)
            length += len(line)
            if length > MOST_LINE_BYTES:
                raise source.error(f"a sample must have at most {MOST_LINE_BYTES >> 20} MiB")
            continue
        if any(map(str.strip, lines)):
            yield mark.t_s if mark.is_after else t_s, _sample(source, lines)
        t_s, lines, length = None if mark.is_after else mark.t_s, [], 0
    if any(map(str.strip, lines)):
        yield t_s, _sample(source, lines)


def read_tc(source: Source, metadata: Tree) -> Measurement:
    """Measurement of samples of tc.

    Raises:
        FileError: The file has no queueing disciplines.
    """
    builder = Builder(metadata)
    links: dict[tuple[str, str], int] = {}
    start: float | None = None
    for t_s, found in qdiscs(source):
        start = t_s if start is None else start
        parents = {str(each.get("parent", "")).partition(":")[0] for each in found}
        for each in found:
            key = (str(each.get("dev", "")), str(each.get("handle", "")))
            if key not in links:
                links[key] = len(links)
                is_leaf = key[1].partition(":")[0] not in parents - {""}
                _add_link(builder, links[key], each, is_leaf=is_leaf)
            _add_sample(builder, links[key], 0.0 if t_s is None or start is None else t_s - start, each)
    if not links:
        raise source.error("requires queueing disciplines, as tc -s qdisc prints them")
    metadata |= {"vantage": "middle", "clock": "wall", "t0": None if start is None else rfc3339(start)}
    return builder.build()


def _add_link(builder: Builder, link: int, each: Tree, *, is_leaf: bool) -> None:
    options = each.get("options")
    options = options if isinstance(options, dict) else {}
    kind = str(each.get("kind"))
    rate = as_number(options.get("rate"))
    limit = as_number(options.get("limit"))
    in_bytes = kind in BYTE_LIMITS
    shown = {"leaf": is_leaf, **{key: value for key, value in options.items() if not isinstance(value, dict | list)}}
    builder.add(
        "links",
        link=link,
        name=" ".join(str(each[key]) for key in ("dev", "kind", "handle") if each.get(key)),
        queue=kind,
        rate_bps=rate and 8 * rate,
        limit_bytes=limit if in_bytes else None,
        limit_packets=None if in_bytes else limit,
        options=json.dumps(shown),
    )


def _add_sample(builder: Builder, link: int, t_s: float, each: Tree) -> None:
    marks = [as_number(each.get(key)) for key in ("ecn_mark", "ce_mark")]
    known = [value for value in marks if value is not None]
    delay_us = as_number(each.get("ldelay"))
    builder.add(
        "link_samples",
        t_s=t_s,
        link=link,
        backlog_bytes=as_number(each.get("backlog")),
        backlog_packets=as_number(each.get("qlen")),
        sent_bytes=as_number(each.get("bytes")),
        sent_packets=as_number(each.get("packets")),
        drops=as_number(each.get("drops")),
        marks=sum(known) if known else None,
        delay_s=None if delay_us is None else delay_us / 1e6,
    )


def _sample(source: Source, lines: list[str]) -> list[Tree]:
    text = "\n".join(lines).strip()
    if not text.startswith("["):
        return list(_from_text(lines))
    # Several arrays can follow one another.
    parts = parse_json(source.name, f"[{BETWEEN.sub('],[', text)}]".encode(), finite=False)
    return [each for part in parts for each in (part if isinstance(part, list) else [part]) if isinstance(each, dict)]


def _from_text(lines: list[str]) -> Iterator[Tree]:
    """Disciplines of the text form, in the form of JSON."""
    now: Tree | None = None
    for line in lines:
        if head := HEAD.match(line.strip()):
            if now is not None:
                yield now
            now = {"kind": head[1], "handle": head[2], "options": dict(_pairs(head[5]))}
            if head[3]:
                now["dev"] = head[3]
            if (head[4] or "").startswith("parent"):
                now["parent"] = head[4].split()[1]
        elif now is None:
            continue
        elif found := SENT.search(line):
            names = ("bytes", "packets", "drops", "overlimits", "requeues")
            now |= dict(zip(names, map(int, found.groups()), strict=True))
        elif found := BACKLOG.search(line):
            now |= {"backlog": int(found[1]) * SIZES[found[2]], "qlen": int(found[3])}
        else:
            now |= dict(_pairs(line))
    if now is not None:
        yield now


def _pairs(text: str) -> Iterator[tuple[str, float]]:
    for key, number, unit in PAIR.findall(text):
        if (value := as_number(number)) is not None:
            yield key, value * UNITS.get(unit, 1.0)
