"""Candidates of a refresh: the fewest hosts of each, at the middle and at both ends of the speed of new processors."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from hypertwin.errors import ScenarioError
from hypertwin.language import Host, Vm
from hypertwin.members import Cluster
from hypertwin.plan.capacity import demand
from hypertwin.plan.capacity.limits import Limits
from hypertwin.plan.placement.problem import Ints, Memory
from hypertwin.plan.refresh import candidate
from hypertwin.plan.refresh.candidate import New, Wanted
from hypertwin.plan.refresh.fewest import Fewest, Made, fewest
from hypertwin.plan.refresh.host_type import MAX_HOSTS, HostType
from hypertwin.plan.refresh.present import Present
from hypertwin.plan.refresh.speed import Speed, work_per_cycle
from hypertwin.scenario import Scenario

Tell = Callable[[str], None]

NO_ROOM = "fewer hosts do not hold the data of the VMs"
"""Reason for a number of hosts that storage decides."""

MARGIN = 1.25
"""Factor on the estimated number of hosts of the first search. Searches double the number if it is too small."""


@dataclass(frozen=True)
class Choice:
    """Requested hosts of a cluster: some that stay, some new ones of a first type, and any number of the last type."""

    cluster: str
    takes: tuple[str, ...]
    kept: tuple[Host, ...]
    fixed: tuple[tuple[HostType, int], ...]
    last: HostType

    @property
    def staying(self) -> int:
        """Number of hosts before those of the last type."""
        return len(self.kept) + sum(count for _, count in self.fixed)


@dataclass(frozen=True)
class Part:
    """Hosts of a cluster that were found."""

    choice: Choice
    found: Fewest
    if_fast: int | None
    if_slow: int | None
    made: Made | None
    """Problem with exactly these hosts, or None if no number of hosts is enough."""
    reason: str | None
    stored_bytes: float | None
    usable_bytes: float | None

    @property
    def added(self) -> dict[str, int]:
        """Number of new hosts of each type."""
        if self.found.hosts is None:
            return {}
        last = self.found.hosts - self.choice.staying
        counts = {type_.name: count for type_, count in self.choice.fixed}
        return counts | ({self.choice.last.name: last} if last or not counts else {})

    @property
    def place(self) -> Ints | None:
        """Host of each VM, by positions of hosts of `made`."""
        return self.found.place


@dataclass(frozen=True)
class Planner:
    """Searches for the fewest hosts."""

    present: Present
    limits: Limits
    memory: Memory
    speeds: Mapping[str, Speed]
    """Speeds of present host groups and of new host types, by name."""
    stored_bytes: float | None
    """Data of all VMs without growth, or None if unknown."""
    tell: Tell

    def part(self, choice: Choice, *, ends: bool = True) -> Part:
        """Return the fewest hosts of a choice. Without `ends`, only at the middle speed."""
        large = candidate.too_large(self.present, self._wanted(choice, 1))
        if large is not None:
            return self._none(choice, f"{large.called} has {_size(large)}, more than any of these hosts", 0)
        lost = self._pool_lost(choice)
        if lost is not None:
            return self._none(
                choice, f"VMs store data in pool {lost} of replaced hosts, and these hosts have no disks", 0
            )
        try:
            return self._found(choice, ends=ends)
        except ScenarioError as error:  # an option of a VM that these hosts do not have
            first = error.mistakes[0]
            return self._none(choice, f"{first.path} is {first.value}, but these hosts take {first.allowed}", 0)

    def _found(self, choice: Choice, *, ends: bool) -> Part:
        stored = self._stored(choice)
        least = self._least_for_storage(choice, stored)
        if least is None:
            return self._none(choice, _too_few(choice, "the data of VMs do not fit on the disks of these hosts"), 0)
        many = max(least, math.ceil(MARGIN * self._estimate(choice)) + self.limits.failures + 1)
        while True:
            many = min(choice.last.whole(many), choice.last.at_most)
            made = self._made(choice, many)
            found = self._fewest(made, choice, least, many)
            if found.hosts is not None or many >= min(choice.last.at_most, MAX_HOSTS):
                break
            many *= 2
        if found.hosts is None:
            return self._none(choice, _too_few(choice, found.why), found.bound)
        new = found.hosts - choice.staying
        if not found.why and new - choice.last.sold_in < least and new > next(self._counts(choice, 0, many)):
            found = replace(found, why=NO_ROOM)
        fast: int | None = choice.staying + new
        slow: int | None = choice.staying + new
        if ends and self.present.is_measured and self.speeds[choice.last.name].fast > 1:
            fast, slow = self._ends(choice, least, many, found)
        exact = self._made(choice, new)
        place = _exactly(found.place, made, exact)
        usable = self._usable(choice, new)
        return Part(choice, replace(found, place=place), fast, slow, exact, None, stored, usable)

    def _pool_lost(self, choice: Choice) -> str | None:
        """Return a pool of VMs that loses nodes without a substitute, or None without one."""
        if any(type_.storage is not None for type_ in (choice.last, *(type_ for type_, _ in choice.fixed))):
            return None
        used = {vm.pool for name in choice.takes for vm in self.present.state(name).guests}
        return next((name for name in candidate.pools_lost(self.present, choice.kept) if name in used), None)

    def _none(self, choice: Choice, reason: str, bound: int) -> Part:
        return Part(choice, Fewest(None, bound, reason), None, None, None, reason, self._stored(choice), None)

    def _ends(self, choice: Choice, least: int, many: int, found: Fewest) -> tuple[int | None, int | None]:
        """Return the fewest hosts at the fast and at the slow end of the speed of all new types."""
        assert found.hosts is not None
        types = [type_ for type_, _ in choice.fixed] + [choice.last]
        fast = {each.name: self.speeds[each.name].fast for each in types}
        slow = {each.name: self.speeds[each.name].slow for each in types}
        few = self._fewest(self._made(choice, many, fast), choice, least, found.hosts - choice.staying)
        more = choice.last.whole(many + math.ceil(many * (1 / slow[choice.last.name] - 1)) + 1)
        more = min(more, choice.last.at_most)
        lots = self._fewest(self._made(choice, more, slow), choice, found.hosts - choice.staying, more)
        return few.hosts, lots.hosts

    def _fewest(self, made: Made, choice: Choice, least: int, most: int) -> Fewest:
        counts = (choice.staying + new for new in self._counts(choice, least, most))
        return fewest(made, counts, tell=lambda count: self.tell(f"{choice.last.name}: {count} hosts"))

    def _counts(self, choice: Choice, least: int, most: int) -> Iterator[int]:
        """Yield the numbers of new hosts of the last type that can be bought."""
        few = max(0, least, self.limits.failures + 1 - choice.staying, 0 if choice.staying else 1)
        if few == 0:
            yield 0
        count = choice.last.whole(max(few, 1))
        while count <= most:
            yield count
            count += choice.last.sold_in

    def _wanted(self, choice: Choice, many: int) -> Wanted:
        new = [*choice.fixed, *([(choice.last, many)] if many else [])]
        return Wanted(
            choice.cluster,
            choice.takes,
            choice.kept,
            tuple(New(type_, count, self.speeds[type_.name].work_per_cycle) for type_, count in new),
            self._stored(choice),
        )

    def _made(self, choice: Choice, many: int, speeds: Mapping[str, float] | None = None) -> Made:
        wanted = self._wanted(choice, many)
        scenario = candidate.scenario(self.present, wanted, work_per_cycle(self.speeds))
        groups = candidate.host_groups(wanted)
        cluster = scenario.inventory.clusters[0]
        demand = self.demand.of_cluster(scenario, cluster) if self.present.is_measured else None
        limits = self.limits_of(choice.takes)
        return Made.of(scenario, cluster, limits, demand, self.memory, groups, speeds, choice.takes)

    def as_is(self, scenario: Scenario, cluster: Cluster) -> Made:
        """Return the problem of a present cluster."""
        demand = self.demand.of_cluster(scenario, cluster) if self.present.is_measured else None
        hosts = [host for host in scenario.inventory.hosts if host.cluster == cluster.name]
        groups = list(dict.fromkeys(host.group for host in hosts))
        cycles = work_per_cycle(self.speeds)
        speeds = {host.group: cycles[host.group] / host.work_per_cycle for host in hosts}
        return Made.of(scenario, cluster, self.limits_of((cluster.name,)), demand, self.memory, groups, speeds)

    def limits_of(self, clusters: Sequence[str]) -> Limits:
        """Return the limits for VMs of some clusters."""
        return self.present.limits(self.limits, clusters)

    @cached_property
    def mean_part(self) -> float | None:
        """Mean CPU demand of all VMs, as a fraction of the demand that hosts have to carry, or None if unknown."""
        of = self.present
        means = [demand.cpu(of.scenario, state.cluster, state.vms, "mean") for state in of.states]
        if not of.is_measured or None in means:
            return None
        whole = math.fsum(state.cpu.value for state in of.states if state.cpu is not None)
        return math.fsum(each.value for each in means if each is not None) / whole if whole else 0.0

    @cached_property
    def demand(self) -> Demand:
        """Demand of present VMs."""
        return Demand.of(self.present, work_per_cycle(self.speeds))

    def _estimate(self, choice: Choice) -> int:
        """Return an estimate of the number of new hosts, from sums of sizes."""
        host = choice.last.facts
        vms = [vm for name in choice.takes for vm in self.present.state(name).guests]
        grown = 1 + self.present.growth
        own = host.memory_bytes * self.limits.memory - host.hypervisor_memory_bytes
        found = [grown * sum(vm.memory_bytes for vm in vms) / max(own, 1.0)]
        if self.present.is_measured:
            room = self.limits.cpu * host.cores * host.clock_hz / 1e6 * self.speeds[choice.last.name].work_per_cycle
            found.append(grown * sum(self.demand.mhz[vm.name] for vm in vms) / room)
        ratio = self.limits_of(choice.takes).vcpu_ratio
        if ratio is not None:
            found.append(grown * sum(vm.vcpus for vm in vms) / (ratio * host.cores))
        return min(MAX_HOSTS, math.ceil(max(found)))

    def _stored(self, choice: Choice) -> float | None:
        """Return the data that pools of new hosts have to hold, with growth, or None if no type has disks."""
        if choice.last.storage is None or self.stored_bytes is None:
            return None
        here = [vm for name in choice.takes for vm in self.present.state(name).guests]
        part = self.present.share(here)
        return self.stored_bytes * part * (1 + self.present.growth)

    def _usable(self, choice: Choice, new: int) -> float | None:
        if choice.last.storage is None:
            return None
        return choice.last.usable_bytes(max(0, new - max(0, self.limits.failures - 1)))

    def _least_for_storage(self, choice: Choice, stored: float | None) -> int | None:
        """Return the fewest new hosts whose disks hold the data, or None if no number does."""
        if stored is None:
            return 0
        low, high = 0, min(choice.last.at_most, MAX_HOSTS)
        if (self._usable(choice, high) or 0.0) < stored:
            return None
        while high - low > 1:
            middle = (low + high) // 2
            if (self._usable(choice, middle) or 0.0) >= stored:
                high = middle
            else:
                low = middle
        return high


@dataclass(frozen=True)
class Demand:
    """CPU demand of VMs in MHz of the reference host."""

    mhz: Mapping[str, float]
    """Demand by VM name."""
    of_group: Mapping[str, float]
    """Mean demand of a VM of each group, for VMs that growth adds."""
    work: Mapping[str, float]
    """Work per cycle of the host on which each VM was measured, by VM name, and its mean by group."""

    @staticmethod
    def of(present: Present, speeds: Mapping[str, float]) -> Demand:
        """Return the demand of present VMs, whose hosts do the work per cycle of `speeds`."""
        factor = {host.name: speeds[host.group] / host.work_per_cycle for host in present.hosts}
        mhz: dict[str, float] = {}
        work: dict[str, float] = {}
        groups: dict[str, list[str]] = {}
        on = demand.measured_on(present.scenario)
        for state in present.states:
            used = state.cpu.of_vm if state.cpu is not None else {}
            for vm in state.guests:
                mhz[vm.name] = used.get(vm.name, 0.0) * factor[vm.host]
                work[vm.name] = on[vm.name] * factor[vm.host]
                groups.setdefault(vm.group, []).append(vm.name)
        groups |= {name: groups[group] for name, group in present.grown.items()}

        def mean(of: Mapping[str, float]) -> dict[str, float]:
            return {name: math.fsum(of[vm] for vm in vms) / len(vms) for name, vms in groups.items()}

        return Demand(mhz, mean(mhz), mean(work) | work)

    def of_cluster(self, scenario: Scenario, cluster: Cluster) -> dict[str, float]:
        """Return the demand of each VM of a cluster, without storage appliances."""
        return {
            vm.name: self.mhz[vm.name] if vm.name in self.mhz else self.of_group[vm.group]
            for vm in scenario.inventory.vms
            if vm.cluster == cluster.name and not vm.storage_appliance
        }

    def measured_on(self, scenario: Scenario) -> dict[str, float]:
        """Return the work per cycle of the host on which each VM of a candidate was measured."""
        return {vm.name: self.work.get(vm.name, self.work[vm.group]) for vm in scenario.inventory.vms}


def mixes(
    planner: Planner, cluster: str, takes: tuple[str, ...], types: Sequence[HostType], alone: Mapping[str, int]
) -> Iterator[Part]:
    """Yield the fewest hosts of each mix of two types, for each number of hosts of the first.

    `alone` has the number of hosts of each type alone, which bounds the first number.
    """
    for first, last in combinations(types, 2):
        for count in range(first.whole(1), alone.get(first.name, 0), first.sold_in):
            part = planner.part(Choice(cluster, takes, (), ((first, count),), last), ends=False)
            if part.found.hosts is not None and part.added.get(last.name):
                yield part


def _exactly(place: Ints | None, many: Made, exact: Made) -> Ints | None:
    """Return a placement on the first hosts of a problem as a placement of the problem with only these hosts."""
    if place is None:
        return None
    to = np.full(len(many.problem.hosts), -1, np.int64)
    to[many.order[: len(exact.order)]] = exact.order
    found: Ints = to[place]
    return found


def _too_few(choice: Choice, why: str) -> str:
    """Return the reason why no allowed number of hosts is enough, with the limit of the host type if it states one."""
    most = choice.last.at_most
    if most == MAX_HOSTS:
        return why or "no number of hosts is enough"
    return f"no number of hosts up to {most} (at_most) is enough{why and f': {why}'}"


def _size(vm: Vm) -> str:
    return f"{vm.vcpus} vCPUs and {vm.memory_bytes / 2**30:.4g} GiB"
