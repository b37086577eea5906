"""Sentences of an advice."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fullpipe.experiments.advise.services import Service, shortfall
from fullpipe.experiments.recommendation import ABOUT_TC, LOSS_LIMIT, joined
from fullpipe.experiments.sizing.synchrony import SYNCHRONIZED
from fullpipe.metrics import column
from fullpipe.runs.aggregate import Estimate
from fullpipe.scenario import algorithm_name

if TYPE_CHECKING:
    from fullpipe._util.plain import Table
    from fullpipe.scenario import Scenario

__all__ = [
    "CALL_LIMIT_S",
    "assumptions_of",
    "calls_of",
    "certainty_of",
    "change_of",
    "cost_of",
    "value_of",
    "warnings_of",
]

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
    title, unit = _parts(heading)
    return f"{title} {text}{unit}"


def change_of(
    services: Sequence[Service], before: Mapping[str, float | None], after: Mapping[str, float | None]
) -> str:
    """Metrics of the services and of the link that differ between the present queue and the advised one."""
    names = [*(each.column for each in services), "loss_rate", "utilization"]
    said = []
    for name in names:
        heading, (old, new) = column(name, [before[name], after[name]])
        if old == new:
            continue
        title, unit = _parts(heading)
        said.append(f"{title} from {old} to {new}{unit}")
    return _sentence(joined(said) or "no metric changes")


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


def _parts(heading: str) -> tuple[str, str]:
    """Title of a heading as it is within a sentence, and its unit after a space; "RTT" stays."""
    small = heading[0].lower() + heading[1:] if heading[1:2].islower() else heading
    title, opened, unit = small.rpartition(" (")
    return (title, f" {unit[:-1]}") if opened else (small, "")


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
    """Traffic of the scenario, group by group, and the measured time."""
    tree = scenario.to_dict()
    said = [
        *(_flows(flow) for flow in tree.get("flows", ())),
        *(_datagrams(source, i) for i, source in enumerate(tree.get("udp", ()))),
        *(_web(each) for each in tree.get("web", ())),
    ]
    rate = next(each.get("rate", "a link with a trace") for each in tree["links"] if each["name"] == link)
    window_s = scenario.duration_s - scenario.warmup_s
    return (
        f"The traffic over {rate} is {joined(said)}, measured for {window_s:g} s after {scenario.warmup_s:g} s. "
        f"{ABOUT_TC} Active queues have a limit of 4 BDP and their default parameters."
    )


def _flows(flow: Table) -> str:
    """A group of flows: "2 downloads (cubic, bulk)"."""
    own = algorithm_name(flow["algorithm"])
    transport = ["QUIC"] if flow.get("transport") == "quic" else []
    name = "" if flow.get("name") in (None, own) else f"{flow['name']} "
    return f"{int(flow.get('count', 1)):,} {name}({', '.join([own, *transport, _source(flow)])})"


def _source(flow: Table) -> str:
    source = flow.get("source", "bulk")
    if isinstance(source, Mapping):
        match source:
            case {"frames": each, "size": size}:
                return f"frames: {each} of {size}"
            case {"video": rates}:
                return f"video of {rates[0]} to {rates[-1]}" if len(rates) > 1 else f"video of {rates[0]}"
            case {"requests": gaps, "size": size}:
                return f"requests: gaps {gaps}, size {size}"
            case {"on": on, "off": off}:
                return f"on for {on}, off for {off}"
            case {"rate": rate}:
                return f"{rate}"
    return f"size {flow['size']}" if "size" in flow else "bulk"


def _datagrams(source: Table, place: int) -> str:
    frames = source.get("frames")
    each = f"frames: {frames['per_second']:g}/s of {frames['size']}" if frames else str(source["rate"])
    return f"{int(source.get('count', 1)):,} {source.get('name') or place} (UDP, {each})"


def _web(group: Table) -> str:
    size = f"transfers of {group['mean_size']} on average"
    own = algorithm_name(group["algorithm"])
    if "transfers_per_second" in group:
        return f"web with {group['transfers_per_second']:g} transfers/s ({own}, {size})"
    users = int(group.get("sessions", 1))
    return f"{users:,} web user{'s' if users > 1 else ''} ({own}, {size})"


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
