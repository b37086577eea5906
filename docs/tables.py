"""Writes the program's outputs that README.md and docs/ show, from runs made now: ``make docs-tables``, or
``docs/tables.py PAGE.md`` for one page.

Above each stands what it is the output of, a line of shell, in a comment that no reader sees::

    <!-- output of: fullpipe compare scenarios/under-buffered.toml --algorithms reno,vegas -->

What takes more than some seconds is an ``output (long) of``: the tests make the others anew and compare.

What the tests on Linux have measured (``make records-linux``) stands in ``reports``, and is shown between::

    <!-- table of: linux-queues -->
    <!-- end of table -->

So does README.md's table of figures. ``docs/tables.py --take`` writes its records, ``bench.json`` and ``speed.json``,
anew from the last full runs: ``make bench``, ``make agreement``, and ``fullpipe reproduce --json >
out/reproduction.json``.

``paper-NAME``, or ``paper-NAME/ITEM``, shows the checks of a paper's items, and what their data file says of them, with
the figures of ``reports/papers``; the same command writes those anew of every item that ``out/reproduction.json``
has at full length. ``settings-NAME/ITEM`` shows an item's figures by setting.

``quic-FAMILY`` shows ``quic.json`` (``make records-quic``).

``sizes``, ``sizes-many``, ``phases``, ``prague`` and ``vegas`` are drawn of what ``docs/trials.py`` found. A single
figure in a sentence is filled in between two comments, neither of which begins a line: of a trial, or of an item of a
paper::

    of 50 Mbit/s it has <!-- measured: modern/copa: share under jitter, 1 ms | .0% -->22 %<!-- -->

Between ``<!-- records of this page -->`` and ``<!-- end of records -->``, at the end of a page, stands which build of
fullpipe made the records that the page shows (``benchmarks/records.py``).

``cards`` and ``cards-worse`` are drawn of the cards in ``reports/cards`` (``make records-cards``), ``keys-LIST`` of all
that the engine knows of a scenario's keys.
"""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from statistics import linear_regression
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))  # for benchmarks

from benchmarks import records

import fullpipe.papers
from fullpipe import _core
from fullpipe.cli.reproduce import row as row_of_check
from fullpipe.papers import select
from fullpipe.reproduce.check import judge
from fullpipe.reproduce.item import expected, notes
from fullpipe.reproduce.prose import filled

__all__ = ["Shown", "builds", "figure", "measured", "output", "pages", "rewrite", "shown", "take", "take_papers"]

ROOT = Path(__file__).parent.parent
MEASURED = ROOT / "reports"
PAPERS = sorted(page.stem for page in (ROOT / "docs/papers").glob("*.md"))
OURS = {"beyond", "modern"}
"""Comparisons of ours and no papers: README.md's row on the papers leaves them out."""

UNITS = {"%", "ms"}
"""With which a figure's name may end."""

MARK = re.compile(r"(<!-- output (\(long\) )?of: (.+?) -->\n```\n)(.*?)(^```$)", re.DOTALL | re.MULTILINE)

TABLE = re.compile(r"(<!-- table of: (\S+) -->\n)(.*?)(^<!-- end of table -->$)", re.DOTALL | re.MULTILINE)
FIGURE = re.compile(r"(<!-- measured: ([^:]+?): (.+?)(?: \| (\S+))? -->)(.*?)(<!-- -->)")
BUILDS = re.compile(r"(<!-- records of this page -->\n)(.*?)(^<!-- end of records -->$)", re.DOTALL | re.MULTILINE)
TRIALS_OF_TABLES = {
    "sizes": "sizing",
    "sizes-many": "sizing",
    **{name: name for name in ("phases", "prague", "vegas", "bbr-zone")},
}
SPEED_OF_TABLES = {"speed-modern": "modern", "speed-windows": "windows", "speed-instructions": "instructions"}
HEADS = (
    "",
    *(f"{what}: {side}" for what in ("utilization", "mean queue", "signals") for side in ("simulator", "Linux")),
)
FORMS = (".4f", ".2f", "d")

STANDARDS = ("newreno", "cubic")
WORDS = {"better": "better", "no worse": "=", "unclear": "?", "worse": "**worse**"}


class Shown:
    """An output that a page shows: the ``command``, whether it is ``long``, and the ``text``."""

    def __init__(self, match: re.Match[str]) -> None:
        self.long = match[2] is not None
        self.command = match[3]
        self.text = match[4]


def pages() -> list[Path]:
    """The pages that may show outputs."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def shown(page: Path) -> Iterator[Shown]:
    """The outputs that a page shows."""
    return map(Shown, MARK.finditer(page.read_text(encoding="utf-8")))


def output(command: str) -> str:
    """What a command prints, in an empty directory beside the scenarios; without blanks at the ends of lines."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "scenarios").symlink_to(ROOT / "scenarios")
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            cwd=folder,
            env={**os.environ, "PATH": path},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    return "\n".join(line.rstrip() for line in done.stdout.strip("\n").splitlines()).strip("\n") + "\n"


def measured(name: str) -> str:
    """A table that is no output: of the cards, of a scenario's keys, of a paper, or of ``reports``."""
    if name.startswith("keys-"):
        return keys(name.removeprefix("keys-"))
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
        "linux-shallow": shallow,
        "prague": prague,
        "vegas": vegas,
        "speed": speed,
        "speed-machine": speed_machine,
        "speed-beside": speed_beside,
        "speed-modern": speed_modern,
        "speed-windows": speed_windows,
        "speed-instructions": speed_instructions,
    }
    return made[name]() if name in made else beside_linux(name)


def shown_records(text: str) -> Iterator[tuple[str, str]]:
    """Records, and their parts, whose figures the tables and sentences of a page show."""
    for match in FIGURE.finditer(text):
        paper, slash, _ = match[2].partition("/")
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
    elif name == "bench":
        yield from [("bench.json", "agreement"), ("bench.json", "reproduction"), ("speed.json", "speed")]
    elif kind == "quic":
        yield "quic.json", rest
    elif kind == "linux":
        yield f"{name}.json", records.WHOLE


def builds(text: str) -> str:
    """Builds that made the records of a page, as a list."""
    lines = [f"- {line}." for line in records.sources(shown_records(text), MEASURED)]
    return "\nThe figures of this page are from these records:\n\n" + "\n".join(lines) + "\n"


def keys(name: str) -> str:
    """One list of a scenario's keys, a row each; a column that would be empty is left out."""
    heads = ("key", "type", "default", "allowed", "what")
    rows = []
    for key in _core.scenario_keys()[name]:
        default = f"`{key['default']}`" if key["default"] is not None else key["otherwise"] or "required"
        source = f" Default: {key['source']}." if key["source"] else ""
        rows.append((f"`{key['name']}`", key["kind"], default, key["allowed"], key["doc"] + source))
    kept = [i for i in range(len(heads)) if any(row[i] for row in rows)]
    return _table([[line[i] for i in kept] for line in (heads, ("---",) * len(heads), *rows)])


def paper(name: str) -> str:
    """Of a paper's items, or of one, a heading, the checks, and in sentences what came of it; of full runs."""
    record = json.loads((MEASURED / f"papers/{name.partition('/')[0]}.json").read_text(encoding="utf-8"))
    return "\n".join(_item(item.id, item.title, record[item.id]) for item in select(name))


def settings(item_id: str) -> str:
    """An item's figures called ``QUANTITY, ALGORITHM, SETTING``: a row a setting, the algorithms in one cell."""
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
    """QUIC libraries' controllers of a kind beside ours and Linux's; or what each gets beside our CUBIC."""
    rows = json.loads((MEASURED / "quic.json").read_text(encoding="utf-8"))[family]
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    heads = [name if name == "Linux" else f"`{name}`" for name in names]
    what = "part of the goodput" if family == "shares" else "utilization, queue, drops"
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
    misses = dict.fromkeys(f"A miss: {check.miss}" for check in checks if check.status == "documented miss")
    sentences = [filled(text, known) for text in (said["reading"], *misses, *said["deviations"])]
    table = _table((heads, ("---",) * len(heads), *(row_of_check(check, intervals) for check in checks)))
    return f"### {item_id}\n\n{title}.\n\n{table}" + "".join(f"\n{text}\n" for text in sentences if text)


def figure(source: str, name: str, form: str | None) -> str:
    """A figure as a sentence has it: of a paper's item (``PAPER/ITEM``), or of a trial."""
    paper, slash, _ = source.partition("/")
    record = MEASURED / (f"papers/{paper}.json" if slash else "trials.json")
    value = _values(json.loads(record.read_text(encoding="utf-8"))[source])[name]
    return f"{value:{form or '.3g'}}".replace("%", " %")


def sizes() -> str:
    """The buffers that several algorithms and numbers of flows need, with the rule of thumb."""
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
    """The same from a hundred flows on, and the power of the number of flows with which it falls."""
    found = _trial("sizing")
    cells = [name.split(", ")[1:] for name in found if name.startswith("many")]
    counts = list(dict.fromkeys(flows for _, flows, _ in cells))
    lines = [("algorithm", "target", *counts, "falls as n to the power of"), ("---",) * (len(counts) + 3)]
    for algorithm, target in sorted({(algorithm, target) for algorithm, _, target in cells}):
        needed = [found[f"many, {algorithm}, {flows}, {target}"] for flows in counts]
        logarithms = ([math.log(float(flows)) for flows in counts], [math.log(size) for size in needed])
        power = f"{linear_regression(*logarithms).slope:.2f}"
        lines.append((algorithm, f"{100 * float(target):g} %", *(f"{size:,.0f}" for size in needed), power))
    lines.append(("BDP/√n", "", *(f"{found[f'BDP, {flows}']:,.0f}" for flows in counts), "-0.5"))
    return _table(lines)


def phases() -> str:
    """Utilization and fairness with round trips that differ and hosts that take time."""
    found = _trial("phases")
    lines = [("base RTTs", "utilization, no noise", "with noise", "Jain, no noise", "with noise"), ("---",) * 5]
    for spread in (0, 2, 5, 10):
        pairs = [(what, noise) for what in ("utilization", "Jain") for noise in ("none", "noise")]
        forms = {"utilization": ".3f", "Jain": ".2f"}
        named = f"{spread} % to either side" if spread else "50 ms"
        lines.append((named, *(f"{found[f'{what}, {spread} %, {noise}']:{forms[what]}}" for what, noise in pairs)))
    return _table(lines)


def prague() -> str:
    """Prague's rate over CUBIC's beside the equation's."""
    found = _trial("prague")
    lines = [("base RTT, ms", "without $R^*$", "equation", "with $R^*$", "equation"), ("---",) * 5]
    for rtt in (5, 10, 25, 100):
        columns = [f"{kind}{scheme}, {rtt} ms" for scheme in ("without", "with") for kind in ("", "equation, ")]
        lines.append((str(rtt), *(f"{found[column]:.2f}" for column in columns)))
    return _table(lines)


def vegas() -> str:
    """Mean windows beside those of ns-2 2.35's ``Agent/TCP/Vegas``."""
    beside = json.loads((MEASURED / "ns2/vegas.json").read_text(encoding="utf-8"))
    lines = [("rate, RTT, buffer, flows", "ours", "ns-2"), ("---",) * 3]
    for setting, own in _trial("vegas").items():
        lines.append((setting, f"{own:.1f}", f"{beside[setting]:.1f}"))
    return _table(lines)


def _trial(name: str) -> Any:
    return json.loads((MEASURED / "trials.json").read_text(encoding="utf-8"))[name]


def speed() -> str:
    """What fullpipe does in each case of ``make bench``."""
    lines = [("case", "packets/s", "ns a packet", "series cost", "peak memory, MB", "with series"), ("---",) * 6]
    for case in _speed()["cases"]:
        rate = case["packets_per_second"]
        costs = (f"{1e9 / rate:.1f}", f"{case['series_cost']:.1%}", *(f"{mb:,.0f}" for mb in case["peak_mb"]))
        lines.append((case["title"], f"{rate / 1e6:.1f} million", *costs))
    return _table(lines)


def speed_machine() -> str:
    """Where and with what that was."""
    known = _speed()
    others = ", ".join(f"{name} {version}" for name, version in known["versions"].items())
    return f"Machine: {known['machine']}; {others}; {known['rounds']} rounds.\n"


def speed_beside() -> str:
    """How many times slower others are, in the same run."""
    cases = [case for case in _speed()["cases"] if case["others"]]
    names = list(cases[0]["others"])
    lines = [("case", *names), ("---",) * (len(names) + 1)]
    for case in cases:
        others = (f"{_two_digits(case['packets_per_second'] / rate)} ({rate:,.0f})" for rate in case["others"].values())
        lines.append((case["title"], *others))
    return _table(lines)


def speed_modern() -> str:
    """Today's queues and senders beside the plain case."""
    lines = [("variant", "beside", "ratio", "wanted", "times ns-3"), ("---",) * 5]
    for row in _speed()["modern"]:
        times = f"{row['times_ns3']:,.0f}" if row["times_ns3"] else ""
        lines.append((row["variant"], f"`{row['beside']}`", f"{row['ratio']:.2f}", str(row["wanted"]), times))
    return _table(lines)


def speed_instructions() -> str:
    """Instructions a packet of the beginning of each case."""
    lines = [("scenario", "seconds of it", "data packets", "instructions a packet"), ("---",) * 4]
    for row in _speed()["instructions"]:
        each = f"{row['instructions'] / row['packets']:,.0f}"
        lines.append((f"`{row['case']}.toml`", str(row["seconds"]), f"{row['packets']:,}", each))
    return _table(lines)


def speed_windows() -> str:
    """What a packet costs by how many are under way."""
    rows = _speed()["windows"]
    lines = [("segments in a BDP", "data packets", "dropped", "ns a packet", "of the first"), ("---",) * 5]
    for row in rows:
        counts = (f"{row[name]:,}" for name in ("segments", "data_packets", "dropped"))
        cost = row["ns_a_packet"]
        lines.append((*counts, f"{cost:.0f}", f"{cost / rows[0]['ns_a_packet']:.2f}"))
    return _table(lines)


def _speed() -> Any:
    return json.loads((MEASURED / "speed.json").read_text(encoding="utf-8"))


def words_of_cards() -> str:
    """A row per algorithm, a column per criterion that a card answers, a word in each cell; and their titles."""
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
    more = f", up to {most} where a word was unclear"
    return f"{_table(lines)}\nAll are of {' and '.join(sorted(made))}{more}. {'; '.join(titles)}.\n"


def worse_of_cards() -> str:
    """Where each algorithm is worse."""
    lines = [("algorithm", "worse at", "the worst of it"), ("---",) * 3]
    for name, card in cards().items():
        worse = [one for one in card["criteria"] if one["verdict"] == "worse"]
        lines += [(f"`{name}`" if i == 0 else "", one["id"], one["where"]) for i, one in enumerate(worse)] or [
            (f"`{name}`", "nothing", "")
        ]
    return _table(lines)


def cards() -> dict[str, Any]:
    """The report cards by algorithm, the standards first."""
    paths = sorted((MEASURED / "cards").glob("*.json"), key=lambda path: (path.stem not in STANDARDS, path.stem))
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in paths}


def beside_linux(name: str) -> str:
    """The table of ``reports/NAME.json``: of each figure the range simulated and what Linux has."""
    rows = json.loads((MEASURED / f"{name}.json").read_text(encoding="utf-8"))
    if name == "bench":
        return _table(_bench(rows))
    lines = [HEADS, ("---",) * len(HEADS)]
    for case, row in rows.items():
        pairs = zip(row["low"], row["high"], row["linux"], FORMS, strict=True)
        cells = (cell for low, high, there, form in pairs for cell in (_range(low, high, form), f"{there:{form}}"))
        lines.append((case, *cells))
    return _table(lines)


def duels() -> str:
    """Two flows on both engines, a row for each pair and buffer."""
    columns = {
        "share": ("share of the first", ".2f"),
        "rtt_ms": ("its mean RTT, ms", ".1f"),
        "utilization": ("utilization", ".3f"),
        "drops": ("drops", ".0f"),
    }
    return _on_both("linux-duels", columns)


def bloat() -> str:
    """Two flows of one algorithm on both engines, a row for each buffer."""
    return _on_both(
        "linux-bloat", {"rtt_ms": ("mean RTT, ms", ".1f"), "utilization_percent": ("utilization, %", ".2f")}
    )


def harm() -> str:
    """Harm to each victim on both engines, a row for each pair and buffer."""
    columns = {"goodput": ("harm to goodput", ".2f"), "p95_rtt": ("to the 95th percentile of RTTs", ".2f")}
    return _on_both("linux-duel-column", columns)


def shallow() -> str:
    """Ten flows of each standard over a fiftieth of a BDP, on both engines."""
    columns = {"loss_percent": ("lost, %", ".2f"), "utilization_percent": ("utilization, %", ".1f")}
    return _on_both("linux-shallow", columns)


def drops_of_bbr() -> str:
    """What one flow drops in each case; where the case is the kernel's own there are no simulated ones."""
    found = json.loads((MEASURED / "linux-bbr.json").read_text(encoding="utf-8"))
    lines = [("drops", "simulator", "Linux"), ("---",) * 3]
    for case, row in found.items():
        lines.append((case, *(_spread(row[side], ".0f") if row[side] else "" for side in ("simulator", "linux"))))
    return _table(lines)


def _on_both(record: str, columns: dict[str, tuple[str, str]]) -> str:
    """Means over the seeds, and in brackets the least and the greatest; of each figure its title and its form."""
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
    """What is lost where BBR's first version lost too much, and over TCP's rate."""
    found = _trial("bbr-zone")
    names = ("newreno", "cubic", "bbr", "bbr3")
    heads = (f"`{name}`: {what}" for name in names for what in ("lost, %", "times TCP"))
    lines = [("flows, buffer in BDP", *heads), ("---",) * 9]
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


def _bench(known: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """README.md's table of figures."""
    yield "what", "figure", "where it comes from"
    yield ("---",) * 3
    papers, cases = known["reproduction"], known["agreement"]
    unexplained = cases["cases"] - cases["inside"] - cases["explained"]
    yield (
        f"All tables and figures of the four papers at full length, {papers['items']} items",
        (
            f"{papers['passing']} of {papers['checks']} checks pass; {papers['checks'] - papers['passing']} miss, in "
            f"{papers['missing_items']} items, each with its cause named"
        ),
        "`fullpipe reproduce --out out/report`, [docs/papers](docs/papers); shortened in the tests",
    )
    yield (
        f"Agreement with ns-2: {cases['cases']} cases",
        (
            f"{cases['inside']} inside 1.5 points of utilization, 5 % of cwnd and 1.3 times the loss; "
            f"{cases['explained']} outside with a cause named; {unexplained or 'none'} open"
        ),
        "`make agreement`, [docs/agreement.md](docs/agreement.md); a fast part in the tests",
    )
    origin = "`make bench`, [docs/performance.md](docs/performance.md)"
    for case in _speed()["cases"][:3]:
        own = case["packets_per_second"]
        slower = "".join(f"; {_two_digits(own / rate)} times {name}" for name, rate in case["others"].items())
        figure = f"{own / 1e6:.1f} million{slower}"
        yield f"Packets per second: {case['title']}", figure, origin
        origin = "the same"
    yield (
        "Same scenario and seed",
        "same bytes, twice and on two threads; but for `wall_s`, how long it took",
        "in the tests",
    )


def _two_digits(value: float) -> str:
    return f"{float(f'{value:.2g}'):,.0f}"


def take(out: Path = ROOT / "out") -> None:
    """Writes ``bench.json`` anew from what the last full runs left; what has not run keeps its figures."""
    record = MEASURED / "bench.json"
    known = json.loads(record.read_text(encoding="utf-8"))
    found = {name: out / file for name, file in RUNS.items() if (out / file).is_file()}
    for name, file in found.items():
        known[name] = TAKEN[name](json.loads(file.read_text(encoding="utf-8")))
        records.note("bench.json", [name], MEASURED)
        print(f"{name}: from {file}")
    record.write_text(json.dumps(known, indent=2) + "\n", encoding="utf-8")
    take_speed(out / "speed")
    if "reproduction" in found:
        take_papers(json.loads(found["reproduction"].read_text(encoding="utf-8")))


def take_speed(out: Path, to: Path = MEASURED / "speed.json") -> None:
    """Writes what the last whole runs of the benchmarks found; what has not run keeps its figures."""
    known = json.loads(to.read_text(encoding="utf-8")) if to.is_file() else {}
    if (out / "speed.json").is_file():
        run = json.loads((out / "speed.json").read_text(encoding="utf-8"))
        known |= {name: run[name] for name in ("machine", "versions", "rounds")}
        known["cases"] = [_taken_case(case) for case in run["cases"]]
        records.note("speed.json", ["speed"], to.parent)
    for name in ("modern", "windows", "instructions"):
        if (out / f"{name}.json").is_file():
            known[name] = json.loads((out / f"{name}.json").read_text(encoding="utf-8"))
            records.note("speed.json", [name], to.parent)
    to.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")


def _taken_case(case: dict[str, Any]) -> dict[str, Any]:
    """The best runs of a case of ``make bench``; the least memory, without series and with them."""
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
    """Writes the figures of every item at full length, means with their intervals; other items keep theirs."""
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
    """ns-2 (its fastest), ns-3."""
    simulator, _, how = name.partition(" (")[0].partition(", ")
    return f"{simulator} ({how})" if how else simulator


RUNS = {"agreement": "agreement/agreement.json", "reproduction": "reproduction.json"}
TAKEN: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "agreement": dict,
    "reproduction": _taken_reproduction,
}


def _range(low: float, high: float, form: str) -> str:
    return f"{low:{form}}" if low == high else f"{low:{form}} to {high:{form}}"


def rewrite(page: Path, make: Callable[[str], str] = output) -> bool:
    """Makes a page's outputs anew; whether one differs from what was there."""
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
    wanted = ["README.md", *(f"{name}.md" for name in PAPERS)] if sys.argv[1:] == ["--take"] else sys.argv[1:]
    for each in [page for page in pages() if page.name in wanted or not wanted]:
        for one in shown(each):
            print(f"{each.relative_to(ROOT)}: {one.command}", flush=True)
        if rewrite(each):
            print(f"{each.relative_to(ROOT)} has changed", flush=True)
