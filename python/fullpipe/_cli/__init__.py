"""The command line."""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
import time
from contextlib import suppress
from importlib import import_module
from typing import NoReturn

import click

import fullpipe
from fullpipe._cli.surroundings import ignore_matplotlibrc
from fullpipe._util.text import one_line, unknown
from fullpipe.errors import AlgorithmError, FullpipeError, InputError

__all__ = ["fullpipe_command", "main"]

COMMANDS = {
    "run": "Run a scenario and print metrics of each link and flow.",
    "compare": "Run a scenario with several algorithms and compare their metrics.",
    "duel": "Let two algorithms compete: shares, harm, and RTT.",
    "evaluate": "Evaluate an algorithm by RFC 9743, compared with NewReno and CUBIC.",
    "check": "Check a controller for regressions, with a suite of limits and a baseline.",
    "conform": "Check a controller by the rules of an RFC or a draft.",
    "advise": "Recommend a queue for the traffic of a link, with a line for tc.",
    "size": "Find the smallest buffer that meets a target, such as a utilization.",
    "sweep": "Run a scenario with many settings and seeds.",
    "explain": "Explain a measurement: find the path that gives its metrics.",
    "search": "Search the network on which an algorithm does worst, and shrink it.",
    "score": "Score a written controller on held-out paths, in a process with limits.",
    "algorithms": "List the algorithms, their papers and parameters.",
    "queues": "List the queueing disciplines, their sources and parameters.",
    "examples": "List the example scenarios, or copy all examples into a directory.",
    "reproduce": "Reproduce the papers' tables and figures.",
    "linux": "Run scenarios on a real Linux kernel, and load algorithms into yours.",
    "bench": "Open the playground, a page in the browser that simulates each change.",
}
"""Commands and their summaries. Each command is the function `command` of the module with its name."""

ALIASES = {"playground": "bench"}
"""Other names of commands. The help does not list them."""

NO_ARGUMENTS: type[Exception] | tuple[()] = getattr(click.exceptions, "NoArgsIsHelpError", ())
"""Exception that click raises if all arguments are missing; its text is the help. None before click 8.2."""

PATIENCE_S = 5.0
"""Seconds of wall time for cleaning up after Ctrl-C, before another Ctrl-C interrupts it."""


class Commands(click.Group):
    """Command group that imports a command's module only when the command is used."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """Commands in the order of the help."""
        return list(COMMANDS)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Command by its name or alias."""
        cmd_name = ALIASES.get(cmd_name, cmd_name)
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"fullpipe._cli.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Command of the first argument. The error for an unknown command suggests a similar one."""
        known = args[0] in COMMANDS or args[0] in ALIASES
        if not known and not args[0].startswith("-") and not ctx.resilient_parsing:
            ctx.fail(unknown("command", args[0], COMMANDS))
        return super().resolve_command(ctx, args)

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group("fullpipe", cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(fullpipe.__version__, prog_name="fullpipe")
def fullpipe_command() -> None:
    """Deterministic packet-level simulator and test suite for TCP and QUIC congestion control."""


def main() -> NoReturn:
    """Runs the program: exit status 0 success, 2 bad input, 130 Ctrl-C, 1 anything else."""
    _open_streams()
    ignore_matplotlibrc()
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, Interrupt())
    try:
        status = _status()
    except KeyboardInterrupt:  # during error handling
        status = 130
    # A signal during the interpreter's exit must not change the status.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(status)


class Interrupt:
    """Signal handler for Ctrl-C. The first one interrupts; more are ignored during `PATIENCE_S` of cleaning up."""

    def __init__(self) -> None:
        self._last_s: float | None = None

    def __call__(self, _number: int, _frame: object) -> None:
        """Handles the signal."""
        now_s = time.monotonic()
        if self._last_s is None or now_s - self._last_s > PATIENCE_S:
            self._last_s = now_s
            raise KeyboardInterrupt


def _open_streams() -> None:
    """Opens closed standard streams on the null device, so that no file takes their descriptors. A closed output is an
    error.
    """
    for stream in range(3):
        try:
            os.fstat(stream)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w")
    if sys.stdout is None:
        sys.exit(_failed("standard output is closed", 1))
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _status() -> int:
    """Exit status after running the command."""
    try:
        status = fullpipe_command.main(standalone_mode=False)
        sys.stdout.flush()
    except InputError as error:
        return _failed(str(error), 2)
    except AlgorithmError as error:
        if error.__cause__ is not None:
            from fullpipe.custom.declared import own_lines

            print(own_lines(error.__cause__), end="", file=sys.stderr)
        return _failed(str(error), 1)
    except FullpipeError as error:
        return _failed(str(error), 1)
    except click.UsageError as error:
        if isinstance(error, NO_ARGUMENTS):
            error.show()
            return 2
        where = error.ctx.command_path if error.ctx else "fullpipe"
        return _failed(f"{error.format_message()} (see {where} --help)", 2)
    except (click.Abort, KeyboardInterrupt):
        return _failed("interrupted; nothing is left half-written", 130)
    except BrokenPipeError:
        _drop_output()
        return 1
    except OSError as error:
        _drop_output()
        # Errors of files have a name; an error without one is of standard output.
        unnamed = "standard output" if error.errno in (errno.ENOSPC, errno.EFBIG, errno.EIO) else None
        return _failed(": ".join(str(part) for part in (error.filename or unnamed, error.strerror or error) if part), 1)
    except MemoryError:
        return _failed("out of memory", 1)
    except SystemExit as ended:  # click and rich exit if the reader of the output is gone
        _drop_output()
        return ended.code if isinstance(ended.code, int) else 1
    return status if isinstance(status, int) else 0


def _failed(message: str, status: int) -> int:
    with suppress(OSError):
        print(f"fullpipe: {one_line(message)}", file=sys.stderr, flush=True)
    return status


def _drop_output() -> None:
    """Prevents another write to standard output at the interpreter's exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
