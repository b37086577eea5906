"""The card's runs on a Dask cluster."""

from __future__ import annotations

from collections.abc import Generator, Mapping

from fullpipe.errors import InputError
from fullpipe.fingerprint import build_fingerprint
from fullpipe.runs import engines
from fullpipe.runs.cluster import connect
from fullpipe.scenario import Scenario
from fullpipe.study.evaluate.measure import MEASURES, Row
from fullpipe.study.evaluate.preset import Tree

__all__ = ["on_cluster"]


def on_cluster(wanted: Mapping[str, tuple[Tree, str]], address: str) -> Generator[tuple[str, Row]]:
    """What is measured of runs, by key, in their order. Closing the iterator cancels the others.

    Raises:
        InputError: Dask is not installed, no scheduler answers, or a worker has another build.
    """
    with connect(address) as client:
        build = build_fingerprint()
        keys = {
            client.submit(_measured, Scenario.from_dict(tree), measured, build, pure=False): key
            for key, (tree, measured) in wanted.items()
        }
        try:
            for future, key in keys.items():
                row = future.result()
                if row is None:
                    raise InputError(f"{address}: a worker has another build of fullpipe")
                yield key, row
        finally:
            client.cancel(list(keys))


def _measured(scenario: Scenario, measured: str, build: str) -> Row | None:
    """A run on a worker; None where its build is another one."""
    return MEASURES[measured](engines.run(scenario)) if build_fingerprint() == build else None
