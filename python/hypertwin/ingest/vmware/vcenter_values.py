"""Values of the vSphere API. The client checks neither their type nor their limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypertwin.ingest import outside

MIB = 2**20
MOST_MEMORY_BYTES = 2**50
MOST_MHZ = 10**9


def whole(value: Any, least: int, most: int) -> int | None:
    """Return an integer within limits, or None."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        return None
    return int(value)


def positive(value: Any) -> float | None:
    """Return a reservation or limit in MHz, or None for 0 and -1, which mean none and unlimited."""
    mhz = whole(value, 1, MOST_MHZ)
    return None if mhz is None else float(mhz)


def text(value: Any) -> str | None:
    """Return a safe text, or None for an empty one."""
    return outside.name(value) or None if isinstance(value, str) else None


def enum(value: Any) -> str:
    """Return a value of an enumeration, or an empty string without one."""
    return str(value) if isinstance(value, str) else ""


def switch(value: Any) -> bool | None:
    """True or false for a switch, or None for other values."""
    return value if isinstance(value, bool) else None


def get(value: Any, attribute: str) -> Any:
    """Return a property of an object, or the value of a key, or None without it."""
    return value.get(attribute) if isinstance(value, Mapping) else getattr(value, attribute, None)
