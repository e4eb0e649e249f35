"""What `hypertwin presets` prints: pools of distributed storage that scenarios may name."""

from __future__ import annotations

from typing import Any, TypedDict


class Preset(TypedDict):
    """A pool as a product makes it."""

    name: str
    """What `preset` in a scenario names."""
    description: str
    differs: str
    """What of the product the twin does not do, or only resembles."""
    sources: list[str]
    date: str
    """Year and month in which it was written, or last compared with its sources."""
    refresh: str
    """How to compare it again."""
    pool: dict[str, Any]
    """Keys under `storage.NAME` that it stands for."""


class Presets(TypedDict):
    """Presets by name."""

    version: str
    presets: list[Preset]
