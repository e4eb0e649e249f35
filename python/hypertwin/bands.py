"""Bands of figures, from the core: values from which a figure needs attention or causes harm."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache

from hypertwin import _core
from hypertwin.documents.diagnosis import Severity


@dataclass(frozen=True)
class Band:
    """The limits of a figure; a value at a limit is within it."""

    metric: str
    """Key of a metric in docs/metrics.md."""
    unit: str
    what: str
    """The compared figure, in words."""
    info: float | None
    warning: float | None
    critical: float | None
    own: tuple[Severity, ...]
    """Severities whose limit is hypertwin's own choice; the others are published."""
    source: str
    """Source of the limits, or the reason for them."""

    @property
    def first(self) -> float:
        """The limit from which a value counts."""
        return next(limit for limit in (self.info, self.warning, self.critical) if limit is not None)


@cache
def table() -> dict[str, Band]:
    """Every band by its metric."""
    return {each["metric"]: Band(**{**each, "own": tuple(each["own"])}) for each in json.loads(_core.bands())}


def band(metric: str) -> Band:
    """The band of a metric. Raises KeyError."""
    return table()[metric]
