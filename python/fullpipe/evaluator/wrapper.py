"""Evaluator file for OpenEvolve, which calls functions of a Python file with the candidate's path alone."""

from __future__ import annotations

import os
from pathlib import Path

from fullpipe._util.files import check_file, staged_file
from fullpipe.errors import InputError
from fullpipe.evaluator.score import PASSED

__all__ = ["CASCADE_THRESHOLDS", "wrapper"]

CASCADE_THRESHOLDS = tuple(PASSED.values())
"""``cascade_thresholds`` of OpenEvolve's configuration: a candidate that passes a stage has the stage's score."""

TEXT = '''"""Evaluator of controllers for OpenEvolve, written by fullpipe.evaluator.wrapper.

Its configuration requires cascade_thresholds: {thresholds}, and a timeout above {budget} for each stage.
"""

from pathlib import Path

from openevolve.evaluation_result import EvaluationResult

from fullpipe.evaluator import evaluate as score

OPTIONS = {{
    "secret": Path({secret!r}).read_bytes(),
    "rounds": {rounds!r},
    "budget": {budget!r},
    "require_sandbox": {require_sandbox!r},
}}


def evaluate(program_path):
    return stage(program_path, 3)


def evaluate_stage1(program_path):
    return stage(program_path, 1)


def evaluate_stage2(program_path):
    return stage(program_path, 2)


def evaluate_stage3(program_path):
    return stage(program_path, 3)


def stage(program_path, stages):
    found = score(program_path, stages=stages, **OPTIONS)
    excesses = {{name: each["excess"] for name, each in found["constraints"].items()}}
    return EvaluationResult(
        metrics={{**found["metrics"], **excesses, "combined_score": found["combined_score"]}},
        artifacts=found["artifacts"],
    )
'''


def wrapper(
    file: str | os.PathLike[str],
    *,
    secret_file: str | os.PathLike[str],
    budget: str = "240 s",
    require_sandbox: bool = False,
) -> None:
    """Writes an evaluator file for OpenEvolve, with functions for its cascade.

    Calls of the secret are counted in a file with the suffix ``.rounds``. The secret itself is in neither file, and the
    process of the candidate does not get it.

    Args:
        file: The file, such as ``"evaluator.py"``.
        secret_file: File with the secret of the held-out paths.
        budget: Wall time of a stage, below the ``timeout`` of OpenEvolve, whose default is 300 s.
        require_sandbox: As for `fullpipe.evaluator.evaluate`.

    Raises:
        InputError: The secret file is not there, or the evaluator file can't be written.
    """
    secret = Path(secret_file).resolve()
    if not secret.is_file():
        raise InputError(f"{os.fspath(secret_file)}: is not a file")
    text = TEXT.format(
        thresholds=list(CASCADE_THRESHOLDS),
        secret=str(secret),
        rounds=f"{secret}.rounds",
        budget=budget,
        require_sandbox=require_sandbox,
    )
    check_file(file)
    with staged_file(file) as stage:
        stage.write_text(text, encoding="utf-8")
