"""Bad input: one line on standard error, exit status 2, nothing on standard output, nothing written."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import fullpipe
from conftest import SMALL, Program
from fullpipe import Scenario
from fullpipe._cli import _status, fullpipe_command
from fullpipe._util.text import printable
from fullpipe.errors import InputError

LOOP = SMALL.replace('algorithm = "newreno"', 'algorithm = "newreno"\npath = ["bottleneck", "bottleneck"]')

# Replacements in the scenario, and the text that the message must contain.
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
        (["run", "small.toml", "--seed", "9223372036854775808"], "0<=x<=9223372036854775807"),
        (["run", "small.toml", "--seed", "3", "--set", "seed=2"], "--seed conflicts with --set seed"),
        (["run", "small.toml", "--set", "seed=-1"], "fullpipe: --set seed=-1: seed: "),
        (["run", "small.toml", "--duration", "20"], "fullpipe: --duration 20: duration: "),
        (
            ["run", "small.toml", "--set", "seed=2", "--set", "links.0.rate=1"],
            "fullpipe: --set links.0.rate=1: links[0]",
        ),
        (["run", "small.toml", "--set", "nothing.x=1"], "fullpipe: --set nothing.x=1: nothing.x: "),
        (
            ["run", "small.toml", "--set", "duration=8 s", "--set", "warmup=8 s"],
            "fullpipe: --set duration=8 s --set warmup=8 s: warmup: ",
        ),
        (["sweep", "small.toml", "--set", "seed=-1"], "sweep: requires a table"),
        (["compare", "small.toml"], "--algorithms"),
        (["compare", "small.toml", "--algorithms", "reno,cubik"], "cubik"),
        (["compare", "small.toml", "--algorithms", "reno,reno"], "once each"),
        (["compare", "small.toml", "--algorithms", ","], "requires at least one algorithm"),
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


# Every command, every kind of file and place that won't do; in this process, since there are many.

OF_FILES = {
    "run": ["run", "FILE"],
    "compare": ["compare", "FILE", "--algorithms", "reno,vegas"],
    "compare, two engines": ["compare", "FILE", "--engine", "simulator,linux"],
    "sweep": ["sweep", "FILE"],
    "linux run": ["linux", "run", "FILE"],
}
FILES = {
    "missing.toml": "can't be read: No such file",
    "folder": "can't be read: it is a directory",
    "/dev/zero": "can't be read: it is not a regular file",
    "pipe": "can't be read: it is not a regular file",
    "huge.toml": "must have at most 16 MB",
    "binary.toml": "is not UTF-8 text",
    "empty.toml": "",
    "loop.toml": "can't be read: ",
    "a/b": "can't be read: ",
    "x" * 5000: "can't be read: File name too long",
    "\x1b[2J\u202e.toml": r"\x1b[2J\u202e.toml: can't be read",
    "\udcff.toml": r"\udcff.toml: can't be read",
}
SIZE = ["size", "--rate", "1Mbit/s", "--rtt", "20ms", "--flows", "1", "--target", "0.9", "--algorithms", "reno"]
DELIVERING = {
    "run": ["run", "small.toml"],
    "compare": ["compare", "small.toml", "--algorithms", "reno,vegas"],
    "linux run": ["linux", "run", "small.toml"],
    "size": SIZE,
}
PLACES = {
    "out is a file": ["--out", "small.toml"],
    "out is under a file": ["--out", "small.toml/a/b"],
    "out is a device": ["--out", "/dev/null"],
    "out is a link that leads nowhere": ["--out", "nowhere"],
    "out is a link to itself": ["--out", "loop.toml"],
    "out with too long a name": ["--out", "x" * 300],
    "picture with too long a name": ["--plot", f"{'x' * 300}.png"],
    "picture of no known kind": ["--plot", "p\x1b.bmp"],
    "picture without a kind": ["--plot", "p"],
    "picture in no directory": ["--plot", "no/p.png"],
    "picture under a file": ["--plot", "small.toml/p.png"],
    "picture is a directory": ["--plot", "folder.png"],
}
LONG = "x" * 100_000
WORDS = [
    ["run"],
    ["run", "small.toml", "--seed", LONG],
    ["run", "small.toml", "--seed", "99999999999999999999"],
    ["run", "small.toml", "--seed", "9" * 5000],
    ["run", "small.toml", LONG],
    ["run", "small.toml", "--out"],
    ["compare", "small.toml"],
    ["compare", "small.toml", "--algorithms", ""],
    ["compare", "small.toml", "--algorithms", LONG],
    ["compare", "small.toml", "--algorithms", "\x1b[31m"],
    ["compare", "small.toml", "--algorithms", "reno,reno"],
    ["compare", "small.toml", "--algorithms", "reno", "--engine", "\x1b[31m"],
    ["compare", "small.toml", "--engine", "simulator,simulator"],
    ["compare", "small.toml", "--algorithms", "reno", "--kernel", "linux-image-amd64"],
    ["compare", "small.toml", "--engine", "simulator,linux", "--kernel", "\x1b[31m"],
    ["compare", "small.toml", "--algorithms", "reno", "--memory", "8"],
    ["sweep", "small.toml"],
    ["sweep", "sweep.toml", "--by", "buffer"],
    ["sweep", "sweep.toml", "--plot", "buffer"],
    ["sweep", "sweep.toml", "--plot", "\x1b[31m", "utilization"],
    ["sweep", "sweep.toml", "--plot", "buffer", LONG],
    ["sweep", "sweep.toml", "--plot", "buffer", "utilization", "--by", LONG],
    ["sweep", "sweep.toml", "--plot", "p.bmp"],
    ["sweep", "sweep.toml", "--plot", "no/p.png"],
    ["sweep", "sweep.toml", "--plot", "folder.png"],
    ["sweep", "sweep.toml", "--out", "small.toml"],
    ["sweep", "sweep.toml", "--out", "/dev/null/x"],
    ["sweep", "sweep.toml", "--workers", "0"],
    ["sweep", "sweep.toml", "--memory", LONG],
    ["size"],
    *(
        [*SIZE, *more]
        for more in (
            ["--rate", LONG],
            ["--rate", "\x1b[31m"],
            ["--rate", "0 bit/s"],
            ["--rate", "1e30 Gbit/s"],
            ["--rate", "1 bit/s"],
            ["--rtt", LONG],
            ["--rtt", "80ms..20ms"],
            ["--rtt", "1e30 s"],
            ["--rtt", "-1 s"],
            ["--flows", "0"],
            ["--flows", LONG],
            ["--flows", "9" * 5000],
            ["--flows", "1,1"],
            ["--flows", ""],
            ["--target", "1"],
            ["--target", "nan"],
            ["--target", "0.9,\x1b"],
            ["--algorithms", LONG],
            ["--algorithms", ","],
            ["--web-load", "1"],
            ["--web-load", "nan"],
            ["--seeds", "1"],
            ["--precision", "nan"],
            ["--packet-size", "1"],
            ["--workers", "0"],
            ["--memory", "-1 GB"],
        )
    ),
    ["algorithms", LONG],
    ["algorithms", "\x1b[31m"],
    ["reproduce", LONG],
    ["reproduce", "\x1b[31m"],
    ["reproduce", "hyun-jang/table-1", "--out", "small.toml"],
    ["reproduce", "--engine", LONG],
    ["reproduce", "--kernel", "linux-image-amd64"],
    ["linux", LONG],
    ["linux", "run"],
    ["linux", "run", "small.toml", "--accel", "\x1b[31m"],
    ["linux", "run", "small.toml", "--kernel", "\x1b[31m"],
    ["linux", "load"],
    ["linux", "load", LONG],
    ["linux", "load", "\x1b[31m"],
    ["linux", "load", "adaptive-aimd", "--set", LONG],
    ["linux", "load", "adaptive-aimd", "--set", f"{LONG}=1"],
    ["linux", "unload", "reno"],
    [LONG],
    ["\x1b[31m"],
    ["--\x1b[31m"],
]

Refused = Callable[..., str]


@pytest.fixture
def refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Refused:
    """Runs a command in a directory with some good and many bad files. Returns the one line of its error message."""
    monkeypatch.chdir(tmp_path)
    Path("small.toml").write_text(SMALL)
    Path("sweep.toml").write_text(f'{SMALL}\n[sweep]\n"links.bottleneck.buffer" = ["20 packets", "40 packets"]\n')
    Path("folder").mkdir()
    Path("folder.png").mkdir()
    os.mkfifo("pipe")
    with Path("huge.toml").open("wb") as file:
        file.truncate(100_000_000)
    Path("binary.toml").write_bytes(b"\xff\xfe\x00")
    Path("empty.toml").touch()
    Path("loop.toml").symlink_to("loop.toml")
    Path("nowhere").symlink_to("nobody")
    there = sorted(tmp_path.iterdir())

    def run(*arguments: str) -> str:
        monkeypatch.setattr("sys.argv", ["fullpipe", *arguments])
        status = _status()
        out, err = capfd.readouterr()
        assert (status, out) == (2, ""), err
        assert err.endswith("\n")
        assert err[:-1].isprintable()
        assert err.startswith("fullpipe: ")
        assert len(err) < 2200
        assert sorted(tmp_path.iterdir()) == there
        return err

    return run


@pytest.mark.parametrize("command", OF_FILES)
def test_every_kind_of_file(refused: Refused, command: str) -> None:
    for file, why in FILES.items():
        line = refused(*(file if word == "FILE" else word for word in OF_FILES[command]))
        assert why in line, file[:20]


@pytest.mark.parametrize("command", DELIVERING)
def test_every_kind_of_place(refused: Refused, command: str) -> None:
    for kind, options in PLACES.items():
        line = refused(*DELIVERING[command], *options)
        assert printable(options[1])[:100] in line, kind


def test_every_kind_of_word(refused: Refused) -> None:
    for words in WORDS:
        refused(*words)


def test_what_an_option_makes_wrong_in_a_sweep_is_said_of_the_option(program: Program, tmp_path: Path) -> None:
    (tmp_path / "sweep.toml").write_text(SMALL + "[sweep]\nseed = [1, 2]\n")
    check(program("sweep", "sweep.toml", "--set", "links.0.rate=1"), "fullpipe: --set links.0.rate=1: links[0].rate: ")


def test_a_sweep_that_is_run_is_pointed_to_its_command(program: Program, tmp_path: Path) -> None:
    (tmp_path / "sweep.toml").write_text(SMALL + "[sweep]\nseed = [1, 2]\n")
    check(program("run", "sweep.toml"), "sweep: a table for `fullpipe sweep`")


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda s: fullpipe.compare(s, "cubic"), r"algorithms must be a list such as \['cubic'\], got 'cubic'"),
        (
            lambda s: fullpipe.compare(s, {"name": "cubic"}),
            r"algorithms must be a list such as .*, got {'name': 'cubic'}",
        ),
        (lambda s: fullpipe.duel(s, "cubic"), r"algorithms must be a list such as .*, got 'cubic'"),
        (
            lambda s: fullpipe.duel(s, ["reno", "cubic"], buffers="1 BDP"),
            r"buffers must be a list such as .*, got '1 BDP'",
        ),
        (
            lambda _: fullpipe.size("1 Mbit/s", "20 ms", flows=[1], target=[0.9], algorithms="reno"),
            r"algorithms must be a list such as .*, got 'reno'",
        ),
        (
            lambda _: fullpipe.size("1 Mbit/s", "20 ms", flows=[1], target="0.9", algorithms=["reno"]),
            r"target must be a list such as .*, got '0.9'",
        ),
        (lambda s: fullpipe.run_many([s, s]), "scenarios must be a dictionary such as .*, got a list"),
    ],
)
def test_one_where_several_are_asked_for(ask: Callable[[Scenario], object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        ask(Scenario.loads(SMALL))


def test_a_playground_that_cannot_be_written_is_refused(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(program("bench", "--out", "no/page.html"), "directory no does not exist")
    check(program("bench", "--out", "."), "must be a file, got a directory")
    # As on a file system that is mounted to be read.
    monkeypatch.setattr("fullpipe._util.files.os.access", lambda *_: False)
    with pytest.raises(InputError, match=r"page\.html: the directory .* can't be written"):
        fullpipe_command.main(["bench", "--out", str(tmp_path / "page.html")], standalone_mode=False)
    assert not list(tmp_path.iterdir())
