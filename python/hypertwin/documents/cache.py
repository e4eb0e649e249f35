"""Output of `hypertwin cache list`: cached results."""

from __future__ import annotations

from typing import TypedDict


class Build(TypedDict):
    """Results of one build of hypertwin."""

    build: str
    """Version, and a hash of the sources of its core."""
    used: bool
    """True for this build, which does not use results of other builds."""
    results: int
    """Partitions of replications, and reports of points."""
    bytes: int
    """Compressed size of the results, in bytes."""
    first_used: str
    """Last use of the least recently used result: a day, such as 2026-11-22."""
    last_used: str
    """Last use of any result."""


class Cache(TypedDict):
    """Result cache with its builds."""

    folder: str | None
    """Folder of the cache, or None without a cache."""
    file_bytes: int
    largest_bytes: int
    """Size limit. Beyond it the least recently used results are removed."""
    builds: list[Build]
    """Builds of hypertwin, most recently used first."""
