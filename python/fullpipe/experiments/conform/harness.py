"""Test harness of conformance rules: simulations of one controller with losses at given times."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from fullpipe._util.children import end_with_parent
from fullpipe._util.inputs import FileError, parse_json
from fullpipe._util.plain import Table, Tree
from fullpipe._util.text import one_line
from fullpipe.errors import FullpipeError, InputError, ScenarioError
from fullpipe.runs.engines import run, run_many
from fullpipe.scenario import Scenario

__all__ = ["Curve", "Cut", "Harness", "Series", "simulated_by"]

CUT = 0.9
"""Ratio of two successive windows below which the window was cut."""


MOST_OUTPUT_BYTES = 50_000_000
"""Output of a program with further controllers, at most: ten times that of the longest scenario."""

MOST_MESSAGE_BYTES = 1_000_000
"""Messages of such a program, at most."""

MOST_PROGRAM_S = 300.0
"""Time that such a program may take for a scenario, seconds of wall time. `fullpipe-quic` takes a few seconds."""

MOST_CLOSING_S = 10.0
"""Time after the end of such a program until the end of its output, seconds of wall time."""

HEADERS = 28
"""Bytes of UDP and IP headers before a QUIC packet."""


@dataclass(frozen=True)
class Curve:
    """Values over time.

    Attributes:
        points: Time in seconds and value, in order of time.
    """

    points: Sequence[tuple[float, float]]

    def at(self, time_s: float) -> float | None:
        """First value at a time or later."""
        return next((value for t, value in self.points if t >= time_s), None)

    def reaches(self, value: float) -> float | None:
        """First time at which the value is at least this."""
        return next((t for t, each in self.points if each >= value), None)

    def between(self, start_s: float, end_s: float) -> list[float]:
        """Values from a time to another one."""
        return [value for t, value in self.points if start_s <= t <= end_s]


@dataclass(frozen=True)
class Cut:
    """A cut of the window, and the windows from then on.

    Attributes:
        at_s: Time of the cut, seconds.
        before: Window before it, packets.
        after: Window after it, packets.
        curve: Windows, by the time since the cut.
    """

    at_s: float
    before: float
    after: float
    curve: Curve


@dataclass(frozen=True)
class Series:
    """Series of one flow.

    Attributes:
        columns: Columns by name, ``t_s`` among them.
        metrics: Metrics of the whole run.
    """

    columns: Mapping[str, Sequence[float | None]]
    metrics: Table

    def has(self, *names: str) -> bool:
        """Whether the controller shows all of these values."""
        return all(name in self.columns for name in names)

    def curve(self, name: str = "cwnd_packets") -> Curve:
        """Known values of a column."""
        pairs = zip(self.columns["t_s"], self.columns[name], strict=True)
        return Curve([(t, value) for t, value in pairs if t is not None and value is not None and value == value])

    def cuts(self) -> list[Cut]:
        """Cuts of the window, each with the windows after it."""
        points = self.curve().points
        places = [i for i in range(1, len(points)) if points[i][1] < CUT * points[i - 1][1]]
        return [
            Cut(points[i][0], points[i - 1][1], points[i][1], Curve([(t - points[i][0], w) for t, w in points[i:]]))
            for i in places
        ]


def simulated(tree: Table) -> Series:
    """Series of a run. A custom algorithm, which may not return, has a process of its own."""
    scenario = Scenario.from_dict(tree)
    result = run_many({"": scenario}, workers=1)[""] if scenario.model.holds_lock else run(scenario)
    return Series(result.series.to_pydict(), result.figures())


def simulated_by(program: str) -> Callable[[Table], Series]:
    """Function that runs a scenario in a program with further controllers, such as ``fullpipe-quic``.

    Args:
        program: The program. It takes ``--json --series`` and a scenario file.
    """

    def simulate(tree: Table) -> Series:
        import tomli_w

        with TemporaryDirectory() as folder:
            file = Path(folder, "scenario.toml")
            file.write_text(tomli_w.dumps(tree), encoding="utf-8")
            status, output, said = _output_of(program, file)
        if status:
            if status == 2:
                raise ScenarioError("", said.replace(str(file), "scenario"), program)
            raise FullpipeError(f"{program}: {said.replace(str(file), 'scenario') or f'exit status {status}'}")
        try:
            found = parse_json(program, output, finite=False)
            return _series(found["series"], found["flows"][0])
        except (FileError, ValueError, KeyError, IndexError, TypeError):
            raise InputError(f"{program}: prints no series of a flow with --json --series") from None

    return simulate


def _series(columns: object, metrics: object) -> Series:
    """Series of a flow, whose columns are numbers, as many in each.

    Raises:
        ValueError: They are not.
    """
    if not isinstance(columns, dict) or not isinstance(metrics, dict):
        raise ValueError
    lists = list(columns.values())
    lengths = {len(values) for values in lists if isinstance(values, list)}
    numbers = all(isinstance(value, int | float | None) for values in lists for value in values)
    if len(lengths) != 1 or not numbers or not {"t_s", "cwnd_packets"} <= columns.keys():
        raise ValueError
    return Series(columns, metrics)


def _output_of(program: str, file: Path) -> tuple[int, bytes, str]:
    """Exit status, output, and message of a program that runs a scenario.

    Raises:
        InputError: The program can't be run, or it does not end, or writes without end.
    """
    import threading

    try:
        process = subprocess.Popen(
            [program, "--json", "--series", file],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=end_with_parent,
        )
    except OSError as error:
        raise InputError(f"{program}: can't be run: {error.strerror}") from None
    written = {"output": b"", "messages": b""}

    def end() -> None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)

    def read(name: str, stream: IO[bytes], most: int) -> None:
        with stream:
            written[name] = stream.read(most + 1)
        if len(written[name]) > most:
            end()

    streams = ("output", process.stdout, MOST_OUTPUT_BYTES), ("messages", process.stderr, MOST_MESSAGE_BYTES)
    # Daemons: a child that has left the group of processes may keep a pipe open for ever.
    readers = [threading.Thread(target=read, args=stream, daemon=True) for stream in streams]
    for reader in readers:
        reader.start()
    try:
        status = process.wait(MOST_PROGRAM_S)
    except subprocess.TimeoutExpired:
        raise InputError(f"{program}: a scenario must take at most {MOST_PROGRAM_S:g} s") from None
    finally:
        end()
        process.wait()
    for reader in readers:
        reader.join(MOST_CLOSING_S)
        if reader.is_alive():
            raise InputError(f"{program}: a process that it starts keeps its output open")
    if len(written["output"]) > MOST_OUTPUT_BYTES or len(written["messages"]) > MOST_MESSAGE_BYTES:
        raise InputError(f"{program}: the output must have at most {MOST_OUTPUT_BYTES // 1_000_000} MB")
    return status, written["output"], one_line(written["messages"].decode(errors="replace"))


@dataclass
class Harness:
    """Simulations of one controller. Each scenario runs once.

    Attributes:
        algorithm: The controller, as scenarios have it.
        stopped: Function that is called before each run, and raises to stop.
        simulate: Function that runs a scenario.
    """

    algorithm: str | Table
    stopped: Callable[[], None] = lambda: None
    simulate: Callable[[Table], Series] = simulated
    _made: dict[str, Series] = field(default_factory=dict)

    @property
    def made(self) -> list[Series]:
        """Series of all runs so far."""
        return list(self._made.values())

    def run(self, link: Table, duration_s: float, **keys: Any) -> Series:
        """Series of the controller alone on a link.

        Args:
            link: Keys of the link.
            duration_s: Simulated time.
            keys: Keys of the flow; or ``scenario``, further keys of the scenario.
        """
        tree = {
            "duration": f"{duration_s:g} s",
            "series_interval": "5 ms",
            **keys.pop("scenario", {}),
            "links": [{"name": "l", "buffer": "unlimited", **link}],
            "flows": [{"algorithm": self.algorithm, **({} if "transport" in keys else {"recovery": "rack"}), **keys}],
        }
        name = repr(tree)
        if name not in self._made:
            self.stopped()
            self._made[name] = self.simulate(tree)
        return self._made[name]

    def losses(self, rtt_s: float, bursts: Sequence[tuple[float, float]], duration_s: float, **keys: Any) -> Series:
        """Series on a path of 1 Gbit/s without a queue, which loses all packets in some bursts and no other packet.
        All flows are paced, so that round trips are alike.

        Args:
            rtt_s: Round-trip time, seconds.
            bursts: Start and length of each burst, seconds.
            duration_s: Simulated time.
            keys: As for `run`; or ``delays``, changes of the forward delay as pairs of times, and ``back_s``, the
                delay of ACKs, in seconds; or ``late``, start and length of bursts that arrive by a time later than
                others, which overtake them.
        """
        changes: list[tuple[float, Tree]] = []
        for start_s, length_s in bursts:
            changes += [(start_s, {"loss": 0.999999}), (start_s + length_s, {"loss": 0})]
        changes += [(at_s, {"delay": f"{1e3 * delay_s:g} ms"}) for at_s, delay_s in keys.pop("delays", ())]
        late = keys.pop("late", ())
        for start_s, length_s, by_s in late:
            changes.append((start_s, {"delay": f"{1e3 * (rtt_s / 2 + by_s):g} ms"}))
            changes.append((start_s + length_s, {"delay": f"{500 * rtt_s:g} ms"}))
        back_s = keys.pop("back_s", rtt_s / 2)
        schedule = [
            {"at": f"{1e3 * at_s:g} ms", **change} for at_s, change in sorted(changes, key=lambda each: each[0])
        ]
        back: dict[str, object] = {"schedule": [], "delay": f"{1e3 * back_s:g} ms"}
        link: dict[str, object] = {
            "rate": "1 Gbit/s",
            "delay": f"{500 * rtt_s:g} ms",
            "schedule": schedule,
            "reverse": back,
        }
        if late:  # jitter of almost nothing, so that packets overtake others
            link["jitter"] = {"mean": "1 us", "reorder": True}
            back["jitter"] = "off"
        first = {} if "transport" in keys else {"initial_window": 10}
        return self.run(link, duration_s, **{"pacing": "on", **first, **keys})

    def quic(self, bursts: Sequence[tuple[float, float]], duration_s: float, **keys: Any) -> Series:
        """Series of `losses` over QUIC: datagrams of 1200 bytes, round trips of 100 ms, and an ACK per packet.

        Args:
            bursts: As for `losses`.
            duration_s: Simulated time.
            keys: As for `losses`; or ``datagram``, bytes of a datagram.
        """
        packet_size = keys.pop("datagram", 1200) + HEADERS
        quic = {"transport": "quic", "ack_every": 1, **keys}
        return self.losses(
            0.1, bursts, duration_s, scenario={"packet_size": packet_size, "series_interval": "1 ms"}, **quic
        )

    def cuts(self, rtt_s: float, starts: Sequence[float], tail_s: float | None = None, **keys: Any) -> list[Cut]:
        """Cuts by bursts of a quarter of a round trip."""
        tail_s = (4.0 if rtt_s < 0.1 else 8.0) if tail_s is None else tail_s
        bursts = [(start_s, rtt_s / 4) for start_s in starts]
        return self.losses(rtt_s, bursts, starts[-1] + tail_s, **keys).cuts()
