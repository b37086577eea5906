"""Result of `advise`: all runs, the shortfall of each queue, and the recommendation."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from typing import TYPE_CHECKING

from fullpipe._util.display import Shown
from fullpipe._util.files import readable
from fullpipe._util.inputs import read_json, read_table
from fullpipe._util.plain import Table
from fullpipe.experiments.advise.services import Service, shortfall
from fullpipe.experiments.advise.words import (
    CALL_LIMIT_S,
    assumptions_of,
    calls_of,
    certainty_of,
    change_of,
    cost_of,
    warnings_of,
)
from fullpipe.experiments.recommendation import Buffer, Recommendation, tc_line
from fullpipe.linux.queues import Line
from fullpipe.metrics import column, metric
from fullpipe.runs.aggregate import Estimate, estimate, paired
from fullpipe.runs.results import Results
from fullpipe.scenario import Scenario

if TYPE_CHECKING:
    import pyarrow as pa

    from fullpipe.plots.spec import Plot

__all__ = ["PRESENT", "Advice"]

PRESENT = "as it is"
"""First words of the label of the scenario's own queue."""

ALWAYS = ("p99_queueing_delay_s", "loss_rate", "utilization")
"""Metrics of the link, after those of the services."""

DELAYS = ("p99_frame_delay_s", "p95_s", "request_completion_s", "p99_rtt_s")
"""Metrics for the horizontal axis of the plot, the first that a service has."""


class Advice(Results):
    """Queues compared for the traffic of a link. The label of `runs` is ``queue``; that of the scenario's own queue
    begins with "as it is".

    Attributes:
        scenario: The scenario.
        link: Name of the link whose queue is chosen.
        links_by_queue: Name, rate, buffer, and queue of the link with each queue, as a resolved scenario writes them.
        services: Services with the metric of each.
        correlation: Mean correlation between the windows of two flows with the recommended queue (`synchrony`); None if
            it is not known.
    """

    KIND = "advice"

    def __init__(
        self,
        scenario: Scenario,
        link: str,
        links: Mapping[str, Table],
        services: Sequence[Service],
        runs: pa.Table,
        correlation: float | None = None,
    ) -> None:
        super().__init__(("queue",), runs)
        self.scenario = scenario
        self.link = link
        self.links_by_queue = dict(links)
        self.services = tuple(services)
        self.correlation = correlation

    @classmethod
    def load(cls, directory: str | os.PathLike[str]) -> Advice:
        """The advice that `save` wrote into a directory.

        Raises:
            InputError: There is none, or it can't be read.
        """
        with readable(directory) as place:
            kept = read_json(place / "advice.json")
            services = [Service(**each) for each in kept["services"]]
            scenario = Scenario.from_dict(kept["scenario"])
            runs = read_table(place / "runs.parquet")
            return cls(scenario, kept["link"], kept["queues"], services, runs, kept["correlation"])

    @cached_property
    def shortfalls(self) -> dict[str, Estimate]:
        """Shortfall of each queue (`services.shortfall`) over the seeds: 0 if it is best for every service, 1 if the
        service that suffers most has twice the delay, or half the goodput, of its best queue. Infinite without a value.
        """
        return {
            label: estimate(values) if all(map(math.isfinite, values)) else Estimate(math.inf, None, None)
            for label, values in self._by_seed.items()
        }

    @cached_property
    def calls(self) -> dict[str, float]:
        """Part of the runs in which the p99 frame delay of every call is at most `CALL_LIMIT_S`, by queue; empty
        without calls.
        """
        columns = [each.column for each in self.services if each.column.endswith(".p99_frame_delay_s")]
        if not columns:
            return {}

        def met(label: str) -> float:
            of_seeds = list(zip(*(self._values(label, name) for name in columns), strict=True))
            return sum(all(v is not None and v <= CALL_LIMIT_S for v in values) for values in of_seeds) / len(of_seeds)

        return {label: met(label) for label in self.shortfalls}

    @property
    def best(self) -> str:
        """Label of the queue with the smallest mean shortfall."""
        return min(self.shortfalls, key=lambda label: self.shortfalls[label].mean)

    @cached_property
    def recommendation(self) -> Recommendation:
        """Queue to configure, with cost, certainty, and assumptions."""
        label, second = self.best, self._second()
        link = self.links_by_queue[label]
        bytes_of_packet: int = self.scenario.to_dict()["packet_size"]
        line = Line.of(link, bytes_of_packet)
        buffer = None if line.limit_packets is None else Buffer.of(line.limit_packets, bytes_of_packet, line.rate_bps)
        queue = link["queue"]["name"] if isinstance(link["queue"], Mapping) else str(link["queue"])
        limit = "no limit" if buffer is None else f"a limit of {buffer}"
        means = self._of_services(label)
        return Recommendation(
            f"link {self.link}",
            f"Use {queue} with {limit}."
            + (" Your queue is the best one already." if label.startswith(PRESENT) else ""),
            queue,
            buffer,
            tc_line(link, bytes_of_packet),
            cost_of(self.services, means, self._best_means(), self.shortfalls[label].mean)
            + calls_of(self.calls.get(label)),
            certainty_of(label, second, self._by_seed, self._difference(second, label)),
            assumptions_of(self.scenario, self.link),
            tuple(warnings_of(means, self.services, self.correlation)),
            self._change(label, means),
        )

    def to_dict(self) -> dict[str, object]:
        """Scenario, services, queues, runs, and the recommendation as plain values ready for JSON."""
        return {
            "link": self.link,
            "services": [asdict(each) for each in self.services],
            "shortfalls": {
                label: asdict(each) if math.isfinite(each.mean) else None for label, each in self.shortfalls.items()
            },
            "calls": self.calls,
            "correlation": self.correlation,
            "best": self.best,
            "recommendation": self.recommendation.to_dict(),
            "runs": self.runs.to_pylist(),
            "queues": self.links_by_queue,
            "scenario": self.scenario.to_dict(),
        }

    def shown(self, columns: Sequence[str] | None = None) -> list[Shown | str]:
        """Tables and lines that the program prints.

        Args:
            columns: Metrics to show in place of those of the services and the link.
        """
        names = list(columns) if columns else self._shown_metrics()
        table = self.summary()
        labels = [str(label) for label in table["queue"].to_pylist()]
        cells = [
            column(name, table[f"{name}_mean"].to_pylist(), table[f"{name}_ci95"].to_pylist())
            for name in self._chosen(names)
        ]
        if self.calls:
            part = [f"{100 * self.calls[label]:.0f}" for label in labels]
            cells.append((f"Runs with calls under {1e3 * CALL_LIMIT_S:.0f} ms (%)", part))
        falls = [self.shortfalls[label] for label in labels]
        cells.append(("Shortfall (%)", [_percent(each) for each in falls]))
        seeds = max(int(count or 0) for count in table["runs"].to_pylist())
        title = f"Queues of link {self.link}: means over {seeds} seeds with 95 % confidence intervals"
        return [self._shown(title, table, cells), self.recommendation.text()]

    def __repr__(self) -> str:
        return f"<Advice for link {self.link}: {self.best}>"

    def _own_plot(self, _: str | None) -> Plot:
        from fullpipe.plots.advise import advice_plot

        delays = [each.column for name in DELAYS for each in self.services if each.column.endswith(f".{name}")]
        rates = [each.column for each in self.services if each.more]
        x, y = delays[0] if delays else "p99_queueing_delay_s", rates[0] if rates else "utilization"
        points = {label: (self._estimates(label, x), self._estimates(label, y)) for label in self.shortfalls}
        return advice_plot(x, y, points, self.best, self.calls, CALL_LIMIT_S)

    def _shown_metrics(self) -> list[str]:
        return [*(each.column for each in self.services), *ALWAYS]

    def _change(self, label: str, means: Mapping[str, float | None]) -> str:
        present = next((own for own in self.shortfalls if own.startswith(PRESENT)), label)
        return "" if present == label else change_of(self.services, self._of_services(present), means)

    def _values(self, label: str, name: str) -> list[float | None]:
        """Values of a metric by seed."""
        labels, values = (self.runs[each].to_pylist() for each in ("queue", name))
        return [value for own, value in zip(labels, values, strict=True) if own == label]

    def _estimates(self, label: str, name: str) -> Estimate | None:
        return self._estimate(self._values(label, name))

    def _of_services(self, label: str) -> dict[str, float | None]:
        found = {name: self._estimates(label, name) for name in self._shown_metrics()}
        return {name: None if each is None else each.mean for name, each in found.items()}

    def _best_means(self) -> dict[str, float]:
        labels = dict.fromkeys(self.runs["queue"].to_pylist())
        return _best(self.services, [self._of_services(str(label)) for label in labels])

    @cached_property
    def _by_seed(self) -> dict[str, list[float]]:
        """Shortfalls by queue and seed, each against the best queue with that seed."""
        labels = [str(label) for label in dict.fromkeys(self.runs["queue"].to_pylist())]
        values = {label: {each.column: self._values(label, each.column) for each in self.services} for label in labels}
        seeds = len(next(iter(next(iter(values.values())).values())))
        found: dict[str, list[float]] = {label: [] for label in labels}
        for i in range(seeds):
            own = {label: {name: of_seed[i] for name, of_seed in of.items()} for label, of in values.items()}
            best = _best(self.services, list(own.values()))
            for label in labels:
                found[label].append(shortfall(self.services, own[label].get, best))
        return found

    def _second(self) -> str:
        others = [label for label in self.shortfalls if label != self.best]
        return min(others, key=lambda label: self.shortfalls[label].mean)

    def _difference(self, label: str, from_label: str) -> Estimate | None:
        pairs = [
            (one, other)
            for one, other in zip(self._by_seed[label], self._by_seed[from_label], strict=True)
            if math.isfinite(one) and math.isfinite(other)
        ]
        return paired([one for one, _ in pairs], [other for _, other in pairs])


def _best(services: Sequence[Service], rows: Sequence[Mapping[str, float | None]]) -> dict[str, float]:
    """Best value of each service's metric; none of a metric without values."""
    found = {}
    for service in services:
        known = [value for row in rows if (value := row[service.column]) is not None]
        if known:
            found[service.column] = max(known) if metric(service.column).better == "more" else min(known)
    return found


def _percent(over: Estimate) -> str:
    if not math.isfinite(over.mean):
        return "-"
    return f"{100 * over.mean:.0f}" + (f" ± {100 * over.ci95:.0f}" if over.ci95 else "")
