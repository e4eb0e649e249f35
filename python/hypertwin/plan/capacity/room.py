"""Headroom of a cluster: number of further VMs within its limits, and the largest VM after a failure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hypertwin.documents import capacity as documents
from hypertwin.language import Host, Vm
from hypertwin.plan.capacity import packing, restart
from hypertwin.plan.capacity.pools import Takes
from hypertwin.plan.capacity.state import SPARE_BY, Limited, Resource, State
from hypertwin.scenario.space import Room

GIB = 2**30
LIMITED: tuple[Limited, ...] = ("cpu", "memory", "memory_consumed", "vcpu_ratio")
"""Resources that have limits."""

MOST_LEFT = 100_000
"""Maximum number of VMs to count."""


@dataclass(frozen=True)
class NewVm:
    """VM to count, with its known use of each resource."""

    takes: Mapping[Resource, float]
    """Use of each resource. CPU includes the mean work of hypervisors for VMs."""
    mhz: float | None
    """CPU demand of the VM alone, or None if unknown."""
    is_average: bool
    stores: Takes | None
    """Use of pools by the VM, or None if no VM stores data in a pool."""

    @staticmethod
    def of(state: State) -> NewVm | None:
        """Return the requested VM, else the mean of VMs that are not storage appliances, or None if there are none."""
        guests, asked, stores = state.guests, state.limits.vm, Takes.of(state)
        sums = {name: sum(used[vm.name] for vm in guests) for name, used in state.used.items()}
        if asked is None:
            takes = {name: of / len(guests) for name, of in sums.items()} if guests else {}
            return NewVm(takes, _alone(state, takes), True, stores) if guests else None
        takes = {"memory": float(asked.memory_bytes), "vcpu_ratio": float(asked.vcpus)}
        if asked.mhz is not None:
            takes["cpu"] = asked.mhz * (1 + state.usual_own_cpu)
        elif guests and "cpu" in sums:
            takes["cpu"] = sums["cpu"] / sums["vcpu_ratio"] * asked.vcpus
        if guests and "memory_consumed" in sums:
            takes["memory_consumed"] = sums["memory_consumed"] / sums["memory"] * asked.memory_bytes
        return NewVm(takes, _alone(state, takes), False, stores)

    def document(self) -> documents.Size:
        """Return the JSON form."""
        consumed = self.takes.get("memory_consumed")
        return {
            "vcpus": self.takes["vcpu_ratio"],
            "memory_gib": self.takes["memory"] / GIB,
            "cpu_mhz": self.mhz,
            "memory_consumed_gib": None if consumed is None else consumed / GIB,
            "stored_gib": None if self.stores is None else self.stores.stored / GIB,
        }

    def fit(self, rooms: Mapping[str, Room]) -> int | None:
        """Return the number of VMs that fit into pools, up to MOST_LEFT, or None if the VM uses no pool."""
        return None if self.stores is None else int(min(MOST_LEFT, self.stores.fit(rooms)))


def _alone(state: State, takes: Mapping[Resource, float]) -> float | None:
    """Return the CPU that a VM takes, without that of its hypervisor."""
    return takes["cpu"] / (1 + state.usual_own_cpu) if "cpu" in takes else None


def work(
    state: State,
    resources: Sequence[Limited],
    gone: Sequence[Host],
    used: Mapping[Resource, Mapping[str, float]] | None = None,
) -> packing.Load:
    """Return the VMs of a cluster and the capacity of its hosts within the limits, without some hosts.

    `used` replaces the current use by VMs. VMs that are missing from `used` are left out.
    """
    taken = state.used if used is None else used
    without = {host.name for host in gone}
    fixed = {each: state.fixed(each) for each in resources}
    rooms = [
        tuple(state.room(host, each) - fixed[each].get(host.name, 0.0) for each in resources)
        for host in state.hosts
        if host.name not in without
    ]
    left = [vm.name for vm in state.guests if vm.name in taken["memory"]]
    sizes = (tuple(taken[each][name] for each in resources) for name in left)
    return packing.load(rooms, sizes)


def limiting(state: State) -> list[Limited]:
    """Return the resources with a known use and a known limit."""
    return [
        each for each in LIMITED if each in state.used and (each != "vcpu_ratio" or state.limits.vcpu_ratio is not None)
    ]


def vms_remaining(state: State) -> documents.VmsLeft | None:
    """Return the VMs remaining without the spare hosts, or None if no host is left, or if no VM size is known.

    VMs only go to hosts where some VM of the cluster can run. The spare hosts are of these.
    """
    state = state.for_vms
    vm = NewVm.of(state)
    if state.spare is None or vm is None:
        return None
    known = [each for each in limiting(state) if vm.takes.get(each, 0.0) > 0]
    counts: dict[documents.Limit, int] = {}
    for each in known:
        counts[each] = _count(work(state, [each], state.spare[SPARE_BY[each]]), (vm.takes[each],), MOST_LEFT)
    in_pools = vm.fit(state.rooms)
    if in_pools is not None:
        counts["pool"] = in_pools
    ranked = sorted(counts, key=lambda each: (counts[each], -_part(state, vm, each)))
    least = counts[ranked[0]] if ranked else None
    together = least
    if least:
        size = tuple(vm.takes[each] for each in known)
        # hosts that are the largest by one thing need not be by another: the worst of them counts
        for gone in {tuple(host.name for host in hosts): hosts for hosts in state.spare.values()}.values():
            together = min(together or 0, _count(work(state, known, gone), size, least))
    return {
        "cpu": counts.get("cpu"),
        "memory": counts.get("memory"),
        "memory_consumed": counts.get("memory_consumed"),
        "vcpu_ratio": counts.get("vcpu_ratio"),
        "pool": in_pools,
        "limited_by": ranked[0] if ranked else None,
        "count": together,
        "vm": vm.document(),
        "average": vm.is_average,
    }


def left_in_all(states: Sequence[State], each: Sequence[documents.VmsLeft | None]) -> documents.VmsLeft | None:
    """Return the VMs remaining in all clusters together. Each cluster counts its own VM size.

    Clusters with a common pool share its capacity. They are counted in the given order.
    """
    counted = [(state, left) for state, left in zip(states, each, strict=True) if left is not None]
    if not counted:
        return None
    fit: list[int | None] = []
    counts: list[int | None] = []
    alone = together = states[0].rooms
    for state, left in counted:
        vm, most = NewVm.of(state), left["count"]
        if vm is not None and vm.stores is not None:
            fit.append(vm.fit(alone))
            alone = vm.stores.put(alone, fit[-1] or 0)
            most = min(MOST_LEFT if most is None else most, vm.fit(together) or 0)
            together = vm.stores.put(together, most)
        else:
            fit.append(None)
        counts.append(most)
    lefts = [left for _, left in counted]
    return {
        "cpu": _summed([left["cpu"] for left in lefts]),
        "memory": _summed([left["memory"] for left in lefts]),
        "memory_consumed": _summed([left["memory_consumed"] for left in lefts]),
        "vcpu_ratio": _summed([left["vcpu_ratio"] for left in lefts]),
        "pool": _summed(fit),
        "limited_by": None,
        "count": _summed(counts),
        "vm": None,
        "average": all(left["average"] for left in lefts),
    }


def _summed(values: Sequence[int | None]) -> int | None:
    return None if None in values else sum(value for value in values if value is not None)


def _part(state: State, vm: NewVm, resource: documents.Limit) -> float:
    """Return the used fraction of a limit without the spare hosts.

    Of two exhausted limits, the more exceeded limit counts.
    """
    if resource == "pool":
        return 0.0 if vm.stores is None else vm.stores.fullness(state.rooms)
    limit = {"cpu": state.limits.cpu, "vcpu_ratio": state.limits.vcpu_ratio or 1.0}.get(resource, state.limits.memory)
    taken, size = state.degraded(resource) or (0.0, 1.0)
    return taken / size / limit


def _count(load: packing.Load, vm: packing.Sizes, at_most: int) -> int:
    return packing.most(load, vm, min(at_most, packing.bound(load, vm))) or 0


def hosts_to_spare(state: State, used: Mapping[Resource, Mapping[str, float]] | None = None) -> int | None:
    """Return the number of hosts that a cluster does not need, beyond the spare hosts, smallest first.

    `used` is that of `work`.
    """
    if state.spare is None:
        return None
    found = []
    for gone in {tuple(host.name for host in hosts): hosts for hosts in state.spare.values()}.values():
        without = {host.name for host in gone}
        left = [host for host in state.hosts if host.name not in without]
        order = sorted(range(len(left)), key=lambda each: (left[each].memory_bytes, left[each].cores))
        found.append(packing.without(work(state, limiting(state), gone, used), order))
    return min(found)


def standing(state: State) -> list[restart.Standing]:
    """Return the hosts of a cluster with the VMs that restart elsewhere. Other VMs keep the memory of their host."""
    waits = state.restarting
    moves = {vm.name for vm in waits}
    own: dict[str, list[Vm]] = {host.name: [] for host in state.hosts}
    kept = dict.fromkeys(own, 0)
    for vm in waits:
        own[vm.host].append(vm)
    for vm in state.vms:
        kept[vm.host] += 0 if vm.name in moves else vm.memory_bytes
    return [
        restart.Standing(
            host.name,
            host.threads,
            host.memory_bytes,
            state.room(host, "memory") - kept[host.name],
            [restart.Guest(vm.name, vm.vcpus, vm.memory_bytes) for vm in own[host.name]],
        )
        for host in state.hosts
    ]


def largest_restartable_vm(state: State) -> documents.Restartable | None:
    """Return the largest VM that some host can restart after any failure, when the VMs of failed hosts have restarted.

    `failed` is the failure that loses the most memory of VMs. Among equal failures, it is that of the smallest VM.
    """
    if state.spare is None or not state.limits.failures:
        return None
    failures = restart.failures(standing(state), state.limits.failures)
    found = [(each.lost, _hole(state, each)) for each in failures]
    least = min((hole for _, hole in found), key=_size)
    worst = min(found, key=lambda one: (-one[0], *_size(one[1])))[1]
    return least | {"failed": worst["failed"], "not_restarted": worst["not_restarted"]}


def _size(vm: documents.Restartable) -> tuple[float, int]:
    return vm["memory_gib"], vm["vcpus"]


def _hole(state: State, failure: restart.Failure) -> documents.Restartable:
    """Return the largest VM that can still restart after a failure."""
    best: documents.Restartable = {
        "vcpus": 0,
        "memory_gib": 0.0,
        "host": None,
        "failed": [host.name for host in failure.failed],
        "not_restarted": [guest.name for guest in failure.unplaced],
    }
    of_host = {host.name: host for host in state.hosts}
    vcpus = dict.fromkeys(of_host, 0)
    for vm in state.vms:
        vcpus[vm.host] += vm.vcpus
    for guest, host in failure.restarted:
        vcpus[host.name] += guest.vcpus
    for room, host in reversed(failure.free):
        wide = host.threads
        if state.limits.vcpu_ratio is not None:
            wide = min(wide, int(state.room(of_host[host.name], "vcpu_ratio") - vcpus[host.name] + packing.SLACK))
        if room > 0 and wide > 0:
            return best | {"vcpus": wide, "memory_gib": room / GIB, "host": host.name}
    return best
