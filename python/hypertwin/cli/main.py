"""Entry point of `hypertwin`: answers at once what needs no command, and turns every outcome into an exit code.

0 done, 1 the run failed (or what `--fail-on` names holds, or a published figure is missed), 2 bad usage or input.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line, by default that of the process, and exit."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a locale may lack characters of a table
    code = run(sys.argv[1:] if arguments is None else arguments)
    if code == INTERRUPTED:
        sys.stderr.write("error: interrupted\n")
        sys.stderr.flush()
        os._exit(code)  # runs under way in other threads cannot be stopped: do not wait for them
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run a command line; the exit code."""
    try:
        answer = _at_once(*arguments) if len(arguments) < 2 else None
        if answer is not None:
            return answer
        from hypertwin.cli import root  # Typer takes longer than the answers above

        return root.run(arguments)
    except KeyboardInterrupt:
        return INTERRUPTED


def _at_once(argument: str = "") -> int | None:
    """The exit code of what takes no command; None where the argument is something else."""
    from hypertwin.cli import catalogue

    if catalogue.COMPLETE in os.environ:
        return None
    if argument == "--version":
        from hypertwin import _core

        return _write(f"hypertwin {_core.version()}\n")
    if argument in ("-h", "--help"):
        return _write(catalogue.help_text(catalogue.width()))
    if argument == "":
        sys.stderr.write(catalogue.help_text(catalogue.width()))
        return 2
    return None


def _write(text: str) -> int:
    from hypertwin.cli import streams

    try:
        streams.write(text)
    except streams.ResultLostError as error:
        streams.fail(str(error))
        return error.exit_code
    return 0
