"""Placement of VMs on hosts: large VMs together, and storage services that use much CPU."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hypertwin.diagnosis.case import Case
from hypertwin.diagnosis.evidence import Stat
from hypertwin.diagnosis.rule import OWN, Band, Finding, Measure, Need, Reference, rule
from hypertwin.diagnosis.rules.shared import HOST_CORES, LARGE_DATABASES, VCPUS, contended
from hypertwin.diagnosis.subjects import Cluster, Host, Vm
from hypertwin.diagnosis.words import OFTEN
from hypertwin.ingest import telemetry
from hypertwin.metrics import ready

MONSTER = 0.5
"""Share of its host's cores from which a VM counts as large: one NUMA node of a two-socket host."""
CALM_PCT = 50
"""CPU usage below which several large VMs on a host are no problem."""
FULL_PCT = 80
"""CPU usage up to which a VM can move to another host, because plans use 80% for peaks."""
MOST_NAMES = 4
"""Maximum number of VMs or services listed in a text."""

MONSTERS = Band("vcpus", "", "vCPUs of large VMs on one host per core", warning=1, own=OWN)
HCI = Band(
    "used_sum_pct",
    "%",
    "share of a host's cores used by storage services",
    info=10,
    warning=20,
    own=frozenset({"warning"}),
)

HCI_SIZING = Reference(
    '"VMware vRealize Operations Performance and Capacity Management" (Packt), chapter 3: hypervisor and vSAN take '
    "about 10% of a host",
    "https://packtpub.com/en-no/product/vmware-vrealize-operations-performance-and-capacity-management-9781783551682/"
    "chapter/3-mastering-the-key-counters-in-sddc-3/section/network?chapterId=3",
)
SERVICES = re.compile(
    r"(?i)vsan|cmmds|clom|lsom|plog|osfs|vdfs|zdfs|storage|ceph|osd|scini|\bsds|gluster|drbd|chunk|\b(?:mds|csd)\b"
)
"""Names of processes that serve storage."""


@rule(
    "unbalanced-monsters",
    title="Large VMs share a host while another has free cores",
    says=(
        "Two or more VMs, each with half a host's cores or more, share one host. Together they have more vCPUs than it "
        "has cores, and another host of the cluster could take one. No finding if the host is less than half used."
    ),
    bands=(MONSTERS,),
    references=(LARGE_DATABASES,),
    needs=(VCPUS, HOST_CORES),
)
def unbalanced_monsters(case: Case) -> Iterator[Finding]:
    """Find hosts with several large VMs, one of which fits on another host."""
    for host in case.hosts:
        large = _large(host)
        total = sum(vm.vcpus or 0 for vm in large)
        if len(large) < 2 or not host.cores or MONSTERS.severity(total / host.cores) is None:
            continue
        usage = case.evidence.stat(host.entity, "usage_pct")
        # two large VMs that are idle are no problem
        if usage and usage.high < CALM_PCT:
            continue
        target = _room(case, host, min(large, key=lambda vm: (vm.vcpus or 0, vm.name)))
        if target is None:
            continue
        other = case.evidence.stat(target.entity, "usage_pct")
        hurt = any(contended(case, vm) for vm in large)
        listed = ", ".join(f"{vm.name} ({vm.vcpus} vCPUs)" for vm in large)
        used = f", used {ready.percent(usage.mean)} {usage.said('on average')}" if usage else ""
        idle = f", used {ready.percent(other.mean)} {other.said('on average')}" if other else ""
        crowd = f"vCPUs of large VMs per core of {host.name}"
        yield unbalanced_monsters.about(
            host.subject,
            severity="critical" if hurt else "warning",
            title=f"{len(large)} large VMs share {host.name} while {target.name} has free cores",
            figure=f"{total} vCPUs of {len(large)} large VMs on {host.cores} cores",
            text=(
                f"{listed} share {host.name}: {total} vCPUs for {host.cores} cores{used}. {target.name} "
                f"has {target.cores} cores{f' for {target.vcpus} vCPUs' if target.is_known else ''}{idle}. "
                + ("They already suffer ready or co-stop." if hurt else "When all are busy, they lack cores.")
            ),
            advice="Move one of them.",
            caution="Add an anti-affinity rule, and check if an affinity rule put them together.",
            evidence=[
                MONSTERS.measure(crowd, round(total / host.cores, 3)),
                *(
                    Measure(
                        "usage_pct",
                        f"CPU usage of {each.name}, {stat.said('mean')}",
                        stat.mean,
                        "%",
                        None,
                        each.entity,
                        1,
                        stat.count,
                    )
                    for each, stat in ((host, usage), (target, other))
                    if stat
                ),
            ],
        )


def _large(host: Host) -> list[Vm]:
    cores = host.cores
    return [vm for vm in host.vms if cores and (vm.vcpus or 0) >= max(MONSTER * cores, 2)]


def _room(case: Case, host: Host, vm: Vm) -> Host | None:
    """Return the least loaded other host of the cluster that can take a large VM: by CPU used, or by vCPUs."""
    vcpus = vm.vcpus or 0
    busy = case.busy(vm)
    fitting: list[tuple[float, str, Host]] = []
    cluster = host.cluster or Cluster("")
    for other in cluster.hosts:
        if other is host or not other.cores or vcpus > other.cores or _large(other):
            continue
        usage = case.evidence.stat(other.entity, "usage_pct")
        measured = usage is not None and busy is not None
        if not measured and not other.is_known:
            continue
        wanted = vcpus * busy.stat.mean / other.cores if busy else 0.0
        full = usage.mean + wanted if usage and measured else 100 * (other.vcpus + vcpus) / other.cores
        if full <= (FULL_PCT if measured else 100):
            fitting.append((full, other.name, other))
    return min(fitting, key=lambda place: place[:2])[2] if fitting else None


@rule(
    "hci-overhead",
    title="Storage services take a large part of a host",
    says=(
        "Storage on a hyperconverged host uses more CPU than is usually planned for it: processes such as vSAN's, or "
        "an appliance such as a Nutanix CVM. Subtract it before you size VMs."
    ),
    bands=(HCI,),
    references=(HCI_SIZING, LARGE_DATABASES),
    needs=(
        Need(
            "CPU of storage processes or appliances",
            (
                ("process", "used_sum_pct"),
                ("process", "run_sum_pct"),
                ("process", "cpu_cores"),
                ("vm", "used_sum_pct"),
                ("vm", "run_sum_pct"),
            ),
        ),
        HOST_CORES,
    ),
)
def hci_overhead(case: Case) -> Iterator[Finding]:
    """Find hosts whose storage services use many cores."""
    for host in case.hosts:
        if not host.entity or not host.cores:
            continue
        used = _services(case, host)
        cores = sum(stat.often for *_, stat in used) / 100
        share = round(100 * cores / host.cores, 2)
        severity = HCI.severity(share)
        if severity is None:
            continue
        listed = ", ".join(f"{name} {stat.often / 100:.1f}" for name, _, _, stat in used[:MOST_NAMES])
        usage = case.evidence.stat(host.entity, "usage_pct")
        leaves = f" {host.name} is {ready.percent(usage.often)} used in all." if usage else ""
        yield hci_overhead.about(
            host.subject,
            severity=severity,
            title=f"Storage takes {ready.percent(share)} of the CPU of {host.name}",
            figure=f"{cores:.1f} of {host.cores} cores for storage",
            text=(
                f"Services of the hyperconverged storage use {cores:.1f} of the {host.cores} cores of {host.name} "
                f"({OFTEN}): {listed}.{leaves} VMs get the rest, and storage needs most CPU when they do."
            ),
            advice=(
                f"Plan {host.name} with {max(host.cores - round(cores), 0)} cores for VMs, not {host.cores}. "
                "Fewer or larger I/Os, or dedicated storage hosts, free cores."
            ),
            evidence=[
                HCI.measure(f"share of the cores of {host.name} used by storage services, {OFTEN}", share),
                *(
                    Measure(metric, f"cores that {name} uses, {OFTEN}", each, "cores", None, path, 100, stat.count)
                    for name, path, metric, stat in used[:MOST_NAMES]
                    for each in (round(stat.often / 100, 3),)
                ),
            ],
        )


def _services(case: Case, host: Host) -> list[tuple[str, str, str, Stat]]:
    """Return storage services of a host as (name, path, metric, per cent of a core), the largest first."""
    named = [(vm.name, vm.entity) for vm in host.vms if vm.appliance and vm.entity]
    named += [
        (name, path)
        for path in case.evidence.entities("process")
        if path.startswith(f"{host.entity}/process/") and SERVICES.search(name := telemetry.names(path)["process"])
    ]
    used = [(name, path, *found) for name, path in named if (found := _used(case, path))]
    return sorted(used, key=lambda each: (-each[3].often, each[0]))


def _used(case: Case, path: str) -> tuple[str, Stat] | None:
    for metric in ("used_sum_pct", "run_sum_pct"):
        stat = case.evidence.stat(path, metric)
        if stat:
            return metric, stat
    cores = case.evidence.stat(path, "cpu_cores")
    return ("cpu_cores", cores.over(1 / 100)) if cores else None


RULES = (unbalanced_monsters, hci_overhead)
