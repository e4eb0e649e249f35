"""Words and units shared by the texts of findings."""

from __future__ import annotations

MIB = 2**20
GIB = 2**30

SUSTAINED = "reached in 5% of the samples or more"
OFTEN = "reached in 20% of the samples or more"


def size(count: float) -> str:
    """Return the bytes in a readable unit."""
    for unit, bytes_ in (("TiB", 2**40), ("GiB", GIB), ("MiB", MIB), ("KiB", 1024)):
        if count >= bytes_:
            value = count / bytes_
            return f"{value:.3g} {unit}" if value < 999.5 else f"{value:,.0f} {unit}"
    return f"{count:,.0f} B"


def span(seconds: float) -> str:
    """Return a duration in whole days, hours, minutes or seconds."""
    for unit, length in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 1.5 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} seconds"


def milliseconds(value: float) -> str:
    """Return milliseconds, with a decimal below 10."""
    return f"{value:.0f} ms" if value >= 10 else f"{value:.1f} ms"
