"""Experiments whose metrics the pages cite: ``make records-trials``, or ``docs/trials.py NAME`` for some.

``sizing`` takes half an hour of processor time, ``slow-starts`` five minutes, the others a minute or two. The results
are in ``reports/trials.json``, and ``docs/tables.py`` writes them into the pages.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from statistics import mean, median
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))  # for benchmarks

from benchmarks import records

import fullpipe
from fullpipe import Result, Scenario, models
from fullpipe.engine.tables import rows, to_numpy
from fullpipe.experiments.evaluate.beside_linux import for_linux
from fullpipe.experiments.evaluate.cells.harm import beside
from fullpipe.experiments.evaluate.cells.loss import ZONE_BUFFERS_BDP, ZONE_FLOWS, zone
from fullpipe.experiments.evaluate.measure import Row, back_to, metrics
from fullpipe.experiments.evaluate.preset import PACKET_BYTES, Party
from fullpipe.experiments.evaluate.rules import times_tcp

RECORD = records.REPORTS / "trials.json"

Figures = Mapping[str, float]


def copa() -> Figures:
    """Packets of each flow that wait, the packet being sent left out; RTTs of 40 ms, of 20 ms at 100 Mbit/s."""
    cells = [*product((50, 100), (1, 2, 4)), (12, 1), (12, 2), (12, 4), (50, 8)]
    found = {f"{rate} Mbit/s, {count}": _waiting(_copa(rate, count, "copa")) / count for rate, count in cells}
    bounds = {"least": min(found.values()), "greatest": max(found.values())}
    switching = _waiting(_copa(50, 4, {"name": "copa", "competitive": True}))
    return {**found, **bounds, "switching, 4, in all": switching}


def _copa(rate_mbps: int, count: int, algorithm: Any) -> Result:
    delay = "10 ms" if rate_mbps == 100 else "20 ms"
    link = {"name": "bottleneck", "rate": f"{rate_mbps} Mbit/s", "delay": delay, "buffer": "1000 packets"}
    flows = [{"algorithm": algorithm, "count": count, "start": "0 s..1 s"}]
    return _run(duration="60 s", warmup="20 s", links=[link], flows=flows)


def _waiting(result: Result) -> float:
    return _of_link(result, "mean_queue_packets") - _of_link(result, "utilization")


def prague() -> Figures:
    """Ten flows versus ten CUBIC flows over DualPI2: ratio of their rates, and RFC 9332's equation, appendix C.2."""
    found = {}
    for rtt_ms, (scheme, virtual_ms) in product((5, 10, 25, 100), {"without": 0, "with": 25}.items()):
        link = {"name": "bottleneck", "rate": "200 Mbit/s", "delay": f"{500 * rtt_ms} us", "buffer": "unlimited"}
        own = {"name": "prague", "virtual_rtt": virtual_ms}
        both = {"count": 10, "start": "0 s..1 s"}
        flows = [{"algorithm": "cubic", "ecn": "classic", **both}, {"algorithm": own, **both}]
        links = [{**link, "queue": "dualpi2"}]
        goodputs = _goodputs(_run(duration="120 s", warmup="40 s", packet_size=1500, links=links, flows=flows))
        found[f"{scheme}, {rtt_ms} ms"] = sum(goodputs[10:]) / sum(goodputs[:10])
        found[f"equation, {scheme}, {rtt_ms} ms"] = (rtt_ms + 15) / (1.22 * max(rtt_ms, virtual_ms))
    return found


def cubic_losses() -> Figures:
    """RFC 9438, equation 5, where losses are random: 10 Gbit/s, an unlimited buffer, a packet in 100,000 lost."""
    rates, windows = [], []
    for rtt_s in (0.034, 0.1):
        delay = f"{rtt_s * 500:g} ms"
        link = {"name": "bottleneck", "rate": "10 Gbit/s", "delay": delay, "buffer": "unlimited", "loss": 1e-5}
        results = [
            _run(duration="3000 s", warmup="200 s", seed=seed, packet_size=1500, links=[link], flows=[CUBIC])
            for seed in (1, 2, 3)
        ]
        rates.append(mean(_goodputs(result)[0] for result in results))
        window = mean(float(to_numpy(result.columns("flows")["mean_cwnd_packets"])[0]) for result in results)
        windows.append(window / (1.0541 * (rtt_s / 1e-5) ** 0.75))
    equation = (0.1 / 0.034) ** 0.25
    return {"window over the equation's": mean(windows), "short over long": rates[0] / rates[1], "equation": equation}


CUBIC = {"algorithm": "cubic"}


def cubic_round_trips() -> Figures:
    """Two CUBIC flows over 1 Gbit/s with RTTs of 40 and 120 ms: ratio of the short flow's goodput to the long flow's.
    Also the ratio of two flows with equal RTTs. Each is the minimum, median, and maximum of three seeds.
    """
    plain: dict[str, Any] = {"name": "cubic", "fast_convergence": False}
    cases: Mapping[str, Mapping[str, Any]] = {
        "3333 packets": {},
        "833 packets": {"buffer": 833},
        "10000 packets": {"buffer": 10_000},
        "eight of each": {"count": 8},
        "without fast convergence": {"algorithm": plain},
        "40 ms both": {"delays_ms": (10, 10)},
        "120 ms both": {"delays_ms": (50, 50)},
    }
    runs = {(case, seed): _two_kinds(seed=seed, **keys) for case, keys in cases.items() for seed in (1, 2, 3)}
    found = {}
    results = fullpipe.run_many(runs)
    for case in cases:
        ratios = sorted(_first_over_second(results[case, seed]) for seed in (1, 2, 3))
        found |= {
            f"{case}, {which}": ratio for which, ratio in zip(("least", "median", "greatest"), ratios, strict=True)
        }
    return found


def _two_kinds(
    *, seed: int, buffer: int = 3333, count: int = 1, delays_ms: tuple[int, int] = (10, 50), algorithm: Any = "cubic"
) -> Scenario:
    link = {"name": "bottleneck", "rate": "1 Gbit/s", "delay": "10 ms", "buffer": f"{buffer} packets"}
    groups = [
        {"algorithm": algorithm, "count": count, "access_delay": f"{each} ms", "start": "0 s..5 s"}
        for each in delays_ms
    ]
    own = {"duration": "600 s", "warmup": "100 s", "seed": seed, "packet_size": 1500, "series_interval": "off"}
    return Scenario(**own, links=[link], flows=groups)


def _first_over_second(result: Result) -> float:
    goodputs = _goodputs(result)
    half = len(goodputs) // 2
    return sum(goodputs[:half]) / sum(goodputs[half:])


def vegas() -> Figures:
    """Mean windows without losses; the flows begin 50 ms apart."""
    found = {}
    for rate, rtt_ms, buffer, count in ((10, 50, 62, 5), (20, 100, 100, 10), (10, 100, 12, 5), (20, 50, 30, 10)):
        delay = f"{rtt_ms / 2:g} ms"
        link = {"name": "bottleneck", "rate": f"{rate} Mbit/s", "delay": delay, "buffer": f"{buffer} packets"}
        flows = [{"algorithm": "vegas", "start": f"{50 * flow} ms"} for flow in range(count)]
        result = _run(duration="250 s", warmup="50 s", links=[link], flows=flows)
        windows = to_numpy(result.columns("flows")["mean_cwnd_packets"])
        found[f"{rate} Mbit/s, {rtt_ms} ms, {buffer} packets, {count}"] = float(windows.mean())
    return found


def phases() -> Figures:
    """Ten NewReno flows with a buffer of 120 packets, whose RTTs differ and whose hosts take time, or neither."""
    found = {}
    for spread, noise in product((0, 2, 5, 10), (False, True)):
        results = [_phases(spread, noise, seed) for seed in (1, 2)]
        named = f"{spread} %, {'noise' if noise else 'none'}"
        found[f"utilization, {named}"] = mean(_of_link(result, "utilization") for result in results)
        found[f"Jain, {named}"] = mean(float(result.totals["jain_index"]) for result in results)
    return found


def _phases(spread: int, noise: bool, seed: int) -> Result:
    """RTTs evenly distributed by `percent` on either side of 50 ms; a packet takes 160 us on the link."""
    link = {"name": "bottleneck", "rate": "50 Mbit/s", "delay": "10 ms", "buffer": "120 packets"}
    own = {"algorithm": "newreno", "start": "0 s..10 s", **({"processing_time": "160 us"} if noise else {})}
    flows = [
        {**own, "access_delay": f"{25 * (1 + spread / 100 * ((2 * flow + 1) / 10 - 1)) - 10:.4f} ms"}
        for flow in range(10)
    ]
    return _run(duration="300 s", warmup="100 s", seed=seed, links=[link], flows=flows)


def bbr_zone() -> Figures:
    """For the report card's `bbr1-zone`: loss rate in percent, and the senders' rate relative to TCP's at that loss.
    For BBRv3: packets per loss episode, relative to the excess packets of a round trip at its pacing gain.
    """
    found = {}
    for count, buffer, name in product(ZONE_FLOWS, ZONE_BUFFERS_BDP, ("newreno", "cubic", "bbr", "bbr3")):
        each = [metrics(_zone(name, count, buffer, seed)) for seed in range(1, 11)]
        named = f"{name}, {count}, {buffer:g}"
        times = [_times_tcp(row, count) for row in each]
        found[f"loss, {named}"] = 100 * mean(row["loss_rate"] or 0.0 for row in each)
        found[f"times TCP, {named}"] = mean(times)
        found[f"times TCP, {named}, least"], found[f"times TCP, {named}, greatest"] = min(times), max(times)
    for name in ("bbr", "bbr3"):
        for where in (f"{count}, {buffer:g}" for count, buffer in product(ZONE_FLOWS, ZONE_BUFFERS_BDP)):
            bar = max(1.0, *(found[f"times TCP, {standard}, {where}"] for standard in ("newreno", "cubic")))
            found[f"times the bar, {name}, {where}"] = found[f"times TCP, {name}, {where}"] / bar
    short = ("2, 0.25", "2, 0.5", "2, 1", "5, 0.25", "5, 0.5", "5, 1")
    found["times the bar, bbr, below 1.5 BDP, least"] = min(found[f"times the bar, bbr, {place}"] for place in short)
    found["times the bar, bbr3, greatest"] = max(
        value for key, value in found.items() if key.startswith("times the bar, bbr3")
    )
    return {**found, **_probes()}


def _probes() -> Figures:
    """Two flows of BBRv3 over half a BDP. An episode is a series of drops less than 200 ms apart."""
    up, seeds, episodes, probing, dropped, rtts_s = 5.0, (1, 2, 3), [0.0], 0.0, 0.0, []
    for seed in seeds:
        result = _zone("bbr3", 2, 0.5, seed, series_interval="5 ms")
        rtts_s.append(metrics(result)["subject.p95_rtt_s"] or 0.0)
        phases: dict[float, list[float]] = {}
        for row in rows(result.columns("series")):
            phases.setdefault(round(row["t_s"], 3), []).append(row["phase"])
        last_s = -1.0
        for row in rows(result.columns("link_series")):
            now_s, lost = round(row["t_s"], 3), row["dropped_packets"]
            if row["link"] or now_s <= 20 or not lost:
                continue
            episodes += [0.0] if now_s - last_s > 0.2 else []
            episodes[-1] += lost
            last_s = now_s
            dropped += lost
            probing += lost * (up in phases[now_s])
    # Section 5.6.1 of the draft: a quarter faster; each has half of 100 Mbit/s, in packets of 1500 bytes.
    too_many = 0.25 * 50e6 / 12_000 * mean(rtts_s)
    return {
        "probes: part of losses in UP": 100 * probing / dropped,
        "probes: packets an episode": mean(episodes[1:]),
        "probes: packets too many in a round": too_many,
    }


def _zone(name: str, count: int, buffer_bdp: float, seed: int, **keys: Any) -> Result:
    return fullpipe.run({**zone(Party(name, name), count, buffer_bdp), "seed": seed, **keys})


def _times_tcp(row: Row, count: int) -> float:
    loss, goodput_bps, rtt_s = (row[key] or 0.0 for key in ("loss_rate", "subject.goodput_bps", "subject.mean_rtt_s"))
    return times_tcp(goodput_bps / count, loss, rtt_s, PACKET_BYTES)


def in_step() -> Figures:
    """Four Reno flows with losses on FQ-CoDel, as in `tests/linux/test_queues.py`, over 51 delays of the link:
    utilization, timeouts per run, and drops; also with a longer minimum RTO.
    """
    runs = [_four_reno(48.5 + 0.02 * k) for k in range(51)]
    patient = [_four_reno(48.5 + 0.02 * k, min_rto="310 ms") for k in range(51)]
    used = [_of_link(result, "utilization") for result in runs]
    found = {"least": min(used), "greatest": max(used), "mean": mean(used)}
    for named, results in (("", runs), (", 310 ms", patient)):
        found[f"timeouts{named}"] = mean(_timeouts(result) for result in results)
        found[f"drops{named}"] = mean(_of_link(result, "dropped_packets") for result in results)
    return found


def _timeouts(result: Result) -> float:
    return float(sum(row["timeouts"] for row in rows(result.columns("flows"))))


def _four_reno(delay_ms: float, **keys: Any) -> Result:
    queue = {"name": "fq-codel", "sqrt": "newton", "floor": "all", "ecn": False}
    link = {"name": "l", "rate": "10 Mbit/s", "delay": f"{delay_ms:.2f} ms", "buffer": "1000 packets", "queue": queue}
    flow = {"algorithm": "reno", "host": "linux", "delayed_ack": False, "access_delay": "1 ms", **keys}
    flows = [{**flow, "start": f"{300 * i} ms"} for i in range(4)]
    return _run(duration="70 s", warmup="20 s", seed=2, links=[link], flows=flows)


def duel_causes() -> Figures:
    """Utilization of two CUBIC flows over a tenth of a BDP, the report card's 60 s duel, with features of a kernel."""
    kernels: Any = {"name": "cubic", "alpha_to_one": False, "whole_segments": True}
    found = {}
    for named, algorithm, takes_time in (
        ("card", "cubic", True),
        ("kernel's CUBIC", kernels, True),
        ("no host's time", "cubic", False),
        ("both", kernels, False),
    ):
        party = Party("cubic", algorithm)
        tree = beside(50e6, 0.03, 0.1, party, party, duration_s=60)
        tree = tree if takes_time else for_linux(tree)
        results = [fullpipe.run({**tree, "seed": seed}) for seed in range(1, 25)]
        found[named] = 100 * mean(_of_link(result, "utilization") for result in results)
    return found


def one_flow_sized() -> Figures:
    """Least buffers of one flow at 10 Mbit/s and 80 ms, by search and by the closed form."""
    sized = fullpipe.size(
        "10Mbit/s", "80ms", flows=[1], target=[0.98, 0.999], algorithms=["newreno", "adaptive-aimd"], precision=0.01
    )
    found = {f"{row['algorithm']}, {row['target']}": float(row["buffer_packets"]) for row in sized.rows}
    for name, kept in (("newreno", 0.5), ("adaptive-aimd", 0.8)):
        for target in (0.98, 0.999):
            found[f"closed form, {name}, {target:g}"] = models.aimd_buffer(target, kept)
    return found


def sizing() -> Figures:
    """Least buffers for utilizations of a link of many flows, and the nearest that surely miss and reach them."""
    algorithms, targets = ("newreno", "adaptive-aimd", "hyun-jang"), (0.98, 0.995)
    wide = _sized(algorithms, (1, 10, 50, 100, 200), targets)
    many = _sized(algorithms[:2], (100, 141, 200, 283, 400), targets, seeds=12, precision=0.03)
    found = {}
    for row in wide:
        named = f"{row['algorithm']}, {row['flows']}, {row['target']}"
        found[named] = row["buffer_packets"]
        found[f"{named}, low"], found[f"{named}, high"] = row["sure_low_packets"], row["sure_high_packets"]
        found[f"BDP, {row['flows']}"] = row["rule_sqrt_packets"]
    for row in many:
        found[f"many, {row['algorithm']}, {row['flows']}, {row['target']}"] = row["buffer_packets"]
        found[f"BDP, {row['flows']}"] = row["rule_sqrt_packets"]
    return found


def _sized(
    algorithms: Sequence[str], flows: Sequence[int], targets: Sequence[float], **how: Any
) -> list[dict[str, Any]]:
    return fullpipe.size("155Mbit/s", "80ms..250ms", flows=flows, target=targets, algorithms=algorithms, **how).rows


SLOW_STARTS: Mapping[str, Mapping[str, Any]] = {
    "standard": {},
    "hystart": {"slow_start": "hystart"},
    "hystart++": {"slow_start": "hystart++"},
    "search": {"slow_start": "search"},
    "rapid": {"slow_start": "rapid"},
    **{f"resume, {factor:g} BDP": {"resume": factor} for factor in (0.1, 1, 2, 10)},
}
"""Slow starts, and careful resume with a saved window in BDP."""

START_RATES_MBPS, START_RTTS_MS, START_BUFFERS_BDP = (10, 100, 1000), (10, 50, 200, 600), (0.1, 0.5, 1, 4)
START_SEEDS = {0: (1,), 2: (1, 2, 3, 4, 5), 10: (1, 2, 3, 4, 5)}
"""Seeds of each jitter, ms. Without jitter nothing is random."""
START_ROUNDS = 40
"""Length of a run, base RTTs."""


def slow_starts() -> Figures:
    """All slow starts of NewReno on idle paths: round trips until 90 % of the rate arrive in a moving window of two,
    runs that never get there, losses and largest queue in BDP until four round trips later, and early exits (slow start
    left below half a BDP without a loss). Also the median time for each RTT without jitter.
    """
    found = {}
    for kind, (jitter_ms, seeds) in product(SLOW_STARTS, START_SEEDS.items()):
        paths = product(START_RATES_MBPS, START_RTTS_MS, START_BUFFERS_BDP, seeds)
        starts = [(rtt_ms, _start(kind, rate, rtt_ms, buffer, jitter_ms, seed)) for rate, rtt_ms, buffer, seed in paths]
        of_rtts = {rtt_ms: median(one["rounds"] for rtt, one in starts if rtt == rtt_ms) for rtt_ms in START_RTTS_MS}
        means = {key: mean(one[key] for _, one in starts) for key in ("never", "lost_bdp", "early", "queue_bdp")}
        means["rounds"] = median(one["rounds"] for _, one in starts)
        found |= {f"{kind}, {jitter_ms} ms, {key}": value for key, value in means.items()}
        if not jitter_ms:
            found |= {f"{kind}, {rtt_ms} ms RTT, rounds": value for rtt_ms, value in of_rtts.items()}
    return found


def _start(kind: str, rate_mbps: float, rtt_ms: float, buffer_bdp: float, jitter_ms: float, seed: int) -> Figures:
    """One flow on an idle path with one-way jitter, uniform from 0 to so much."""
    bdp = rate_mbps * 1e3 * rtt_ms / 8 / 1500
    keys = dict(SLOW_STARTS[kind])
    if "resume" in keys:
        keys["resume"] = {"cwnd": max(1, round(keys["resume"] * bdp)), "rtt": f"{rtt_ms} ms"}
    link: dict[str, Any] = {
        "name": "bottleneck",
        "rate": f"{rate_mbps} Mbit/s",
        "delay": f"{rtt_ms / 2} ms",
        "buffer": f"{max(5, round(buffer_bdp * bdp))} packets",
    }
    if jitter_ms:
        half = f"{jitter_ms / 2} ms"
        link["jitter"] = {"model": "uniform", "mean": half, "spread": half}
    flow = {"algorithm": "newreno", "recovery": "rack", "initial_window": 10, **keys}
    interval = f"{rtt_ms / 4} ms"
    result = fullpipe.run(
        Scenario(
            duration=f"{START_ROUNDS * rtt_ms} ms",
            packet_size=1500,
            seed=seed,
            series_interval=interval,
            links=[link],
            flows=[flow],
        )
    )
    return _start_figures(result, rtt_ms / 1e3, bdp)


def _start_figures(result: Result, rtt_s: float, bdp: float) -> Figures:
    samples = rows(result.columns("link_series"))
    times, used = [row["t_s"] for row in samples], [row["utilization"] or 0.0 for row in samples]
    reached_s = back_to(times, used, 0.9, 2 * rtt_s)
    until_s = times[-1] if reached_s is None else reached_s
    start_up = [row for row in samples if row["t_s"] <= until_s + 4 * rtt_s]
    lost = sum(row["dropped_packets"] for row in start_up)
    queue = max(row["queue_packets"] for row in start_up)
    first_loss_s = next((row["t_s"] for row in samples if row["dropped_packets"]), float("inf"))
    exits = (row for row in rows(result.columns("series")) if row["ssthresh_packets"] is not None)
    left = next(exits, None)
    early = left is not None and left["t_s"] < first_loss_s and left["cwnd_packets"] < bdp / 2
    return {
        "rounds": until_s / rtt_s,
        "never": float(reached_s is None),
        "lost_bdp": lost / bdp,
        "early": float(early),
        "queue_bdp": queue / bdp,
    }


TRIALS: Mapping[str, Callable[[], Figures]] = {
    "copa": copa,
    "prague": prague,
    "cubic-losses": cubic_losses,
    "cubic-round-trips": cubic_round_trips,
    "vegas": vegas,
    "phases": phases,
    "bbr-zone": bbr_zone,
    "in-step": in_step,
    "duel-causes": duel_causes,
    "one-flow-sized": one_flow_sized,
    "sizing": sizing,
    "slow-starts": slow_starts,
}


def _run(**keys: Any) -> Result:
    return fullpipe.run(Scenario(series_interval="off", **keys))


def _of_link(result: Result, name: str) -> float:
    return float(to_numpy(result.columns("links")[name])[0])


def _goodputs(result: Result) -> list[float]:
    return [float(rate) for rate in to_numpy(result.columns("flows")["goodput_bps"])]


def take(names: list[str], to: Path = RECORD, trials: Mapping[str, Callable[[], Figures]] = TRIALS) -> Iterator[str]:
    """Runs trials and saves the results of each when it is done. Results of other trials stay. Yields the name of each
    trial.
    """
    for name in names:
        begun = time.perf_counter()
        figures = {key: float(f"{value:.6g}") for key, value in trials[name]().items()}
        known = json.loads(to.read_text(encoding="utf-8")) if to.is_file() else {}
        known[name] = figures
        to.write_text(json.dumps(dict(sorted(known.items())), indent=1) + "\n", encoding="utf-8")
        records.note(to.name, [name], to.parent)
        yield f"{name}: {time.perf_counter() - begun:.0f} s"


if __name__ == "__main__":
    for line in take(sys.argv[1:] or list(TRIALS)):
        print(line, flush=True)
