"""Content identity of custom algorithms: whatever decides a class's behavior changes it, and nothing else does."""

from __future__ import annotations

import importlib
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import fullpipe
from conftest import ROOT, imports_from
from fullpipe import Scenario
from fullpipe.custom.arguments import load_algorithms
from fullpipe.custom.declared import identity_of
from fullpipe.custom.identity import Identity

BODY = """
import math
import random
import time
import numpy as np
import fullpipe
{imports}

KEEP = 0.5
TABLE = {{"a": [1, 2], "b": (0.5, None)}}
NOT_USED = 1

def kept(window, factor=1.0):
    return window * KEEP * factor * len(TABLE)

def made(step):
    def increase(self, w, flow, ack):
        return step / w
    return increase

@fullpipe.algorithm("identified"{options})
class Identified(fullpipe.Classic):
    \"\"\"Documented.\"\"\"

    beta: float = 0.5
    increase = made(1.0)

    def decrease(self, w, flow, signal):
        {line}
        return kept(w)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder that Python imports from."""
    with imports_from(tmp_path):
        yield tmp_path


def identity(folder: Path, *, line: str = "pass", imports: str = "", options: str = "", **replaced: str) -> Identity:
    """Of the class in a file, with words of it replaced."""
    text = BODY.format(line=line, imports=imports, options=options)
    for before, after in replaced.items():
        assert before in text
        text = text.replace(before, after)
    (folder / "own.py").write_text(text)
    importlib.invalidate_caches()
    load_algorithms(str(folder / "own.py"))
    return identity_of(["identified"])


def test_the_same_content_is_the_same_in_every_process(folder: Path) -> None:
    here = identity(folder)
    code = (
        "import sys; from fullpipe.custom.arguments import load_algorithms\n"
        "from fullpipe.custom.declared import identity_of\n"
        "load_algorithms(sys.argv[1]); print(identity_of(['identified']).digest)"
    )
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", code, folder / "own.py"], capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == here.digest
    assert len(here.digest or "") == 32


@pytest.mark.parametrize(
    "replaced",
    [
        {"KEEP = 0.5": "KEEP = 0.95"},
        {"[1, 2]": "[1, 3]"},
        {"(0.5, None)": "(0.5, 0)"},
        {"factor=1.0": "factor=2.0"},
        {"made(1.0)": "made(2.0)"},
        {"beta: float = 0.5": "beta: float = 0.6"},
        {"step / w": "step / w / w"},
        {"KEEP * factor": "KEEP / factor"},
        {"fullpipe.Classic)": "fullpipe.Classic, dict)"},
    ],
    ids=str,
)
def test_what_decides_behavior_changes_it(folder: Path, replaced: dict[str, str]) -> None:
    before = identity(folder)
    after = identity(folder, **replaced)
    assert before.digest != after.digest
    assert identity(folder).digest == before.digest


def test_options_of_the_decorator_change_it(folder: Path) -> None:
    found = [identity(folder, options=each).digest for each in ("", ', recovery="newreno"', ', ecn="accurate"')]
    assert None not in found
    assert len(set(found)) == 3


def test_a_global_that_changes_later_changes_it(folder: Path) -> None:
    before = identity(folder)
    module = next(module for name, module in sys.modules.items() if name.startswith("fullpipe_own_"))
    module = sys.modules[fullpipe.custom.declared._declared["identified"].kind.__module__]
    module.KEEP = 0.9
    after = identity_of(["identified"])
    module.KEEP = 0.5
    assert before.digest == identity_of(["identified"]).digest != after.digest
    module.NOT_USED = 2
    assert identity_of(["identified"]).digest == before.digest


@pytest.mark.parametrize("way", ["import helper", "from helper import gain", "inside"])
def test_a_module_of_ones_own_changes_it(folder: Path, way: str) -> None:
    """Each in a separate process, because a module is loaded once."""
    line = {"import helper": "helper.gain(w)", "from helper import gain": "gain(w)"}.get(way, "import helper")
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from fullpipe.custom.arguments import load_algorithms\n"
        "from fullpipe.custom.declared import identity_of\n"
        "load_algorithms(sys.argv[1] + '/own.py'); print(identity_of(['identified']).digest)"
    )
    (folder / "own.py").write_text(BODY.format(line=line, imports="" if way == "inside" else way, options=""))
    found = []
    for gain in ("1.0", "2.0", "1.0"):
        (folder / "deeper.py").write_text(f"GAIN = {gain}\n")
        (folder / "helper.py").write_text("import deeper\ndef gain(w):\n    return w * deeper.GAIN\n")
        if way == "inside":
            (folder / "helper.py").write_text(f"GAIN = {gain}\n")
        command = [sys.executable, "-B", "-c", code, str(folder)]
        found.append(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())
    assert found[0] == found[2] != found[1]
    assert "None" not in found


def test_a_module_that_a_module_of_ones_own_imports_changes_it(folder: Path) -> None:
    """The class reaches it by a name that is a value, which no bytecode mentions."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from fullpipe.custom.arguments import load_algorithms\n"
        "from fullpipe.custom.declared import identity_of\n"
        "load_algorithms(sys.argv[1] + '/own.py'); print(identity_of(['identified']).digest)"
    )
    line = "getattr(helper, 'gain')(w)"
    (folder / "own.py").write_text(BODY.format(line=line, imports="import helper", options=""))
    (folder / "helper.py").write_text("from deeper import GAIN\ndef gain(w):\n    return w * GAIN\n")
    found = []
    for gain in ("1.0", "2.0", "1.0"):
        (folder / "deeper.py").write_text(f"import helper\nGAIN = {gain}\n")  # a cycle
        command = [sys.executable, "-B", "-c", code, str(folder)]
        found.append(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())
    assert found[0] == found[2] != found[1]
    assert "None" not in found


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_a_library_that_a_library_is_linked_to_changes_it(folder: Path) -> None:
    (folder / "own.c").write_text(
        "double gain(void);\n"
        "int on_ack(double *state, const void *flow, const void *ack) { state[0] += gain(); return 1; }\n"
        "int on_congestion(double *state, const void *flow, long signal) { return 1; }\n"
    )
    (folder / "own.py").write_text(
        "import fullpipe, math\n"
        '@fullpipe.algorithm("linked", library="own.so")\n'
        "class Linked:\n    cwnd: float = 2.0\n    ssthresh: float = math.inf\n"
    )
    code = (
        "import sys; from fullpipe.custom.arguments import load_algorithms\n"
        "from fullpipe.custom.declared import identity_of\n"
        "load_algorithms(sys.argv[1] + '/own.py'); print(identity_of(['linked']).digest)"
    )
    found = []
    for gain in ("1.0", "2.0", "1.0"):
        (folder / "gain.c").write_text(f"double gain(void) {{ return {gain}; }}\n")
        for made in (["libgain.so", "gain.c"], ["own.so", "own.c", "-L.", "-lgain", "-Wl,-rpath,$ORIGIN"]):
            subprocess.run(["cc", "-shared", "-fPIC", "-o", *made], cwd=folder, check=True)
        command = [sys.executable, "-c", code, str(folder)]
        found.append(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())
    assert found[0] == found[2] != found[1]
    assert "None" not in found


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("open('parameters.txt').read()", "Identified.decrease calls open"),
        ("time.time()", "time, whose state is outside"),
        ("random.random()", "random, whose state is outside"),
        ("np.loadtxt('x')", "files or shared random numbers of NumPy"),
        ("np.random.rand()", "files or shared random numbers of NumPy"),
        ("eval('1')", "calls eval"),
        ("globals()['KEEP']", "calls globals"),
        ("import no_such_module", "imports no_such_module, which is not there"),
    ],
)
def test_code_that_reads_outside_state_has_none(folder: Path, line: str, why: str) -> None:
    found = identity(folder, line=line)
    assert found.digest is None
    assert why in found.why
    assert "'identified'" in found.why


@pytest.mark.parametrize("line", ["math.sqrt(w)", "np.sqrt(w)", "random.Random(3).random()", "print(w)"])
def test_installed_packages_are_known_by_their_versions(folder: Path, line: str) -> None:
    assert identity(folder, line=line).digest is not None


def test_objects_are_known_by_their_parts(folder: Path) -> None:
    def of(value: object) -> str | None:
        @fullpipe.algorithm("with-object")
        class WithObject(fullpipe.Classic):
            _value = value

            def increase(self, w, flow, ack):  # type: ignore[no-untyped-def]  # noqa: ARG002
                return 1 / w

            def decrease(self, w, flow, signal):  # type: ignore[no-untyped-def]  # noqa: ARG002
                return w / 2

        return identity_of(["with-object"]).digest

    assert of(np.arange(3)) == of(np.arange(3)) != of(np.arange(4))
    assert of(random.Random(1)) == of(random.Random(1)) != of(random.Random(2))
    assert of({3, 1}) == of({1, 3}) != of({1, 4})
    cyclic: list[object] = [1]
    cyclic.append(cyclic)
    assert of(cyclic) is not None
    assert of(i for i in range(3)) is None
    assert folder


def test_a_changed_global_is_seen_by_run_and_by_run_many(folder: Path) -> None:
    """Processes once took the pickle of the first run."""
    identity(folder)
    module = sys.modules[fullpipe.custom.declared._declared["identified"].kind.__module__]
    scenario = Scenario(
        duration="5 s",
        links=[{"name": "l", "rate": "10 Mbit/s", "delay": "10 ms", "buffer": "10 packets"}],
        flows=[{"algorithm": "identified"}],
    )
    goodputs = []
    for keep in (0.5, 0.25):
        module.KEEP = keep
        alone = fullpipe.run(scenario).flows["goodput_bps"].to_pylist()
        many = fullpipe.run_many({1: scenario, 2: scenario}, workers=2)
        assert [result.flows["goodput_bps"].to_pylist() for result in many.values()] == [alone, alone]
        goodputs.append(alone)
    assert goodputs[0] != goodputs[1]


PACKETS = """
import fullpipe
from window import START

CUT = 0.5

@fullpipe.packet_algorithm("packets")
class Packets:
    window = START

    def on_packets_acked(self, path, acked, rtt):
        self.window += acked.bytes_total

    def on_packets_lost(self, path, lost, persistent):
        self.window = max(int(self.window * CUT), 2 * path.datagram)

    def window_bytes(self):
        return self.window
"""


def test_packet_level_class_is_known_by_its_content_and_the_files_that_it_imports(folder: Path) -> None:
    code = (
        "import sys; sys.path.insert(0, '.'); from fullpipe.custom.arguments import load_algorithms\n"
        "from fullpipe.custom.declared import identity_of\n"
        "load_algorithms('own.py'); print(identity_of(['packets']).digest)"
    )

    def digest(text: str, start: int) -> str:
        (folder / "own.py").write_text(text)
        (folder / "window.py").write_text(f"START = {start}\n")
        command = [sys.executable, "-B", "-c", code]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.strip()

    first = digest(PACKETS, 14720)
    changed = [
        digest(PACKETS.replace("CUT = 0.5", "CUT = 0.7"), 14720),
        digest(PACKETS.replace('"packets")', '"packets", group="delay")'), 14720),
        digest(PACKETS, 29440),
    ]
    assert digest(PACKETS, 14720) == first
    assert len({first, *changed, "None"}) == 5


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_packet_level_library_is_known_by_its_bytes_and_those_it_is_linked_to(folder: Path) -> None:
    source = (ROOT / "examples/packet_aimd.c").read_text()
    code = (
        "from fullpipe.custom.arguments import load_algorithms\n"
        "from fullpipe.custom.declared import identity_of\n"
        "load_algorithms('./libown.so:c-aimd'); print(identity_of(['c-aimd']).digest)"
    )

    def digest(divisor: int, gain: int) -> str:
        changed = source.replace("s->window / 2 >", f"s->window / {divisor} / gain() >")
        assert changed != source
        (folder / "own.c").write_text("unsigned gain(void);\n" + changed)
        (folder / "gain.c").write_text(f"unsigned gain(void) {{ return {gain}; }}\n")
        include = f"-I{ROOT / 'python/fullpipe/include'}"
        for made in (["libgain.so", "gain.c"], ["libown.so", "own.c", include, "-L.", "-lgain", "-Wl,-rpath,$ORIGIN"]):
            subprocess.run(["cc", "-shared", "-fPIC", "-o", *made], cwd=folder, check=True)
        command = [sys.executable, "-c", code]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.strip()

    first = digest(2, 1)
    assert digest(2, 1) == first
    assert len({first, digest(3, 1), digest(2, 2), "None"}) == 4
