"""Parsers of cells: a name, a number, a yes or no, a size, a date, in the formats of different countries."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime, timedelta

from hypertwin.ingest import outside
from hypertwin.ingest.vmware.rvtools.columns import UNITS

MOST_NUMBER = 1e15
_TRUE = frozenset(("true", "yes", "1", "on", "wahr", "ja", "vrai", "oui", "verdadero", "si", "sí", "истина", "да"))
_GROUPED = re.compile(r"[-+]?[0-9]{1,3}([.,'])[0-9]{3}(?:\1[0-9]{3})*\Z")
_UNIT = re.compile(r" *(?:MHz|%|(TiB|TB|GiB|GB|MiB|MB|KiB|KB))\Z", re.IGNORECASE)
_DATE = re.compile(
    r"(?P<a>[0-9]{1,4})(?P<by>[-/.])(?P<b>[0-9]{1,2})(?P=by)(?P<c>[0-9]{1,4})"
    r"(?:[T ]+(?P<hour>[0-9]{1,2})[:.](?P<minute>[0-9]{2})(?:[:.](?P<second>[0-9]{2}))?(?:[.,][0-9]{1,9})?"
    r" *(?P<half>[AaPp]\.?[Mm]\.?)?)?"
    r" *(?P<zone>Z|[+-][0-9]{2}:?[0-9]{2})?\Z",
    re.ASCII,
)
_SERIAL = (20_000, 80_000)
"""Range of spreadsheet dates, in days since 1899-12-30: from 1954 to 2119."""
_NAMED = re.compile(
    r"(?<![0-9])(20[0-9]{2})([-_.]?)(0[1-9]|1[0-2])\2(0[1-9]|[12][0-9]|3[01])"
    r"(?:[-_. T]+([01][0-9]|2[0-3])[-_.:h]?([0-5][0-9])(?:[-_.:m]?([0-5][0-9]))?)?(?![0-9])",
    re.ASCII,
)


def text(value: object) -> str:
    """Return a cell as a name: one line, limited length, no control characters."""
    return "" if value is None else outside.name(value if isinstance(value, str) else _shown(value))


def _shown(value: object) -> str:
    """Return the original form of a name that Excel converted to a number (`4711.0`)."""
    return (
        f"{value:.0f}" if isinstance(value, float) and value == value // 1 and abs(value) < MOST_NUMBER else str(value)
    )


def word(value: object) -> str:
    """Return a cell as a word of ASCII letters and digits, in lower case."""
    return re.sub(r"[^a-z0-9]", "", text(value).lower())


def flag(value: object) -> bool | None:
    """True or false from a yes or no, or None for an empty cell and a dash."""
    if value is None or value in ("", "-"):
        return None
    return value if isinstance(value, bool) else text(value).lower() in _TRUE


def number(value: object) -> float | None:
    """Return a number in a cell or in text, or None for other text.

    Examples: `12`, `1,024`, `1.024`, `1 024`, `12,5`, `2295 MHz`, `3 %`.
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return float(value) if abs(value) <= MOST_NUMBER else None
    if not isinstance(value, str) or len(value) > 64:
        return None
    plain = _UNIT.sub("", value.strip()).translate({ord(blank): None for blank in " \u00a0\u2009\u202f"})
    grouped = _GROUPED.match(plain)
    if grouped and not plain.lstrip("+-").startswith("0"):
        plain = plain.replace(grouped[1], "")
    elif "," in plain and "." in plain:
        thousands, decimal = (",", ".") if plain.rindex(".") > plain.rindex(",") else (".", ",")
        plain = plain.replace(thousands, "").replace(decimal, ".")
    else:
        plain = plain.replace(",", ".")
    found = outside.number(plain)
    return found if found is not None and abs(found) <= MOST_NUMBER else None


def whole(value: object) -> int:
    """Return an integer of at least 0, or 0 for anything else."""
    return max(int(number(value) or 0), 0)


def between(value: object, least: float, most: float) -> float | None:
    """Return a number within bounds, or None."""
    found = number(value)
    return found if found is not None and least <= found <= most else None


def size(value: object, unit: int | None) -> int | None:
    """Return the bytes of a size in a column of this unit, unless the cell has its own, or None for other cells.

    The default unit is MiB. Values over a pebibyte then count as bytes, because some exports have `vHostMemorySize` in
    bytes.
    """
    found = number(value)
    if found is None or found < 0:
        return None
    own = _UNIT.search(value) if isinstance(value, str) else None
    if own and own[1]:
        unit = UNITS[own[1].lower()]
    if unit is None:
        unit = 1 if found > 1e9 else 2**20
    return int(found * unit)


def moments(values: Iterable[object]) -> list[datetime | None]:
    """Return the dates and times of a column, or None for other cells.

    Another date of the column (`3/25/2026`), or am and pm, shows whether `3/4/2026` is in March or April. Otherwise the
    result is None.
    """
    found = list(values)
    matches = [_DATE.match(each.strip()) if isinstance(each, str) and len(each) < 64 else None for each in found]
    slashed = [match for match in matches if match and match["by"] == "/" and len(match["a"]) <= 2]
    month_first = any(int(match["b"]) > 12 or match["half"] for match in slashed)
    day_first = any(int(match["a"]) > 12 for match in slashed)
    order = None if month_first == day_first else "month" if month_first else "day"
    return [_moment(value, match, order) for value, match in zip(found, matches, strict=True)]


def _moment(value: object, match: re.Match[str] | None, order: str | None) -> datetime | None:
    if isinstance(value, datetime):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool) and _SERIAL[0] <= value <= _SERIAL[1]:
        return datetime(1899, 12, 30) + timedelta(seconds=round(value * 86_400))
    if match is None:
        return None
    first, second, third = match["a"], match["b"], match["c"]
    if len(first) == 4:
        year, month, day = first, second, third
    elif len(third) == 4 and (match["by"] != "/" or order == "day"):
        year, month, day = third, second, first
    elif len(third) == 4 and order == "month":
        year, month, day = third, first, second
    else:
        return None
    hour = int(match["hour"] or 0)
    if match["half"]:
        hour = hour % 12 + (12 if match["half"][0] in "pP" else 0)
    zone = (match["zone"] or "").replace("Z", "+00:00")
    try:
        found = datetime(int(year), int(month), int(day), hour, int(match["minute"] or 0), int(match["second"] or 0))
        return datetime.fromisoformat(f"{found.isoformat()}{zone}")
    except ValueError:
        return None


def moment_in_name(name: str) -> datetime | None:
    """Return the date, and the time if available, in a file name such as `RVTools_export_all_2026-06-01_08.00.00`."""
    found = _NAMED.search(name)
    if found is None:
        return None
    year, _, month, day, hour, minute, second = found.groups()
    try:
        return datetime(int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0))
    except ValueError:
        return None
