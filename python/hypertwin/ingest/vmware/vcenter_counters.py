"""Performance counters of a vCenter Server or ESXi host as telemetry: `vcenter://USER@HOST[/DATACENTER]?hours=24`.

Real-time samples are 20 s long and kept for an hour. A vCenter Server keeps samples of 300 s for a day, of 1,800 s for
a week, and so on. Each has the counters of its configured statistics level. Sums of milliseconds are converted to per
cent by the interval that the server sends with each sample.

The reader requests series in CSV. In the normal format, a server can leave out zeros (govmomi's simulator does), and
values and times no longer match. A row of values that does not match its times is refused. -1 is a missing sample
(pyvmomi issue 191). Source: vSphere Web Services API, `PerformanceManager.QueryPerf`, `QuerySpec`, `EntityMetricCSV`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl

from hypertwin.errors import UnreachableError
from hypertwin.ingest import outside, telemetry, telemetry_table
from hypertwin.ingest.outside import Gap
from hypertwin.ingest.telemetry import Reading
from hypertwin.ingest.vmware import vcenter, vsphere, vsphere_counters
from hypertwin.ingest.vmware.vsphere import FaultError, Session
from hypertwin.ingest.vmware.vsphere_counters import Counter, Values

REAL_TIME_S = 20
REAL_TIME_HOURS = 1.0
KEPT = ((24.0, 300), (24.0 * 7, 1800), (24.0 * 31, 7200), (24.0 * 366, 86_400))
"""Hours that vCenter keeps samples, with their length in seconds, by default."""
MOST_SAMPLES = 10_000
"""Maximum number of samples of one series."""
VALUES_PER_QUERY = 200_000
"""Maximum number of values per query: about 2 MB."""
METRICS_PER_QUERY = 64
"""Maximum metrics per query for past intervals: vCenter refuses more by default (`config.vpxd.stats.maxQueryMetrics`,
VMware KB 2107096)."""
VM_PARTS = MappingProxyType({**vsphere_counters.VCPU_COUNTERS, **vsphere_counters.VM_PART_COUNTERS})
BOTH = vsphere_counters.VCPU_COUNTERS
ALL_OF_A_VM = MappingProxyType({**vsphere_counters.VM_COUNTERS, **VM_PARTS})
ALL_OF_A_HOST = MappingProxyType({**vsphere_counters.HOST_COUNTERS, **vsphere_counters.HOST_PART_COUNTERS})
DISKS_OF_A_VM = 4
PARTS_OF_A_HOST = 40
"""Assumed number of parts of a host, to estimate the size of a response."""
ABOUT_THE_COUNTERS = ("InvalidArgument", "RestrictedByAdministrator")
"""Faults of a query that fewer counters might avoid."""

_Times = np.ndarray[tuple[int], np.dtype[np.datetime64]]


@dataclass(frozen=True)
class Definition:
    """Definition of a counter of the server."""

    key: int
    unit: str
    rollup: str


@dataclass(frozen=True)
class Subject:
    """Host or VM with counters."""

    reference: Any
    path: tuple[str, ...]
    """Parts of its entity: `("host", "esx1", "vm", "db")`."""
    parts: int
    """Number of vCPUs and disks, or of devices, which is partly estimated."""
    known: Mapping[str, float] = field(default_factory=dict)
    """Constant metrics, from the inventory."""

    @property
    def is_vm(self) -> bool:
        """True if the subject is a VM."""
        return "vm" in self.path


def read(text: str) -> Reading:
    """Return the reading of the counters at an address.

    Raises SourceError. The frames raise the same errors as `vsphere`.
    """
    address, _ = vsphere.read_address(text)
    reading = Reading(str(address), "vcenter", iter(()))
    reading.frames = _frames(text, reading)
    return reading


def _frames(text: str, reading: Reading) -> Iterator[pl.DataFrame]:
    with vsphere.connected(text) as session:
        reader = _Reader(session)
        yield from reader.frames()
        reading.gaps.extend(reader.gaps())
        reading.notes.extend(reader.notes())


def interval_of(hours: float) -> int:
    """Return the length of the shortest samples that are kept for this time, in seconds."""
    if hours <= REAL_TIME_HOURS:
        return REAL_TIME_S
    return next((seconds for kept, seconds in KEPT if hours <= kept), KEPT[-1][1])


class _Reader:
    def __init__(self, session: Session) -> None:
        self.session = session
        self.manager = session.content.perfManager
        self.interval_s = session.options.interval_s or interval_of(session.options.hours)
        self.samples = int(session.options.hours * 3600 / self.interval_s) + 1
        if self.samples > MOST_SAMPLES:
            value = f"{self.samples} samples of {self.interval_s} s"
            hint = "ask for fewer hours or a longer interval"
            session.source.at("hours").too_large(value, f"at most {MOST_SAMPLES} samples", hint)
        self.definitions: dict[str, Definition] = {}
        self.counter_of: dict[int, str] = {}
        self.datastores: dict[str, str] = {}
        self.unsupported: set[tuple[bool, str]] = set()
        self.found: set[tuple[bool, str]] = set()
        self.faults: defaultdict[str, set[tuple[str, ...]]] = defaultdict(set)
        self.asked: set[bool] = set()
        self.silent: dict[str, Subject] = {}
        self.sample_info: tuple[str, Values, _Times] | None = None

    def frames(self) -> Iterator[pl.DataFrame]:
        self._define()
        hosts, vms = self._subjects()
        end = self.session.call("current time", self.session.instance.CurrentTime)
        end = end.astimezone(UTC) if end.tzinfo else end.replace(tzinfo=UTC)
        start = end - timedelta(hours=self.session.options.hours)
        for subjects in (hosts, vms):
            for batch in self._batches(subjects):
                self.asked.add(batch[0].is_vm)
                yield from self._query(batch, self._wanted(batch[0].is_vm), start, end)

    def gaps(self) -> Iterator[Gap]:
        for is_vm in sorted(self.asked):
            for name, counter in _counters(is_vm).items():
                if (is_vm, name) not in self.found:
                    whose = "VMs" if is_vm else "hosts"
                    why = "unknown to this server" if name not in self.definitions else f"no samples of {whose}"
                    yield Gap(name, f"{counter.costs} ({why})")
        for fault, paths in sorted(self.faults.items()):
            yield Gap(f"QueryPerf ({fault})", f"counters of {len(paths)} hosts and VMs")
        if self.silent:
            yield Gap("samples", f"{len(self.silent)} hosts and VMs without any in this time")
        yield Gap("memory by NUMA node", "remote memory")
        for (path, fault), count in sorted(self.session.missing.items()):
            yield Gap(path, f"{count} objects ({fault})")

    def notes(self) -> Iterator[str]:
        hours = self.session.options.hours
        yield f"samples of {self.interval_s} s over {hours:g} h; sums of ms are divided by each sample's own interval"
        yield "VMs are listed under their current host"
        if self.session.options.trust.insecure:
            yield "the server's certificate was not checked"

    def _define(self) -> None:
        """Get the numbers and units of this server's counters: `PerformanceManager.perfCounter`."""
        listed = self.session.call("counters", lambda: self.manager.perfCounter) or []
        for one in listed:
            group, name, unit = (getattr(info, "key", None) for info in (one.groupInfo, one.nameInfo, one.unitInfo))
            self.definitions.setdefault(
                f"{group}.{name}.{one.rollupType}", Definition(int(one.key), str(unit), str(one.rollupType))
            )
        self.counter_of = {definition.key: name for name, definition in self.definitions.items()}
        if not self.definitions:
            place = self.session.source.at("PerformanceManager.perfCounter")
            place.lacks("nothing", "counters", "may this user see performance?")

    def _subjects(self) -> tuple[list[Subject], list[Subject]]:
        """Return powered-on hosts and VMs, with their data from the inventory."""
        from pyVmomi import vim

        session = self.session
        for _, values in session.objects(vim.Datastore, ("name", "summary.url"), session.content.rootFolder):
            tail = str(values.get("summary.url", "")).rstrip("/").rpartition("/")[2]
            self.datastores[tail] = vsphere.plain_name(values.get("name", tail))
        reader = vcenter.Reader(session, devices=False)
        inventory = reader.inventory()
        of_host = {name: moid for moid, name in reader.host_names.items()}
        of_vm = {name: moid for moid, name in reader.vm_names.items()}
        stub = session.instance._stub
        hosts = []
        for host in inventory.hosts:
            cores = host.sockets * host.cores_per_socket
            figures: dict[str, float] = {
                "cores": cores,
                "threads": cores * host.threads_per_core,
                "memory_bytes": host.memory_bytes,
            }
            if host.clock_hz:
                figures["clock_mhz"] = host.clock_hz / 1e6
            reference = vim.HostSystem(of_host[host.name], stub)
            hosts.append(Subject(reference, ("host", host.name), PARTS_OF_A_HOST, figures))
        vms = []
        for vm in inventory.vms:
            if vm.powered_on and not vm.is_template:
                above = ("host", vm.host) if vm.host else ()
                figures = {"vcpus": vm.vcpus, "memory_bytes": vm.memory_bytes}
                handle = vim.VirtualMachine(of_vm[vm.name], stub)
                vms.append(Subject(handle, (*above, "vm", vm.name), vm.vcpus + DISKS_OF_A_VM, figures))
        return hosts, vms

    def _wanted(self, is_vm: bool) -> list[str]:
        return [name for name in _counters(is_vm) if name in self.definitions and (is_vm, name) not in self.unsupported]

    def _batches(self, subjects: Sequence[Subject]) -> Iterator[list[Subject]]:
        """Yield the subjects of one kind, in groups whose responses have about `VALUES_PER_QUERY` values."""
        batch: list[Subject] = []
        values = metrics = 0
        for subject in subjects:
            wanted = len(self._metrics(subject.is_vm, self._wanted(subject.is_vm)))
            expected = (wanted + wanted * subject.parts) * self.samples
            too_many = self.interval_s != REAL_TIME_S and metrics + wanted > METRICS_PER_QUERY
            if batch and (values + expected > VALUES_PER_QUERY or too_many):
                yield batch
                batch, values, metrics = [], 0, 0
            batch.append(subject)
            values += expected
            metrics += wanted
        if batch:
            yield batch

    def _metrics(self, is_vm: bool, names: Sequence[str]) -> list[tuple[str, str]]:
        """Return the counters with the instances to request: the whole, all parts, or both for a VM and its vCPUs.

        A real server returns the whole for `*` too. Simulators do not.
        """
        parts = VM_PARTS if is_vm else vsphere_counters.HOST_PART_COUNTERS
        return [
            (name, instance)
            for name in names
            for instance in ("", "*")
            if (instance == "*" and name in parts) or (instance == "" and name not in parts) or name in BOTH
        ]

    def _query(
        self, subjects: Sequence[Subject], names: Sequence[str], start: datetime, end: datetime
    ) -> Iterator[pl.DataFrame]:
        """Yield the samples of subjects of one kind. After a fault, the subjects or counters are queried in halves."""
        from pyVmomi import vim

        if not names:
            return
        is_vm = subjects[0].is_vm
        query = vim.PerformanceManager
        metrics = [
            query.MetricId(counterId=self.definitions[name].key, instance=instance)
            for name, instance in self._metrics(is_vm, names)
        ]
        specs = [
            query.QuerySpec(
                entity=subject.reference,
                metricId=metrics,
                startTime=start,
                endTime=end,
                intervalId=self.interval_s,
                format="csv",
            )
            for subject in subjects
        ]
        try:
            answers = self.session.call("QueryPerf", self.manager.QueryPerf, specs)
        except FaultError as fault:
            yield from self._query_less(fault, subjects, names, start, end)
            return
        by_identity = {vsphere.moid(subject.reference): subject for subject in subjects}
        silent = dict(by_identity)
        for answer in answers or ():
            subject = by_identity.get(vsphere.moid(getattr(answer, "entity", None)))
            if subject is None:
                continue
            part = self._frame(subject, answer)
            if part is not None:
                silent.pop(vsphere.moid(subject.reference), None)
                yield part
        self.silent.update(silent)

    def _query_less(
        self, fault: FaultError, subjects: Sequence[Subject], names: Sequence[str], start: datetime, end: datetime
    ) -> Iterator[pl.DataFrame]:
        if fault.kind == "NotAuthenticated":
            raise UnreachableError(f"{self.session.name}: the session was ended by the server")
        if len(subjects) > 1:
            half = len(subjects) // 2
            yield from self._query(subjects[:half], names, start, end)
            yield from self._query(subjects[half:], names, start, end)
        elif len(names) > 1 and fault.kind in ABOUT_THE_COUNTERS:
            half = len(names) // 2
            yield from self._query(subjects, names[:half], start, end)
            yield from self._query(subjects, names[half:], start, end)
        else:
            if fault.kind == "InvalidArgument":
                self.unsupported.add((subjects[0].is_vm, names[0]))
            self.faults[fault.kind].add(subjects[0].path)

    def _frame(self, subject: Subject, answer: Any) -> pl.DataFrame | None:
        """Return the samples of one host or VM, in order of time, or None without samples."""
        from pyVmomi import vim

        where = f"QueryPerf of {subject.path[-1]}"
        if not isinstance(answer, vim.PerformanceManager.EntityMetricCSV):
            self.session.source.at(where).refuse(type(answer).__name__, "series in CSV")
        intervals, times = self._sample_info(where, answer.sampleInfoCSV or "")
        if not len(times):
            return None
        columns: dict[str, dict[str, Values]] = {}
        for series in answer.value or ():
            name = self.counter_of.get(getattr(series.id, "counterId", -1))
            if name is None or name not in _counters(subject.is_vm):
                continue
            path = self._path(subject, name, outside.name(series.id.instance or ""))
            counter = _counters(subject.is_vm)[name]
            definition = self.definitions[name]
            convert = vsphere_counters.conversion(definition.unit, definition.rollup, counter.metric)
            if path is None or convert is None or counter.metric in columns.get(path, {}):
                continue
            values = self._values(f"{where}, {name}", series.value or "", len(times))
            columns.setdefault(path, {})[counter.metric] = convert(values, intervals)
            self.found.add((subject.is_vm, name))
        if not columns:
            return None
        whole = telemetry.entity(*subject.path)
        columns.setdefault(whole, {})
        for figures in columns.values():
            if "read_iops" in figures and "write_iops" in figures:
                figures["iops"] = figures["read_iops"] + figures["write_iops"]
            figures["interval_s"] = intervals
        rows = [
            (path, metric, values, times) for path, figures in columns.items() for metric, values in figures.items()
        ]
        rows += [(whole, metric, np.array([float(value)]), times[-1:]) for metric, value in subject.known.items()]
        return _table(rows)

    def _path(self, subject: Subject, name: str, instance: str) -> str | None:
        """Return the entity of a series, or None for an unused instance."""
        if not instance:
            return telemetry.entity(*subject.path)
        part = vsphere_counters.part_of(name, instance)
        if part is None or name not in (VM_PARTS if subject.is_vm else vsphere_counters.HOST_PART_COUNTERS):
            return None
        kind, own = part
        return telemetry.entity(*subject.path, kind, self.datastores.get(own, own) if kind == "datastore" else own)

    def _sample_info(self, where: str, text: str) -> tuple[Values, _Times]:
        """Return the intervals in seconds and ends of samples from `interval,time,interval,time`."""
        if (cached := self.sample_info) and cached[0] == text:
            return cached[1], cached[2]
        parts = [part.strip() for part in text.split(",")] if text.strip() else []
        allowed, source = "pairs of an interval in seconds and a time", self.session.source.at(where)
        if len(parts) % 2 or len(parts) > 2 * MOST_SAMPLES + 10:
            source.refuse(f"{len(parts)} parts", allowed)
        intervals, times = [], []
        for seconds, at in zip(parts[::2], parts[1::2], strict=True):
            try:
                moment = datetime.fromisoformat(at)
                moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
                since_1970_s = moment.timestamp()
            except (ValueError, OverflowError):
                since_1970_s = -1.0
            if not 0 <= since_1970_s * 1e6 <= telemetry.LAST_TIME_US:
                source.refuse(outside.name(f"time {at}"), allowed)
            if not (seconds.isascii() and seconds.isdigit() and 0 < int(seconds[:9]) <= 10 * 86_400):
                source.refuse(outside.name(f"interval {seconds}"), allowed)
            intervals.append(float(seconds))
            times.append(np.datetime64(int(since_1970_s * 1e6), "us"))
        self.sample_info = (text, np.array(intervals), np.array(times, dtype="datetime64[us]"))
        return self.sample_info[1:]

    def _values(self, where: str, text: str, samples: int) -> Values:
        """Return one value for each sample, or NaN for a missing value, which is blank or -1."""
        parts = pl.Series(text.split(","), dtype=pl.String).str.strip_chars()
        source = self.session.source.at(where)
        if len(parts) != samples:
            hint = "values no longer match their times: ask for a shorter time"
            source.refuse(f"{len(parts)} values for {samples} samples", "as many values", hint)
        numbers = parts.cast(pl.Int64, strict=False)
        if ((parts != "") & numbers.is_null()).any():
            source.refuse("text", "whole numbers")
        values = numbers.cast(pl.Float64).to_numpy(allow_copy=True)
        return np.where(values < 0, np.nan, values)


def _counters(is_vm: bool) -> Mapping[str, Counter]:
    return ALL_OF_A_VM if is_vm else ALL_OF_A_HOST


def _table(rows: Sequence[tuple[str, str, Values, _Times]]) -> pl.DataFrame:
    """Return the series with entity, metric, values and times as a frame of the table, without missing samples."""
    lengths = [len(values) for _, _, values, _ in rows]
    which = np.repeat(np.arange(len(rows)), lengths)
    names = {
        "entity": [path for path, _, _, _ in rows],
        "metric": [metric for _, metric, _, _ in rows],
        "unit": [telemetry.METRICS[metric].unit for _, metric, _, _ in rows],
    }
    table = pl.DataFrame(
        {
            "time": np.concatenate([times for _, _, _, times in rows]),
            "value": np.concatenate([values for _, _, values, _ in rows]),
            **{key: pl.Series(listed).gather(which) for key, listed in names.items()},
        }
    )
    return (
        table.filter(pl.col("value").is_not_nan())
        .with_columns(pl.col("time").dt.replace_time_zone("UTC"))
        .select(pl.col(column).cast(kind) for column, kind in telemetry_table.SCHEMA.items())
        .sort("time", maintain_order=True)
    )
