"""Which reader reads which telemetry: the list that `hypertwin telemetry` and `hypertwin diagnose` go by.

A reader is one module of this folder with two functions: `recognises(head)` looks at the first bytes of a file,
`read(path)` gives a `Reading`. Systems that are asked over a network have `read(address)` alone, by scheme.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from hypertwin.ingest import get_stat, outside, vcenter_counters
from hypertwin.ingest.telemetry import Reading


@dataclass(frozen=True)
class Format:
    """A file format of telemetry."""

    name: str
    """What people call it: `esxtop -b`, `vmstat`."""
    recognises: Callable[[bytes], bool]
    """Whether a file that begins with these bytes (`outside.HEAD_BYTES` of them, unpacked) is of this format."""
    read: Callable[[Path], Reading]


FORMATS: tuple[Format, ...] = (Format("PowerCLI Get-Stat CSV", get_stat.recognises, get_stat.read),)
"""In the order they are tried: strict ones first."""
REMOTE: Mapping[str, Callable[[str], Reading]] = MappingProxyType({"vcenter": vcenter_counters.read})
"""Readers of addresses, by scheme."""


def read(source: str) -> Reading:
    """The reading of a file or an address. Raises SourceError for what no reader recognises."""
    scheme, separator, _ = source.partition("://")
    if separator and scheme in REMOTE:
        return REMOTE[scheme](source)
    path = Path(source)
    head = outside.head(path)
    found = next((candidate for candidate in FORMATS if candidate.recognises(head)), None)
    if found is None:
        known = ", ".join([*(candidate.name for candidate in FORMATS), *(f"{scheme}://" for scheme in REMOTE)])
        hint = "is the file whole, with its header, and in English?"
        outside.refuse(path, "", "a file that no reader recognises", f"one of: {known}", hint, "unknown-source")
    return found.read(path)
