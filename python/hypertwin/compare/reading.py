"""A result out of a file: the JSON document that a command wrote, or a page that holds it.

A page is never run: the element with its data is found in the text, unpacked within bounds and parsed.
"""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypertwin.compare.kinds import Kind, kind_of
from hypertwin.ingest import outside

MOST_BYTES = 256 * 2**20
"""Largest document; parsed it takes up to twenty times as much memory."""

ALLOWED = "what a command wrote with --format json, or its page"

_DATA = re.compile(rb'<script\b[^>]{0,200}\bid="page"[^>]{0,200}>', re.IGNORECASE)


@dataclass(frozen=True)
class Result:
    """A result, its kind, and what its page says of how it was made."""

    file: str
    kind: Kind
    document: Any
    made: Mapping[str, Any]

    @property
    def fields(self) -> Mapping[str, Any]:
        """The fields of the document; none where it is a list."""
        return self.document if isinstance(self.document, dict) else {}

    @property
    def scenario(self) -> str | None:
        """The text of the scenario, where a page holds it."""
        files = self.made.get("files")
        first = files[0] if isinstance(files, list) and files else None
        text = first.get("text") if isinstance(first, dict) else None
        name = first.get("name") if isinstance(first, dict) else None
        return text if isinstance(text, str) and isinstance(name, str) and name.endswith((".yaml", ".yml")) else None


def read(path: Path) -> Result:
    """The result in a file. Raises SourceError for one that cannot be read, or that holds none."""
    data = outside.read_bytes(path, MOST_BYTES)
    begin = data[:1024].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    content = outside.parsed(_data(path, data) if begin.startswith(b"<") else data, path)
    in_page = begin.startswith(b"<") and isinstance(content, dict)
    document, made = (content.get("document"), content.get("made")) if in_page else (content, None)
    kind = kind_of(document)
    if kind is None:
        what = (
            "a comparison" if isinstance(document, dict) and document.keys() >= {"changes", "same"} else _what(document)
        )
        outside.refuse(path, "", what, ALLOWED, "commands print such a document with --format json", "no-result")
    return Result(str(path), kind, document, made if isinstance(made, dict) else {})


def _what(document: Any) -> str:
    if isinstance(document, dict):
        return f"JSON of no result, with the keys {', '.join(map(str, list(document)[:5]))}" if document else "{}"
    return "an empty list" if document == [] else f"JSON of no result ({type(document).__name__})"


def _data(path: Path, page: bytes) -> bytes:
    """The JSON within a page."""
    found = _DATA.search(page)
    end = page.find(b"</script", found.end()) if found else -1
    if found is None or end < 0:
        outside.refuse(path, "", "a page without data", ALLOWED, "is it a page of hypertwin, and whole?", "no-result")
    text = page[found.end() : end]
    if b'data-encoding="deflate"' not in found[0]:
        return text
    unpacker = zlib.decompressobj()
    try:
        unpacked = unpacker.decompress(base64.b64decode(text.strip(), validate=True), MOST_BYTES)
    except (binascii.Error, zlib.error) as error:
        outside.refuse(path, "page data", str(error), "whole data", "was it cut off? copy it again")
    if not unpacker.eof:
        cut = not unpacker.unconsumed_tail
        value = "cut off" if cut else f"more than {MOST_BYTES} bytes"
        outside.refuse(path, "page data", value, f"whole data of at most {MOST_BYTES} bytes", "copy it again")
    return unpacked
