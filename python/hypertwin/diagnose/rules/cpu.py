"""CPU contention: ready, co-stop, limits, and hosts that are saturated while their guests do not look it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hypertwin.diagnose.case import Case
from hypertwin.diagnose.evidence import Stat
from hypertwin.diagnose.rule import OWN, Band, Finding, Measure, Need, Reference, rule
from hypertwin.diagnose.rules import hosts
from hypertwin.diagnose.rules.shared import (
    COSTOP,
    ESXTOP_STATISTICS,
    ESXTOP_THRESHOLDS,
    LARGE_DATABASES,
    LIMITED,
    METRICS_IN_VMWARE,
    READY,
    VCPUS,
    guest_cpu,
    vcpus_unless,
)
from hypertwin.diagnose.subjects import Host, Subject, Vm
from hypertwin.diagnose.words import OFTEN, SUSTAINED
from hypertwin.documents.diagnosis import Severity
from hypertwin.ingest import telemetry
from hypertwin.report import ready

FAR = 3
"""Times the mean of its VM from which a single vCPU beyond the critical limit makes a finding."""
MENTIONED = 1.5
"""Times the mean of its VM from which the worst vCPU is mentioned."""

LATENCY = "cpu_latency_pct"

STEAL = Band.of("ready_pct", "steal_pct", what="steal in a guest", own=OWN)
USAGE = Band("usage_pct", "%", "usage of a host", warning=hosts.CPU.critical, own=OWN)
GUEST = Band("guest_cpu_pct", "%", "CPU as the largest machine's guest sees it", warning=85, below=True, own=OWN)

READY_CONVERSION = Reference(
    'VMware KB 2002181, "Converting between CPU summation and CPU % ready values"',
    "https://kb.vmware.com/s/article/2002181",
)
RED_HAT_STEAL = Reference(
    '"Steal Time Accounting" (Red Hat Enterprise Linux 6, Virtualization Host Configuration Guide)',
    "https://docs.redhat.com/en/documentation/Red_Hat_Enterprise_Linux/6/html/"
    "virtualization_host_configuration_and_guest_installation_guide/form-virtualization_host_configuration_and_"
    "guest_installation_guide-kvm_guest_timing_management-steal_time_accounting",
)
USAGE_COUNTER = Reference(
    "Broadcom KB 431027, on what cpu.usage of a host counts",
    "https://knowledge.broadcom.com/external/article/431027/esxi-host-cpu-usage-appears-high-in-vcen.html",
)


@rule(
    "cpu-ready",
    title="Machines wait for CPU",
    says=(
        "vCPUs can run and get no CPU: the host has more to run than it has cores. Per vCPU, not summed; time that "
        "the machine's own limit costs is left to `cpu-limit`. In a guest of KVM the same is called steal; ESXi "
        "tells its guests nothing, so there steal is always 0, and no limit of it is published: ready's are taken. "
        "2.5 % is half of what is called healthy. A machine within its bands, or just beyond, is a warning where a "
        f"single vCPU waits more than the critical limit and {FAR} times the mean of its machine."
    ),
    bands=(READY, STEAL),
    references=(ESXTOP_THRESHOLDS, METRICS_IN_VMWARE, READY_CONVERSION, RED_HAT_STEAL),
    needs=(
        Need(
            "ready of machines (%RDY, cpu.ready, vCPU delay), or steal of guests",
            (("vm", READY.metric), ("guest", STEAL.metric)),
        ),
        vcpus_unless(("guest", STEAL.metric)),
    ),
)
def cpu_ready(case: Case) -> Iterator[Finding]:
    """VMs with ready time, and guests with steal."""
    for vm in case.vms:
        summed, each = case.evidence.stat(vm.entity, READY.metric), case.per_vcpu(vm, READY.metric)
        if not (summed and each and vm.vcpus):
            continue
        limited = case.per_vcpu(vm, LIMITED.metric)
        of_limit = min(limited.mean, each.mean) if limited else 0.0
        severity, lone = _judged(case, vm, READY, each, of_limit)
        # most of it is the limit's doing, which has a finding of its own
        if severity is None or of_limit > each.mean / 2:
            continue
        interval = case.evidence.interval_s(vm.entity, READY.metric)
        told = ready.ready(summed.high, vm.vcpus, interval)
        if each.is_one_moment:
            told = told.partition(" (")[0]
        on = f" on {vm.host_name}" if vm.host_name else ""
        alone = f"vCPU {lone.number} alone: ready {ready.of_one(lone.high, interval)}" if lone else ""
        who = f"vCPU {lone.number} of {vm.name} waits" if lone else f"The vCPUs of {vm.name}{on} want to run"
        costop, latency = case.per_vcpu(vm, COSTOP.metric), case.evidence.stat(vm.entity, LATENCY)
        held = f" CPU latency (%LAT_C) is {ready.percent(latency.high)}, {latency.said(SUSTAINED)}." if latency else ""
        evidence = _figures(case, vm, READY, each, lone)
        if costop and COSTOP.severity(costop.high):
            evidence.append(_measure(vm, COSTOP, costop))
        yield cpu_ready.about(
            vm.subject,
            severity=severity,
            title=f"{vm.name} waits for CPU: {alone or told}",
            figure=alone or told,
            text=(
                f"{who}{f'{on} far more than the others: ready {ready.of_one(lone.high, interval)}' if lone else ''}"
                f"{'; the machine: ' if lone else ' and no CPU is free for them: '}{told}, {each.said(SUSTAINED)}"
                + each.on_average(
                    f"; {ready.percent(summed.mean)} summed = {ready.percent(each.mean)} per vCPU on average"
                )
                + f".{held}{_crowd(vm.host)} "
                + (
                    "What runs on that vCPU takes longer by this; the mean of the machine hides it."
                    if lone
                    else "Everything in it takes longer by this, and its guest counts the waiting as work."
                )
            ),
            advice=(
                "Look whether it may run on few CPUs only (affinity, pinning), and what else runs there."
                if lone
                else "Take load off the host: move a machine to a host with free cores, or take vCPUs away that are "
                "not used. More vCPUs would make it worse."
            ),
            evidence=evidence,
        )
    yield from _steal(case)


def _steal(case: Case) -> Iterator[Finding]:
    for path in case.evidence.entities("guest"):
        steal = case.evidence.stat(path, STEAL.metric)
        severity = STEAL.severity(steal.high) if steal else None
        if not steal or severity is None:
            continue
        host = next((vm.host_name for vm in case.vms if vm.guest == path), None)
        subject = Subject.of_guest(path, host)
        yield cpu_ready.about(
            subject,
            severity=severity,
            title=f"{subject.name} waits for CPU: its guest sees {ready.percent(steal.high)} steal",
            figure=f"steal {ready.percent(steal.high)}",
            text=(
                f"In {ready.percent(steal.high)} of the time ({SUSTAINED}; {ready.percent(steal.mean)} on average) the "
                f"vCPUs of {subject.name} wanted to run and its hypervisor did not let them. Steal is what the host "
                "would call ready, per vCPU. Which machine takes the CPU can only be seen on the host."
            ),
            advice="Look at the host, or ask whoever runs it: too many vCPUs for its cores, or a limit (quota).",
            evidence=[STEAL.measure(f"steal, {SUSTAINED}", steal.high, path, samples=steal.count)],
        )


@rule(
    "co-stop",
    title="vCPUs are held back for each other",
    says=(
        "A vCPU that got too far ahead of its siblings is stopped until they catch up: a wide machine among "
        "others, or one with more vCPUs than it uses. ESXi only. Single vCPUs are judged as with `cpu-ready`."
    ),
    bands=(COSTOP,),
    references=(ESXTOP_THRESHOLDS, LARGE_DATABASES),
    needs=(Need("co-stop of machines (%CSTP, cpu.costop)", (("vm", COSTOP.metric),)), VCPUS),
)
def co_stop(case: Case) -> Iterator[Finding]:
    """VMs whose vCPUs are stopped to let the others catch up."""
    for vm in case.vms:
        summed, each = case.evidence.stat(vm.entity, COSTOP.metric), case.per_vcpu(vm, COSTOP.metric)
        if not (summed and each and vm.vcpus):
            continue
        severity, lone = _judged(case, vm, COSTOP, each)
        if severity is None:
            continue
        interval = case.evidence.interval_s(vm.entity, COSTOP.metric)
        told = ready.ready(summed.high, vm.vcpus, interval, "co-stop")
        alone = f"vCPU {lone.number} alone: co-stop {ready.of_one(lone.high, interval)}" if lone else ""
        yield co_stop.about(
            vm.subject,
            severity=severity,
            title=f"vCPUs of {vm.name} are held back for each other: {alone or told}",
            figure=alone or told,
            text=(
                f"{vm.name} has {vm.vcpus} vCPUs that must make progress together. Some get no CPU in time, "
                f"so the others are stopped{f', one far more than the rest. {alone}; the machine' if lone else ''}: "
                f"{told}, {SUSTAINED}.{_crowd(vm.host)}"
            ),
            advice=(
                "Give it fewer vCPUs if it does not use them all, or move it, or its neighbours, so that its vCPUs "
                "find as many free cores."
            ),
            evidence=_figures(case, vm, COSTOP, each, lone),
        )


@dataclass(frozen=True)
class _Vcpu:
    """The worst vCPU of a VM."""

    number: str
    entity: str
    high: float
    samples: int


def _judged(case: Case, vm: Vm, band: Band, each: Stat, of_limit: float = 0.0) -> tuple[Severity | None, _Vcpu | None]:
    """How bad a VM is, and its worst vCPU where that one decides: it is far worse than the mean."""
    severity = band.severity(each.high - of_limit)
    worst = _worst_vcpu(case, vm, band)
    far = (
        severity in (None, "info")
        and worst is not None
        and band.severity(worst.high - of_limit) == "critical"
        and worst.high >= FAR * each.high
    )
    return ("warning", worst) if far else (severity, None)


def _worst_vcpu(case: Case, vm: Vm, band: Band) -> _Vcpu | None:
    entity = case.evidence.worst_vcpu(vm.entity, band.metric)
    stat = case.evidence.stat(entity, band.metric)
    return _Vcpu(telemetry.names(entity)["vcpu"], entity, stat.high, stat.count) if entity and stat else None


def _figures(case: Case, vm: Vm, band: Band, each: Stat, lone: _Vcpu | None) -> list[Measure]:
    """The VM's figure, and that of its worst vCPU where it says more; the one that decides stands first."""
    found = [_measure(vm, band, each)]
    worst = _worst_vcpu(case, vm, band)
    if worst and vm.vcpus != 1 and worst.high >= MENTIONED * each.high and band.severity(worst.high):
        word = band.what.partition(" ")[0]
        what = f"{word} of vCPU {worst.number} of {vm.name}, its worst, {SUSTAINED}"
        found.append(band.measure(what, worst.high, worst.entity, samples=worst.samples))
    return found[::-1] if lone else found


def _measure(vm: Vm, band: Band, each: Stat) -> Measure:
    what = f"{band.what.partition(',')[0]} of {vm.name}, {each.said(SUSTAINED)}"
    return band.measure(what, each.high, vm.entity, divisor=vm.vcpus or 1)


def _crowd(host: Host | None) -> str:
    if host is None or not host.cores or not host.vcpus or not host.is_known:
        return ""
    vms = f"{len(host.vms)} machine{'s' if len(host.vms) != 1 else ''}"
    return f" {host.name} has {host.cores} cores for {host.vcpus} vCPUs of {vms}."


@rule(
    "cpu-limit",
    title="A machine runs into its CPU limit",
    says=(
        "The machine could run and a CPU is free, but its limit (or quota) forbids it. Published is that it should "
        "be 0; 1 % leaves room for chance, and it is critical from where ready would be."
    ),
    bands=(LIMITED,),
    references=(ESXTOP_THRESHOLDS, ESXTOP_STATISTICS),
    needs=(Need("limited time of machines (%MLMTD, cpu.maxlimited)", (("vm", LIMITED.metric),)), VCPUS),
)
def cpu_limit(case: Case) -> Iterator[Finding]:
    """VMs that their own limit holds back."""
    for vm in case.vms:
        summed, each = case.evidence.stat(vm.entity, LIMITED.metric), case.per_vcpu(vm, LIMITED.metric)
        severity = LIMITED.severity(each.high) if each else None
        if not (summed and each and vm.vcpus) or severity is None:
            continue
        interval = case.evidence.interval_s(vm.entity, LIMITED.metric)
        total = case.evidence.stat(vm.entity, READY.metric)
        told = ready.ready(summed.high, vm.vcpus, interval, "limited")
        of_ready = f" {ready.ready(total.high, vm.vcpus, interval)} in all." if total else ""
        yield cpu_limit.about(
            vm.subject,
            severity=severity,
            title=f"{vm.name} runs into its CPU limit: {told}",
            figure=told,
            text=(
                f"{vm.name} could run, a CPU is free, and its limit forbids it: {told}, {SUSTAINED}. Limited time "
                f"is part of its ready time.{of_ready} A less busy host would not help."
            ),
            advice="Remove the limit; if others must be protected from it, use shares, or give it fewer vCPUs.",
            evidence=[_measure(vm, LIMITED, each)],
        )


@rule(
    "hidden-host-saturation",
    title="A host is saturated, and its guests do not show it",
    says=(
        "All cores of the host are busy while the guest of its largest machine believes that there is room: on "
        "cores whose two threads are busy each vCPU is slower, which no guest sees. That a guest's CPU falls on a "
        "saturated host is published, at which values is not."
    ),
    bands=(USAGE, GUEST),
    references=(LARGE_DATABASES, USAGE_COUNTER),
    needs=(
        Need("usage of hosts (PCPU USED, cpu.usage)", (("host", USAGE.metric),)),
        Need(
            "CPU of machines (%RUN, cpu.run, cpu.usagemhz) or of guests",
            (
                ("vm", "run_sum_pct"),
                ("vm", "used_mhz"),
                ("vm", "demand_mhz"),
                ("vm", "cpu_cores"),
                ("vm", "guest_cpu_pct"),
                ("guest", "guest_cpu_pct"),
            ),
        ),
        vcpus_unless(("guest", "guest_cpu_pct")),
    ),
)
def hidden_host_saturation(case: Case) -> Iterator[Finding]:
    """Full hosts whose largest guest believes that there is room."""
    for host in case.hosts:
        usage = case.evidence.stat(host.entity, USAGE.metric)
        # which of its machines is the largest must be known
        if not usage or not host.is_known or USAGE.severity(usage.often) is None:
            continue
        busy = [(vm, found) for vm in host.vms if (found := case.busy(vm)) and not vm.appliance]
        if not busy:
            continue
        vm, largest = max(busy, key=lambda pair: (pair[1].stat.mean * (pair[0].vcpus or 0), pair[0].name))
        if GUEST.severity(largest.stat.median) is None:
            continue
        waiting = [
            (each.high, other.name)
            for other in host.vms
            if (each := case.per_vcpu(other, READY.metric)) and READY.severity(each.high)
        ]
        hurt = (
            f" {len(waiting)} of its {len(host.vms)} machines wait for CPU (ready), {max(waiting)[1]} most."
            if waiting
            else ""
        )
        cores = case.evidence.stat(host.entity, "core_utilization_pct")
        also = f"; in {ready.percent(cores.mean)} of the time at least one thread of a core is busy" if cores else ""
        yield hidden_host_saturation.about(
            host.subject,
            severity="critical" if any(READY.severity(high) == "critical" for high, _ in waiting) else "warning",
            title=f"{host.name} is saturated, and its guests do not show it",
            figure=f"usage {ready.percent(usage.often)}, its largest guest {ready.percent(largest.stat.median)}",
            text=(
                f"{host.name} uses {ready.percent(usage.often)} of its nominal clock ({usage.said(OFTEN)}"
                + usage.on_average(f"; {ready.percent(usage.mean)} on average")
                + f"){also}. The guest of {vm.name}, its largest machine "
                f"({vm.vcpus} vCPUs), believes that its CPUs are {ready.percent(largest.stat.median)} busy, and "
                f"that there is room.{hurt} There is none: a second thread on a core adds about a quarter of a core. "
                "More load, or more vCPUs, only take from what runs there."
            ),
            advice=(
                "Plan by cores of the host, not by guest CPU and not by hyper-threads. Move a machine away, or give "
                "the host less to do."
            ),
            evidence=[
                USAGE.measure(
                    f"usage of {host.name}, {usage.said(OFTEN)}", usage.often, host.entity, samples=usage.count
                ),
                guest_cpu(largest, GUEST, vm.name, largest.stat.median, largest.stat.said("median")),
            ],
        )


RULES = (cpu_ready, co_stop, cpu_limit, hidden_host_saturation)
