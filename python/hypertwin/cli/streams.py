"""Content and verbosity of stdout and stderr. Every command ends with one line and its exit code.

This module does not import rich, so that `hypertwin --version` and errors are fast.
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
"""Base of exit codes after a signal. The signal number is added."""

QUIET, USUAL, VERBOSE = -1, 0, 1

_LOUDNESS: ContextVar[int] = ContextVar("how much is said on stderr", default=USUAL)
_EXPLAINED: ContextVar[bool] = ContextVar("every table and note on stdout", default=False)
_ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


class ResultLostError(HypertwinError):
    """Raised if the result could not be written to stdout."""

    code = "result-lost"


@contextlib.contextmanager
def saying(*, quiet: bool, verbose: bool, explain: bool = False) -> Iterator[None]:
    """Set the verbosity in the block. Arguments that are not given leave the verbosity unchanged."""
    token = _LOUDNESS.set(QUIET if quiet else VERBOSE if verbose else _LOUDNESS.get())
    explained = _EXPLAINED.set(explain or _EXPLAINED.get())
    try:
        yield
    finally:
        _LOUDNESS.reset(token)
        _EXPLAINED.reset(explained)


def is_explained() -> bool:
    """True if stdout shows every table, note and assumption."""
    return _EXPLAINED.get()


def is_quiet() -> bool:
    """True if notes and progress are suppressed."""
    return _LOUDNESS.get() == QUIET


def is_verbose() -> bool:
    """True if the files read, their sources and times are printed."""
    return _LOUDNESS.get() == VERBOSE


def write(content: str | Iterable[str]) -> None:
    """Write on stdout, with terminal control characters made visible."""
    sys.stdout.writelines(map(printable, [content] if isinstance(content, str) else content))
    sys.stdout.flush()


def fail(message: str) -> None:
    """Print the reason why the command ends."""
    said = f"error: {printable(message)}"
    if sys.stderr.isatty():
        said = _wrapped(said)
        if "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb":
            said = said.replace("error: ", "\x1b[1;31merror: \x1b[0m", 1)
    sys.stderr.write(f"{said}\n")


def _wrapped(text: str) -> str:
    """Return the text in lines that fit the terminal, without broken words and with indented continuation lines."""
    import textwrap

    try:
        columns = max(os.get_terminal_size(2).columns, 40)
    except OSError:
        return text
    options = {"subsequent_indent": "    ", "break_long_words": False, "break_on_hyphens": False}
    lines = (textwrap.wrap(line, columns, **options) or [""] for line in text.splitlines())  # type: ignore[arg-type]
    return "\n".join(part for line in lines for part in line)


def warn(message: str) -> None:
    """Print a warning. `-q` does not suppress it."""
    sys.stderr.write(f"warning: {printable(message)}\n")


def note(*messages: str) -> None:
    """Print notes to the result, one per line. `-q` suppresses the notes."""
    if not is_quiet():
        sys.stderr.writelines(f"{printable(message)}\n" for message in messages)


def detail(message: str) -> None:
    """Print progress details, with -v."""
    if is_verbose():
        sys.stderr.write(f"{printable(message)}\n")


class _Stdout(io.TextIOWrapper):
    """Stdout stream. It is no error if the reader stops (`| head`).

    A full disk or closed stdout raises ResultLostError.
    """

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
    """Stderr stream. Write failures are ignored."""

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):
            return super().write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            super().flush()


def prepare() -> None:
    """Prepare stdout and stderr: open, and able to encode all characters.

    Files and pipes get UTF-8 in any locale, so that the same run gives the same bytes.
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
    """True if the stream is that of the process, or None because the stream was closed.

    Python callers can replace it.
    """
    try:
        return stream is None or (isinstance(stream, io.TextIOWrapper) and stream.fileno() == descriptor)
    except (OSError, ValueError):
        return False


def _bytes_of(stream: TextIO | None, descriptor: int) -> BinaryIO:
    """Return the binary file under a stream, or the descriptor of a closed stream."""
    if isinstance(stream, io.TextIOWrapper):
        return cast(BinaryIO, stream.detach())
    return os.fdopen(descriptor, "wb", closefd=False)


@contextlib.contextmanager
def ended_by_signals() -> Iterator[list[int]]:
    """Treat signals that end the process like Ctrl-C in the block, so that cleanup runs.

    Yields a list of the signals received. Ignored signals stay ignored (`nohup`).
    """
    received: list[int] = []

    def end(number: int, _frame: FrameType | None) -> None:
        received.append(number)
        if len(received) == 1:  # a second one would break off the tidying up
            raise KeyboardInterrupt(number)

    kept = [number for number in _ENDING if signal.getsignal(number) is signal.SIG_DFL]
    for number in kept:
        signal.signal(number, end)
    try:
        yield received
    finally:
        for number in kept:
            signal.signal(number, signal.SIG_DFL)
