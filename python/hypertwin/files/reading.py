"""Functions that open files named by the user without blocking. Devices and silent pipes are refused."""

from __future__ import annotations

import errno
import os
import select
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

PATIENCE_S = 60.0
"""Maximum time to wait for the end of a pipe, in seconds."""

_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}


class NotAFileError(OSError):
    """Raised if a path is not a regular file. `strerror` names the type of the file."""


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Return the bytes of a regular file. Raises OSError, for example NotAFileError."""
    with _opened(path) as (descriptor, mode):
        if not stat.S_ISREG(mode):
            raise _not_a_file(mode)
        with open(descriptor, "rb", closefd=False) as stream:
            yield stream


def first_bytes(path: Path, most: int) -> bytes:
    """Return at most `most` bytes of a regular file, or of a pipe that ends. Raises the same errors as `opened`."""
    with _opened(path) as (descriptor, mode):
        if stat.S_ISFIFO(mode):
            return _of_pipe(descriptor, most)
        if not stat.S_ISREG(mode):
            raise _not_a_file(mode)
        with open(descriptor, "rb", closefd=False) as stream:
            return stream.read(most)


@contextmanager
def _opened(path: Path) -> Iterator[tuple[int, int]]:
    """Return a file descriptor and the mode of the file.

    Opening a pipe without a writer would block. Opening some devices has effects.
    """
    try:
        mode = path.stat().st_mode
    except ValueError as error:  # NUL in the name
        raise OSError(errno.EINVAL, str(error)) from None
    if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
        raise _not_a_file(mode)
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        yield descriptor, os.fstat(descriptor).st_mode
    finally:
        os.close(descriptor)


def _of_pipe(descriptor: int, most: int) -> bytes:
    """Return the content of a pipe."""
    parts: list[bytes] = []
    left, ends = most, time.monotonic() + PATIENCE_S
    while left > 0:
        ready, _, _ = select.select([descriptor], [], [], max(ends - time.monotonic(), 0))
        if not ready:
            raise OSError(errno.ETIMEDOUT, f"a pipe that does not end within {PATIENCE_S:g} s")
        part = os.read(descriptor, min(left, 2**18))
        if not part:
            break
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _not_a_file(mode: int) -> NotAFileError:
    return NotAFileError(errno.EINVAL, _KINDS.get(stat.S_IFMT(mode), "no file"))
