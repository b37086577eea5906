"""From runs to verdicts, on runs written by hand: which runs are compared by seed, and the result of a test case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from fullpipe.experiments.evaluate.card import _where
from fullpipe.experiments.evaluate.cell import Beside, Camps, Cell, Metric, Role, Setting
from fullpipe.experiments.evaluate.judging import JudgedCell, Runs, corrected, judge_cell, unclear
from fullpipe.experiments.evaluate.rules import (
    BETTER,
    INCONCLUSIVE,
    INFORMATION,
    LESS,
    LOSS,
    MORE,
    NO_WORSE,
    NOT_RUN,
    WORSE,
)

SETTING = Setting("here", lambda _party: {})
SHARED = Setting("here", lambda _victim, _other: {}, equal_bps=20.0)

DELAY = Metric("delay_s", LESS)
LOST = Metric("loss_rate", LOSS)
SENDS = Metric("sends", LESS, limit=9)
GOODPUT = Metric("victim.goodput_bps", MORE)
RTT = Metric("victim.p95_rtt_s", LESS)


def role_of(text: str) -> Role:
    """Role with the text `newreno`, `newreno alone`, or `newreno beside cubic`."""
    victim, _, other = text.removesuffix(" alone").partition(" beside ")
    return Role(other, victim) if other or text.endswith(" alone") else Role(victim)


def runs_of(cell: str, figures: Mapping[str, Mapping[str, Sequence[float | None]]]) -> Runs:
    """Figures by role and key; the n-th value is of seed n + 1, and the seeds come in falling order."""
    runs = Runs()
    for role, columns in figures.items():
        count = len(next(iter(columns.values())))
        for i in reversed(range(count)):
            runs.add(cell, "here", role_of(role), i + 1, {key: values[i] for key, values in columns.items()})
    return runs


def judged(metric: Metric, candidate: Sequence[float | None], newreno: Sequence[float], cubic: Sequence[float]) -> Any:
    cell = Cell("c", ("5.1.4",), "t", [SETTING], [metric])
    columns = {"candidate": candidate, "newreno": newreno, "cubic": cubic}
    runs = runs_of("c", {role: {metric.key: values} for role, values in columns.items()})
    whole = judge_cell(cell, [SETTING], runs)
    (one,) = whole.compared
    assert whole.verdict == (one.verdict if one.verdict != INFORMATION else NOT_RUN)
    return one


def harmed(**figures: Mapping[str, Sequence[float | None]]) -> JudgedCell:
    """`newreno_alone` and so on: the victim's figures, by role."""
    cell = Beside("c", ("5.2.1",), "t", [SHARED], [GOODPUT, RTT])
    roles = {role.replace("_", " "): columns for role, columns in figures.items()}
    return judge_cell(cell, [SHARED], runs_of("c", roles))


def column(goodput: Sequence[float | None], rtt: float = 0.1) -> dict[str, list[float | None]]:
    return {"victim.goodput_bps": list(goodput), "victim.p95_rtt_s": [rtt] * len(goodput)}


def test_seeds_are_paired_whatever_order_they_came_in() -> None:
    # By seed the candidate has 1.2 times the delay of CUBIC, the larger bar; seeds differ tenfold.
    one = judged(DELAY, [0.012, 0.12, 0.06], [0.005, 0.05, 0.025], [0.01, 0.1, 0.05])
    assert (one.verdict, one.judgement.bar, one.judgement.seeds) == (WORSE, "cubic", 3)
    assert one.judgement.ci95 == pytest.approx(0, abs=1e-12)
    assert one.candidate == pytest.approx([12, 120, 60])  # in ms, by rising seed
    assert one.standards["newreno"] == pytest.approx([5, 50, 25])
    assert one.standards["cubic"] == pytest.approx([10, 100, 50])
    assert (one.metric, one.title, one.unit, one.limit, one.main) == ("delay_s", "Delay", "ms", None, True)


@pytest.mark.parametrize(
    ("metric", "candidate", "verdict"),
    [
        (DELAY, 0.111, WORSE),  # 1.11 times the 0.1 s of CUBIC, and 1.39 times NewReno's
        (DELAY, 0.109, NO_WORSE),
        (DELAY, 0.090, BETTER),
        (LOST, 0.131, WORSE),
        (LOST, 0.129, NO_WORSE),
        (Metric("x", MORE), 0.0720, WORSE),  # the bar is what has less: NewReno's 0.08
        (Metric("x", MORE), 0.0735, NO_WORSE),
        (Metric("x", MORE), 0.0890, BETTER),
    ],
)
def test_the_bar_is_the_less_favourable_standard(metric: Metric, candidate: float, verdict: str) -> None:
    assert judged(metric, [candidate] * 3, [0.08] * 3, [0.1] * 3).verdict == verdict


def test_a_limit_is_held_against_the_candidate_alone() -> None:
    kept = judged(SENDS, [9, 8, 9], [20, 20, 20], [20, 20, 20])
    assert (kept.verdict, kept.limit, kept.judgement.bar) == (NO_WORSE, 9, "")
    assert judged(SENDS, [9, 10, 9], [20, 20, 20], [20, 20, 20]).verdict == WORSE


def test_what_informs_has_no_word() -> None:
    one = judged(Metric("x", MORE, informs=True), [1.0, 1.0], [9.0, 9.0], [9.0, 9.0])
    assert (one.verdict, one.judgement, one.why) == (INFORMATION, None, "")


def test_an_unknown_figure_says_which() -> None:
    one = judged(DELAY, [None, None], [0.1, 0.1], [0.1, 0.1])
    assert (one.verdict, one.why) == (NOT_RUN, "needs delay_s")


def test_harm_is_of_the_victim_alone_and_beside_each() -> None:
    # Solo 40; with the candidate 10 (harm 0.75), NewReno 20 (0.5), CUBIC 18 (0.55): 0.2 beyond the baseline.
    cell = harmed(
        newreno_alone=column([40, 40]),
        newreno_beside_candidate=column([10, 10]),
        newreno_beside_newreno=column([20, 20]),
        newreno_beside_cubic=column([18, 18]),
    )
    goodput, rtt = cell.compared
    assert (goodput.metric, goodput.title) == ("goodput_bps of newreno", "Goodput harm to newreno")
    assert goodput.candidate == pytest.approx([0.75, 0.75])
    assert goodput.standards["newreno"] == pytest.approx([0.5, 0.5])
    assert goodput.standards["cubic"] == pytest.approx([0.55, 0.55])
    assert goodput.judgement is not None
    assert (goodput.judgement.bar, goodput.judgement.mean) == ("cubic", pytest.approx(0.2))
    assert (goodput.verdict, goodput.main, goodput.starved) == (WORSE, True, False)
    assert goodput.shares == {"candidate": 0.5, "newreno": 1.0, "cubic": 0.9}  # of 20 bit/s
    assert (rtt.verdict, rtt.main, rtt.shares) == (NO_WORSE, False, {})
    assert cell.verdict == WORSE


def test_less_harm_is_better_and_harm_to_the_round_trips_counts_too() -> None:
    figures: dict[str, Any] = {
        "cubic_alone": column([40, 40], 0.05),
        "cubic_beside_candidate": column([36, 36], 0.05),
        "cubic_beside_newreno": column([20, 20], 0.05),
        "cubic_beside_cubic": column([20, 20], 0.05),
    }
    assert harmed(**figures).verdict == BETTER
    # From 50 ms to 80: a harm of 30/80 where the standards do none.
    slow = harmed(**{**figures, "cubic_beside_candidate": column([36, 36], 0.08)})
    assert [one.verdict for one in slow.compared] == [BETTER, WORSE]
    assert slow.compared[1].candidate == pytest.approx([0.375, 0.375])
    assert slow.verdict == WORSE


def test_each_victim_has_its_own_bar() -> None:
    cell = harmed(
        newreno_alone=column([40, 40]),
        newreno_beside_candidate=column([12, 12]),
        newreno_beside_newreno=column([20, 20]),
        newreno_beside_cubic=column([12, 12]),
        cubic_alone=column([40, 40]),
        cubic_beside_candidate=column([12, 12]),
        cubic_beside_newreno=column([28, 28]),
        cubic_beside_cubic=column([20, 20]),
    )
    words = {one.metric: one.verdict for one in cell.compared if one.main}
    assert words == {"goodput_bps of newreno": NO_WORSE, "goodput_bps of cubic": WORSE}


def test_what_is_done_to_the_deployed_is_no_bar_and_gives_no_word() -> None:
    cell = harmed(
        bbr_alone=column([40, 40]),
        bbr_beside_candidate=column([1, 1]),
        bbr_beside_newreno=column([39, 39]),
        bbr_beside_cubic=column([39, 39]),
    )
    assert {one.verdict for one in cell.compared} == {INFORMATION}
    assert cell.verdict == NOT_RUN


def test_a_camp_is_harmed_from_what_it_has_beside_its_own_kind() -> None:
    # NewReno's group has 50 with its own kind, 40 with the candidate: L = 0.8 and a harm of 0.2; with CUBIC 45. The
    # candidate's group has 60, and NewReno's in its place has 50: G = 1.2.
    theirs = Metric("other.goodput_bps", MORE, of="G", shown_in=("", 1.0), informs=True)
    left = Metric("victim.goodput_bps", MORE, of="L", shown_in=("", 1.0), informs=True)
    cell = Camps("c", ("5.2.1",), "t", [SHARED], [GOODPUT, left, theirs])

    def rows(victim: Sequence[float], other: Sequence[float]) -> dict[str, Sequence[float]]:
        return {"victim.goodput_bps": victim, "other.goodput_bps": other}

    whole = judge_cell(
        cell,
        [SHARED],
        runs_of(
            "c",
            {
                "newreno beside candidate": rows([40, 8], [60, 12]),
                "newreno beside newreno": rows([50, 10], [50, 10]),
                "newreno beside cubic": rows([45, 9], [55, 11]),
                # For the deployed algorithm, the unharmed run is its own; CUBIC as a victim was not run.
                "bbr beside bbr": rows([50, 10], [50, 10]),
                "bbr beside candidate": rows([25, 5], [50, 10]),
                "bbr beside newreno": rows([50, 10], [50, 10]),
                "bbr beside cubic": rows([50, 10], [50, 10]),
            },
        ),
    )
    found = {one.title: one for one in whole.compared}
    titles = ("Goodput harm to {}", "Goodput of L, victim {}", "Goodput of G, victim {}")
    assert list(found) == [title.format(who) for who in ("newreno", "bbr") for title in titles]
    harm = found["Goodput harm to newreno"]
    assert harm.candidate == pytest.approx([0.2, 0.2])
    assert harm.standards == {"newreno": pytest.approx([0, 0]), "cubic": pytest.approx([0.1, 0.1])}
    assert harm.judgement is not None
    assert (harm.verdict, harm.judgement.bar, harm.judgement.mean) == (WORSE, "cubic", pytest.approx(0.1))
    assert harm.shares == {"candidate": 1.2, "newreno": 1.5, "cubic": 1.35}  # 24, 30 and 27 of 20 bit/s
    assert found["Goodput of L, victim newreno"].candidate == pytest.approx([0.8, 0.8])
    assert found["Goodput of G, victim newreno"].candidate == pytest.approx([1.2, 1.2])
    assert found["Goodput of G, victim newreno"].standards["cubic"] == pytest.approx([1.1, 1.1])
    assert found["Goodput of L, victim bbr"].candidate == pytest.approx([0.5, 0.5])
    assert {one.verdict for title, one in found.items() if title != "Goodput harm to newreno"} == {INFORMATION}
    assert whole.verdict == WORSE


def test_starving_is_worse_whatever_the_harm_unless_a_standard_does_it_too() -> None:
    # 1.9 of an equal share of 20 is below a tenth. A harm of 0.9525 versus 0.9 is within the margin and a little more.
    figures: dict[str, Any] = {
        "newreno_alone": column([40, 40, 40]),
        "newreno_beside_candidate": column([1.9, 1.9, 30]),
        "newreno_beside_newreno": column([20, 20, 20]),
        "newreno_beside_cubic": column([2.1, 2.1, 2.1]),
    }
    starving = harmed(**figures).compared[0]
    assert (starving.starved, starving.verdict) == (True, WORSE)
    assert starving.judgement is not None
    assert starving.judgement.verdict != WORSE
    fed = harmed(**{**figures, "newreno_beside_candidate": column([1.9, 30, 30])}).compared[0]
    assert not fed.starved
    too = harmed(**{**figures, "newreno_beside_cubic": column([1.9, 1.9, 1.9])}).compared[0]
    assert not too.starved
    assert too.verdict != WORSE


def test_more_seeds_are_for_what_is_unclear_alone() -> None:
    cell = Cell("c", ("5.1.4",), "t", [SETTING], [DELAY])

    def of(candidate: Sequence[float]) -> Runs:
        flat = {"delay_s": [0.1] * 3}
        return runs_of("c", {"candidate": {"delay_s": candidate}, "newreno": flat, "cubic": flat})

    assert unclear(cell, SETTING, of([0.08, 0.12, 0.15]))
    assert judge_cell(cell, [SETTING], of([0.08, 0.12, 0.15])).verdict == INCONCLUSIVE
    assert not unclear(cell, SETTING, of([0.2, 0.2, 0.2]))
    assert not unclear(cell, SETTING, of([0.1, 0.1, 0.1]))


def test_the_kernels_values_stand_beside_and_judge_nothing() -> None:
    cell = Cell("c", ("5.1.2",), "t", [SETTING], [DELAY])
    flat = {"delay_s": [0.1, 0.1]}
    here = runs_of("c", {"candidate": flat, "newreno": flat, "cubic": flat})
    there = runs_of("c", {"candidate": {"delay_s": [0.4, 0.5]}, "newreno": flat, "cubic": {"delay_s": [0.2, 0.3]}})
    (one,) = judge_cell(cell, [SETTING], here, there).compared
    assert one.verdict == NO_WORSE
    assert one.linux["candidate"] == pytest.approx([400, 500])
    assert one.linux["cubic"] == pytest.approx([200, 300])
    (without,) = judge_cell(cell, [SETTING], here, Runs()).compared
    assert (without.linux, without.asked_linux, one.asked_linux) == ({}, False, True)


def test_holms_correction_leaves_what_many_comparisons_cannot_show_inconclusive() -> None:
    """Of three p-values the least is compared with 0.05/3, and the next with 0.05/2; the first one beyond ends it."""
    cell = Cell("c", ("5.1.4",), "t", [SETTING], [DELAY])
    worse = judged(DELAY, [0.2] * 3, [0.1] * 3, [0.1] * 3)

    def of(p: float, **changes: Any) -> Any:
        return replace(worse, judgement=replace(worse.judgement, p=p), **changes)

    cells = [
        JudgedCell(cell, [of(0.001), of(0.04), of(0.04, starved=True)]),
        JudgedCell(cell, [of(0.045, verdict=NO_WORSE), of(0.9, verdict=INFORMATION), replace(worse, judgement=None)]),
    ]
    first, second = corrected(cells)
    assert [(one.verdict, one.among_many) for one in first.compared] == [
        (WORSE, False),
        (INCONCLUSIVE, True),
        (WORSE, False),
    ]
    assert list(second.compared) == list(cells[1].compared)


def test_a_cell_without_a_word_says_why() -> None:
    absent = Cell("c", ("7.6",), "t", missing="receivers are honest")
    assert JudgedCell(absent, []).why == "receivers are honest"
    assert JudgedCell(Cell("c", ("7.6",), "t", [SETTING], [DELAY]), []).why == "not in this profile"
    runs = runs_of("c", {"candidate": {"delay_s": [None, None]}})
    assert judge_cell(Cell("c", ("7.6",), "t", [SETTING], [DELAY]), [SETTING], runs).why == "needs delay_s"


def test_what_is_too_little_to_count_is_told_in_the_figures_unit() -> None:
    # 0.19 % and 0.1 %: 0.09 points apart, of the 0.1 that count.
    one = judged(LOST, [0.0019] * 3, [0.0005] * 3, [0.001] * 3)
    assert (one.verdict, one.judgement.bar) == (NO_WORSE, "cubic")
    assert (one.judgement.apart, one.judgement.least) == (pytest.approx(0.09), pytest.approx(0.1))


@pytest.mark.parametrize(("worse", "more"), [(1, ""), (2, "; 1 more"), (4, "; 3 more")])
def test_a_line_of_the_card_counts_the_other_metrics_with_its_verdict(worse: int, more: str) -> None:
    """The metric furthest beyond its margin is named; the others are counted."""
    metrics = [Metric(f"m{i}", LESS) for i in range(5)]
    cell = Cell("c", ("5.1.4",), "t", [SETTING], metrics)
    # Metric i has 2 + i times the standards' cost if it is worse, and theirs if it is not.
    candidate = {f"m{i}": [(2.0 + i if i < worse else 1.0)] * 3 for i in range(5)}
    standard = {f"m{i}": [1.0] * 3 for i in range(5)}
    runs = runs_of("c", {"candidate": candidate, "newreno": standard, "cubic": standard})
    assert _where([judge_cell(cell, [SETTING], runs)], WORSE) == f"c, here: M{worse - 1}{more}"
