"""Output of `hypertwin presets`: pools of distributed storage for scenarios."""

from __future__ import annotations

from typing import Any, TypedDict


class Preset(TypedDict):
    """The pool of a product."""

    name: str
    """Its name for `preset` in a scenario."""
    description: str
    differs: str
    """Differences between the product and the twin."""
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
