"""Result of `explain`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fullpipe import _core
from fullpipe._util.display import Shown
from fullpipe._util.plain import Table, Tree
from fullpipe.experiments.explain.objective import MOST_SPREAD
from fullpipe.metrics import axis, metric
from fullpipe.runs.results import Results
from fullpipe.scenario import Scenario

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    from fullpipe.experiments.explain.observation import Trace, Values
    from fullpipe.measurements import Measurement
    from fullpipe.plots.spec import Panel, Plot

__all__ = ["Explanation", "Overlay"]

BAND = "#0072b2"
OUTSIDE = "#d55e00"

NAMES = {"drop-tail": "drop-tail", "codel": "CoDel", "fq-codel": "FQ-CoDel", "pie": "PIE"}

POINTS = 400
"""Points of a line in the overlay."""


@dataclass(frozen=True)
class Overlay:
    """Series that the overlay plot shows: the measured trace, and those of the simulated runs."""

    measured: Trace
    simulated: Sequence[Trace]
    interval_s: float


class Explanation(Results):
    """Explanation of a measurement by a model. `runs` has a row per run of the verdict: ``seed`` and the metrics.

    Attributes:
        files: The measurement's files.
        scenario: The model as a scenario.
        fit: Parameters: ``rate_bps``, ``base_rtt_s``, ``buffer_bytes`` (None for an active queue), ``queue``,
            ``algorithm``, ``cross`` (other flows, or None); of each number X, ``X_status`` ("determined", "bounded",
            "not determined") and, where it is known, ``X_ci95`` (low, high); and ``candidates``.
        explained: Whether the model explains the measurement.
        hint: Another cause that explains it, or the reason for no verdict; None without one.
        metrics_of_verdict: A row per metric: ``id``, ``measured``, ``simulated``, ``tolerance``, ``inside``.
        windows: A row per window and metric: ``from_s``, ``until_s``, ``metric``, ``measured``, ``low``, ``high``,
            ``inside``.
        not_determined: Sentences on parameters that the data do not determine.
        warnings: Warnings of the reader.
    """

    KIND = "explain"

    def __init__(
        self,
        kept: Table,
        runs: pa.Table,
        overlay: Overlay | None = None,
        measurement: Measurement | None = None,
    ) -> None:
        super().__init__(("model",), runs)
        self._kept = kept
        self._overlay = overlay
        self._measurement = measurement
        self.files: list[str] = kept["files"]
        self.scenario = Scenario.from_dict(kept["scenario"])
        self.fit: Tree = kept["fit"]
        self.explained: bool = kept["explained"]
        self.hint: str | None = kept["hint"]
        self.metrics_of_verdict: list[Tree] = kept["metrics"]
        self.windows: list[Tree] = kept["windows"]
        self.not_determined: list[str] = kept["not_determined"]
        self.warnings: list[str] = kept["warnings"]

    def to_dict(self) -> dict[str, object]:
        """Plain values ready for JSON."""
        return dict(self._kept)

    @property
    def sentences(self) -> list[str]:
        """Verdict, undetermined parameters, hint, and next commands, one line each."""
        fit = self.fit
        queue = str(NAMES.get(fit["queue"], fit["queue"]))
        if fit["buffer_bytes"] is not None:
            queue += f" of {self._kept['buffer_packets']} packets"
        model = (
            f"a {fit['rate_bps'] / 1e6:.3g} Mbit/s link with {fit['base_rtt_s'] * 1e3:.3g} ms base RTT, {queue}, and "
            f"one {fit['algorithm']} flow"
        )
        model += f" next to {fit['cross']}" if fit["cross"] else ""
        lines = [f"Explained: {model} gives these metrics." if self.explained else f"Not explained: {self._reason()}"]
        if not self.explained:
            lines.append(f"Closest: {model}.")
        lines += [f"Not determined: {each}." for each in self.not_determined]
        lines += [f"Hint: {self.hint}."] if self.hint else []
        return lines + [f"Next: {each}" for each in self._kept["next"]]

    def _reason(self) -> str:
        """The metric that is outside, and where in time."""
        wrong = [each for each in self.metrics_of_verdict if not each["inside"]]
        for each in sorted(self.windows, key=lambda row: row["from_s"]):
            if not each["inside"] and each["from_s"] > 0:
                return f"{_side(each)} from {each['from_s']:.1f} s on."
        if wrong:
            return f"{_side(wrong[0])}."
        if self._kept["spread"] > MOST_SPREAD:
            return f"runs of the best model have goodputs that differ by a factor of {self._kept['spread']:.1f}."
        return f"the distance of the best model is {self._kept['distance']:.0f}, and the limit is 20."

    def to_toml(self) -> str:
        """The model as a scenario file, with the status of each value in comments."""
        lines = [f"fullpipe explain {' '.join(self.files)}", self.sentences[0]]
        for name, unit, factor in (
            ("rate_bps", "Mbit/s", 1e-6),
            ("base_rtt_s", "ms", 1e3),
            ("buffer_bytes", "kB", 1e-3),
        ):
            if self.fit[name] is None:
                continue
            interval = self.fit.get(f"{name}_ci95")
            shown = f", {interval[0] * factor:.4g} to {interval[1] * factor:.4g} {unit}" if interval else ""
            lines.append(f"{name}: {self.fit[name] * factor:.4g} {unit}, {self.fit[f'{name}_status']}{shown}")
        lines.append(f"fullpipe {_core.VERSION}")
        return "".join(f"# {line}\n" for line in lines) + self.scenario.to_toml()

    def to_report(self) -> str:
        """Report in Markdown."""
        return "\n".join(["# Explanation", "", self.to_markdown(), "![overlay](overlay.png)", ""])

    def shown(self, columns: Sequence[str] | None = None) -> list[Shown | str]:
        """Tables and lines that the program prints.

        Args:
            columns: Metrics of the runs, shown in a separate table.
        """
        rows = [
            (
                label,
                *(f"{factor * each[key]:.4g}" for key in ("measured", "simulated", "low", "high")),
                "inside" if each["inside"] else "outside",
            )
            for each in self.metrics_of_verdict
            for label, factor in [axis(each["id"])]
        ]
        table = Shown("Metrics", ("metric", "measured", "simulated", "low", "high", "verdict"), rows)
        return [table, "\n".join(self.sentences), *([self.shown_summary(columns)] if columns else [])]

    def _own_plot(self, x: str | None) -> Plot:
        if self._overlay is None:
            return super()._own_plot(x)
        from fullpipe.plots.spec import Plot

        panels = [self._panel(name) for name in ("goodput_bps", "rtt_s", "in_flight_packets")]
        panels[0].title = "Explained" if self.explained else "Not explained"
        panels[-1].x.label = "Time (s)"
        return Plot([[each] for each in panels], width=8.0, height=7.0)

    def _panel(self, name: str) -> Panel:
        from fullpipe.plots.spec import Axis, Panel

        assert self._overlay is not None
        label, factor = axis(name)
        seen = self._overlay.measured
        grid = np.linspace(0.0, float(seen.acked_at[-1]), POINTS)
        width = max(0.2, 2 * self._overlay.interval_s)
        lines = [_line(each, name, grid, width) * factor for each in self._overlay.simulated]
        panel = Panel("", Axis(), Axis(label.replace("packets", "kB"), limits=(0, None)), legend=name == "goodput_bps")
        panel.area(grid, np.min(lines, axis=0), np.max(lines, axis=0), BAND, alpha=0.3, label="simulated")
        panel.line(grid, _line(seen, name, grid, width) * factor, label="measured", color="black", linewidth=0.9)
        for each in self.windows:
            if not each["inside"] and (each["metric"] == "goodput_bps") == (name == "goodput_bps"):
                panel.span(each["from_s"], each["until_s"], OUTSIDE, alpha=0.15)
        return panel

    def _save_more(self, stage: Path) -> None:
        import pyarrow.parquet as pq

        (stage / "scenario.toml").write_text(self.to_toml(), encoding="utf-8")
        (stage / "report.md").write_text(self.to_report(), encoding="utf-8")
        if self._overlay is not None:
            self.plot(stage / "overlay.png")
        if self._measurement is not None:
            pq.write_table(self._measurement.samples, stage / "measurement.parquet")

    def __repr__(self) -> str:
        return f"<Explanation of {', '.join(self.files)}: {'explained' if self.explained else 'not explained'}>"


def _line(trace: Trace, name: str, grid: Values, width: float) -> Values:
    if name == "goodput_bps":
        later, before = (np.interp(grid + move, trace.acked_at, trace.acked) for move in (0.0, -width))
        return 8 * (later - before) / width
    at, values = (trace.rtt_at, trace.rtt) if name == "rtt_s" else (trace.flight_at, trace.flight / 1e3)
    return np.interp(grid, at, values) if len(at) else np.full(len(grid), np.nan)


def _side(row: Table) -> str:
    name = metric(row.get("metric") or row["id"]).title
    if row["measured"] < row["low"]:
        return f"{name} is {_percent(1 - row['measured'] / row['low'])} below every simulated run"
    return f"{name} is {_percent(row['measured'] / max(row['high'], 1e-12) - 1)} above every simulated run"


def _percent(part: float) -> str:
    return "less than 1 %" if part < 0.01 else f"{100 * part:.0f} %"
