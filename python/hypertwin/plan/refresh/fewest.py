"""The fewest hosts of a candidate that carry the demand within limits and any failures, with a bound and its reason.

New hosts of a type are equal, so the first `n` of them stand for any `n`. A number of hosts is enough if a placement is
found that tolerates every failure. A number is too small if a bound proves that no placement exists. In between,
nothing is proven.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hypertwin.members import Cluster
from hypertwin.plan.capacity.demand import capacity_mhz, own_cpu
from hypertwin.plan.capacity.limits import Limits
from hypertwin.plan.placement import balance, bounds, place, policies
from hypertwin.plan.placement.failures import Failures, failures_of
from hypertwin.plan.placement.problem import Floats, Ints, Memory, Problem, problem
from hypertwin.plan.placement.task import Task
from hypertwin.scenario import Scenario

KEPT_POLICY = "storage-first"
"""The only policy of plans that applies: CPU that storage uses on hosts of a pool."""


@dataclass(frozen=True)
class Made:
    """Planning problem of a candidate. Its first hosts stay, the others are new and equal."""

    scenario: Scenario
    problem: Problem
    failures: Failures
    order: Ints
    """Positions of hosts: those that stay, then new hosts of the first type, then of the second."""
    takes: tuple[str, ...]
    """Present clusters whose VMs it has."""

    @staticmethod
    def of(
        scenario: Scenario,
        cluster: Cluster,
        limits: Limits,
        demand: Mapping[str, float] | None,
        memory: Memory,
        groups: Sequence[str],
        speeds: Mapping[str, float] | None = None,
        takes: Sequence[str] = (),
    ) -> Made:
        """Return the problem of a cluster of a scenario, with host groups in order of their choice.

        `demand` is the CPU demand of VMs by name, in MHz of a host with `work_per_cycle` 1, or None if unknown.
        `speeds` has factors on the CPU of host groups. `takes` has the present clusters whose VMs it has, if others.
        """
        of = problem(scenario, cluster, limits, memory=memory)
        made = _with_cpu(of, limits, demand, speeds or {}, own_cpu(scenario, of.hosts))
        off = [name for name in policies.POLICIES if name != KEPT_POLICY]
        made, _ = policies.apply(made, scenario, {}, off)
        failures = failures_of(scenario, made, min(limits.failures, len(made.hosts)))
        rank = {name: number for number, name in enumerate(groups)}
        order = sorted(range(len(made.hosts)), key=lambda each: (rank[made.hosts[each].group], each))
        return Made(scenario, made, failures, np.array(order, np.int64), tuple(takes) or (cluster.name,))

    @property
    def positions(self) -> tuple[tuple[int, ...], ...]:
        """Positions of the hosts of each failure."""
        return tuple(failed for _, failed in self.failures)

    def task(self, hosts: int | None = None) -> Task:
        """Return the task on the first hosts only (default: all)."""
        kept = None if hosts is None else self.order[:hosts]
        return Task(self.problem, self.positions, kept=kept)


@dataclass(frozen=True)
class Fewest:
    """Fewest hosts of a cluster."""

    hosts: int | None
    """Number of hosts, with those that stay, or None if no number was enough."""
    bound: int
    """Number of hosts below which no placement exists (proven)."""
    why: str
    """Reason why one host fewer is not enough, in words, or an empty string if one host fewer was not possible."""
    place: Ints | None = None
    """Host of each VM."""

    @property
    def proven(self) -> bool:
        """True if fewer hosts are proven to be too few."""
        return self.hosts == self.bound


def fewest(made: Made, counts: Iterable[int], *, tell: Callable[[int], None] | None = None) -> Fewest:
    """Return the fewest hosts among ascending counts of hosts of a problem."""
    bound, why, is_possible = 0, "", False
    for count in counts:
        bound = bound if is_possible else count
        if tell is not None:
            tell(count)
        task = made.task(count)
        reason = bounds.impossible(task)
        if reason is not None and not is_possible:
            why = reason
            continue
        is_possible = True
        where = None if reason is not None else placed(made, count)
        if where is not None:
            return Fewest(count, bound, why, where)
        if not why:
            why = "no placement was found"
    return Fewest(None, bound if is_possible else bound + 1, why)


def placed(made: Made, count: int) -> Ints | None:
    """Return hosts of all VMs on the first `count` hosts that tolerate every failure, or None if none was found."""
    where = place.on_hosts(made.task(), made.order[:count])
    if where is None:
        task = made.task(count)
        if balance.is_small(task):
            where = balance.exact(task, "any")[0]
    return where


def _with_cpu(
    made: Problem,
    limits: Limits,
    demand: Mapping[str, float] | None,
    speeds: Mapping[str, float],
    beside: Mapping[str, float],
) -> Problem:
    """Return the problem with this CPU demand, instead of the demand that its scenario states.

    `beside` has the CPU of the hypervisor per CPU of its VMs, by host.
    """
    more = np.array([1 + beside[host.name] for host in made.hosts], float)
    fixed = np.zeros(len(made.hosts))  # by storage appliances
    if "cpu" in made.resources:
        at = made.resources.index("cpu")
        fixed = np.maximum(0.0, limits.cpu * made.capacity[:, at] - made.rooms[:, at]) / more
    rest = [each for each, name in enumerate(made.resources) if name != "cpu"]
    names = tuple(made.resources[each] for each in rest)
    columns: dict[str, Floats] = {
        key: getattr(made, key)[:, rest] for key in ("sizes", "capacity", "rooms", "failover")
    }
    if demand is not None:
        speed = np.array([speeds.get(host.group, 1.0) for host in made.hosts], float)
        work = speed * np.array([host.work_per_cycle for host in made.hosts], float)
        mhz = [demand[vm.name] for vm in made.vms]
        whole = work * np.array([capacity_mhz(host) for host in made.hosts], float) / more
        room = np.maximum(0.0, limits.cpu * whole - fixed * speed)
        of_vms: Sequence[Floats] = (np.array(mhz, float), whole, room, room)
        for (key, column), first in zip(columns.items(), of_vms, strict=True):
            columns[key] = np.column_stack([first, column])
        names = ("cpu", *names)
    return replace(
        made,
        resources=names,
        not_known=() if demand is not None else ("cpu",),
        sizes=columns["sizes"],
        capacity=columns["capacity"],
        rooms=columns["rooms"],
        failover=columns["failover"],
    )
