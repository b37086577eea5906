"""The laboratory: scenarios on a real Linux kernel, in a virtual machine with virtual time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fullpipe.scenario import Scenario

__all__ = ["run"]


def run(
    scenario: Scenario, progress: Callable[[float], object] | None = None, *, accelerator: str = "tcg"
) -> dict[str, Any]:
    """Runs a scenario on Linux; the tables of a `fullpipe.Result`, column by column.

    Args:
        scenario: What to run.
        progress: Called about twenty times a second with the simulated seconds reached; what it raises ends the run.
        accelerator: ``"tcg"``, virtual time whatever the host does; or ``"kvm"``, real time, for which ``"tcg"`` stands
            in where /dev/kvm does not work.

    Raises:
        ScenarioError: The scenario asks for what the kernel cannot do.
        LinuxError: Something needed is missing, or the machine failed.
    """
    from fullpipe.linux import job, kernel, machine
    from fullpipe.linux.plan import Plan
    from fullpipe.linux.report import to_tables

    plan = Plan.of(scenario)
    booted = kernel.ensure()
    work = job.build(plan, booted, scenario.file)
    if accelerator == "kvm" and not machine.kvm_works(booted.image, job.empty_archive()):
        accelerator = "tcg"
    lines = machine.run(machine.Machine(booted.image, work.archive, work.memory_mib, accelerator), progress)
    return to_tables(plan, lines)
