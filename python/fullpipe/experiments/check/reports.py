"""Files for continuous integration: JUnit XML, and Markdown for a comment on a pull request."""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement, indent, tostring

from fullpipe import __version__
from fullpipe._util.display import markdown
from fullpipe._util.text import printable
from fullpipe.experiments.check.checks import Checked, Checks
from fullpipe.experiments.check.statistics import OK
from fullpipe.runs.aggregate import INCONCLUSIVE, WORSE
from fullpipe.runs.model_version import MODEL_VERSION

__all__ = ["comment", "junit"]

MOST_BYTES = 60_000
"""Size of the Markdown text, at most; GitHub refuses comments of more than 65,536 characters."""


def junit(checks: Checks) -> str:
    """Results as JUnit XML: a test case per check. A check that is worse is a failure, a failed run is an error.

    Rules that are skipped, or that fail as known, are skipped test cases.
    """
    every = checks.checks
    suite = Element("testsuite", name=checks.suite.name, time=f"{checks.elapsed_s:.3f}")
    suite.set("failures", str(sum(each.verdict == WORSE and each.error is None for each in every)))
    suite.set("errors", str(sum(each.error is not None for each in every)))
    rules = [(each, rule, why) for each in every for rule, why in _left_out(each)]
    suite.set("tests", str(len(every) + len(rules)))
    suite.set("skipped", str(sum(each.verdict == INCONCLUSIVE for each in every) + len(rules)))
    properties = SubElement(suite, "properties")
    known = {"fullpipe": __version__, "model_version": MODEL_VERSION, "confidence": checks.suite.confidence}
    for name, value in known.items():
        SubElement(properties, "property", name=name, value=str(value))
    for each in every:
        _add_case(suite, each, checks)
    for each, rule, why in rules:
        case = SubElement(suite, "testcase", classname=printable(each.id), name=rule, time="0.000")
        SubElement(case, "skipped", message=printable(why))
    indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(suite, encoding="unicode") + "\n"


def _add_case(suite: Element, each: Checked, checks: Checks) -> None:
    group = each.check.scenario or f"conform {each.check.conform}"
    case = SubElement(suite, "testcase", classname=printable(group), name=printable(each.id))
    case.set("time", f"{each.wall_s:.3f}")
    if each.seeds:
        first = checks.suite.scenario(each.check.arm).seed
        seeds = " ".join(str(first + i) for i in range(each.seeds))
        SubElement(SubElement(case, "properties"), "property", name="seeds", value=seeds)
    if each.error is not None:
        SubElement(case, "error", type="run", message=printable(each.error))
    elif each.verdict == WORSE:
        SubElement(case, "failure", type="worse", message=printable(each.line()))
    elif each.verdict == INCONCLUSIVE:
        SubElement(case, "skipped", message=f"inconclusive: {printable(each.line())}")


def _left_out(each: Checked) -> list[tuple[str, str]]:
    """Rules of a check that JUnit shows as skipped, each with its reason."""
    return [*each.skipped.items(), *((rule, "fails as known") for rule in each.known)]


def comment(checks: Checks) -> str:
    """Results as Markdown: checks that are worse or inconclusive in a table, the others folded.

    The first line is a hidden mark by which a later comment replaces this one.
    """
    mark = f"<!-- fullpipe check: {printable(checks.suite.name).replace('--', '- -')} -->"
    parts = [mark, f"**{checks.headline()}**", ""]
    size = sum(len(part.encode()) for part in parts) + 500
    for verdict, heading in ((WORSE, ""), (INCONCLUSIVE, ""), (OK, "ok"), ("updated", "updated")):
        chosen = [each for each in checks.checks if each.verdict == verdict]
        text, shown = _fitting(checks, chosen, MOST_BYTES - size)
        if not chosen:
            continue
        if heading:
            text = f"<details><summary>{len(chosen)} {heading}</summary>\n\n{text}\n</details>\n"
        if shown < len(chosen):
            text += f"\n{len(chosen) - shown} more are {verdict}.\n"
        parts.append(text)
        size += len(text.encode()) + 100
    return "\n".join([*parts, *(f"Note: {note}" for note in checks.notes[:20])])[:MOST_BYTES] + "\n"


def _fitting(checks: Checks, chosen: list[Checked], most: int) -> tuple[str, int]:
    """Table of the first checks that fit in a number of bytes, and how many these are."""
    count = len(chosen)
    while count:
        text = markdown([checks.table("", chosen[:count])])
        if len(text.encode()) <= most:
            return text, count
        count //= 2
    return "", 0
