"""Output of `hypertwin telemetry`."""

from __future__ import annotations

from typing import TypedDict


class Gap(TypedDict):
    """Data that a source lacks, and the results that need them."""

    what: str
    costs: str


class Read(TypedDict):
    """Data read from one source."""

    source: str
    kind: str
    rows: int
    gaps: list[Gap]
    notes: list[str]


class Line(TypedDict):
    """A metric of all entities of a kind, in `unit`."""

    kind: str
    metric: str
    entities: int
    samples: int
    mean: float
    p95: float
    max: float
    unit: str


class Ready(TypedDict):
    """Ready time of a VM, summed over its vCPUs, or None if unknown."""

    entity: str
    summed_pct: float
    vcpus: float | None
    interval_s: float | None


class Telemetry(TypedDict):
    """Summary of a telemetry table. Times are in ISO 8601, or None if the table has none."""

    version: str
    rows: int
    entities: int
    metrics: int
    first: str | None
    last: str | None
    lines: list[Line]
    ready: list[Ready]
    sources: list[Read]
