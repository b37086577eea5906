"""Recommendations of a sizing, one for each target and algorithm."""

from __future__ import annotations

from collections.abc import Sequence

from fullpipe.experiments.recommendation import ABOUT_TC, LOSS_LIMIT, Buffer, Recommendation, joined, tc_line
from fullpipe.experiments.sizing.mix import BUFFER, MOST_BDP, Mix
from fullpipe.experiments.sizing.synchrony import SYNCHRONIZED
from fullpipe.runs.measure import Row

__all__ = ["first_choice", "recommend"]

UNFAIR = 0.8
"""Jain index below which the cost names it."""


def recommend(mix: Mix, rows: Sequence[Row]) -> list[Recommendation]:
    """Recommendation for each target and algorithm: the size that all numbers of flows need."""
    cases = dict.fromkeys((row["target"], row["algorithm"]) for row in rows)
    return [
        _of_case(
            mix, target, algorithm, [row for row in rows if (row["target"], row["algorithm"]) == (target, algorithm)]
        )
        for target, algorithm in cases
    ]


def first_choice(mix: Mix, rows: Sequence[Row]) -> str | None:
    """Buffer for a link whose traffic is not known, and the command that compares queues; None if the size is not that
    of a drop-tail buffer.

    The buffer is one BDP of the longest RTT, which keeps the link busy with one flow that halves its window
    (C. Villamizar and C. Song, High Performance TCP in ANSNET, 1994), or the largest answer if that is larger.
    """
    if mix.sized != BUFFER or mix.queue_name != "drop-tail":
        return None
    known = [row["buffer_packets"] for row in rows if row["buffer_packets"] is not None]
    bdp = round(mix.rtt_max_s / mix.packet_s)
    found = Buffer.of(max([bdp, *known]), mix.packet_size, mix.rate_bps)
    of = "" if mix.rtt_min_s == mix.rtt_max_s else f" of the longest RTT, {1e3 * mix.rtt_max_s:g} ms"
    reason = (
        f"one BDP{of}, with which even one flow that halves its window keeps the link busy (Villamizar and Song 1994)"
        if found.packets == bdp
        else "the largest answer above"
    )
    buffer_ms = 8e3 * found.bytes / mix.rate_bps
    link = f"--rate '{mix.rate_bps / 1e6:g} Mbit/s' --rtt '{1e3 * mix.rtt_s:g} ms' --buffer '{buffer_ms:g} ms'"
    return (
        f"If you do not know the traffic: use {found}: {reason}. Use less only if one of the cases above is yours. An "
        f"active queue saves more delay: compare with fullpipe advise {link}.\n"
    )


def _of_case(mix: Mix, target: str, algorithm: str, rows: Sequence[Row]) -> Recommendation:
    size = f"{mix.column}_packets"
    case = f"{algorithm}, target {target}"
    missing = [_missing(mix, row) for row in rows if row[size] is None]
    known = [row for row in rows if row[size] is not None]
    if not known:
        action = f"No {mix.what} up to {MOST_BDP} BDP meets the target."
        return Recommendation(
            case, action, None, None, None, "", "", _assumptions(mix, algorithm, rows), tuple(missing)
        )
    most = max(known, key=lambda row: (row[size], -row["flows"]))
    packets: int = most[size]
    found = Buffer.of(packets, mix.packet_size, mix.rate_bps)
    limit = found if mix.sized == BUFFER else Buffer.of(mix.most_packets, mix.packet_size, mix.rate_bps)
    tree = mix.scenario(algorithm, most["flows"], packets).resolved().to_dict()
    return Recommendation(
        case,
        _action(mix, found, limit, most, known),
        mix.queue_name,
        limit,
        tc_line(tree["links"][0], mix.packet_size),
        _cost(most),
        _certainty(most),
        _assumptions(mix, algorithm, rows),
        (*_warnings(most, known, packets), *missing),
    )


def _action(mix: Mix, found: Buffer, limit: Buffer, most: Row, known: Sequence[Row]) -> str:
    size = f"{mix.column}_packets"
    what = "a buffer" if mix.sized == BUFFER else f"a {mix.what}"
    bdp = f"{most[f'{mix.column}_bdp']:.3g} BDP"
    room = "" if mix.sized == BUFFER else f", with a buffer of {limit}"
    others = [f"{row['flows']:,} need {row[size]:,}" for row in known if row is not most]
    verb = "needs" if most["flows"] == 1 else "need"
    need = f". {_flows(most)} {verb} that much; {joined(others)}" if others else f" for {_flows(most)}"
    return f"Use {what} of {str(found)[:-1]}, {bdp}){room}{need}."


def _cost(row: Row) -> str:
    parts = [f"loss {_percent(row['loss_rate'])}", f"mean queueing delay {1e3 * row['queueing_delay_s']:.1f} ms"]
    if row["p99_queueing_delay_s"] is not None:
        parts.append(f"p99 queueing delay {1e3 * row['p99_queueing_delay_s']:.1f} ms")
    if row["p95_fct_s"] is not None:
        parts.append(f"p95 completion of web transfers {1e3 * row['p95_fct_s']:.0f} ms")
    used = f"The utilization is {_percent(row['utilization'], row['utilization_ci95'])}"
    unfair = row["jain_index"]
    shares = f" Shares are unequal: Jain index {unfair:.2f}." if unfair is not None and unfair < UNFAIR else ""
    return f"{used}, with {joined(parts)}.{shares}"


def _certainty(row: Row) -> str:
    if row["seeds"] == 1:
        return "Nothing in this mix is random, so that one run of each size decides."
    low, high = row["sure_low_packets"], row["sure_high_packets"]
    upper = "no size met it clearly" if high is None else f"{high:,} clearly meet it"
    lower = "No smaller size misses it clearly" if low is None else f"{low:,} packets clearly miss the target"
    return f"{lower}, and {upper} (95 % confidence intervals over up to {row['seeds']} seeds)."


def _assumptions(mix: Mix, algorithm: str, rows: Sequence[Row]) -> str:
    ends = [f"{1e3 * mix.rtt_s:g} ms" for rtt_s in (mix.rtt_min_s, mix.rtt_max_s)]
    several = any(row["flows"] > 1 for row in rows)
    spread = " (within 5 % for several flows)" if several else ""
    rtts = f"a base RTT of {ends[0]}{spread}" if ends[0] == ends[1] else f"base RTTs from {ends[0]} to {ends[1]}"
    web = f"web transfers that offer {100 * mix.web_load:g} % of the link" if mix.web_load else "no other traffic"
    counts = joined([f"{row['flows']:,}" for row in rows])
    flows = "flow that always has" if counts == "1" else "flows that always have"
    rate = f"{mix.rate_bps / 1e6:g} Mbit/s"
    parts = [f"{counts} {algorithm} {flows} data", rtts, f"packets of {mix.packet_size} bytes", web]
    return f"A link of {rate}, {joined(parts)}. {ABOUT_TC}"


def _warnings(most: Row, known: Sequence[Row], packets: int) -> list[str]:
    said = [
        f"with {_flows(row)} and {row['at_packets']:,} packets, the link loses {_percent(row['loss_rate'])}, over 1 %."
        for row in known
        if row["loss_rate"] > LOSS_LIMIT
    ]
    together = most.get("window_correlation")
    if together is not None and together > SYNCHRONIZED:
        said.append(
            f"the flows are synchronized (correlation of windows {together:.2f}); real flows rarely are, and need less."
        )
    if most["sure_high_packets"] is None:
        said.append("the answer is within the noise of these seeds; use more --seeds.")
    said += [
        f"with {_flows(row)}, at most {row['at_most_packets']:,} packets meet the limits on delay."
        for row in known
        if row["at_most_packets"] is not None and row["at_most_packets"] < packets
    ]
    return said


def _missing(mix: Mix, row: Row) -> str:
    return (
        f"with {_flows(row)}, no {mix.what} up to {MOST_BDP} BDP meets the target; "
        f"at {row['at_packets']:,} packets it misses {row['unmet']}."
    )


def _flows(row: Row) -> str:
    return f"{row['flows']:,} flow{'s' if row['flows'] > 1 else ''}"


def _percent(part: float, half: float | None = None) -> str:
    if half:
        return f"{100 * part:.1f} ± {100 * half:.1f} %"
    return f"{100 * part:.3g} %"
