"""Entry point of `hypertwin`, which answers simple requests at once and converts every outcome to an exit code.

Exit codes: 0 done; 1 the run failed, a `--fail-on` condition holds, or a published figure is missed; 2 bad usage or
input; 128 plus the signal number after a signal.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence

from hypertwin.cli import catalogue, streams

INTERRUPTED = streams.SIGNALLED + signal.SIGINT


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line (default: that of the process), and exit."""
    streams.prepare()
    code = run(sys.argv[1:] if arguments is None else arguments)
    if code > streams.SIGNALLED:
        os._exit(code)  # runs under way in other threads cannot be stopped: do not wait for them
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run a command line, and return the exit code."""
    received: list[int] = []
    try:
        with streams.ended_by_signals() as received:
            if catalogue.COMPLETE in os.environ:
                return _complete()
            if list(arguments) == ["help", "symptoms"]:
                return _symptoms()
            if len(arguments) > 1 and arguments[0] == "help":  # as kubectl and git take it
                arguments = [*arguments[1:], "--help"]
            answer = _at_once(*arguments) if len(arguments) < 2 else None
            if answer is None:
                from hypertwin.cli import root  # Typer takes longer than the answers at once

                answer = root.run(arguments)
            sys.stdout.flush()
            return answer
    except streams.ResultLostError as error:
        streams.fail(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        streams.fail("terminated" if received else "interrupted")
        return streams.SIGNALLED + received[0] if received else INTERRUPTED


def _complete() -> int:
    from hypertwin.cli import tab

    code = tab.answer(os.environ, streams.write)
    sys.stdout.flush()
    return code


def _symptoms() -> int:
    from hypertwin.cli import symptoms

    streams.write(symptoms.text(catalogue.width()))
    sys.stdout.flush()
    return 0


def _at_once(argument: str = "") -> int | None:
    """Return the exit code of a request that needs no command, or None for any other argument."""
    if argument in ("--version", "-V", "version"):
        from hypertwin import _core

        streams.write(f"hypertwin {_core.version()}\n")
        return 0
    if argument in ("-h", "--help", "help"):
        streams.write(catalogue.help_text(catalogue.width()))
        return 0
    if argument == "":
        sys.stderr.write(catalogue.help_text(catalogue.width()))
        return 2
    return None
