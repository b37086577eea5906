"""Results of an experiment: a row per run in long form, summaries, paired comparisons, files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, ClassVar, Self

from fullpipe._util.display import Outcome, Shown
from fullpipe._util.files import readable, staged
from fullpipe._util.inputs import read_json, read_table
from fullpipe._util.text import listed, quoted, unknown
from fullpipe.engine.tables import described
from fullpipe.errors import InputError
from fullpipe.metrics import column, metric
from fullpipe.runs.aggregate import Estimate, estimate, paired, verdict
from fullpipe.runs.design import Label
from fullpipe.runs.scopes import by_group

if TYPE_CHECKING:
    import os
    from pathlib import Path

    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from matplotlib.figure import Figure

    from fullpipe.plots.draw import Style
    from fullpipe.plots.spec import Plot

__all__ = ["Details", "Results", "table_of"]

NOT_METRICS = {"run", "repeat", "seed", "engine", "error", "algorithm_source"}
"""Columns of runs that are neither labels nor metrics."""

MARGIN = 0.05
"""Relative difference that is still no worse, by default."""

OF_APPLICATIONS = ("p99_frame_delay_s", "late_fraction", "request_completion_s", "mean_bitrate_bps", "rebuffer_ratio")

SHOWN = (
    "utilization",
    "loss_rate",
    "marked_packets",
    "mean_queue_packets",
    "p99_queueing_delay_s",
    "goodput_bps",
    "mean_rtt_s",
    "retransmits",
    "timeouts",
    "jain_index",
    *OF_APPLICATIONS,
)
"""Metrics of tables, unless the caller names others."""

MIXED = ("p99_queueing_delay_s", *OF_APPLICATIONS)
"""Metrics that a table of all flows omits where one of groups follows: FQ-CoDel delays each group differently."""

MOST_ROWS = 60
"""Rows of a table that is printed."""

MOST_PENDING = 20_000
"""Rows of flows or links that are collected before they become columns of numbers."""

Cell = Label
Row = Mapping[str, Cell]


class Results(Outcome):
    """Runs of an experiment: labeled scenarios times seeds.

    Attributes:
        labels: Columns that distinguish the scenarios.
        exact: Whether a seed changes no metric, so that one run has no uncertainty.
    """

    KIND: ClassVar[str] = "results"
    """Name of the JSON file of a saved experiment."""

    def __init__(
        self,
        labels: Sequence[str],
        runs: pa.Table,
        flows: pa.Table | None = None,
        links: pa.Table | None = None,
        *,
        exact: bool = False,
    ) -> None:
        self.labels = tuple(labels)
        self.exact = exact
        self._runs = described(runs)
        self._flows = None if flows is None else described(flows)
        self._links = None if links is None else described(links)

    @property
    def runs(self) -> pa.Table:
        """A row per run: the labels, ``seed``, and the metrics that `Result.figures` lists."""
        return self._runs

    @property
    def flows(self) -> pa.Table:
        """A row per run and flow: the labels, ``seed``, and the columns of `Result.flows`.

        Raises:
            InputError: The experiment has too many flows to keep.
        """
        return self._detail(self._flows, "flows")

    @property
    def links(self) -> pa.Table:
        """A row per run and link: the labels, ``seed``, and the columns of `Result.links`.

        Raises:
            InputError: The experiment has too many flows to keep rows of flows and links.
        """
        return self._detail(self._links, "links")

    @property
    def metrics(self) -> list[str]:
        """Columns of `runs` that are metrics."""
        known = {*self.labels, *NOT_METRICS}
        return [field.name for field in self.runs.schema if field.name not in known and _is_number(field.type)]

    @property
    def failed(self) -> int:
        """Runs that failed."""
        runs = self.runs
        return len(runs) - runs["error"].null_count if "error" in runs.column_names else 0

    def summary(self, by: str | Sequence[str] | None = None) -> pa.Table:
        """A row per combination of labels: the labels, ``runs``, ``failed``, and ``X_mean``, ``X_sd``, ``X_ci95`` of
        each metric X. The last is half of the width of the mean's 95 % confidence interval (Student's t).

        Args:
            by: Labels that make a row; all others are averaged over. By default all labels.

        Raises:
            InputError: A label is unknown.
        """
        import pyarrow as pa

        names = self.labels if by is None else (by,) if isinstance(by, str) else tuple(by)
        for name in names:
            if name not in self.labels:
                raise InputError(unknown("label", name, self.labels))
        runs = self.runs
        places = self._places(names)
        failed = self._failed_rows()
        columns: dict[str, pa.Array[pa.Scalar[pa.DataType]] | pa.ChunkedArray[pa.Scalar[pa.DataType]]] = {}
        first = pa.array([rows[0] for rows in places.values()], pa.int64())
        for name in names:
            columns[name] = runs[name].take(first)
        bad = [sum(row in failed for row in rows) for rows in places.values()]
        whole = [len(rows) - less for rows, less in zip(places.values(), bad, strict=True)]
        columns["runs"] = pa.array(whole, pa.int64())
        columns["failed"] = pa.array(bad, pa.int64())
        for name in self.metrics:
            values = runs[name].to_pylist()
            found = [self._estimate([values[row] for row in rows]) for rows in places.values()]
            for part in ("mean", "sd", "ci95"):
                of_part = [None if each is None else getattr(each, part) for each in found]
                columns[f"{name}_{part}"] = pa.array(of_part, pa.float64())
        return pa.Table.from_arrays(list(columns.values()), names=list(columns))

    def compare(
        self,
        baseline: Label | Mapping[str, Label],
        *,
        metrics: Sequence[str] | None = None,
        margin: float = MARGIN,
    ) -> pa.Table:
        """Differences from a baseline, paired by seed and by all other labels. Intervals are not corrected for the
        number of comparisons.

        Columns: the labels, ``metric``, ``pairs``, ``baseline`` and ``mean`` (means over the pairs), ``difference``,
        ``ci95`` (half of the width of its 95 % confidence interval, Student's t; null for one pair), ``verdict``:
        "better", "no worse", "worse", "inconclusive", or null where a metric has no better direction.

        Args:
            baseline: Value of a label, for example "newreno", or a label with its value, ``{"algorithm": "newreno"}``.
            metrics: Metrics to compare; by default all.
            margin: Fraction of the baseline's mean that is still no worse.

        Raises:
            InputError: No label has that value, or a metric is unknown.
        """
        import pyarrow as pa

        name, value = self._find_baseline(baseline)
        others = [label for label in self.labels if label not in self._together(name)]
        runs, failed = self.runs, self._failed_rows()
        keys = list(zip(*(runs[each].to_pylist() for each in (*others, "seed")), strict=True))
        own = runs[name].to_pylist()
        base = {key: row for row, key in enumerate(keys) if own[row] == value and row not in failed}
        places = {
            point: [row for row in rows if row not in failed and keys[row] in base]
            for point, rows in self._places(self.labels).items()
            if own[rows[0]] != value
        }
        found: dict[str, list[Cell]] = {label: [] for label in (*self.labels, *COMPARED)}
        for metric_name in self._chosen(metrics):
            values = runs[metric_name].to_pylist()
            for point, rows in places.items():
                line = self._compared(metric_name, [(values[row], values[base[keys[row]]]) for row in rows], margin)
                for label, cell in (*zip(self.labels, point, strict=True), *zip(COMPARED, line, strict=True)):
                    found[label].append(cell)
        types: dict[str, pa.DataType] = {"metric": pa.string(), "verdict": pa.string(), "pairs": pa.int64()}
        types |= {name: pa.float64() for name in ("baseline", "mean", "difference", "ci95")}
        types |= {label: runs.schema.field(label).type for label in self.labels}
        return pa.table({label: array_of(cells, types[label]) for label, cells in found.items()})

    def plot(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        metric: str | None = None,
        x: str | None = None,
        style: Style = "screen",
    ) -> Figure:
        """Plots the experiment's own figure, or the mean of a metric with 95 % confidence intervals; with ``path``,
        writes the plot too.

        The own figure of a comparison is the series of the first seed. That of a duel is the goodput harm of each
        algorithm over the buffers, a panel per mix. That of a sizing is the buffers against the numbers of flows with
        the analytical sizing rules, on logarithmic axes. That of a card is the comparison that decides each criterion,
        in units of its margin. Others show the goodput.

        Args:
            path: File of the plot (.png, .svg, .pdf).
            metric: Column of `runs`; None for the own figure.
            x: Label on the horizontal axis, by default the last one; the others get a line each.
            style: "screen"; "paper" for one column of a paper, 3.4 in wide; "paper-wide" for both columns, 7 in wide.
                With "paper", panels side by side take both columns.

        Raises:
            InputError: The metric or the label is unknown, the runs sampled no series for a comparison's own figure, or
                the file can't be written.
        """
        from fullpipe.plots.draw import drawn

        return drawn(self._own_plot(x) if metric is None else self._metric_plot(metric, x), path, style)

    def _own_plot(self, x: str | None) -> Plot:
        return self._metric_plot("goodput_bps", x)

    def _metric_plot(self, metric: str, x: str | None) -> Plot:
        from fullpipe.plots.sweep import Across, sweep_plot

        across = self.labels[-1] if x is None else x
        if across not in self.labels:
            raise InputError(unknown("label", across, self.labels))
        (name,) = self._chosen([metric])
        lines = [label for label in self.labels if label not in self._together(across)]
        runs = self.runs
        places = runs[across].to_pylist()
        points = zip(places, runs[name].to_pylist(), self._keys(lines), strict=True)
        numeric = all(isinstance(place, int | float) and not isinstance(place, bool) for place in places)
        of_axis = Across(across, labels=None if numeric else tuple(dict.fromkeys(places)))
        return sweep_plot(of_axis, name, points)

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Writes ``KIND.json``, ``runs.parquet``, ``summary.parquet``, and, where they are kept, ``flows.parquet`` and
        ``links.parquet``. All files appear whole or not at all.

        Raises:
            InputError: The directory can't be made or written.
        """
        import pyarrow.parquet as pq

        with staged(directory) as stage:
            (stage / f"{self.KIND}.json").write_text(self.to_json() + "\n", encoding="utf-8")
            for name, table in self._files().items():
                pq.write_table(table, stage / f"{name}.parquet")
            self._save_more(stage)

    @classmethod
    def load(cls, directory: str | os.PathLike[str]) -> Self:
        """Results that `save` wrote into a directory.

        Raises:
            InputError: There are none, or a file can't be read.
        """
        with readable(directory) as place:
            kept = read_json(place / f"{cls.KIND}.json")
            runs, flows, links = _read(place)
            return cls(kept["labels"], runs, flows, links, exact=kept["exact"])

    def to_pandas(self) -> pd.DataFrame:
        """`runs` as a data frame of pandas.

        Raises:
            InputError: pandas is not installed.
        """
        try:
            return self.runs.to_pandas()
        except ImportError:
            raise InputError("to_pandas requires pandas: pip install pandas") from None

    def to_polars(self) -> pl.DataFrame:
        """`runs` as a data frame of Polars.

        Raises:
            InputError: Polars is not installed.
        """
        try:
            import polars as pl
        except ImportError:
            raise InputError("to_polars requires Polars: pip install polars") from None
        return pl.DataFrame(self.runs)

    def to_dict(self) -> dict[str, object]:
        """Labels and runs as plain values ready for JSON."""
        return {"labels": list(self.labels), "exact": self.exact, "runs": self.runs.to_pylist()}

    def shown(self, columns: Sequence[str] | None = None) -> list[Shown | str]:
        """Summary as the program prints it.

        Args:
            columns: Metrics to show, by default the usual ones.
        """
        return [*self._means(columns)]

    def by_group(self) -> Results | None:
        """Runs with a row per run and group of flows or source of cross traffic, and the further label ``group``, for
        example "call", "udp call". None for a single group without sources, and where sources have only a throughput.
        """
        labels = self._shown_labels()
        table = by_group(self.runs, labels)
        return None if table is None else Results((*labels, "group"), table, exact=self.exact)

    def shown_differences(
        self, baseline: Label | Mapping[str, Label], columns: Sequence[str] | None = None
    ) -> list[Shown]:
        """Tables of differences from a baseline: of all flows, and by group."""
        if columns is not None or (groups := self.by_group()) is None:
            return [self.shown_comparison(baseline, columns)]
        name, value = self._find_baseline(baseline)
        by_group = replace(groups.shown_comparison({name: value}, groups.metrics), title="Differences by group")
        return [self.shown_comparison(baseline, without=MIXED), by_group]

    def _means(self, columns: Sequence[str] | None) -> list[Shown]:
        """Tables of means: of all flows, and by group."""
        if columns is not None:
            return [self.shown_summary(columns)]
        if (groups := self.by_group()) is None:
            return [self._overall().shown_summary()]
        by_group = replace(groups.shown_summary(groups.metrics), title="By group")
        return [self._overall().shown_summary(without=MIXED), by_group]

    def _overall(self) -> Results:
        """Results of the table of all flows."""
        return self

    def shown_summary(self, columns: Sequence[str] | None = None, *, without: Sequence[str] = ()) -> Shown:
        """Table of means with 95 % confidence intervals, a row per combination of labels."""
        table = self.summary()
        names = self._known(columns, [name for name in self.metrics if any_of(table, f"{name}_mean")], without)
        seeds = max((int(count or 0) for count in table["runs"].to_pylist()), default=0)
        title = self._title(table, names, seeds)
        failed = [("failed", [str(count) for count in table["failed"].to_pylist()])] if self.failed else []
        interval = "one value" not in title.lower()
        cells = [
            column(name, table[f"{name}_mean"].to_pylist(), table[f"{name}_ci95"].to_pylist() if interval else None)
            for name in names
        ]
        return self._shown(title, table, [*cells, *failed])

    def shown_comparison(
        self,
        baseline: Label | Mapping[str, Label],
        columns: Sequence[str] | None = None,
        *,
        without: Sequence[str] = (),
    ) -> Shown:
        """Table of differences from a baseline, a row per combination of labels."""
        names = self._known(columns, self.metrics, without)
        parts = [self.compare(baseline, metrics=[name]) for name in names]
        cells = []
        for name, part in zip(names, parts, strict=True):
            heading, texts = column(name, part["difference"].to_pylist(), part["ci95"].to_pylist(), signed=True)
            cells.append(
                (heading, [_with_verdict(*each) for each in zip(texts, part["verdict"].to_pylist(), strict=True)])
            )
        pairs = [str(max(counts)) for counts in zip(*(part["pairs"].to_pylist() for part in parts), strict=True)]
        title = f"Difference from {self._find_baseline(baseline)[1]}, paired by seed, with 95 % confidence intervals"
        return self._shown(title, parts[0] if parts else self.runs.slice(0, 0), [*cells, ("pairs", pairs)])

    def _title(self, table: pa.Table, names: Sequence[str], seeds: int) -> str:
        more = f", the first {MOST_ROWS} of {len(table)} combinations" if len(table) > MOST_ROWS else ""
        if seeds < 2:
            return more[2:]
        deviations = [sd for name in names for sd in table[f"{name}_sd"].to_pylist() if sd is not None]
        if deviations and not any(deviations):
            return "One value: this scenario has no randomness, and every seed gives the same"
        return f"Means over {seeds} seeds and their 95 % confidence intervals{more}"

    def _shown(self, title: str, table: pa.Table, columns: Iterable[tuple[str, list[str]]]) -> Shown:
        """Table of text with a column per label before the others."""
        shown = self._shown_labels()
        endings = [label.rpartition(".")[2] for label in shown]
        heads = [end if endings.count(end) == 1 else label for label, end in zip(shown, endings, strict=True)]
        labels = [list(map(str, table[label].to_pylist())) for label in shown]
        columns = list(columns)
        rows = list(zip(*labels, *(cells for _, cells in columns), strict=True))[:MOST_ROWS]
        return Shown(title, (*heads, *(heading for heading, _ in columns)), rows, left=max(1, len(shown)))

    def _shown_labels(self) -> Sequence[str]:
        """Labels that tables show."""
        return self.labels

    def _together(self, label: str) -> Sequence[str]:
        """Labels that change with one."""
        return (label,)

    def _save_more(self, stage: Path) -> None:
        """Writes further files of a kind of experiment."""

    def _files(self) -> dict[str, pa.Table]:
        found = {"runs": self.runs, "summary": self.summary()}
        return found | {n: t for n, t in (("flows", self._flows), ("links", self._links)) if t is not None}

    def _chosen(self, names: Sequence[str] | None) -> list[str]:
        """Names of metrics, checked."""
        known = self.metrics
        for name in names or ():
            if name not in known:
                raise InputError(unknown("metric", name, known))
        return known if names is None else list(names)

    def _known(self, columns: Sequence[str] | None, known: Sequence[str], without: Sequence[str]) -> list[str]:
        """Metrics that a table shows; marks only where a queue marked."""
        if columns is not None:
            return self._chosen(columns)
        runs = self.runs
        shown = [name for name in SHOWN if name in known and name not in without and any_of(runs, name)]
        return [name for name in shown if name != "marked_packets" or any(runs[name].to_pylist())]

    def _find_baseline(self, baseline: Label | Mapping[str, Label]) -> tuple[str, Label]:
        if isinstance(baseline, Mapping):
            if len(baseline) != 1:
                raise InputError(f"baseline requires exactly one label with its value, got {len(baseline)}")
            ((name, value),) = baseline.items()
            if name not in self.labels:
                raise InputError(unknown("label", name, self.labels))
            known = dict.fromkeys(self.runs[name].to_pylist())
            if value not in known:
                raise InputError(unknown(f"value of {name}", str(value), map(str, known)))
            return name, value
        every = {name: dict.fromkeys(self.runs[name].to_pylist()) for name in self.labels}
        found = [name for name, known in every.items() if baseline in known]
        if len(found) > 1:
            raise InputError(f"{quoted(str(baseline))} could be a value of {listed(found)}")
        if not found:
            raise InputError(unknown("value", str(baseline), (str(one) for known in every.values() for one in known)))
        return found[0], baseline

    def _compared(
        self, name: str, pairs: Sequence[tuple[float | None, float | None]], margin: float
    ) -> tuple[Cell, ...]:
        """Cells of `COMPARED` for a metric."""
        known = [(one, other) for one, other in pairs if one is not None and other is not None]
        over = self._certain(paired([one for one, _ in known], [other for _, other in known]))
        if over is None:
            return name, len(known), None, None, None, None, None
        base, mean = estimate([other for _, other in known]).mean, estimate([one for one, _ in known]).mean
        better = metric(name).better
        sign = 1.0 if better == "less" else -1.0
        word = verdict(Estimate(sign * over.mean, over.sd, over.ci95), margin * abs(base)) if better else None
        return name, len(known), base, mean, over.mean, over.ci95, word

    def _estimate(self, values: Iterable[float | None]) -> Estimate | None:
        known = [value for value in values if value is not None]
        return self._certain(estimate(known)) if known else None

    def _certain(self, over: Estimate | None) -> Estimate | None:
        """An estimate; of an exact value with an interval of no width."""
        return Estimate(over.mean, 0.0, 0.0) if over is not None and over.ci95 is None and self.exact else over

    def _places(self, names: Sequence[str]) -> dict[tuple[Cell, ...], list[int]]:
        """Rows of each combination of labels."""
        found: dict[tuple[Cell, ...], list[int]] = defaultdict(list)
        for row, key in enumerate(self._keys(names)):
            found[key].append(row)
        return found

    def _keys(self, names: Sequence[str]) -> list[tuple[Cell, ...]]:
        runs = self.runs
        return list(zip(*(runs[name].to_pylist() for name in names), strict=True)) if names else [()] * len(runs)

    def _failed_rows(self) -> set[int]:
        runs = self.runs
        if not self.failed:
            return set()
        return {row for row, error in enumerate(runs["error"].to_pylist()) if error is not None}

    def _detail(self, table: pa.Table | None, what: str) -> pa.Table:
        if table is None:
            raise InputError(f"{what} requires fewer flows; use run or compare for rows of {what}")
        return table


COMPARED = ("metric", "pairs", "baseline", "mean", "difference", "ci95", "verdict")
"""Columns of `Results.compare` after the labels."""


class Details:
    """Collector of rows of flows or links, in memory in proportion to the final table."""

    def __init__(self) -> None:
        self._tables: list[pa.Table] = []
        self._pending: list[tuple[int, int, Mapping[str, Sequence[Cell]]]] = []
        self._rows = 0

    def add(self, run: int, columns: Mapping[str, Sequence[Cell]]) -> None:
        """Adds the rows of a run, column by column."""
        count = len(next(iter(columns.values()), ()))
        self._pending.append((run, count, columns))
        self._rows += count
        if self._rows >= MOST_PENDING:
            self._pack()

    def add_table(self, table: pa.Table) -> None:
        """Adds rows that are a table with a column ``run``."""
        self._tables.append(table)

    def table(self, runs: pa.Table, labels: Sequence[str]) -> pa.Table:
        """All rows in order of their runs, with the labels and the seed of each.

        Args:
            runs: Table with the columns ``run``, ``seed``, and the labels.
            labels: Names of the labels.
        """
        import pyarrow as pa

        self._pack()
        own = pa.concat_tables(self._tables, promote_options="permissive").sort_by([("run", "ascending")])
        place = {run: row for row, run in enumerate(runs["run"].to_pylist())}
        rows = pa.array([place[run] for run in own["run"].to_pylist()], pa.int64())
        columns = {"run": own["run"]} | {name: runs[name].take(rows) for name in (*labels, "seed")}
        columns |= {name: own[name] for name in own.column_names if name not in columns}
        return pa.Table.from_arrays(list(columns.values()), names=list(columns)).combine_chunks()

    def _pack(self) -> None:
        import pyarrow as pa

        numbers = [run for run, count, _ in self._pending for _ in range(count)]
        arrays = {"run": array_of(numbers, pa.int64())}
        for name in dict.fromkeys(name for _, _, columns in self._pending for name in columns):
            parts = (columns.get(name, [None] * count) for _, count, columns in self._pending)
            arrays[name] = array_of(list(chain.from_iterable(parts)))
        self._tables.append(pa.table(arrays))
        self._pending, self._rows = [], 0


def table_of(rows: Sequence[Row], text: Sequence[str] = ()) -> pa.Table:
    """Rows as a table with the columns of all of them. A column without values is one of floats, or of text."""
    import pyarrow as pa

    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: array_of([row.get(name) for row in rows], pa.string() if name in text else None) for name in names}
    return pa.table({n: c.cast(pa.float64()) if pa.types.is_null(c.type) else c for n, c in columns.items()})


def array_of(cells: Sequence[Cell], kind: pa.DataType | None = None) -> pa.Array[pa.Scalar[pa.DataType]]:
    """Cells of one type as a column."""
    import pyarrow as pa

    make: Callable[..., pa.Array[pa.Scalar[pa.DataType]]] = pa.array
    return make(cells, kind)


def any_of(table: pa.Table, name: str) -> bool:
    """Whether a column has a value."""
    return table[name].null_count < len(table)


def read_details(place: Path) -> tuple[pa.Table | None, pa.Table | None]:
    """Tables of flows and links in a directory, where they were kept."""
    files = (place / "flows.parquet", place / "links.parquet")
    flows, links = (read_table(file) if file.exists() else None for file in files)
    return flows, links


def _read(place: Path) -> tuple[pa.Table, pa.Table | None, pa.Table | None]:
    return read_table(place / "runs.parquet"), *read_details(place)


def _with_verdict(text: str, word: str | None) -> str:
    return text if word is None else f"{text} ({word})"


def _is_number(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))
