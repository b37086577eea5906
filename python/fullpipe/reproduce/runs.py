"""Single runs kept until their item is done: a virtual machine works for minutes on one, and an item has dozens."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fullpipe.files import staged_file
from fullpipe.inputs import read_json
from fullpipe.runs.result import TABLES, Result

if TYPE_CHECKING:
    from fullpipe.scenario import Scenario

__all__ = ["Runs"]


@dataclass(frozen=True)
class Runs:
    """Results of runs on Linux by what was run.

    Attributes:
        directory: Where they are; made when the first comes.
        program: A hash of what runs them, so that another program's results are not taken.
    """

    directory: Path
    program: str

    def recall(self, scenario: Scenario, run: Callable[[], Result]) -> Result:
        """The result kept of the scenario; if there is none, that of `run`, which is kept."""
        path = self.directory / f"{self._name(scenario)}.json"
        try:
            kept = read_json(path, finite=False)
            return Result(scenario, kept["columns"], engine="linux", wall_s=kept["wall_s"])
        except (OSError, ValueError, KeyError, TypeError):
            pass
        result = run()
        columns = {name: result.columns(name) for name in TABLES}
        self.directory.mkdir(parents=True, exist_ok=True)
        with staged_file(path) as stage:
            text = json.dumps({"columns": {**columns, "totals": result.totals}, "wall_s": result.totals["wall_s"]})
            stage.write_text(text, encoding="utf-8")
        return result

    def remove(self) -> None:
        """Forgets all of them."""
        shutil.rmtree(self.directory, ignore_errors=True)

    def _name(self, scenario: Scenario) -> str:
        return hashlib.sha256(f"{self.program}\0{scenario.to_toml()}".encode()).hexdigest()[:32]
