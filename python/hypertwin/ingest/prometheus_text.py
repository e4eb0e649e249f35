"""Telemetry from saved responses of exporters: one scrape, or several over time, without a Prometheus server.

The same exporters, series and queries as those of a server (`prometheus_queries`), evaluated by `promql`. Gauges need
one scrape. Counters need two of the same instance. A file can contain several consecutive scrapes. A folder is one
source, with files in the order of their names. The time of a scrape comes from its samples' timestamps (as `/federate`
adds them), from `node_time_seconds`, or from a file name that ends in seconds or milliseconds since 1970. Format:
prometheus.io/docs/instrumenting/exposition_formats, text-based, version 0.0.4; OpenMetrics where it is alike.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import polars as pl

from hypertwin.ingest import outside, prometheus_series, promql
from hypertwin.ingest.prometheus_queries import EXPORTERS, NODE, PROBES, Exporter, Query
from hypertwin.ingest.prometheus_series import Series, Systems
from hypertwin.ingest.promql import Key
from hypertwin.ingest.telemetry import Reading
from hypertwin.ingest.telemetry_table import SCHEMA

MOST_SAMPLES = 100_000
"""Maximum number of samples of known series in one scrape."""
MOST_LABELS = 4_096
"""Maximum characters of the labels of a series."""
MOST_FILES = 20_000
PART_ROWS = 20_000
"""Approximate rows in memory at a time."""
MOST_INSTANCES = 2_000
MOST_ENTITIES = 200_000
LAST_S = 7_258_118_400.0
TIME = "node_time_seconds"
CPU = "node_cpu_seconds_total"
BOOT = "node_boot_time_seconds"
BOOT_S = 60.0
"""Seconds by which the time of the boot can differ between scrapes. A system derives it from its clock."""
SYSTEMS = ("node_uname_info", "node_dmi_info", TIME, BOOT)
PARTS = frozenset(("cpu", "mode", "vcpu"))
"""Labels of parts of a system or VM, whose counters restart together."""

_META = re.compile(r"# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]{0,200})(?: |$)")
_SAMPLE = re.compile(
    r"([a-zA-Z_:][a-zA-Z0-9_:]{0,200}+)\s*+(?:\{(.*)\})?\s*+(\S{1,64}+)(?:\s++(-?[0-9.]{1,24}+))?(?:\s++#.*)?\s*+"
)
_LABEL = re.compile(r'\s*([a-zA-Z_][a-zA-Z0-9_]{0,200})\s*=\s*"((?:[^"\\]|\\.)*+)"\s*,?')
_STAMP = re.compile(r"(?:^|[^0-9])([0-9]{10}|[0-9]{13})$")
_ESCAPED = {r"\\": "\\", r"\"": '"', r"\n": "\n"}


@dataclass
class Scrape:
    """Responses of one or several instances at about the same time."""

    samples: dict[str, dict[Key, float]] = field(default_factory=dict)
    times: dict[str, float] = field(default_factory=dict)
    """Seconds since 1970, by instance."""
    count: int = 0

    def of(self, name: str) -> Mapping[Key, float]:
        """Return the series with a name."""
        return self.samples.get(name, {})


def recognises(head: bytes) -> bool:
    """True if the text begins like an exporter's response, and has a known series."""
    lines = head.decode("utf-8-sig", "replace").splitlines()[:2_000]
    told = [line for line in lines if line.strip()]
    if not told or not (_META.match(told[0]) or _SAMPLE.fullmatch(told[0][:4_096])):
        return False
    return any(line.startswith(("# HELP ", "# TYPE ")) or line.partition("{")[0] in _needed() for line in told[:20])


def files(folder: Path) -> Iterable[Path]:
    """Return the files of a folder, by name, if they are such responses."""
    found = _files(folder)
    return found if found and recognises(outside.head(found[0])) else ()


def read(path: Path) -> Reading:
    """Return the reading of a file or a folder. Raises SourceError."""
    reading = Reading(outside.name(path.name) or str(path), "prometheus text", iter(()))
    reading.frames = _Frames(path, reading).frames()
    return reading


def _files(folder: Path) -> list[Path]:
    try:
        names = itertools.islice(folder.iterdir(), MOST_FILES + 1)
        return sorted(path for path in names if path.suffix in (".prom", ".txt") and path.is_file())
    except OSError:
        return []


@cache
def _needed() -> frozenset[str]:
    """Return all series that any query needs."""
    found = {name for exporter in EXPORTERS for query in exporter.queries for name in promql.names(query.expression)}
    return frozenset((*found, *(exporter.probe for exporter in EXPORTERS), *SYSTEMS))


def scrapes(path: Path, instance: str) -> Iterator[Scrape]:
    """Yield the scrapes in a file. A repeated series or description of a name starts a new scrape."""
    now, last = Scrape(), ""
    for line in outside.text_lines(path):
        if line.startswith("#"):
            meta = _META.match(line)
            if meta is not None and meta[2] != last and meta[2] in now.samples:
                yield now
                now = Scrape()
            last = meta[2] if meta is not None else last
            continue
        name = line[:201].partition("{")[0].split(" ")[0]
        found = _sample(line) if name in _needed() else None
        if found is None:
            continue
        key, value, time = found
        labels = dict(key)
        owner = labels.setdefault("instance", instance)
        key = tuple(sorted(labels.items()))
        if key in now.of(name):
            yield now
            now = Scrape()
        now.samples.setdefault(name, {})[key] = value
        last = name
        now.count += 1
        if now.count > MOST_SAMPLES:
            outside.Source(path).too_many(MOST_SAMPLES, "samples", hint="use one scrape per part")
        if time is None and name == TIME and 0 < value < LAST_S:
            time = value
        if time is not None:
            now.times[owner] = max(time, now.times.get(owner, 0.0))
    if now.samples:
        yield now


def _sample(line: str) -> tuple[Key, float, float | None] | None:
    """Return labels, value and time of a line `name{label="value"} 1 1767225600000`, or None for any other line."""
    found = _SAMPLE.fullmatch(line) if len(line) <= MOST_LABELS + 512 else None
    value = outside.number(found[3]) if found is not None else None
    if found is None or value is None:
        return None
    labels = tuple((label, _plain(text)) for label, text in _LABEL.findall(found[2] or ""))
    if len(dict(labels)) != len(labels):
        return None
    stamp = outside.number(found[4]) if found[4] else None
    if stamp is not None and stamp > 1e11:  # milliseconds; OpenMetrics has seconds
        stamp /= 1000
    return labels, value, stamp if stamp is not None and 0 < stamp < LAST_S else None


def _plain(text: str) -> str:
    return re.sub(r"\\.", lambda found: _ESCAPED.get(found[0], found[0]), text) if "\\" in text else text


def _whole(key: Key) -> Key:
    """Return the labels without those of parts that restart together."""
    return tuple(pair for pair in key if pair[0] not in PARTS)


class _Frames:
    """Rows of all scrapes, and notes on them."""

    def __init__(self, path: Path, reading: Reading) -> None:
        self.path, self.reading = path, reading
        self.source = outside.Source(path, "use scrapes of one cluster")
        self.systems = Systems()
        self.before: dict[str, Scrape] = {}
        """The last scrape of each instance."""
        self.series: set[str] = set()
        self.entities: set[str] = set()
        self.fast: set[str] = set()
        """Instances that count vCPU time in nanoseconds."""
        self.pending: dict[tuple[str, str, float], tuple[Query, list[Series]]] = {}
        """Series by query and seconds between scrapes, waiting for output."""
        self.scrapes = self.pairs = self.untimed = self.rows = self.waiting = self.restarts = 0

    def frames(self) -> Iterator[pl.DataFrame]:
        for file, instance in self.files():
            stamp = _STAMP.search(file.name.split(".")[0])
            named = None if stamp is None else float(stamp[1]) / (1000 if len(stamp[1]) == 13 else 1)
            for number, scrape in enumerate(scrapes(file, instance)):
                self.scrapes += 1
                self.series |= scrape.samples.keys()
                for owner in {dict(key)["instance"] for series in scrape.samples.values() for key in series}:
                    if owner not in scrape.times and named is not None and number == 0:
                        scrape.times[owner] = named
                    self.untimed += owner not in scrape.times
                yield from self.of(scrape)
        yield from self.parts()
        self.finish()

    def files(self) -> Iterator[tuple[Path, str]]:
        """Yield the files, each with the name of its instance, for responses that do not name it."""
        if outside.is_folder(self.path):
            folder = self.path.resolve().name
            yield from ((path, outside.name(folder) or "host") for path in _files(self.path))
        else:
            stem = self.path.name.removesuffix(".gz").rpartition(".")[0] or self.path.name
            yield self.path, outside.name(_STAMP.sub("", stem).rstrip("-_. ")) or "host"

    def of(self, scrape: Scrape) -> Iterator[pl.DataFrame]:
        """Yield the rows of one scrape."""
        seconds = {
            owner: time - self.before[owner].times[owner]
            for owner, time in scrape.times.items()
            if owner in self.before
        }
        seconds = {owner: span for owner, span in seconds.items() if span > 0}
        self.pairs += bool(seconds)
        restarted = self.restarted(scrape) & seconds.keys()
        self.restarts += len(restarted)
        seconds = {owner: span for owner, span in seconds.items() if owner not in restarted}

        def grew(name: str) -> dict[Key, float]:
            found = dict(self.grown(name, scrape, seconds))
            fell = {_whole(key) for key, more in found.items() if more < 0}
            return {
                key: more / seconds[dict(key)["instance"]] for key, more in found.items() if _whole(key) not in fell
            }

        def look(expression: str) -> list[Series]:
            found = promql.evaluated(expression, scrape.of, grew)
            return [
                (dict(key), [scrape.times.get(dict(key).get("instance", ""), math.nan)], [value])
                for key, value in found.items()
            ]

        if NODE.probe in scrape.samples or "node_uname_info" in scrape.samples:
            seen = prometheus_series.systems(look)
            self.systems.names |= seen.names
            self.systems.guests |= seen.guests
        self.fast |= {labels.get("instance", "") for labels, _, _ in look(prometheus_series.TOO_FAST)}
        interval = max(seconds.values(), default=0.0)
        for query in (query for each in EXPORTERS if each.probe in scrape.samples for query in each.queries):
            if query.series in scrape.samples and (found := look(query.expression)):
                self.pending.setdefault((query.metric, query.of, interval), (query, []))[1].extend(found)
                self.waiting += len(found)
        for owner in scrape.times:
            self.before[owner] = scrape
        if len(self.before) > MOST_INSTANCES:
            self.source.too_many(MOST_INSTANCES, "instances")
        if self.waiting > PART_ROWS:
            yield from self.parts()

    def restarted(self, scrape: Scrape) -> set[str]:
        """Return the instances that restarted since their last scrape: a CPU counter fell, or the boot time changed.

        Other counters of such an instance can be above their last value, or can have been 0.
        """
        known = scrape.times.keys() & self.before.keys()
        fell = {dict(key)["instance"] for key, more in self.grown(CPU, scrape, known) if more < 0}
        return fell | {dict(key)["instance"] for key, more in self.grown(BOOT, scrape, known) if abs(more) > BOOT_S}

    def grown(self, name: str, scrape: Scrape, owners: Collection[str]) -> Iterator[tuple[Key, float]]:
        """Yield the differences of a series since the last scrapes of some instances."""
        for key, value in scrape.of(name).items():
            owner = dict(key)["instance"]
            first = self.before[owner].of(name).get(key) if owner in owners else None
            if first is not None:
                yield key, value - first

    def parts(self) -> Iterator[pl.DataFrame]:
        """Yield waiting series, as parts of the table."""
        pending, self.pending, self.waiting = self.pending, {}, 0
        for (_, _, interval), (query, found) in pending.items():
            for part in prometheus_series.parts(query, found, interval, self.systems, self.fast):
                kept = part.filter(pl.col("value").is_finite())
                self.rows += len(kept)
                self.entities.update(kept["entity"].unique())
                if len(self.entities) > MOST_ENTITIES:
                    self.source.too_many(MOST_ENTITIES, "entities")
                yield kept.cast(dict(SCHEMA))  # type: ignore[arg-type]

    def finish(self) -> None:
        """Report missing figures. Refuses a source without any row."""
        present: list[Exporter] = [exporter for exporter in EXPORTERS if exporter.probe in self.series]
        if not present or not self.rows:
            hint = "save all that the exporter answers at /metrics"
            self.source.at("series").lacks("no known series", f"one of: {PROBES}", hint)
        self.reading.gaps += prometheus_series.gaps(present, self.series)
        if not self.pairs:
            again = "of the same instance, with times" if self.scrapes > 1 else "of the same instance"
            self.reading.notes.append(f"counters need two scrapes {again}: only gauges are read")
        elif self.untimed:
            self.reading.notes.append(
                f"{self.untimed} scrapes do not say when they were taken: only their gauges are read"
            )
        if self.restarts:
            several = "s" * (self.restarts > 1)
            self.reading.notes.append(f"{self.restarts} restart{several} between scrapes: no rates from these times")
        self.reading.notes += self.systems.notes()
