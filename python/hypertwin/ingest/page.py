"""Data of pages written by `--report`. A page is never run: the reader finds the data element in its text."""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from pathlib import Path
from typing import Any, NoReturn

from hypertwin.documents.page import Made, MadeFile
from hypertwin.ingest import outside

MOST_BYTES = 256 * 2**20
"""Maximum bytes of a page, and of its data."""

ALLOWED = "a page that hypertwin wrote with --report"

_DATA = re.compile(rb'<script\b[^>]{0,200}\bid="page"[^>]{0,200}>', re.IGNORECASE)


def is_page(content: bytes) -> bool:
    """True if a file begins like HTML."""
    return content[:1024].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")


def data(path: Path, page: bytes, allowed: str = ALLOWED) -> bytes:
    """Return the JSON in a page. Raises SourceError for a page without it, or with damaged or too large data."""
    found = _DATA.search(page)
    end = page.find(b"</script", found.end()) if found else -1
    if found is None or end < 0:
        outside.Source(path).refuse("a page without data", allowed, "use a complete page of hypertwin", "no-result")
    text = page[found.end() : end]
    if b'data-encoding="deflate"' not in found[0]:
        return text
    unpacker = zlib.decompressobj()
    try:
        unpacked = unpacker.decompress(base64.b64decode(text.strip(), validate=True), MOST_BYTES)
    except (binascii.Error, zlib.error) as error:
        outside.Source(path).at("page data").refuse(error, "whole data", "copy it again: it seems cut off")
    if not unpacker.eof:
        cut = not unpacker.unconsumed_tail
        value = "cut off" if cut else f"more than {MOST_BYTES} bytes"
        outside.Source(path).at("page data").refuse(value, f"whole data of at most {MOST_BYTES} bytes", "copy it again")
    return unpacked


def made(path: Path) -> Made:
    """Return origin of a page, from its own data. Raises SourceError if the file is not a page, or has no origin."""
    content = outside.read_bytes(path, MOST_BYTES)
    if not is_page(content):
        outside.Source(path).refuse("a file that is not HTML", ALLOWED, "name a page", "no-result")
    document = outside.parsed(data(path, content), path)
    said = document.get("made") if isinstance(document, dict) else None
    if not isinstance(said, dict):
        _malformed(path, "made", said)
    for key, kinds in (("version", str), ("date", str), ("seed", int | None), ("files", list)):
        if not isinstance(said.get(key), kinds):
            _malformed(path, f"made.{key}", said.get(key))
    return Made(
        version=said["version"],
        date=said["date"],
        command=_texts(path, "made.command", said.get("command")),
        files=[_file(path, f"made.files.{index}", each) for index, each in enumerate(said["files"])],
        seed=said.get("seed"),
        calibrated=_texts(path, "made.calibrated", said.get("calibrated")),
    )


def _file(path: Path, place: str, said: Any) -> MadeFile:
    name, digest, text = (said.get(key) for key in MadeFile.__annotations__) if isinstance(said, dict) else (None,) * 3
    if not (isinstance(name, str) and isinstance(digest, str) and (text is None or isinstance(text, str))):
        _malformed(path, place, said)
    return MadeFile(name=name, sha256=digest, text=text)


def _texts(path: Path, place: str, said: Any) -> list[str]:
    if not (isinstance(said, list) and all(isinstance(each, str) for each in said)):
        _malformed(path, place, said)
    return list(said)


def _malformed(path: Path, place: str, value: Any) -> NoReturn:
    outside.Source(path).at(place).refuse(
        str(value)[:80], "what hypertwin writes there", "was the page changed? copy it again"
    )
