"""Content and amount of stdout and stderr; a command ends in one line and its exit code, whatever comes.

Nothing here imports rich: `hypertwin --version` needs it, and errors are to come at once.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from types import FrameType
from typing import BinaryIO, TextIO, cast

from hypertwin.errors import HypertwinError, printable

SIGNALLED = 128
"""Exit code of a process that a signal ended, less the signal's number."""

QUIET, USUAL, VERBOSE = -1, 0, 1

_LOUDNESS: ContextVar[int] = ContextVar("how much is said on stderr", default=USUAL)
_EXPLAINED: ContextVar[bool] = ContextVar("every table and note on stdout", default=False)
_ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


class ResultLostError(HypertwinError):
    """The result could not be written to stdout."""

    code = "result-lost"


@contextlib.contextmanager
def saying(*, quiet: bool, verbose: bool, explain: bool = False) -> Iterator[None]:
    """How much is written while the block runs; without any of these as much as before."""
    token = _LOUDNESS.set(QUIET if quiet else VERBOSE if verbose else _LOUDNESS.get())
    explained = _EXPLAINED.set(explain or _EXPLAINED.get())
    try:
        yield
    finally:
        _LOUDNESS.reset(token)
        _EXPLAINED.reset(explained)


def is_explained() -> bool:
    """True if stdout has every table, note and assumption."""
    return _EXPLAINED.get()


def is_quiet() -> bool:
    """True if notes and progress are to be left out."""
    return _LOUDNESS.get() == QUIET


def is_verbose() -> bool:
    """True if the files read, their sources and times are printed."""
    return _LOUDNESS.get() == VERBOSE


def write(content: str | Iterable[str]) -> None:
    """Write on stdout, without what a terminal would obey."""
    sys.stdout.writelines(map(printable, [content] if isinstance(content, str) else content))
    sys.stdout.flush()


def fail(message: str) -> None:
    """Print why the command ends."""
    said = f"error: {printable(message)}"
    if sys.stderr.isatty():
        said = _wrapped(said)
        if "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb":
            said = said.replace("error: ", "\x1b[1;31merror: \x1b[0m", 1)
    sys.stderr.write(f"{said}\n")


def _wrapped(text: str) -> str:
    """Lines that fit the terminal, words whole, and what goes on a line further in: lists of names are long."""
    import textwrap

    try:
        columns = max(os.get_terminal_size(2).columns, 40)
    except OSError:
        return text
    options = {"subsequent_indent": "    ", "break_long_words": False, "break_on_hyphens": False}
    lines = (textwrap.wrap(line, columns, **options) or [""] for line in text.splitlines())  # type: ignore[arg-type]
    return "\n".join(part for line in lines for part in line)


def warn(message: str) -> None:
    """Print a warning; `-q` does not suppress it."""
    sys.stderr.write(f"warning: {printable(message)}\n")


def note(*messages: str) -> None:
    """Print notes beside the result, a line each; `-q` suppresses them."""
    if not is_quiet():
        sys.stderr.writelines(f"{printable(message)}\n" for message in messages)


def detail(message: str) -> None:
    """Print progress details, with -v."""
    if is_verbose():
        sys.stderr.write(f"{printable(message)}\n")


class _Stdout(io.TextIOWrapper):
    """A reader that has seen enough (`| head`) is no error; a full disk, or a closed stdout, is a ResultLostError."""

    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except OSError as error:
            _lost(error)
            return len(text)

    def flush(self) -> None:
        try:
            super().flush()
        except OSError as error:
            _lost(error)


def _lost(error: OSError) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is left, and flushed at exit, must not fail again
    if not isinstance(error, BrokenPipeError):
        raise ResultLostError(f"cannot write the result to stdout: {error.strerror}") from error


class _Stderr(io.TextIOWrapper):
    """Nothing depends on whether it can be written."""

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):
            return super().write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            super().flush()


def prepare() -> None:
    """Make stdout and stderr what the rest relies on: open, and able to take all characters.

    What goes to a file or a pipe is UTF-8, whatever the locale: the same run gives the same bytes.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:  # closed: the next file opened would get its number, and what is printed be written into it
            os.open(os.devnull, os.O_WRONLY if descriptor == 2 else os.O_RDONLY)
    if _is_of_process(sys.stdout, 1):
        encoding = sys.stdout.encoding if sys.stdout and os.isatty(1) else "utf-8"
        sys.stdout = _Stdout(_bytes_of(sys.stdout, 1), encoding, "backslashreplace", line_buffering=os.isatty(1))
    if _is_of_process(sys.stderr, 2):
        sys.stderr = _Stderr(_bytes_of(sys.stderr, 2), None, "backslashreplace", line_buffering=True)


def _is_of_process(stream: TextIO | None, descriptor: int) -> bool:
    """True if it is the process's own, or none, as where that was closed; a caller in Python may have put another."""
    try:
        return stream is None or (isinstance(stream, io.TextIOWrapper) and stream.fileno() == descriptor)
    except (OSError, ValueError):
        return False


def _bytes_of(stream: TextIO | None, descriptor: int) -> BinaryIO:
    """The file under a stream; of a closed one, its descriptor."""
    if isinstance(stream, io.TextIOWrapper):
        return cast(BinaryIO, stream.detach())
    return os.fdopen(descriptor, "wb", closefd=False)


@contextlib.contextmanager
def ended_by_signals() -> Iterator[list[int]]:
    """While the block runs, signals that end the process are as Ctrl-C, so that what it has begun is tidied up.

    Yields a list of those that came. Signals that are ignored stay so (`nohup`).
    """
    received: list[int] = []

    def end(number: int, _frame: FrameType | None) -> None:
        received.append(number)
        if len(received) == 1:  # a second one would break off the tidying up
            raise KeyboardInterrupt

    kept = [number for number in _ENDING if signal.getsignal(number) is signal.SIG_DFL]
    for number in kept:
        signal.signal(number, end)
    try:
        yield received
    finally:
        for number in kept:
            signal.signal(number, signal.SIG_DFL)
