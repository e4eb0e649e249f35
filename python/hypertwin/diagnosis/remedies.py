"""Candidate fixes of a finding: a few changes of the cluster file to try on the twin, or the reason why none exist."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from hypertwin import _core, extras, language
from hypertwin.diagnosis import memory
from hypertwin.diagnosis.case import Case
from hypertwin.diagnosis.rule import Finding
from hypertwin.diagnosis.rules.shared import has_cpu_left
from hypertwin.diagnosis.rules.sizing import FEWEST_VCPUS, PEAK, needed
from hypertwin.diagnosis.subjects import Host, Vm
from hypertwin.diagnosis.words import GIB
from hypertwin.metrics.words import some
from hypertwin.scenario import Scenario

if TYPE_CHECKING:
    from hypertwin.diagnosis.moves import Move, Moves

MOST_CHANGES = 3
"""Maximum number of changes to try for one finding."""
SLOWER = 1.1
"""Maximum growth of p95 of a VM with fewer vCPUs that counts as not slower."""
SAME = 1.02
"""Maximum growth of p95 that counts as no difference."""
NEW_HOST = 1000
"""Steps added to a change that needs a new host, so that an equally good change without a new host is preferred."""
CALM = 0.1
"""Fraction of the wait that can remain after a sufficient change."""
CALM_USAGE_PCT = 90
"""CPU usage in per cent below which a host without waiting VMs has headroom."""
DEEPER = 4
"""Factor by which queues are deepened, but at least to the default of `adapters`."""
DEEPEST_LUN = 256
"""Maximum number of commands on a LUN that adapter drivers accept."""
FILLED = 0.9
"""Fraction of the memory of a node that a VM can have, because the hypervisor needs some of the memory."""
NO_PLANNER = "VM moves need the planner: pip install 'hypertwin[plan]'"
NOWHERE_LOCAL = "no shape fits the nodes of its host better, and no other host has headroom and large enough nodes"

Figures = Mapping[str, float]
Enough = Callable[[Figures, Figures], bool]


@dataclass(frozen=True)
class Change:
    """Change of the cluster file as values by path. The value None removes a key."""

    text: str
    sets: Mapping[str, Any]
    hosts: tuple[str, ...]
    """Scenario names of the affected hosts."""
    moved: Mapping[str, str] = field(default_factory=dict)
    """Names of VMs that move, with their target hosts."""
    steps: int = 1
    """Size of the change. The smallest of equally good changes wins."""


@dataclass(frozen=True)
class Remedy:
    """Changes to try for a finding, and the rules to choose and report one of them."""

    changes: tuple[Change, ...]
    score: tuple[str, ...]
    """Figures that determine the best change. The first figure that any change improves is used."""
    vm: Vm | None = None
    """Name of the VM whose figures are reported."""
    host_key: str | None = None
    """Name in the scenario of the host whose figures are reported."""
    enough: Enough | None = None
    """Function that returns true if a change suffices, by the figures before and after.

    The first such change is chosen.
    """
    fallback: int = 0
    """Change to report if no change helps."""
    untried: str = ""
    """Changes that were not tried, and the reason."""

    @property
    def hosts(self) -> tuple[str, ...]:
        """Hosts of all changes. All changes are tried on the same part of the cluster."""
        return tuple(dict.fromkeys(host for change in self.changes for host in change.hosts))


NOT_MODELLED = {
    "host-memory-full": "full memory slows no VM until the host reclaims it",
    "cluster-without-failover-capacity": "no effect until a host fails; simulate `failures` with `hypertwin simulate`",
    "ha-off": "no effect until a host fails",
    "admission-control-off": "no effect until a host fails",
    "hyper-threading-off": "try `hypertwin simulate --set hosts.NAME.threads_per_core=2`",
    "power-policy": "the twin does not model sleeping cores",
    "mixed-cpu-models": "it affects VM moves, not VM speed",
    "evc-behind": "the twin does not know the instructions that a program uses",
    "datastore-nearly-full": "the twin does not model full datastores",
    "old-snapshot": "the twin does not model snapshots",
}
"""Reasons why some findings have no what-if, by code."""

MEMORY = ("swap-wait", "memory-reclaim", "host-memory-overcommitted-reclaiming")
"""Findings about a host that reclaims memory."""
CONTENTION = ("cpu-ready", "co-stop", "host-cpu-saturated", "hidden-host-saturation", "unbalanced-monsters")


class Remedies:
    """Remedies for the findings of one case. Changes for each host are searched once."""

    def __init__(self, case: Case, scenario: Scenario) -> None:
        """`scenario` is the cluster file of the case."""
        self.case, self.scenario = case, scenario
        self.inventory = scenario.inventory
        self._data: Mapping[str, Any] = json.loads(scenario.json)
        self._vms = {path: vm for vm in case.vms for path in (vm.guest, vm.subject.path) if path}
        self._hosts = {host.name: host for host in reversed(case.hosts) if host.key}
        self._of_host: dict[str, tuple[Change, ...]] = {}
        self._moves: dict[str, Moves] = {}
        self._untried = "" if extras.installed("plan") else NO_PLANNER

    def _moves_of(self, host: Host | None) -> Moves | None:
        """Return the planner's moves in the cluster of a host, or None without planner or cluster."""
        if self._untried or host is None or host.cluster is None or host.cluster.facts is None:
            return None
        from hypertwin.diagnosis.moves import Moves

        key = host.cluster.key or ""
        if key not in self._moves:
            self._moves[key] = Moves(self.case, self.scenario, host.cluster)
        return self._moves[key]

    def of(self, finding: Finding) -> Remedy | str:
        """Return the changes to try for a finding, or the reason why there are none."""
        if finding.code in NOT_MODELLED:
            return NOT_MODELLED[finding.code]
        subject = finding.subject
        vm, host = self._vms.get(subject.path), self._hosts.get(subject.host or "")
        if subject.kind in ("vm", "guest") and (vm is None or not vm.shape):
            known = vm is not None and vm.layout
            return f"{subject.name} {'is on an unknown host' if known else 'is not in the cluster file'}"
        if host is None and (vm is None or finding.code in CONTENTION):
            return f"{finding.subject.host or f'the host of {subject.name}'} is not in the cluster file"
        return self._found(finding, vm, host)

    def _found(self, finding: Finding, vm: Vm | None, host: Host | None) -> Remedy | str:
        if finding.code == "cpu-ready" and vm is not None and has_cpu_left(self.case, vm):
            return self._freed(vm)
        if host is not None and finding.code in CONTENTION:
            return self._contention(finding, vm, host)
        if host is not None and finding.code in MEMORY:
            return self._memory(finding, host)
        if host is not None and finding.subject.kind == "device":
            return self._storage(finding, host)
        if host is not None and vm is None:
            return self._pool(host)
        return self._resized(finding, vm) if vm else "its subject is no VM of the cluster file"

    def _freed(self, vm: Vm) -> Remedy | str:
        """Return the removal of what keeps a VM from the free CPU of its host: its CPU limit, or its binding."""
        if self.case.may_be_limited(vm):
            return _without_limit(_Shape(self.case, vm))
        if vm.binding:
            return _unbound(_Shape(self.case, vm))
        return "its host has a free core for each vCPU, so a move of VMs does not help"

    # contention for CPU: a VM must move

    def _contention(self, finding: Finding, vm: Vm | None, host: Host) -> Remedy | str:
        key = host.key or ""
        if key not in self._of_host:
            moves = self._moves_of(host)
            found = [_moved(host, several) for several in moves.off(host)] if moves else []
            # the best move, the fewest sufficient moves, then a new host or another single move
            last = [each for each in (self._one_more_host(host), *found[1:-1]) if each]
            self._of_host[key] = _first([*found[:1], *found[-1:], *last])
        changes = self._of_host[key]
        if finding.code == "co-stop" and vm is not None:
            own = _Shape(self.case, vm).fits() + self._move_of(vm)
            changes = _first([*own, *changes[1:2], *changes[:1]])
        if not changes:
            return self._untried or (
                f"no VM of {host.name} can move: no other host of its cluster has headroom, a rule forbids it, or it "
                "does not improve. Remove vCPUs instead"
            )
        told = vm or next((each for each in self.case.vms if each.key in changes[0].moved), None)
        score = ("waiting_vcpus", "host_usage_pct", "response_ms_p95")
        return Remedy(changes, score, told, key, enough=_calm, untried=self._untried)

    def _move_of(self, vm: Vm, among: Sequence[Host] | None = None) -> list[Change]:
        """Return the planner's move of one VM."""
        moves = self._moves_of(vm.host)
        move = moves.of(vm, among) if moves else None
        return [_moved(vm.host, [move])] if move and vm.host else []

    def _one_more_host(self, host: Host) -> Change | None:
        """Return a second host of the same kind, for half of the load of the first host."""
        moves = self._moves_of(host)
        vms = moves.half_of(host) if moves else []
        if not vms:
            return None
        key = f"{host.key}-more"
        moved = {vm.key or "": key for vm in vms}
        sets = {f"hosts.{key}": unlabelled(self._group_of(host), 1), **{f"vms.{name}.host": key for name in moved}}
        text = f"add a host like {host.name}, for {len(moved)} of its VMs"
        return Change(text, sets, (host.key or "",), moved, steps=NEW_HOST)

    # memory of a host: a VM must move or need less

    def _memory(self, finding: Finding, host: Host) -> Remedy | str:
        key = host.key or ""
        leaving = (self._move_of(vm) for vm in memory.enough_first(self.case, host))
        tried = next((changes for changes in leaving if changes), [])
        for steps, found in (
            (2, memory.less_memory(self.case, host, self._memory_used)),
            (NEW_HOST, memory.more_memory(self.case, host)),
        ):
            if found is not None:
                text, sets = found
                tried.append(Change(text, sets, (key,), steps=steps))
        worst = next((vm for vm in host.vms if vm.entity == finding.evidence[0].entity), None)
        told = worst or max(self.case.placed.get(key, []), key=lambda vm: (vm.memory_bytes or 0, vm.name), default=None)
        if worst is not None and finding.code == "swap-wait":
            sets = {f"vms.{worst.key}.memory_reservation": f"{int(worst.memory_bytes or 0)} B"}
            tried.append(Change(f"reserve the memory of {worst.name}", sets, (key,), steps=3))
        if not tried:
            return (
                self._untried
                or f"no VM of {host.name} can move or is known to use little, and their touched memory fits the host"
            )
        score = ("host_reclaimed_bytes", "memory_swap_wait_pct", "response_ms_p95")
        return Remedy(_first(tried), score, told, key, enough=_given_back, untried=self._untried)

    def _memory_used(self, vm: Vm) -> float | None:
        """Return the memory used by a VM, as measured or as in the cluster file."""
        stat = self.case.evidence.stat(vm.entity, "memory_active_bytes")
        if stat is not None:
            return stat.most
        facts = vm.facts.measured.memory_active_bytes if vm.facts else None
        said = self._data["vms"][vm.facts.group].get("memory_active") if vm.facts else None
        return float(_core.size_bytes(said)) if facts is None and said else facts

    # storage in the hypervisor: deeper queues, more of them

    def _storage(self, finding: Finding, host: Host) -> Remedy | str:
        measured = {measure.metric for measure in finding.evidence}
        if not measured & {"queued_commands", "kernel_latency_ms"}:
            known = "device_latency_ms" in measured
            where = "in the array or the fabric, not in the hypervisor: no host setting fixes it"
            return f"the wait is {where if known else 'below the guest: DAVG and KAVG were not measured'}"
        vm = self._busiest(finding, host)
        if vm is None:
            return (
                f"the cluster file has no array for the VMs of {host.name} (`vms.NAME.array`), so the twin has no "
                "queue there"
            )
        adapters = self._group_of(host)["adapters"]
        limits = language.limits()
        hosts, path = (host.key or "",), f"hosts.{host.key}.adapters"
        lun, dsnro = (
            min(max(DEEPER * adapters[key], limits.default_lun_depth), most)
            for key, most in (("lun_depth", DEEPEST_LUN), ("dsnro", limits.dsnro))
        )
        deeper = {f"{path}.lun_depth": lun, f"{path}.dsnro": dsnro}
        most_disks = limits.controllers * limits.vdisks_per_controller
        disks = min(max(DEEPER * self.inventory.vm[vm.key or ""].vdisks, limits.controllers), most_disks)
        more = {
            f"vms.{vm.key}.vdisks": disks,
            f"vms.{vm.key}.controllers": limits.controllers,
            f"vms.{vm.key}.shared_luns": False,
        }
        spread = f"spread {vm.name} over {disks} disks with their own LUNs, on {limits.controllers} controllers"
        deep = f"set queues of {lun} commands per LUN on {host.name} (DSNRO {dsnro})"
        changes = (
            Change(deep, deeper, hosts),
            Change(spread, more, hosts, steps=2),
            Change(f"{deep}, and {spread}", {**deeper, **more}, hosts, steps=3),
        )
        return Remedy(changes, ("io_latency_ms_mean", "queue_wait_ms"), vm, host.key)

    def _busiest(self, finding: Finding, host: Host) -> Vm | None:
        """Return the VM with an array whose disk I/O rate is nearest to that of the device.

        Without an array, the VM with the most I/O is returned.
        """
        there = [each for each in self.case.placed.get(host.key or "", []) if self.inventory.vm[each.key or ""].array]
        device = self.case.evidence.stat(finding.subject.path, "iops") if "/device/" in finding.subject.path else None
        ranked = []
        for vm in there:
            rates = [
                stat.mean
                for path in self.case.evidence.entities("disk")
                if vm.entity and path.startswith(f"{vm.entity}/") and (stat := self.case.evidence.stat(path, "iops"))
            ]
            nearest = min((abs(rate - device.mean) for rate in rates), default=float("inf")) if device else 0.0
            ranked.append((nearest, -sum(rates), vm.name, vm))
        return min(ranked, key=lambda each: each[:3])[3] if ranked else None

    # storage that uses the host's CPU: give it dedicated hosts

    def _pool(self, host: Host) -> Remedy | str:
        pool = next((each for each in self.inventory.pools if each.vms_on_nodes and host.key in each.hosts), None)
        if pool is None:
            return (
                f"the cluster file has no distributed storage (`storage`) on {host.name}, so the twin cannot move its "
                "services"
            )
        changes = []
        for count in dict.fromkeys((max(len(pool.hosts) // 2, pool.width), len(pool.hosts))):
            own = f"{pool.name}-nodes"
            sets = {
                f"hosts.{own}": unlabelled(self._data["hosts"][pool.groups[0]], count),
                f"storage.{pool.name}.nodes": own,
                f"storage.{pool.name}.deployment": "two-layer",
            }
            text = f"put {pool.name} on {count} more dedicated hosts (two layers)"
            changes.append(Change(text, sets, (host.key or "",), steps=count))
        large = max(
            self.case.placed.get(host.key or "", []), key=lambda each: (each.vcpus or 0, each.name), default=None
        )
        return Remedy(tuple(changes), ("host_usage_pct", "response_ms_p95"), large, host.key)

    def _group_of(self, host: Host) -> Mapping[str, Any]:
        """Return the keys of a host in the cluster file."""
        group: Mapping[str, Any] = self._data["hosts"][self.inventory.host[host.key or ""].group]
        return group

    # the shape of one VM

    def _resized(self, finding: Finding, vm: Vm) -> Remedy | str:
        if finding.code == "remote-numa-memory":
            return self._local(vm)
        shape = _Shape(self.case, vm)
        found = _RESHAPED[finding.code](shape) if finding.code in _RESHAPED else None
        if isinstance(found, Remedy) and not found.changes:
            found = None
        return found or "its CPU was not measured, or it has nearly as many vCPUs as its host has cores"

    def _local(self, vm: Vm) -> Remedy | str:
        """Return shapes and hosts that put memory on the nodes of the vCPUs."""
        shape = _Shape(self.case, vm)
        layout, vcpus, memory = shape.layout, shape.vcpus, vm.memory_bytes or 0.0
        nodes, node = layout["host_topology"]["nodes"], layout["host_topology"]["memory_per_node_bytes"]
        tried = []
        if any(warning["code"] == "hot-add-wide" for warning in layout["warnings"]):
            tried.append(shape.set(f"turn CPU hot-add of {vm.name} off", {"cpu_hot_add": False}))
        spread = next((each for each in range(2, nodes + 1) if vcpus % each == 0 and memory <= each * node), None)
        if memory > node and spread and "max_per_virtual_node" in shape.options.numa:
            part = vcpus // spread
            numa = {"max_per_virtual_node": part, "vcpu_min": min(vcpus, language.limits().default_numa_vcpu_min)}
            text = f"spread {vm.name} over {spread} NUMA nodes (numa.vcpu.maxPerVirtualNode {part})"
            tried.append(shape.set(text, {"numa": numa, "cores_per_socket": part, "cpu_hot_add": False}))
        tried += shape.fits()
        larger = [
            each
            for each in self.case.hosts
            if each.key and each.nodes and (each.memory_bytes or 0) / each.nodes >= memory
            if (each.cores or 0) // each.nodes >= vcpus
        ]
        tried += self._move_of(vm, larger)
        if memory > node:
            less = int(FILLED * node / GIB)
            text = f"give {vm.name} {less} GiB, if it needs no more"
            tried.append(shape.set(text, {"memory": f"{less} GiB"}, steps=2))
        if not tried:
            return self._untried or NOWHERE_LOCAL
        return replace(shape.remedy(tried, "numa_local_pct", "response_ms_p95"), untried=self._untried)


class _Shape:
    """A VM that can get another shape."""

    def __init__(self, case: Case, vm: Vm) -> None:
        self.vm = vm
        self.layout: Mapping[str, Any] = vm.shape or {}
        topology = self.layout["host_topology"]
        self.vcpus = vm.vcpus or 1
        self.room = topology["cores_per_node"]
        self.cores = topology["nodes"] * self.room
        self.options = language.hypervisors()[self.layout["hypervisor"]]
        self.busy = case.busy(vm)
        known = self.busy is not None and not self.busy.stat.is_one_moment
        self.peak = max(needed(self.vcpus, self.busy.most), FEWEST_VCPUS) if self.busy and known else None

    def set(self, text: str, sets: Mapping[str, Any], steps: int = 1) -> Change:
        """Return a change of keys of the VM."""
        changes = {f"vms.{self.vm.key}.{key}": value for key, value in sets.items()}
        return Change(text, changes, (self.layout["host"],), steps=steps)

    def counts(self, *wanted: int) -> list[Change]:
        """Return other numbers of vCPUs, in even sockets, if the host has enough cores."""
        return [
            self.set(
                f"give {self.vm.name} {count} vCPUs",
                {"vcpus": count, "cores_per_socket": even_sockets(self.layout, count), "numa": None},
                steps=abs(count - self.vcpus),
            )
            for count in dict.fromkeys(wanted)
            if 0 < count <= self.cores and count != self.vcpus
        ]

    def fits(self) -> list[Change]:
        """Return the number of vCPUs that carries the peak, if the VM has more and they fit a node."""
        return self.counts(self.peak) if self.peak and self.peak <= self.room and self.peak < self.vcpus else []

    def remedy(self, changes: Sequence[Change], *score: str, enough: Enough | None = None, fallback: int = 0) -> Remedy:
        """Return the changes to try, reported by the figures of this VM."""
        return Remedy(_first(changes), score, self.vm, self.layout["host"], enough, fallback)


def _without_limit(shape: _Shape) -> Remedy:
    return shape.remedy([shape.set(f"remove the limit of {shape.vm.name}", {"limit": None})], "limited_pct")


def _unbound(shape: _Shape) -> Remedy:
    key = "affinity" if shape.vm.facts and shape.vm.facts.has_affinity else "numa.nodes"
    off = shape.set(f"remove the {shape.vm.binding} of {shape.vm.name}", {key: None})
    return shape.remedy([off], "waiting_vcpus", "response_ms_p95")


def _without_memory_limit(shape: _Shape) -> Remedy:
    off = shape.set(f"remove the memory limit of {shape.vm.name}", {"memory_limit": None})
    return shape.remedy([off], "host_reclaimed_bytes", "memory_swap_wait_pct", "response_ms_p95")


def _even(shape: _Shape) -> Remedy:
    def level(before: Figures, after: Figures) -> bool:
        slower = after.get("response_ms_p95", 0.0) > SAME * before.get("response_ms_p95", 0.0)
        return after["node_spread_vcpus"] < before["node_spread_vcpus"] and not slower

    tried = shape.counts(shape.vcpus - 1, shape.vcpus + 1) + shape.fits()
    return shape.remedy(tried, "response_ms_p95", "node_spread_vcpus", enough=level)


def _without_hot_add(shape: _Shape) -> Remedy:
    off = shape.set(f"turn CPU hot-add of {shape.vm.name} off", {"cpu_hot_add": False})
    return shape.remedy([off, *shape.fits()], "numa_local_pct", "response_ms_p95")


def _evenly_split(shape: _Shape) -> Remedy | str:
    if "cells" in shape.options.numa:
        return "set NUMA cells of a KVM guest by hand: `hypertwin size` prints the XML to paste"
    name, size, vcpus = shape.vm.name, even_sockets(shape.layout, shape.vcpus), shape.vcpus
    sets = {"cores_per_socket": size, "numa": None, "cpu_hot_add": False}
    tried = [shape.set(f"give {name} sockets of {size} cores", sets)]
    hidden = any(warning["code"] == "hidden-numa" for warning in shape.layout["warnings"])
    if hidden and vcpus < language.limits().default_numa_vcpu_min:
        # sockets have no effect while it is too small for virtual NUMA
        exposed = {**sets, "numa": {"vcpu_min": vcpus}}
        tried = [shape.set(f"give {name} sockets of {size} cores, and lower its numa.vcpu.min to {vcpus}", exposed)]
    return shape.remedy([*tried, *shape.fits()], "numa_local_pct", "response_ms_p95")


def _within_cores(shape: _Shape) -> Remedy:
    return shape.remedy(
        shape.counts(shape.cores, shape.room, shape.peak or shape.room), "waiting_vcpus", "response_ms_p95"
    )


def _smaller(shape: _Shape) -> Remedy | None:
    if shape.peak is None:
        return None

    def unharmed(before: Figures, after: Figures) -> bool:
        return after.get("response_ms_p95", 0.0) <= SLOWER * before.get("response_ms_p95", 0.0)

    between = (shape.peak + shape.vcpus) // 2
    wanted = sorted({shape.peak, 2 * shape.peak, between + between % 2})
    return shape.remedy(
        shape.counts(*(count for count in wanted if count < shape.vcpus)),
        "response_ms_p95",
        enough=unharmed,
        fallback=-1,
    )


def _larger(shape: _Shape) -> Remedy | None:
    if shape.busy is None:
        return None

    def roomy(_before: Figures, after: Figures) -> bool:
        return after["guest_cpu_pct"] <= 100 * PEAK

    # a busy guest might need more than it can show, so it gets at least half as many vCPUs more
    half = shape.vcpus + max(1, shape.vcpus // 2)
    wanted = (max(needed(shape.vcpus, shape.busy.stat.often), half + half % 2), 2 * shape.vcpus, 4 * shape.vcpus)
    most = int(PEAK * shape.cores)
    counts = sorted({min(count, most - most % 2) for count in wanted})
    return shape.remedy(shape.counts(*(each for each in counts if each > shape.vcpus)), "response_ms_p95", enough=roomy)


_RESHAPED: Mapping[str, Callable[[_Shape], Remedy | str | None]] = {
    "cpu-limit": _without_limit,
    "memory-limit": _without_memory_limit,
    "odd-wide-vm": _even,
    "hot-add-wide-vm": _without_hot_add,
    "wider-than-node-badly-split": _evenly_split,
    "more-vcpus-than-cores": _within_cores,
    "oversized-vm": _smaller,
    "undersized-vm": _larger,
}


def _first(changes: Sequence[Change]) -> tuple[Change, ...]:
    """Return the first different changes, up to the maximum to try."""
    return tuple({change.text: change for change in changes}.values())[:MOST_CHANGES]


def _calm(before: Figures, after: Figures) -> bool:
    """True if almost no vCPU waits now, if more than one did before. Otherwise true if the host has headroom again."""
    if before["waiting_vcpus"] > 1:
        return after["waiting_vcpus"] <= CALM * before["waiting_vcpus"]
    return after["host_usage_pct"] <= min(CALM_USAGE_PCT, before["host_usage_pct"] - 5)


def _given_back(before: Figures, after: Figures) -> bool:
    """True if a host almost stopped reclaiming memory."""
    return after["host_reclaimed_bytes"] <= CALM * before["host_reclaimed_bytes"] and before["host_reclaimed_bytes"] > 0


def even_sockets(layout: Mapping[str, Any], vcpus: int) -> int:
    """Return cores per virtual socket that split the VM evenly over the fewest nodes that hold it."""
    topology = layout["host_topology"]
    room, nodes = topology["cores_per_node"], topology["nodes"]
    for count in range(-(-vcpus // room), nodes + 1):
        if count and vcpus % count == 0:
            return int(vcpus // count)
    return 1


def unlabelled(group: Mapping[str, Any], count: int) -> dict[str, Any]:
    """Return the keys of a group with another count, without label and measurements, which stay with the original."""
    return {**{key: value for key, value in group.items() if key not in ("label", "measured")}, "count": count}


def _moved(host: Host, moves: Sequence[Move]) -> Change:
    moved = {vm.key or "": target.key or "" for vm, target in moves}
    targets = dict.fromkeys(target.name for _, target in moves)
    text = f"move {moves[0][0].name} to {moves[0][1].name}"
    if len(moves) > 1:
        names = [vm.name for vm, _ in moves]
        text = f"move {len(moves)} VMs to {', '.join(targets)} ({some(names, 4)})"
    sets = {f"vms.{name}.host": target for name, target in moved.items()}
    return Change(text, sets, tuple(dict.fromkeys([host.key or "", *moved.values()])), moved, len(moves))
