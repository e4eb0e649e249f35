"""VM moves off an overloaded host, planned as in `hypertwin plan`.

The planner knows the limits, the placement rules of the cluster file, and the allowed hosts of a VM. This module adds
the measured load of hosts and VMs. A VM with a guessed host does not move, and counts on that host. This module needs
the extra `plan`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from hypertwin.diagnosis.case import Case
from hypertwin.diagnosis.subjects import Cluster, Host, Vm
from hypertwin.plan.capacity.limits import Limits
from hypertwin.plan.placement import relieve
from hypertwin.plan.placement.problem import Floats, Problem, problem
from hypertwin.scenario import Scenario

Move = tuple[Vm, Host]
"""VM with its target host."""


class Moves:
    """Moves of VMs that the planner finds in a cluster.

    CPU is in MHz if hosts were measured. Otherwise vCPUs count, and no host should have more vCPUs per core than the
    average of the cluster.
    """

    def __init__(self, case: Case, scenario: Scenario, cluster: Cluster) -> None:
        """Use the hosts and VMs of a cluster of the cluster file."""
        assert cluster.facts is not None, "a cluster of the cluster file"
        limits = Limits()
        made = problem(scenario, cluster.facts, limits)
        hosts = {each.key: each for each in cluster.hosts}
        vms = {vm.key: vm for on_host in case.placed.values() for vm in on_host}
        self.hosts = [hosts[each.name] for each in made.hosts]
        self.vms = [vms[each.name] for each in made.vms]
        usage = {each.key or "": stat for each in self.hosts if (stat := case.evidence.stat(each.entity, "usage_pct"))}
        measured = len(usage) > 1
        self.known = [not measured or each.key in usage for each in self.hosts]
        """False for each host of unknown load if the load of other hosts is known."""
        clock = np.array([(each.clock_mhz or 1.0) if measured else 1.0 for each in self.hosts])
        cores = clock * [float(each.cores or 1) for each in self.hosts]
        work = _work(case, [vm for each in self.hosts for vm in case.placed.get(each.key or "", [])], measured=measured)
        asked = clock * [sum(work[vm.key or ""] for vm in case.placed.get(each.key or "", [])) for each in self.hosts]
        used = np.array([usage[each.key or ""].mean / 100 if each.key in usage else 0.0 for each in self.hosts]) * cores
        sizes = np.array([work[vm.key or ""] for vm in self.vms]) * clock[made.at]
        # CPU that a host uses beyond its VMs stays, as do storage appliances
        stays = np.maximum(asked, used if measured else 0.0) - np.bincount(made.at, sizes, len(self.hosts))
        part = limits.cpu if measured else float(asked.sum() / cores.sum())
        self.problem = _with_cpu(made, sizes, cores, part * cores - stays)

    def off(self, host: Host) -> list[list[Move]]:
        """Return the best single moves off a host, of VMs of different sizes, and the fewest moves that relieve it."""
        here = self.hosts.index(host)
        movable = self._movable(here)
        if not self.known[here] or len(movable) < 2:
            return []
        singles = relieve.one(self.problem, movable, self._targets(), relieving=True)
        other = [move for move in singles if self.vms[move[0]].vcpus != self.vms[singles[0][0]].vcpus]
        known = self.problem.without_hosts(each for each, is_known in enumerate(self.known) if not is_known)
        several = relieve.fewest(known, here, movable)
        found = [[move] for move in (*singles[:1], *other[:1])] + ([several] if len(several) > 1 else [])
        return [[self._named(move) for move in moves] for moves in found]

    def of(self, vm: Vm, among: Collection[Host] | None = None) -> Move | None:
        """Return the move of one VM to the least loaded host that can take it."""
        hosts = [each for each in self._targets() if among is None or self.hosts[each] in among]
        found = relieve.one(self.problem, [self.vms.index(vm)], hosts) if vm in self.vms else []
        return self._named(found[0]) if found else None

    def half_of(self, host: Host) -> list[Vm]:
        """Return VMs to move to a new host of the same kind, so that each host has about half of the load."""
        here = self.hosts.index(host)
        return [self.vms[vm] for vm in relieve.half(self.problem, here, self._movable(here))]

    def _movable(self, host: int) -> list[int]:
        """Return the VMs of a host that can move, because their host is known and they are not storage appliances."""
        there = np.flatnonzero(self.problem.at == host).tolist()
        return [each for each in there if self.vms[each].host is not None and not self.vms[each].appliance]

    def _targets(self) -> list[int]:
        return [each for each, known in enumerate(self.known) if known]

    def _named(self, move: tuple[int, int]) -> Move:
        return self.vms[move[0]], self.hosts[move[1]]


def _work(case: Case, vms: Sequence[Vm], *, measured: bool) -> dict[str, float]:
    """Return the busy cores of VMs by name.

    An unmeasured VM uses the average share of its vCPUs. Without measurements, the numbers of vCPUs are returned.
    """
    shares = {vm.key: busy.stat.mean / 100 for vm in vms if measured and (busy := case.busy(vm))}
    usual = sum(shares.values()) / len(shares) if shares else 1.0
    return {vm.key or "": (vm.vcpus or 0) * shares.get(vm.key, usual) for vm in vms}


def _with_cpu(made: Problem, sizes: Floats, capacity: Floats, rooms: Floats) -> Problem:
    """Return the problem with this CPU as its first resource and memory as its second."""
    memory = [made.resources.index("memory")]

    def both(first: Floats, all_of: Floats) -> Floats:
        return np.column_stack([first, all_of[:, memory]])

    return replace(
        made,
        resources=("cpu", "memory"),
        sizes=both(sizes, made.sizes),
        capacity=both(capacity, made.capacity),
        rooms=both(rooms, made.rooms),
        failover=both(rooms, made.failover),
    )
