"""Telemetry of hosts, VMs and clusters of an inventory: CPU over time, memory, ready time.

The CPU demand of a VM comes from its best counter. The first choices are `demand_mhz` and `used_mhz`. The third is used
(or run), ready and co-stop time of its vCPUs, times the host's clock. On Linux, cores used by its threads with their
wait time follow. The last is CPU use as the guest sees it, times its vCPUs and the clock. Ready and co-stop time count
as demand, without the part of ready time in which only the VM's CPU limit stopped it. Without contention they are zero.
With contention the result is an upper estimate. No sample is above the VM's limit.

CPU has mean, 95th percentile and peak of the samples, each weighted by its time. Memory, ready and I/Os are means.
Ballooned and swapped memory is the 95th percentile, because an hour of it disappears in the mean of a week. VMs of a
cluster are summed at the same times (`figures.Figures.sums`), as are VMs of a host without its own counter.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from hypertwin.ingest import aggregates, lengths, telemetry, telemetry_table
from hypertwin.ingest.figures import DIGITS, LARGEST, LEAST_SHARE, Figure, Figures, Sum, Term
from hypertwin.ingest.inventory import Assumption, Cluster, Demand, Host, Inventory, Vm, iso
from hypertwin.ingest.kvm import linux_host
from hypertwin.ingest.telemetry import Reading

OF_THE_CPU = (
    *("demand_mhz", "used_mhz", "used_sum_pct", "run_sum_pct", "ready_sum_pct", "limited_sum_pct"),
    *("costop_sum_pct", "cpu_cores"),
    *("guest_cpu_pct", "vcpus", "clock_mhz"),
)
OF_THE_DISKS = ("iops", "read_iops", "write_iops")
OF_THE_MEMORY = ("memory_used_bytes", "memory_active_bytes", "ballooned_bytes", "swapped_bytes")
OF_A_HOST = ("usage_pct", "utilization_pct", "memory_bytes")
_READ = (*OF_THE_CPU, *OF_THE_DISKS, *OF_THE_MEMORY, *OF_A_HOST, lengths.INTERVAL)

MOST_SERIES = 2_000_000
"""Maximum number of pairs of entity and metric."""
_NAMED = 3
"""Maximum number of names in a note."""


def with_measured(inventory: Inventory, readings: Iterable[Reading]) -> Inventory:
    """Return the inventory with measurements that replace the figures of its source. Consumes the readings.

    Names match in any case. Memory grows with entities, not with samples. Raises SourceError as readings do.
    """
    with tempfile.TemporaryDirectory(prefix="hypertwin-") as name:
        folder = Path(name)
        path = folder / "samples.parquet"
        telemetry_table.write(_wanted(readings), path)
        roots = _roots(path)
        there = _There(inventory, roots)
        plan = _Plan(inventory, there, _Clocks(inventory.hosts, roots, there))
        counts = {(entity, metric): total.count for root in roots for entity, metric, total in root.totals()}
        return _Measured(inventory, there, plan, Figures(path, plan.terms, counts, folder)).inventory()


def _wanted(readings: Iterable[Reading]) -> Iterator[pl.DataFrame]:
    pairs = aggregates.Pairs(MOST_SERIES)
    for reading in readings:
        for frame in reading.frames:
            part = frame.filter(pl.col("metric").cast(pl.String).is_in(_READ))
            pairs.add(part, reading.source)
            yield part


@dataclass(frozen=True)
class _Total:
    count: int
    seconds: float
    """Time of all samples."""
    mean: float


@dataclass
class _Root:
    """Host, VM or guest of the telemetry, with its counters by metric and entity."""

    path: str
    kind: str
    name: str
    host: str | None
    """Name of the host on which the VM was measured."""
    own: dict[str, dict[str, _Total]] = field(default_factory=dict)
    parts: dict[str, dict[str, _Total]] = field(default_factory=dict)
    """Counters of vCPUs and disks."""

    def counters(self, metric: str) -> dict[str, _Total]:
        """Return the totals of a metric by entity: of the root itself, or otherwise of its vCPUs or disks, to be
        summed.
        """
        return self.own.get(metric) or self.parts.get(metric, {})

    @property
    def is_linux(self) -> bool:
        """True if the host runs Linux. In contrast, ESXi hosts have `usage_pct` in addition to `utilization_pct`."""
        return "utilization_pct" in self.own and "usage_pct" not in self.own

    def mean(self, metric: str) -> float | None:
        """Return the mean of a metric, or the sum of the means of parts."""
        found = self.counters(metric)
        return sum(total.mean for total in found.values()) if found else None

    def totals(self) -> Iterator[tuple[str, str, _Total]]:
        """Yield all counters as (entity, metric, total)."""
        for counters in (self.own, self.parts):
            for metric, by_entity in counters.items():
                for entity, total in by_entity.items():
                    yield entity, metric, total


def _roots(path: Path) -> list[_Root]:
    """Return every host, VM and guest of a file, in the order of their paths."""
    found = (
        lengths.weighted(path)
        .filter(pl.col("value").abs() <= LARGEST, pl.col("metric") != lengths.INTERVAL)
        .group_by("entity", "metric")
        .agg(pl.len(), pl.sum("seconds"), (pl.col("value") * pl.col("seconds")).sum() / pl.sum("seconds"))
        .collect(engine="streaming")
        .with_columns(pl.col("entity", "metric").cast(pl.String))
        .sort("entity", "metric")
    )
    roots: dict[str, _Root] = {}
    for entity, metric, count, seconds, mean in found.iter_rows():
        kind = entity.split("/")[-2]
        path_of = entity.rpartition(f"/{kind}/")[0] if kind in ("vcpu", "disk") else entity
        kind_of = path_of.split("/")[-2] if "/" in path_of else ""
        if kind_of not in ("host", "vm", "guest"):
            continue
        if path_of not in roots:
            named = telemetry.names(path_of)
            roots[path_of] = _Root(path_of, kind_of, named[kind_of], named.get("host"))
        counters = roots[path_of].own if path_of == entity else roots[path_of].parts
        counters.setdefault(metric, {})[entity] = _Total(count, seconds, telemetry.rounded(mean, DIGITS))
    return list(roots.values())


class _There:
    """Hosts and VMs of an inventory that match the telemetry, by position."""

    def __init__(self, inventory: Inventory, roots: Sequence[_Root]) -> None:
        self._hosts = _by_name([host.name for host in inventory.hosts])
        self._short_hosts = _by_name([_short(host.name) for host in inventory.hosts])
        self._vms = _by_name([vm.name for vm in inventory.vms])
        self._short_vms = _by_name([_short(vm.name) for vm in inventory.vms])
        self.hosts: dict[int, _Root] = {}
        self.vms: dict[int, list[_Root]] = {}
        """Measured VMs and guests, VMs first. If both exist, the measurements of the host are used."""
        self.unknown: dict[str, None] = {}
        """Names of VMs and guests that are not in the inventory."""
        for root in sorted(roots, key=lambda root: root.kind, reverse=True):
            if root.kind == "host":
                place = self.host(root.name)
                if place is not None:
                    self.hosts.setdefault(place, root)
                continue
            found = self._vm(root, inventory.vms)
            if found is None:
                self.unknown[root.name] = None
            else:
                self.vms.setdefault(found, []).append(root)

    def host(self, name: str | None) -> int | None:
        """Return the host of this name in any case, or without its domain if that name is unique."""
        found = _one(self._hosts, name or "")
        return found if found is not None else _one(self._short_hosts, _short(name or ""))

    def _vm(self, root: _Root, vms: Sequence[Vm]) -> int | None:
        """Return the VM of this name. If there are several, the VM on the same host is returned.

        The guest can have a domain.
        """
        alike = self._vms.get(root.name.casefold(), [])
        if not alike and root.kind == "guest":
            alike = self._short_vms.get(_short(root.name), [])
        if len(alike) > 1:
            here = self.host(root.host)
            alike = [place for place in alike if here is not None and self.host(vms[place].host) == here]
        return alike[0] if len(alike) == 1 else None


def _by_name(names: Iterable[str]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        found.setdefault(name.casefold(), []).append(place)
    return found


def _one(found: Mapping[str, list[int]], name: str) -> int | None:
    places = found.get(name.casefold(), [])
    return places[0] if len(places) == 1 else None


def _short(name: str) -> str:
    return name.partition(".")[0].casefold()


class _Clocks:
    """Nominal clocks of hosts, in MHz: from the telemetry, otherwise from the inventory."""

    def __init__(self, hosts: Sequence[Host], roots: Sequence[_Root], there: _There) -> None:
        self._there = there
        self._hosts = hosts
        self._mhz = {host.name.casefold(): host.clock_hz / 1e6 for host in hosts if host.clock_hz}
        for root in roots:
            mhz = root.mean("clock_mhz") if root.kind == "host" else None
            if mhz:
                self._mhz[self._name(root.name)] = mhz

    def of(self, *names: str | None) -> float | None:
        """Return the clock of the first of these hosts that has one. If a VM's host is unknown, the mean of all."""
        known = [self._mhz[name] for each in names if each and (name := self._name(each)) in self._mhz]
        return known[0] if known else sum(self._mhz.values()) / len(self._mhz) if self._mhz else None

    def _name(self, name: str) -> str:
        place = self._there.host(name)
        return (name if place is None else self._hosts[place].name).casefold()


class _Plan:
    """Counters of each figure, by subject (`vm` or `host`, position in the inventory) and name of the figure."""

    def __init__(self, inventory: Inventory, there: _There, clocks: _Clocks) -> None:
        self.terms: list[Term] = []
        self.ids: dict[tuple[str, int, str], int] = {}
        self.cpu_of: dict[tuple[str, int], str] = {}
        """Names of the counters used for CPU figures."""
        self.busy_threads: list[str] = []
        """Hosts whose usage is derived from the busy time of their logical CPUs."""
        self._limits = [vm.limit_mhz or math.inf for vm in inventory.vms]
        self._sources: dict[tuple[int, str], int] = {}
        for place, vm in enumerate(inventory.vms):
            self._vm(place, vm, there.vms.get(place, []), clocks)
        for place, root in there.hosts.items():
            self._host(place, inventory.hosts[place], root)

    def _add(
        self, subject: tuple[str, int], figure: str, root: _Root, metric: str, factor: float = 1.0, leads: bool = True
    ) -> None:
        number = self.ids.setdefault((*subject, figure), len(self.ids))
        source = self._sources.setdefault((number, root.path), len(self._sources))
        most = linux_host.FULL_PCT if metric == "utilization_pct" else math.inf
        if (subject[0], figure) == ("vm", "cpu"):
            most = self._limits[subject[1]]
        self.terms += [Term(number, source, entity, metric, factor, leads, most) for entity in root.counters(metric)]

    def _vm(self, place: int, vm: Vm, roots: Sequence[_Root], clocks: _Clocks) -> None:
        subject = ("vm", place)
        for figure, metric in (
            ("consumed", "memory_used_bytes"),
            ("ballooned", "ballooned_bytes"),
            ("swapped", "swapped_bytes"),
        ):
            for root in roots:
                if root.kind == "vm" and metric in root.own:
                    self._add(subject, figure, root, metric)
        for metric in ("demand_mhz", "used_mhz"):
            if having := _having(roots, metric):
                for root in having:
                    self._add(subject, "cpu", root, metric)
                self.cpu_of[subject] = metric
                return
        for metric in ("used_sum_pct", "run_sum_pct", "cpu_cores", "guest_cpu_pct"):
            having = [root for root in _having(roots, metric) if clocks.of(root.host, vm.host)]
            for root in having:
                self._counted(subject, vm, root, metric, clocks.of(root.host, vm.host) or 0.0)
            if having:
                return

    def _counted(self, subject: tuple[str, int], vm: Vm, root: _Root, metric: str, clock_mhz: float) -> None:
        """CPU from a counter of time, converted to MHz by the clock."""
        vcpus = root.mean("vcpus") or vm.vcpus
        factor = {"cpu_cores": 1.0, "guest_cpu_pct": vcpus / 100}.get(metric, 0.01)
        self._add(subject, "cpu", root, metric, factor * clock_mhz)
        waits = {"ready_sum_pct": 1, "costop_sum_pct": 1}
        if root.counters("ready_sum_pct") and root.mean("limited_sum_pct"):
            waits["limited_sum_pct"] = -1  # a part of ready time
        of = metric
        for waited, sign in waits.items():
            if metric != "guest_cpu_pct" and root.counters(waited):
                self._add(subject, "cpu", root, waited, sign * clock_mhz / 100, leads=False)
                of += f" {'+' if sign > 0 else '-'} {waited}"
        self.cpu_of[subject] = f"{of} at {clock_mhz:.0f} MHz"

    def _host(self, place: int, host: Host, root: _Root) -> None:
        subject = ("host", place)
        if root.counters("usage_pct"):
            self._add(subject, "cpu", root, "usage_pct")
            self.cpu_of[subject] = "usage_pct"
        elif root.is_linux:
            self._add(subject, "cpu", root, "utilization_pct", host.threads_per_core)
            self.cpu_of[subject] = "utilization_pct" + f" x {host.threads_per_core}" * (host.threads_per_core > 1)
            self.busy_threads += [host.name] * (host.threads_per_core > 1)
            return  # what Linux swaps out is not of its VMs alone
        for figure, metric in (("ballooned", "ballooned_bytes"), ("swapped", "swapped_bytes")):
            if root.counters(metric):
                self._add(subject, figure, root, metric)


def _having(roots: Sequence[_Root], metric: str) -> list[_Root]:
    """Return the roots of a VM that have a metric: those measured on the host, otherwise those of the guest."""
    found = [root for root in roots if root.counters(metric)]
    return [root for root in found if root.kind == "vm"] or found


def _mean(roots: Sequence[_Root], metric: str) -> float | None:
    """Return the mean of a metric over the time of all roots with the metric."""
    found = [
        (mean, max(total.seconds for total in root.counters(metric).values()))
        for root in _having(roots, metric)
        if (mean := root.mean(metric)) is not None
    ]
    seconds = sum(own for _, own in found)
    return sum(mean * own for mean, own in found) / seconds if seconds else None


class _Measured:
    """Figures of hosts, VMs and clusters of an inventory."""

    def __init__(self, inventory: Inventory, there: _There, plan: _Plan, figures: Figures) -> None:
        self._inventory = inventory
        self._there = there
        self._plan = plan
        self._figures = figures
        self._assumptions = list(inventory.assumptions)
        self._on = [place for place, vm in enumerate(inventory.vms) if vm.powered_on and not vm.is_template]
        self._on_hosts: dict[int, list[int]] = {}
        for place in self._on:
            at = there.host(inventory.vms[place].host)
            if at is not None:
                self._on_hosts.setdefault(at, []).append(place)
        self._clusters = _clusters(inventory, there, self._on)

    def inventory(self) -> Inventory:
        """Return the inventory with these figures and with notes on them."""
        vms = tuple(self._vm(place, vm) for place, vm in enumerate(self._inventory.vms))
        sums = self._sums()
        hosts = tuple(self._host(place, host, sums) for place, host in enumerate(self._inventory.hosts))
        clusters = self._with_sums(sums)
        self._tell()
        return replace(self._inventory, hosts=hosts, vms=vms, clusters=clusters, assumptions=self._assumptions)

    def _figure(self, kind: str, place: int, name: str) -> Figure | None:
        number = self._plan.ids.get((kind, place, name))
        return None if number is None else self._figures.by_id.get(number)

    def _vm(self, place: int, vm: Vm) -> Vm:
        roots = self._there.vms.get(place, [])
        consumed = self._figure("vm", place, "consumed")
        active, ready = _mean(roots, "memory_active_bytes"), _mean(roots, "ready_sum_pct")
        vcpus = _mean(roots, "vcpus") or vm.vcpus
        found: dict[str, object] = {
            "demand": self._demand(place, roots),
            "memory_consumed_bytes": None if consumed is None else round(consumed.mean),
            "memory_active_bytes": None if active is None else round(active),
            "ready_pct": None if ready is None else min(max(ready / vcpus, 0.0), 100.0),
            **self._reclaimed("vm", place),
        }
        return replace(vm, **{name: value for name, value in found.items() if value is not None})  # type: ignore[arg-type]

    def _demand(self, place: int, roots: Sequence[_Root]) -> Demand | None:
        figure = self._figure("vm", place, "cpu")
        if figure is None:
            return None
        of = self._plan.cpu_of["vm", place]
        several = figure.count > 1
        reads_and_writes = [mean for metric in OF_THE_DISKS[1:] if (mean := _mean(roots, metric)) is not None]
        iops = _mean(roots, "iops")
        iops = sum(reads_and_writes) if iops is None and reads_and_writes else iops
        return Demand(
            max(figure.mean, 0.0),
            None if iops is None else max(iops, 0.0),
            f"{figure.over_s:.0f} s of {of}" if figure.over_s else of,
            cpu_p95_mhz=max(figure.p95, 0.0) if several else None,
            cpu_peak_mhz=max(figure.peak, 0.0) if several else None,
            over_s=figure.over_s,
            counter=_counter(of, figure),
            at=_iso(figure.last_us),
        )

    def _reclaimed(self, kind: str, place: int) -> dict[str, int | None]:
        figures = {name: self._figure(kind, place, name) for name in ("ballooned", "swapped")}
        return {f"{name}_bytes": None if figure is None else round(figure.p95) for name, figure in figures.items()}

    def _host(self, place: int, host: Host, sums: Mapping[tuple[str, ...], Sum]) -> Host:
        root, figure = self._there.hosts.get(place), self._figure("host", place, "cpu")
        found: dict[str, object] = dict(self._reclaimed("host", place))
        if root is not None:
            found["memory_usage_pct"] = _memory_usage_pct(root, host)
        if figure is not None:
            found |= _usage(figure, 1.0, _counter(self._plan.cpu_of["host", place], figure))
        elif host.cpu_usage_pct is None and host.clock_hz and (total := sums.get(("host", str(place)))) is not None:
            capacity_mhz = host.sockets * host.cores_per_socket * host.clock_hz / 1e6
            several = len(self._on_hosts[place])
            found |= _usage(total.figure, 100 / capacity_mhz, _added_up(total, several))
        return replace(host, **{name: value for name, value in found.items() if value is not None})  # type: ignore[arg-type]

    def _sums(self) -> dict[tuple[str, ...], Sum]:
        """Return sums over the VMs of clusters, and of hosts without their own counter, if enough VMs were measured."""
        groups: dict[tuple[str, ...], list[int]] = {}
        for (name, datacenter), places in self._clusters.items():
            for figure in ("cpu", "consumed"):
                groups[figure, name, datacenter] = places
        for at, places in self._on_hosts.items():
            if self._figure("host", at, "cpu") is None:
                groups["host", str(at)] = places
        ids = self._plan.ids
        wanted = {
            group: {
                ids[key]: place
                for place in places
                if (key := ("vm", place, "consumed" if group[0] == "consumed" else "cpu")) in ids
            }
            for group, places in groups.items()
        }
        found = {}
        for group, total in self._figures.sums(wanted).items():
            width = {number: self._inventory.vms[place].vcpus for number, place in wanted[group].items()}
            every = sum(self._inventory.vms[place].vcpus for place in groups[group])
            least = every if group[0] == "host" else LEAST_SHARE * every
            if sum(width[number] for number in total.figures) >= least:
                found[group] = total
        return found

    def _with_sums(self, sums: Mapping[tuple[str, ...], Sum]) -> tuple[Cluster, ...]:
        clusters = list(self._inventory.clusters)
        for (name, datacenter), places in self._clusters.items():
            cpu, consumed = (sums.get((figure, name, datacenter)) for figure in ("cpu", "consumed"))
            if cpu is None and any(self._figure("vm", place, "cpu") for place in places):
                text = (
                    "no sum over its VMs: those measured at the same times have less than "
                    f"{LEAST_SHARE:.0%} of its vCPUs"
                )
                self._assumptions.append(Assumption(f"cluster {name}" if name else "all VMs", text))
            first = cpu or consumed
            if first is None:
                continue
            found: dict[str, object] = {
                "over_s": first.figure.over_s,
                "at": _iso(first.figure.last_us),
                "counter": _added_up(first, len(places)),
            }
            if cpu is not None:
                figure = cpu.figure
                found |= {"cpu_mhz": figure.mean, "cpu_p95_mhz": figure.p95, "cpu_peak_mhz": figure.peak}
            if consumed is not None:
                found["memory_consumed_bytes"] = round(consumed.figure.mean)
                found["memory_consumed_peak_bytes"] = round(consumed.figure.peak)
            at = _fact_of(clusters, name, datacenter)
            clusters[at] = replace(clusters[at], **found)  # type: ignore[arg-type]
        return tuple(clusters)

    def _tell(self) -> None:
        """Add notes on unmeasured, unknown and guessed values."""
        away = sum(("vm", place) not in self._plan.cpu_of for place in self._on)
        if away:
            text = "not in the telemetry under this name: demand from the source, if it has any"
            self._assumptions.append(Assumption(f"{away} of {len(self._on)} VMs", text))
        if self._there.unknown:
            names = list(self._there.unknown)
            listed = ", ".join(names[:_NAMED]) + " ..." * (len(names) > _NAMED)
            text = f"left out: not in the inventory, or not unique there by name: {listed}"
            subject = f"{len(names)} VM{'s' * (len(names) > 1)} of the telemetry"
            self._assumptions.append(Assumption(subject, text))
        if self._plan.busy_threads:
            subject = f"{len(self._plan.busy_threads)} of {len(self._inventory.hosts)} hosts"
            self._assumptions.append(Assumption(subject, linux_host.BUSY_THREADS))


def _clusters(inventory: Inventory, there: _There, on: Sequence[int]) -> dict[tuple[str, str], list[int]]:
    """Return the VMs of each cluster, by name and datacenter from the VM or its host.

    Equal names in two datacenters are two clusters. A VM without a datacenter belongs to the only one of that name.
    """
    titles: dict[tuple[str, str], tuple[str, str]] = {}
    members: dict[tuple[str, str], list[int]] = {}
    for place in on:
        vm, at = inventory.vms[place], there.host(inventory.vms[place].host)
        host = None if at is None else inventory.hosts[at]
        alone = host.name if host is not None and inventory.standalone_hosts else ""
        title = (
            vm.cluster or (host.cluster if host else None) or alone,
            (host.datacenter if host else None) or vm.datacenter or "",
        )
        key = (title[0].casefold(), title[1].casefold())
        titles.setdefault(key, title)
        members.setdefault(key, []).append(place)
    for key in [key for key in members if not key[1]]:
        others = [other for other in members if other[0] == key[0] and other[1]]
        if len(others) == 1:
            members[others[0]] += members.pop(key)
    return {titles[key]: sorted(places) for key, places in members.items()}


def _usage(figure: Figure, factor: float, counter: str) -> dict[str, object]:
    mean, p95, peak = (telemetry.rounded(value * factor) for value in (figure.mean, figure.p95, figure.peak))
    several = figure.count > 1
    return {
        "cpu_usage_pct": mean,
        "cpu_p95_pct": p95 if several else None,
        "cpu_peak_pct": peak if several else None,
        "over_s": figure.over_s,
        "at": _iso(figure.last_us),
        "counter": counter,
    }


def _memory_usage_pct(root: _Root, host: Host) -> float | None:
    """Return the mean of memory in use, in per cent."""
    total, used = root.mean("memory_bytes") or host.memory_bytes, root.mean("memory_used_bytes")
    return None if used is None or total <= 0 else 100 * min(max(used / total, 0.0), 1.0)


def _fact_of(clusters: list[Cluster], name: str, datacenter: str) -> int:
    """Return the index of the entry of a cluster. A missing entry is added."""
    for place, cluster in enumerate(clusters):
        same_place = cluster.datacenter is None or cluster.datacenter.casefold() == datacenter.casefold()
        if cluster.name.casefold() == name.casefold() and same_place:
            return place
    clusters.append(Cluster(name, datacenter or None))
    return len(clusters) - 1


def _counter(of: str, figure: Figure) -> str:
    if not figure.interval_s:
        return of
    longest = figure.longest_s or figure.interval_s
    return f"{of}, samples of {figure.interval_s:g}{f' to {longest:g}' * (longest > figure.interval_s)} s"


def _added_up(total: Sum, several: int) -> str:
    return f"sum over {len(total.figures)} of {several} VMs, every {total.figure.interval_s:g} s"


def _iso(us: int | None) -> str | None:
    return None if us is None else iso(us // 1_000_000)
