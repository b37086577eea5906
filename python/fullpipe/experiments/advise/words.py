"""Sentences of an advice."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fullpipe.experiments.advise.services import Service, shortfall
from fullpipe.experiments.recommendation import LOSS_LIMIT, joined
from fullpipe.experiments.sizing.synchrony import SYNCHRONIZED
from fullpipe.metrics import column
from fullpipe.runs.aggregate import Estimate

if TYPE_CHECKING:
    from fullpipe.scenario import Scenario

__all__ = ["CALL_LIMIT_S", "assumptions_of", "calls_of", "certainty_of", "cost_of", "value_of", "warnings_of"]

CLEAR_PART = 0.1
"""Part of a shortfall above which the cost names the service that suffers most."""

AS_GOOD = 0.1
"""Difference of two shortfalls up to which queues are called equally good, if its interval ends below."""

CALL_LIMIT_S = 0.050
"""Limit of a call's frame delay. ITU-T G.114 allows 150 ms from mouth to ear, and devices and other links need most of
them.
"""

REBUFFERS = 0.01
"""Part of the time from which a video that rebuffers has a warning."""


def value_of(name: str, value: float | None) -> str:
    """A metric with its title, value, and unit: "p99 frame delay of call 31.2 ms"."""
    heading, (text,) = column(name, [value])
    if heading[1:2].islower():
        heading = heading[0].lower() + heading[1:]
    title, opened, unit = heading.rpartition(" (")
    return f"{title} {text} {unit[:-1]}" if opened else f"{heading} {text}"


def cost_of(
    services: Sequence[Service], means: Mapping[str, float | None], best: Mapping[str, float], total: float
) -> str:
    """Metrics of the services with the queue, and the service that suffers most."""
    said = joined([value_of(each.column, means[each.column]) for each in services])
    link = joined([value_of(name, means[name]) for name in ("p99_queueing_delay_s", "loss_rate", "utilization")])
    worst = max(services, key=lambda each: shortfall([each], means.get, best), default=None)
    if worst is None or total < CLEAR_PART:
        return f"{_sentence(said)} The link: {link}. No service is far from its best queue."
    suffers = (
        f'The service "{worst.name}" suffers most: its best queue reaches {value_of(worst.column, best[worst.column])}'
    )
    return f"{_sentence(said)} The link: {link}. {suffers}."


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def calls_of(part: float | None) -> str:
    """Sentence about the part of the runs in which calls stay below their limit; empty without calls."""
    if part is None:
        return ""
    return f" Calls stay under {1e3 * CALL_LIMIT_S:.0f} ms (99 % of their frames) in {100 * part:.0f} % of the runs."


def certainty_of(best: str, second: str, by_seed: Mapping[str, Sequence[float]], over: Estimate | None) -> str:
    """Seeds in which the queue is the best one, and the paired difference of the shortfall from the second one."""
    seeds = len(by_seed[best])
    won = sum(by_seed[best][i] <= min(values[i] for values in by_seed.values()) for i in range(seeds))
    said = f"{best} is the best of {len(by_seed)} queues in {won} of {seeds} seeds."
    if over is None or not math.isfinite(over.mean):
        return said
    half = over.ci95 or 0.0
    compared = (
        f"The shortfall of {second}, the second, is {100 * over.mean:.0f} ± {100 * half:.0f} percentage points larger"
    )
    if over.mean > half:
        unclear = ""
    elif over.mean + half <= AS_GOOD:
        unclear = f" {second} is as good: at most {100 * AS_GOOD:.0f} percentage points differ."
    else:
        unclear = " These seeds cannot tell the two apart: run more of them."
    return f"{said} {compared} (paired by seed, 95 % confidence interval).{unclear}"


def assumptions_of(scenario: Scenario, link: str) -> str:
    """Traffic of the scenario, and the measured time."""
    tree = scenario.to_dict()
    flows = sum(int(flow.get("count", 1)) for flow in tree.get("flows", ()))
    udp = sum(int(source.get("count", 1)) for source in tree.get("udp", ()))
    users = sum(int(each.get("sessions", 1)) for each in tree.get("web", ()))
    counts = {"flow": flows, "UDP source": udp, "web user": users}
    said = [f"{count:,} {name}{'s' if count > 1 else ''}" for name, count in counts.items() if count]
    rate = next(each.get("rate", "a link with a trace") for each in tree["links"] if each["name"] == link)
    window_s = scenario.duration_s - scenario.warmup_s
    return (
        f"{joined(said)} of the scenario over {rate}, measured for {window_s:g} s after {scenario.warmup_s:g} s. "
        "The limit for tc leaves out the packet in transmission. Active queues have a limit of 4 BDP and their default "
        "parameters."
    )


def warnings_of(
    means: Mapping[str, float | None], services: Sequence[Service], correlation: float | None = None
) -> list[str]:
    """Reasons to doubt the answer."""
    said = []
    if correlation is not None and correlation > SYNCHRONIZED:
        said.append(
            f"the flows are synchronized: their windows have a correlation of {correlation:.2f}. Flows with other RTTs "
            "or random start times may need another queue."
        )
    loss = means["loss_rate"]
    if loss is not None and loss > LOSS_LIMIT:
        said.append(f"the link loses {100 * loss:.3g} % of the packets, more than 1 %.")
    for each in services:
        value = means[each.column]
        if each.column.endswith(".rebuffer_ratio") and value is not None and value > REBUFFERS:
            said.append(f"{each.name} rebuffers {100 * value:.3g} % of the time.")
        if value is None:
            said.append(f"{each.name} has no value of its metric; simulate for longer.")
    return said
