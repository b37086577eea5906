"""Faults 5 to 8: code and files of strangers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

from .build import OWN, SMALL, Build, peak_of

MODULES = ("queue", "numpy", "pyarrow", "matplotlib", "json", "cloudpickle", "typing", "click", "own", "sitecustomize")


def folder_modules(build: Build) -> str:
    """5. Modules and a `matplotlibrc` in the current folder, while interpreted algorithms run in processes."""
    trace = build.folder.parent / f"{build.folder.name}-trace"
    build.write(small__toml=SMALL, matplotlibrc="text.usetex: True\nbackend: none\n")
    for name in MODULES:
        (build.folder / f"{name}.py").write_text(f"open({str(trace)!r}, 'a').write({name!r})\n")
    (build.folder.parent / f"{build.folder.name}-own.py").write_text(OWN)
    own = f"../{build.folder.name}-own.py"
    ends = [
        build.run("compare", "small.toml", "--algorithms", f"{own},newreno", "--plot", "p.svg"),
        build.run("evaluate", own, "--only", "grid", "--seeds", "2"),
    ]
    return f"{'run' if trace.exists() else 'not run'} ({', '.join(map(str, ends))})"


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


def links_in_sweep(build: Build) -> str:
    """6. Files outside, where each file of a sweep's directory is a symbolic link to one of them."""
    build.write(sweep__toml=f"{SMALL}\n[sweep]\nseed = [1, 2]\n")
    arguments = ("sweep", "sweep.toml", "--out", "out")
    build.run(*arguments)
    outside = build.folder / "outside"
    outside.mkdir()
    files = [file for file in (build.folder / "out").iterdir() if file.is_file()]
    for file in files:
        (outside / file.name).write_bytes(file.read_bytes() + b" ")
        file.unlink()
        file.symlink_to(outside / file.name)
    before = {file.name: file.read_bytes() for file in outside.iterdir()}
    done = build.run(*arguments)
    after = {file.name: file.read_bytes() for file in outside.iterdir()}
    return f"{'kept' if before == after else 'changed'} ({done})"


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


def escaped(build: Build) -> str:
    """7. `repr` of a result whose engine has an escape character."""
    build.write(small__toml=SMALL)
    build.run("run", "small.toml", "--out", "out")
    (build.folder / "out/.fullpipe-files").unlink(missing_ok=True)
    file = build.folder / "out/result.json"
    file.write_text(file.read_text().replace('"engine": "simulator"', '"engine": "\\u001b[2J"'))
    done = build.python("import fullpipe; print(repr(fullpipe.Result.load('out')))")
    return "printed as it is" if "\x1b" in done.output else "escaped" if done.status == 0 else str(done)
