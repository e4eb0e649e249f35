"""What goes to stdout and stderr, and how much of it: results, errors, warnings, notes.

Nothing here imports rich: `hypertwin --version` needs it, and errors are to come at once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from hypertwin.errors import HypertwinError, printable

QUIET, USUAL, VERBOSE = -1, 0, 1

_LOUDNESS: ContextVar[int] = ContextVar("how much is said on stderr", default=USUAL)


class ResultLostError(HypertwinError):
    """The result could not be written to stdout."""

    code = "result-lost"


@contextmanager
def saying(*, quiet: bool, verbose: bool) -> Iterator[None]:
    """How much is said while the block runs; without either as much as before."""
    token = _LOUDNESS.set(QUIET if quiet else VERBOSE if verbose else _LOUDNESS.get())
    try:
        yield
    finally:
        _LOUDNESS.reset(token)


def is_quiet() -> bool:
    """Whether notes and progress are to be left out."""
    return _LOUDNESS.get() == QUIET


def is_verbose() -> bool:
    """Whether it is to be said what is read, from where, and how long it takes."""
    return _LOUDNESS.get() == VERBOSE


def write(content: str | Iterable[str]) -> None:
    """Write on stdout. A reader that has seen enough (`| head`) is no error; a full disk is."""
    try:
        sys.stdout.writelines([content] if isinstance(content, str) else content)
        sys.stdout.flush()
    except OSError as error:
        # the interpreter flushes once more at exit, and must not fail again
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise ResultLostError(f"cannot write the result to stdout: {error.strerror}") from error


def fail(message: str) -> None:
    """Say why the command ends."""
    coloured = sys.stderr.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    sys.stderr.write(
        f"\x1b[1;31merror: \x1b[0m{printable(message)}\n" if coloured else f"error: {printable(message)}\n"
    )


def warn(message: str) -> None:
    """Say what is not as it should be; -q does not silence it."""
    sys.stderr.write(f"warning: {printable(message)}\n")


def note(message: str) -> None:
    """Say what a reader may want to know beside the result, unless -q was given."""
    if not is_quiet():
        sys.stderr.write(f"{printable(message)}\n")


def detail(message: str) -> None:
    """Say what happens, if -v was given."""
    if is_verbose():
        sys.stderr.write(f"{printable(message)}\n")
