"""High availability of a cluster: VMs that can power on after a failure, and satisfaction of demand.

The two questions are separate. Power-on depends on reservations alone: on the rule of admission control, and on
unreserved
capacity of each host. A cluster without reservations can power on nearly any VM. Performance depends on demand, which
must fit the limits of the remaining hosts.

Rules of vSphere HA [vSphere Availability, "Admission Control"]: `slots` takes the largest reservations of CPU and
memory as a slot, and counts whole slots of hosts. `percentage` compares the unreserved share of the cluster with the
share to keep free, and is the default since vSphere 6.5. Proxmox HA and Masakari have no admission control.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from hypertwin import _core
from hypertwin.documents import capacity as documents
from hypertwin.documents.failover import Failover
from hypertwin.language import Vm, assumed_admission
from hypertwin.plan.capacity import restart
from hypertwin.plan.capacity.demand import capacity_mhz
from hypertwin.plan.capacity.state import Limited, State
from hypertwin.scenario import Scenario

MIB = 2**20

UNRESERVED_MHZ = 32.0
"""CPU that counts for a VM without a CPU reservation, in MHz."""

NOTHING: Mapping[str, Mapping[str, Any]] = {"failures": {}}
"""Verdict without any checked failure."""


@dataclass(frozen=True)
class Pair:
    """Pair of CPU and memory: the reservable capacity of a host, or the reservations of a VM."""

    mhz: float
    memory: float

    def holds(self, slot: Pair) -> int:
        """Return the number of whole slots in the capacity."""
        return max(0, min(_whole(self.mhz, slot.mhz), _whole(self.memory, slot.memory)))


def _whole(room: float, each: float) -> int:
    return int(room / each + 1e-9) if each else 10**9


@dataclass(frozen=True)
class Slots:
    """Capacity of a cluster in slots."""

    slot: Pair
    of_hosts: Sequence[int]
    """Number of slots of each host, largest first, which is the order of host failures."""
    taken: int

    @staticmethod
    def of(hosts: Sequence[Pair], vms: Sequence[Pair]) -> Slots:
        """Return the slots of hosts. The largest reservations define a slot."""
        slot = Pair(max(vm.mhz for vm in vms), max(vm.memory for vm in vms))
        return Slots(slot, sorted((host.holds(slot) for host in hosts), reverse=True), len(vms))

    def free(self, failures: int) -> int:
        """Return the free slots without the hosts that have the most. It is negative if slots are missing."""
        return sum(self.of_hosts[failures:]) - self.taken

    @property
    def tolerates(self) -> int:
        """Number of host failures tolerated, if the hosts with the most slots fail first."""
        return sum(self.free(failures) >= 0 for failures in range(1, len(self.of_hosts)))


def percentage_tolerates(hosts: Sequence[Pair], vms: Sequence[Pair]) -> int:
    """Return the number of tolerated host failures, largest hosts first.

    A failure is tolerated if the remaining hosts can hold all CPU and memory reservations.
    """

    def tolerated(sizes: Sequence[float], asked: float) -> int:
        left = sorted(sizes, reverse=True)
        return sum(sum(left[failures:]) >= asked for failures in range(1, len(left)))

    return min(
        tolerated([host.mhz for host in hosts], sum(vm.mhz for vm in vms)),
        tolerated([host.memory for host in hosts], sum(vm.memory for vm in vms)),
    )


def of_cluster(state: State, scenario: Scenario, verdict: Failover | None) -> documents.Ha:
    """Return the high availability document of a cluster. `verdict` is the failover verdict."""
    said: Mapping[str, Any] = (scenario.data.get("clusters") or {}).get(state.cluster.name, {}).get("ha") or {}
    policy, failures = said.get("policy"), state.limits.failures
    rule = _rule(said, state)
    of_vm = reserved(state, scenario)
    hosts = _hosts(state, of_vm)
    guests = [of_vm[vm.name] for vm in state.guests]
    slots = Slots.of(hosts, guests) if rule == "slots" and guests else None
    whole = Pair(sum(host.mhz for host in hosts), sum(host.memory for host in hosts))
    free_cpu = _percent(whole.mhz - sum(vm.mhz for vm in guests), whole.mhz)
    free_memory = _percent(whole.memory - sum(vm.memory for vm in guests), whole.memory)
    keeps = said.get("admission_pct", 100 * (said.get("failures") or failures) / len(hosts))
    lost = _never_started(state, of_vm) if state.spare is not None else []
    allowed = state.spare is not None and not lost
    if slots is not None:
        allowed = allowed and slots.free(failures) >= 0
    elif rule == "percentage":
        allowed = allowed and len(hosts) > 1 and min(free_cpu, free_memory) >= keeps
    short_of = _short_of(state)
    codes = {reason["code"] for each in (verdict or NOTHING)["failures"].values() for reason in each["reasons"]}
    performs = state.spare is not None and not short_of and not codes & {"no-host", "no-data", "no-writes"}
    unknown = performs and (state.cpu is None or "not-proven" in codes)
    return {
        "enabled": state.cluster.ha,
        "policy": policy,
        "admission": rule,
        "slot": None if slots is None else {"cpu_mhz": slots.slot.mhz, "memory_mib": slots.slot.memory / MIB},
        "slots": None if slots is None else sum(slots.of_hosts),
        "free_slots": None if slots is None or state.spare is None else slots.free(failures),
        "unreserved_cpu_pct": free_cpu,
        "unreserved_memory_pct": free_memory,
        "keeps_pct": keeps if rule == "percentage" else None,
        "host_failures_tolerated": None
        if verdict is None or verdict["host_failures_tolerated"] is None
        else min(
            verdict["host_failures_tolerated"],
            slots.tolerates if slots is not None else percentage_tolerates(hosts, guests),
        ),
        "can_power_on": allowed,
        "not_powered_on": lost,
        "meets_demand": None if unknown else performs,
        "short_of": short_of,
        "restart_s": restart_times(said) if policy is not None and state.cluster.ha is not False else None,
    }


def _rule(said: Mapping[str, Any], state: State) -> documents.Admission | None:
    """Return the active rule of admission control, or None if it is off, missing or unknown."""
    if not said or said.get("admission") is False or state.cluster.ha is False:
        return None
    if said.get("policy", "fdm") != "fdm" or not all(host.options.admission for host in state.hosts):
        return None
    rule: documents.Admission | None = said.get("admission_policy")
    return rule or assumed_admission(host.hypervisor for host in state.hosts)


def reserved(state: State, scenario: Scenario) -> dict[str, Pair]:
    """Return the resources that the power-on of each VM reserves, by name."""
    return {vm.name: _reserved(scenario, state, vm) for vm in state.vms}


def _reserved(scenario: Scenario, state: State, vm: Vm) -> Pair:
    """Return the resources that the power-on of a VM reserves on its host."""
    entry = scenario.data["vms"][vm.group]
    memory = float(state.reserved_memory(vm))
    host = next(host for host in state.hosts if host.name == vm.host)
    if not host.options.admission:
        return Pair(0.0, memory)
    mhz = _core.frequency_hz(entry["reservation"]) / 1e6 if "reservation" in entry else 0.0
    overhead = _core.memory_overhead(host.hypervisor, vm.memory_bytes, vm.vcpus)
    return Pair(mhz or UNRESERVED_MHZ, memory + overhead)


def _hosts(state: State, reserved: Mapping[str, Pair]) -> list[Pair]:
    """Return the reservable resources of each host, without its hypervisor and its storage appliances."""
    return [
        Pair(
            capacity_mhz(host) - sum(vm.mhz for vm in own),
            host.memory_bytes - state.own[host.name] - sum(vm.memory for vm in own),
        )
        for host in state.hosts
        for own in [[reserved[vm.name] for vm in state.vms if vm.storage_appliance and vm.host == host.name]]
    ]


def _never_started(state: State, reserved: Mapping[str, Pair]) -> list[str]:
    """Return the VMs that cannot power on, for the failure with the most such VMs."""
    if not state.limits.failures:
        return []
    largest = sorted(state.hosts, key=lambda host: -host.memory_bytes)
    found: list[str] = []
    for host in state.hosts:
        failed = [host, *[each for each in largest if each is not host][: state.limits.failures - 1]]
        refused = not_started(state, {each.name for each in failed}, reserved)
        found = max(found, refused, key=len)
    return found


def not_started(state: State, failed: Collection[str], reserved: Mapping[str, Pair]) -> list[str]:
    """Return the VMs of failed hosts for which no other has enough unreserved CPU or memory.

    Each resource is packed by itself, so VMs that fit by each resource can still lack a host.
    """
    waits = state.restarting
    rooms = _hosts(state, reserved)
    found: list[str] = []
    for of in (attrgetter("mhz"), attrgetter("memory")):
        standing = [
            restart.Standing(
                host.name,
                host.threads,
                of(room),
                of(room),
                [restart.Guest(vm.name, vm.vcpus, of(reserved[vm.name])) for vm in waits if vm.host == host.name],
            )
            for host, room in zip(state.hosts, rooms, strict=True)
        ]
        gone = [host for host in standing if host.name in failed]
        left = [host for host in standing if host.name not in failed]
        found += [guest.name for guest in restart.after(gone, left).unplaced if guest.name not in found]
    return found


def _short_of(state: State) -> list[Limited]:
    """Return the resources whose demand exceeds the limit on the remaining hosts.

    Memory is the consumed memory if known, otherwise the configured memory.
    """
    memory: Limited = "memory_consumed" if state.consumed is not None else "memory"
    limits = {"cpu": state.limits.cpu, memory: state.limits.memory}
    if state.limits.vcpu_ratio is not None:
        limits["vcpu_ratio"] = state.limits.vcpu_ratio
    found: list[Limited] = []
    for resource, limit in limits.items():
        degraded = state.degraded(resource)
        if degraded is not None and degraded[0] > limit * degraded[1] * (1 + 1e-9):
            found.append(resource)
    return found


def restart_times(said: Mapping[str, Any]) -> documents.RestartTimes:
    """Return the restart times of the HA policy, as far as known before a simulation."""
    if "detection" in said:
        shortest = _core.duration_s(said["detection"])
        longest = _core.duration_s(said["detection_longest"]) if "detection_longest" in said else shortest
        primary: Sequence[float | None] = (None, None)
    else:
        shortest, longest = _core.detection_s(said["policy"], False)
        primary = _core.detection_s(said["policy"], True)
        if primary == [shortest, longest]:
            primary = (None, None)
    return {
        "detection": shortest,
        "detection_longest": longest,
        "primary": primary[0],
        "primary_longest": primary[1],
        "boot": _core.duration_s(said["boot"]) if "boot" in said else None,
    }


def _percent(part: float, whole: float) -> float:
    return 100 * part / whole if whole else 0.0
