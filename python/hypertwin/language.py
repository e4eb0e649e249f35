"""The scenario's language, as the compiled core reads it: members of groups, hypervisors, redundancy, limits, schema.

The core (`crates/cluster`) owns the language; this module only gives its answers types. Whatever needs to know what a
scenario means (which hosts a group has, how much memory a VM, what a version of ESXi can be set to) asks here and reads
no keys or quantities itself. `hypertwin.scenario.Scenario.inventory` has the members of one scenario.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from hypertwin import _core


@dataclass(frozen=True)
class MeasuredHost:
    """Measurements of a host; None where missing."""

    at: str | None
    """When."""
    over_s: float | None
    """Seconds that the CPU figures cover; None for one moment."""
    counter: str | None
    """Counter of the CPU figures."""
    cpu_usage_pct: float | None
    """CPU used, in per cent of cores times nominal clock: the mean."""
    cpu_p95_pct: float | None
    """Its 95th percentile."""
    cpu_peak_pct: float | None
    """Its peak."""
    memory_usage_pct: float | None
    """Memory used, in per cent."""
    ballooned_bytes: int | None
    """Memory taken back by ballooning."""
    swapped_bytes: int | None
    """Memory swapped out."""


@dataclass(frozen=True)
class MeasuredVm:
    """Measurements of a VM; None where missing."""

    at: str | None
    """When."""
    over_s: float | None
    """Seconds that the CPU figures cover; None for one moment."""
    counter: str | None
    """Counter of the CPU figures."""
    cpu_mhz: float | None
    """CPU demand: the mean."""
    cpu_p95_mhz: float | None
    """Its 95th percentile."""
    cpu_peak_mhz: float | None
    """Its peak."""
    ready_pct: float | None
    """Ready time, in per cent of each vCPU."""
    memory_consumed_bytes: int | None
    """Memory of the host that it occupies."""
    memory_active_bytes: int | None
    """Memory touched lately."""
    ballooned_bytes: int | None
    """Memory taken back by ballooning."""
    swapped_bytes: int | None
    """Memory swapped out."""
    storage_provisioned_bytes: int | None
    """Provisioned size of its virtual disks."""
    storage_used_bytes: int | None
    """Its used space on datastores."""
    storage_in_guest_bytes: int | None
    """Space used in its file systems, as its guest reports."""
    snapshots_bytes: int | None
    """Space of its snapshots."""
    snapshot_count: int | None
    """How many snapshots it has."""
    oldest_snapshot: str | None
    """When the oldest was made."""


@dataclass(frozen=True)
class MeasuredCluster:
    """Measurements of a cluster's VMs together, added up at the same moments; None where missing."""

    at: str | None
    """When."""
    over_s: float | None
    """Seconds that the CPU figures cover; None for one moment."""
    counter: str | None
    """Counter of the CPU figures."""
    cpu_mhz: float | None
    """CPU demand: the mean."""
    cpu_p95_mhz: float | None
    """Its 95th percentile."""
    cpu_peak_mhz: float | None
    """Its peak."""
    memory_consumed_bytes: int | None
    """Memory of hosts that VMs occupy: the mean."""
    memory_consumed_peak_bytes: int | None
    """Its peak."""


@dataclass(frozen=True)
class Cluster:
    """A cluster: hosts between which VMs may move."""

    name: str
    """Its name in the scenario and in reports."""
    label: str | None
    """Its name in its own system."""
    datacenter: str | None
    """The datacenter that it is in."""
    ha: bool | None
    """True if VMs of a failed host are restarted; None where it is not known, like all that follows."""
    admission_control: bool | None
    """True if it has admission control."""
    failures: int | None
    """Failures of hosts that admission control keeps room for."""
    evc: str | None
    """Generation of CPU that its hosts show to VMs."""
    measured: MeasuredCluster
    """Measurements of its VMs together."""


@dataclass(frozen=True)
class Host:
    """A host of a scenario."""

    name: str
    """Its name in the scenario and in reports."""
    group: str
    """The key of `hosts` that it is of."""
    label: str | None
    """Its name in its own system, numbered where its group has several hosts; None where the scenario has none."""
    cluster: str
    """Name of its cluster: a key of `Inventory.cluster`."""
    hypervisor: str
    """Hypervisor and version, such as `esxi-8.0`: a key of `hypervisors`."""
    family: str
    """`esxi` or `linux`."""
    sockets: int
    """Sockets."""
    cores_per_socket: int
    nodes: int
    """NUMA nodes."""
    cores_per_node: int
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
    hypervisor_memory_bytes: int
    """Memory that the hypervisor and its services occupy, so that VMs cannot have it."""
    storage_memory_bytes: int
    """Part of it from published figures of its pools' software, where the scenario gives none."""
    processors: int
    """Physical processors, as licences count them."""
    cpu_model: str | None
    hyper_threading_available: bool | None
    """True if the processor has hyper-threading, on or off."""
    power_policy: str | None
    """`high-performance`, `balanced`, `low-power`, `custom` or `not-managed`."""
    evc: str | None
    """Generation of CPU that it shows to VMs."""
    evc_most: str | None
    """The newest that it could show."""
    measured: MeasuredHost


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
    cluster: str
    """Name of that host's cluster."""
    host_is_given: bool
    """True if the scenario names its host."""
    host_is_guess: bool
    """True if that name is a guess of whoever wrote the scenario: its own system does not say where the VM is."""
    vcpus: int
    memory_bytes: int
    memory_touched_bytes: int
    """Memory that it has touched, and so occupies on its host."""
    memory_reservation_bytes: int
    """Memory that it is sure to keep, without what its hypervisor takes for it."""
    reservation_hz: int
    """CPU that it is sure to get."""
    restart_priority: str
    """`highest`, `high`, `medium`, `low`, `lowest` or `disabled`."""
    stays_on_host: bool
    """True if it can be nowhere but on its host: logical CPUs of its own, disks inside it, or a storage appliance."""
    host_groups: tuple[str, ...]
    """Groups of hosts of its cluster on which it can be at all: width, memory, hypervisor, storage."""
    storage_appliance: bool
    """True if it serves storage to its host."""
    array: str | None
    """The key of `arrays` that has its virtual disks."""
    pool: str | None
    """The key of `storage` that has its virtual disks."""
    vdisks: int
    """Virtual disks; they count only with an array or a pool."""
    policies: Mapping[str, int]
    """How many of those on its pool are kept by each policy; by the pool's own redundancy where there is none."""
    measured: MeasuredVm

    def can_be_on(self, host: Host) -> bool:
        """True if it can be on a host at all, room and rules aside."""
        return host.group in self.host_groups and (host.name == self.host or not self.stays_on_host)

    @property
    def called(self) -> str:
        """Its name in its own system, or else in the scenario: what people call it."""
        return self.label or self.name


@dataclass(frozen=True)
class PoweredOff:
    """A VM that is off, or a template."""

    name: str
    """Its key."""
    label: str | None
    """Its name in its own system."""
    cluster: str | None
    """Its cluster, if that is known."""
    template: bool
    """True if it is a template."""
    vcpus: int
    """Virtual CPUs."""
    memory_bytes: int
    """Memory."""
    storage_provisioned_bytes: int | None
    """Provisioned size of its virtual disks."""
    storage_used_bytes: int | None
    """Its used space."""


@dataclass(frozen=True)
class Datastore:
    """Storage that holds virtual disks, as its own system counts it."""

    name: str
    """Its key."""
    label: str | None
    """Its name in its own system."""
    clusters: tuple[str, ...]
    """The clusters that use it."""
    hosts: int | None
    """How many hosts use it."""
    kind: str | None
    """Its kind."""
    capacity_bytes: int
    """Its size."""
    free_bytes: int | None
    """How much of it is free."""
    provisioned_bytes: int | None
    """Provisioned size of its virtual disks."""


@dataclass(frozen=True)
class Redundancy:
    """Requirements and tolerated failures of a redundancy scheme."""

    scheme: str
    """As scenarios write it, such as `ec-3+2`."""
    is_erasure_code: bool
    """True if it keeps fragments, and not copies."""
    width: int
    """Copies or fragments of one piece of data, each in a failure domain of its own."""
    needed: int
    """Copies or fragments from which the data can be read."""
    failures_tolerated: int
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
    """True if VMs that use it may be on its nodes."""
    redundancy: Redundancy
    policies: Mapping[str, Redundancy]
    """Redundancy of its policies."""

    @property
    def width(self) -> int:
        """The most copies or fragments of one piece of data."""
        return max(each.width for each in (self.redundancy, *self.policies.values()))


@dataclass(frozen=True)
class Rule:
    """A placement rule."""

    name: str
    """Its name in its own system."""
    kind: str
    """`keep-together`, `keep-apart`, `run-on` or `not-on`."""
    vms: tuple[str, ...]
    """Names of the VMs that it is about."""
    hosts: tuple[str, ...]
    """Names of the hosts that it is about, of `run-on` and `not-on`."""
    mandatory: bool
    """True if the system would rather not start a VM than break it."""


@dataclass(frozen=True)
class Inventory:
    """Every cluster, host, VM and pool of a scenario: groups in order of name, members in order of number."""

    clusters: tuple[Cluster, ...]
    """Clusters that have a host, in order of name."""
    hosts: tuple[Host, ...]
    vms: tuple[Vm, ...]
    pools: tuple[Pool, ...]
    powered_off: tuple[PoweredOff, ...]
    datastores: tuple[Datastore, ...]
    rules: tuple[Rule, ...]

    @cached_property
    def cluster(self) -> Mapping[str, Cluster]:
        """Clusters by name."""
        return {cluster.name: cluster for cluster in self.clusters}

    @cached_property
    def cluster_labels(self) -> Mapping[str, str | None]:
        """Names that clusters have in their own system, by name."""
        return {cluster.name: cluster.label for cluster in self.clusters}

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
    """`esxi`, `linux`, or `none` of a host without hypervisor."""
    family_title: str
    """The family in messages: `ESXi`, `Linux` or `a host without hypervisor`."""
    version: tuple[int, int, int]
    """Major and minor version and update, to compare versions of one family by."""
    reservations: bool
    """True if VMs can have CPU reserved."""
    scheduler: frozenset[str]
    """Keys of `hosts.NAME.scheduler` that it has."""
    numa: frozenset[str]
    """Keys of `vms.NAME.numa` that it has."""
    vm: frozenset[str]
    """Keys of `vms.NAME` that it has and others do not."""


@dataclass(frozen=True)
class Limits:
    """Maxima of a scenario, and some defaults. Sizes are in bytes, clocks in Hz."""

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
    nodes_per_socket: int
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


def called(name: str, known: Mapping[str, str | None]) -> list[str]:
    """The keys that people mean by a name: the key itself, else the keys or labels that are the same in any case.

    `known` has labels by key. A key that fits hides the labels that do.
    """
    if name in known:
        return [name]
    folded = name.strip().casefold()
    keys = [key for key in known if key.casefold() == folded]
    return keys or [key for key, label in known.items() if label is not None and label.casefold() == folded]


def inventory(scenario_json: str) -> Inventory:
    """The members of a scenario in its canonical form. Raises `_core.ScenarioMistakes`."""
    found = json.loads(_core.inventory(scenario_json))
    said = json.loads(scenario_json).get("clusters", {}) if '"ha":' in scenario_json else {}
    return Inventory(
        clusters=tuple(
            Cluster(
                **{
                    **cluster,
                    "ha": _has_ha(cluster["ha"], said.get(cluster["name"], {}).get("ha", {})),
                    "measured": MeasuredCluster(**cluster["measured"]),
                }
            )
            for cluster in found["clusters"]
        ),
        hosts=tuple(Host(**{**host, "measured": MeasuredHost(**host["measured"])}) for host in found["hosts"]),
        vms=tuple(
            Vm(**{**vm, "measured": MeasuredVm(**vm["measured"]), "host_groups": tuple(vm["host_groups"])})
            for vm in found["vms"]
        ),
        pools=tuple(
            Pool(
                **{
                    **pool,
                    "hosts": tuple(pool["hosts"]),
                    "redundancy": Redundancy(**pool["redundancy"]),
                    "policies": {name: Redundancy(**kept) for name, kept in pool["policies"].items()},
                }
            )
            for pool in found["pools"]
        ),
        powered_off=tuple(PoweredOff(**vm) for vm in found["powered_off"]),
        datastores=tuple(Datastore(**{**store, "clusters": tuple(store["clusters"])}) for store in found["datastores"]),
        rules=tuple(
            Rule(**{**rule, "vms": tuple(rule["vms"]), "hosts": tuple(rule["hosts"])}) for rule in found["rules"]
        ),
    )


def _has_ha(enabled: bool | None, said: Mapping[str, object]) -> bool | None:
    """True if VMs of a failed host are restarted: as set, else if an HA type is named."""
    return True if enabled is None and said.get("policy") is not None else enabled


def member_names(group: str, count: int) -> list[str]:
    """Names of the members of a group of `count` hosts or VMs, in order of number."""
    return _core.member_names(group, count)


@cache
def hypervisors() -> Mapping[str, Hypervisor]:
    """Every hypervisor that scenarios know, by name: ESXi first, each family from old to new; `none` is the last."""
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
    """Requirements and tolerated failures of a scheme such as `replicas-3:2` or `ec-3+2`. Raises ValueError."""
    return Redundancy(**json.loads(_core.redundancy(scheme)))


@cache
def limits() -> Limits:
    """Limits of validation."""
    return Limits(**json.loads(_core.limits()))


def schema_node(path: str) -> Mapping[str, Any] | None:
    """The schema of the place that a path names; None if no such place exists."""
    node: Mapping[str, Any] = _resolved(_schema())
    for key in path.split("."):
        if key in node.get("properties", {}):
            inner = node["properties"][key]
        elif isinstance(node.get("additionalProperties"), dict) and key:
            inner = node["additionalProperties"]
        elif "items" in node and key.isdecimal():
            inner = node["items"]
        else:
            return None
        node = _resolved(inner)
    return node


@cache
def _schema() -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(_core.schema_json())
    return schema


def _resolved(node: Mapping[str, Any]) -> dict[str, Any]:
    """A schema with `$ref` resolved; its own keywords win."""
    return {key: value for part in reversed(list(_chain(node))) for key, value in part.items()}


def _chain(node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield node
    if "$ref" in node:
        yield from _chain(_schema()["$defs"][node["$ref"].rsplit("/", 1)[-1]])
