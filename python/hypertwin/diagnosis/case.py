"""Input of rules: clusters, hosts, VMs and guests, joined from telemetry and cluster file.

A host or VM of the cluster file matches the telemetry by its `label`, or by its name without one. Case does not matter.
If several VMs have one name, the VM on the same host matches. If both sources have a size or a topology, the cluster
file's counts. A VM with a guessed host in the cluster file has no host, unless it was measured on one. Hosts and VMs
outside the cluster file form one unknown cluster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from hypertwin import _core, members
from hypertwin.diagnosis import snapshot
from hypertwin.diagnosis.evidence import Evidence, Read, Stat
from hypertwin.diagnosis.subjects import Busy, Cluster, Host, Subject, Vm, cluster_name
from hypertwin.ingest import telemetry
from hypertwin.ingest.appliances import is_storage_appliance
from hypertwin.ingest.kvm import linux_host
from hypertwin.metrics.words import some
from hypertwin.scenario import Scenario, virtual_numa

FAR_FROM_BUSY_PCT = 50
"""CPU usage of a host up to which a vCPU finds a free core, if there is one for each. Our own choice."""


@dataclass
class Case:
    """Input of all rules."""

    evidence: Evidence
    scenario: Scenario | None
    clusters: list[Cluster]
    hosts: list[Host]
    vms: list[Vm]
    guests: list[str]
    """Paths of guests for which no VM is known."""
    notes: list[str]
    source: str = "telemetry"
    """Name of the source of series."""

    @staticmethod
    def of(evidence: Evidence, scenario: Scenario | None, *, simulated: bool = False) -> Case:
        """Join telemetry and cluster file. Telemetry that was `simulated` from that file names VMs by their keys."""
        clusters, hosts, vms = _of_scenario(scenario) if scenario else ([], [], [])
        if simulated:
            _call(hosts, {})
            _call(vms, {})
        _measured_hosts(evidence, hosts)
        busy_threads = _busy_threads(evidence, hosts)
        paths = _prefixes(evidence, "vm")
        moved = _moved(evidence, paths) if simulated else []
        missing = _measured_vms(evidence, [path for path in paths if path not in moved], hosts, vms)
        guests = _measured_guests(evidence, vms)
        if simulated and scenario:
            _call(hosts, {each.name: each.label for each in scenario.inventory.hosts if each.label})
            _call(vms, {each.name: each.label for each in scenario.inventory.vms if each.label})
        notes = _other_cluster(hosts, vms, guests) if scenario else []
        if scenario and missing and not notes:
            notes.append(f"not in the cluster file, so their configuration is unknown: {some(missing)}")
        if guests and vms:
            names = [telemetry.names(path)["guest"] for path in guests]
            notes.append(f"no VM has the name of these measured guests: {some(names)}")
        if moved:
            names = sorted({telemetry.names(path)["vm"] for path in moved})
            notes.append(f"moved during the run, so judged only on the host with most of their samples: {some(names)}")
        if busy_threads:
            notes.append(f"{some(busy_threads)}: {linux_host.BUSY_THREADS}")
        notes += _extents(evidence)
        for vm in vms:
            vm.appliance = vm.appliance or is_storage_appliance(vm.name)
        hosts.sort(key=lambda host: host.subject.path)
        vms.sort(key=lambda vm: vm.subject.path)
        clusters = _gathered(clusters, hosts, vms)
        snapshot.add(evidence, hosts, vms)
        source = "the twin" if simulated else "telemetry"
        return Case(evidence, scenario, clusters, hosts, vms, guests, notes, source)

    @property
    def known_clusters(self) -> list[Cluster]:
        """Clusters of the cluster file."""
        return [each for each in self.clusters if each.key]

    def in_its_cluster(self, subject: Subject) -> Subject:
        """Return a host, VM, guest or device with the cluster of its host, if known."""
        if subject.cluster or not subject.host:
            return subject
        return replace(subject, cluster=cluster_name(self._cluster_of_host.get(subject.host)))

    @cached_property
    def _cluster_of_host(self) -> dict[str, Cluster | None]:
        return {host.name: host.cluster for host in self.hosts}

    @cached_property
    def placed(self) -> dict[str, list[Vm]]:
        """VMs by host name in the scenario, including VMs whose host is a guess."""
        found: dict[str, list[Vm]] = {}
        for vm in self.vms:
            if vm.key and vm.layout:
                found.setdefault(vm.layout["host"], []).append(vm)
        return found

    def per_vcpu(self, vm: Vm, metric: str) -> Stat | None:
        """Return the value per vCPU of a metric summed over vCPUs, or None without metric or number of vCPUs."""
        stat = self.evidence.stat(vm.entity, metric)
        return stat.over(vm.vcpus) if stat and vm.vcpus else None

    def waiting(self, vm: Vm) -> Stat | None:
        """Return ready per vCPU without limited time: what the host makes a VM wait, or None without a measurement."""
        ready = self.per_vcpu(vm, "ready_sum_pct")
        return ready.less(self.per_vcpu(vm, "limited_sum_pct")) if ready else None

    def has_free_cores(self, vm: Vm) -> bool:
        """True if the host of a VM has a core for each vCPU of its VMs, and is far from busy.

        No vCPU then waits because of other VMs.
        """
        host = vm.host
        usage = self.evidence.stat(host.entity, "usage_pct") if host else None
        if host is None or usage is None or not host.cores or not host.is_known:
            return False
        return host.vcpus <= host.cores and usage.often <= FAR_FROM_BUSY_PCT

    def may_be_limited(self, vm: Vm) -> bool:
        """True if the ready time of a VM can include time in which its CPU limit held it.

        This time is a part of ready, unless limited time was measured too.
        """
        if vm.facts is None or vm.facts.limit_hz is None or self.evidence.stat(vm.entity, "limited_sum_pct"):
            return False
        most = (vm.vcpus or 0) * (vm.host.clock_mhz or 0.0) * 1e6 if vm.host else 0.0
        return not most or vm.facts.limit_hz < most

    def used_mhz(self, vm: Vm) -> Stat | None:
        """Return the CPU that a VM uses at nominal clock, by the best available metric."""
        clock = vm.host.clock_mhz if vm.host else None
        for metric, mhz in (
            ("used_mhz", 1.0),
            ("used_sum_pct", (clock or 0.0) / 100),
            ("run_sum_pct", (clock or 0.0) / 100),
            ("cpu_cores", clock),
            ("demand_mhz", 1.0),
        ):
            stat = self.evidence.stat(vm.entity, metric)
            if stat and mhz:
                return stat.over(1 / mhz)
        return None

    def working(self, guest: str | None) -> Stat | None:
        """Return CPU of a guest without steal, when it got no CPU, or None without a measurement."""
        busy = self.evidence.stat(guest, "guest_cpu_pct")
        return busy.less(self.evidence.stat(guest, "steal_pct")) if busy else None

    def busy(self, vm: Vm) -> Busy | None:
        """Return the load of a VM as its guest sees it, in per cent of a vCPU, by the best available metric."""
        if not vm.vcpus:
            return None
        for entity in (vm.guest, vm.entity):
            stat = self.evidence.stat(entity, "guest_cpu_pct")
            if stat and entity:
                return Busy(stat, stat.most, "guest_cpu_pct", entity, 1)
        run = self.per_vcpu(vm, "run_sum_pct")
        if run and vm.entity:
            waiting = [self.per_vcpu(vm, metric) for metric in ("ready_sum_pct", "costop_sum_pct")]
            more = sum(stat.mean for stat in waiting if stat)
            most = run.most + sum(stat.most for stat in waiting if stat)
            # to a guest, a vCPU that waits for a CPU is busy
            return Busy(_raised(run, more), min(most, 100.0), "run_sum_pct", vm.entity, vm.vcpus, more)
        cores = self.per_vcpu(vm, "cpu_cores")
        if cores and vm.entity:
            stat = cores.over(1 / 100)
            return Busy(stat, stat.most, "cpu_cores", vm.entity, vm.vcpus / 100)
        clock = vm.host.clock_mhz if vm.host else None
        for metric in ("demand_mhz", "used_mhz"):
            used = self.per_vcpu(vm, metric)
            if used and clock and vm.entity:
                stat = used.over(clock / 100)
                return Busy(stat, stat.most, metric, vm.entity, vm.vcpus * clock / 100)
        return None


def _call(members: Sequence[Host] | Sequence[Vm], labels: Mapping[str, str]) -> None:
    """Name hosts or VMs of the cluster file by their labels, otherwise by their keys."""
    for each in members:
        if each.key:
            each.name = labels.get(each.key, each.key)


def _raised(stat: Stat, by: float) -> Stat:
    raised = {
        name: min(getattr(stat, name) + by, 100.0)
        for name in ("mean", "least", "most", "low", "seldom", "median", "often", "high")
    }
    return Stat(count=stat.count, first_us=stat.first_us, last_us=stat.last_us, **raised)


def _of_scenario(scenario: Scenario) -> tuple[list[Cluster], list[Host], list[Vm]]:
    inventory = scenario.inventory
    clusters = {each.name: Cluster(each.label or each.name, each.name, each) for each in inventory.clusters}
    hosts = {
        each.name: Host(
            name=each.label or each.name,
            key=each.name,
            cores=each.cores,
            threads=each.threads,
            nodes=each.nodes,
            clock_mhz=each.clock_hz / 1e6,
            memory_bytes=each.memory_bytes,
            hypervisor_memory_bytes=each.hypervisor_memory_bytes,
            facts=each,
            cluster=clusters[each.cluster],
        )
        for each in inventory.hosts
    }
    layouts = virtual_numa.layouts(scenario)
    vms = [
        Vm(
            name=each.label or each.name,
            key=each.name,
            host=None if each.host_is_guess else hosts[each.host],
            cluster=clusters[each.cluster],
            vcpus=each.vcpus,
            memory_bytes=each.memory_bytes,
            facts=each,
            memory_limit_bytes=_memory_limit(scenario, each),
            binding=_binding(scenario, each),
            layout=layouts[each.name],
            appliance=each.storage_appliance,
        )
        for each in inventory.vms
    ]
    return list(clusters.values()), list(hosts.values()), vms


def _memory_limit(scenario: Scenario, vm: members.Vm) -> float | None:
    said = scenario.data["vms"][vm.group].get("memory_limit")
    limit = _core.size_bytes(said) if said else None
    return limit if limit is not None and limit < vm.memory_bytes else None


def _binding(scenario: Scenario, vm: members.Vm) -> str | None:
    if vm.has_affinity:
        return "CPU affinity"
    return "binding to NUMA nodes" if scenario.data["vms"][vm.group].get("numa", {}).get("nodes") else None


def _gathered(clusters: Sequence[Cluster], hosts: Sequence[Host], vms: Sequence[Vm]) -> list[Cluster]:
    """Put VMs on their hosts, and both into their clusters.

    Hosts and VMs outside the cluster file form one more cluster.
    """
    unknown = Cluster("unknown")
    for host in hosts:
        host.cluster = host.cluster or unknown
        host.cluster.hosts.append(host)
    for vm in vms:
        if vm.host:
            vm.host.vms.append(vm)
            vm.cluster = vm.host.cluster
        vm.cluster = vm.cluster or unknown
        vm.cluster.vms.append(vm)
    return [*clusters, *([unknown] if unknown.hosts or unknown.vms else [])]


def _measured_hosts(evidence: Evidence, hosts: list[Host]) -> None:
    by_name = {host.name.casefold(): host for host in hosts}
    short: dict[str, list[Host]] = {}
    for host in hosts:
        short.setdefault(host.name.casefold().partition(".")[0], []).append(host)
    for path in _prefixes(evidence, "host"):
        name = telemetry.names(path)["host"]
        alike = short.get(name.casefold().partition(".")[0], [])
        found = by_name.get(name.casefold()) or (alike[0] if len(alike) == 1 else None)
        if found is None or found.entity is not None:
            found = Host(name)
            hosts.append(found)
        found.entity = path
        found.name = name
        found.cores = found.cores or _count(evidence.stat(path, "cores"))
        found.threads = found.threads or _count(evidence.stat(path, "threads"))
        found.nodes = found.nodes or _children(evidence, "node", path)
        clock, memory = evidence.stat(path, "clock_mhz"), evidence.stat(path, "memory_bytes")
        found.clock_mhz = found.clock_mhz or (clock.median if clock else None)
        found.memory_bytes = found.memory_bytes or (memory.median if memory else None)


def _busy_threads(evidence: Evidence, hosts: Sequence[Host]) -> list[str]:
    """Add the CPU usage of Linux hosts. Returns the names of those with several threads per core."""
    known = {
        host.entity: max(host.threads // host.cores, 1) for host in hosts if host.entity and host.cores and host.threads
    }
    added = set(evidence.add_usage(known))
    return [host.name for host in hosts if host.entity in added and known[host.entity] > 1]


def _moved(evidence: Evidence, paths: Sequence[str]) -> list[str]:
    """Return the paths of VMs that have more samples on another host, because names of simulated VMs are unique."""

    def samples(path: str) -> int:
        stat = evidence.stat(path, "run_sum_pct")
        return stat.count if stat else 0

    longest: dict[str, str] = {}
    for path in sorted(paths, key=samples, reverse=True):
        longest.setdefault(telemetry.names(path)["vm"], path)
    return [path for path in paths if longest[telemetry.names(path)["vm"]] != path]


def _measured_vms(evidence: Evidence, paths: Sequence[str], hosts: Sequence[Host], vms: list[Vm]) -> list[str]:
    """Match VMs with telemetry. Add VMs missing from the cluster file, and return their names."""
    by_entity = {host.entity: host for host in hosts}
    by_name: dict[str, list[Vm]] = {}
    for vm in vms:
        by_name.setdefault(vm.name.casefold(), []).append(vm)
    missing = []
    for path in paths:
        name = telemetry.names(path)["vm"]
        host = by_entity.get(path.rpartition("/vm/")[0])
        alike = [vm for vm in by_name.get(name.casefold(), []) if vm.entity is None]
        here = [vm for vm in alike if host is None or vm.host is host]
        if here or alike:
            found = (here or alike)[0]
        else:
            found = Vm(name)
            vms.append(found)
            missing.append(name)
        found.entity = path
        found.name = name
        found.host = host or found.host
        found.vcpus = found.vcpus or _count(evidence.stat(path, "vcpus")) or evidence.vcpus.get(path)
        memory = evidence.stat(path, "memory_bytes")
        found.memory_bytes = found.memory_bytes or (memory.median if memory else None)
    return missing


def _measured_guests(evidence: Evidence, vms: Sequence[Vm]) -> list[str]:
    """Match VMs with measured guests: by name, or by the name without its domain if that is unique.

    Returns the guests without a known VM.
    """
    by_name: dict[str, list[Vm]] = {}
    short: dict[str, list[Vm]] = {}
    for vm in vms:
        for name in {vm.name.casefold(), (vm.key or vm.name).casefold()}:
            by_name.setdefault(name, []).append(vm)
        short.setdefault(vm.name.casefold().partition(".")[0], []).append(vm)
    alone = []
    for path in _prefixes(evidence, "guest"):
        name = telemetry.names(path)["guest"].casefold()
        found = by_name.get(name) or short.get(name.partition(".")[0], [])
        if len(found) == 1 and found[0].guest is None:
            found[0].guest = path
        else:
            alone.append(path)
    return alone


def _other_cluster(hosts: Sequence[Host], vms: Sequence[Vm], guests: Sequence[str]) -> list[str]:
    """Return a note if telemetry and cluster file have nothing in common."""
    both: list[Host | Vm] = [*hosts, *vms]
    measured = [each for each in both if each.entity]
    in_guest = any(vm.key and vm.guest for vm in vms)
    if not (measured or guests) or in_guest or any(each.key for each in measured):
        return []
    names = [each.name for each in measured] + [telemetry.names(path)["guest"] for path in guests]
    return [
        f"telemetry ({some(names)}) and cluster file ({some([each.name for each in both if each.key])}) have no host "
        "or VM name in common: each was judged separately"
    ]


def _extents(evidence: Evidence) -> list[str]:
    """Return notes on hosts and times of the sources: duplicate hosts, different times, single samples."""
    notes = []
    by_host: dict[str, list[Read]] = {}
    for read in evidence.reads:
        for host in read.hosts:
            by_host.setdefault(host, []).append(read)
    twice: dict[tuple[str, ...], list[str]] = {}
    for host, reads in sorted(by_host.items()):
        if len(reads) > 1:
            twice.setdefault(tuple(read.source for read in reads), []).append(telemetry.names(host)["host"])
    for sources, hosts in twice.items():
        reads = [read for read in evidence.reads if read.source in sources]
        again = (
            "at the same times: common samples count twice" if _common(reads) else "at different times: judged together"
        )
        notes.append(f"{some(sources)} cover the same host{'s' * (len(hosts) > 1)} {some(hosts)} {again}")
    timed = [read for read in evidence.reads if read.first_us is not None]
    apart = next((read for read in timed if not _common([timed[0], read]) and not timed[0].hosts & read.hosts), None)
    if apart is not None:
        shift = abs((apart.first_us or 0) - (timed[0].first_us or 0))
        hours = round(shift / 3.6e9)
        zone = f" They begin {hours} h apart: check time zones." if hours and abs(shift - hours * 3.6e9) < 3e8 else ""
        notes.append(
            f"{apart.source} ({apart.span} UTC) and {timed[0].source} ({timed[0].span} UTC) do not overlap in time, or "
            f"their clocks differ: do not compare them.{zone}"
        )
    single = [next(iter(telemetry.names(path).values())) for path, count in evidence.samples.items() if count == 1]
    if single:
        notes.append(f"only a single sample, so the duration of a problem is unknown: {some(sorted(single))}")
    return notes


def _common(reads: Sequence[Read]) -> bool:
    """True if sources overlap in time."""
    first, last = (read.first_us for read in reads), (read.last_us for read in reads)
    return max(each or 0 for each in first) <= min(each or 0 for each in last)


def _prefixes(evidence: Evidence, kind: str) -> list[str]:
    """Return the paths that end in this kind and a name, of entities and their containers."""
    return [path for path in evidence.paths if path.split("/")[-2:-1] == [kind]]


def _children(evidence: Evidence, kind: str, path: str) -> int | None:
    count = sum(entity.rpartition(f"/{kind}/")[0] == path for entity in evidence.entities(kind))
    return count or None


def _count(stat: Stat | None) -> int | None:
    return round(stat.median) or None if stat and 0.5 <= stat.median < 1e6 else None
