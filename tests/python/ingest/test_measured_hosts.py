"""A simulated import is as busy and as full as its hosts were measured to be, whatever of it the file says."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from tests.conftest import SOAK

from hypertwin import scenario
from hypertwin.ingest import to_scenario
from hypertwin.ingest.inventory import Demand, Host, Inventory, Vm
from hypertwin.runs import simulation

GIB = 2**30
USAGE = (0.02, 0.1, 0.25, 0.4, 0.55, 0.7, 0.8, 0.86, 0.92, 0.98)
SHAPES = ((2, 8, 2.5e9), (2, 20, 2.1e9), (1, 16, 3.0e9), (2, 12, 3.6e9))
"""Sockets, cores of each, clock."""
MOST_POINTS = {("esxi", 1): 2.0, ("esxi", 2): 2.0, ("linux", 1): 3.5, ("linux", 2): 9.0}
"""Of CPU, on every host, by family and threads of a core; of memory next to nothing. On Linux threads that wake look at
few CPUs of a busy host, so they share cores, and wait, more than the import's division of work supposes."""


@dataclass(frozen=True)
class Estate:
    """Hosts and VMs that belong together, with all that could be measured."""

    hosts: Sequence[Host]
    vms: Sequence[Vm]

    def changed(self, **change: Any) -> Estate:
        """With the same change to all hosts."""
        return replace(self, hosts=[replace(host, **change) for host in self.hosts])


def _estate(seed: int, system: str, threads: int, usage: Sequence[float] = USAGE) -> Estate:
    draw = random.Random(seed)
    hosts, vms = [], []
    for number, used in enumerate(usage):
        sockets, per_socket, clock = SHAPES[(number + seed) % len(SHAPES)]
        cores, memory = sockets * per_socket, draw.choice((256, 512)) * GIB
        name = f"host{number:02}.example.com"
        sizes: list[int] = []
        while sum(sizes) < draw.uniform(2.0, 5.0) * cores:
            sizes.append(draw.choice((1, 2, 2, 4, 4, 8)))
        weights = [size * draw.uniform(0.2, 1.0) for size in sizes]
        demand = _poured(used * cores * clock / 1e6, weights, [0.9 * size * clock / 1e6 for size in sizes])
        full = draw.uniform(0.2, 0.95) * memory
        configured = [size * draw.uniform(2, 6) for size in sizes]
        factor = full * draw.uniform(1.1, 1.8) / sum(configured)
        consumed = _poured(0.97 * full, configured, [each * factor for each in configured])
        hosts.append(
            Host(
                *(name, sockets, per_socket, threads, memory, clock, system),
                **{
                    "cluster": f"cluster {number % 2}",
                    "cpu_usage_pct": 100 * used,
                    "memory_usage_pct": 100 * full / memory,
                },
            )
        )
        for index, size in enumerate(sizes):
            vms.append(
                Vm(
                    *(
                        f"vm{number:02}-{index:03}",
                        size,
                        round(configured[index] * factor),
                        name,
                        f"cluster {number % 2}",
                    ),
                    **{"demand": Demand(demand[index]), "memory_consumed_bytes": round(consumed[index])},
                )
            )
    return Estate(hosts, vms)


def _poured(total: float, weights: Sequence[float], most: Sequence[float]) -> list[float]:
    """`total` by weight, none over its most."""
    low, high = 0.0, 1e9
    for _ in range(200):
        level = (low + high) / 2
        filled = [min(level * weight, limit) for weight, limit in zip(weights, most, strict=True)]
        low, high = (low, level) if sum(filled) > total else (level, high)
    return filled


def _without(estate: Estate, **absent: Any) -> Estate:
    return replace(estate, vms=[replace(vm, **absent) for vm in estate.vms])


def _simulated(estate: Estate) -> dict[str, Any]:
    """The hosts of the simulated import, by the name that the inventory has for them."""
    made, _ = to_scenario.to_scenario(Inventory("export.xlsx", "rvtools", estate.hosts, estate.vms))
    loaded = scenario.loads(to_scenario.to_yaml(made))
    point = simulation.simulate(loaded, duration="60 s", warmup="3 s", replications=1, jobs=1).to_dict()["points"][0]
    names = {host.name: host.label or host.name for host in loaded.inventory.hosts}
    assert len(loaded.inventory.vms) == len(estate.vms)
    found: dict[str, Any] = {names[key]: dict(figures) for key, figures in point["hosts"].items()}
    for host in loaded.inventory.hosts:
        touched = sum(vm.memory_touched_bytes for vm in loaded.inventory.vms if vm.host == host.name)
        found[names[host.name]]["memory_usage"] = 100 * (touched + host.hypervisor_memory_bytes) / host.memory_bytes
    return found


def _allowed(system: str, threads: int) -> float:
    return MOST_POINTS["linux" if system.startswith("Linux") else "esxi", threads]


SYSTEMS = [("VMware ESXi 7.0.3", 1), ("VMware ESXi 8.0.3", 2), ("Linux 6.12.1", 2), ("Linux 6.12.1", 1)]
FORMS = {
    "both": lambda estate: estate,
    "VM demand only": lambda estate: estate.changed(cpu_usage_pct=None, memory_usage_pct=None),
    "host usage only": lambda estate: _without(estate, demand=None, memory_consumed_bytes=None),
    "VMs 10 points less": lambda estate: _demanding(estate, -10),
    "VMs 10 points more": lambda estate: _demanding(estate, 10),
    "a fifth of it by VMs": lambda estate: replace(
        estate, vms=[replace(vm, demand=Demand(vm.demand.cpu_mhz / 5)) for vm in estate.vms if vm.demand is not None]
    ),
    "9 in 10 without host": lambda estate: _homeless(estate, 9),
    "9 in 10 without host or demand": lambda estate: _homeless(
        _without(estate, demand=None, memory_consumed_bytes=None)
    ),
    "half of the VMs with demand": lambda estate: replace(
        estate,
        vms=[vm if n % 2 else replace(vm, demand=None, memory_consumed_bytes=None) for n, vm in enumerate(estate.vms)],
    ),
}


def _demanding(estate: Estate, points: float) -> Estate:
    """VMs want so many points of their host more or less than it was measured to use."""
    usage = {host.name: host.cpu_usage_pct or 0 for host in estate.hosts}
    return replace(
        estate,
        vms=[
            replace(vm, demand=Demand(vm.demand.cpu_mhz * max(usage[vm.host] + points, 0) / usage[vm.host]))
            for vm in estate.vms
            if vm.demand is not None and vm.host is not None
        ],
    )


def _homeless(estate: Estate, of_ten: int = 9) -> Estate:
    return replace(
        estate, vms=[vm if n % 10 >= of_ten else replace(vm, host="10.1.2.3") for n, vm in enumerate(estate.vms)]
    )


@pytest.mark.parametrize(("system", "threads"), SYSTEMS)
def test_a_host_is_as_busy_as_measured_if_one_vm_causes_its_hypervisors_work(system: str, threads: int) -> None:
    host = Host("host.example.com", 2, 10, threads, 128 * GIB, 2.5e9, system, cpu_usage_pct=55.0)
    busy = Vm("busy", 12, 16 * GIB, host.name, demand=Demand(6_000.0))
    idle = [replace(busy, name=f"idle{n}", vcpus=2, demand=Demand(50.0)) for n in range(4)]
    found = _simulated(Estate([host], [busy, *idle]))
    assert found[host.name]["usage_pct"] == pytest.approx(55, abs=_allowed(system, threads))


@pytest.mark.parametrize(
    ("form", "system", "threads"),
    [
        (form, *system)
        for (number, form), (of_system, system) in itertools.product(enumerate(FORMS), enumerate(SYSTEMS))
        if SOAK > 1 or (number + of_system) % 2 == 0  # each form on ESXi and on Linux, with one thread and with two
    ],
)
def test_hosts_are_as_busy_and_as_full_as_measured(form: str, system: str, threads: int) -> None:
    estate = _estate(1 + threads % 2, system, threads)
    changed = FORMS[form](estate)
    simulated = _simulated(changed)
    hosts = {host.name: host for host in estate.hosts}
    cpu = {name: round(found["usage_pct"] - (hosts[name].cpu_usage_pct or 0), 2) for name, found in simulated.items()}
    allowed = _allowed(system, threads)
    assert max(map(abs, cpu.values())) <= allowed, cpu
    if all(host.memory_usage_pct is not None for host in changed.hosts):
        full = {
            name: round(found["memory_usage"] - (hosts[name].memory_usage_pct or 0), 2)
            for name, found in simulated.items()
        }
        assert max(map(abs, full.values())) <= 0.1, full
