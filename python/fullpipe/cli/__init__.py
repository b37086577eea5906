"""The command line."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import NoReturn

import click

import fullpipe
from fullpipe.errors import FullpipeError, InputError

__all__ = ["fullpipe_command", "main"]

COMMANDS = {
    "run": "Run a scenario: figures per link and per flow.",
    "compare": "Run a scenario with several algorithms, side by side.",
    "size": "Find the smallest buffer that reaches a utilization.",
    "sweep": "Run a scenario many times, along axes and over seeds.",
    "algorithms": "List the algorithms, their papers and parameters.",
    "reproduce": "Reproduce the papers' tables and figures.",
    "linux": "Run scenarios on a real kernel; load our algorithms into this one.",
}
"""The commands and what they do; each is the function `command` of the module of its name."""


class Commands(click.Group):
    """Loads a command's module only when the command is used."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """The commands in the order a user meets them."""
        return list(COMMANDS)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command called ``cmd_name``."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"fullpipe.cli.{cmd_name}").command
        return command

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists the commands without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group("fullpipe", cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(fullpipe.__version__, prog_name="fullpipe")
def fullpipe_command() -> None:
    """A bench for TCP congestion control: one scenario in, one result out."""


def main() -> NoReturn:
    """Runs the program: exit status 0 success, 2 bad input, 130 Ctrl-C, 1 anything else."""
    try:
        sys.exit(fullpipe_command.main(standalone_mode=False))
    except InputError as error:
        _fail(str(error), 2)
    except FullpipeError as error:
        _fail(str(error), 1)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(2)
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "fullpipe"
        _fail(f"{error.format_message()} (see {where} --help)", 2)
    except (click.Abort, KeyboardInterrupt):
        _fail("interrupted; nothing is left half-written", 130)
    except BrokenPipeError:
        # The reader of our output has gone; keep the interpreter from writing to it once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error), 1)


def _fail(message: str, status: int) -> NoReturn:
    line = " ".join(message.split())
    print(f"fullpipe: {line}", file=sys.stderr)
    sys.exit(status)
