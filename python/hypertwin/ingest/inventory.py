"""What every inventory source gives: hosts, VMs, datastores and rules, in one vocabulary and plain units.

A reader fills this in and knows nothing of scenarios; `to_scenario` makes the scenario and knows no vendor. What a
source does not say stays None, and `gaps` names it with the findings that need it. Names are those of the source;
`to_scenario` makes keys of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from hypertwin.ingest.outside import Gap


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
    cpu_model: str | None = None
    usage_pct: float | None = None
    """CPU used, in percent of nominal capacity, when the source was read."""
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
    """The measured mean demand of a VM."""

    cpu_mhz: float
    """CPU that it used or wanted, in MHz of a whole core."""
    iops: float | None = None
    over: str = ""
    """Counter and length of the measurement: `vCPU/Overall`, `20 s of cpu.usagemhz.average`."""


@dataclass(frozen=True)
class Vm:
    """A virtual machine."""

    name: str
    vcpus: int
    memory_bytes: int
    host: str | None = None
    """Name of its host; None for a VM that is off and has none."""
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
    """Whether it serves storage to its host: a Nutanix CVM, a ScaleIO SVM."""


@dataclass(frozen=True)
class Datastore:
    """Storage that holds virtual disks."""

    name: str
    kind: str
    """In the source's words: VMFS, NFS, vsan, zfspool."""
    capacity_bytes: int | None = None
    free_bytes: int | None = None
    hosts: tuple[str, ...] = ()


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


def grouped(kind: str, assumptions: Iterable[Assumption]) -> list[Assumption]:
    """Assumptions about a `kind` (`host`, `machine`) with a name as subject; those with the same text become one.

    Its subject is `machine db` or `12 machines (a, b, c ...)`.
    """
    names: dict[str, dict[str, None]] = {}
    for each in assumptions:
        names.setdefault(each.text, {})[each.subject] = None
    return [Assumption(_several(kind, list(listed)), text) for text, listed in names.items()]


def _several(kind: str, names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"{kind} {names[0]}"
    return f"{len(names)} {kind}s ({', '.join(names[:3])}{' ...' if len(names) > 3 else ''})"
