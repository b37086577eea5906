"""The program on a terminal: widths, completion, standard input, keys set on the command line."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fullpipe
from by_hand import by_hand
from conftest import PROGRAM
from fullpipe import Comparison, InputError, Scenario
from fullpipe._cli import output
from fullpipe._cli.scenarios import changes_of
from test_tables import sized_together

SMALL = """
duration = "2 s"
warmup = "1 s"
links = [{ name = "bottleneck", rate = "10 Mbit/s", delay = "19 ms", buffer = "0.5 BDP" }]
flows = [{ algorithm = "newreno" }]
"""


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Output of `show` on a terminal with a number of columns."""

    def printed(columns: int, show: Callable[[], None]) -> str:
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setenv("TERM", "xterm")
        show()
        text = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
        return "".join(f"{line.rstrip()}\n" for line in text.splitlines())

    return printed


def test_tables_fit_eighty_columns(terminal: Callable[..., str]) -> None:
    comparison = Comparison({"reno": by_hand(), "vegas (alpha=2)": by_hand()})
    text = terminal(80, lambda: (output.show(by_hand().shown()), output.show(comparison.shown()))[0])
    assert max(map(len, text.splitlines())) <= 80
    wide = terminal(1000, lambda: (output.show(by_hand().shown()), output.show(comparison.shown()))[0])
    assert set(text.replace("─", "").split()) == set(wide.replace("─", "").split())


def test_lines_of_text_fit_too(terminal: Callable[..., str]) -> None:
    wide = terminal(1000, lambda: output.show(sized_together().shown()))
    text = terminal(80, lambda: output.show(sized_together().shown()))
    assert max(map(len, text.splitlines())) <= 80
    # Columns that identify the row are repeated; all others appear once, uncut.
    assert set(wide.replace("─", "").split()) == set(text.replace("─", "").split())


@pytest.mark.parametrize("columns", [40, 60, 80, 100])
def test_no_word_of_a_table_is_cut_or_lost(columns: int, terminal: Callable[..., str]) -> None:
    wide = terminal(1000, lambda: output.show(by_hand().shown()))
    narrow = terminal(columns, lambda: output.show(by_hand().shown()))
    assert set(wide.replace("─", "").split()) == set(narrow.replace("─", "").split())


def test_text_is_folded_between_words(terminal: Callable[..., str]) -> None:
    rows = [("codel", "controlled delay, RFC 8289"), ("fq-codel", "flow queueing with controlled delay, RFC 8290")]
    text = terminal(30, lambda: output.print_table("", ("queue", "source"), rows, left=2))
    assert set(" ".join(map(" ".join, rows)).split()) <= set(text.split())
    assert max(map(len, text.splitlines())) <= 30
    # No room for the longest word: it is cut, and nothing is lost.
    text = terminal(20, lambda: output.print_table("", ("a", "b"), [("x" * 12, "y" * 20)], left=2))
    assert (text.count("x"), text.count("y")) == (12, 20)


def test_a_command_that_is_almost_one(program: Callable[..., Any]) -> None:
    done = program("rnu", "x.toml")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("fullpipe: unknown command 'rnu'; did you mean 'run'? (allowed: run, compare, ")


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("fullpipe du", ["plain,duel"]),
        ("fullpipe compare x.toml --algorithms reno,veg", ["plain,reno,vegas"]),
        ("fullpipe algorithms scal", ["plain,scalable"]),
        ("fullpipe queues fq-c", ["plain,fq-codel"]),
        ("fullpipe size --queue code", ["plain,codel"]),
        ("fullpipe size --queue codel.ta", ["plain,codel.target"]),
        ("fullpipe size --algorithms reno,cubic*0.5+veg", ["plain,reno,cubic*0.5+vegas"]),
        ("fullpipe size --algorithms ledbat+", ["plain,ledbat++"]),
        ("fullpipe reproduce hyun-jang/t", ["plain,hyun-jang/table-1"]),
        ("fullpipe run scen", ["file,scen"]),
    ],
)
def test_the_shell_completes(words: str, completed: list[str]) -> None:
    count = len(words.split()) - 1
    environment = {"COMP_WORDS": words, "COMP_CWORD": str(count), "_FULLPIPE_COMPLETE": "bash_complete"}
    done = subprocess.run([PROGRAM], env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    assert done.stdout.split() == completed


def test_standard_input(tmp_path: Path) -> None:
    def told(*arguments: str, text: bytes = SMALL.encode()) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run([PROGRAM, *arguments], input=text, cwd=tmp_path, capture_output=True, check=False)

    flows = fullpipe.run(Scenario.loads(SMALL)).to_dict()["flows"]
    assert json.loads(told("run", "-", "--json").stdout)["flows"] == flows
    swept = told("sweep", "-", "--json", text=SMALL.encode() + b'[sweep]\n"flows.count" = [1, 2]\n')
    assert [row["flows.count"] for row in json.loads(swept.stdout)["rows"]] == [1, 2]
    for text, why in (
        (b"duration = ", b"standard input:1: "),
        (b"\xff", b"standard input: is not UTF-8 text (byte 0)"),
    ):
        done = told("run", "-", text=text)
        assert (done.returncode, done.stderr[: len(why) + 10]) == (2, b"fullpipe: " + why)


def test_keys_are_set_on_the_command_line(tmp_path: Path, program: Callable[..., Any]) -> None:
    file = tmp_path / "s.toml"
    file.write_text(SMALL)
    changed = Scenario.loads(SMALL).replace(
        duration="3 s", **{"flows.algorithm": {"name": "vegas", "alpha": 3}, "links.bottleneck.buffer": "9 packets"}
    )
    settings = ["--set", "flows.algorithm={name = 'vegas', alpha = 3}", "--set", "links.bottleneck.buffer=9 packets"]
    options = [str(file), "--duration", "3 s", *settings]
    flows = fullpipe.run(changed).to_dict()["flows"]
    assert json.loads(program("run", *options, "--json").stdout)["flows"] == flows
    compared = json.loads(program("compare", *options, "--algorithms", "reno", "--json").stdout)["runs"]
    assert compared[0]["flows"] == fullpipe.compare(changed, ["reno"]).to_dict()["runs"][0]["flows"]
    # On Linux too, which refuses this queue before a virtual machine boots.
    refused = program("linux", "run", str(file), "--set", "links.bottleneck.queue=dualpi2")
    assert (refused.returncode, "links[0].queue: unknown queue of the Linux engine" in refused.stderr) == (2, True)
    file.write_text(SMALL + '[sweep]\n"seed" = [1]\n')
    (row,) = json.loads(program("sweep", *options, "--json").stdout)["rows"]
    assert row["mean_rtt_s"] == flows[0]["mean_rtt_s"]
    file.write_text(SMALL)
    done = program("run", str(file), "--set", "flows.algoritm=reno")
    said = 'fullpipe: --set flows.algoritm=reno: flows[0].algoritm: unknown key "algoritm"; did you mean "algorithm"?'
    assert (done.returncode, done.stderr[: len(said)]) == (2, said)


def test_what_a_setting_says() -> None:
    settings = ("a=1", "b=1.5", "c=true", "d=0.5 BDP", "e=reno", "f=", "g=['x']", 'h="y"', "i=2 s=3", "j=1\nk=2")
    assert changes_of(settings, None) == {
        "a": 1,
        "b": 1.5,
        "c": True,
        "d": "0.5 BDP",
        "e": "reno",
        "f": None,
        "g": ["x"],
        "h": "y",
        "i": "2 s=3",
        "j": "1\nk=2",
    }
    assert changes_of((), "3 s") == {"duration": "3 s"}
    with pytest.raises(InputError, match=r"--set must be KEY=VALUE, .*, got 'seed'"):
        changes_of(("seed",), None)
    with pytest.raises(InputError, match="conflicts with --set"):
        changes_of(("duration=1 s",), "2 s")
    with pytest.raises(InputError, match="--seed conflicts with --set seed"):
        changes_of(("seed=2",), None, 3)
    assert changes_of((), None, 3) == {"seed": 3}
    assert changes_of(("k=9223372036854775807",), None) == {"k": 9223372036854775807}
    with pytest.raises(InputError, match=r"'k=9223372036854775808': the number must be at most 9223372036854775807"):
        changes_of(("k=9223372036854775808",), None)
    with pytest.raises(InputError, match="must be at least -9223372036854775807"):
        changes_of((f"k=-{'9' * 5000}",), None)
