"""Shared parts of readers of other systems' files: limited reading, safe numbers, a common error.

Input from outside is hostile until it is checked. Sizes are limited before memory is allocated, and numbers are
finite. Every fault becomes one `SourceError` with the file, the place, the value and allowed values.
"""

from __future__ import annotations

import codecs
import gzip
import io
import itertools
import json
import math
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from hypertwin.errors import fail, short
from hypertwin.files import reading

HEAD_BYTES = 65_536
"""Bytes at the start of a file that identify its format."""
MOST_LINE_BYTES = 16 * 2**20
"""Maximum length of a line: a header of 17,000 esxtop columns has 1.5 MB."""
MOST_NAME = 256
"""Maximum length of an entity's name. vCenter allows 80, RVTools and libvirt more."""
GZIP_MAGIC = b"\x1f\x8b"
MOST_RATIO = 200
"""Maximum unpacked bytes per byte of gzip, beyond the first `FREE_UNPACKED`: logs have 5 to 50, a bomb up to 1,000."""
FREE_UNPACKED = 32 * 2**20
_CHUNK = 2**18
_ROOT = re.compile(rb"(?>\s|<\?.*?\?>|<!--.*?-->)*+<([a-z_]{1,40})[\s>/]", re.DOTALL)


@dataclass(frozen=True)
class Gap:
    """Missing data of a source: a column, a counter, a permission."""

    what: str
    """Column or counter by its name in the source: `vHost/Speed`, `numa.vcpu.maxPerVirtualNode`."""
    costs: str
    """Results that need it, in a few words: `limits`, `remote memory`."""


@dataclass(frozen=True)
class Source:
    """Input from outside, or a part of it: the place that an error names."""

    name: object
    """Path of a file, or address without credentials."""
    hint: str = ""
    """Advice of errors that have no other one."""
    part: str = ""
    """Column, key or section, or an empty string for the whole."""
    line: int | None = None

    def at(self, part: str) -> Source:
        """Return the place of a column, key or section in this one."""
        return replace(self, part=f"{self.part}/{part}" if self.part else part)

    def refuse(self, value: object, allowed: str, hint: str = "", code: str = "bad-source") -> NoReturn:
        """Raise the `SourceError` of this code. The value is shortened."""
        shown = short(str(value)) or "nothing"
        fail(code, self.part, shown, allowed, hint or self.hint, str(self.name), self.line)

    def lacks(self, value: object, allowed: str, hint: str = "") -> NoReturn:
        """Raise the error for required data that are not there."""
        self.refuse(value, allowed, hint, "source-lacks")

    def too_large(self, value: object, allowed: str, hint: str = "") -> NoReturn:
        """Raise the error for more data than any real source has."""
        self.refuse(value, allowed, hint, "source-too-large")

    def too_many(self, most: int, what: str = "", hint: str = "") -> NoReturn:
        """Raise the error for more than `most` things, or bytes."""
        self.too_large(f"more than {most} {what}".rstrip(), "fewer", hint)


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a file, unpacked if it is gzip. Refuses a file that cannot be opened or read to its end."""
    allowed = "a readable file, plain or gzip"
    try:
        with reading.opened(path) as raw:
            packed = raw.read(2) == GZIP_MAGIC
            raw.seek(0)
            if packed:
                with gzip.open(raw) as unpacked, io.BufferedReader(_Unpacked(path, raw, unpacked), _CHUNK) as bounded:
                    yield bounded
            else:
                yield raw
    except FileNotFoundError:
        Source(path).refuse("no such file", allowed, "check the name", "file-not-found")
    except reading.NotAFileError as error:
        hint = "name the file in it" if path.is_dir() else "write it to a file first"
        Source(path).refuse(error.strerror, allowed, hint, "not-a-file")
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        Source(path).refuse(error, "a whole gzip file", "copy it again: it seems cut off")
    except OSError as error:
        Source(path).refuse(error.strerror or error, allowed, "check the name and permissions", "unreadable-file")


class _Unpacked(io.RawIOBase):
    """Content of a gzip file, refused as soon as it must be a bomb."""

    def __init__(self, path: Path, packed: BinaryIO, unpacked: gzip.GzipFile) -> None:
        super().__init__()
        self._path, self._packed, self._unpacked = path, packed, unpacked
        self._size = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        got = self._unpacked.readinto(buffer)
        self._size += got
        if self._size > FREE_UNPACKED and self._size > MOST_RATIO * self._packed.tell():
            allowed = f"at most {MOST_RATIO} bytes from each"
            Source(self._path).too_large("gzip that unpacks to much more", allowed, "check that it is a log")
        return got


def is_folder(path: Path) -> bool:
    """True for a folder. False if unknown, for example because the name is too long."""
    try:
        return path.is_dir()
    except OSError:
        return False


def entries(folder: Path, most: int) -> list[Path]:
    """Return at most `most` files and folders in a folder, sorted. Refuses a folder that cannot be read."""
    try:
        return sorted(itertools.islice(folder.iterdir(), most))
    except OSError as error:
        hint = "check its permissions"
        Source(folder).refuse(error.strerror or error, "a readable folder", hint, "unreadable-file")


def head(path: Path) -> bytes:
    """Return the first `HEAD_BYTES` of a file, unpacked if it is gzip."""
    with opened(path) as stream:
        return stream.read(HEAD_BYTES)


def xml_root(head: bytes) -> str | None:
    """Return the name of the first element of XML, or None for other text."""
    match = _ROOT.match(head.removeprefix(b"\xef\xbb\xbf"))
    return match[1].decode() if match is not None else None


def read_bytes(path: Path, most: int) -> bytes:
    """Return a whole file of at most `most` bytes, unpacked if it is gzip."""
    with opened(path) as stream:
        data = stream.read(most + 1)
    if len(data) > most:
        hint = "check that it is the right file"
        Source(path).too_large(f"more than {most} bytes", f"at most {most} bytes", hint)
    return data


def json_value(path: Path, most: int) -> Any:
    """Return the value in a JSON file of at most `most` bytes. Refuses anything but strict JSON, also `NaN`.

    Parsed values take up to 20 times the bytes of their text.
    """
    return parsed(read_bytes(path, most), path)


def parsed(data: bytes, path: str | Path) -> Any:
    """Return the value of the JSON text of a file or answer. Refuses anything but strict JSON, also `NaN`."""
    allowed = "JSON (RFC 8259) in UTF-8"
    try:
        return json.loads(data.decode("utf-8-sig"), parse_constant=_no_number)
    except json.JSONDecodeError as error:
        Source(path, line=error.lineno).refuse(f"no JSON: {error.msg}", allowed, "export the file again")
    except UnicodeDecodeError:
        Source(path).refuse("not UTF-8", allowed, "check that it is text")
    except RecursionError:
        Source(path).too_large("nested too deeply", "at most a few levels", "check that it is the right file")
    except ValueError as error:  # a number of thousands of digits, NaN
        Source(path).refuse(error, allowed, "export the file again")


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON number")


def text_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a text file of any length, one at a time, without line ends.

    The text is UTF-8, or UTF-16 with a byte order mark, as Windows writes it. Invalid bytes become U+FFFD.
    """
    with opened(path) as stream:
        reader = io.BufferedReader(stream)  # type: ignore[type-var]
        is_wide = reader.peek(2)[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
        wide = io.TextIOWrapper(reader, "utf-16", "replace", newline="\n") if is_wide else None
        number = 0
        while line := (wide or reader).readline(MOST_LINE_BYTES + 1):
            number += 1
            if len(line) > MOST_LINE_BYTES:
                allowed = f"lines of at most {MOST_LINE_BYTES} bytes"
                Source(path, line=number).too_large("a longer line", allowed, "check that it is text")
            text = line if isinstance(line, str) else line.decode("utf-8", "replace")
            yield text.rstrip("\r\n").removeprefix("\ufeff") if number == 1 else text.rstrip("\r\n")


def number(text: str) -> float | None:
    """Return a finite number in ASCII digits.

    The result is None for other text: `nan`, `inf`, `1_000`, digits of other scripts.
    """
    text = text.strip()
    if not text or len(text) > 64 or not text.isascii() or "_" in text:
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def name(text: str) -> str:
    """Return a safe name from outside text: one line, no control characters, at most `MOST_NAME` characters."""
    cleaned = " ".join("".join(character if character.isprintable() else " " for character in text[:4096]).split())
    return cleaned[:MOST_NAME].rstrip()


def told_apart(text: str, by: str) -> str:
    """Return a unique version of a repeated name: `web (vm-42)`, cut to the maximum length."""
    behind = f"({name(by)[:64]})"
    return f"{text[: MOST_NAME - len(behind) - 1].rstrip()} {behind}".lstrip()
