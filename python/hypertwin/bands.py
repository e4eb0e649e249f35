"""From which value on a figure is worth a look, or hurts: the core's one table, for all who judge by it."""

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
    """Who says so, or why."""

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
