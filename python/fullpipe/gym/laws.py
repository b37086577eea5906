"""Laws of the axes of a distribution: checks, draws, and draws beyond the range.

- ``{ uniform = [LOW, HIGH] }`` and ``{ integer = [LOW, HIGH] }``.
- ``{ log = [LOW, HIGH] }``: uniform logarithm. ``zero = 0.5`` is a probability of 0, ``zero_below = 1e-4`` makes lesser
  draws 0, and ``next_whole = true`` takes the next whole number above a draw.
- ``{ normal = [MEAN, DEVIATION], between = [LOW, HIGH] }``: truncated.
- ``{ choice = [...] }`` with optional ``weights``. The algorithm ``"none"`` leaves out the flow.
- ``{ traces = "FOLDER" }``: one of the files of a folder.
- ``{ steps = { every = [LOW, HIGH], rate = [LOW, HIGH] } }`` of a link's schedule: a new rate at the beginning, and
  then at equal times, which are drawn once and rounded up to 100 ms. A rate without a unit is a share of the link's
  rate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from fullpipe._util.plain import Table
from fullpipe._util.text import quoted
from fullpipe.scenario.quantity import Quantity

__all__ = ["check", "draw", "schedule"]

EXTRAS: Mapping[str, tuple[str, ...]] = {
    "uniform": (),
    "log": ("zero", "zero_below", "next_whole"),
    "normal": ("between",),
    "integer": (),
    "choice": ("weights",),
    "traces": (),
    "steps": (),
}
"""Kinds of laws, and the other keys of each."""

GRID_S = 0.1
"""Times of ``steps`` are multiples of this (Genet, ``src/simulator/trace.py``)."""

ATTEMPTS = 10_000
"""Draws of a normal law until one is in the range."""

Fraction = Callable[[], float]


def check(law: Table, folder: Path) -> str | None:
    """Fault of a law, or None.

    Args:
        law: The law.
        folder: Folder of relative names.
    """
    kinds = [key for key in law if key in EXTRAS]
    if len(kinds) != 1 or any(key not in (kinds[0], *EXTRAS[kinds[0]]) for key in law):
        return f"an axis requires one of {', '.join(EXTRAS)}"
    match kinds[0]:
        case "choice":
            return _check_choice(law)
        case "traces":
            return None if _files(law, folder) else f"traces requires a folder with files, got {quoted(law['traces'])}"
        case "steps":
            return _check_steps(law["steps"])
        case "normal":
            return _check_normal(law)
        case kind:
            return _check_range(kind, law[kind], above_0=kind == "log") or _check_zero(law)


def draw(law: Table, random: np.random.Generator, folder: Path, *, outside: float | None = None) -> object:
    """A value of a law.

    Args:
        law: The law.
        random: Stream of the axis.
        folder: Folder of relative names.
        outside: Factor beyond the range, where the draw is outside of it.
    """
    if "choice" in law:
        weights = np.array(law.get("weights", [1] * len(law["choice"])), float)
        return law["choice"][int(random.choice(len(weights), p=weights / weights.sum()))]
    if "traces" in law:
        files = _files(law, folder)
        return str(files[int(random.integers(len(files)))].resolve())
    if "steps" in law:
        return {"steps": law["steps"], "every_s": _every(law["steps"], random.random())}
    kind = next(key for key in EXTRAS if key in law)
    (low, unit), (high, _) = (_number(value) or (0.0, "") for value in law.get("between", law[kind]))
    if outside is not None:
        value = _outside(low, high, outside, random, whole=kind == "integer")
    elif kind == "normal":
        value = _normal(law, low, high, random)
    elif kind == "integer":
        random.random(2)
        value = int(random.integers(int(low), int(high) + 1))
    else:
        place, zero = random.random(2)
        value = low * (high / low) ** place if kind == "log" else low + (high - low) * place
        if zero < law.get("zero", 0) or value < law.get("zero_below", 0):
            value = 0.0
    if law.get("next_whole"):
        value = math.floor(value) + 1
    if kind == "integer":
        value = int(value)
    return f"{value:.9g} {unit}" if unit else value


def schedule(drawn: Table, rate_bps: float, duration_s: float, random: np.random.Generator) -> list[dict[str, str]]:
    """Schedule of ``steps``.

    Args:
        drawn: The value that `draw` gave.
        rate_bps: Rate of the link.
        duration_s: Duration of the scenario.
        random: Stream of the rates.
    """
    low, high = (_share(value) or (0.0, False) for value in drawn["steps"]["rate"])
    ends = [value * rate_bps if is_share else value for value, is_share in (low, high)]
    least, most = min(ends), max(ends)
    every_s = float(drawn["every_s"])
    found, at_s = [], 0.0
    while at_s < duration_s:
        rate = max(1.0, least + (most - least) * random.random())
        found.append({"at": f"{at_s:.9g} s", "rate": f"{rate:.9g} bit/s"})
        at_s = round(at_s + every_s, 9)
    return found


def _check_choice(law: Table) -> str | None:
    given = law["choice"]
    if not isinstance(given, Sequence) or isinstance(given, str) or not given:
        return "choice requires a list"
    weights = law.get("weights", [1] * len(given))
    if len(weights) != len(given) or min(weights) < 0 or not sum(weights) > 0:
        return f"weights must be {len(given)} numbers of at least 0, one of them above 0"
    return None


def _check_range(kind: str, given: object, *, above_0: bool = False) -> str | None:
    pair = given if isinstance(given, Sequence) and not isinstance(given, str) and len(given) == 2 else (None, None)
    low, high = (_number(value) for value in pair)
    if low is None or high is None or low[1] != high[1] or not low[0] <= high[0]:
        return f"{kind} requires two values in one unit, the lesser one first, got {quoted(str(given))}"
    return f"{kind} requires values above 0" if above_0 and low[0] <= 0 else None


def _check_zero(law: Table) -> str | None:
    return None if 0 <= law.get("zero", 0) <= 1 else f"zero must be in [0, 1], got {law['zero']}"


def _check_normal(law: Table) -> str | None:
    wrong = _check_range("between", law.get("between"))
    pair = law["normal"] if isinstance(law["normal"], Sequence) and len(law["normal"]) == 2 else (None, None)
    mean, deviation = (_number(value) for value in pair)
    if wrong or mean is None or deviation is None or mean[1] != deviation[1] or not deviation[0] > 0:
        return wrong or f"normal requires a mean and a deviation above 0 in one unit, got {quoted(str(law['normal']))}"
    (low, unit), (high, _) = (_number(value) or (0.0, "") for value in law["between"])
    if unit != mean[1]:
        return "normal and between require one unit"
    if high < mean[0] - 3 * deviation[0] or low > mean[0] + 3 * deviation[0]:
        return "between must be within 3 deviations of the mean"
    return None


def _check_steps(given: object) -> str | None:
    if not isinstance(given, Mapping) or set(given) != {"every", "rate"}:
        return "steps requires every and rate"
    wrong = _check_range("every", given["every"])
    if wrong or any((_number(value) or (0, ""))[1] != "s" for value in given["every"]):
        return wrong or "every requires two times"
    if len(given["rate"]) != 2 or any(_share(value) is None for value in given["rate"]):
        return f"rate of steps requires two rates or shares above 0, got {quoted(str(given['rate']))}"
    return None


def _share(value: object) -> tuple[float, bool] | None:
    """Rate in bit/s and False, or a share of the link's rate and True."""
    number = _number(value)
    if number is None and isinstance(value, str):
        try:
            number = (float(value), "")
        except ValueError:
            return None
    if number is None or number[1] not in ("", "bit/s") or not number[0] > 0:
        return None
    return number[0], number[1] == ""


def _every(steps: Table, place: float) -> float:
    (low, _), (high, _) = (_number(value) or (0.0, "") for value in steps["every"])
    return max(1, math.ceil(round((low + (high - low) * place) / GRID_S, 9))) * GRID_S


def _normal(law: Table, low: float, high: float, random: np.random.Generator) -> float:
    (mean, _), (deviation, _) = (_number(value) or (0.0, "") for value in law["normal"])
    for _ in range(ATTEMPTS):
        value = float(random.normal(mean, deviation))
        if low <= value <= high:
            return value
    return min(max(mean, low), high)


def _outside(low: float, high: float, factor: float, random: np.random.Generator, *, whole: bool) -> float:
    """A value below or above the range, with a uniform logarithm; 0 and lesser values are never drawn."""
    above, place = random.random(2)
    if low <= (1 if whole else 0) or above < 0.5:
        value = high * float(factor ** (1 - place))
        return math.floor(value) + 1 if whole else value
    value = low / float(factor ** (1 - place))
    return math.floor(value) if whole else value


def _files(law: Table, folder: Path) -> list[Path]:
    where = folder / str(law["traces"])
    return sorted(path for path in where.iterdir() if path.is_file()) if where.is_dir() else []


def _number(value: object) -> tuple[float, str] | None:
    """Value in its base unit, and that unit as scenarios write it; "" for a plain number."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value), ""
    quantity = Quantity.parse(value)
    return None if quantity is None else (quantity.value, {"bytes": "B"}.get(quantity.base, quantity.base))
