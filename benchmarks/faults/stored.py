"""Faults 1 to 4: identity of algorithms, caches, and stored results."""

from __future__ import annotations

import shutil
import time

from .build import OWN, ROOT, SMALL, Build


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


def changed_library(build: Build) -> str:
    """1. Cards of a class before and after its shared library is built again."""
    from test_crashes import LIBRARY
    from test_crashes import OWN as CLASS

    build.write(own__py=CLASS)
    arguments = ("evaluate", "own.py", "--only", "grid", "--seeds", "2", "--json")
    cards = []
    for statement in ("state[0] = 4", "state[0] = 40"):
        build.library(LIBRARY.replace("ENDS", statement).replace("return 0", "return 1"))
        done = build.run(*arguments)
        if done.status != 0:
            return f"{done}: {done.errors.strip()[:110]}"
        cards.append(done.output)
    return "first card shown again" if cards[0] == cards[1] else "new card"


def resumed_sweep(build: Build) -> str:
    """1. A sweep that is killed, and started again after a module constant has changed."""
    build.write(own__py=OWN)
    axes = '[sweep]\nrepeats = 40\n"flows.algorithm" = ["own-aimd", "newreno"]\n'
    build.write(sweep__toml=f"{SMALL.replace('20 s', '500 s')}\n{axes}")
    arguments = ("sweep", "sweep.toml", "--load", "own.py", "--out", "out")
    process = build.start(*arguments)
    begun = time.monotonic()
    while not (build.folder / "out").exists() and time.monotonic() - begun < 60:
        time.sleep(0.1)
    time.sleep(8)
    process.kill()
    process.communicate()
    build.write(own__py=OWN.replace("KEEP = 0.5", "KEEP = 0.95"))
    done = build.run(*arguments)
    what = "rows of both" if done.status == 0 else done.errors.strip()[:120]
    return f"{done}: {what}"


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


OBJECTS = """
import fullpipe, sys
names = sys.argv[1:]
comparison = fullpipe.compare("small.toml", names, seeds=2)
comparison.save("out")
again = fullpipe.Comparison.load("out")
print(all(comparison.results[name].to_json() == again.results[name].to_json() for name in comparison.results))
"""


def alike_objects(build: Build) -> str:
    """4. Saved comparison of the object files `a/b.bpf.o` and `a_b.bpf.o`."""
    return _compared(build, "a/b.bpf.o", "a_b.bpf.o")


def long_paths(build: Build) -> str:
    """4. Saved comparison of an object file with a path of 300 characters."""
    return _compared(build, "/".join(letter * 97 for letter in "xyz") + "/b.bpf.o", "c.bpf.o")


def _compared(build: Build, first: str, second: str) -> str:
    build.write(small__toml=SMALL)
    objects = ROOT / "python/fullpipe/linux/objects"
    for name, content in ((first, "hyun_jang"), (second, "ehstcp")):
        (build.folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(objects / f"{content}.bpf.o", build.folder / name)
    done = build.python(OBJECTS, first, second)
    return {"True": "both results come back", "False": "one result in two places"}.get(done.output.strip(), str(done))
