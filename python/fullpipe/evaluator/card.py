"""Report card of a candidate: its own runs are made in the sandbox, and those of the standards here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from fullpipe._util.files import cache_directory
from fullpipe._util.plain import Tree
from fullpipe.engine.options import RunOptions
from fullpipe.experiments.evaluate.card import Card
from fullpipe.experiments.evaluate.measure import Row
from fullpipe.experiments.evaluate.preset import Party
from fullpipe.experiments.evaluate.running import card_by
from fullpipe.experiments.evaluate.work import Wanted, Work, open_store
from fullpipe.runs.design import Run
from fullpipe.runs.store import Store

__all__ = ["PLACEHOLDER", "report_card"]

PLACEHOLDER = "scalable"
"""Algorithm of the candidate's flows until its file is loaded: one that is built in, and in no test case."""

Rows = Callable[[Sequence[Tree], str], Sequence[Row]]
"""Function that gives the rows of the candidate's scenarios by the name of a measure."""


def report_card(rows: Rows, profile: str, options: RunOptions) -> Card:
    """Card of a candidate.

    Args:
        rows: Makes the runs of the candidate.
        profile: Profile of `fullpipe.evaluate`.
        options: Options of the other runs, which come from the cache of cards where it has them.
    """
    with open_store(cache_directory("evaluate")) as store:
        return card_by(Contained(store, options, rows), profile)


class Contained(Work):
    """Runs of a card, of which the candidate's are made in the sandbox, and are not kept."""

    def __init__(self, store: Store, options: RunOptions, rows: Rows) -> None:
        super().__init__(store, Party("candidate", PLACEHOLDER), options)
        self._candidate_rows = rows

    def address(self, wanted: Wanted) -> bytes:
        """Content address of a run; of the candidate's runs, their place in the card."""
        return self.place(wanted) if _is_candidate(wanted.tree) else super().address(wanted)

    def _make(self, wanted: Mapping[bytes, Run]) -> BaseException | None:
        mine: dict[str, dict[bytes, Tree]] = {}
        others: dict[bytes, Run] = {}
        for address, run in wanted.items():
            tree = run.scenario().to_dict()
            if _is_candidate(tree):
                mine.setdefault(run.case.measure, {})[address] = tree
            else:
                others[address] = run
        error = super()._make(others)
        for measure, trees in mine.items():
            self._rows |= zip(trees, self._candidate_rows(list(trees.values()), measure), strict=True)
        return error


def _is_candidate(tree: Tree) -> bool:
    groups = [*tree.get("flows", ()), *tree.get("web", ())]
    return any(group.get("algorithm") == PLACEHOLDER for group in groups)
