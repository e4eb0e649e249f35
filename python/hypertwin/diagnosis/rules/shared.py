"""Parts shared by several rules: bands of contention, required data, references, and figures of a guest's CPU."""

from __future__ import annotations

from dataclasses import replace

from hypertwin.diagnosis.case import Case
from hypertwin.diagnosis.rule import CONFIGURATION, Band, Measure, Need, Reference
from hypertwin.diagnosis.snapshot import OF_CPU
from hypertwin.diagnosis.subjects import Busy, Host, Vm
from hypertwin.diagnosis.words import MIB

READY = Band.of("ready_pct", "ready_sum_pct")
COSTOP = Band.of("costop_pct", "costop_sum_pct")
LIMITED = Band.of("limited_pct", "limited_sum_pct")
HOST_CPU = Band.of("usage_pct", "usage_pct")

BALLOON = Band("ballooned_bytes", "B", "ballooned memory", warning=MIB)
SWAPPED = Band("swapped_bytes", "B", "memory swapped out by the hypervisor", warning=MIB)
COMPRESSED = Band("compressed_bytes", "B", "memory compressed by the hypervisor", warning=MIB)
SWAP_IN = Band("swap_in_bytes_per_s", "B/s", "memory read back from swap", critical=MIB)

BUSY_BY = (*(("vm", metric) for metric in OF_CPU), ("guest", "guest_cpu_pct"))
"""Metrics of `Case.busy`, by kind of entity."""
VCPUS = Need("vCPUs of VMs, or their configuration (--cluster)", (("vm", "vcpus"), CONFIGURATION))
"""Data that any figure per vCPU requires."""
HOST_CORES = Need("cores of hosts, or their configuration (--cluster)", (("host", "cores"), CONFIGURATION))
BY_CLUSTER = Need("configuration of VMs and hosts (--cluster)")


def vcpus_unless(*any_of: tuple[str, str]) -> Need:
    """Return the need `VCPUS` for a rule that can use one of these metrics instead."""
    return replace(VCPUS, any_of=(*VCPUS.any_of, *any_of))


def contended(case: Case, vm: Vm) -> bool:
    """True if a VM has more ready or co-stop than is healthy."""
    found = ((READY, case.waiting(vm)), (COSTOP, case.per_vcpu(vm, COSTOP.metric)))
    return any(stat is not None and band.severity(stat.high) is not None for band, stat in found)


def is_full(case: Case, host: Host | None) -> bool:
    """True if a host has no CPU left, as far as its usage was measured."""
    usage = case.evidence.stat(host.entity, HOST_CPU.metric) if host else None
    return usage is not None and HOST_CPU.severity(usage.often) is not None


def has_cpu_left(case: Case, vm: Vm) -> bool:
    """True if the host of a VM has CPU left that would end its wait: free cores, or CPUs outside its binding."""
    if vm.came_from is not None:
        return False
    measured = vm.host is not None and case.evidence.stat(vm.host.entity, HOST_CPU.metric) is not None
    return case.has_free_cores(vm) or (vm.binding is not None and measured and not is_full(case, vm.host))


def guest_cpu(busy: Busy, band: Band, name: str, value: float, word: str) -> Measure:
    """Return CPU use of a VM or guest as the guest sees it, judged by a band."""
    what = f"CPU of {name} as its guest sees it, {word}"
    return Measure(
        busy.metric, what, value, "%", band, busy.entity, busy.divisor, samples=busy.stat.count, added=busy.added
    )


LARGE_DATABASES = Reference(
    '"Virtualizing large databases - VMware CPU capacity planning" (InterSystems community, 2017)',
    "https://community.intersystems.com/post/virtualizing-large-databases-vmware-cpu-capacity-planning",
)
ESXTOP_THRESHOLDS = Reference(
    "Duncan Epping, esxtop thresholds (Yellow Bricks)", "https://www.yellow-bricks.com/esxtop/"
)
ESXTOP_STATISTICS = Reference(
    'Broadcom KB 382249, "Using ESXTop and Interpreting ESXTop Statistics"',
    "https://knowledge.broadcom.com/external/article/382249/using-esxtop-and-interpreting-esxtop-sta.html",
)
METRICS_IN_VMWARE = Reference(
    '"Common Performance Metrics and Issues in VMware vSphere Hosts and VMs" (Leaseweb, 2023)',
    "https://blog.leaseweb.com/2023/01/10/performance-metrics-in-vmware/",
)
RIGHTSIZING = Reference(
    '"Virtual Machine vCPU and vNUMA Rightsizing - Rules of Thumb" (VMware VROOM! blog, 2017)',
    "https://blogs.vmware.com/performance/2017/03/virtual-machine-vcpu-and-vnuma-rightsizing-rules-of-thumb.html",
)
VCENTER_ALARMS = Reference(
    "Default alarms of vCenter: memory of a host at 90%, datastores at 75 and 85% (VCP 5 objective 7.2)",
    "https://blog.mwpreston.net/vcp-5/vcp-5-objective-7-2-create-and-administer-vcenter-server-alarms/",
)
HA = Reference(
    '"Configure Admission Control" (vSphere Availability)',
    "https://docs.vmware.com/en/VMware-vSphere/6.7/com.vmware.vsphere.avail.doc/"
    "GUID-C4059DB9-D673-45CB-918C-68C87FEB060A.html",
)
