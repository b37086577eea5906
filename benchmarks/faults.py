"""Faults of caches and of foreign files: the behavior of one or two builds on the input of each.

Each probe runs in a new folder with the build's program and Python. The script prints a table. For example, with an
older build in another directory:

    .venv/bin/python benchmarks/faults.py ../older/.venv .venv
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path += [str(ROOT / "tests"), str(ROOT / "tests/integration")]

HANGS_S = 300
"""Wall time limit of a command, seconds."""

SMALL = """
duration = "20 s"
packet_size = "1500 B"
seed = 1

[[links]]
name = "bottleneck"
rate = "10 Mbit/s"
delay = "10 ms"
buffer = "40 packets"

[[flows]]
algorithm = "newreno"
count = 2
"""

OWN = """
import fullpipe
KEEP = 0.5
@fullpipe.algorithm("own-aimd")
class OwnAimd(fullpipe.Classic):
    def increase(self, w, flow, ack):
        return 1 / w
    def decrease(self, w, flow, signal):
        return w * KEEP
"""

OF_LIBRARY = """
import fullpipe, math
@fullpipe.algorithm("crashing", library="./own.so")
class Crashing:
    cwnd: float = 2.0
    ssthresh: float = math.inf
"""


@dataclass(frozen=True)
class Ended:
    """Ending of a command.

    Attributes:
        status: Exit status; negative for a signal; None where it exceeded `HANGS_S`.
        output: Standard output.
        errors: Standard error.
        wall_s: Wall time, seconds.
    """

    status: int | None
    output: str
    errors: str
    wall_s: float

    def __str__(self) -> str:
        lines = self.errors.splitlines()
        if self.status is None:
            return f"no end within {HANGS_S} s"
        if "Traceback" in self.errors:
            return f"traceback ({lines[-1].partition(':')[0]})"
        if self.status < 0:
            return f"ended by signal {-self.status}"
        return f"{len(lines)} line{'' if len(lines) == 1 else 's'}, exit {self.status}"


@dataclass(frozen=True)
class Build:
    """Program of one build, used in one folder.

    Attributes:
        environment: Directory of the virtual environment.
        folder: Current directory of all commands.
    """

    environment: Path
    folder: Path

    def run(self, *arguments: str, limit_bytes: int = 4_000_000_000) -> Ended:
        """Ending of the program with these arguments, in an address space of limited size."""
        return self._end([str(self.environment / "bin/fullpipe"), *arguments], limit_bytes)

    def python(self, code: str, *arguments: str, limit_bytes: int = 6_000_000_000) -> Ended:
        """Ending of Python code that imports the build's package."""
        return self._end([str(self.environment / "bin/python"), "-P", "-c", code, *arguments], limit_bytes)

    def write(self, **files: str) -> None:
        """Text files by name; ``__`` stands for the dot."""
        for name, text in files.items():
            (self.folder / name.replace("__", ".")).write_text(text)

    def _end(self, command: list[str], limit_bytes: int) -> Ended:
        begun = time.monotonic()
        limit = (limit_bytes, limit_bytes)
        process = subprocess.Popen(
            command,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env=os.environ | {"XDG_CACHE_HOME": str(self.folder / "cache")},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, limit),
        )
        try:
            output, errors = process.communicate(timeout=HANGS_S)
        except subprocess.TimeoutExpired:
            process.kill()
            output, errors = process.communicate()
            return Ended(None, output, errors, time.monotonic() - begun)
        return Ended(process.returncode, output, errors, time.monotonic() - begun)


def changed_constant(build: Build) -> str:
    """1. Cards of a class before and after a module constant changes."""
    build.write(own__py=OWN)
    arguments = ("evaluate", "own.py", "--only", "grid", "--seeds", "2", "--json")
    first = build.run(*arguments)
    build.write(own__py=OWN.replace("KEEP = 0.5", "KEEP = 0.95"))
    second = build.run(*arguments)
    if first.status != 0 or second.status != 0:
        return f"{first}; {second}"
    return "first card shown again" if first.output == second.output else "new card"


CORRUPTIONS = """
import json, random, shutil, sys, pathlib, fullpipe, warnings
draw = random.Random(7)
def card(cache):
    return fullpipe.evaluate("newreno", only=["iot"], seeds=2, cache=cache).to_json()
right = card("whole")
file = max(pathlib.Path("whole").rglob("*"), key=lambda path: path.is_file() and path.stat().st_size)
content = file.read_bytes()
digits = [at for at, byte in enumerate(content) if 48 <= byte < 58]
ends = {"same": 0, "wrong": 0, "failed": 0}
for number in range(90):
    changed = bytearray(content)
    kind = number % 3
    if kind == 0:
        changed[draw.randrange(len(changed))] = draw.choice([0xff, 0x00, 0x80])
    elif kind == 1:
        at = draw.choice(digits)
        changed[at] = 48 + (changed[at] - 47) % 10
    else:
        at = draw.randrange(len(changed))
        end = changed.find(10, at)
        changed[at : end if 0 <= end < at + 4000 else at + 4000] = draw.choice([b"1", b"null", b""])
    shutil.rmtree("broken", ignore_errors=True)
    shutil.copytree("whole", "broken")
    (pathlib.Path("broken") / file.relative_to("whole")).write_bytes(changed)
    try:
        ends["same" if card("broken") == right else "wrong"] += 1
    except Exception:
        ends["failed"] += 1
print(ends["same"], ends["failed"], ends["wrong"])
"""


def corrupted_cache(build: Build) -> str:
    """2. Cards from an evaluate cache with 90 corruptions."""
    done = build.python(CORRUPTIONS)
    if done.status != 0:
        return str(done)
    same, failed, wrong = done.output.split()
    return f"{same} same card, {failed} failures, {wrong} wrong cards"


KILLED_SAVE = """
import os, sys, fullpipe
result = fullpipe.run(sys.argv[1], seed=2)
left = int(sys.argv[2])
def watch(event, _):
    global left
    if event == "os.rename":
        left -= 1
        if left < 0:
            os._exit(7)
sys.addaudithook(watch)
result.save("out")
"""

LOADED = """
import fullpipe, json, sys
try:
    result = fullpipe.Result.load("out")
except fullpipe.FullpipeError:
    print("refused")
else:
    def shown(one):
        tables = one.flows, one.links, one.series
        return one.scenario.to_dict()["seed"], *(repr(table.to_pylist()) for table in tables)
    fits = [shown(result) == shown(fullpipe.run("small.toml", seed=seed)) for seed in (1, 2)]
    print("whole" if any(fits) else "mixture")
"""


def killed_save(build: Build) -> str:
    """3. Result directories after a kill between two renames."""
    build.write(small__toml=SMALL)
    counts = {"whole": 0, "refused": 0, "mixture": 0}
    for number in range(12):
        shutil.rmtree(build.folder / "out", ignore_errors=True)
        done = build.run("run", "small.toml", "--out", "out")
        if done.status != 0:
            return str(done)
        killed = build.python(KILLED_SAVE, "small.toml", str(number))
        loaded = build.python(LOADED).output.strip()
        counts[loaded if loaded in counts else "refused"] += 1
        if killed.status != 7:
            break
    return f"{counts['mixture']} mixtures accepted, {counts['refused']} refused, {counts['whole']} whole"


LABELS = """
import fullpipe
base = {"name": "vegas", "alpha": 2.0, "beta": 4.0}
algorithms = [{**base, "gamma": 1.0 + number * 1e-9} for number in range(2)]
names = ["a" * 70 + end for end in ("x", "y")]
def declared(name, keep):
    @fullpipe.algorithm(name)
    class Own(fullpipe.Classic):
        def increase(self, w, flow, ack):
            return 1 / w
        def decrease(self, w, flow, signal):
            return w * keep
    return name
names = [declared(name, keep) for name, keep in zip(names, (0.5, 0.9))]
comparison = fullpipe.compare("small.toml", names, seeds=2)
comparison.save("out")
again = fullpipe.Comparison.load("out")
print(sorted(r.to_json() for r in comparison.results.values()) == sorted(r.to_json() for r in again.results.values()))
"""


def equal_labels(build: Build) -> str:
    """4. Saved comparison of two algorithms whose names share 70 characters."""
    build.write(small__toml=SMALL)
    done = build.python(LABELS)
    return {"True": "both results come back", "False": "one result in two places"}.get(done.output.strip(), str(done))


def folder_modules(build: Build) -> str:
    """5. `queue.py` in the current folder, while an interpreted algorithm runs in two processes."""
    trace = build.folder.parent / f"{build.folder.name}-trace"
    build.write(small__toml=SMALL)
    (build.folder / "queue.py").write_text(f"open({str(trace)!r}, 'a').write('x')\n")
    (build.folder.parent / f"{build.folder.name}-own.py").write_text(OWN)
    own = f"../{build.folder.name}-own.py"
    done = build.run("compare", "small.toml", "--algorithms", f"{own},newreno", "--json")
    return f"{'run' if trace.exists() else 'not run'} ({done})"


def links_in_result(build: Build) -> str:
    """6. Files outside that a result directory names behind a symbolic link."""
    build.write(small__toml=SMALL)
    build.run("run", "small.toml", "--out", "out")
    outside = build.folder / "outside"
    outside.mkdir()
    (outside / "victim").write_text("mine")
    (build.folder / "out/link").symlink_to(outside)
    listed = build.folder / "out/.fullpipe-files"
    text = listed.read_text()
    try:
        value = json.loads(text)
        value["files"]["link/victim"] = "0" * 64
        listed.write_text(json.dumps(value))
    except (ValueError, KeyError, TypeError):
        listed.write_text(text.rstrip("\n") + "\nlink/victim\n")
    done = build.run("run", "small.toml", "--out", "out")
    return f"{'kept' if (outside / 'victim').exists() else 'deleted'} ({done})"


def expanding(file: Path) -> None:
    """Table that is small as a file and 8 GB in memory."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    text = pa.DictionaryArray.from_arrays(pa.array([0] * 8000, pa.int32()), pa.array(["x" * 1_000_000]))
    pq.write_table(pa.table({"a": text}), file)


LOADED_RESULT = """
import fullpipe
try:
    print(repr(fullpipe.Result.load("out").series))
except fullpipe.FullpipeError as error:
    print(f"one line: {str(error).partition(': ')[2]}")
finally:
    line = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    print("PEAK", int(line.split()[1]) // 1000)
"""


def result_with(name: str, prepare: Callable[[Path], object]) -> Callable[[Build], str]:
    """7. Result directory in which one file is hostile."""

    def probe(build: Build) -> str:
        build.write(small__toml=SMALL)
        build.run("run", "small.toml", "--out", "out")
        (build.folder / "out/.fullpipe-files").unlink(missing_ok=True)
        (build.folder / "out" / name).unlink()
        prepare(build.folder / "out" / name)
        done = build.python(LOADED_RESULT, limit_bytes=12_000_000_000)
        peak = re.search(r"PEAK (\d+)", done.output)
        first = done.output.splitlines()[0] if done.output.startswith("one line") else str(done)
        return f"{first}, {peak[1] if peak else '?'} MB"

    return probe


def object_sections(build: Build) -> str:
    """8. Object file of 1.3 MB with 4,000 sections over one part of it."""
    from test_object_limits import with_sections_over_the_same_bytes

    (build.folder / "own.bpf.o").write_bytes(with_sections_over_the_same_bytes(4000, 1_000_000))
    build.write(own__toml=SMALL.replace('algorithm = "newreno"', 'algorithm = { object = "own.bpf.o" }'))
    return peak_of(build, "run", "own.toml")


def object_data(build: Build) -> str:
    """8. Object file of 8 kB with 15 MB of data for each of 200 flows, and a limit of 100 MB."""
    from test_object_limits import with_data_of

    (build.folder / "own.bpf.o").write_bytes(with_data_of(15_000_000))
    text = SMALL.replace('algorithm = "newreno"', 'algorithm = { object = "own.bpf.o" }')
    build.write(own__toml=text.replace("count = 2", "count = 200"))
    return peak_of(build, "run", "own.toml", "--memory", "100 MB")


PEAK = """
import sys
try:
    from fullpipe._cli import main
except ImportError:
    from fullpipe.cli import main
sys.argv[0] = "fullpipe"
try:
    main()
finally:
    line = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    print("PEAK", int(line.split()[1]) // 1000, file=sys.stderr)
"""


def peak_of(build: Build, *arguments: str) -> str:
    """Ending of the program and the peak of its memory."""
    done = build.python(PEAK, *arguments, limit_bytes=8_000_000_000)
    found = re.search(r"PEAK (\d+)\n", done.errors)
    rest = Ended(done.status, done.output, re.sub(r"PEAK \d+\n", "", done.errors), done.wall_s)
    return f"{rest}, {found[1] if found else '?'} MB"


PAGE = """
const fs = require("fs");
const source = fs.existsSync(process.argv[1] + "/colours.ts") ? "colours.ts" : "editor.ts";
const text = fs.readFileSync(process.argv[1] + "/" + source, "utf8");
const found = /TOML =\\s*\\n?\\s*\\/([^\\n]*)\\/gm;/.exec(text);
const begun = performance.now();
"\\n".repeat(60000).replace(new RegExp(found[1], "gm"), "x");
console.log(((performance.now() - begun) / 1000).toFixed(2));
"""


def page_expression(build: Build) -> str:
    """10. Expression that colors the playground's text, over 60,000 line breaks."""
    sources = build.environment.resolve().parent / "web/src"
    done = subprocess.run(["node", "-e", PAGE, str(sources)], capture_output=True, text=True, timeout=600, check=False)
    return f"{done.stdout.strip()} s" if done.returncode == 0 else "not measured"


def no_workers(build: Build) -> str:
    """11. `evaluate --dask` with a scheduler that has no workers."""
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--host", "127.0.0.1"]
    command += ["--no-dashboard", "--scheduler-file", str(build.folder / "scheduler.json")]
    scheduler = subprocess.Popen(command, cwd=build.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            if (build.folder / "scheduler.json").exists():
                break
            time.sleep(0.1)
        address = json.loads((build.folder / "scheduler.json").read_text())["address"]
        done = build.run("evaluate", "bbr", "--only", "iot", "--dask", address, limit_bytes=8_000_000_000)
    finally:
        scheduler.kill()
        scheduler.wait()
    return f"{'waits with a line' if done.errors.strip() else 'waits without a line'} ({done.errors.strip()[:80]})"


def crashing_library(command: str, ends: str) -> Callable[[Build], str]:
    """12. Library of a custom algorithm that ends its process."""
    from test_crashes import LIBRARY

    def probe(build: Build) -> str:
        build.write(own__c=LIBRARY.replace("ENDS", ends), own__py=OF_LIBRARY, small__toml=SMALL)
        made = ["cc", "-shared", "-fPIC", "-o", "own.so", "own.c"]
        subprocess.run(made, cwd=build.folder, check=True)
        arguments = {
            "compare": ("compare", "small.toml", "--algorithms", "own.py,newreno"),
            "evaluate": ("evaluate", "own.py", "--only", "grid", "--seeds", "2"),
        }[command]
        done = build.run(*arguments)
        return f"{done}: {done.errors.strip().removeprefix('fullpipe: ')[:90]}" if done.errors.strip() else str(done)

    return probe


def escaped(build: Build) -> str:
    """7. `repr` of a result whose engine has an escape character."""
    build.write(small__toml=SMALL)
    build.run("run", "small.toml", "--out", "out")
    (build.folder / "out/.fullpipe-files").unlink(missing_ok=True)
    file = build.folder / "out/result.json"
    file.write_text(file.read_text().replace('"engine": "simulator"', '"engine": "\\u001b[2J"'))
    done = build.python("import fullpipe; print(repr(fullpipe.Result.load('out')))")
    return "printed as it is" if "\x1b" in done.output else "escaped" if done.status == 0 else str(done)


PROBES: dict[str, Callable[[Build], str]] = {
    "1. `KEEP` of `own.py` changes from 0.5 to 0.95 between two `evaluate`": changed_constant,
    "2. 90 corruptions of the `evaluate` cache": corrupted_cache,
    "3. kill before each rename of `run --out` over an earlier result": killed_save,
    "4. `compare --out` of names that share 70 characters": equal_labels,
    "5. `queue.py` in the current folder": folder_modules,
    "6. `--out` with a symbolic link to a directory outside": links_in_result,
    "7. result whose `result.json` is a FIFO": result_with("result.json", os.mkfifo),
    "7. result whose `result.json` is a link to `/dev/zero`": result_with(
        "result.json", lambda file: file.symlink_to("/dev/zero")
    ),
    "7. result whose `result.json` has 100,000 nested lists": result_with(
        "result.json", lambda file: file.write_text("[" * 100_000)
    ),
    "7. result whose `series.parquet` becomes 8 GB": result_with("series.parquet", expanding),
    "7. `repr` of a result with ESC": escaped,
    "8. object with 4,000 sections over the same bytes": object_sections,
    "8. object with 15 MB of data, 200 flows, `--memory '100 MB'`": object_data,
    "10. text of 60,000 line breaks": page_expression,
    "11. `evaluate --dask` without workers": no_workers,
    "12. SIGSEGV in a library, `compare`": crashing_library("compare", "*(volatile int *)8 = 1"),
    "12. SIGSEGV in a library, `evaluate`": crashing_library("evaluate", "*(volatile int *)8 = 1"),
    "12. `exit(0)` in a library, `evaluate`": crashing_library("evaluate", "exit(0)"),
}
"""Probes by the name that the table has for them."""


def main() -> None:
    """Prints the table of the environments that the command line names; ``--only TEXT`` takes probes with that text."""
    words = sys.argv[1:]
    only = words.pop() if words[-2:-1] == ["--only"] else ""
    environments = [Path(each).absolute() for each in words if each != "--only"]
    if not environments:
        raise SystemExit("faults.py: name at least one virtual environment, for example .venv")
    print("| input |" + "".join(f" {each.parent.name} |" for each in environments))
    print("|---" * (1 + len(environments)) + "|")
    for name, probe in PROBES.items():
        if only not in name:
            continue
        found = []
        for number, environment in enumerate(environments):
            with tempfile.TemporaryDirectory() as place:
                folder = Path(place) / f"folder-{number}"
                folder.mkdir()
                found.append(probe(Build(environment, folder)))
        print(f"| {name} | {' | '.join(found)} |", flush=True)


if __name__ == "__main__":
    main()
