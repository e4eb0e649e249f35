"""The common form of inventories: hosts, VMs, datastores and rules, in one vocabulary and plain units.

A reader fills this in and knows nothing of scenarios; `to_scenario` makes the scenario and knows no vendor. What a
source does not say stays None, and `gaps` names it with the findings that need it. Names are those of the source;
`to_scenario` makes keys of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from hypertwin.ingest.outside import Gap

ASSUMED_CLOCK_HZ = 2_500_000_000
"""Clock of a host whose source does not say it [an assumption of this project]; shares of its CPU become MHz by it."""


@dataclass(frozen=True)
class Assumption:
    """Something that a scenario needs and the source does not say."""

    subject: str
    """What it is about: a host, a VM, several of them (`12 hosts`), or `all`."""
    text: str
    """What was assumed and why, one sentence."""


@dataclass(frozen=True)
class Host:
    """A physical host."""

    name: str
    sockets: int
    cores_per_socket: int
    threads_per_core: int
    """2 where hyper-threading is on, else 1."""
    memory_bytes: int
    clock_hz: float | None = None
    """Nominal clock."""
    hypervisor: str | None = None
    """In the source's words, for example `VMware ESXi 7.0.3 build-20328353`, `QEMU 7.2` or `Linux 6.12`."""
    numa_nodes: int | None = None
    cluster: str | None = None
    datacenter: str | None = None
    cpu_model: str | None = None
    processors: int | None = None
    """Physical processors, as licences count them, where they are not `sockets`."""
    hyper_threading_available: bool | None = None
    power_policy: str | None = None
    """By its name in scenarios: `high-performance`, `balanced`, `low-power`, `custom`, `not-managed`."""
    evc: str | None = None
    """Generation of CPU that it shows to VMs now, in the source's words."""
    evc_most: str | None = None
    """The newest generation that it could show."""
    usage_pct: float | None = None
    """CPU used, in percent of nominal capacity, when the source was read or as a mean."""
    usage_p95_pct: float | None = None
    """The 95th percentile of that, over time."""
    usage_peak_pct: float | None = None
    memory_usage_pct: float | None = None
    """Memory used, in percent of what it has."""
    ballooned_bytes: int | None = None
    swapped_bytes: int | None = None
    at: str | None = None
    """When its figures were measured, as ISO 8601."""
    over_s: float | None = None
    """Seconds that the CPU figures cover; None for one moment."""
    counter: str = ""
    """Where the CPU figures are from, in the source's words."""
    in_maintenance: bool = False


@dataclass(frozen=True)
class VirtualDisk:
    """A virtual disk of a VM."""

    capacity_bytes: int
    controller: str | None = None
    """By its name in scenarios: `pvscsi`, `lsi-sas`, `virtio-scsi`, `virtio-blk`, `nvme`; None for others (IDE)."""
    controller_number: int | None = None
    datastore: str | None = None


@dataclass(frozen=True)
class Demand:
    """The measured demand of a VM."""

    cpu_mhz: float
    """CPU that it used or wanted, in MHz of a whole core: the mean, or the figure of the moment."""
    iops: float | None = None
    over: str = ""
    """Counter and length of the measurement: `vCPU/Overall`, `20 s of cpu.usagemhz.average`."""
    cpu_p95_mhz: float | None = None
    """The 95th percentile over time; None for one moment."""
    cpu_peak_mhz: float | None = None
    over_s: float | None = None
    """Seconds that were measured; None for one moment."""
    counter: str = ""
    """The counter alone: `vCPU/Overall`."""
    at: str | None = None
    """When it was measured, as ISO 8601; of a series, its end."""


@dataclass(frozen=True)
class Snapshots:
    """Snapshots of a VM."""

    count: int
    bytes: int | None = None
    """What they occupy."""
    oldest: str | None = None
    """When the oldest was made, as ISO 8601."""


@dataclass(frozen=True)
class Vm:
    """A VM."""

    name: str
    vcpus: int
    memory_bytes: int
    host: str | None = None
    """Name of its host; None for a VM that is off and has none."""
    cluster: str | None = None
    datacenter: str | None = None
    powered_on: bool = True
    is_template: bool = False
    cores_per_socket: int | None = None
    shares: str | int | None = None
    """`low`, `normal`, `high`, or the number for the whole VM."""
    reservation_mhz: float | None = None
    limit_mhz: float | None = None
    """None where there is none or it is not known; `gaps` says which."""
    cpu_hot_add: bool | None = None
    affinity: str | None = None
    """Logical CPUs, as `0-11,24`, numbered as scenarios number them: core by core, thread by thread."""
    numa: dict[str, object] = field(default_factory=dict)
    """Keys of `vms.NAME.numa` of a scenario with their values: `prefer_ht`, `cells`, `cores_per_node` ..."""
    disks: tuple[VirtualDisk, ...] = ()
    guest_os: str | None = None
    demand: Demand | None = None
    storage_appliance: bool = False
    """True if it serves storage to its host: a Nutanix CVM, a ScaleIO SVM."""
    ready_pct: float | None = None
    """Time that its vCPUs were ready and not running, in percent of each vCPU."""
    memory_consumed_bytes: int | None = None
    """Host memory that it consumes."""
    memory_active_bytes: int | None = None
    """Memory that it has touched lately, as the hypervisor estimates it."""
    memory_shares: str | int | None = None
    """`low`, `normal`, `high`, or the number for the whole VM."""
    memory_reservation_bytes: int | None = None
    memory_limit_bytes: int | None = None
    """Memory of the host that it never exceeds; None where there is no such limit or it is not known."""
    huge_pages: bool = False
    """True if huge pages back its memory, which the host never reclaims."""
    balloon: bool | None = None
    """True if the host balloons it automatically; None: the hypervisor's default."""
    restart_priority: str | None = None
    """By its name in scenarios: `highest` to `lowest`, `disabled`; None where it is not known."""
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
    """Storage that holds virtual disks."""

    name: str
    kind: str
    """In the source's words: VMFS, NFS, vsan, zfspool."""
    capacity_bytes: int | None = None
    free_bytes: int | None = None
    hosts: tuple[str, ...] = ()
    """Names of the hosts that use it, as the source lists them."""
    provisioned_bytes: int | None = None
    """Provisioned space of its virtual disks, thin ones included."""
    clusters: tuple[str, ...] = ()
    """Names of clusters that use it, where the source has clusters and no hosts."""


@dataclass(frozen=True)
class Cluster:
    """What a source says of a cluster besides its hosts, and what was measured of its VMs together."""

    name: str
    """Empty: the hosts that are in no cluster."""
    datacenter: str | None = None
    ha: bool | None = None
    """True if VMs of a failed host are restarted."""
    admission_control: bool | None = None
    failures: int | None = None
    """Host failures tolerated by admission control."""
    evc: str | None = None
    """Generation of CPU that its hosts show to VMs, in the source's words."""
    cpu_mhz: float | None = None
    """CPU that its VMs used or wanted together, added up at the same moments, in MHz of a core: the mean."""
    cpu_p95_mhz: float | None = None
    """The 95th percentile of that sum, over time: at most the sum of the VMs' own."""
    cpu_peak_mhz: float | None = None
    memory_consumed_bytes: int | None = None
    """Memory of its hosts that its VMs occupied together, added up in the same way: the mean."""
    memory_consumed_peak_bytes: int | None = None
    over_s: float | None = None
    """Seconds that the sums cover."""
    at: str | None = None
    """Their end, as ISO 8601."""
    counter: str = ""
    """What was added up: of how many VMs, how often."""
    admission_policy: str | None = None
    """Admission control policy: `slots` or `percentage`."""
    admission_pct: float | None = None
    """CPU and memory that `percentage` reserves."""
    restarts_by: str | None = None
    """HA type, by its name in scenarios: `fdm`, `proxmox`, `masakari`; None for none of these."""
    drs: bool | None = None
    """True if VMs move automatically to balance hosts."""
    drs_threshold: int | None = None
    """From 1, only moves for rules, to 5, any gain."""


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
    """All that one source says about a cluster."""

    source: str
    """What was read, safe to show: a file's name, an address without credentials."""
    kind: str
    """Which reader read it: `rvtools`, `vcenter`, `libvirt`, `proxmox`, `lscpu`."""
    hosts: Sequence[Host]
    vms: Sequence[Vm] = ()
    datastores: Sequence[Datastore] = ()
    rules: Sequence[Rule] = ()
    gaps: Sequence[Gap] = ()
    assumptions: Sequence[Assumption] = ()
    """The reader's own assumptions; `to_scenario` adds more."""
    clusters: Sequence[Cluster] = ()
    """Clusters of which more than the name is known; the others follow from hosts and VMs."""
    unused: Sequence[str] = ()
    """What the source has and nothing uses: tabs, columns, sections, by their names in the source."""
    standalone_hosts: bool = False
    """True if the source knows clusters, so that a host without one is on its own. Else such hosts are one cluster."""


def grouped(kind: str, assumptions: Iterable[Assumption]) -> list[Assumption]:
    """Assumptions about a `kind` (`host`, `VM`) with a name as subject; those with the same text become one.

    Its subject is `VM db` or `12 VMs (a, b, c ...)`.
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
