"""XML of the engine's REST API, in the shape of its JSON.

An object's XML has `id` and `href` as attributes, and an element for each other field. A list is an element with the
plural name of its items. In JSON it is an object with one key, the singular name (oVirt/ovirt-engine-api-model,
003-CommonConcepts.adoc, "Representations"). Parsed by defusedxml: no document type, no entities, nothing fetched.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn
from xml.etree.ElementTree import ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import XMLParser

from hypertwin.ingest.outside import Source

MAX_ELEMENTS = 500_000
"""Maximum number of elements. A VM has about 200."""
MAX_DEPTH = 50


def answer(data: bytes, path: Path, hint: str) -> Any:
    """Return the value that the JSON form of this XML has. Raises SourceError, which names `path`."""
    parser = XMLParser(target=_Json(path, hint), forbid_dtd=True)
    try:
        parser.feed(data)
        return parser.close()
    except ParseError as error:
        Source(path, line=error.position[0]).refuse(f"no XML: {error.msg}", "XML of the engine's API", hint)
    except (DefusedXmlException, LookupError, ValueError) as error:
        Source(path).refuse(error, "XML without a document type and entities", hint)


class _Json:
    """Target of the parser that builds JSON values."""

    def __init__(self, path: Path, hint: str) -> None:
        self._path, self._hint = path, hint
        self._open: list[tuple[str, dict[str, Any], list[str]]] = []
        """Open elements, each with its fields and its text."""
        self._count = 0
        self._value: Any = None

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._count += 1
        if self._count > MAX_ELEMENTS:
            self._too_large(tag, f"at most {MAX_ELEMENTS} elements")
        if len(self._open) == MAX_DEPTH:
            self._too_large(tag, f"at most {MAX_DEPTH} levels")
        self._open.append((tag, dict(attributes), []))

    def data(self, text: str) -> None:
        self._open[-1][2].append(text)

    def end(self, tag: str) -> None:
        _, own, texts = self._open.pop()
        self._value = own or "".join(texts).strip()
        if not self._open:
            return
        around, fields, _ = self._open[-1]
        before = fields.get(tag)
        if isinstance(before, list):
            before.append(self._value)
        elif before is not None:
            fields[tag] = [before, self._value]
        else:
            fields[tag] = [self._value] if around == f"{tag}s" else self._value

    def close(self) -> Any:
        return self._value

    def _too_large(self, tag: str, allowed: str) -> NoReturn:
        Source(self._path).at(tag).too_large("more", allowed, self._hint)
