"""Telemetry for rules, with one aggregate per entity and metric, and short series for charts.

Readings of any number of files go, part by part, into one temporary Parquet file. `ingest.aggregates` reads it in
bounded memory. Percentiles are exact, so the same files give the same findings.

Rules judge the value that more than 5% of the samples, and at least two, reach. Percentiles are calculated metric by
metric. A quantile sketch would depend on threads. No rule uses a maximum, except the check for oversized VMs, which
needs the peak.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from hypertwin.documents import diagnosis as findings
from hypertwin.documents import telemetry as sources
from hypertwin.extras import needs
from hypertwin.ingest.outside import Gap
from hypertwin.ingest.telemetry import rounded, vcpu_counts
from hypertwin.runs.simulation import LabelledProgress

if TYPE_CHECKING:
    import polars as pl

    from hypertwin.ingest.aggregates import Pairs, Totals

MOST_POINTS = 300
"""Number of points of a series for a chart."""
MOST_ENTITIES = 2_000_000
"""Maximum number of pairs of entity and metric. 100 hosts with 17,000 esxtop columns have fewer pairs."""

_LAST_TIME_US = 253_402_300_799_000_000
"""End of the year 9999, in microseconds since 1970."""


@dataclass(frozen=True)
class Stat:
    """Statistics of one metric of one entity over all samples."""

    count: int
    mean: float
    least: float
    most: float
    low: float
    """Low value that at least 5% of the samples, and at least two, do not exceed: the counterpart of `high`."""
    seldom: float
    """20th percentile."""
    median: float
    often: float
    """80th percentile: 20% of the samples reach this value."""
    high: float
    """Sustained high value, which more than 5% of the samples, and at least two, reach. It is never one peak."""
    first_us: int | None
    """Time of the first sample, microseconds since 1970, or None if the source has no clock."""
    last_us: int | None
    moment: str = ""
    """Time of a figure without a series, in words: `at the time of the export, 2026-03-01`."""

    @property
    def is_one_moment(self) -> bool:
        """True for a single sample of an export, which shows no peak and no duration."""
        return bool(self.moment) and self.count == 1

    def said(self, words: str) -> str:
        """Return words for a percentile, such as `reached in 20% of the samples`, or the time of a single sample."""
        return self.moment or words

    def on_average(self, text: str) -> str:
        """Return a text about the mean, or an empty string without a series, where the mean equals the figure."""
        return "" if self.moment else text

    def over(self, divisor: float) -> Stat:
        """Return the metric divided by a positive number."""
        return replace(self, **{name: getattr(self, name) / divisor for name in _VALUES})

    def less(self, part: Stat | None) -> Stat:
        """Return the metric without one of its parts, whose peaks are assumed to be at the same times.

        `high` is at least the difference of the means, which needs no assumption.
        """
        if part is None:
            return self
        rest = {name: max(getattr(self, name) - getattr(part, name), 0.0) for name in _VALUES}
        return replace(self, **{**rest, "high": min(max(rest["high"], rest["mean"]), self.high)})


_VALUES = ("mean", "least", "most", "low", "seldom", "median", "often", "high")


@dataclass(frozen=True)
class When:
    """Times when a metric was beyond its band."""

    share_pct: float
    """Percentage of the samples beyond the band."""
    first: str | None
    """Times in UTC of the first, last and worst such sample, or None if the source has no clock."""
    last: str | None
    worst: str | None

    def to_dict(self) -> findings.Beyond:
        """Return the JSON form."""
        return {"share_pct": self.share_pct, "first": self.first, "last": self.last, "worst": self.worst}


@dataclass(frozen=True)
class Read:
    """Data read from one source."""

    source: str
    kind: str
    rows: int
    gaps: tuple[Gap, ...]
    notes: tuple[str, ...]
    hosts: frozenset[str] = frozenset()
    """Paths of the hosts of the source."""
    first_us: int | None = None
    """First time, microseconds since 1970, or None without a clock."""
    last_us: int | None = None

    @property
    def span(self) -> str:
        """Time span in words."""
        return f"{_time(self.first_us or 0)} to {_time(self.last_us or 0)}"

    def to_dict(self) -> sources.Read:
        """Return the JSON form."""
        gaps: list[sources.Gap] = [{"what": gap.what, "costs": gap.costs} for gap in self.gaps]
        return {"source": self.source, "kind": self.kind, "rows": self.rows, "gaps": gaps, "notes": list(self.notes)}


class Evidence:
    """Aggregates of all telemetry, and access to the samples behind them."""

    def __init__(self, stats: dict[tuple[str, str], Stat], path: Path | None, reads: Sequence[Read]) -> None:
        """Use `Evidence.of` to create an object."""
        self.vcpus = vcpu_counts(entity for entity, _ in stats)
        """Number of measured vCPUs of VMs, by path."""
        self._worst_vcpu = _keep_worst_vcpus(stats)
        self._stats = stats
        self._path = path
        self.reads = tuple(reads)
        self._by_kind: dict[str, list[str]] = {}
        self._present: set[tuple[str, str]] = set()
        self._moments: set[tuple[str, str]] = set()
        """Kinds of entities and metrics known only from a single sample outside telemetry."""
        for entity, metric in stats:
            kind = entity.split("/")[-2] if "/" in entity else entity
            self._by_kind.setdefault(kind, []).append(entity)
            self._present.add((kind, metric))
        self._by_kind = {kind: sorted(set(entities)) for kind, entities in self._by_kind.items()}
        paths: set[str] = set()
        for entity, _ in stats:
            parts = entity.split("/")
            paths.update("/".join(parts[:end]) for end in range(2, len(parts) + 1, 2))
        self.samples: dict[str, int] = {}
        """Maximum number of samples of any entity in a host or a guest, by path of the host or guest."""
        for (entity, _), stat in stats.items():
            place = "/".join(entity.split("/")[:2])
            self.samples[place] = max(self.samples.get(place, 0), stat.count)
        self.paths = sorted(paths)
        """Paths of all entities, and of all entities that contain another one."""

    @staticmethod
    @contextmanager
    def of(
        sources: Sequence[str],
        metrics: Iterable[str],
        progress: LabelledProgress | None = None,
        folder: Path | None = None,
    ) -> Iterator[Evidence]:
        """Read sources and aggregate these metrics. The end of the block deletes the samples. Raises SourceError."""
        if not sources:
            yield Evidence({}, None, ())
            return
        needs("telemetry", "telemetry")
        with tempfile.TemporaryDirectory(prefix="hypertwin-", dir=folder) as temporary:
            path = Path(temporary) / "telemetry.parquet"
            reads = _write(sources, path, progress)
            stats = _aggregate(path, sorted(set(metrics)), progress)
            yield Evidence(stats, path, reads)

    def add(self, entity: str, metric: str, stat: Stat) -> None:
        """Add a figure from outside telemetry, unless telemetry has the figure."""
        if (entity, metric) not in self._stats:
            self._stats[entity, metric] = stat
            found = self._moments if stat.count == 1 else self._present
            found.add((entity.split("/")[-2], metric))

    def add_usage(self, threads_per_core: Mapping[str, int]) -> list[str]:
        """Add the CPU usage of Linux hosts, whose telemetry has only the busy time of their logical CPUs.

        `threads_per_core` has the hosts of which it is known, by path. Returns the paths of hosts with added usage.
        """
        lacking = {path: threads for path, threads in threads_per_core.items() if not self.stat(path, "usage_pct")}
        if self._path is None or not lacking:
            return []
        from hypertwin.ingest import aggregates

        found = [each for each in aggregates.add_usage(self._path, lacking) if each.entity in lacking]
        for each in found:
            self._stats[each.entity, each.metric] = _stat(each)
            self._present.add(("host", each.metric))
        return [each.entity for each in found]

    def stat(self, entity: str | None, metric: str) -> Stat | None:
        """Return a metric of an entity, or None."""
        return self._stats.get((entity, metric)) if entity is not None else None

    def worst_vcpu(self, vm: str | None, metric: str) -> str | None:
        """Return the vCPU of a VM with the most `ready_sum_pct` or `costop_sum_pct`, if single vCPUs were measured."""
        return self._worst_vcpu.get((vm, metric)) if vm is not None else None

    def entities(self, kind: str) -> list[str]:
        """Return the sorted paths of the entities of a kind."""
        return self._by_kind.get(kind, [])

    def has(self, kind: str, metric: str, *, series: bool = False) -> bool:
        """True if any entity of a kind has a metric, or a series of it."""
        return (kind, metric) in self._present or (not series and (kind, metric) in self._moments)

    def interval_s(self, entity: str | None, metric: str) -> float | None:
        """Return the length of intervals of an entity in seconds.

        The length is that of the source for the entity or its container, or otherwise derived from the times.
        """
        stat = self.stat(entity, metric)
        if stat is not None and stat.moment:
            return None
        place = entity
        while place:
            said = self.stat(place, "interval_s")
            if said is not None:
                return said.median
            place = place.rpartition("/")[0].rpartition("/")[0]
        if stat is None or stat.first_us is None or stat.last_us is None or stat.count < 2:
            return None
        return round((stat.last_us - stat.first_us) / (stat.count - 1) / 1e6, 1) or None

    def series(self, wanted: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Series]:
        """Return means and maxima of each (entity, metric) over its own time span, at most `MOST_POINTS`."""
        pairs = sorted({pair for pair in wanted if pair in self._stats and not self._stats[pair].moment})
        if not pairs or self._path is None:
            return {}
        spans = [
            (*pair, self._stats[pair].first_us, self._stats[pair].last_us, self._stats[pair].count) for pair in pairs
        ]
        from hypertwin.ingest import aggregates

        rows = aggregates.thinned(self._path, spans, MOST_POINTS)
        found: dict[tuple[str, str], Series] = {}
        for entity, metric, time_us, place, mean, most in rows:
            series = found.setdefault((entity, metric), Series([], [], []))
            series.x.append(place or 0 if time_us is None else _time(time_us))
            series.mean.append(rounded(mean))
            series.most.append(most)
        return found

    def beyond(self, wanted: Sequence[tuple[str, str, float, bool]]) -> dict[tuple[str, str], When]:
        """Return times when samples were beyond a limit, for each (entity, metric, limit, True if below is bad)."""
        if not wanted or self._path is None:
            return {}
        from hypertwin.ingest import aggregates

        rows = aggregates.beyond(self._path, wanted)
        return {
            (entity, metric): When(rounded(share), *(None if us is None else _time(us) for us in times))
            for entity, metric, share, *times in rows
        }


@dataclass(frozen=True)
class Series:
    """A metric over time, thinned for a chart: means and maxima of equal parts of its time span."""

    x: list[str | int]
    """Times as ISO 8601 in UTC, or numbers of samples if the source has no clock."""
    mean: list[float]
    most: list[float]


def _write(sources: Sequence[str], path: Path, progress: LabelledProgress | None) -> list[Read]:
    from hypertwin.ingest import aggregates, formats, telemetry_table

    pairs = aggregates.Pairs(MOST_ENTITIES)
    readings = [formats.read(source) for source in sources]
    extents = [_Extent() for _ in readings]
    for reading, extent in zip(readings, extents, strict=True):
        reading.frames = extent.watch(reading.frames, reading.source, pairs)

    def told(source: str, rows: int) -> None:
        if progress:
            progress(f"reading {source}: {rows:,} values", 0, 0)

    rows = telemetry_table.gather(readings, path, told)
    return [
        Read(
            source=reading.source,
            kind=reading.kind,
            rows=count,
            gaps=tuple(reading.gaps),
            notes=tuple(reading.notes),
            hosts=frozenset(extent.hosts),
            first_us=extent.first_us,
            last_us=extent.last_us,
        )
        for reading, count, extent in zip(readings, rows, extents, strict=True)
    ]


class _Extent:
    """Hosts and times of a source, collected while it is read."""

    def __init__(self) -> None:
        self.hosts: set[str] = set()
        self.first_us: int | None = None
        self.last_us: int | None = None

    def watch(self, frames: Iterator[pl.DataFrame], source: str, pairs: Pairs) -> Iterator[pl.DataFrame]:
        for part in frames:
            pairs.add(part, source)
            entities = part["entity"].unique().to_list()
            self.hosts.update("/".join(entity.split("/")[:2]) for entity in entities if entity.startswith("host/"))
            times = part["time"].dt.epoch("us")
            first, last = times.min(), times.max()
            if isinstance(first, int) and isinstance(last, int):
                self.first_us = min(first, self.first_us if self.first_us is not None else first)
                self.last_us = max(last, self.last_us if self.last_us is not None else last)
            yield part


def _aggregate(path: Path, metrics: Sequence[str], progress: LabelledProgress | None) -> dict[tuple[str, str], Stat]:
    from hypertwin.ingest import aggregates

    if progress:
        progress("aggregating values", 0, 0)
    aggregates.add_io(path)
    return {(each.entity, each.metric): _stat(each) for each in aggregates.totals(path, metrics)}


def _keep_worst_vcpus(stats: dict[tuple[str, str], Stat]) -> dict[tuple[str, str], str]:
    """Remove all vCPUs except the worst of each VM and metric. Return the worst."""
    worst: dict[tuple[str, str], tuple[float, float, str]] = {}
    inner = [(entity, metric, stat) for (entity, metric), stat in stats.items() if "/vcpu/" in entity]
    for entity, metric, stat in inner:
        key, here = (entity.rpartition("/vcpu/")[0], metric), (stat.high, stat.mean, entity)
        worst[key] = max(worst.get(key, here), here)
        del stats[entity, metric]
    for entity, metric, stat in inner:
        if worst[entity.rpartition("/vcpu/")[0], metric][2] == entity:
            stats[entity, metric] = stat
    return {key: entity for key, (_, _, entity) in worst.items()}


def _stat(totals: Totals) -> Stat:
    low, seldom, median, often, high = totals.quantiles
    return Stat(
        count=totals.count,
        mean=rounded(totals.mean),
        least=totals.least,
        most=totals.most,
        low=max(low, totals.second_least),
        seldom=seldom,
        median=median,
        often=min(often, totals.second),
        high=min(high, totals.second),
        first_us=totals.first_us,
        last_us=totals.last_us,
    )


def _time(us: int) -> str:
    us = min(max(us, 0), _LAST_TIME_US)
    return datetime.fromtimestamp(us // 1_000_000, UTC).strftime("%Y-%m-%d %H:%M:%S")
