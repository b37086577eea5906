"""Common and varying parameters of an item's scenarios."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fullpipe.scenario import Scenario

__all__ = ["parameters"]

ABSENT = "-"


def parameters(scenarios: Mapping[str, Scenario]) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Keys of the scenarios by path: those with one value everywhere, and those with several values in the order of the
    scenarios; ``-`` if a scenario lacks the key.
    """
    trees = [dict(_leaves(scenario.to_dict(), "")) for scenario in scenarios.values()]
    paths = dict.fromkeys(path for tree in trees for path in tree)
    values = {path: list(dict.fromkeys(tree.get(path, ABSENT) for tree in trees)) for path in paths}
    common = {path: found[0] for path, found in values.items() if len(found) == 1}
    return common, {path: found for path, found in values.items() if len(found) > 1}


def _leaves(value: object, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, entry in value.items():
            if key != "name":
                yield from _leaves(entry, f"{path}.{key}" if path else key)
            elif path.endswith("algorithm"):
                yield path, str(entry)
    elif isinstance(value, list) and value and all(isinstance(entry, Mapping) for entry in value):
        for i, entry in enumerate(value):
            label = entry["name"] if path == "links" else str(i)
            yield from _leaves(entry, f"{path}.{label}" if len(value) > 1 or path == "links" else path)
    else:
        yield path, ", ".join(map(str, value)) if isinstance(value, list) else str(value)
