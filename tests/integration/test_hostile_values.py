"""Hostile values of sources, QUIC, suites, and baselines: each is valid, or is refused in one line."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from conftest import SMALL
from hostile import ending

TEXTS = (
    *("", " ", "\x1b[2J", "\0", "\u202e", "1e308 s", "-1 s", "nan s", "inf s", "1e-320 s", "\uff11 s", "0x1 s"),
    *("1e400/s", "nan/s", "-1/s", "1e-320/s", "0 B", "1e300 GB", "exponential nan s", "pareto 1 s nan"),
    *("uniform 1 s inf s", "lognormal 1 us 1e300 s", "1 s " * 10_000, "5 %", "1e308 %", "nan %", "-5 %"),
)

VALUES = {
    **{text: text for text in ("nan", "inf", "-inf", "-0.0", "1e308", "1e-320", "-1", "0", "true", "1979-05-27", "[]")},
    **{text: text for text in ("{}", "9223372036854775807", "-9223372036854775808", '"quic"', '"tcp"', '"bulk"')},
    "whole number beyond 64 bits": "9" * 40,
    "whole number of 100,000 digits": "9" * 100_000,
    "list of 100,000 numbers": f"[{'1,' * 100_000}]",
    "nested lists": "[" * 50 + "]" * 50,
    "nested tables": "{ a = " * 50 + "1" + " }" * 50,
    "text of 1 MB": f'"{"a" * 1_000_000}"',
    **{text: json.dumps(text) for text in TEXTS},
}
"""Values in TOML, by their names."""

SOURCES = {
    "rate": ("rate",),
    "on": ("on", "off", "rate"),
    "frames": ("frames", "size", "key_size", "key_every", "deadline"),
}
GOOD = {
    "rate": '"1 Mbit/s"',
    "on": '"1 s"',
    "off": '"exponential 1 s"',
    "frames": '"30/s"',
    "size": '"20 kB"',
    "key_size": '"40 kB"',
    "key_every": "9",
    "deadline": '"1 s"',
}
QUIC = ("transport", "ack_every", "ack_delay", "ack_reorder", "host", "max_ack_delay", "source")
TOP = ("format", "seeds", "max_seeds", "confidence", "time_limit", "scenarios", "checks", "controllers")
CHECK = ("id", "scenario", "controller", "metric", "min", "max", "relative_to", "min_ratio", "max_ratio", "worse_by")
STORED = ("format", "fullpipe", "engine_hash", "scenarios", "values")
OF_CHECK = ("metric", "unit", "direction", "seeds", "values", "controller", "identity")

LIKE_A_BASELINE = {
    "format": 1,
    "fullpipe": "1",
    "engine_hash": 1,
    "scenarios": {},
    "values": {
        "same": dict.fromkeys(("metric", "unit", "direction", "controller"), "x")
        | {"seeds": [1], "values": [1.0], "identity": None}
    },
}


def scenarios() -> Iterator[tuple[str, str]]:
    """Scenarios with a hostile value, by name."""
    flow = 'algorithm = "newreno"\n'
    for name, value in VALUES.items():
        for form, keys in SOURCES.items():
            for key in keys:
                pairs = ", ".join(f"{each} = {value if each == key else GOOD[each]}" for each in keys)
                yield f"source of {form}: {key} = {name}", SMALL.replace(flow, f"{flow}source = {{ {pairs} }}\n")
        for key in QUIC:
            first = "" if key in ("transport", "host") else 'transport = "quic"\n'
            yield f"{key} = {name}", SMALL.replace(flow, f"{flow}{first}{key} = {value}\n")


def suites() -> Iterator[tuple[str, str]]:
    """Suites with a hostile value, by name."""
    scenario = '{ name = "s", file = "small.toml" }'
    check = {"id": '"c"', "scenario": '"s"', "controller": '"newreno"', "metric": '"goodput_bps"'}
    for name, value in VALUES.items():
        for key in TOP:
            top = {"scenarios": f"[{scenario}]", "checks": '[{ id = "c", controller = "reno", conform = "bbr" }]'}
            yield f"{key} = {name}", "\n".join(f"{each} = {text}" for each, text in {**top, key: value}.items())
        for key in ("name", "file", "scenario"):
            given = {"name": '"s"', **({} if key == "scenario" else {"file": '"small.toml"'}), key: value}
            yield f"scenario {key} = {name}", f"scenarios = [{inline(given)}]\nchecks = [{inline(check)}]"
        for key in (*CHECK, "conform", "floor"):
            limit = {} if key in ("min", "max") else {"relative_to": '"vegas"'}
            given = {**check, **limit, key: value}
            yield f"check {key} = {name}", f"scenarios = [{scenario}]\nchecks = [{inline(given)}]"
        for given in (
            f"mine = {value}",
            f"mine = {{ name = {value} }}",
            f'mine = {{ name = "vegas", alpha = {value} }}',
        ):
            yield (
                f"controller {name}",
                f"controllers = {{ {given} }}\nscenarios = [{scenario}]\nchecks = [{inline(check)}]",
            )


def inline(table: dict[str, str]) -> str:
    return "{ " + ", ".join(f"{key} = {value}" for key, value in table.items()) + " }"


def baselines() -> Iterator[tuple[str, str]]:
    """Baseline files with a hostile value, by name."""
    values = [
        None,
        True,
        -1,
        1e308,
        10**400,
        "",
        "\x1b",
        "a" * 1_000_000,
        [],
        [None],
        [[1]],
        [1e308] * 1000,
        {},
        {"a": {}},
    ]
    texts = [*map(json.dumps, values), "NaN", "1e999", "9" * 100_000, "[" * 50 + "]" * 50]
    for text in texts:
        for key in STORED:
            yield f"baseline {key} = {text[:20]}", json.dumps({**LIKE_A_BASELINE, key: "HOLE"}).replace('"HOLE"', text)
        for key in OF_CHECK:
            same = {"same": {**LIKE_A_BASELINE["values"]["same"], key: "HOLE"}}  # type: ignore[index]
            yield f"values {key} = {text[:20]}", json.dumps({**LIKE_A_BASELINE, "values": same}).replace('"HOLE"', text)


def faults(files: Iterator[tuple[str, str]], read: Callable[[str], object], seen: dict[str, float]) -> list[str]:
    """Files that are neither read nor refused in one line within a second of processor time."""
    from fullpipe.errors import InputError

    wrong = []
    for name, text in files:
        begun_s = time.process_time()
        said = ""
        try:
            read(text)
            seen["valid"] += 1
        except InputError as error:
            said = str(error)
            seen["refused"] += 1
        except BaseException as error:
            wrong.append(f"{name}: {type(error).__name__}: {str(error)[:200]}")
        used_s = time.process_time() - begun_s
        seen["most_s"] = max(seen["most_s"], used_s)
        if used_s > 1 or not said.isprintable() or len(said) > 2200:
            wrong.append(f"{name}: {used_s:.1f} s, {said[:200]!r}")
    return wrong


def main() -> int:
    """Prints the counts; exit status 1 with a line for each fault."""
    import fullpipe
    from fullpipe.experiments.check import Suite
    from fullpipe.experiments.check.baseline import Baseline

    Path("small.toml").write_text(SMALL)
    good = 'scenarios = [{ name = "s", file = "small.toml" }]\nchecks = [{ id = "same", scenario = "s", '
    Path("good.toml").write_text(good + 'controller = "newreno", metric = "goodput_bps", relative_to = "baseline" }]\n')
    suite = Suite.load("good.toml")

    def from_file(name: str, read: Callable[[str], object]) -> Callable[[str], object]:
        def written(text: str) -> object:
            Path(name).write_text(text)
            return read(name)

        return written

    seen = {"valid": 0, "refused": 0, "most_s": 0.0}
    wrong = faults(scenarios(), fullpipe.Scenario.loads, seen)
    wrong += faults(suites(), from_file("suite.toml", Suite.load), seen)
    wrong += faults(baselines(), from_file("b.json", lambda file: Baseline.load(file).check(suite, suite.checks)), seen)
    print(json.dumps(seen))
    print("\n".join(wrong[:50]), file=sys.stderr)
    return 1 if wrong else 0


def test_hostile_values_are_refused_in_one_line(tmp_path: Path) -> None:
    folders = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
    code = f"import sys; sys.path[:0] = {folders}; import test_hostile_values as t; status = t.main()"
    found = ending([], tmp_path, code)
    assert (found.status, [line for line in found.lines if line]) == (0, [])
    seen = json.loads(found.output)
    assert seen["refused"] > 1500
    assert found.peak_bytes < 200_000_000
