"""Reader of results: the JSON document that a command wrote, or a page that contains it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypertwin.comparison.kinds import Kind, kind_of
from hypertwin.ingest import outside, page

ALLOWED = "what a command wrote with --format json, or its page"


@dataclass(frozen=True)
class Result:
    """Result with its kind, and its origin if the result is from a page."""

    file: str
    kind: Kind
    document: Any
    made: Mapping[str, Any]

    @property
    def fields(self) -> Mapping[str, Any]:
        """The fields of the document, or an empty dict if it is a list."""
        return self.document if isinstance(self.document, dict) else {}

    @property
    def scenario(self) -> str | None:
        """The text of the scenario, if a page contains it."""
        files = self.made.get("files")
        first = files[0] if isinstance(files, list) and files else None
        text = first.get("text") if isinstance(first, dict) else None
        name = first.get("name") if isinstance(first, dict) else None
        return text if isinstance(text, str) and isinstance(name, str) and name.endswith((".yaml", ".yml")) else None


def read(path: Path) -> Result:
    """Return the result in a file. Raises SourceError if the file is unreadable, or has no result."""
    return of_bytes(outside.read_bytes(path, page.MOST_BYTES), path)


def of_bytes(data: bytes, path: Path) -> Result:
    """Return the result in the bytes of a file. `path` is its name in messages. Raises SourceError."""
    content = outside.parsed(page.data(path, data, ALLOWED) if page.is_page(data) else data, path)
    in_page = page.is_page(data) and isinstance(content, dict)
    document, made = (content.get("document"), content.get("made")) if in_page else (content, None)
    kind = kind_of(document)
    if kind is None:
        what = (
            "a comparison" if isinstance(document, dict) and document.keys() >= {"changes", "same"} else _what(document)
        )
        outside.Source(path).refuse(what, ALLOWED, "commands print such a document with --format json", "no-result")
    return Result(str(path), kind, document, made if isinstance(made, dict) else {})


def _what(document: Any) -> str:
    if isinstance(document, dict):
        return f"JSON of no result, with the keys {', '.join(map(str, list(document)[:5]))}" if document else "{}"
    return "an empty list" if document == [] else f"JSON of no result ({type(document).__name__})"
