"""The scenario's language, as the compiled core reads it: members of groups, hypervisors, redundancy, limits.

The core (`crates/cluster`) owns the language; this module only gives its answers types. Whatever needs to know what a
scenario means (which hosts a group has, how much memory a VM, what a version of ESXi can be set to) asks here and reads
no keys or quantities itself. `hypertwin.scenario.Scenario.inventory` has the members of one scenario.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property

from hypertwin import _core


@dataclass(frozen=True)
class Host:
    """A host of a scenario."""

    name: str
    """Its name in the scenario and in reports."""
    group: str
    """The key of `hosts` that it is of."""
    label: str | None
    """Its name in its own system, numbered where its group has several hosts; None where the scenario has none."""
    hypervisor: str
    """Hypervisor and version, such as `esxi-8.0`: a key of `hypervisors`."""
    family: str
    """`esxi` or `linux`."""
    sockets: int
    """Sockets, each one NUMA node."""
    cores_per_socket: int
    threads_per_core: int
    cores: int
    """Physical cores."""
    threads: int
    """Logical CPUs."""
    clock_hz: int
    """Nominal clock."""
    memory_bytes: int
    """Memory of all NUMA nodes."""
    memory_per_node_bytes: int


@dataclass(frozen=True)
class Vm:
    """A VM of a scenario."""

    name: str
    """Its name in the scenario and in reports."""
    group: str
    """The key of `vms` that it is of."""
    label: str | None
    """Its name in its own system, numbered where its group has several VMs; None where the scenario has none."""
    host: str
    """Name of the host that it is placed on."""
    vcpus: int
    memory_bytes: int
    storage_appliance: bool
    """Whether it serves storage to its host."""
    array: str | None
    """The key of `arrays` that has its virtual disks."""
    pool: str | None
    """The key of `storage` that has its virtual disks."""
    vdisks: int
    """Virtual disks; they count only with an array or a pool."""


@dataclass(frozen=True)
class Redundancy:
    """What a scheme of redundancy asks for and survives."""

    scheme: str
    """As scenarios write it, such as `ec-3+2`."""
    is_erasure_code: bool
    """Whether it keeps fragments, and not copies."""
    width: int
    """Copies or fragments of one piece of data, each in a failure domain of its own."""
    needed: int
    """Copies or fragments from which the data can be read."""
    survives: int
    """Copies or fragments that may be lost without loss of data."""
    minimum: int
    """Copies or fragments that must be there for a write."""


@dataclass(frozen=True)
class Pool:
    """A pool of distributed storage of a scenario."""

    name: str
    group: str
    """The key of `hosts` that its nodes are of."""
    hosts: tuple[str, ...]
    """Names of its nodes."""
    vms_on_nodes: bool
    """Whether VMs that use it may be on its nodes."""
    redundancy: Redundancy


@dataclass(frozen=True)
class Inventory:
    """Every host, VM and pool of a scenario: groups in order of name, members in order of number."""

    hosts: tuple[Host, ...]
    vms: tuple[Vm, ...]
    pools: tuple[Pool, ...]

    @cached_property
    def host(self) -> Mapping[str, Host]:
        """Hosts by name."""
        return {host.name: host for host in self.hosts}

    @cached_property
    def vm(self) -> Mapping[str, Vm]:
        """VMs by name."""
        return {vm.name: vm for vm in self.vms}

    @cached_property
    def pool(self) -> Mapping[str, Pool]:
        """Pools by name."""
        return {pool.name: pool for pool in self.pools}


@dataclass(frozen=True)
class Hypervisor:
    """A hypervisor that scenarios know, and what can be set on it."""

    name: str
    """As scenarios write it, such as `esxi-7.0u2`."""
    family: str
    """`esxi` or `linux`."""
    family_title: str
    """The family in messages: `ESXi` or `Linux`."""
    version: tuple[int, int, int]
    """Major and minor version and update, to compare versions of one family by."""
    reservations: bool
    """Whether VMs can have CPU reserved."""
    scheduler: frozenset[str]
    """Keys of `hosts.NAME.scheduler` that it has."""
    numa: frozenset[str]
    """Keys of `vms.NAME.numa` that it has."""
    vm: frozenset[str]
    """Keys of `vms.NAME` that it has and others do not."""


@dataclass(frozen=True)
class Limits:
    """What a scenario can have at most, and some defaults. Sizes are in bytes, clocks in Hz."""

    description: int
    """Characters of `description`."""
    host_groups: int
    vm_groups: int
    rules: int
    """Placement rules."""
    rule_names: int
    """Names of VMs or hosts in one placement rule."""
    hosts: int
    """Hosts in all."""
    logical_cpus: int
    """Logical CPUs of all hosts."""
    vcpus: int
    """vCPUs of all VMs."""
    sockets: int
    """Sockets of one host."""
    cores_per_socket: int
    least_clock_hz: int
    clock_hz: int
    least_memory_bytes: int
    """Least memory of a VM, or of a host's NUMA node."""
    memory_bytes: int
    """Most memory of a VM, or of a host's NUMA node."""
    vcpus_per_vm: int
    controllers: int
    """Virtual storage controllers of one VM."""
    vdisks_per_controller: int
    default_vdisks_per_controller: int
    default_lun_depth: int
    """Commands outstanding on one LUN where the scenario does not say."""
    dsnro: int
    """Most commands of one VM outstanding on a shared LUN."""
    default_numa_vcpu_min: int
    """vCPUs from which ESXi shows a VM several NUMA nodes, by default."""


def inventory(scenario_json: str) -> Inventory:
    """The members of a scenario in its canonical form. Raises `_core.ScenarioMistakes`."""
    found = json.loads(_core.inventory(scenario_json))
    return Inventory(
        hosts=tuple(Host(**host) for host in found["hosts"]),
        vms=tuple(Vm(**vm) for vm in found["vms"]),
        pools=tuple(
            Pool(**{**pool, "hosts": tuple(pool["hosts"]), "redundancy": Redundancy(**pool["redundancy"])})
            for pool in found["pools"]
        ),
    )


def member_names(group: str, count: int) -> list[str]:
    """Names of the members of a group of `count` hosts or VMs, in order of number."""
    return _core.member_names(group, count)


@cache
def hypervisors() -> Mapping[str, Hypervisor]:
    """Every hypervisor that scenarios know, by name: ESXi first, each family from old to new."""
    return {
        entry["name"]: Hypervisor(
            name=entry["name"],
            family=entry["family"],
            family_title=entry["family_title"],
            version=tuple(entry["version"]),
            reservations=entry["reservations"],
            scheduler=frozenset(entry["scheduler"]),
            numa=frozenset(entry["numa"]),
            vm=frozenset(entry["vm"]),
        )
        for entry in json.loads(_core.hypervisors())
    }


@cache
def redundancy(scheme: str) -> Redundancy:
    """What a scheme such as `replicas-3:2` or `ec-3+2` asks for and survives. Raises ValueError, which says why."""
    return Redundancy(**json.loads(_core.redundancy(scheme)))


@cache
def limits() -> Limits:
    """What validation allows."""
    return Limits(**json.loads(_core.limits()))
