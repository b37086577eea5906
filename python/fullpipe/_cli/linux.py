"""``fullpipe linux``."""

from __future__ import annotations

import time
from pathlib import Path

import click

from fullpipe._cli.output import kernel_option, note, print_table, progress_bar, seed_option, warn, warn_otherwise
from fullpipe._cli.results import Output, output_options
from fullpipe._cli.scenarios import load, scenario_options
from fullpipe._util.files import check_free
from fullpipe._util.text import quoted
from fullpipe.errors import InputError

__all__ = ["command"]


@click.group("linux")
def command() -> None:
    """Run scenarios on a real kernel in a virtual machine, and load algorithms into your machine's kernel."""


@command.command("run")
@scenario_options
@seed_option
@click.option(
    "--accel",
    type=click.Choice(["tcg", "kvm"]),
    default="tcg",
    show_default=True,
    help="tcg: virtual time, with equal results on all hosts; kvm: real time, on hosts that support it.",
)
@kernel_option
@click.option("--record", metavar="DIR", help="Write captures, samples of ss and tc, and the scenario into DIR.")
@click.option("--iperf3", is_flag=True, help="Record iperf3 too, in a second run in which it is the sender.")
@output_options(
    "Plot the series into FILE (.png, .svg or .pdf).",
    "Write result.json, the scenario, and Parquet tables into DIR, in place of an earlier result.",
)
def run_command(
    file: str,
    settings: tuple[str, ...],
    duration: str | None,
    seed: int | None,
    accel: str,
    kernel: str | None,
    record: str | None,
    iperf3: bool,
    output: Output,
) -> None:
    """Run the scenario in FILE on Linux. The metrics are those of `fullpipe run`."""
    from fullpipe import linux
    from fullpipe.runs.result import Result

    scenario = load(file, settings, duration, seed)
    output = output.check(scenario)
    if record is not None:
        check_free(record)
    elif iperf3:
        raise InputError("--iperf3 requires --record")
    warn(scenario)
    usable = linux.usable_accelerator(accel, kernel)
    if usable != accel:
        note("no usable /dev/kvm; the run uses virtual time")
    begun = time.perf_counter()
    with progress_bar(file) as progress:
        tables = linux.run(
            scenario,
            lambda reached_s: progress(reached_s, scenario.duration_s),
            accelerator=usable,
            kernel=kernel,
            record=record,
            iperf3=iperf3,
        )
    result = Result(scenario, tables, engine="linux", wall_s=time.perf_counter() - begun)
    warn_otherwise(scenario, [result])
    output.deliver(result)


@command.command("load")
@click.argument("name")
@click.option("--set", "settings", multiple=True, metavar="PARAMETER=VALUE", help="Set a parameter of the algorithm.")
def load_command(name: str, settings: tuple[str, ...]) -> None:
    """Load an algorithm into your machine's kernel (as root).

    NAME is a built-in algorithm or your object file, e.g. my.bpf.o.
    """
    from fullpipe.linux import host

    kernel_name = host.load(name, dict(_setting(text) for text in settings))
    click.echo(f"{kernel_name} is registered. To use it for all new connections:")
    click.echo(f"  sysctl net.ipv4.tcp_congestion_control={kernel_name}")
    click.echo(f"To remove it: fullpipe linux unload {name}")


@command.command("unload")
@click.argument("name")
def unload_command(name: str) -> None:
    """Remove an algorithm from your machine's kernel (as root).

    NAME is the one that you gave to `fullpipe linux load`.
    """
    from fullpipe.linux import host

    host.unload(name)
    click.echo(f"{name} is removed")


@command.command("module")
@click.argument("source_tree", type=click.Path(file_okay=False, path_type=Path))
@click.argument("name")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write an object file here, for algorithm = { object = ... }; default: into the user's cache.",
)
def module_command(source_tree: Path, name: str, out: Path | None) -> None:
    """Compile an algorithm of a kernel for the simulator.

    The file is tcp_NAME.c of the kernel's SOURCE_TREE, unchanged.

    The object file is cached for your user, and scenarios find it: algorithm = { module = "NAME" }.
    """
    from fullpipe.linux import modules

    built = modules.build(source_tree, name, out)
    click.echo(f"{built.file} is tcp_{name} of Linux {built.kernel}. In a scenario:")
    click.echo(f'  algorithm = {{ module = "{name}" }}' if out is None else f'  algorithm = {{ object = "{out}" }}')
    click.echo(f"Its parameters: {', '.join(built.params) or 'none'}")


@command.command("list")
def list_command() -> None:
    """List the algorithms and their state in your machine's kernel. As root, also list removed ones still in use."""
    from fullpipe.linux import host, programs

    state = dict.fromkeys(host.dead(), "removed, still in use") | dict.fromkeys(host.loaded(), "yes")
    print_table(
        "",
        ("algorithm", "in the kernel as", "loaded"),
        [(name, program.kernel_name, state.get(program.kernel_name, "no")) for name, program in programs.OURS.items()],
        left=3,
    )


def _setting(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    if value in ("true", "false"):
        return name, value == "true"
    try:
        return name, float(value)
    except ValueError:
        what = "not a parameter with a number, true or false (like beta_max=0.8)"
        raise InputError(f"--set {quoted(text)}: {what}") from None
