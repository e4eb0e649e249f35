"""Typer application of `hypertwin`, which converts errors to messages and exit codes."""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from hypertwin import _core, naming
from hypertwin.cli import catalogue, provenance, streams
from hypertwin.cli.commands import App, Commands
from hypertwin.cli.help import Root
from hypertwin.cli.output import UsageError
from hypertwin.errors import MOST_SHOWN, HypertwinError, short

app = App(catalogue.PURPOSE, cls=Root)


@app.callback(invoke_without_command=True)
def options(
    context: typer.Context,
    explain: Annotated[bool, typer.Option("--explain", help=catalogue.OPTIONS["--explain"])] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help=catalogue.OPTIONS["-q, --quiet"])] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help=catalogue.OPTIONS["-v, --verbose"])] = False,
    version: Annotated[bool, typer.Option("--version", help=catalogue.OPTIONS["--version"])] = False,
) -> None:
    """Options of `hypertwin` itself."""
    if version:
        streams.write(f"hypertwin {_core.version()}\n")
        raise typer.Exit
    if context.invoked_subcommand is None:
        sys.stderr.write(context.get_help() + "\n")
        raise typer.Exit(2)
    context.with_resource(streams.saying(quiet=quiet, verbose=verbose, explain=explain))


def group() -> Any:
    """Return the Typer group of `hypertwin`."""
    made = typer.main.get_group(app)
    made.commands = Commands(catalogue.COMMANDS)
    return made


def run(arguments: Sequence[str]) -> int:
    """Run a command line, and return the exit code. Raises KeyboardInterrupt."""
    try:
        provenance.typed(arguments)
        outcome = group().main(list(arguments), prog_name="hypertwin", standalone_mode=False)
    except UsageError as error:
        streams.fail(f"{error}{_try(arguments)}")
        return error.exit_code
    except HypertwinError as error:
        from hypertwin.cli import signposts  # for errors only

        error = signposts.redirected(error, arguments)
        streams.fail(str(error))
        return error.exit_code
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        words = arguments if context is None else context.command_path.split()[1:]
        message = _plainly(error) + _meant(error, context) + _split(error, arguments)
        streams.fail(short(re.sub(r"\n\t", " ", message), MOST_SHOWN) + _try(words))
        return 2
    except typer.Abort:
        raise KeyboardInterrupt from None
    if outcome == streams.SIGNALLED + signal.SIGINT:  # which Typer, too, makes of a KeyboardInterrupt
        raise KeyboardInterrupt
    return outcome if isinstance(outcome, int) else 0


def _plainly(error: typer.TyperException) -> str:
    """Return an error of Typer in the format of all errors."""
    message = error.message if hasattr(error, "possibilities") else error.format_message()
    message = message.replace(": Value error, ", ": ", 1)  # what Pydantic puts before any reason
    return message[:1].lower() + message[1:].removesuffix(".")


def _meant(error: typer.TyperException, context: Any) -> str:
    """Return a hint for an unknown option."""
    if context is None or not hasattr(error, "possibilities"):
        return ""
    known = [name for each in context.command.params for name in each.opts]
    meant = naming.hint(getattr(error, "option_name", ""), known, "")
    return f"; {meant}" if meant else ""


def _split(error: typer.TyperException, arguments: Sequence[str]) -> str:
    """Return the hint for an option whose value was typed as two words: `--set PATH=VALUE`."""
    words = list(arguments)
    for flag in ("--set", "--sweep"):
        at = words.index(flag) + 1 if flag in words else len(words)
        if "unexpected extra argument" in error.format_message() and at + 1 < len(words) and "=" not in words[at]:
            return f"; write {flag} {words[at]}={words[at + 1]}"
    return ""


def _try(arguments: Sequence[str]) -> str:
    """Return the hint to the help of a command, from the words of a command line."""
    named, commands = ["hypertwin"], group()
    for word in (each for each in arguments if not each.startswith("-")):
        if not hasattr(commands, "commands") or word not in commands.commands:
            break
        named.append(word)
        commands = commands.commands[word]
    return f"\nTry '{' '.join(named)} --help'."
