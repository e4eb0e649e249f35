"""Output of `hypertwin presets`: pools of distributed storage for scenarios."""

from __future__ import annotations

from typing import Any, TypedDict


class Preset(TypedDict):
    """The pool of a product."""

    name: str
    """Name for `preset` in a scenario."""
    description: str
    differs: str
    """Differences between the product and the twin."""
    sources: list[str]
    date: str
    """Year and month of its creation or last comparison with its sources."""
    refresh: str
    """Instructions to compare it again."""
    pool: dict[str, Any]
    """Equivalent keys under `storage.NAME`."""


class Presets(TypedDict):
    """Presets by name."""

    version: str
    presets: list[Preset]
