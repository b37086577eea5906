"""Export of a policy as a custom algorithm: a Python file whose only import besides `math` is fullpipe.

The class measures the intervals of `fullpipe.gym.core`, from the packet events of its flow, and adds in equal order. An
interval ends at its time, but a class runs at packet events alone. At the first event after that time, before it counts
the event, the class computes the observation and the action. A flow of the class and one that the policy controls
through `Env` have equal results, unless the window limits the sender at that event, and not the rate.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from fullpipe._util.files import check_file, staged_file
from fullpipe._util.text import quoted
from fullpipe.errors import InputError
from fullpipe.gym.core import CONSTANTS, Core
from fullpipe.gym.env import Env
from fullpipe.gym.policy import Policy

__all__ = ["export"]

MOST_INPUTS = 256
"""Length of an observation, at most: each value is a field of the class."""


def export(policy: Policy, path: str | os.PathLike[str], env: Env, *, name: str | None = None) -> str:
    """Writes a policy as a custom algorithm, compiled by Numba; every command takes the file.

    Args:
        policy: The policy.
        path: File to write, ending in ".py".
        env: Environment of the policy: its features, history, interval, and action become part of the class.
        name: Name of the algorithm; None for the file's name.

    Returns:
        The name of the algorithm.

    Raises:
        InputError: The flow has a base algorithm, its first rate is a share of the link's rate, a feature needs all RTT
            samples of an interval (``latency_inflation``), the observation is too long or not as long as the policy's,
            or the file can't be written.
    """
    unwrapped = env.unwrapped
    assert isinstance(unwrapped, Env)
    core = unwrapped._core
    file = Path(path)
    name = file.stem.replace("_", "-") if name is None else name
    _check(policy, core, file, name)
    with staged_file(file) as stage:
        stage.write_text(_text(policy, core, name), encoding="utf-8")
    return name


def _check(policy: Policy, core: Core, file: Path, name: str) -> None:
    if file.suffix != ".py":
        raise InputError(f'the file of an algorithm must end in ".py", got {quoted(str(file))}')
    if not re.fullmatch(r"[a-z][a-z0-9.+_-]*", name):
        raise InputError(f"the name of an algorithm must have small letters, digits, and hyphens, got {quoted(name)}")
    if core.has_base:
        raise InputError("a policy over a base algorithm can't be exported")
    if core.action.start is not None:
        raise InputError("the action aurora can't be exported: its first rate is a share of the link's rate")
    for feature, law in core.features.items():
        if "rtt_inflation_s" in law.formula:
            raise InputError(f"the feature {feature} can't be exported: it needs all RTT samples of an interval")
    length = core.history * len(core.features)
    if length > MOST_INPUTS:
        raise InputError(
            f"the observation of an exported policy must have at most {MOST_INPUTS} values, got {length}: use fewer "
            "features or less history"
        )
    if any(weights.ndim != 2 for weights, _ in policy.layers) or policy.inputs != length:
        raise InputError(f"the policy must be a single one with {length} inputs, as the environment has")
    check_file(file)


def _text(policy: Policy, core: Core, name: str) -> str:
    width, length = len(core.features), core.history * len(core.features)
    neutral = [float(law.neutral) for law in core.features.values()]
    fields = "".join(f"    _x{i}: float = {neutral[i % width]!r}\n" for i in range(length))
    shift = "".join(f"        self._x{i} = self._x{i + width}\n" for i in range(length - width))
    push = "".join(
        f"        self._x{length - width + i} = "
        f"self._single({_scalar(law.formula)}, {float(law.low)!r}, {float(law.high)!r})\n"
        for i, law in enumerate(core.features.values())
    )
    fixed = core.fixed_s
    interval = f"return {round(fixed * 1e9)}" if fixed is not None else f"return self._round_trips({core.rtts!r})"
    names = {"set_rate_bps": "self._rate_bps", "set_window": "self._window"}
    target = re.sub("|".join(names), lambda found: names[found[0]], _scalar(core.action.formula().text))
    first = FIRST_RATE if core.action.is_rate else f"            self._window = {CONSTANTS['first_window']!r}\n"
    return (
        HEAD.replace("NAME", name)
        .replace("CLASS", "".join(part.capitalize() for part in re.split(r"[^a-z0-9]+", name)) or "Learned")
        .replace("    FIELDS\n", fields)
        .replace("        INTERVAL\n", f"        {interval}\n")
        .replace("        TARGET\n", f"        target = {target}\n")
        .replace("        SET\n", SET_RATE if core.action.is_rate else "        self._window = target\n")
        .replace("            START\n", first)
        .replace("        SHIFT\n", shift)
        .replace("        PUSH\n", push)
        .replace("        NETWORK\n", _network(policy))
        .replace("LEAST", repr(core.action.bounds[0]))
        .replace("MOST", repr(core.action.bounds[1]))
        .replace("FIRST_WINDOW", repr(CONSTANTS["first_window"]))
        .replace("FIRST_INTERVALS", str(round(CONSTANTS["first_intervals"])))
        .replace("PROBE_NS", str(round(CONSTANTS["probe_s"] * 1e9)))
        .replace("GUESSED_S", repr(CONSTANTS["guessed_rtt_s"]))
        .replace("SHORTEST_S", repr(CONSTANTS["shortest_s"]))
        .replace("LONGEST_S", repr(CONSTANTS["longest_s"]))
    )


SCALAR = {
    "exp": "math.exp",
    "log10": "math.log10",
    "log2": "math.log2",
    "maximum": "max",
    "minimum": "min",
    "over": "self._over",
    "where": "self._where",
}
"""Function of numbers for each function of arrays in a formula."""


def _scalar(formula: str) -> str:
    """Formula for numbers."""
    return re.sub(r"([a-z]\w*)\(", lambda call: f"{SCALAR[call[1]]}(", formula)


def _network(policy: Policy) -> str:
    """The layers as assignments; the last one is the action."""
    lines = []
    names = [f"self._x{i}" for i in range(policy.inputs)]
    for place, (weights, biases) in enumerate(policy.layers):
        last = place == len(policy.layers) - 1
        found = ["action"] if last else [f"h{place}_{i}" for i in range(len(biases))]
        for target, row, bias in zip(found, weights, biases, strict=True):
            terms = "".join(f" + {name} * {float(weight)!r}" for name, weight in zip(names, row, strict=True))
            activation = "clip" if last else policy.activation
            lines.append(f"        {target} = self._{activation}({float(bias)!r}{terms})\n")
        names = found
    return "".join(lines)


FIRST_RATE = """\
            self.pacing_rate = FIRST_WINDOW / self._last_rtt_s
            self._rate_bps = self.pacing_rate * self._bits
            self._window = 4 * FIRST_WINDOW
"""

SET_RATE = """\
        self.pacing_rate = target / self._bits
        self._rate_bps = self.pacing_rate * self._bits
        self._window = max(4.0, 4 * self.pacing_rate * self._srtt_s)
"""

HEAD = '''"""Policy exported by fullpipe.gym.export, with the interval, features, and history of its environment."""

# ruff: noqa

import math

import fullpipe


@fullpipe.algorithm("NAME", recovery="rack", group="both", rate_samples=True, prr=False, compiled=True)
class CLASS:
    """Policy exported from fullpipe.gym."""

    cwnd: float = FIRST_WINDOW
    ssthresh: float = math.inf
    pacing_rate: float = 1e12

    _bits: float = 8000.0
    _begun_ns: int = 0
    _until_ns: int = PROBE_NS
    _started: bool = False
    _ended: int = 0
    _window: float = FIRST_WINDOW
    _rate_bps: float = 0.0
    _timed_out: bool = False
    _last_rtt_s: float = 0.0
    _best_rtt_s: float = math.inf
    _best_bps: float = 0.0
    _srtt_s: float = 0.0
    _min_rtt_s: float = 0.0
    _in_flight: int = 0
    _limited_ns: int = 0
    _limited_since_ns: int = -1
    _all_delivered: int = 0
    _all_lost: int = 0
    _old_delivered: int = 0
    _old_lost: int = 0
    _sent: int = 0
    _marked: int = 0
    _samples: int = 0
    _first_rtt_s: float = 0.0
    _least_rtt_s: float = 0.0
    _rtts: float = 0.0
    _times: float = 0.0
    _squares: float = 0.0
    _rises: float = 0.0
    _products: float = 0.0
    FIELDS

    def on_start(self, start):
        self._bits = 8.0 * start.segment_bytes
        self._window = start.window

    def on_ack(self, flow, ack):
        self._see(flow)
        self._timed_out = False
        if ack.rtt_s > 0:
            self._sample((round(flow.now_s * 1e9) - self._begun_ns) / 1e9, ack.rtt_s)
        self._marked += ack.ce
        self._control()

    def on_congestion(self, flow, signal):
        self._see(flow)
        if signal == 2:
            self._timed_out = True
        self._control()

    def on_sent(self, flow, sent):
        self._see(flow)
        self._sent += 1
        self._control()

    def on_lost(self, flow, lost):
        self._see(flow)
        self._control()

    def on_undo(self, cwnd, ssthresh):
        self._control()

    def _see(self, flow):
        """Ends the intervals before this event, and takes the state of the flow."""
        now_ns = round(flow.now_s * 1e9)
        while now_ns > self._until_ns:
            self._end()
        if self._limited_since_ns >= 0:
            self._limited_ns += now_ns - self._limited_since_ns
        self._limited_since_ns = now_ns if flow.app_limited else -1
        self._all_delivered = flow.delivered
        self._all_lost = flow.lost
        self._in_flight = flow.in_flight
        self._srtt_s = flow.srtt_s if flow.srtt_s > 0 else 0.0
        self._min_rtt_s = flow.min_rtt_s if flow.min_rtt_s > 0 else 0.0

    def _sample(self, time_s, rtt_s):
        if self._samples == 0:
            self._first_rtt_s = rtt_s
            self._least_rtt_s = rtt_s
        rise = rtt_s - self._first_rtt_s
        self._samples += 1
        self._least_rtt_s = min(rtt_s, self._least_rtt_s)
        self._rtts += rtt_s
        self._times += time_s
        self._squares += time_s * time_s
        self._rises += rise
        self._products += time_s * rise

    def _control(self):
        self.cwnd = 1.0 if self._timed_out else self._window
        self.ssthresh = self._window

    def _end(self):
        """Ends an interval: observation, action, and the next interval."""
        samples = self._samples
        if samples > 0:
            self._last_rtt_s = self._rtts / samples
            self._best_rtt_s = min(self._best_rtt_s, self._last_rtt_s)
        if self._started:
            self._observe()
            self._ended += 1
            if self._ended >= FIRST_INTERVALS:
                self._act()
        length_ns = self._length() if self._ended >= FIRST_INTERVALS else self._round_trips(1.0)
        if not self._started and self._last_rtt_s > 0:
            self._started = True
            START
        elif not self._started:
            length_ns = PROBE_NS
        self._begun_ns = self._until_ns
        self._until_ns += length_ns
        self._old_delivered = self._all_delivered
        self._old_lost = self._all_lost
        self._limited_ns = 0
        if self._limited_since_ns >= 0:
            self._limited_since_ns = self._begun_ns
        self._sent = 0
        self._marked = 0
        self._samples = 0
        self._least_rtt_s = 0.0
        self._rtts = 0.0
        self._times = 0.0
        self._squares = 0.0
        self._rises = 0.0
        self._products = 0.0

    def _over(self, part, whole, otherwise):
        return part / whole if whole > 0 else otherwise

    def _where(self, test, a, b):
        return a if test else b

    def _tanh(self, x):
        return math.tanh(x)

    def _softsign(self, x):
        return x / (1.0 + abs(x))

    def _relu(self, x):
        return max(x, 0.0)

    def _clip(self, x):
        return min(max(x, -1.0), 1.0)

    def _single(self, x, low, high):
        """In the box of the feature, with the precision of an observation (float32)."""
        x = min(max(x, low), high)
        if abs(x) < 2.0**-126:
            return x
        unit = 2.0 ** (math.floor(math.log2(abs(x))) - 23)
        return round(x / unit) * unit

    def _length(self):
        """Length of the next interval, nanoseconds."""
        INTERVAL

    def _round_trips(self, count):
        rtt_s = self._last_rtt_s if self._last_rtt_s > 0 else GUESSED_S
        return round(min(max(count * rtt_s, SHORTEST_S), LONGEST_S) * 1e9)

    def _observe(self):
        """The measurements of the interval (fullpipe.gym.core), and the features of the observation."""
        duration_s = (self._until_ns - self._begun_ns) / 1e9
        sent = float(self._sent)
        delivered = float(self._all_delivered - self._old_delivered)
        lost = float(self._all_lost - self._old_lost)
        marked = float(self._marked)
        rtt_samples = float(self._samples)
        mean_rtt_s = self._last_rtt_s
        least_rtt_s = self._least_rtt_s
        rtt_slope = 0.0
        if self._samples > 0:
            spread = self._squares - self._times * self._times / rtt_samples
            if spread > 1e-12 * self._squares:
                rtt_slope = (self._products - self._times * self._rises / rtt_samples) / spread
        cwnd = self._window
        in_flight = float(self._in_flight)
        srtt_s = self._srtt_s
        min_rtt_s = self._min_rtt_s
        rate_bps = delivered * self._bits / duration_s
        send_rate_bps = sent * self._bits / duration_s
        lost_bps = lost * self._bits / duration_s
        pacing_bps = self.pacing_rate * self._bits if self.pacing_rate < 1e12 else 1e12
        loss_rate = self._over(lost, lost + delivered, 0.0)
        self._best_bps = max(self._best_bps, rate_bps)
        best_bps = self._best_bps
        best_mean_rtt_s = self._best_rtt_s if self._best_rtt_s < math.inf else 0.0
        delay_metric = min(1.0, 1.25 * min_rtt_s / srtt_s) if srtt_s > 0 else 1.0
        active = 1.0
        limited_ns = self._limited_ns
        if self._limited_since_ns >= 0:
            limited_ns += self._until_ns - self._limited_since_ns
        limited_share = limited_ns / 1e9 / duration_s
        SHIFT
        PUSH

    def _act(self):
        """The network, and the rate or window that its action sets."""
        NETWORK
        TARGET
        target = min(max(target, LEAST), MOST)
        SET
'''
