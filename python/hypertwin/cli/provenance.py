"""Origin of a result for the end of a page: the command as typed, and the files that it read.

A page is enough to run its command again (`hypertwin rerun`). The command of an untrusted page is confined. It reads
only files in the page, and writes only files that the caller names.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypertwin import _core, library, scenario
from hypertwin.documents.page import Made, MadeFile
from hypertwin.errors import HypertwinError, short

LARGEST_TEXT = 1 << 20
"""Maximum size in bytes of a file whose text a page includes. For larger files the page has only the hash."""

MOST_TEXT = 4 << 20
"""Bytes of all texts in a page."""

MOST_FILES = 200
"""Maximum number of files that a page lists."""


class ConfinedError(HypertwinError):
    """Raised if the command of a page accesses files other than those in the page or named by the caller."""

    code = "page-reaches-out"


@dataclass(frozen=True)
class Invocation:
    """A command line, without `hypertwin`, and the files that it read."""

    command: Sequence[str] = ()
    files: Sequence[MadeFile] = ()


@dataclass(frozen=True)
class Bounds:
    """Files that a repeated command can read and write."""

    folders: Collection[Path]
    outputs: Collection[Path]


_TYPED: ContextVar[Sequence[str]] = ContextVar("the arguments of hypertwin", default=())
_INVOCATION: ContextVar[Invocation | None] = ContextVar("the command line", default=None)
_BOUNDS: ContextVar[Bounds | None] = ContextVar("what the command may touch", default=None)


def made(document: Any) -> Made:
    """Return the origin of a document's page, from the current command."""
    from hypertwin.show.page import made_of  # pages are for some runs only

    invocation = _INVOCATION.get() or Invocation()
    return made_of(document, _core.version(), command=invocation.command, files=invocation.files)


def typed(arguments: Sequence[str]) -> None:
    """Record the command line for pages."""
    _TYPED.set(list(arguments))


@contextmanager
def under_way(files: Iterable[str | Path]) -> Iterator[None]:
    """Record this command in pages. Within `again`, pages keep the record of the first run."""
    if _INVOCATION.get() is not None:
        yield
        return
    token = _INVOCATION.set(Invocation(_TYPED.get(), list(read(files))))
    try:
        yield
    finally:
        _INVOCATION.reset(token)


@contextmanager
def again(past: Invocation, bounds: Bounds) -> Iterator[None]:
    """Run a command of a page again. Its pages keep the record of `past`, and `confine` keeps it within `bounds`."""
    tokens = _INVOCATION.set(past), _BOUNDS.set(bounds)
    try:
        yield
    finally:
        _INVOCATION.reset(tokens[0])
        _BOUNDS.reset(tokens[1])


def confine(inputs: Callable[[], Iterable[str | Path]], outputs: Iterable[Path | None]) -> None:
    """Raise ConfinedError if a repeated command reads or writes outside its bounds."""
    bounds = _BOUNDS.get()
    if bounds is None:
        return
    for file in map(str, inputs()):
        real = Path(os.path.realpath(file.replace("\0", "")))
        if not any(real.is_relative_to(folder) for folder in bounds.folders):
            raise ConfinedError(f"the page's command reads {short(file)}, which the page does not hold")
    for output in outputs:
        if output is not None and output not in bounds.outputs:
            raise ConfinedError(
                f"the page's command writes {short(str(output))}: name outputs with --report of `rerun`"
            )


def read(files: Iterable[str | Path]) -> Iterator[MadeFile]:
    """Yield name and SHA-256 of a user's files, with the text of small text files. Skips files that are not regular."""
    room, names = MOST_TEXT, set[str]()
    for file in map(Path, files):
        name = file.as_posix()
        is_read = file.is_file() or name == scenario.STDIN
        if name in names or len(names) >= MOST_FILES or file.is_relative_to(library.studies()) or not is_read:
            continue
        names.add(name)
        largest = min(LARGEST_TEXT, room)
        try:
            with io.BytesIO(scenario.stdin_bytes()) if name == scenario.STDIN else file.open("rb") as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
                stream.seek(0)
                content = stream.read(largest + 1)
        except OSError:  # the command itself says what is wrong with it
            continue
        text = _text(content) if len(content) <= largest else None
        room -= len(content) if text is not None else 0
        yield {"name": name, "sha256": digest, "text": text}


def _text(content: bytes) -> str | None:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return None
