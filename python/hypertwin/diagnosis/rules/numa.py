"""Shapes of VMs that do not suit the NUMA nodes of their host, if the host is known.

The core's virtual NUMA model judges shapes (docs/models/vnuma.md) and simulates them.
"""

from __future__ import annotations

from collections.abc import Iterator

from hypertwin.diagnosis.case import Case
from hypertwin.diagnosis.rule import Band, Finding, Measure, Reference, rule
from hypertwin.diagnosis.rules.shared import BY_CLUSTER, HOST_CORES, LARGE_DATABASES, RIGHTSIZING, VCPUS
from hypertwin.diagnosis.subjects import Vm
from hypertwin.naming import counted

VCPUS_PER_CORE = Band("vcpus", "", "vCPUs of a VM per core of its host", warning=1)
WIDE = Band("vcpus", "", "vCPUs of a VM per core of a NUMA node", warning=1)

HOT_ADD = Reference(
    'VMware KB 2040375, "vNUMA is disabled if vCPU hotplug is enabled"',
    "https://kb.vmware.com/kb/2040375",
)
DEEP_DIVE = Reference(
    "Frank Denneman, NUMA Deep Dive", "https://frankdenneman.nl/2016/07/06/introduction-2016-numa-deep-dive-series/"
)

SPLITS = ("stale-topology", "hidden-numa", "cores-per-socket-splits", "imbalance", "collapse", "proximity-domains")
"""Warnings of the model that are combined into one finding."""


@rule(
    "odd-wide-vm",
    title="A VM larger than a NUMA node has an odd number of vCPUs",
    says="An odd number of vCPUs cannot be split evenly over nodes.",
    bands=(WIDE,),
    references=(RIGHTSIZING, LARGE_DATABASES),
    needs=(BY_CLUSTER,),
)
def odd_wide_vm(case: Case) -> Iterator[Finding]:
    """Find VMs that cannot be split evenly."""
    for vm in case.vms:
        if "odd-wide" not in _warnings(vm) or not vm.vcpus:
            continue
        yield odd_wide_vm.about(
            vm.subject,
            severity="warning",
            title=f"{vm.name} is larger than a NUMA node and has an odd number of vCPUs ({vm.vcpus})",
            figure=f"{vm.vcpus} vCPUs, {_parts(vm)}",
            text=(
                f"The {vm.vcpus} vCPUs of {vm.name} need more than one node{_of(vm)} and cannot be split evenly. "
                f"One node serves more of them: {_parts(vm)}. The guest's scheduler assumes equal nodes."
            ),
            advice=f"Use an even number: {vm.vcpus - 1} or {vm.vcpus + 1}.",
            evidence=[_wide(vm)],
        )


@rule(
    "hot-add-wide-vm",
    title="CPU hot-add hides NUMA from a large VM",
    says="With CPU hot-add ESXi shows the guest one node, wherever its vCPUs and memory are.",
    bands=(WIDE,),
    references=(HOT_ADD, LARGE_DATABASES),
    needs=(BY_CLUSTER,),
)
def hot_add_wide_vm(case: Case) -> Iterator[Finding]:
    """Find VMs larger than a NUMA node with CPU hot-add."""
    for vm in case.vms:
        if "hot-add-wide" not in _warnings(vm):
            continue
        yield hot_add_wide_vm.about(
            vm.subject,
            severity="warning",
            title=f"CPU hot-add hides NUMA from {vm.name}",
            figure=f"{vm.vcpus} vCPUs, {_parts(vm)}",
            text=(
                f"{vm.name} has {vm.vcpus} vCPUs, more than a node{_of(vm)}. With CPU hot-add on, ESXi "
                "shows its guest one node. Its operating system and database cannot keep memory near the CPU that uses "
                "it, so about half of all accesses or more are remote."
            ),
            advice="Power the VM off and turn CPU hot-add off. Memory hot-add can stay.",
            evidence=[_wide(vm)],
        )


@rule(
    "wider-than-node-badly-split",
    title="A VM is badly split over NUMA nodes",
    says=(
        "Virtual nodes are too many, differ in size, share one physical node, or are hidden from the guest. These are "
        "the warnings of the [virtual NUMA model](../models/vnuma.md)."
    ),
    bands=(WIDE,),
    references=(RIGHTSIZING, DEEP_DIVE),
    needs=(BY_CLUSTER,),
)
def wider_than_node_badly_split(case: Case) -> Iterator[Finding]:
    """Find VMs with a model warning about the split, except those with only an odd number of vCPUs."""
    for vm in case.vms:
        warnings = _warnings(vm)
        # the problem; the advice below has the fix that is tried
        found = [warnings[code].partition(". ")[0] for code in SPLITS if code in warnings]
        if "odd-wide" in warnings and "imbalance" in warnings and len(found) == 1:
            continue
        if not found:
            continue
        yield wider_than_node_badly_split.about(
            vm.subject,
            severity="warning",
            title=f"{vm.name} is badly split over NUMA nodes",
            figure=f"{vm.vcpus} vCPUs, {_parts(vm)}",
            text=(
                f"{vm.name}: {vm.vcpus} vCPUs{_sockets(vm)}, {_parts(vm)}. "
                + " ".join(f"{text[0].upper()}{text[1:]}." for text in found)
            ),
            advice=(
                "Spread it evenly over the fewest nodes that hold its vCPUs and its memory, one virtual socket per "
                "node. `hypertwin size` prints the change to paste."
            ),
            evidence=[_wide(vm)],
        )


@rule(
    "more-vcpus-than-cores",
    title="A VM has more vCPUs than its host has cores",
    says="The VM counts hyper-threads as cores. A second thread adds 20 to 25% of a core.",
    bands=(VCPUS_PER_CORE,),
    references=(LARGE_DATABASES,),
    needs=(VCPUS, HOST_CORES),
)
def more_vcpus_than_cores(case: Case) -> Iterator[Finding]:
    """Find VMs with more vCPUs than their host has cores."""
    for vm in case.vms:
        cores = vm.host.cores if vm.host else None
        if not cores or not vm.vcpus or VCPUS_PER_CORE.severity(vm.vcpus / cores) is None:
            continue
        what, physical = f"vCPUs of {vm.name} per core of {vm.host_name}", counted(cores, "core")
        yield more_vcpus_than_cores.about(
            vm.subject,
            severity="warning",
            title=f"{vm.name} has {vm.vcpus} vCPUs on the {physical} of {vm.host_name}",
            figure=f"{vm.vcpus} vCPUs on {physical}",
            text=(
                f"{vm.name} counts hyper-threads as cores: {vm.vcpus} vCPUs for {physical}. Busy vCPUs share "
                "cores, each at about 60% of its speed. No core remains for the hypervisor, and co-stop follows. The "
                "guest shows less CPU use and is not faster."
            ),
            advice="Use at most one vCPU per physical core: "
            + (f"{cores} or fewer, an even number per node." if cores > 1 else "1."),
            evidence=[VCPUS_PER_CORE.measure(what, round(vm.vcpus / cores, 3))],
        )


def _warnings(vm: Vm) -> dict[str, str]:
    return {warning["code"]: warning["text"] for warning in vm.shape["warnings"]} if vm.shape else {}


def _wide(vm: Vm) -> Measure:
    layout = vm.layout or {}
    room = layout["host_topology"]["cores_per_node"]
    return WIDE.measure(
        f"vCPUs of {vm.name} per core of a NUMA node of {vm.host_name}", round((vm.vcpus or 0) / room, 3)
    )


def _of(vm: Vm) -> str:
    layout = vm.layout or {}
    return f" of {vm.host_name} ({layout['host_topology']['cores_per_node']} cores)"


def _parts(vm: Vm) -> str:
    layout = vm.layout or {}
    seen, placed = (" + ".join(map(str, layout[key])) for key in ("vpds", "ppds"))
    return f"its guest sees {seen}" + (f", placed as {placed}" if seen != placed else "")


def _sockets(vm: Vm) -> str:
    cores = (vm.layout or {}).get("cores_per_socket")
    return f" in sockets of {cores}" if cores else ""


RULES = (odd_wide_vm, hot_add_wide_vm, wider_than_node_badly_split, more_vcpus_than_cores)
