"""The part that all environments share: simulations, intervals, histories, and controls, as arrays.

Measurements of an interval, ``raw``: those of `fullpipe._core.Batch` (``crates/py/src/learner.rs``). Counts are in
packets, rates in bit/s with headers. ``best_bps`` is the highest rate so far, ``best_mean_rtt_s`` the least mean RTT
of an interval so far, ``capacity_bps`` the mean rate of the slowest link (NaN for a trace), ``flows`` their number,
``limited_share`` the share of the time in which the application limited the sender, and ``set_rate_bps``,
``set_window``, and ``action`` the last controls. An interval without an RTT sample repeats the last mean RTT.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from fullpipe import _core
from fullpipe._util.plain import Tree
from fullpipe._util.text import quoted
from fullpipe.engine.memory import share_bytes
from fullpipe.engine.pool import count_workers
from fullpipe.errors import InputError, MemoryLimitError, ScenarioError, check_range
from fullpipe.gym import actions, features, rewards
from fullpipe.gym.distribution import Distribution
from fullpipe.gym.formula import Formula
from fullpipe.runs.stepwise import EXTERNAL, is_external, named_failures, numbered, packet_bits
from fullpipe.scenario import Scenario
from fullpipe.scenario.quantity import Quantity

__all__ = ["CONSTANTS", "NAMES", "REWARD", "STEPS", "SUMMARY", "TERMINATED", "TRUNCATED", "Core", "Options", "Source"]

Source = Distribution | Scenario | str | os.PathLike[str] | Mapping[str, object]
"""A scenario, a distribution of scenarios, or a file of either."""

NAMES = _core.Batch.names()
"""Measurements in the order of a row."""

REWARD, TERMINATED, TRUNCATED, STEPS = (
    NAMES.index(name) for name in ("reward", "is_terminated", "is_truncated", "steps")
)
"""Places of some of them."""

INFOS = {
    "time_s": "now_s",
    "interval_s": "duration_s",
    "goodput_bps": "rate_bps",
    "send_rate_bps": "send_rate_bps",
    "mean_rtt_s": "mean_rtt_s",
    "min_rtt_s": "min_rtt_s",
    "loss_rate": "loss_rate",
    "cwnd_packets": "cwnd",
}
"""Keys of ``info``, and the measurement of each."""

TRUTH = {
    "capacity_bps": "capacity_bps",
    "base_rtt_s": "base_rtt_s",
    "queue_packets": "queue_packets",
    "other_goodput_bps": "other_goodput_bps",
}
"""Further keys with ``truth=True``."""

SUMMARY = {
    "goodput_bps": "episode_goodput_bps",
    "loss_rate": "episode_loss_rate",
    "mean_rtt_s": "episode_mean_rtt_s",
    "duration_s": "now_s",
}
"""Keys of ``summary`` at the end of an episode."""

CONSTANTS = _core.Batch.constants()
"""Numbers of the first intervals, and shortest and longest interval that follows the RTT."""

NEVER = 2**62
"""Number of steps or timeouts that no episode has."""


@dataclass(frozen=True)
class Options:
    """Arguments that all environments share."""

    action: str | Mapping[str, object]
    features: str | Sequence[str] | None
    history: int
    interval: str
    reward: str | rewards.Reward
    max_steps: int | None
    scaling: str
    collapse: int | None
    truth: bool


class Core:
    """Episodes with flows that are controlled step by step, ``agents`` in each.

    Raises:
        InputError: An argument is not allowed.
        ScenarioError: The scenario is wrong, or has no flow with ``algorithm = "external"``.
    """

    def __init__(
        self, source: Source, count: int, options: Options, *, workers: int | None, several: bool = False
    ) -> None:
        self.distribution = Distribution.of(source)
        self.action = actions.chosen(options.action)
        self.features = features.chosen(options.features, options.scaling)
        self.reward = rewards.chosen(options.reward)
        check_range("history", options.history, 1)
        for name in ("max_steps", "collapse"):
            if (value := getattr(options, name)) is not None:
                check_range(name, value, 1)
        self.history = options.history
        self.fixed_s, self.rtts = _interval(options.interval)
        self.names = _learners(self.distribution.scenario, several)
        self.has_base = _has_base(self.distribution.scenario)
        if self.has_base and self.action.is_rate:
            raise InputError(f"with a base algorithm, action must change the window, got {self.action.name}")
        if several and self.fixed_s is None:
            raise InputError(f"interval must be a time with several learners, got {quoted(options.interval)}")
        self.memory = share_bytes(count, None)
        self.count, self.agents = count, len(self.names)
        self.batch = _core.Batch(count, self.agents, count_workers(workers, count), self._terms(options))
        self.seeds = [0] * count
        self.returns = np.zeros((count, self.agents))
        self.first_shares: list[float | None] = [None] * count
        self.info_names = INFOS | (TRUTH if options.truth else {})
        self.low = np.array([each.low for each in self.features.values()])
        self.high = np.array([each.high for each in self.features.values()])

    def begin(self, place: int, seed: int) -> None:
        """Begins an episode: until the first RTT sample, with the scenario's initial window, and then two intervals."""
        scenario = self.distribution.sample(seed)
        scenario, numbers = numbered(scenario.replace(series_interval="off"))
        tree, bits = scenario.to_dict(), packet_bits(scenario)
        capacity = _capacity(tree)
        if self.reward in NEEDING_CAPACITY and math.isnan(capacity[0][1]):
            raise ScenarioError("links", "this reward requires links with a rate, not with a trace", scenario.file)
        share = None
        if self.action.start is not None:
            low, high = self.action.start
            share = low + (high - low) * Distribution.stream(seed, "start").random()
        facts = {
            "duration_ns": round(scenario.duration_s * 1e9),
            "packet_bits": bits,
            "capacity": capacity,
            "base_rtt_s": _base_rtt_s(tree),
            "flows": float(sum(int(group.get("count", 1)) for group in tree["flows"])),
            "sizes": [_size(group, bits) for group in _groups(tree)],
            "numbers": list(numbers),
            "links": len(tree["links"]),
            "start_bps": None if share is None else share * capacity[0][1],
        }
        with self._named(scenario):
            is_over = self.batch.begin(place, scenario.model, self.memory, facts)
        if is_over:
            raise ScenarioError("duration", "no step is left after the first intervals", scenario.file)
        self.seeds[place] = seed
        self.first_shares[place] = share
        self.returns[place] = 0

    def step(self, given: npt.NDArray[np.float64], skip: Sequence[int] = ()) -> None:
        """Applies actions, shape (count, agents), and advances by an interval, but for the places to skip."""
        with self._named(self.distribution.scenario):
            self.batch.step(list(skip), given)

    def step_one(self, action: float, observation: npt.NDArray[np.float32]) -> list[float]:
        """Applies an action of the only learner, advances by an interval, and gives its row.

        Args:
            action: The action.
            observation: Array for the observation.
        """
        with self._named(self.distribution.scenario):
            row = self.batch.step_one(action, observation)
        if not isinstance(self.reward, Formula):
            arrays = dict(zip(NAMES, np.array(row)[:, None], strict=True))
            row[REWARD] = float(np.asarray(self.reward(arrays), np.float64).reshape(-1)[0])
        self.returns[0, 0] += row[REWARD]
        return row

    def read(self, observations: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
        """Rows of all learners, shape (names, count, agents).

        Args:
            observations: Array for the observations.
        """
        rows = np.empty((self.count, self.agents, len(NAMES)))
        self.batch.read(rows, observations)
        found: npt.NDArray[np.float64] = np.ascontiguousarray(rows.transpose(2, 0, 1))
        return found

    def rewards(self, rows: npt.NDArray[np.float64], skip: Sequence[int] = ()) -> npt.NDArray[np.float64]:
        """Rewards of the last interval, shape (count, agents); 0 for places to skip."""
        going = np.ones(self.count, bool)
        going[list(skip)] = False
        found: npt.NDArray[np.float64] = rows[REWARD]
        if not isinstance(self.reward, Formula):
            part = rows[:, going].reshape(len(NAMES), -1)
            values = np.asarray(self.reward(dict(zip(NAMES, part, strict=True))), np.float64)
            found[going] = np.broadcast_to(values, part.shape[1]).reshape(-1, self.agents)
        found[~going] = 0
        self.returns += found
        return found

    def info(self, row: Sequence[float], place: int = 0, agent: int = 0) -> dict[str, object]:
        """Facts about the last interval of a learner, and about its episode if that has ended."""
        found: dict[str, object] = {key: row[at] for key, at in self.info_places}
        found["scenario_seed"] = self.seeds[place]
        if (share := self.first_shares[place]) is not None:
            found["first_rate_share"] = share
        if row[TERMINATED] or row[TRUNCATED]:
            summary = {key: row[NAMES.index(name)] for key, name in SUMMARY.items()}
            found["summary"] = {"return": float(self.returns[place, agent]), "length": int(row[STEPS]), **summary}
        return found

    @cached_property
    def info_places(self) -> list[tuple[str, int]]:
        """Keys of ``info``, and the place of each in a row."""
        return [(key, NAMES.index(name)) for key, name in self.info_names.items()]

    def _terms(self, options: Options) -> dict[str, object]:
        """Terms of all episodes, for the extension module."""
        return {
            "features": [
                (Formula(law.formula).words(), law.low, law.high, law.neutral) for law in self.features.values()
            ],
            "history": self.history,
            "interval_ns": None if self.fixed_s is None else round(self.fixed_s * 1e9),
            "rtts": self.rtts,
            "action": self.action.formula().words(),
            "limit": self.action.limit if self.action.name != "discrete" else float(len(self.action.operations)),
            "sets_rate": self.action.is_rate,
            "bounds": self.action.bounds,
            "has_base": self.has_base,
            "reward": self.reward.words() if isinstance(self.reward, Formula) else None,
            "max_steps": options.max_steps or NEVER,
            "collapse": options.collapse or NEVER,
            "sees_truth": options.truth,
        }

    @contextmanager
    def _named(self, scenario: Scenario) -> Iterator[None]:
        try:
            with named_failures(scenario.file):
                yield
        except MemoryLimitError:  # a ValueError as well
            raise
        except ValueError as error:
            what = f"{error}: an environment requires built-in or compiled algorithms; write it as a compiled class"
            raise ScenarioError("flows", what, scenario.file) from None


NEEDING_CAPACITY = [rewards.REWARDS[name] for name in ("genet", "sage", "remy")]
"""Rewards of which the capacity is a part."""


def _interval(text: str) -> tuple[float | None, float]:
    """A fixed length in seconds, or None and a number of round trips."""
    if text.endswith("RTT"):
        try:
            rtts = float(text.removesuffix("RTT"))
        except ValueError:
            rtts = 0.0
        if 0 < rtts <= 100:
            return None, rtts
    elif (
        (quantity := Quantity.parse(text)) is not None
        and quantity.base == "s"
        and 1e-5 <= quantity.value <= CONSTANTS["longest_s"]
    ):
        return quantity.value, 0.0
    raise InputError(
        f'interval must be in [0.01 ms, 10 s] or at most 100 RTT, such as "10 ms" or "1 RTT", got {quoted(text)}'
    )


def _capacity(scenario: Tree) -> list[tuple[int, float]]:
    """Times in nanoseconds, and the rate of the slowest link from then on; NaN if a link has a trace."""
    changes: dict[int, dict[str, float]] = {0: {}}
    for link in scenario["links"]:
        rate = Quantity.parse(link.get("rate"))
        changes[0][link["name"]] = math.nan if rate is None or "trace" in link else rate.value
        for change in link.get("schedule", []):
            at, rate = Quantity.parse(change["at"]), Quantity.parse(change.get("rate"))
            if at is not None and rate is not None:
                changes.setdefault(round(at.value * 1e9), {})[link["name"]] = rate.value
    now: dict[str, float] = {}
    found = []
    for at_ns in sorted(changes):
        now |= changes[at_ns]
        found.append((at_ns, min(now.values()) if all(rate == rate for rate in now.values()) else math.nan))
    return found


def _base_rtt_s(scenario: Tree) -> float:
    """Twice the delay of the links of the learner's path."""
    links = {link["name"]: link for link in scenario["links"]}
    path = _groups(scenario)[0].get("path", list(links))
    delays = [Quantity.parse(links[name].get("delay")) for name in path if name in links]
    return 2 * sum(0.0 if delay is None else delay.value for delay in delays)


def _size(group: Tree, bits: float) -> float:
    """Size of a flow in packets; infinite without one."""
    given = Quantity.parse(group.get("size"))
    if given is None:
        return math.inf
    return math.ceil(8 * given.value / bits) if given.base == "bytes" else given.value


def _groups(scenario: Tree) -> list[Tree]:
    """Groups of flows that are controlled from outside."""
    groups: list[Tree] = scenario.get("flows", [])
    return [group for group in groups if is_external(group["algorithm"])]


def _has_base(scenario: Scenario) -> bool:
    """Whether a base algorithm sets the window between the actions."""
    tables = [group["algorithm"] for group in _groups(scenario.to_dict())]
    return any(isinstance(what, Mapping) and what.get("base", "none") != "none" for what in tables)


def _learners(scenario: Scenario, several: bool) -> list[str]:
    groups = _groups(scenario.to_dict())
    names = [
        group.get("name", EXTERNAL) + (f"/{i + 1}" if group.get("count", 1) > 1 else "")
        for group in groups
        for i in range(int(group.get("count", 1)))
    ]
    if not names:
        raise ScenarioError("flows", f'an environment requires a flow with algorithm = "{EXTERNAL}"', scenario.file)
    if len(names) > 1 and not several:
        raise ScenarioError(
            "flows",
            f"an environment requires exactly one learner, got {len(names)}; ParallelEnv takes several",
            scenario.file,
        )
    if len(set(names)) < len(names):
        raise ScenarioError("flows", "learners must have different names", scenario.file)
    return names
