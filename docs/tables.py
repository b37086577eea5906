"""Generated parts of README.md, docs/, and reports/*.md: ``make docs-tables``, or ``docs/tables.py PAGE.md`` for one.

There are five kinds. Each stands behind a comment, which readers of the page do not see:

1. Output of a command, from a run made now. Tests run the short ones again and compare the headings of their tables; a
   command that takes more than some seconds is an ``output (long) of``::

    <!-- output of: fullpipe compare scenarios/under-buffered.toml --algorithms reno,vegas -->

2. Table of a record in ``reports``, of the registry of scenario keys (``keys-LIST``) or of metrics (``metrics-TABLE``),
   or of an algorithm's parameters (``parameters-NAME``) and deviations (``deviations-NAME``, from the head of its
   source file)::

    <!-- table of: linux-queues -->
    <!-- end of table -->

3. One number in a sentence, from a trial (``docs/trials.py``), an item of a paper, ``validation.json``, or
   ``speed.json``.
   Neither comment starts a line, for example::

    CUBIC has <!-- measured: modern/copa: share under jitter, 1 ms | .0% -->22 %<!-- --> of 50 Mbit/s.

4. Checks of a paper's items with their discussion (``paper-NAME``, ``paper-NAME/ITEM``), and an item's values by
   setting (``settings-NAME/ITEM``), from ``reports/papers``.
5. Builds that made the records of a page, between ``<!-- records of this page -->`` and ``<!-- end of records -->``.

``docs/tables.py --take`` first writes the records ``validation.json``, ``speed.json``, and ``papers/*.json`` from
the last full runs of ``make speed``, ``make agreement``, and ``fullpipe reproduce --json > out/reproduction.json``.
"""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from statistics import linear_regression
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))  # for benchmarks
sys.path.insert(0, str(Path(__file__).parent))  # for declared

import declared
from benchmarks import records

import fullpipe.papers
from fullpipe import _core
from fullpipe._cli.reproduce import row as row_of_check
from fullpipe.metrics import METRICS, axis
from fullpipe.papers import select
from fullpipe.reproduce.check import judge
from fullpipe.reproduce.item import expected, notes
from fullpipe.reproduce.prose import filled

__all__ = ["Shown", "builds", "figure", "measured", "output", "pages", "rewrite", "shown", "take", "take_papers"]

ROOT = Path(__file__).parent.parent
MEASURED = ROOT / "reports"
PAPERS = sorted(page.stem for page in (ROOT / "docs/explanation/papers").glob("*.md"))
OURS = {"bbr", "beyond", "modern"}
"""Our own comparisons, which the count of checks of published papers excludes."""

UNITS = {"%", "ms"}
"""Units at the end of a metric's name."""

MARK = re.compile(r"(<!-- output (\(long\) )?of: (.+?) -->\n```\n)(.*?)(^```$)", re.DOTALL | re.MULTILINE)

TABLE = re.compile(r"(<!-- table of: (\S+) -->\n)(.*?)(^<!-- end of table -->$)", re.DOTALL | re.MULTILINE)
FIGURE = re.compile(r"(<!-- measured: ([^:]+?): (.+?)(?: \| (\S+))? -->)(.*?)(<!-- -->)")
BUILDS = re.compile(r"(<!-- records of this page -->\n)(.*?)(^<!-- end of records -->$)", re.DOTALL | re.MULTILINE)
TRIALS_OF_TABLES = {
    "sizes": "sizing",
    "sizes-many": "sizing",
    **{name: name for name in ("phases", "prague", "vegas", "bbr-zone", "slow-starts")},
    "slow-starts-rtt": "slow-starts",
}
SPEED_OF_TABLES = {
    "speed-modern": "modern",
    "speed-windows": "windows",
    "speed-instructions": "instructions",
    "speed-controllers": "controllers",
}
HEADS = (
    "",
    *(f"{what}: {side}" for what in ("utilization", "mean queue", "signals") for side in ("simulator", "Linux")),
)
FORMS = (".4f", ".2f", "d")

SLOW_STARTS = (
    *("standard", "hystart", "hystart++", "search", "rapid"),
    *(f"resume, {factor} BDP" for factor in ("0.1", "1", "2", "10")),
)
STANDARDS = ("newreno", "cubic")
WORDS = {"better": "better", "no worse": "=", "inconclusive": "?", "unclear": "?", "worse": "**worse**"}


class Shown:
    """An output that a page shows: the ``command``, whether it is ``long``, and the ``text``."""

    def __init__(self, match: re.Match[str]) -> None:
        self.long = match[2] is not None
        self.command = match[3]
        self.text = match[4]


def pages() -> list[Path]:
    """Pages that may show outputs."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted(MEASURED.glob("*.md"))]


def shown(page: Path) -> Iterator[Shown]:
    """Outputs on a page."""
    return map(Shown, MARK.finditer(page.read_text(encoding="utf-8")))


def output(command: str) -> str:
    """Output of a command in a temporary directory with the scenarios; trailing blanks are removed.

    Raises:
        subprocess.CalledProcessError: It fails. For ``conform`` and ``check``, status 1 means that a rule or a check
            fails, which is a result.
    """
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "scenarios").symlink_to(ROOT / "scenarios")
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            cwd=folder,
            env={**os.environ, "PATH": path},
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
    judges = "fullpipe conform" in command or "fullpipe check" in command
    if not (judges and done.returncode == 1):
        done.check_returncode()
    return "\n".join(line.rstrip() for line in done.stdout.strip("\n").splitlines()).strip("\n") + "\n"


def measured(name: str) -> str:
    """Table of a record, of a registry (scenario keys, metrics), or of an algorithm's declaration."""
    if name.startswith("metrics-"):
        return metrics(name.removeprefix("metrics-"))
    if name.startswith("keys-"):
        return keys(name.removeprefix("keys-"))
    if name.startswith("parameters-"):
        return declared.parameters(name.removeprefix("parameters-"))
    if name.startswith("deviations-"):
        return declared.deviations(name.removeprefix("deviations-"))
    if name.startswith("paper-"):
        return paper(name.removeprefix("paper-"))
    if name.startswith("settings-"):
        return settings(name.removeprefix("settings-"))
    if name.startswith("quic-"):
        return quic(name.removeprefix("quic-"))
    made = {
        "cards": words_of_cards,
        "cards-worse": worse_of_cards,
        "sizes": sizes,
        "sizes-many": sizes_of_many,
        "phases": phases,
        "bbr-zone": zone,
        "linux-bbr": drops_of_bbr,
        "linux-bloat": bloat,
        "linux-duel-column": harm,
        "linux-duels": duels,
        "linux-frames": frames,
        "linux-loss": goodput_under_loss,
        "linux-requests": requests,
        "linux-shallow": shallow,
        "prague": prague,
        "slow-starts": slow_starts,
        "slow-starts-rtt": slow_starts_by_rtt,
        "vegas": vegas,
        "speed": speed,
        "speed-machine": speed_machine,
        "speed-beside": speed_beside,
        "speed-modern": speed_modern,
        "speed-windows": speed_windows,
        "speed-instructions": speed_instructions,
        "speed-controllers": speed_controllers,
    }
    return made[name]() if name in made else linux_comparison(name)


def shown_records(text: str) -> Iterator[tuple[str, str]]:
    """Records, and their parts, with values in the tables and sentences of a page."""
    for match in FIGURE.finditer(text):
        paper, slash, _ = match[2].partition("/")
        if match[2] in NUMBERS:
            yield from NUMBERS[match[2]][1]
        else:
            yield (f"papers/{paper}.json" if slash else "trials.json"), match[2]
    for match in TABLE.finditer(text):
        yield from _records_of_table(match[2])


def _records_of_table(name: str) -> Iterator[tuple[str, str]]:
    kind, _, rest = name.partition("-")
    if name in TRIALS_OF_TABLES:
        yield "trials.json", TRIALS_OF_TABLES[name]
    elif kind == "cards":
        yield from (("cards", card) for card in cards())
    elif kind in ("paper", "settings"):
        yield from ((f"papers/{rest.partition('/')[0]}.json", item.id) for item in select(rest))
    elif kind == "speed":
        yield "speed.json", SPEED_OF_TABLES.get(name, "speed")
    elif name == "validation":
        yield from [("validation.json", "agreement"), ("validation.json", "reproduction"), ("speed.json", "speed")]
    elif kind == "quic":
        yield "quic.json", rest
    elif kind == "linux":
        yield f"{name}.json", records.WHOLE


def builds(text: str) -> str:
    """Builds that made the records of a page, as a list."""
    lines = [f"- {line}." for line in records.sources(shown_records(text), MEASURED)]
    return "\nThe numbers on this page are from these records:\n\n" + "\n".join(lines) + "\n"


def keys(name: str) -> str:
    """One list of scenario keys with a row for each key; empty columns are left out."""
    heads = ("key", "type", "default", "allowed", "meaning")
    rows = []
    for key in _core.scenario_keys()[name]:
        default = f"`{key['default']}`" if key["default"] is not None else key["otherwise"] or "required"
        source = f" Default: {key['source']}." if key["source"] else ""
        rows.append((f"`{key['name']}`", key["kind"], default, key["allowed"], key["doc"] + source))
    kept = [i for i in range(len(heads)) if any(row[i] for row in rows)]
    return _table([[line[i] for i in kept] for line in (heads, ("---",) * len(heads), *rows)])


def metrics(table: str) -> str:
    """Metrics of one table of a result with a row for each metric."""
    heads = ("metric", "title", "unit", "definition", "source")
    found = [metric for metric in METRICS.values() if metric.table == table]
    rows = [(f"`{one.id}`", one.title, one.unit, one.definition, one.source) for one in found]
    return _table((heads, ("---",) * len(heads), *rows))


def paper(name: str) -> str:
    """Heading, checks, and discussion of a paper's items, from full runs."""
    record = json.loads((MEASURED / f"papers/{name.partition('/')[0]}.json").read_text(encoding="utf-8"))
    return "\n".join(_item(item.id, item.title, record[item.id]) for item in select(name))


def settings(item_id: str) -> str:
    """Values of an item by setting: names are ``METRIC, ALGORITHM, SETTING``, and a cell has all algorithms."""
    figures = json.loads((MEASURED / f"papers/{item_id.partition('/')[0]}.json").read_text(encoding="utf-8"))[item_id]
    cells: dict[str, dict[str, dict[str, float]]] = {}
    for name, value in _values(figures).items():
        quantity, algorithm, *setting = name.split(", ")
        column = f"{quantity}, {setting.pop()}" if setting[-1] in UNITS else quantity
        cells.setdefault(", ".join(setting), {}).setdefault(column, {})[algorithm] = value
    columns = list(dict.fromkeys(column for row in cells.values() for column in row))
    algorithms = ", ".join(next(iter(next(iter(cells.values())).values())))
    rows = [
        [name, *(", ".join(f"{x:.3g}" for x in row.get(each, {}).values()) for each in columns)]
        for name, row in cells.items()
    ]
    return _table([[f"setting; {algorithms}", *columns], ["---"] * (len(columns) + 1), *rows])


def quic(family: str) -> str:
    """QUIC controllers of one family compared with ours and Linux's, or their shares versus our CUBIC."""
    rows = json.loads((MEASURED / "quic.json").read_text(encoding="utf-8"))[family]
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    heads = [name if name == "Linux" else f"`{name}`" for name in names]
    what = "share of the goodput" if family == "shares" else "utilization, queue, drops"
    lines = [[link, *(_quic_cell(row.get(name)) for name in names)] for link, row in rows.items()]
    return _table([[what, *heads], ["---"] * (len(heads) + 1), *lines])


def _quic_cell(found: dict[str, float] | float | None) -> str:
    if found is None:
        return ""
    if isinstance(found, float):
        return f"{found:.0%}"
    return f"{found['utilization']:.1%}, {found['queue_ms']:.0f} ms, {found['loss_rate']:.2%}"


def _values(figures: dict[str, Any]) -> dict[str, float]:
    """Figures of a record as numbers; of an entry with an interval, the mean."""
    means = {name: entry["mean"] if isinstance(entry, dict) else entry for name, entry in figures.items()}
    return {name: math.nan if mean is None else mean for name, mean in means.items()}


def _item(item_id: str, title: str, figures: dict[str, Any]) -> str:
    known = _values(figures)
    intervals = {name: entry for name, entry in figures.items() if isinstance(entry, dict)}
    checks = judge(known, expected(item_id))
    heads = ("quantity", "published", "measured", "difference", "tolerance", "verdict", "origin")
    said = notes(item_id)
    misses = dict.fromkeys(f"Known discrepancy: {check.miss}" for check in checks if check.status == "documented miss")
    sentences = [filled(text, known) for text in (said["reading"], *misses, *said["deviations"])]
    table = _table((heads, ("---",) * len(heads), *(row_of_check(check, intervals) for check in checks)))
    return f"### {item_id}\n\n{title}.\n\n{table}" + "".join(f"\n{text}\n" for text in sentences if text)


def figure(source: str, name: str, form: str | None) -> str:
    """One value for a sentence: from an item of a paper (``PAPER/ITEM``), ``validation``, ``speed``, or a trial."""
    if source in NUMBERS:
        value = NUMBERS[source][0]()[name]
    else:
        paper, slash, _ = source.partition("/")
        record = MEASURED / (f"papers/{paper}.json" if slash else "trials.json")
        value = _values(json.loads(record.read_text(encoding="utf-8"))[source])[name]
    return f"{value:{form or '.3g'}}".replace("%", " %")


def _numbers_of_validation() -> dict[str, float]:
    """Counts of checks and cases, from ``validation.json``."""
    known = json.loads((MEASURED / "validation.json").read_text(encoding="utf-8"))
    return {**known["agreement"], **known["reproduction"]}


def _numbers_of_speed() -> dict[str, float]:
    """Speed of each case in million packets per second, and relative to each other simulator with two digits."""
    found: dict[str, float] = {}
    for case in _speed()["cases"]:
        own, flows = case["packets_per_second"], case["title"].partition(",")[0]
        found[f"{flows}, million packets/s"] = own / 1e6
        for name, rate in case["others"].items():
            found[f"{flows}, times {name}"] = float(f"{own / rate:.2g}")
    return found


NUMBERS: dict[str, tuple[Callable[[], dict[str, float]], list[tuple[str, str]]]] = {
    "validation": (_numbers_of_validation, [("validation.json", "agreement"), ("validation.json", "reproduction")]),
    "speed": (_numbers_of_speed, [("speed.json", "speed")]),
}
"""Sources of single values other than trials and papers: their values, and the parts of records behind them."""


def sizes() -> str:
    """Buffers for several algorithms and numbers of flows, with BDP/√n."""
    found, targets = _trial("sizing"), ("0.98", "0.995")
    cells = dict.fromkeys(tuple(name.split(", ")[:2]) for name in found if not name.startswith(("BDP", "many")))
    lines = [("algorithm", "flows", "BDP/√n", *(f"{100 * float(target):g} %" for target in targets)), ("---",) * 5]
    for algorithm, flows in cells:
        needed = []
        for target in targets:
            size, low, high = (found[f"{algorithm}, {flows}, {target}{end}"] for end in ("", ", low", ", high"))
            needed.append(f"{size:,.0f} ({low:,.0f} to {high:,.0f})")
        lines.append((algorithm, flows, f"{found[f'BDP, {flows}']:,.0f}", *needed))
    return _table(lines)


def sizes_of_many() -> str:
    """Buffers for a hundred flows and more, and the exponent of the number of flows."""
    found = _trial("sizing")
    cells = [name.split(", ")[1:] for name in found if name.startswith("many")]
    counts = list(dict.fromkeys(flows for _, flows, _ in cells))
    lines = [("algorithm", "target", *counts, "exponent of n"), ("---",) * (len(counts) + 3)]
    for algorithm, target in sorted({(algorithm, target) for algorithm, _, target in cells}):
        needed = [found[f"many, {algorithm}, {flows}, {target}"] for flows in counts]
        logarithms = ([math.log(float(flows)) for flows in counts], [math.log(size) for size in needed])
        power = f"{linear_regression(*logarithms).slope:.2f}"
        lines.append((algorithm, f"{100 * float(target):g} %", *(f"{size:,.0f}" for size in needed), power))
    lines.append(("BDP/√n", "", *(f"{found[f'BDP, {flows}']:,.0f}" for flows in counts), "-0.5"))
    return _table(lines)


def phases() -> str:
    """Utilization and fairness with unequal round trips and host processing jitter."""
    found = _trial("phases")
    lines = [("base RTTs", "utilization, no noise", "with noise", "Jain, no noise", "with noise"), ("---",) * 5]
    for spread in (0, 2, 5, 10):
        pairs = [(what, noise) for what in ("utilization", "Jain") for noise in ("none", "noise")]
        forms = {"utilization": ".3f", "Jain": ".2f"}
        named = f"50 ms ± {spread} %" if spread else "50 ms"
        lines.append((named, *(f"{found[f'{what}, {spread} %, {noise}']:{forms[what]}}" for what, noise in pairs)))
    return _table(lines)


def prague() -> str:
    """Ratio of Prague's rate to CUBIC's, measured and by the equation."""
    found = _trial("prague")
    lines = [("base RTT, ms", "without $R^*$", "equation", "with $R^*$", "equation"), ("---",) * 5]
    for rtt in (5, 10, 25, 100):
        columns = [f"{kind}{scheme}, {rtt} ms" for scheme in ("without", "with") for kind in ("", "equation, ")]
        lines.append((str(rtt), *(f"{found[column]:.2f}" for column in columns)))
    return _table(lines)


def vegas() -> str:
    """Mean windows of Vegas and of ns-2 2.35's ``Agent/TCP/Vegas``."""
    other = json.loads((MEASURED / "ns2/vegas.json").read_text(encoding="utf-8"))
    lines = [("rate, RTT, buffer, flows", "ours", "ns-2"), ("---",) * 3]
    for setting, own in _trial("vegas").items():
        lines.append((setting, f"{own:.1f}", f"{other[setting]:.1f}"))
    return _table(lines)


def slow_starts() -> str:
    """Slow starts over all paths, without jitter and with 2 and 10 ms."""
    found = _trial("slow-starts")
    jitters = ("0 ms", "2 ms", "10 ms")
    forms = {"rounds": ".1f", "never": ".0%", "lost_bdp": ".2f", "early": ".0%", "queue_bdp": ".2f"}
    heads = ("time (RTT)", "never", "lost (BDP)", "early exits", "largest queue (BDP)")
    lines = [("slow start", *heads), ("---",) * (1 + len(heads))]
    for kind in SLOW_STARTS:
        cells = (" / ".join(f"{found[f'{kind}, {at}, {key}']:{form}}" for at in jitters) for key, form in forms.items())
        lines.append((kind, *cells))
    return _table(lines)


def slow_starts_by_rtt() -> str:
    """Time of slow starts by RTT, without jitter."""
    found = _trial("slow-starts")
    rtts = (10, 50, 200, 600)
    lines = [("slow start", *(f"{rtt} ms" for rtt in rtts)), ("---",) * (1 + len(rtts))]
    lines += [(kind, *(f"{found[f'{kind}, {rtt} ms RTT, rounds']:.1f}" for rtt in rtts)) for kind in SLOW_STARTS]
    return _table(lines)


def _trial(name: str) -> Any:
    return json.loads((MEASURED / "trials.json").read_text(encoding="utf-8"))[name]


def speed() -> str:
    """Speed and memory of fullpipe in each case of ``make speed``."""
    lines = [
        ("case", "packets/s", "ns per packet", "cost of series", "peak memory (MB)", "with series (MB)"),
        ("---",) * 6,
    ]
    for case in _speed()["cases"]:
        rate = case["packets_per_second"]
        costs = (f"{1e9 / rate:.1f}", f"{case['series_cost']:.1%}", *(f"{mb:,.0f}" for mb in case["peak_mb"]))
        lines.append((case["title"], f"{rate / 1e6:.1f} million", *costs))
    return _table(lines)


def speed_machine() -> str:
    """Machine and versions of the speed benchmark."""
    known = _speed()
    others = ", ".join(f"{name} {version}" for name, version in known["versions"].items())
    return f"Machine: {known['machine']}; {others}; {known['rounds']} rounds.\n"


def speed_beside() -> str:
    """Speed of fullpipe over that of ns-2 and ns-3 in the same run."""
    cases = [case for case in _speed()["cases"] if case["others"]]
    names = list(cases[0]["others"])
    lines = [("case", *map(_in_table, names)), ("---",) * (len(names) + 1)]
    for case in cases:
        others = (f"{_two_digits(case['packets_per_second'] / rate)} ({rate:,.0f})" for rate in case["others"].values())
        lines.append((case["title"], *others))
    return _table(lines)


def speed_modern() -> str:
    """Speed with today's queues and senders relative to the plain case."""
    lines = [("variant", "plain case", "ratio", "target", "times ns-3"), ("---",) * 5]
    for row in _speed()["modern"]:
        times = f"{row['times_ns3']:,.0f}" if row["times_ns3"] else ""
        lines.append((row["variant"], f"`{row['beside']}`", f"{row['ratio']:.2f}", str(row["wanted"]), times))
    return _table(lines)


def speed_instructions() -> str:
    """Instructions per packet in the first seconds of each case."""
    lines = [("scenario", "simulated (s)", "data packets", "instructions per packet"), ("---",) * 4]
    for row in _speed()["instructions"]:
        each = f"{row['instructions'] / row['packets']:,.0f}"
        lines.append((f"`{row['case']}.toml`", str(row["seconds"]), f"{row['packets']:,}", each))
    return _table(lines)


def speed_windows() -> str:
    """Cost of a packet by the number of packets in flight."""
    rows = _speed()["windows"]
    lines = [("BDP (segments)", "data packets", "dropped", "ns per packet", "relative to the first row"), ("---",) * 5]
    for row in rows:
        counts = (f"{row[name]:,}" for name in ("segments", "data_packets", "dropped"))
        cost = row["ns_a_packet"]
        lines.append((*counts, f"{cost:.0f}", f"{cost / rows[0]['ns_a_packet']:.2f}"))
    return _table(lines)


def speed_controllers() -> str:
    """Processor time of packet-level controllers by the language."""
    rows = _speed()["controllers"]
    first_s = rows[0]["cpu_s"]
    cells = [(row["controller"], f"{row['cpu_s']:.2f} s", f"{row['cpu_s'] / first_s:.2f}") for row in rows]
    return _table([("controller", "processor time", "relative to Rust"), ("---", "---:", "---:"), *cells])


def _speed() -> Any:
    return json.loads((MEASURED / "speed.json").read_text(encoding="utf-8"))


def words_of_cards() -> str:
    """Verdicts with a row per algorithm and a column per criterion, and the titles of the criteria."""
    found = cards()
    criteria = next(iter(found.values()))["criteria"]
    judged = [
        i for i in range(len(criteria)) if any(card["criteria"][i]["verdict"] in WORDS for card in found.values())
    ]
    lines = [("", *(criteria[i]["id"] for i in judged)), ("---",) * (len(judged) + 1)]
    for name, card in found.items():
        lines.append((f"`{name}`", *(WORDS.get(card["criteria"][i]["verdict"], "") for i in judged)))
    titles = [f"{criteria[i]['id']} {criteria[i]['title']}" for i in judged]
    made = {f"{card['profile']}, {card['seeds']} seeds" for card in found.values()}
    most = max(card["most_seeds"] for card in found.values())
    more = f", and up to {most} if a verdict is inconclusive"
    return f"{_table(lines)}\nProfile of all cards: {' and '.join(sorted(made))}{more}. {'; '.join(titles)}.\n"


def worse_of_cards() -> str:
    """Criteria with the verdict `worse` for each algorithm."""
    lines = [("algorithm", "criterion", "largest difference"), ("---",) * 3]
    for name, card in cards().items():
        worse = [one for one in card["criteria"] if one["verdict"] == "worse"]
        lines += [(f"`{name}`" if i == 0 else "", one["id"], one["where"]) for i, one in enumerate(worse)] or [
            (f"`{name}`", "nothing", "")
        ]
    return _table(lines)


def cards() -> dict[str, Any]:
    """Report cards by algorithm; NewReno and CUBIC come first."""
    paths = sorted((MEASURED / "cards").glob("*.json"), key=lambda path: (path.stem not in STANDARDS, path.stem))
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in paths}


def linux_comparison(name: str) -> str:
    """Table of ``reports/NAME.json``: for each metric the simulated range and the value on Linux."""
    rows = json.loads((MEASURED / f"{name}.json").read_text(encoding="utf-8"))
    if name == "validation":
        return _table(_validation(rows))
    lines = [HEADS, ("---",) * len(HEADS)]
    for case, row in rows.items():
        pairs = zip(row["low"], row["high"], row["linux"], FORMS, strict=True)
        cells = (cell for low, high, there, form in pairs for cell in (_range(low, high, form), f"{there:{form}}"))
        lines.append((case, *cells))
    return _table(lines)


def duels() -> str:
    """Two flows on both engines, with a row per pair and buffer."""
    columns = {
        "share": ("Share of the first flow", ".2f"),
        "rtt_ms": ("Its mean RTT (ms)", ".1f"),
        "utilization": ("Utilization", ".3f"),
        "drops": ("Drops", ".0f"),
    }
    return _on_both("linux-duels", columns)


def frames() -> str:
    """One flow with frames on both engines, with a row per kind of frames."""
    columns = {
        "p50_ms": ("p50 frame delay (ms)", ".1f"),
        "p99_ms": ("p99 frame delay (ms)", ".1f"),
        "cwnd": ("Mean cwnd", ".1f"),
        "window": ("Window after a restart", ".0f"),
    }
    return _cases("linux-frames", columns)


def requests() -> str:
    """One flow with requests on both engines, with a row per kind of requests."""
    columns = {
        "p50_ms": ("Median completion (ms)", ".1f"),
        "mean_ms": ("Mean completion (ms)", ".1f"),
        "window": ("Window when a response begins", ".0f"),
    }
    return _cases("linux-requests", columns)


def _cases(name: str, columns: Mapping[str, tuple[str, str]]) -> str:
    """Metrics of both engines side by side, with a row per case."""
    found = json.loads((MEASURED / f"{name}.json").read_text(encoding="utf-8"))
    heads = [f"{title}: {engine}" for title, _ in columns.values() for engine in ("simulator", "Linux")]
    lines = [("", *heads), ("---",) * (1 + len(heads))]
    for case, row in found.items():
        cells = (
            f"{row[engine][key]:{form}}" for key, (_, form) in columns.items() for engine in ("simulator", "linux")
        )
        lines.append((case, *cells))
    return _table(lines)


def bloat() -> str:
    """Two flows of one algorithm on both engines, with a row per buffer."""
    return _on_both(
        "linux-bloat",
        {"rtt_ms": (axis("mean_rtt_s")[0], ".1f"), "utilization_percent": (axis("utilization")[0], ".2f")},
    )


def harm() -> str:
    """Harm to each victim on both engines, with a row per pair and buffer."""
    columns = {"goodput": (axis("goodput_harm")[0], ".2f"), "p95_rtt": ("Harm to the 95th percentile of RTTs", ".2f")}
    return _on_both("linux-duel-column", columns)


def shallow() -> str:
    """Ten flows of each standard with a buffer of 0.02 BDP, on both engines."""
    columns = {"loss_percent": (axis("loss_rate")[0], ".2f"), "utilization_percent": (axis("utilization")[0], ".1f")}
    return _on_both("linux-shallow", columns)


def drops_of_bbr() -> str:
    """Drops of one flow in each case; a case of the kernel alone has no simulated drops."""
    found = json.loads((MEASURED / "linux-bbr.json").read_text(encoding="utf-8"))
    lines = [("drops", "simulator", "Linux"), ("---",) * 3]
    for case, row in found.items():
        lines.append((case, *(_spread(row[side], ".0f") if row[side] else "" for side in ("simulator", "linux"))))
    return _table(lines)


def goodput_under_loss() -> str:
    """Goodput of each run on Linux, and the range of the seeds of the simulator."""
    found = json.loads((MEASURED / "linux-loss.json").read_text(encoding="utf-8"))
    lines = [(axis("goodput_bps")[0], "simulator", "Linux, each run"), ("---",) * 3]
    for case, row in found.items():
        lines.append((case, _spread(row["simulator"], ".2f"), ", ".join(f"{value:.2f}" for value in row["linux"])))
    return _table(lines)


def _on_both(record: str, columns: dict[str, tuple[str, str]]) -> str:
    """Means over the seeds with minimum and maximum; `columns` has each metric's title and format."""
    found = json.loads((MEASURED / f"{record}.json").read_text(encoding="utf-8"))
    heads = (f"{title}: {side}" for title, _ in columns.values() for side in ("simulator", "Linux"))
    lines = [("", *heads), ("---",) * (1 + 2 * len(columns))]
    for name, row in found.items():
        cells = (_spread(row[side][key], columns[key][1]) for key in columns for side in ("simulator", "linux"))
        lines.append((name, *cells))
    return _table(lines)


def _spread(values: list[float], form: str) -> str:
    mean = f"{math.fsum(values) / len(values):{form}}"
    ends = [f"{end:{form}}" for end in (min(values), max(values))]
    return mean if len(values) < 2 or ends[0] == ends[1] else f"{mean} ({ends[0]} to {ends[1]})"


def zone() -> str:
    """Loss in the cases in which BBR's first version loses too much, and rate relative to TCP's."""
    found = _trial("bbr-zone")
    names = ("newreno", "cubic", "bbr", "bbr3")
    heads = (f"`{name}`: {what}" for name in names for what in ("loss (%)", "times TCP"))
    lines = [("flows, buffer (BDP)", *heads), ("---",) * 9]
    for count in (2, 5):
        for buffer in ("0.25", "0.5", "1", "1.5", "2", "3"):
            cells = []
            for name in names:
                here = f"{name}, {count}, {buffer}"
                cells += [f"{found[f'loss, {here}']:.3f}", f"{found[f'times TCP, {here}']:.1f}"]
            lines.append((f"{count}, {buffer}", *cells))
    return _table(lines)


def _table(lines: Iterable[Iterable[str]]) -> str:
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _validation(known: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Table of validation and speed on docs/explanation/how-true.md."""
    yield "what", "result", "command"
    yield ("---",) * 3
    papers, cases = known["reproduction"], known["agreement"]
    unexplained = cases["cases"] - cases["inside"] - cases["explained"]
    yield (
        f"Tables and figures of four papers at full length, {papers['items']} results",
        (
            f"{papers['passing']} of {papers['checks']} checks pass; {papers['checks'] - papers['passing']} in "
            f"{papers['missing_items']} results are known discrepancies, each with its cause"
        ),
        "`fullpipe reproduce`, [papers](papers/hyun-jang.md)",
    )
    yield (
        f"Agreement with ns-2: {cases['cases']} cases",
        (
            f"{cases['inside']} within 1.5 points of utilization, 5 % of cwnd, and a factor of 1.3 of the loss rate; "
            f"{cases['explained']} outside with a known cause; {unexplained or 'none'} unexplained"
        ),
        "`make agreement`, [agreement with ns-2](../../reports/agreement.md)",
    )
    origin = "`make speed`, [speed](../../reports/performance.md)"
    for case in _speed()["cases"][:3]:
        own = case["packets_per_second"]
        faster = "".join(
            f"; {_two_digits(own / rate)} times {_in_table(name)}" for name, rate in case["others"].items()
        )
        figure = f"{own / 1e6:.1f} million{faster}"
        yield f"Packets per second: {case['title']}", figure, origin
        origin = "`make speed`"
    yield (
        "Repeated run of a scenario and seed",
        "identical bytes on one thread and on two, except `wall_s`, the time that the run took",
        "`make test`",
    )


def _two_digits(value: float) -> str:
    return f"{float(f'{value:.2g}'):,.0f}"


def take(out: Path = ROOT / "out") -> None:
    """Updates ``validation.json`` from the files of the last full runs; parts without a run stay."""
    record = MEASURED / "validation.json"
    known = json.loads(record.read_text(encoding="utf-8"))
    found = {name: out / file for name, file in RUNS.items() if (out / file).is_file()}
    for name, file in found.items():
        known[name] = TAKEN[name](json.loads(file.read_text(encoding="utf-8")))
        records.note("validation.json", [name], MEASURED)
        print(f"{name}: from {file}")
    record.write_text(json.dumps(known, indent=2) + "\n", encoding="utf-8")
    take_speed(out / "speed")
    if "reproduction" in found:
        take_papers(json.loads(found["reproduction"].read_text(encoding="utf-8")))


def take_speed(out: Path, to: Path = MEASURED / "speed.json") -> None:
    """Updates ``speed.json`` from the last full runs of the benchmarks; parts without a run stay."""
    known = json.loads(to.read_text(encoding="utf-8")) if to.is_file() else {}
    if (out / "speed.json").is_file():
        run = json.loads((out / "speed.json").read_text(encoding="utf-8"))
        known |= {name: run[name] for name in ("machine", "versions", "rounds")}
        known["cases"] = [_taken_case(case) for case in run["cases"]]
        records.note("speed.json", ["speed"], to.parent)
    for name in SPEED_OF_TABLES.values():
        if (out / f"{name}.json").is_file():
            known[name] = json.loads((out / f"{name}.json").read_text(encoding="utf-8"))
            records.note("speed.json", [name], to.parent)
    to.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")


def _taken_case(case: dict[str, Any]) -> dict[str, Any]:
    """Fastest runs of a case of ``make speed``, and least memory without series and with series."""
    runs = case["runs"]
    best = {_short(name): max(run["data_packets"] / run["wall_s"] for run in runs[name]) for name in runs}
    plain, sampled = (name for name in runs if name.startswith("fullpipe"))
    return {
        "title": case["title"],
        "packets_per_second": best["fullpipe"],
        "series_cost": case["series_cost"],
        "peak_mb": [min(run["peak_bytes"] for run in runs[name]) / 1e6 for name in (plain, sampled)],
        "others": {name: rate for name, rate in best.items() if name.startswith("ns-")},
    }


def take_papers(run: dict[str, Any], to: Path = MEASURED / "papers") -> None:
    """Updates the values of each item with a run at full length, means with their intervals; other items stay."""
    figures = {item["id"]: _taken_figures(item) for item in run["items"] if not item["quick"]}
    for name in fullpipe.papers.PAPERS:
        record = to / f"{name}.json"
        known = json.loads(record.read_text(encoding="utf-8")) if record.is_file() else {}
        kept = {item.id: found for item in select(name) if (found := figures.get(item.id, known.get(item.id)))}
        if kept:
            record.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
            records.note(f"papers/{name}.json", kept.keys() & figures.keys(), to.parent)


def _taken_figures(item: dict[str, Any]) -> dict[str, Any]:
    """An item's figures; a mean over several runs as ``mean``, ``ci95``, and ``runs``."""
    found: dict[str, Any] = dict(item["figures"])
    for name, interval in item.get("intervals", {}).items():
        found[name] = {"mean": found[name], **interval}
    return found


def _taken_reproduction(run: dict[str, Any]) -> dict[str, int]:
    items = [item for item in run["items"] if item["id"].partition("/")[0] in set(PAPERS) - OURS]
    checks = [check["pass"] for item in items for check in item["checks"]]
    missing = [item for item in items if not all(check["pass"] for check in item["checks"])]
    return {"items": len(items), "missing_items": len(missing), "checks": len(checks), "passing": sum(checks)}


def _short(name: str) -> str:
    """Short name of a simulator, for example ``ns-2 (its fastest)``."""
    simulator, _, how = name.partition(" (")[0].partition(", ")
    return f"{simulator} ({how})" if how else simulator


def _in_table(name: str) -> str:
    """Name of a simulator in a table; records have an older one."""
    return name.replace("the same figures", "equal metrics")


RUNS = {"agreement": "agreement/agreement.json", "reproduction": "reproduction.json"}
TAKEN: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "agreement": dict,
    "reproduction": _taken_reproduction,
}


def _range(low: float, high: float, form: str) -> str:
    return f"{low:{form}}" if low == high else f"{low:{form}} to {high:{form}}"


def rewrite(page: Path, make: Callable[[str], str] = output) -> bool:
    """Updates the generated parts of a page; true if one has changed."""
    before = page.read_text(encoding="utf-8")
    after = MARK.sub(lambda match: f"{match[1]}{make(match[3])}{match[5]}", before)
    after = TABLE.sub(lambda match: f"{match[1]}{measured(match[2])}{match[4]}", after)
    after = FIGURE.sub(lambda match: f"{match[1]}{figure(match[2], match[3], match[4])}{match[6]}", after)
    after = BUILDS.sub(lambda match: f"{match[1]}{builds(after)}{match[3]}", after)
    page.write_text(after, encoding="utf-8")
    return after != before


if __name__ == "__main__":
    if sys.argv[1:] == ["--take"]:
        take()
    wanted = (
        ["README.md", "how-true.md", "library.md", "performance.md", *(f"{name}.md" for name in PAPERS)]
        if sys.argv[1:] == ["--take"]
        else sys.argv[1:]
    )
    if missing := sorted(set(wanted) - {page.name for page in pages()}):
        sys.exit(
            f"docs/tables.py: no page has the name {', '.join(missing)} (a name without its folder, e.g. advise.md)"
        )
    for each in [page for page in pages() if page.name in wanted or not wanted]:
        for one in shown(each):
            print(f"{each.relative_to(ROOT)}: {one.command}", flush=True)
        if rewrite(each):
            print(f"{each.relative_to(ROOT)} has changed", flush=True)
