"""A kernel's object file as an algorithm: the examples of docs/guides/kernel-object.md work as shown."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from platform import machine

import pytest
from click.testing import CliRunner

from conftest import ROOT, Program
from fullpipe import Comparison, Scenario, _core, compare, run
from fullpipe._cli import fullpipe_command
from fullpipe._cli.output import words
from fullpipe._util.text import with_params
from fullpipe.errors import InputError, ScenarioError
from fullpipe.experiments.evaluate.cells import CELLS
from fullpipe.experiments.evaluate.preset import Party
from fullpipe.experiments.evaluate.work import needed
from fullpipe.linux import programs
from fullpipe.linux.plan import Plan
from fullpipe.runs.runner import Keys

PAGE = (ROOT / "docs/guides/kernel-object.md").read_text()
REFERENCE = (ROOT / "docs/reference/kernel-object.md").read_text()
OBJECT = ROOT / "crates/kernel/tests/objects/aimd.bpf.o"
BETA = OBJECT.read_bytes().index((1 << 10).to_bytes(4, "little") + (1 << 9).to_bytes(4, "little")) + 4
"""Where the object has `beta_q10`, behind `alpha_q10`: 0.5 and 1 times 2^10."""


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with the page's files."""
    shutil.copy(OBJECT, tmp_path)
    (tmp_path / "aimd.bpf.c").write_text(blocks("c")[0])
    (tmp_path / "aimd.toml").write_text(blocks("toml")[0])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_pages_program_is_the_object(place: Path) -> None:
    assert (place / "aimd.bpf.c").read_text() == OBJECT.with_suffix(".c").read_text()


@pytest.mark.skipif(shutil.which("clang") is None, reason="needs clang")
def test_the_pages_program_compiles_and_runs(place: Path) -> None:
    (place / "aimd.bpf.o").unlink()
    subprocess.run(blocks("sh")[0], shell=True, check=True)
    assert flows(place / "aimd.toml") == flows(_with_object(place, OBJECT))


def flows(scenario: Scenario | Path) -> object:
    return run(scenario).to_dict()["flows"]


def _with_object(place: Path, path: Path) -> Scenario:
    shutil.copy(path, place / "aimd.bpf.o")
    return Scenario.load(place / "aimd.toml")


BOTH = 'aimd.bpf.o,{ name = "vegas", alpha = 2, beta = 4 }'
PIPE = ["size", "--rate", "10 Mbit/s", "--rtt", "20 ms", "--flows", "2", "--target", "0.9", "--seeds", "2"]


@pytest.mark.parametrize(
    "arguments",
    [["compare", "aimd.toml"], ["duel", "aimd.toml", "--seeds", "2"], PIPE],
    ids=["compare", "duel", "size"],
)
def test_every_command_takes_it_and_tables(place: Path, program: Program, arguments: list[str]) -> None:
    (place / "sub").mkdir()
    (place / "aimd.toml").rename(place / "sub" / "aimd.toml")
    shutil.copy(place / "aimd.bpf.o", place / "sub")
    arguments = [one.replace("aimd.toml", "sub/aimd.toml") for one in arguments]
    done = program(*arguments, "--algorithms", BOTH, "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    rows = said["rows"] if "rows" in said else said["runs"]
    assert list(dict.fromkeys(row["algorithm"] for row in rows)) == ["aimd.bpf.o", "vegas (alpha=2, beta=4)"]
    (place / "aimd.bpf.o").unlink()
    refused = program(*arguments, "--algorithms", BOTH)
    assert refused.returncode == 2
    (line,) = refused.stderr.splitlines()
    assert "aimd.bpf.o" in line
    assert "can't be read" in line


@pytest.mark.usefixtures("place")
def test_a_mix_has_it_too(program: Program) -> None:
    done = program(*PIPE, "--algorithms", "./aimd.bpf.o*0.5+reno*0.5", "--json", "--out", "out")
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["rows"]
    (scenario,) = Path("out/scenarios").iterdir()
    names = [group["algorithm"] for group in Scenario.load(scenario).to_dict()["flows"]]
    assert sorted(name if isinstance(name, str) else name["object"]["name"] for name in names) == [
        "./aimd.bpf.o",
        "reno",
    ]
    assert row["algorithm"] == "./aimd.bpf.o*0.5+reno*0.5"


def test_what_is_compared_from_afar_is_kept_where_it_is_asked_for(place: Path, program: Program) -> None:
    done = program("compare", "aimd.toml", "--algorithms", f"{place}/aimd.bpf.o,reno", "--out", "out")
    assert done.returncode == 0, done.stderr
    assert len(list((place / "out").glob("*/result.json"))) == 2
    assert list(Comparison.load(place / "out").results) == [f"{place}/aimd.bpf.o", "reno"]


@pytest.mark.parametrize(
    ("text", "alone"),
    [
        ("a, b,", ["a", "b"]),
        ('{ name = "a", b = [1, 2] },c', ['{ name = "a", b = [1, 2] }', "c"]),
        ("""{ name = "a,}", b = 'c,"' },d""", ["""{ name = "a,}", b = 'c,"' }""", "d"]),
        ("a},b", ["a}", "b"]),
    ],
)
def test_commas_inside_of_a_table_are_its_own(text: str, alone: list[str]) -> None:
    assert words(text) == alone


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{ name =", "algorithm '{ name =': not TOML"),
        ('{ object = "none.o" }', "none.o: can't be read: No such file or directory"),
        ("none.o", "none.o: can't be read: No such file or directory"),
    ],
)
def test_what_is_no_algorithm_on_the_command_line(program: Program, text: str, said: str) -> None:
    for command in (["compare", "aimd.toml", "--algorithms", text], ["evaluate", text]):
        done = program(*command)
        (line,) = done.stderr.splitlines()
        assert (done.returncode, line[: 10 + len(said)]) == (2, f"fullpipe: {said}")
    done = program("algorithms", "aimd.bpf.o")
    assert (done.returncode, done.stderr[:22]) == (2, "fullpipe: aimd.bpf.o: ")


def test_the_deviations_are_those_of_the_source() -> None:
    source = (ROOT / "crates/kernel/src/control.rs").read_text().split("# Deviations and choices")[1]
    said = [line.removeprefix("//!").strip() for line in source.split("\n\nuse ")[0].splitlines()]
    assert " ".join(filter(None, said)) == " ".join(REFERENCE.split("### Deviations and choices")[1].split())


@pytest.mark.usefixtures("place")
def test_what_is_wrong_is_said_in_one_line() -> None:
    def said(algorithm: str) -> str:
        text = blocks("toml")[0].replace('{ object = "aimd.bpf.o", params = { beta = 0.875 } }', algorithm)
        with pytest.raises(ScenarioError) as caught:
            Scenario.loads(text)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    assert "flows[0].algorithm.object" in said('{ object = "missing.bpf.o" }')
    assert "not a readable object file" in said('{ object = "aimd.toml" }')
    assert 'did you mean "beta"?' in said('{ object = "aimd.bpf.o", params = { betta = 1 } }')
    assert "(allowed: aimd)" in said('{ object = "aimd.bpf.o", struct_ops = "reno" }')


def test_a_scenario_in_memory_needs_the_file_no_more(place: Path) -> None:
    scenario = Scenario.load(place / "aimd.toml")
    before = flows(scenario)
    (place / "aimd.bpf.o").unlink()
    assert flows(scenario.replace(seed=scenario.model.seed)) == before


def test_the_kernel_gets_the_file_with_its_parameters(place: Path) -> None:
    """0.875 times 2^10 is 896; the rest is as it was."""
    own = Plan.of(Scenario.load(place / "aimd.toml")).flows[0].tcp.own
    assert own is not None
    assert (own.name, own.kernel_name) == ("aimd.bpf", "aimd")
    expected = bytearray(OBJECT.read_bytes())
    expected[BETA : BETA + 4] = (896).to_bytes(4, "little")
    assert own.content == bytes(expected)


@pytest.mark.usefixtures("place")
def test_what_the_kernel_cannot_get() -> None:
    content = OBJECT.read_bytes()
    for params, said in [({"gamma": 1}, "allowed: alpha, beta"), ({"beta": -1}, r"must be in \[0, .*\], got -1")]:
        with pytest.raises(InputError, match=said):
            programs.own(content, None, params)
    with pytest.raises(InputError, match="not a readable object file"):
        programs.own(b"")


def test_it_is_called_by_its_file() -> None:
    assert (
        with_params({"object": {"name": "aimd.bpf.o", "base64": "f0VM"}, "params": {"beta": 0.7}})
        == "aimd.bpf.o (beta=0.7)"
    )
    assert with_params({"object": "two.bpf.o", "struct_ops": "one"}) == "two.bpf.o (struct_ops=one)"
    assert with_params({"module": "two", "kernel": "6.1", "params": {"most": 9}}) == "tcp_two (kernel=6.1, most=9)"


@pytest.mark.slow_linux
def test_both_engines_run_the_same_file(place: Path) -> None:
    """Alone behind half a BDP, kept by 0.875: no engine leaves the link idle, and their queues are alike."""
    scenario = Scenario.load(place / "aimd.toml").replace(duration="20 s", warmup="5 s", packet_size=1514)
    alone = [dict(group, host="linux") for group in scenario.to_dict()["flows"][:1]]
    results = compare(scenario.replace(flows=alone), engine=["simulator", "linux"]).results
    (ours, theirs) = (result.to_dict()["links"][0] for result in results.values())
    assert ours["utilization"] > 0.99
    assert theirs["utilization"] > 0.99
    assert theirs["mean_queue_packets"] == pytest.approx(ours["mean_queue_packets"], rel=0.1)


MODULE = """
#include <linux/module.h>
#include <net/tcp.h>

static int step __read_mostly = 1;
module_param(step, int, 0644);
static u32 greatest __read_mostly = 40;
module_param_named(most, greatest, uint, 0444);

struct state {
	u32 steps;
};

static void two_init(struct sock *sk)
{
	struct state *s = inet_csk_ca(sk);

	s->steps = step;
}

static void two_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct state *s = inet_csk_ca(sk);

	if (tcp_is_cwnd_limited(sk))
		tcp_snd_cwnd_set(tcp_sk(sk), min_t(u32, tcp_snd_cwnd(tcp_sk(sk)) + s->steps, greatest));
}

static u32 two_ssthresh(struct sock *sk)
{
	return NEEDED(20);
}

static struct tcp_congestion_ops two __read_mostly = {
	.init = two_init,
	.ssthresh = two_ssthresh,
	.cong_avoid = two_cong_avoid,
	.undo_cwnd = tcp_reno_undo_cwnd,
	.name = "two",
};

static int __init two_register(void)
{
	step = 2;
	return tcp_register_congestion_control(&two);
}

module_init(two_register);
MODULE_LICENSE("GPL");
"""
"""A module of ours in the kernel's manner: `step` segments an ACK, up to `most`; when it is loaded, it makes them 2."""

USES = """\
duration = "20 s"
warmup = "5 s"
links = [{ name = "l", rate = "10 Mbit/s", delay = "20 ms", buffer = "100 packets" }]
flows = [{ algorithm = { module = "two" } }]
"""

needs_clang = pytest.mark.skipif(shutil.which("clang") is None, reason="needs clang")


@pytest.fixture
def cache(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where modules are kept: a directory of the test's own, with nothing in it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(place / "cache"))
    return place / "cache/fullpipe/modules"


def _tree(place: Path, needed: str = "(u32)", version: str = "6.1.7") -> str:
    """A kernel's source with the module in it."""
    source = place / version / "net/ipv4/tcp_two.c"
    source.parent.mkdir(parents=True)
    source.write_text(MODULE.replace("NEEDED", needed))
    parts = zip(("VERSION", "PATCHLEVEL", "SUBLEVEL"), version.split("."), strict=True)
    (place / version / "Makefile").write_text("".join(f"{part} = {number}\n" for part, number in parts))
    return str(place / version)


def _make(*words: str) -> str:
    said = CliRunner().invoke(fullpipe_command, ["linux", "module", *words])
    assert said.exit_code == 0, said.output
    return said.output


def _refused(text: str = USES) -> str:
    with pytest.raises(ScenarioError) as caught:
        Scenario.loads(text)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@needs_clang
def test_a_module_of_a_kernels_source_runs(place: Path, cache: Path) -> None:
    """40 packets of 1000 bytes in each round trip of some 41 ms: 40 at most, and no loss."""
    said = _make(_tree(place), "two")
    assert "tcp_two of Linux 6.1.7" in said
    assert "Its parameters: step, most" in said or "Its parameters: most, step" in said
    assert (cache / "6.1/two.o").is_file()
    result = run(Scenario.loads(USES)).to_dict()["flows"][0]
    assert result["algorithm"] == "tcp_two"
    assert result["mean_cwnd_packets"] == 40
    assert result["retransmits"] == 0
    assert 40 * 8000 / 0.043 < result["goodput_bps"] < 40 * 8000 / 0.040


@needs_clang
def test_a_module_outside_the_cache_is_an_object(place: Path, cache: Path) -> None:
    tree = _tree(place)
    _make(tree, "two")
    assert 'object = "mine.o"' in _make(tree, "two", "--out", "mine.o")
    scenario = Scenario.loads(USES)
    (kept,) = run(scenario).to_dict()["flows"]
    (beside,) = run(scenario.replace(flows=[{"algorithm": {"object": "mine.o"}}])).to_dict()["flows"]
    assert beside["algorithm"] == "two.bpf"
    assert {**kept, "name": "two.bpf", "algorithm": "two.bpf"} == beside
    assert (place / "mine.o").read_bytes() == (cache / "6.1/two.o").read_bytes()


@needs_clang
@pytest.mark.usefixtures("cache")
def test_a_modules_parameters_are_set(place: Path) -> None:
    """The windows are those of `most`; the module sets `step`."""
    _make(_tree(place), "two")
    scenario = Scenario.loads(USES)
    said = [{"module": "two", "params": {"most": most, "step": 9}} for most in (20, 30)]
    results = compare(scenario, said).results.values()
    assert [result.to_dict()["flows"][0]["mean_cwnd_packets"] for result in results] == [20, 30]
    in_toml = Scenario.loads(USES.replace('"two"', '"two", params = { most = 20, step = 9 }'))
    assert run(in_toml).to_dict()["flows"] == next(iter(results)).to_dict()["flows"]
    assert 'did you mean "most"?' in _refused(USES.replace('"two"', '"two", params = { moste = 20 }'))


@needs_clang
def test_a_scenario_in_memory_needs_the_cache_no_more(place: Path, cache: Path) -> None:
    _make(_tree(place), "two")
    result = run(Scenario.loads(USES))
    shutil.rmtree(cache)
    again = run(Scenario.loads(result.scenario.to_toml()))
    assert again.to_dict()["flows"] == result.to_dict()["flows"]
    assert again.scenario == result.scenario


@needs_clang
@pytest.mark.usefixtures("cache")
def test_a_report_card_is_of_the_module_as_it_is(place: Path) -> None:
    """Runs before the rebuild are not reused."""
    candidate = Party("two", {"module": "two"})
    iot = next(cell for cell in CELLS if cell.id == "iot")
    made = []
    for code in ("(u32)", "2 * (u32)", "(u32)"):
        _make(_tree(place, code), "two")
        (first, *_) = needed(candidate, {(iot, iot.settings[0]): 1}, "simulator", deployed=False)
        made.append(Keys().of(first.run))
        shutil.rmtree(place / "6.1.7")
    assert made[0] == made[2] != made[1]


def test_a_module_that_was_not_made_is_refused(place: Path, cache: Path, program: Program) -> None:
    """Nothing is compiled, though the source is there, or looked for elsewhere."""
    _tree(place)
    (place / "mine.toml").write_text(USES)
    done = program("run", str(place / "mine.toml"))
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    for said in (
        "mine.toml:4",
        "flows[0].algorithm.module",
        "module two is not in",
        "`fullpipe linux module SOURCE_TREE two`",
    ):
        assert said in done.stderr
    assert not cache.exists()
    assert "must be the name of a module" in _refused(USES.replace('"two"', '"../two"'))
    assert "must be the name of a module" in _refused(USES.replace('"two"', "2"))


@needs_clang
def test_what_was_made_for_something_else_is_refused(place: Path, cache: Path) -> None:
    _make(_tree(place), "two")
    made = cache / "6.1/two.o"
    content = made.read_bytes()
    _, made_for = _core.module_headers()
    assert content.count(made_for.encode()) == 1
    made.write_bytes(content.replace(made_for.encode(), b"1" * len(made_for)))
    said = _refused()
    assert "6.1/two.o: the module requires the fullpipe version" in said
    assert "`fullpipe linux module SOURCE_TREE NAME` compiles it again" in said
    made.write_bytes(OBJECT.read_bytes())
    assert "an object file requires object" in _refused()
    made.write_bytes(content[:1000])
    assert "6.1/two.o: " in _refused()


@needs_clang
@pytest.mark.usefixtures("cache")
def test_one_of_several_kernels_modules_is_chosen(place: Path) -> None:
    _make(_tree(place), "two")
    _make(_tree(place, "2 * (u32)", "6.12.3"), "two")
    assert "flows[0].algorithm.kernel: two is compiled for several kernels and requires kernel" in _refused()
    assert "(allowed: 6.1, 6.12)" in _refused(USES.replace('"two"', '"two", kernel = "7.3"'))
    of = [Scenario.loads(USES.replace('"two"', f'"two", kernel = "{kernel}"')) for kernel in ("6.1", "6.12")]
    assert [scenario.to_dict()["flows"][0]["algorithm"]["module"]["kernel"] for scenario in of] == ["6.1.7", "6.12.3"]
    assert of[0] != of[1]


@needs_clang
def test_a_kernel_has_the_module_itself(place: Path, cache: Path) -> None:
    _make(_tree(place), "two")
    scenario = Scenario.loads(USES.replace('"two"', '"two", params = { most = 20 }'))
    tcp = Plan.of(scenario.replace(packet_size=1514)).flows[0].tcp
    assert (tcp.algorithm, tcp.own, dict(tcp.params)["most"]) == ("tcp_two", None, 20)
    found = programs.find("tcp_two")
    assert isinstance(found, programs.Module)
    assert found.kernel_name == "two"
    assert found.settings({"most": 20.0, "slow_start": "standard"}) == ["most=20"]
    with pytest.raises(InputError, match="the Linux engine requires"):
        programs.own((cache / "6.1/two.o").read_bytes())


@needs_clang
def test_what_a_module_needs_and_there_is_not_is_named(place: Path) -> None:
    tree = _tree(place, "tcp_no_such_thing")
    said = CliRunner().invoke(fullpipe_command, ["linux", "module", tree, "two"])
    assert isinstance(said.exception, InputError)
    assert "tcp_no_such_thing" in str(said.exception)
    missing = CliRunner().invoke(fullpipe_command, ["linux", "module", tree, "three"])
    assert isinstance(missing.exception, InputError)
    assert "tcp_three.c: can't be read" in str(missing.exception)


@pytest.fixture(scope="module", params=["6.1", "6.12"])
def kernels_source(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Debian's source of a Linux: its congestion controls and the programs of its selftests."""
    place = tmp_path_factory.mktemp("linux-source")
    package = f"linux-source-{request.param}"
    got = subprocess.run(["apt-get", "download", package], cwd=place, capture_output=True, check=False)
    packages = list(place.glob("*.deb"))
    if got.returncode != 0 or not packages:
        pytest.skip(f"{package} cannot be had")
    subprocess.run(["dpkg-deb", "-x", packages[0], place], check=True)
    wanted = [
        f"{package}/Makefile",
        "*/net/ipv4/tcp_*.[ch]",
        "*/tools/testing/selftests/bpf/*.h",
        "*/selftests/bpf/progs/bpf_[cdt]*.[ch]",
    ]
    archive = place / f"usr/src/{package}.tar.xz"
    subprocess.run(["tar", "-xf", archive, "-C", place, "--wildcards", *wanted], check=True)
    return place / package


def _selftest(kernels_source: Path, name: str) -> str:
    """The object file of one of the selftests' programs. Since 6.12 they take the kernel's types from its BTF."""
    tests = kernels_source / "tools/testing/selftests/bpf"
    source = tests / f"progs/bpf_{name}.c"
    if "bpf_tracing_net.h" in source.read_text():
        types = Path("/sys/kernel/btf/vmlinux")
        if shutil.which("bpftool") is None or not types.exists():
            pytest.skip("no bpftool, or no BTF of this machine's kernel")
        dumped = subprocess.run(
            ["bpftool", "btf", "dump", "file", types, "format", "c"], capture_output=True, check=True
        )
        Path("vmlinux.h").write_bytes(dumped.stdout)
    target = {"x86_64": "x86", "aarch64": "arm64"}[machine()]
    flags = f"-target bpf -g -O2 -w -D__TARGET_ARCH_{target} -I. -I{tests} -I/usr/include/{machine()}-linux-gnu".split()
    made = f"{name}.bpf.o"
    subprocess.run(["clang", *flags, "-c", source, "-o", made], check=True)
    subprocess.run(["llvm-strip", "-g", made], check=True)
    return made


@needs_clang
@pytest.mark.slow_linux
@pytest.mark.usefixtures("cache")
def test_the_kernels_own_run(kernels_source: Path) -> None:
    """CUBIC from RFC 9438, from the kernel's module and from its selftest: their windows are within 5 %. LP too fills
    the link: the receiver's timestamps begin anywhere.
    """
    modules = ("cubic", "bbr", "westwood", "illinois", "lp", "nv")
    for module in modules:
        _make(str(kernels_source), module)
    scenario = Scenario(
        duration="60 s",
        warmup="20 s",
        packet_size=1514,
        links=[{"name": "l", "rate": "20 Mbit/s", "delay": "20 ms", "buffer": "40 packets"}],
        flows=[{"algorithm": "reno"}],
    )
    found = {
        str(algorithm): run(scenario.replace(flows=[{"algorithm": algorithm, "host": "linux"}])).to_dict()["flows"][0]
        for algorithm in (
            "cubic",
            {"object": _selftest(kernels_source, "cubic")},
            *({"module": module} for module in modules),
        )
    }
    windows = [flow["mean_cwnd_packets"] for flow in found.values()][:3]
    assert max(windows) < 1.05 * min(windows)
    for flow in found.values():
        assert flow["goodput_bps"] > 18e6, flow["algorithm"]


@needs_clang
@pytest.mark.slow_linux
@pytest.mark.usefixtures("place")
def test_the_kernels_own_dctcp_runs(kernels_source: Path) -> None:
    """100 Mbit/s over 4 ms hold 33 packets of 1514 bytes, and marks begin at 20 more: the windows of the built-in DCTCP
    and of the selftest's are both some 53, without a loss, and with as many marks.
    """
    scenario = Scenario(
        duration="20 s",
        warmup="5 s",
        packet_size=1514,
        links=[
            {
                "name": "l",
                "rate": "100 Mbit/s",
                "delay": "2 ms",
                "buffer": "200 packets",
                "queue": {"name": "step", "threshold": "20 packets"},
            }
        ],
        flows=[{"algorithm": "reno"}],
    )
    algorithms = ["dctcp", {"object": _selftest(kernels_source, "dctcp"), "struct_ops": "dctcp"}]
    flow = {"host": "linux", "ecn": "accurate"}
    results = [run(scenario.replace(flows=[{"algorithm": each, **flow}])).to_dict() for each in algorithms]
    for result in results:
        assert result["flows"][0]["mean_cwnd_packets"] == pytest.approx(53, rel=0.05)
        assert result["flows"][0]["retransmits"] == 0
        assert result["links"][0]["utilization"] > 0.99
    marked = [result["links"][0]["marked_packets"] for result in results]
    assert marked[1] == pytest.approx(marked[0], rel=0.1)


@needs_clang
@pytest.mark.slow_linux
@pytest.mark.usefixtures("cache")
def test_both_engines_run_a_module(kernels_source: Path) -> None:
    """The module of 6.1, which the virtual machine boots, compared with its source compiled here, with equal
    parameters. `win_thresh = 1000` turns Illinois into Reno, which over a quarter of a BDP leaves a tenth of the link.
    """
    if kernels_source.name != "linux-source-6.1":
        pytest.skip("the machine boots 6.1")
    _make(str(kernels_source), "illinois")
    flow = {"host": "linux", "access_delay": "1 ms"}
    scenario = Scenario(
        duration="40 s",
        warmup="15 s",
        packet_size=1514,
        links=[{"name": "l", "rate": "20 Mbit/s", "delay": "29 ms", "buffer": "25 packets"}],
        flows=[{"algorithm": "reno", **flow}],
    )
    used = []
    for win_thresh in (15, 1000):
        own = scenario.replace(
            flows=[{"algorithm": {"module": "illinois", "params": {"win_thresh": win_thresh}}, **flow}]
        )
        results = compare(own, engine=["simulator", "linux"]).results.values()
        (here, there) = (result.to_dict()["links"][0]["utilization"] for result in results)
        print(f"win_thresh {win_thresh}: simulator {here:.4f}, Linux {there:.4f}")
        assert there == pytest.approx(here, abs=0.02)
        used.append(here)
    assert used[1] < 0.92 < used[0]
