"""Random sample of mutants over Python, Rust and TypeScript. It finds edits of the code that pass all tests.

A mutant is one edit of an operator, constant or name outside of comments and text, in a copy of the repository. The
tests of the file's room run on it. The sample depends on the seed and the files alone. Results are one JSON object per
line. A second run with that file continues. For example:

    .venv/bin/python tests/mutants/sample.py --count 300 --out out/mutants.jsonl
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent

CPU_S = 100
"""Processor time limit of each process of the tests of one mutant, seconds. Tests that exceed it count as failed."""

BUILD_CPU_S = 1000
"""Processor time limit of each process of a build, seconds."""

BUILD_WAITS_S = 3000
"""Wall time limit of a build, seconds."""

MEMORY_BYTES = 4_000_000_000
"""Memory limit of each process. An endless loop may allocate without end."""


@dataclass(frozen=True)
class Room:
    """Files that one command tests.

    Attributes:
        files: Paths or patterns below the repository.
        tests: Command, run in `folder`.
        share: Part of the sample.
        builds: Command that must succeed before the tests; a mutant that fails it does not count. None builds nothing.
        folder: Folder below the copy.
        by_module: Only tests of the mutant's own Rust module are run, for crates whose tests together take minutes.
        waits_s: Wall time limit of the tests of one mutant, seconds. A busy machine must not reach it.
    """

    files: tuple[str, ...]
    tests: tuple[str, ...]
    share: float
    builds: tuple[str, ...] | None = None
    folder: str = "."
    by_module: bool = False
    waits_s: int = 600


def _pytest(*files: str) -> tuple[str, ...]:
    return (sys.executable, "-P", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *files)


def _cargo(package: str, *build: str) -> tuple[str, ...]:
    return ("cargo", "test", "--locked", "--quiet", "--package", package, "--lib", *build)


PACKAGE = "python/fullpipe/"

ROOMS: dict[str, Room] = {
    "files": Room((PACKAGE + "_util/files.py", PACKAGE + "_util/folder.py"), _pytest("tests/unit/test_files.py"), 0.06),
    "identity": Room(
        (PACKAGE + "custom/identity.py",),
        _pytest("tests/unit/test_identity_values.py", "tests/unit/test_identity.py"),
        0.08,
    ),
    "store": Room((PACKAGE + "runs/store.py",), _pytest("tests/unit/test_store.py"), 0.06),
    "inputs": Room(
        (PACKAGE + "_util/inputs.py",),
        _pytest("tests/integration/test_input_limits.py", "tests/integration/test_inputs.py"),
        0.06,
    ),
    "units": Room(
        (PACKAGE + "scenario/quantity.py",), _pytest("tests/unit/test_units.py", "tests/unit/test_memory.py"), 0.03
    ),
    "comparison": Room(
        (PACKAGE + "experiments/compare.py", PACKAGE + "experiments/comparison.py"),
        _pytest("tests/unit/test_comparison.py", "tests/unit/test_tables.py"),
        0.06,
    ),
    "judging": Room(
        (PACKAGE + "experiments/evaluate/judging.py", PACKAGE + "experiments/evaluate/rules.py"),
        _pytest("tests/unit/test_evaluate_judging.py", "tests/unit/test_evaluate_rules.py"),
        0.08,
    ),
    "duel": Room((PACKAGE + "experiments/duel.py",), _pytest("tests/unit/test_duel.py"), 0.05),
    "transfers": Room((PACKAGE + "runs/transfers.py",), _pytest("tests/unit/test_transfers.py"), 0.02),
    "pool": Room(
        (PACKAGE + "engine/pool.py", PACKAGE + "engine/memory.py"),
        _pytest("tests/unit/test_pool.py", "tests/unit/test_memory.py"),
        0.03,
    ),
    "rows": Room((PACKAGE + "reproduce/rows.py",), _pytest("tests/unit/test_measured_rows.py"), 0.03),
    "tables": Room(
        (PACKAGE + "engine/tables.py", PACKAGE + "runs/figures.py", PACKAGE + "experiments/sweep/table.py"),
        _pytest("tests/unit/test_rows.py", "tests/unit/test_tables.py", "tests/unit/test_result.py"),
        0.03,
    ),
    "playground": Room(
        ("web/src/format.ts", "web/src/toml.ts", "web/src/link.ts", "web/src/colours.ts"),
        # A test may wait for an event that never comes.
        ("sh", "-c", "exec node --test --test-timeout=60000 ../target/web-test/test/*.test.js"),
        0.17,
        builds=("node_modules/.bin/tsc", "-p", "tsconfig.test.json"),
        folder="web",
        waits_s=200,
    ),
    "algorithms": Room(
        tuple(f"crates/cc/src/{part}/**/*.rs" for part in ("algorithms", "parts", "slow_start", "packets")),
        _cargo("fullpipe-cc", "--test=registry", "--test=properties"),
        0.14,
        builds=_cargo("fullpipe-cc", "--test=registry", "--test=properties", "--no-run"),
    ),
    "simulator": Room(
        (
            "crates/sim/src/network/discipline/**/*.rs",
            "crates/sim/src/transport/**/*.rs",
            "crates/sim/src/report/percentiles.rs",
            "crates/sim/src/memory.rs",
            "crates/sim/src/ring.rs",
        ),
        _cargo("fullpipe-sim"),
        0.1,
        builds=_cargo("fullpipe-sim", "--no-run"),
        by_module=True,
    ),
}

EDITS: list[tuple[str, list[str]]] = [
    (r"(?<![<>=!-])<=(?!=)", ["<"]),
    (r"(?<![<>=!-])>=(?!=)", [">"]),
    (r"(?<= )<(?= )", ["<="]),
    (r"(?<= )>(?= )", [">="]),
    (r"===|==", ["!="]),
    (r"!==|!=", ["=="]),
    (r"(?<= )\+(?= )", ["-"]),
    (r"(?<= )-(?= )", ["+"]),
    (r"(?<= )\*(?= )", ["/"]),
    (r"(?<= )/(?= )", ["*"]),
    (r"(?<= )(?:\+=)(?= )", ["-="]),
    (r"(?<= )(?:-=)(?= )", ["+="]),
    (r"&&|\band\b", ["||", "or"]),
    (r"\|\||(?<=\w )or(?= )", ["&&", "and"]),
    (r"\bnot (?!in\b)|(?<=[ (])!(?=[a-z(])", [""]),
    (r"\bTrue\b|\btrue\b", ["false", "False"]),
    (r"\bFalse\b|\bfalse\b", ["true", "True"]),
    (r"\bmin\b(?=\()", ["max"]),
    (r"\bmax\b(?=\()", ["min"]),
    (r"(?<![\w.#\"'])\d+(?:\.\d+)?(?![\w.])", ["number"]),
    (r"\bbreak\b(?=;|$)", ["continue"]),
    (r"\bis not None\b", ["is None"]),
    (r"\bis None\b", ["is not None"]),
]
"""Patterns and their replacements: for Rust and TypeScript, then for Python where it differs."""

QUIET = re.compile(
    r'"""[\s\S]*?"""|\'\'\'[\s\S]*?\'\'\'|#\[[^\n]*|//[^\n]*|/\*[\s\S]*?\*/|(?m:#(?!\[)[^\n]*$)|'
    r'"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`|\'(?:[^\'\\\n]|\\.)\'|(?m:^\s*(?:import|from|use|assert|debug_assert|@\w)[^\n]*$)|->|=>'
)
"""Comments, text, attributes, decorators and imports, which are not changed."""


@dataclass(frozen=True)
class Mutant:
    """One edit: bytes `start` to `end` of a file become `new`."""

    room: str
    file: str
    start: int
    end: int
    new: str


def code_of(path: Path) -> str:
    """Text of a file in which spaces replace comments, strings, and the tests of a Rust file."""
    text = path.read_text()
    if path.suffix == ".rs":
        tests = text.find("#[cfg(test)]\nmod ")
        text = text[:tests] if tests >= 0 else text
    return QUIET.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def mutants_of(room: str, path: Path) -> list[Mutant]:
    """All edits of a file."""
    code, found = code_of(path), []
    python = path.suffix == ".py"
    for pattern, news in EDITS:
        for place in re.finditer(pattern, code, re.MULTILINE):
            new = news[-1] if python else news[0]
            if new == "number":
                new = str(float(place[0]) + 1) if "." in place[0] else str(int(place[0]) + 1)
            found.append(Mutant(room, str(path.relative_to(ROOT)), place.start(), place.end(), new))
    return found


def is_test(path: Path) -> bool:
    """Whether a Rust file has test code only."""
    if any(part.endswith("_tests") for part in path.parts):
        return True
    return path.name in ("tests.rs", "testing.rs", "random_arrivals.rs") or path.name.endswith("_tests.rs")


def sample(count: int, seed: int) -> list[Mutant]:
    """Mutants of all rooms in proportion to their shares."""
    chosen = []
    for name, room in ROOMS.items():
        paths = sorted({path for pattern in room.files for path in ROOT.glob(pattern)})
        if not paths:
            raise SystemExit(f"{name}: no files (expected: {', '.join(room.files)})")
        every = [mutant for path in paths if not is_test(path) for mutant in mutants_of(name, path)]
        draw = random.Random(f"{seed} {name}")
        chosen += draw.sample(every, min(round(room.share * count), len(every)))
    return chosen


def copy_tree(target: Path) -> None:
    """Copies the committed files, the built extension, and the modules of the page."""
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True).stdout
    for name in files.split("\0"):
        if name and (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, target / name)
    for extension in (ROOT / "python/fullpipe").glob("_core*.so"):
        shutil.copy(extension, target / "python/fullpipe")
    if (ROOT / "web/node_modules").is_dir():
        (target / "web/node_modules").symlink_to(ROOT / "web/node_modules")


def module_of(file: str) -> str:
    """Path of a Rust module within its crate, for `cargo test`; all modules of a transport share their tests."""
    parts = file.partition("/src/")[2].removesuffix(".rs").removesuffix("/mod").split("/")
    return parts[0] if parts[0] == "transport" else "::".join(parts)


def tests_of(mutant: Mutant) -> tuple[str, ...]:
    """Command that tests a mutant."""
    room = ROOMS[mutant.room]
    return (*room.tests, module_of(mutant.file)) if room.by_module else room.tests


def succeeds(command: tuple[str, ...], folder: Path, tree: Path, waits_s: int, cpu_s: int = CPU_S) -> bool:
    """Runs a command with the code of the copy; true for exit status 0 before the limits of wall and processor time."""
    environment = os.environ | {
        "PYTHONPATH": str(tree / "python"),
        "CARGO_TARGET_DIR": str(tree / "target"),
        "CARGO_PROFILE_DEV_DEBUG": "false",
        # Compiling takes longer than the tests.
        "CARGO_PROFILE_DEV_OPT_LEVEL": "0",
        "CARGO_INCREMENTAL": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PROPTEST_CASES": "32",
    }
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(
        command, cwd=folder, env=environment, start_new_session=True, preexec_fn=lambda: _limit(cpu_s), **quiet
    ) as process:
        try:
            return process.wait(waits_s) == 0
        except subprocess.TimeoutExpired:
            return False
        finally:
            # Test runners start child processes, which can outlive them.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def _limit(cpu_s: int) -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s))


def built(room: Room, tree: Path) -> bool:
    """Whether the code of a room compiles."""
    return room.builds is None or succeeds(room.builds, tree / room.folder, tree, BUILD_WAITS_S, BUILD_CPU_S)


def judge(mutant: Mutant, tree: Path) -> str:
    """Outcome of a mutant: "noticed", "survived", or "no code" if it does not compile."""
    room, path = ROOMS[mutant.room], tree / mutant.file
    original = path.read_text()
    path.write_text(original[: mutant.start] + mutant.new + original[mutant.end :])
    try:
        if not built(room, tree):
            return "no code"
        return "survived" if succeeds(tests_of(mutant), tree / room.folder, tree, room.waits_s) else "noticed"
    finally:
        path.write_text(original)


def check_clean(mutants: list[Mutant], tree: Path) -> None:
    """Builds the rooms and runs their tests on the code as it is.

    Raises:
        SystemExit: A room's tests fail.
    """
    for name in sorted({mutant.room for mutant in mutants}):
        room = ROOMS[name]
        if not built(room, tree):
            raise SystemExit(f"{name}: it cannot be built without any mutant")
    for name, command in sorted({(mutant.room, tests_of(mutant)) for mutant in mutants}):
        if not succeeds(command, tree / ROOMS[name].folder, tree, ROOMS[name].waits_s):
            raise SystemExit(f"{name}: its tests fail without any mutant ({' '.join(command)})")


def main() -> None:
    """Runs the sample."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--room", action="append", choices=list(ROOMS), help="only these rooms")
    parser.add_argument("--out", type=Path, required=True, help="one JSON object a line")
    parser.add_argument("--again", action="store_true", help="try the survivors of the file again")
    parser.add_argument("--least", type=float, help="exit with 1 where a smaller part is noticed")
    given = parser.parse_args()
    given.out.parent.mkdir(parents=True, exist_ok=True)
    lines = given.out.read_text().splitlines() if given.out.exists() else []
    done = [json.loads(line) for line in lines]
    if given.again:
        done = [row for row in done if row["outcome"] != "survived"]
        given.out.write_text("".join(json.dumps(row) + "\n" for row in done))
    known = {(row["file"], row["start"], row["new"]) for row in done}
    mutants = [mutant for mutant in sample(given.count, given.seed) if not given.room or mutant.room in given.room]
    with tempfile.TemporaryDirectory() as place:
        tree = Path(place)
        copy_tree(tree)
        check_clean(mutants, tree)
        for mutant in mutants:
            if (mutant.file, mutant.start, mutant.new) in known:
                continue
            begun = time.monotonic()
            outcome = judge(mutant, tree)
            text = (ROOT / mutant.file).read_text()
            line = text.count("\n", 0, mutant.start) + 1
            row = mutant.__dict__ | {"line": line, "old": text[mutant.start : mutant.end], "outcome": outcome}
            row["code"] = text.splitlines()[line - 1].strip()
            done.append(row)
            with given.out.open("a") as file:
                file.write(json.dumps(row) + "\n")
            place = f"{mutant.file}:{line}: {row['old']!r} -> {mutant.new!r}"
            print(f"{outcome:9} {time.monotonic() - begun:5.1f} s  {place}", flush=True)
    counts = Counter((row["room"], row["outcome"]) for row in done)
    for name in ROOMS:
        noticed, survived = counts[name, "noticed"], counts[name, "survived"]
        print(f"{name:12} {noticed} of {noticed + survived} noticed; {counts[name, 'no code']} do not compile")
    noticed = sum(row["outcome"] == "noticed" for row in done)
    survived = sum(row["outcome"] == "survived" for row in done)
    print(f"together {noticed} of {noticed + survived}")
    if given.least is not None and noticed < given.least * (noticed + survived):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
