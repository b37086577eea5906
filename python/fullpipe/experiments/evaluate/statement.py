"""Statement of an algorithm's authors on criteria that no run can answer: a TOML file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from fullpipe._util.text import quoted, unknown
from fullpipe.errors import ScenarioError
from fullpipe.experiments.evaluate.criteria import CRITERIA
from fullpipe.scenario.scenario import parse, read_text

__all__ = ["Statement"]

STATED = [criterion.id for criterion in CRITERIA if criterion.stated]
SPECIAL = [criterion.id for criterion in CRITERIA if criterion.id.startswith("7.")]


@dataclass(frozen=True)
class Statement:
    """Statement of an algorithm's authors.

    Attributes:
        answers: Texts by section.
        excludes: Special cases (section 7) that are out of scope.
    """

    answers: Mapping[str, str] = field(default_factory=dict)
    excludes: tuple[str, ...] = ()

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Statement:
        """Reads a statement: ``excludes``, a list of sections, and a table ``[statements]`` with a text per section.

        Raises:
            ScenarioError: The file is not readable or not TOML, or a section cannot be stated or excluded.
        """
        file = str(path)
        return cls.of(parse(read_text(path), file=file), file)

    @classmethod
    def of(cls, tree: Mapping[str, object], file: str | None = None) -> Statement:
        """Statement from the content of a file."""
        for key in tree:
            if key not in ("statements", "excludes"):
                raise ScenarioError("", unknown("key", key, ("statements", "excludes")), file)
        answers, excludes = tree.get("statements", {}), tree.get("excludes", [])
        if not isinstance(answers, Mapping):
            raise ScenarioError("statements", f"must be a table of texts, got {quoted(answers)}", file)
        for section, text in answers.items():
            if section not in STATED:
                raise ScenarioError("statements", unknown("section", section, STATED), file)
            if not isinstance(text, str) or not text.strip():
                raise ScenarioError(f"statements.{section}", f"must be a text, got {quoted(text)}", file)
        if not isinstance(excludes, list):
            raise ScenarioError("excludes", f"must be a list of sections, got {quoted(excludes)}", file)
        for section in excludes:
            if section not in SPECIAL:
                raise ScenarioError("excludes", unknown("section", section, SPECIAL), file)
        return cls(dict(answers), tuple(excludes))
