"""Agreement with ns-2 on the short cases, for every algorithm. Needs Debian's package ns2 and the built `fullpipe`."""

from __future__ import annotations

import shutil

import pytest
from benchmarks.agreement.cases import Algorithm, Case, load
from benchmarks.agreement.compare import compare

GRID = load()
FAST = [
    pytest.param(case, algorithm, id=f"{case.name}-{algorithm.name}")
    for case in GRID.cases
    for algorithm in GRID.algorithms
    if algorithm.name in case.fast
]

pytestmark = pytest.mark.skipif(shutil.which("ns") is None, reason="ns-2 is not installed (Debian package ns2)")


@pytest.mark.parametrize(("case", "algorithm"), FAST)
def test_agrees(case: Case, algorithm: Algorithm) -> None:
    row = compare(case, algorithm)
    assert not row.outside, (
        f"utilization {row.utilization_points:+.2f} points, cwnd x{row.cwnd_ratio:.3f}, loss x{row.loss_ratio}"
    )
