"""Quantities as text for scenarios. `hypertwin.files.yaml_writing` has the layout."""

from __future__ import annotations

import math

MOST_MHZ = 1e9
MOST_PCT = 1_000


def plausible_hz(mhz: float | None) -> int:
    """Return a plausible number of MHz in whole Hz, otherwise 0."""
    return round(mhz * 1e6) if mhz is not None and math.isfinite(mhz) and 0 < mhz <= MOST_MHZ else 0


def plausible_pct(value: float | None) -> float | None:
    """Return a plausible percentage, otherwise None."""
    return value if value is not None and math.isfinite(value) and 0 <= value <= MOST_PCT else None


def frequency(hz: int) -> str:
    """Return a frequency such as `2.5 GHz` or `800 MHz`, or the exact number in Hz."""
    for unit, size in (("GHz", 10**9), ("MHz", 10**6)):
        if hz % (size // 100) == 0 and hz >= size:
            return f"{hz / size:g} {unit}"
    return f"{hz} Hz"


def duration(seconds: float) -> str:
    """Return a duration such as `4 ms`, to a millionth of a second. Short durations are exact to a nanosecond."""
    for unit, size in (("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{round(seconds / size, 3):.10g} {unit}"
    return f"{max(round(seconds * 1e9), 1)} ns"


def memory_size(number_of_bytes: int) -> str:
    """Return a memory size such as `64 GiB` or `1500 MiB`, or the exact number in bytes."""
    for unit, size in (("GiB", 2**30), ("MiB", 2**20)):
        if number_of_bytes and number_of_bytes % size == 0:
            return f"{number_of_bytes // size} {unit}"
    return f"{number_of_bytes} B"


def rounded(value: float) -> float:
    """Return a value, rounded to four digits."""
    return float(f"{value:.4g}")
