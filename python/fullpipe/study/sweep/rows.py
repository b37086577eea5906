"""A run's row: its figures, or its error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from fullpipe.errors import Cancelled
from fullpipe.runs import engines

if TYPE_CHECKING:
    from fullpipe.scenario import Scenario

__all__ = ["outcome"]

Row = dict[str, Any]


def outcome(
    scenario: Scenario,
    changes: Mapping[str, Any],
    progress: Callable[[float, float], object] | None = None,
    memory_bytes: int | None = None,
) -> Row:
    """Runs a scenario with some keys changed: its figures with ``error`` None, or only the ``error``, in one line.
    `memory_bytes` as for `run`.

    Raises:
        Cancelled: `progress` said so.
    """
    try:
        result = engines.run(scenario.replace(**changes), progress=progress, memory_bytes=memory_bytes)
        return {"error": None, **result.figures()}
    except Cancelled:
        raise
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of the engine is no Exception
        return {"error": " ".join(str(error).split()) or type(error).__name__}
