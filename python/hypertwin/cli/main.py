"""Entry point of `hypertwin`: collects the commands and turns every outcome into an exit code.

0 done, 1 the run failed (or a published figure is missed), 2 bad usage or input, 128 and its number after a signal.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Annotated

import typer

from hypertwin import _core
from hypertwin.cli import output, streams
from hypertwin.cli.commands import App, Commands
from hypertwin.errors import MOST_SHOWN, HypertwinError, short

COMMANDS = {
    "init": "hypertwin.cli.init",
    "examples": "hypertwin.cli.examples",
    "simulate": "hypertwin.cli.simulate",
    "diagnose": "hypertwin.cli.diagnose",
    "validate": "hypertwin.cli.validate",
    "capacity": "hypertwin.cli.capacity",
    "plan": "hypertwin.cli.plan",
    "density": "hypertwin.cli.density",
    "size": "hypertwin.cli.size",
    "vnuma": "hypertwin.cli.vnuma",
    "durability": "hypertwin.cli.durability",
    "devices": "hypertwin.cli.devices",
    "presets": "hypertwin.cli.presets",
    "calibrate": "hypertwin.cli.calibrate",
    "compare": "hypertwin.cli.compare",
    "store": "hypertwin.cli.store",
    "rerun": "hypertwin.cli.rerun",
    "lab": "hypertwin.cli.lab",
    "import": "hypertwin.cli.import_",
    "telemetry": "hypertwin.cli.telemetry",
    "schema": "hypertwin.cli.schema",
}
"""Each command and the module that has it, in the order of the help."""

INTERRUPTED = streams.SIGNALLED + signal.SIGINT

app = App(help="A performance twin for virtualised clusters: simulate a scenario, compare it with published figures.")


@app.callback(invoke_without_command=True)
def options(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Options of `hypertwin` itself."""
    if version:
        output.write(f"hypertwin {_core.version()}\n")
        raise typer.Exit
    if context.invoked_subcommand is None:
        sys.stderr.write(context.get_help() + "\n")
        raise typer.Exit(2)


def main() -> None:
    """Run the command line and exit."""
    streams.prepare()
    code, message = _run()
    if message:
        _say(message)
    if code > streams.SIGNALLED:
        os._exit(code)  # runs under way in other threads cannot be stopped: do not wait for them
    sys.exit(code)


def _run() -> tuple[int, str]:
    """The exit code, and what to say of it."""
    try:
        with streams.ended_by_signals() as received:
            group = typer.main.get_group(app)
            group.commands = Commands(COMMANDS)
            outcome = group(standalone_mode=False)
            sys.stdout.flush()
    except HypertwinError as error:
        return error.exit_code, str(error)
    except typer.TyperException as error:
        message = error.format_message().replace(": Value error, ", ": ", 1)  # what Pydantic puts before any reason
        return 2, f"{short(message, MOST_SHOWN)} (hypertwin --help, hypertwin COMMAND --help)"
    except (typer.Abort, KeyboardInterrupt):
        outcome = INTERRUPTED
    if outcome == INTERRUPTED:  # which Typer, too, makes of a KeyboardInterrupt
        return (streams.SIGNALLED + received[0], "terminated") if received else (INTERRUPTED, "interrupted")
    return (outcome if isinstance(outcome, int) else 0), ""


def _say(message: str) -> None:
    from rich.text import Text

    output.console(stderr=True, soft_wrap=True, highlight=False).print(Text("error: ", "bold red") + Text(message))
