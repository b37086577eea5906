"""Bad input: one line on standard error, exit status 2, nothing on standard output, nothing written."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import SMALL, Program

LOOP = SMALL.replace('algorithm = "newreno"', 'algorithm = "newreno"\npath = ["bottleneck", "bottleneck"]')

# What is replaced in the scenario, by what; what the message must name.
SCENARIOS = {
    "unknown key": ('warmup = "5 s"', 'warmpu = "5 s"', "warmpu"),
    "unknown key in a link": ('delay = "19 ms"', 'delay = "19 ms"\ndely = "1 ms"', "links[0].dely"),
    "unknown key in a flow": ("count = 2", "cuont = 2", "flows[0].cuont"),
    "unknown algorithm": ('"newreno"', '"newrneo"', 'did you mean "newreno"'),
    "unknown parameter": ('"newreno"', '{ name = "vegas", alhpa = 2 }', "alhpa"),
    "parameter out of range": ('"newreno"', '{ name = "vegas", alpha = -2 }', "alpha"),
    "parameter of the wrong type": ('"newreno"', '{ name = "vegas", alpha = "two" }', "alpha"),
    "algorithm without a name": ('"newreno"', "{ alpha = 2 }", "flows[0].algorithm"),
    "algorithm that is a number": ('"newreno"', "7", "flows[0].algorithm"),
    "missing algorithm": ('algorithm = "newreno"\n', "", "flows[0].algorithm"),
    "missing duration": ('duration = "20 s"\n', "", "duration"),
    "missing rate": ('rate = "10 Mbit/s"\n', "", "links[0].rate"),
    "no links": (SMALL[SMALL.index("[[links]]") : SMALL.index("[[flows]]")], "", "links"),
    "duration without unit": ('"20 s"', "20", "unit"),
    "delay without unit": ('"19 ms"', '"19"', "unit"),
    "rate with a unit of time": ('"10 Mbit/s"', '"10 ms"', "links[0].rate"),
    "unknown unit": ('"10 Mbit/s"', '"10 Mbps"', "links[0].rate"),
    "negative delay": ('"19 ms"', '"-19 ms"', "links[0].delay"),
    "no rate at all": ('"10 Mbit/s"', '"0 Mbit/s"', "links[0].rate"),
    "absurd rate": ('"10 Mbit/s"', '"1e30 Mbit/s"', "links[0].rate"),
    "not a number": ('"10 Mbit/s"', '"nan Mbit/s"', "links[0].rate"),
    "negative count": ("count = 2", "count = -2", "flows[0].count"),
    "absurd count": ("count = 2", "count = 99999999999", "flows[0].count"),
    "count that is a fraction": ("count = 2", "count = 1.5", "flows[0].count"),
    "warm-up as long as the run": ('"5 s"', '"20 s"', "warmup"),
    "negative buffer": ('"0.5 BDP"', '"-0.5 BDP"', "links[0].buffer"),
    "buffer without unit": ('"0.5 BDP"', "50", "links[0].buffer"),
    "unknown queue": ('buffer = "0.5 BDP"', 'buffer = "0.5 BDP"\nqueue = "drop-head"', "links[0].queue"),
    "unknown recovery": ("count = 2", 'recovery = "prayer"', "flows[0].recovery"),
    "spread that runs backwards": ('"0 s..1 s"', '"1 s..0 s"', "flows[0].start"),
    "path over a link that is not there": ("count = 2", 'path = ["bottlneck"]', "bottlneck"),
    "loop in a path": (SMALL, LOOP, "flows[0].path"),
    "empty path": ("count = 2", "path = []", "flows[0].path"),
    "two links of one name": (
        "[[flows]]",
        SMALL[SMALL.index("[[links]]") : SMALL.index("[[flows]]")] + "[[flows]]",
        "name",
    ),
    "seed below zero": ('warmup = "5 s"', "seed = -1", "seed"),
    "packets smaller than an ACK": ('warmup = "5 s"', "packet_size = 3", "packet_size"),
    "not TOML": ("[[links]]", "[[links", "TOML"),
    "a key twice": ('warmup = "5 s"', 'warmup = "5 s"\nwarmup = "6 s"', "duplicate key"),
    "empty file": (SMALL, "", "duration"),
}


def check(done: object, names: str) -> None:
    assert done.returncode == 2, done  # type: ignore[attr-defined]
    assert done.stdout == ""  # type: ignore[attr-defined]
    (line,) = done.stderr.splitlines()  # type: ignore[attr-defined]
    assert line.startswith("fullpipe: ")
    assert names in line


@pytest.mark.parametrize("case", SCENARIOS)
def test_a_wrong_scenario(program: Program, tmp_path: Path, case: str) -> None:
    before, after, names = SCENARIOS[case]
    assert SMALL.count(before) == 1
    file = tmp_path / "wrong.toml"
    file.write_text(SMALL.replace(before, after))
    done = program("run", "wrong.toml", "--json", "--plot", "picture.png", "--out", "out")
    check(done, names)
    assert "wrong.toml" in done.stderr
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["run", "missing.toml"], "missing.toml: can't be read"),
        (["run", "."], "can't be read"),
        (["run", "binary.toml"], "UTF-8"),
        (["run"], "FILE"),
        (["run", "small.toml", "--seed", "many"], "--seed"),
        (["run", "small.toml", "--seed", "-1"], "seed"),
        (["run", "small.toml", "--plot", "picture.bmp"], ".bmp"),
        (["run", "small.toml", "--plot", "no/picture.png"], "no/picture.png"),
        (["run", "small.toml", "--out", "small.toml"], "not a directory"),
        (["run", "small.toml", "--out", "small.toml/out"], "not a directory"),
        (["run", "small.toml", "--jsno"], "--jsno"),
        (["compare", "small.toml"], "--algorithms"),
        (["compare", "small.toml", "--algorithms", "reno,cubik"], "cubik"),
        (["compare", "small.toml", "--algorithms", "reno,reno"], "twice"),
        (["compare", "small.toml", "--algorithms", ","], "no algorithms"),
        (["compare", "small.toml", "--algorithms", "reno", "--engine", "abacus"], "abacus"),
        (["algorithms", "scalabel"], "did you mean 'scalable'"),
        (["reproduce", "hyun-jang/table-11"], "did you mean 'hyun-jang/table-1'"),
        (["reproduce", "newton"], "unknown paper"),
        (["reproduce", "--out", "small.toml"], "not a directory"),
        (["reprodcue"], "reprodcue"),
    ],
)
def test_a_wrong_command_line(
    program: Program, small_file: Path, tmp_path: Path, arguments: list[str], names: str
) -> None:
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe\x00")
    check(program(*arguments), names)
    assert sorted(tmp_path.iterdir()) == [binary, small_file]
