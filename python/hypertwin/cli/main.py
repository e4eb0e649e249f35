"""Entry point of `hypertwin`: collects the commands and turns every outcome into an exit code.

0 done, 1 the run failed (or a published figure is missed), 2 bad usage or input.
"""

from __future__ import annotations

import io
import os
import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from hypertwin import _core
from hypertwin.cli import (
    calibrate,
    density,
    diagnose,
    durability,
    examples,
    import_,
    lab,
    output,
    schema,
    simulate,
    size,
    telemetry,
    validate,
    vnuma,
)
from hypertwin.cli.commands import App
from hypertwin.errors import HypertwinError

INTERRUPTED = 130

app = App(
    name="hypertwin",
    help="A performance twin for virtualised clusters: simulate a scenario, compare it with published figures.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command(name="examples")(examples.command)
app.command(name="simulate")(simulate.command)
app.command(name="diagnose")(diagnose.command)
app.command(name="validate")(validate.command)
app.command(name="density")(density.command)
app.command(name="size")(size.command)
app.command(name="vnuma")(vnuma.command)
app.command(name="durability")(durability.command)
app.command(name="calibrate")(calibrate.command)
app.add_typer(lab.app, name="lab")
app.command(name="import")(import_.command)
app.command(name="telemetry")(telemetry.command)
app.command(name="schema")(schema.command)


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
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a locale may lack characters of a table
    code = _run()
    if code == INTERRUPTED:
        _say("interrupted")
        sys.stderr.flush()
        os._exit(code)  # runs under way in other threads cannot be stopped: do not wait for them
    sys.exit(code)


def _run() -> int:
    try:
        outcome = app(standalone_mode=False)
    except HypertwinError as error:
        _say(str(error))
        return error.exit_code
    except typer.TyperException as error:
        _say(f"{error.format_message()} (hypertwin --help, hypertwin COMMAND --help)")
        return 2
    except (typer.Abort, KeyboardInterrupt):
        return INTERRUPTED
    return outcome if isinstance(outcome, int) else 0


def _say(message: str) -> None:
    Console(stderr=True, soft_wrap=True, highlight=False).print(Text("error: ", "bold red") + Text(message))
