"""The picture of a duel: what each algorithm does to the other over the buffers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from fullpipe.charts.style import STYLE, label, pens
from fullpipe.metrics import axis

__all__ = ["duel_figure"]

BESIDE = 0.06
"""How far points of one buffer stand apart, so that no interval hides another."""


def duel_figure(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """A panel per mix: the harm to each algorithm's goodput, with 95 % confidence intervals.

    Args:
        rows: Those of `Duel.rows`.
    """
    mixes, buffers, algorithms = (
        list(dict.fromkeys(row[key] for row in rows)) for key in ("mix", "buffer", "algorithm")
    )
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(4.6 * len(mixes) + 0.8, 4.2), layout="constrained")
        panels = figure.subplots(1, len(mixes), sharey=True, squeeze=False)[0]
        for panel, mix in zip(panels, mixes, strict=True):
            for i, (look, algorithm) in enumerate(zip(pens(algorithms, marked=True), algorithms, strict=True)):
                own = [row for row in rows if (row["mix"], row["algorithm"]) == (mix, algorithm)]
                known = [row for row in own if row["goodput_harm"] is not None]
                panel.errorbar(
                    [buffers.index(row["buffer"]) + BESIDE * (i - (len(algorithms) - 1) / 2) for row in known],
                    [row["goodput_harm"] for row in known],
                    yerr=[row["goodput_harm_ci95"] or 0.0 for row in known],
                    **look,
                    markersize=4,
                    capsize=2,
                    label=f"to {label(algorithm)}",
                )
            panel.set_title(mix)
            panel.set_xticks(range(len(buffers)), ["as it is" if each is None else label(each) for each in buffers])
            panel.set_xlim(-0.5, len(buffers) - 0.5)
            panel.set_xlabel("buffer")
            panel.set_ylim(0, 1)
        panels[0].set_ylabel(axis("goodput_harm")[0])
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure
