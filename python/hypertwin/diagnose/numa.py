"""Shapes of machines that cannot run well on their host's NUMA nodes.

What is wrong with a shape is said by the core's model of virtual NUMA (docs/models/vnuma.md), which simulates it too.
"""

from __future__ import annotations

from collections.abc import Iterator

from hypertwin.diagnose.rule import (
    CONFIGURATION,
    LARGE_DATABASES,
    RIGHTSIZING,
    VCPUS,
    Band,
    Finding,
    Measure,
    Need,
    Rule,
    Source,
)
from hypertwin.diagnose.subjects import Case, Machine

VCPUS_PER_CORE = Band("vcpus", "", "vCPUs of a machine over cores of its host", warning=1)
WIDE = Band("vcpus", "", "vCPUs of a machine over cores of a NUMA node", warning=1)
BY_CLUSTER = Need("configuration of machines and hosts (--cluster)")

HOT_ADD = Source(
    'VMware KB 2040375, "vNUMA is disabled if vCPU hotplug is enabled"',
    "https://kb.vmware.com/kb/2040375",
)
DEEP_DIVE = Source(
    "Frank Denneman, NUMA Deep Dive", "https://frankdenneman.nl/2016/07/06/introduction-2016-numa-deep-dive-series/"
)

SPLITS = ("stale-topology", "hidden-numa", "cores-per-socket-splits", "imbalance", "collapse", "proximity-domains")
"""Warnings of the model that are one finding."""


def _warnings(machine: Machine) -> dict[str, str]:
    return {warning["code"]: warning["text"] for warning in machine.layout["warnings"]} if machine.layout else {}


def _odd(case: Case, rule: Rule) -> Iterator[Finding]:
    for machine in case.machines:
        if "odd-wide" not in _warnings(machine) or not machine.vcpus:
            continue
        yield Finding(
            code=rule.code,
            severity="warning",
            subject=machine.subject,
            host=machine.host,
            title=f"{machine.name} is wider than a NUMA node and has an odd number of vCPUs ({machine.vcpus})",
            figure=f"{machine.vcpus} vCPUs, {_parts(machine)}",
            text=(
                f"The {machine.vcpus} vCPUs of {machine.name} take more than one node{_of(machine)}, and cannot be "
                f"split evenly: one node has more of them to serve, {_parts(machine)}, and the guest's scheduler "
                "assumes that all are alike."
            ),
            advice=f"Use an even number: {machine.vcpus - 1} or {machine.vcpus + 1}.",
            evidence=[_wide(machine)],
        )


def _hot_add(case: Case, rule: Rule) -> Iterator[Finding]:
    for machine in case.machines:
        if "hot-add-wide" not in _warnings(machine):
            continue
        yield Finding(
            code=rule.code,
            severity="warning",
            subject=machine.subject,
            host=machine.host,
            title=f"CPU hot-add hides NUMA from {machine.name}",
            figure=f"{machine.vcpus} vCPUs, {_parts(machine)}",
            text=(
                f"{machine.name} has {machine.vcpus} vCPUs, more than a node{_of(machine)}. With CPU hot-add on, ESXi "
                "shows its guest one node; operating system and database cannot keep memory near the CPU that uses "
                "it, so about half of all accesses or more are remote."
            ),
            advice="Turn CPU hot-add off while the machine is off. Memory hot-add may stay.",
            evidence=[_wide(machine)],
        )


def _split(case: Case, rule: Rule) -> Iterator[Finding]:
    for machine in case.machines:
        warnings = _warnings(machine)
        found = [warnings[code] for code in SPLITS if code in warnings]
        if "odd-wide" in warnings and "imbalance" in warnings and len(found) == 1:
            continue
        if not found:
            continue
        yield Finding(
            code=rule.code,
            severity="warning",
            subject=machine.subject,
            host=machine.host,
            title=f"{machine.name} is badly split over NUMA nodes",
            figure=f"{machine.vcpus} vCPUs, {_parts(machine)}",
            text=(
                f"{machine.name}: {machine.vcpus} vCPUs{_sockets(machine)}, {_parts(machine)}. "
                + " ".join(f"{text[0].upper()}{text[1:]}." for text in found)
            ),
            advice=(
                "Spread it evenly over the fewest nodes that hold its vCPUs and its memory, one virtual socket for "
                "each; `hypertwin size` gives the change to paste."
            ),
            evidence=[_wide(machine)],
        )


def _too_wide(case: Case, rule: Rule) -> Iterator[Finding]:
    for machine in case.machines:
        cores = machine.server.cores if machine.server else None
        if not cores or not machine.vcpus or VCPUS_PER_CORE.severity(machine.vcpus / cores) is None:
            continue
        yield Finding(
            code=rule.code,
            severity="warning",
            subject=machine.subject,
            host=machine.host,
            title=f"{machine.name} has {machine.vcpus} vCPUs on the {cores} cores of {machine.host}",
            figure=f"{machine.vcpus} vCPUs on {cores} cores",
            text=(
                f"{machine.name} counts hyper-threads as cores: {machine.vcpus} vCPUs for {cores} cores. Busy vCPUs "
                "share cores then, each at about 60 % of its speed, the host's own work has no core left, and co-stop "
                "follows. Its guest looks less busy, and is not faster."
            ),
            advice=f"One vCPU per physical core at most: {cores} or fewer, an even number per node.",
            evidence=[
                Measure(
                    "vcpus",
                    f"vCPUs of {machine.name} per core of {machine.host}",
                    round(machine.vcpus / cores, 3),
                    "",
                    VCPUS_PER_CORE,
                )
            ],
        )


def _wide(machine: Machine) -> Measure:
    layout = machine.layout or {}
    room = layout["host_topology"]["cores_per_socket"]
    ratio = round((machine.vcpus or 0) / room, 3)
    return Measure("vcpus", f"vCPUs of {machine.name} per core of a NUMA node of {machine.host}", ratio, "", WIDE)


def _of(machine: Machine) -> str:
    layout = machine.layout or {}
    return f" of {machine.host} ({layout['host_topology']['cores_per_socket']} cores)"


def _parts(machine: Machine) -> str:
    layout = machine.layout or {}
    seen, placed = (" + ".join(map(str, layout[key])) for key in ("vpds", "ppds"))
    return f"its guest sees {seen}" + (f", placed as {placed}" if seen != placed else "")


def _sockets(machine: Machine) -> str:
    cores = (machine.layout or {}).get("cores_per_socket")
    return f" in sockets of {cores}" if cores else ""


RULES = (
    Rule(
        code="odd-wide-vm",
        title="A machine wider than a NUMA node has an odd number of vCPUs",
        says="It cannot be split evenly over nodes.",
        bands=(WIDE,),
        sources=(RIGHTSIZING, LARGE_DATABASES),
        needs=(BY_CLUSTER,),
        find=_odd,
    ),
    Rule(
        code="hot-add-wide-vm",
        title="CPU hot-add hides NUMA from a wide machine",
        says="With CPU hot-add ESXi shows the guest one node, wherever its vCPUs and memory are.",
        bands=(WIDE,),
        sources=(HOT_ADD, LARGE_DATABASES),
        needs=(BY_CLUSTER,),
        find=_hot_add,
    ),
    Rule(
        code="wider-than-node-badly-split",
        title="A machine is badly split over NUMA nodes",
        says=(
            "More virtual nodes than needed, nodes of different sizes, all on one physical node, or nodes that the "
            "guest does not see: the warnings of the [virtual NUMA model](../models/vnuma.md)."
        ),
        bands=(WIDE,),
        sources=(RIGHTSIZING, DEEP_DIVE),
        needs=(BY_CLUSTER,),
        find=_split,
    ),
    Rule(
        code="more-vcpus-than-cores",
        title="A machine has more vCPUs than its host has cores",
        says="Hyper-threads are counted as cores. A second thread adds 20 to 25 % of a core.",
        bands=(VCPUS_PER_CORE,),
        sources=(LARGE_DATABASES,),
        needs=(
            VCPUS,
            Need("cores of hosts, or their configuration (--cluster)", (("host", "cores"), CONFIGURATION)),
        ),
        find=_too_wide,
    ),
)
