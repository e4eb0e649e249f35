"""The present clusters: their VMs, the demand that new hosts have to carry, and the growth to plan for."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from itertools import count

import numpy as np

from hypertwin.documents.capacity import Basis
from hypertwin.errors import fail
from hypertwin.language import Host, Vm
from hypertwin.members import Cluster
from hypertwin.plan.capacity.limits import Limits
from hypertwin.plan.capacity.state import State
from hypertwin.scenario import Scenario

OLD_DAYS = 90
"""Age of a measurement in days from which the answer says how old it is."""
MAX_GROWTH = 10.0
"""Maximum growth of demand, as a fraction of the present demand."""
DIGITS, EXACT = 12, 1e-9
"""Decimal digits of growth that count, and growth that is none."""

_GROWTH = re.compile(r"\s*([0-9]{1,4}(?:\.[0-9]{1,6})?)\s*%\s*(/\s*year|per year)?\s*")


def growth(text: str, years: int) -> float:
    """Return growth in total, as a fraction, from `20%` in total or `5%/year` compounded. Raises ScenarioError."""
    found = _GROWTH.fullmatch(text)
    whole = math.nan
    if found is not None:
        part = float(found[1]) / 100
        whole = (1 + part) ** years - 1 if found[2] else part
    if not 0 <= whole <= MAX_GROWTH:
        allowed = f"0% to {100 * MAX_GROWTH:.0f}% in total, such as 20% or 5%/year"
        fail("bad-quantity", "growth", text, allowed, "write 20% for growth in total, 5%/year for compound growth")
    return whole


@dataclass(frozen=True)
class Present:
    """Clusters to replace."""

    scenario: Scenario
    states: tuple[State, ...]
    """One state per cluster, with limits and demand."""
    growth: float
    """Growth of demand to plan for, as a fraction."""

    @staticmethod
    def of(scenario: Scenario, clusters: Sequence[Cluster], limits: Limits, growth: float) -> Present:
        """Return the clusters as they are. Raises ScenarioError without any cluster."""
        states = tuple(State.of(scenario, each, limits) for each in clusters)
        if not states:
            allowed, hint = "VMs that are on, which new hosts have to carry", "import VMs, or add some"
            fail("out-of-range", "vms", "no VM", allowed, hint, scenario.path or "")
        return Present(scenario, states, growth)

    def state(self, cluster: str) -> State:
        """Return the state of a cluster."""
        return next(each for each in self.states if each.cluster.name == cluster)

    @property
    def hosts(self) -> list[Host]:
        """All hosts of the clusters."""
        return [host for state in self.states for host in state.hosts]

    @property
    def vms(self) -> list[Vm]:
        """All VMs that new hosts have to carry. Storage appliances stay on their hosts, and go with them."""
        return [vm for state in self.states for vm in state.guests]

    @cached_property
    def reference(self) -> Host:
        """Host of the type with the most cores. Work per cycle is relative to its processor."""
        cores: dict[str, int] = {}
        for host in self.hosts:
            cores[host.group] = cores.get(host.group, 0) + host.cores
        most = max(cores, key=lambda group: (cores[group], group))
        return next(host for host in self.hosts if host.group == most)

    @property
    def is_measured(self) -> bool:
        """True if the CPU demand of every cluster is known."""
        return all(state.cpu is not None for state in self.states)

    @property
    def bases(self) -> list[tuple[str, Basis]]:
        """Basis of the CPU demand of each cluster."""
        return [(state.cluster.name, state.cpu.basis) for state in self.states if state.cpu is not None]

    def age_days(self, today: date) -> int | None:
        """Return the age in days of the oldest measurement of demand, or None if its date is unknown."""
        dates = [basis["at"] for _, basis in self.bases]
        known = [date.fromisoformat(at[:10]) for at in dates if at is not None]
        return max(((today - each).days for each in known), default=None)

    @cached_property
    def copies(self) -> Mapping[str, int]:
        """Number of additional VMs like those of each group, for the growth of each cluster."""
        return Counter(vm.group for state in self.states for vm in self._copied(state))

    @cached_property
    def grown(self) -> Mapping[str, str]:
        """Present group of the VMs of each group that growth adds, by the name of the new group."""
        taken = set(self.scenario.data["vms"])
        names = (name for number in count(1) if (name := f"grown-{number}") not in taken)
        return dict(zip(names, self.copies, strict=False))

    @cached_property
    def grown_like(self) -> Mapping[str, Vm]:
        """A present VM that the VMs of each group are like that growth adds, by the name of the new group."""
        first = {vm.group: vm for vm in reversed(self.vms)}
        return {name: first[group] for name, group in self.grown.items()}

    def _copied(self, state: State) -> Iterator[Vm]:
        """Yield VMs until their copies are at least the growth in number, vCPUs, memory, CPU demand and used storage.

        VMs with the same guest operating system and products need the same licences. The next VM is of the kind whose
        part of copies is smallest, so that licences grow like the VMs. Of these VMs, it is the one that keeps the
        largest of these growths smallest, so that all grow alike. The order does not depend on the growth to plan for:
        more growth only adds copies.
        """
        used = state.cpu.of_vm if state.cpu is not None else {}
        vms = state.guests
        rows = [
            (1, vm.vcpus, vm.memory_bytes, used.get(vm.name, 0.0), vm.measured.storage_used_bytes or 0) for vm in vms
        ]
        sizes = np.array(rows, float).reshape(len(vms), 5)
        parts = sizes[:, sizes.any(axis=0)]
        parts /= parts.sum(axis=0)
        order = np.argsort(-parts.sum(axis=1), kind="stable")  # of equals, the largest VM
        parts = parts[order]
        licences = [f"{vm.guest_os}|{sorted(vm.products)}" for vm in vms]
        kind = np.unique(licences, return_inverse=True)[1][order]
        of_kind = np.bincount(kind)
        copied = np.zeros(len(of_kind))
        times = math.floor(self.growth)
        for _ in range(times):
            yield from vms
        grown = np.zeros(parts.shape[1])
        while vms and grown.min() < self.growth - times - EXACT:
            due = np.round((copied + 0.5) / of_kind, DIGITS)[kind]
            largest = np.round(parts + grown, DIGITS).max(axis=1)
            at = int(np.where(due == due.min(), largest, math.inf).argmin())
            grown = grown + parts[at]
            copied[kind[at]] += 1
            parts[at] = math.inf
            yield vms[order[at]]

    def own_cpu(self, clusters: Sequence[str]) -> float:
        """Return the CPU that hypervisors of some clusters use beside their VMs, per CPU of these VMs."""
        states = [self.state(name) for name in clusters]
        of_vms = [(state.cpu.value, state.usual_own_cpu) for state in states if state.cpu is not None]
        whole = math.fsum(mhz for mhz, _ in of_vms)
        return math.fsum(mhz * own for mhz, own in of_vms) / whole if whole else 0.0

    def share(self, vms: Sequence[Vm]) -> float:
        """Return the part of the data of all VMs that some VMs have, by their used storage, else by memory."""
        whole = self.vms
        used = [vm.measured.storage_used_bytes for vm in whole]
        known = None not in used and sum(filter(None, used)) > 0
        weight = (lambda vm: float(vm.measured.storage_used_bytes or 0)) if known else lambda vm: float(vm.memory_bytes)
        total = sum(map(weight, whole))
        return sum(map(weight, vms)) / total if total else 0.0

    def limits(self, limits: Limits, clusters: Sequence[str]) -> Limits:
        """Return the limits for VMs of some clusters. Without measured demand, they keep their vCPUs per core."""
        if self.is_measured or limits.vcpu_ratio is not None:
            return limits
        return replace(limits, vcpu_ratio=max(self._vcpu_ratio(each, limits.failures) for each in clusters))

    def _vcpu_ratio(self, cluster: str, failures: int) -> float:
        """Return the present vCPUs per core of a cluster after failures of its largest hosts; one host always stays.

        The smallest host then has a whole number of vCPUs, because its VMs have.
        """
        state = self.state(cluster)
        cores = sorted(host.cores for host in state.hosts)
        ratio = sum(vm.vcpus for vm in state.guests) / sum(cores[: max(len(cores) - failures, 1)])
        return math.ceil(ratio * cores[0] - EXACT) / cores[0]
