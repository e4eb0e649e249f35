"""Tables of fields: where the values of an object are in an API's answer, and how each is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hypertwin.ingest.json_fields import Fields, below


@dataclass(frozen=True)
class Field:
    """Place of a value in an object, and the form in which it is read."""

    path: str
    """Keys from the outside in: `cpu/topology/cores`. The first of several paths (`a/b|c`) with a value counts."""
    read: Callable[[Any], Any]
    """Function that returns the value, or None for one in another form: `whole`, `number`, `flag`."""
    scale: int = 1
    """Unit of a number: 2**20 for MiB as bytes."""


Table = Mapping[str, Field | str]
"""Fields by the names of their values. A path alone takes a value as it is."""


def at(fields: Fields, path: str) -> Any:
    """Return the value at a path, or at the first of several paths that has one."""
    ways = (way.split("/") for way in path.split("|"))
    return next((found for *outer, last in ways if (found := below(fields, *outer).get(last)) is not None), None)


def values(fields: Fields, table: Table) -> dict[str, Any]:
    """Return the values of a table in an object. A value is None if it is missing, or in another form."""
    return {key: at(fields, each) if isinstance(each, str) else _read(fields, each) for key, each in table.items()}


def _read(fields: Fields, field: Field) -> Any:
    found = field.read(at(fields, field.path))
    return found if found is None or field.scale == 1 else found * field.scale
