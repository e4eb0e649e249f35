"""Output of `hypertwin presets`: pools of distributed storage for scenarios."""

from __future__ import annotations

from typing import Any, TypedDict


class Preset(TypedDict):
    """Preset for the pool of a product."""

    name: str
    """Name for `preset` in a scenario."""
    description: str
    differs: str
    """Differences between the product and the twin."""
    sources: list[str]
    date: str
    """Year and month of the creation of the preset, or of its last comparison with its sources."""
    refresh: str
    """Instructions to compare the preset with its sources again."""
    pool: dict[str, Any]
    """Equivalent keys under `storage.NAME`."""


class Presets(TypedDict):
    """Presets by name."""

    version: str
    presets: list[Preset]
