"""The scenario language, as the compiled core parses it: members of groups, hypervisors, redundancy, limits, schema.

The core (`crates/cluster`) owns the language; this module adds types to its results. Code that needs the meaning of a
scenario calls this module, and parses no keys or quantities itself. Examples are the hosts of a group, the memory of a
VM, or the options of an ESXi version. `hypertwin.scenario.Scenario.inventory` has the members of one scenario.
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
    """Time of the measurement."""
    over_s: float | None
    """Seconds covered by the CPU figures; None for a single sample."""
    counter: str | None
    """Counter of the CPU figures."""
    cpu_usage_pct: float | None
    """CPU used, in per cent of cores times nominal clock: the mean."""
    cpu_p95_pct: float | None
    """95th percentile of CPU used."""
    cpu_peak_pct: float | None
    """Peak of CPU used."""
    memory_usage_pct: float | None
    """Memory used, in per cent."""
    ballooned_bytes: int | None
    """Memory reclaimed by ballooning."""
    swapped_bytes: int | None
    """Memory swapped out."""


@dataclass(frozen=True)
class MeasuredVm:
    """Measurements of a VM; None where missing."""

    at: str | None
    """Time of the measurement."""
    over_s: float | None
    """Seconds covered by the CPU figures; None for a single sample."""
    counter: str | None
    """Counter of the CPU figures."""
    cpu_mhz: float | None
    """CPU demand: the mean."""
    cpu_p95_mhz: float | None
    """95th percentile of CPU demand."""
    cpu_peak_mhz: float | None
    """Peak CPU demand."""
    ready_pct: float | None
    """Ready time, in per cent of each vCPU."""
    memory_consumed_bytes: int | None
    """Consumed host memory."""
    memory_active_bytes: int | None
    """Recently used memory."""
    ballooned_bytes: int | None
    """Memory reclaimed by ballooning."""
    swapped_bytes: int | None
    """Memory swapped out."""
    storage_provisioned_bytes: int | None
    """Provisioned size of its virtual disks."""
    storage_used_bytes: int | None
    """Used space on datastores."""
    storage_in_guest_bytes: int | None
    """Space used in its file systems, as its guest reports."""
    snapshots_bytes: int | None
    """Space of its snapshots."""
    snapshot_count: int | None
    """Number of snapshots."""
    oldest_snapshot: str | None
    """Creation time of its oldest snapshot."""


@dataclass(frozen=True)
class MeasuredCluster:
    """Measurements of a cluster's VMs together, summed at the same times; None where missing."""

    at: str | None
    """Time of the measurement."""
    over_s: float | None
    """Seconds covered by the CPU figures; None for a single sample."""
    counter: str | None
    """Counter of the CPU figures."""
    cpu_mhz: float | None
    """CPU demand: the mean."""
    cpu_p95_mhz: float | None
    """95th percentile of CPU demand."""
    cpu_peak_mhz: float | None
    """Peak CPU demand."""
    memory_consumed_bytes: int | None
    """Host memory consumed by VMs: the mean."""
    memory_consumed_peak_bytes: int | None
    """Peak of host memory consumed by VMs."""


@dataclass(frozen=True)
class Cluster:
    """A cluster: hosts between which VMs can move."""

    name: str
    """Name in the scenario and in reports."""
    label: str | None
    """Name in its own system."""
    datacenter: str | None
    """Datacenter."""
    ha: bool | None
    """True if HA restarts VMs of a failed host; None if unknown. In the fields below, None also means unknown."""
    admission_control: bool | None
    """True if it has admission control."""
    failures: int | None
    """Host failures that admission control reserves capacity for."""
    evc: str | None
    """EVC mode: CPU generation that its hosts present to VMs."""
    measured: MeasuredCluster
    """Measurements of its VMs together."""


@dataclass(frozen=True)
class Host:
    """A host of a scenario."""

    name: str
    """Name in the scenario and in reports."""
    group: str
    """Key in `hosts`."""
    label: str | None
    """Name in its own system, numbered if its group has several hosts; None without a label in the scenario."""
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
    """Memory that the hypervisor and its services occupy, and VMs cannot use."""
    storage_memory_bytes: int
    """Part of that memory from published figures of its pools' software, if the scenario gives none."""
    processors: int
    """Physical processors for licensing."""
    cpu_model: str | None
    hyper_threading_available: bool | None
    """True if the processor has hyper-threading, on or off."""
    power_policy: str | None
    """`high-performance`, `balanced`, `low-power`, `custom` or `not-managed`."""
    evc: str | None
    """EVC mode: CPU generation that it presents to VMs."""
    evc_most: str | None
    """Newest EVC mode that it supports."""
    measured: MeasuredHost


@dataclass(frozen=True)
class Vm:
    """A VM of a scenario."""

    name: str
    """Name in the scenario and in reports."""
    group: str
    """Key in `vms`."""
    label: str | None
    """Name in its own system, numbered if its group has several VMs; None without a label in the scenario."""
    host: str
    """Name of its host."""
    cluster: str
    """Name of that host's cluster."""
    host_is_given: bool
    """True if the scenario names its host."""
    host_is_guess: bool
    """True if the scenario's host name is a guess, because its own system does not name a host."""
    vcpus: int
    memory_bytes: int
    memory_touched_bytes: int
    """Memory that it has touched, and so consumes on its host."""
    memory_reservation_bytes: int
    """Reserved memory, without the hypervisor's overhead."""
    reservation_hz: int
    """Reserved CPU."""
    restart_priority: str
    """`highest`, `high`, `medium`, `low`, `lowest` or `disabled`."""
    stays_on_host: bool
    """True if it can only run on its host: CPU affinity, local disks, or a storage appliance."""
    host_groups: tuple[str, ...]
    """Groups of hosts of its cluster that can run it, by vCPUs, memory, hypervisor and storage."""
    storage_appliance: bool
    """True if it serves storage to its host."""
    array: str | None
    """Key of its array in `arrays`."""
    pool: str | None
    """Key of its pool in `storage`."""
    vdisks: int
    """Virtual disks; they count only with an array or a pool."""
    policies: Mapping[str, int]
    """Number of its virtual disks in the pool, by policy; disks without a policy have the pool's own redundancy."""
    measured: MeasuredVm

    def can_be_on(self, host: Host) -> bool:
        """True if it can run on a host, apart from capacity and rules."""
        return host.group in self.host_groups and (host.name == self.host or not self.stays_on_host)

    @property
    def called(self) -> str:
        """Display name: the name in its own system, else in the scenario."""
        return self.label or self.name


@dataclass(frozen=True)
class PoweredOff:
    """A powered-off VM, or a template."""

    name: str
    """Key."""
    label: str | None
    """Name in its own system."""
    cluster: str | None
    """Cluster, if known."""
    template: bool
    """True if it is a template."""
    vcpus: int
    """Virtual CPUs."""
    memory_bytes: int
    """Memory."""
    storage_provisioned_bytes: int | None
    """Provisioned size of its virtual disks."""
    storage_used_bytes: int | None
    """Used space."""


@dataclass(frozen=True)
class Datastore:
    """A datastore with virtual disks, as its own system reports it."""

    name: str
    """Key."""
    label: str | None
    """Name in its own system."""
    clusters: tuple[str, ...]
    """The clusters that use it."""
    hosts: int | None
    """Number of hosts that use it."""
    kind: str | None
    """Kind of datastore."""
    capacity_bytes: int
    """Capacity."""
    free_bytes: int | None
    """Free capacity."""
    provisioned_bytes: int | None
    """Provisioned size of its virtual disks."""


@dataclass(frozen=True)
class Redundancy:
    """Requirements and tolerated failures of a redundancy scheme."""

    scheme: str
    """Name of the scheme in scenarios, such as `ec-3+2`."""
    is_erasure_code: bool
    """True for fragments (erasure coding), false for replicas."""
    width: int
    """Replicas or fragments of each piece of data, each in a separate failure domain."""
    needed: int
    """Replicas or fragments needed to read the data."""
    failures_tolerated: int
    """Replicas or fragments that can be lost without data loss."""
    minimum: int
    """Replicas or fragments that must be present for a write."""


@dataclass(frozen=True)
class Pool:
    """A pool of distributed storage of a scenario."""

    name: str
    group: str
    """Key in `hosts` of its nodes."""
    hosts: tuple[str, ...]
    """Names of its nodes."""
    vms_on_nodes: bool
    """True if VMs that use it can run on its nodes."""
    redundancy: Redundancy
    policies: Mapping[str, Redundancy]
    """Redundancy of its policies."""

    @property
    def width(self) -> int:
        """Maximum replicas or fragments of one piece of data."""
        return max(each.width for each in (self.redundancy, *self.policies.values()))


@dataclass(frozen=True)
class Rule:
    """A placement rule."""

    name: str
    """Name in its own system."""
    kind: str
    """`keep-together`, `keep-apart`, `run-on` or `not-on`."""
    vms: tuple[str, ...]
    """Names of its VMs."""
    hosts: tuple[str, ...]
    """Names of its hosts, for `run-on` and `not-on`."""
    mandatory: bool
    """True for a must rule: the system does not start a VM rather than violate it."""


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
        """Names of clusters in their own system, by name."""
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
    """A hypervisor in scenarios, with its settings."""

    name: str
    """Name in scenarios, such as `esxi-7.0u2`."""
    family: str
    """`esxi`, `linux`, or `none` for a host without hypervisor."""
    family_title: str
    """The family in messages: `ESXi`, `Linux` or `a host without hypervisor`."""
    version: tuple[int, int, int]
    """Major version, minor version and update, for comparisons within a family."""
    reservations: bool
    """True if VMs can have a CPU reservation."""
    scheduler: frozenset[str]
    """Keys in `hosts.NAME.scheduler`."""
    numa: frozenset[str]
    """Keys in `vms.NAME.numa`."""
    vm: frozenset[str]
    """Keys of `vms.NAME` that only it has."""


@dataclass(frozen=True)
class Limits:
    """Maxima of a scenario, and some defaults. Sizes are in bytes, clocks in Hz."""

    description: int
    """Maximum characters of `description`."""
    host_groups: int
    vm_groups: int
    rules: int
    """Maximum placement rules."""
    rule_names: int
    """Maximum names of VMs or hosts in one placement rule."""
    hosts: int
    """Maximum hosts in total."""
    logical_cpus: int
    """Maximum logical CPUs of all hosts."""
    vcpus: int
    """Maximum vCPUs of all VMs."""
    sockets: int
    """Maximum sockets of one host."""
    nodes_per_socket: int
    cores_per_socket: int
    least_clock_hz: int
    clock_hz: int
    least_memory_bytes: int
    """Minimum memory of a VM, or of a host's NUMA node."""
    memory_bytes: int
    """Maximum memory of a VM, or of a host's NUMA node."""
    vcpus_per_vm: int
    controllers: int
    """Maximum virtual storage controllers of one VM."""
    vdisks_per_controller: int
    default_vdisks_per_controller: int
    default_lun_depth: int
    """Default of outstanding commands per LUN."""
    dsnro: int
    """Default of outstanding commands of one VM on a shared LUN."""
    default_numa_vcpu_min: int
    """Default of the vCPUs from which ESXi presents several NUMA nodes to a VM."""


def called(name: str, known: Mapping[str, str | None]) -> list[str]:
    """Keys that match a name: the key itself, else keys or labels that are equal in any case.

    `known` has labels by key. A matching key takes priority over matching labels.
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
    """True if HA restarts VMs of a failed host: as set, else if an HA type is named."""
    return True if enabled is None and said.get("policy") is not None else enabled


def member_names(group: str, count: int) -> list[str]:
    """Names of the members of a group of `count` hosts or VMs, in order of number."""
    return _core.member_names(group, count)


@cache
def hypervisors() -> Mapping[str, Hypervisor]:
    """Every hypervisor in scenarios, by name: ESXi first, each family from old to new, `none` last."""
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
    """The schema at a path; None if no such place exists."""
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
    """A schema with `$ref` resolved; its own keywords override."""
    return {key: value for part in reversed(list(_chain(node))) for key, value in part.items()}


def _chain(node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield node
    if "$ref" in node:
        yield from _chain(_schema()["$defs"][node["$ref"].rsplit("/", 1)[-1]])
