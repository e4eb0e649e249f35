"""Several exports: those of the same hosts form a series over time, the others are separate sites.

The newest export of a series is the inventory. Older ones add demand and usage over time: mean, 95th percentile and
maximum. Each export is a single sample.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from hypertwin.ingest.inventory import Assumption, Cluster, Datastore, Host, Vm, figures
from hypertwin.ingest.outside import Gap
from hypertwin.ingest.vmware.rvtools import vms
from hypertwin.ingest.vmware.rvtools.export import Export
from hypertwin.ingest.vmware.rvtools.places import Names


@dataclass(frozen=True)
class Site:
    """Hosts of one series, with their VMs and datastores."""

    hosts: Sequence[Host]
    vms: Sequence[Vm]
    clusters: Sequence[Cluster]
    datastores: Sequence[tuple[str, Datastore]]
    """Datastores with their URLs."""
    gaps: Sequence[Gap]
    assumptions: Sequence[Assumption]
    unused: Sequence[str]


def read(exports: Sequence[Export]) -> list[Site]:
    """Return the sites in exports, in the given order."""
    groups: list[list[Export]] = []
    for export in exports:
        same = [group for group in groups if any(_are_same(export, other) for other in group)]
        groups = [group for group in groups if group not in same]
        groups.append([*(other for group in same for other in group), export])
    series = [_in_order(group) for group in groups]
    names = Names(at for ordered, _ in series for at, _ in ordered[-1].host_rows)
    return [_site(ordered, note, names) for ordered, note in series]


def _are_same(one: Export, other: Export) -> bool:
    """True if they have common hosts, and also the vCenter or half of the VMs in common: `esx1` alone is no proof."""
    if not one.host_names & other.host_names:
        return False
    shared = len(one.vm_keys & other.vm_keys)
    return bool(one.vcenters & other.vcenters) or (
        shared > 0 and 2 * shared >= min(len(one.vm_keys), len(other.vm_keys))
    )


def _in_order(group: Sequence[Export]) -> tuple[list[Export], list[Assumption]]:
    """Return the exports of one site by time, without repeated times.

    If no time is known, only the last one is returned.
    """
    if len(group) == 1:
        return list(group), []
    dated = {export.made: export for export in group if export.made is not None}
    undated = sum(export.made is None for export in group)
    notes = []
    if undated:
        text = "left out: neither vMetaData nor the file name has their date"
        left = undated if dated else undated - 1
        notes.append(Assumption(f"{left} of {len(group)} exports of the same hosts", text))
    ordered = [dated[made] for made in sorted(dated)] or [group[-1]]
    if len(ordered) > 1:
        text = (
            "one series: hosts and VMs of the last one; mean, 95th percentile and highest value of demand and host "
            f"usage from {len(ordered)} exports"
        )
        subject = f"{len(ordered)} exports from {ordered[0].at} to {ordered[-1].at}"
        notes.append(Assumption(subject, text))
    return ordered, notes


@dataclass(frozen=True)
class _Moment:
    """Data of one export of a series."""

    seconds: float
    hosts: Sequence[Host]
    vms: Sequence[tuple[str, Vm]]
    """VMs, each with its key for other exports."""


def _site(ordered: Sequence[Export], notes: Sequence[Assumption], names: Names) -> Site:
    newest = ordered[-1]
    moments = [_Moment(export.seconds, export.hosts(names), vms.read(export, names)) for export in ordered]
    hosts, keyed, clusters = moments[-1].hosts, moments[-1].vms, newest.clusters(names)
    if len(moments) > 1:
        hosts, keyed = _hosts_over_time(moments), _vms_over_time(moments)
        clusters = _clusters_over_time(clusters, moments, newest.at)
    return Site(
        hosts=hosts,
        vms=[vm for _, vm in keyed],
        clusters=clusters,
        datastores=newest.datastores(names),
        gaps=newest.gaps,
        assumptions=[*notes, *newest.notes.assumptions()],
        unused=newest.unused,
    )


def _hosts_over_time(moments: Sequence[_Moment]) -> list[Host]:
    usage: dict[str, dict[float, float]] = defaultdict(dict)
    for moment in moments:
        for host in moment.hosts:
            if host.cpu_usage_pct is not None:
                usage[host.name.casefold()][moment.seconds] = host.cpu_usage_pct

    def over_time(host: Host) -> Host:
        over = usage[host.name.casefold()]
        if host.cpu_usage_pct is None or len(over) < 2:
            return host
        mean, p95, peak = figures(list(over.values()))
        return replace(
            host,
            cpu_usage_pct=mean,
            cpu_p95_pct=p95,
            cpu_peak_pct=peak,
            over_s=max(over) - min(over),
            counter=f"{host.counter} of {len(over)} exports",
        )

    return [over_time(host) for host in moments[-1].hosts]


def _vms_over_time(moments: Sequence[_Moment]) -> list[tuple[str, Vm]]:
    demand: dict[str, dict[float, float]] = defaultdict(dict)
    for moment in moments:
        often = Counter(key for key, _ in moment.vms)
        for key, vm in moment.vms:
            if vm.demand is not None and often[key] == 1:  # of one name without a UUID nobody knows which is which
                demand[key][moment.seconds] = vm.demand.cpu_mhz

    def over_time(key: str, vm: Vm) -> Vm:
        over = demand[key]
        if vm.demand is None or moments[-1].seconds not in over or len(over) < 2:
            return vm
        mean, p95, peak = figures(list(over.values()))
        measured = replace(vm.demand, cpu_mhz=mean, cpu_p95_mhz=p95, cpu_peak_mhz=peak)
        of = f"{vms.COUNTER} of {len(over)} exports"
        return replace(vm, demand=replace(measured, over_s=max(over) - min(over), over=of, counter=of))

    return [(key, over_time(key, vm)) for key, vm in moments[-1].vms]


def _clusters_over_time(clusters: Sequence[Cluster], moments: Sequence[_Moment], at: str | None) -> list[Cluster]:
    """Return the clusters with sums over the VMs that were on in each export, if all had a figure in all exports."""
    on = [[vm for _, vm in moment.vms if vm.powered_on and not vm.is_template] for moment in moments]
    over_s = moments[-1].seconds - moments[0].seconds
    found = []
    for cluster in (*clusters, Cluster("")):
        here = [[vm for vm in of if (vm.cluster or "") == cluster.name] for of in on]
        measured = cluster
        demand = [_sum(vm.demand.cpu_mhz if vm.demand else None for vm in of) for of in here]
        if (cpu := _over_time(demand)) is not None:
            measured = replace(measured, cpu_mhz=cpu[0], cpu_p95_mhz=cpu[1], cpu_peak_mhz=cpu[2])
        consumed = [_sum(vm.memory_consumed_bytes for vm in of) for of in here]
        if (memory := _over_time(consumed)) is not None:
            mean, _, peak = (round(size) for size in memory)
            measured = replace(measured, memory_consumed_bytes=mean, memory_consumed_peak_bytes=peak)
        if measured is not cluster:
            of = f"sum over {len(here[-1])} VMs in the last of {len(moments)} exports"
            measured = replace(measured, over_s=over_s, at=at, counter=of)
        found.append(measured)
    return [cluster for cluster in found if cluster.name or cluster.cpu_mhz is not None]


def _sum(values: Iterable[float | None]) -> float | None:
    """Return the sum of the values, or None if one is unknown, or if there are none."""
    listed = list(values)
    known = [value for value in listed if value is not None]
    return sum(known) if known and len(known) == len(listed) else None


def _over_time(sums: Sequence[float | None]) -> tuple[float, float, float] | None:
    known = [value for value in sums if value is not None]
    return figures(known) if len(known) == len(sums) else None


def distinct_clusters(sites: Iterable[Site]) -> list[Cluster]:
    """Return the clusters of sites. If several list a cluster, the site with its hosts counts."""
    listed = [(site, cluster) for site in sites for cluster in site.clusters]
    found = {cluster.name: cluster for _, cluster in listed}
    for site, cluster in listed:
        if any(host.cluster == cluster.name for host in site.hosts):
            found[cluster.name] = cluster
    return list(found.values())


def distinct_datastores(sites: Iterable[Site]) -> list[Datastore]:
    """Return the datastores of all sites. Datastores with equal URL and name are one, with the hosts of all sites."""
    found: dict[tuple[str, str], Datastore] = {}
    for number, (url, store) in enumerate(each for site in sites for each in site.datastores):
        key = (url or str(number), store.name)
        before = found.get(key, store)
        found[key] = replace(before, hosts=tuple(dict.fromkeys((*before.hosts, *store.hosts))))
    return list(found.values())
