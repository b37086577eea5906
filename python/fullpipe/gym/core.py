"""The part that all environments share: simulations, intervals, histories, and controls, as arrays.

A single environment and one of many compute the same array operations, so that their numbers are equal to the last bit.

Measurements of an interval, ``raw``: the columns of `fullpipe._core.Batch` (``now_s``, ``duration_s``, ``sent``,
``delivered``, ``lost``, ``marked``, ``timeouts``, ``rtt_samples``, ``mean_rtt_s``, ``least_rtt_s``, ``rtt_slope``,
``rtt_inflation_s``, ``cwnd``, ``ssthresh``, ``pacing_rate``, ``in_flight``, ``srtt_s``, ``min_rtt_s``; counts in
packets), and ``rate_bps``, ``send_rate_bps``, ``lost_bps``, ``pacing_bps`` with headers, ``loss_rate``, ``best_bps``
(highest rate so far), ``best_mean_rtt_s`` (least mean RTT of an interval so far), ``delay_metric``, ``active``, and
``capacity_bps``, the rate of the slowest link (NaN if a link's rate changes). An interval without an RTT sample repeats
the last mean RTT.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

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
from fullpipe.runs.stepwise import EXTERNAL, is_external, named_failures, numbered, packet_bits
from fullpipe.scenario import Scenario
from fullpipe.scenario.quantity import Quantity

__all__ = ["Core", "Source"]

Source = Distribution | Scenario | str | os.PathLike[str] | Mapping[str, object]
"""A scenario, a distribution of scenarios, or a file of either."""

FIRST_WINDOW = 10.0
"""Window, and packets per round trip, before the first action (RFC 6928)."""

PROBE_S = 0.01
"""Step in which the first RTT sample is awaited, seconds."""

LONGEST_S = 10.0
"""Longest interval, seconds."""

LEAST_S = 0.001
"""Shortest interval that follows the RTT, seconds."""

COLUMNS = _core.Batch.columns()


class Core:
    """Simulations with flows that are controlled step by step, ``agents`` in each.

    Raises:
        InputError: An argument is not allowed.
        ScenarioError: The scenario is wrong, or has no flow with ``algorithm = "external"``.
    """

    def __init__(
        self,
        source: Source,
        count: int,
        *,
        action: str | Mapping[str, object],
        features_of: str | Sequence[str] | None,
        history: int,
        interval: str,
        reward: str | rewards.Reward,
        max_steps: int | None,
        workers: int | None,
        several: bool = False,
    ) -> None:
        self.distribution = Distribution.of(source)
        self.action = actions.chosen(action)
        self.features = features.chosen(features_of)
        self.reward = rewards.chosen(reward)
        check_range("history", history, 1)
        if max_steps is not None:
            check_range("max_steps", max_steps, 1)
        self.history, self.max_steps = history, max_steps
        self.fixed_s, self.rtts = _interval(interval)
        self.names = _learners(self.distribution.scenario, several)
        self.agents = len(self.names)
        self.has_base = _has_base(self.distribution.scenario)
        if self.has_base and self.action.name not in ("window", "window-multiplier", "discrete"):
            raise InputError(f"with a base algorithm, action must change the window, got {self.action.name}")
        if several and self.fixed_s is None:
            raise InputError(f"interval must be a time with several learners, got {quoted(interval)}")
        self.memory = share_bytes(count, None)
        self.batch = _core.Batch(count, count_workers(workers, count))
        self.count = count
        shape = (count, self.agents)
        self.duration_ns = np.zeros(count, np.int64)
        self.now_ns = np.zeros(count, np.int64)
        self.steps = np.zeros(count, np.int64)
        self.seeds = np.zeros(count, np.int64)
        self.packet_bits = np.full(count, 8000.0)
        self.capacity_bps = np.full(count, math.nan)
        self.sizes = np.full(shape, math.inf)
        self.total = np.zeros(shape)
        self.last_rtt = np.zeros(shape)
        self.best_rtt = np.full(shape, math.inf)
        self.best_bps = np.zeros(shape)
        self.was_active = np.zeros(shape, bool)
        self.set_rate = np.zeros(shape)
        self.set_window = np.zeros(shape)
        self.raw: dict[str, npt.NDArray[np.float64]] = {name: np.zeros(shape) for name in (*COLUMNS, *DERIVED)}
        self.neutral = features.neutral(self.features)
        self.past = np.tile(self.neutral, (count, self.agents, history, 1))
        self.low = np.array([each.low for each in self.features.values()])
        self.high = np.array([each.high for each in self.features.values()])

    def begin(self, place: int, seed: int) -> None:
        """Begins an episode: until the first RTT sample, with the scenario's initial window, and then one interval."""
        scenario = self.distribution.sample(seed)
        scenario, _ = numbered(scenario.replace(series_interval="off"))
        self._guarded(lambda: self.batch.begin(place, scenario.model, self.memory), scenario)
        self.packet_bits[place] = packet_bits(scenario)
        self.capacity_bps[place] = _capacity_bps(scenario)
        if self.reward is rewards.genet and math.isnan(self.capacity_bps[place]):
            raise ScenarioError("links", "the reward genet requires links with a fixed rate", scenario.file)
        for agent, group in enumerate(_groups(scenario)):
            given = Quantity.parse(group.get("size"))
            packets = math.inf if given is None else given.value
            if given is not None and given.base == "bytes":
                packets = math.ceil(8 * given.value / self.packet_bits[place])
            self.sizes[place, agent] = packets
        self.duration_ns[place] = round(scenario.duration_s * 1e9)
        self.now_ns[place] = self.steps[place] = 0
        self.seeds[place] = seed
        for each in (self.total, self.last_rtt, self.best_bps, self.was_active):
            each[place] = 0
        self.best_rtt[place] = math.inf
        self.past[place] = self.neutral
        self.set_window[place] = FIRST_WINDOW
        as_it_is = np.full((1, self.agents), math.nan)
        window = np.full((1, self.agents), FIRST_WINDOW)
        one = np.array([place])
        probe_ns = round(PROBE_S * 1e9)
        while self.now_ns[place] + 2 * probe_ns < self.duration_ns[place]:
            self._advance(one, as_it_is, as_it_is, np.array([probe_ns]), record=False)
            if self.last_rtt[place].max() > 0 or self.now_ns[place] > self.duration_ns[place] // 4:
                break
        rtt_s = np.where(self.last_rtt[one] > 0, self.last_rtt[one], 0.1)
        first = FIRST_WINDOW / rtt_s
        self.set_rate[place] = (first * self.packet_bits[place])[0]
        rate = first if self.action.is_rate else np.full((1, self.agents), actions.UNPACED)
        if self.has_base:
            window = as_it_is
        elif self.action.is_rate:
            window = np.maximum(window, 4 * FIRST_WINDOW)
        self._advance(one, window, rate, self._lengths(one))
        while self.has_base and np.isinf(self.raw["ssthresh"][place]).any():  # until slow start is over
            if self.now_ns[place] > self.duration_ns[place] // 2:
                break
            self._advance(one, as_it_is, as_it_is, self._lengths(one))
        if self.now_ns[place] >= self.duration_ns[place]:
            raise ScenarioError("duration", "no step is left after the first interval", scenario.file)

    def step(self, places: npt.NDArray[np.int64], given: npt.NDArray[np.float64]) -> None:
        """Applies actions, shape (places, agents), and advances by an interval."""
        rows = self._rows(places)
        rows["set_rate_bps"] = self.set_rate[places].ravel()
        rows["set_window"] = rows["cwnd"] if self.has_base else self.set_window[places].ravel()
        bits = np.repeat(self.packet_bits[places], self.agents)
        numbers = np.nan_to_num(np.asarray(given, np.float64).ravel())
        if self.action.name != "discrete":
            numbers = np.clip(numbers, -1, 1)
        window, rate = self.action.apply(numbers, rows, bits)
        shape = (len(places), self.agents)
        self.set_window[places] = window.reshape(shape)
        if self.action.is_rate:
            self.set_rate[places] = (rate * bits).reshape(shape)
        self._advance(places, window.reshape(shape), rate.reshape(shape), self._lengths(places))
        self.steps[places] += 1

    def observations(self, places: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """Observations, shape (places, agents, history, features)."""
        return self.past[places]

    def rewards(self, places: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Rewards of the last interval, shape (places, agents)."""
        rows = self._rows(places)
        found = np.asarray(self.reward(rows), np.float64)
        return np.broadcast_to(found, (len(places) * self.agents,)).reshape(len(places), self.agents)

    def terminated(self, places: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Whether all flows have delivered their size."""
        return np.asarray((self.total[places] >= self.sizes[places]).all(axis=1))

    def truncated(self, places: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Whether the scenario has ended, or the steps are used up, before all flows have delivered their size."""
        over = self.now_ns[places] >= self.duration_ns[places]
        if self.max_steps is not None:
            over |= self.steps[places] >= self.max_steps
        return np.asarray(over & ~self.terminated(places))

    def infos(self, places: npt.NDArray[np.int64]) -> dict[str, npt.NDArray[Any]]:
        """Facts about the last interval, each of shape (places, agents)."""
        found: dict[str, npt.NDArray[Any]] = {key: self.raw[name][places] for key, name in INFOS.items()}
        found["scenario_seed"] = np.repeat(self.seeds[places][:, None], self.agents, axis=1)
        return found

    def _rows(self, places: npt.NDArray[np.int64]) -> dict[str, npt.NDArray[np.float64]]:
        """Measurements of the last interval, one dimension each."""
        if len(places) == self.count:
            return {name: values.reshape(-1) for name, values in self.raw.items()}
        return {name: values[places].ravel() for name, values in self.raw.items()}

    def _lengths(self, places: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Lengths of the next intervals, nanoseconds."""
        if self.fixed_s is not None:
            return np.full(len(places), round(self.fixed_s * 1e9), np.int64)
        rtt = self.last_rtt[places, 0]
        return np.round(np.clip(self.rtts * np.where(rtt > 0, rtt, 0.1), LEAST_S, LONGEST_S) * 1e9).astype(np.int64)

    def _advance(
        self,
        places: npt.NDArray[np.int64],
        window: npt.NDArray[np.float64],
        rate: npt.NDArray[np.float64],
        lengths_ns: npt.NDArray[np.int64],
        *,
        record: bool = True,
    ) -> None:
        shape = (len(places), self.agents)
        controls = np.ascontiguousarray(np.stack([window, rate], axis=-1), np.float64).ravel()
        table = np.zeros(len(places) * self.agents * len(COLUMNS))
        until = np.minimum(self.now_ns[places] + lengths_ns, self.duration_ns[places])
        self._guarded(
            lambda: self.batch.step(places.tolist(), until.tolist(), controls, table, self.agents),
            self.distribution.scenario,
        )
        self.now_ns[places] = until
        columns = table.reshape(*shape, len(COLUMNS))
        raw = dict(zip(COLUMNS, np.ascontiguousarray(np.moveaxis(columns, -1, 0)), strict=True))
        bits = self.packet_bits[places][:, None]
        duration = np.where(raw["duration_s"] > 0, raw["duration_s"], 1.0)
        sampled = raw["rtt_samples"] > 0
        raw["mean_rtt_s"] = np.where(sampled, raw["mean_rtt_s"], self.last_rtt[places])
        raw["rate_bps"] = raw["delivered"] * bits / duration
        raw["send_rate_bps"] = raw["sent"] * bits / duration
        raw["lost_bps"] = raw["lost"] * bits / duration
        raw["pacing_bps"] = np.where(raw["pacing_rate"] < actions.UNPACED, raw["pacing_rate"] * bits, 1e12)
        both = raw["lost"] + raw["delivered"]
        raw["loss_rate"] = raw["lost"] / np.where(both > 0, both, 1.0)
        self.total[places] += raw["delivered"]
        self.last_rtt[places] = raw["mean_rtt_s"]
        self.best_rtt[places] = np.where(
            sampled, np.minimum(self.best_rtt[places], raw["mean_rtt_s"]), self.best_rtt[places]
        )
        self.was_active[places] |= raw["sent"] > 0
        if not record:
            return
        self.best_bps[places] = np.maximum(self.best_bps[places], raw["rate_bps"])
        best_rtt = self.best_rtt[places]
        raw["best_bps"] = self.best_bps[places]
        raw["best_mean_rtt_s"] = np.where(np.isfinite(best_rtt), best_rtt, 0.0)
        srtt = np.where(raw["srtt_s"] > 0, raw["srtt_s"], 1.0)
        raw["delay_metric"] = np.where(raw["srtt_s"] > 0, np.minimum(1.0, 1.25 * raw["min_rtt_s"] / srtt), 1.0)
        raw["active"] = self.was_active[places].astype(np.float64)
        raw["capacity_bps"] = np.repeat(self.capacity_bps[places][:, None], self.agents, axis=1)
        if len(places) == self.count:
            self.raw = raw
        else:
            for name, values in raw.items():
                self.raw[name][places] = values
        computed = np.stack([feature.compute(raw) for feature in self.features.values()], axis=-1)
        self.past[places, :, :-1] = self.past[places, :, 1:]
        computed = np.clip(computed, self.low, self.high).astype(np.float32)
        self.past[places, :, -1] = np.where(self.was_active[places][..., None], computed, self.neutral)

    def _guarded(self, use: Any, scenario: Scenario) -> None:
        try:
            with named_failures(scenario.file):
                use()
        except MemoryLimitError:  # a ValueError as well
            raise
        except ValueError as error:
            what = f"{error}: an environment requires built-in or compiled algorithms; write it as a compiled class"
            raise ScenarioError("flows", what, scenario.file) from None


DERIVED = (
    *("rate_bps", "send_rate_bps", "lost_bps", "pacing_bps", "loss_rate"),
    *("best_bps", "best_mean_rtt_s", "delay_metric", "active", "capacity_bps"),
)
"""Measurements that follow from the columns of the engine."""

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
        (quantity := Quantity.parse(text)) is not None and quantity.base == "s" and 1e-5 <= quantity.value <= LONGEST_S
    ):
        return quantity.value, 0.0
    raise InputError(
        f'interval must be in [0.01 ms, 10 s] or at most 100 RTT, such as "10 ms" or "1 RTT", got {quoted(text)}'
    )


def _capacity_bps(scenario: Scenario) -> float:
    """Rate of the slowest link; NaN if a link's rate changes."""
    links = scenario.to_dict().get("links", [])
    rates = [Quantity.parse(link.get("rate")) for link in links]
    if any("schedule" in link or "trace" in link for link in links) or not all(rates):
        return math.nan
    return min(rate.value for rate in rates if rate is not None)


def _groups(scenario: Scenario) -> list[Tree]:
    """Groups of flows that are controlled from outside."""
    groups: list[Tree] = scenario.to_dict().get("flows", [])
    return [group for group in groups if is_external(group["algorithm"])]


def _has_base(scenario: Scenario) -> bool:
    """Whether a base algorithm sets the window between the actions."""
    tables = [group["algorithm"] for group in _groups(scenario)]
    return any(isinstance(what, Mapping) and what.get("base", "none") != "none" for what in tables)


def _learners(scenario: Scenario, several: bool) -> list[str]:
    groups = _groups(scenario)
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
