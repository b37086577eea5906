"""Imports between files of the package; import-linter (`pyproject.toml`) holds the contracts between its parts."""

from __future__ import annotations

from graphlib import TopologicalSorter

import grimp


def test_no_files_import_each_other_in_a_circle() -> None:
    graph = grimp.build_graph("fullpipe", cache_dir=None)
    files = graph.modules - {"fullpipe"}  # names that the package exports are loaded on first use
    order = TopologicalSorter(
        {file: graph.find_modules_directly_imported_by(file) - {"fullpipe", file} for file in files}
    )
    order.prepare()  # raises CycleError


def test_imports_inside_functions_and_for_types_count() -> None:
    graph = grimp.build_graph("fullpipe", cache_dir=None)
    found = graph.find_modules_directly_imported_by("fullpipe.runs.result")
    assert {"fullpipe.plots.series", "fullpipe.scenario"} <= found
