"""A table of telemetry in a few figures: how much of what, over which time, and the longest ready times."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from hypertwin.ingest import parquet_table, telemetry

MOST_READY = 10
"""VMs whose ready time is listed, the longest first."""


@dataclass(frozen=True)
class Line:
    """One metric over all entities of one kind and all times."""

    kind: str
    """`host`, `vm`, `vcpu`, ..."""
    metric: str
    entities: int
    samples: int
    mean: float
    p95: float
    max: float
    unit: str


@dataclass(frozen=True)
class Ready:
    """Mean ready time of one VM."""

    entity: str
    summed_pct: float
    vcpus: float | None
    interval_s: float | None
    """Length of its samples; None where the source has no clock or there is only one sample."""


@dataclass(frozen=True)
class Overview:
    """A table of telemetry, summarised."""

    rows: int
    entities: int
    metrics: int
    first: datetime | None
    last: datetime | None
    lines: tuple[Line, ...]
    ready: tuple[Ready, ...]


_KIND = "string_split(entity, '/')[-2]"

_TOTALS = """
SELECT count(*), count(DISTINCT entity), count(DISTINCT metric), epoch_us(min(time)), epoch_us(max(time)) FROM samples
"""

_LINES = f"""
SELECT {_KIND} AS kind, metric, count(DISTINCT entity), count(*), avg(value), approx_quantile(value, 0.95), max(value)
FROM samples GROUP BY ALL
"""

_READY = f"""
WITH vm AS (
  SELECT entity, avg(value) AS ready,
    (epoch(max(time)) - epoch(min(time))) / nullif(count(DISTINCT time) - 1, 0) AS apart
  FROM samples WHERE metric = 'ready_sum_pct' AND {_KIND} IN ('vm', 'guest') GROUP BY entity
), vcpus AS (
  SELECT entity, max(value) AS vcpus FROM samples WHERE metric = 'vcpus' GROUP BY entity
), parts AS (
  SELECT regexp_replace(entity, '/vcpu/[^/]*$', '') AS entity, count(DISTINCT entity) AS vcpus
  FROM samples WHERE {_KIND} = 'vcpu' GROUP BY 1
), intervals AS (
  SELECT entity, avg(value) AS interval_s FROM samples WHERE metric = 'interval_s' GROUP BY entity
)
SELECT entity, ready, coalesce(vcpus.vcpus, parts.vcpus) AS of_vcpus, coalesce(own.interval_s, host.interval_s, apart)
FROM vm LEFT JOIN vcpus USING (entity) LEFT JOIN parts USING (entity) LEFT JOIN intervals AS own USING (entity)
LEFT JOIN intervals AS host ON host.entity = regexp_replace(vm.entity, '/vm/[^/]*$', '')
ORDER BY ready / coalesce(of_vcpus, 1) DESC, entity LIMIT {MOST_READY}
"""


def overview(path: Path) -> Overview:
    """The figures of a table that `telemetry_table.write` wrote."""
    order = {metric: place for place, metric in enumerate(telemetry.METRICS)}
    with parquet_table.connect(path) as connection:
        totals = connection.execute(_TOTALS).fetchone()
        found = connection.execute(_LINES).fetchall()
        ready = connection.execute(_READY).fetchall()
    assert totals is not None
    lines = [
        Line(kind, metric, entities, samples, mean, p95, most, telemetry.METRICS[metric].unit)
        for kind, metric, entities, samples, mean, p95, most in found
    ]
    lines.sort(key=lambda line: (telemetry.KINDS.index(line.kind), order[line.metric]))
    first, last = (None if us is None else datetime.fromtimestamp(us / 1e6, UTC) for us in totals[3:])
    rows, entities, metrics = totals[:3]
    return Overview(rows, entities, metrics, first, last, tuple(lines), tuple(Ready(*row) for row in ready))
