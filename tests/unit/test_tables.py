"""Every table that the program prints, from figures written by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from by_hand import NO, by_hand, check_rows
from fullpipe import Result, Scenario
from fullpipe._cli import algorithms, linux, output, queues, reproduce
from fullpipe._util.display import Outcome
from fullpipe.errors import InputError
from fullpipe.experiments.compare import Comparison
from fullpipe.experiments.evaluate.card import Card
from fullpipe.experiments.sizing import Sizing
from fullpipe.experiments.sizing.mix import Mix
from fullpipe.experiments.sweep import Sweep
from fullpipe.experiments.sweep.axes import find_value, read_axes
from fullpipe.experiments.sweep.plan import Plan
from fullpipe.experiments.sweep.table import table_of
from fullpipe.linux import host
from fullpipe.registry import Algorithm, Param, Queue
from fullpipe.reproduce.check import Shape, Value
from fullpipe.reproduce.item import Item
from fullpipe.reproduce.record import Outcome as ItemOutcome
from fullpipe.reproduce.rows import Rows
from test_transfers import TRANSFERS

Printed = Callable[[], str]


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Printed:
    """Printed text, without blanks at the ends of lines."""

    def text() -> str:
        return "".join(f"{line.rstrip()}\n" for line in capsys.readouterr().out.splitlines())

    return text


def show_of(outcome: Outcome) -> None:
    """Prints a result as the program does."""
    output.show(outcome.shown())


def test_run(printed: Printed) -> None:
    output.show(by_hand().shown())
    check_rows(printed(), "run")


def test_marks_are_shown_where_there_are_any(printed: Printed) -> None:
    def heads(marks: list[int] | None, show: Callable[[Result], None]) -> list[str]:
        result = by_hand() if marks is None else by_hand(links={"marked_packets": marks})
        if marks is None:  # an engine that does not say
            del result._columns["links"]["marked_packets"]
        show(result)
        return [
            word
            for line in printed().splitlines()
            if line.lstrip().startswith(("link ", "algorithm "))
            for word in line.split()
        ]

    def compared(result: Result) -> None:
        show_of(Comparison({"reno": result, "vegas": by_hand(links={"marked_packets": [0, 0]})}))

    for show in (show_of, compared):
        assert "Marks" in heads([0, 1], show)
        assert "Marks" not in heads([0, 0], show)
        assert "Marks" not in heads(None, show)


def test_run_of_many_flows_shows_their_groups(printed: Printed) -> None:
    columns = {name: [column[0]] * 12 + [column[1]] * 3 for name, column in by_hand().columns("flows").items()}
    goodputs = [10e6] * 11 + [20e6] + [4e6] * 3
    show_of(by_hand(flows={**columns, "id": list(range(15)), "goodput_bps": goodputs}))
    check_rows(printed(), "run-groups")
    show_of(by_hand(flows={name: column[:12] for name, column in columns.items()}))
    assert "Flows" in printed(), "a dozen is shown one by one"


def test_run_with_transfers(printed: Printed) -> None:
    show_of(by_hand(transfers=TRANSFERS))
    check_rows(printed(), "run-transfers")


def test_run_without_flows_or_cross_traffic(printed: Printed) -> None:
    def none(table: str) -> dict[str, list[Any]]:
        return {name: [] for name in by_hand().columns(table)}

    show_of(by_hand(wall_s=0.0, flows=none("flows"), traffic=none("traffic"), totals={"jain_index": NO}))
    text = printed()
    assert "Flows" not in text
    assert "Cross traffic" not in text
    assert "Jain" not in text
    assert text.endswith("1,234,567 data packets in 0.00 s; seed 7\n")


@pytest.mark.parametrize(("wall_s", "said"), [(0.5, "2.5 million"), (12.3, "0.1 million"), (40.0, "30,864")])
def test_how_fast_a_run_went(printed: Printed, wall_s: float, said: str) -> None:
    """1,234,567 packets. For a virtual machine's thousands per second, the unit of a tenth of a million would be too
    coarse.
    """
    show_of(by_hand(wall_s=wall_s))
    assert f"s, {said} a second; seed 7" in printed()


def fast_and_strange() -> Result:
    """One whose first flow has neither RTT nor window, and no fairness."""
    flows = {
        "goodput_bps": [3e3, 9.5e9],
        "mean_rtt_s": [NO, 0.0031],
        "retransmits": [1, 2],
        "timeouts": [40, 50],
        "mean_cwnd_packets": [NO, 1.0],
    }
    return by_hand(flows=flows, totals={"jain_index": NO}, engine="linux")


def test_compare(printed: Printed) -> None:
    show_of(Comparison({"reno": by_hand(), "vegas (alpha=2)": fast_and_strange()}))
    check_rows(printed(), "compare")


def test_links_of_a_comparison() -> None:
    table = Comparison({"reno": by_hand(), "vegas (alpha=2)": fast_and_strange()}).by_link().runs
    rows = table.to_pylist()
    assert [(row["link"], row["utilization"], row["mean_queue_packets"]) for row in rows] == [
        ("bottleneck", 0.8123, 61.25),
        ("edge", 0.0617, 1.375),
    ] * 2
    # The second flow lives half of the three seconds that are measured: 60.25 + 0.95 / 2.
    assert (rows[0]["algorithm"], rows[0]["goodput_bps"], rows[0]["retransmits"]) == ("reno", 60.725e6, 2751)
    assert rows[0]["mean_rtt_s"] == pytest.approx(0.0878)
    assert (rows[3]["mean_rtt_s"], rows[3]["jain_index"]) == (0.0031, None)
    silent = by_hand(flows={"mean_rtt_s": [NO, NO]})
    assert Comparison({"reno": silent}).runs["mean_rtt_s"].to_pylist() == [None]


def swept(*, failing: bool = False) -> Sweep:
    """Two buffers, two seeds each; the second run with the larger buffer fails if asked to."""
    scenario = Scenario(duration="10 s", links=[LINK], flows=[{"algorithm": "reno"}])
    plan = Plan(scenario, read_axes({"links.bottleneck.buffer": ["20 packets", "1000 packets"]}), 2)
    rows = [
        {**plan.labels(number), "error": None, **figures}
        for number, figures in enumerate(
            (
                row(0.5, 0.001, 10.0, 50e6, 0.040, 0.9),
                row(0.7, 0.003, 12.0, 70e6, 0.044, 0.8),
                row(0.9, 0.0005, 1200.0, 90e6, 0.080, None),
                row(0.9, 0.0005, 1300.0, 9e9, 1.2, None),
            )
        )
    ]
    if failing:
        rows[3] = {**plan.labels(3), "error": "it failed"}
    return Sweep(plan, table_of(rows, plan))


LINK = {"name": "bottleneck", "rate": "100 Mbit/s", "delay": "19 ms", "buffer": "20 packets"}


def row(*figures: float | None) -> dict[str, float | None]:
    names = ("utilization", "loss_rate", "mean_queue_packets", "goodput_bps", "mean_rtt_s", "jain_index")
    return dict(zip(names, figures, strict=True))


def test_sweep(printed: Printed) -> None:
    # Two values a and b: mean (a + b) / 2, standard deviation |a - b| / sqrt(2), and half of the interval
    # t(1 degree of freedom) = 12.706 times that over sqrt(2), 6.353 |a - b|.
    show_of(swept())
    check_rows(printed(), "sweep")


def test_sweep_less_one_value(printed: Printed) -> None:
    # Of 0.9 - 0.5 and 0.9 - 0.7, 0.3 on average, and 6.353 times their difference of 0.2.
    output.show(swept().shown(versus="20 packets"))
    check_rows(printed(), "sweep", "sweep-versus")


def test_a_value_of_an_axis_by_what_tables_show() -> None:
    axes = read_axes(
        {"flows.algorithm": ["reno", {"name": "vegas", "alpha": 2}], "seed": [1, 2], "flows.count": [2, 3]}
    )
    assert find_value(axes, "vegas (alpha=2)") == (axes[0], "vegas (alpha=2)")
    assert find_value(axes, "3") == (axes[2], 3)
    with pytest.raises(InputError, match=r"'2' could be a value of seed, flows\.count"):
        find_value(axes, "2")
    with pytest.raises(InputError, match=r"unknown value 'ren'; did you mean 'reno'\?"):
        find_value(axes, "ren")


def test_sweep_without_randomness(printed: Printed) -> None:
    plan = swept().plan
    rows = [{**plan.labels(run), "error": None, **row(0.5, 0.001, 10.0, 50e6, 0.04, 0.9)} for run in range(4)]
    show_of(Sweep(plan, table_of(rows, plan)))
    check_rows(printed(), "sweep-one-value")


PARAMS = (
    Param("beta", "number", 0.5, "Fraction cut.", "section 3", unit="1", min=0.1, max=0.9),
    Param("tick", "number", None, "Its clock; by the RTT.", "section 4", unit="s"),
    Param("fast", "flag", False, "Whether it is.", "figure 5"),
    Param("kind", "choice", "even", "Which.", "table 6", choices=("even", "odd")),
)


def test_algorithms(printed: Printed) -> None:
    """Those known, and all about one."""
    one = Algorithm("one", "Somebody, 2019", "delay", "sack", PARAMS)
    algorithms._print_all([one, Algorithm("two", "RFC 9999", "loss", "newreno", ())])
    algorithms._print_one(one)
    check_rows(printed(), "algorithms")


def test_queues(printed: Printed) -> None:
    queues._print_all([Queue("aqm", "RFC 9998", PARAMS[:2]), Queue("plain", "none", ())])
    check_rows(printed(), "queues")


def test_linux_list(printed: Printed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "dead", lambda: ["hyun_jang"])
    monkeypatch.setattr(host, "loaded", lambda: ["ehstcp"])
    linux.list_command.main([], standalone_mode=False)
    check_rows(printed(), "linux-list")


def test_evaluate(printed: Printed) -> None:
    """A word, of how much of its cells it is, and where it comes from; why there is none only where there is none."""
    part = {"cells_run": 2, "cells_in_all": 4, "settings_run": 3, "settings_in_all": 26}
    none = {"cells_run": 0, "cells_in_all": 1, "settings_run": 0, "settings_in_all": 0}
    criteria = [
        {"id": "5.1.1", "title": "Fairness", "verdict": "worse", "where": "duel, 40 ms", "why": "its share", **part},
        {"id": "5.1.2", "title": "Delay", "verdict": "no worse", "where": "", "why": "its delay", **none},
        {"id": "5.2", "title": "Misuse", "verdict": "not judged", "where": "", "why": "no run can tell"},
    ]
    data = {
        "algorithm": "ours",
        "fullpipe": "9.8.7",
        "engine": "simulator",
        "profile": "quick",
        "seeds": 3,
        "most_seeds": 13,
    }
    output.show(Card({**data, "criteria": [{**criterion, "experiments": []} for criterion in criteria]}).shown())
    check_rows(printed(), "evaluate")


def test_reproduce_list(printed: Printed, monkeypatch: pytest.MonkeyPatch) -> None:
    items = [
        Item("paper/table-9", "What it shows", dict, lambda _: Rows()),
        Item("other/x", "More", dict, lambda _: {}),
    ]
    monkeypatch.setattr(reproduce, "select", lambda *_: items)
    reproduce.command.main(["--list"], standalone_mode=False)
    check_rows(printed(), "reproduce-list")


def test_sweep_with_a_run_that_failed(printed: Printed) -> None:
    show_of(swept(failing=True))
    check_rows(printed(), "sweep-failed")


def test_sweep_with_marks(printed: Printed) -> None:
    plan = swept().plan
    rows = [{**plan.labels(run), "error": None, "utilization": 0.5, "marked_packets": 0} for run in range(4)]
    show_of(Sweep(plan, table_of(rows, plan)))
    assert "Marks" not in printed()
    rows[3]["marked_packets"] = 2000
    show_of(Sweep(plan, table_of(rows, plan)))
    # Of 0 and 2000: 1000, and t(1) = 12.7062 times a standard deviation of 2000 / sqrt(2) over sqrt(2).
    assert [line.split()[-3:] for line in printed().splitlines()[-3:-1]] == [
        ["packets", "50.00", "0"],
        ["1,000", "±", "12,706"],
    ]


def test_summary_of_a_sweep() -> None:
    small, large = swept(failing=True).summary().to_pylist()
    assert (small["runs"], small["failed"], large["runs"], large["failed"]) == (2, 0, 1, 1)
    assert small["links.bottleneck.buffer"] == "20 packets"
    assert small["utilization_mean"] == pytest.approx(0.6)
    assert small["utilization_sd"] == pytest.approx(0.2 / math.sqrt(2))
    assert small["utilization_ci95"] == pytest.approx(12.7062 * 0.2 / 2, rel=1e-5)
    assert (large["utilization_mean"], large["utilization_sd"], large["utilization_ci95"]) == (0.9, None, None)
    assert large["jain_index_mean"] is None
    assert "seed_mean" not in small


def test_summary_without_repeats() -> None:
    plan = Plan(swept().plan.scenario, swept().plan.axes)
    rows = [{**plan.labels(number), "error": None, "utilization": 0.5 + number / 10} for number in (0, 1)]
    small, large = Sweep(plan, table_of(rows, plan)).summary().to_pylist()
    assert (small["links.bottleneck.buffer"], small["runs"], small["utilization_mean"]) == ("20 packets", 1, 0.5)
    assert (large["links.bottleneck.buffer"], large["runs"], large["utilization_mean"]) == ("1000 packets", 1, 0.6)
    assert (small["utilization_sd"], small["utilization_ci95"]) == (None, None)


def one_run(size: str) -> pa.Table:
    return pa.Table.from_pylist([{"algorithm": "newreno", "flows": 10, size: 1234, "seed": 1, "utilization": 0.98}])


def sized() -> Sizing:
    rules = {
        "rule_bdp_packets": 1000.2,
        "rule_sqrt_packets": 316.0,
        "rule_adaptive_full_packets": 250.00000001,
        "rule_reno_packets": 700.5,
        "rule_adaptive_packets": 120.1,
    }
    found = {
        "target": "0.98",
        "algorithm": "newreno",
        "flows": 10,
        "buffer_packets": 1234,
        "buffer_bdp": 1.2338,
        "buffer_bytes": 1234567,
        "buffer_s": 0.09876,
        "too_small_packets": 1100,
        "sure_low_packets": 1050,
        "sure_high_packets": 1300,
        "at_most_packets": None,
        "at_packets": 1234,
        "unmet": "",
        "seeds": 5,
        "utilization": 0.98125,
        "utilization_ci95": 0.0031,
        "loss_rate": 0.00123,
        "queueing_delay_s": 0.0456,
        "p50_queueing_delay_s": 0.0321,
        "p95_queueing_delay_s": 0.0765,
        "p99_queueing_delay_s": 0.0891,
        "max_queueing_delay_s": 0.0987,
        "p50_fct_s": 0.123,
        "p95_fct_s": 0.456,
        "p99_fct_s": 0.789,
        "jain_index": 0.876,
        "warmup_s": 45.0,
        "duration_s": 1340.0,
        **rules,
    }
    none = {
        **found,
        "target": "0.995",
        "algorithm": "vegas",
        "flows": 2,
        "buffer_packets": None,
        "buffer_bdp": None,
        "buffer_bytes": None,
        "buffer_s": None,
        "too_small_packets": 4001,
        "sure_high_packets": None,
        "at_packets": 4001,
        "unmet": "utilization >= 0.995",
        "utilization_ci95": None,
        "p99_queueing_delay_s": None,
        "p95_fct_s": None,
        "seeds": 1,
    }
    return Sizing(Mix(100e6, 0.04, 0.12, 0.25), [found, none], one_run("buffer_packets"))


def test_size(printed: Printed) -> None:
    show_of(sized())
    check_rows(printed(), "size")


def sized_together() -> Sizing:
    """A parameter of a queue, sized for conditions on utilization and delay, without web transfers."""
    target = "utilization >= 0.9, p99_delay <= 20ms"
    rows = []
    for row, more in zip(
        sized().rows, ({"at_most_packets": 1500}, {"at_most_packets": 0, "unmet": target}), strict=True
    ):
        own = {name.replace("buffer", "queue_target"): value for name, value in row.items()}
        rows.append({**own, **more, "target": target})
    mix = Mix(100e6, 0.04, 0.04, queue="codel", sized="target")
    return Sizing(mix, [*rows, {**rows[0], "target": "0.98"}], one_run("queue_target_packets"))


def test_size_of_a_queues_parameter_for_conditions(printed: Printed) -> None:
    show_of(sized_together())
    check_rows(printed(), "size-together")


def outcome(*checks: Value | Shape, **changes: Any) -> ItemOutcome:
    item = Item("paper/table-9", "What it shows", dict, lambda _: Rows())
    given = {"scenarios": {}, "results": {}, "rows": Rows(), "shortened": "", "quick": False, "wall_s": 3.25}
    return ItemOutcome(item=item, checks=checks, **{**given, **changes})


AGREES = Value(
    name="utilization, reno", origin="Table 1", reason="two digits", published=0.83, measured=0.8351, tolerance=0.01
)
ABOVE = Value(
    name="loss, %",
    origin="Figure 2",
    reason="read off",
    published=20.0,
    measured=31.25,
    tolerance=5.0,
    miss="its timer is coarse",
    miss_within=12.0,
)
BELOW = Value(name="window", origin="Table 3", reason="exact", published=100.0, measured=97.5, tolerance=2.0)
RISES = Shape(
    name="order",
    origin="Figure 4",
    reason="a curve",
    shape="rising",
    values={"a": 1.0, "b": 3.5, "c": 5.0},
    margin=1.0,
)


def test_reproduce(printed: Printed) -> None:
    output.show(reproduce.shown(outcome(AGREES, ABOVE, BELOW, RISES, shortened="half as long", quick=True)))
    check_rows(printed(), "reproduce")


def test_reproduce_summary(printed: Printed) -> None:
    outcomes = [outcome(AGREES, RISES), outcome(AGREES, ABOVE, wall_s=12.5), outcome(BELOW, AGREES, ABOVE)]
    output.show([reproduce.summary(outcomes)])
    check_rows(printed(), "reproduce-summary")


def test_reproduce_in_words(printed: Printed) -> None:
    output.show(reproduce.shown(outcome(AGREES, RISES, kept=True)))
    assert printed().endswith("paper/table-9: all 2 checks pass; 3.2 s; kept from an earlier run\n")
    output.show(reproduce.shown(outcome(AGREES, ABOVE, engine="linux", shortened="one flow")))
    assert printed().endswith(
        "cause of a known discrepancy: its timer is coarse\nLinux: one flow\n"
        "paper/table-9: 1 of 2 are known discrepancies; 3.2 s\n"
    )


def test_columns_without_a_value_are_numbers() -> None:
    table = swept(failing=True).runs
    assert table.schema.field("jain_index").type == pa.float64()
    assert table["error"].to_pylist() == [None, None, None, "it failed"]
