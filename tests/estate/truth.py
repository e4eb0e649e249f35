"""An estate as it is: clusters of hosts with VMs, made from a seed, and what was measured of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

MIB_PER_GIB = 1024
HYPERVISOR_CPU = 0.92
"""Part of a host's measured CPU that is its VMs'."""
HYPERVISOR_MEMORY = 0.02
"""Part of a host's memory that the hypervisor occupies."""
TWIN_GIB = 128
"""Memory of each of the two VMs that fit one gap."""
GAP_GIB = 160
"""Memory that the only such gap has free: room for one of them."""


@dataclass(frozen=True)
class Hardware:
    """A type of host."""

    cpu_model: str
    sockets: int
    cores_per_socket: int
    clock_mhz: int
    memory_gib: int


HARDWARE = (
    Hardware("Intel(R) Xeon(R) Gold 6230 CPU @ 2.10GHz", 2, 20, 2_100, 384),
    Hardware("Intel(R) Xeon(R) Gold 6244 CPU @ 3.60GHz", 2, 16, 3_600, 512),
)
"""Two clocks and two sizes: a figure that takes one host for another is wrong."""


@dataclass(frozen=True)
class Host:
    """A host; all of them have two threads a core."""

    name: str
    cluster: str
    hardware: Hardware
    cpu_pct: float | None
    """CPU that was measured to be used, of cores x clock; None where it was not measured."""
    memory_pct: float | None
    """Memory that was measured to be used; None where it was not."""

    @property
    def cores(self) -> int:
        """Of all sockets."""
        return self.hardware.sockets * self.hardware.cores_per_socket

    @property
    def mhz(self) -> float:
        """Cores x clock."""
        return float(self.cores * self.hardware.clock_mhz)

    @property
    def memory_mib(self) -> int:
        """Of all sockets."""
        return self.hardware.memory_gib * MIB_PER_GIB


@dataclass(frozen=True)
class Vm:
    """A VM, on the host where it really is."""

    name: str
    host: str
    cluster: str
    vcpus: int
    memory_mib: int
    on: bool
    demand_mhz: float | None
    """CPU that it was measured to use; None where it was not measured, or is off."""
    consumed_mib: int | None
    """Memory of its host that it was measured to occupy; None like `demand_mhz`."""
    told_host: str | None
    """How an export calls its host; None where it does not say."""


@dataclass(frozen=True)
class Cluster:
    """A cluster with HA and admission control for one failure, and DRS."""

    name: str
    datacenter: str


@dataclass(frozen=True)
class Estate:
    """All there is."""

    clusters: Sequence[Cluster]
    hosts: Sequence[Host]
    vms: Sequence[Vm]

    @cached_property
    def on(self) -> Sequence[Vm]:
        """The VMs that are on."""
        return [vm for vm in self.vms if vm.on]

    def vms_on(self, host: Host) -> Sequence[Vm]:
        """The VMs that are on there."""
        return [vm for vm in self.on if vm.host == host.name]

    def datacenter(self, cluster: str) -> str:
        """Of a cluster."""
        return next(each.datacenter for each in self.clusters if each.name == cluster)

    @property
    def fill(self) -> float:
        """Memory of VMs that are on, as a part of the hosts' memory."""
        return sum(vm.memory_mib for vm in self.on) / sum(host.memory_mib for host in self.hosts)

    def free_gib(self, host: Host) -> float:
        """Memory of a host that is not configured for a VM that is on."""
        return (host.memory_mib - sum(vm.memory_mib for vm in self.vms_on(host))) / MIB_PER_GIB


def make(
    seed: int = 1,
    *,
    hosts: int = 6,
    vms: int = 60,
    fill: float = 0.6,
    clusters: Sequence[str] = ("Production Cluster",),
    cpu: tuple[float, float] = (5, 45),
    off: float = 0.1,
    measured_hosts: bool = True,
    measured_vms: bool = True,
    affix: str = "{}",
    unknown: float = 0.0,
    twins: bool = False,
    hardware: Sequence[Hardware] = HARDWARE,
) -> Estate:
    """An estate of `hosts` with `vms` that are on and `off` times as many that are not.

    `fill`: memory configured for VMs that are on, as a part of the hosts' memory. `cpu`: from which percentage to which
    hosts are used. `measured_hosts`, `measured_vms`: whether an export has the CPU usage of hosts, the demand of VMs.
    `affix`: how tabs of VMs spell a host that is called `{}`. `unknown`: part of the VMs whose host no export says.
    `twins`: the second host has two VMs of 128 GiB, and of all gaps one is large enough, for one of them.
    """
    draw = random.Random(seed)
    plain = [
        Host(f"esx-{number + 1:02}", clusters[number * len(clusters) // hosts], hardware[number % len(hardware)], 0, 0)
        for number in range(hosts)
    ]
    configured = _memory_of_hosts(plain, fill, twins, draw)
    counts = _shared(vms, configured)
    found: list[Vm] = []
    measured = []
    for host, memory_gib, count in zip(plain, configured, counts, strict=True):
        here = _vms(host, memory_gib, count, twins and host is plain[1], draw)
        here, usage = _measured(host, here, draw.uniform(*cpu), draw)
        measured.append(replace(host, **usage) if measured_hosts else replace(host, cpu_pct=None, memory_pct=None))
        found += here
    for number in range(round(off * vms)):
        host = plain[number % hosts]
        found.append(Vm("", host.name, host.cluster, draw.choice((1, 2, 4)), 4_096, False, None, None, None))
    draw.shuffle(found)
    named = [
        replace(
            vm,
            name=f"{draw.choice(('app', 'db', 'web'))}-{number:04}",
            told_host=None if draw.random() < unknown else affix.format(vm.host),
            **{} if measured_vms else {"demand_mhz": None, "consumed_mib": None},
        )
        for number, vm in enumerate(found)
    ]
    return Estate([Cluster(name, f"dc-{at % 2 + 1}") for at, name in enumerate(clusters)], measured, named)


def in_full(seed: int = 1, **knobs: Any) -> Estate:
    """22 hosts with 654 VMs that have 77 % of all memory; names of hosts have an affix, and no VM was measured.

    Every failure of a host is survived; with `twins` that of the second is not.
    """
    given = {"hosts": 22, "vms": 654, "fill": 0.77, "affix": "siteb{}", "measured_vms": False}
    return make(seed, **{**given, **knobs})


def _memory_of_hosts(hosts: Sequence[Host], fill: float, twins: bool, draw: random.Random) -> list[int]:
    """GiB configured for VMs of each host, together `fill` of all their memory."""
    sizes = [host.hardware.memory_gib for host in hosts]
    parts = [fill * draw.uniform(0.93, 1.07) for _ in hosts]
    wanted = round(fill * sum(sizes))
    if not twins:
        return _shared(wanted, [part * size for part, size in zip(parts, sizes, strict=True)])
    # all but the last host have less free than a twin needs; what is left of the total is spread over them
    least = [size - TWIN_GIB + 1 for size in sizes[:-1]] + [sizes[-1] - GAP_GIB]
    spare = wanted - sum(least)
    if spare < 0 or least[1] < 2 * TWIN_GIB:
        raise ValueError(f"no estate of {len(hosts)} hosts has one gap for two large VMs at a fill of {fill:.0%}")
    extra = _shared(spare, [draw.uniform(0.1, 1) for _ in least[:-1]])
    return [low + more for low, more in zip(least, [*extra, 0], strict=True)]


def _vms(host: Host, memory_gib: int, count: int, twins: bool, draw: random.Random) -> list[Vm]:
    """VMs on a host that have `memory_gib` together."""
    large = [TWIN_GIB] * 2 if twins else []
    weights = [draw.choice((1, 2, 2, 4, 4, 8)) * draw.uniform(0.7, 1.3) for _ in range(count - len(large))]
    rest = memory_gib - sum(large) - len(weights)
    if rest < 0:
        raise ValueError(f"{count} VMs do not share {memory_gib} GiB: less of them, or more fill")
    sizes = [*large, *(1 + more for more in _shared(rest, weights))]
    made = []
    for size in sizes:
        vcpus = min((1, 2, 4, 8, 16), key=lambda vcpus: abs(vcpus * draw.choice((2, 4, 4, 8)) - size))
        made.append(Vm("", host.name, host.cluster, vcpus, size * MIB_PER_GIB, True, 0, 0, None))
    return made


def _measured(host: Host, vms: Sequence[Vm], pct: float, draw: random.Random) -> tuple[list[Vm], dict[str, float]]:
    """VMs with what they use, no more than their vCPUs can, and what that makes of their host, near `pct`."""
    limits = [0.9 * vm.vcpus * host.hardware.clock_mhz for vm in vms]
    weights = [limit * draw.uniform(0.1, 1.0) for limit in limits]
    wanted = HYPERVISOR_CPU * pct / 100 * host.mhz
    demand = [round(min(wanted * weight / sum(weights), limit)) for weight, limit in zip(weights, limits, strict=True)]
    consumed = [round(vm.memory_mib * draw.uniform(0.5, 0.9)) for vm in vms]
    memory = sum(consumed) / host.memory_mib + HYPERVISOR_MEMORY
    usage = {"cpu_pct": 100 * sum(demand) / HYPERVISOR_CPU / host.mhz, "memory_pct": 100 * memory}
    return [
        replace(vm, demand_mhz=mhz, consumed_mib=mib) for vm, mhz, mib in zip(vms, demand, consumed, strict=True)
    ], usage


def _shared(total: int, weights: Sequence[float]) -> list[int]:
    """`total` in whole parts by weight."""
    at, parts, whole = 0.0, [], sum(weights)
    for weight in weights:
        before, at = at, at + weight
        parts.append(round(total * at / whole) - round(total * before / whole))
    return parts
