"""The laboratory: scenarios on a real Linux kernel, in a virtual machine with virtual time."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from fullpipe._util.fingerprint import build_fingerprint
from fullpipe._util.plain import Tree

if TYPE_CHECKING:
    from fullpipe.scenario import Scenario

__all__ = ["fingerprint", "run", "usable_accelerator"]


def run(
    scenario: Scenario,
    progress: Callable[[float], object] | None = None,
    *,
    accelerator: str = "tcg",
    kernel: str | None = None,
    record: str | None = None,
    iperf3: bool = False,
) -> Tree:
    """Runs a scenario on Linux; the tables of a `fullpipe.Result`, column by column.

    Args:
        scenario: The scenario.
        progress: Called about twenty times a second with the simulated seconds reached; an exception ends the run.
        accelerator: ``"tcg"``, virtual time, independent of the load of the host; or ``"kvm"``, real time, if
            `usable_accelerator` allows it.
        kernel: Debian's package of the kernel, or ``"PACKAGE/SUITE"``; by default `fullpipe.linux.kernel.PACKAGE`.
        record: Directory for a capture of each flow, samples of ss and tc, and the scenario.
        iperf3: Whether the recording has the output of iperf3, from a second run in which it is the sender.

    Raises:
        InputError: `kernel` is not such a name.
        ScenarioError: The kernel does not support the scenario.
        LinuxError: Something needed is missing, or the machine failed.
    """
    from fullpipe.linux import job, machine
    from fullpipe.linux.kernel import PACKAGE, ensure
    from fullpipe.linux.plan import Plan
    from fullpipe.linux.report import to_tables

    plan = Plan.of(scenario)
    parts: job.Record | None = None if record is None else "all"
    booted = ensure(kernel or PACKAGE, job.modules(plan, parts))
    work = job.build(plan, booted, scenario.file, record=parts)
    other = job.build(plan, booted, scenario.file, iperf3=True) if iperf3 else None
    lines = machine.run(machine.Machine(booted.image, work.archive, work.memory_mib, accelerator), progress)
    tested = machine.run(machine.Machine(booted.image, other.archive, other.memory_mib, accelerator)) if other else []
    if record is not None:
        from fullpipe.linux.record import write

        write(record, scenario, plan, lines, booted.version, tested)
    return to_tables(plan, lines)


def usable_accelerator(wanted: str, kernel: str | None = None) -> str:
    """The accelerator wanted, or ``"tcg"`` where that is KVM and a probe of at most 20 s finds that it does not work.

    Raises:
        InputError: `kernel` is not a name as for `run`.
        LinuxError: Something needed is missing.
    """
    from fullpipe.linux import job, machine
    from fullpipe.linux.kernel import PACKAGE, ensure

    if wanted == "kvm" and not machine.kvm_works(ensure(kernel or PACKAGE).image, job.empty_archive()):
        return "tcg"
    return wanted


def fingerprint(kernel: str | None = None) -> str:
    """Hash of the kernel and of the build, which includes the programs compiled for the guest. Runs with equal hashes
    give equal results.

    Raises:
        InputError: `kernel` is not a name as for `run`.
        LinuxError: There is no kernel and none can be fetched, or it is damaged.
    """
    from fullpipe.linux.kernel import PACKAGE, ensure

    return hashlib.sha256(f"{ensure(kernel or PACKAGE).version}\0{build_fingerprint()}".encode()).hexdigest()
