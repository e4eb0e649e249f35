"""Capacity, failover headroom and VMs remaining of clusters, calculated without simulation.

Capacity counts and packs. Its answers depend only on sizes and measurements, so they are exact, fast and can be
checked by hand. `simulate` and `density` show how well a number of VMs runs.

| file | contents |
|---|---|
| `options.py` | options of capacity |
| `limits.py` | limits from options, and from a file of limits by cluster |
| `demand.py` | CPU and memory demand of a cluster |
| `state.py` | a cluster with its limits and its demand |
| `packing.py` | packing of all VMs into hosts |
| `restart.py` | restart of the VMs of failed hosts, also used by diagnosis |
| `admission.py` | VMs that HA can power on after a failure, and whether demand is met |
| `room.py` | headroom, now and after a failure |
| `pools.py` | use of distributed storage pools by a VM, and the number of VMs that fit |
| `storage.py` | datastores, and their use by VMs |
| `reclaim.py` | reclaimable capacity |
| `verdict.py` | verdict on a cluster after host failures |
| `notes.py` | sources of figures, and notes |

A figure is *degraded* if it excludes the `failures` hosts of the cluster whose failure leaves the highest use. The use
is that of CPU, of memory with that of hypervisors, or of cores by vCPUs. VMs of a failed host run on the others. A
storage appliance stays on its host and fails with the host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from hypertwin import _core, members
from hypertwin.documents import capacity as documents
from hypertwin.documents.failover import Failover
from hypertwin.language import Host, Inventory
from hypertwin.metrics.words import some
from hypertwin.plan.capacity import admission, notes, reclaim, room, storage, verdict
from hypertwin.plan.capacity.demand import capacity_mhz, usage_of_hosts
from hypertwin.plan.capacity.limits import OF_ALL, Limits, cluster_named, of_file, of_options
from hypertwin.plan.capacity.options import Asked
from hypertwin.plan.capacity.state import Resource, State
from hypertwin.scenario import Scenario, space

GIB = 2**30

Judge = Callable[[Scenario, members.Cluster, Limits], Failover | None]
"""Function that returns the verdict on host failures of a cluster, or None without a verdict."""


def capacity(loaded: Scenario, asked: Asked, judge: Judge | None = None) -> documents.Capacity:
    """Return capacity, use and headroom of the clusters of a scenario.

    The result is the document of `hypertwin capacity --format json`.

    If demand was not measured, a substitute is used, and the document names it. `judge` returns the verdict on host
    failures of a cluster. Raises ScenarioError. The path of an option's problem is the option's name.
    """
    inventory, cluster, limits = loaded.inventory, asked.cluster, asked.limits
    names = [each.name for each in inventory.clusters]
    base = of_options(asked, (*OF_ALL, "vm", "license_min_cores"))
    by_cluster = dict.fromkeys(names, base) if limits is None else of_file(limits, base, inventory.cluster_labels)
    if cluster is not None:
        cluster = cluster_named(cluster, inventory.cluster_labels)
    chosen = [each for each in inventory.clusters if cluster in (None, each.name)]
    states = [State.of(loaded, each, by_cluster[each.name]) for each in chosen]
    stores = [
        (each, used_by)
        for each in inventory.datastores
        if cluster is None or cluster in clusters_of(each, inventory)
        for used_by in [clusters_of(each, inventory)]
    ]
    off = [each for each in inventory.powered_off if cluster is None or each in reclaim.off_of(inventory, cluster)]
    unused = {state.cluster.name: reclaim.reclaim(state, inventory) for state in states}
    clusters = {state.cluster.name: _cluster(state, loaded, unused[state.cluster.name], judge) for state in states}
    everything = [*unused.values(), *([reclaim.of_no_cluster(inventory)] if cluster is None else [])]
    return {
        "version": _core.version(),
        "scenario": loaded.name,
        "clusters": clusters,
        "total": _total(clusters, states, storage.together(stores, states, off), reclaim.together(everything)),
        "datastores": [_datastore(each, used_by) for each, used_by in stores],
        "pools": space.spaces(loaded) if cluster is None else {},
        "reclaimable": reclaim.listed(everything),
    }


def clusters_of(store: members.Datastore, inventory: Inventory) -> list[str]:
    """Return the clusters that use a datastore.

    If the source has no clusters and the scenario has one, that cluster is returned.
    """
    if not store.clusters and len(inventory.clusters) == 1:
        return [inventory.clusters[0].name]
    return list(store.clusters)


def licence_cores(hosts: Iterable[Host], minimum: int) -> int:
    """Return the number of cores to license: the cores of each processor, but at least `minimum` per processor."""
    return sum(host.processors * max(-(-host.cores // host.processors), minimum) for host in hosts)


def _cluster(state: State, scenario: Scenario, unused: reclaim.Found, judge: Judge | None) -> documents.Cluster:
    inventory = scenario.inventory
    stores = [
        (each, used_by)
        for each in inventory.datastores
        if state.cluster.name in (used_by := clusters_of(each, inventory))
    ]
    stored = storage.together(stores, [state], reclaim.off_of(inventory, state.cluster.name))
    guessed = sum(vm.host_is_guess for vm in state.vms)
    failover = judge(scenario, state.cluster, state.limits) if judge is not None and state.vms else None
    found: documents.Cluster = {
        **_figures([state], stored, room.vms_remaining(state)),
        "label": state.cluster.label,
        "limits": _asked(state.limits),
        "without": None
        if state.spare is None
        else {
            "cpu": [host.name for host in state.spare["cpu"]],
            "memory": [host.name for host in state.spare["memory"]],
            "cores": [host.name for host in state.spare["cores"]],
        },
        "host_cpu_usage_pct": usage_of_hosts(state.hosts, "cpu_usage_pct", capacity_mhz),
        "host_memory_usage_pct": usage_of_hosts(state.hosts, "memory_usage_pct", lambda host: float(host.memory_bytes)),
        "largest_restartable_vm": room.largest_restartable_vm(state),
        "ha": admission.of_cluster(state, scenario, failover),
        "failover": failover,
        "verdict": {"met": None, "text": "", "exceeds": []},
        "reclaimable": unused.document,
        "guessed": guessed,
        "demand": {
            "asked": state.limits.demand,
            "cpu": state.cpu.basis if state.cpu else None,
            "memory_consumed": state.consumed.basis if state.consumed else None,
            "memory_active": state.active.basis if state.active else None,
        },
        "sources": {},
        "notes": [],
    }
    found["verdict"] = verdict.of_cluster(state.cluster.label or state.cluster.name, found)
    found["sources"] = notes.sources(state, found)
    found["notes"] = notes.notes(state, found)
    return found


def _figures(
    states: Sequence[State], stored: documents.Storage | None, left: documents.VmsLeft | None
) -> documents.Figures:
    """Return capacity and use of several clusters.

    Figures after a failure cover only clusters with a remaining host.
    """
    hosts = [host for state in states for host in state.hosts]
    vms = [vm for state in states for vm in state.vms]
    survivors = [state for state in states if state.spare is not None]
    corrected = any(state.limits.speed != 1 for state in states)
    consumed, active = (_sum(states, each) for each in ("memory_consumed", "memory_active"))
    known = [state.cpu.value for state in states if state.cpu is not None]
    cpu = sum(known) if len(known) == len(states) else None
    clocks = sum(map(capacity_mhz, hosts))
    work = sum(capacity_mhz(host) * host.work_per_cycle for host in hosts)
    return {
        "hosts": len(hosts),
        "sockets": sum(host.processors for host in hosts),
        "cores": sum(host.cores for host in hosts),
        "vms": len(vms),
        "appliances": sum(vm.storage_appliance for vm in vms),
        "vcpus": sum(vm.vcpus for vm in vms),
        "vcpu_per_core": _usage(states, "vcpu_ratio", speed=False),
        "vcpu_per_core_after_failure": _usage(survivors, "vcpu_ratio", degraded=True, speed=False),
        "vcpu_per_core_corrected": _usage(states, "vcpu_ratio") if corrected else None,
        "vcpu_per_core_corrected_after_failure": _usage(survivors, "vcpu_ratio", degraded=True) if corrected else None,
        "cpu_ghz": clocks / 1000,
        "cpu_demand_ghz": None if cpu is None or not work else cpu * clocks / work / 1000,
        "cpu_usage_pct": _percent(_usage(states, "cpu")),
        "cpu_usage_after_failure_pct": _percent(_usage(survivors, "cpu", degraded=True)),
        "memory_gib": sum(host.memory_bytes for host in hosts) / GIB,
        "hypervisor_memory_gib": sum(sum(state.own.values()) for state in states) / GIB,
        "memory_configured_gib": sum(vm.memory_bytes for vm in vms) / GIB,
        "memory_configured_pct": _percent(_usage(states, "memory")),
        "memory_configured_after_failure_pct": _percent(_usage(survivors, "memory", degraded=True)),
        "memory_consumed_gib": None if consumed is None else consumed / GIB,
        "memory_consumed_pct": _percent(_usage(states, "memory_consumed")),
        "memory_consumed_after_failure_pct": _percent(_usage(survivors, "memory_consumed", degraded=True)),
        "memory_active_gib": None if active is None else active / GIB,
        "memory_active_pct": _percent(_usage(states, "memory_active")),
        "memory_active_after_failure_pct": _percent(_usage(survivors, "memory_active", degraded=True)),
        "storage": stored,
        "licence_cores": sum(licence_cores(state.hosts, state.limits.license_min_cores) for state in states),
        "vms_remaining": left,
    }


def _total(
    clusters: Mapping[str, documents.Cluster],
    states: Sequence[State],
    stored: documents.Storage | None,
    unused: documents.Reclaimable,
) -> documents.Total:
    """Return all clusters together, each with its own limits."""
    left = [each["vms_remaining"] for each in clusters.values()]
    gone = [state.cluster.name for state in states if state.spare is None]
    told = []
    if gone:
        told.append(f"{some(gone)}: no host remains after the failure. Totals after a failure exclude it.")
    if len(states) > 1 and any(state.cpu is None for state in states):
        unknown = [state.cluster.name for state in states if state.cpu is None]
        told.append(f"CPU demand of {some(unknown)} is unknown, so the total is unknown.")
    told += notes.unsaid_storage(clusters)
    return {**_figures(states, stored, room.left_in_all(states, left)), "reclaimable": unused, "notes": told}


def _usage(states: Sequence[State], resource: Resource, *, degraded: bool = False, speed: bool = True) -> float | None:
    """Return the use of a resource in relation to its capacity for several clusters, or None if either is unknown."""
    taken = size = 0.0
    for state in states:
        found = state.degraded(resource) if degraded else state.parts(resource)
        if found is None:
            return None
        taken += found[0]
        size += found[1] if speed else found[1] / state.limits.speed
    return taken / size if size else None


def _sum(states: Sequence[State], resource: Resource) -> float | None:
    """Return the use by the VMs of several clusters, or None if the use in one cluster is unknown."""
    used = [state.used.get(resource) for state in states]
    known = [each for each in used if each is not None]
    return sum(sum(each.values()) for each in known) if len(known) == len(used) else None


def _percent(part: float | None) -> float | None:
    return None if part is None else 100 * part


def _asked(limits: Limits) -> documents.Asked:
    return {
        "failures": limits.failures,
        "cpu_pct": 100 * limits.cpu,
        "memory_pct": 100 * limits.memory,
        "vcpu_ratio": limits.vcpu_ratio,
        "license_min_cores": limits.license_min_cores,
        "speed": limits.speed,
    }


def _datastore(store: members.Datastore, used_by: Sequence[str]) -> documents.Datastore:
    used = None if store.free_bytes is None else store.capacity_bytes - store.free_bytes
    promised = store.provisioned_bytes
    return {
        "name": store.label or store.name,
        "clusters": list(used_by),
        "kind": store.kind,
        "hosts": store.hosts,
        "capacity_gib": store.capacity_bytes / GIB,
        "used_gib": None if used is None else used / GIB,
        "used_pct": None if used is None or not store.capacity_bytes else 100 * used / store.capacity_bytes,
        "provisioned_gib": None if promised is None else promised / GIB,
        "provisioned_pct": None
        if promised is None or not store.capacity_bytes
        else 100 * promised / store.capacity_bytes,
    }
