"""The common form of inventories: hosts, VMs, datastores and rules, in one vocabulary and plain units.

A reader creates an inventory and knows nothing of scenarios; `to_scenario` creates the scenario and knows no vendor.
Data missing in a source stay None, and `gaps` lists them with the findings that need them. Names are those of the
source; `to_scenario` derives keys from them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from hypertwin.ingest.outside import Gap

ASSUMED_CLOCK_HZ = 2_500_000_000
"""Clock of a host whose source does not give it [an assumption of this project]; it converts CPU shares to MHz."""


@dataclass(frozen=True)
class Assumption:
    """A value that a scenario needs and the source lacks."""

    subject: str
    """Subject: a host, a VM, several of them (`12 hosts`), or `all`."""
    text: str
    """Assumption and its reason, in one sentence."""


@dataclass(frozen=True)
class Host:
    """A physical host."""

    name: str
    sockets: int
    cores_per_socket: int
    threads_per_core: int
    """2 with hyper-threading on, else 1."""
    memory_bytes: int
    clock_hz: float | None = None
    """Nominal clock."""
    hypervisor: str | None = None
    """Hypervisor in the source's words, for example `VMware ESXi 7.0.3 build-20328353`, `QEMU 7.2` or `Linux 6.12`."""
    numa_nodes: int | None = None
    cluster: str | None = None
    datacenter: str | None = None
    cpu_model: str | None = None
    processors: int | None = None
    """Physical processors for licensing, if different from `sockets`."""
    hyper_threading_available: bool | None = None
    power_policy: str | None = None
    """Power policy by its name in scenarios: `high-performance`, `balanced`, `low-power`, `custom`, `not-managed`."""
    evc: str | None = None
    """EVC mode: CPU generation that it presents to VMs now, in the source's words."""
    evc_most: str | None = None
    """Newest CPU generation (EVC mode) that it supports."""
    usage_pct: float | None = None
    """CPU used, in per cent of nominal capacity: a single sample or a mean."""
    usage_p95_pct: float | None = None
    """95th percentile of CPU used, over time."""
    usage_peak_pct: float | None = None
    memory_usage_pct: float | None = None
    """Memory used, in per cent of its memory."""
    ballooned_bytes: int | None = None
    swapped_bytes: int | None = None
    at: str | None = None
    """Time of its measurements, as ISO 8601."""
    over_s: float | None = None
    """Seconds covered by the CPU figures; None for a single sample."""
    counter: str = ""
    """Source of the CPU figures, in the source's words."""
    in_maintenance: bool = False


@dataclass(frozen=True)
class VirtualDisk:
    """A virtual disk of a VM."""

    capacity_bytes: int
    controller: str | None = None
    """Controller by its name in scenarios: `pvscsi`, `lsi-sas`, `virtio-scsi`, `virtio-blk`, `nvme`; None for others
    (IDE)."""
    controller_number: int | None = None
    datastore: str | None = None


@dataclass(frozen=True)
class Demand:
    """The measured demand of a VM."""

    cpu_mhz: float
    """CPU used or demanded, in MHz of a whole core: the mean, or a single sample."""
    iops: float | None = None
    over: str = ""
    """Counter and length of the measurement: `vCPU/Overall`, `20 s of cpu.usagemhz.average`."""
    cpu_p95_mhz: float | None = None
    """95th percentile over time; None for a single sample."""
    cpu_peak_mhz: float | None = None
    over_s: float | None = None
    """Measured seconds; None for a single sample."""
    counter: str = ""
    """The counter alone: `vCPU/Overall`."""
    at: str | None = None
    """Time of the measurement, as ISO 8601; for a series, its end."""


@dataclass(frozen=True)
class Snapshots:
    """Snapshots of a VM."""

    count: int
    bytes: int | None = None
    """Space that they occupy."""
    oldest: str | None = None
    """Creation time of the oldest, as ISO 8601."""


@dataclass(frozen=True)
class Vm:
    """A VM."""

    name: str
    vcpus: int
    memory_bytes: int
    host: str | None = None
    """Name of its host; None for a powered-off VM without one."""
    cluster: str | None = None
    datacenter: str | None = None
    powered_on: bool = True
    is_template: bool = False
    cores_per_socket: int | None = None
    shares: str | int | None = None
    """`low`, `normal`, `high`, or the number for the whole VM."""
    reservation_mhz: float | None = None
    limit_mhz: float | None = None
    """CPU limit; None if there is none or if unknown; `gaps` tells which."""
    cpu_hot_add: bool | None = None
    affinity: str | None = None
    """Logical CPUs, as `0-11,24`, in the numbering of scenarios: core by core, thread by thread."""
    numa: dict[str, object] = field(default_factory=dict)
    """Keys of `vms.NAME.numa` of a scenario with their values: `prefer_ht`, `cells`, `cores_per_node` ..."""
    disks: tuple[VirtualDisk, ...] = ()
    guest_os: str | None = None
    demand: Demand | None = None
    storage_appliance: bool = False
    """True if it serves storage to its host: a Nutanix CVM, a ScaleIO SVM."""
    ready_pct: float | None = None
    """Ready time of its vCPUs, in per cent of each vCPU."""
    memory_consumed_bytes: int | None = None
    """Host memory that it consumes."""
    memory_active_bytes: int | None = None
    """Recently used memory, as estimated by the hypervisor."""
    memory_shares: str | int | None = None
    """`low`, `normal`, `high`, or the number for the whole VM."""
    memory_reservation_bytes: int | None = None
    memory_limit_bytes: int | None = None
    """Maximum host memory that it can use; None without a limit, or if unknown."""
    huge_pages: bool = False
    """True if huge pages back its memory; the host never reclaims these."""
    balloon: bool | None = None
    """True if the host balloons it automatically; None: the hypervisor's default."""
    restart_priority: str | None = None
    """Name in scenarios: `highest` to `lowest`, `disabled`; None if unknown."""
    ballooned_bytes: int | None = None
    swapped_bytes: int | None = None
    storage_provisioned_bytes: int | None = None
    """Provisioned space of its virtual disks."""
    storage_used_bytes: int | None = None
    """Used space on datastores."""
    storage_in_guest_bytes: int | None = None
    """Used space in its guest's file systems."""
    snapshots: Snapshots | None = None


@dataclass(frozen=True)
class Datastore:
    """A datastore with virtual disks."""

    name: str
    kind: str
    """Type in the source's words: VMFS, NFS, vsan, zfspool."""
    capacity_bytes: int | None = None
    free_bytes: int | None = None
    hosts: tuple[str, ...] = ()
    """Names of hosts that use it, as listed in the source."""
    provisioned_bytes: int | None = None
    """Provisioned space of its virtual disks, including thin ones."""
    clusters: tuple[str, ...] = ()
    """Names of clusters that use it, if the source has clusters but no hosts."""


@dataclass(frozen=True)
class Cluster:
    """Data of a source about a cluster besides its hosts, and measurements of its VMs together."""

    name: str
    """Name; empty for hosts without a cluster."""
    datacenter: str | None = None
    ha: bool | None = None
    """True if VMs of a failed host are restarted."""
    admission_control: bool | None = None
    failures: int | None = None
    """Host failures tolerated by admission control."""
    evc: str | None = None
    """EVC mode: CPU generation that its hosts present to VMs, in the source's words."""
    cpu_mhz: float | None = None
    """CPU used or demanded by its VMs together, summed at the same times, in MHz of a core: the mean."""
    cpu_p95_mhz: float | None = None
    """95th percentile of that sum over time, which is at most the sum of the VMs' own."""
    cpu_peak_mhz: float | None = None
    memory_consumed_bytes: int | None = None
    """Host memory consumed by its VMs together, summed in the same way: the mean."""
    memory_consumed_peak_bytes: int | None = None
    over_s: float | None = None
    """Seconds covered by the sums."""
    at: str | None = None
    """End of the sums, as ISO 8601."""
    counter: str = ""
    """Content of the sums: number of VMs, interval."""
    admission_policy: str | None = None
    """Admission control policy: `slots` or `percentage`."""
    admission_pct: float | None = None
    """CPU and memory that `percentage` reserves."""
    restarts_by: str | None = None
    """HA type by its name in scenarios: `fdm`, `proxmox`, `masakari`; None for others."""
    drs: bool | None = None
    """True if VMs move automatically to balance hosts."""
    drs_threshold: int | None = None
    """DRS migration threshold, from 1 (only moves that rules require) to 5 (any gain)."""


@dataclass(frozen=True)
class Rule:
    """A placement rule (DRS, Proxmox HA)."""

    name: str
    kind: str
    """`keep-together`, `keep-apart`, `run-on` or `not-on` (of `vms` on `hosts`)."""
    vms: tuple[str, ...]
    hosts: tuple[str, ...] = ()
    mandatory: bool = False


@dataclass(frozen=True)
class Inventory:
    """Data of one source about clusters."""

    source: str
    """Name of the source, safe to show: a file's name, or an address without credentials."""
    kind: str
    """Reader: `rvtools`, `vcenter`, `libvirt`, `proxmox`, `lscpu`."""
    hosts: Sequence[Host]
    vms: Sequence[Vm] = ()
    datastores: Sequence[Datastore] = ()
    rules: Sequence[Rule] = ()
    gaps: Sequence[Gap] = ()
    assumptions: Sequence[Assumption] = ()
    """The reader's own assumptions; `to_scenario` adds more."""
    clusters: Sequence[Cluster] = ()
    """Clusters with more data than a name; the others follow from hosts and VMs."""
    unused: Sequence[str] = ()
    """Unused data of the source: tabs, columns, sections, by their names in the source."""
    standalone_hosts: bool = False
    """True if the source knows clusters; then a host without one is standalone. Otherwise such hosts form one cluster.
    """


def grouped(kind: str, assumptions: Iterable[Assumption]) -> list[Assumption]:
    """Assumptions about a `kind` (`host`, `VM`) with names as subjects; those with equal text are combined.

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


def figures(values: Sequence[float]) -> tuple[float, float, float]:
    """Mean, 95th percentile (linear between neighbours) and maximum."""
    ordered = sorted(values)
    at = 0.95 * (len(ordered) - 1)
    below, above = ordered[math.floor(at)], ordered[math.ceil(at)]
    return sum(ordered) / len(ordered), below + (above - below) * (at - math.floor(at)), ordered[-1]
