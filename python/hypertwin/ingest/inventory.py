"""Common form of inventories: hosts, VMs, datastores, storage pools and rules, in one vocabulary and plain units.

A reader creates an inventory independently of scenarios. `to_scenario` creates the scenario independently of vendors.
Data missing in a source stay None, and `gaps` lists them with the findings that need them. Names are those of the
source; `to_scenario` derives keys from them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from hypertwin.ingest.outside import Gap
from hypertwin.language import UNKNOWN_CLUSTER
from hypertwin.members import MeasuredCluster, MeasuredHost, SourceCluster, SourceVm

ASSUMED_CLOCK_HZ = 2_500_000_000
"""Clock of a host whose source does not give it [an assumption of this project]. It converts CPU shares to MHz."""


@dataclass(frozen=True)
class Assumption:
    """Assumption about a value that a scenario needs and the source lacks."""

    subject: str
    """Subject of the assumption: a host, a VM, several of them (`12 hosts`), or `all`."""
    text: str
    """Sentence with the assumption and its reason."""


@dataclass(frozen=True)
class _Host:
    """Physical host, without measurements."""

    name: str
    sockets: int
    cores_per_socket: int
    threads_per_core: int
    """Number of threads per core: 2 with hyper-threading enabled, otherwise 1."""
    memory_bytes: int
    clock_hz: float | None = None
    """Nominal clock, in Hz."""
    hypervisor: str | None = None
    """Name of the hypervisor in the source, such as `VMware ESXi 7.0.3 build-20328353`, `QEMU 7.2` or `Linux 6.12`."""
    numa_nodes: int | None = None
    cluster: str | None = None
    datacenter: str | None = None
    cpu_model: str | None = None
    processors: int | None = None
    """Number of physical processors for licensing, if different from `sockets`."""
    hyper_threading_available: bool | None = None
    power_policy: str | None = None
    """Power policy by its name in scenarios: `high-performance`, `balanced`, `low-power`, `custom`, `not-managed`."""
    evc: str | None = None
    """Current EVC mode of the host in the source's words: the CPU generation presented to VMs."""
    evc_most: str | None = None
    """Newest CPU generation (EVC mode) that the host supports."""
    in_maintenance: bool = False


@dataclass(frozen=True)
class Host(MeasuredHost, _Host):
    """Physical host, with its measurements."""


@dataclass(frozen=True)
class VirtualDisk:
    """Virtual disk of a VM."""

    capacity_bytes: int
    controller: str | None = None
    """Controller by its name in scenarios: `pvscsi`, `lsi-sas`, `virtio-scsi`, `virtio-blk`, `nvme`, or None for others
    (IDE)."""
    controller_number: int | None = None
    datastore: str | None = None
    io_thread: bool | None = None
    """True if an I/O thread of QEMU serves its controller, False for the main loop, or None if unknown."""
    cache: str | None = None
    """Cache mode of QEMU by its name in scenarios, or None for the default."""
    aio: str | None = None
    """Asynchronous I/O of QEMU by its name in scenarios, or None for the default."""


@dataclass(frozen=True)
class Demand:
    """Measured demand of a VM."""

    cpu_mhz: float
    """CPU demand in MHz of a core, as a mean or a single sample."""
    iops: float | None = None
    over: str = ""
    """Counter and length of the measurement, such as `vCPU/Overall` or `20 s of cpu.usagemhz.average`."""
    cpu_p95_mhz: float | None = None
    """95th percentile of CPU demand over time in MHz, or None for a single sample."""
    cpu_peak_mhz: float | None = None
    over_s: float | None = None
    """Duration of the measurement in seconds, or None for a single sample."""
    counter: str = ""
    """Name of the counter, such as `vCPU/Overall`."""
    at: str | None = None
    """Time of the measurement, or of the end of a series, in ISO 8601 format."""


@dataclass(frozen=True)
class Snapshots:
    """Snapshots of a VM."""

    count: int
    bytes: int | None = None
    """Space used by the snapshots, in bytes."""
    oldest: str | None = None
    """Creation time of the oldest snapshot, in ISO 8601 format."""


@dataclass(frozen=True)
class Vm:
    """VM of an inventory."""

    name: str
    vcpus: int
    memory_bytes: int
    host: str | None = None
    """Name of the host of the VM, or None for a powered-off VM without a host."""
    cluster: str | None = None
    datacenter: str | None = None
    powered_on: bool = True
    is_template: bool = False
    cores_per_socket: int | None = None
    shares: str | int | None = None
    """CPU shares: `low`, `normal`, `high`, or the number for the whole VM."""
    reservation_mhz: float | None = None
    limit_mhz: float | None = None
    """CPU limit in MHz, or None without a limit or if unknown. `gaps` tells which of the two applies."""
    cpu_hot_add: bool | None = None
    affinity: str | None = None
    """Logical CPUs of the affinity such as `0-11,24`, in the numbering of scenarios: core by core, thread by thread."""
    numa: dict[str, object] = field(default_factory=dict)
    """Keys of `vms.NAME.numa` of a scenario with their values: `prefer_ht`, `cells`, `cores_per_node` ..."""
    disks: tuple[VirtualDisk, ...] = ()
    guest_os: str | None = None
    demand: Demand | None = None
    storage_appliance: bool = False
    """True if the VM serves storage to its host, such as a Nutanix CVM or a ScaleIO SVM."""
    live_migration: bool = True
    """False if the VM cannot migrate while it runs: a container, or a VM with devices of its host."""
    ready_pct: float | None = None
    """Ready time of the vCPUs of the VM, in per cent of each vCPU."""
    memory_consumed_bytes: int | None = None
    """Host memory consumed by the VM, in bytes."""
    memory_active_bytes: int | None = None
    """Recently used memory as estimated by the hypervisor, in bytes."""
    memory_shares: str | int | None = None
    """Memory shares: `low`, `normal`, `high`, or the number for the whole VM."""
    memory_reservation_bytes: int | None = None
    memory_limit_bytes: int | None = None
    """Maximum host memory of the VM in bytes, or None without a limit or if unknown."""
    huge_pages: bool = False
    """True if the memory of the VM is backed by huge pages, which the host never reclaims."""
    balloon: bool | None = None
    """True if the host balloons the VM automatically, or None for the default of the hypervisor."""
    restart_priority: str | None = None
    """Restart priority in scenarios: `highest` to `lowest`, `disabled`, or None if unknown."""
    ballooned_bytes: int | None = None
    swapped_bytes: int | None = None
    storage_provisioned_bytes: int | None = None
    """Provisioned size of the virtual disks, in bytes."""
    storage_used_bytes: int | None = None
    """Space used on datastores, in bytes."""
    storage_in_guest_bytes: int | None = None
    """Space used in file systems of the guest, in bytes."""
    snapshots: Snapshots | None = None
    source: SourceVm | None = None
    """Facts for a move to another hypervisor, or None for a source without them."""


@dataclass(frozen=True)
class Datastore:
    """Datastore with virtual disks."""

    name: str
    kind: str
    """Type of datastore in the source's words: VMFS, NFS, vsan, zfspool."""
    capacity_bytes: int | None = None
    free_bytes: int | None = None
    hosts: tuple[str, ...] = ()
    """Names of the hosts that use the datastore, as listed in the source."""
    provisioned_bytes: int | None = None
    """Provisioned size of virtual disks in bytes, including thin disks."""
    clusters: tuple[str, ...] = ()
    """Names of the clusters that use the datastore, if the source has clusters but no hosts."""


@dataclass(frozen=True)
class PoolDevice:
    """Device of a storage pool: a disk with its service, such as an OSD of Ceph."""

    host: str
    """Name of its host."""
    kind: str
    """Generic kind by its name in scenarios: `nvme`, `sata-ssd`, `hdd-7.2k`."""
    capacity_bytes: int
    model: str | None = None
    """Drive model in the source's words, or None if unknown."""


@dataclass(frozen=True)
class PoolPolicy:
    """Redundancy of a part of a storage pool, such as a pool of Ceph."""

    name: str
    redundancy: str
    """Redundancy as scenarios write it: `replicas-3:2`, `ec-4+2`."""
    datastores: tuple[str, ...] = ()
    """Names of the datastores in it."""


@dataclass(frozen=True)
class StoragePool:
    """Disks of hosts that distributed storage pools."""

    name: str
    kind: str
    """Storage software by its name in scenarios: `ceph`."""
    policies: tuple[PoolPolicy, ...]
    """Redundancies, at least one. The first holds most data of VMs."""
    devices: tuple[PoolDevice, ...]
    stored_bytes: int | None = None
    """Stored data without replicas and parity, in bytes, or None if unknown."""
    failure_domain: str = "host"
    """Failure domain by its name in scenarios: `host` or `disk`."""
    release: int | None = None
    """Major version of the storage software."""
    client: str | None = None
    """Client by its name in scenarios (`librbd`, `krbd`), or None for the default."""
    placement_groups: int | None = None
    has_log_devices: bool = False
    """True if logs of the devices are on separate flash."""


@dataclass(frozen=True)
class _Cluster:
    """Data of a source about a cluster apart from its hosts, without measurements."""

    name: str
    """Name of the cluster, or an empty string for hosts without a cluster."""
    datacenter: str | None = None
    ha: bool | None = None
    """True if VMs of a failed host are restarted."""
    admission_control: bool | None = None
    failures: int | None = None
    """Number of host failures tolerated by admission control."""
    evc: str | None = None
    """EVC mode in the source's words: the CPU generation that hosts of the cluster present to VMs."""
    admission_policy: str | None = None
    """Admission control policy: `slots` or `percentage`."""
    admission_pct: float | None = None
    """Percentages of CPU and memory that the policy `percentage` reserves."""
    restarts_by: str | None = None
    """HA type by its name in scenarios: `fdm`, `proxmox`, `masakari`, or None for others."""
    drs: bool | None = None
    """True if VMs move automatically to balance hosts."""
    drs_threshold: int | None = None
    """DRS migration threshold, from 1 (only moves that rules require) to 5 (any gain)."""
    source: SourceCluster = UNKNOWN_CLUSTER
    """Facts for a move to another hypervisor."""


@dataclass(frozen=True)
class Cluster(MeasuredCluster, _Cluster):
    """Data of a source about a cluster apart from its hosts, and measurements of its VMs together."""


@dataclass(frozen=True)
class Rule:
    """Placement rule (DRS, Proxmox HA)."""

    name: str
    kind: str
    """Kind of rule: `keep-together`, `keep-apart`, `run-on` or `not-on` (of `vms` on `hosts`)."""
    vms: tuple[str, ...]
    hosts: tuple[str, ...] = ()
    mandatory: bool = False


@dataclass(frozen=True)
class Inventory:
    """Data of one source about clusters."""

    source: str
    """Name of the source that is safe to show: the name of a file, or an address without credentials."""
    kind: str
    """Name of the reader: `rvtools`, `vcenter`, `libvirt`, `proxmox`, `lscpu`."""
    hosts: Sequence[Host]
    vms: Sequence[Vm] = ()
    datastores: Sequence[Datastore] = ()
    rules: Sequence[Rule] = ()
    gaps: Sequence[Gap] = ()
    assumptions: Sequence[Assumption] = ()
    """Assumptions of the reader. `to_scenario` adds more."""
    clusters: Sequence[Cluster] = ()
    """Clusters with more data than a name. Other clusters follow from hosts and VMs."""
    unused: Sequence[str] = ()
    """Names of unused tabs, columns and sections in the source."""
    pools: Sequence[StoragePool] = ()
    standalone_hosts: bool = False
    """True if the source knows clusters, so that hosts without a cluster are standalone. Otherwise they form one
    cluster.
    """


def grouped(kind: str, assumptions: Iterable[Assumption]) -> list[Assumption]:
    """Return assumptions about a `kind` (`host`, `VM`) with names as subjects. Those with equal text are combined.

    The subject is `VM db` or `12 VMs (a, b, c ...)`.
    """
    names: dict[str, dict[str, None]] = {}
    for each in assumptions:
        names.setdefault(each.text, {})[each.subject] = None
    return [Assumption(_several(kind, list(listed)), text) for text, listed in names.items()]


def _several(kind: str, names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"{kind} {names[0]}"
    return f"{len(names)} {kind}s ({', '.join(names[:3])}{' ...' if len(names) > 3 else ''})"


def iso(seconds: float) -> str:
    """Return a time in Unix time as ISO 8601, in UTC and whole seconds."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def figures(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the mean, 95th percentile (linear between neighbours) and maximum."""
    ordered = sorted(values)
    at = 0.95 * (len(ordered) - 1)
    below, above = ordered[math.floor(at)], ordered[math.ceil(at)]
    return sum(ordered) / len(ordered), below + (above - below) * (at - math.floor(at)), ordered[-1]
