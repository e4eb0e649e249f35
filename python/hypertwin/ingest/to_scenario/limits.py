"""How much of everything a scenario takes."""

from __future__ import annotations

import math
from typing import NoReturn

from hypertwin.ingest import outside

MOST_ENTRIES = 10_000
"""Hosts, VMs and rules, each."""
MOST_VCPUS_OF_ALL = 200_000
MOST_SOCKETS, MOST_CORES, MOST_VCPUS = 16, 256, 768
LEAST_MEMORY, MOST_MEMORY = 2**20, 2**50
LEAST_CLOCK_HZ, MOST_CLOCK_HZ = 100e6, 20e9
_MOST_MHZ = 1e9


def hz(mhz: float | None) -> int:
    """Whole Hz of a plausible number of MHz, else 0."""
    return round(mhz * 1e6) if mhz is not None and math.isfinite(mhz) and 0 < mhz <= _MOST_MHZ else 0


def too_many(source: str, what: str, count: int, most: int) -> NoReturn:
    """Raise the `SourceError` for an inventory with more of something than a scenario takes."""
    hint = "import one cluster at a time"
    outside.refuse(source, "", f"{count} {what}", f"at most {most} {what}", hint, "source-too-large")
