"""A row for each cluster and host: number of VMs, measured load, and findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from hypertwin.diagnosis.case import Case
from hypertwin.diagnosis.rule import Finding
from hypertwin.diagnosis.subjects import Host, Vm, cluster_name
from hypertwin.documents.diagnosis import SEVERITIES, ClusterRow, Row, Severity

Weighted = tuple[float, float, str]
"""A percentage, its base, and the time of its measurement."""


def rows(case: Case, findings: Sequence[Finding]) -> Iterator[ClusterRow]:
    """Yield the clusters in order of name, with their hosts."""
    for cluster in case.clusters:
        known = cluster_name(cluster)
        of_it = [each for each in findings if each.subject.cluster == known and (known or each.subject.host)]
        guesses = sum(vm.host is None for vm in cluster.vms)
        hosts = [_host(case, host, of_it) for host in cluster.hosts]
        yield {
            **_row(case, cluster.name, cluster.hosts, cluster.vms, of_it),
            "key": cluster.key,
            "datacenter": cluster.facts.datacenter if cluster.facts else None,
            "vms_by_guess": guesses if cluster.key else 0,
            "hosts": hosts,
        }


def _host(case: Case, host: Host, findings: Sequence[Finding]) -> Row:
    row = _row(case, host.name, [host], host.vms, [each for each in findings if each.subject.host == host.name])
    return row if host.is_known else {**row, "vcpu_per_core": None, "memory_configured_pct": None}


def _row(case: Case, name: str, hosts: Sequence[Host], vms: Sequence[Vm], findings: Iterable[Finding]) -> Row:
    cores = _sum(host.cores for host in hosts)
    memory = _sum(host.memory_bytes for host in hosts)
    vcpus = sum(vm.vcpus or 0 for vm in vms)
    configured = sum(vm.memory_bytes or 0 for vm in vms)
    cpu = _figure(hosts, lambda host: _cpu(case, host))
    used = _figure(hosts, lambda host: _memory(case, host))
    counts: dict[Severity, int] = dict.fromkeys(SEVERITIES, 0)
    for finding in findings:
        counts[finding.severity] += 1
    return {
        "name": name,
        "vms": len(vms),
        "vcpus": vcpus,
        "cores": round(cores) if cores else None,
        "vcpu_per_core": round(vcpus / cores, 2) if cores else None,
        "cpu_pct": cpu[0],
        "memory_bytes": memory,
        "memory_configured_pct": round(100 * configured / memory, 1) if memory else None,
        "memory_pct": used[0],
        "measured": cpu[1] or used[1],
        "findings": counts,
    }


def _sum(values: Iterable[float | None]) -> float | None:
    """Return the sum, if every value is known."""
    known = list(values)
    return sum(each or 0 for each in known) if known and None not in known else None


def _cpu(case: Case, host: Host) -> Weighted | None:
    stat = case.evidence.stat(host.entity, "usage_pct")
    whole = (host.cores or 0) * (host.clock_mhz or 1)
    return (stat.mean, whole, stat.moment or case.source) if stat and whole else None


def _memory(case: Case, host: Host) -> Weighted | None:
    stat = case.evidence.stat(host.entity, "memory_used_bytes")
    if stat is None or not host.memory_bytes:
        return None
    return 100 * stat.mean / host.memory_bytes, host.memory_bytes, stat.moment or case.source


def _figure(hosts: Sequence[Host], of: Callable[[Host], Weighted | None]) -> tuple[float | None, str | None]:
    """Return the mean over measured hosts, weighted by size, and its time."""
    found = [each for host in hosts if (each := of(host))]
    if not found:
        return None, None
    whole = sum(size for _, size, _ in found)
    moments = sorted({moment for *_, moment in found})
    return round(sum(value * size for value, size, _ in found) / whole, 1), "; ".join(moments[:2])
