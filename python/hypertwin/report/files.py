"""Results as JSON, CSV and Parquet, and files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hypertwin import frame
from hypertwin.errors import HypertwinError

_FORMULA = re.compile(r"(?![-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?\Z)[=+\-@\t\r]")


class OutputError(HypertwinError):
    """An output file cannot be written; found before anything is simulated."""

    code = "output-unwritable"
    exit_code = 2


class WriteError(HypertwinError):
    """An output file could not be written after the run, for example because the disk is full."""

    code = "output-failed"
    exit_code = 1


def to_json(value: Any) -> str:
    """One JSON document with a final newline; a number that JSON lacks (NaN) is an error, never output."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def to_csv(result: Mapping[str, Any]) -> str:
    """The flat rows of `hypertwin.frame` with a header line, in which no text is a formula to a spreadsheet."""
    import polars

    table = frame.to_frame(result).rename(inert)
    return table.with_columns(polars.selectors.string().map_elements(inert, polars.String)).write_csv()


def inert(text: str) -> str:
    """A text as a cell of a CSV file: what a spreadsheet would take for a formula gets a `'` in front.

    That is what begins with `=`, `+`, `-`, `@`, a tab or a carriage return and is no number (OWASP, CSV injection).
    """
    return f"'{text}" if _FORMULA.match(text) else text


def to_parquet(result: Mapping[str, Any]) -> bytes:
    """The flat rows of `hypertwin.frame` as a Parquet file."""
    buffer = io.BytesIO()
    frame.to_frame(result).write_parquet(buffer)
    return buffer.getvalue()


def check_writable(path: Path) -> None:
    """Raise OutputError unless a file can be written at `path`; leaves nothing behind."""
    try:
        if path.is_dir():
            raise OutputError(f"cannot write {path}: it is a directory")
        if path.exists() and not os.access(path, os.W_OK):
            raise OutputError(f"cannot write {path}: no permission")
        if _is_special(path):
            return
        folder = path.resolve().parent
        if not folder.is_dir():
            raise OutputError(f"cannot write {path}: the folder {folder} does not exist; create it first")
        descriptor, name = tempfile.mkstemp(dir=folder, prefix=".hypertwin-")
        os.close(descriptor)
        Path(name).unlink()
    except (OSError, ValueError) as error:
        raise OutputError(f"cannot write {path}: {_reason(error)}") from error


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write so that no reader ever sees half a file."""
    with appearing(path) as temporary:
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)


@contextlib.contextmanager
def appearing(path: Path) -> Iterator[Path]:
    """A temporary file beside `path`, to be written to; it becomes `path` when the block ends without an error."""
    try:
        if _is_special(path):
            yield path
            return
        target = path.resolve()
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:100]}-")
        os.close(descriptor)
        temporary = Path(name)
        try:
            yield temporary
            temporary.chmod(target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask())
            temporary.replace(target)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise
    except OSError as error:
        raise WriteError(f"cannot write {path}: {_reason(error)}") from error


def _is_special(path: Path) -> bool:
    """Devices and pipes (/dev/null, /dev/stdout) are written in place: renaming over them would replace them."""
    return path.exists() and not path.is_file()


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
