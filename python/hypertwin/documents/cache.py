"""What `hypertwin cache list` prints: results that are kept."""

from __future__ import annotations

from typing import TypedDict


class Build(TypedDict):
    """Results of one build of hypertwin."""

    build: str
    """Version, and a hash of the sources of its core."""
    used: bool
    """Whether it is the build that prints this, which uses no other's results."""
    results: int
    """Islands of replications, and reports of points."""
    bytes: int
    """Compressed, as they are kept."""
    first_used: str
    """When the result was used last that was not used for longest: a day, such as 2026-11-22."""
    last_used: str
    """When one was used last."""


class Cache(TypedDict):
    """A cache."""

    folder: str | None
    """None where nothing is kept."""
    file_bytes: int
    largest_bytes: int
    """What results take before those not used for longest are removed."""
    builds: list[Build]
    """The one used last first."""
