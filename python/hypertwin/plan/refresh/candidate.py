"""Scenario of a candidate: the VMs of some clusters, with their growth, on new hosts and on hosts that stay.

The demand of a VM stays the same work. A new processor does more work per cycle, and has another clock. Workloads
therefore get the clock of their present host as `reference_clock`, and hosts get `work_per_cycle`.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hypertwin import _core
from hypertwin import scenario as scenarios
from hypertwin.language import Host, Vm
from hypertwin.plan.capacity.demand import VM_CPU
from hypertwin.plan.refresh.host_type import HostType
from hypertwin.plan.refresh.present import Present
from hypertwin.scenario import Scenario

OF_HOST = ("host", "host_is_guess", "affinity", "cluster")
"""Keys of a VM about its present host, which are not kept."""


LEAST_STORED = 2**20
"""Least data of a pool that a scenario can state, in bytes."""

SUMS = {
    **{key: (key, key) for key in VM_CPU.values()},
    "memory_consumed": ("memory_consumed_bytes", "memory_consumed_bytes"),
    "memory_consumed_peak": ("memory_consumed_peak_bytes", "memory_consumed_bytes"),
}
"""Measured sums of a cluster by key, with their attribute of a cluster, and that of a VM."""


@dataclass(frozen=True)
class New:
    """Number of new hosts of a type, with their work per cycle relative to the present hosts."""

    type: HostType
    count: int
    work_per_cycle: float


@dataclass(frozen=True)
class Wanted:
    """Hosts of one cluster of a candidate, and the present clusters whose VMs it takes."""

    cluster: str
    takes: tuple[str, ...]
    kept: tuple[Host, ...]
    new: tuple[New, ...]
    stored_bytes: float | None = None
    """Data that disks of the last new hosts hold, or None if they have no disks."""


def too_large(present: Present, wanted: Wanted) -> Vm | None:
    """Return the largest VM that fits on no host by vCPUs or memory, or None if all fit."""
    sizes = [(host.threads, host.memory_bytes) for host in wanted.kept]
    sizes += [(each.type.facts.threads, each.type.facts.memory_bytes) for each in wanted.new]
    large = [
        vm
        for name in wanted.takes
        for vm in present.state(name).guests
        if not any(vm.vcpus <= threads and vm.memory_bytes <= memory for threads, memory in sizes)
    ]
    return max(large, key=lambda vm: (vm.vcpus, vm.memory_bytes), default=None)


def scenario(present: Present, wanted: Wanted, speeds: Mapping[str, float]) -> Scenario:
    """Return the scenario of a candidate. `speeds` has the work per cycle of each present host group.

    VMs have no host: the plan places them. Raises ScenarioError.
    """
    data = present.scenario.as_written()
    hosts = _hosts(data, wanted, speeds, present.own_cpu(wanted.takes))
    settings = _settings(present, data.get("clusters") or {}, wanted.takes)
    made: dict[str, Any] = {
        "name": str(data["name"]),
        **({"description": data["description"]} if "description" in data else {}),
        "run": data.get("run") or {},
        **({"clusters": {wanted.cluster: settings}} if settings else {}),
        "hosts": hosts,
    }
    vms, workloads = entries(present, wanted.cluster, wanted.takes, speeds)
    made |= {"vms": vms, "workloads": workloads}
    made |= _storage(present, data, wanted, vms)
    made["rules"] = rules(data, vms, hosts)
    return scenarios.load(made)


def _settings(present: Present, clusters: Mapping[str, Any], takes: Sequence[str]) -> dict[str, Any]:
    """Return the settings of the first cluster, with the measured sums of the VMs of all clusters and their growth."""
    settings = dict(clusters.get(takes[0]) or {})
    measured = dict(settings.pop("measured", None) or {})
    vms = [vm for name in takes for vm in present.state(name).vms]
    first = {vm.group: vm for vm in reversed(vms)}
    for key in measured.keys() & SUMS:
        of_cluster, of_vm = SUMS[key]
        sums = [getattr(present.state(name).cluster.measured, of_cluster) for name in takes]
        if None in sums:
            del measured[key]
            continue
        now = sum(getattr(vm.measured, of_vm) or 0 for vm in vms)
        more = sum(
            many * (getattr(first[group].measured, of_vm) or 0)
            for group, many in present.copies.items()
            if group in first
        )
        value = sum(sums) * (1 + (more / now if now else present.growth))
        measured[key] = value if of_cluster == key else f"{value:.0f} B"
    return {**settings, **({"measured": measured} if measured else {})}


def _hosts(data: Mapping[str, Any], wanted: Wanted, speeds: Mapping[str, float], own_cpu: float) -> dict[str, Any]:
    """Return the hosts of a candidate. The hypervisors of new hosts use `own_cpu` per CPU of VMs, or what is stated."""
    own = {"overhead": {"activity_pct": round(100 * own_cpu, 3)}} if own_cpu else {}
    found: dict[str, Any] = {}
    many: dict[str, int] = {}
    for host in wanted.kept:
        many[host.group] = many.get(host.group, 0) + 1
    for group, count in many.items():
        entry = {
            key: value for key, value in data["hosts"][group].items() if key not in ("count", "cluster", "measured")
        }
        found[group] = {**entry, "cluster": wanted.cluster, "count": count, "work_per_cycle": speeds[group]}
    for each in wanted.new:
        found[each.type.name] = {
            **own,
            **each.type.host,
            "cluster": wanted.cluster,
            "count": each.count,
            "work_per_cycle": each.work_per_cycle,
        }
    return found


def host_groups(wanted: Wanted) -> list[str]:
    """Return the host groups of a candidate in order: those that stay, then new ones."""
    return [*dict.fromkeys(host.group for host in wanted.kept), *(each.type.name for each in wanted.new)]


def entries(
    present: Present, cluster: str, takes: Sequence[str], speeds: Mapping[str, float], *, bound: bool = False
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the VMs of some clusters as entries of another cluster without their hosts, and their workloads.

    `speeds` has the work per cycle of each present host group. With `bound`, storage appliances are there on their
    hosts, and VMs stay bound to CPUs and nodes.
    """
    data = present.scenario.as_written()
    states = [present.state(name) for name in takes]
    vms = [vm for state in states for vm in (state.vms if bound else state.guests)]
    workloads = _Workloads(data["workloads"])
    found: dict[str, Any] = {}
    of_host = {host.name: host for host in present.hosts}
    counts: dict[str, int] = {}
    for vm in vms:
        counts[vm.group] = counts.get(vm.group, 0) + 1
    first = {vm.group: vm for vm in reversed(vms)}
    for group, count in counts.items():
        written = data["vms"][group]
        host = of_host[first[group].host]
        entry = {key: value for key, value in written.items() if key not in (*OF_HOST, "count")}
        entry["cluster"] = cluster
        if bound:
            kept = ("host", "affinity") if first[group].storage_appliance else ("affinity",)
            entry |= {key: written[key] for key in kept if key in written}
        elif isinstance(entry.get("numa"), Mapping) and "nodes" in entry["numa"]:  # of the present host
            entry["numa"] = {key: value for key, value in entry["numa"].items() if key != "nodes"}
        entry["workload"] = workloads.on(host, str(written["workload"]), speeds[host.group])
        found[group] = {**entry, "count": count} if count > 1 or "count" in written else entry
    for name, group in present.grown.items():
        if group in counts:
            own = {key: value for key, value in found[group].items() if key not in ("count", "label")}
            found[name] = {**own, "count": present.copies[group]}
    return found, workloads.made


@dataclass
class _Workloads:
    """Workloads of a candidate, each as measured on a host."""

    written: Mapping[str, Mapping[str, Any]]
    """Present workloads by name."""
    made: dict[str, Any] = field(default_factory=dict)
    """Workloads of the candidate by name."""
    names: dict[tuple[str, int], str] = field(default_factory=dict)
    """Name of each present workload at a clock, in Hz."""

    def on(self, host: Host, name: str, speed: float) -> str:
        """Return the name of a workload as measured on a host with this work per cycle. Adds it if it is new."""
        entry = self.written[name]
        clock = entry.get("reference_clock")
        hz = round((host.clock_hz if clock is None else _core.frequency_hz(clock)) * speed / host.work_per_cycle)
        if (name, hz) not in self.names:
            others = (f"{name}-{number}" for number in itertools.count(2))
            free = (other for other in others if other not in self.made and other not in self.written)
            own = name if name not in self.made else next(free)
            self.names[name, hz] = own
            self.made[own] = {**entry, "reference_clock": f"{hz} Hz"}
        return self.names[name, hz]


def _storage(present: Present, data: Mapping[str, Any], wanted: Wanted, vms: dict[str, Any]) -> dict[str, Any]:
    """Return arrays and pools of the candidate. Disks of new hosts hold the data of VMs outside other pools."""
    found: dict[str, Any] = {}
    for section in ("arrays", "devices"):
        if data.get(section):
            found[section] = data[section]
    gone = pools_lost(present, wanted.kept)
    pools = {name: pool for name, pool in (data.get("storage") or {}).items() if name not in gone}
    own = [each.type for each in wanted.new if each.type.storage is not None]
    for each in own:
        pools[each.name] = {**(each.storage or {}), "nodes": each.name}
    if own and wanted.stored_bytes is not None:
        pools[own[-1].name]["stored"] = f"{max(wanted.stored_bytes, LEAST_STORED):.0f} B"
    for entry in vms.values():
        if entry.get("storage") in gone or (own and "storage" not in entry):
            for key in ("policy", "vdisk_policies", "storage", "array"):
                entry.pop(key, None)
            if own:
                entry["storage"] = own[-1].name
    return {**found, **({"storage": pools} if pools else {})}


def pools_lost(present: Present, kept: Sequence[Host]) -> list[str]:
    """Return the pools that lose a node if only some hosts are kept."""
    gone = {host.name for host in present.hosts} - {host.name for host in kept}
    return [pool.name for pool in present.scenario.inventory.pools if gone & set(pool.hosts)]


def rules(data: Mapping[str, Any], vms: Mapping[str, Any], hosts: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rules about VMs of the candidate. Rules about replaced hosts are left out."""
    found = []
    for rule in data.get("rules") or []:
        members = [name for name in rule["vms"] if name in vms]
        named = rule.get("hosts") or []
        if not members or any(host not in hosts for host in named):
            continue
        if rule["kind"] in ("keep-together", "keep-apart") and len(members) < 2 and len(rule["vms"]) > 1:
            continue
        found.append({**rule, "vms": members})
    return found


def rules_left_out(present: Present, made: Scenario) -> list[str]:
    """Return the names of rules about hosts that a candidate does not keep."""
    kept = {str(rule["name"]) for rule in made.as_written().get("rules") or []}
    return sorted({rule.name for rule in present.scenario.inventory.rules if rule.hosts and rule.name not in kept})
