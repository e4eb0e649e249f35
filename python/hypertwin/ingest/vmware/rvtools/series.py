"""Several exports: those of the same hosts are one series over time, the others are sites of their own.

The newest export of a series is the inventory. What the older ones add is how demand and usage changed: their mean,
95th percentile and highest value. Each export is one moment.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hypertwin.ingest.inventory import Assumption, Cluster, Datastore, Host, Vm
from hypertwin.ingest.outside import Gap
from hypertwin.ingest.vmware.rvtools import vms
from hypertwin.ingest.vmware.rvtools.export import Export
from hypertwin.ingest.vmware.rvtools.places import Names


@dataclass(frozen=True)
class Site:
    """The hosts of one series, and what is on them."""

    hosts: Sequence[Host]
    vms: Sequence[Vm]
    clusters: Sequence[Cluster]
    datastores: Sequence[Datastore]
    gaps: Sequence[Gap]
    assumptions: Sequence[Assumption]
    unused: Sequence[str]


def read(exports: Sequence[Export]) -> list[Site]:
    """The sites in exports, in the order in which they are named."""
    groups: list[list[Export]] = []
    for export in exports:
        same = [group for group in groups if any(_are_same(export, other) for other in group)]
        groups = [group for group in groups if group not in same]
        groups.append([*(other for group in same for other in group), export])
    series = [_in_order(group) for group in groups]
    names = Names(at for ordered, _ in series for at, _ in ordered[-1].host_rows)
    return [_site(ordered, note, names) for ordered, note in series]


def _are_same(one: Export, other: Export) -> bool:
    """Whether they have hosts in common, and a vCenter or half of the VMs as well: `esx1` alone is no proof."""
    if not one.host_names & other.host_names:
        return False
    shared = len(one.vm_keys & other.vm_keys)
    return bool(one.vcenters & other.vcenters) or (
        shared > 0 and 2 * shared >= min(len(one.vm_keys), len(other.vm_keys))
    )


def _in_order(group: Sequence[Export]) -> tuple[list[Export], list[Assumption]]:
    """Exports of one site by time, each moment once; the last of them alone where no time is known."""
    if len(group) == 1:
        return list(group), []
    dated = {export.made: export for export in group if export.made is not None}
    undated = sum(export.made is None for export in group)
    notes = []
    if undated:
        text = "left out: neither vMetaData nor the name of the file says when they were made"
        left = undated if dated else undated - 1
        notes.append(Assumption(f"{left} of {len(group)} exports of the same hosts", text))
    ordered = [dated[made] for made in sorted(dated)] or [group[-1]]
    if len(ordered) > 1:
        text = (
            "one series: hosts and machines are those of the last one, demand and usage of hosts are "
            f"mean, 95th percentile and highest value of {len(ordered)} moments"
        )
        subject = f"{len(ordered)} exports from {ordered[0].at} to {ordered[-1].at}"
        notes.append(Assumption(subject, text))
    return ordered, notes


def _site(ordered: Sequence[Export], notes: Sequence[Assumption], names: Names) -> Site:
    newest = ordered[-1]
    hosts = newest.hosts(names)
    keyed = vms.read(newest, names)
    if len(ordered) > 1:
        hosts = _hosts_over_time(hosts, ordered, names)
        keyed = _vms_over_time(keyed, ordered, names)
    return Site(
        hosts=hosts,
        vms=[vm for _, vm in keyed],
        clusters=newest.clusters(names),
        datastores=newest.datastores(names),
        gaps=newest.gaps,
        assumptions=[*notes, *newest.assumptions],
        unused=newest.unused,
    )


def _hosts_over_time(hosts: Sequence[Host], ordered: Sequence[Export], names: Names) -> list[Host]:
    usage: dict[str, dict[float, float]] = defaultdict(dict)
    for export in ordered:
        for host in export.hosts(names):
            if host.usage_pct is not None:
                usage[host.name.casefold()][export.seconds] = host.usage_pct

    def over_time(host: Host) -> Host:
        over = usage[host.name.casefold()]
        if host.usage_pct is None or len(over) < 2:
            return host
        mean, p95, peak = _figures(list(over.values()))
        return replace(host, usage_pct=mean, usage_p95_pct=p95, usage_peak_pct=peak, over_s=max(over) - min(over))

    return [over_time(host) for host in hosts]


def _vms_over_time(keyed: Sequence[tuple[str, Vm]], ordered: Sequence[Export], names: Names) -> list[tuple[str, Vm]]:
    demand: dict[str, dict[float, float]] = defaultdict(dict)
    for export in ordered:
        for key, vm in vms.read(export, names):
            if vm.demand is not None:
                demand[key][export.seconds] = vm.demand.cpu_mhz

    def over_time(key: str, vm: Vm) -> Vm:
        over = demand[key]
        if vm.demand is None or len(over) < 2:
            return vm
        mean, p95, peak = _figures(list(over.values()))
        measured = replace(vm.demand, cpu_mhz=mean, cpu_p95_mhz=p95, cpu_peak_mhz=peak)
        text = f"{vms.COUNTER} of {len(over)} exports"
        return replace(vm, demand=replace(measured, over_s=max(over) - min(over), over=text))

    return [(key, over_time(key, vm)) for key, vm in keyed]


def _figures(values: Sequence[float]) -> tuple[float, float, float]:
    """Mean, 95th percentile (linear between neighbours) and maximum."""
    ordered = sorted(values)
    at = 0.95 * (len(ordered) - 1)
    below, above = ordered[math.floor(at)], ordered[math.ceil(at)]
    return sum(ordered) / len(ordered), below + (above - below) * (at - math.floor(at)), ordered[-1]
