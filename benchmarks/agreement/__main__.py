"""`python -m benchmarks.agreement`: prints the table of agreement with ns-2.

Exit status: 0 where every figure is inside or its cause is written down in cases.toml for that very case, 1 otherwise.
"""

from __future__ import annotations

import argparse
import json
import sys
from fnmatch import fnmatch

from ..simulators import OUT, SimulatorError, ns2_version, run_ns2_cached
from .cases import SCRIPT, load, ns2_options
from .compare import Row, compare

HEADER = (
    f"{'case':<15} {'algorithm':<14} {'utilization':>11} {'ns-2':>6} {'points':>6} {'±ns-2':>5}  "
    f"{'cwnd':>7} {'ratio':>5} {'±ns-2':>5}  {'loss %':>7} {'ratio':>5} {'±ns-2':>5}  {'RTOs':>5} {'ns-2':>5}"
)


def main() -> int:
    arguments = _arguments()
    grid = load()
    pairs = [
        (case, algorithm)
        for case in grid.cases
        for algorithm in grid.algorithms
        if fnmatch(case.name, arguments.case) and fnmatch(algorithm.name, arguments.algorithm)
        if algorithm.name in case.fast or not arguments.fast
    ]
    if arguments.ns2_only:
        for case, algorithm in pairs:
            for run in range(case.runs_of(algorithm)):
                run_ns2_cached(SCRIPT, ns2_options(case, algorithm, run))
            print(case.name, algorithm.name, file=sys.stderr)
        return 0
    print(f"fullpipe against ns-2 {ns2_version()}; ±ns-2 is the range of ns-2's own runs over its mean")
    print(HEADER)
    inside = explained = 0
    for case, algorithm in pairs:
        row = compare(case, algorithm)
        causes = grid.causes(case, algorithm, row.outside)
        inside += not row.outside
        explained += bool(row.outside and causes)
        print(line(row, causes), flush=True)
    print(f"{inside} of {len(pairs)} inside, {explained} outside with a known cause (reports/agreement.md)")
    if arguments.case == arguments.algorithm == "*" and not arguments.fast:
        counts = {"cases": len(pairs), "inside": inside, "explained": explained}
        OUT.joinpath("agreement").mkdir(parents=True, exist_ok=True)
        OUT.joinpath("agreement/agreement.json").write_text(json.dumps(counts) + "\n")
    return 0 if inside + explained == len(pairs) else 1


def line(row: Row, causes: list[str] | None) -> str:
    """One row of the table."""
    reason = "; ".join(causes) if causes else "UNEXPLAINED"
    verdict = f"outside: {', '.join(row.outside)} ({reason})" if row.outside else "inside"
    loss = f"{row.loss_ratio:5.2f}" if row.loss_ratio is not None else "    -"
    cwnd_spread = row.ns2_spread("cwnd") / row.mean_of("ns2", "cwnd")
    loss_spread = row.ns2_spread("loss_rate") / (row.mean_of("ns2", "loss_rate") or 1)
    return (
        f"{row.case.name:<15} {row.algorithm.name:<14} {row.mean_of('ours', 'utilization'):>11.4f} "
        f"{row.mean_of('ns2', 'utilization'):>6.4f} {row.utilization_points:>+6.2f} "
        f"{100 * row.ns2_spread('utilization'):>5.2f}  {row.mean_of('ours', 'cwnd'):>7.1f} {row.cwnd_ratio:>5.3f} "
        f"{cwnd_spread:>5.3f}  {100 * row.mean_of('ours', 'loss_rate'):>7.4f} {loss} {loss_spread:>5.2f}  "
        f"{row.mean_of('ours', 'timeouts'):>5.0f} {row.mean_of('ns2', 'timeouts'):>5.0f}  "
        f"{verdict}"
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.agreement", description=__doc__.splitlines()[0])
    parser.add_argument("--case", default="*", help="only cases whose name matches this pattern")
    parser.add_argument("--algorithm", default="*", help="only algorithms whose name matches this pattern")
    parser.add_argument("--fast", action="store_true", help="only the cases the tests run")
    parser.add_argument("--ns2-only", action="store_true", help="fill the cache of ns-2's results and stop")
    return parser.parse_args()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except SimulatorError as error:
        sys.exit(f"agreement: {error}")
