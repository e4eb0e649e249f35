"""Bands of figures, read from the core. A band has the values from which a figure needs attention or causes harm."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache

from hypertwin import _core
from hypertwin.documents.diagnosis import Severity


@dataclass(frozen=True)
class Band:
    """Limits of a figure. A value equal to a limit is within the band."""

    metric: str
    """Key of a metric in docs/metrics.md."""
    unit: str
    what: str
    """Name of the compared figure, in words."""
    info: float | None
    warning: float | None
    critical: float | None
    own: tuple[Severity, ...]
    """Severities whose limit was chosen by hypertwin. The other limits are published."""
    source: str
    """Source of the limits, or the reason for them."""

    @property
    def first(self) -> float:
        """Limit from which a value of the figure is reported."""
        return next(limit for limit in (self.info, self.warning, self.critical) if limit is not None)


@cache
def table() -> dict[str, Band]:
    """Return every band by its metric."""
    return {each["metric"]: Band(**{**each, "own": tuple(each["own"])}) for each in json.loads(_core.bands())}


def band(metric: str) -> Band:
    """Return the band of a metric. Raises KeyError."""
    return table()[metric]
