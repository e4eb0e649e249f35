"""Which VM should go where when a host is too full.

No move leaves its cluster, breaks a placement rule of the cluster file, or takes a VM to a host that it cannot be on by
its hypervisor, storage, CPUs or memory; what binds it to its host keeps it there. A VM whose place is a guess is not
moved, and counts where the guess put it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from hypertwin.diagnose.case import Case
from hypertwin.diagnose.subjects import Cluster, Host, Vm

MOST_MOVES = 24
"""VMs that one change moves."""
TARGETS = 4
"""Of the emptiest hosts, how many are considered for each move."""
MOST_TARGETS = 3
"""Hosts that one change moves VMs to."""
FULL_PCT = 80.0
"""Usage down to which VMs are moved away, and up to which other hosts are filled with them: the rule of planning for
peaks at 80 %."""

Move = tuple[Vm, Host]
"""A VM, and the host that it goes to."""


class Loads:
    """How full the hosts of a cluster are, and how much its VMs ask for.

    In cores where hosts were measured, else in vCPUs.
    """

    def __init__(self, case: Case, cluster: Cluster) -> None:
        """Of the hosts and VMs of a cluster of the cluster file."""
        self.case = case
        self.hosts = [each for each in cluster.hosts if each.key]
        self.by_key = {vm.key: vm for each in self.hosts for vm in case.placed.get(each.key or "", [])}
        usage = {each.key or "": stat for each in self.hosts if (stat := case.evidence.stat(each.entity, "usage_pct"))}
        measured = len(usage) > 1
        if measured:
            # nobody knows how full the others are
            self.hosts = [each for each in self.hosts if each.key in usage]
        placed = [vm for each in self.hosts for vm in case.placed.get(each.key or "", [])]
        shares = {each.key: busy.stat.mean / 100 for each in placed if measured and (busy := case.busy(each))}
        usual = sum(shares.values()) / len(shares) if shares else 1.0
        self.work = {key: (each.vcpus or 0) * shares.get(key, usual) for key, each in self.by_key.items()}
        self.full: dict[str, float] = {}
        self.most = FULL_PCT if measured else float("inf")
        """How full several moves may make a host; without measurements there is no limit of vCPUs per core."""
        for host in self.hosts:
            key = host.key or ""
            asked = 100 * sum(self.work[each.key or ""] for each in case.placed.get(key, [])) / (host.cores or 1)
            # a full host uses no more than it has, whatever its VMs ask for
            self.full[key] = max(asked, usage[key].mean) if measured else asked

    def moves(self, host: Host) -> list[list[Move]]:
        """The best single moves away from a host, of VMs of different sizes, and the moves that relieve it."""
        here = self.case.placed.get(host.key or "", [])
        if host.key not in self.full or len([each for each in here if _movable(each)]) < 2:
            return []
        first = self._best(host, self.full)
        if first is None:
            return []
        sizes = (first[0].vcpus,)
        second = self._best(host, self.full, other_than=sizes)
        found = [[each] for each in (first, second) if each]
        full, moved = dict(self.full), list[Move]()
        while len(moved) < MOST_MOVES and full[host.key or ""] > FULL_PCT:
            there = {vm.key or "": target.key or "" for vm, target in moved}
            best = self._best(host, full, there, most=self.most)
            if best is None:
                break
            moved.append(best)
            self._shift(full, host, *best)
        if len(moved) > 1:
            found.append(moved)
        return found

    def move_of(self, vm: Vm, host: Host, targets: list[Host] | None = None) -> Move | None:
        """The move of one VM to the emptiest host that may take it."""
        fitting = [each for each in self.hosts if each is not host and (targets is None or each in targets)]
        fitting = [each for each in fitting if self._allowed(vm, each, {})]
        if not fitting:
            return None
        best = min(fitting, key=lambda each: (round(self._after(each, vm, self.full), 6), each.name))
        return vm, best

    def half_of(self, host: Host) -> list[Vm]:
        """VMs that make up half of the load of a host, the largest first, as far as rules let them go."""
        here = self.case.placed.get(host.key or "", [])
        whole = sum(self.work.get(each.key or "", 0.0) for each in here)
        gone: list[Vm] = []
        for vm in sorted(here, key=lambda each: (-self.work.get(each.key or "", 0.0), each.name)):
            work = self.work.get(vm.key or "", 0.0)
            there = frozenset(each.key or "" for each in gone)
            fits = sum(self.work.get(each, 0.0) for each in there) + work <= whole / 2
            if (
                fits
                and _movable(vm)
                and not self._is_bound(vm)
                and all(rule.allows(vm.key or "", "", there) for rule in self.case.rules)
            ):
                gone.append(vm)
        return gone

    def _best(
        self,
        host: Host,
        full: Mapping[str, float],
        moved: Mapping[str, str] = MappingProxyType({}),
        other_than: tuple[int | None, ...] = (),
        most: float = float("inf"),
    ) -> Move | None:
        """The move after which the fuller of the two hosts is least full; None if it would be as full as now."""
        key, cores = host.key or "", host.cores or 1
        emptiest = sorted(
            (each for each in self.hosts if each is not host), key=lambda each: (full[each.key or ""], each.name)
        )
        if len(set(moved.values())) == MOST_TARGETS:
            emptiest = [each for each in emptiest if each.key in moved.values()]
        options = []
        for vm in self.case.placed.get(key, []):
            name = vm.key or ""
            if not vm.vcpus or not _movable(vm) or name in moved or vm.vcpus in other_than:
                continue
            allowed = (each for each in emptiest if self._allowed(vm, each, moved))
            for target, _ in zip(allowed, range(TARGETS), strict=False):
                left = full[key] - 100 * self.work[name] / cores
                there = self._after(target, vm, full)
                after = max(left, there)
                if after < full[key] and there <= most:
                    options.append((round(after / full[key], 6), -vm.vcpus, vm.name, target.name, vm, target))
        if not options:
            return None
        *_, vm, target = min(options, key=lambda option: option[:4])
        return vm, target

    def _after(self, target: Host, vm: Vm, full: Mapping[str, float]) -> float:
        return full[target.key or ""] + 100 * self.work[vm.key or ""] / (target.cores or 1)

    def _shift(self, full: dict[str, float], host: Host, vm: Vm, target: Host) -> None:
        full[target.key or ""] = self._after(target, vm, full)
        full[host.key or ""] -= 100 * self.work[vm.key or ""] / (host.cores or 1)

    def _allowed(self, vm: Vm, target: Host, moved: Mapping[str, str]) -> bool:
        """Whether a host may and can take a VM: width, memory, placement rules."""
        there = [each for each in self.case.placed.get(target.key or "", []) if each.key not in moved]
        there += [self.by_key[name] for name, host in moved.items() if host == target.key]
        used = sum(each.memory_bytes or 0 for each in there)
        room = (target.memory_bytes or 0) - target.memory_own_bytes
        if (vm.vcpus or 0) > (target.threads or 0) or used + (vm.memory_bytes or 0) > room:
            return False
        if not self._can_be_on(vm, target):
            return False
        keys = frozenset(each.key or "" for each in there)
        return all(rule.allows(vm.key or "", target.key or "", keys) for rule in self.case.rules)

    def _is_bound(self, vm: Vm) -> bool:
        """Whether it can be nowhere but on its host."""
        known = self.case.scenario.inventory.vm.get(vm.key or "") if self.case.scenario else None
        return known is not None and known.stays_on_host

    def _can_be_on(self, vm: Vm, target: Host) -> bool:
        """As planners see it: hypervisor, storage in reach, and nothing that binds the VM to its host."""
        inventory = self.case.scenario.inventory if self.case.scenario else None
        known = inventory.vm.get(vm.key or "") if inventory else None
        host = inventory.host.get(target.key or "") if inventory else None
        return known is None or host is None or known.can_be_on(host)


def _movable(vm: Vm) -> bool:
    """Whether it can be told to go elsewhere: it is known where it is, and it serves no storage there."""
    return bool(vm.vcpus) and not vm.appliance and vm.host is not None
