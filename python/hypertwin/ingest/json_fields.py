"""Shared parts of readers of JSON from APIs: fields of any form as text, numbers and flags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypertwin.ingest import outside

Fields = Mapping[str, Any]


def objects(answer: Any) -> list[Fields]:
    """Return the objects in a response that is a list."""
    return [each for each in answer if isinstance(each, dict)] if isinstance(answer, list) else []


def below(fields: Any, *keys: str) -> Fields:
    """Return the nested object at these keys, or an empty object if it is missing."""
    for key in keys:
        fields = fields.get(key) if isinstance(fields, dict) else None
    return fields if isinstance(fields, dict) else {}


def name(fields: Fields, key: str = "name") -> str:
    """Return a name, made safe."""
    return outside.name(text(fields.get(key)))


def text(value: Any) -> str:
    """Return a string or number as text, because APIs write numbers in both forms."""
    return str(value) if isinstance(value, (str, int, float)) and not isinstance(value, bool) else ""


def number(value: Any) -> float | None:
    """Return a finite number, or None."""
    return outside.number(text(value))


def whole(value: Any) -> int | None:
    """Return an integer of at least 0, or None."""
    found = number(value)
    return int(found) if found is not None and 0 <= found < 2**60 and found == int(found) else None


def flag(value: Any) -> bool:
    """True for a value that means yes in any of the forms of APIs."""
    return value is True or text(value) in ("1", "yes", "on", "true")
