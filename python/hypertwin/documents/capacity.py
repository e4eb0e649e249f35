"""Output of `hypertwin capacity`: capacity of clusters, now and after host failures, and VMs remaining.

None means unknown or absent. A cluster's notes have the reason.
"""

from __future__ import annotations

from typing import Literal, TypedDict

from hypertwin.documents.failover import Failover
from hypertwin.documents.space import Space

Source = Literal["measured", "configured", "assumed"]
"""Origin of a figure: measured, configured, or partly assumed."""


class Basis(TypedDict):
    """Basis of a demand figure."""

    kind: Literal["sample", "mean", "p95", "peak", "configured"]
    """`sample` is one reading, `configured` the demand of the workloads of a scenario."""
    of: Literal["cluster", "vms", "hosts", "workloads"]
    """Measured objects: VMs together at the same times, each VM, each host, or none."""
    aligned: bool
    """True for a sum of simultaneous samples. Other sums of percentiles or peaks are upper bounds."""
    over_s: float | None
    """Duration of the measurement in seconds, as minimum over VMs or hosts, or None for a single sample."""
    at: str | None
    """Time of the measurement, or of the latest one if there are several."""
    counter: str | None
    known_pct: float
    """Percentage of the sum that was measured, by this or a lower statistic. The rest is assumed equal."""
    text: str
    """Basis in one sentence."""


class Demand(TypedDict):
    """Requested demand, and the demand used."""

    asked: Literal["mean", "p95", "peak"]
    cpu: Basis | None
    memory_consumed: Basis | None
    memory_active: Basis | None


class Size(TypedDict):
    """Size of a VM."""

    vcpus: float
    memory_gib: float
    cpu_mhz: float | None
    memory_consumed_gib: float | None
    stored_gib: float | None
    """Data that the VM stores in distributed storage pools, or None if no VM of the cluster stores data there."""


class Restartable(TypedDict):
    """Largest VM that HA can restart after any host failure, when the VMs of the failed hosts have restarted."""

    vcpus: int
    memory_gib: float
    host: str | None
    """Host, or None if no host has headroom."""
    failed: list[str]
    """Hosts whose failure loses the most memory of VMs, or leaves the least headroom if no failure loses any."""
    not_restarted: list[str]
    """VMs of the failed hosts that cannot restart."""


Admission = Literal["slots", "percentage"]
"""Admission control policy of vSphere HA."""


class Slot(TypedDict):
    """Largest reservations of VMs of a cluster. Memory includes the memory overhead of VMs."""

    cpu_mhz: float
    memory_mib: float


class RestartTimes(TypedDict):
    """Restart times of VMs of a failed host."""

    detection: float
    """Shortest time in seconds from the failure to the first restart, by HA type of the cluster."""
    detection_longest: float
    """Longest such time in seconds."""
    primary: float | None
    """Shortest such time if the host that manages HA fails, or None if that makes no difference."""
    primary_longest: float | None
    """Longest such time if the host that manages HA fails, or None if that makes no difference."""
    boot: float | None
    """Time in seconds from power-on until a VM serves, if the scenario has this time."""


class Ha(TypedDict):
    """HA after the planned failures: VMs that HA can power on, and demand that is met."""

    enabled: bool | None
    policy: Literal["fdm", "proxmox", "masakari"] | None
    """The HA type that restarts VMs, or None without one, or if unknown."""
    admission: Admission | None
    """Admission control policy in force, or None without one, or if unknown."""
    slot: Slot | None
    slots: int | None
    """Number of whole slots of all hosts."""
    free_slots: int | None
    """Number of free slots without the hosts with the most slots. It is negative if VMs lack slots."""
    unreserved_cpu_pct: float
    unreserved_memory_pct: float
    keeps_pct: float | None
    """Percentage that the policy `percentage` keeps unreserved."""
    host_failures_tolerated: int | None
    """Number of tolerated host failures, with all VMs powered on by HA and demand met, or None if unknown."""
    can_power_on: bool
    """True if reservations allow every VM to run then: by the active policy, and by unreserved capacity of hosts."""
    not_powered_on: list[str]
    """VMs without a host with enough unreserved capacity, for the worst failure."""
    meets_demand: bool | None
    """True if demand is within the limits on the remaining hosts, or None if CPU is unknown and memory suffices."""
    short_of: list[Literal["cpu", "memory", "memory_consumed", "vcpu_ratio"]]
    """Resources that exceed their limit after the failures."""
    restart_s: RestartTimes | None


Limit = Literal["cpu", "memory", "memory_consumed", "vcpu_ratio", "pool"]
"""Limits of VMs remaining. `pool` is the capacity of pools of distributed storage."""


class VmsLeft(TypedDict):
    """VMs remaining, by each limit alone and by all together."""

    cpu: int | None
    memory: int | None
    memory_consumed: int | None
    vcpu_ratio: int | None
    pool: int | None
    """VMs remaining by pool capacity, which has its own spare host. None if VMs store nothing in pools."""
    limited_by: Limit | None
    count: int | None
    vm: Size | None
    """Counted VM."""
    average: bool
    """True if the counted VM is the mean of the existing VMs."""


class Unsaid(TypedDict):
    """Number of VMs with unknown storage use."""

    provisioned: int
    used: int
    in_guest: int
    """Number of powered-on VMs. The other counts include powered-off VMs and templates."""


class Storage(TypedDict):
    """Datastores together, and VMs. `used` and `free` cover datastores with known free space."""

    datastores: int
    shared: int
    """Number of datastores that other clusters also use. They count in full in each cluster."""
    unknown: int
    """Number of datastores with unknown free space."""
    capacity_gib: float | None
    """Capacity, or None without datastores."""
    used_gib: float | None
    used_pct: float | None
    free_gib: float | None
    provisioned_gib: float | None
    provisioned_pct: float | None
    vms_provisioned_gib: float | None
    """Provisioned space of VMs, powered on or off, and templates, if known."""
    vms_used_gib: float | None
    """Used space of these VMs and templates on datastores."""
    vms_in_guest_gib: float | None
    """Used space in guest file systems of powered-on VMs, if known."""
    vms_unknown: Unsaid
    swap_gib: float | None
    """Size of the swap files of powered-on VMs on ESXi: configured memory minus reserved memory."""


class Datastore(TypedDict):
    """Datastore with its capacity and its use."""

    name: str
    clusters: list[str]
    kind: str | None
    hosts: int | None
    capacity_gib: float
    used_gib: float | None
    used_pct: float | None
    provisioned_gib: float | None
    provisioned_pct: float | None


class Group(TypedDict):
    """VMs of one state, and their resources."""

    vms: int
    vcpus: int
    memory_gib: float
    storage_gib: float | None
    """Used space, as far as known, or None if unknown."""


class Unused(TypedDict):
    """Surplus resources of VMs by their demand. Idle VMs count in full."""

    vms: int
    """Oversized VMs."""
    vcpus: int
    memory_gib: float | None
    """Surplus memory, or None if active memory is unknown for all VMs."""
    hosts_freed: int | None
    """Hosts that the cluster can spare after reclaim, beyond those that it can spare now."""


class Snapshots(TypedDict):
    """Snapshots of VMs."""

    vms: int
    count: int
    gib: float | None
    oldest: str | None


class Reclaimable(TypedDict):
    """Reclaimable capacity of a cluster."""

    judged: int
    """VMs whose demand was measured over time."""
    sustained: Unused | None
    """Surplus by the 95th percentile or peak of VMs measured over time, or None without such VMs."""
    sample: Unused | None
    """Surplus of the other VMs in a single sample, or on average, which is no proof."""
    idle: Group
    """VMs of `judged` that never used their CPU."""
    idle_in_sample: Group
    """Other VMs without CPU use in a single sample, or on average."""
    off: Group
    templates: Group
    snapshots: Snapshots
    hosts_spare: int | None
    """Number of hosts that the cluster can spare now, within its limits and with its spare hosts."""
    basis: str
    """Basis of the figures, in words."""


class ReclaimableVm(TypedDict):
    """VM with reclaimable capacity."""

    name: str
    cluster: str | None
    state: Literal["idle", "oversized", "off", "template", "snapshots"]
    sustained: bool
    """True if the demand was measured over time. It is always true for a powered-off VM."""
    vcpus: int
    vcpus_needed: int | None
    memory_gib: float
    memory_needed_gib: float | None
    storage_gib: float | None
    snapshots: int
    snapshots_gib: float | None
    oldest_snapshot: str | None


class Asked(TypedDict):
    """Limits of a cluster."""

    failures: int
    cpu_pct: float
    memory_pct: float
    vcpu_ratio: float | None
    license_min_cores: int
    speed: float
    """Speed of a core relative to a core whose demand was measured."""


class Exceeded(TypedDict):
    """A figure that exceeds its limit after the failures."""

    figure: Literal["cpu", "memory", "memory_consumed", "vcpu_ratio"]
    value: float
    """Value in per cent of the capacity of these hosts, or vCPUs per core for `vcpu_ratio`."""
    limit: float


class Verdict(TypedDict):
    """Verdict on a cluster after host failures, shared by all views."""

    met: bool | None
    """True if the cluster tolerates the failure, or None if unknown."""
    text: str
    exceeds: list[Exceeded]


class Spare(TypedDict):
    """Hosts excluded from figures after a failure: those without which the use of a resource is highest."""

    cpu: list[str]
    memory: list[str]
    cores: list[str]


class Figures(TypedDict):
    """Figures of a cluster, or of all clusters together."""

    hosts: int
    sockets: int
    cores: int
    vms: int
    """Powered-on VMs."""
    appliances: int
    """Storage appliances among them, which stay on their hosts."""
    vcpus: int
    vcpu_per_core: float | None
    vcpu_per_core_after_failure: float | None
    vcpu_per_core_corrected: float | None
    """vCPUs per core with a core counted as `speed` cores, or None without a speed."""
    vcpu_per_core_corrected_after_failure: float | None
    cpu_ghz: float
    """Cores x nominal clock."""
    cpu_demand_ghz: float | None
    cpu_usage_pct: float | None
    """Demand in per cent of cores x clock x speed."""
    cpu_usage_after_failure_pct: float | None
    memory_gib: float
    hypervisor_memory_gib: float
    """Hypervisor memory, as far as known. Limits exclude it from the memory for VMs."""
    memory_configured_gib: float
    memory_configured_pct: float | None
    memory_configured_after_failure_pct: float | None
    memory_consumed_gib: float | None
    """Consumed memory of VMs alone. Percentages include hypervisor memory."""
    memory_consumed_pct: float | None
    memory_consumed_after_failure_pct: float | None
    memory_active_gib: float | None
    memory_active_pct: float | None
    memory_active_after_failure_pct: float | None
    storage: Storage | None
    licence_cores: int
    vms_remaining: VmsLeft | None


class Cluster(Figures):
    """One cluster."""

    label: str | None
    limits: Asked
    without: Spare | None
    """Excluded hosts, or None if no host would remain."""
    host_cpu_usage_pct: float | None
    """Measured usage of the hosts on average, in contrast to the sum of their VMs by the statistic of `demand`."""
    host_memory_usage_pct: float | None
    largest_restartable_vm: Restartable | None
    ha: Ha
    failover: Failover | None
    """Verdict on host failures, or None if not requested, if no host remains, or without the extra `plan`."""
    verdict: Verdict
    reclaimable: Reclaimable
    guessed: int
    """VMs on a guessed host."""
    demand: Demand
    sources: dict[str, Source]
    """Source of every known figure, by its key. Figures in `vms_remaining` and figures of VMs in `storage` have that
    prefix."""
    notes: list[str]


class Total(Figures):
    """All clusters together. Figures after a failure exclude hosts of each cluster."""

    reclaimable: Reclaimable

    notes: list[str]


class Capacity(TypedDict):
    """Output of `hypertwin capacity --format json`."""

    version: str
    scenario: str
    clusters: dict[str, Cluster]
    total: Total
    datastores: list[Datastore]
    pools: dict[str, Space]
    """Capacity of each pool of distributed storage."""
    reclaimable: list[ReclaimableVm]
    """VMs that are idle, oversized, powered off or templates, or that have snapshots, largest first."""
