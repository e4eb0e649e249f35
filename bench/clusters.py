"""Clusters for planners: seeded, of four sizes, as scenarios and as problems.

A cluster has VMs from 1 GiB up to one that fills a fifth to three tenths of a host, groups that are to be apart or
together, VMs that may be on a few hosts only, and a place where some hosts are above their limits and some rules
broken. `beside` instead has new VMs without a host, and a place of the others that tolerates the failure of any host.

`memory` and `cpu` say which part of what VMs may use they use, at limits of 90 % of the memory and 80 % of the CPU.

    .venv/bin/python bench/clusters.py 34 805 1 > cluster.yaml             # hosts, VMs, seed
    .venv/bin/python bench/clusters.py 34 805 1 --mixed --memory 0.9 > full.yaml
"""

# ruff: noqa: T201  printing is what this program does

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import yaml

from hypertwin.language import Host, Vm
from hypertwin.members import MeasuredVm
from hypertwin.plan.placement.problem import Problem, Rule

SIZES = ((16, 400), (34, 805), (64, 2_000), (128, 5_000))
"""Hosts and VMs of the clusters that promises are about."""
SEEDS = (1, 2, 3)
FILLS = ((0.7, 0.66), (0.9, 0.86), (0.95, 0.91))
"""Memory and CPU in use, as parts of what may be."""
CPU_LIMIT, MEMORY_LIMIT = 0.8, 0.9
NEW_VMS = 0.02
"""New VMs of `beside`, as a part of all."""
NOWHERE = -1
GIB = 2**30


class HostMade(NamedTuple):
    """A host of two sockets."""

    name: str
    cores: int
    mhz: int
    threads_per_core: int
    memory_gib: int

    @property
    def room(self) -> tuple[float, float]:
        """MHz and GiB that VMs may use."""
        return CPU_LIMIT * (self.cores * self.mhz), MEMORY_LIMIT * self.memory_gib

    def holds(self, vm: VmMade) -> bool:
        """Whether a VM can be there at all."""
        return vm.vcpus <= self.cores * self.threads_per_core and vm.memory_gib <= self.memory_gib


class VmMade(NamedTuple):
    """A VM of which the CPU demand was measured."""

    name: str
    vcpus: int
    mhz: int
    memory_gib: int

    @property
    def size(self) -> tuple[float, float]:
        """MHz and GiB."""
        return float(self.mhz), float(self.memory_gib)


class RuleMade(NamedTuple):
    """A placement rule, by positions."""

    name: str
    kind: str
    vms: tuple[int, ...]
    hosts: tuple[int, ...] = ()
    mandatory: bool = False


TYPES = (HostMade("", 32, 2_600, 2, 512), HostMade("", 48, 2_400, 2, 768), HostMade("", 20, 2_900, 1, 384))
"""Kinds of hosts; identical hosts are of the first. The widest VMs do not fit on the last."""


@dataclass(frozen=True)
class Made:
    """A cluster."""

    name: str
    hosts: tuple[HostMade, ...]
    vms: tuple[VmMade, ...]
    rules: tuple[RuleMade, ...]
    at: tuple[int, ...]
    """Per VM: where it is; NOWHERE if it is new."""

    def scenario(self) -> dict[str, Any]:
        """The cluster as a scenario."""
        rules = []
        for rule in self.rules:
            entry: dict[str, Any] = {
                "name": rule.name,
                "kind": rule.kind,
                "vms": [self.vms[vm].name for vm in rule.vms],
            }
            if rule.hosts:
                entry["hosts"] = [self.hosts[host].name for host in rule.hosts]
            rules.append({**entry, "mandatory": True} if rule.mandatory else entry)
        hosts = {
            host.name: {
                "sockets": 2,
                "cores_per_socket": host.cores // 2,
                "threads_per_core": host.threads_per_core,
                "clock": f"{host.mhz} MHz",
                "memory_per_node": f"{host.memory_gib // 2} GiB",
                "hypervisor_memory": "0 B",
                "hypervisor": "esxi-8.0",
            }
            for host in self.hosts
        }
        vms = {
            vm.name: {
                "host": self.hosts[at].name,
                "vcpus": vm.vcpus,
                "memory": f"{vm.memory_gib} GiB",
                "workload": "steady",
                "measured": {"over": "30 d", "cpu_mhz": vm.mhz, "cpu_p95_mhz": vm.mhz},
            }
            for vm, at in zip(self.vms, self.at, strict=True)
        }
        steady = {"arrivals": {"closed": {"population": 1, "think": {"mean": "1 s"}}}, "cpu": {"mean": "1 ms"}}
        return {"name": self.name, "hosts": hosts, "vms": vms, "rules": rules, "workloads": {"steady": steady}}

    def problem(self) -> Problem:
        """The same as `placement.problem` of the scenario gives, without the way through it."""
        rooms = np.array([[host.room[0], MEMORY_LIMIT * (host.memory_gib * GIB)] for host in self.hosts])
        capacity = np.array([[float(host.cores * host.mhz), float(host.memory_gib * GIB)] for host in self.hosts])
        return Problem(
            cluster="default",
            hosts=tuple(_host(host) for host in self.hosts),
            vms=tuple(_vm(vm, self.hosts, at) for vm, at in zip(self.vms, self.at, strict=True)),
            resources=("cpu", "memory"),
            sizes=np.array([[float(vm.mhz), float(vm.memory_gib * GIB)] for vm in self.vms]),
            capacity=capacity,
            rooms=rooms,
            failover=rooms.copy(),
            usable={"cpu": CPU_LIMIT, "memory": MEMORY_LIMIT},
            fits=np.array([[host.holds(vm) for host in self.hosts] for vm in self.vms], bool),
            at=np.array(self.at, np.int64),
            restarts=np.ones(len(self.vms), bool),
            rules=tuple(Rule(rule.name, rule.kind, *rule[2:]) for rule in self.rules),  # type: ignore[arg-type]
        )


def made(hosts: int, vms: int, seed: int, *, mixed: bool = False, memory: float = 0.72, cpu: float = 0.68) -> Made:
    """A cluster of so many hosts and VMs; the same for the same seed, wherever and whenever it is made."""
    draw = random.Random(f"{hosts} {vms} {seed} {mixed}")
    digits = len(str(hosts))
    kinds = [TYPES[number % 3 if mixed else 0] for number in range(hosts)]
    named = tuple(kind._replace(name=f"esx-{number:0{digits}}") for number, kind in enumerate(kinds, 1))
    sized = _vms(draw, named, vms, memory, cpu)
    made = Made(f"{hosts}-hosts-{vms}-vms", named, sized, _rules(draw, named, sized), (0,) * vms)
    return replace(made, at=_start(draw, made))


def _vms(draw: random.Random, hosts: tuple[HostMade, ...], count: int, memory: float, cpu: float) -> tuple[VmMade, ...]:
    """VMs that together use these parts of the rooms."""
    mhz, gib = (part * sum(host.room[of] for host in hosts) for of, part in enumerate((cpu, memory)))
    typical = min((host for host in hosts if host.threads_per_core == 2), key=lambda host: host.memory_gib)
    large = max(1, min(len(hosts) // 2, count // 16))
    parts = [draw.uniform(0.2, 0.3)] + [draw.uniform(0.1, 0.3) for _ in range(large - 1)]
    parts = [min(part, parts[0]) for part in parts]
    drawn = [(draw.choice((12, 16, 24)), part * typical.room[1]) for part in parts]
    for _ in range(count - large):
        vcpus = draw.choice((1, 2, 2, 2, 4, 4, 8))
        drawn.append((vcpus, vcpus * draw.choice((2, 2, 4, 4, 8))))
    wanted = [vcpus * math.exp(draw.gauss(0, 0.7)) for vcpus, _ in drawn]
    scale = (gib - sum(size for _, size in drawn[:large])) / sum(size for _, size in drawn[large:])
    sizes = [round(size) for _, size in drawn[:large]] + [max(1, round(size * scale)) for _, size in drawn[large:]]
    most = 0.25 * typical.room[0]
    speed = mhz / sum(wanted)
    for _ in range(20):  # what the largest may not want, the others do
        over = sum(min(most, part * speed) for part in wanted)
        speed *= mhz / over
    order = list(range(count))
    draw.shuffle(order)
    digits = len(str(count))
    return tuple(
        VmMade(f"vm-{number:0{digits}}", drawn[each][0], max(1, round(min(most, wanted[each] * speed))), sizes[each])
        for number, each in enumerate(order, 1)
    )


def _rules(draw: random.Random, hosts: tuple[HostMade, ...], vms: tuple[VmMade, ...]) -> tuple[RuleMade, ...]:
    """Groups apart and together, and VMs that may be on some hosts only; a VM is in one rule at most."""
    largest = max(vm.memory_gib for vm in vms)
    free = [number for number, vm in enumerate(vms) if vm.memory_gib < largest / 2 and vm.vcpus <= 8]
    draw.shuffle(free)
    found: list[RuleMade] = []

    def some(many: int) -> tuple[int, ...]:
        taken = tuple(sorted(free[:many]))
        del free[:many]
        return taken

    def rule(kind: str, of: int, where: int, *, mandatory: bool) -> None:
        on = tuple(sorted(draw.sample(range(len(hosts)), where)))
        found.append(RuleMade(f"{kind}-{len(found) + 1}", kind, some(of), on, mandatory))

    for group in range(max(1, len(vms) // 40)):
        rule("keep-apart", draw.randint(2, min(5, len(hosts) - 2)), 0, mandatory=group % 2 == 0)
    for _ in range(max(1, len(vms) // 100)):
        rule("keep-together", 2, 0, mandatory=False)
    rule("run-on", max(2, len(vms) // 40), max(2, len(hosts) // 4), mandatory=True)
    for _ in range(max(1, len(vms) // 200)):
        rule("run-on", 1, 1, mandatory=False)
    rule("not-on", max(1, len(vms) // 50), max(1, len(hosts) // 8), mandatory=False)
    return tuple(found)


class _Filling:
    """A place in the making."""

    def __init__(self, made: Made) -> None:
        """Start with empty hosts."""
        self.made = made
        self.rooms = [host.room for host in made.hosts]
        self.used = [[0.0, 0.0] for _ in self.rooms]
        self.at = [NOWHERE] * len(made.vms)
        self.allowed = [[host.holds(vm) for host in made.hosts] for vm in made.vms]
        for rule in made.rules:
            for vm in rule.vms if rule.hosts else ():
                for host in range(len(made.hosts)):
                    self.allowed[vm][host] &= (host in rule.hosts) == (rule.kind == "run-on")
        self.apart = {vm: rule.vms for rule in made.rules if rule.kind == "keep-apart" for vm in rule.vms}
        self.together = {vm: rule.vms for rule in made.rules if rule.kind == "keep-together" for vm in rule.vms}

    def full(self, host: int) -> float:
        """Use of a host's most used resource, as a part of its room."""
        return max(self.used[host][of] / self.rooms[host][of] for of in (0, 1))

    def move(self, vm: int, host: int) -> None:
        """Take a VM from where it is to a host."""
        for sign, where in ((-1, self.at[vm]), (1, host)):
            if where != NOWHERE:
                for of in (0, 1):
                    self.used[where][of] += sign * self.made.vms[vm].size[of]
        self.at[vm] = host

    def spread(self, vms: Iterable[int], noise: Callable[[], float] = lambda: 0.0) -> None:
        """Put VMs, the largest first, each on the emptiest host that rules allow."""

        def fullness(host: int, vm: int) -> float:
            size = self.made.vms[vm].size
            return max((self.used[host][of] + size[of]) / self.rooms[host][of] for of in (0, 1))

        for vm in sorted(vms, key=lambda vm: (-self.made.vms[vm].memory_gib, vm)):
            there = {self.at[other] for other in self.apart.get(vm, ())}
            with_ = {self.at[other] for other in self.together.get(vm, ()) if self.at[other] != NOWHERE}
            open_ = [host for host in range(len(self.rooms)) if self.allowed[vm][host] and host not in there]
            self.move(vm, min(with_ or open_, key=lambda host, vm=vm: fullness(host, vm) + noise()))


def _start(draw: random.Random, made: Made) -> tuple[int, ...]:
    """Where VMs are: spread unevenly, some hosts above their limits, some rules broken."""
    here = _Filling(made)
    hosts = range(len(made.hosts))
    free = 1 - sum(vm.memory_gib for vm in made.vms) / sum(room[1] for room in here.rooms)
    noise = min(0.15, 0.5 * free)
    here.spread(range(len(made.vms)), lambda: noise * draw.random())
    for host in draw.sample(hosts, max(1, round(len(hosts) / 10))):
        full = draw.uniform(1.02, 1.1)
        for vm in draw.sample(range(len(made.vms)), len(made.vms)):
            if here.full(host) > full:
                break
            small = made.vms[vm].memory_gib < 0.1 * here.rooms[host][1]
            if here.allowed[vm][host] and small and vm not in here.together:
                here.move(vm, host)
    for rule in [rule for rule in made.rules if rule.kind == "keep-apart"][:3]:
        here.move(rule.vms[1], here.at[rule.vms[0]])
    one, other = next(rule for rule in made.rules if rule.kind == "keep-together").vms
    here.move(one, next(host for host in hosts if host != here.at[other] and here.allowed[one][host]))
    return tuple(here.at)


def beside(made: Made, seed: int, spare: int) -> Made:
    """The cluster with some of its VMs as new ones, and the others where all rules hold.

    So many hosts have room for the largest VM, where mandatory rules keep VMs if possible. With two to four such
    hosts the failure of any host is tolerated, unless the cluster is nearly full.
    """
    ruled = {vm for rule in made.rules for vm in rule.vms}
    free = [vm for vm in range(len(made.vms)) if vm not in ruled]
    new = set(random.Random(f"new {made.name} {seed}").sample(free, max(1, round(NEW_VMS * len(made.vms)))))
    here = _Filling(made)
    named = {host for rule in made.rules if rule.kind == "run-on" and rule.mandatory for host in rule.hosts}
    wide = [host for host, kind in enumerate(made.hosts) if kind.threads_per_core == 2]
    for host in sorted(wide, key=lambda host: host not in named)[:spare]:
        here.used[host] = [float(max(vm.size[of] for vm in made.vms)) for of in (0, 1)]
    here.spread(vm for vm in range(len(made.vms)) if vm not in new)
    return replace(made, at=tuple(here.at))


def _host(host: HostMade) -> Host:
    """As the core tells of it."""
    return Host(
        name=host.name,
        group=host.name,
        cluster="default",
        hypervisor="esxi-8.0",
        family="esxi",
        sockets=2,
        cores_per_socket=host.cores // 2,
        nodes=2,
        cores_per_node=host.cores // 2,
        threads_per_core=host.threads_per_core,
        cores=host.cores,
        threads=host.cores * host.threads_per_core,
        clock_hz=host.mhz * 1_000_000,
        busy_clock_hz=host.mhz * 1_000_000,
        work_per_cycle=1.0,
        memory_bytes=host.memory_gib * GIB,
        memory_per_node_bytes=host.memory_gib * GIB // 2,
        hypervisor_memory_bytes=0,
        storage_memory_bytes=0,
        processors=2,
    )


def _vm(vm: VmMade, hosts: tuple[HostMade, ...], at: int) -> Vm:
    """As the core tells of it."""
    return Vm(
        name=vm.name,
        group=vm.name,
        host="" if at == NOWHERE else hosts[at].name,
        cluster="default",
        host_is_given=True,
        host_is_guess=False,
        vcpus=vm.vcpus,
        memory_bytes=vm.memory_gib * GIB,
        memory_touched_bytes=vm.memory_gib * GIB,
        memory_reservation_bytes=0,
        reservation_hz=0,
        shares=1_000.0 * vm.vcpus,
        cpu_hot_add=False,
        has_affinity=False,
        restart_priority="medium",
        stays_on_host=False,
        live_migration=True,
        host_groups=tuple(host.name for host in hosts if host.holds(vm)),
        storage_appliance=False,
        products=(),
        vdisks=0,
        policies={},
        measured=MeasuredVm(over_s=30 * 86_400.0, cpu_mhz=float(vm.mhz), cpu_p95_mhz=float(vm.mhz)),
    )


def main() -> None:
    """Print a cluster as a scenario."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("hosts", type=int)
    parser.add_argument("vms", type=int)
    parser.add_argument("seed", type=int)
    parser.add_argument("--mixed", action="store_true", help="three kinds of hosts")
    parser.add_argument("--memory", type=float, default=0.72, help="part of the memory that may be used")
    parser.add_argument("--cpu", type=float, default=0.68, help="part of the CPU that may be used")
    given = parser.parse_args()
    cluster = made(given.hosts, given.vms, given.seed, mixed=given.mixed, memory=given.memory, cpu=given.cpu)
    print(yaml.safe_dump(cluster.scenario(), sort_keys=False), end="")


if __name__ == "__main__":
    main()
